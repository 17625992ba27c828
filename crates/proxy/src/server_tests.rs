//! Reload of a server.

use super::*;
use crate::config::ListenerProtocol;
use crate::credentials::Credential;
use linux::socket::{Options, Protocol};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

const LONG: Duration = Duration::from_secs(20);

fn config_of(listen: Vec<Listen>) -> Config {
    Config { listen, ..Config::default() }
}

/// Connects from an address of loopback. The connection waits in the queue of the listener.
fn connect_from(address: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let stream = socket::open_unconnected(to, Protocol::Tcp, &Options::default()).unwrap();
    stream.set_nonblocking(false).unwrap();
    rustix::net::bind(&stream, &SocketAddr::from((address, 0))).unwrap();
    rustix::net::connect(&stream, &to).unwrap();
    stream.set_nonblocking(true).unwrap();
    TcpStream::from_std(stream).unwrap()
}

/// On one thread: the old listener accepts nothing before the reload.
#[tokio::test]
async fn replaced_listener_admits_clients_by_its_own_configuration() {
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (serve, protocol) = (ListenerProtocol::Convert, Protocol::Tcp);
    let convert = Listen { address: at, serve, protocol, tls: false, send_buffer: None };
    let mut old = config_of(vec![convert]);
    old.clients.allow = vec!["127.0.0.2".parse().unwrap()];
    let mut new = config_of(vec![Listen { serve: ListenerProtocol::Auto, ..convert }]);
    new.clients.users.add(&Credential::parse("ann:right").unwrap()).unwrap();
    let shared = Arc::new(Shared::new(old));
    let mut server = Server::listen(Arc::clone(&shared)).unwrap();
    let stranger = connect_from(Ipv4Addr::new(127, 0, 0, 3), at);
    server.reload(new).await.unwrap();
    timeout(LONG, stranger.readable()).await.expect("it is reset").unwrap();
    assert_eq!(stranger.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(shared.counters.totals().not_allowed, 1);
}

#[tokio::test]
async fn key_that_needs_a_restart_is_reported_at_each_reload() {
    let started = Config { workers: Some(1), ..config_of(Vec::new()) };
    let changed = Config { workers: Some(2), log: "debug".to_owned(), ..started.clone() };
    let shared = Arc::new(Shared::new(started.clone()));
    let mut server = Server::listen(Arc::clone(&shared)).unwrap();
    for _ in 0..2 {
        assert_eq!(shared.start.changed_keys(&changed), ["workers", "log"]);
        server.reload(changed.clone()).await.unwrap();
    }
    assert_eq!(shared.start.changed_keys(&started), [""; 0], "the values in force");
}
