//! Content servers and proxies for the tests.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]
#![allow(dead_code, reason = "each test uses a part of this module")]

use abr::{Manifest, PlayerConfig, THROUGHPUT};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use tandem_player::content::{Content, Entry, Log, Serving, spawn};
use tandem_player::{Config, Source};
use units::{Bitrate, Bytes, Duration};
use url::Url;

/// A content server, or the address of one that runs elsewhere.
pub(crate) struct Server {
    serving: Option<Serving>,
    log: Log,
    address: SocketAddr,
}

impl Server {
    pub(crate) fn start(content: Content) -> Self {
        let log = Log::kept();
        let serving = spawn(TcpListener::bind("127.0.0.1:0").unwrap(), content, Some(log.clone())).unwrap();
        Self { address: serving.address(), serving: Some(serving), log }
    }

    pub(crate) fn at(port: u16) -> Self {
        Self { serving: None, log: Log::kept(), address: ([127, 0, 0, 1], port).into() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        format!("http://{}/{path}", self.address).parse().unwrap()
    }

    /// Stops the server and returns the requests that it answered.
    pub(crate) fn stop(mut self) -> Vec<Entry> {
        drop(self.serving.take());
        self.log.entries()
    }
}

/// Returns a manifest of `segments` segments of `ms` milliseconds each, at 0.4 and 2 Mbit/s.
pub(crate) fn sizes(segments: usize, ms: u64) -> Manifest {
    let rates: Vec<Bitrate> = [0.4, 2.0].map(Bitrate::from_mbps).to_vec();
    let length = Duration::from_millis(ms);
    let row: Vec<Bytes> = rates.iter().map(|rate| rate.over(length)).collect();
    Manifest::new(length, rates, vec![row; segments]).unwrap()
}

pub(crate) fn config(server: &Server, manifest: Manifest) -> Config {
    let source = Source::Sizes { name: "test".into(), manifest, server: server.url("") };
    Config::new(source, PlayerConfig::new(THROUGHPUT))
}

/// A hand-written server with one response per connection.
pub(crate) fn answers(texts: Vec<Vec<u8>>) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for text in texts {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            asked.push(String::from_utf8(request).unwrap());
            stream.write_all(&text).unwrap();
        }
        asked
    });
    (port, thread)
}

/// A response with its length.
pub(crate) fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

/// Starts a proxy for one connection that requires the credentials `me` and `secret`. Its thread
/// returns the head of the HTTP request, or the destination address of the SOCKS request.
pub(crate) fn proxy(socks: bool) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut take = |count: usize| {
            let mut bytes = vec![0; count];
            client.read_exact(&mut bytes).unwrap();
            bytes
        };
        if socks {
            assert_eq!(take(4), [5, 2, 0, 2]);
            client.write_all(&[5, 2]).unwrap();
            let mut login = vec![0; 11];
            client.read_exact(&mut login).unwrap();
            assert_eq!(login, b"\x01\x02me\x06secret");
            client.write_all(&[1, 0]).unwrap();
            let mut request = [0; 10];
            client.read_exact(&mut request).unwrap();
            assert_eq!(request[..4], [5, 1, 0, 1]);
            let address = SocketAddr::from((
                [request[4], request[5], request[6], request[7]],
                u16::from_be_bytes([request[8], request[9]]),
            ));
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
            carry(client, TcpStream::connect(address).unwrap());
            return address.to_string();
        }
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(take(1));
        }
        let text = String::from_utf8(head.clone()).unwrap();
        let address = text.split('/').nth(2).unwrap().to_owned();
        let mut server = TcpStream::connect(address).unwrap();
        // The content server accepts absolute URIs, as RFC 9112 requires of every server.
        server.write_all(&head).unwrap();
        carry(client, server);
        text
    });
    (port, thread)
}

fn carry(client: TcpStream, server: TcpStream) {
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let up = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Both);
    up.join().unwrap();
}
