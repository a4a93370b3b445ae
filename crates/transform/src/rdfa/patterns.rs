//! Property copying: `rdfa:copy` takes over what an `rdfa:Pattern` says.
//!
//! HTML+RDFa defines it by rules applied until nothing changes. Here every subject that copies gets, once, what the
//! patterns it reaches say, so cycles cost nothing; what that adds counts against the page's limits. Patterns that
//! were copied, and the statements that copied them, go.

use oxrdf::{NamedOrBlankNode, Term, Triple};

use super::output::{COPY, Output};
use crate::maps::{HashMap, HashSet};

/// Copies the properties of all patterns.
pub(super) fn copy(output: &mut Output) {
    let triples = std::mem::take(&mut output.triples);
    let patterns: HashSet<&NamedOrBlankNode> =
        triples.iter().filter(|triple| Output::is_pattern(triple)).map(|triple| &triple.subject).collect();
    let target = |triple: &Triple| {
        (triple.predicate.as_ref() == COPY)
            .then(|| node(&triple.object))
            .flatten()
            .and_then(|node| patterns.get(&node).copied())
    };
    // Who copies what, in the order written.
    let mut copies: Vec<(&NamedOrBlankNode, &NamedOrBlankNode)> = Vec::new();
    let mut copied_by: HashMap<&NamedOrBlankNode, Vec<&NamedOrBlankNode>> = HashMap::default();
    let mut referenced: HashSet<&NamedOrBlankNode> = HashSet::default();
    for triple in &triples {
        if let Some(pattern) = target(triple) {
            copies.push((&triple.subject, pattern));
            copied_by.entry(&triple.subject).or_default().push(pattern);
            referenced.insert(pattern);
        }
    }
    let mut said: HashMap<&NamedOrBlankNode, Vec<&Triple>> = HashMap::default();
    for triple in &triples {
        if referenced.contains(&triple.subject) && !Output::is_pattern(triple) && target(triple).is_none() {
            said.entry(&triple.subject).or_default().push(triple);
        }
    }
    let mut done: HashSet<&NamedOrBlankNode> = HashSet::default();
    for (subject, _) in &copies {
        // A pattern that is copied itself goes in the end.
        if referenced.contains(subject) || !done.insert(subject) {
            continue;
        }
        let mut reached: HashSet<&NamedOrBlankNode> = HashSet::default();
        let mut waiting: Vec<&NamedOrBlankNode> = copied_by.get(subject).cloned().unwrap_or_default();
        waiting.reverse();
        while let Some(pattern) = waiting.pop() {
            // Every step is paid for, so that many subjects with long chains of patterns end too.
            if !output.take(8) {
                break;
            }
            if !reached.insert(pattern) {
                continue;
            }
            for triple in said.get(pattern).into_iter().flatten() {
                if output.is_full() {
                    break;
                }
                output.push((*subject).clone(), triple.predicate.clone(), triple.object.clone());
            }
            waiting.extend(copied_by.get(pattern).into_iter().flatten().rev());
        }
    }
    let added = std::mem::take(&mut output.triples);
    let kept: Vec<bool> = triples
        .iter()
        .map(|triple| !referenced.contains(&triple.subject) && target(triple).is_none())
        .collect();
    let mut kept = kept.into_iter();
    output.triples = triples;
    output.triples.retain(|_| kept.next().unwrap_or(true));
    output.triples.extend(added);
}

fn node(term: &Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(node) => Some(node.clone().into()),
        Term::BlankNode(node) => Some(node.clone().into()),
        #[allow(
            unreachable_patterns,
            reason = "terms of RDF 1.2 appear when a crate in the build asks for them"
        )]
        _ => None,
    }
}
