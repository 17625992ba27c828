//! A proxy that leads to this host, servers for it to lead to, and clients.

use linux::socket::{self, Options, Protocol};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use tandem_proxy::config::{Listen, ListenerProtocol};
use tandem_proxy::{Config, Proxy};

/// A proxy that may lead to this host.
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
    Listen { address: "127.0.0.1:0".parse().unwrap(), serve, protocol: protocol(), send_buffer: None }
}

/// MPTCP where this kernel has it.
pub(crate) fn protocol() -> Protocol {
    let any = "127.0.0.1:0".parse().unwrap();
    match socket::listen(any, Protocol::Mptcp, &Options::default()) {
        Ok(_) => Protocol::Mptcp,
        Err(error) => {
            println!("without MPTCP: {error}");
            Protocol::Tcp
        }
    }
}

pub(crate) fn start(config: Config) -> (Proxy, SocketAddr) {
    let proxy = Proxy::start(config, None).unwrap();
    let at = proxy.listening()[0];
    (proxy, at)
}

/// A server that has `serve` with each connection, in a thread of its own.
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

/// Sends back what comes, and ends when that does.
pub(crate) fn echo() -> SocketAddr {
    server(|mut stream| {
        let mut copy = stream.try_clone().unwrap();
        _ = std::io::copy(&mut stream, &mut copy);
        _ = copy.shutdown(Shutdown::Write);
    })
}

/// A connection to the proxy, over MPTCP where there is any.
pub(crate) fn connect(at: SocketAddr) -> TcpStream {
    let stream = socket::connect(at, protocol(), &Options::default()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Reads until the end of a head, byte by byte, so that nothing behind it is taken.
pub(crate) fn head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => text.push(byte[0]),
            // A caller that looks at it sees that its end is not there.
            _ => break,
        }
    }
    String::from_utf8(text).unwrap()
}

/// What comes until the end, which may be a reset.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut part) {
        all.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Sends `text` to the proxy and gives all that is answered; nothing where it wants none of it.
pub(crate) fn say(at: SocketAddr, text: &str) -> String {
    let Ok(mut stream) = socket::connect(at, protocol(), &Options::default()) else { return String::new() };
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    if stream.write_all(text.as_bytes()).is_err() {
        return String::new();
    }
    rest(&mut stream)
}

/// A tunnel by CONNECT.
pub(crate) fn tunnel(at: SocketAddr, to: SocketAddr) -> TcpStream {
    let mut stream = connect(at);
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
    let head = head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
}

/// Waits until it is so; a test of what others do in their own time ends here if it does not.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Bytes that are never the same twice.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut rng = units::Seed::new(seed).rng("noise");
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| rng.bits().to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}
