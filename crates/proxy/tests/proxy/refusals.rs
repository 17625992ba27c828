//! Refusals of the server-side proxy, as clients of the device's proxy see them.

use crate::support::{connect, listen, local, protocol, read_to_end, request, start};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use tandem_proxy::config::{ListenerProtocol, Upstream, UpstreamProtocol};
use tandem_proxy::front::convert::{self, Response};
use tandem_proxy::{Config, Proxy};

/// The device's proxy, for HTTP, SOCKS5 and Convert, with the server-side proxy at `far`.
fn near(far: SocketAddr) -> (Proxy, [SocketAddr; 2]) {
    let upstream = Upstream::new(far.to_string().parse().unwrap(), UpstreamProtocol::Connect, protocol());
    let listen = vec![listen(ListenerProtocol::Auto), listen(ListenerProtocol::Convert)];
    let mut config = Config { listen, upstream: Some(upstream), ..local() };
    config.destinations.allow.push("10.1.0.0/16".parse().unwrap());
    let near = Proxy::start(config, None).unwrap();
    let at = [near.listening()[0], near.listening()[1]];
    (near, at)
}

fn connect_response(at: SocketAddr, to: &str) -> String {
    request(at, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"))
}

/// Reply code of SOCKS5.
fn socks_reply(at: SocketAddr, to: SocketAddr) -> u8 {
    let SocketAddr::V4(to) = to else { panic!("{to}") };
    let mut stream = connect(at);
    let port = to.port().to_be_bytes();
    let ask = [&[5, 1, 0, 5, 1, 0, 1][..], &to.ip().octets(), &port].concat();
    stream.write_all(&ask).unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    answer[3]
}

/// Error code of Convert.
fn convert_code(at: SocketAddr, to: SocketAddr) -> u8 {
    let mut stream = connect(at);
    stream.write_all(&convert::encode_request(to, None)).unwrap();
    let bytes = read_to_end_bytes(&mut stream);
    match convert::parse_response(&bytes) {
        Ok(Some((_, Response::Failed(code, _)))) => code,
        other => panic!("{other:?}"),
    }
}

fn read_to_end_bytes(stream: &mut std::net::TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    _ = stream.read_to_end(&mut all);
    all
}

#[test]
fn refused_destination_reaches_the_client_with_its_reason() {
    // The far proxy has no allowed private networks.
    let (_far, far) = start(Config { destinations: tandem_proxy::destination::Rules::default(), ..local() });
    let (near, [auto, converter]) = near(far);
    let response = connect_response(auto, "10.1.2.3:80");
    assert!(response.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{response}");
    assert!(response.contains("Proxy-Status: tandem; error=destination_ip_prohibited\r\n"), "{response}");
    assert!(
        response.contains(
            "the upstream proxy refused: destination refused: private network (RFC 1918)\nrequest id: "
        ),
        "{response}"
    );
    let forwarded = request(auto, "GET http://10.1.2.3/ HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n");
    assert!(forwarded.starts_with("HTTP/1.1 403 ") && forwarded.contains("private network"), "{forwarded}");
    assert_eq!(socks_reply(auto, "10.1.2.3:80".parse().unwrap()), 2, "not allowed by the rules");
    assert_eq!(convert_code(converter, "10.1.2.3:80".parse().unwrap()), 32, "not authorized");
    assert_eq!(near.totals().failed, 4);
}

#[test]
fn rules_hold_with_an_upstream_too() {
    let (far, there) = start(local());
    let upstream = |speak| Upstream::new(there.to_string().parse().unwrap(), speak, protocol());
    for speak in [UpstreamProtocol::Connect, UpstreamProtocol::Convert] {
        let mut config = Config { upstream: Some(upstream(speak)), ..local() };
        config.destinations.allow.push("64:ff9b:1::/48".parse().unwrap());
        config.destinations.deny.push("127.6.6.0/24".parse().unwrap());
        let (near, at) = start(config);
        for (to, reason) in [
            ("127.6.6.6:8080", "denied network"),
            ("[::ffff:127.6.6.6]:8080", "denied network"),
            ("[64:ff9b::7f06:606]:8080", "denied network"),
            ("[64:ff9b:1::7f06:606]:8080", "denied network"),
            ("0x7f060606:8080", "denied network"),
            ("10.1.2.3:8080", "private network (RFC 1918)"),
            ("[::1]:8080", "loopback"),
            ("127.0.0.1:25", "port not allowed"),
            ("example.org:25", "port not allowed"),
            ("example.org:22", "port not allowed"),
        ] {
            let response = connect_response(at, to);
            assert!(response.starts_with("HTTP/1.1 403 "), "{to}: {response}");
            assert!(
                response.contains(&format!("\r\n\r\ndestination refused: {reason}\n")),
                "{to}: {response}"
            );
        }
        assert_eq!(near.totals().refused_destinations, 10);
        assert!(near.totals().failed == 0 && near.totals().tunnels == 0);
    }
    assert_eq!(far.totals().accepted, 0, "the upstream is not asked");
}

#[test]
fn failure_of_the_server_reaches_the_client_with_its_reason() {
    let (_far, far) = start(local());
    let (_near, [auto, _]) = near(far);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let response = connect_response(auto, &closed.to_string());
    assert!(response.starts_with("HTTP/1.1 502 ") && response.contains("error=connection_refused"));
    assert!(response.contains("server unreachable: connection refused\nrequest id: "), "{response}");
    assert_eq!(socks_reply(auto, closed), 5, "connection refused");
    let response = connect_response(auto, "no-such-host.invalid:80");
    assert!(
        response.contains("error=dns_error") && response.contains("unknown host name\nrequest id: "),
        "{response}"
    );
}

#[test]
fn client_outside_the_allow_list_learns_a_likely_reason() {
    let mut config = local();
    config.clients.allow = vec!["192.0.2.0/24".parse().unwrap()];
    let (far, there) = start(config);
    let (_near, [auto, _]) = near(there);
    // The reset arrives before or after the near proxy sees that its connection is open.
    for _ in 0..200 {
        let response = connect_response(auto, "127.0.0.1:8009");
        assert!(
            response.starts_with("HTTP/1.1 502 ") && response.contains("`[clients] allow`"),
            "{response}"
        );
    }
    assert_eq!(far.totals().not_allowed, 200);
}

#[test]
fn unreachable_upstream_is_named_as_such() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_near, [auto, _]) = near(closed);
    let response = connect_response(auto, "127.0.0.1:8009");
    assert!(response.contains("cannot connect to it: connection refused\nrequest id: "), "{response}");
}

#[test]
fn silent_upstream_gives_a_gateway_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = Upstream::new(
        listener.local_addr().unwrap().to_string().parse().unwrap(),
        UpstreamProtocol::Connect,
        protocol(),
    );
    let mut config = Config { upstream: Some(upstream), ..local() };
    config.timeouts.connect = std::time::Duration::from_millis(300);
    let (_near, at) = start(config);
    let mut stream = connect(at);
    write!(stream, "CONNECT 127.0.0.1:8009 HTTP/1.1\r\nHost: 127.0.0.1:8009\r\n\r\n").unwrap();
    let response = read_to_end(&mut stream);
    assert!(response.starts_with("HTTP/1.1 504 Gateway Timeout\r\n"), "{response}");
    assert!(response.contains("the upstream proxy refused: no answer in time"), "{response}");
}
