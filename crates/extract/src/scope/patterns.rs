//! The rule of regular expressions over the whole URL: excluded beats included; with no `include`,
//! everything is.

use regex::{RegexBuilder, RegexSet, RegexSetBuilder};
use webloom_model::PageUrl;

use super::Refusal;

/// Memory that all expressions of a list may take when compiled.
const COMPILED_BYTES_MAX: usize = 8 << 20;

/// Lists of regular expressions. Matching is linear in the URL, whatever they are.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    include: Option<RegexSet>,
    exclude: Option<RegexSet>,
}

/// An expression that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{list}` expression `{expression}`: {reason}")]
pub struct ScopeProblem {
    /// `include` or `exclude`.
    pub list: &'static str,
    /// The expression.
    pub expression: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Patterns {
    /// Compiles both lists. An expression may match anywhere in the URL unless it is anchored.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, ScopeProblem> {
        Ok(Self { include: compile("include", include)?, exclude: compile("exclude", exclude)? })
    }

    pub(super) fn check(&self, url: &PageUrl) -> Result<(), Refusal> {
        if self.exclude.as_ref().is_some_and(|set| set.is_match(url.as_str())) {
            return Err(Refusal::Excluded);
        }
        if self.include.as_ref().is_some_and(|set| !set.is_match(url.as_str())) {
            return Err(Refusal::NotIncluded);
        }
        Ok(())
    }
}

fn compile(list: &'static str, expressions: &[String]) -> Result<Option<RegexSet>, ScopeProblem> {
    if expressions.is_empty() {
        return Ok(None);
    }
    let problem = |expression: &str, error: &regex::Error| ScopeProblem {
        list,
        expression: expression.to_owned(),
        reason: match error {
            regex::Error::CompiledTooBig(_) => "too large when compiled".to_owned(),
            // The last line of the message says what, the ones above draw it.
            other => {
                other.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
            }
        },
    };
    // One by one first, so that a mistake is blamed on the expression that has it.
    for expression in expressions {
        RegexBuilder::new(expression)
            .size_limit(COMPILED_BYTES_MAX)
            .build()
            .map_err(|error| problem(expression, &error))?;
    }
    RegexSetBuilder::new(expressions)
        .size_limit(COMPILED_BYTES_MAX)
        .build()
        .map(Some)
        .map_err(|error| problem("(all together)", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_list_and_expression() {
        let fine = vec!["/a/".to_owned()];
        let problem = Patterns::new(&fine, &["(".to_owned()]).unwrap_err().to_string();
        assert_eq!(problem, "`exclude` expression `(`: unclosed group");
        let problem = Patterns::new(&[r"\w{9999}".to_owned()], &fine).unwrap_err().to_string();
        assert!(problem.starts_with(r"`include` expression `\w{9999}`: "), "{problem}");
    }
}
