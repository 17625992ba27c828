//! Five thousand connections at once, more than half of them slow to speak or to read; in a process of its own, whose memory is looked at.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../proxy/support.rs"]
mod support;

use crate::support::{local, noise, start, until};
use linux::socket::{self, Options, Protocol};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Bytes of this process that are in memory (`VmRSS`).
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// What this process may take for each connection, of which most belongs to the test's own and the proxy's sockets.
const BOUND: usize = 16 << 10;
/// What a server sends to each slow client: more than the sockets between them hold.
const MUCH: usize = 512 << 10;

fn ask(at: SocketAddr, to: SocketAddr) -> TcpStream {
    // A window of a few kilobytes: the proxy's socket, and then the proxy, has what is not read.
    let options = Options { receive_buffer: Some(4 << 10), ..Options::default() };
    let mut stream = socket::connect(at, Protocol::Tcp, &options).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
    stream
}

fn answered(stream: &mut TcpStream) {
    let mut answer = [0; 39];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 Connection established\r\n\r\n");
}

#[test]
fn thousands_of_connections_half_of_them_slow_need_little_and_hold_nobody_up() {
    linux::process::raise_open_file_limit(24_000);
    // A tunnel is two files in the proxy and one at each end; who has not yet said where to has one at each end.
    let most = 5000.min((linux::process::open_file_limit() as usize).saturating_sub(800) / 37 * 10);
    if most < 5000 {
        println!("with {most} connections and not 5000: this process may open no more files");
    }
    let speakers = most / 8;
    let count = most - speakers;
    let mut config = local();
    config.limits.connections = most;
    config.limits.per_client = most;
    config.timeouts.handshake = Duration::from_secs(60);
    let (proxy, at) = start(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();

    let before = resident();
    let begin = |_| {
        let mut stream = socket::connect(at, Protocol::Tcp, &Options::default()).unwrap();
        stream.write_all(b"GET http://a/ HTTP/1.1\r\nHost:").unwrap();
        stream
    };
    let speakers: Vec<_> = (0..speakers).map(begin).collect();
    let serving =
        thread::spawn(move || listener.incoming().take(count).map(Result::unwrap).collect::<Vec<_>>());
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(ask(at, to));
        // No more at once than anybody's backlog holds.
        if clients.len() % 200 == 0 {
            clients.iter_mut().rev().take(200).for_each(answered);
        }
    }
    clients.iter_mut().rev().take(count % 200).for_each(answered);
    let mut servers = serving.join().unwrap();
    until("all have come", || proxy.totals().open == most as u64);
    let idle = resident().saturating_sub(before) / most;

    // Every second server sends much to a client that reads nothing.
    let much = noise(MUCH, 1);
    let mut sent = vec![0; count];
    let mut send = |servers: &mut [TcpStream]| {
        for (server, sent) in servers.iter_mut().zip(&mut sent).step_by(2) {
            server.set_nonblocking(true).unwrap();
            while *sent < MUCH {
                match server.write(&much[*sent..]) {
                    Ok(bytes) => *sent += bytes,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        sent.iter().filter(|&&sent| sent == MUCH).count()
    };
    send(&mut servers);
    let mut carried = 0;
    until("all is where it stays", || {
        send(&mut servers);
        thread::sleep(Duration::from_millis(200));
        let now = proxy.totals().bytes_down;
        std::mem::replace(&mut carried, now) == now && now > 0
    });
    assert!(carried < (count / 2 * MUCH) as u64, "the slow hold the proxy back: {carried}");
    let slow = resident().saturating_sub(before) / most;
    println!("{most} connections: {idle} bytes each before data, {slow} with slow readers");
    assert!(idle < BOUND && slow < BOUND, "{idle} and {slow} bytes a connection");

    // Nobody waits for the slow ones.
    let mut heard = vec![Vec::new(); count];
    for (nth, client) in clients.iter_mut().enumerate() {
        client.write_all(&(nth as u32).to_be_bytes()).unwrap();
    }
    let mut whose = vec![usize::MAX; count];
    for (at, server) in servers.iter_mut().enumerate() {
        server.set_nonblocking(false).unwrap();
        server.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut name = [0; 4];
        server.read_exact(&mut name).unwrap();
        whose[at] = u32::from_be_bytes(name) as usize;
    }
    // And what they are sent comes whole, once they read.
    for at in (0..count).step_by(count / 50).filter(|at| at % 2 == 0) {
        let (server, client) = (&mut servers[at], &mut clients[whose[at]]);
        let rest = &much[sent[at]..];
        thread::scope(|scope| {
            scope.spawn(move || server.write_all(rest).unwrap());
            heard[at].resize(MUCH, 0);
            client.read_exact(&mut heard[at]).unwrap();
        });
        assert!(heard[at] == much);
    }
    drop((clients, servers, speakers));
    until("all are gone", || proxy.totals().open == 0);
}
