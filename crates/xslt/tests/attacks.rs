//! Hostile stylesheets and documents: each must end by its budget, with an error that names the limit, or be harmless.
//!
//! Two seconds and 256 MiB are the promise, and [`watched`] holds every attack to it: two seconds of processor time, since other
//! work on a machine is nobody's fault, and the most memory that the process had above what it began with. Both are read where
//! the system tells them, on Linux; `--nocapture` shows them. The limit on steps is what ends things, not the clock.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use webloom_xslt::{
    Document, ErrorKind, Limit, Limits, Loaded, Loader, NoLoader, Output, Purpose, Stylesheet, XsltError,
};

fn limits() -> Limits {
    Limits { steps_max: 5_000_000, time_max: Duration::from_secs(20), ..Limits::untrusted() }
}

/// Remembers what it was asked for, and gives nothing.
#[derive(Default)]
struct Witness(Mutex<Vec<String>>);

impl Loader for Witness {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        self.0.lock().unwrap().push(uri.to_owned());
        Err("no".to_owned())
    }
}

/// Tests take turns, so that what the process uses up is one attack's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one attack and checks what it cost.
#[track_caller]
fn watched<T>(attack: impl FnOnce() -> T) -> T {
    // Forgets the highest mark so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (time_before, before) = (processor_time(), memory("VmRSS:"));
    let result = attack();
    let took = processor_time().saturating_sub(time_before);
    let peak = memory("VmHWM:").saturating_sub(before);
    let line = std::panic::Location::caller().line();
    eprintln!("line {line}: {} ms, {} MiB at most", took.as_millis(), peak >> 20);
    assert!(took <= Duration::from_secs(2), "line {line} took {took:?}");
    assert!(peak <= 256 << 20, "line {line} took {} MiB", peak >> 20);
    result
}

/// Processor time of this process; zero where the system does not tell.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may have blanks in it. Times are in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Memory of this process; zero where the system does not tell.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(field));
    found.and_then(|found| found.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) << 10
}

#[track_caller]
fn parse(document: &[u8], address: &str, limits: &Limits) -> Result<Document, XsltError> {
    watched(|| Document::parse(document, address, limits))
}

#[track_caller]
fn compile(
    source: &[u8],
    address: &str,
    loader: &dyn Loader,
    limits: &Limits,
) -> Result<Stylesheet, XsltError> {
    watched(|| Stylesheet::compile(source, address, loader, limits))
}

const HEAD: &str = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:exsl="http://exslt.org/common" xmlns:str="http://exslt.org/strings" xmlns:func="http://exslt.org/functions"
  xmlns:regexp="http://exslt.org/regular-expressions" xmlns:dyn="http://exslt.org/dynamic"
  xmlns:my="urn:my" extension-element-prefixes="exsl func">"#;

#[track_caller]
fn run_with(top: &str, document: &[u8], limits: &Limits) -> Result<Output, XsltError> {
    watched(|| {
        let source = format!("{HEAD}{top}</xsl:stylesheet>");
        let stylesheet =
            Stylesheet::compile(source.as_bytes(), "https://example.org/attack.xsl", &NoLoader, limits)?;
        let document = Document::parse(document, "https://example.org/in.xml", limits)?;
        stylesheet.transform(&document, &[], &NoLoader, limits)
    })
}

#[track_caller]
fn run(top: &str) -> Result<Output, XsltError> {
    run_with(top, b"<doc/>", &limits())
}

#[track_caller]
fn hits(result: Result<Output, XsltError>, allowed: &[Limit]) {
    match result {
        Ok(output) => panic!("it went through, with {} bytes", output.bytes.len()),
        Err(error) => match error.kind {
            ErrorKind::Limit(limit) => {
                assert!(allowed.contains(&limit) || limit == Limit::Time, "{limit:?}: {error}");
            }
            other => panic!("{other:?}: {error}"),
        },
    }
}

#[test]
fn endless_recursion_by_name() {
    let _alone = alone();
    // In the middle of the template, so that it is no tail call.
    let error = run(r#"<xsl:template match="/" name="t"><xsl:call-template name="t"/><a/></xsl:template>"#)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(Limit::Depth));
    assert_eq!(error.line, Some(4));
    assert_eq!(error.stylesheet.as_deref(), Some("https://example.org/attack.xsl"));
    assert_eq!(error.template.as_deref(), Some("template name=\"t\""));
}

#[test]
fn endless_tail_recursion() {
    let _alone = alone();
    hits(
        run(r#"<xsl:template match="/" name="t"><xsl:call-template name="t"/></xsl:template>"#),
        &[Limit::Steps],
    );
}

#[test]
fn endless_recursion_by_apply_templates() {
    let _alone = alone();
    hits(
        run(r#"<xsl:template match="/"><x><xsl:apply-templates select="/"/></x></xsl:template>"#),
        &[Limit::Depth],
    );
}

#[test]
fn endless_recursion_through_deep_bodies_at_the_deepest_setting() {
    let _alone = alone();
    let nested = "<xsl:if test='true()'>".repeat(200);
    let closed = "</xsl:if>".repeat(200);
    let limits = Limits { depth_max: 1_000_000, ..limits() };
    hits(
        run_with(
            &format!(
                r#"<xsl:template match="/" name="t">{nested}<x><xsl:call-template name="t"/></x>{closed}</xsl:template>"#
            ),
            b"<doc/>",
            &limits,
        ),
        &[Limit::Depth, Limit::Steps, Limit::MemoryBytes],
    );
}

#[test]
fn endless_recursion_in_variables_and_attributes() {
    let _alone = alone();
    let limits = Limits { depth_max: 1_000_000, ..limits() };
    for body in [
        r#"<xsl:variable name="v"><xsl:call-template name="t"/></xsl:variable>"#,
        r#"<a><xsl:attribute name="b"><xsl:call-template name="t"/><xsl:text>x</xsl:text></xsl:attribute></a>"#,
        r#"<xsl:comment><xsl:call-template name="t"/>x</xsl:comment>"#,
        r#"<xsl:message><xsl:call-template name="t"/>x</xsl:message>"#,
        r#"<xsl:for-each select="/"><xsl:call-template name="t"/>x</xsl:for-each>"#,
        r#"<xsl:apply-templates select="/"/><a/>"#,
    ] {
        hits(
            run_with(
                &format!(r#"<xsl:template match="/" name="t">{body}</xsl:template>"#),
                b"<doc/>",
                &limits,
            ),
            &[Limit::Depth, Limit::Steps, Limit::MemoryBytes],
        );
    }
}

#[test]
fn endless_recursion_in_functions() {
    let _alone = alone();
    let limits = Limits { depth_max: 1_000_000, ..limits() };
    for select in ["my:f()", "1 + my:f()", "concat('a', my:f())", "//*[my:f()]"] {
        hits(
            run_with(
                &format!(
                    r#"<func:function name="my:f"><func:result select="{select}"/></func:function>
                       <xsl:template match="/"><xsl:value-of select="my:f()"/></xsl:template>"#
                ),
                b"<doc/>",
                &limits,
            ),
            &[Limit::Depth, Limit::Steps],
        );
    }
}

#[test]
fn endless_recursion_in_attribute_sets_and_variables_is_told() {
    let _alone = alone();
    let error = run(r#"<xsl:attribute-set name="a" use-attribute-sets="b"/><xsl:attribute-set name="b" use-attribute-sets="a"/>
        <xsl:template match="/"><x xsl:use-attribute-sets="a"/></xsl:template>"#).unwrap_err();
    assert!(error.message.contains("uses itself"), "{error}");
    let error = run(r#"<xsl:variable name="a" select="$b"/><xsl:variable name="b" select="$a"/>
        <xsl:template match="/"><xsl:value-of select="$a"/></xsl:template>"#)
    .unwrap_err();
    assert!(error.message.contains("depends on itself"), "{error}");
}

#[test]
fn endless_dynamic_evaluation() {
    let _alone = alone();
    let limits = Limits { depth_max: 1_000_000, ..limits() };
    hits(
        run_with(
            r#"<xsl:variable name="e">dyn:evaluate($e)</xsl:variable>
               <xsl:template match="/"><xsl:value-of select="dyn:evaluate($e)"/></xsl:template>"#,
            b"<doc/>",
            &limits,
        ),
        &[Limit::Depth, Limit::Steps],
    );
}

#[test]
fn exponential_recursion() {
    let _alone = alone();
    hits(
        run(r#"<xsl:template match="/" name="t"><xsl:param name="n" select="60"/>
            <xsl:if test="$n &gt; 0">
              <xsl:call-template name="t"><xsl:with-param name="n" select="$n - 1"/></xsl:call-template>
              <xsl:call-template name="t"><xsl:with-param name="n" select="$n - 1"/></xsl:call-template>
            </xsl:if></xsl:template>"#),
        &[Limit::Steps],
    );
}

#[test]
fn growing_strings() {
    let _alone = alone();
    hits(
        run(r#"<xsl:template match="/" name="t"><xsl:param name="s" select="'xxxxxxxxxxxxxxxx'"/>
            <xsl:call-template name="t"><xsl:with-param name="s" select="concat($s, $s)"/></xsl:call-template>
            </xsl:template>"#),
        &[Limit::MemoryBytes, Limit::Steps],
    );
    hits(
        run(r#"<xsl:template match="/" name="t"><xsl:param name="s" select="'xxxxxxxxxxxxxxxx'"/>
            <xsl:variable name="u"><xsl:value-of select="$s"/><xsl:value-of select="$s"/></xsl:variable>
            <xsl:call-template name="t"><xsl:with-param name="s" select="string($u)"/></xsl:call-template><x/>
            </xsl:template>"#),
        &[Limit::MemoryBytes, Limit::Steps],
    );
}

#[test]
fn many_large_variables_at_a_time() {
    let _alone = alone();
    hits(
        run(r#"<xsl:variable name="big" select="str:padding(1000000, 'x')"/>
            <xsl:template match="/" name="t"><xsl:param name="n" select="0"/>
            <xsl:variable name="v" select="concat($big, $n)"/>
            <xsl:call-template name="t"><xsl:with-param name="n" select="$n + 1"/></xsl:call-template><x/>
            </xsl:template>"#),
        &[Limit::MemoryBytes],
    );
}

#[test]
fn huge_output() {
    let _alone = alone();
    hits(
        run(r#"<xsl:variable name="big" select="str:padding(100000, 'x')"/>
            <xsl:template match="/" name="t"><xsl:value-of select="$big"/><xsl:call-template name="t"/></xsl:template>"#),
        &[Limit::OutputBytes],
    );
    hits(
        run(
            r#"<xsl:template match="/" name="t"><a b="ccccccccccccccccccccccccccccccccccccc"/><xsl:comment>ddddddddd</xsl:comment>
            <xsl:call-template name="t"/></xsl:template>"#,
        ),
        &[Limit::OutputBytes, Limit::Steps],
    );
}

#[test]
fn huge_fragments_and_messages() {
    let _alone = alone();
    hits(
        run(
            r#"<xsl:template match="/"><xsl:variable name="v"><xsl:call-template name="t"/></xsl:variable></xsl:template>
            <xsl:template name="t"><a b="ccccccccc"/><xsl:call-template name="t"/></xsl:template>"#,
        ),
        &[Limit::MemoryBytes, Limit::Nodes, Limit::Steps],
    );
    hits(
        run(r#"<xsl:variable name="big" select="str:padding(100000, 'x')"/>
            <xsl:template match="/" name="t"><xsl:message><xsl:value-of select="$big"/></xsl:message><xsl:call-template name="t"/></xsl:template>"#),
        &[Limit::OutputBytes],
    );
}

#[test]
fn a_fragment_that_doubles_itself() {
    let _alone = alone();
    hits(
        run(r#"<xsl:template match="/" name="t"><xsl:param name="tree"><a/></xsl:param>
            <xsl:variable name="twice"><xsl:copy-of select="$tree"/><xsl:copy-of select="$tree"/></xsl:variable>
            <xsl:call-template name="t"><xsl:with-param name="tree" select="$twice"/></xsl:call-template>
            </xsl:template>"#),
        &[Limit::MemoryBytes, Limit::Nodes, Limit::Steps],
    );
}

#[test]
fn billion_laughs() {
    let _alone = alone();
    let mut dtd = String::from("<!DOCTYPE d [<!ENTITY e0 'ha'>");
    for level in 1..40 {
        let inner = format!("&e{};", level - 1).repeat(10);
        dtd.push_str(&format!("<!ENTITY e{level} '{inner}'>"));
    }
    for use_ in ["<d>&e39;</d>", "<d a='&e39;'/>"] {
        let error = parse(format!("{dtd}]>{use_}").as_bytes(), "in.xml", &limits()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit(Limit::EntityBytes), "{error}");
    }
}

#[test]
fn entities_that_contain_themselves() {
    let _alone = alone();
    for text in [
        "<!DOCTYPE d [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><d>&a;</d>",
        "<!DOCTYPE d [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><d x='&a;'/>",
        "<!DOCTYPE d [<!ENTITY a '<x>&a;</x>'>]><d>&a;</d>",
        "<!DOCTYPE d [<!ENTITY % a '&#37;a;'>%a;]><d/>",
    ] {
        assert!(parse(text.as_bytes(), "in.xml", &limits()).is_err(), "{text}");
    }
}

#[test]
fn external_entities_are_never_read() {
    let _alone = alone();
    let text = "<!DOCTYPE d SYSTEM 'file:///etc/hostname' [<!ENTITY x SYSTEM 'file:///etc/passwd'>
        <!ENTITY % p SYSTEM 'https://example.org/evil.dtd'>%p;]><d>[&x;&undeclared;]</d>";
    let output = run_with(
        r#"<xsl:output omit-xml-declaration="yes"/><xsl:template match="/"><xsl:copy-of select="."/></xsl:template>"#,
        text.as_bytes(),
        &limits(),
    );
    assert_eq!(output.unwrap().bytes, b"<d>[]</d>");
}

#[test]
fn nothing_is_loaded_but_through_the_loader() {
    let _alone = alone();
    let witness = Witness::default();
    let source = format!(
        r#"{HEAD}<xsl:template match="/"><xsl:copy-of select="document('file:///etc/passwd')"/>
        <xsl:copy-of select="document('http://127.0.0.1:1/x')"/><xsl:copy-of select="document(//*)"/></xsl:template></xsl:stylesheet>"#
    );
    let stylesheet = compile(source.as_bytes(), "https://example.org/a.xsl", &witness, &limits()).unwrap();
    let document = parse(b"<a>../up</a>", "https://example.org/b/c.xml", &limits()).unwrap();
    let output = stylesheet.transform(&document, &[], &witness, &limits()).unwrap();
    assert_eq!(output.messages.len(), 3);
    let asked = witness.0.lock().unwrap().clone();
    assert_eq!(asked, ["file:///etc/passwd", "http://127.0.0.1:1/x", "https://example.org/up"]);
}

#[test]
fn nothing_is_written_by_any_element() {
    let _alone = alone();
    for element in [
        r#"<exsl:document href="/tmp/owned">x</exsl:document>"#,
        r#"<my:write xmlns:my="http://xml.apache.org/xalan/redirect" xsl:extension-element-prefixes="my" file="/tmp/owned">x</my:write>"#,
        r#"<saxon:output xmlns:saxon="http://icl.com/saxon" xsl:extension-element-prefixes="saxon" file="/tmp/owned">x</saxon:output>"#,
    ] {
        let error = run(&format!(r#"<xsl:template match="/">{element}</xsl:template>"#)).unwrap_err();
        assert!(error.message.contains("not known"), "{error}");
    }
    assert!(
        run(r#"<xsl:template match="/"><xsl:document href="/tmp/owned">x</xsl:document></xsl:template>"#)
            .is_err()
    );
    assert!(run(r#"<xsl:template match="/"><xsl:result-document href="/tmp/owned">x</xsl:result-document></xsl:template>"#).is_err());
    assert!(!std::path::Path::new("/tmp/owned").exists());
}

#[test]
fn imports_that_never_end() {
    let _alone = alone();
    struct Mirror;
    impl Loader for Mirror {
        fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
            // Always another address, always importing the next.
            Ok(Loaded {
                bytes: format!(
                    r#"{HEAD}<xsl:import href="{uri}x"/><xsl:include href="{uri}y"/></xsl:stylesheet>"#
                )
                .into_bytes(),
                uri: uri.to_owned(),
            })
        }
    }
    let source = format!(r#"{HEAD}<xsl:import href="a"/></xsl:stylesheet>"#);
    let error = compile(source.as_bytes(), "https://example.org/", &Mirror, &limits()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(Limit::Documents));
    let own = format!(r#"{HEAD}<xsl:include href=""/></xsl:stylesheet>"#);
    let error = compile(own.as_bytes(), "https://example.org/a", &Mirror, &limits()).unwrap_err();
    assert!(error.message.contains("includes itself"), "{error}");
}

#[test]
fn documents_that_never_end() {
    let _alone = alone();
    struct Endless;
    impl Loader for Endless {
        fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
            Ok(Loaded { bytes: b"<a/>".to_vec(), uri: uri.to_owned() })
        }
    }
    let source = format!(
        r#"{HEAD}<xsl:template match="/" name="t"><xsl:param name="n" select="0"/>
        <xsl:value-of select="document(concat('d', $n))"/>
        <xsl:call-template name="t"><xsl:with-param name="n" select="$n + 1"/></xsl:call-template></xsl:template></xsl:stylesheet>"#
    );
    let stylesheet = compile(source.as_bytes(), "https://example.org/", &Endless, &limits()).unwrap();
    let document = parse(b"<a/>", "https://example.org/in", &limits()).unwrap();
    hits(watched(|| stylesheet.transform(&document, &[], &Endless, &limits())), &[Limit::Documents]);
}

#[test]
fn a_huge_key() {
    let _alone = alone();
    let document = format!("<d>{}</d>", "<i/>".repeat(2000));
    hits(
        run_with(
            r#"<xsl:key name="k" match="i" use="//i/@x | //i | preceding::i"/><xsl:key name="l" match="i" use="generate-id(//i[position() = last() - count(current()/preceding::i)])"/>
            <xsl:template match="/"><xsl:for-each select="//i"><xsl:value-of select="count(key('l', //i))"/></xsl:for-each></xsl:template>"#,
            document.as_bytes(),
            &limits(),
        ),
        &[Limit::Steps, Limit::MemoryBytes],
    );
    let error = run(r#"<xsl:key name="k" match="*" use="key('k', 'x')"/><xsl:template match="/"><xsl:value-of select="key('k', 'x')"/></xsl:template>"#)
        .unwrap_err();
    assert!(error.message.contains("must not be called here"), "{error}");
}

#[test]
fn a_deep_tree() {
    let _alone = alone();
    let deep = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
    // Built-in templates go down one by one.
    hits(run_with("", deep.as_bytes(), &limits()), &[Limit::Depth]);
    let output = run_with(
        r#"<xsl:output method="text"/><xsl:template match="/"><xsl:value-of select="concat(count(//a), ' ', count(//a[not(a)]/ancestor::*))"/>
           <xsl:variable name="copy"><xsl:copy-of select="."/></xsl:variable><xsl:value-of select="string-length($copy)"/></xsl:template>"#,
        deep.as_bytes(),
        &limits(),
    )
    .unwrap();
    assert!(String::from_utf8(output.bytes).unwrap().starts_with("200000 199999"));
}

#[test]
fn an_element_with_200_000_attributes() {
    let _alone = alone();
    let attributes: String = (0..200_000).map(|number| format!(" a{number}='{number}'")).collect();
    let document = format!("<d{attributes}/>");
    let output = run_with(
        r#"<xsl:output method="text"/><xsl:template match="/"><xsl:value-of select="count(*/@*)"/></xsl:template>"#,
        document.as_bytes(),
        &limits(),
    )
    .unwrap();
    assert_eq!(output.bytes, b"200000");
    let copied = run_with(
        r#"<xsl:template match="/"><xsl:copy-of select="*"/></xsl:template>"#,
        document.as_bytes(),
        &limits(),
    );
    assert!(copied.unwrap().bytes.len() > document.len());
    hits(
        run_with(
            r#"<xsl:template match="@*|node()"><xsl:copy><xsl:apply-templates select="@*|node()"/></xsl:copy></xsl:template>"#,
            document.as_bytes(),
            &limits(),
        ),
        &[Limit::Steps],
    );
    let twice = format!("<d{attributes} a7='x'/>");
    assert!(parse(twice.as_bytes(), "in.xml", &limits()).is_err());
}

#[test]
fn an_element_with_100_000_namespaces() {
    let _alone = alone();
    let declarations: String = (0..100_000).map(|number| format!(" xmlns:p{number}='u{number}'")).collect();
    let error = parse(format!("<d{declarations}/>").as_bytes(), "in.xml", &limits()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(Limit::Nodes), "{error}");
    // Few on each of many, all in scope of the innermost.
    let mut text = String::new();
    for number in 0..900 {
        text.push_str(&format!("<d xmlns:p{number}='u{number}'>"));
    }
    text.push_str(&"</d>".repeat(900));
    let done = run_with(
        r#"<xsl:template match="/"><xsl:value-of select="count(//d[not(d)]/namespace::*)"/><xsl:for-each select="//d/namespace::*"><x/></xsl:for-each></xsl:template>"#,
        text.as_bytes(),
        &limits(),
    );
    hits(done, &[Limit::Steps, Limit::OutputBytes]);
}

#[test]
fn quadratic_and_cubic_predicates() {
    let _alone = alone();
    let document = format!("<d>{}</d>", "<i><j/></i>".repeat(20_000));
    for select in [
        "//i[count(preceding::i) = count(following::i)]",
        "//i[//i[//i]/@x]",
        "//i[. = //i[. != 'y']/@x]",
        "//node()[following::node()[preceding::node()[1] = current()/@x]]",
        "//i[position() = count(//i) - 7][last()]",
        "count(//i/preceding::*/following::*/ancestor::*/descendant::*[position() mod 2 = 1]/ancestor::*)",
    ] {
        let done = run_with(
            &format!(r#"<xsl:template match="/"><xsl:value-of select="{select}"/></xsl:template>"#),
            document.as_bytes(),
            &limits(),
        );
        if let Err(error) = done {
            assert!(matches!(error.kind, ErrorKind::Limit(Limit::Steps | Limit::Time)), "{error}");
        }
    }
}

#[test]
fn deep_expressions() {
    let _alone = alone();
    for expression in [
        format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}1{}", "a[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1{}", "not(".repeat(100_000), ")".repeat(100_000)),
        format!("1{}", " = 1".repeat(100_000)),
    ] {
        let error =
            run(&format!(r#"<xsl:template match="/"><xsl:value-of select="{expression}"/></xsl:template>"#))
                .unwrap_err();
        assert_eq!(error.kind, ErrorKind::XPath, "{error}");
    }
    // Long, but not deep.
    for (expression, expected) in [
        (format!("1{}", " + 1".repeat(50_000)), "50001"),
        (format!("0{}", " or 0".repeat(50_000)), "false"),
        (format!("{}1", "-".repeat(50_000)), "1"),
        (format!("count(/{})", "/descendant-or-self::node()".repeat(5000)), "2"),
        (format!("count(*{})", " | *".repeat(20_000)), "1"),
    ] {
        let output = run(&format!(
            r#"<xsl:output method="text"/><xsl:template match="/"><xsl:value-of select="{expression}"/></xsl:template>"#
        ))
        .unwrap();
        assert_eq!(output.bytes, expected.as_bytes());
    }
}

#[test]
fn deep_stylesheets() {
    let _alone = alone();
    let deep = format!("{}{}", "<x>".repeat(100_000), "</x>".repeat(100_000));
    hits(run(&format!(r#"<xsl:template match="/">{deep}</xsl:template>"#)), &[Limit::Depth]);
}

#[test]
fn regular_expressions_that_explode() {
    let _alone = alone();
    for pattern in ["(a+)+$", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)x", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        let output = run(&format!(
            r#"<xsl:output method="text"/><xsl:template match="/"><xsl:value-of select="regexp:test(str:padding(100000, 'a'), '{pattern}')"/></xsl:template>"#
        ))
        .unwrap();
        assert!(matches!(output.bytes.as_slice(), b"true" | b"false"));
    }
    for pattern in ["(((a{100}){100}){100}){100}", "(a)\\1", "["] {
        let error = run(&format!(
            r#"<xsl:template match="/"><xsl:value-of select="regexp:test('a', '{pattern}')"/></xsl:template>"#
        ))
        .unwrap_err();
        assert!(error.message.contains("cannot be used"), "{error}");
    }
}

#[test]
fn pictures_numbers_and_formats_of_any_size() {
    let _alone = alone();
    let output = run(r##"<xsl:output method="text"/><xsl:template match="/">
        <xsl:value-of select="string-length(format-number(1e300, '#'))"/></xsl:template>"##);
    assert!(output.is_err(), "1e300 is no number in XPath");
    for (select, ok) in [
        ("format-number(1, str:padding(1000000, '0'))", false),
        ("format-number(1, concat('0.', str:padding(900, '0')))", true),
        ("number(str:padding(1000000, '9')) &gt; 0", true),
        ("string(number(concat('0.', str:padding(1000000, '0'), '1')))", true),
        ("substring(str:padding(1000000, 'x'), 999999)", true),
        ("str:padding(1 div 0)", false),
        ("str:padding(100000000000)", false),
        ("str:align('x', str:padding(1000000), 'center')", true),
        ("translate(str:padding(1000000, 'ab'), str:padding(1000000, 'a'), '')", true),
        ("string-length(str:replace(str:padding(10000, 'x'), 'x', str:padding(100000, 'y')))", false),
    ] {
        let done =
            run(&format!(r#"<xsl:template match="/"><xsl:value-of select="{select}"/></xsl:template>"#));
        assert_eq!(done.is_ok(), ok, "{select}: {:?}", done.err());
    }
    let output = run(
        r#"<xsl:output method="text"/><xsl:template match="/"><xsl:number value="999999999999999" format="i"/>|<xsl:number value="1000000000000000000000" format="A"/></xsl:template>"#,
    )
    .unwrap();
    assert_eq!(output.bytes, b"999999999999999|1000000000000000000000");
}

#[test]
fn sorting_many_nodes_by_many_keys() {
    let _alone = alone();
    let items: String = (0..100_000).map(|number| format!("<i>{}</i>", number * 7919 % 100_003)).collect();
    let document = format!("<d>{items}</d>");
    let sorts = r#"<xsl:sort select="." data-type="number"/><xsl:sort select="count(preceding::i)"/>"#;
    hits(
        run_with(
            &format!(
                r#"<xsl:template match="/"><xsl:for-each select="//i">{sorts}<x/></xsl:for-each></xsl:template>"#
            ),
            document.as_bytes(),
            &limits(),
        ),
        &[Limit::Steps, Limit::Time],
    );
    let output = run_with(
        r#"<xsl:output method="text"/><xsl:template match="/"><xsl:for-each select="//i"><xsl:sort select="." data-type="number" order="descending"/>
           <xsl:if test="position() = 1"><xsl:value-of select="."/></xsl:if></xsl:for-each></xsl:template>"#,
        document.as_bytes(),
        &limits(),
    )
    .unwrap();
    assert_eq!(output.bytes, b"100002");
}

#[test]
fn more_nodes_than_allowed() {
    let _alone = alone();
    let document = "<d>".to_owned() + &"<a/>".repeat(1_100_000) + "</d>";
    let error = parse(document.as_bytes(), "in.xml", &limits()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(Limit::Nodes));
    let error = parse(&vec![b' '; 20 << 20], "in.xml", &limits()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(Limit::InputBytes));
}

#[test]
fn node_sets_made_in_a_loop() {
    let _alone = alone();
    hits(
        run(r#"<xsl:template match="/" name="t"><xsl:param name="n" select="0"/>
            <xsl:variable name="v"><a><xsl:value-of select="$n"/></a></xsl:variable>
            <xsl:value-of select="count(exsl:node-set($v)//a) + count(str:tokenize('a b c'))"/>
            <xsl:call-template name="t"><xsl:with-param name="n" select="$n + 1"/></xsl:call-template></xsl:template>"#),
        &[Limit::MemoryBytes, Limit::Documents, Limit::Steps],
    );
}

#[test]
fn templates_that_are_all_alike() {
    let _alone = alone();
    let templates: String = (0..2000)
        .map(|number| format!(r#"<xsl:template match="*[@a{number}]" priority="9">x</xsl:template>"#))
        .collect();
    let document = "<d>".to_owned() + &"<i/>".repeat(20_000) + "</d>";
    hits(run_with(&templates, document.as_bytes(), &limits()), &[Limit::Steps]);
}

#[test]
fn broken_bytes_of_every_sort() {
    let _alone = alone();
    for bytes in [
        &b""[..],
        b"\xff\xfe",
        b"\xff\xfe<",
        b"\xef\xbb\xbf",
        b"<",
        b"<a",
        b"<a b",
        b"<a b=",
        b"<a b='",
        b"<a>&#x110000;</a>",
        b"<a>&#0;</a>",
        b"<a>\x00</a>",
        b"<a>\xc3</a>",
        b"<?xml version='1.0' encoding='nonsense'?><a/>",
        b"<?xml version='1.0' encoding='utf-8'",
        b"<!DOCTYPE a [<!ENTITY % x 'y",
        b"<!DOCTYPE a [<!ATTLIST a b (c",
        b"<a:b/>",
        b"<a xmlns:b=''/>",
        b"<a:b:c xmlns:a='x'/>",
        b"<a/><b/>",
        b"text",
        b"<a>]]></a>",
        b"<a><!-- -- --></a>",
        b"<a></b>",
        b"<!DOCTYPE a [<!ENTITY e '<b>'>]><a>&e;</a>",
    ] {
        assert!(parse(bytes, "in.xml", &limits()).is_err(), "{}", String::from_utf8_lossy(bytes));
        assert!(compile(bytes, "in.xsl", &NoLoader, &limits()).is_err());
    }
}

#[test]
fn very_much_before_the_first_element() {
    let _alone = alone();
    let limits = Limits { steps_max: 20_000_000, ..limits() };
    for body in [
        "<xsl:text>a</xsl:text>",
        "<xsl:text> </xsl:text>",
        "<xsl:comment/>",
        "<xsl:processing-instruction name='p'/>",
        "<xsl:text> </xsl:text><xsl:text disable-output-escaping='yes'> </xsl:text>",
    ] {
        let top =
            format!(r#"<xsl:template match="/" name="t">{body}<xsl:call-template name="t"/></xsl:template>"#);
        hits(run_with(&top, b"<doc/>", &limits), &[Limit::OutputBytes, Limit::Steps]);
    }
}
