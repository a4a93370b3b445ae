//! Services that fail in every way, real ones on loopback and real commands.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicUsize;

use super::*;

/// What a service does with its n-th request.
type Behaviour = fn(usize, TcpStream);

/// A service on loopback; its address.
fn serve(behaviour: Behaviour) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = count.clone();
            std::thread::spawn(move || {
                read_request(&stream);
                behaviour(count.fetch_add(1, Relaxed), stream);
            });
        }
    });
    format!("http://{address}/")
}

fn read_request(mut stream: &TcpStream) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while !bytes.ends_with(b"the page") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

fn answer(mut stream: TcpStream, status: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/turtle\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

fn fine(_: usize, stream: TcpStream) {
    answer(stream, "200 OK", b"<> a <http://a.example/C> .");
}

fn settings() -> ServiceSettings {
    ServiceSettings {
        timeout: Duration::from_millis(300),
        retry_pause: Duration::from_millis(5),
        breaker_failures: 3,
        breaker_pause: Duration::from_millis(400),
        answer_bytes_max: 1000,
        ..ServiceSettings::default()
    }
}

fn http(addresses: &[String], settings: ServiceSettings) -> Service {
    let address = |url: &String| HttpAddress::new(PageUrl::parse(url).unwrap(), None);
    Service::new("service s".to_owned(), Backend::Http(addresses.iter().map(address).collect()), settings)
}

fn command(script: &str, settings: ServiceSettings) -> Service {
    let words = ["sh", "-c", script].map(str::to_owned);
    Service::new("command c".to_owned(), Backend::Command(CommandLine::find(&words).unwrap()), settings)
}

fn request() -> ServiceRequest {
    ServiceRequest {
        url: PageUrl::parse("http://a.example/page").unwrap(),
        fetched_at: None,
        media_type: "application/pdf".to_owned(),
        body: Bytes::from_static(b"the page"),
    }
}

async fn ask(service: &Service) -> Result<String, ServiceError> {
    let place = service.enter(8).await?;
    service.ask(&place, &request()).await.map(|reply| String::from_utf8_lossy(&reply.body).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_comes_back_with_its_type() {
    let service = http(&[serve(fine)], settings());
    let place = service.enter(8).await.unwrap();
    for _ in 0..3 {
        let reply = service.ask(&place, &request()).await.unwrap();
        assert_eq!(reply.media_type.as_deref(), Some("text/turtle"));
        assert_eq!(&reply.body[..], b"<> a <http://a.example/C> .");
    }
    assert_eq!(service.numbers().answered.load(Relaxed), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_tried_again() {
    let service = http(
        &[serve(|number, stream| match number {
            0 => drop(stream),
            1 => answer(stream, "503 Busy", b""),
            _ => fine(number, stream),
        })],
        settings(),
    );
    assert!(ask(&service).await.is_ok());
    assert_eq!(service.numbers().retries.load(Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_final_and_no_fault_of_the_service() {
    let service = http(&[serve(|_, stream| answer(stream, "415 Unsupported", b"no"))], settings());
    for _ in 0..5 {
        assert!(matches!(ask(&service).await, Err(ServiceError::Refused(_))));
    }
    assert_eq!(service.numbers().retries.load(Relaxed), 0);
    assert!(!service.numbers().addresses[0].open.load(Relaxed));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_long_or_too_late_is_none() {
    let service = http(&[serve(|_, stream| answer(stream, "200 OK", &[b'x'; 1001]))], settings());
    assert_eq!(ask(&service).await, Err(ServiceError::TooLong(1000)));
    let settings = ServiceSettings { attempts: 1, ..settings() };
    let service = http(&[serve(|_, _stream| std::thread::sleep(Duration::from_secs(5)))], settings);
    assert_eq!(ask(&service).await, Err(ServiceError::Timeout(Duration::from_millis(300))));
    assert_eq!(service.numbers().timeouts.load(Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_breaker_opens_and_closes() {
    let service = http(
        &[serve(
            |number, stream| {
                if number < 3 { answer(stream, "500 Broken", b"") } else { fine(number, stream) }
            },
        )],
        settings(),
    );
    assert!(matches!(ask(&service).await, Err(ServiceError::Failed(_))));
    assert!(service.numbers().addresses[0].open.load(Relaxed));
    let start = Instant::now();
    assert_eq!(ask(&service).await, Err(ServiceError::Open));
    assert!(start.elapsed() < Duration::from_millis(200), "an open breaker costs no time");
    tokio::time::sleep(Duration::from_millis(450)).await;
    assert!(ask(&service).await.is_ok());
    assert!(!service.numbers().addresses[0].open.load(Relaxed));
    assert_eq!(service.numbers().left_out.load(Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_address_answers_for_one_that_is_gone() {
    let gone = format!("http://{}/", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let service = http(&[gone, serve(fine)], settings());
    for _ in 0..10 {
        assert!(ask(&service).await.is_ok());
    }
    assert_eq!(service.numbers().failed.load(Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_no_place_to_wait_is_told_so() {
    let settings = ServiceSettings { waiting_max: 1, ..settings() };
    let service = http(&[serve(fine)], settings.clone());
    let place = service.enter(8).await.unwrap();
    assert_eq!(service.enter(8).await.unwrap_err(), ServiceError::Full);
    drop(place);
    assert!(service.enter(8).await.is_ok());
    let waits = http(&[serve(fine)], ServiceSettings { wait_when_full: true, ..settings });
    let place = waits.enter(8).await.unwrap();
    assert!(timeout(Duration::from_millis(50), waits.enter(8)).await.is_err());
    drop(place);
    assert!(waits.enter(8).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_reads_and_writes() {
    let script = r#"printf '%s %s ' "$WEBLOOM_PAGE_URL" "$WEBLOOM_MEDIA_TYPE"; cat; printf ' %s' "${CARGO_PKG_NAME-none}""#;
    let service = command(script, settings());
    assert_eq!(ask(&service).await.unwrap(), "http://a.example/page application/pdf the page none");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_says_why() {
    let service = command("cat >/dev/null; echo 'no such thing' >&2; exit 3", settings());
    let Err(ServiceError::Refused(reason)) = ask(&service).await else { panic!("it has to be refused") };
    assert!(reason.ends_with("no such thing"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_hangs_is_ended_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let script = format!("(sleep 2; touch {}) & sleep 60", mark.display());
    let service = command(&script, ServiceSettings { attempts: 1, ..settings() });
    let start = Instant::now();
    assert!(matches!(ask(&service).await, Err(ServiceError::Timeout(_))));
    assert!(start.elapsed() < Duration::from_secs(2));
    tokio::time::sleep(Duration::from_millis(2300)).await;
    assert!(!mark.exists(), "a child of the command went on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_never_stops_talking_is_cut() {
    let service = command("yes", settings());
    assert_eq!(ask(&service).await, Err(ServiceError::TooLong(1000)));
    // Nor does it matter what is said on the other channel, or that the input is not read.
    let service = command("yes complaint | head -c 300000 >&2; echo fine", settings());
    assert_eq!(ask(&service).await.unwrap(), "fine\n");
}
