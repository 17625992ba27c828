//! HTTP requests and responses.

use crate::support::{connect, local, read_head, read_to_end, request, server, start, wait_until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Reads a request's head and `body` bytes of its body.
fn read_request(stream: &mut TcpStream, body: usize) -> Option<(String, Vec<u8>)> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        text.push(byte[0]);
    }
    let mut rest = vec![0; body];
    stream.read_exact(&mut rest).ok()?;
    Some((String::from_utf8(text).unwrap(), rest))
}

/// Server that responds to each request head with the text from `answer`.
fn site(answer: impl Fn(&str) -> String + Clone + Send + 'static) -> SocketAddr {
    server(move |mut stream| {
        while let Some((head, _)) = read_request(&mut stream, 0) {
            let text = answer(&head);
            if stream.write_all(text.as_bytes()).is_err() || text.contains("Connection: close") {
                return;
            }
        }
    })
}

fn get(to: SocketAddr, fields: &str) -> String {
    format!("GET http://{to}/a?b HTTP/1.1\r\nHost: {to}\r\n{fields}\r\n")
}

#[test]
fn request_is_forwarded_and_answered() {
    let (proxy, at) = start(local());
    let to = site(|head| {
        assert!(
            head.starts_with("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:")
                && head.contains("\r\nVia: 1.1 tandem-")
        );
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_owned()
    });
    let answer = request(at, &get(to, "Connection: close\r\n"));
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nVia: 1.1 tandem\r\nConnection: close\r\n\r\nhello"
    );
    assert_eq!(proxy.totals().requests, 1);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (proxy, at) = start(local());
    let to = site(|_| "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned());
    let other =
        site(|_| "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n".to_owned());
    let last = get(other, "Connection: close\r\n");
    let answers =
        request(at, &format!("{}{}{}{}{last}", get(to, ""), get(to, ""), get(other, ""), get(to, "")));
    let (ok, yes) = ("\r\n\r\nok", "\r\n\r\n3\r\nyes\r\n0\r\n\r\n");
    let order: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).map(|one| one.split_at(3).0).collect();
    assert_eq!(order, ["200", "200", "404", "200", "404"], "{answers}");
    assert_eq!((answers.matches(ok).count(), answers.matches(yes).count()), (3, 2), "{answers}");
    assert_eq!((proxy.totals().requests, proxy.totals().accepted), (5, 1));
}

#[test]
fn persistent_connection_survives_fast_responses() {
    let (proxy, at) = start(local());
    let to = site(|_| "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned());
    let mut stream = connect(at);
    for nth in 0..500 {
        stream.write_all(get(to, "").as_bytes()).unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "), "{nth}");
    }
    wait_until("the last one is counted", || proxy.totals().requests == 500);
    assert_eq!(proxy.totals().accepted, 1);
}

#[test]
fn responses_of_every_framing_are_relayed() {
    let (_proxy, at) = start(local());
    let body = "0123456789".repeat(30_000);
    let big = body.clone();
    let to = site(move |head| {
        let chunks = || {
            big.as_bytes()
                .chunks(7777)
                .map(|one| format!("{:x};x=y\r\n{}\r\n", one.len(), core::str::from_utf8(one).unwrap()))
        };
        match head.split(' ').nth(1).unwrap() {
            "/length" => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{big}", big.len()),
            "/chunks" => format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\nX: y\r\n\r\n",
                chunks().collect::<String>()
            ),
            "/close" => format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{big}"),
            "/none" => "HTTP/1.1 204 No\r\n\r\n".to_owned(),
            "/early" => {
                "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned()
            }
            other => panic!("{other}"),
        }
    });
    let ask = |path, version| {
        let answer = request(
            at,
            &format!("GET http://{to}{path} HTTP/{version}\r\nHost: {to}\r\nConnection: close\r\n\r\n"),
        );
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    };
    assert_eq!(ask("/length", "1.1").1, body);
    assert_eq!(ask("/close", "1.1").1, body);
    assert_eq!(ask("/none", "1.1").1, "");
    assert!(ask("/early", "1.1").1.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(ask("/early", "1.0").0.starts_with("HTTP/1.1 200 OK\r\n"), "HTTP/1.0 has no interim responses");
    assert_eq!(ask("/chunks", "1.0").1, body, "HTTP/1.0 has no chunks");
    let (_, mut chunked) = ask("/chunks", "1.1");
    let mut data = String::new();
    loop {
        let (size, rest) = chunked.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        data.push_str(&rest[..size]);
        assert_eq!(&rest[size..size + 2], "\r\n");
        if size == 0 {
            assert_eq!(rest, "\r\n", "trailers are dropped");
            break;
        }
        chunked = rest[size + 2..].to_owned();
    }
    assert!(data == body);
}

#[test]
fn request_bodies_are_relayed_and_early_responses_accepted() {
    let (_proxy, at) = start(local());
    let to = server(|mut stream| {
        let (head, body) = read_request(&mut stream, 300_000).unwrap();
        assert!(head.contains("Content-Length: 300000\r\n") && body.iter().all(|&byte| byte == b'x'));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone").unwrap();
        let (head, chunks) = read_request(&mut stream, 15).unwrap();
        assert!(head.contains("Transfer-Encoding: chunked\r\n"), "{head}");
        assert_eq!(chunks, b"5\r\nhello\r\n0\r\n\r\n");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore").unwrap();
    });
    let post = format!("POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\n");
    let mut stream = connect(at);
    write!(stream, "{post}Content-Length: 300000\r\n\r\n{}", "x".repeat(300_000)).unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200"));
    stream.read_exact(&mut [0; 4]).unwrap();
    write!(
        stream,
        "{post}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\nX: y\r\n\r\n"
    )
    .unwrap();
    assert!(read_to_end(&mut stream).ends_with("more"));

    let refusing = site(|_| "HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned());
    let mut stream = connect(at);
    write!(stream, "POST http://{refusing}/ HTTP/1.1\r\nHost: {refusing}\r\nContent-Length: 9\r\n\r\n123")
        .unwrap();
    let answer = read_to_end(&mut stream);
    assert!(
        answer.starts_with("HTTP/1.1 413 No\r\n") && answer.contains("\r\nConnection: close\r\n"),
        "the connection closes because the body is incomplete: {answer}"
    );
}

#[test]
fn client_connection_outlives_that_of_the_server() {
    let (proxy, at) = start(local());
    let to = site(|_| "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_owned());
    let mut stream = connect(at);
    for nth in 0..3 {
        write!(stream, "POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\nContent-Length: 0\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("Connection"), "{nth}: {head}");
        stream.read_exact(&mut [0; 2]).unwrap();
    }
    wait_until("the last one is counted", || proxy.totals().requests == 3);
    assert_eq!(proxy.totals().accepted, 1);
}

#[test]
fn closed_server_connection_is_reopened() {
    let (proxy, at) = start(local());
    let to = server(|mut stream| {
        read_request(&mut stream, 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    });
    let mut stream = connect(at);
    for _ in 0..3 {
        stream.write_all(get(to, "").as_bytes()).unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 200"));
        stream.read_exact(&mut [0; 2]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(proxy.totals().requests, 3);
}

#[test]
fn unreachable_or_invalid_server_yields_502() {
    let (proxy, at) = start(local());
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(request(at, &get(nobody, "")).starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
    let odd = site(|_| "hello\r\n\r\n".to_owned());
    assert!(request(at, &get(odd, "")).starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
    let short = server(|mut stream| {
        read_request(&mut stream, 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").unwrap();
    });
    let mut stream = connect(at);
    stream.write_all(get(short, "").as_bytes()).unwrap();
    read_head(&mut stream);
    let mut got = Vec::new();
    assert!(stream.read_to_end(&mut got).is_err(), "a truncated response ends in a reset: {got:?}");
    wait_until("the counters increase", || proxy.totals().failed == 3);
}
