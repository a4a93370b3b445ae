//! `webloom top`: a live picture of a running server in the terminal.
//!
//! In: the address of a server. Out: its crawl's phases, rates, queues and last pages, and the machine, drawn once a second from
//! the same numbers the web interface shows. With --once the picture is printed as text and the command ends.

use std::io::{IsTerminal, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table};
use ratatui::{Frame, Terminal, backend::TestBackend};
use serde_json::Value;

use crate::output::{bytes, one_line, with_commas, wrong_usage};

/// Longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 8 << 20;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Watch a running server in the terminal.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys: q ends, p pauses or resumes (with a token), the arrows choose among several crawls.

Examples:
  webloom top
  webloom top http://127.0.0.1:7890/ --crawl museums
  webloom top --once")]
pub struct Top {
    /// The server's address.
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:7890/")]
    url: String,
    /// The crawl to watch, where there are several.
    #[arg(long, value_name = "ID")]
    crawl: Option<String>,
    /// The server's token, where reading needs it, and to pause; WEBLOOM_TOKEN does as well.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Print one picture and end.
    #[arg(long)]
    once: bool,
}

impl Top {
    pub fn run(self) -> anyhow::Result<()> {
        let token = self.token.clone().or_else(|| std::env::var("WEBLOOM_TOKEN").ok());
        let client = Client::new(&self.url, token)?;
        let mut view = View::look(&client, self.crawl.as_deref())?;
        if self.once || !std::io::stdout().is_terminal() {
            let text = view.as_text(100, 40)?;
            std::io::stdout().write_all(text.as_bytes())?;
            return Ok(());
        }
        let mut terminal = ratatui::try_init().context("cannot take the terminal")?;
        let watched = watch(&mut terminal, &client, &mut view);
        ratatui::restore();
        watched
    }
}

/// Draws until a key ends it.
fn watch(terminal: &mut ratatui::DefaultTerminal, client: &Client, view: &mut View) -> anyhow::Result<()> {
    let mut looked = Instant::now();
    loop {
        terminal.draw(|frame| view.draw(frame))?;
        let rest = Duration::from_secs(1).saturating_sub(looked.elapsed());
        if event::poll(rest)?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            match key.code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                KeyCode::Char('p') => view.pause_or_resume(client),
                KeyCode::Right | KeyCode::Down => view.next(1),
                KeyCode::Left | KeyCode::Up => view.next(-1),
                _ => {}
            }
        }
        if looked.elapsed() >= Duration::from_secs(1) {
            looked = Instant::now();
            view.refresh(client);
        }
    }
}

/// Asks the server: as much HTTP as that takes.
struct Client {
    authority: String,
    token: Option<String>,
}

impl Client {
    fn new(url: &str, token: Option<String>) -> anyhow::Result<Self> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            wrong_usage(format!("`{url}` is no address of a server; write http://ADDRESS:PORT/"))
        })?;
        let authority = rest.split(['/', '#', '?']).next().unwrap_or_default();
        if authority.is_empty() || authority.contains(char::is_whitespace) {
            return Err(wrong_usage(format!("`{url}` names no server")));
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        let token = token.filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()));
        Ok(Self { authority, token })
    }

    fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask("GET", path)
    }

    fn ask(&self, method: &str, path: &str) -> anyhow::Result<Value> {
        let address = self
            .authority
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next())
            .with_context(|| format!("`{}` has no address", self.authority))?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).with_context(|| {
            format!("no server answers at http://{}/; start one with `webloom serve`", self.authority)
        })?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let authorization =
            self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\n{authorization}Content-Length: 0\r\n\r\n",
            self.authority
        )?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
        let text = String::from_utf8_lossy(&answer);
        let (head, body) = text.split_once("\r\n\r\n").context("the server's answer is no HTTP")?;
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse::<u16>().ok());
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        if !status.is_some_and(|status| (200..300).contains(&status)) {
            let reason = json["error"]["message"].as_str().unwrap_or("no reason given");
            bail!("the server says: {}", one_line(reason));
        }
        Ok(json)
    }
}

/// What is shown.
struct View {
    status: Value,
    crawl: Value,
    recent: Value,
    series: Value,
    chosen: Option<String>,
    problem: Option<String>,
}

impl View {
    fn look(client: &Client, chosen: Option<&str>) -> anyhow::Result<Self> {
        let status = client.get("/api/status")?;
        let ids: Vec<&str> = status["crawls"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|crawl| crawl["id"].as_str())
            .collect();
        let id = match chosen {
            Some(chosen) if !ids.contains(&chosen) => {
                return Err(wrong_usage(format!(
                    "there is no crawl `{chosen}`; there are {}",
                    ids.join(", ")
                )));
            }
            Some(chosen) => Some(chosen),
            None => ids.iter().find(|id| **id == "main").or(ids.first()).copied(),
        };
        let mut view = Self {
            chosen: id.map(str::to_owned),
            crawl: Value::Null,
            recent: Value::Null,
            series: Value::Null,
            problem: None,
            status,
        };
        view.refresh_crawl(client)?;
        Ok(view)
    }

    fn refresh(&mut self, client: &Client) {
        let looked = client.get("/api/status").and_then(|status| {
            self.status = status;
            self.refresh_crawl(client)
        });
        self.problem = looked.err().map(|error| format!("{error:#}"));
    }

    fn refresh_crawl(&mut self, client: &Client) -> anyhow::Result<()> {
        if let Some(id) = &self.chosen {
            // Names of crawls are made of letters, digits and dashes.
            self.crawl = client.get(&format!("/api/crawls/{id}"))?;
            self.recent = client.get(&format!("/api/crawls/{id}/recent?limit=30"))?;
            self.series = client.get(&format!("/api/crawls/{id}/series?span=hour"))?;
        }
        Ok(())
    }

    fn next(&mut self, step: isize) {
        let ids: Vec<&str> = self.status["crawls"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|crawl| crawl["id"].as_str())
            .collect();
        let Some(at) = ids.iter().position(|id| Some(*id) == self.chosen.as_deref()) else { return };
        let at = (at as isize + step).rem_euclid(ids.len() as isize) as usize;
        self.chosen = Some(ids[at].to_owned());
    }

    fn pause_or_resume(&mut self, client: &Client) {
        let Some(id) = &self.chosen else { return };
        let order = if self.crawl["state"] == "paused" { "resume" } else { "pause" };
        self.problem =
            client.ask("POST", &format!("/api/crawls/{id}/{order}")).err().map(|error| format!("{error:#}"));
    }

    /// The picture as plain text.
    fn as_text(&self, width: u16, height: u16) -> anyhow::Result<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height))?;
        terminal.draw(|frame| self.draw(frame))?;
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..height {
            let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
            text.push_str(line.trim_end());
            text.push('\n');
        }
        Ok(text)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let [head, phases, chart, pages, foot] = Layout::vertical([
            Constraint::Length(4),
            Constraint::Length(8),
            Constraint::Length(6),
            Constraint::Min(3),
            Constraint::Length(2),
        ])
        .areas(frame.area());
        frame.render_widget(self.head(), head);
        self.draw_phases(frame, phases);
        self.draw_chart(frame, chart);
        self.draw_pages(frame, pages);
        frame.render_widget(self.foot(), foot);
    }

    fn head(&self) -> Paragraph<'_> {
        let (crawl, store) = (&self.crawl, &self.status["store"]);
        let state = crawl["state"].as_str().unwrap_or("no crawl");
        let message =
            crawl["message"].as_str().map(|text| format!("  {}", one_line(text))).unwrap_or_default();
        let rate = |name: &str| crawl["rates"][name].as_f64().unwrap_or(0.0);
        Paragraph::new(vec![
            Line::from(vec![
                Span::styled("webloom ", Style::new().add_modifier(Modifier::BOLD)),
                Span::raw(self.chosen.clone().unwrap_or_default()),
                Span::raw(": "),
                Span::styled(state.to_owned(), Style::new().add_modifier(Modifier::BOLD)),
                Span::raw(message),
            ]),
            Line::from(format!(
                "{} pages  {} quads  {} terms  {} on disk",
                count(&store["pages"]),
                count(&store["quads"]),
                count(&store["terms"]),
                bytes(store["bytes"].as_u64().unwrap_or(0)),
            )),
            Line::from(format!(
                "{:.1} pages/s  {}/s  {:.0} quads/s  {:.1} errors/s   queue {} on {} hosts, {} under way",
                rate("pages"),
                bytes(rate("bytes") as u64),
                rate("quads"),
                rate("errors"),
                count(&crawl["queues"]["queued"]),
                count(&crawl["queues"]["hosts"]),
                count(&crawl["queues"]["leased"]),
            )),
        ])
    }

    fn draw_phases(&self, frame: &mut Frame<'_>, area: Rect) {
        let bottleneck = self.crawl["bottleneck"].as_str();
        let rows = self.crawl["phases"].as_array().into_iter().flatten().map(|phase| {
            let name = phase["name"].as_str().unwrap_or_default();
            let share = phase["busy_share"].as_f64().unwrap_or(0.0);
            let filled = (share * 20.0).round().clamp(0.0, 20.0) as usize;
            let row = Row::new(vec![
                name.to_owned(),
                count(&phase["pages"]),
                format!("{:.1}", phase["rate"].as_f64().unwrap_or(0.0)),
                format!("{}/{}", count(&phase["queue"]), count(&phase["queue_max"])),
                format!("{:.0}", phase["microseconds_per_page"].as_f64().unwrap_or(0.0)),
                format!("{}{} {:>3.0} %", "█".repeat(filled), "·".repeat(20 - filled), share * 100.0),
            ]);
            if bottleneck == Some(name) { row.bold().yellow() } else { row }
        });
        let widths = [
            Constraint::Length(10),
            Constraint::Length(12),
            Constraint::Length(9),
            Constraint::Length(11),
            Constraint::Length(10),
            Constraint::Min(27),
        ];
        let table = Table::new(rows, widths)
            .header(Row::new(["phase", "pages", "pages/s", "queue", "µs/page", "busy"]).dim())
            .block(Block::bordered().title("phases"));
        frame.render_widget(table, area);
    }

    fn draw_chart(&self, frame: &mut Frame<'_>, area: Rect) {
        let values: Vec<u64> = self.series["points"]["pages"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|value| (value.as_f64().unwrap_or(0.0) * 10.0).round() as u64)
            .collect();
        let width = usize::from(area.width.saturating_sub(2));
        let shown = &values[values.len().saturating_sub(width)..];
        let most = shown.iter().max().copied().unwrap_or(0) as f64 / 10.0;
        let title = format!("pages/s, a bar for ten seconds, at most {most:.1}");
        let chart = Sparkline::default().data(shown.iter().copied()).block(Block::bordered().title(title));
        frame.render_widget(chart, area);
    }

    fn draw_pages(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows = self.recent["pages"].as_array().into_iter().flatten().map(|page| {
            let status = page["status"].as_u64().map(|status| status.to_string());
            let outcome = status.unwrap_or_else(|| page["outcome"].as_str().unwrap_or_default().to_owned());
            Row::new(vec![
                page["at"].as_str().and_then(|at| at.get(11..19)).unwrap_or_default().to_owned(),
                one_line(&outcome),
                count(&page["quads"]),
                bytes(page["bytes"].as_u64().unwrap_or(0)),
                one_line(page["url"].as_str().unwrap_or_default()),
            ])
        });
        let widths = [
            Constraint::Length(8),
            Constraint::Length(10),
            Constraint::Length(7),
            Constraint::Length(9),
            Constraint::Min(20),
        ];
        let table = Table::new(rows, widths)
            .header(Row::new(["at", "answer", "quads", "size", "page"]).dim())
            .block(Block::bordered().title("last pages"));
        frame.render_widget(table, area);
    }

    fn foot(&self) -> Paragraph<'_> {
        let machine = &self.status["machine"];
        let number = |name: &str| machine[name].as_u64().unwrap_or(0);
        let line = format!(
            "cpu {:.0} %  memory {} of {}  disk free {}  files {}/{}  threads {}",
            machine["cpu_percent"].as_f64().unwrap_or(0.0),
            bytes(number("memory_bytes")),
            bytes(number("memory_total_bytes")),
            bytes(number("disk_free_bytes")),
            number("open_files"),
            with_commas(number("open_files_max")),
            number("threads"),
        );
        let last = match &self.problem {
            Some(problem) => Line::from(one_line(problem)).red(),
            None => Line::from("q ends  p pauses or resumes  ← → other crawls").dim(),
        };
        Paragraph::new(vec![Line::from(line), last])
    }
}

fn count(value: &Value) -> String {
    value.as_u64().map(with_commas).unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (url, authority) in [
            ("http://127.0.0.1:7890/", "127.0.0.1:7890"),
            ("http://localhost", "localhost:80"),
            ("http://[::1]:80/#token=x", "[::1]:80"),
        ] {
            assert_eq!(Client::new(url, None).unwrap().authority, authority);
        }
        for bad in ["127.0.0.1:7890", "https://a.example/", "http://", "http://a b/"] {
            assert!(Client::new(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn whatever_the_server_says_can_be_drawn() {
        let view = View {
            status: serde_json::json!({"store": {"pages": 12_345}}),
            crawl: serde_json::json!({
                "state": "running",
                "bottleneck": "transform",
                "phases": [{"name": "transform", "busy_share": 7.5, "pages": -1, "queue": "x"}],
            }),
            recent: serde_json::json!({"pages": [{"url": "http://a.example/\u{1b}[31m", "at": "é"}]}),
            series: serde_json::json!({"points": {"pages": [1.5, null, "x"]}}),
            chosen: Some("main".to_owned()),
            problem: None,
        };
        let text = view.as_text(100, 30).unwrap();
        assert!(text.contains("12,345 pages") && text.contains("transform") && !text.contains('\u{1b}'));
        view.as_text(3, 2).unwrap();
    }
}
