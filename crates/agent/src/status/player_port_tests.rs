use super::*;
use crate::status::{Responder, Server};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::net::TcpStream as Client;
use std::thread;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const HEAD: &str = "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n";
const REPORT: &str = "sid=\"film\",ot=av,bl=4000";

/// Counts the reports.
struct Reports(usize);

impl Responder for Reports {
    fn status(&mut self) -> Result<String, crate::Error> {
        Ok("{}".to_owned())
    }
    fn metrics(&mut self) -> Result<String, crate::Error> {
        Ok(String::new())
    }
    fn player(&mut self, _: units::Instant, state: cmcd::State) -> bool {
        self.0 += 1;
        state.is_of_a_buffer()
    }
}

/// Runs `client` with the port of a server; returns the number of reports that reached the agent.
fn with_port(timeout: Duration, client: impl FnOnce(SocketAddr, &std::path::Path) + Send) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    let port = PlayerPort {
        listen: "127.0.0.1:0".parse().unwrap(),
        origins: vec!["https://player.example".to_owned()],
        token: Token::parse(TOKEN).unwrap(),
    };
    let mut server = Server::open_with_timeout(&path, None, Some(&port), timeout).unwrap();
    let address = server.players_address.unwrap();
    let mut reports = Reports(0);
    thread::scope(|scope| {
        let client = scope.spawn(|| client(address, &path));
        while !client.is_finished() {
            let wait = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(&wait)).unwrap();
            server.serve(units::Instant::ZERO, &mut reports);
        }
        client.join().unwrap();
    });
    reports.0
}

/// Sends a request and returns the response.
fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = Client::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

fn post(address: SocketAddr, fields: &str, body: &str) -> String {
    let length = body.len();
    exchange(
        address,
        &format!(
            "POST /player HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n{fields}\r\n{body}"
        ),
    )
}

fn code(response: &str) -> &str {
    &response[9..12]
}

#[test]
fn player_port_takes_reports_of_permitted_pages_only() {
    let reports = with_port(Duration::from_secs(5), |address, _| {
        assert_eq!(code(&post(address, HEAD, REPORT)), "204");
        let page = format!("{HEAD}Origin: https://player.example\r\n");
        let answer = post(address, &page, REPORT);
        assert_eq!(code(&answer), "204");
        assert!(answer.contains("access-control-allow-origin: https://player.example\r\n"), "{answer}");
        let evil = post(address, &format!("{HEAD}Origin: https://evil.example\r\n"), REPORT);
        assert_eq!(code(&evil), "403");
        assert!(!evil.contains("access-control-"), "{evil}");
        // A name that a page made point here.
        let rebound = format!("POST /player HTTP/1.1\r\nHost: evil.example:{}\r\n{HEAD}\r\n", address.port());
        assert_eq!(code(&exchange(address, &rebound)), "421");
        assert_eq!(code(&post(address, "", REPORT)), "401");
        assert_eq!(code(&post(address, HEAD, "br=4000")), "400");
        let get =
            |path: &str| exchange(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{HEAD}\r\n"));
        assert_eq!(
            [code(&get("/status")), code(&get("/metrics")), code(&get("/player"))],
            ["404", "404", "405"]
        );
    });
    assert_eq!(reports, 2);
}

#[test]
fn player_port_answers_preflights_of_permitted_pages_only() {
    with_port(Duration::from_secs(5), |address, _| {
        let ask = |origin: &str| {
            exchange(
                address,
                &format!(
                    "OPTIONS /player HTTP/1.1\r\nHost: {address}\r\nOrigin: {origin}\r\n\
                     Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n\
                     Access-Control-Request-Private-Network: true\r\n\r\n"
                ),
            )
        };
        let answer = ask("https://player.example");
        assert_eq!(code(&answer), "204");
        for field in [
            "access-control-allow-origin: https://player.example",
            "access-control-allow-headers: authorization, content-type",
            "access-control-allow-private-network: true",
            "vary: Origin",
        ] {
            assert!(answer.contains(field), "{answer}");
        }
        let answer = ask("https://evil.example");
        assert!(code(&answer) == "403" && !answer.contains("access-control-"), "{answer}");
    });
}

#[test]
fn player_port_limits_length_rate_and_time_of_reports() {
    let reports = with_port(Duration::from_millis(500), |address, _| {
        assert_eq!(code(&post(address, HEAD, &"x".repeat(MAX_REPORT_BYTES + 1))), "413");
        // Neither a slow head nor a slow body outlives the time limit.
        for request in [
            "POST /pl",
            &format!("POST /player HTTP/1.1\r\nHost: {address}\r\nContent-Length: 9\r\n{HEAD}\r\n"),
        ] {
            let mut slow = Client::connect(address).unwrap();
            slow.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            slow.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"");
        }
        let mut codes: Vec<String> =
            (0..100).map(|_| code(&post(address, HEAD, REPORT)).to_owned()).collect();
        codes.sort();
        codes.dedup();
        assert_eq!(codes, ["204", "429"]);
    });
    assert!((40..100).contains(&reports), "{reports}");
}

#[test]
fn silent_connections_of_the_player_port_displace_only_each_other() {
    let reports = with_port(Duration::from_secs(60), |address, path| {
        let _silent: Vec<_> = (0..145).map(|_| Client::connect(address).unwrap()).collect();
        assert_eq!(code(&post(address, HEAD, REPORT)), "204");
        assert_eq!(
            crate::status::query(path, "/status").unwrap(),
            "{}",
            "the UNIX socket has slots of its own"
        );
    });
    assert_eq!(reports, 1);
}

#[test]
fn budget_of_reports_refills_over_time() {
    let start = Instant::now();
    let mut budget = Budget::full(start);
    let taken = (0..100).filter(|_| budget.take(start)).count();
    assert_eq!(taken, 40);
    let later = start + Duration::from_secs(1);
    assert_eq!((0..100).filter(|_| budget.take(later)).count(), 20);
    assert_eq!((0..100).filter(|_| budget.take(later + Duration::from_secs(3600))).count(), 40);
}
