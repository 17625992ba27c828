//! Memory of 5000 concurrent connections with slow peers. Its own binary, to measure the process.
#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

#[allow(dead_code, reason = "used by the other test binary")]
#[path = "../proxy/support.rs"]
mod support;

use crate::support::{local, random_bytes, start, wait_until};
use linux::socket::{self, Options, Protocol};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Resident memory of this process in bytes (`VmRSS`).
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Limit of resident memory per connection, including the sockets of the test itself.
const MAX_BYTES_PER_CONNECTION: usize = 16 << 10;
/// Bytes sent to each slow client; more than the socket buffers hold.
const RESPONSE_BYTES: usize = 512 << 10;

fn ask(at: SocketAddr, to: SocketAddr) -> TcpStream {
    // A small receive window leaves unread data at the proxy.
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
fn memory_per_connection_is_bounded_with_slow_peers() {
    // A tunnel needs four file descriptors in this process, a pending request two.
    linux::process::raise_open_file_limit(24_000);
    let limit = linux::process::open_file_limit();
    assert!(limit >= 20_000, "this test opens 20,000 files; the hard limit (`ulimit -Hn`) is {limit}");
    let most = 5000;
    let slow_senders = most / 8;
    let count = most - slow_senders;
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
    let slow_senders: Vec<_> = (0..slow_senders).map(begin).collect();
    let serving =
        thread::spawn(move || listener.incoming().take(count).map(Result::unwrap).collect::<Vec<_>>());
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(ask(at, to));
        // Limit pending connections to the listen backlog.
        if clients.len() % 200 == 0 {
            clients.iter_mut().rev().take(200).for_each(answered);
        }
    }
    clients.iter_mut().rev().take(count % 200).for_each(answered);
    let mut servers = serving.join().unwrap();
    wait_until("all connections are accepted", || proxy.totals().open == most as u64);
    let idle = resident().saturating_sub(before) / most;

    // Every second server sends to a client that does not read.
    let much = random_bytes(RESPONSE_BYTES, 1);
    let mut sent = vec![0; count];
    let mut send = |servers: &mut [TcpStream]| {
        for (server, sent) in servers.iter_mut().zip(&mut sent).step_by(2) {
            server.set_nonblocking(true).unwrap();
            while *sent < RESPONSE_BYTES {
                match server.write(&much[*sent..]) {
                    Ok(bytes) => *sent += bytes,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        sent.iter().filter(|&&sent| sent == RESPONSE_BYTES).count()
    };
    send(&mut servers);
    let mut carried = 0;
    wait_until("the relay stops", || {
        send(&mut servers);
        thread::sleep(Duration::from_secs(1));
        let now = proxy.totals().bytes_down;
        std::mem::replace(&mut carried, now) == now && now > 0
    });
    assert!(
        carried < (count / 2 * RESPONSE_BYTES) as u64,
        "slow readers must limit the relayed bytes: {carried}"
    );
    let slow = resident().saturating_sub(before) / most;
    println!("{most} connections: {idle} bytes each before data, {slow} with slow readers");
    assert!(
        idle < MAX_BYTES_PER_CONNECTION && slow < MAX_BYTES_PER_CONNECTION,
        "{idle} and {slow} bytes a connection"
    );

    // Slow readers do not delay the other direction.
    let mut received = vec![Vec::new(); count];
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
    // Slow clients receive everything once they read.
    for at in (0..count).step_by(count / 50).filter(|at| at % 2 == 0) {
        let (server, client) = (&mut servers[at], &mut clients[whose[at]]);
        let rest = &much[sent[at]..];
        thread::scope(|scope| {
            scope.spawn(move || server.write_all(rest).unwrap());
            received[at].resize(RESPONSE_BYTES, 0);
            client.read_exact(&mut received[at]).unwrap();
        });
        assert!(received[at] == much);
    }
    drop((clients, servers, slow_senders));
    wait_until("all connections end", || proxy.totals().open == 0);
}
