//! `webloom bench transform`: documents per second through stylesheets that were compiled once.
//!
//! RSS, Atom and XHTML to RDF/XML, documents of about 20 KB and 1 MB, one thread, timed by the processor's own clock.
//! With `--write` the same stylesheets and documents are written as files, for other processors to run.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use webloom_xslt::{Document, Limits, NoLoader, Stylesheet};

use super::extract::thread_seconds;

/// Transform generated feeds and pages with stylesheets that are compiled once.
#[derive(Debug, Args)]
pub(super) struct BenchTransform {
    /// Rounds; the best of each counts.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Write the stylesheets and documents as files into this directory instead.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A stylesheet with a document for it.
struct Job {
    name: String,
    stylesheet: &'static str,
    document: String,
}

impl BenchTransform {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let jobs = jobs();
        if let Some(folder) = &self.write {
            std::fs::create_dir_all(folder)?;
            for job in &jobs {
                for (extension, text) in [("xsl", job.stylesheet), ("xml", &job.document)] {
                    let file = folder.join(format!("{}.{extension}", job.name));
                    std::fs::write(&file, text)
                        .with_context(|| format!("cannot write {}", file.display()))?;
                }
            }
            return Ok(());
        }
        let limits = Limits::default();
        let mut rows = Vec::new();
        for job in &jobs {
            let compiled = Stylesheet::compile(job.stylesheet.as_bytes(), "urn:bench", &NoLoader, &limits)
                .map_err(|error| anyhow!("{}: {error}", job.name))?;
            // Enough work for the clock to see.
            let count = (20_000_000 / job.document.len()).clamp(5, 500);
            let (mut parse_seconds, mut all_seconds) = (f64::INFINITY, f64::INFINITY);
            let mut bytes = 0;
            for _ in 0..self.rounds.max(1) {
                let start = thread_seconds()?;
                for _ in 0..count {
                    let document = Document::parse(job.document.as_bytes(), "urn:bench", &limits)?;
                    std::hint::black_box(document.node_count());
                }
                parse_seconds = parse_seconds.min((thread_seconds()? - start) / count as f64);
                let start = thread_seconds()?;
                for _ in 0..count {
                    let document = Document::parse(job.document.as_bytes(), "urn:bench", &limits)?;
                    bytes = compiled.transform(&document, &[], &NoLoader, &limits)?.bytes.len();
                }
                all_seconds = all_seconds.min((thread_seconds()? - start) / count as f64);
            }
            rows.push((job, 1.0 / all_seconds, 1.0 / parse_seconds, bytes));
        }
        let mut out = std::io::stdout().lock();
        if self.json {
            let rows: Vec<serde_json::Value> = rows
                .iter()
                .map(|(job, rate, parses, bytes)| {
                    serde_json::json!({
                        "name": job.name,
                        "document_bytes": job.document.len(),
                        "result_bytes": bytes,
                        "documents_per_second": rate,
                        "parses_per_second": parses,
                    })
                })
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&serde_json::json!({ "jobs": rows }))?)?;
            return Ok(());
        }
        writeln!(out, "{:<12}{:>10}{:>14}{:>12}{:>10}", "", "bytes", "documents/s", "parses/s", "MB/s")?;
        for (job, rate, parses, _) in &rows {
            let megabytes = rate * job.document.len() as f64 / 1e6;
            writeln!(
                out,
                "{:<12}{:>10}{:>14.1}{:>12.1}{:>10.1}",
                job.name,
                job.document.len(),
                rate,
                parses,
                megabytes
            )?;
        }
        Ok(())
    }
}

/// A name, a stylesheet, and what makes a document of so many bytes for it.
type Maker = (&'static str, &'static str, fn(usize) -> String);

fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    for (size, bytes) in [("20k", 20_000), ("1m", 1_000_000)] {
        let makers: [Maker; 3] =
            [("rss", RSS_TO_RDF, rss), ("atom", ATOM_TO_RDF, atom), ("xhtml", XHTML_TO_RDF, xhtml)];
        for (name, stylesheet, make) in makers {
            jobs.push(Job { name: format!("{name}-{size}"), stylesheet, document: make(bytes) });
        }
    }
    jobs
}

/// Text that is different each time and looks like text.
fn words(seed: usize, count: usize) -> String {
    const WORDS: [&str; 16] = [
        "river",
        "painter",
        "of",
        "the",
        "a museum",
        "opens",
        "in",
        "spring",
        "with",
        "early works",
        "from",
        "Lyon",
        "&amp; beyond",
        "letters",
        "and",
        "maps",
    ];
    (0..count)
        .map(|number| WORDS[(seed * 7 + number * number * 3 + number) % WORDS.len()])
        .collect::<Vec<_>>()
        .join(" ")
}

fn rss(bytes: usize) -> String {
    let mut text = String::from(
        r#"<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News</title><link>https://example.org/</link><description>All the news</description>"#,
    );
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!(
            "\n<item><title>{}</title><link>https://example.org/{number}</link><guid isPermaLink=\"true\">https://example.org/{number}</guid><pubDate>Mon, 16 Nov 2026 06:{:02}:00 GMT</pubDate><dc:creator>Author {}</dc:creator><category>c{}</category><category>d{}</category><description>{}</description></item>",
            words(number, 6), number % 60, number % 9, number % 5, number % 7, words(number + 1, 40)
        ));
    }
    text.push_str("</channel></rss>");
    text
}

fn atom(bytes: usize) -> String {
    let mut text = String::from(
        r#"<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>urn:feed</id><updated>2026-11-16T06:00:00Z</updated><link href="https://example.org/"/>"#,
    );
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!(
            "\n<entry><id>urn:entry:{number}</id><title>{}</title><link rel=\"alternate\" href=\"https://example.org/{number}\"/><link rel=\"enclosure\" type=\"audio/mpeg\" href=\"https://example.org/{number}.mp3\"/><updated>2026-11-16T06:{:02}:00Z</updated><author><name>Author {}</name></author><category term=\"c{}\"/><summary>{}</summary></entry>",
            words(number, 6), number % 60, number % 9, number % 5, words(number + 1, 40)
        ));
    }
    text.push_str("</feed>");
    text
}

fn xhtml(bytes: usize) -> String {
    let mut text = String::from(
        r#"<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Page</title><meta name="description" content="A page"/></head><body>"#,
    );
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!(
            "\n<div class=\"c{}\"><h2 id=\"h{number}\">{}</h2><p>{} <a href=\"/page/{number}\" title=\"t\">{}</a>, <em>{}</em> <a href=\"mailto:a{number}@example.org\">mail</a></p><ul><li>{}</li><li><img src=\"/i/{number}.png\" alt=\"{}\"/></li></ul></div>",
            number % 4, words(number, 5), words(number + 1, 30), words(number + 2, 3), words(number + 3, 2), words(number + 4, 8), words(number, 2)
        ));
    }
    text.push_str("</body></html>");
    text
}

const RSS_TO_RDF: &str = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rss="http://purl.org/rss/1.0/"
  xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">
<xsl:output indent="no"/>
<xsl:key name="by-category" match="item" use="category"/>
<xsl:template match="/rss"><rdf:RDF><xsl:apply-templates select="channel"/></rdf:RDF></xsl:template>
<xsl:template match="channel">
  <rss:channel rdf:about="{link}"><dcterms:title><xsl:value-of select="title"/></dcterms:title>
  <dcterms:extent><xsl:value-of select="count(item)"/></dcterms:extent></rss:channel>
  <xsl:apply-templates select="item"><xsl:sort select="title"/></xsl:apply-templates>
</xsl:template>
<xsl:template match="item">
  <rss:item>
    <xsl:attribute name="rdf:about"><xsl:choose>
      <xsl:when test="guid[@isPermaLink='true']"><xsl:value-of select="guid"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="link"/></xsl:otherwise>
    </xsl:choose></xsl:attribute>
    <xsl:apply-templates select="*"/>
    <dcterms:relation><xsl:value-of select="count(key('by-category', category[1]))"/></dcterms:relation>
  </rss:item>
</xsl:template>
<xsl:template match="item/title"><dcterms:title><xsl:value-of select="normalize-space(.)"/></dcterms:title></xsl:template>
<xsl:template match="item/description"><dcterms:abstract><xsl:value-of select="."/></dcterms:abstract></xsl:template>
<xsl:template match="item/pubDate"><dcterms:date><xsl:value-of select="concat(substring(., 13, 4), '-', substring(., 9, 3), '-', substring(., 6, 2))"/></dcterms:date></xsl:template>
<xsl:template match="item/category"><dcterms:subject><xsl:value-of select="translate(., 'cd', 'CD')"/></dcterms:subject></xsl:template>
<xsl:template match="dc:*"><xsl:element name="dcterms:{local-name()}"><xsl:value-of select="."/></xsl:element></xsl:template>
<xsl:template match="item/*" priority="-1"/>
</xsl:stylesheet>"#;

const ATOM_TO_RDF: &str = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://www.w3.org/2005/Atom"
  xmlns:dcterms="http://purl.org/dc/terms/" xmlns:foaf="http://xmlns.com/foaf/0.1/" exclude-result-prefixes="a">
<xsl:output indent="no"/>
<xsl:template match="/a:feed"><rdf:RDF><rdf:Description rdf:about="{a:id}"><xsl:apply-templates select="a:title | a:updated"/></rdf:Description>
  <xsl:for-each select="a:entry">
    <rdf:Description rdf:about="{a:id}">
      <dcterms:isPartOf rdf:resource="{/a:feed/a:id}"/>
      <xsl:apply-templates/>
      <xsl:if test="position() != last()"><dcterms:isReplacedBy rdf:resource="{following-sibling::a:entry[1]/a:id}"/></xsl:if>
    </rdf:Description>
  </xsl:for-each></rdf:RDF></xsl:template>
<xsl:template match="a:title"><dcterms:title><xsl:value-of select="."/></dcterms:title></xsl:template>
<xsl:template match="a:updated"><dcterms:modified rdf:datatype="http://www.w3.org/2001/XMLSchema#dateTime"><xsl:value-of select="."/></dcterms:modified></xsl:template>
<xsl:template match="a:link[@rel='alternate' or not(@rel)]"><foaf:page rdf:resource="{@href}"/></xsl:template>
<xsl:template match="a:link"><dcterms:relation rdf:resource="{@href}"/></xsl:template>
<xsl:template match="a:author"><dcterms:creator><foaf:Agent><foaf:name><xsl:value-of select="a:name"/></foaf:name></foaf:Agent></dcterms:creator></xsl:template>
<xsl:template match="a:category"><dcterms:subject><xsl:value-of select="@term"/></dcterms:subject></xsl:template>
<xsl:template match="a:summary"><dcterms:abstract><xsl:value-of select="."/></dcterms:abstract></xsl:template>
<xsl:template match="text()"/>
</xsl:stylesheet>"#;

const XHTML_TO_RDF: &str = r##"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:h="http://www.w3.org/1999/xhtml"
  xmlns:dcterms="http://purl.org/dc/terms/" xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" exclude-result-prefixes="h">
<xsl:output indent="no"/>
<xsl:template match="/"><rdf:RDF><foaf:Document rdf:about="">
  <dcterms:title><xsl:value-of select="normalize-space(h:html/h:head/h:title)"/></dcterms:title>
  <xsl:for-each select="//h:a[starts-with(@href, 'mailto:')]"><foaf:mbox rdf:resource="{@href}"/></xsl:for-each>
  <xsl:for-each select="//h:img/@src"><foaf:depiction rdf:resource="{.}"/></xsl:for-each>
  <xsl:apply-templates select="//h:a[@href and not(starts-with(@href, 'mailto:'))]"/>
  </foaf:Document>
  <xsl:apply-templates select="//h:h1 | //h:h2" mode="outline"/></rdf:RDF></xsl:template>
<xsl:template match="h:a"><rdfs:seeAlso><rdf:Description rdf:about="{@href}"><rdfs:label><xsl:value-of select="normalize-space(.)"/></rdfs:label></rdf:Description></rdfs:seeAlso></xsl:template>
<xsl:template match="*" mode="outline"><rdf:Description rdf:about="#{@id}"><rdfs:label><xsl:value-of select="."/></rdfs:label><rdfs:comment><xsl:value-of select="string-length(../h:p)"/></rdfs:comment></rdf:Description></xsl:template>
</xsl:stylesheet>"##;
