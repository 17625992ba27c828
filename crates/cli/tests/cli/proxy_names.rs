//! `tandem proxy` under a low limit of open files, with names of many addresses that do not answer.

use crate::proxy::{Running, configured, until, with_open_files};
use crate::support::processor_ticks;
use linux::socket::{self, Options, Protocol};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// Open files of the proxy.
const MAX_FILES: u32 = 128;
/// Addresses of a name.
const ADDRESSES: [Ipv4Addr; 8] = [
    Ipv4Addr::new(127, 1, 0, 1),
    Ipv4Addr::new(127, 1, 0, 2),
    Ipv4Addr::new(127, 1, 0, 3),
    Ipv4Addr::new(127, 1, 0, 4),
    Ipv4Addr::new(127, 1, 0, 5),
    Ipv4Addr::new(127, 1, 0, 6),
    Ipv4Addr::new(127, 1, 0, 7),
    Ipv4Addr::new(127, 1, 0, 8),
];

/// Name server that answers these addresses for every name (RFC 1035, section 4.1), and no IPv6 address.
pub(crate) fn name_server(addresses: &'static [Ipv4Addr]) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let at = socket.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut query) {
            // After the header: the labels of the name, which a zero ends, then type and class.
            let labels = query[..length].get(12..).and_then(|rest| rest.iter().position(|&byte| byte == 0));
            let Some(question) = labels.and_then(|labels| query[..length].get(..12 + labels + 5)) else {
                continue;
            };
            let answers = if question[question.len() - 3] == 1 { addresses } else { &[] };
            let mut reply = question.to_vec();
            reply[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, answers.len() as u8, 0, 0, 0, 0]);
            for address in answers {
                // A pointer to the name, type A, class IN, one second to live, four bytes.
                reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
                reply.extend(address.octets());
            }
            _ = socket.send_to(&reply, from);
        }
    });
    at
}

/// Port at which no handshake ends: the listener accepts nothing and its queue is full.
fn silent_port() -> (u16, Vec<std::os::fd::OwnedFd>) {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};
    let open = || {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).expect("a socket")
    };
    let listener = open();
    bind(&listener, &SocketAddr::from(([0, 0, 0, 0], 0))).expect("a port");
    listen(&listener, 0).expect("it is bound");
    let listener = TcpListener::from(listener);
    let port = listener.local_addr().expect("it is bound").port();
    let mut all: Vec<_> = (0..4)
        .map(|_| {
            let one = open();
            _ = connect(&one, &SocketAddr::from(([127, 0, 0, 1], port)));
            one
        })
        .collect();
    all.push(listener.into());
    (port, all)
}

/// Asks for a tunnel from another address of loopback.
fn ask(from: Ipv4Addr, proxy: SocketAddr, to: &str) -> TcpStream {
    let mut stream = socket::open_unconnected(proxy, Protocol::Tcp, &Options::default()).expect("a socket");
    stream.set_nonblocking(false).expect("a socket");
    rustix::net::bind(&stream, &SocketAddr::from((from, 0))).expect("loopback");
    rustix::net::connect(&stream, &proxy).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").expect("it listens");
    stream
}

#[test]
fn names_with_many_silent_addresses_leave_descriptors_for_others() {
    let place = configured("[limits]\nper_client = 4000\n");
    let config = place.read("proxy.toml");
    place.write("proxy.toml", &format!("name_servers = ['{}']\n{config}", name_server(&ADDRESSES)));
    let (port, _full) = silent_port();
    let child = with_open_files(&place, MAX_FILES).spawn().expect("sh runs");
    let running = Running::answering(child, place);
    let proxy = running.address().parse().expect("an address");
    let most = running.status().expect("it answers")["most_connections"].as_u64().expect("a number");
    assert!(most >= 10, "{most}");
    let attackers: Vec<_> = (1..=most - 3)
        .map(|nth| {
            let from = Ipv4Addr::new(127, 0, 2, nth as u8);
            ask(from, proxy, &format!("many{nth}.test:{port}"))
        })
        .collect();
    until("all connect at once", || running.totals("open") == most - 3);
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = server.local_addr().expect("it is bound").to_string();
    let before = processor_ticks(running.id());
    for _ in 0..30 {
        let mut tunnel = ask(Ipv4Addr::LOCALHOST, proxy, &to);
        let mut first = [0; 12];
        tunnel.read_exact(&mut first).expect("others are served");
        assert_eq!(&first, b"HTTP/1.1 200");
        let files = std::fs::read_dir(format!("/proc/{}/fd", running.id())).expect("it runs").count();
        assert!(files < MAX_FILES as usize, "{files} open files");
        std::thread::sleep(Duration::from_millis(100));
    }
    let spent = processor_ticks(running.id()) - before;
    assert!(spent < 100, "nothing spins: {spent} ticks in 3 s");
    assert_eq!((running.totals("open"), running.totals("failed")), (most - 3, 0), "attempts still wait");
    drop(attackers);
    until("all places are free again", || running.totals("open") == 0);
}
