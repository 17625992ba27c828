//! Connections that come back to the proxy: over upstreams, and over another namespace that routes or
//! translates them back.

use crate::redirected::{add_default_route, apply, configure, ip};
use crate::support::{connect, listen, local, protocol, request, server, start, tunnel, wait_until};
use linux::Error;
use linux::namespace::Namespace;
use linux::route::Route;
use linux::socket::Protocol;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tandem_proxy::config::{Listen, ListenerProtocol, Upstream, UpstreamProtocol};
use tandem_proxy::front::convert::{self, Response};
use tandem_proxy::front::transparent::Rules;
use tandem_proxy::{Config, Proxy};

/// Rounds after which a loop of Convert upstreams ends.
const MAX_ROUNDS: u64 = 32;

#[test]
fn loop_of_convert_upstreams_ends_after_bounded_rounds() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let second = free.local_addr().unwrap();
    let converter = |upstream: SocketAddr| {
        let upstream =
            Upstream::new(upstream.to_string().parse().unwrap(), UpstreamProtocol::Convert, protocol());
        Config { listen: vec![listen(ListenerProtocol::Convert)], upstream: Some(upstream), ..local() }
    };
    let (one, first) = start(converter(second));
    drop(free);
    let mut config = converter(first);
    config.listen[0].address = second;
    let (other, _) = start(config);
    for round in 1..=2 {
        let mut client = connect(first);
        client.write_all(&convert::encode_request("8.8.8.8:443".parse().unwrap(), None)).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        let answer = convert::parse_response(&answer);
        assert!(matches!(answer, Ok(Some((_, Response::Failed(..))))), "{answer:?}");
        wait_until("the connections end", || one.totals().open + other.totals().open == 0);
        assert_eq!(one.totals().loops, round);
        // The last request to the first proxy waits in vain.
        assert_eq!(one.totals().accepted, round * (MAX_ROUNDS + 1));
        assert_eq!(other.totals().accepted, round * MAX_ROUNDS);
    }
}

#[test]
fn burst_for_one_server_through_a_converter_is_served() {
    let slow = server(|mut stream| {
        _ = stream.read(&mut [0; 64]);
        std::thread::sleep(Duration::from_millis(100));
        _ = stream.write_all(&[1, 1, 0x22, 0x63]);
    });
    let upstream = Upstream::new(slow.to_string().parse().unwrap(), UpstreamProtocol::Convert, Protocol::Tcp);
    let (proxy, at) = start(Config { upstream: Some(upstream), ..local() });
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| tunnel(at, "8.8.8.8:443".parse().unwrap()));
        }
    });
    // The proxy answers a client before it counts the tunnel.
    wait_until("all tunnels are counted", || proxy.totals().tunnels == 100);
    assert_eq!(proxy.totals().loops, 0);
}

/// The proxy's namespace with the address 10.2.0.1 on `out`, and another one with 10.2.0.2 as the next
/// hop of everything, which forwards it back.
///
/// proxy 10.2.0.1 (out) ── (eth0) 10.2.0.2 other
fn two_namespaces() -> Result<(Namespace, Namespace), Error> {
    let (host, other) = (Namespace::create()?, Namespace::create()?);
    for namespace in [&host, &other] {
        namespace.run(|| {
            _ = linux::sysctl::write("net.mptcp.enabled", "1");
            linux::sysctl::write("net.ipv4.ip_forward", "1")?;
            let mut route = Route::open()?;
            let loopback = route.link("lo")?.index;
            route.set_up(loopback, true)
        })?;
    }
    host.run(|| {
        Route::open()?.add_veth("out", "eth0", &other)?;
        configure("out", "10.2.0.1", 24)
    })?;
    other.run(|| configure("eth0", "10.2.0.2", 24).and_then(|()| add_default_route("eth0", "10.2.0.1")))?;
    host.run(|| add_default_route("out", "10.2.0.2"))?;
    Ok((host, other))
}

/// Lets a namespace accept packets from its own addresses, which the kernel drops by default.
fn accept_own_sources(namespace: &Namespace) {
    let set = || {
        for (key, value) in [
            ("all.accept_local", "1"),
            ("out.accept_local", "1"),
            ("all.rp_filter", "0"),
            ("out.rp_filter", "0"),
        ] {
            linux::sysctl::write(&format!("net.ipv4.conf.{key}"), value)?;
        }
        Ok::<_, Error>(())
    };
    namespace.run(set).unwrap();
}

/// Runs a script in a namespace.
fn apply_in(namespace: &Namespace, script: &str) {
    let inside = || {
        apply(script);
        Ok::<_, Error>(())
    };
    namespace.run(inside).unwrap();
}

fn nat(namespace: &Namespace, chains: &str) {
    let script = format!("nft -f - <<'END'\ntable ip back {{\n{chains}\n}}\nEND\n");
    apply_in(namespace, &script);
}

const MASQUERADE: &str =
    "chain post { type nat hook postrouting priority 100; oifname \"eth0\" masquerade; }";

/// Transparent proxy in `host` for whatever arrives at `out`.
fn transparent(host: &Namespace) -> Proxy {
    let rules = Rules { port: 3129, mark: 3129, interfaces: vec!["out".to_owned()], ports: vec![] };
    apply_in(host, &rules.to_script());
    let any = Listen {
        address: "0.0.0.0:3129".parse().unwrap(),
        serve: ListenerProtocol::Transparent,
        ..listen(ListenerProtocol::Auto)
    };
    let direct = listen(ListenerProtocol::Auto);
    let mut config = Config { listen: vec![any, direct], ..Config::default() };
    config.clients.allow = vec!["10.2.0.0/24".parse().unwrap(), "127.0.0.0/8".parse().unwrap()];
    config.limits.per_client = 20;
    config.timeouts.connect = Duration::from_secs(2);
    Proxy::start(config, Some(host)).unwrap()
}

fn ask(host: &Namespace, proxy: &Proxy, to: &str) -> String {
    let text = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
    let at = *proxy.listening().last().unwrap();
    host.run(|| Ok::<_, Error>(request(at, &text))).unwrap()
}

#[test]
#[ignore = "needs root"]
fn needs_root_connection_that_another_namespace_routes_back_does_not_loop() {
    let (host, other) = two_namespaces().unwrap();
    let proxy = transparent(&host);
    let answer = ask(&host, &proxy, "8.8.8.8:443");
    assert!(answer.starts_with("HTTP/1.1 504 "), "the kernel drops own source addresses: {answer}");
    assert_eq!(proxy.totals().accepted, 1);
    accept_own_sources(&host);
    // The handshake with the own listener succeeds; it then finds its own connection and resets it.
    let answer = ask(&host, &proxy, "8.8.8.8:443");
    assert!(answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 502 "), "{answer}");
    wait_until("the connections end", || proxy.totals().open == 0);
    assert_eq!((proxy.totals().accepted, proxy.totals().loops), (3, 1), "one round");
    drop(other);
}

#[test]
#[ignore = "needs root"]
fn needs_root_loop_with_source_translation_ends_at_the_limit_of_a_client() {
    let (host, other) = two_namespaces().unwrap();
    let proxy = transparent(&host);
    nat(&other, MASQUERADE);
    let answer = ask(&host, &proxy, "8.8.8.8:443");
    // The reset of the last connection comes before or after the answer.
    assert!(answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 502 "), "{answer}");
    wait_until("the connections end", || proxy.totals().open == 0);
    let totals = proxy.totals();
    // The client's connection, those of the address of the translation, and the rejected one.
    assert_eq!((totals.accepted, totals.too_many), (22, 1), "{totals:?}");
}

#[test]
#[ignore = "needs root"]
fn needs_root_translation_back_of_the_destination_alone_reaches_no_own_service() {
    let (host, other) = two_namespaces().unwrap();
    let back = "chain pre { type nat hook prerouting priority -100; tcp dport 8080 dnat to 10.2.0.1:9000; }";
    nat(&other, back);
    let service = host
        .run(|| {
            let service = TcpListener::bind("10.2.0.1:9000").unwrap();
            service.set_nonblocking(true).unwrap();
            Ok::<_, Error>(service)
        })
        .unwrap();
    let mut config = Config { listen: vec![listen(ListenerProtocol::Auto)], ..Config::default() };
    config.destinations.allow = vec!["10.2.0.2".parse().unwrap()];
    config.timeouts.connect = Duration::from_secs(2);
    let proxy = Proxy::start(config, Some(&host)).unwrap();
    let refused = ask(&host, &proxy, &format!("{}:9000", ip("10.2.0.1")));
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    // The handshake does not end: the service answers under another address than the one asked for.
    for accepts_own_sources in [false, true] {
        if accepts_own_sources {
            accept_own_sources(&host);
        }
        for to in ["10.2.0.2:8080", "8.8.8.8:8080"] {
            let answer = ask(&host, &proxy, to);
            assert!(answer.starts_with("HTTP/1.1 504 "), "{to}: {answer}");
        }
        assert_eq!(service.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    assert_eq!(proxy.totals().tunnels, 0);
}
