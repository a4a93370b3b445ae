//! Views: what follows from what the pages say, kept apart from what they say.
//!
//! In: a [`Snapshot`] and an [`Entailment`], which names rules, whom to believe, and limits. Out: [`Inferred`], the
//! statements that follow and that nobody made. They never enter a page's graph: a query sees them through
//! [`Snapshot::with_inferred`], and [`Index::materialize`](crate::Index::materialize) keeps them in a graph of their own.
//!
//! The schema is small and read first ([`schema`]); its hierarchies are closed on demand ([`hierarchy`]), so that each
//! stored statement is looked at once and gives all its consequences ([`derive`]). Things that are the same are
//! found before that ([`identity`]) and replaced by one of their names, so that n names do not become n² statements.
//! Everything that grows with what strangers write has a limit in [`EntailmentLimits`]. Start at [`Snapshot::inferred`].

mod authority;
mod derive;
mod hierarchy;
mod identity;
mod keep;
mod schema;

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use oxrdf::{NamedNode, NamedNodeRef, Term, TermRef, Triple};
use webloom_model::vocab::{INFERRED_PREFIX, owl, rdf, rdfs};

use self::authority::Authority;
use self::derive::Derivation;
use self::hierarchy::Hierarchy;
use self::identity::Identities;
use self::schema::Schema;
use crate::error::IndexError;
use crate::scan::Deadline;
use crate::snapshot::{Resolver, Snapshot};
use crate::term::{self, TermHasher, TermId, TermKind};

/// Which rules are applied. Parsed from a list such as `rdfs,sameas`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Sub-classes, sub-properties, domains and ranges.
    rdfs: bool,
    /// Equivalent, inverse, symmetric, transitive and (inverse) functional properties, equivalent classes.
    owl: bool,
    /// `owl:sameAs`.
    same_as: bool,
}

impl Rules {
    /// `rdfs:subClassOf`, `rdfs:subPropertyOf`, `rdfs:domain`, `rdfs:range`.
    pub const RDFS: Self = Self { rdfs: true, owl: false, same_as: false };
    /// Stated `owl:sameAs`, nothing else.
    pub const SAME_AS: Self = Self { rdfs: false, owl: false, same_as: true };
    /// The two above, and the core of OWL 2 RL.
    pub const OWL: Self = Self { rdfs: true, owl: true, same_as: true };

    /// All that have a graph of their own.
    pub(crate) const ALL: [Self; 4] = [Self::RDFS, Self::SAME_AS, Self::RDFS.and(Self::SAME_AS), Self::OWL];

    /// What either of the two says.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            rdfs: self.rdfs | other.rdfs,
            owl: self.owl | other.owl,
            same_as: self.same_as | other.same_as,
        }
    }

    /// The graph that what these rules infer is kept in.
    pub fn graph_name(self) -> NamedNode {
        NamedNode::new_unchecked(format!("{INFERRED_PREFIX}{self}"))
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.owl, self.rdfs, self.same_as) {
            (true, _, _) => "owl",
            (false, true, true) => "rdfs,sameas",
            (false, true, false) => "rdfs",
            (false, false, _) => "sameas",
        })
    }
}

impl FromStr for Rules {
    type Err = UnknownRules;

    fn from_str(text: &str) -> Result<Self, UnknownRules> {
        let one = |word: &str| match word.trim().to_ascii_lowercase().as_str() {
            "rdfs" => Ok(Self::RDFS),
            "owl" => Ok(Self::OWL),
            "sameas" => Ok(Self::SAME_AS),
            _ => Err(UnknownRules(word.trim().to_owned())),
        };
        let mut words = text.split(',');
        let first = one(words.next().unwrap_or_default())?;
        words.try_fold(first, |rules, word| Ok(rules.and(one(word)?)))
    }
}

/// A word that names no rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no rules; known are rdfs, owl and sameas")]
pub struct UnknownRules(String);

/// Whose statements about a vocabulary, and about who is the same, are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Those made on the host of the term they are about, or by the document the term redirects to, or in the default
    /// graph, where only people write. A page cannot change what another site's terms mean.
    #[default]
    Authoritative,
    /// Everybody's.
    All,
}

/// What is inferred, from whom, and how much of it there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entailment {
    /// The rules.
    pub rules: Rules,
    /// Whose schema counts.
    pub trust: Trust,
    /// How much there may be of everything.
    pub limits: EntailmentLimits,
    /// How long it may take.
    pub time_limit: Option<Duration>,
}

impl Entailment {
    /// These rules, authoritative schema only, default limits.
    pub fn new(rules: Rules) -> Self {
        Self { rules, trust: Trust::default(), limits: EntailmentLimits::default(), time_limit: None }
    }
}

/// What bounds memory. Where one term or value alone is at fault, it is set aside and named in
/// [`Inferred::set_aside`]; where the whole is too large, inference ends with [`IndexError::EntailmentLimit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntailmentLimits {
    /// Schema statements that are believed; more are an error. About 100 bytes each.
    pub schema_statements_max: usize,
    /// Classes or properties above one; a term with more is treated as if it had none.
    pub super_terms_max: usize,
    /// Statements of `owl:sameAs` and of transitive and (inverse) functional properties; more are an error. About 150
    /// bytes each.
    pub held_statements_max: usize,
    /// Subjects that share one value of an inverse functional property (or values of one subject, of a functional one);
    /// what more share identifies nobody and is set aside.
    pub sharers_max: usize,
    /// Statements the closure of one transitive property may have; a property with more is set aside.
    pub transitive_statements_max: usize,
    /// Inferred statements; more are an error. About 50 bytes each.
    pub triples_max: usize,
}

impl Default for EntailmentLimits {
    fn default() -> Self {
        Self {
            schema_statements_max: 2_000_000,
            super_terms_max: 1_000,
            held_statements_max: 5_000_000,
            sharers_max: 1_000,
            transitive_statements_max: 1_000_000,
            triples_max: 10_000_000,
        }
    }
}

/// What follows from a snapshot, without what it says already.
#[derive(Debug)]
pub struct Inferred {
    rules: Rules,
    snapshot: Snapshot,
    /// Sorted, distinct.
    triples: Vec<TripleIds>,
    set_aside: Vec<String>,
    schema_statements: u64,
    merged_things: u64,
}

/// Subject, predicate and object.
type TripleIds = [TermId; 3];

impl Inferred {
    /// The rules that were applied.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Number of inferred statements.
    pub fn len(&self) -> usize {
        self.triples.len()
    }

    /// True when nothing follows.
    pub fn is_empty(&self) -> bool {
        self.triples.is_empty()
    }

    /// The inferred statements.
    pub fn triples(&self) -> impl Iterator<Item = Result<Triple, IndexError>> + '_ {
        let terms = Terms::new(&self.snapshot);
        self.triples.iter().map(move |triple| terms.triple(*triple))
    }

    /// What was left out because it was beyond a limit, in words: the first hundred, and how many more.
    pub fn set_aside(&self) -> &[String] {
        &self.set_aside
    }

    /// Schema statements that were believed and used.
    pub fn schema_statements(&self) -> u64 {
        self.schema_statements
    }

    /// Names that gave way to another name of the same thing.
    pub fn merged_things(&self) -> u64 {
        self.merged_things
    }
}

impl Snapshot {
    /// What follows from this snapshot by the rules.
    ///
    /// Metadata, and what was inferred before, is not looked at. The time is that of a few scans of everything.
    pub fn inferred(&self, entailment: &Entailment) -> Result<Inferred, IndexError> {
        let work = Work {
            snapshot: self,
            rules: entailment.rules,
            limits: entailment.limits,
            deadline: entailment.time_limit.map(|limit| Deadline { at: Instant::now() + limit, limit }),
            known: KnownIds::new(&self.view.hasher),
        };
        let mut authority = Authority::new(self, entailment.trust);
        let schema = Schema::read(&work, &mut authority)?;
        let schema_statements = schema.statements();
        let mut set_aside = SetAside::default();
        let mut hierarchy = Hierarchy::new(&schema, &work);
        let identities = Identities::find(&work, &mut hierarchy, &mut authority, &mut set_aside)?;
        // Scans look at the clock every few thousand rows; between them there is work without scans.
        if let Some(deadline) = &work.deadline {
            deadline.check()?;
        }
        let derivation = Derivation::new(&work, &mut hierarchy, &identities, &mut set_aside);
        let triples = derivation.run()?;
        hierarchy.tell(&mut set_aside);
        Ok(Inferred {
            rules: entailment.rules,
            snapshot: self.clone(),
            triples,
            set_aside: set_aside.into_words(&Terms::new(self))?,
            schema_statements,
            merged_things: identities.merged(),
        })
    }
}

/// What every part of the work needs.
struct Work<'a> {
    snapshot: &'a Snapshot,
    rules: Rules,
    limits: EntailmentLimits,
    deadline: Option<Deadline>,
    known: KnownIds,
}

/// Ids of the terms that rules are about.
struct KnownIds {
    a: TermId,
    same_as: TermId,
    sub_class_of: TermId,
    sub_property_of: TermId,
}

impl KnownIds {
    fn new(hasher: &TermHasher) -> Self {
        let [a, same_as, sub_class_of, sub_property_of] =
            INFERRED_PREDICATES.map(|node| hasher.iri(node.as_str()));
        Self { a, same_as, sub_class_of, sub_property_of }
    }
}

/// What may be inferred although no page has it as a term.
const INFERRED_PREDICATES: [NamedNodeRef<'_>; 4] =
    [rdf::TYPE, owl::SAME_AS, rdfs::SUB_CLASS_OF, rdfs::SUB_PROPERTY_OF];

/// True for what can be a subject.
fn is_resource(id: TermId) -> bool {
    matches!(id.kind(), Some(TermKind::Iri | TermKind::MetaIri | TermKind::BlankNode))
}

/// Ids of inferred statements back to terms.
struct Terms {
    resolver: Resolver,
    predicates: [(TermId, NamedNodeRef<'static>); 4],
}

impl Terms {
    fn new(snapshot: &Snapshot) -> Self {
        let predicates = INFERRED_PREDICATES.map(|node| (snapshot.term_id(TermRef::from(node)), node));
        Self { resolver: snapshot.resolver(), predicates }
    }

    fn term(&self, id: TermId) -> Result<Term, IndexError> {
        match self.predicates.iter().find(|(known, _)| *known == id) {
            Some((_, node)) => Ok(node.into_owned().into()),
            None => self.resolver.term(id),
        }
    }

    fn triple(&self, [subject, predicate, object]: TripleIds) -> Result<Triple, IndexError> {
        let subject = term::into_subject(self.term(subject)?).ok_or_else(|| self.resolver.damaged())?;
        let Term::NamedNode(predicate) = self.term(predicate)? else {
            return Err(self.resolver.damaged());
        };
        Ok(Triple::new(subject, predicate, self.term(object)?))
    }
}

/// How many of the things set aside are named.
const NAMED_MAX: usize = 100;

/// What was beyond a limit of its own.
#[derive(Default)]
struct SetAside {
    named: Vec<(TermId, String)>,
    more: u64,
}

impl SetAside {
    fn add(&mut self, term: TermId, why: impl FnOnce() -> String) {
        if self.named.len() < NAMED_MAX {
            self.named.push((term, why()));
        } else {
            self.more += 1;
        }
    }

    fn into_words(self, terms: &Terms) -> Result<Vec<String>, IndexError> {
        let mut words = Vec::with_capacity(self.named.len() + 1);
        for (term, why) in self.named {
            words.push(format!("{} {why}", terms.term(term)?));
        }
        if self.more > 0 {
            words.push(format!("and {} more", self.more));
        }
        Ok(words)
    }
}
