//! The rule about schemes: https only, where that is asked for.

use webloom_model::PageUrl;

use super::Refusal;

pub(super) fn check(url: &PageUrl, https_only: bool) -> Result<(), Refusal> {
    if https_only && !url.is_https() { Err(Refusal::Scheme) } else { Ok(()) }
}
