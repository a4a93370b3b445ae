//! The steps of a rule, run over one page.

use std::time::Instant;

use bytes::Bytes;
use html5ever::ns;
use webloom_model::{DetectedPage, Detection, Diagnostic, DocumentKind, StepRecord};
use webloom_xslt::{Document, Method, Output, Value};

use super::{Answers, Rule, Rules, Stage, Step, StylesheetStep};
use crate::dom::Dom;
use crate::result::{self, Given};
use crate::{ResultSyntax, Sink, TransformConfig, decode, grddl, stylesheet, xml};

/// What is to be sent outside next, on behalf of one rule.
#[derive(Debug, Clone)]
pub struct Question {
    /// The number of the step that is asked.
    pub step: usize,
    /// The number of the service, as in [`OutsideStep`](super::OutsideStep).
    pub service: usize,
    /// What to send.
    pub bytes: Bytes,
    /// Its media type.
    pub media_type: String,
    /// What the stylesheets before it did.
    pub records: Vec<StepRecord>,
}

impl Rules {
    /// Runs the stylesheets of a rule from a stage (the page itself when there is none) to the next step outside. Nothing when
    /// no such step is left.
    ///
    /// # Errors
    ///
    /// When a stylesheet failed; with what the ones before it did.
    pub fn question(
        &self,
        rule: usize,
        page: &DetectedPage,
        stage: Option<&Stage>,
        config: &TransformConfig,
    ) -> Result<Option<Question>, (Diagnostic, Vec<StepRecord>)> {
        let Some(rule) = self.get(rule) else { return Ok(None) };
        let from = stage.map_or(0, |stage| stage.next);
        let outside = rule.steps.iter().enumerate().skip(from).find_map(|(number, step)| match step {
            Step::Outside(outside) => Some((number, outside.service)),
            _ => None,
        });
        let Some((number, service)) = outside else { return Ok(None) };
        let mut sink = Sink::new(&page.page.url, config);
        let ran = run_to(rule, number, page, stage.cloned(), &mut sink);
        let records = std::mem::take(&mut sink.graph.steps);
        match ran {
            Ok(Some(stage)) => {
                let media_type = stage.media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                Ok(Some(Question { step: number, service, bytes: stage.bytes, media_type, records }))
            }
            Ok(None) => {
                let media_type = match page.page.header("content-type") {
                    // The detected type is of what was packed; the header of the wrapping.
                    Some(served) if page.unpacked.is_none() && !served.trim().is_empty() => served.to_owned(),
                    _ => page.detection.media_type.clone(),
                };
                let bytes = page.content().clone();
                Ok(Some(Question { step: number, service, bytes, media_type, records }))
            }
            Err(diagnostic) => Err((diagnostic, records)),
        }
    }
}

/// Runs the rules that apply to a page and reads what they give. True when there were any.
pub(crate) fn read(page: &DetectedPage, answers: &Answers, sink: &mut Sink<'_>) -> bool {
    let rules = sink.config().rules.clone();
    let mut any = false;
    for (number, rule) in rules.matching(page) {
        any = true;
        let mut stage = None;
        if rule.asks_outside() {
            match answers.0.iter().find(|answer| answer.rule == number) {
                None => {
                    let message = format!("rule `{}`: nobody is there to ask its service", rule.name);
                    sink.diagnose(Diagnostic::note("service-not-asked", message));
                    continue;
                }
                Some(answer) => {
                    answer.records.iter().cloned().for_each(|record| sink.record(record));
                    match &answer.outcome {
                        Ok(answered) => stage = Some(answered.clone()),
                        Err(diagnostic) => {
                            sink.diagnose(diagnostic.clone());
                            continue;
                        }
                    }
                }
            }
        }
        finish(rule, page, stage, sink);
    }
    any
}

/// Runs the steps that are left, and reads what the last one gives.
fn finish(rule: &Rule, page: &DetectedPage, stage: Option<Stage>, sink: &mut Sink<'_>) {
    let ends_in_grddl = matches!(rule.steps.last(), Some(Step::Grddl));
    let end = rule.steps.len() - usize::from(ends_in_grddl);
    let stage = match run_to(rule, end, page, stage, sink) {
        Ok(stage) => stage,
        Err(diagnostic) => return sink.diagnose(diagnostic),
    };
    if ends_in_grddl {
        let start = Instant::now();
        let before = sink.graph.quads.len();
        match &stage {
            Some(stage) => grddl::read(&page_of(page, stage, sink), sink),
            None => grddl::read(page, sink),
        }
        let quads = sink.graph.quads.len() - before;
        let step = Step::Grddl.name();
        let failed = quads == 0;
        sink.record(StepRecord { rule: rule.name.clone(), step, elapsed: start.elapsed(), bytes: 0, failed });
    } else if let Some(stage) = stage {
        let given = Given {
            bytes: &stage.bytes,
            media_type: stage.media_type.as_deref(),
            syntax: rule.syntax,
            giver: &stage.giver,
        };
        result::read(given, &page.page.url, sink);
    }
}

/// Runs the stylesheets up to a step, which must all be stylesheets. Nothing when there are none and no stage to begin with.
fn run_to(
    rule: &Rule,
    end: usize,
    page: &DetectedPage,
    mut stage: Option<Stage>,
    sink: &mut Sink<'_>,
) -> Result<Option<Stage>, Diagnostic> {
    let from = stage.as_ref().map_or(0, |stage| stage.next);
    for (number, step) in rule.steps.iter().enumerate().take(end).skip(from) {
        let Step::Stylesheet(step) = step else {
            let message = format!("rule `{}`: {} was not asked", rule.name, step.name());
            return Err(Diagnostic::warning("service-not-asked", message));
        };
        let start = Instant::now();
        let ran = run_stylesheet(rule, step, page, stage.as_ref(), sink);
        let bytes = ran.as_ref().map_or(0, |output| output.bytes.len() as u64);
        sink.record(StepRecord {
            rule: rule.name.clone(),
            step: format!("stylesheet {}", step.name),
            elapsed: start.elapsed(),
            bytes,
            failed: ran.is_err(),
        });
        let output = ran?;
        stage = Some(Stage {
            next: number + 1,
            media_type: Some(media_type_of(&output)),
            bytes: Bytes::from(output.bytes),
            giver: format!("rule `{}`: the stylesheet {}", rule.name, step.name),
        });
    }
    Ok(stage)
}

fn run_stylesheet(
    rule: &Rule,
    step: &StylesheetStep,
    page: &DetectedPage,
    stage: Option<&Stage>,
    sink: &mut Sink<'_>,
) -> Result<Output, Diagnostic> {
    let failed = |reason: String| {
        let message = format!("rule `{}`: the stylesheet {} failed: {reason}", rule.name, step.name);
        Diagnostic::warning("xslt", message)
    };
    let document = match stage {
        Some(stage) => Document::parse(&stage.bytes, page.page.url.as_str(), &stylesheet::limits(sink))
            .map_err(|error| {
                let message = format!("{} gave what is no XML: {error}", stage.giver);
                Diagnostic::warning("xslt-input", message)
            })?,
        None if !stylesheet::is_markup(page.detection.kind) => {
            let message = format!(
                "rule `{}`: a stylesheet reads markup, and the page is {}",
                rule.name, page.detection.kind
            );
            return Err(Diagnostic::warning("xslt-input", message));
        }
        None => {
            let dom = sink.tree_of(page).map(|tree| &tree.dom);
            stylesheet::document_of(page, &decode::text_of(page), dom, sink)
                .map_err(|error| failed(error.to_string()))?
        }
    };
    let current = step.source.current();
    let parameters = parameters(step, page);
    let loader = stylesheet::Noted::new(&*current.documents);
    let ran = current.stylesheet.transform(&document, &parameters, &loader, &stylesheet::limits(sink));
    loader.tell(&format!("rule `{}`: the stylesheet {}", rule.name, step.name), sink);
    let output = ran.map_err(|error| failed(error.to_string()))?;
    // What it could not read was told already, and better.
    for message in
        output.messages.iter().filter(|message| !message.text.starts_with("document() cannot load"))
    {
        let text = format!("rule `{}`: the stylesheet says: {}", rule.name, message.text);
        sink.diagnose(Diagnostic::note("xslt-message", text));
    }
    Ok(output)
}

/// What every stylesheet is told, and what the rule adds or says otherwise.
fn parameters(step: &StylesheetStep, page: &DetectedPage) -> Vec<(String, Value)> {
    let given = |name: &str| step.parameters.iter().any(|(known, _)| known == name);
    let fetched_at = page.page.fetched_at;
    let mut parameters = vec![
        ("page-url".to_owned(), Value::from(page.page.url.as_str())),
        ("media-type".to_owned(), Value::from(page.detection.media_type.as_str())),
    ];
    // A file was not fetched.
    if fetched_at != jiff::Timestamp::UNIX_EPOCH {
        parameters.push(("fetch-time".to_owned(), Value::from(fetched_at.to_string().as_str())));
    }
    parameters.retain(|(name, _)| !given(name));
    let own = step.parameters.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    parameters.extend(own);
    parameters
}

/// The media type of a stylesheet's result, with its charset.
pub(crate) fn media_type_of(output: &Output) -> String {
    let stated = output.media_type.as_deref().unwrap_or_default();
    let stated = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let media_type = match (ResultSyntax::from_media_type(&stated), output.method) {
        (Some(_), _) => stated.as_str(),
        // Stylesheets say little of what they write, and some of that is wrong: what it is, its first characters tell.
        (None, Method::Text) => "text/plain",
        (None, _) => "application/xml",
    };
    format!("{media_type};charset={}", output.encoding)
}

/// What a step gave, as if it were the page.
fn page_of(page: &DetectedPage, stage: &Stage, sink: &Sink<'_>) -> DetectedPage {
    let text = String::from_utf8_lossy(&stage.bytes);
    let dom = xml::parse(&text, sink.limits(), sink.deadline()).dom;
    let is_html = dom.elements(Dom::ROOT).next().is_some_and(|(_, root)| root.name.ns == ns!(html));
    let mut given = page.clone();
    given.unpacked = Some(stage.bytes.clone());
    given.detection = Detection {
        kind: if is_html { DocumentKind::Xhtml } else { DocumentKind::Xml },
        media_type: "application/xml".to_owned(),
        charset: Some("UTF-8"),
        xml_root: None,
        syntaxes: Vec::new(),
    };
    given
}
