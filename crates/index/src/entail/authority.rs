//! Who may say what a term means.
//!
//! In: a graph and a term. Out: whether what the graph states about the term counts. The web lets everybody state
//! anything, so without this one page could make every `foaf:Person` of a crawl a `spam:Customer`. A graph speaks for a term
//! when both are on one host, when the term's address redirects to the graph's page (as those of purl.org and w3id.org
//! do), when the term is a blank node, which only its own page can name, and when the graph is the default graph,
//! where only people write.

use std::collections::HashMap;

use oxrdf::{NamedNodeRef, Term};
use webloom_model::PageUrl;
use webloom_model::vocab::wl;

use super::Trust;
use crate::error::IndexError;
use crate::scan::{GraphFilter, Scan};
use crate::snapshot::{Resolver, Snapshot};
use crate::term::{TermId, TermKind};

/// Redirects followed from a term to its document.
const REDIRECTS_MAX: usize = 10;
/// Answers remembered; beyond this, forgetting all and starting over is cheap enough.
const REMEMBERED_MAX: usize = 200_000;
/// The languages of schemas themselves. What they mean is written in this program and open to nobody.
const BUILT_IN: [&str; 3] = [
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
];

pub(super) struct Authority<'a> {
    snapshot: &'a Snapshot,
    trust: Trust,
    resolver: Resolver,
    places: HashMap<TermId, Place>,
}

/// What is known of a name.
#[derive(Clone)]
struct Place {
    is_built_in: bool,
    /// Host, and port where one is written.
    host: Option<Box<str>>,
    /// Where the term's own address and that of its namespace redirect to.
    documents: [Option<TermId>; 2],
}

impl<'a> Authority<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, trust: Trust) -> Self {
        Self { snapshot, trust, resolver: snapshot.resolver(), places: HashMap::new() }
    }

    /// True when the graph may define what the term means.
    pub(super) fn may_define(&mut self, graph: TermId, term: TermId) -> Result<bool, IndexError> {
        Ok(!self.place(term)?.is_built_in && self.speaks_for(graph, term)?)
    }

    /// True when the graph may speak for the term.
    pub(super) fn speaks_for(&mut self, graph: TermId, term: TermId) -> Result<bool, IndexError> {
        let is_blank = term.kind() == Some(TermKind::BlankNode);
        if self.trust == Trust::All || graph == TermId::DEFAULT_GRAPH || is_blank {
            return Ok(true);
        }
        let host = self.place(graph)?.host.clone();
        let place = self.place(term)?;
        Ok(host.is_some() && host == place.host || place.documents.contains(&Some(graph)))
    }

    fn place(&mut self, id: TermId) -> Result<&Place, IndexError> {
        if !self.places.contains_key(&id) {
            if self.places.len() >= REMEMBERED_MAX {
                self.places.clear();
            }
            let place = self.look_up(id)?;
            self.places.insert(id, place);
        }
        self.places.get(&id).ok_or(IndexError::Stopped)
    }

    fn look_up(&self, id: TermId) -> Result<Place, IndexError> {
        let mut place = Place { is_built_in: false, host: None, documents: [None; 2] };
        if id.kind() != Some(TermKind::Iri) {
            return Ok(place);
        }
        let Term::NamedNode(node) = self.resolver.term(id)? else {
            return Ok(place);
        };
        place.is_built_in = BUILT_IN.iter().any(|namespace| node.as_str().starts_with(namespace));
        let Ok(url) = PageUrl::parse(node.as_str()) else {
            return Ok(place);
        };
        place.host = Some(match url.as_url().port() {
            Some(port) => format!("{}:{port}", url.host()).into(),
            None => url.host().into(),
        });
        let namespace = url.as_str().rfind('/').map(|at| &url.as_str()[..=at]);
        for (document, address) in place.documents.iter_mut().zip([Some(url.as_str()), namespace]) {
            if let Some(address) = address {
                *document = self.redirected(address)?;
            }
        }
        Ok(place)
    }

    /// The page that the address redirects to, by what the crawl met.
    fn redirected(&self, address: &str) -> Result<Option<TermId>, IndexError> {
        let hasher = &self.snapshot.view.hasher;
        let redirects_to = hasher.iri(wl::REDIRECTS_TO.as_str());
        let mut found = None;
        let mut address = address.to_owned();
        for _ in 0..REDIRECTS_MAX {
            let Ok(url) = PageUrl::parse(&address) else {
                break;
            };
            let subject = hasher.iri(url.graph_name().as_str());
            let graph = hasher.iri(NamedNodeRef::from(&url.meta_graph_name()).as_str());
            let pattern = [Some(subject), Some(redirects_to), None, Some(graph)];
            let Some(quad) = Scan::new(&self.snapshot.view, pattern, GraphFilter::All)?.next().transpose()?
            else {
                break;
            };
            let Term::NamedNode(target) = self.resolver.term(quad.object)? else {
                break;
            };
            found = Some(quad.object);
            address = target.into_string();
        }
        Ok(found)
    }
}
