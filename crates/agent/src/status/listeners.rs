//! Listening sockets of the server: the UNIX socket, the port of metrics and the port of players.

use super::player_port::{PlayerListener, PlayerPort};
use super::server::{Access, Handler, serve_connection};
use super::slots::{ConnectionSlots, Peer};
use std::collections::BTreeMap;
use std::io;
use std::net::{self, SocketAddr};
use std::os::unix::net as unix;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tracing::{info, warn};

/// Pause after a failed accept, for instance when file descriptors have run out.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Interval at which a port that cannot be bound is tried again.
const BIND_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Descriptions of the ports that cannot be bound at present, by their section of the configuration.
#[derive(Debug, Clone, Default)]
pub struct PortFailures(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl PortFailures {
    /// Descriptions for the status.
    pub fn remarks(&self) -> Vec<String> {
        self.0.lock().map(|failures| failures.values().cloned().collect()).unwrap_or_default()
    }

    /// Records an attempt. A failure is logged once, and so is the success after it.
    fn record(&self, section: &'static str, address: SocketAddr, failure: Option<&io::Error>) {
        let Ok(mut failures) = self.0.lock() else { return };
        match failure {
            Some(error) => {
                failures.entry(section).or_insert_with(|| {
                    let text = format!("cannot listen at {address} for `{section}`, will try again: {error}");
                    warn!("{text}");
                    text
                });
            }
            None if failures.remove(section).is_some() => info!("listens at {address} for `{section}`"),
            None => {}
        }
    }
}

/// Optional TCP port. Any local user may bind it first, so a failure does not end the agent.
struct Port {
    section: &'static str,
    address: SocketAddr,
    listener: Option<TcpListener>,
    failures: PortFailures,
}

impl Port {
    fn open(section: &'static str, address: SocketAddr, failures: &PortFailures) -> Self {
        let mut port = Self { section, address, listener: None, failures: failures.clone() };
        port.bind();
        port
    }

    fn bind(&mut self) {
        let bound = bind_tcp(self.address);
        self.failures.record(self.section, self.address, bound.as_ref().err());
        self.listener = bound.ok();
    }

    /// Returns the listener as soon as the port can be bound.
    async fn listener(mut self) -> TcpListener {
        loop {
            if let Some(listener) = self.listener {
                return listener;
            }
            tokio::time::sleep(BIND_RETRY_INTERVAL).await;
            self.bind();
        }
    }

    #[cfg(test)]
    fn local_address(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}

pub(super) struct Listeners {
    unix: UnixListener,
    tcp: Option<Port>,
    players: Option<(Port, PlayerPort)>,
}

impl Listeners {
    /// Opens the ports that can be bound now. Needs the context of a runtime.
    ///
    /// # Errors
    /// Fails when the UNIX socket cannot be registered.
    pub(super) fn open(
        unix: unix::UnixListener,
        tcp: Option<SocketAddr>,
        players: Option<&PlayerPort>,
        failures: &PortFailures,
    ) -> io::Result<Self> {
        Ok(Self {
            unix: UnixListener::from_std(unix)?,
            tcp: tcp.map(|address| Port::open("metrics", address, failures)),
            players: players.map(|port| (Port::open("players", port.listen, failures), port.clone())),
        })
    }

    /// Addresses of the open ports: of metrics, and of players.
    #[cfg(test)]
    pub(super) fn local_addresses(&self) -> [Option<SocketAddr>; 2] {
        let players = self.players.as_ref().map(|(port, _)| port);
        [self.tcp.as_ref(), players].map(|port| port.and_then(Port::local_address))
    }

    /// Accepts connections on all sockets. Each has its own slots, so that clients of a network port
    /// never displace those of the UNIX socket.
    pub(super) async fn accept_loop(self, handler: &Handler, timeout: Duration) {
        let metrics = async {
            if let Some(port) = self.tcp {
                accept_tcp(&port.listener().await, handler, timeout).await;
            }
        };
        let players = async {
            if let Some((port, settings)) = self.players {
                PlayerListener::new(port.listener().await, settings).accept_loop(handler, timeout).await;
            }
        };
        tokio::join!(accept_unix(&self.unix, handler, timeout), metrics, players);
    }
}

/// Accepts a connection. A failed attempt, as without free descriptors, is repeated after a pause.
pub(super) async fn next_client<T>(accept: impl AsyncFn() -> io::Result<T>) -> T {
    loop {
        if let Ok(client) = accept().await {
            return client;
        }
        tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
    }
}

async fn accept_unix(listener: &UnixListener, handler: &Handler, timeout: Duration) {
    let mut slots = ConnectionSlots::default();
    loop {
        let (stream, _) = next_client(async || listener.accept().await).await;
        let peer = Peer::User(stream.peer_cred().ok().map(|user| user.uid()));
        let task = tokio::spawn(serve_connection(stream, handler.clone(), Access::All, timeout));
        slots.add(peer, task.abort_handle());
    }
}

async fn accept_tcp(listener: &TcpListener, handler: &Handler, timeout: Duration) {
    let mut slots = ConnectionSlots::default();
    loop {
        let (stream, from) = next_client(async || listener.accept().await).await;
        let task = tokio::spawn(serve_connection(stream, handler.clone(), Access::MetricsOnly, timeout));
        slots.add(Peer::Address(from.ip()), task.abort_handle());
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}
