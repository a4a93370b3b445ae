//! JSON-LD 1.1 to RDF: the processor itself, strict, with the options a case asks for; then the same cases the
//! way pages go, where a mistake must be told but need not be the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use oxrdfio::RdfFormat;
use serde_json::Value;
use webloom_transform::jsonld::{JsonLdOptions, RdfDirection, to_rdf};
use webloom_transform::{ContextSource, TransformConfig};

use crate::Outcome;
use crate::graphs::{difference, extract, isomorphic, read};

const BASE: &str = "https://w3c.github.io/json-ld-api/tests/";

/// Contexts from the suite's folder.
#[derive(Debug)]
struct Folder(PathBuf);

impl ContextSource for Folder {
    fn context(&self, iri: &str) -> Option<Arc<str>> {
        let path = iri.strip_prefix(BASE)?;
        std::fs::read_to_string(self.0.join(path)).ok().map(Into::into)
    }
}

/// One case of the manifest.
struct Case {
    id: String,
    url: String,
    text: String,
    /// What it must come to; `None` where any result will do.
    expected: Option<Vec<oxrdf::Quad>>,
    /// The error it must end with.
    error: Option<String>,
    options: JsonLdOptions,
    group: &'static str,
}

/// Runs the suite.
pub fn run(suites: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = suites.join("json-ld");
    let manifest = std::fs::read_to_string(folder.join("toRdf-manifest.jsonld"))?;
    let manifest: Value = serde_json::from_str(&manifest)?;
    let config = TransformConfig { contexts: Arc::new(Folder(folder.clone())), ..TransformConfig::default() };
    let mut outcomes = Vec::new();
    for entry in manifest["sequence"].as_array().context("no sequence")? {
        let case = case(&folder, entry)?;
        outcomes.push(Outcome {
            group: case.group.to_owned(),
            id: case.id.clone(),
            result: strictly(&case, &config),
        });
        // A page cannot choose these.
        let as_page = !case.options.processing_mode_1_0
            && case.options.rdf_direction.is_none()
            && case.options.expand_context.is_none();
        if as_page {
            outcomes.push(Outcome {
                group: "json-ld as a page".to_owned(),
                id: format!("{} as a page", case.id),
                result: as_a_page(&case, &config)?,
            });
        }
    }
    Ok(outcomes)
}

fn case(folder: &Path, entry: &Value) -> anyhow::Result<Case> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let input = text(&entry["input"]).context("a case without input")?;
    // One case borrows its input from a folder of another manifest, which has a copy here.
    let mut file = folder.join(&input);
    if let (false, Some(name)) = (file.exists(), Path::new(&input).file_name()) {
        file = folder.join("toRdf").join(name);
    }
    let option = &entry["option"];
    let expected = match text(&entry["expect"]) {
        Some(path) => {
            let quads = std::fs::read_to_string(folder.join(path))?;
            // Statements of generalised RDF cannot be said in RDF; what else the two cases say is compared.
            let is_generalised = option["produceGeneralizedRdf"] == true;
            let is_rdf =
                |line: &&str| !is_generalised || line.split(' ').nth(1).is_none_or(|p| p.starts_with('<'));
            let quads: Vec<&str> = quads.lines().filter(is_rdf).collect();
            Some(read(RdfFormat::NQuads, BASE, quads.join("\n").as_bytes())?)
        }
        None => None,
    };
    let is_1_0 = option["specVersion"] == "json-ld-1.0";
    Ok(Case {
        id: text(&entry["@id"]).unwrap_or_default(),
        url: format!("{BASE}{input}"),
        text: std::fs::read_to_string(&file).with_context(|| file.display().to_string())?,
        expected,
        error: text(&entry["expectErrorCode"]),
        options: JsonLdOptions {
            base: text(&option["base"]),
            expand_context: match text(&option["expandContext"]) {
                Some(path) => Some(std::fs::read_to_string(folder.join(path))?),
                None => None,
            },
            processing_mode_1_0: is_1_0 || option["processingMode"] == "json-ld-1.0",
            rdf_direction: match option["rdfDirection"].as_str() {
                Some("i18n-datatype") => Some(RdfDirection::I18nDatatype),
                Some("compound-literal") => Some(RdfDirection::CompoundLiteral),
                _ => None,
            },
        },
        group: if is_1_0 { "json-ld 1.0 toRdf" } else { "json-ld toRdf" },
    })
}

/// With the first mistake being the end.
fn strictly(case: &Case, config: &TransformConfig) -> Result<(), String> {
    match (to_rdf(&case.url, &case.text, &case.options, config), &case.error, &case.expected) {
        (Err(error), Some(expected), _) if error.code.as_str() == expected => Ok(()),
        (Err(error), Some(expected), _) => Err(format!("expected `{expected}`, got {error}")),
        (Err(error), None, _) => Err(format!("error: {error}")),
        (Ok(quads), Some(expected), _) => {
            Err(format!("expected `{expected}`, got\n{}", difference(&[], &quads)))
        }
        (Ok(quads), None, Some(expected)) if !isomorphic(expected, &quads) => {
            Err(difference(expected, &quads))
        }
        (Ok(_), None, _) => Ok(()),
    }
}

/// As `webloom extract` reads it.
fn as_a_page(case: &Case, config: &TransformConfig) -> anyhow::Result<Result<(), String>> {
    let url = case.options.base.as_deref().unwrap_or(&case.url);
    let graph = extract(url, Some("application/ld+json"), case.text.clone().into_bytes(), config)?;
    let diagnostics: Vec<String> = graph.diagnostics.iter().map(ToString::to_string).collect();
    Ok(match (&case.error, &case.expected) {
        (Some(error), _) if diagnostics.is_empty() => Err(format!("`{error}` was not told")),
        (Some(_), _) | (None, None) => Ok(()),
        (None, Some(expected)) if isomorphic(expected, &graph.quads) => Ok(()),
        (None, Some(expected)) => {
            Err(format!("{}\n{}", difference(expected, &graph.quads), diagnostics.join("\n")))
        }
    })
}
