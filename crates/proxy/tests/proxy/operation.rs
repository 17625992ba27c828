//! A proxy at work: reloaded, drained, asked, and what it writes down.

use crate::support::{connect, echo, head, listen, local, protocol, say, server, start, tunnel, until};
use linux::socket::Protocol;
use serde_json::Value;
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;
use tandem_proxy::config::{Listen, ListenerProtocol};
use tandem_proxy::status::{Status, query};
use tandem_proxy::{Error, Proxy};

#[test]
fn what_goes_on_may_finish_and_nothing_new_begins() {
    let (proxy, at) = start(local());
    let to = echo();
    let mut going = tunnel(at, to);
    let mut waiting = connect(at);
    let site = server(|mut stream| {
        while !head(&mut stream).is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    write!(waiting, "GET http://{site}/ HTTP/1.1\r\nHost: {site}\r\n\r\n").unwrap();
    head(&mut waiting);
    let ending = thread::spawn(move || proxy.drain());
    assert_eq!(waiting.read(&mut [0]).unwrap(), 0, "who waits for nothing is let go");
    until("nobody listens", || std::net::TcpStream::connect(at).is_err());
    going.write_all(b"still here").unwrap();
    let mut back = [0; 10];
    going.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"still here");
    drop(going);
    assert!(ending.join().unwrap(), "all have finished");
}

#[test]
fn what_does_not_finish_in_time_is_broken_off() {
    let mut config = local();
    config.timeouts.drain = Duration::from_millis(200);
    let (proxy, at) = start(config);
    let mut going = tunnel(at, echo());
    assert!(!proxy.drain());
    assert!(matches!(going.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn another_configuration_is_taken_while_all_goes_on() {
    let (proxy, at) = start(local());
    let to = echo();
    let mut going = tunnel(at, to);
    let mut stays = local();
    stays.destinations.allow.clear();
    proxy.reload(stays).unwrap();
    assert!(say(at, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n")).starts_with("HTTP/1.1 403 "));
    going.write_all(b"on").unwrap();
    going.read_exact(&mut [0; 2]).unwrap();

    let open = Listen { address: "0.0.0.0:0".parse().unwrap(), ..listen(ListenerProtocol::Auto) };
    let mut bad = local();
    bad.listen.push(open);
    assert!(matches!(proxy.reload(bad), Err(Error::OpenProxy { .. })));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bad = local();
    bad.listen.push(Listen { address: taken.local_addr().unwrap(), ..open });
    assert!(proxy.reload(bad).is_err(), "an address that is taken");
    assert!(
        say(at, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n")).starts_with("HTTP/1.1 403 "),
        "as it was"
    );

    let mut moved = local();
    moved.listen = vec![Listen { address: "127.0.0.2:0".parse().unwrap(), ..local().listen[0] }];
    proxy.reload(moved).unwrap();
    until("nobody listens there any more", || std::net::TcpStream::connect(at).is_err());
    let at = proxy.status().listening[0].address.parse().unwrap();
    tunnel(at, to);
    going.write_all(b"on").unwrap();
    going.read_exact(&mut [0; 2]).unwrap();
}

#[test]
fn a_proxy_says_how_things_stand_at_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/proxy.sock");
    let mut config = local();
    config.socket = Some(path.clone());
    let (proxy, at) = start(config.clone());
    let going = tunnel(at, echo());
    let status: Status = serde_json::from_str(&query(&path, "/status").unwrap()).unwrap();
    assert_eq!((status.totals.open, status.totals.tunnels, status.draining), (1, 1, false));
    assert_eq!(status.listening[0].address, at.to_string());
    assert!(query(&path, "/metrics").unwrap().contains("\ntandem_proxy_connections 1\n"));
    assert!(query(&path, "/").unwrap_err().to_string().contains("/metrics"));
    assert!(matches!(Proxy::start(config.clone(), None), Err(Error::AlreadyRunning(_))));
    let ending = thread::spawn(move || proxy.drain());
    until("it is draining", || query(&path, "/status").is_ok_and(|text| text.contains("\"draining\":true")));
    drop(going);
    assert!(ending.join().unwrap());
    assert!(!path.exists());
    // One that was killed leaves it.
    std::os::unix::net::UnixListener::bind(&path).unwrap();
    let (_proxy, _) = start(config);
    assert!(query(&path, "/status").is_ok());
}

#[test]
fn each_connection_and_request_has_a_line_with_what_each_subflow_carried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut config = local();
    config.access_log = Some(path.clone());
    let (proxy, at) = start(config.clone());
    let to = echo();
    let mut stream = tunnel(at, to);
    stream.write_all(&[7; 5000]).unwrap();
    stream.read_exact(&mut [0; 5000]).unwrap();
    // One direction after the other: of a connection closed at once the kernel may have forgotten the subflows.
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    drop(stream);
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    until("it is written", || lines().len() == 1);
    let line = &lines()[0];
    assert_eq!(
        (&line["event"], &line["front"], &line["outcome"]),
        (&"connection".into(), &"http".into(), &"closed".into())
    );
    assert_eq!(line["destination"], to.to_string());
    assert_eq!((&line["bytes_up"], &line["bytes_down"]), (&5000.into(), &5000.into()));
    if protocol() == Protocol::Mptcp {
        assert_eq!(line["protocol"], "mptcp");
        let subflows = line["subflows"].as_array().unwrap();
        assert_eq!(subflows.len(), 1, "{line}");
        assert_eq!(subflows[0]["local"], at.to_string());
        // And what CONNECT and its answer are long.
        let (up, down) =
            (subflows[0]["bytes_up"].as_u64().unwrap(), subflows[0]["bytes_down"].as_u64().unwrap());
        assert!((5000..5200).contains(&up) && (5000..5200).contains(&down), "{line}");
    }

    // Whoever keeps logs moves the file away, and says so.
    std::fs::rename(&path, folder.path().join("old")).unwrap();
    proxy.reload(config).unwrap();
    say(at, &format!("GET http://{to}/ HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n"));
    until("it is written to the new file", || !lines().is_empty());
    assert_eq!(lines()[0]["outcome"], "invalid HTTP version", "an echo is no answer");
}
