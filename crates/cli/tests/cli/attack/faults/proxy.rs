//! The proxy, with tunnels to addresses and names, reloads, and an access log.

use super::{Daemon, log_to, splice_pipes};
use crate::proxy::{Running, configured};
use crate::proxy_names::name_server;
use crate::support::Place;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Bytes that each tunnel carries in each direction.
const BYTES: usize = 20_000;

/// A server that returns each byte.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut reader = stream.try_clone()?;
                std::io::copy(&mut reader, &mut stream)
            });
        }
    });
    address
}

/// Sends bytes through a tunnel and compares those that return. The tunnel may end early; only a
/// changed byte is a panic.
fn exchange(proxy: &str, host: &str) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{host}: {error}");
    let mut stream = TcpStream::connect(proxy).map_err(told)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(told)?;
    write!(stream, "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n").map_err(told)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).map_err(told)?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"HTTP/1.1 200") {
        return Err(format!("{host}: {}", String::from_utf8_lossy(&head)));
    }
    let sent: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
    let mut received = Vec::new();
    let mut writer = stream.try_clone().map_err(told)?;
    thread::scope(|scope| {
        scope.spawn(|| {
            _ = writer.write_all(&sent);
            _ = writer.shutdown(std::net::Shutdown::Write);
        });
        _ = (&mut stream).take(BYTES as u64 + 1).read_to_end(&mut received);
    });
    assert!(sent.starts_with(&received), "a changed byte after {} of {host}", received.len());
    if received.len() == BYTES { Ok(()) } else { Err(format!("{host}: {} bytes returned", received.len())) }
}

fn place(servers: SocketAddr) -> Place {
    let more = "[timeouts]\nhandshake = '2s'\nconnect = '2s'\ndrain = '2s'\n";
    let place = configured("");
    let before = place.read("proxy.toml");
    let text = before.replace("[timeouts]\ndrain = '10s'\n", more);
    assert_ne!(text, before, "the time limits are shorter");
    let text = format!("access_log = 'access.log'\nname_servers = ['{servers}']\n{text}");
    place.write("proxy.toml", &text);
    place
}

#[test]
fn proxy_survives_faults() {
    let place = place(name_server(&[Ipv4Addr::LOCALHOST]));
    let mut command = place.command(&["proxy", "--config", "proxy.toml"]);
    log_to(&place, &mut command);
    let (daemon, child) = Daemon::start(command, splice_pipes());
    let mut running = Running::answering(child, place);
    let (proxy, server) = (running.address(), echo());
    let mut nth = 0;
    let mut name = || {
        nth += 1;
        format!("host{nth}.example:{}", server.port())
    };
    let work = || {
        let hosts = [name(), name(), server.to_string()];
        thread::scope(|scope| {
            for host in &hosts {
                scope.spawn(|| exchange(&proxy, host));
            }
        });
        running.signal("HUP");
    };
    let mut last = 0;
    let recovered = || {
        last += 1;
        exchange(&proxy, &server.to_string())?;
        exchange(&proxy, &format!("last{last}.example:{}", server.port()))?;
        match running.totals("open") {
            0 => Ok(()),
            open => Err(format!("{open} connections are open")),
        }
    };
    daemon.attack(work, recovered);
    let (accepted, lost) = (running.totals("accepted"), running.totals("log_lost"));
    running.signal("TERM");
    running.await_end();
    let lines = running.place.read("access.log").lines().filter(|line| line.ends_with('}')).count() as u64;
    assert_eq!(lines + lost, accepted, "{lost} lines are counted as lost");
}
