//! Listening sockets of the server: the UNIX socket, the port of metrics and the port of players.

use super::player_port::{PlayerListener, PlayerPort};
use super::server::{Access, Handler, serve_connection};
use super::slots::{ConnectionSlots, Peer};
use std::io;
use std::net::{self, SocketAddr};
use std::os::unix::net as unix;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;

/// Pause after a failed accept, for instance when file descriptors have run out.
pub(super) const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Listeners {
    unix: UnixListener,
    tcp: Option<TcpListener>,
    players: Option<PlayerListener>,
}

impl Listeners {
    pub(super) fn register(
        runtime: &Runtime,
        unix: unix::UnixListener,
        tcp: Option<net::TcpListener>,
        players: Option<(&PlayerPort, net::TcpListener)>,
    ) -> io::Result<Self> {
        let _context = runtime.enter();
        Ok(Self {
            unix: UnixListener::from_std(unix)?,
            tcp: tcp.map(TcpListener::from_std).transpose()?,
            players: players.map(|(port, listener)| PlayerListener::new(listener, port)).transpose()?,
        })
    }

    /// Accepts connections on all sockets. Each has its own slots, so that clients of a network port
    /// never displace those of the UNIX socket.
    pub(super) async fn accept_loop(&self, handler: &Handler, timeout: Duration) {
        let players = async {
            if let Some(players) = &self.players {
                players.accept_loop(handler, timeout).await;
            }
        };
        tokio::join!(self.accept_unix(handler, timeout), self.accept_tcp(handler, timeout), players);
    }

    async fn accept_unix(&self, handler: &Handler, timeout: Duration) {
        let mut slots = ConnectionSlots::default();
        loop {
            let Ok((stream, _)) = self.unix.accept().await else {
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
                continue;
            };
            let peer = Peer::User(stream.peer_cred().ok().map(|user| user.uid()));
            let task = tokio::spawn(serve_connection(stream, handler.clone(), Access::All, timeout));
            slots.add(peer, task.abort_handle());
        }
    }

    async fn accept_tcp(&self, handler: &Handler, timeout: Duration) {
        let Some(listener) = &self.tcp else { return };
        let mut slots = ConnectionSlots::default();
        loop {
            let Ok((stream, from)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
                continue;
            };
            let task = tokio::spawn(serve_connection(stream, handler.clone(), Access::MetricsOnly, timeout));
            slots.add(Peer::Address(from.ip()), task.abort_handle());
        }
    }
}

pub(super) fn bind_tcp(address: SocketAddr) -> io::Result<net::TcpListener> {
    let listener = net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
