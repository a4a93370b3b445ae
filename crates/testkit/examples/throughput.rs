//! How many answers per second the server gives: `cargo run --release --example throughput`.
//!
//! One server thread, two client threads, each with connections that are kept. On a machine with few cores the
//! clients compete with the server, so the figure is a lower bound.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use webloom_testkit::{GeneratedWeb, LogDetail, Mix, ServerOptions, WebServer, WebShape};

const REQUESTS_PER_CLIENT: u64 = 100_000;
const CLIENTS: u64 = 2;
/// Requests on their way at once on a connection.
const PIPELINED: u64 = 16;

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for page_bytes in [200, 4000] {
        let shape = WebShape { page_bytes, hosts: 1, pages: 1000, mix: Mix::plain(), ..WebShape::default() };
        let web = GeneratedWeb::new(shape);
        let options = ServerOptions { log: LogDetail::Counts, ..ServerOptions::default() };
        let server = WebServer::start_blocking(web, options)?;
        let address = server.addresses()[0];
        let start = Instant::now();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| thread::spawn(move || ask(address).map_err(|error| error.to_string())))
            .collect();
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        let totals = server.log().totals();
        let rate = totals.answers as f64 / start.elapsed().as_secs_f64();
        let bytes = totals.body_bytes / totals.answers.max(1);
        println!("{rate:.0} answers/s, {bytes} bytes each on average, by status {:?}", totals.by_status);
    }
    Ok(())
}

fn ask(address: std::net::SocketAddr) -> std::io::Result<()> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let (mut line, mut body) = (String::new(), Vec::new());
    for batch in 0..REQUESTS_PER_CLIENT / PIPELINED {
        let requests: String = (0..PIPELINED)
            .map(|number| {
                // Pages have one of several paths by their number; this is one of them.
                let page = ((batch * PIPELINED + number) * 4 + 2) % 1000;
                format!("GET /page/{page} HTTP/1.1\r\nHost: site0.example\r\nUser-Agent: throughput\r\n\r\n")
            })
            .collect();
        writer.write_all(requests.as_bytes())?;
        for _ in 0..PIPELINED {
            let mut length = 0;
            loop {
                line.clear();
                reader.read_line(&mut line)?;
                if line == "\r\n" || line.is_empty() {
                    break;
                }
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap_or(0);
                }
            }
            body.resize(length, 0);
            reader.read_exact(&mut body)?;
        }
    }
    Ok(())
}
