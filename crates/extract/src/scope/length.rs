//! The rule about length: URLs that grow without end are traps.

use webloom_model::PageUrl;

use super::Refusal;

pub(super) fn check(url: &PageUrl, bytes_max: usize) -> Result<(), Refusal> {
    if url.as_str().len() > bytes_max { Err(Refusal::TooLong) } else { Ok(()) }
}
