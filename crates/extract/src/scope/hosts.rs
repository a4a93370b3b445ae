//! The rule "same host": the seeds' hosts, exactly; ports and schemes do not matter.

use std::collections::BTreeSet;

use webloom_model::PageUrl;

use super::Refusal;

/// Hosts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSet(BTreeSet<String>);

impl HostSet {
    /// Adds a host.
    pub fn insert(&mut self, host: &str) {
        self.0.insert(host.to_ascii_lowercase());
    }

    pub(super) fn check(&self, url: &PageUrl) -> Result<(), Refusal> {
        if self.0.contains(url.host()) { Ok(()) } else { Err(Refusal::Host) }
    }
}

impl<'a> FromIterator<&'a str> for HostSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(hosts: I) -> Self {
        Self(hosts.into_iter().map(str::to_ascii_lowercase).collect())
    }
}
