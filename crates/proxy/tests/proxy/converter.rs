//! 0-RTT TCP Convert, from a raw client and from an upstream proxy.

use crate::support::{connect, listen, local, protocol, random_bytes, read_to_end, server, start, tunnel};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use tandem_proxy::config::{ListenerProtocol, Upstream, UpstreamProtocol};
use tandem_proxy::front::convert::{self, Code, Response};
use tandem_proxy::{Config, Proxy};

fn converter() -> (Proxy, SocketAddr) {
    start(Config { listen: vec![listen(ListenerProtocol::Convert)], ..local() })
}

/// Sends a message to the converter and returns its response.
fn exchange(bytes: &[u8], at: SocketAddr) -> Vec<u8> {
    let mut stream = connect(at);
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn converter_rejects_with_the_error_codes_of_rfc_8803() {
    let (proxy, at) = converter();
    let code = |bytes: &[u8]| match convert::parse_response(&exchange(bytes, at)) {
        Ok(Some((_, Response::Failed(code, _)))) => code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(&convert::encode_request("127.0.0.1:80".parse().unwrap(), None)), Code::Malformed as u8);
    assert_eq!(
        code(&convert::encode_request("10.0.0.1:80".parse().unwrap(), None)),
        Code::NotAuthorized as u8
    );
    assert_eq!(
        code(&convert::encode_request("[64:ff9b::a00:1]:80".parse().unwrap(), None)),
        Code::NotAuthorized as u8
    );
    assert_eq!(code(&[2, 1, 0x22, 0x63]), Code::UnsupportedVersion as u8);
    assert_eq!(code(&[1, 2, 0x22, 0x63, 0x99, 1, 0, 0]), Code::UnsupportedMessage as u8);
    assert_eq!(exchange(b"GET / HTTP/1.1\r\n\r\n", at), b"", "not a Convert message: reset");
    assert_eq!(exchange(&[1, 0, 0x22, 0x63], at), b"");
    assert_eq!(
        exchange(&[1, 2, 0x22, 0x63, 1, 1, 0, 0], at),
        [1, 4, 0x22, 0x63, 0x15, 3, 0, 0, 2, 3, 4, 8, 30, 0, 0, 0]
    );
    assert_eq!(proxy.totals().tunnels, 0);
}

/// Runs `test` in a network namespace with a routable address, because Convert rejects loopback
/// addresses (RFC 8803, section 6.2.5).
fn with_routable_address(test: impl FnOnce(std::net::IpAddr) + Send) {
    use linux::namespace::Namespace;
    use linux::route::Route;
    let address: std::net::IpAddr = "10.9.8.7".parse().unwrap();
    let result = Namespace::create().and_then(|namespace| {
        namespace.run(|| {
            _ = linux::sysctl::write("net.mptcp.enabled", "1");
            let mut route = Route::open()?;
            let loopback = route.link("lo")?.index;
            route.set_up(loopback, true)?;
            route.add_address(loopback, address, 32)?;
            test(address);
            Ok(())
        })
    });
    result.unwrap();
}

#[test]
#[ignore = "needs root"]
fn needs_root_converter_relays_early_data_and_serves_a_convert_upstream() {
    with_routable_address(|address| {
        let mut config = Config { listen: vec![listen(ListenerProtocol::Convert)], ..local() };
        config.destinations.allow = vec!["10.9.8.7".parse().unwrap()];
        let (proxy, at) = start(config);
        let listener = std::net::TcpListener::bind((address, 0)).unwrap();
        let to = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut copy = stream.try_clone().unwrap();
                _ = std::io::copy(&mut stream, &mut copy);
                _ = copy.shutdown(Shutdown::Write);
            }
        });
        let mut stream = connect(at);
        stream.write_all(&[convert::encode_request(to, None), b"early".to_vec()].concat()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [1, 1, 0x22, 0x63]);
        assert_eq!(read_to_end(&mut stream), "early");
        assert_eq!(proxy.totals().tunnels, 1);
        let nobody = std::net::TcpListener::bind((address, 0)).unwrap().local_addr().unwrap();
        let answer = convert::parse_response(&exchange(&convert::encode_request(nobody, None), at));
        assert!(matches!(answer, Ok(Some((_, Response::Failed(96, _))))), "{answer:?}");

        // The same through an upstream configuration with Convert.
        let mut near = local();
        near.upstream =
            Some(Upstream::new(at.to_string().parse().unwrap(), UpstreamProtocol::Convert, protocol()));
        near.destinations.allow = vec!["10.9.8.7".parse().unwrap()];
        let (_near, at) = start(near);
        let mut stream = tunnel(at, to);
        let bytes = random_bytes(300_000, 1);
        std::thread::scope(|scope| {
            let (mut out, bytes) = (stream.try_clone().unwrap(), &bytes);
            scope.spawn(move || {
                out.write_all(bytes).unwrap();
                out.shutdown(Shutdown::Write).unwrap();
            });
            let mut back = Vec::new();
            stream.read_to_end(&mut back).unwrap();
            assert!(back == *bytes);
        });
    });
}

/// A converter that connects to nothing: it answers `refuse` to each request for `bad`, and greets
/// for other peers.
fn greeting_converter(bad: std::net::Ipv6Addr, refuse: Code) -> SocketAddr {
    server(move |mut stream| {
        let mut ask = [0; 64];
        let Ok(read @ 1..) = stream.read(&mut ask) else { return };
        let answer = if ask[..read].windows(16).any(|part| part == bad.octets()) {
            convert::encode_error(refuse, &[0])
        } else {
            [&[1, 1, 0x22, 0x63][..], b"hello"].concat()
        };
        stream.write_all(&answer).unwrap();
    })
}

#[test]
fn convert_upstream_is_asked_for_every_address_of_a_name() {
    // `localhost` has two addresses, and the first is refused.
    for refuse in [Code::ConnectionReset, Code::Unreachable, Code::NetworkFailure] {
        let at = greeting_converter(std::net::Ipv6Addr::LOCALHOST, refuse);
        let mut near = local();
        near.destinations.allow.push("::1".parse().unwrap());
        near.upstream = Some(Upstream::new(
            at.to_string().parse().unwrap(),
            UpstreamProtocol::Convert,
            linux::socket::Protocol::Tcp,
        ));
        let (_near, at) = start(near);
        let mut stream = connect(at);
        stream.write_all(b"CONNECT localhost:8080 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let answer = read_to_end(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
    }
}

#[test]
fn next_address_of_an_upstream_is_tried_after_a_lost_connection() {
    // The upstream's name has two addresses. One closes each connection, the other serves.
    let closing = std::net::TcpListener::bind("[::1]:0").unwrap();
    let port = closing.local_addr().unwrap().port();
    std::thread::spawn(move || closing.incoming().for_each(drop));
    let serving = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    std::thread::spawn(move || {
        for mut stream in serving.incoming().flatten() {
            let mut ask = [0; 256];
            let read = stream.read(&mut ask).unwrap();
            let answer = if ask[..read].starts_with(b"CONNECT ") {
                &b"HTTP/1.1 200 OK\r\n\r\nhello"[..]
            } else {
                b"\x01\x01\x22\x63hello"
            };
            stream.write_all(answer).unwrap();
        }
    });
    for speak in [UpstreamProtocol::Connect, UpstreamProtocol::Convert] {
        let mut near = local();
        near.upstream = Some(Upstream::new(
            format!("localhost:{port}").parse().unwrap(),
            speak,
            linux::socket::Protocol::Tcp,
        ));
        near.destinations.allow.push("198.51.100.0/24".parse().unwrap());
        let (_near, at) = start(near);
        let mut stream = tunnel(at, "198.51.100.7:80".parse().unwrap());
        assert_eq!(read_to_end(&mut stream), "hello", "{speak:?}");
    }
}

#[test]
fn upstream_returns_the_cookie_of_a_converter() {
    let wanted = [9u8; 16];
    let at = server(move |mut stream| {
        let mut ask = [0; 64];
        let read = stream.read(&mut ask).unwrap();
        let (_, request) = convert::parse_request(&ask[..read]).unwrap().unwrap();
        match request.cookie {
            None => {
                let value = [&[0], &wanted[..]].concat();
                stream.write_all(&convert::encode_error(Code::MissingCookie, &value)).unwrap();
            }
            Some(cookie) => {
                assert!(cookie.starts_with(&wanted), "{cookie:?}");
                stream.write_all(&[&[1, 1, 0x22, 0x63][..], b"hello"].concat()).unwrap();
            }
        }
    });
    let mut near = local();
    near.upstream = Some(Upstream::new(
        at.to_string().parse().unwrap(),
        UpstreamProtocol::Convert,
        linux::socket::Protocol::Tcp,
    ));
    near.destinations.allow.push("198.51.100.0/24".parse().unwrap());
    let (_near, at) = start(near);
    let mut stream = tunnel(at, "198.51.100.7:80".parse().unwrap());
    assert_eq!(read_to_end(&mut stream), "hello");
}
