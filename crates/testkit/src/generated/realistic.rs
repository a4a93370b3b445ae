//! Pages as heavy as the web's, for measuring parsers: nested boxes with long class names, scripts, styles, icons,
//! and structured data in the shares in which it is met.
//!
//! Sizes follow a bell curve on a logarithmic scale: half of the pages are below 60 KB, one in a hundred above half a
//! megabyte, the largest are three. About a third of the bytes are scripts and styles. The same seed and number give the same page.

use std::fmt::Write as _;

use super::random::Random;
use super::words::Language;

/// The middle page's size.
const MEDIAN_BYTES: f64 = 60_000.0;
/// The spread: one step makes a page 2.5 times as large.
const SPREAD: f64 = 0.92;
const BYTES_MAX: f64 = 3_000_000.0;

/// In how many of a thousand pages a syntax is used, near what surveys of the whole web find.
const OPEN_GRAPH: u16 = 640;
const TWITTER: u16 = 480;
const JSON_LD: u16 = 460;
const MICRODATA: u16 = 210;
const MICROFORMATS: u16 = 110;
const RDFA: u16 = 60;

/// A page of realistic size and markup.
pub fn realistic_page(seed: u64, number: u64) -> String {
    let mut random = Random::of(&[seed, number, 0x7061_6765]);
    let language = Language::choose(&mut random);
    let target = size(&mut random);
    let mut page = Page {
        html: String::with_capacity(target + 4096),
        language,
        number,
        microdata: random.chance(MICRODATA),
        microformats: random.chance(MICROFORMATS),
        rdfa: random.chance(RDFA),
        random,
    };
    page.head(target);
    page.body(target);
    page.html
}

/// A size, by the sum of twelve draws, which is close enough to a bell curve.
fn size(random: &mut Random) -> usize {
    let sum: f64 = (0..12).map(|_| random.below(1_000_000) as f64 / 1e6).sum();
    let bytes = MEDIAN_BYTES * (SPREAD * (sum - 6.0)).exp();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 3 KB and 3 MB")]
    let bytes = bytes.clamp(3_000.0, BYTES_MAX) as usize;
    bytes
}

struct Page {
    html: String,
    random: Random,
    language: Language,
    number: u64,
    microdata: bool,
    microformats: bool,
    rdfa: bool,
}

impl Page {
    fn phrase(&mut self, words: u64) {
        self.language.phrase(&mut self.html, &mut self.random, words);
    }

    fn phrase_of(&mut self, words: u64) -> String {
        let mut text = String::new();
        self.language.phrase(&mut text, &mut self.random, words);
        text
    }

    fn push(&mut self, markup: &str) {
        self.html.push_str(markup);
    }

    fn put(&mut self, markup: std::fmt::Arguments<'_>) {
        let _ = self.html.write_fmt(markup);
    }

    fn head(&mut self, target: usize) {
        let number = self.number;
        let tag = self.language.tag;
        let title = self.phrase_of(5);
        let description = self.phrase_of(22);
        self.put(format_args!(
            "<!DOCTYPE html>\n<html lang=\"{tag}\" class=\"no-js\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title} | Example</title>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"description\" content=\"{description}\">\n\
             <link rel=\"canonical\" href=\"https://www.example.org/articles/{number}\">\n<meta name=\"robots\" content=\"index, follow, max-image-preview:large\">\n"
        ));
        if self.random.chance(OPEN_GRAPH) {
            for (property, content) in [
                ("og:type", "article"),
                ("og:title", &*title),
                ("og:description", &*description),
                ("og:url", &*format!("https://www.example.org/articles/{number}")),
                ("og:site_name", "Example"),
                ("og:image", &*format!("https://cdn.example.org/img/{number}/large.jpg")),
                ("og:image:width", "1200"),
                ("og:image:height", "630"),
                ("article:published_time", "2026-03-01T10:15:00+00:00"),
                ("article:modified_time", "2026-04-02T08:00:00+00:00"),
            ] {
                self.put(format_args!("<meta property=\"{property}\" content=\"{content}\" />\n"));
            }
        }
        if self.random.chance(TWITTER) {
            self.put(format_args!(
                "<meta name=\"twitter:card\" content=\"summary_large_image\" />\n<meta name=\"twitter:title\" content=\"{title}\" />\n\
                 <meta name=\"twitter:label1\" content=\"Written by\" />\n<meta name=\"twitter:data1\" content=\"Ann\" />\n"
            ));
        }
        for language in ["de", "fr", "es"] {
            if self.random.chance(150) {
                self.put(format_args!(
                    "<link rel=\"alternate\" hreflang=\"{language}\" href=\"https://www.example.org/{language}/articles/{number}\" />\n"
                ));
            }
        }
        for index in 0..6 + self.random.below(8) {
            self.put(format_args!(
                "<link rel=\"stylesheet\" id=\"theme-part-{index}-css\" href=\"https://www.example.org/assets/css/part-{index}.min.css?ver=6.4.{index}\" media=\"all\" />\n"
            ));
        }
        if self.random.chance(JSON_LD) {
            self.json_ld(&title, &description);
        }
        self.style(target / 10);
        self.script(target / 6);
        self.push("</head>\n");
    }

    fn json_ld(&mut self, title: &str, description: &str) {
        let number = self.number;
        let site = "https://www.example.org";
        let tag = self.language.tag;
        self.put(format_args!(
            "<script type=\"application/ld+json\" class=\"schema-graph\">{{\"@context\":\"https://schema.org\",\"@graph\":[\
             {{\"@type\":\"Article\",\"@id\":\"{site}/articles/{number}#article\",\"isPartOf\":{{\"@id\":\"{site}/articles/{number}\"}},\"author\":{{\"name\":\"Ann\",\"@id\":\"{site}/#/schema/person/ann\"}},\
             \"headline\":\"{title}\",\"datePublished\":\"2026-03-01T10:15:00+00:00\",\"dateModified\":\"2026-04-02T08:00:00+00:00\",\"mainEntityOfPage\":{{\"@id\":\"{site}/articles/{number}\"}},\"wordCount\":812,\"commentCount\":3,\
             \"publisher\":{{\"@id\":\"{site}/#organization\"}},\"keywords\":[\"river\",\"garden\"],\"inLanguage\":\"{tag}\"}},\
             {{\"@type\":\"WebPage\",\"@id\":\"{site}/articles/{number}\",\"url\":\"{site}/articles/{number}\",\"name\":\"{title}\",\"isPartOf\":{{\"@id\":\"{site}/#website\"}},\"description\":\"{description}\",\
             \"breadcrumb\":{{\"@id\":\"{site}/articles/{number}#breadcrumb\"}},\"potentialAction\":[{{\"@type\":\"ReadAction\",\"target\":[\"{site}/articles/{number}\"]}}]}},\
             {{\"@type\":\"BreadcrumbList\",\"@id\":\"{site}/articles/{number}#breadcrumb\",\"itemListElement\":[{{\"@type\":\"ListItem\",\"position\":1,\"name\":\"Home\",\"item\":\"{site}/\"}},{{\"@type\":\"ListItem\",\"position\":2,\"name\":\"{title}\"}}]}},\
             {{\"@type\":\"Organization\",\"@id\":\"{site}/#organization\",\"name\":\"Example\",\"url\":\"{site}/\",\"logo\":{{\"@type\":\"ImageObject\",\"url\":\"{site}/logo.png\",\"width\":600,\"height\":60,\"caption\":\"Example\"}},\"sameAs\":[\"https://social.example/example\",\"https://video.example/example\"]}}]}}</script>\n"
        ));
    }

    fn style(&mut self, bytes: usize) {
        self.push("<style id=\"inline-css\">\n");
        let end = self.html.len() + bytes;
        let mut index = 0;
        while self.html.len() < end {
            index += 1;
            let hue = self.random.below(0xff_ffff);
            self.put(format_args!(
                ".block-{index} .inner > .item:not(:last-child){{margin:0 0 1.5em;padding:{}px;color:#{hue:06x};background:url(data:image/svg+xml,%3Csvg%3E)}}\n",
                index % 32
            ));
        }
        self.push("</style>\n");
    }

    fn script(&mut self, bytes: usize) {
        self.push("<script>\n/* <![CDATA[ */\n");
        let end = self.html.len() + bytes;
        while self.html.len() < end {
            let number = self.random.below(100_000);
            self.put(format_args!(
                "window.dataLayer=window.dataLayer||[];if(a<{number}&&b>0){{dataLayer.push({{\"event\":\"view\",\"id\":{number},\"label\":\"<b>box</b>\",\"list\":[1,2,3]}})}};\n"
            ));
        }
        self.push("/* ]]> */\n</script>\n");
    }

    fn body(&mut self, target: usize) {
        let number = self.number;
        self.put(format_args!(
            "<body class=\"post-template single single-post postid-{number} wp-embed-responsive\">\n<div id=\"page\" class=\"site\"><a class=\"skip-link screen-reader-text\" href=\"#content\">Skip</a>\n"
        ));
        self.navigation(20 + target / 4000);
        self.push("<div id=\"content\" class=\"site-content\"><main id=\"main\">\n");
        self.article();
        let mut box_number = 0;
        let script_every = 6 + self.random.below(6);
        // The footer and what closes the page take about this much.
        while self.html.len() + 3000 < target {
            box_number += 1;
            match self.random.below(10) {
                0..4 => self.paragraph(),
                4..8 => self.card(box_number),
                8 => self.table(),
                _ => self.icons(),
            }
            if box_number % script_every == 0 {
                let bytes = (target / 24).min(20_000);
                self.script(bytes);
            }
        }
        self.push("</main></div>\n<footer class=\"site-footer\">");
        self.navigation(15);
        self.push(
            "<p class=\"copyright\">&copy; 2026 Example &amp; friends</p></footer></div>\n</body>\n</html>\n",
        );
    }

    fn navigation(&mut self, links: usize) {
        self.push(
            "<nav class=\"main-navigation\" aria-label=\"Menu\"><ul id=\"menu\" class=\"menu nav-menu\">",
        );
        for index in 0..links.min(400) {
            let id = self.random.below(10_000);
            self.put(format_args!(
                "<li id=\"menu-item-{id}\" class=\"menu-item menu-item-type-post_type menu-item-{id}\"><a href=\"/section-{}/page-{id}\" data-index=\"{index}\"><span class=\"menu-text\">",
                index % 9
            ));
            self.phrase(2);
            self.push("</span></a></li>\n");
        }
        self.push("</ul></nav>\n");
    }

    fn article(&mut self) {
        let number = self.number;
        let class = if self.microformats { "post hentry h-entry" } else { "post entry" };
        let scope =
            if self.microdata { " itemscope itemtype=\"https://schema.org/BlogPosting\"" } else { "" };
        let rdfa = if self.rdfa { " vocab=\"http://schema.org/\" typeof=\"Article\"" } else { "" };
        let headline = if self.microdata { " itemprop=\"headline\"" } else { "" };
        let property = if self.rdfa { " property=\"headline\"" } else { "" };
        self.put(format_args!(
            "<article id=\"post-{number}\" class=\"{class}\"{scope}{rdfa}>\n<header class=\"entry-header\">\
             <h1 class=\"entry-title p-name\"{headline}{property}>"
        ));
        self.phrase(6);
        self.push("</h1>");
        if self.microformats {
            self.put(format_args!(
                "<span class=\"posted-on\"><a href=\"/articles/{number}\" rel=\"bookmark\" class=\"u-url\"><time class=\"entry-date published dt-published\" datetime=\"2026-03-01T10:15:00+00:00\">March 1</time></a></span>\
                 <span class=\"author vcard p-author h-card\"><a class=\"url fn n u-url\" href=\"/author/ann\">Ann</a></span>"
            ));
        }
        if self.microdata {
            self.push("<meta itemprop=\"datePublished\" content=\"2026-03-01\"><span itemprop=\"author\" itemscope itemtype=\"https://schema.org/Person\"><a itemprop=\"url\" href=\"/author/ann\"><span itemprop=\"name\">Ann</span></a></span>");
        }
        if self.rdfa {
            self.push("<span property=\"author\" typeof=\"Person\"><a property=\"url\" href=\"/author/ann\"><span property=\"name\">Ann</span></a></span><meta property=\"datePublished\" content=\"2026-03-01\">");
        }
        self.push("</header>\n<div class=\"entry-content e-content\">\n");
        for _ in 0..3 {
            self.paragraph();
        }
        self.push("</div></article>\n");
    }

    fn paragraph(&mut self) {
        self.push("<p class=\"wp-block-paragraph has-medium-font-size\">");
        for _ in 0..3 + self.random.below(5) {
            self.language.sentence(&mut self.html, &mut self.random);
            self.push(" ");
            match self.random.below(6) {
                0 => {
                    let id = self.random.below(5000);
                    self.put(format_args!("<a href=\"https://host{}.example/pages/{id}?ref=article&amp;n={id}\" target=\"_blank\" rel=\"noopener\">", id % 40));
                    self.phrase(3);
                    self.push("</a> ");
                }
                1 => {
                    self.push("<strong>");
                    self.phrase(2);
                    self.push("</strong>&nbsp;");
                }
                2 => {
                    self.push("<em>");
                    self.phrase(3);
                    self.push("</em> &#8212; ");
                }
                _ => {}
            }
        }
        self.push("</p>\n");
    }

    fn card(&mut self, index: u64) {
        let id = self.random.below(90_000);
        let scope = if self.microdata { " itemscope itemtype=\"https://schema.org/Product\"" } else { "" };
        let name = if self.microdata { " itemprop=\"name\"" } else { "" };
        let rdfa = if self.rdfa { " typeof=\"Product\"" } else { "" };
        self.put(format_args!(
            "<div class=\"grid__item grid__item--{index} col-xs-12 col-md-4\" data-product-id=\"{id}\" data-track='{{\"pos\":{index}}}'><div class=\"card card--product\"{scope}{rdfa}><div class=\"card__inner\"><div class=\"card__media\">\
             <a class=\"card__link\" href=\"/products/{id}\"><img class=\"lazyload\" loading=\"lazy\" width=\"300\" height=\"200\" src=\"data:image/gif;base64,R0lGODlhAQABAAAAACH5\" data-src=\"https://cdn.example.org/p/{id}_300x.jpg\" srcset=\"https://cdn.example.org/p/{id}_300x.jpg 300w, https://cdn.example.org/p/{id}_600x.jpg 600w\" alt=\""
        ));
        self.phrase(3);
        self.put(format_args!("\"></a></div><div class=\"card__info\"><h3 class=\"card__title\"><a href=\"/products/{id}\"><span{name}>"));
        self.phrase(4);
        self.push("</span></a></h3>");
        if self.microdata {
            self.put(format_args!("<div itemprop=\"offers\" itemscope itemtype=\"https://schema.org/Offer\"><meta itemprop=\"priceCurrency\" content=\"EUR\"><span itemprop=\"price\" content=\"{}.90\">{}.90</span></div>", id % 200, id % 200));
        } else {
            self.put(format_args!(
                "<div class=\"price\"><span class=\"price__amount\">{}<sup>90</sup></span></div>",
                id % 200
            ));
        }
        self.push("<ul class=\"badges\"><li><span class=\"badge badge--new\">new</span></li><li><span class=\"badge\">sale</span></li></ul><button type=\"button\" class=\"btn btn--primary js-add\" aria-expanded=\"false\"><svg class=\"icon\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM0 8a8 8 0 1 1 16 0A8 8 0 0 1 0 8z\"/></svg></button></div></div></div></div>\n");
    }

    fn table(&mut self) {
        self.push(
            "<table class=\"wp-block-table\"><thead><tr><th>a</th><th>b</th><th>c</th></tr></thead><tbody>",
        );
        for row in 0..4 + self.random.below(8) {
            self.put(format_args!("<tr><td>{row}</td><td>"));
            self.phrase(3);
            self.put(format_args!(
                "</td><td style=\"text-align:right\">{}</td></tr>",
                self.number * row % 977
            ));
        }
        self.push("</tbody></table>\n");
    }

    fn icons(&mut self) {
        self.push("<div class=\"share\">");
        for name in ["mail", "chat", "print"] {
            self.put(format_args!(
                "<a class=\"share__link share__link--{name}\" href=\"https://share.example/{name}?u=https%3A%2F%2Fwww.example.org\" rel=\"nofollow noopener\"><svg viewBox=\"0 0 24 24\"><use xlink:href=\"#icon-{name}\"></use></svg><span class=\"sr-only\">{name}</span></a>"
            ));
        }
        self.push("</div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_near_the_webs() {
        let mut sizes: Vec<usize> = (0..400).map(|number| realistic_page(1, number).len()).collect();
        sizes.sort_unstable();
        assert!((30_000..100_000).contains(&sizes[200]), "the middle is {}", sizes[200]);
        assert!(sizes[399] > 400_000, "the largest is {}", sizes[399]);
        assert_eq!(realistic_page(1, 7), realistic_page(1, 7));
        assert_ne!(realistic_page(1, 7), realistic_page(2, 7));
    }
}
