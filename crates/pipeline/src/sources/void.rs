//! VoID: a description of data sets, and of where they are to be had.
//!
//! In: the URL of a description, or of a site that has one in the usual place. Out: the description in the index; dumps,
//! endpoints and further descriptions as sources; examples and entry points as seeds.

use oxrdf::{Quad, Term, Triple};
use webloom_fetch::Wanted;
use webloom_model::PageUrl;

use super::kept::SourceState;
use super::{ACCEPT_RDF, SourceKind, SourceSpec, Step, Trouble, ask, read, store};
use crate::wiring::Crawl;

const NAMESPACE: &str = "http://rdfs.org/ns/void#";
/// Bytes of a description.
const BYTES_MAX: u64 = 16 << 20;

/// Reads the description, which is all there is to do.
pub(super) async fn step(crawl: &Crawl, state: &SourceState) -> Result<Step, Trouble> {
    let place = match state.url.path_and_query() {
        "/" => state.url.join("/.well-known/void").unwrap_or_else(|_| state.url.clone()),
        _ => state.url.clone(),
    };
    let page = ask(crawl, place, &Wanted { accept: ACCEPT_RDF, bytes_max: BYTES_MAX, timeout: None }).await?;
    let url = page.url.clone();
    let (quads, remark) = read(crawl, page).await?;
    if let Some(remark) = &remark
        && quads.is_empty()
    {
        return Err(Trouble::Final(format!("there is no RDF in it: {remark}")));
    }
    let mut step = Step { done: true, remark, ..named(&quads, &url) };
    step.triples = store(crawl, &url, quads.into_iter().map(Triple::from).collect())?;
    Ok(step)
}

/// What a description names.
fn named(quads: &[Quad], description: &PageUrl) -> Step {
    let mut step = Step::default();
    for quad in quads {
        let (Some(property), Term::NamedNode(object)) =
            (quad.predicate.as_str().strip_prefix(NAMESPACE), &quad.object)
        else {
            continue;
        };
        let Ok(url) = PageUrl::parse(object.as_str()) else { continue };
        match property {
            "dataDump" => step.sources.push(SourceSpec { kind: SourceKind::Dump, url }),
            "sparqlEndpoint" => step.sources.push(SourceSpec { kind: SourceKind::Sparql, url }),
            // Data sets described elsewhere; those described here have this document's URL before their fragment.
            "inDataset" | "subset" if url != *description && url.host() == description.host() => {
                step.sources.push(SourceSpec { kind: SourceKind::Void, url });
            }
            "exampleResource" | "rootResource" => step.seeds.push(url),
            _ => {}
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use oxrdf::{GraphName, NamedNode};

    use super::*;

    #[test]
    fn what_a_description_names() {
        let node = |iri: &str| NamedNode::new_unchecked(iri);
        let say = |property: &str, object: &str| {
            let subject = node("http://a.example/void#set");
            Quad::new(subject, node(&format!("{NAMESPACE}{property}")), node(object), GraphName::DefaultGraph)
        };
        let quads = [
            say("dataDump", "http://files.example/d.nt.gz"),
            say("sparqlEndpoint", "http://a.example/sparql"),
            say("subset", "http://a.example/void#part"),
            say("subset", "http://a.example/more"),
            say("subset", "http://elsewhere.example/void"),
            say("exampleResource", "http://a.example/id/1"),
            say("dataDump", "ftp://files.example/d.nt.gz"),
            say("vocabulary", "http://purl.org/dc/terms/"),
        ];
        let step = named(&quads, &PageUrl::parse("http://a.example/void").unwrap());
        let sources: Vec<String> = step.sources.iter().map(ToString::to_string).collect();
        assert_eq!(
            sources,
            [
                "dump=http://files.example/d.nt.gz",
                "sparql=http://a.example/sparql",
                "void=http://a.example/more"
            ]
        );
        assert_eq!(step.seeds, [PageUrl::parse("http://a.example/id/1").unwrap()]);
    }
}
