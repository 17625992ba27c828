//! From a destination to a connection: names looked up beside the work, addresses checked, and tried as RFC 8305
//! (Happy Eyeballs) has it.

use crate::config::{Config, Speak, Upstream};
use crate::counters::Counters;
use crate::destination::{Destination, Host, Refused};
use crate::front::{convert, http};
use linux::socket::{self, Options, Protocol};
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Between the beginnings of two attempts (RFC 8305, section 5: 250 ms).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// How many addresses of a name are tried at most.
const MOST_ATTEMPTS: usize = 8;

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It may not be.
    Refused(Refused),
    /// The name is not known.
    Unknown,
    /// It took too long.
    TimedOut,
    /// The server, or the way to it, said no.
    Unreachable(io::Error),
    /// The proxy behind this one said no: with this status, where it gave one.
    Upstream(Option<u16>),
}

impl Failure {
    /// In a word, for the access log.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused destination",
            Self::Unknown => "unknown host",
            Self::TimedOut => "connect timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Upstream(_) => "refused upstream",
        }
    }

    /// In words, for a client.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Refused(refused) => format!("the destination is refused: {}", refused.0),
            Self::Unknown => "there is no host of that name".to_owned(),
            Self::TimedOut => "the server did not answer in time".to_owned(),
            Self::Unreachable(error) => format!("the server cannot be reached: {}", error.kind()),
            Self::Upstream(Some(status)) => format!("the proxy behind this one answered {status}"),
            Self::Upstream(None) => "the proxy behind this one cannot be understood".to_owned(),
        }
    }
}

/// A connection towards a server.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) stream: TcpStream,
    /// What the proxy behind this one has already passed on.
    pub(crate) early: Vec<u8>,
}

/// Connects to `destination`, or has the proxy behind this one do it.
pub(crate) async fn connect(
    config: &Config,
    lookups: &Semaphore,
    destination: &Destination,
    protocol: Protocol,
) -> Result<Connected, Failure> {
    let deadline = Instant::now() + config.timeouts.connect;
    let work = async {
        match &config.upstream {
            None => {
                let addresses = resolve(lookups, destination).await?;
                let allowed = permitted(config, &addresses)?;
                let stream = race(&allowed, protocol).await.map_err(Failure::Unreachable)?;
                Ok(Connected { stream, early: Vec::new() })
            }
            Some(upstream) => through(upstream, lookups, destination, config.limits.head).await,
        }
    };
    timeout_at(deadline, work).await.unwrap_or(Err(Failure::TimedOut))
}

/// Asks another proxy for a tunnel (CONNECT).
async fn through(
    upstream: &Upstream,
    lookups: &Semaphore,
    destination: &Destination,
    most: usize,
) -> Result<Connected, Failure> {
    let addresses = resolve(lookups, &upstream.destination).await?;
    if upstream.speak == Speak::Convert {
        let peers = resolve(lookups, destination).await?;
        return convert_to(&addresses, upstream.protocol, peers[0]).await;
    }
    let stream = race(&addresses, upstream.protocol).await.map_err(Failure::Unreachable)?;
    let mut ask = format!("CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n");
    if let Some(credential) = &upstream.credential {
        _ = write!(ask, "Proxy-Authorization: {}\r\n", credential.to_basic());
    }
    ask.push_str("\r\n");
    let mut buffer = Vec::new();
    let mut talk = async || {
        write_all(&stream, ask.as_bytes()).await?;
        loop {
            match http::read_response(&buffer, most, "CONNECT", false, true) {
                // What follows a CONNECT's 2xx is the tunnel, whatever the fields say.
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
    match talk().await.map_err(Failure::Unreachable)? {
        Some(response) if (200..300).contains(&response.status) => {
            buffer.drain(..response.length);
            Ok(Connected { stream, early: buffer })
        }
        Some(response) => Err(Failure::Upstream(Some(response.status))),
        None => Err(Failure::Upstream(None)),
    }
}

/// Asks a converter for a connection to `peer` (RFC 8803); again with the cookie, where it gives one.
async fn convert_to(
    converter: &[SocketAddr],
    protocol: Protocol,
    peer: SocketAddr,
) -> Result<Connected, Failure> {
    let mut cookie: Option<Vec<u8>> = None;
    loop {
        let stream = race(converter, protocol).await.map_err(Failure::Unreachable)?;
        write_all(&stream, &convert::ask(peer, cookie.as_deref())).await.map_err(Failure::Unreachable)?;
        let mut buffer = Vec::new();
        let (length, answer) = loop {
            if let Some(found) = convert::answer(&buffer).map_err(|_| Failure::Upstream(None))? {
                break found;
            }
            if read_some(&stream, &mut buffer, 1024).await.map_err(Failure::Unreachable)? == 0 {
                return Err(Failure::Upstream(None));
            }
        };
        match answer {
            convert::Answer::Connected => {
                buffer.drain(..length);
                return Ok(Connected { stream, early: buffer });
            }
            // Its first byte is zero (RFC 8803, section 6.2.8).
            convert::Answer::Failed(code, value)
                if code == convert::Code::MissingCookie as u8 && cookie.is_none() && value.len() > 1 =>
            {
                // The client is to reset the connection (RFC 8803, section 6.2.7).
                _ = socket::abort(&stream);
                cookie = Some(value[1..].to_vec());
            }
            convert::Answer::Failed(code, _) => {
                _ = socket::abort(&stream);
                return Err(match code {
                    32 => Failure::Upstream(Some(403)),
                    96 => Failure::Unreachable(ErrorKind::ConnectionRefused.into()),
                    97 => Failure::Unreachable(ErrorKind::HostUnreachable.into()),
                    _ => Failure::Upstream(None),
                });
            }
        }
    }
}

/// The addresses of a destination, those of both families by turns, the first family as the system prefers it
/// (RFC 8305, section 4; RFC 6724). Names are looked up by the system, in threads of their own, a bounded number
/// at once.
async fn resolve(lookups: &Semaphore, destination: &Destination) -> Result<Vec<SocketAddr>, Failure> {
    let name = match &destination.host {
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, destination.port)]),
        Host::Name(name) => name,
    };
    let Ok(_permit) = lookups.acquire().await else { return Err(Failure::Unknown) };
    let found: Vec<_> =
        lookup_host((&**name, destination.port)).await.map_err(|_| Failure::Unknown)?.collect();
    if found.is_empty() { Err(Failure::Unknown) } else { Ok(interleave(found)) }
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

/// Those that may be connected to. It is these addresses that are connected to then, so that no second look at
/// the name can find others.
fn permitted(config: &Config, addresses: &[SocketAddr]) -> Result<Vec<SocketAddr>, Failure> {
    let mut why = Refused("no address");
    let check = |address: &SocketAddr| {
        config.destinations.check(address.ip(), address.port(), || is_ours(address.ip()))
    };
    let allowed: Vec<_> = addresses
        .iter()
        .filter(|address| check(address).inspect_err(|refused| why = *refused).is_ok())
        .take(MOST_ATTEMPTS)
        .copied()
        .collect();
    if allowed.is_empty() { Err(Failure::Refused(why)) } else { Ok(allowed) }
}

/// Whether an address is of this host: what is sent there comes from there.
fn is_ours(address: IpAddr) -> bool {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = || {
        // Nothing is sent: connecting a UDP socket only looks up the route.
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    source().is_ok_and(|source| source.ip() == address)
}

/// Connects to whichever answers first; the next is tried after 250 ms, or as soon as one has failed.
async fn race(addresses: &[SocketAddr], protocol: Protocol) -> io::Result<TcpStream> {
    if let [only] = addresses {
        return attempt(*only, protocol).await;
    }
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.iter();
    let mut failed = io::Error::from(ErrorKind::NotFound);
    loop {
        if let Some(address) = waiting.next() {
            let address = *address;
            attempts.spawn(async move { attempt(address, protocol).await });
        }
        let next = Instant::now() + ATTEMPT_DELAY;
        tokio::select! {
            Some(done) = attempts.join_next() => match done.unwrap_or_else(|error| Err(error.into())) {
                // Those that go on are dropped, which ends them.
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

async fn attempt(address: SocketAddr, protocol: Protocol) -> io::Result<TcpStream> {
    let options = Options { no_delay: true, notsent_lowat: Some(crate::server::UNSENT), ..Options::default() };
    let socket = socket::open_unconnected(address, protocol, &options).map_err(io::Error::other)?;
    TcpSocket::from_std_stream(socket).connect(address).await
}

/// Writes all of it.
pub(crate) async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads what is there, at most `most` bytes, behind what is in `buffer`; 0 at the sender's end. While it waits
/// with nothing in the buffer, that has no room either.
pub(crate) async fn read_some(stream: &TcpStream, buffer: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    loop {
        stream.readable().await?;
        buffer.reserve(most);
        let before = buffer.len();
        buffer.resize(before + most, 0);
        let read = stream.try_read(&mut buffer[before..]);
        buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if buffer.is_empty() {
                    *buffer = Vec::new();
                }
            }
            result => return result,
        }
    }
}

/// Counts why there is no connection.
pub(crate) fn count(failure: &Failure, counters: &Counters) {
    Counters::count(match failure {
        Failure::Refused(_) => &counters.refused_destinations,
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
    fn families_take_turns() {
        let found = ["[2000::1]:1", "[2000::2]:1", "8.8.8.8:1", "8.8.4.4:1", "1.1.1.1:1"].map(at).to_vec();
        let told: Vec<_> = interleave(found).iter().map(|one| one.ip().to_string()).collect();
        assert_eq!(told, ["2000::1", "8.8.8.8", "2000::2", "8.8.4.4", "1.1.1.1"]);
    }

    #[test]
    fn an_address_of_this_host_is_known() {
        assert!(is_ours("127.0.0.1".parse().unwrap()));
        assert!(!is_ours("255.255.255.255".parse().unwrap()));
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.2:0").await.unwrap().local_addr().unwrap();
        let stream = race(&[closed, closed, good], Protocol::Tcp).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), good);
        assert_eq!(
            race(&[closed, closed], Protocol::Tcp).await.unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
    }

    #[tokio::test]
    async fn numbers_in_any_writing_are_addresses_and_are_checked() {
        let config = Config::default();
        let lookups = Semaphore::new(1);
        for name in ["localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0"] {
            let to = Destination { host: Host::Name(name.to_owned()), port: 80 };
            let failure = connect(&config, &lookups, &to, Protocol::Tcp).await.unwrap_err();
            assert!(matches!(failure, Failure::Refused(_) | Failure::Unknown), "{name}: {failure:?}");
        }
    }
}
