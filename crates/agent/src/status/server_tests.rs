use super::*;
use crate::status::slots::MAX_CONNECTIONS;
use crate::status::{Token, query};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant as StdInstant;

struct FixedResponder;

impl Responder for FixedResponder {
    fn status(&mut self) -> Result<String, Error> {
        Ok("{}".to_owned())
    }
    fn metrics(&mut self) -> Result<String, Error> {
        // Exceeds the socket buffers.
        Ok("m 1\n".repeat(1_000_000))
    }
    fn player(&mut self, _: Instant, state: cmcd::State) -> bool {
        state.is_of_a_buffer()
    }
}

/// Runs `client` while a server with this connection timeout answers.
fn with_server<R: Send>(
    tcp: bool,
    timeout: Duration,
    client: impl FnOnce(&Path, Option<SocketAddr>) -> R + Send,
) -> R {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/agent.sock");
    let address = tcp.then(|| "127.0.0.1:0".parse().unwrap());
    let mut server = Server::open_with_timeout(&path, address, None, timeout).unwrap();
    let address = server.tcp_address;
    assert!(matches!(Server::open(&path, None, None), Err(Error::AlreadyRunning { .. })));
    let result = thread::scope(|scope| {
        let client = scope.spawn(|| client(&path, address));
        while !client.is_finished() {
            let wait = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(&wait)).unwrap();
            server.serve(Instant::ZERO, &mut FixedResponder);
        }
        client.join().unwrap()
    });
    drop(server);
    assert!(!path.exists(), "the socket is removed");
    result
}

/// Sends a request and returns the complete response.
fn exchange(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Sends a request and returns the status code.
fn status_code(stream: impl Read + Write, request: &str) -> String {
    exchange(stream, request)[9..12].to_owned()
}

#[test]
fn serves_long_responses_and_fragmented_requests() {
    with_server(false, CONNECTION_TIMEOUT, |path, _| {
        assert_eq!(query(path, "/status").unwrap(), "{}");
        assert_eq!(query(path, "/metrics").unwrap().len(), 4_000_000);
        let error = query(path, "/other").unwrap_err();
        assert_eq!(error.to_string(), "available: /status and /metrics");
        let mut slow = UnixStream::connect(path).unwrap();
        for piece in ["GET /sta", "tus HTTP/1.1\r\n", "Host: x\r\n", "\r\n"] {
            slow.write_all(piece.as_bytes()).unwrap();
            assert_eq!(query(path, "/status").unwrap(), "{}", "a slow client blocks no other");
        }
        let mut response = String::new();
        slow.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("\r\n\r\n{}"));
    });
}

/// Counts the requests for the status.
struct CountingResponder(usize);

impl Responder for CountingResponder {
    fn status(&mut self) -> Result<String, Error> {
        self.0 += 1;
        Ok("{}".to_owned())
    }
    fn metrics(&mut self) -> Result<String, Error> {
        Ok(String::new())
    }
    fn player(&mut self, _: Instant, _: cmcd::State) -> bool {
        false
    }
}

#[test]
fn each_turn_of_the_agent_answers_one_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    let mut server = Server::open(&path, None, None).unwrap();
    let mut responder = CountingResponder(0);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(|| query(&path, "/status").unwrap())).collect();
        // All requests are pending by then.
        thread::sleep(Duration::from_millis(200));
        for answered in 1..=clients.len() {
            while responder.0 < answered {
                let wait = Timespec { tv_sec: 5, tv_nsec: 0 };
                let ready = poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(&wait)).unwrap();
                assert_eq!(ready, 1, "{} requests are answered", responder.0);
                server.serve(Instant::ZERO, &mut responder);
            }
            assert_eq!(responder.0, answered);
        }
        for client in clients {
            assert_eq!(client.join().unwrap(), "{}");
        }
    });
}

#[test]
fn half_closed_client_gets_its_response() {
    with_server(false, CONNECTION_TIMEOUT, |path, _| {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.write_all(b"GET /status HTTP/1.1\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    });
}

#[test]
fn tcp_serves_only_metrics() {
    with_server(true, CONNECTION_TIMEOUT, |_, address| {
        let code = |method: &str, path: &str| {
            let stream = TcpStream::connect(address.unwrap()).unwrap();
            status_code(stream, &format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n"))
        };
        assert_eq!(code("GET", "/metrics"), "200");
        assert_eq!(code("GET", "/status"), "404");
        assert_eq!(code("POST", "/metrics"), "405");
    });
}

#[test]
fn metrics_port_refuses_other_host_names() {
    with_server(true, CONNECTION_TIMEOUT, |_, address| {
        let code = |fields: &str| {
            let stream = TcpStream::connect(address.unwrap()).unwrap();
            status_code(stream, &format!("GET /metrics HTTP/1.1\r\n{fields}\r\n"))
        };
        for host in ["127.0.0.1:9464", "127.0.0.1", "localhost:9464", "LOCALHOST", "[::1]:9464"] {
            assert_eq!(code(&format!("Host: {host}\r\n")), "200", "{host}");
        }
        for host in
            ["evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil.example", ""]
        {
            assert_eq!(code(&format!("Host: {host}\r\n")), "403", "{host}");
        }
        assert_eq!(code(""), "403");
        assert_eq!(code("Host: localhost\r\nHost: evil.example\r\n"), "403");
    });
}

#[test]
fn players_report_on_unix_socket_only() {
    with_server(true, CONNECTION_TIMEOUT, |path, address| {
        let unix = |request: &str| status_code(UnixStream::connect(path).unwrap(), request);
        let mut state = cmcd::State::default();
        state.read("sid=\"s\",bl=1000,tandem-missing=7");
        assert_eq!(unix(&state.message()), "204");
        assert_eq!(unix("POST /player HTTP/1.1\r\nCMCD-Request: bl=1000\r\n\r\n"), "204");
        assert_eq!(unix("POST /player?CMCD=ot%3Dm HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(unix("POST /player HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(unix("GET /player HTTP/1.1\r\n\r\n"), "404");
        let tcp = TcpStream::connect(address.unwrap()).unwrap();
        let report = state.message().replace("Host: agent", "Host: localhost");
        assert_eq!(status_code(tcp, &report), "405");
    });
}

#[test]
fn silent_client_is_disconnected_after_timeout() {
    let timeout = Duration::from_millis(300);
    with_server(false, timeout, |path, _| {
        let start = StdInstant::now();
        let mut silent = UnixStream::connect(path).unwrap();
        let mut received = Vec::new();
        silent.read_to_end(&mut received).unwrap();
        assert!(received.is_empty() && start.elapsed() >= timeout, "{:?}", start.elapsed());
    });
}

#[test]
fn client_that_never_reads_is_disconnected_after_timeout() {
    let timeout = Duration::from_millis(300);
    with_server(false, timeout, |path, _| {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        thread::sleep(3 * timeout);
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received);
        assert!((1..4_000_000).contains(&received.len()), "{}", received.len());
    });
}

#[test]
fn oversized_request_head_is_rejected() {
    with_server(false, Duration::from_secs(60), |path, _| {
        // Exactly the limit and still incomplete: nothing stays unread that would reset the socket.
        let request = format!("{:x<MAX_HEAD_BYTES$}", "GET /status HTTP/1.1\r\nX: ");
        assert_eq!(status_code(UnixStream::connect(path).unwrap(), &request), "431");
    });
}

#[test]
fn silent_connections_displace_only_each_other() {
    with_server(true, Duration::from_secs(60), |path, address| {
        let address = address.unwrap();
        let silent: Vec<_> = (0..145).map(|_| TcpStream::connect(address).unwrap()).collect();
        let start = StdInstant::now();
        let metrics = exchange(
            TcpStream::connect(address).unwrap(),
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        );
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"));
        assert_eq!(query(path, "/status").unwrap(), "{}", "the UNIX socket has slots of its own");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let closed = |mut stream: &TcpStream| {
            stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
            stream.read(&mut [0]).is_ok_and(|length| length == 0)
        };
        let open = silent.iter().filter(|stream| !closed(stream)).count();
        assert!(open <= MAX_CONNECTIONS, "{open} stay open");
    });
}

#[test]
fn taken_port_is_opened_when_it_becomes_free() {
    let folder = tempfile::tempdir().unwrap();
    let taken = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let [metrics, listen] = taken.each_ref().map(|listener| listener.local_addr().unwrap());
    let token = "0123456789abcdef0123456789abcdef";
    let players = PlayerPort { listen, origins: Vec::new(), token: Token::parse(token).unwrap() };
    let server = Server::open(&folder.path().join("agent.sock"), Some(metrics), Some(&players)).unwrap();
    let failures = server.port_failures();
    let [of_metrics, of_players] = failures.remarks().try_into().unwrap();
    assert!(of_metrics.starts_with(&format!("cannot listen at {metrics} for `metrics`")), "{of_metrics}");
    assert!(of_players.starts_with(&format!("cannot listen at {listen} for `players`")), "{of_players}");
    drop(taken);
    let deadline = StdInstant::now() + Duration::from_secs(20);
    while !failures.remarks().is_empty() {
        assert!(StdInstant::now() < deadline, "{:?}", failures.remarks());
        thread::sleep(Duration::from_millis(20));
    }
    for address in [metrics, listen] {
        let stream = TcpStream::connect(address).unwrap();
        assert_eq!(status_code(stream, "GET /other HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")[..1], *"4");
    }
}

#[test]
fn file_at_the_path_of_the_socket_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    std::fs::write(&path, "precious").unwrap();
    let error = Server::open(&path, None, None).unwrap_err();
    assert!(matches!(error, Error::Socket(BindError::NotASocket(_))), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}
