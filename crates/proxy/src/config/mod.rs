//! What a proxy does: where it listens, whom it serves, where it leads.

mod format;
mod read;

pub use read::{EXAMPLE, Files};

use crate::Error;
use crate::credentials::{Credential, Users};
use crate::destination::{Destination, Rules};
use crate::network::Network;
use crate::relay::Pace;
use linux::socket::Protocol;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a proxy does.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where it listens, and what is spoken there.
    pub listen: Vec<Listen>,
    /// Whom it serves.
    pub clients: Clients,
    /// Where it leads.
    pub destinations: Rules,
    /// The proxy that everything goes through, where this one is a device's half.
    pub upstream: Option<Upstream>,
    /// What is spoken to servers, by whom; MPTCP becomes TCP where the server knows no more.
    pub servers: Protocol,
    /// How much of everything there may be.
    pub limits: Limits,
    /// How much longer than a round trip a subflow may take to send what it has, before more is written to a connection
    /// of several. Zero writes what there is, and Linux deals it to the subflows at once (docs/how-to/proxy.md).
    pub ahead: Duration,
    /// How long everything may take.
    pub timeouts: Timeouts,
    /// How many threads work; one a core where it is `None`.
    pub workers: Option<usize>,
    /// Where the access log goes; nowhere where it is `None`.
    pub access_log: Option<PathBuf>,
    /// The UNIX socket for `tandem proxy status` and metrics; none where it is `None`.
    pub socket: Option<PathBuf>,
    /// The UNIX socket of an agent on this device, which is told how players stand by the CMCD of their requests.
    pub agent: Option<PathBuf>,
    /// What is logged beside.
    pub log: String,
}

/// A place where the proxy listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// The address; port 0 is any that is free.
    pub address: SocketAddr,
    /// What is spoken there.
    pub serve: Serve,
    /// MPTCP, with TCP for clients that know no more; or TCP alone.
    pub protocol: Protocol,
    /// The most bytes that the kernel holds of what is on its way to a client; `None` lets it grow as Linux sees
    /// fit. Linux deals what it holds to subflows long before they can send it, and where one of them weakens,
    /// that is what the rest waits for (docs/how-to/proxy.md).
    pub send_buffer: Option<u32>,
}

/// What is spoken to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serve {
    /// HTTP or SOCKS5, as the first byte says.
    Auto,
    /// HTTP alone.
    Http,
    /// SOCKS5 alone.
    Socks5,
    /// 0-RTT TCP Convert (RFC 8803).
    Convert,
    /// Nothing: connections that TPROXY redirects go where they were going to.
    Transparent,
}

impl Serve {
    /// As it is written in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http => "http",
            Self::Socks5 => "socks5",
            Self::Convert => "convert",
            Self::Transparent => "transparent",
        }
    }
}

/// Whom a proxy serves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clients {
    /// Clients at these addresses; those of this host where it is empty and there are no users.
    pub allow: Vec<Network>,
    /// Those who say a name and a secret; nobody has to where it is empty.
    pub users: Users,
}

/// The proxy behind this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Where it is.
    pub destination: Destination,
    /// How it is asked.
    pub speak: Speak,
    /// How it is reached.
    pub protocol: Protocol,
    /// The name and secret that it wants.
    pub credential: Option<Credential>,
}

/// How a proxy asks the one behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speak {
    /// By CONNECT of HTTP: names are looked up there.
    Connect,
    /// By 0-RTT TCP Convert (RFC 8803): names are looked up here.
    Convert,
}

/// How much of everything there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections of clients at once.
    pub connections: usize,
    /// The same of one client: an IPv4 address, or the first 64 bits of an IPv6 address.
    pub per_client: usize,
    /// Bytes of a message's head.
    pub head: usize,
    /// Names that are looked up at once.
    pub lookups: usize,
}

/// How long everything may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a client has said what it wants, from its first moment or the request's first byte on.
    pub handshake: Duration,
    /// Until a server is found and reached.
    pub connect: Duration,
    /// Without a byte moved either way.
    pub idle: Duration,
    /// Between a response and the next request.
    pub keep_alive: Duration,
    /// A whole connection; as long as it likes where it is `None`.
    pub total: Option<Duration>,
    /// After SIGTERM, until what still goes on is broken off.
    pub drain: Duration,
}

impl Config {
    /// [`Self::ahead`] where nothing else is said: some looks at the subflows, and less than a round trip.
    pub const AHEAD: Duration = Duration::from_millis(10);

    /// How connections are relayed.
    pub(crate) const fn pace(&self) -> Pace {
        Pace { idle: self.timeouts.idle, ahead: self.ahead }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: vec![Listen {
                address: SocketAddr::from(([127, 0, 0, 1], 1080)),
                serve: Serve::Auto,
                protocol: Protocol::Mptcp,
                send_buffer: None,
            }],
            clients: Clients::default(),
            destinations: Rules::default(),
            upstream: None,
            servers: Protocol::Tcp,
            limits: Limits::default(),
            ahead: Self::AHEAD,
            timeouts: Timeouts::default(),
            workers: None,
            access_log: None,
            socket: None,
            agent: None,
            log: "info".to_owned(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 10_000, per_client: 1000, head: 32 << 10, lookups: 32 }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(600),
            keep_alive: Duration::from_secs(60),
            total: None,
            drain: Duration::from_secs(30),
        }
    }
}

impl Config {
    /// Whether anybody in the world could use it who should not: what must not be. Also held by who starts it,
    /// so that no program makes an open proxy by mistake.
    ///
    /// # Errors
    /// Which listener is open to whom.
    pub fn check(&self) -> Result<(), Error> {
        for one in &self.listen {
            // Convert and TPROXY have no place for a name and a secret.
            let by_name =
                !self.clients.users.is_empty() && !matches!(one.serve, Serve::Convert | Serve::Transparent);
            let by_address =
                !self.clients.allow.is_empty() && !self.clients.allow.iter().any(Network::is_everybody);
            let is_here = one.address.ip().to_canonical().is_loopback() && one.serve != Serve::Transparent;
            if !is_here && !by_name && !by_address {
                return Err(Error::Open { at: one.address, serve: one.serve });
            }
        }
        Ok(())
    }
}

impl Clients {
    /// Whether a client at that address may go on, as far as its address says.
    pub(crate) fn allow(&self, address: std::net::IpAddr) -> bool {
        if self.allow.is_empty() {
            return !self.users.is_empty() || address.to_canonical().is_loopback();
        }
        self.allow.iter().any(|network| network.contains(address))
    }
}
