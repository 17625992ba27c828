//! Reload: all or nothing, and without losing connections.

use crate::support::{connect, echo, listen, local, request, start, tunnel, wait_until};
use linux::socket::{self, Options, Protocol};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use tandem_proxy::Config;
use tandem_proxy::config::{Listen, ListenerProtocol};

/// Configuration with one listener for this host's clients.
fn at(address: &str, port: u16, serve: ListenerProtocol) -> Config {
    let mut config = local();
    config.clients.allow = vec!["127.0.0.0/8".parse().unwrap()];
    let address = format!("{address}:{port}").parse().unwrap();
    config.listen = vec![Listen { address, ..listen(serve) }];
    config
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn answers(at: SocketAddr) -> bool {
    request(at, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 ")
}

#[test]
fn reload_moves_a_listener_between_overlapping_addresses() {
    let port = free_port();
    let (proxy, _) = start(at("0.0.0.0", port, ListenerProtocol::Auto));
    let (first, second) =
        (SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([127, 0, 0, 2], port)));
    for _ in 0..3 {
        proxy.reload(at("127.0.0.1", port, ListenerProtocol::Auto)).unwrap();
        assert_eq!(proxy.status().listening[0].address, first.to_string());
        assert!(answers(first) && TcpStream::connect(second).is_err());
        proxy.reload(at("0.0.0.0", port, ListenerProtocol::Auto)).unwrap();
        assert!(answers(first) && answers(second));
    }
    // Another proxy cannot take the port.
    assert!(socket::listen(first, Protocol::Tcp, &Options::default()).is_err());
}

#[test]
fn failed_reload_leaves_every_listener_and_the_log_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let (proxy, first) = start(at("127.0.0.1", port, ListenerProtocol::Auto));
    let before = proxy.status().listening;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    // Moves the listener, changes its protocol and the log, and needs an address in use.
    for serve in [ListenerProtocol::Socks5, ListenerProtocol::Convert] {
        let mut bad = at("0.0.0.0", port, serve);
        bad.limits.per_client = 1;
        bad.access_log = Some(folder.path().join("access.log"));
        bad.listen.push(Listen { address: taken.local_addr().unwrap(), ..bad.listen[0] });
        let error = proxy.reload(bad).unwrap_err();
        assert!(error.to_string().contains(&taken.local_addr().unwrap().to_string()), "{error}");
        assert_eq!(proxy.status().listening, before);
        let held: Vec<_> = (0..3).map(|_| tunnel(first, echo())).collect();
        assert!(answers(first), "an old limit of connections");
        drop(held);
        assert!(TcpStream::connect(("127.0.0.2", port)).is_err());
    }
    let mut bad = at("127.0.0.1", port, ListenerProtocol::Socks5);
    bad.access_log = Some("/proc/none/access.log".into());
    assert!(proxy.reload(bad).unwrap_err().to_string().contains("/proc/none/access.log"));
    assert!(answers(first));
    assert!(!folder.path().join("access.log").exists() || lines(folder.path()) == 0);
}

fn lines(folder: &std::path::Path) -> usize {
    std::fs::read_to_string(folder.join("access.log")).unwrap().lines().count()
}

#[test]
fn reload_changes_the_protocols_of_a_listener_without_losing_a_client() {
    let port = free_port();
    let (proxy, first) = start(at("127.0.0.1", port, ListenerProtocol::Auto));
    let (stop, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(answers(first));
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for nth in 0..40 {
            let before = asked.load(Ordering::Relaxed);
            wait_until("clients are served", || asked.load(Ordering::Relaxed) > before + 5);
            let serve = [ListenerProtocol::Http, ListenerProtocol::Auto][nth % 2];
            proxy.reload(at("127.0.0.1", port, serve)).unwrap();
            assert_eq!(proxy.status().listening[0].serve, serve.name());
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn reload_changes_socket_options_and_serves_waiting_clients() {
    let port = free_port();
    let (proxy, first) = start(at("127.0.0.1", port, ListenerProtocol::Auto));
    for nth in 0..10 {
        let mut waiting: Vec<_> = (0..20).map(|_| connect(first)).collect();
        let mut next = at("127.0.0.1", port, ListenerProtocol::Auto);
        next.listen[0].send_buffer = Some(100_000 + nth);
        proxy.reload(next).unwrap();
        for stream in &mut waiting {
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            assert!(crate::support::read_head(stream).starts_with("HTTP/1.1 400 "));
        }
        assert!(answers(first));
    }
}

#[test]
fn reload_resizes_the_limits_of_connections() {
    let port = free_port();
    let config = at("127.0.0.1", port, ListenerProtocol::Auto);
    let (proxy, first) = start(config.clone());
    let to = echo();
    let held: Vec<_> = (0..3).map(|_| tunnel(first, to)).collect();
    for (connections, per_client, is_served) in
        [(3, 100, false), (4, 100, true), (100, 3, false), (100, 4, true)]
    {
        let mut config = config.clone();
        (config.limits.connections, config.limits.per_client) = (connections, per_client);
        proxy.reload(config).unwrap();
        assert_eq!(answers(first), is_served, "{connections} {per_client}");
        wait_until("it ends", || proxy.totals().open == 3);
        assert_eq!(proxy.status().most_connections, connections as u64);
    }
    drop(held);
}

#[test]
fn flood_of_connections_does_not_delay_a_reload() {
    let port = free_port();
    let (proxy, first) = start(at("127.0.0.1", port, ListenerProtocol::Auto));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    drop(TcpStream::connect(first));
                }
            });
        }
        for nth in 0..6 {
            let address = ["127.0.0.2", "127.0.0.1"][nth % 2];
            let start = std::time::Instant::now();
            proxy.reload(at(address, port, ListenerProtocol::Auto)).unwrap();
            assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
        }
        stop.store(true, Ordering::Relaxed);
    });
}
