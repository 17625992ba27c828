//! Connects to destinations: resolves names, checks addresses, and races the attempts as in RFC
//! 8305 (Happy Eyeballs).

use crate::config::{Config, Upstream, UpstreamProtocol};
use crate::counters::Counters;
use crate::destination::{Destination, Host, Refused};
use crate::front::{convert, http};
use crate::refusal::{Cause, Refusal};
use crate::stream::Stream;
use linux::socket::{self, Options, Protocol};
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// Delay between connection attempts (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Bytes read of the body of an upstream proxy's refusal.
const MAX_REASON_BYTES: usize = 512;
/// Time to wait for that body.
const REASON_WAIT: Duration = Duration::from_secs(1);
/// Addresses tried per name.
const MAX_CONNECT_ATTEMPTS: usize = 8;

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

/// Connects to `destination`, directly or through the upstream proxy.
pub(crate) async fn connect(
    config: &Config,
    lookups: &Semaphore,
    destination: &Destination,
    protocol: Protocol,
) -> Result<Connected, ConnectError> {
    let deadline = Instant::now() + config.timeouts.connect;
    let work = async {
        match &config.upstream {
            None => {
                let addresses = resolve(lookups, destination).await?;
                let allowed = permitted_addresses(config, &addresses)?;
                let stream = connect_first(&allowed, protocol, config.mark)
                    .await
                    .map_err(ConnectError::Unreachable)?;
                Ok(Connected { stream: Stream::Tcp(stream), early_data: Vec::new() })
            }
            Some(upstream) => connect_via_upstream(config, upstream, lookups, destination).await,
        }
    };
    timeout_at(deadline, work).await.unwrap_or(Err(ConnectError::TimedOut))
}

/// Requests a tunnel from the upstream proxy with CONNECT.
async fn connect_via_upstream(
    config: &Config,
    upstream: &Upstream,
    lookups: &Semaphore,
    destination: &Destination,
) -> Result<Connected, ConnectError> {
    let addresses = resolve(lookups, &upstream.destination).await?;
    if upstream.speak == UpstreamProtocol::Convert {
        let peers = resolve(lookups, destination).await?;
        return connect_via_converter(&addresses, (upstream.protocol, config.mark), peers[0]).await;
    }
    let tcp = connect_upstream(&addresses, upstream.protocol, config.mark).await?;
    let stream = upstream.secure(tcp).await.map_err(|error| lost(&error))?;
    let mut request = format!("CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n");
    if let Some(credential) = &upstream.credential {
        _ = write!(request, "Proxy-Authorization: {}\r\n", credential.to_basic());
    }
    request.push_str("\r\n");
    let mut buffer = Vec::new();
    let mut exchange = async || {
        write_all(&stream, request.as_bytes()).await?;
        loop {
            match http::read_response(&buffer, config.limits.head, "CONNECT", false, true) {
                // After a 2xx to CONNECT the tunnel begins, regardless of framing fields.
                Ok(Some(response)) if !response.is_interim() => return Ok(Some(response)),
                Ok(Some(response)) => _ = buffer.drain(..response.length),
                Ok(None) => {
                    if read_some(&stream, &mut buffer, 4096).await? == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(_) => return Ok(None),
            }
        }
    };
    let response = exchange().await.map_err(|error| lost(&error))?;
    let Some(response) = response else { return Err(invalid_response()) };
    buffer.drain(..response.length);
    if (200..300).contains(&response.status) {
        return Ok(Connected { stream, early_data: buffer });
    }
    read_reason(&stream, &mut buffer, response.body).await;
    Err(ConnectError::Upstream(Refusal::of_response(&response, &buffer)))
}

/// Connects to the upstream proxy itself.
async fn connect_upstream(
    addresses: &[SocketAddr],
    protocol: Protocol,
    mark: Option<u32>,
) -> Result<TcpStream, ConnectError> {
    connect_first(addresses, protocol, mark).await.map_err(|error| {
        // A reset follows a completed handshake; a port without a listener gives "refused".
        ConnectError::Upstream(if error.kind() == ErrorKind::ConnectionReset {
            Refusal::of_error(&error)
        } else {
            let reason = format!("cannot connect to it: {}", error.kind());
            Refusal::new(Cause::ProxyInternalError, reason)
        })
    })
}

fn lost(error: &io::Error) -> ConnectError {
    ConnectError::Upstream(Refusal::of_error(error))
}

fn invalid_response() -> ConnectError {
    ConnectError::Upstream(Refusal::new(Cause::ProxyInternalError, "invalid response"))
}

/// Appends the start of the body of a refusal to `buffer`.
async fn read_reason(stream: &Stream, buffer: &mut Vec<u8>, body: http::Framing) {
    let wanted = match body {
        http::Framing::Length(length) => usize::try_from(length).unwrap_or(usize::MAX),
        http::Framing::UntilClose => usize::MAX,
        http::Framing::Empty | http::Framing::Chunked => 0,
    };
    let wanted = wanted.min(MAX_REASON_BYTES);
    let read = async {
        while buffer.len() < wanted && read_some(stream, buffer, MAX_REASON_BYTES).await.is_ok_and(|n| n > 0)
        {
        }
    };
    // The reason is a courtesy: the client is answered without it.
    _ = timeout(REASON_WAIT, read).await;
    buffer.truncate(wanted);
}

/// Requests a connection to `peer` from a converter (RFC 8803). Retries once with the cookie if the
/// converter demands one.
async fn connect_via_converter(
    converter: &[SocketAddr],
    (protocol, mark): (Protocol, Option<u32>),
    peer: SocketAddr,
) -> Result<Connected, ConnectError> {
    let mut cookie: Option<Vec<u8>> = None;
    loop {
        let stream = Stream::Tcp(connect_upstream(converter, protocol, mark).await?);
        write_all(&stream, &convert::encode_request(peer, cookie.as_deref()))
            .await
            .map_err(|error| lost(&error))?;
        let mut buffer = Vec::new();
        let (length, answer) = loop {
            if let Some(found) = convert::parse_response(&buffer).map_err(|_| invalid_response())? {
                break found;
            }
            if read_some(&stream, &mut buffer, 1024).await.map_err(|error| lost(&error))? == 0 {
                return Err(lost(&ErrorKind::UnexpectedEof.into()));
            }
        };
        match answer {
            convert::Response::Connected => {
                buffer.drain(..length);
                return Ok(Connected { stream, early_data: buffer });
            }
            // The first byte of the value is zero (RFC 8803, section 6.2.8).
            convert::Response::Failed(code, value)
                if code == convert::Code::MissingCookie as u8 && cookie.is_none() && value.len() > 1 =>
            {
                // RFC 8803, section 6.2.7, requires a reset here.
                _ = socket::abort(&stream);
                cookie = Some(value[1..].to_vec());
            }
            convert::Response::Failed(code, _) => {
                _ = socket::abort(&stream);
                let (cause, reason) = match code {
                    32 => (Cause::DestinationIpProhibited, "destination refused"),
                    64 => (Cause::HttpRequestDenied, "a limit is reached"),
                    96 => (Cause::ConnectionRefused, "the server refused the connection"),
                    97 => (Cause::DestinationIpUnroutable, "server unreachable"),
                    65 => (Cause::ProxyInternalError, "network failure"),
                    _ => (Cause::ProxyInternalError, "the request is not supported"),
                };
                let reason = format!("{reason} (Convert error {code})");
                return Err(ConnectError::Upstream(Refusal::new(cause, reason)));
            }
        }
    }
}

/// Resolves a destination with the system's resolver, in blocking threads of bounded number.
/// Address families alternate, beginning with the one that the system prefers (RFC 8305, section 4;
/// RFC 6724).
async fn resolve(lookups: &Semaphore, destination: &Destination) -> Result<Vec<SocketAddr>, ConnectError> {
    let name = match &destination.host {
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, destination.port)]),
        Host::Name(name) => name,
    };
    let Ok(_permit) = lookups.acquire().await else { return Err(ConnectError::Unknown) };
    let found: Vec<_> =
        lookup_host((&**name, destination.port)).await.map_err(|_| ConnectError::Unknown)?.collect();
    if found.is_empty() { Err(ConnectError::Unknown) } else { Ok(interleave(found)) }
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

/// Selects the addresses that the destination rules permit. The connection uses these checked
/// addresses, so a second lookup cannot change them (DNS rebinding).
fn permitted_addresses(config: &Config, addresses: &[SocketAddr]) -> Result<Vec<SocketAddr>, ConnectError> {
    let mut reason = Refused("no address");
    let check = |address: &SocketAddr| config.destinations.check_from_here(*address);
    let allowed: Vec<_> = addresses
        .iter()
        .filter(|address| check(address).inspect_err(|refused| reason = *refused).is_ok())
        .take(MAX_CONNECT_ATTEMPTS)
        .copied()
        .collect();
    if allowed.is_empty() { Err(ConnectError::Refused(reason)) } else { Ok(allowed) }
}

/// Returns the first connection that succeeds. Each further attempt starts after 250 ms, or once a
/// previous one fails.
async fn connect_first(
    addresses: &[SocketAddr],
    protocol: Protocol,
    mark: Option<u32>,
) -> io::Result<TcpStream> {
    if let [only] = addresses {
        return attempt(*only, protocol, mark).await;
    }
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.iter();
    let mut failed = io::Error::from(ErrorKind::NotFound);
    loop {
        if let Some(address) = waiting.next() {
            let address = *address;
            attempts.spawn(async move { attempt(address, protocol, mark).await });
        }
        let next = Instant::now() + ATTEMPT_DELAY;
        tokio::select! {
            Some(done) = attempts.join_next() => match done.unwrap_or_else(|error| Err(error.into())) {
                // Dropping the set cancels the remaining attempts.
                Ok(stream) => return Ok(stream),
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

async fn attempt(address: SocketAddr, protocol: Protocol, mark: Option<u32>) -> io::Result<TcpStream> {
    let options = Options {
        no_delay: true,
        notsent_lowat: Some(crate::listener::NOTSENT_LOWAT_BYTES),
        mark,
        ..Options::default()
    };
    let socket = socket::open_unconnected(address, protocol, &options).map_err(io::Error::other)?;
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

    #[tokio::test]
    async fn next_address_is_tried_after_a_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.2:0").await.unwrap().local_addr().unwrap();
        let stream = connect_first(&[closed, closed, good], Protocol::Tcp, None).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        assert_eq!(
            connect_first(&[closed, closed], Protocol::Tcp, None).await.unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
    }

    #[tokio::test]
    async fn numeric_host_names_are_resolved_and_checked() {
        let config = Config::default();
        let lookups = Semaphore::new(1);
        for name in ["localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0"] {
            let to = Destination { host: Host::Name(name.to_owned()), port: 80 };
            let failure = connect(&config, &lookups, &to, Protocol::Tcp).await.unwrap_err();
            assert!(
                matches!(failure, ConnectError::Refused(_) | ConnectError::Unknown),
                "{name}: {failure:?}"
            );
        }
    }
}
