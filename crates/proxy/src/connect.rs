//! Connects to destinations: resolves names, checks addresses, and races the attempts as in RFC
//! 8305 (Happy Eyeballs).

use crate::config::{Config, UpstreamProtocol};
use crate::counters::Counters;
use crate::destination::{Destination, Host, NameKind, Refused};
use crate::own_addresses::OwnAddresses;
use crate::refusal::{Cause, Refusal};
use crate::stream::Stream;
use crate::upstream;
use linux::socket::{self, Options, Protocol};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Delay between connection attempts (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Addresses tried per name.
pub(crate) const MAX_CONNECT_ATTEMPTS: usize = 8;
/// Attempts of all connections together that may run beside the first of their connection.
pub(crate) const MAX_PARALLEL_ATTEMPTS: usize = 256;

/// Failed connection to a server.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// The destination rules reject it.
    Refused(Refused),
    /// The name does not resolve.
    Unknown,
    /// The attempt timed out.
    TimedOut,
    /// The server or the network reported an error.
    Unreachable(io::Error),
    /// The upstream proxy refused, or could not be reached.
    Upstream(Refusal),
    /// The client closed its connection meanwhile.
    Abandoned,
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error)
    }
}

impl ConnectError {
    /// Outcome for the access log.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused destination",
            Self::Unknown => "unknown host",
            Self::TimedOut => "connect timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Upstream(_) => "refused upstream",
            Self::Abandoned => "abandoned",
        }
    }

    /// Message for the client.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Refused(refused) => format!("destination refused: {}", refused.0),
            Self::Unknown => "unknown host name".to_owned(),
            Self::TimedOut => "connection to the server timed out".to_owned(),
            Self::Unreachable(error) => format!("server unreachable: {}", error.kind()),
            Self::Upstream(refusal) => format!("the upstream proxy refused: {}", refusal.reason),
            Self::Abandoned => "the client closed its connection".to_owned(),
        }
    }

    /// Cause, for the client's protocol.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Refused(_) => Cause::DestinationIpProhibited,
            Self::Unknown => Cause::DnsError,
            Self::TimedOut => Cause::ConnectionTimeout,
            Self::Unreachable(error) => Cause::of(error),
            Self::Upstream(refusal) => refusal.cause,
            Self::Abandoned => Cause::ConnectionTerminated,
        }
    }
}

/// Established connection toward a server.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) stream: Stream,
    /// Server bytes received together with the upstream proxy's response.
    pub(crate) early_data: Vec<u8>,
}

/// Means of connecting to servers, shared by all connections.
#[derive(Debug)]
pub(crate) struct Dialer {
    /// Addresses of this host.
    pub(crate) own: Arc<OwnAddresses>,
    lookups: Semaphore,
    /// Permits for attempts beside the first of a connection, each with one descriptor.
    pub(crate) parallel: Arc<Semaphore>,
}

/// Socket options of connections to servers or to the upstream proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transport {
    pub(crate) protocol: Protocol,
    /// Firewall mark.
    pub(crate) mark: Option<u32>,
}

impl Dialer {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            own: Arc::default(),
            lookups: Semaphore::new(config.limits.lookups.max(1)),
            parallel: Arc::new(Semaphore::new(MAX_PARALLEL_ATTEMPTS)),
        }
    }

    /// Connects to `destination`, directly or through the upstream proxy. The rules apply to
    /// resolved addresses, or with an upstream that resolves names, to what is known before.
    pub(crate) async fn connect(
        &self,
        config: &Config,
        destination: &Destination,
        protocol: Protocol,
    ) -> Result<Connected, ConnectError> {
        let deadline = Instant::now() + config.timeouts.connect;
        let work = async {
            match &config.upstream {
                None => {
                    let allowed = self.permitted_addresses(config, destination).await?;
                    let transport = Transport { protocol, mark: config.mark };
                    let stream = connect_first(&allowed, transport, &self.parallel)
                        .await
                        .map_err(ConnectError::Unreachable)?;
                    Ok(Connected { stream: Stream::Tcp(stream), early_data: Vec::new() })
                }
                Some(upstream) if upstream.speak == UpstreamProtocol::Convert => {
                    let peers = self.permitted_addresses(config, destination).await?;
                    upstream::connect_by_convert(self, config, upstream, peers).await
                }
                Some(upstream) => {
                    config
                        .destinations
                        .check_unresolved(destination, &self.own)
                        .map_err(ConnectError::Refused)?;
                    upstream::connect_by_http(self, config, upstream, destination).await
                }
            }
        };
        timeout_at(deadline, work).await.unwrap_or(Err(ConnectError::TimedOut))
    }

    /// Resolves a destination with the system's resolver, in blocking threads of bounded number.
    /// Address families alternate, beginning with the one that the system prefers (RFC 8305, section
    /// 4; RFC 6724).
    pub(crate) async fn resolve(&self, destination: &Destination) -> Result<Vec<SocketAddr>, ConnectError> {
        let with_port = |address| SocketAddr::new(address, destination.port);
        let name = match &destination.host {
            Host::Address(address) => return Ok(vec![with_port(*address)]),
            Host::Name(name) => name,
        };
        let found: Vec<_> = if let Some(addresses) = NameKind::of(name).addresses() {
            addresses.into_iter().map(with_port).collect()
        } else {
            let Ok(_permit) = self.lookups.acquire().await else { return Err(ConnectError::Unknown) };
            lookup_host((&**name, destination.port)).await.map_err(|_| ConnectError::Unknown)?.collect()
        };
        if found.is_empty() { Err(ConnectError::Unknown) } else { Ok(interleave(found)) }
    }

    /// Resolves a destination to the addresses that the rules permit. The connection uses these
    /// checked addresses, so a second lookup cannot change them (DNS rebinding).
    async fn permitted_addresses(
        &self,
        config: &Config,
        destination: &Destination,
    ) -> Result<Vec<SocketAddr>, ConnectError> {
        let mut reason = Refused("no address");
        let check = |address: &SocketAddr| config.destinations.check(*address, &self.own);
        config.destinations.check_port(destination.port).map_err(ConnectError::Refused)?;
        let mut allowed = self.resolve(destination).await?;
        allowed.retain(|address| check(address).inspect_err(|refused| reason = *refused).is_ok());
        allowed.truncate(MAX_CONNECT_ATTEMPTS);
        if allowed.is_empty() { Err(ConnectError::Refused(reason)) } else { Ok(allowed) }
    }
}

/// Returns the first connection that succeeds.
pub(crate) async fn connect_first(
    addresses: &[SocketAddr],
    transport: Transport,
    parallel: &Arc<Semaphore>,
) -> io::Result<TcpStream> {
    if let [only] = addresses {
        return attempt(*only, transport).await;
    }
    race(addresses, parallel, |address| attempt(address, transport)).await
}

fn interleave(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v4 = found.first().is_some_and(SocketAddr::is_ipv4);
    let (first, second): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.is_ipv4() == first_is_v4);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut all = Vec::new();
    loop {
        let two = [first.next(), second.next()];
        if two == [None, None] {
            return all;
        }
        all.extend(two.into_iter().flatten());
    }
}

/// Returns the result of the first attempt that succeeds. Each further attempt starts after 250 ms,
/// or once a previous one fails. Attempts beside the first need a permit of `parallel`; without one
/// they wait for a failure.
pub(crate) async fn race<A, T, E, F>(
    candidates: &[A],
    parallel: &Arc<Semaphore>,
    attempt: impl Fn(A) -> F,
) -> Result<T, E>
where
    A: Copy,
    T: Send + 'static,
    E: From<io::Error> + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let mut attempts = JoinSet::new();
    let mut waiting = candidates.iter();
    let mut failed = E::from(ErrorKind::NotFound.into());
    loop {
        let permit = if attempts.is_empty() { None } else { Arc::clone(parallel).try_acquire_owned().ok() };
        if (attempts.is_empty() || permit.is_some())
            && let Some(candidate) = waiting.next()
        {
            let attempt = attempt(*candidate);
            attempts.spawn(async move {
                let _permit = permit;
                attempt.await
            });
        }
        let next = Instant::now() + ATTEMPT_DELAY;
        tokio::select! {
            Some(done) = attempts.join_next() => match done.unwrap_or_else(|error| Err(E::from(error.into()))) {
                // Dropping the set cancels the remaining attempts.
                Ok(result) => return Ok(result),
                Err(error) => failed = error,
            },
            () = sleep_until(next), if waiting.len() > 0 => {}
            else => return Err(failed),
        }
        if attempts.is_empty() && waiting.len() == 0 {
            return Err(failed);
        }
    }
}

async fn attempt(address: SocketAddr, transport: Transport) -> io::Result<TcpStream> {
    let options = Options {
        no_delay: true,
        notsent_lowat: Some(crate::listener::NOTSENT_LOWAT_BYTES),
        mark: transport.mark,
        ..Options::default()
    };
    let socket = socket::open_unconnected(address, transport.protocol, &options).map_err(io::Error::other)?;
    TcpSocket::from_std_stream(socket).connect(address).await
}

/// Writes all bytes.
pub(crate) async fn write_all(stream: &Stream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await
}

/// Appends up to `max_len` available bytes to `buffer`; returns 0 at end of stream.
pub(crate) async fn read_some(stream: &Stream, buffer: &mut Vec<u8>, max_len: usize) -> io::Result<usize> {
    stream.read_some(buffer, max_len).await
}

/// Counts a failed connection.
pub(crate) fn count_failure(failure: &ConnectError, counters: &Counters) {
    Counters::count(match failure {
        ConnectError::Refused(_) => &counters.refused_destinations,
        ConnectError::Abandoned => &counters.abandoned,
        _ => &counters.failed,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn address_families_alternate() {
        let found = ["[2000::1]:1", "[2000::2]:1", "8.8.8.8:1", "8.8.4.4:1", "1.1.1.1:1"].map(at).to_vec();
        let order: Vec<_> = interleave(found).iter().map(|one| one.ip().to_string()).collect();
        assert_eq!(order, ["2000::1", "8.8.8.8", "2000::2", "8.8.4.4", "1.1.1.1"]);
    }

    fn dialer() -> Dialer {
        let dialer = Dialer::new(&Config::default());
        dialer.own.open().unwrap();
        dialer
    }

    const TCP: Transport = Transport { protocol: Protocol::Tcp, mark: None };

    #[tokio::test]
    async fn next_address_is_tried_after_a_failure() {
        let dialer = dialer();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.2:0").await.unwrap().local_addr().unwrap();
        let stream = connect_first(&[closed, closed, good], TCP, &dialer.parallel).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        assert_eq!(
            connect_first(&[closed, closed], TCP, &dialer.parallel).await.unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
    }

    #[tokio::test]
    async fn attempts_without_a_permit_wait_for_a_failure() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        for permits in [0, 1] {
            let parallel = Arc::new(Semaphore::new(permits));
            let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let attempt = |nth: usize| {
                let (open, most) = (Arc::clone(&open), Arc::clone(&most));
                async move {
                    most.fetch_max(open.fetch_add(1, SeqCst) + 1, SeqCst);
                    tokio::time::sleep(2 * ATTEMPT_DELAY).await;
                    open.fetch_sub(1, SeqCst);
                    if nth == 2 { Ok(nth) } else { Err(io::Error::from(ErrorKind::TimedOut)) }
                }
            };
            let winner = race(&[0, 1, 2], &parallel, attempt).await;
            assert_eq!((winner.unwrap(), most.load(SeqCst)), (2, permits + 1), "{permits} permits");
            assert_eq!(parallel.available_permits(), permits);
        }
    }

    #[tokio::test]
    async fn numeric_host_names_are_resolved_and_checked() {
        let (config, dialer) = (Config::default(), dialer());
        for name in ["localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0"] {
            let to = Destination { host: Host::Name(name.to_owned()), port: 80 };
            let failure = dialer.connect(&config, &to, Protocol::Tcp).await.unwrap_err();
            assert!(matches!(failure, ConnectError::Refused(_)), "{name}: {failure:?}");
        }
        let to = Destination { host: Host::Name("256.1.1.1".to_owned()), port: 80 };
        let failure = dialer.connect(&config, &to, Protocol::Tcp).await.unwrap_err();
        assert!(matches!(failure, ConnectError::Unknown), "{failure:?}");
    }
}
