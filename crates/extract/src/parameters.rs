//! Parameters that say who asks, not what is asked for: sessions and campaigns. Links are followed without them.
//!
//! A page under a thousand session numbers is one page. This changes which URL is fetched, so only names that mean nothing else
//! are on the default list, and the list is a setting.

use webloom_model::PageUrl;

/// Names that mean nothing but a session or a campaign. A star stands for any end.
pub const DEFAULT_PARAMETERS: &[&str] = &[
    "aspsessionid*",
    "cfid",
    "cftoken",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "jsessionid",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oscsid",
    "osCsid",
    "phpsessid",
    "sessid",
    "session_id",
    "sessionid",
    "srsltid",
    "twclid",
    "utm_*",
    "wbraid",
    "yclid",
    "zenid",
];

/// Parameters that are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSet {
    exact: Vec<String>,
    prefixes: Vec<String>,
}

impl Default for ParameterSet {
    fn default() -> Self {
        Self::new(DEFAULT_PARAMETERS.iter().copied())
    }
}

impl ParameterSet {
    /// Names, in any case; a star at the end stands for any end.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut exact, mut prefixes) = (Vec::new(), Vec::new());
        for name in names {
            let name = name.to_ascii_lowercase();
            match name.strip_suffix('*') {
                Some(prefix) => prefixes.push(prefix.to_owned()),
                None => exact.push(name),
            }
        }
        exact.sort();
        exact.dedup();
        Self { exact, prefixes }
    }

    fn drops(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.exact.binary_search(&name).is_ok()
            || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }

    /// The URL without them. What stays is as it was, byte for byte.
    pub fn drop_from(&self, url: PageUrl) -> PageUrl {
        let parsed = url.as_url();
        let path = parsed.path();
        let query = parsed.query();
        if !path.contains(';') && query.is_none() {
            return url;
        }
        let name_of = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
        let new_path: String = path
            .split('/')
            .map(|segment| {
                let mut parts = segment.split(';');
                let first = parts.next().unwrap_or_default().to_owned();
                let kept = parts.filter(|part| !self.drops(&name_of(part)));
                kept.fold(first, |segment, part| format!("{segment};{part}"))
            })
            .collect::<Vec<_>>()
            .join("/");
        let kept: Option<Vec<&str>> =
            query.map(|query| query.split('&').filter(|pair| !self.drops(&name_of(pair))).collect());
        let new_query = match (query, &kept) {
            // An empty query stays one; a query that has lost all it had goes.
            (Some(query), Some(kept)) if !kept.is_empty() || query.is_empty() => Some(kept.join("&")),
            _ => None,
        };
        if new_path == path && new_query.as_deref() == query {
            return url;
        }
        let mut changed = parsed.clone();
        changed.set_path(&new_path);
        changed.set_query(new_query.as_deref());
        PageUrl::parse(changed.as_str()).unwrap_or(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_dropped_and_what_is_asked_for_stays() {
        let set = ParameterSet::default();
        for (given, expected) in [
            ("/shop?PHPSESSID=abc&item=7", "/shop?item=7"),
            ("/shop?item=7&utm_source=x&utm_medium=y", "/shop?item=7"),
            ("/shop?utm_source=x", "/shop"),
            ("/shop?", "/shop?"),
            ("/shop?b=2&a=1&b=3", "/shop?b=2&a=1&b=3"),
            ("/shop;jsessionid=1A2B.node1?x=%20y", "/shop?x=%20y"),
            ("/shop;v=1;jsessionid=1/cart", "/shop;v=1/cart"),
            ("/utm_source/fbclid", "/utm_source/fbclid"),
            ("/?ASPSESSIONIDQQ=1&id", "/?id"),
            ("/?sid=1&s=2&id=3", "/?sid=1&s=2&id=3"),
        ] {
            let url = |path: &str| PageUrl::parse(&format!("http://a.example{path}")).unwrap();
            assert_eq!(set.drop_from(url(given)), url(expected), "{given}");
            assert_eq!(ParameterSet::new([]).drop_from(url(given)), url(given), "{given}");
        }
    }
}
