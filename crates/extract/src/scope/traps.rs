//! The rule about traps that a URL gives away by itself: paths that go in circles, calendars without end.
//!
//! Which years a calendar may show is told by whoever knows what day it is; nothing here reads a clock.

use std::ops::RangeInclusive;

use webloom_model::PageUrl;

use super::Refusal;

/// Longest run of path segments that is looked at for going in circles.
const CIRCLE_SEGMENTS: usize = 4;

/// What gives a trap away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapRules {
    /// How often in a row the same part of a path may come. Nothing does not look.
    pub repeats_max: Option<usize>,
    /// Segments of a path.
    pub segments_max: usize,
    /// Years that a date in a URL may be of. Nothing does not look.
    pub years: Option<RangeInclusive<u32>>,
}

impl Default for TrapRules {
    fn default() -> Self {
        Self { repeats_max: Some(2), segments_max: 40, years: None }
    }
}

impl TrapRules {
    /// Follows everything.
    pub fn none() -> Self {
        Self { repeats_max: None, segments_max: usize::MAX, years: None }
    }

    pub(super) fn check(&self, url: &PageUrl) -> Result<(), Refusal> {
        let path = url.as_url().path();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        if segments.len() > self.segments_max {
            return Err(Refusal::Circles);
        }
        if self.repeats_max.is_some_and(|max| goes_in_circles(&segments, max)) {
            return Err(Refusal::Circles);
        }
        match &self.years {
            Some(years) if dated_outside(&segments, url.as_url(), years) => Err(Refusal::Calendar),
            _ => Ok(()),
        }
    }
}

/// True when some run of segments comes more than `max` times in a row. Numbers alone do not count: `/2011/11/11/11` is a date
/// with a number behind it.
fn goes_in_circles(segments: &[&str], max: usize) -> bool {
    (1..=CIRCLE_SEGMENTS).any(|length| {
        let mut alike = 0;
        (length..segments.len()).any(|at| {
            alike = if segments[at] == segments[at - length] { alike + 1 } else { 0 };
            // So many segments repeat the ones before them: that is the run, and the times it came again.
            let run = &segments[at + 1 - length..=at];
            alike >= length * max && run.iter().any(|segment| !is_number(segment))
        })
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True when the URL holds a date of a year outside of `years`: `/2031/07/`, `2031-07`, `year=2031`.
fn dated_outside(segments: &[&str], url: &url::Url, years: &RangeInclusive<u32>) -> bool {
    let outside = |year: Option<u32>| year.is_some_and(|year| !years.contains(&year));
    for (number, segment) in segments.iter().enumerate() {
        let next = segments.get(number + 1).copied().unwrap_or_default();
        if month(next) && outside(year(segment)) || outside(leading_date(segment)) {
            return true;
        }
    }
    url.query_pairs().any(|(name, value)| {
        let named = matches!(&*name.to_ascii_lowercase(), "year" | "yr" | "cal_year" | "calyear" | "yyyy");
        named && outside(year(&value)) || outside(leading_date(&value))
    })
}

/// True when a URL holds a date, as those of calendars and of news do.
pub fn is_dated(url: &PageUrl) -> bool {
    let segments: Vec<&str> = url.as_url().path().split('/').filter(|segment| !segment.is_empty()).collect();
    // No year is in an empty range.
    #[expect(clippy::reversed_empty_ranges, reason = "every year is outside of it")]
    dated_outside(&segments, url.as_url(), &(1..=0))
}

fn year(text: &str) -> Option<u32> {
    if text.len() == 4 && is_number(text) { text.parse().ok() } else { None }
}

fn month(text: &str) -> bool {
    matches!(text.len(), 1 | 2) && text.parse::<u32>().is_ok_and(|month| (1..=12).contains(&month))
}

/// The year of a text that begins like `2031-07`.
fn leading_date(text: &str) -> Option<u32> {
    let (first, rest) = text.split_at_checked(4)?;
    let rest = rest.strip_prefix('-')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    year(first).filter(|_| rest.get(..digits).is_some_and(month))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps_and_what_only_looks_like_one() {
        let rules = TrapRules { years: Some(1990..=2027), ..TrapRules::default() };
        for (path, expected) in [
            ("/", Ok(())),
            ("/a/b/c", Ok(())),
            ("/en/en/", Ok(())),
            ("/a/a/a/", Err(Refusal::Circles)),
            ("/x/a/b/a/b/a/b/y", Err(Refusal::Circles)),
            ("/a/b/a/b/", Ok(())),
            ("/a/b/c/a/b/c/a/b/c", Err(Refusal::Circles)),
            ("/a/b/c/a/c/b/a/b/c", Ok(())),
            ("/2011/11/11/11/post", Ok(())),
            ("/news/2024/05/thing", Ok(())),
            ("/news/2031/05/thing", Err(Refusal::Calendar)),
            ("/news/1066/10/", Err(Refusal::Calendar)),
            ("/products/9999/", Ok(())),
            ("/products/9999/details", Ok(())),
            ("/events/2031-07-01", Err(Refusal::Calendar)),
            ("/events/2031-70", Ok(())),
            ("/events?date=2031-7", Err(Refusal::Calendar)),
            ("/events?year=2031", Err(Refusal::Calendar)),
            ("/events?year=2026", Ok(())),
            ("/events?id=2031", Ok(())),
            ("/a%2Fb/ä/ö", Ok(())),
        ] {
            let url = PageUrl::parse(&format!("http://a.example{path}")).unwrap();
            assert_eq!(rules.check(&url), expected, "{path}");
            assert_eq!(TrapRules::none().check(&url), Ok(()));
        }
        let deep = PageUrl::parse(&format!(
            "http://a.example/{}",
            (0..60).map(|n| format!("{n}x/")).collect::<String>()
        ));
        assert_eq!(rules.check(&deep.unwrap()), Err(Refusal::Circles));
    }
}
