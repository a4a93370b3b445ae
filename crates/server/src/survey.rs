//! What is known of a store as a whole: its sites, with their pages, quads, languages and vocabularies.
//!
//! In: a snapshot. Out: a [`Survey`], made by one pass over ids, in which only the names of graphs and predicates become
//! text. It is kept until the store has changed and some time has passed, the more the longer it took.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxrdf::{GraphName, Term};
use parking_lot::Mutex;
use webloom_index::{Snapshot, TermId};
use webloom_model::vocab::{self, dcterms, wl};
use webloom_model::{PageUrl, url::pay_level_domain};

use crate::crawls::Slot;
use crate::error::ApiError;

/// Graphs that are looked at.
const GRAPHS_MAX: usize = 2_000_000;

/// Quads that are looked at.
const ROWS_MAX: u64 = 50_000_000;

/// Vocabularies that are told of one site.
const VOCABULARIES_MAX: usize = 20;

/// What is known of one site.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Site {
    /// Its pay-level domain, or the address it is known by.
    pub name: String,
    /// Pages.
    pub pages: u64,
    /// Quads of them, metadata not counted.
    pub quads: u64,
    /// URLs that gave no page.
    pub errors: u64,
    /// Languages of its pages.
    pub languages: BTreeSet<String>,
    /// Namespaces of the predicates it uses, the most used first.
    pub vocabularies: Vec<String>,
}

/// What is known of a store.
#[derive(Debug, Default)]
pub struct Survey {
    /// The state it is about.
    pub generation: u64,
    /// Its sites, by name.
    pub sites: Vec<Site>,
    /// True when there was more than is looked at.
    pub cut: bool,
    made: Option<Instant>,
    took: Duration,
}

/// The surveys of all stores.
#[derive(Debug, Default)]
pub struct Surveys(Mutex<HashMap<String, Arc<Survey>>>);

impl Surveys {
    /// The survey of a crawl's store, made anew when that is due. Blocks.
    pub fn of(&self, slot: &Slot) -> Result<Arc<Survey>, ApiError> {
        let snapshot = slot.snapshot()?;
        let known = self.0.lock().get(&slot.id).cloned();
        if let Some(known) = known
            && (known.generation == snapshot.generation()
                || known.made.is_some_and(|made| made.elapsed() < known.took * 20))
        {
            return Ok(known);
        }
        let start = Instant::now();
        let mut survey = Survey::of(&snapshot)?;
        survey.made = Some(Instant::now());
        survey.took = start.elapsed();
        let survey = Arc::new(survey);
        self.0.lock().insert(slot.id.clone(), survey.clone());
        Ok(survey)
    }
}

/// Where a graph belongs.
#[derive(Clone, Copy)]
struct Place {
    site: u32,
    is_metadata: bool,
}

impl Survey {
    /// Looks through a snapshot.
    pub fn of(snapshot: &Snapshot) -> Result<Self, ApiError> {
        let mut survey = Self { generation: snapshot.generation(), ..Self::default() };
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut places: HashMap<TermId, Place> = HashMap::new();
        for name in snapshot.graph_names() {
            if places.len() >= GRAPHS_MAX {
                survey.cut = true;
                break;
            }
            let GraphName::NamedNode(name) = name? else { continue };
            let (page, is_metadata) = match name.as_str().strip_prefix(vocab::META_PREFIX) {
                Some(page) => (page, true),
                None if vocab::is_derived_graph(name.as_str()) => continue,
                None => (name.as_str(), false),
            };
            let site = site_of(page);
            let number = *numbers.entry(site.clone()).or_insert_with(|| {
                survey.sites.push(Site { name: site, ..Site::default() });
                u32::try_from(survey.sites.len() - 1).unwrap_or(u32::MAX)
            });
            survey.sites[number as usize].pages += u64::from(!is_metadata);
            places.insert(snapshot.graph_id(name.as_ref().into()), Place { site: number, is_metadata });
        }
        survey.count_quads(snapshot, &places)?;
        survey.sites.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(survey)
    }

    fn count_quads(&mut self, snapshot: &Snapshot, places: &HashMap<TermId, Place>) -> Result<(), ApiError> {
        let resolver = snapshot.resolver();
        let language = snapshot.term_id(dcterms::LANGUAGE.into());
        let reason = snapshot.term_id(wl::REASON.into());
        // Predicates by the number of their namespace; quads by site and namespace.
        let mut namespaces: Vec<String> = Vec::new();
        let mut namespace_of: HashMap<TermId, usize> = HashMap::new();
        let mut used: HashMap<(u32, usize), u64> = HashMap::new();
        for (row, ids) in (0_u64..).zip(snapshot.scan(None, None, None, None)?) {
            if row >= ROWS_MAX {
                self.cut = true;
                break;
            }
            let ids = ids?;
            let Some(place) = places.get(&ids.graph) else { continue };
            let site = &mut self.sites[place.site as usize];
            if place.is_metadata {
                site.errors += u64::from(ids.predicate == reason);
                if ids.predicate == language
                    && let Term::Literal(literal) = resolver.term(ids.object)?
                {
                    site.languages.insert(literal.value().to_owned());
                }
                continue;
            }
            site.quads += 1;
            let namespace = match namespace_of.get(&ids.predicate) {
                Some(namespace) => *namespace,
                None => {
                    let text = match resolver.term(ids.predicate)? {
                        Term::NamedNode(node) => namespace(node.as_str()).to_owned(),
                        _ => String::new(),
                    };
                    let number = namespaces.iter().position(|known| *known == text).unwrap_or_else(|| {
                        namespaces.push(text);
                        namespaces.len() - 1
                    });
                    namespace_of.insert(ids.predicate, number);
                    number
                }
            };
            *used.entry((place.site, namespace)).or_default() += 1;
        }
        let mut by_site: BTreeMap<u32, Vec<(u64, usize)>> = BTreeMap::new();
        for ((site, namespace), count) in used {
            by_site.entry(site).or_default().push((count, namespace));
        }
        for (site, mut counts) in by_site {
            counts.sort_unstable_by(|a, b| b.cmp(a));
            self.sites[site as usize].vocabularies = counts
                .into_iter()
                .take(VOCABULARIES_MAX)
                .map(|(_, namespace)| namespaces[namespace].clone())
                .collect();
        }
        Ok(())
    }
}

/// The site that a page is of.
pub fn site_of(page: &str) -> String {
    match PageUrl::parse(page) {
        Ok(url) => url.pay_level_domain().to_owned(),
        Err(_) => {
            let authority = page.split_once("://").map_or("", |(_, rest)| rest);
            let host = authority.split(['/', '?', '#']).next().unwrap_or_default();
            if host.is_empty() { "(other)".to_owned() } else { pay_level_domain(host).to_owned() }
        }
    }
}

/// The part of an IRI that its vocabulary shares: up to the last `#` or `/`.
pub fn namespace(iri: &str) -> &str {
    let end = iri.rfind('#').or_else(|| iri.rfind('/')).or_else(|| iri.rfind(':'));
    end.map_or(iri, |end| &iri[..=end])
}

/// The rest of it, for people.
pub fn local_name(iri: &str) -> &str {
    let local = &iri[namespace(iri).len()..];
    if local.is_empty() { iri } else { local }
}

/// Prefixes that everybody knows.
pub const PREFIXES: &[(&str, &str)] = &[
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("schema", "http://schema.org/"),
    ("schemas", "https://schema.org/"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("og", "http://ogp.me/ns#"),
    ("sioc", "http://rdfs.org/sioc/ns#"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("vcard", "http://www.w3.org/2006/vcard/ns#"),
    ("geo", "http://www.w3.org/2003/01/geo/wgs84_pos#"),
    ("xhv", "http://www.w3.org/1999/xhtml/vocab#"),
    ("http", "http://www.w3.org/2011/http#"),
    ("void", "http://rdfs.org/ns/void#"),
    ("dcat", "http://www.w3.org/ns/dcat#"),
    ("cc", "http://creativecommons.org/ns#"),
    ("gr", "http://purl.org/goodrelations/v1#"),
    ("rss", "http://purl.org/rss/1.0/"),
    ("doap", "http://usefulinc.com/ns/doap#"),
    ("wl", "urn:webloom:ns#"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iris_come_apart_at_the_last_mark() {
        for (iri, name, local) in [
            ("http://schema.org/Book", "http://schema.org/", "Book"),
            ("http://a.example/ns#x", "http://a.example/ns#", "x"),
            ("urn:webloom:ns", "urn:webloom:", "ns"),
            ("http://a.example/", "http://a.example/", "http://a.example/"),
        ] {
            assert_eq!((namespace(iri), local_name(iri)), (name, local));
        }
    }

    #[test]
    fn pages_belong_to_pay_level_domains() {
        assert_eq!(site_of("https://www.shop.example.co.uk/a"), "example.co.uk");
        assert_eq!(site_of("http://127.0.0.1:80/x"), "127.0.0.1");
        assert_eq!(site_of("urn:x"), "(other)");
    }
}
