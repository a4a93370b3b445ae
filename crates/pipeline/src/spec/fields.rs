//! Every field of a crawl specification: its key, its default, and what it means.

/// One field.
#[derive(Debug)]
pub struct Field {
    /// Dotted key.
    pub key: &'static str,
    /// Default as TOML, or nothing when leaving it out means something no value says.
    pub default: Option<&'static str>,
    /// A value, for documentation of fields without a default.
    pub example: &'static str,
    /// What it means.
    pub doc: &'static str,
}

const fn field(key: &'static str, default: &'static str, doc: &'static str) -> Field {
    Field { key, default: Some(default), example: "", doc }
}

const fn optional(key: &'static str, example: &'static str, doc: &'static str) -> Field {
    Field { key, default: None, example, doc }
}

/// All fields, in the order of the documentation: top level first, then section by section.
pub const FIELDS: &[Field] = &[
    field("seeds", "[]", "URLs to start from."),
    field(
        "sources",
        "[]",
        "Linked Data that does not come page by page: files of RDF of any length (\"dump\"), VoID descriptions (\"void\"), SPARQL\n\
         endpoints (\"sparql\"), CKAN portals (\"ckan\"). Each is written [[sources]] with a kind and a url, or \"kind=url\".",
    ),
    // Scope.
    field(
        "scope.within",
        "\"domains\"",
        "How far links are followed: \"domains\" (the seeds' pay-level domains, with their subdomains), \"hosts\" (the\n\
         seeds' hosts) or \"anywhere\".",
    ),
    field(
        "scope.domains",
        "[]",
        "More domains to follow links to, with their subdomains; with within = \"hosts\", more hosts.",
    ),
    field(
        "scope.follow_seed_redirects",
        "true",
        "A seed that has moved to another site (301, 308, a refresh), at once or after several hops, takes the crawl there: the site of the page\n\
         at the end is covered like those of the seeds. Of what it leads to for now (302, 303, 307), only that page is fetched. Filters hold all the same.",
    ),
    field(
        "scope.include",
        "[]",
        "Regular expressions; when there are any, a URL must match one of them. Unanchored: \"/blog/\" is enough.",
    ),
    field("scope.exclude", "[]", "Regular expressions; a URL that matches one of them is not followed."),
    field(
        "scope.skip_extensions",
        r#"[
    "7z", "aac", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "deb", "dll", "dmg", "eot", "epub",
    "exe", "flac", "flv", "gif", "gz", "heic", "ico", "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v",
    "mid", "mjs", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "ogg", "ogv", "otf", "pkg", "png",
    "psd", "rar", "rpm", "svgz", "swf", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "weba",
    "webm", "webp", "wma", "wmv", "woff", "woff2", "xz", "zip", "zst",
]"#,
        "Links whose path ends in one of these extensions are not followed: they hold no page.",
    ),
    field(
        "scope.traps",
        "true",
        "Leave out URLs that give themselves away as traps: paths that go in circles, dates of years far off.",
    ),
    optional(
        "scope.max_depth",
        "3",
        "Links followed from a seed. Without it, as many as there are. When it grows, pages whose links were too deep are visited again.",
    ),
    optional("scope.max_pages", "1000", "Pages indexed in all. Without it, as many as there are."),
    optional("scope.max_pages_per_host", "500", "Pages indexed per host."),
    // Budgets.
    optional(
        "budget.base",
        "100",
        "Pages of each pay-level domain, before those for being linked to. Without it, domains have no budget.",
    ),
    field(
        "budget.per_linking_domain",
        "50",
        "Pages more for each other pay-level domain that links to it: what only links to itself is soon left alone.",
    ),
    // Politeness.
    field(
        "politeness.delay",
        "\"1s\"",
        "Pause between two requests to one host, from the end of one to the start of the next.",
    ),
    optional(
        "politeness.domain_delay",
        "\"1s\"",
        "The same for all hosts of one pay-level domain together. Without it, equal to `delay`.",
    ),
    field(
        "politeness.ip_delay",
        "\"0s\"",
        "The same for all hosts at one address together. Many sites share a server, and a server's patience.",
    ),
    field(
        "politeness.slow_factor",
        "2",
        "A host rests at least so many times as long as its last answer took; 0 does not look at that. Nothing adapts when\n\
         `delay` is zero.",
    ),
    field(
        "politeness.slow_delay_max",
        "\"1m\"",
        "The longest pause that comes of slow answers, and of the doubling with each failure of a server.",
    ),
    field("politeness.crawl_delay_max", "\"30s\"", "A longer Crawl-delay in robots.txt is cut to this."),
    field("politeness.retry_after_max", "\"1h\"", "A longer Retry-After is cut to this."),
    field(
        "politeness.retry_pause",
        "\"30s\"",
        "Pause before a failed fetch is tried again; doubles with each attempt.",
    ),
    field("politeness.obey_robots", "true", "Obey robots.txt. Switch it off for your own sites only."),
    field(
        "politeness.obey_nofollow",
        "true",
        "Do not follow rel=nofollow links, nor links of pages whose meta robots say nofollow.",
    ),
    field("politeness.robots_agent", "\"webloom\"", "The name to look for in robots.txt."),
    optional(
        "politeness.contact",
        "\"https://example.org/our-crawler\"",
        "Whom a webmaster can ask: a URL or a mail address, sent in the User-Agent.",
    ),
    // Fetch.
    field("fetch.allow_private", "false", "Fetch from private and loopback addresses too."),
    field(
        "fetch.resolve",
        "[]",
        "Where hosts are, instead of asking DNS: \"host=address\", \"*.suffix=address:port\", \"*=127.0.0.1:8080\".",
    ),
    field(
        "fetch.ca_files",
        "[]",
        "PEM files with certificates to trust: of authorities beside the system's, or of single servers, also self-signed ones.",
    ),
    field(
        "fetch.prefer",
        "\"data\"",
        "What to ask for first where a server has both: \"data\" (RDF syntaxes, then HTML) or \"pages\" (HTML, then RDF).",
    ),
    field(
        "fetch.headers",
        "[]",
        "Header fields for some hosts: \"host=Name: value\", \"*.suffix=Name: value\", \"*=Name: value\".",
    ),
    field(
        "fetch.auth",
        "[]",
        "Names and passwords for some hosts: \"host=user:password\", or \"host=env:NAME\" to read user:password from the\n\
         environment and keep it out of files.",
    ),
    field(
        "fetch.cookies",
        "false",
        "Send hosts the cookies that they set, for the length of a run. Some sites show nothing without; what others show depends on\n\
         them.",
    ),
    optional(
        "fetch.proxy",
        "\"http://proxy.example:3128\"",
        "A proxy for all requests: \"http://…\" or \"socks5://…\", with user:password@ if need be. It resolves the names, so only\n\
         literal private addresses can be refused.",
    ),
    field(
        "fetch.unwanted_types",
        "[\"audio/*\", \"video/*\", \"font/*\"]",
        "Bodies of these media types are not downloaded, whether the header says so or their first bytes do.",
    ),
    optional("fetch.bandwidth", "\"10 MiB\"", "Bytes of bodies per second, over all hosts."),
    optional("fetch.host_bandwidth", "\"512 KiB\"", "Bytes of bodies per second from one host."),
    optional("fetch.accept_language", "\"en, de;q=0.8\"", "Sent as Accept-Language."),
    field("fetch.attempts_max", "4", "A URL whose fetch failed this often is given up."),
    field("fetch.redirects_max", "10", "Redirects in a row."),
    field("fetch.header_bytes_max", "\"64 KiB\"", "Response header."),
    field("fetch.wire_bytes_max", "\"16 MiB\"", "Body as it crosses the wire; what is longer is cut."),
    field("fetch.body_bytes_max", "\"16 MiB\"", "Body after decompression; what is longer is cut."),
    field("fetch.spill_bytes", "\"4 MiB\"", "A longer body waits in a temporary file instead of in memory."),
    field("fetch.resolve_timeout", "\"10s\"", "DNS."),
    field("fetch.connect_timeout", "\"10s\"", "TCP."),
    field("fetch.tls_timeout", "\"10s\"", "TLS."),
    field("fetch.headers_timeout", "\"20s\"", "From the request to the end of the response header."),
    field("fetch.body_idle_timeout", "\"20s\"", "Between two pieces of a body."),
    field("fetch.body_timeout", "\"2m\"", "The whole body."),
    // Transform.
    field("transform.html_depth_max", "512", "Elements nested deeper are flattened, as browsers do."),
    field(
        "transform.html_nodes_max",
        "1000000",
        "Elements and texts of one HTML page; the rest of the page is cut.",
    ),
    field("transform.json_depth_max", "100", "Nesting of JSON-LD; what is deeper is not read."),
    field("transform.quads_max", "1000000", "Quads from one page."),
    field("transform.text_bytes_max", "\"256 KiB\"", "Visible text of one page kept for search."),
    field(
        "transform.fetch_contexts",
        "true",
        "Fetch the JSON-LD contexts that pages name and that do not come with us. Blocks whose context is not known are\n\
         left out.",
    ),
    field(
        "transform.grddl",
        "false",
        "Run the transformations that pages name by GRDDL. They are code from strangers: true for all pages, or a list of sites,\n\
         each a host with its subdomains. They are fetched as politely as pages, and once.",
    ),
    field(
        "transform.rules",
        "[]",
        "What to do with pages that nothing here reads, or reads well enough. Each rule is written [[transform.rules]]:\n\
         \n\
         name = \"tides\"                         for messages and counters\n\
         type = [\"xml\"]                         which pages: detected type,\n\
         media_type = [\"image/*\"]               media type,\n\
         root = [\"tides\", \"{http://a.example/}tides\"]   root element,\n\
         namespace = [\"http://www.opengis.net/kml/*\"]    its namespace,\n\
         url = [\"/tides/\"]                      regular expressions over the URL; all that is said must hold\n\
         always = true                          every page\n\
         stylesheet = \"tides.xsl\"               then one of these: an XSLT 1.0 stylesheet, relative to this file (or one that comes\n\
         \x20                                       with us: \"shipped:kml-to-rdf.xsl\"), with\n\
         params = { station = \"Kiel\" }          parameters beside page-url, fetch-time and media-type,\n\
         documents = [\"codes.xml\"]              and what its document() may read: files, folders, \"http://address=file\";\n\
         service = [\"http://127.0.0.1:9000/\"]   a service that the page is posted to, at any of these addresses;\n\
         command = [\"pdf-metadata\", \"-\"]      a command that reads it from standard input;\n\
         grddl = true                           the transformations that it names\n\
         output = \"turtle\"                      syntax of the result, where it does not show: rdf-xml, turtle, n-triples, n-quads,\n\
         \x20                                       trig, json-ld\n\
         then = \"other rule\"                    gets the result, or a list of rules that do, one after the other\n\
         \n\
         For services and commands: in_flight = 4 (requests at an address), timeout = \"30s\", attempts = 3, answer_bytes_max = \"8 MiB\",\n\
         waiting_max = 1000 and waiting_bytes_max = \"256 MiB\" (pages that wait), when_full = \"leave-out\" (or \"wait\", which holds up\n\
         the crawl), breaker_failures = 5 and breaker_pause = \"30s\" (an address that fails so often is left alone for so long).",
    ),
    field("transform.time_max", "\"2s\"", "Time for reading one page; what is not read by then is cut."),
    // Links.
    field(
        "links.queries",
        r#"["""
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT ?link ?anchor WHERE { ?subject rdfs:seeAlso ?link OPTIONAL { ?link rdfs:label ?anchor } }""", """
PREFIX rss: <http://purl.org/rss/1.0/>
SELECT ?link ?anchor WHERE { ?item a rss:item ; rss:link ?link OPTIONAL { ?item rss:title ?anchor } }"""]"#,
        "SPARQL queries over a page's graph; what they bind to ?link is followed. ?anchor, if bound, is kept as the\n\
         link's text, and ?page is the page itself.",
    ),
    field(
        "links.descriptions",
        "true",
        "Follow what a page names as its description in RDF, before its other links: `describedby`, `meta`, and `alternate` with\n\
         a type of RDF, in `<link>` elements and `Link` headers.",
    ),
    field(
        "links.drop_parameters",
        r#"[
    "aspsessionid*", "cfid", "cftoken", "dclid", "fbclid", "gbraid", "gclid", "gclsrc", "igshid", "jsessionid", "mc_cid",
    "mc_eid", "mkt_tok", "msclkid", "oscsid", "phpsessid", "sessid", "session_id", "sessionid", "srsltid", "twclid",
    "utm_*", "wbraid", "yclid", "zenid",
]"#,
        "Links are followed without these parameters, which say who asks and not what for: sessions and campaigns. A star\n\
         stands for any end.",
    ),
    field(
        "links.from_stale_pages",
        "false",
        "Follow the links of pages that say nothing new, on hosts whose latest pages mostly say nothing new: calendars,\n\
         sessions, mirrors.",
    ),
    field("links.max_per_page", "5000", "Links taken from one page."),
    field(
        "links.sitemaps",
        "true",
        "Follow the sitemaps that robots.txt names. A sitemap is one link away from the page that robots.txt was read for.",
    ),
    field("links.max_per_sitemap", "50000", "Links taken from one sitemap."),
    // Recrawl.
    field(
        "recrawl.policy",
        "\"off\"",
        "Whether pages are visited again: \"off\", \"fixed\" (every `interval`) or \"adaptive\" (as often as each page seems to\n\
         change, between `interval` and `interval_max`). A crawl that visits again does not end by itself.",
    ),
    field("recrawl.interval", "\"1d\"", "Time between two visits; the shortest one when adaptive."),
    field("recrawl.interval_max", "\"30d\"", "The longest time between two visits, when adaptive."),
    // Store.
    field(
        "store.links",
        "\"all\"",
        "Which plain HTML links are kept in the graph: \"all\", \"external\" (to other hosts) or \"none\".",
    ),
    // Archive.
    field(
        "archive.keep",
        "\"all\"",
        "What is kept of what was received, as WARC files in the data directory: \"all\" (pages, redirects, errors, robots.txt),\n\
         \"data\" (pages that carry data) or \"none\".",
    ),
    field(
        "archive.compression",
        "\"gzip\"",
        "How records are packed: \"gzip\", which every tool reads, or \"zstd\", which is quicker, and smaller with a dictionary.",
    ),
    field(
        "archive.dictionary",
        "\"none\"",
        "What zstd packs records with: \"none\"; \"train\", a dictionary made of the crawl's first records, which makes files of small\n\
         pages much smaller; or the path of one that `zstd --train` made. Every file that uses one begins with it.",
    ),
    field(
        "archive.rotate",
        "\"1 GiB\"",
        "A WARC file that is longer than this is completed and another begun.",
    ),
    field("archive.prefix", "\"webloom\"", "What the names of WARC files begin with."),
    field(
        "archive.min_free",
        "\"256 MiB\"",
        "Room on the disk that is left alone. With less the crawl waits, and goes on by itself when there is room again.",
    ),
    field(
        "archive.store",
        "\"\"",
        "Where complete WARC files go, with their indexes: \"s3://bucket/prefix\" (keys, region and endpoint from the environment, AWS_…),\n\
         or \"file:///folder\". Without it they stay in the data directory; while the store cannot be reached, too.",
    ),
    // Work.
    field("work.workers", "0", "Threads that read pages; 0 is one per core."),
    field("work.connections", "256", "Requests under way at once, over all hosts."),
    field(
        "work.hosts_in_memory",
        "16384",
        "Hosts that take turns; when there are more, the rest waits on disk.",
    ),
    field(
        "work.url_filter_bytes",
        "\"128 MiB\"",
        "Memory for telling new URLs from known ones without asking the disk; 2 bytes for each URL are enough.",
    ),
    field("work.commit_pages_max", "500", "Pages in one commit,"),
    field("work.commit_quads_max", "200000", "quads in one commit,"),
    field("work.commit_age_max", "\"300ms\"", "and how long a page waits for others to commit with."),
];
