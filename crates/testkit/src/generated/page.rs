//! How a page of the generated web is written, in each of the five ways.
//!
//! In: which page, and the facts about it. Out: its text. Links come from the tree first, so that all is
//! reachable whatever the syntax; RDF documents link by `rdfs:seeAlso`.

use std::fmt::Write;

use super::random::Random;
use super::words::Language;
use super::{Area, CONTENT, Facts, GeneratedWeb, Kind, LINKS, PageId};

/// Writes one page.
pub(super) struct PageWriter<'a> {
    web: &'a GeneratedWeb,
    page: PageId,
    facts: Facts,
    random: Random,
    language: Language,
    url: String,
    title: String,
    /// URLs to link to: what must be reachable, then what is linked by chance.
    links: Vec<String>,
    bytes: usize,
}

impl<'a> PageWriter<'a> {
    pub(super) fn new(web: &'a GeneratedWeb, page: PageId, facts: Facts) -> Self {
        let mut random = web.random(CONTENT, page);
        let language = Language::choose(&mut random);
        let mut title = String::new();
        let words = 2 + random.below(4);
        language.phrase(&mut title, &mut random, words);
        let bytes = size(u64::from(web.shape.page_bytes), &mut random);
        let links = links(web, page, facts);
        Self { web, page, facts, random, language, url: web.page_url(page), title, links, bytes }
    }

    pub(super) fn write(mut self) -> String {
        let mut text = String::with_capacity(self.bytes + 512 + 100 * self.links.len());
        // Writing to a String cannot fail.
        let _ = match self.facts.kind {
            Kind::Html => self.html(&mut text),
            Kind::Turtle => self.turtle(&mut text),
            Kind::RdfXml => self.rdf_xml(&mut text),
            Kind::NTriples => self.n_triples(&mut text),
            Kind::JsonLd => self.json_ld(&mut text),
        };
        text
    }

    fn html(&mut self, out: &mut String) -> std::fmt::Result {
        let (language, title) = (self.language, std::mem::take(&mut self.title));
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<meta name=\"description\" content=\"",
            language.tag
        )?;
        language.sentence(out, &mut self.random);
        out.push_str("\">\n");
        match (self.facts.noindex && !self.facts.robots_by_header, self.facts.nofollow) {
            (true, true) => out.push_str("<meta name=\"robots\" content=\"noindex, nofollow\">\n"),
            (true, false) => out.push_str("<meta name=\"robots\" content=\"noindex\">\n"),
            (false, true) => out.push_str("<meta name=\"robots\" content=\"nofollow\">\n"),
            (false, false) => {}
        }
        if self.facts.schema_org_block {
            self.schema_org_block(out, &title)?;
        }
        if self.facts.own_context_block {
            self.own_context_block(out, &title)?;
        }
        write!(out, "</head>\n<body>\n<h1>{title}</h1>\n")?;
        let links = std::mem::take(&mut self.links);
        let mut links = links.iter();
        while out.len() < self.bytes {
            out.push_str("<p>");
            for _ in 0..3 {
                language.sentence(out, &mut self.random);
                out.push(' ');
            }
            if let Some(link) = links.next() {
                self.anchor(out, link, "")?;
            }
            out.push_str("</p>\n");
        }
        out.push_str("<ul>\n");
        for link in links {
            out.push_str("<li>");
            self.anchor(out, link, "")?;
            out.push_str("</li>\n");
        }
        out.push_str("</ul>\n");
        if self.facts.nofollow_link {
            let link = self.web.extra_url(self.page, Area::Shunned);
            self.anchor(out, &link, " rel=\"nofollow\"")?;
        }
        out.push_str("</body>\n</html>\n");
        Ok(())
    }

    /// Links within the host are written without it, as people do.
    fn anchor(&mut self, out: &mut String, link: &str, attributes: &str) -> std::fmt::Result {
        let origin = self.web.origin(self.page.host);
        let target = link.strip_prefix(origin.as_str()).unwrap_or(link);
        write!(out, "<a href=\"{target}\"{attributes}>")?;
        let words = 1 + self.random.below(4);
        self.language.phrase(out, &mut self.random, words);
        out.push_str("</a>");
        Ok(())
    }

    /// The things that links lead to, for data that mentions them.
    fn mentioned(&self) -> impl Iterator<Item = &String> {
        self.links.iter().take(5)
    }

    fn schema_org_block(&mut self, out: &mut String, title: &str) -> std::fmt::Result {
        const TYPES: [&str; 5] = ["Article", "Product", "Event", "Recipe", "Place"];
        let kind = TYPES[usize::try_from(self.random.below(5)).unwrap_or_default()];
        write!(
            out,
            "<script type=\"application/ld+json\">\n{{\"@context\": \"https://schema.org\", \"@type\": \"{kind}\", \"@id\": \"{url}#thing\", \"name\": \"{title}\", \"inLanguage\": \"{tag}\", \"identifier\": \"{host}-{number}\", \"author\": {{\"@type\": \"Person\", \"@id\": \"{home}#owner\", \"name\": \"Owner {host}\"}}, \"mentions\": [",
            url = self.url,
            tag = self.language.tag,
            host = self.page.host,
            number = self.page.number,
            home = self.home(),
        )?;
        for (index, link) in self.mentioned().enumerate() {
            write!(out, "{}{{\"@id\": \"{link}\"}}", if index == 0 { "" } else { ", " })?;
        }
        out.push_str("]}\n</script>\n");
        Ok(())
    }

    fn own_context_block(&mut self, out: &mut String, title: &str) -> std::fmt::Result {
        write!(
            out,
            "<script type=\"application/ld+json\">\n{{\"@context\": {{\"title\": \"http://purl.org/dc/terms/title\", \"topic\": \"http://xmlns.com/foaf/0.1/topic\", \"related\": {{\"@id\": \"http://purl.org/dc/terms/relation\", \"@type\": \"@id\"}}}}, \"@id\": \"{}\", \"title\": {{\"@value\": \"{title}\", \"@language\": \"{}\"}}, \"topic\": {{\"title\": \"Topic {}\"}}, \"related\": [",
            self.url,
            self.language.tag,
            self.random.below(50),
        )?;
        for (index, link) in self.mentioned().enumerate() {
            write!(out, "{}\"{link}\"", if index == 0 { "" } else { ", " })?;
        }
        out.push_str("]}\n</script>\n");
        Ok(())
    }

    fn home(&self) -> String {
        self.web.page_url(PageId { host: self.page.host, number: 0 })
    }

    fn turtle(&mut self, out: &mut String) -> std::fmt::Result {
        let tag = self.language.tag;
        write!(
            out,
            "@prefix dcterms: <http://purl.org/dc/terms/> .\n@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\n<> a foaf:Document ;\n    dcterms:title \"{}\"@{tag} ;\n    foaf:maker <{}#owner> ;\n    foaf:primaryTopic <#thing> .\n",
            self.title,
            self.home(),
        )?;
        for link in &self.links {
            writeln!(out, "<#thing> rdfs:seeAlso <{link}> .")?;
        }
        let mut part = 0;
        while out.len() < self.bytes {
            part += 1;
            write!(
                out,
                "<#part{part}> dcterms:isPartOf <#thing> ;\n    dcterms:extent {} ;\n    rdfs:comment \"",
                self.random.below(10_000)
            )?;
            self.language.sentence(out, &mut self.random);
            writeln!(out, "\"@{tag} .")?;
        }
        Ok(())
    }

    fn rdf_xml(&mut self, out: &mut String) -> std::fmt::Result {
        let tag = self.language.tag;
        write!(
            out,
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:rdfs=\"http://www.w3.org/2000/01/rdf-schema#\" xmlns:dcterms=\"http://purl.org/dc/terms/\" xmlns:foaf=\"http://xmlns.com/foaf/0.1/\">\n<foaf:Document rdf:about=\"\">\n  <dcterms:title xml:lang=\"{tag}\">{}</dcterms:title>\n  <foaf:maker rdf:resource=\"{}#owner\"/>\n</foaf:Document>\n<rdf:Description rdf:about=\"#thing\">\n",
            self.title,
            self.home(),
        )?;
        for link in &self.links {
            writeln!(out, "  <rdfs:seeAlso rdf:resource=\"{link}\"/>")?;
        }
        out.push_str("</rdf:Description>\n");
        let mut part = 0;
        while out.len() < self.bytes {
            part += 1;
            write!(
                out,
                "<rdf:Description rdf:about=\"#part{part}\">\n  <dcterms:isPartOf rdf:resource=\"#thing\"/>\n  <rdfs:comment xml:lang=\"{tag}\">"
            )?;
            self.language.sentence(out, &mut self.random);
            out.push_str("</rdfs:comment>\n</rdf:Description>\n");
        }
        out.push_str("</rdf:RDF>\n");
        Ok(())
    }

    fn n_triples(&mut self, out: &mut String) -> std::fmt::Result {
        let (url, tag) = (&self.url, self.language.tag);
        writeln!(out, "<{url}> <http://purl.org/dc/terms/title> \"{}\"@{tag} .", self.title)?;
        writeln!(out, "<{url}> <http://xmlns.com/foaf/0.1/maker> <{}#owner> .", self.home())?;
        for link in &self.links {
            writeln!(out, "<{url}#thing> <http://www.w3.org/2000/01/rdf-schema#seeAlso> <{link}> .")?;
        }
        let mut part = 0;
        while out.len() < self.bytes {
            part += 1;
            writeln!(out, "<{url}#part{part}> <http://purl.org/dc/terms/isPartOf> <{url}#thing> .")?;
            write!(out, "<{url}#part{part}> <http://www.w3.org/2000/01/rdf-schema#comment> \"")?;
            self.language.sentence(out, &mut self.random);
            writeln!(out, "\"@{tag} .")?;
        }
        Ok(())
    }

    fn json_ld(&mut self, out: &mut String) -> std::fmt::Result {
        let tag = self.language.tag;
        write!(
            out,
            "{{\n  \"@context\": {{\"title\": \"http://purl.org/dc/terms/title\", \"maker\": {{\"@id\": \"http://xmlns.com/foaf/0.1/maker\", \"@type\": \"@id\"}}, \"seeAlso\": {{\"@id\": \"http://www.w3.org/2000/01/rdf-schema#seeAlso\", \"@type\": \"@id\"}}, \"comment\": {{\"@id\": \"http://www.w3.org/2000/01/rdf-schema#comment\", \"@language\": \"{tag}\"}}}},\n  \"@id\": \"{}\",\n  \"title\": {{\"@value\": \"{}\", \"@language\": \"{tag}\"}},\n  \"maker\": \"{}#owner\",\n  \"seeAlso\": [",
            self.url,
            self.title,
            self.home(),
        )?;
        for (index, link) in self.links.iter().enumerate() {
            write!(out, "{}\"{link}\"", if index == 0 { "" } else { ", " })?;
        }
        out.push_str("],\n  \"comment\": [\n    \"");
        self.language.sentence(out, &mut self.random);
        out.push('"');
        while out.len() < self.bytes {
            out.push_str(",\n    \"");
            self.language.sentence(out, &mut self.random);
            out.push('"');
        }
        out.push_str("\n  ]\n}\n");
        Ok(())
    }
}

/// Where a page links to. Its children come first, then what hangs on it, then anything.
fn links(web: &GeneratedWeb, page: PageId, facts: Facts) -> Vec<String> {
    let mut random = web.random(LINKS, page);
    let by_chance = random.below(u64::from(web.shape.links_per_page) * 2 + 1);
    let mut links: Vec<String> =
        web.children(page).chain(web.child_hosts(page)).map(|child| web.page_url(child)).collect();
    for (wanted, area) in
        [(facts.redirect, Area::Redirect), (facts.missing, Area::Missing), (facts.private, Area::Private)]
    {
        if wanted {
            links.push(web.extra_url(page, area));
        }
    }
    for _ in 0..by_chance {
        // Seven in ten stay on the host.
        let target = if random.chance(700) {
            PageId { host: page.host, number: random.below(web.pages_on(page.host)) }
        } else {
            web.any_page(&mut random)
        };
        links.push(web.page_url(target));
    }
    links
}

/// A size around the middle, with a long tail: half are smaller, one in a hundred ten to thirty times larger.
fn size(middle: u64, random: &mut Random) -> usize {
    let hundredths = match random.below(100) {
        0..50 => 40 + random.below(60),
        50..80 => 100 + random.below(100),
        80..95 => 200 + random.below(200),
        95..99 => 400 + random.below(600),
        _ => 1000 + random.below(2000),
    };
    usize::try_from(middle * hundredths / 100).unwrap_or(usize::MAX)
}
