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
    let near = Proxy::start(Config { listen, upstream: Some(upstream), ..local() }, None).unwrap();
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
        response.ends_with("the upstream proxy refused: destination refused: private network (RFC 1918)\n"),
        "{response}"
    );
    let forwarded = request(auto, "GET http://10.1.2.3/ HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n");
    assert!(forwarded.starts_with("HTTP/1.1 403 ") && forwarded.contains("private network"), "{forwarded}");
    assert_eq!(socks_reply(auto, "10.1.2.3:80".parse().unwrap()), 2, "not allowed by the rules");
    assert_eq!(convert_code(converter, "10.1.2.3:80".parse().unwrap()), 32, "not authorized");
    assert_eq!(near.totals().failed, 4);
}

#[test]
fn failure_of_the_server_reaches_the_client_with_its_reason() {
    let (_far, far) = start(local());
    let (_near, [auto, _]) = near(far);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let response = connect_response(auto, &closed.to_string());
    assert!(response.starts_with("HTTP/1.1 502 ") && response.contains("error=connection_refused"));
    assert!(response.ends_with("server unreachable: connection refused\n"), "{response}");
    assert_eq!(socks_reply(auto, closed), 5, "connection refused");
    let response = connect_response(auto, "no-such-host.invalid:80");
    assert!(response.contains("error=dns_error") && response.ends_with("unknown host name\n"), "{response}");
}

#[test]
fn client_outside_the_allow_list_learns_a_likely_reason() {
    let mut config = local();
    config.clients.allow = vec!["192.0.2.0/24".parse().unwrap()];
    let (far, there) = start(config);
    let (_near, [auto, _]) = near(there);
    // The reset arrives before or after the near proxy sees that its connection is open.
    for _ in 0..200 {
        let response = connect_response(auto, "127.0.0.1:9");
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
    let response = connect_response(auto, "127.0.0.1:9");
    assert!(response.ends_with("cannot connect to it: connection refused\n"), "{response}");
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
    write!(stream, "CONNECT 127.0.0.1:9 HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n").unwrap();
    let response = read_to_end(&mut stream);
    assert!(response.starts_with("HTTP/1.1 504 Gateway Timeout\r\n"), "{response}");
}
