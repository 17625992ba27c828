//! One client's connection, from its first byte to its last.

mod convert;
mod http;
mod players;
mod socks5;
mod transparent;

use crate::Config;
use crate::access::{self, Line, Paths};
use crate::config::{Listen, Serve};
use crate::connect::{self, Connected, Failure, read_some};
use crate::counters::{Counters, Tally};
use crate::credentials::Credential;
use crate::destination::Destination;
use crate::relay::{self, End, Flow};
use crate::server::{Phase, Seat, Shared};
use linux::socket::{self, Protocol};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The outcome of who has not said in time what it wants.
const TOO_SLOW: &str = "too slow";
/// What is read at once while a client says what it wants.
const PORTION: usize = 4096;

/// A client, and what has been read of what it says.
pub(crate) struct Client {
    shared: Arc<Shared>,
    config: Arc<Config>,
    stream: TcpStream,
    address: SocketAddr,
    /// Where it was listened to, as it was configured.
    listening: SocketAddr,
    /// Read, and not yet understood.
    buffer: Vec<u8>,
    phase: watch::Receiver<Phase>,
    since: Instant,
    /// When it must have said what it wants.
    deadline: Instant,
    note: Note,
    /// What this connection has carried.
    up: AtomicU64,
    down: AtomicU64,
}

/// What the access log is to say.
struct Note {
    front: &'static str,
    user: Option<String>,
    destination: Option<Destination>,
    server: Option<SocketAddr>,
    outcome: &'static str,
    paths: Paths,
}

/// Serves a client until it is gone.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    config: Arc<Config>,
    listen: Listen,
    stream: TcpStream,
    address: SocketAddr,
    seat: Seat,
) {
    let _seat = seat;
    let is_mptcp = listen.protocol == Protocol::Mptcp && access::is_mptcp(&stream);
    if is_mptcp {
        Counters::count(&shared.counters.accepted_mptcp);
    }
    let note = Note {
        front: listen.serve.name(),
        user: None,
        destination: None,
        server: None,
        outcome: "closed",
        paths: Paths::of(is_mptcp),
    };
    let since = Instant::now();
    let mut client = Client {
        deadline: since + config.timeouts.handshake,
        phase: shared.phase.subscribe(),
        shared,
        config,
        stream,
        address,
        listening: listen.address,
        buffer: Vec::new(),
        since,
        note,
        up: AtomicU64::new(0),
        down: AtomicU64::new(0),
    };
    // In a box of its own: what it takes to understand a client is much, and a tunnel does not carry it along.
    let tunnel = Box::pin(client.talk(listen.serve)).await;
    if let Some(server) = tunnel {
        client.tunnel(server).await;
    }
    if client.note.outcome == TOO_SLOW {
        // Without it the kernel would go on listening for a while.
        _ = socket::abort(&client.stream);
    }
    client.log();
}

impl Client {
    /// Has a client say what it wants, and has it so; gives the server where that is a tunnel.
    async fn talk(&mut self, serve: Serve) -> Option<Connected> {
        match serve {
            Serve::Http => http::serve(self).await,
            Serve::Socks5 => socks5::serve(self).await,
            Serve::Auto => match self.first_byte().await? {
                5 => socks5::serve(self).await,
                _ => http::serve(self).await,
            },
            Serve::Convert => convert::serve(self).await,
            Serve::Transparent => transparent::serve(self).await,
        }
    }

    fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Where what comes from the client, and what goes to it, is counted.
    fn tallies(&self) -> (Tally<'_>, Tally<'_>) {
        let counters = self.counters();
        (Tally([&counters.bytes_up, &self.up]), Tally([&counters.bytes_down, &self.down]))
    }

    /// Reads more of what the client says that it wants, behind what is in the buffer.
    async fn read(&mut self) -> io::Result<()> {
        match timeout_at(self.deadline, read_some(&self.stream, &mut self.buffer, PORTION)).await {
            Ok(Ok(0)) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                self.note.outcome = TOO_SLOW;
                Counters::count(&self.counters().too_slow);
                Err(ErrorKind::TimedOut.into())
            }
        }
    }

    async fn first_byte(&mut self) -> Option<u8> {
        self.read().await.ok()?;
        self.buffer.first().copied()
    }

    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + self.config.timeouts.handshake;
        timeout_at(deadline, connect::write_all(&self.stream, bytes)).await?
    }

    /// Whether somebody who says that may go on.
    fn knows(&mut self, credential: Option<&Credential>) -> bool {
        let users = &self.config.clients.users;
        if users.is_empty() {
            return true;
        }
        let known = credential.filter(|one| users.know(one));
        self.note.user = known.map(|one| one.name.clone());
        if known.is_none() {
            self.note.outcome = "unauthorized";
            Counters::count(&self.counters().unauthorized);
        }
        known.is_some()
    }

    /// Whether an address is that of the listener, or any where it listens at all.
    fn is_for_us(&self, address: IpAddr) -> bool {
        self.listening.ip().is_unspecified() || self.listening.ip() == address
    }

    /// A connection to where the client wants.
    async fn connect(&mut self, destination: &Destination, protocol: Protocol) -> Result<Connected, Failure> {
        self.note.destination = Some(destination.clone());
        let connected = connect::connect(&self.config, &self.shared.lookups, destination, protocol).await;
        match &connected {
            Ok(server) => self.note.server = server.stream.peer_addr().ok(),
            Err(failure) => {
                self.note.outcome = failure.name();
                connect::count(failure, self.counters());
            }
        }
        connected
    }

    /// Relays everything both ways until the end; what was read of the client's beyond its request goes first.
    async fn tunnel(&mut self, server: Connected) {
        Counters::count(&self.counters().tunnels);
        let mut up = Flow::new(std::mem::take(&mut self.buffer));
        let mut down = Flow::new(server.early);
        let total = self.config.timeouts.total.map(|total| self.since + total);
        let mut paths = std::mem::take(&mut self.note.paths);
        let end = relay::both(
            &self.stream,
            &server.stream,
            (&mut up, &mut down),
            self.tallies(),
            (self.config.pace(), total),
            || paths.look(&self.stream),
        )
        .await;
        self.note.paths = paths;
        self.note.outcome = end.name();
        if matches!(end, End::Idle | End::TooLong) {
            Counters::count(&self.counters().timed_out);
        }
    }

    /// Writes what is to be said of the whole connection.
    fn log(mut self) {
        let Some(log) = self.shared.log() else { return };
        self.note.paths.look(&self.stream);
        let is_mptcp = self.note.paths.is_mptcp;
        let line = Line {
            event: "connection",
            time: access::now(),
            client: self.address.to_string(),
            front: self.note.front,
            user: self.note.user.as_deref(),
            destination: self.note.destination.as_ref().map(ToString::to_string),
            server: self.note.server.map(|server| server.to_string()),
            outcome: self.note.outcome,
            seconds: access::seconds(self.since.elapsed()),
            bytes_up: self.up.load(Relaxed),
            bytes_down: self.down.load(Relaxed),
            protocol: Some(if is_mptcp { "mptcp" } else { "tcp" }),
            subflows: self.note.paths.into_subflows(),
            ..Line::default()
        };
        log.line(&line, &self.shared.counters);
    }
}
