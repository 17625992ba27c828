//! Connections redirected by TPROXY with the rules that `tandem proxy rules` prints.

use crate::support::protocol;
use linux::Error;
use linux::namespace::Namespace;
use linux::route::{Route, RouteEntry};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tandem_proxy::config::{Listen, ListenerProtocol};
use tandem_proxy::front::transparent::Rules;
use tandem_proxy::{Config, Proxy};

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn configure(device: &str, address: &str, prefix: u8) -> Result<(), Error> {
    let mut route = Route::open()?;
    let index = route.link(device)?.index;
    route.add_address(index, ip(address), prefix)?;
    route.set_up(index, true)
}

pub(crate) fn add_default_route(device: &str, via: &str) -> Result<(), Error> {
    let mut route = Route::open()?;
    let device = route.link(device)?.index;
    let any = ip("0.0.0.0");
    route.add_route(&RouteEntry { to: any, prefix: 0, device, via: Some(ip(via)), source: None, metric: 0 })
}

/// Runs the script of the rules.
pub(crate) fn apply(script: &str) {
    let mut shell =
        Command::new("sh").arg("-e").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = shell.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// client 10.1.0.2 ── 10.1.0.1 gateway 10.2.0.1 ── 10.2.0.2 server
#[test]
#[ignore = "needs root"]
fn needs_root_redirected_client_reaches_its_server() {
    let result: Result<(), Error> = (|| {
        let (client, gateway, server) = (Namespace::create()?, Namespace::create()?, Namespace::create()?);
        for namespace in [&client, &gateway, &server] {
            namespace.run(|| {
                _ = linux::sysctl::write("net.mptcp.enabled", "1");
                let mut route = Route::open()?;
                let loopback = route.link("lo")?.index;
                route.set_up(loopback, true)
            })?;
        }
        gateway.run(|| {
            Route::open()?.add_veth("in", "eth0", &client)?;
            Route::open()?.add_veth("out", "eth0", &server)?;
            configure("in", "10.1.0.1", 24)?;
            configure("out", "10.2.0.1", 24)?;
            linux::sysctl::write("net.ipv4.ip_forward", "1")
        })?;
        client
            .run(|| configure("eth0", "10.1.0.2", 24).and_then(|()| add_default_route("eth0", "10.1.0.1")))?;
        server
            .run(|| configure("eth0", "10.2.0.2", 24).and_then(|()| add_default_route("eth0", "10.2.0.1")))?;
        let rules = Rules { port: 3129, mark: 3129, interfaces: vec!["in".to_owned()], ports: vec![] };
        gateway.run(|| {
            apply(&rules.to_script());
            Ok::<_, Error>(())
        })?;
        let any = Listen {
            address: "0.0.0.0:3129".parse().unwrap(),
            serve: ListenerProtocol::Transparent,
            protocol: protocol(),
            tls: false,
            send_buffer: None,
        };
        let mut config = Config { listen: vec![any], ..Config::default() };
        config.clients.allow = vec!["10.1.0.0/24".parse().unwrap()];
        config.destinations.allow = vec!["10.2.0.0/24".parse().unwrap()];
        let proxy = Proxy::start(config, Some(&gateway)).unwrap();
        let listener = server.run(|| Ok::<_, Error>(TcpListener::bind("10.2.0.2:0").unwrap()))?;
        let to = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let from = stream.peer_addr().unwrap().ip();
                write!(stream, "{from} ").unwrap();
                let mut copy = stream.try_clone().unwrap();
                _ = std::io::copy(&mut stream, &mut copy);
                _ = copy.shutdown(Shutdown::Write);
            }
        });
        let ask = |to: SocketAddr| {
            client.run(|| {
                let mut stream = TcpStream::connect(to).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                _ = stream.write_all(b"hello");
                _ = stream.shutdown(Shutdown::Write);
                let mut text = String::new();
                _ = stream.read_to_string(&mut text);
                Ok::<_, Error>(text)
            })
        };
        assert_eq!(ask(to)?, "10.2.0.1 hello", "the connection originates at the gateway");
        assert_eq!((proxy.totals().tunnels, proxy.totals().bytes_up), (1, 5));
        // Rejected: a private address, and the listener itself.
        assert_eq!(ask("192.168.7.7:80".parse().unwrap())?, "");
        assert_eq!(ask("10.1.0.1:3129".parse().unwrap())?, "");
        assert_eq!(proxy.totals().tunnels, 1);
        assert_eq!(proxy.totals().refused_destinations, 1);
        Ok(())
    })();
    result.unwrap();
}

/// client 10.1.0.2 ── 10.1.0.1 gateway, which is the server too
#[test]
#[ignore = "needs root"]
fn needs_root_ipv4_client_of_a_dual_stack_listener_reaches_its_server() {
    let result: Result<(), Error> = (|| {
        let (client, gateway) = (Namespace::create()?, Namespace::create()?);
        let listener = gateway.run(|| {
            _ = linux::sysctl::write("net.mptcp.enabled", "1");
            let mut route = Route::open()?;
            let loopback = route.link("lo")?.index;
            route.set_up(loopback, true)?;
            route.add_veth("in", "eth0", &client)?;
            configure("in", "10.1.0.1", 24)?;
            apply(
                "nft 'table ip nat { chain prerouting { type nat hook prerouting priority -100; \
                 tcp dport 7000 redirect to :3129; }; }'",
            );
            Ok::<_, Error>(TcpListener::bind("10.1.0.1:7000").unwrap())
        })?;
        client.run(|| configure("eth0", "10.1.0.2", 24))?;
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                _ = stream.write_all(b"hello");
            }
        });
        let ask = || {
            client.run(|| {
                let mut stream = TcpStream::connect("10.1.0.1:7000").unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                let mut text = String::new();
                _ = stream.read_to_string(&mut text);
                Ok::<_, Error>(text)
            })
        };
        for address in ["0.0.0.0:3129", "[::]:3129"] {
            let any = Listen {
                address: address.parse().unwrap(),
                serve: ListenerProtocol::Redirected,
                protocol: protocol(),
                tls: false,
                send_buffer: None,
            };
            let mut config = Config { listen: vec![any], ..Config::default() };
            config.clients.allow = vec!["10.1.0.0/24".parse().unwrap()];
            config.destinations.allow = vec!["10.1.0.0/24".parse().unwrap()];
            // The listener of the proxy before may be open for a moment after it has ended.
            let deadline = Instant::now() + Duration::from_secs(20);
            let _proxy = loop {
                match Proxy::start(config.clone(), Some(&gateway)) {
                    Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
                    started => break started.unwrap(),
                }
            };
            assert_eq!(ask()?, "hello", "{address}");
        }
        Ok(())
    })();
    result.unwrap();
}
