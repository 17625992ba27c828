//! `tandem emulate --uplink`, in a namespace as the host, with a second one as the real network.
//!
//! `a_client` is the program: an ignored test that the other tests start on the device.

use crate::emulate::part;
use crate::support::{Output, Place, output_of};
use crate::testbed::SMALL;
use linux::Error;
use linux::namespace::Namespace;
use linux::route::{Route, RouteEntry};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Address of a server of the real network.
const REAL: &str = "11.22.33.44";
/// Name of that server.
const NAME: &str = "server.example";
/// Address of the host.
const HOST: &str = "10.8.0.2";
/// Address of the real network's end of the link to the host.
const GATEWAY: &str = "10.8.0.1";
const TCP_PORT: u16 = 5000;
const UDP_PORT: u16 = 7;
/// Port of a service of the host.
const HOST_PORT: u16 = 6000;
/// Ports of servers of the real network that greet: more than the listeners that a relay may keep.
const GREETING_PORTS: RangeInclusive<u16> = 7001..=7150;
/// Bytes sent by the server.
const SIZE: usize = 2_000_000;

fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

#[test]
#[ignore = "helper program of other tests"]
fn a_client() {
    if std::env::var("TANDEM_SERVER").is_err() {
        return;
    }
    let mut bytes = Vec::new();
    TcpStream::connect((NAME, TCP_PORT)).unwrap().read_to_end(&mut bytes).unwrap();
    assert!(bytes.len() == SIZE && bytes.iter().enumerate().all(|(at, &found)| found == byte(at)));
    println!("all of it came");

    // Neither the host nor its loopback can be reached, by TCP or UDP.
    for to in [HOST, "127.0.0.1"] {
        let mut bytes = Vec::new();
        let read = TcpStream::connect((to, HOST_PORT)).and_then(|mut stream| stream.read_to_end(&mut bytes));
        assert!(read.is_err() && bytes.is_empty(), "{to}: {read:?}");
    }
    println!("the host refused");

    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.connect((REAL, UDP_PORT)).unwrap();
    socket.send(b"a datagram").unwrap();
    let mut buffer = [0; 100];
    let length = socket.recv(&mut buffer).unwrap();
    println!("{} came back", String::from_utf8_lossy(&buffer[..length]));
    // The relay drops the first datagram to the host, or its kernel rejects it by ICMP, as the next.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    socket.connect((HOST, HOST_PORT)).unwrap();
    let received = [(); 2].map(|()| socket.send(b"a datagram").and_then(|_| socket.recv(&mut [0; 100])));
    let [first, second] = received.map(|result| result.unwrap_err().kind());
    assert!(matches!(first, ErrorKind::WouldBlock | ErrorKind::ConnectionRefused), "{first}");
    assert_eq!(second, ErrorKind::ConnectionRefused);
    // A name lookup over TCP: the length of the message precedes it.
    let mut stream = TcpStream::connect(("10.77.255.1", 53)).unwrap();
    let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01";
    stream.write_all(&[&(query.len() as u16).to_be_bytes()[..], query].concat()).unwrap();
    let mut length = [0; 2];
    stream.read_exact(&mut length).unwrap();
    let mut response = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut response).unwrap();
    assert!(response.ends_with(&[11, 22, 33, 44]), "{response:?}");
    println!("looked up over TCP");
}

#[test]
#[ignore = "helper program of other tests"]
fn a_client_of_many_ports() {
    if std::env::var("TANDEM_SERVER").is_err() {
        return;
    }
    let is_greeted = |port: u16| {
        let mut bytes = Vec::new();
        let read = TcpStream::connect((REAL, port)).and_then(|mut stream| stream.read_to_end(&mut bytes));
        read.is_ok() && bytes == b"welcome"
    };
    let silent = |ports: &[u16]| ports.iter().filter(|port| !is_greeted(**port)).count();
    println!("{} of the server's ports refused", silent(&[53, TCP_PORT + 1]));
    println!("{} of many ports refused", silent(&GREETING_PORTS.collect::<Vec<_>>()));
}

#[test]
#[ignore = "helper program of other tests"]
fn a_server_at_one_address() {
    if std::env::var("TANDEM_SERVER").is_err() {
        return;
    }
    let _listener = TcpListener::bind(("127.0.0.1", TCP_PORT + 1)).unwrap();
    thread::sleep(Duration::from_secs(60));
}

/// Response of a name server that knows one address for all names, and no IPv6.
fn dns_response(query: &[u8]) -> Vec<u8> {
    let name = query[12..].iter().position(|&byte| byte == 0).expect("a name");
    let question = &query[12..12 + name + 5];
    let is_a = question.ends_with(&[0, 1, 0, 1]);
    let mut response = [&query[..2], &[0x81, 0x80, 0, 1, 0, is_a.into(), 0, 0, 0, 0], question].concat();
    if is_a {
        response.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 11, 22, 33, 44]);
    }
    response
}

/// Answers datagrams and connections at `address` as a name server.
fn serve_names(address: IpAddr) {
    let socket = UdpSocket::bind((address, 53)).expect("the address is there");
    let listener = TcpListener::bind((address, 53)).expect("the address is there");
    thread::spawn(move || {
        let mut query = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut query) {
            _ = socket.send_to(&dns_response(&query[..length]), from);
        }
    });
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut query = [0; 1500];
            let length = stream.read(&mut query).unwrap_or(0);
            let response = dns_response(&query[2..length.max(2)]);
            _ = stream.write_all(&[&(response.len() as u16).to_be_bytes()[..], &response].concat());
        }
    });
}

fn serve_bytes(address: SocketAddr, bytes: Vec<u8>) {
    let listener = TcpListener::bind(address).expect("the address is there");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // A client may have closed the connection.
            _ = stream.write_all(&bytes);
        }
    });
}

fn echo_datagrams(address: SocketAddr) {
    let socket = UdpSocket::bind(address).expect("the address is there");
    thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            _ = socket.send_to(&buffer[..length], from);
        }
    });
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// The host, with a link to the real network.
struct Testnet {
    host: Namespace,
    _network: Namespace,
    place: Place,
}

impl Testnet {
    fn new() -> Result<Self, Error> {
        let (host, network) = (Namespace::create()?, Namespace::create()?);
        let text = fs::read_to_string("/etc/resolv.conf").expect("a resolver is configured");
        let named = text.lines().find_map(|line| line.strip_prefix("nameserver "));
        let resolver: IpAddr = named.expect("a name server").trim().parse().expect("an address");
        for namespace in [&host, &network] {
            namespace.run(|| {
                let mut route = Route::open()?;
                let loopback = route.link("lo")?.index;
                route.set_up(loopback, true)
            })?;
        }
        host.run(|| Route::open()?.add_veth("uplink0", "host0", &network))?;
        let attach = |name: &str, address: &str| {
            let mut route = Route::open()?;
            let index = route.link(name)?.index;
            route.add_address(index, ip(address), 24)?;
            route.set_up(index, true)?;
            Ok::<_, Error>((route, index))
        };
        // The machine's own name server is an address here: nothing leaves these namespaces.
        let is_loopback = resolver.is_loopback();
        network.run(|| {
            let (mut route, index) = attach("host0", GATEWAY)?;
            route.add_address(index, ip(REAL), 32)?;
            if !is_loopback {
                route.add_address(index, resolver, if resolver.is_ipv4() { 32 } else { 128 })?;
                serve_names(resolver);
            }
            serve_bytes(SocketAddr::new(ip(REAL), TCP_PORT), (0..SIZE).map(byte).collect());
            for port in GREETING_PORTS.chain([53, TCP_PORT + 1]) {
                serve_bytes(SocketAddr::new(ip(REAL), port), b"welcome".to_vec());
            }
            echo_datagrams(SocketAddr::new(ip(REAL), UDP_PORT));
            Ok::<_, Error>(())
        })?;
        host.run(|| {
            let (mut route, device) = attach("uplink0", HOST)?;
            if is_loopback {
                serve_names(resolver);
            }
            serve_bytes(SocketAddr::new(ip("0.0.0.0"), HOST_PORT), b"secret".to_vec());
            echo_datagrams(SocketAddr::new(ip("0.0.0.0"), HOST_PORT));
            let via = Some(ip(GATEWAY));
            route.add_route(&RouteEntry {
                to: ip("0.0.0.0"),
                prefix: 0,
                device,
                via,
                source: None,
                metric: 0,
            })
        })?;
        let place = Place::new();
        place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'bulk'\n"));
        Ok(Self { host, _network: network, place })
    }

    fn output(&self, command: &mut Command) -> Output {
        self.host.run(|| Ok::<_, Error>(output_of(command))).expect("a namespace")
    }

    /// Runs the client on the device.
    fn emulate(&self, more: &[&str]) -> Output {
        self.emulate_client("uplink::a_client", more)
    }

    /// Runs a test of this binary on the device.
    fn emulate_client(&self, name: &str, more: &[&str]) -> Output {
        let client = part(name);
        let mut arguments = vec!["emulate", "small.toml"];
        arguments.extend(more);
        arguments.push("--");
        arguments.extend(client.iter().map(String::as_str));
        self.output(&mut self.place.command(&arguments))
    }

    /// Firewall, rules, routes, addresses and settings of the host.
    fn state(&self) -> Vec<String> {
        let commands: [&[&str]; 6] = [
            &["nft", "list", "ruleset"],
            &["ip", "rule"],
            &["ip", "-4", "route", "show", "table", "all"],
            &["ip", "-4", "address"],
            &["ip", "mptcp", "endpoint"],
            // Without the counters among the settings.
            &["sysctl", "-a", "--pattern", r"^net\.(ipv4\.(ip_|tcp_|conf)|mptcp|core)"],
        ];
        let run = |words: &&[&str]| {
            let output = self.output(Command::new(words[0]).args(&words[1..]));
            assert_eq!(output.code, 0, "{words:?}: {}", output.err);
            output.out
        };
        commands.iter().map(run).collect()
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_program_reaches_the_real_network_over_both_paths() {
    let net = Testnet::new().expect("the kernel supports the test");
    let (before, resolver) = (net.state(), fs::read("/etc/resolv.conf").unwrap());
    let output = net.emulate(&["--uplink", "--out", "out"]);
    assert_eq!(output.code, 0, "{}\n{}", output.out, output.err);
    for line in ["all of it came", "the host refused", "a datagram came back", "looked up over TCP"] {
        assert!(output.out.contains(line), "{line}: {}", output.out);
    }
    assert!(output.err.contains("traffic of the programs leaves this machine"), "{}", output.err);
    let result: serde_json::Value = serde_json::from_str(&net.place.read("out/result.json")).expect("JSON");
    let down = |path: usize| result["paths"][path]["payload_down_bytes"].as_u64().unwrap() as usize;
    assert!(down(0) > SIZE / 4 && down(1) > SIZE / 20, "{}", result["paths"]);
    assert!(down(0) + down(1) >= SIZE);
    assert_eq!(result["kernel"]["multipath"]["joined"], 1, "{}", result["kernel"]);
    assert_eq!(net.state(), before);
    assert_eq!(fs::read("/etc/resolv.conf").unwrap(), resolver);
}

#[test]
#[ignore = "needs root"]
fn needs_root_program_reaches_many_ports_and_those_of_the_emulated_server() {
    let net = Testnet::new().expect("the kernel supports the test");
    let server = part("uplink::a_server_at_one_address").join(" ");
    let output = net.emulate_client("uplink::a_client_of_many_ports", &["--uplink", "--server", &server]);
    assert_eq!(output.code, 0, "{}\n{}", output.out, output.err);
    for line in ["0 of the server's ports refused", "0 of many ports refused"] {
        assert!(output.out.contains(line), "{line}: {}", output.out);
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_real_network_is_unreachable_without_uplink() {
    let net = Testnet::new().expect("the kernel supports the test");
    let output = net.emulate(&[]);
    assert_ne!(output.code, 0);
    assert!(!output.out.contains("all of it came"), "{}", output.out);
    assert!(!output.err.contains("leaves this machine"), "{}", output.err);
}

#[test]
#[ignore = "needs root"]
fn needs_root_uplink_leaves_nothing_after_sigkill() {
    let net = Testnet::new().expect("the kernel supports the test");
    let (before, mounts) = (net.state(), fs::read_to_string("/proc/self/mounts").unwrap());
    let script = format!("exec 3<>/dev/tcp/{REAL}/{TCP_PORT}; echo ready; sleep 60");
    let arguments = ["emulate", "small.toml", "-q", "--uplink", "--", "bash", "-c", &script];
    let mut command = net.place.command(&arguments);
    let spawn = || Ok::<_, Error>(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut child = net.host.run(spawn).expect("a namespace");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("text");
    assert_eq!(line, "ready\n");
    assert_eq!(net.state(), before);
    // Connections held by a process: the server has sent all, and the client reads nothing.
    let count_connections = || {
        let text = net.output(Command::new("ss").args(["-Htn", "dst", REAL])).out;
        text.lines().filter(|line| line.starts_with("ESTAB") || line.starts_with("CLOSE-WAIT")).count()
    };
    assert_eq!(count_connections(), 1);
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    let begun = Instant::now();
    while count_connections() > 0 && begun.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(count_connections(), 0);
    assert_eq!(net.state(), before);
    assert_eq!(fs::read_to_string("/proc/self/mounts").unwrap(), mounts);
}

#[test]
#[ignore = "needs root"]
fn needs_root_missing_resolver_configuration_is_a_warning() {
    let net = Testnet::new().expect("the kernel supports the test");
    let tandem = crate::support::tandem_path().display();
    let emulate = format!("exec {tandem} emulate small.toml -q --uplink -- echo it ran");
    let script = format!("mount -t tmpfs none /etc && {emulate}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).current_dir(net.place.path());
    let output = net.output(&mut command);
    assert_eq!((output.code, output.out.as_str()), (0, "it ran\n"), "{}", output.err);
    assert!(output.err.contains("resolve no names: /etc/resolv.conf is missing"), "{}", output.err);
}
