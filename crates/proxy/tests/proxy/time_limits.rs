//! Clients and servers that do not read, do not answer, or leave.

use crate::support::{
    BUFFERED_BODY_BYTES, buffering_site, connect, connect_slow, local, protocol, read_head, read_slowly,
    read_to_end, request, server, start, tunnel, wait_until,
};
use linux::socket::{self, Options};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use tandem_proxy::{Config, Proxy};

/// Time in which a place must be free; timeouts in these tests are far shorter or far longer.
const SOON: Duration = Duration::from_secs(5);

/// Configuration with `idle` and `total` in milliseconds.
fn limited(idle: u64, total: Option<u64>) -> Config {
    let mut config = local();
    config.timeouts.idle = Duration::from_millis(idle);
    config.timeouts.total = total.map(Duration::from_millis);
    config
}

fn get(to: SocketAddr, path: &str) -> String {
    format!("GET http://{to}{path} HTTP/1.1\r\nHost: {to}\r\n\r\n")
}

/// Server of endless responses for `/long`, and of short ones.
fn site() -> SocketAddr {
    server(|mut stream| {
        loop {
            let head = read_head(&mut stream);
            if head.is_empty() {
                return;
            }
            if head.starts_with("GET /long") {
                _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n");
                while stream.write_all(&[0; 16_000]).is_ok() {}
                return;
            }
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    })
}

/// Server that sends without end and reads everything.
fn two_way() -> SocketAddr {
    server(|mut stream| {
        let mut reader = stream.try_clone().unwrap();
        thread::spawn(move || while matches!(reader.read(&mut [0; 16_000]), Ok(1..)) {});
        while stream.write_all(&[0; 16_000]).is_ok() {}
    })
}

fn await_free_places(proxy: &Proxy) {
    let start = Instant::now();
    wait_until("the places are free", || proxy.totals().open == 0);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn client_that_never_reads_does_not_keep_its_place() {
    let to = site();
    let (proxy, at) = start(limited(300, Some(1000)));
    let mut held: Vec<TcpStream> = Vec::new();
    // A short response, then silence; a long one; and requests without end.
    for path in ["/short", "/long"] {
        let mut stream = connect(at);
        stream.write_all(get(to, path).as_bytes()).unwrap();
        held.push(stream);
    }
    for _ in 0..3 {
        let mut stream = connect(at);
        held.push(stream.try_clone().unwrap());
        let text = get(to, "/short").repeat(100);
        thread::spawn(move || while stream.write_all(text.as_bytes()).is_ok() {});
    }
    wait_until("all are accepted", || proxy.totals().accepted == 5);
    await_free_places(&proxy);
    drop(held);
}

#[test]
fn client_that_reads_slowly_is_not_stalled() {
    let mut config = local();
    config.timeouts.write = Some(Duration::from_secs(1));
    let (_proxy, at) = start(config);
    let to = server(|mut stream| _ = stream.write_all(&vec![7; 1 << 20]));
    let mut stream = connect_slow(at);
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
    // The queue of the socket holds more than the client reads in the write timeout.
    let mut part = [0; 2048];
    for _ in 0..40 {
        stream.read_exact(&mut part).expect("the connection stays open");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn client_that_reads_a_chunked_response_slowly_is_not_stalled() {
    let mut config = local();
    config.timeouts.write = Some(Duration::from_secs(1));
    let (_proxy, at) = start(config);
    let to = server(|mut stream| {
        read_head(&mut stream);
        _ = write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n", 1 << 20);
        _ = stream.write_all(&vec![7; 1 << 20]);
    });
    let mut stream = connect_slow(at);
    stream.write_all(get(to, "/").as_bytes()).unwrap();
    let mut part = [0; 2048];
    for _ in 0..40 {
        stream.read_exact(&mut part).expect("the connection stays open");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn client_that_sends_and_never_reads_is_reset_at_the_write_timeout() {
    let mut config = limited(60_000, None);
    config.timeouts.write = Some(Duration::from_millis(500));
    let (proxy, at) = start(config);
    let mut stream = tunnel(at, two_way());
    // Progress from the client to the server does not count for the other direction.
    let held = stream.try_clone().unwrap();
    thread::spawn(move || while stream.write_all(&[0; 1000]).is_ok() {});
    await_free_places(&proxy);
    assert_eq!(proxy.totals().timed_out, 1);
    drop(held);
}

#[test]
fn server_that_never_reads_a_body_does_not_keep_the_place() {
    let to = server(|stream| {
        thread::sleep(Duration::from_secs(30));
        drop(stream);
    });
    let (proxy, at) = start(limited(500, None));
    let mut stream = connect(at);
    write!(stream, "POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\nContent-Length: 1000000000000\r\n\r\n")
        .unwrap();
    while stream.write_all(&[0; 16_000]).is_ok() {}
    await_free_places(&proxy);
}

#[test]
fn server_that_stops_reading_a_body_is_named_as_the_cause() {
    let to = server(|stream| {
        thread::sleep(Duration::from_secs(30));
        drop(stream);
    });
    let mut config = limited(60_000, None);
    config.timeouts.write = Some(Duration::from_millis(300));
    let (proxy, at) = start(config);
    let mut stream = connect(at);
    write!(stream, "POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\nContent-Length: 1000000000000\r\n\r\n")
        .unwrap();
    let mut upload = stream.try_clone().unwrap();
    thread::spawn(move || while upload.write_all(&[0; 16_000]).is_ok() {});
    let answer = read_head(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    drop(stream);
    await_free_places(&proxy);
}

#[test]
fn reset_of_the_client_during_an_upload_frees_its_place() {
    let to = server(|mut stream| _ = stream.read_to_end(&mut Vec::new()));
    let mut config = limited(60_000, None);
    config.timeouts.handshake = Duration::from_secs(30);
    let (proxy, at) = start(config);
    for framing in ["Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n64\r\n"] {
        let before = proxy.totals().bytes_up;
        let mut stream = connect(at);
        write!(stream, "POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\n{framing}half").unwrap();
        wait_until("the exchange has begun", || proxy.totals().bytes_up > before);
        socket::abort(&stream).unwrap();
        drop(stream);
        await_free_places(&proxy);
    }
    assert_eq!((proxy.totals().abandoned, proxy.totals().failed), (2, 0));
}

#[test]
fn client_that_does_not_read_interim_responses_is_reset() {
    let to = server(|mut stream| {
        let interim = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "x".repeat(8000));
        while stream.write_all(interim.as_bytes()).is_ok() {}
    });
    let mut config = limited(500, None);
    config.timeouts.write = Some(Duration::from_secs(60));
    config.timeouts.handshake = Duration::from_secs(30);
    let (proxy, at) = start(config);
    let mut stream = connect(at);
    stream.write_all(get(to, "/").as_bytes()).unwrap();
    wait_until("the responses have begun", || proxy.totals().bytes_down > 0);
    await_free_places(&proxy);
    let mut received = Vec::new();
    let error = stream.read_to_end(&mut received).expect_err("a reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(!String::from_utf8_lossy(&received).contains(" 504 "), "no response within another");
}

#[test]
fn empty_line_after_a_body_begins_no_request() {
    let to = server(|mut stream| {
        for body in [4, 0] {
            read_head(&mut stream);
            stream.read_exact(&mut vec![0; body]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    for pause in [0, 100] {
        let mut config = local();
        config.timeouts.handshake = Duration::from_millis(300);
        let (proxy, at) = start(config);
        let mut stream = connect(at);
        write!(stream, "POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\nContent-Length: 4\r\n\r\nbody").unwrap();
        thread::sleep(Duration::from_millis(pause));
        stream.write_all(b"\r\n").unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
        thread::sleep(Duration::from_millis(700));
        stream.write_all(get(to, "/").as_bytes()).unwrap();
        let answer = read_head(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(proxy.totals().too_slow, 0);
    }
}

#[test]
fn idle_timeout_counts_progress_in_either_direction() {
    let to = server(|mut stream| {
        read_head(&mut stream);
        stream.read_exact(&mut [0; 20]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    });
    let (_proxy, at) = start(limited(400, None));
    let mut stream = connect(at);
    write!(stream, "POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\nContent-Length: 20\r\n\r\n").unwrap();
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(60));
        stream.write_all(b"x").unwrap();
    }
    let answer = read_head(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn silent_server_and_silent_client_are_told_apart() {
    let to = server(|mut stream| _ = read_to_end(&mut stream));
    let (_proxy, at) = start(limited(300, None));
    let answer = request(at, &get(to, "/"));
    assert!(
        answer.starts_with("HTTP/1.1 504 ") && answer.contains("no response from the server"),
        "{answer}"
    );
    let post = format!("POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\nContent-Length: 9\r\n\r\nhalf");
    let answer = request(at, &post);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn lifetime_limit_applies_to_http_requests_and_connections() {
    let to = server(|mut stream| {
        if read_head(&mut stream).starts_with("GET /slow") {
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        } else {
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            read_to_end(&mut stream);
        }
    });
    let (proxy, at) = start(limited(60_000, Some(500)));
    let mut stream = connect(at);
    stream.write_all(get(to, "/slow").as_bytes()).unwrap();
    read_to_end(&mut stream);
    await_free_places(&proxy);
    assert_eq!(proxy.totals().timed_out, 1);
    // A connection that waits for its next request.
    let mut stream = connect(at);
    stream.write_all(get(to, "/").as_bytes()).unwrap();
    assert!(read_to_end(&mut stream).ends_with("ok"), "a complete response and the end of stream");
    await_free_places(&proxy);
}

#[test]
fn response_at_the_lifetime_limit_is_whole_although_the_client_keeps_sending() {
    const LENGTH: usize = 300_000;
    let to = server(|mut stream| {
        read_head(&mut stream);
        _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
        _ = stream.write_all(&vec![b'x'; LENGTH - 1]);
        thread::sleep(Duration::from_millis(1500));
        _ = stream.write_all(b"x");
    });
    // The response fits the proxy's send buffer, but not the client's receive buffer.
    let mut config = limited(60_000, Some(3000));
    config.listen[0].send_buffer = Some(1 << 20);
    let (proxy, at) = start(config);
    let options = Options { receive_buffer: Some(32 << 10), ..Options::default() };
    let mut stream = socket::connect(at, protocol(), &options).unwrap();
    // The response ends after the lifetime of the connection and before that of the request.
    thread::sleep(Duration::from_secs(2));
    stream.write_all(get(to, "/").repeat(1000).as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(1700));
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), LENGTH);
    await_free_places(&proxy);
    assert_eq!(proxy.totals().timed_out, 0);
}

#[test]
fn disconnect_of_the_client_ends_the_wait_for_a_response() {
    let (tx, rx) = std::sync::mpsc::channel();
    let to = server(move |mut stream| {
        read_head(&mut stream);
        tx.send(()).unwrap();
        // Waits until the proxy closes, too.
        _ = stream.read(&mut [0]);
        tx.send(()).unwrap();
    });
    let (proxy, at) = start(limited(60_000, None));
    for pipelined in [false, true] {
        let mut stream = connect(at);
        let text = get(to, "/").repeat(1 + usize::from(pipelined));
        stream.write_all(text.as_bytes()).unwrap();
        rx.recv_timeout(SOON).unwrap();
        drop(stream);
        await_free_places(&proxy);
        rx.recv_timeout(SOON).expect("the server connection ends");
    }
    assert_eq!(proxy.totals().abandoned, 2);
}

#[test]
fn disconnect_of_the_client_ends_a_connect() {
    // A listener whose accept queue is full answers no SYN.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let to = listener.local_addr().unwrap();
    let fill: Vec<_> =
        (0..4).filter_map(|_| TcpStream::connect_timeout(&to, Duration::from_millis(200)).ok()).collect();
    let mut config = limited(60_000, None);
    config.timeouts.connect = Duration::from_secs(60);
    let (proxy, at) = start(config);
    let mut socks = vec![5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1];
    socks.extend(to.port().to_be_bytes());
    let connect_request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
    for (bytes, count) in [(connect_request.as_bytes(), 1), (get(to, "/").as_bytes(), 2), (&socks, 3)] {
        let mut stream = connect(at);
        stream.write_all(bytes).unwrap();
        thread::sleep(Duration::from_millis(200));
        assert_eq!(proxy.totals().open, 1, "it waits for the server");
        drop(stream);
        await_free_places(&proxy);
        assert_eq!(proxy.totals().abandoned, count);
    }
    drop(fill);
}

/// Request for the response of `site`, after which the client's connection closes.
fn last_get(site: SocketAddr, version: &str) -> String {
    format!("GET http://{site}/ HTTP/{version}\r\nHost: {site}\r\nConnection: close\r\n\r\n")
}

#[test]
fn buffered_response_reaches_a_slow_client_whole() {
    let (with_length, until_close) = (buffering_site(true), buffering_site(false));
    let (proxy, at) = start(limited(60_000, None));
    let requests = [last_get(with_length, "1.1"), last_get(with_length, "1.0"), last_get(until_close, "1.1")];
    thread::scope(|scope| {
        for text in &requests {
            scope.spawn(move || {
                let mut stream = connect_slow(at);
                stream.write_all(text.as_bytes()).unwrap();
                assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
                assert_eq!(read_slowly(&mut stream).unwrap(), BUFFERED_BODY_BYTES, "{text}");
            });
        }
    });
    await_free_places(&proxy);
    assert_eq!((proxy.totals().requests, proxy.totals().timed_out), (3, 0));
}

#[test]
fn client_that_never_reads_a_buffered_response_is_reset_at_the_write_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut config = Config { access_log: Some(path.clone()), ..limited(60_000, None) };
    config.timeouts.write = Some(Duration::from_millis(500));
    let (proxy, at) = start(config);
    let mut stream = connect_slow(at);
    stream.write_all(last_get(buffering_site(false), "1.1").as_bytes()).unwrap();
    wait_until("the kernel has the response", || proxy.totals().requests == 1);
    await_free_places(&proxy);
    assert_eq!(proxy.totals().timed_out, 1);
    drop(proxy);
    let log = std::fs::read_to_string(path).unwrap();
    assert!(log.lines().any(|line| line.contains("\"outcome\":\"stalled\"")), "{log}");
}

#[test]
fn client_that_keeps_sending_has_the_whole_response_and_is_then_reset() {
    let (proxy, at) = start(limited(60_000, None));
    let mut stream = connect_slow(at);
    stream.write_all(last_get(buffering_site(false), "1.1").as_bytes()).unwrap();
    read_head(&mut stream);
    thread::scope(|scope| {
        let mut sender = stream.try_clone().unwrap();
        let sends = scope.spawn(move || while sender.write_all(&[b'x'; 1000]).is_ok() {});
        assert_eq!(read_slowly(&mut stream).unwrap(), BUFFERED_BODY_BYTES);
        sends.join().unwrap();
    });
    await_free_places(&proxy);
}

#[test]
fn end_of_the_proxy_waits_no_longer_and_the_kernel_delivers_the_response() {
    let mut config = limited(60_000, None);
    config.timeouts.drain = Duration::from_millis(200);
    let to = buffering_site(true);
    for drains in [true, false] {
        let (proxy, at) = start(config.clone());
        let mut stream = connect_slow(at);
        stream.write_all(last_get(to, "1.1").as_bytes()).unwrap();
        wait_until("the kernel has the response", || proxy.totals().requests == 1);
        if drains {
            assert!(!proxy.drain(), "the client has not received the response");
        } else {
            drop(proxy);
        }
        read_head(&mut stream);
        assert_eq!(read_slowly(&mut stream).unwrap(), BUFFERED_BODY_BYTES);
    }
}

#[test]
fn client_that_never_reads_the_end_of_a_kept_connection_is_reset_at_the_write_timeout() {
    let mut config = limited(60_000, None);
    config.timeouts.write = Some(Duration::from_millis(500));
    config.timeouts.keep_alive = Duration::from_millis(200);
    let (proxy, at) = start(config);
    let mut stream = connect_slow(at);
    stream.write_all(get(buffering_site(true), "/").as_bytes()).unwrap();
    wait_until("the kernel has the response", || proxy.totals().requests == 1);
    await_free_places(&proxy);
    assert_eq!(proxy.totals().timed_out, 1);
}

#[test]
fn error_of_a_pipelined_request_waits_for_the_response_before_it() {
    let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut config = limited(60_000, None);
    config.timeouts.handshake = Duration::from_millis(500);
    let (_proxy, at) = start(config);
    let mut stream = connect_slow(at);
    let requests = get(buffering_site(true), "/") + &get(refused, "/");
    stream.write_all(requests.as_bytes()).unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
    let mut body = vec![0; BUFFERED_BODY_BYTES];
    for part in body.chunks_mut(BUFFERED_BODY_BYTES / 20) {
        stream.read_exact(part).expect("the response is whole");
        thread::sleep(Duration::from_millis(100));
    }
    let error = read_head(&mut stream);
    assert!(error.starts_with("HTTP/1.1 502 "), "{error}");
}

#[test]
fn slow_request_counts_once_and_keeps_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut config = Config { access_log: Some(path.clone()), ..local() };
    config.timeouts.handshake = Duration::from_millis(300);
    let (proxy, at) = start(config);
    let answer = request(at, "GET http://a/ HTTP/1.1\r\nHo");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    await_free_places(&proxy);
    assert_eq!((proxy.totals().too_slow, proxy.totals().bad_requests), (1, 0));
    drop(proxy);
    let log = std::fs::read_to_string(path).unwrap();
    assert!(log.contains("\"outcome\":\"too slow\""), "{log}");
}
