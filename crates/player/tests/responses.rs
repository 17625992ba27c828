//! Responses of servers that are invalid, slow, or omit their length.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

mod support;

use playback::{ReasonKind, State};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};
use support::{Server, answer, answers, config, sizes};
use tandem_player::content::Content;
use tandem_player::{PlayError, Source, play};

fn go(_: &tandem_player::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn response_without_a_length_is_read_to_its_end() {
    // The manifest estimates 5,000 bytes.
    let response = [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[7; 8_000]].concat();
    let (port, thread) = answers(vec![response]);
    let played = play(&config(&Server::at(port), sizes(1, 100)), &mut go).unwrap();
    assert_eq!((played.failure, played.record.complete), (None, true));
    assert_eq!(played.record.segments[0].size_bytes, 8_000);
    thread.join().unwrap();
}

#[test]
fn incomplete_response_without_a_length_is_no_segment() {
    let response = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2000\r\n".as_slice(), &[7; 6_000]];
    let (port, thread) = answers(vec![response.concat()]);
    let mut config = config(&Server::at(port), sizes(1, 100));
    config.network.retries = 0;
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.record.state, played.record.segments.len()), (Some(State::Failed), 0));
    thread.join().unwrap();
}

#[test]
fn invalid_responses_are_errors() {
    let table: [&[u8]; 6] = [
        b"not HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-4/3\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 302 Found\r\nLocation: ftp://elsewhere/\r\n\r\n",
    ];
    for text in table {
        let (port, thread) = answers(vec![text.to_vec()]);
        let mut config = config(&Server::at(port), sizes(1, 100));
        config.network.retries = 0;
        let played = play(&config, &mut go).unwrap();
        assert!(played.failure.is_some(), "{}", String::from_utf8_lossy(text));
        assert_eq!(played.record.problems(), Vec::<String>::new());
        thread.join().unwrap();
    }
}

#[test]
fn file_of_an_impossible_size_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/film.mp4", listener.local_addr().unwrap());
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/18446744073709551615\r\n\
                  Content-Length: 1\r\nConnection: close\r\n\r\nx",
            );
        }
    });
    let server = Server::start(Content::default());
    let mut config = config(&server, sizes(1, 200));
    config.network.retries = 0;
    config.source = Source::File { url: url.parse().unwrap(), duration: units::Duration::from_secs(4) };
    let played = play(&config, &mut go).unwrap();
    assert_eq!(played.record.state, Some(State::Failed));
}

#[test]
fn file_whose_size_is_not_stated_is_an_error() {
    let partial = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/*\r\nContent-Length: 1\r\n\r\nx";
    let small = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/1\r\nContent-Length: 1\r\n\r\nx";
    let table = [
        (partial, "the response does not state the size of the file"),
        (small, "expected a file of at least 2 bytes, found 1"),
    ];
    for (response, message) in table {
        let (port, thread) = answers(vec![response.as_bytes().to_vec()]);
        let server = Server::at(port);
        let mut config = config(&server, sizes(1, 100));
        config.network.retries = 0;
        config.source =
            Source::File { url: server.url("film.mp4"), duration: units::Duration::from_millis(4_000) };
        let reason = play(&config, &mut go).unwrap().failure.unwrap();
        assert!(reason.message.contains(message), "{}", reason.message);
        thread.join().unwrap();
    }
}

#[test]
fn limit_and_viewer_end_a_session_while_its_manifest_loads() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::at(listener.local_addr().unwrap().port());
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n<MPD>");
                while stream.write_all(b" ").is_ok() {
                    thread::sleep(Duration::from_millis(50));
                }
            });
        }
    });
    let mut config = config(&server, sizes(1, 100));
    config.source = Source::Url(server.url("film.mpd"));
    let mut calls = 0;
    let mut leave = |progress: &tandem_player::Progress| {
        calls += 1;
        assert!(progress.waiting);
        if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let left = play(&config, &mut leave).unwrap();
    config.limit = Some(Duration::from_millis(250));
    let ended = play(&config, &mut go).unwrap();
    assert!((0.25..5.0).contains(&ended.record.duration_s), "{} s", ended.record.duration_s);
    for played in [left, ended] {
        assert_eq!((played.failure, played.record.state), (None, Some(State::Left)));
        assert_eq!(played.record.problems(), Vec::<String>::new());
        assert_eq!(played.record.video.url, Some(server.url("film.mpd").to_string()));
    }
}

/// Redirects every request for `/film.mp4` to `/moved.mp4`, with its query and `more`.
fn redirecting_server(more: String) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::at(listener.local_addr().unwrap().port());
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = vec![0; 16 << 10];
            let length = stream.read(&mut request).unwrap();
            let path = String::from_utf8(request[..length].to_vec()).unwrap();
            let path = path.split(' ').nth(1).unwrap();
            let response = match path.strip_prefix("/film.mp4") {
                Some(query) => answer(&format!("302 Found\r\nLocation: /moved.mp4{query}{more}"), b""),
                None if path.matches("CMCD=").count() != 1 => answer("400 Bad Request", b""),
                None => {
                    answer("206 Partial Content\r\nConnection: close\r\nContent-Range: bytes 0-0/1", b"x")
                }
            };
            stream.write_all(&response).unwrap();
        }
    });
    server
}

#[test]
fn redirect_that_copies_the_query_does_not_repeat_cmcd() {
    let server = redirecting_server(String::new());
    let mut config = config(&server, sizes(1, 100));
    config.source = Source::File { url: server.url("film.mp4"), duration: units::Duration::from_millis(100) };
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.record.complete), (None, true));
    assert_eq!(played.record.video.url, Some(server.url("moved.mp4").to_string()));
}

#[test]
fn record_has_the_beginning_of_a_long_address() {
    let server = redirecting_server(format!("&long={}", "x".repeat(6_000)));
    let mut config = config(&server, sizes(1, 100));
    config.source = Source::File { url: server.url("film.mp4"), duration: units::Duration::from_millis(100) };
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.record.complete), (None, true));
    assert_eq!(played.record.problems(), Vec::<String>::new());
    assert_eq!(played.record.video.url.unwrap().len(), 4_096);
}

#[test]
fn session_has_no_more_segments_than_a_record() {
    let server = Server::start(Content::default());
    // The buffer has room for all, so that none waits.
    let mut config = config(&server, sizes(20_001, 10));
    config.player.max_buffer = units::Duration::from_secs(300);
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.record.segments.len()), (None, 20_000));
    assert_eq!(played.record.state, Some(State::Left));
    assert_eq!(played.record.problems(), Vec::<String>::new());
}

#[test]
fn time_of_an_acknowledgement_is_not_that_of_the_next_request() {
    let server = Server::start(Content::default());
    let stream = TcpStream::connect(server.address()).unwrap();
    let ask = || {
        (&stream).write_all(b"GET /segments/0/0/1000 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut reader = BufReader::new(&stream);
        while reader.read_line(&mut String::new()).unwrap() > 2 {}
        reader.read_exact(&mut [0; 1_000]).unwrap();
    };
    ask();
    thread::sleep(Duration::from_millis(300));
    ask();
    drop(stream);
    let log = server.stop();
    let acknowledged = log[0].acknowledged_ms.unwrap();
    assert!(acknowledged + 150.0 < log[1].asked_ms, "{log:#?}");
}

#[test]
fn session_ends_while_a_connection_attempt_hangs() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // With a full queue of connections, the kernel drops further requests for one.
    let waiting: Vec<TcpStream> =
        std::iter::from_fn(|| TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok())
            .collect();
    let mut config = config(&Server::at(address.port()), sizes(1, 100));
    config.limit = Some(Duration::from_millis(300));
    let begin = Instant::now();
    let played = play(&config, &mut go).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}, {} waiting", begin.elapsed(), waiting.len());
    assert_eq!(played.record.state, Some(State::Left));
}

#[test]
fn invalid_index_of_a_server_is_a_failure_of_the_session() {
    let mpd = "<MPD mediaPresentationDuration=\"PT1S\"><Period><AdaptationSet contentType=\"video\">\
               <Representation bandwidth=\"80000\"><BaseURL>v.mp4</BaseURL><SegmentBase indexRange=\"0-99\"/>\
               </Representation></AdaptationSet></Period></MPD>";
    let (port, thread) = answers(vec![answer("200 OK", b"<html>Log in</html>")]);
    let server = Server::at(port);
    let mut config = config(&server, sizes(1, 100));
    let text =
        |text: &str| Source::Text { name: "film.mpd".into(), text: text.into(), base: Some(server.url("")) };
    config.source = text(mpd);
    let played = play(&config, &mut go).unwrap();
    let reason = played.failure.unwrap();
    assert_eq!(reason.kind, ReasonKind::Manifest);
    assert!(reason.message.contains("/v.mp4: expected an index"), "{}", reason.message);
    assert_eq!(played.record.state, Some(State::Failed));
    thread.join().unwrap();
    config.source = text("<MPD/>");
    assert!(matches!(play(&config, &mut go), Err(PlayError::Manifest(_))));
}
