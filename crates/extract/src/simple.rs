//! Link queries of the common shape, answered without SPARQL's machinery.
//!
//! In: a query that is triple patterns, then any number of `OPTIONAL` groups of triple patterns, and nothing else: the
//! queries every crawl asks of every page. Out: its rows, by nested loops over the page's sorted triples. A page is small,
//! so preparing a general evaluation costs many times what the answer does. Other shapes are the evaluator's.

use oxrdf::Term;
use spargebra::Query;
use spargebra::algebra::GraphPattern;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

use crate::view::{PAGE_STAND_IN, PageView, TooManyRows};

/// A query of the common shape.
#[derive(Debug, Clone)]
pub(crate) struct Simple {
    required: Vec<Pattern>,
    optional: Vec<Vec<Pattern>>,
    /// How many variables there are.
    variables: usize,
    /// The one that is the page.
    page: Option<usize>,
    link: usize,
    anchor: Option<usize>,
}

/// A triple pattern.
type Pattern = [Place; 3];

/// What stands at one place of a pattern.
#[derive(Debug, Clone)]
enum Place {
    Constant(Term),
    Variable(usize),
}

/// What a variable is bound to, by variable.
type Bindings = Vec<Option<u32>>;

impl Simple {
    /// The query, if it has the shape.
    pub(crate) fn of(query: &Query) -> Option<Self> {
        let Query::Select { dataset: None, pattern, .. } = query else { return None };
        let mut pattern = pattern;
        let selected = loop {
            match pattern {
                // Links are told apart by their target anyway.
                GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => pattern = inner,
                GraphPattern::Project { inner, variables } => {
                    pattern = inner;
                    break variables;
                }
                _ => return None,
            }
        };
        let mut names = Names::default();
        let mut optional = Vec::new();
        while let GraphPattern::LeftJoin { left, right, expression: None } = pattern {
            optional.push(names.patterns(right)?);
            pattern = left;
        }
        optional.reverse();
        // Within an OPTIONAL the page would be given there only.
        if names.page.is_some() {
            return None;
        }
        let required = names.patterns(pattern)?;
        let mut selects = |name: &str| {
            selected.iter().any(|variable| variable.as_str() == name).then(|| names.variable(name))
        };
        let (link, anchor) = (selects("link")?, selects("anchor"));
        Some(Self { required, optional, variables: names.names.len(), page: names.page, link, anchor })
    }

    /// Hands each row's link and anchor, by their numbers in the view, to `row`.
    pub(crate) fn run(&self, view: &PageView<'_>, row: impl FnMut(u32, Option<u32>)) -> Result<(), String> {
        let groups = std::iter::once(&self.required).chain(&self.optional);
        let groups = groups.map(|patterns| Group::on(view, patterns)).collect();
        let mut search = Search { view, groups, row, rows: 0, simple: self };
        let mut bindings = vec![None; self.variables];
        if let Some(page) = self.page {
            bindings[page] = Some(view.page());
        }
        search.group(0, &mut bindings)
    }
}

/// Triple patterns with the page's numbers for constants, or nothing when the page lacks one of them.
struct Group(Option<Vec<[NumberedPlace; 3]>>);

#[derive(Clone, Copy)]
enum NumberedPlace {
    Constant(u32),
    Variable(usize),
}

impl Group {
    fn on(view: &PageView<'_>, patterns: &[Pattern]) -> Self {
        let place = |place: &Place| match place {
            Place::Constant(term) => view.find(term.as_ref()).map(NumberedPlace::Constant),
            Place::Variable(variable) => Some(NumberedPlace::Variable(*variable)),
        };
        let patterns = patterns
            .iter()
            .map(|[subject, predicate, object]| Some([place(subject)?, place(predicate)?, place(object)?]));
        Self(patterns.collect())
    }
}

/// One run of a query.
struct Search<'s, 'a, F> {
    view: &'s PageView<'a>,
    groups: Vec<Group>,
    row: F,
    /// Rows given so far.
    rows: u64,
    simple: &'s Simple,
}

impl<F: FnMut(u32, Option<u32>)> Search<'_, '_, F> {
    /// Extends the bindings by all groups from this one on.
    fn group(&mut self, group: usize, bindings: &mut Bindings) -> Result<(), String> {
        if group == self.groups.len() {
            return self.give(bindings);
        }
        let found = self.pattern(group, 0, bindings)?;
        // The first group must be found, the others need not.
        if !found && group > 0 { self.group(group + 1, bindings) } else { Ok(()) }
    }

    /// Extends the bindings by the patterns of a group from this one on, and then by the groups after it. Answers whether
    /// there was a way to.
    fn pattern(&mut self, group: usize, pattern: usize, bindings: &mut Bindings) -> Result<bool, String> {
        let Some(patterns) = &self.groups[group].0 else { return Ok(false) };
        let Some(&places) = patterns.get(pattern) else {
            self.group(group + 1, bindings)?;
            return Ok(true);
        };
        let wanted = places.map(|place| match place {
            NumberedPlace::Constant(number) => Some(number),
            NumberedPlace::Variable(variable) => bindings[variable],
        });
        let mut found = false;
        for row in self.view.rows(wanted) {
            let row = row.map_err(|problem: TooManyRows| problem.to_string())?;
            let before: [Option<Option<u32>>; 3] = places.map(|place| match place {
                NumberedPlace::Constant(_) => None,
                NumberedPlace::Variable(variable) => Some(bindings[variable]),
            });
            if bind(&places, &row, bindings) {
                found |= self.pattern(group, pattern + 1, bindings)?;
            }
            for (place, before) in places.iter().zip(before) {
                if let (NumberedPlace::Variable(variable), Some(before)) = (place, before) {
                    bindings[*variable] = before;
                }
            }
        }
        Ok(found)
    }

    fn give(&mut self, bindings: &Bindings) -> Result<(), String> {
        self.rows += 1;
        let rows_max = self.view.rows_max();
        if self.rows > rows_max {
            return Err(format!("gave more than {rows_max} rows, which is the limit"));
        }
        if let Some(link) = bindings[self.simple.link] {
            (self.row)(link, self.simple.anchor.and_then(|anchor| bindings[anchor]));
        }
        Ok(())
    }
}

/// Binds the variables of a pattern to a row. False when a variable would need two values.
fn bind(places: &[NumberedPlace; 3], row: &[u32; 3], bindings: &mut Bindings) -> bool {
    places.iter().zip(row).all(|(place, number)| match place {
        NumberedPlace::Constant(_) => true,
        NumberedPlace::Variable(variable) => *bindings[*variable].get_or_insert(*number) == *number,
    })
}

/// Numbers of variables by name; blank nodes of a query are variables too.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    /// The variable that a `VALUES` clause gives the page to.
    page: Option<usize>,
}

impl Names {
    fn variable(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// The triple patterns of a group that has nothing else, `VALUES` for the page aside.
    fn patterns(&mut self, pattern: &GraphPattern) -> Option<Vec<Pattern>> {
        match pattern {
            GraphPattern::Bgp { patterns } => patterns.iter().map(|pattern| self.pattern(pattern)).collect(),
            GraphPattern::Values { .. } => {
                let page = self.variable(page_variable(pattern)?);
                self.page = Some(page);
                Some(Vec::new())
            }
            GraphPattern::Join { left, right } => {
                let mut patterns = self.patterns(left)?;
                patterns.extend(self.patterns(right)?);
                Some(patterns)
            }
            _ => None,
        }
    }

    fn pattern(&mut self, pattern: &TriplePattern) -> Option<Pattern> {
        let predicate = match &pattern.predicate {
            NamedNodePattern::NamedNode(node) => Place::Constant(node.clone().into()),
            NamedNodePattern::Variable(variable) => Place::Variable(self.variable(variable.as_str())),
        };
        Some([self.place(&pattern.subject)?, predicate, self.place(&pattern.object)?])
    }

    fn place(&mut self, term: &TermPattern) -> Option<Place> {
        Some(match term {
            TermPattern::NamedNode(node) => Place::Constant(node.clone().into()),
            TermPattern::Literal(literal) => Place::Constant(literal.clone().into()),
            TermPattern::Variable(variable) => Place::Variable(self.variable(variable.as_str())),
            // No variable has a name like that.
            TermPattern::BlankNode(node) => Place::Variable(self.variable(&format!("_:{}", node.as_str()))),
            #[allow(
                unreachable_patterns,
                reason = "terms of RDF 1.2 appear when a crate in the build asks for them"
            )]
            _ => return None,
        })
    }
}

/// The variable that a `VALUES` clause gives the page to, if it does that and no more.
fn page_variable(pattern: &GraphPattern) -> Option<&str> {
    let GraphPattern::Values { variables, bindings } = pattern else { return None };
    let ([variable], [row]) = (variables.as_slice(), bindings.as_slice()) else { return None };
    let [Some(GroundTerm::NamedNode(node))] = row.as_slice() else { return None };
    (node.as_str() == PAGE_STAND_IN).then_some(variable.as_str())
}
