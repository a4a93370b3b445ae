//! Rules: pages of some kind are given to a stylesheet, a service or a command, and what comes back is RDF.
//!
//! A [`Rule`] says [`when`](Rule::when) it applies and names its [`steps`](Rule::steps), the first of which gets the page, every
//! other what the one before gave. Stylesheets run here. Services and commands are outside: nothing here opens a socket or starts a
//! process. Whoever can asks them first and hands over the [`Answers`]:
//!
//! 1. [`Rules::asking`] tells which rules of a page need somebody outside.
//! 2. [`Rules::question`] runs the stylesheets before the next such step and gives what to send.
//! 3. What came back is the next [`Stage`]; from 2 again, while there are steps outside.
//! 4. [`transform_with`](crate::transform_with) runs the rest and reads the result.

mod run;
mod when;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use webloom_model::{DetectedPage, Diagnostic, StepRecord};
use webloom_xslt::{Loader, Stylesheet};

pub use self::run::Question;
pub(crate) use self::run::{media_type_of, read};
pub use self::when::{MediaPattern, RootPattern, When};
use crate::ResultSyntax;

/// The rules of a specification, in their order.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Rule>);

/// Which pages, and what is done with them.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What diagnostics and counters call it.
    pub name: String,
    /// Which pages.
    pub when: When,
    /// What is done, one after the other.
    pub steps: Vec<Step>,
    /// The syntax of the result; when nothing is said, its media type and its first characters tell.
    pub syntax: Option<ResultSyntax>,
}

/// One thing that is done.
#[derive(Debug, Clone)]
pub enum Step {
    /// A stylesheet of the operator's.
    Stylesheet(StylesheetStep),
    /// A service or a command.
    Outside(OutsideStep),
    /// The transformations that the result of the step before names by GRDDL. The last step, if it is one.
    Grddl,
}

/// A stylesheet and what it is told.
#[derive(Debug, Clone)]
pub struct StylesheetStep {
    /// What diagnostics call it: its file name.
    pub name: String,
    /// Where it comes from.
    pub source: Arc<dyn StylesheetSource>,
    /// Parameters beside those that every stylesheet gets: `page-url`, `fetch-time`, `media-type`.
    pub parameters: Vec<(String, String)>,
}

/// Something that is asked outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideStep {
    /// What diagnostics and counters call it: `service images`.
    pub name: String,
    /// The number by which whoever asks knows it.
    pub service: usize,
}

/// A stylesheet that may change while it is in use.
pub trait StylesheetSource: Send + Sync + fmt::Debug {
    /// The stylesheet as it is now.
    fn current(&self) -> CurrentStylesheet;
}

/// A stylesheet and what its `document()` may read.
#[derive(Clone)]
pub struct CurrentStylesheet {
    /// Compiled.
    pub stylesheet: Stylesheet,
    /// What it may read.
    pub documents: Arc<dyn Loader + Send + Sync>,
}

impl fmt::Debug for CurrentStylesheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentStylesheet").finish_non_exhaustive()
    }
}

/// What a step gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The number of the step that is next.
    pub next: usize,
    /// What was given.
    pub bytes: Bytes,
    /// Its media type, with parameters.
    pub media_type: Option<String>,
    /// Who gave it, as diagnostics say.
    pub giver: String,
}

/// What came of asking outside on behalf of one rule.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The rule's number.
    pub rule: usize,
    /// The last answer, or why there is none.
    pub outcome: Result<Stage, Diagnostic>,
    /// What the steps did.
    pub records: Vec<StepRecord>,
}

/// What came of asking outside about one page.
#[derive(Debug, Clone, Default)]
pub struct Answers(pub Vec<Answer>);

impl Rules {
    /// Rules in their order.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rule of a number.
    pub fn get(&self, number: usize) -> Option<&Rule> {
        self.0.get(number)
    }

    /// True when one of them runs the transformations that pages name.
    pub fn uses_grddl(&self) -> bool {
        self.0.iter().any(|rule| rule.steps.iter().any(|step| matches!(step, Step::Grddl)))
    }

    /// The rules that apply to a page, with their numbers.
    pub fn matching(&self, page: &DetectedPage) -> impl Iterator<Item = (usize, &Rule)> {
        self.0.iter().enumerate().filter(|(_, rule)| rule.when.matches(page))
    }

    /// The numbers of the rules that apply to a page and need somebody outside.
    pub fn asking(&self, page: &DetectedPage) -> Vec<usize> {
        self.matching(page).filter(|(_, rule)| rule.asks_outside()).map(|(number, _)| number).collect()
    }
}

impl Rule {
    /// True when one of its steps is outside.
    pub fn asks_outside(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Outside(_)))
    }
}

impl Step {
    /// What diagnostics and counters call it.
    pub fn name(&self) -> String {
        match self {
            Self::Stylesheet(step) => format!("stylesheet {}", step.name),
            Self::Outside(step) => step.name.clone(),
            Self::Grddl => "grddl".to_owned(),
        }
    }
}
