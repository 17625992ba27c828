//! Logins: guesses, lock-out and revocation, as clients see them.

use crate::support::{connect, echo, local, read_head, read_to_end, request, server, start, wait_until};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use tandem_proxy::credentials::Credential;
use tandem_proxy::users::{self, Users};
use tandem_proxy::{Config, Proxy};

/// Line of a users file for `username:password`.
fn line(credential: &str) -> String {
    let (username, password) = credential.split_once(':').unwrap();
    format!("{username}:{}\n", users::hash(password).unwrap())
}

fn with_users(file: &str) -> Config {
    let mut config = local();
    config.clients.users = Users::parse(file).unwrap();
    config
}

fn authorization(credential: &str) -> String {
    format!("Proxy-Authorization: {}\r\n", Credential::parse(credential).unwrap().to_basic())
}

fn connect_request(to: SocketAddr, credential: &str) -> String {
    let authorization = authorization(credential);
    format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{authorization}\r\n")
}

fn tunnel_of(at: SocketAddr, to: SocketAddr, credential: &str) -> TcpStream {
    let mut stream = connect(at);
    stream.write_all(connect_request(to, credential).as_bytes()).unwrap();
    let head = read_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
}

/// Sends many guesses on each connection, on several connections at a time.
fn guess_for(proxy: &Proxy, at: SocketAddr, time: Duration) -> u64 {
    let until = Instant::now() + time;
    let guessers: Vec<_> = (0..8)
        .map(|guesser| {
            thread::spawn(move || {
                while Instant::now() < until {
                    let Ok(mut stream) = TcpStream::connect(at) else { continue };
                    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                    let guesses: Vec<String> = (0..100)
                        .map(|number| {
                            let guess = authorization(&format!("ann:{guesser}-{number}"));
                            format!("GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\n{guess}\r\n")
                        })
                        .collect();
                    _ = stream.write_all(guesses.concat().as_bytes());
                    _ = stream.read(&mut [0; 16384]);
                }
            })
        })
        .collect();
    for one in guessers {
        one.join().unwrap();
    }
    proxy.totals().unauthorized
}

#[test]
fn guesses_of_an_address_are_few_in_any_time() {
    let (proxy, at) = start(with_users(&line("ann:right")));
    let verified = guess_for(&proxy, at, Duration::from_secs(3));
    assert!((5..=9).contains(&verified), "{verified} guesses were verified in three seconds");
    let response = request(at, &connect_request(echo(), "ann:right"));
    assert!(response.starts_with("HTTP/1.1 429 Too Many Requests\r\nRetry-After: "), "{response}");
    assert!(proxy.totals().locked_out > 0);
    // SOCKS5: failure, then the end of the connection.
    let mut stream = connect(at);
    stream.write_all(b"\x05\x01\x02\x01\x03ann\x05right").unwrap();
    assert_eq!(read_to_end(&mut stream).as_bytes(), [5, 2, 1, 1]);
}

#[test]
fn locked_out_address_logs_in_after_its_wait() {
    let (_proxy, at) = start(with_users(&line("ann:right")));
    let to = echo();
    for number in 0..5 {
        let response = request(at, &connect_request(to, &format!("ann:{number}")));
        assert!(response.starts_with("HTTP/1.1 407 "), "{response}");
    }
    assert!(request(at, &connect_request(to, "ann:right")).starts_with("HTTP/1.1 429 "));
    thread::sleep(Duration::from_millis(1100));
    tunnel_of(at, to, "ann:right");
    tunnel_of(at, to, "ann:right");
}

#[test]
fn reload_ends_the_connections_of_revoked_users() {
    let site = server(|mut stream| {
        while !read_head(&mut stream).is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    let endless = server(|mut stream| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n12345").unwrap();
        thread::sleep(Duration::from_secs(60));
    });
    let to = echo();
    let ann = line("ann:a");
    let (proxy, at) = start(with_users(&[&*ann, &line("bob:b"), &line("eve:e")].concat()));
    let get = |site: SocketAddr, credential: &str| {
        let mut stream = connect(at);
        let authorization = authorization(credential);
        write!(stream, "GET http://{site}/ HTTP/1.1\r\nHost: {site}\r\n{authorization}\r\n").unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
        stream
    };
    let mut removed = [tunnel_of(at, to, "bob:b"), get(site, "bob:b"), get(endless, "bob:b")];
    let mut changed = [tunnel_of(at, to, "eve:e"), get(site, "eve:e"), get(endless, "eve:e")];
    let mut stays = tunnel_of(at, to, "ann:a");
    wait_until("the tunnels are open", || proxy.totals().tunnels == 3);
    proxy.reload(with_users(&(ann + &line("eve:other")))).unwrap();
    let start = Instant::now();
    for stream in removed.iter_mut().chain(&mut changed) {
        while let Ok(1..) = stream.read(&mut [0; 100]) {}
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    stays.write_all(b"on").unwrap();
    stays.read_exact(&mut [0; 2]).unwrap();
    assert!(request(at, &connect_request(to, "eve:e")).starts_with("HTTP/1.1 407 "));
    tunnel_of(at, to, "eve:other");
}

#[test]
fn challenge_before_a_login_is_no_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let (proxy, at) = start(Config { access_log: Some(path.clone()), ..with_users(&line("ann:right")) });
    let site = server(|mut stream| {
        while !read_head(&mut stream).is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    let mut stream = connect(at);
    let authorization = authorization("ann:right");
    for (fields, status) in [("", "407"), (&*authorization, "200"), (&*authorization, "200")] {
        write!(stream, "GET http://{site}/ HTTP/1.1\r\nHost: {site}\r\n{fields}\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        if status == "407" {
            let length = head.split_once("Content-Length: ").unwrap().1.split_once('\r').unwrap().0;
            stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
        }
    }
    drop(stream);
    wait_until("the connection ends", || proxy.totals().open == 0);
    drop(proxy);
    let log = std::fs::read_to_string(path).unwrap();
    let connection = log.lines().find(|line| line.contains("\"event\":\"connection\"")).unwrap();
    assert!(
        connection.contains("\"user\":\"ann\"") && connection.contains("\"outcome\":\"closed\""),
        "{connection}"
    );
}

#[test]
fn challenge_of_a_head_request_has_no_content() {
    let (_proxy, at) = start(with_users(&line("ann:right")));
    let site = server(|mut stream| {
        while !read_head(&mut stream).is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").unwrap();
        }
    });
    let mut stream = connect(at);
    for (fields, status) in [("", "407"), (&*authorization("ann:right"), "200")] {
        write!(stream, "HEAD http://{site}/ HTTP/1.1\r\nHost: {site}\r\n{fields}\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(head.contains("\r\nContent-Length: "), "{head}");
    }
}

#[test]
fn reload_without_users_lets_no_earlier_connection_in_without_a_login() {
    let to = echo();
    let (proxy, at) = start(with_users(&line("ann:right")));
    let [mut http, mut socks, mut socks_before_password] = [connect(at), connect(at), connect(at)];
    socks_before_password.write_all(b"\x05\x01\x02").unwrap();
    let mut method = [0; 2];
    socks_before_password.read_exact(&mut method).unwrap();
    assert_eq!(method, [5, 2]);
    wait_until("all are accepted", || proxy.totals().open == 3);
    let mut by_address = local();
    by_address.clients.allow = vec!["198.51.100.0/24".parse().unwrap()];
    proxy.reload(by_address).unwrap();
    assert_eq!(request(at, &connect_request(to, "ann:right")), "", "its address is not allowed");
    http.write_all(connect_request(to, "ann:right").as_bytes()).unwrap();
    let head = read_head(&mut http);
    assert!(head.starts_with("HTTP/1.1 407 "), "{head}");
    socks.write_all(b"\x05\x01\x00").unwrap();
    assert_eq!(read_to_end(&mut socks).into_bytes(), "\u{5}\u{fffd}".as_bytes(), "no method fits");
    socks_before_password.write_all(b"\x01\x03ann\x05right").unwrap();
    assert_eq!(read_to_end(&mut socks_before_password).as_bytes(), [1, 1]);
}

#[test]
fn requests_without_a_login_do_not_outlast_the_lifetime_limit() {
    let to = server(|mut stream| {
        read_head(&mut stream);
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    let mut config = with_users(&line("ann:right"));
    config.timeouts.total = Some(Duration::from_secs(2));
    let (proxy, at) = start(config);
    let mut stream = connect(at);
    let request = |fields: &str| format!("GET http://{to}/ HTTP/1.1\r\nHost: {to}\r\n{fields}\r\n");
    stream.write_all(request(&authorization("ann:right")).as_bytes()).unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
    // Each segment ends a request and begins the next one.
    let anonymous = request("");
    let (first, rest) = anonymous.split_at(1);
    let start = Instant::now();
    _ = stream.write_all(first.as_bytes());
    while start.elapsed() < Duration::from_secs(6) && proxy.totals().open > 0 {
        _ = stream.write_all(format!("{rest}{first}").as_bytes());
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(proxy.totals().open, 0, "the place is free");
}
