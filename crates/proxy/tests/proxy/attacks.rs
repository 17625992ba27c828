//! Attacks on the proxy. `docs/security.md` lists each with its test.

use crate::support::{
    connect, echo, listen, local, protocol, read_head, read_to_end, request, server, start, tunnel,
    wait_until,
};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tandem_proxy::config::{ListenerProtocol, Upstream, UpstreamProtocol};
use tandem_proxy::credentials::Credential;
use tandem_proxy::users::Users;
use tandem_proxy::{Config, Error, Proxy};

/// Hosts that no client may reach, in various notations.
const PRIVATE: [&str; 22] = [
    "127.0.0.1",
    "127.1.2.3",
    "localhost",
    "LOCALHOST",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::1]",
    "[fe80::1]",
    "[fc00::1]",
    "[ff02::1]",
    "[::127.0.0.1]",
];

fn default_rules() -> Config {
    Config { listen: vec![listen(ListenerProtocol::Auto)], ..Config::default() }
}

#[test]
fn proxy_rejects_private_destinations_in_every_notation() {
    let (proxy, at) = start(default_rules());
    for host in PRIVATE {
        let answer = request(at, &format!("CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{host}: {answer}");
        let answer = request(at, &format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{host}: {answer}");
        let bare = host.trim_matches(['[', ']']);
        let mut ask = vec![5, 1, 0, 5, 1, 0];
        match bare.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => ask.extend([&[1][..], &address.octets()].concat()),
            Ok(IpAddr::V6(address)) => ask.extend([&[4][..], &address.octets()].concat()),
            Err(_) => ask.extend([&[3, bare.len() as u8][..], bare.as_bytes()].concat()),
        }
        ask.extend([0, 80]);
        let mut stream = connect(at);
        stream.write_all(&ask).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        assert_eq!(reply[..4], [5, 0, 5, 2], "{host}: expected reply 2");
    }
    assert_eq!(proxy.totals().refused_destinations, 3 * PRIVATE.len() as u64);
    assert_eq!(proxy.totals().tunnels, 0);
}

#[test]
fn proxy_rejects_numeric_and_octal_loopback_addresses() {
    let (proxy, at) = start(default_rules());
    for host in ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"] {
        let answer = request(at, &format!("CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n\r\n"));
        let rejected = answer.starts_with("HTTP/1.1 403 ") || answer.starts_with("HTTP/1.1 502 ");
        assert!(rejected, "{host}: {answer}");
    }
    assert_eq!(proxy.totals().tunnels, 0);
}

#[test]
fn ports_other_than_those_of_the_web_need_to_be_allowed() {
    let (proxy, at) = start(local());
    for port in [1, 22, 25, 445, 587, 1024] {
        let to = format!("127.0.0.1:{port}");
        let answer = request(at, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("port not allowed\n"), "{answer}");
    }
    assert_eq!(proxy.totals().refused_destinations, 6);
}

/// Own addresses are the addresses of the interfaces: a second address in the same network as the first, on
/// which the kernel prefers the first as the source, and addresses that appear later.
#[test]
#[ignore = "needs root"]
fn needs_root_every_address_of_this_host_is_refused() {
    use linux::namespace::Namespace;
    use linux::route::Route;
    let namespace = Namespace::create().unwrap();
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let inside = |work: &(dyn Fn(&mut Route) -> Result<(), linux::Error> + Sync)| {
        namespace.run(|| work(&mut Route::open()?)).unwrap();
    };
    inside(&|route| {
        let lo = route.link("lo")?.index;
        route.set_up(lo, true)?;
        for text in ["8.8.8.8", "8.8.8.9", "2001:4860::8"] {
            route.add_address(lo, ip(text), if text.contains(':') { 64 } else { 24 })?;
        }
        Ok(())
    });
    let proxy = Proxy::start(default_rules(), Some(&namespace)).unwrap();
    let at = proxy.listening()[0];
    let answer = |to: &str| {
        let ask = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
        namespace.run(|| Ok::<_, Error>(request(at, &ask))).unwrap()
    };
    let own = "\r\n\r\ndestination refused: address of the proxy's own host\n";
    for to in ["8.8.8.8:443", "8.8.8.9:443", "[2001:4860::8]:443", "[64:ff9b::808:809]:443"] {
        assert!(answer(to).contains(own), "{to}: {}", answer(to));
    }
    assert!(!answer("8.8.4.4:443").contains(own));
    inside(&|route| {
        let lo = route.link("lo")?.index;
        route.add_address(lo, ip("8.8.4.4"), 32)
    });
    wait_until("the new address is known", || answer("8.8.4.4:443").contains(own));
    inside(&|route| {
        let lo = route.link("lo")?.index;
        route.remove_address(lo, ip("8.8.4.4"), 32)?;
        route.deliver_locally(lo)
    });
    wait_until("a route of type `local` is known", || answer("1.1.1.1:443").contains(own));
}

#[test]
fn start_rejects_open_proxy_configurations() {
    for (address, serve) in [
        ("0.0.0.0:0", ListenerProtocol::Auto),
        ("[::]:0", ListenerProtocol::Http),
        ("192.0.2.1:0", ListenerProtocol::Socks5),
        ("127.0.0.1:0", ListenerProtocol::Transparent),
    ] {
        let mut config = default_rules();
        config.listen[0] =
            tandem_proxy::config::Listen { address: address.parse().unwrap(), ..listen(serve) };
        assert!(matches!(Proxy::start(config, None), Err(Error::OpenProxy { .. })), "{address}");
    }
}

#[test]
fn client_outside_allow_list_is_reset() {
    let mut config = local();
    config.clients.allow = vec!["192.0.2.0/24".parse().unwrap()];
    let (proxy, at) = start(config);
    assert_eq!(request(at, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"), "");
    wait_until("the counter increases", || proxy.totals().not_allowed == 1);
}

#[test]
fn missing_or_wrong_credentials_are_rejected() {
    let mut config = local();
    let mut users = Users::default();
    users.add(&Credential::parse("ann:secret").unwrap()).unwrap();
    config.clients.users = users;
    let (proxy, at) = start(config);
    let (tx, rx) = std::sync::mpsc::channel();
    let to = server(move |mut stream| {
        _ = tx.send(read_head(&mut stream).to_ascii_lowercase());
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    });
    let ask = |credential: &str| {
        let field = match credential {
            "" => String::new(),
            one => format!("Proxy-Authorization: {}\r\n", Credential::parse(one).unwrap().to_basic()),
        };
        let answer = request(
            at,
            &format!("GET http://{to}/ HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{field}\r\n"),
        );
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!([ask(""), ask("ann:wrong"), ask("eve:secret"), ask("ann:secret")], [407, 407, 407, 200]);
    let heads: Vec<String> = rx.try_iter().collect();
    assert_eq!(heads.len(), 1, "only the authorized request reaches the server: {heads:?}");
    assert!(!heads[0].contains("proxy-authorization") && !heads[0].contains("basic"), "{heads:?}");
    let tunnel = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n");
    assert_eq!(request(at, &tunnel).split(' ').nth(1), Some("407"));

    let socks = |bytes: &[u8]| {
        let mut stream = connect(at);
        stream.write_all(bytes).unwrap();
        let mut answer = [0; 4];
        let read = stream.read_exact(&mut answer[..if bytes[2] == 2 { 4 } else { 2 }]);
        read.unwrap();
        answer
    };
    assert_eq!(socks(&[5, 1, 0]), [5, 0xff, 0, 0], "only the method without authentication");
    assert_eq!(socks(b"\x05\x01\x02\x01\x03ann\x05wrong"), [5, 2, 1, 1]);
    assert_eq!(socks(b"\x05\x01\x02\x01\x03ann\x06secret"), [5, 2, 1, 0]);
    wait_until("the counters increase", || proxy.totals().unauthorized == 6);
}

#[test]
fn ambiguous_request_reaches_no_server() {
    let (proxy, at) = start(local());
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    let to = server(move |_| _ = count.fetch_add(1, Ordering::Relaxed));
    let hidden = format!("GET http://{to}/hidden HTTP/1.1\r\nHost: {to}\r\n\r\n");
    let fields = [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: 4, 4\r\n",
        "Content-Length: +4\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X: y\0\r\n",
        "Host: other\r\n",
        "Connection: Content-Length\r\nContent-Length: 4\r\n",
        "Connection: host\r\n",
    ];
    for field in fields {
        let answer =
            request(at, &format!("POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\n{field}\r\n0\r\n\r\n{hidden}"));
        assert_eq!(
            answer.matches("HTTP/1.1 ").count(),
            1,
            "{field:?}: the proxy must not read the second request: {answer}"
        );
        let status = answer.split(' ').nth(1).unwrap();
        assert!(matches!(status, "400" | "501"), "{field:?}: {answer}");
    }
    for start in [
        "GET http://other/ HTTP/1.1",
        "GET / HTTP/1.1",
        "GET http://a@{to}/ HTTP/1.1",
        "TRACE http://{to}/ HTTP/1.1",
    ] {
        let line = start.replace("{to}", &to.to_string());
        let answer = request(at, &format!("{line}\r\nHost: {to}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 40"), "{line}: {answer}");
    }
    assert_eq!(reached.load(Ordering::Relaxed), 0);
    assert_eq!(proxy.totals().bad_requests, fields.len() as u64 + 4);
}

#[test]
fn malformed_chunked_body_ends_both_connections() {
    let (proxy, at) = start(local());
    let (tx, rx) = std::sync::mpsc::channel();
    let to = server(move |mut stream| _ = tx.send(read_to_end(&mut stream)));
    for body in [
        "5\r\nhelloX\r\n0\r\n\r\n",
        "5\nhello\n0\n\n",
        "0x5\r\nhello\r\n",
        "fffffffffffffffff\r\n",
        "5;\r\r\nhello",
    ] {
        let answer = request(
            at,
            &format!(
                "POST http://{to}/ HTTP/1.1\r\nHost: {to}\r\nTransfer-Encoding: chunked\r\n\r\n{body}GET http://{to}/hidden HTTP/1.1\r\n\r\n"
            ),
        );
        assert!(answer.starts_with("HTTP/1.1 400 "), "{body:?}: {answer}");
        let received = rx.recv_timeout(Duration::from_secs(20)).expect("the server connection must end");
        assert!(received.starts_with("POST / HTTP/1.1"), "{body:?}: {received}");
        assert!(!received.contains("hidden"), "{body:?}: {received}");
    }
    wait_until("the client connections end", || proxy.totals().open == 0);
    assert_eq!((proxy.totals().bad_requests, proxy.totals().failed), (5, 0));
}

#[test]
fn ambiguous_response_reaches_no_client() {
    let (_proxy, at) = start(local());
    for fields in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "X: y\r\n z\r\n",
        "X: y\nz: a\r\n",
        "X : y\r\n",
    ] {
        let to = server(move |mut stream| {
            read_head(&mut stream);
            write!(stream, "HTTP/1.1 200 OK\r\n{fields}\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n").unwrap();
        });
        let answer = request(at, &format!("GET http://{to}/ HTTP/1.1\r\nHost: {to}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{fields:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
}

#[test]
fn unsolicited_response_is_not_used_for_the_next_request() {
    let (_proxy, at) = start(local());
    let to = server(|mut stream| {
        let head = read_head(&mut stream);
        let (answer, evil) = (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        );
        let at_once = head.starts_with("GET /at-once");
        stream
            .write_all(if at_once { format!("{answer}{evil}") } else { answer.to_owned() }.as_bytes())
            .unwrap();
        if !at_once {
            stream.write_all(evil.as_bytes()).unwrap();
        }
        read_to_end(&mut stream);
    });
    let get = |path| format!("GET http://{to}/{path} HTTP/1.1\r\nHost: {to}\r\n\r\n");
    let answer = request(at, &get("at-once").repeat(2));
    assert!(!answer.contains("evil"), "{answer}");
    // An unsolicited response between requests: the proxy opens another server connection, or none.
    let mut stream = connect(at);
    for nth in 0..2 {
        if stream.write_all(get("").as_bytes()).is_err() {
            break;
        }
        let answer = read_head(&mut stream);
        assert!(answer.contains("\r\nContent-Length: 2\r\n") || (nth > 0 && answer.is_empty()), "{answer}");
        if !answer.is_empty() {
            stream.read_exact(&mut [0; 2]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn slow_request_is_reset_at_the_handshake_timeout() {
    let mut config = local();
    config.timeouts.handshake = Duration::from_millis(300);
    let (proxy, at) = start(config);
    for start in ["GET http://a/ HTTP/1.1\r\nX: ", "\x05", "CONNECT "] {
        let mut stream = connect(at);
        stream.write_all(start.as_bytes()).unwrap();
        // Single bytes do not extend the deadline.
        let mut sent = 0;
        while stream.write_all(b"\xff").is_ok() && sent < 200 {
            sent += 1;
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(sent < 200, "{start:?}");
    }
    let mut silent = connect(at);
    assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0, "a silent client is disconnected");
    wait_until("the counters increase", || proxy.totals().too_slow >= 3 && proxy.totals().open == 0);
}

#[test]
fn endless_head_is_rejected() {
    let (_proxy, at) = start(local());
    let mut stream = connect(at);
    stream.write_all(b"GET http://a/ HTTP/1.1\r\n").unwrap();
    let line = format!("X: {}\r\n", "y".repeat(1000));
    for _ in 0..100 {
        if stream.write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    let answer = read_to_end(&mut stream);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[test]
fn connection_limits_apply_per_client_and_in_total() {
    let mut config = local();
    config.limits.per_client = 3;
    let (proxy, at) = start(config);
    let to = echo();
    let mut held: Vec<_> = (0..3).map(|_| tunnel(at, to)).collect();
    assert_eq!(request(at, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n")), "");
    wait_until("the counter increases", || proxy.totals().too_many == 1);
    held.pop();
    wait_until("the permit is released", || proxy.totals().open == 2);
    tunnel(at, to);

    let mut config = local();
    config.limits.connections = 1;
    let (proxy, at) = start(config);
    let _held = tunnel(at, to);
    assert_eq!(request(at, "GET"), "");
    assert_eq!(proxy.totals().too_many, 1);
}

#[test]
fn request_to_the_proxy_itself_does_not_loop() {
    let (proxy, at) = start(local());
    let answer =
        request(at, &format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    wait_until("the connections end", || proxy.totals().open == 0);
    assert_eq!((proxy.totals().accepted, proxy.totals().loops), (2, 1));
}

#[test]
fn loop_of_two_proxies_is_found_by_via() {
    // Each of two proxies has the other one as its upstream.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let second = free.local_addr().unwrap();
    let upstream = |at: SocketAddr| {
        Some(Upstream::new(at.to_string().parse().unwrap(), UpstreamProtocol::Connect, protocol()))
    };
    let (one, first) = start(Config { upstream: upstream(second), ..local() });
    drop(free);
    let mut config = Config { upstream: upstream(first), ..local() };
    config.listen[0].address = second;
    let (other, _) = start(config);
    for (nth, ask) in [
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
    ]
    .iter()
    .enumerate()
    {
        let answer = request(first, ask);
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(answer.contains("error=proxy_loop_detected"), "{answer}");
        assert!(answer.contains("the request has passed this proxy before (Via)"), "{answer}");
        assert_eq!((one.totals().loops, other.totals().loops), (nth as u64 + 1, 0));
    }
    assert_eq!((one.totals().accepted, other.totals().accepted), (4, 2), "a loop ends after one round");
}

#[test]
fn access_log_contains_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut config = local();
    config.access_log = Some(path.clone());
    let mut users = Users::default();
    users.add(&Credential::parse("ann:hunter2").unwrap()).unwrap();
    config.clients.users = users;
    let (proxy, at) = start(config);
    let to: SocketAddr = server(|mut stream| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: s3cr3t\r\n\r\nok").unwrap();
    });
    for credential in ["ann:hunter2", "ann:hunter3"] {
        let basic = Credential::parse(credential).unwrap().to_basic();
        request(
            at,
            &format!(
                "GET http://{to}/s3cr3t?token=s3cr3t HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nProxy-Authorization: {basic}\r\nCookie: s3cr3t\r\n\r\n"
            ),
        );
    }
    wait_until("all connections end", || proxy.totals().open == 0);
    drop(proxy);
    let log = || std::fs::read_to_string(&path).unwrap();
    wait_until("the log is written", || log().lines().count() == 3);
    let log = log();
    for secret in ["hunter", "s3cr3t", "Basic", "aHVudGVy"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    assert!(log.contains("\"user\":\"ann\"") && log.contains("\"outcome\":\"unauthorized\""), "{log}");
}
