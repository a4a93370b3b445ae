//! What can be set about fetching, and the defaults.
//!
//! In: the fields of [`FetchConfig`], each with a sane default. Out: nothing; [`Fetcher::new`](crate::Fetcher::new)
//! checks them and says in a [`FetchSetupError`] what it cannot work with. Files and flags are
//! read elsewhere.

use std::time::Duration;

use crate::{AuthRule, HeaderRule, Proxy, ResolveRule, TypePattern};

/// Everything that can be set about fetching. `FetchConfig::default()` is right for the open web.
#[derive(Debug, Clone)]
pub struct FetchConfig {
    /// Where the owner of a site finds out about this crawler: a URL or a mail address. Part of `User-Agent`.
    pub contact: Option<String>,
    /// The name this crawler answers to in robots.txt.
    pub robots_agent: String,
    /// `Accept-Language`, or nothing to send none.
    pub accept_language: Option<String>,
    /// What is asked for first where a server has both: data or pages.
    pub prefer: Preference,
    /// Header fields for some hosts.
    pub headers: Vec<HeaderRule>,
    /// Names and passwords for some hosts.
    pub auth: Vec<AuthRule>,
    /// Send hosts the cookies that they set.
    pub cookies: bool,
    /// A proxy that all requests go by.
    pub proxy: Option<Proxy>,
    /// Bodies of these media types are not downloaded, whether the header says so or their first bytes do.
    pub unwanted_types: Vec<TypePattern>,
    /// Bytes per second of body, over all hosts.
    pub bandwidth: Option<u64>,
    /// The same for each host.
    pub host_bandwidth: Option<u64>,
    /// Whether loopback, private and other special addresses may be connected to.
    pub allow_private: bool,
    /// Names that are answered without asking the resolver. The first rule that matches wins.
    pub resolve: Vec<ResolveRule>,
    /// Whether the system's certificate authorities are trusted.
    pub system_roots: bool,
    /// Certificates of further authorities to trust, and of servers that show them as their own, in PEM; each entry may hold several.
    pub extra_roots_pem: Vec<Vec<u8>>,

    /// Whether robots.txt is obeyed. Switched off for tests and for one's own sites only.
    pub obey_robots: bool,
    /// How long a robots.txt that was found is believed. A minute at least.
    pub robots_fresh: Duration,
    /// How long it is believed that there is none. A minute at least.
    pub robots_missing_fresh: Duration,
    /// How long a robots.txt that could not be had is not asked for again. Shorter than the frontier's first
    /// retry pause, so that a URL tried again is really tried again.
    pub robots_unreachable_fresh: Duration,
    /// Pause between the redirects of a robots.txt, which are followed within one call.
    pub robots_hop_delay: Duration,
    /// Redirects of a robots.txt that are followed.
    pub robots_redirects_max: usize,
    /// Bytes of robots.txt text whose parsed form is kept in memory.
    pub robots_cache_bytes: usize,
    /// Attempts a URL gets in all. On the last one an unreachable robots.txt is an answer, not a failure.
    pub attempts_max: u32,
    /// Redirects on the way to one page.
    pub redirects_max: usize,

    /// Time to resolve a name.
    pub resolve_timeout: Duration,
    /// Time to connect, over all addresses tried.
    pub connect_timeout: Duration,
    /// Time for the TLS handshake.
    pub tls_timeout: Duration,
    /// Time from the request to the end of the answer's head.
    pub headers_timeout: Duration,
    /// Longest silence within a body.
    pub body_idle_timeout: Duration,
    /// Time for a whole body.
    pub body_timeout: Duration,

    /// Bytes of an answer's head. Values below 8 KiB count as 8 KiB.
    pub header_bytes_max: u32,
    /// Header fields in an answer over HTTP/1.
    pub header_count_max: usize,
    /// Bytes of a body on the wire; what is beyond is cut.
    pub body_wire_bytes_max: u64,
    /// Bytes of a body after decompression; what is beyond is cut.
    pub body_bytes_max: u64,
    /// How many bytes one byte on the wire may become, once a body is past its first megabyte.
    pub compression_ratio_max: u64,
    /// A body longer than this is large, and needs one of a limited number of permits while in memory.
    pub large_body_bytes: usize,
    /// A body longer than this waits on disk, in a temporary file.
    pub spill_body_bytes: usize,
    /// Large bodies that may be in memory at once, with all that is made of them: see `FetchedPage::reservation`.
    pub large_bodies_max: usize,

    /// Write down heads as they cross the wire, for [`Tape`](crate::Tape)s. Without it a tape has the fields as they were
    /// understood.
    pub record: bool,

    /// How long an unused connection is kept. Zero keeps none.
    pub pool_idle: Duration,
    /// Unused connections kept in all.
    pub pool_connections_max: usize,

    /// Pause before every further request of [`Fetcher::fetch_once`](crate::Fetcher::fetch_once).
    pub follow_delay: Duration,
    /// Longest pause there, whatever robots.txt wishes.
    pub follow_delay_max: Duration,
}

/// What is asked for first where a server has the same in several forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preference {
    /// RDF in a syntax of its own, then pages. Only servers of Linked Data make a difference.
    #[default]
    Data,
    /// Pages, then RDF.
    Pages,
}

/// The first megabyte of a body may be compressed as well as it likes: no page is refused for being dull.
pub(crate) const RATIO_FREE_BYTES: u64 = 1 << 20;

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            contact: None,
            robots_agent: "webloom".to_owned(),
            accept_language: Some("en, *;q=0.5".to_owned()),
            prefer: Preference::Data,
            headers: Vec::new(),
            auth: Vec::new(),
            cookies: false,
            proxy: None,
            unwanted_types: Vec::new(),
            bandwidth: None,
            host_bandwidth: None,
            allow_private: false,
            resolve: Vec::new(),
            system_roots: true,
            extra_roots_pem: Vec::new(),
            obey_robots: true,
            robots_fresh: Duration::from_secs(24 * 60 * 60),
            robots_missing_fresh: Duration::from_secs(24 * 60 * 60),
            robots_unreachable_fresh: Duration::from_secs(20),
            robots_hop_delay: Duration::from_secs(1),
            robots_redirects_max: 5,
            robots_cache_bytes: 32 << 20,
            attempts_max: 3,
            redirects_max: 10,
            resolve_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            tls_timeout: Duration::from_secs(10),
            headers_timeout: Duration::from_secs(20),
            body_idle_timeout: Duration::from_secs(20),
            body_timeout: Duration::from_secs(120),
            header_bytes_max: 64 << 10,
            // Room for all of them is made for each head, 64 bytes a field.
            header_count_max: 256,
            body_wire_bytes_max: 16 << 20,
            body_bytes_max: 16 << 20,
            compression_ratio_max: 256,
            large_body_bytes: 256 << 10,
            spill_body_bytes: 4 << 20,
            large_bodies_max: 16,
            record: false,
            pool_idle: Duration::from_secs(5),
            pool_connections_max: 1024,
            follow_delay: Duration::from_secs(1),
            follow_delay_max: Duration::from_secs(10),
        }
    }
}

impl FetchConfig {
    /// The `User-Agent` these settings give.
    pub fn user_agent(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        match self.contact.as_deref().map(str::trim).filter(|contact| !contact.is_empty()) {
            Some(contact) => format!("webloom/{version} (+{contact})"),
            None => format!("webloom/{version}"),
        }
    }
}

/// Why a fetcher could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum FetchSetupError {
    /// A setting that cannot be sent in a header.
    #[error("`{setting}` cannot be sent in a header: {value:?}")]
    Header {
        /// Which setting.
        setting: &'static str,
        /// Its value.
        value: String,
    },
    /// A setting that must not be zero or empty.
    #[error("`{setting}` must not be {value}")]
    Setting {
        /// Which setting.
        setting: &'static str,
        /// What it must not be.
        value: &'static str,
    },
    /// Certificates that cannot be read.
    #[error("file {number} of `fetch.ca_files` cannot be used: {reason}")]
    Certificate {
        /// Which entry of `extra_roots_pem`, from 1.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// TLS could not be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The system's resolver could not be set up.
    #[error("the resolver cannot be set up: {0}")]
    Resolver(String),
}
