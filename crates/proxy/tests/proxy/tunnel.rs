//! Tunnels over CONNECT and SOCKS5.

use crate::support::{
    connect, echo, local, random_bytes, read_head, read_to_end, server, start, tunnel, wait_until,
};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use tandem_proxy::config::{Upstream, UpstreamProtocol};

/// Sends `bytes` while reading the echo, to the end of both directions.
fn round_trip(mut stream: TcpStream, bytes: &[u8]) -> Vec<u8> {
    let mut out = stream.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            out.write_all(bytes).unwrap();
            out.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        back
    })
}

fn socks(at: SocketAddr, to: SocketAddr) -> TcpStream {
    let SocketAddr::V4(to) = to else { panic!("{to}") };
    let mut stream = connect(at);
    stream.write_all(&[5, 1, 0]).unwrap();
    let mut choice = [0; 2];
    stream.read_exact(&mut choice).unwrap();
    assert_eq!(choice, [5, 0]);
    let mut ask = vec![5, 1, 0, 1];
    ask.extend_from_slice(&to.ip().octets());
    ask.extend_from_slice(&to.port().to_be_bytes());
    stream.write_all(&ask).unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[..4], [5, 0, 0, 1]);
    stream
}

#[test]
fn invalid_name_gets_a_socks_reply() {
    let (_proxy, at) = start(local());
    let mut stream = connect(at);
    stream.write_all(&[5, 1, 0, 5, 1, 0, 3, 3, 0xc3, 0xbc, b'b', 0, 80]).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert_eq!(all[..4], [5, 0, 5, 1], "general failure");
}

#[test]
fn tunnels_relay_bytes_unchanged() {
    let (proxy, at) = start(local());
    let to = echo();
    for length in [0, 1, 4096, 100_000, 20_000_000] {
        let bytes = random_bytes(length, length as u64);
        assert!(round_trip(tunnel(at, to), &bytes) == bytes, "CONNECT, {length} bytes");
        assert!(round_trip(socks(at, to), &bytes) == bytes, "SOCKS5, {length} bytes");
    }
    wait_until("all connections end", || proxy.totals().open == 0);
    let totals = proxy.totals();
    assert_eq!((totals.accepted, totals.tunnels), (10, 10));
    assert_eq!((totals.bytes_up, totals.bytes_down), (40_208_194, 40_208_194));
    assert!(proxy.drain());
}

#[test]
fn early_tunnel_data_is_relayed() {
    let (_proxy, at) = start(local());
    let to = echo();
    let mut stream = connect(at);
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\nearly").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read_head(&mut stream);
    assert_eq!(read_to_end(&mut stream), "early");
}

#[test]
fn tunnel_supports_half_close() {
    let (_proxy, at) = start(local());
    // Responds only after the end of stream.
    let to = server(|mut stream| {
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        thread::sleep(Duration::from_millis(50));
        write!(stream, "heard {}", all.len()).unwrap();
    });
    let mut stream = tunnel(at, to);
    stream.write_all(&[b'x'; 10_000]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(&mut stream), "heard 10000");
}

#[test]
fn slow_reader_applies_backpressure() {
    let (proxy, at) = start(local());
    let to = server(|mut stream| _ = stream.write_all(&random_bytes(64 << 20, 1)));
    let mut stream = tunnel(at, to);
    let mut before = 0;
    // Without reads the proxy stops taking data long before the end.
    wait_until("the relay stops", || {
        thread::sleep(Duration::from_millis(200));
        let now = proxy.totals().bytes_down;
        std::mem::replace(&mut before, now) == now && now > 0
    });
    assert!(before < 32 << 20, "{before}");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(all == random_bytes(64 << 20, 1));
}

#[test]
fn idle_tunnel_is_reset() {
    let mut config = local();
    config.timeouts.idle = Duration::from_millis(200);
    let (proxy, at) = start(config);
    let mut stream = tunnel(at, echo());
    assert!(stream.read(&mut [0]).is_err(), "reset instead of end of stream");
    wait_until("the counter increases", || proxy.totals().timed_out == 1);
}

#[test]
fn tunnel_is_reset_at_its_lifetime_limit() {
    let mut config = local();
    config.timeouts.total = Some(Duration::from_millis(300));
    let (proxy, at) = start(config);
    let mut stream = tunnel(at, echo());
    while stream.write_all(b"again").is_ok() && matches!(stream.read(&mut [0; 5]), Ok(1..)) {
        thread::sleep(Duration::from_millis(20));
    }
    wait_until("the counter increases", || proxy.totals().timed_out == 1);
}

#[test]
fn reset_is_propagated() {
    let (_proxy, at) = start(local());
    let to = server(|mut stream| {
        stream.read_exact(&mut [0]).unwrap();
        linux::socket::abort(&stream).unwrap();
    });
    let mut stream = tunnel(at, to);
    stream.write_all(b"x").unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn chained_proxies_relay_bytes_unchanged() {
    let (far, there) = start(local());
    let mut near = local();
    near.upstream = Some(Upstream::new(
        there.to_string().parse().unwrap(),
        UpstreamProtocol::Connect,
        crate::support::protocol(),
    ));
    let (_near, at) = start(near);
    let bytes = random_bytes(1_000_000, 5);
    let to = echo();
    assert!(round_trip(tunnel(at, to), &bytes) == bytes);
    assert!(round_trip(socks(at, to), &bytes) == bytes);
    assert_eq!(far.totals().tunnels, 2);
    if crate::support::protocol() == linux::socket::Protocol::Mptcp {
        assert_eq!(far.totals().accepted_mptcp, 2);
    }
}
