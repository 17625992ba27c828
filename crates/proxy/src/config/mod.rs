//! Configuration of the proxy.

mod format;
mod read;

pub use read::{EXAMPLE, Files, ReadFile};

use crate::Error;
use crate::credentials::Credential;
use crate::destination::{Destination, Rules};
use crate::network::{Network, restrict_clients};
use crate::relay::RelayOptions;
use crate::stream::Stream;
use crate::tls_stream;
use crate::users::Users;
use linux::socket::Protocol;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use strum::{EnumString, IntoStaticStr};
use tls::{ClientTls, ServerTls};

/// Configuration of the proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Listening addresses and their protocols.
    pub listen: Vec<Listen>,
    /// TLS of the listeners that have it.
    pub tls: Option<ServerTls>,
    /// Clients that may connect.
    pub clients: Clients,
    /// Destinations that clients may reach.
    pub destinations: Rules,
    /// Next proxy for all connections. `None` connects to servers directly.
    pub upstream: Option<Upstream>,
    /// Transport to servers. MPTCP falls back to TCP where the server lacks it.
    pub servers: Protocol,
    /// Name servers; if empty, the system's.
    pub name_servers: Vec<SocketAddr>,
    /// Resource limits.
    pub limits: Limits,
    /// Time, beyond one round trip, for which a subflow may hold queued data before the proxy
    /// pauses writes to a multipath connection. Zero disables the write gate
    /// (docs/design/write-gate.md).
    pub ahead: Duration,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Worker threads; `None` is one per core.
    pub workers: Option<usize>,
    /// Access log file; `None` disables it.
    pub access_log: Option<PathBuf>,
    /// Firewall mark of connections to servers or to the upstream proxy; needs CAP_NET_ADMIN.
    pub mark: Option<u32>,
    /// UNIX socket for `tandem proxy status` and metrics; `None` disables it.
    pub socket: Option<PathBuf>,
    /// Metrics over TCP; `None` disables them.
    pub metrics: Option<MetricsListener>,
    /// UNIX socket of a local agent that receives player state from the CMCD of requests.
    pub agent: Option<PathBuf>,
    /// Files of certificates and their keys, as the configuration names them.
    pub certificate_files: Vec<PathBuf>,
    /// Filter of the diagnostic log.
    pub log: String,
}

/// One listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// Listening address; port 0 selects a free port.
    pub address: SocketAddr,
    /// Protocol of clients.
    pub serve: ListenerProtocol,
    /// Transport: MPTCP (which also accepts TCP), or TCP alone.
    pub protocol: Protocol,
    /// Whether connections are encrypted by TLS.
    pub tls: bool,
    /// Send buffer limit toward each client, in bytes; `None` uses Linux's autotuning.
    pub send_buffer: Option<u32>,
}

/// Listener for metrics over TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsListener {
    /// Listening address.
    pub address: SocketAddr,
    /// Networks of clients. If empty, only this host, and the address must be loopback.
    pub from: Vec<Network>,
}

/// Protocol that a listener accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ListenerProtocol {
    /// HTTP or SOCKS5, selected by the first byte.
    Auto,
    /// HTTP only.
    Http,
    /// SOCKS5 only.
    Socks5,
    /// 0-RTT TCP Convert (RFC 8803).
    Convert,
    /// Connections redirected by TPROXY, forwarded to their original destination.
    Transparent,
    /// Connections redirected by NAT (nftables `redirect`), forwarded to their original
    /// destination.
    Redirected,
}

impl ListenerProtocol {
    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether clients can log in. Convert and redirected connections have no authentication.
    pub(crate) const fn has_logins(self) -> bool {
        matches!(self, Self::Auto | Self::Http | Self::Socks5)
    }
}

/// Client authorization.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clients {
    /// Allowed client networks. If empty and there are no users, only loopback clients.
    pub allow: Vec<Network>,
    /// Accepted users. If empty, no authentication takes place.
    pub users: Users,
    /// Whether clients may send passwords in clear over a network.
    pub clear_passwords: bool,
}

/// Next proxy on the way to servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its host and port.
    pub destination: Destination,
    /// Protocol to request connections with.
    pub speak: UpstreamProtocol,
    /// Transport to it.
    pub protocol: Protocol,
    /// Credential to present.
    pub credential: Option<Credential>,
    /// Whether the credential may be sent in clear over a network.
    pub clear_passwords: bool,
    /// TLS to it.
    pub tls: Option<ClientTls>,
}

impl Upstream {
    /// Upstream without a credential.
    pub const fn new(destination: Destination, speak: UpstreamProtocol, protocol: Protocol) -> Self {
        Self { destination, speak, protocol, credential: None, clear_passwords: false, tls: None }
    }
}

impl Upstream {
    /// Encrypts a new connection to the upstream, if configured.
    pub(crate) async fn secure(&self, tcp: tokio::net::TcpStream) -> std::io::Result<Stream> {
        match &self.tls {
            None => Ok(Stream::Tcp(tcp)),
            // Boxed, so that unencrypted connections do not carry the state of a handshake.
            Some(tls) => {
                let name = self.destination.host.certificate_name();
                Box::pin(tls_stream::connect(tls, tcp, &name)).await
            }
        }
    }
}

/// Protocol between this proxy and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamProtocol {
    /// HTTP CONNECT; the next proxy resolves names.
    Connect,
    /// 0-RTT TCP Convert (RFC 8803); this proxy resolves names.
    Convert,
}

/// Resource limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Concurrent client connections.
    pub connections: usize,
    /// Concurrent connections per client: an IPv4 address, or an IPv6 /64 prefix.
    pub per_client: usize,
    /// Bytes of a message head.
    pub head: usize,
    /// Concurrent name lookups.
    pub lookups: usize,
    /// Concurrent name lookups per client.
    pub lookups_per_client: usize,
}

/// Timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Time for a client's complete request, from the accept or from the first byte of a later
    /// request.
    pub handshake: Duration,
    /// Time to resolve and connect to a server.
    pub connect: Duration,
    /// Time without progress in either direction.
    pub idle: Duration,
    /// Time in which a peer accepts no byte of the data that waits for it; `None` is the time of `idle`.
    pub write: Option<Duration>,
    /// Time between a response and the next request.
    pub keep_alive: Duration,
    /// Lifetime of a tunnel, and of an HTTP request with its response; `None` is unlimited. An HTTP
    /// connection accepts no further request after it.
    pub total: Option<Duration>,
    /// Time after SIGTERM before open connections are aborted.
    pub drain: Duration,
}

impl Config {
    /// Default of [`Self::ahead`].
    pub const AHEAD: Duration = Duration::from_millis(10);

    /// Options for the relay.
    pub(crate) const fn relay_options(&self) -> RelayOptions {
        let Timeouts { idle, write, .. } = self.timeouts;
        let write = match write {
            Some(write) => write,
            None => idle,
        };
        RelayOptions { idle, write, ahead: self.ahead }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: vec![Listen {
                address: SocketAddr::from(([127, 0, 0, 1], 1080)),
                serve: ListenerProtocol::Auto,
                protocol: Protocol::Mptcp,
                tls: false,
                send_buffer: None,
            }],
            tls: None,
            clients: Clients::default(),
            destinations: Rules::default(),
            upstream: None,
            servers: Protocol::Tcp,
            name_servers: Vec::new(),
            limits: Limits::default(),
            ahead: Self::AHEAD,
            timeouts: Timeouts::default(),
            workers: None,
            access_log: None,
            mark: None,
            socket: None,
            metrics: None,
            agent: None,
            certificate_files: Vec::new(),
            log: "info".to_owned(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 10_000, per_client: 1000, head: 32 << 10, lookups: 128, lookups_per_client: 16 }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(600),
            write: None,
            keep_alive: Duration::from_secs(60),
            total: None,
            drain: Duration::from_secs(30),
        }
    }
}

impl Config {
    /// Rejects configurations that would be an open proxy, or that send passwords in clear over a
    /// network. [`crate::Proxy::start`] runs this check, so that no caller can skip it.
    ///
    /// # Errors
    /// [`Error::OpenProxy`], [`Error::ClearPasswords`] or [`Error::NoTls`] with the first such
    /// listener, [`Error::ClearCredential`], or [`Error::OpenMetrics`].
    pub fn check(&self) -> Result<(), Error> {
        self.listen.iter().try_for_each(|one| self.check_listener(one))?;
        self.check_metrics()?;
        self.check_upstream()
    }

    /// [`Self::check`] for one listener.
    pub(crate) fn check_listener(&self, one: &Listen) -> Result<(), Error> {
        let is_proxy = one.serve.has_logins();
        if one.tls && (!is_proxy || self.tls.is_none()) {
            return Err(Error::NoTls { at: one.address, serve: one.serve });
        }
        let by_name = is_proxy && !self.clients.users.is_empty();
        let by_certificate = self.demands_certificate(one);
        let by_address = !self.clients.allow.is_empty() && restrict_clients(&self.clients.allow);
        let is_here =
            one.address.ip().to_canonical().is_loopback() && one.serve != ListenerProtocol::Transparent;
        if !is_here && !by_name && !by_address && !by_certificate {
            return Err(Error::OpenProxy { at: one.address, serve: one.serve });
        }
        if by_name && !is_here && !one.tls && !self.clients.clear_passwords {
            return Err(Error::ClearPasswords { at: one.address, serve: one.serve });
        }
        Ok(())
    }

    /// Whether the client's address alone permits a connection to the listener. Without `allow`, any
    /// address may present a login or a certificate, and this host needs neither.
    pub(crate) fn admits(&self, one: &Listen, address: IpAddr) -> bool {
        let Clients { allow, users, .. } = &self.clients;
        if !allow.is_empty() {
            return allow.iter().any(|network| network.contains(address));
        }
        let by_name = one.serve.has_logins() && !users.is_empty();
        by_name || self.demands_certificate(one) || address.to_canonical().is_loopback()
    }

    /// Whether clients of the listener have to present a certificate.
    pub(crate) fn demands_certificate(&self, one: &Listen) -> bool {
        one.tls && self.tls.as_ref().is_some_and(ServerTls::verifies_clients)
    }

    /// [`Self::check`] for the metrics.
    pub(crate) fn check_metrics(&self) -> Result<(), Error> {
        match &self.metrics {
            Some(MetricsListener { address, from })
                if from.is_empty() && !address.ip().to_canonical().is_loopback() =>
            {
                Err(Error::OpenMetrics(*address))
            }
            _ => Ok(()),
        }
    }

    /// [`Self::check`] for the upstream.
    pub(crate) fn check_upstream(&self) -> Result<(), Error> {
        match &self.upstream {
            Some(upstream)
                if upstream.credential.is_some()
                    && !upstream.clear_passwords
                    && upstream.tls.is_none()
                    && !upstream.destination.is_loopback() =>
            {
                Err(Error::ClearCredential(upstream.destination.to_string()))
            }
            _ => Ok(()),
        }
    }
}
