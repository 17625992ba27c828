//! Proxy, servers and clients for the integration tests.

use linux::socket::{self, Options, Protocol};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use tandem_proxy::config::{Listen, ListenerProtocol};
use tandem_proxy::{Config, Proxy};

/// Configuration that permits loopback destinations.
pub(crate) fn local() -> Config {
    Config {
        listen: vec![listen(ListenerProtocol::Auto)],
        destinations: tandem_proxy::destination::Rules {
            allow: vec!["127.0.0.0/8".parse().unwrap()],
            ..Default::default()
        },
        ..Config::default()
    }
}

pub(crate) fn listen(serve: ListenerProtocol) -> Listen {
    Listen {
        address: "127.0.0.1:0".parse().unwrap(),
        serve,
        protocol: protocol(),
        tls: false,
        send_buffer: None,
    }
}

/// MPTCP if the kernel supports it, else TCP. In continuous integration the kernel has to.
pub(crate) fn protocol() -> Protocol {
    let any = "127.0.0.1:0".parse().unwrap();
    match socket::listen(any, Protocol::Mptcp, &Options::default()) {
        Ok(_) => Protocol::Mptcp,
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "without MPTCP: {error}");
            Protocol::Tcp
        }
    }
}

pub(crate) fn start(config: Config) -> (Proxy, SocketAddr) {
    let proxy = Proxy::start(config, None).unwrap();
    let at = proxy.listening()[0];
    (proxy, at)
}

/// Runs `serve` for each connection to a new server, in a thread per connection.
pub(crate) fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    at
}

/// Echo server; closes after the client does.
pub(crate) fn echo() -> SocketAddr {
    server(|mut stream| {
        let mut copy = stream.try_clone().unwrap();
        _ = std::io::copy(&mut stream, &mut copy);
        _ = copy.shutdown(Shutdown::Write);
    })
}

/// Connects to the proxy, over MPTCP if available.
pub(crate) fn connect(at: SocketAddr) -> TcpStream {
    let stream = socket::connect(at, protocol(), &Options::default()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Body of a response that fits into the send buffer of a connection, in bytes.
pub(crate) const BUFFERED_BODY_BYTES: usize = 60_000;

/// Server of responses of [`BUFFERED_BODY_BYTES`], with their length or until the connection closes.
pub(crate) fn buffering_site(with_length: bool) -> SocketAddr {
    server(move |mut stream| {
        read_head(&mut stream);
        let length =
            if with_length { format!("Content-Length: {BUFFERED_BODY_BYTES}\r\n") } else { String::new() };
        _ = write!(stream, "HTTP/1.1 200 OK\r\n{length}\r\n");
        _ = stream.write_all(&vec![b'x'; BUFFERED_BODY_BYTES]);
    })
}

/// Connects with a small receive buffer, so that a response waits at the proxy.
pub(crate) fn connect_slow(at: SocketAddr) -> TcpStream {
    let options = Options { receive_buffer: Some(4096), ..Options::default() };
    let stream = socket::connect(at, protocol(), &options).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Reads to the end of stream over at least two seconds. Returns the number of bytes.
pub(crate) fn read_slowly(stream: &mut TcpStream) -> std::io::Result<usize> {
    let (mut bytes, mut part) = (0, [0; BUFFERED_BODY_BYTES / 20]);
    loop {
        match stream.read(&mut part)? {
            0 => return Ok(bytes),
            count => bytes += count,
        }
        // The pace of the client.
        thread::sleep(Duration::from_millis(100));
    }
}

/// Reads a head byte by byte, so that the body stays in the socket.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => text.push(byte[0]),
            // The caller detects the missing final empty line.
            _ => break,
        }
    }
    String::from_utf8(text).unwrap()
}

/// Reads to the end of stream or a reset.
pub(crate) fn read_to_end(stream: &mut TcpStream) -> String {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut part) {
        all.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Sends `text` to the proxy and returns the response; empty if the proxy resets the connection.
pub(crate) fn request(at: SocketAddr, text: &str) -> String {
    let Ok(mut stream) = socket::connect(at, protocol(), &Options::default()) else { return String::new() };
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    if stream.write_all(text.as_bytes()).is_err() {
        return String::new();
    }
    read_to_end(&mut stream)
}

/// Opens a tunnel by CONNECT.
pub(crate) fn tunnel(at: SocketAddr, to: SocketAddr) -> TcpStream {
    let mut stream = connect(at);
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
    let head = read_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
}

/// Polls a condition for up to 20 s.
pub(crate) fn wait_until(condition_name: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "timeout: {condition_name}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Pseudorandom bytes from a seed.
pub(crate) fn random_bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut rng = units::Seed::new(seed).rng("noise");
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| rng.bits().to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}
