//! Reads the tables of rules: conditions, what is done, and what comes then.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use rustls::ClientConfig;
use toml::{Table, Value};
use webloom_fetch::{FetchConfig, client_tls};
use webloom_model::{DocumentKind, PageUrl};
use webloom_transform::ResultSyntax;
use webloom_transform::rules::{
    MediaPattern, OutsideStep, RootPattern, Rule, Rules, Step, StylesheetStep, When,
};

use super::files::{Documents, StylesheetFile};
use super::{Checked, Services};
use crate::services::{Backend, CommandLine, HttpAddress, Service, ServiceSettings};
use crate::spec::values::{as_bytes, as_count, as_duration};

/// Steps that a rule may have, those of others included.
const STEPS_MAX: usize = 16;

/// Every field of a rule. The specification's documentation lists them too.
const FIELDS: [&str; 24] = [
    "name",
    "type",
    "media_type",
    "root",
    "namespace",
    "url",
    "always",
    "stylesheet",
    "params",
    "documents",
    "service",
    "command",
    "grddl",
    "output",
    "then",
    "in_flight",
    "waiting_max",
    "waiting_bytes_max",
    "when_full",
    "timeout",
    "attempts",
    "answer_bytes_max",
    "breaker_failures",
    "breaker_pause",
];

/// Fields that only services and commands have.
const SERVICE_FIELDS: [&str; 8] = [
    "in_flight",
    "waiting_max",
    "waiting_bytes_max",
    "when_full",
    "timeout",
    "attempts",
    "answer_bytes_max",
    "breaker_failures",
];

/// Reads rules; what is wrong with each is told by its name. `fetch` says which authorities services are trusted by.
pub fn read_rules(tables: &[Value], fetch: &FetchConfig) -> Result<Checked, Vec<String>> {
    let mut reader = RuleReader { services: Vec::new(), problems: Vec::new(), fetch, tls: None };
    let written: Vec<Written> =
        tables.iter().enumerate().map(|(number, table)| reader.read(number, table)).collect();
    let rules = reader.link(written);
    if reader.problems.is_empty() {
        Ok((Rules::new(rules), Services::new(reader.services)))
    } else {
        Err(reader.problems)
    }
}

/// A rule as written, before what comes then is put behind it.
struct Written {
    name: String,
    when: When,
    step: Option<Step>,
    syntax: Option<ResultSyntax>,
    then: Vec<String>,
    /// Something was wrong with it, and was told.
    is_wrong: bool,
}

struct RuleReader<'a> {
    services: Vec<Service>,
    problems: Vec<String>,
    fetch: &'a FetchConfig,
    /// Made for the first address that needs it.
    tls: Option<Arc<ClientConfig>>,
}

impl RuleReader<'_> {
    fn read(&mut self, number: usize, value: &Value) -> Written {
        let empty = Table::new();
        let table = value.as_table().unwrap_or(&empty);
        let name = match table.get("name").and_then(Value::as_str) {
            Some(name) if !name.trim().is_empty() => name.to_owned(),
            _ => format!("number {}", number + 1),
        };
        let mut fields = Fields { table, problems: Vec::new() };
        if !value.is_table() {
            fields.problem("write it as a table: [[transform.rules]]");
        }
        fields.refuse_unknown();
        let mut written = Written {
            is_wrong: false,
            when: fields.when(),
            step: self.step(&name, &mut fields),
            syntax: fields.parsed("output", str::parse).pop(),
            then: fields.texts("then"),
            name: name.clone(),
        };
        written.is_wrong = !fields.problems.is_empty();
        self.problems.extend(fields.problems.into_iter().map(|problem| format!("rule `{name}`: {problem}")));
        written
    }

    /// What the rule does: one thing.
    fn step(&mut self, name: &str, fields: &mut Fields<'_>) -> Option<Step> {
        let kinds: Vec<&str> = ["stylesheet", "service", "command", "grddl"]
            .into_iter()
            .filter(|kind| match fields.table.get(*kind) {
                Some(Value::Boolean(wanted)) => *wanted,
                other => other.is_some(),
            })
            .collect();
        let [kind] = kinds.as_slice() else {
            fields.problem(match kinds.as_slice() {
                [] => "say what to do: `stylesheet`, `service`, `command` or `grddl = true`",
                _ => "one rule does one thing; put the other in a rule of its own and name it in `then`",
            });
            return None;
        };
        if *kind != "stylesheet" {
            fields.refuse(&["params", "documents"], "belongs to a stylesheet");
        }
        if !matches!(*kind, "service" | "command") {
            fields.refuse(&SERVICE_FIELDS, "belongs to a service or a command");
            fields.refuse(&["breaker_pause"], "belongs to a service or a command");
        }
        match *kind {
            "stylesheet" => stylesheet(fields).map(Step::Stylesheet),
            "service" => {
                let addresses = fields.texts("service");
                if addresses.is_empty() {
                    fields.problem("`service` needs the address of one, or a list of them");
                }
                let addresses = addresses.iter().filter_map(|address| {
                    self.address(address).map_err(|reason| fields.problem(&reason)).ok()
                });
                let backend = Backend::Http(addresses.collect());
                Some(self.outside(format!("service {name}"), backend, fields))
            }
            "command" => {
                let words = fields.texts("command");
                let found = CommandLine::find(&words).map_err(|reason| fields.problem(&reason)).ok()?;
                Some(self.outside(format!("command {name}"), Backend::Command(found), fields))
            }
            _ => Some(Step::Grddl),
        }
    }

    fn outside(&mut self, label: String, backend: Backend, fields: &mut Fields<'_>) -> Step {
        let settings = fields.settings();
        let step = OutsideStep { name: label.clone(), service: self.services.len() };
        self.services.push(Service::new(label, backend, settings));
        Step::Outside(step)
    }

    fn address(&mut self, text: &str) -> Result<HttpAddress, String> {
        let url = PageUrl::parse(text).map_err(|_| {
            format!("`{text}` is no address of a service; write one such as http://127.0.0.1:9000/")
        })?;
        let tls = if url.is_https() {
            if self.tls.is_none() {
                let mut tls = client_tls(self.fetch).map_err(|error| error.to_string())?;
                tls.alpn_protocols = vec![b"http/1.1".to_vec()];
                self.tls = Some(Arc::new(tls));
            }
            self.tls.clone()
        } else {
            None
        };
        Ok(HttpAddress::new(url, tls))
    }

    /// Puts behind every rule what comes then.
    fn link(&mut self, written: Vec<Written>) -> Vec<Rule> {
        let mut names = HashSet::new();
        let mut used = HashSet::new();
        for rule in &written {
            if !names.insert(rule.name.as_str()) {
                self.problems.push(format!("rule `{}`: there are two rules of that name", rule.name));
            }
            used.extend(rule.then.iter().map(String::as_str));
        }
        let mut rules = Vec::new();
        for rule in &written {
            if rule.when.is_empty() && !rule.is_wrong && !used.contains(rule.name.as_str()) {
                self.problems.push(format!(
                    "rule `{}`: no page fits it; give it a `type`, `media_type`, `root`, `namespace` or `url`, write `always = true`, or name it in another rule's `then`",
                    rule.name
                ));
            }
            let mut steps = Vec::new();
            let mut syntax = None;
            if let Err(reason) = chain(rule, &written, &mut Vec::new(), &mut steps, &mut syntax) {
                self.problems.push(format!("rule `{}`: {reason}", rule.name));
                continue;
            }
            let before_last = steps.split_last().map_or(&[][..], |(_, before)| before);
            if before_last.iter().any(|step| matches!(step, Step::Grddl)) {
                self.problems.push(format!("rule `{}`: nothing can come after `grddl`", rule.name));
            }
            rules.push(Rule { name: rule.name.clone(), when: rule.when.clone(), steps, syntax });
        }
        rules
    }
}

/// Appends the steps of a rule and of those that come then.
fn chain<'w>(
    rule: &'w Written,
    all: &'w [Written],
    path: &mut Vec<&'w str>,
    steps: &mut Vec<Step>,
    syntax: &mut Option<ResultSyntax>,
) -> Result<(), String> {
    if path.contains(&rule.name.as_str()) {
        return Err(format!("`then` goes in a circle by `{}`", rule.name));
    }
    path.push(&rule.name);
    steps.extend(rule.step.clone());
    *syntax = rule.syntax;
    if steps.len() > STEPS_MAX {
        return Err(format!("there are more than {STEPS_MAX} steps"));
    }
    for name in &rule.then {
        let next = all.iter().find(|rule| rule.name == *name);
        let next = next.ok_or_else(|| format!("`then` names `{name}`, and there is no such rule"))?;
        chain(next, all, path, steps, syntax)?;
    }
    path.pop();
    Ok(())
}

fn stylesheet(fields: &mut Fields<'_>) -> Option<StylesheetStep> {
    let path = fields.texts("stylesheet").pop()?;
    let listed = fields.texts("documents");
    let documents =
        Documents::new(listed.iter().map(String::as_str)).map_err(|reason| fields.problem(&reason)).ok()?;
    let path = Path::new(&path);
    let source = StylesheetFile::open(path, documents).map_err(|reason| fields.problem(&reason)).ok()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(StylesheetStep { name, source: Arc::new(source), parameters: fields.parameters() })
}

/// The fields of one rule, and what is wrong with them.
struct Fields<'t> {
    table: &'t Table,
    problems: Vec<String>,
}

impl Fields<'_> {
    fn problem(&mut self, message: &str) {
        self.problems.push(message.to_owned());
    }

    fn refuse_unknown(&mut self) {
        for key in self.table.keys().filter(|key| !FIELDS.contains(&key.as_str())) {
            self.problems.push(format!("a rule has no field `{key}`; it has {}", FIELDS.join(", ")));
        }
    }

    fn refuse(&mut self, keys: &[&str], reason: &str) {
        for key in keys.iter().filter(|key| self.table.contains_key(**key)) {
            self.problems.push(format!("`{key}` {reason}"));
        }
    }

    /// A text, or a list of texts.
    fn texts(&mut self, key: &str) -> Vec<String> {
        let values = match self.table.get(key) {
            None => return Vec::new(),
            Some(Value::Array(values)) => values.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let mut texts = Vec::new();
        for value in values {
            match value.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.problems.push(format!("`{key}`: {value} is not a text in quotes")),
            }
        }
        texts
    }

    /// A text or a list of texts, each understood by `parse`.
    fn parsed<T, E: ToString>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, E>) -> Vec<T> {
        let texts = self.texts(key);
        let mut parsed = Vec::new();
        for text in &texts {
            match parse(text) {
                Ok(item) => parsed.push(item),
                Err(error) => self.problems.push(format!("`{key}`: {}", error.to_string())),
            }
        }
        parsed
    }

    fn when(&mut self) -> When {
        let mut roots = self.parsed("root", RootPattern::parse);
        let namespaces = self.texts("namespace");
        if roots.is_empty() {
            roots = namespaces.iter().map(|namespace| RootPattern::in_namespace(namespace)).collect();
        } else if !namespaces.is_empty() {
            // A name in any of the namespaces, unless it has one already.
            let each = |root: RootPattern| -> Vec<RootPattern> {
                match root.namespace {
                    Some(_) => vec![root],
                    None => namespaces
                        .iter()
                        .map(|space| RootPattern {
                            namespace: Some(space.clone()),
                            local: root.local.clone(),
                        })
                        .collect(),
                }
            };
            roots = roots.into_iter().flat_map(each).collect();
        }
        let kind = |text: &str| {
            DocumentKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
                let known = DocumentKind::ALL.map(DocumentKind::as_str).join(", ");
                format!("`{text}` is no detected type; known are {known}")
            })
        };
        When {
            kinds: self.parsed("type", kind),
            media_types: self.parsed("media_type", MediaPattern::parse),
            roots,
            urls: self.parsed("url", |text| {
                Regex::new(text).map_err(|error| {
                    let reason = error.to_string();
                    let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    format!("`{text}` is no regular expression: {last}")
                })
            }),
            always: self.value("always", "true or false", Value::as_bool).unwrap_or(false),
        }
    }

    fn parameters(&mut self) -> Vec<(String, String)> {
        let empty = Table::new();
        let table = match self.table.get("params") {
            None => &empty,
            Some(Value::Table(table)) => table,
            Some(_) => {
                self.problem("`params`: write { name = \"value\" }");
                &empty
            }
        };
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        table.iter().map(|(name, value)| (name.clone(), text(value))).collect()
    }

    fn settings(&mut self) -> ServiceSettings {
        const DURATION: &str = "a duration such as \"500ms\", \"1s\" or \"2m\"";
        const SIZE: &str = "a size such as \"64 KiB\" or \"16 MiB\"";
        let default = ServiceSettings::default();
        let count = |fields: &mut Self, key: &str, default: usize| {
            let positive = |value: &Value| as_count(value).filter(|count| *count > 0);
            fields.value(key, "a whole number, 1 or more", positive).unwrap_or(default)
        };
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let positive = |value: &Value| as_duration(value).filter(|duration| !duration.is_zero());
        let timeout = self.value("timeout", DURATION, positive).unwrap_or(default.timeout);
        ServiceSettings {
            in_flight: count(self, "in_flight", default.in_flight),
            waiting_max: count(self, "waiting_max", default.waiting_max),
            waiting_bytes_max: self
                .value("waiting_bytes_max", SIZE, as_bytes)
                .unwrap_or(default.waiting_bytes_max),
            wait_when_full: self
                .value("when_full", "\"leave-out\" or \"wait\"", |value| match value.as_str()? {
                    "wait" => Some(true),
                    "leave-out" => Some(false),
                    _ => None,
                })
                .unwrap_or(default.wait_when_full),
            // Longer than a lease lasts, and the page would be somebody else's.
            timeout: timeout.min(Duration::from_secs(4 * 60)),
            attempts: small(count(self, "attempts", default.attempts as usize)),
            answer_bytes_max: self
                .value("answer_bytes_max", SIZE, as_bytes)
                .unwrap_or(default.answer_bytes_max),
            breaker_failures: small(count(self, "breaker_failures", default.breaker_failures as usize)),
            breaker_pause: self
                .value("breaker_pause", DURATION, as_duration)
                .unwrap_or(default.breaker_pause),
            ..default
        }
    }

    fn value<T>(&mut self, key: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let value = self.table.get(key)?;
        let read = read(value);
        if read.is_none() {
            self.problems.push(format!("`{key}`: {value} is not valid; write {expected}"));
        }
        read
    }
}

#[cfg(test)]
mod tests;
