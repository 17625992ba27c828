//! Names that no server answers for, and the other clients meanwhile.

use crate::support::{connect, local, read_head, read_to_end, server, start, wait_until};
use linux::socket::{self, Options, Protocol};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Name server that never answers for names that begin with `never`, and answers 127.0.0.1 for others.
fn name_server() -> SocketAddr {
    name_server_with_log().0
}

/// First labels of the names that a name server was asked for.
type Asked = Arc<Mutex<BTreeSet<String>>>;

fn name_server_with_log() -> (SocketAddr, Asked) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (at, asked) = (socket.local_addr().unwrap(), Asked::default());
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((_, from)) = socket.recv_from(&mut query) {
            let end = 12 + query[12..].iter().position(|&byte| byte == 0).unwrap() + 5;
            let label = &query[13..13 + usize::from(query[12])];
            log.lock().unwrap().insert(String::from_utf8_lossy(label).into_owned());
            if label.starts_with(b"never") {
                continue;
            }
            let is_a = query[end - 3] == 1;
            let mut reply = query[..end].to_vec();
            reply[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
            if is_a {
                reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
            }
            socket.send_to(&reply, from).unwrap();
        }
    });
    (at, asked)
}

/// Connection to the proxy from another address of loopback.
fn connect_from(address: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let stream = socket::open_unconnected(to, Protocol::Tcp, &Options::default()).unwrap();
    stream.set_nonblocking(false).unwrap();
    rustix::net::bind(&stream, &SocketAddr::from((address, 0))).unwrap();
    rustix::net::connect(&stream, &to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

#[test]
fn black_holed_names_of_one_client_do_not_delay_another() {
    let mut config = local();
    config.name_servers = vec![name_server()];
    let (proxy, at) = start(config);
    let attacker = Ipv4Addr::new(127, 0, 0, 66);
    let attack: Vec<_> = (0..200)
        .map(|nth| {
            let mut stream = connect_from(attacker, at);
            write!(stream, "CONNECT never{nth}.test:8080 HTTP/1.1\r\nHost: never{nth}.test\r\n\r\n").unwrap();
            stream
        })
        .collect();
    wait_until("the attack has begun", || proxy.totals().open == 200);
    let to = server(|mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        _ = read_to_end(&mut stream);
    });
    for nth in 0..10 {
        let began = Instant::now();
        let mut stream = connect_from(Ipv4Addr::LOCALHOST, at);
        let (host, port) = (format!("good{nth}.test"), to.port());
        let ask =
            format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).unwrap();
        let answer = read_to_end(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
    drop(attack);
    wait_until("lookups end with their clients", || proxy.totals().open == 0);
}

#[test]
fn name_without_an_answer_is_a_gateway_timeout() {
    let mut config = local();
    config.name_servers = vec![name_server()];
    config.timeouts.connect = Duration::from_secs(30);
    let (_proxy, at) = start(config);
    let mut stream = connect_from(Ipv4Addr::LOCALHOST, at);
    stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    stream.write_all(b"CONNECT never.test:443 HTTP/1.1\r\nHost: never.test\r\n\r\n").unwrap();
    let answer = read_to_end(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 504 ") && answer.contains("error=dns_timeout"), "{answer}");
    assert!(answer.contains("\r\n\r\nno name server answered in time\n"), "{answer}");
}

#[test]
fn connection_from_before_a_reload_asks_its_name_servers() {
    let ((old, asked_of_old), (new, asked_of_new)) = (name_server_with_log(), name_server_with_log());
    let mut config = local();
    config.name_servers = vec![old];
    let (proxy, at) = start(config.clone());
    let port = server(|mut stream| {
        while !read_head(&mut stream).is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    })
    .port();
    let get = |stream: &mut TcpStream, name: &str| {
        write!(stream, "GET http://{name}.test:{port}/ HTTP/1.1\r\nHost: {name}.test:{port}\r\n\r\n")
            .unwrap();
        assert!(read_head(stream).starts_with("HTTP/1.1 200 "), "{name}");
    };
    let mut kept = connect(at);
    get(&mut kept, "before");
    config.name_servers = vec![new];
    proxy.reload(config).unwrap();
    get(&mut kept, "kept");
    get(&mut connect(at), "opened");
    get(&mut kept, "before");
    let names = |asked: &Asked| asked.lock().unwrap().iter().cloned().collect::<Vec<_>>();
    assert_eq!(names(&asked_of_old), ["before"]);
    assert_eq!(names(&asked_of_new), ["before", "kept", "opened"]);
}
