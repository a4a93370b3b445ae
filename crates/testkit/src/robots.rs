//! What a robots.txt allows, read as RFC 9309 says, by a second pair of eyes.
//!
//! The crawler has its own reader. This one is written apart from it and kept small, so that the log can
//! judge the crawler by the file as it was served: groups by product token, the longest matching rule wins,
//! a tie goes to `Allow`, `*` and `$` work in patterns.

use std::time::Duration;

/// The rules of one robots.txt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RobotsRules {
    groups: Vec<Group>,
    everything_forbidden: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Group {
    /// Lower case; `*` for everyone.
    agents: Vec<String>,
    /// Allowed or not, and the pattern.
    rules: Vec<(bool, String)>,
    crawl_delay: Option<Duration>,
}

impl RobotsRules {
    /// Everything is allowed: what a missing file means.
    pub fn allow_all() -> Self {
        Self::default()
    }

    /// Nothing is allowed: what an unreachable file means.
    pub fn forbid_all() -> Self {
        Self { groups: Vec::new(), everything_forbidden: true }
    }

    /// The rules by the status and body that a request for robots.txt was answered with.
    /// A redirect says nothing yet, so it forbids nothing.
    pub fn from_answer(status: u16, body: &[u8]) -> Self {
        match status {
            200..=299 => Self::parse(&String::from_utf8_lossy(body)),
            300..=499 => Self::allow_all(),
            _ => Self::forbid_all(),
        }
    }

    /// Reads a file. There is no wrong file: what is no rule is skipped.
    pub fn parse(text: &str) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut naming_agents = false;
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "user-agent" => {
                    if !naming_agents {
                        groups.push(Group::default());
                        naming_agents = true;
                    }
                    if let Some(group) = groups.last_mut() {
                        group.agents.push(value.to_ascii_lowercase());
                    }
                }
                "allow" | "disallow" => {
                    naming_agents = false;
                    // An empty pattern matches nothing; a rule before any group is nobody's.
                    if let Some(group) = groups.last_mut()
                        && !value.is_empty()
                    {
                        group.rules.push((key == "allow", value.to_owned()));
                    }
                }
                "crawl-delay" => {
                    if let (Some(group), Ok(seconds)) = (groups.last_mut(), value.parse::<f64>()) {
                        group.crawl_delay = Duration::try_from_secs_f64(seconds).ok();
                    }
                }
                // Other lines (such as Sitemap) neither end a group nor begin one.
                _ => {}
            }
        }
        Self { groups, everything_forbidden: false }
    }

    /// True when a crawler with this `User-Agent` header may ask for this path.
    pub fn allows(&self, user_agent: &str, path_and_query: &str) -> bool {
        if path_and_query == "/robots.txt" {
            return true;
        }
        if self.everything_forbidden {
            return false;
        }
        self.groups_for(user_agent)
            .iter()
            .flat_map(|group| &group.rules)
            .filter(|(_, pattern)| matches(pattern.as_bytes(), path_and_query.as_bytes()))
            .max_by_key(|(allowed, pattern)| (pattern.len(), *allowed))
            .is_none_or(|(allowed, _)| *allowed)
    }

    /// The pause that the file asks a crawler with this `User-Agent` header to keep.
    pub fn crawl_delay(&self, user_agent: &str) -> Option<Duration> {
        self.groups_for(user_agent).iter().find_map(|group| group.crawl_delay)
    }

    fn groups_for(&self, user_agent: &str) -> Vec<&Group> {
        let token = user_agent.split(['/', ' ', '(']).next().unwrap_or_default().to_ascii_lowercase();
        let named = |name: &str| -> Vec<&Group> {
            self.groups.iter().filter(|group| group.agents.iter().any(|agent| agent == name)).collect()
        };
        // Groups for the same agent count as one; the group for everyone counts only without one's own.
        let own = named(&token);
        if own.is_empty() { named("*") } else { own }
    }
}

/// True when the pattern matches a beginning of the path (all of it after `$`).
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, to_the_end) = match pattern.split_last() {
        Some((b'$', rest)) => (rest, true),
        _ => (pattern, false),
    };
    // Greedy matching with one point to return to: the last star. Linear but for that.
    let (mut at_pattern, mut at_path) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if at_pattern == pattern.len() && (!to_the_end || at_path == path.len()) {
            return true;
        }
        if pattern.get(at_pattern) == Some(&b'*') {
            star = Some((at_pattern, at_path));
            at_pattern += 1;
        } else if at_path < path.len() && pattern.get(at_pattern) == Some(&path[at_path]) {
            at_pattern += 1;
            at_path += 1;
        } else if let Some((star_pattern, star_path)) = star
            && star_path < path.len()
        {
            star = Some((star_pattern, star_path + 1));
            at_pattern = star_pattern + 1;
            at_path = star_path + 1;
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by trying everything.
    fn matches_slowly(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => path.is_empty(),
            [b'*', rest @ ..] => (0..=path.len()).any(|skipped| matches_slowly(rest, &path[skipped..])),
            [first, rest @ ..] => path.first() == Some(first) && matches_slowly(rest, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_trying_everything(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,10}") {
            prop_assert_eq!(
                matches(pattern.as_bytes(), path.as_bytes()),
                matches_slowly(pattern.as_bytes(), path.as_bytes())
            );
        }

        #[test]
        fn no_file_is_a_problem(text in "(?s).{0,200}", path in "/[ -~]{0,20}") {
            RobotsRules::parse(&text).allows("webloom", &path);
        }
    }

    #[test]
    fn patterns() {
        for (pattern, path, expected) in [
            ("/", "/anything", true),
            ("/private/", "/private/1", true),
            ("/private/", "/private", false),
            ("/*.pdf$", "/a/b.pdf", true),
            ("/*.pdf$", "/a/b.pdf?x", false),
            ("/*.pdf", "/a/b.pdf?x", true),
            ("/a*b*c", "/axxbyyc", true),
            ("/a*b*c", "/axxcyyb", false),
            ("/a$", "/a", true),
            ("/a$", "/ab", false),
            ("*", "/", true),
            ("/x*$", "/xyz", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_longest_rule_of_the_right_group_wins() {
        let rules = RobotsRules::parse(
            "Disallow: /nobodys\n\
             User-agent: *\nDisallow: /  # all\n\n\
             user-agent: Webloom\nUser-Agent: other\nDisallow: /private/\nAllow: /private/open\nDisallow:\n\
             Crawl-delay: 3\nUser-agent: third\nDisallow: /third\n\
             User-agent: webloom\nDisallow: /more",
        );
        for (agent, path, expected) in [
            ("Webloom/0.1 (+about)", "/", true),
            ("Webloom/0.1", "/private/x", false),
            ("Webloom/0.1", "/private/open/x", true),
            ("webloom", "/more", false),
            ("webloom", "/nobodys", true),
            ("other", "/more", true),
            ("third", "/third/x", false),
            ("third", "/private/x", true),
            ("stranger", "/a", false),
            ("stranger", "/robots.txt", true),
        ] {
            assert_eq!(rules.allows(agent, path), expected, "{agent} {path}");
        }
    }

    #[test]
    fn a_missing_file_allows_and_a_broken_server_forbids() {
        assert!(RobotsRules::from_answer(404, b"User-agent: *\nDisallow: /").allows("w", "/a"));
        assert!(!RobotsRules::from_answer(503, b"").allows("w", "/a"));
        assert!(!RobotsRules::from_answer(200, b"User-agent: *\nDisallow: /").allows("w", "/a"));
        assert!(RobotsRules::from_answer(301, b"").allows("w", "/a"));
    }
}
