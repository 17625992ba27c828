use super::*;
use std::thread;

struct Fixed;

impl Responder for Fixed {
    fn status(&mut self) -> Result<String, Error> {
        Ok("{}".to_owned())
    }
    fn metrics(&mut self) -> Result<String, Error> {
        // Longer than a socket holds.
        Ok("m 1\n".repeat(1_000_000))
    }
    fn player(&mut self, _: Instant, state: cmcd::State) -> bool {
        state.is_of_a_buffer()
    }
}

/// Serves while `work` asks.
fn serving<R: Send>(tcp: bool, work: impl FnOnce(&Path, Option<SocketAddr>) -> R + Send) -> R {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/agent.sock");
    let address = tcp.then(|| "127.0.0.1:0".parse().unwrap());
    let mut server = Server::open(&path, address).unwrap();
    let address = server.tcp.as_ref().map(|tcp| tcp.local_addr().unwrap());
    assert!(matches!(Server::open(&path, None), Err(Error::AlreadyRunning { .. })));
    thread::scope(|scope| {
        let asking = scope.spawn(|| work(&path, address));
        while !asking.is_finished() {
            server.serve(Instant::ZERO, &mut Fixed);
            let soon = rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            rustix::event::poll(&mut server.files(), Some(&soon)).unwrap();
        }
        asking.join().unwrap()
    })
}

#[test]
fn questions_are_answered_also_long_ones_and_in_pieces() {
    serving(false, |path, _| {
        assert_eq!(query(path, "/status").unwrap(), "{}");
        assert_eq!(query(path, "/metrics").unwrap().len(), 4_000_000);
        assert_eq!(query(path, "/other").unwrap_err().to_string(), "there is /status and /metrics");
        let mut slow = UnixStream::connect(path).unwrap();
        for piece in ["GET /sta", "tus HTTP/1.1\r\n", "Host: x\r\n", "\r\n"] {
            slow.write_all(piece.as_bytes()).unwrap();
            assert_eq!(query(path, "/status").unwrap(), "{}", "nobody waits for the slow one");
        }
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n{}"));
    });
}

#[test]
fn over_tcp_there_are_metrics_and_no_more() {
    serving(true, |_, address| {
        let question = |path: &str, method: &str| {
            let mut stream = std::net::TcpStream::connect(address.unwrap()).unwrap();
            stream.write_all(format!("{method} {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer[9..12].to_owned()
        };
        assert_eq!(question("/metrics", "GET"), "200");
        assert_eq!(question("/status", "GET"), "404");
        assert_eq!(question("/metrics", "POST"), "405");
    });
}

#[test]
fn a_player_tells_how_it_stands_by_cmcd_and_only_on_the_unix_socket() {
    let say = |stream: &mut dyn Stream, words: &str| {
        stream.write_all(words.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].to_owned()
    };
    serving(true, |path, address| {
        let unix = |words: &str| say(&mut UnixStream::connect(path).unwrap(), words);
        let mut state = cmcd::State::default();
        state.read("sid=\"s\",bl=1000,tandem-missing=7");
        assert_eq!(unix(&state.message()), "204");
        assert_eq!(unix("POST /player HTTP/1.1\r\nCMCD-Request: bl=1000\r\n\r\n"), "204");
        assert_eq!(unix("POST /player?CMCD=ot%3Dm HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(unix("POST /player HTTP/1.1\r\n\r\n"), "400");
        assert_eq!(unix("GET /player HTTP/1.1\r\n\r\n"), "404");
        let mut tcp = std::net::TcpStream::connect(address.unwrap()).unwrap();
        assert_eq!(say(&mut tcp, &state.message()), "405");
    });
}

#[test]
fn who_asks_nothing_or_without_end_is_sent_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    let mut server = Server::open(&path, None).unwrap();
    let silent = UnixStream::connect(&path).unwrap();
    let mut endless = UnixStream::connect(&path).unwrap();
    endless.write_all(&[b'x'; 2 * LONGEST]).unwrap();
    for _ in 0..20 {
        server.serve(Instant::ZERO, &mut Fixed);
    }
    assert_eq!(server.clients.len(), 1, "the endless one");
    assert_eq!(server.next(), Instant::ZERO + PATIENCE);
    server.serve(Instant::ZERO + PATIENCE, &mut Fixed);
    assert_eq!(server.clients.len(), 0);
    assert_eq!(server.next(), Instant::MAX);
    drop((silent, server));
    assert!(!path.exists());
}
