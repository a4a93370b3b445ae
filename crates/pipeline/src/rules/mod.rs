//! Rules that turn pages of some kind into RDF: what a specification says of them, and the services they ask.
//!
//! In: the tables under `[[transform.rules]]`. Out: [`Rules`] for the transform, and the [`Services`] that it does not ask itself.
//! Everything is checked when a specification is: stylesheets are compiled, programs looked for, chains followed. What a page needs
//! from outside is asked by [`ask`], before the page is transformed. The tables are read in `read.rs`.

pub mod files;
mod read;
mod shipped;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Notify;
use toml::Value;
use webloom_model::{DetectedPage, Diagnostic, StepRecord};
use webloom_transform::rules::{Answer, Answers, Question, Rules, Stage};
use webloom_transform::{Syntax, TransformConfig};

pub use self::read::read_rules;
use crate::counters::{Counters, Gauge};
use crate::cpu::{CpuPool, Panicked};
use crate::services::{Place, Service, ServiceError, ServiceNumbers, ServiceRequest};

/// The services and commands of a specification, by the numbers that its rules know them by.
#[derive(Debug, Clone, Default)]
pub struct Services(Arc<Vec<Service>>);

impl Services {
    /// Services in their order.
    pub fn new(services: Vec<Service>) -> Self {
        Self(Arc::new(services))
    }

    /// The numbers of all of them, live.
    pub fn numbers(&self) -> Vec<Arc<ServiceNumbers>> {
        self.0.iter().map(Service::numbers).collect()
    }
}

/// Where stylesheets run that come before a service.
#[derive(Clone, Copy)]
pub(crate) enum Workers<'a> {
    /// On the CPU pool of a crawl, which hears when a page makes room for others.
    Pool { pool: &'a CpuPool, room: &'a Notify },
    /// Here, where nobody else is kept waiting.
    Here,
}

/// True when something outside is to be asked about a page before it is transformed.
pub(crate) fn asks_outside(page: &DetectedPage, config: &TransformConfig) -> bool {
    config.wants(Syntax::Xslt) && !config.rules.asking(page).is_empty()
}

/// Asks the services and commands that the rules of a page name. What goes wrong is part of the answers.
pub(crate) async fn ask(
    page: Arc<DetectedPage>,
    config: &TransformConfig,
    services: &Services,
    counters: &Counters,
    workers: Workers<'_>,
) -> Answers {
    let mut answers = Answers::default();
    for rule in config.rules.asking(&page) {
        let mut asker = Asker { rule, page: &page, config, services, counters, workers, records: Vec::new() };
        let outcome = asker.ask().await;
        answers.0.push(Answer { rule, outcome, records: asker.records });
    }
    answers
}

/// The same without a crawl around it: for one page, by somebody who waits for it.
pub async fn ask_alone(page: &DetectedPage, config: &TransformConfig, services: &Services) -> Answers {
    if !asks_outside(page, config) {
        return Answers::default();
    }
    ask(Arc::new(page.clone()), config, services, &Counters::default(), Workers::Here).await
}

/// Asks on behalf of one rule.
struct Asker<'a> {
    rule: usize,
    page: &'a Arc<DetectedPage>,
    config: &'a TransformConfig,
    services: &'a Services,
    counters: &'a Counters,
    workers: Workers<'a>,
    records: Vec<StepRecord>,
}

impl Asker<'_> {
    /// Goes from one step outside to the next; the last answer is what is left to be read.
    async fn ask(&mut self) -> Result<Stage, Diagnostic> {
        let mut stage: Option<Stage> = None;
        while let Some(question) = self.question(stage.clone()).await? {
            stage = Some(self.answer(question).await?);
        }
        stage.ok_or_else(|| Diagnostic::note("service-not-asked", "the rule has no service to ask"))
    }

    async fn question(&mut self, stage: Option<Stage>) -> Result<Option<Question>, Diagnostic> {
        let (rules, config, page, rule) =
            (self.config.rules.clone(), self.config.clone(), self.page.clone(), self.rule);
        let prepare = move || rules.question(rule, &page, stage.as_ref(), &config);
        let prepared = match self.workers {
            Workers::Here => Ok(prepare()),
            Workers::Pool { pool, .. } => pool.run(prepare).await,
        };
        match prepared {
            Ok(Ok(Some(mut question))) => {
                self.records.append(&mut question.records);
                Ok(Some(question))
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err((diagnostic, mut records))) => {
                self.records.append(&mut records);
                Err(diagnostic)
            }
            Err(Panicked(reason)) => {
                let message = format!("a stylesheet broke on the page: {reason}");
                Err(Diagnostic::error("xslt", message))
            }
        }
    }

    async fn answer(&mut self, question: Question) -> Result<Stage, Diagnostic> {
        let rule = self.config.rules.get(self.rule).map(|rule| rule.name.clone()).unwrap_or_default();
        let Some(service) = self.services.0.get(question.service) else {
            let message = format!("rule `{rule}`: its service is not there");
            return Err(Diagnostic::warning("service-not-asked", message));
        };
        let page = &self.page.page;
        let request = ServiceRequest {
            url: page.url.clone(),
            fetched_at: Some(page.fetched_at).filter(|moment| *moment != jiff::Timestamp::UNIX_EPOCH),
            media_type: question.media_type,
            body: question.bytes,
        };
        let asker = format!("rule `{rule}`: the {}", service.label());
        let answered = self.ask_in_place(service, &request).await;
        self.records.push(StepRecord {
            rule,
            step: service.label().to_owned(),
            elapsed: answered.as_ref().map(|reply| reply.elapsed).unwrap_or_default(),
            bytes: answered.as_ref().map_or(0, |reply| reply.body.len() as u64),
            failed: answered.is_err(),
        });
        let reply = answered.map_err(|error| error.diagnostic(&asker))?;
        Ok(Stage { next: question.step + 1, bytes: reply.body, media_type: reply.media_type, giver: asker })
    }

    /// Waits for a place with the service, then for its answer. Pages with a place do not count among those that the crawl
    /// is busy with: that is how the others overtake them.
    async fn ask_in_place(
        &self,
        service: &Service,
        request: &ServiceRequest,
    ) -> Result<crate::services::Reply, ServiceError> {
        let place: Place<'_> = service.enter(request.body.len()).await?;
        let _outside = Gauge::new(&self.counters.outside);
        if let Workers::Pool { room, .. } = self.workers {
            room.notify_one();
        }
        service.ask(&place, request).await
    }
}

/// Makes the paths in the rules of a specification absolute: they are relative to the folder of its file.
pub(crate) fn resolve_paths(rules: &mut Value, folder: &Path) {
    let absolute = |text: &str| folder.join(text).to_string_lossy().into_owned();
    let Value::Array(rules) = rules else { return };
    for rule in rules.iter_mut().filter_map(Value::as_table_mut) {
        if let Some(Value::String(stylesheet)) = rule.get_mut("stylesheet")
            && shipped::name_of(Path::new(stylesheet)).is_none()
        {
            *stylesheet = absolute(stylesheet);
        }
        if let Some(documents) = rule.get_mut("documents") {
            let entries: Vec<&mut Value> = match documents {
                Value::Array(entries) => entries.iter_mut().collect(),
                one => vec![one],
            };
            for entry in entries {
                if let Value::String(entry) = entry {
                    *entry = match files::split_mapped(entry) {
                        Some((address, path)) => format!("{address}={}", absolute(path)),
                        None => absolute(entry),
                    };
                }
            }
        }
        if let Some(Value::Array(command)) = rule.get_mut("command") {
            for (number, word) in command.iter_mut().enumerate() {
                // A program by name is looked for where programs are; an argument that begins so is meant as a path.
                let is_path = |word: &str| {
                    word.starts_with("./") || word.starts_with("../") || number == 0 && word.contains('/')
                };
                if let Value::String(word) = word
                    && is_path(word)
                {
                    *word = absolute(word);
                }
            }
        }
    }
}

/// Rules, and the services that they ask.
pub type Checked = (Rules, Services);
