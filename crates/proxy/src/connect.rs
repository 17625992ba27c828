//! Connects to destinations: resolves names, checks addresses, and races the attempts as in RFC
//! 8305 (Happy Eyeballs).

use crate::budgets::Budgets;
use crate::config::{Config, UpstreamProtocol};
use crate::counters::Counters;
use crate::descriptors::Descriptors;
use crate::destination::{Destination, Host, Refused};
use crate::front::http::PSEUDONYM;
use crate::outgoing::{Outgoing, Registration};
use crate::own_addresses::OwnAddresses;
use crate::parallel::{MAX_PARALLEL_ATTEMPTS, ParallelAttempts};
use crate::refusal::{Cause, Refusal};
use crate::resolve::{LookupError, Resolver};
use crate::stream::Stream;
use crate::upstream;
use linux::socket::{self, Options, Protocol};
use rustix::io::Errno;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Delay between connection attempts (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Bytes read at once before a relay starts.
pub(crate) const READ_CHUNK_BYTES: usize = 4096;
/// Addresses tried per name.
pub(crate) const MAX_CONNECT_ATTEMPTS: usize = 8;

/// Failed connection to a server.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// The destination rules reject it.
    Refused(Refused),
    /// The name does not resolve.
    Unknown,
    /// No name server answered in time.
    Unanswered,
    /// The attempt timed out.
    TimedOut,
    /// The server or the network reported an error.
    Unreachable(io::Error),
    /// The upstream proxy refused, or could not be reached.
    Upstream(Refusal),
    /// Many requests for the server wait at the converter: a loop, or a server that does not answer.
    Loop,
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
            Self::Unanswered => "lookup timeout",
            Self::TimedOut => "connect timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Upstream(_) => "refused upstream",
            Self::Loop => "loop",
            Self::Abandoned => "abandoned",
        }
    }

    /// Message for the client.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Refused(refused) => format!("destination refused: {}", refused.0),
            Self::Unknown => "unknown host name".to_owned(),
            Self::Unanswered => "no name server answered in time".to_owned(),
            Self::TimedOut => "connection to the server timed out".to_owned(),
            Self::Unreachable(error) => format!("server unreachable: {}", error.kind()),
            Self::Upstream(refusal) => format!("the upstream proxy refused: {}", refusal.reason),
            Self::Loop => {
                "too many unanswered requests for this server: do the upstreams form a loop?".to_owned()
            }
            Self::Abandoned => "the client closed its connection".to_owned(),
        }
    }

    /// Cause, for the client's protocol.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Refused(_) => Cause::DestinationIpProhibited,
            Self::Unknown => Cause::DnsError,
            Self::Unanswered => Cause::DnsTimeout,
            Self::TimedOut => Cause::ConnectionTimeout,
            Self::Unreachable(error) => Cause::of(error),
            Self::Upstream(refusal) => refusal.cause,
            Self::Loop => Cause::ProxyLoopDetected,
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
    /// Entry in the table of own connections.
    pub(crate) registration: Registration,
}

/// TCP connection with its entry in the table of own connections.
pub(crate) struct Dialed {
    pub(crate) stream: TcpStream,
    pub(crate) registration: Registration,
}

/// Connection that a client requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) destination: &'a Destination,
    pub(crate) protocol: Protocol,
    /// Client, as a key of limits.
    pub(crate) client: IpAddr,
    /// Proxies that the request has passed (`Via`).
    pub(crate) via: &'a str,
}

/// Means of connecting to servers, shared by all connections.
#[derive(Debug)]
pub(crate) struct Dialer {
    /// Addresses of this host.
    pub(crate) own: Arc<OwnAddresses>,
    resolver: Resolver,
    pub(crate) parallel: Arc<ParallelAttempts>,
    /// Open connections to servers and to the upstream proxy.
    pub(crate) outgoing: Arc<Outgoing>,
    /// Unanswered requests to converters, by client and server.
    pub(crate) unanswered: Arc<Budgets<(IpAddr, SocketAddr)>>,
    /// Name of this proxy in `Via`, unique so that two proxies in a chain differ.
    pub(crate) pseudonym: String,
}

/// Socket options of connections to servers or to the upstream proxy.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    pub(crate) protocol: Protocol,
    /// Firewall mark.
    pub(crate) mark: Option<u32>,
    pub(crate) parallel: Arc<ParallelAttempts>,
    /// Client, as a key of limits.
    pub(crate) client: IpAddr,
    pub(crate) outgoing: Arc<Outgoing>,
}

impl Dialer {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            own: Arc::default(),
            resolver: Resolver::new(config.limits.lookups.max(1), &config.name_servers),
            parallel: Arc::new(ParallelAttempts::new(MAX_PARALLEL_ATTEMPTS)),
            outgoing: Arc::default(),
            unanswered: Arc::default(),
            // A hasher of the standard library has random keys.
            pseudonym: format!("{PSEUDONYM}-{:016x}", RandomState::new().hash_one(0)),
        }
    }

    /// Asks the name servers of `config` from now on, also for connections of before.
    pub(crate) fn set_name_servers(&self, config: &Config) {
        self.resolver.set_servers(&config.name_servers);
    }

    /// Allows the concurrent lookups of `config`, or those for which there are descriptors.
    pub(crate) fn resize(&self, config: &Config, descriptors: &Descriptors) {
        self.resolver.resize(descriptors.lookups(config));
    }

    /// Reduces concurrent lookups and attempts to those for which there are descriptors.
    pub(crate) fn reduce(&self, config: &Config, descriptors: &Descriptors) {
        self.resize(config, descriptors);
        self.parallel.reduce(descriptors.parallel);
    }

    /// Transport of a client's connections.
    pub(crate) fn transport(&self, config: &Config, protocol: Protocol, client: IpAddr) -> Transport {
        let (parallel, outgoing) = (Arc::clone(&self.parallel), Arc::clone(&self.outgoing));
        Transport { protocol, mark: config.mark, parallel, client, outgoing }
    }

    /// Connects to `destination`, directly or through the upstream proxy. The rules apply to resolved
    /// addresses, or with an upstream that resolves names, to the port and to addresses that follow
    /// from the name without a lookup.
    pub(crate) async fn connect(&self, config: &Config, ask: Ask<'_>) -> Result<Connected, ConnectError> {
        let deadline = Instant::now() + config.timeouts.connect;
        let lookup = async || {
            let found = timeout_at(deadline, self.permitted_addresses(config, ask)).await;
            found.unwrap_or(Err(ConnectError::Unanswered))
        };
        let late_upstream = |_| {
            let reason = "no answer in time".to_owned();
            Err(ConnectError::Upstream(Refusal::new(Cause::ConnectionTimeout, reason)))
        };
        match &config.upstream {
            None => {
                let allowed = lookup().await?;
                let transport = self.transport(config, ask.protocol, ask.client);
                let dialed = timeout_at(deadline, connect_first(&allowed, &transport)).await;
                let Dialed { stream, registration } = dialed.map_err(|_| ConnectError::TimedOut)??;
                Ok(Connected { stream: Stream::Tcp(stream), early_data: Vec::new(), registration })
            }
            Some(upstream) if upstream.speak == UpstreamProtocol::Convert => {
                let peers = lookup().await?;
                let work = upstream::connect_by_convert((self, config), upstream, ask, peers);
                timeout_at(deadline, work).await.unwrap_or_else(late_upstream)
            }
            Some(upstream) => {
                config
                    .destinations
                    .check_unresolved(ask.destination, &self.own)
                    .map_err(ConnectError::Refused)?;
                let work = upstream::connect_by_http((self, config), upstream, ask);
                timeout_at(deadline, work).await.unwrap_or_else(late_upstream)
            }
        }
    }

    /// Resolves a destination. Address families alternate, beginning with IPv6 (RFC 8305, section 4).
    pub(crate) async fn resolve(
        &self,
        config: &Config,
        destination: &Destination,
        client: IpAddr,
    ) -> Result<Vec<SocketAddr>, ConnectError> {
        let with_port = |address| SocketAddr::new(address, destination.port);
        let name = match &destination.host {
            Host::Address(address) => return Ok(vec![with_port(*address)]),
            Host::Name(name) => name,
        };
        let found = self.resolver.lookup(name, client, &config.limits).await;
        let found = found.map_err(|error| match error {
            LookupError::Unknown => ConnectError::Unknown,
            LookupError::TimedOut => ConnectError::Unanswered,
        })?;
        Ok(interleave(found.iter().copied().map(with_port).collect()))
    }

    /// Resolves a destination to the addresses that the rules permit. The connection uses these
    /// checked addresses, so a second lookup cannot change them (DNS rebinding).
    async fn permitted_addresses(
        &self,
        config: &Config,
        ask: Ask<'_>,
    ) -> Result<Vec<SocketAddr>, ConnectError> {
        let mut reason = Refused("no address");
        let check = |address: &SocketAddr| config.destinations.check(*address, &self.own);
        config.destinations.check_port(ask.destination.port).map_err(ConnectError::Refused)?;
        let mut allowed = self.resolve(config, ask.destination, ask.client).await?;
        allowed.retain(|address| check(address).inspect_err(|refused| reason = *refused).is_ok());
        allowed.truncate(MAX_CONNECT_ATTEMPTS);
        if allowed.is_empty() { Err(ConnectError::Refused(reason)) } else { Ok(allowed) }
    }
}

/// Returns the first connection that succeeds.
pub(crate) async fn connect_first(addresses: &[SocketAddr], transport: &Transport) -> io::Result<Dialed> {
    if let [only] = addresses {
        return attempt(*only, transport.clone()).await;
    }
    let parallel = (&*transport.parallel, transport.client);
    race(addresses, parallel, |address| attempt(address, transport.clone())).await
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
/// or once a previous one fails. Attempts beside the first need a permit of the client; without one
/// they wait for a failure.
pub(crate) async fn race<A, T, E, F>(
    candidates: &[A],
    (parallel, client): (&ParallelAttempts, IpAddr),
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
        if waiting.len() > 0 {
            let permit = if attempts.is_empty() { None } else { parallel.try_acquire(client) };
            if (attempts.is_empty() || permit.is_some())
                && let Some(candidate) = waiting.next()
            {
                let attempt = attempt(*candidate);
                attempts.spawn(async move {
                    let _permit = permit;
                    attempt.await
                });
            }
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

/// Connects, and enters the connection into the table of own connections before the peer can answer.
async fn attempt(address: SocketAddr, transport: Transport) -> io::Result<Dialed> {
    let options = Options {
        no_delay: true,
        notsent_lowat: Some(crate::listener::NOTSENT_LOWAT_BYTES),
        mark: transport.mark,
        ..Options::default()
    };
    let socket = socket::open_unconnected(address, transport.protocol, &options).map_err(io::Error::other)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let registration = transport.outgoing.register(socket.local_addr()?, address);
    let stream = TcpStream::from_std(socket)?;
    stream.writable().await?;
    match stream.take_error()? {
        None => Ok(Dialed { stream, registration }),
        Some(error) => Err(error),
    }
}

/// Writes all bytes.
pub(crate) async fn write_all(stream: &Stream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await
}

/// Appends up to `max_len` available bytes to `buffer`; returns 0 at end of stream.
pub(crate) async fn read_some(stream: &Stream, buffer: &mut Vec<u8>, max_len: usize) -> io::Result<usize> {
    stream.read_some(buffer, max_len).await
}

/// Appends more of an HTTP head to `buffer`: until a line ends, or `buffer` has `max_len` bytes.
/// Returns 0 at end of stream. Thus a head that arrives byte by byte is parsed once a line.
pub(crate) async fn read_lines(stream: &Stream, buffer: &mut Vec<u8>, max_len: usize) -> io::Result<usize> {
    let before = buffer.len();
    loop {
        let from = buffer.len();
        let is_end = stream.read_some(buffer, READ_CHUNK_BYTES).await? == 0;
        if is_end || buffer.len() >= max_len || buffer[from..].contains(&b'\n') {
            return Ok(buffer.len() - before);
        }
    }
}

/// Counts a failed connection.
pub(crate) fn count_failure(failure: &ConnectError, counters: &Counters) {
    Counters::count(match failure {
        ConnectError::Refused(_) => &counters.refused_destinations,
        ConnectError::Loop => &counters.loops,
        ConnectError::Abandoned => &counters.abandoned,
        _ => &counters.failed,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::pending;
    use std::net::Ipv4Addr;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio::time::{sleep, timeout};

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

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

    fn ask(destination: &Destination) -> Ask<'_> {
        Ask { destination, protocol: Protocol::Tcp, client: CLIENT, via: "" }
    }

    #[tokio::test]
    async fn next_address_is_tried_after_a_failure() {
        let (dialer, config) = (dialer(), Config::default());
        let tcp = dialer.transport(&config, Protocol::Tcp, CLIENT);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.2:0").await.unwrap().local_addr().unwrap();
        let dialed = connect_first(&[closed, closed, good], &tcp).await.unwrap();
        assert_eq!(dialed.stream.peer_addr().unwrap(), good);
        assert_eq!(
            connect_first(&[closed, closed], &tcp).await.err().unwrap().kind(),
            ErrorKind::ConnectionRefused
        );
    }

    #[tokio::test]
    async fn head_is_read_to_the_end_of_a_line() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let stream = Stream::Tcp(listener.accept().await.unwrap().0);
        let mut buffer = Vec::new();
        let mut step = async |sent: &[u8], max_len: usize| {
            peer.write_all(sent).await.unwrap();
            let read = timeout(Duration::from_millis(200), read_lines(&stream, &mut buffer, max_len)).await;
            (read.ok().map(Result::unwrap), buffer.len())
        };
        assert_eq!(step(b"GET", 4096).await, (None, 3), "the line goes on");
        assert_eq!(step(b"\r\nA", 4096).await, (Some(3), 6));
        assert_eq!(step(b": b", 9).await, (Some(3), 9), "no more than `max_len`");
        drop(peer);
        assert_eq!(read_lines(&stream, &mut buffer, 4096).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn attempts_without_a_permit_wait_for_a_failure() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        for permits in [0, 1] {
            let parallel = ParallelAttempts::new(permits);
            let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let attempt = |nth: usize| {
                let (open, most) = (Arc::clone(&open), Arc::clone(&most));
                async move {
                    most.fetch_max(open.fetch_add(1, SeqCst) + 1, SeqCst);
                    sleep(2 * ATTEMPT_DELAY).await;
                    open.fetch_sub(1, SeqCst);
                    if nth == 2 { Ok(nth) } else { Err(io::Error::from(ErrorKind::TimedOut)) }
                }
            };
            let winner = race(&[0, 1, 2], (&parallel, CLIENT), attempt).await;
            assert_eq!((winner.unwrap(), most.load(SeqCst)), (2, permits + 1), "{permits} permits");
            assert_eq!(parallel.available(), permits);
        }
    }

    #[tokio::test]
    async fn race_holds_one_permit_for_each_attempt_beside_the_first() {
        let parallel = Arc::new(ParallelAttempts::new(16));
        let attempt = |nth: u32| {
            let parallel = Arc::clone(&parallel);
            async move {
                // The first attempt fails while the second one runs, and none is left.
                sleep((nth + 2) * ATTEMPT_DELAY).await;
                if nth == 0 { Err(ErrorKind::TimedOut.into()) } else { Ok(parallel.available()) }
            }
        };
        let available: io::Result<usize> = race(&[0, 1], (&parallel, CLIENT), attempt).await;
        assert_eq!(available.unwrap(), 15);
    }

    #[tokio::test]
    async fn silent_addresses_of_one_client_leave_parallel_attempts_to_others() {
        let parallel = Arc::new(ParallelAttempts::new(16));
        let attack: Vec<_> = (0..20)
            .map(|_| {
                let (parallel, attacker) = (Arc::clone(&parallel), IpAddr::from([192, 0, 2, 1]));
                let silent = |()| pending::<io::Result<()>>();
                tokio::spawn(async move { race(&[(); 8], (&parallel, attacker), silent).await })
            })
            .collect();
        while parallel.available() > 14 {
            sleep(Duration::from_millis(5)).await;
        }
        let attempt = |nth: u32| async move { if nth == 0 { pending().await } else { Ok(nth) } };
        let winner = timeout(Duration::from_secs(20), race(&[0, 1], (&parallel, CLIENT), attempt));
        let winner: io::Result<u32> = winner.await.expect("its second attempt begins");
        assert_eq!(winner.unwrap(), 1);
        attack.iter().for_each(tokio::task::JoinHandle::abort);
        for task in attack {
            _ = task.await;
        }
        while parallel.available() < 16 {
            tokio::task::yield_now().await;
        }
        assert_eq!(parallel.clients(), 0);
    }

    #[tokio::test]
    async fn numeric_host_names_are_resolved_and_checked() {
        let (config, dialer) = (Config::default(), dialer());
        for name in ["localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0"] {
            let to = Destination { host: Host::Name(name.to_owned()), port: 80 };
            let failure = dialer.connect(&config, ask(&to)).await.unwrap_err();
            assert!(matches!(failure, ConnectError::Refused(_)), "{name}: {failure:?}");
        }
        let to = Destination { host: Host::Name("256.1.1.1".to_owned()), port: 80 };
        let failure = dialer.connect(&config, ask(&to)).await.unwrap_err();
        assert!(matches!(failure, ConnectError::Unknown), "{failure:?}");
    }
}
