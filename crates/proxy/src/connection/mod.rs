//! Client session: from the accepted connection to its log record.

mod convert;
mod exchange;
mod http;
mod outcome;
mod players;
mod socks5;
mod transparent;
mod tunnel;

use crate::Config;
use crate::access::{self, LogRecord, SubflowStats};
use crate::config::{Listen, ListenerProtocol};
use crate::connect::{self, Ask, ConnectError, Connected, READ_CHUNK_BYTES, read_lines, read_some};
use crate::counters::Counters;
use crate::credentials::Credential;
use crate::destination::Destination;
use crate::logins::Verdict;
use crate::relay::{self, Linger, RelayOptions};
use crate::server::{ConnectionPermit, Phase, Shared};
use crate::stream::Stream;
use crate::tls_stream;
use crate::users::User;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use linux::socket::{self, Protocol};
use outcome::Outcome;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tls::ServerTls;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use tunnel::Tunnel;

/// Client connection and its request state.
pub(crate) struct Client {
    shared: Arc<Shared>,
    config: Arc<Config>,
    stream: Stream,
    address: SocketAddr,
    /// Configured address of the listener.
    listening: SocketAddr,
    /// Bytes received and not yet parsed.
    buffer: Vec<u8>,
    phase: watch::Receiver<Phase>,
    since: Instant,
    /// Deadline for the complete request.
    deadline: Instant,
    log_context: LogContext,
    /// Number of the connection; see [`Self::request_id`].
    number: u64,
    /// HTTP requests received.
    requests: u32,
    /// User of the present login.
    user: Option<Arc<User>>,
    /// Bytes relayed from the client; `down` counts bytes to the client.
    up: AtomicU64,
    down: AtomicU64,
    /// The client's place, released last.
    _permit: ConnectionPermit,
}

/// Fields of the log record.
struct LogContext {
    front: &'static str,
    destination: Option<Destination>,
    server: Option<SocketAddr>,
    outcome: Outcome,
    reason: Option<String>,
    subflows: SubflowStats,
}

/// Answer to a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Granted,
    /// Missing or wrong credential.
    Denied,
    /// Not verified: the client has to wait.
    Delayed(Duration),
}

/// Completes when a login or certificate is revoked; without either, never.
struct Revocation(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Revocation {
    fn is_due(&mut self, context: &mut Context<'_>) -> bool {
        self.0.as_mut().is_some_and(|revocation| revocation.as_mut().poll(context).is_ready())
    }

    /// Awaits `work`, unless the revocation comes first. Borrows `work`, so that its state is stored
    /// once.
    async fn unless_due<T>(mut self, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        poll_fn(|context| {
            if self.is_due(context) {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }
}

/// Starts the session of a client.
pub(crate) fn start(
    shared: Arc<Shared>,
    config: Arc<Config>,
    listen: Listen,
    client: (TcpStream, SocketAddr),
    permit: ConnectionPermit,
) {
    // Boxed, as is the tunnel: each state is freed at its end, and a tunnel does not carry the state
    // of its request.
    let requests = Box::pin(serve(shared, config, listen, client, permit));
    tokio::spawn(async move {
        if let Some(tunnel) = requests.await {
            tunnel.await;
        }
    });
}

/// Serves a client until its connection ends or becomes a tunnel.
async fn serve(
    shared: Arc<Shared>,
    config: Arc<Config>,
    listen: Listen,
    (stream, address): (TcpStream, SocketAddr),
    permit: ConnectionPermit,
) -> Option<Box<Tunnel>> {
    let is_mptcp = listen.protocol == Protocol::Mptcp && access::is_mptcp(&stream);
    if is_mptcp {
        Counters::count(&shared.counters.accepted_mptcp);
    }
    let since = Instant::now();
    let deadline = since + config.timeouts.handshake;
    let mut failure = None;
    let stream = if !listen.tls {
        Stream::Tcp(stream)
    } else if let Some(tls) = &config.tls {
        // Boxed, so that unencrypted sessions do not carry the state of a handshake.
        Box::pin(tls_stream::accept_until(tls, deadline, stream)).await.unwrap_or_else(|(stream, error)| {
            Counters::count(&shared.counters.tls_failed);
            shared.tls_failures.count(&error);
            let reason = tls::handshake_reason(&error);
            shared.log_failed_tls(address, &reason);
            failure = Some(reason);
            stream
        })
    } else {
        // A reload has just removed the certificate and the listener.
        _ = socket::abort(&stream);
        return None;
    };
    let mut client = Box::new(Client {
        deadline,
        phase: shared.phase.subscribe(),
        number: shared.next_connection(),
        requests: 0,
        shared,
        config,
        stream,
        address,
        listening: listen.address,
        buffer: Vec::new(),
        since,
        log_context: LogContext {
            front: listen.serve.name(),
            destination: None,
            server: None,
            outcome: Outcome::Shutdown,
            reason: None,
            subflows: SubflowStats::new(is_mptcp),
        },
        user: None,
        up: AtomicU64::new(0),
        down: AtomicU64::new(0),
        _permit: permit,
    });
    if let Some(reason) = failure {
        (client.log_context.outcome, client.log_context.reason) = (Outcome::TlsFailed, Some(reason));
        return None;
    }
    if let Some(server) = client.handle(listen.serve).await {
        return Some(Box::new(Tunnel::new(client, server)));
    }
    match client.log_context.outcome {
        // Reset: otherwise the kernel keeps a half-closed connection for a while.
        Outcome::TooSlow => _ = socket::abort(&client.stream),
        Outcome::Shutdown => client.log_context.outcome = Outcome::Closed,
        _ => {}
    }
    None
}

/// Meaning of a client's FIN while it waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fin {
    /// The client has closed its connection.
    Disconnect,
    /// The same, unless data of the tunnel came before it.
    DisconnectWithoutData,
    /// The client has sent all its data.
    EndOfData,
}

/// Completes when the client resets or closes its connection. Bytes that it sends meanwhile go to
/// `buffer`; after [`READ_CHUNK_BYTES`] only a reset is noticed.
async fn until_client_is_gone(stream: &Stream, buffer: &mut Vec<u8>, fin: Fin) {
    while fin != Fin::EndOfData && buffer.len() < READ_CHUNK_BYTES {
        match read_some(stream, buffer, READ_CHUNK_BYTES).await {
            Ok(1..) => {}
            Ok(0) if fin == Fin::DisconnectWithoutData && !buffer.is_empty() => break,
            Ok(0) | Err(_) => return,
        }
    }
    // Fails only without a runtime.
    _ = stream.tcp().ready(Interest::ERROR).await;
}

impl Drop for Client {
    /// Logs the connection, also when the end of the proxy cuts it.
    fn drop(&mut self) {
        self.log();
    }
}

impl Client {
    /// Handles the client's requests. Returns the server connection if they end in a tunnel.
    async fn handle(&mut self, serve: ListenerProtocol) -> Option<Connected> {
        if !matches!(serve, ListenerProtocol::Transparent | ListenerProtocol::Redirected) {
            // A connection of this proxy is registered before it sends anything, maybe not earlier.
            self.first_byte().await?;
        }
        if self.is_own_connection() {
            Counters::count(&self.counters().loops);
            _ = socket::abort(&self.stream);
            self.log_context.outcome = Outcome::Loop;
            return None;
        }
        match serve {
            ListenerProtocol::Http => http::serve(self).await,
            ListenerProtocol::Socks5 => socks5::serve(self).await,
            ListenerProtocol::Auto => match self.first_byte().await? {
                5 => socks5::serve(self).await,
                _ => http::serve(self).await,
            },
            ListenerProtocol::Convert => convert::serve(self).await,
            ListenerProtocol::Transparent => transparent::serve(self).await,
            ListenerProtocol::Redirected => transparent::serve_redirected(self).await,
        }
    }

    /// Whether the client is this proxy, by any route.
    fn is_own_connection(&self) -> bool {
        let local = self.stream.tcp().local_addr();
        local.is_ok_and(|local| self.shared.dialer.outgoing.is_own(self.address, local))
    }

    fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Appends more of the client's request to the buffer, until the deadline.
    async fn read(&mut self) -> io::Result<()> {
        let read = read_some(&self.stream, &mut self.buffer, READ_CHUNK_BYTES);
        let read = timeout_at(self.deadline, read).await;
        self.check_read(read)
    }

    /// Appends more of the client's HTTP head to the buffer, as the function [`read_lines`], until
    /// the deadline.
    async fn read_lines(&mut self) -> io::Result<()> {
        let read = read_lines(&self.stream, &mut self.buffer, self.config.limits.head);
        let read = timeout_at(self.deadline, read).await;
        self.check_read(read)
    }

    fn check_read(&mut self, read: Result<io::Result<usize>, Elapsed>) -> io::Result<()> {
        match read {
            Ok(Ok(0)) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                self.log_context.outcome = Outcome::TooSlow;
                Counters::count(&self.counters().too_slow);
                Err(ErrorKind::TimedOut.into())
            }
        }
    }

    /// First byte of the client's request; `None` if the proxy ends before.
    async fn first_byte(&mut self) -> Option<u8> {
        if self.buffer.is_empty() {
            let mut phase = self.phase.clone();
            tokio::select! {
                read = self.read() => read.ok()?,
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => return None,
            }
        }
        self.buffer.first().copied()
    }

    /// Writes a response of the proxy itself.
    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let options = RelayOptions { write: self.response_timeout(), ..self.config.relay_options() };
        let written = relay::write_message(&self.stream, bytes.to_vec(), options).await;
        written.map_err(|_| ErrorKind::BrokenPipe.into())
    }

    /// Closes after a response of the proxy itself.
    async fn close_after_response(&self) {
        let write = self.response_timeout();
        let time = if self.has_data() { self.config.timeouts.total } else { Some(write) };
        let limits = Linger { write, until: time.map(|time| Instant::now() + time) };
        relay::close_after_response(&self.stream, limits).await;
    }

    /// Time without progress for a response of the proxy itself. It may follow one of a server, which a
    /// slow client is still reading.
    fn response_timeout(&self) -> Duration {
        if self.has_data() { self.config.relay_options().write } else { self.config.timeouts.handshake }
    }

    /// Whether the client has received data of a server.
    fn has_data(&self) -> bool {
        self.down.load(Relaxed) > 0
    }

    /// Whether the client has to log in: by the present users, or by the users of the configuration that
    /// admitted its address. Without the latter, a reload to address rules would let in any address.
    fn needs_login(&self) -> bool {
        self.shared.logins.are_required() || !self.config.clients.users.is_empty()
    }

    /// Logs the client in, if a password is required.
    async fn authenticate(&mut self, credential: Option<&Credential>) -> Access {
        let logins = &self.shared.logins;
        if !self.needs_login() {
            return Access::Granted;
        }
        let Some(credential) = credential else { return self.deny(Duration::ZERO) };
        let verdict = logins.verify(socket::client_network(self.address.ip()), credential);
        match timeout_at(self.deadline, verdict).await {
            Ok(Verdict::Known(user)) => {
                self.user = Some(user);
                // An earlier challenge is over.
                self.log_context.outcome = Outcome::Shutdown;
                Access::Granted
            }
            Ok(Verdict::Unknown(wait)) => self.deny(wait),
            Ok(Verdict::LockedOut(wait)) => self.delay(wait),
            // Too many others log in.
            Err(_) => self.delay(Duration::from_secs(1)),
        }
    }

    fn deny(&mut self, wait: Duration) -> Access {
        self.user = None;
        self.log_context.outcome = Outcome::Unauthorized;
        Counters::count(&self.counters().unauthorized);
        if !wait.is_zero() {
            self.shared.log_lock_out(self.address, wait);
        }
        Access::Denied
    }

    fn delay(&mut self, wait: Duration) -> Access {
        self.user = None;
        self.log_context.outcome = Outcome::LockedOut;
        Counters::count(&self.counters().locked_out);
        Access::Delayed(wait)
    }

    /// Revocation of the present login, and of the client's certificate.
    fn revocation(&self) -> Revocation {
        let user = self.user.clone().map(|user| self.shared.logins.revocation(user));
        let chain = self.stream.peer_certificates();
        let certificate = self.config.tls.clone().filter(|_| !chain.is_empty()).map(|used| {
            tls::revocation(self.shared.tls.subscribe(), Option::<ServerTls>::as_ref, used, chain)
        });
        let future: Pin<Box<dyn Future<Output = ()> + Send>> = match (user, certificate) {
            (None, None) => return Revocation(None),
            (Some(user), None) => Box::pin(user),
            (None, Some(certificate)) => Box::pin(certificate),
            (Some(user), Some(certificate)) => Box::pin(async move {
                tokio::select! {
                    () = user => {}
                    () = certificate => {}
                }
            }),
        };
        Revocation(Some(future))
    }

    /// Resets the connection of a client whose user or certificate is revoked.
    fn revoke(&mut self) {
        self.log_context.outcome = Outcome::Revoked;
        _ = socket::abort(&self.stream);
    }

    /// Whether a canonical address is the listener's, or the listener accepts any address.
    fn is_listener_address(&self, address: IpAddr) -> bool {
        let listening = self.listening.ip().to_canonical();
        listening.is_unspecified() || listening == address
    }

    /// Time at which a tunnel ends, and after which no further request is accepted.
    fn end_of_lifetime(&self) -> Option<Instant> {
        self.config.timeouts.total.map(|total| self.since + total)
    }

    /// Id of the connection, and the number of its present HTTP request.
    fn request_id(&self) -> String {
        let id = self.shared.connection_id(self.number);
        if self.requests > 0 { format!("{id}.{}", self.requests) } else { id }
    }

    /// Connects to a server for this client. `via` lists the proxies that the request has passed.
    async fn connect(
        &mut self,
        destination: &Destination,
        protocol: Protocol,
        fin: Fin,
        via: &str,
    ) -> Result<Connected, ConnectError> {
        self.log_context.destination = Some(destination.clone());
        let began = Instant::now();
        let ask = Ask { destination, protocol, client: socket::client_network(self.address.ip()), via };
        // Boxed, so that an idle session does not carry the state of connecting.
        let connect = Box::pin(self.shared.dialer.connect(&self.config, ask));
        let connected = tokio::select! {
            biased;
            connected = connect => connected,
            () = until_client_is_gone(&self.stream, &mut self.buffer, fin) => Err(ConnectError::Abandoned),
        };
        match &connected {
            Ok(server) => {
                self.shared.latencies.connect.observe(began.elapsed());
                self.log_context.server = server.stream.peer_addr().ok();
            }
            Err(failure) => {
                self.log_context.outcome = Outcome::Failed(failure.name());
                self.shared.log_failure((self.address, &self.request_id()), destination, failure);
                self.log_context.reason = Some(failure.to_text());
                connect::count_failure(failure, self.counters());
            }
        }
        connected
    }

    /// Logs the connection.
    fn log(&mut self) {
        let Some(log) = self.shared.log() else { return };
        self.log_context.subflows.sample(self.stream.tcp());
        let is_mptcp = self.log_context.subflows.is_mptcp;
        let subflows = self.log_context.subflows.take();
        let line = LogRecord {
            event: "connection",
            id: self.shared.connection_id(self.number),
            time: access::now(),
            client: self.address.to_string(),
            front: self.log_context.front,
            user: self.user.as_ref().map(|user| user.name()),
            destination: self.log_context.destination.as_ref().map(ToString::to_string),
            server: self.log_context.server.map(|server| server.to_string()),
            outcome: self.log_context.outcome.name(),
            reason: self.log_context.reason.as_deref(),
            seconds: access::seconds(self.since.elapsed()),
            bytes_up: self.up.load(Relaxed),
            bytes_down: self.down.load(Relaxed),
            protocol: Some(if is_mptcp { "mptcp" } else { "tcp" }),
            subflows,
            ..LogRecord::default()
        };
        log.line(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    const SHORT: Duration = Duration::from_millis(100);
    const LONG: Duration = Duration::from_secs(20);

    /// A client that sent two bytes and a FIN, and the proxy's side of its connection.
    async fn half_closed() -> (TcpStream, Stream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let stream = Stream::Tcp(listener.accept().await.unwrap().0);
        client.write_all(b"ab").await.unwrap();
        client.shutdown().await.unwrap();
        (client, stream)
    }

    #[tokio::test]
    async fn fin_ends_a_wait_only_where_it_means_a_disconnect() {
        let (_client, stream) = half_closed().await;
        let mut buffer = Vec::new();
        timeout(LONG, until_client_is_gone(&stream, &mut buffer, Fin::Disconnect)).await.unwrap();
        assert_eq!(buffer, b"ab", "bytes that the client sent are kept");
        for fin in [Fin::DisconnectWithoutData, Fin::EndOfData] {
            let (client, stream) = half_closed().await;
            let mut buffer = Vec::new();
            let wait = timeout(SHORT, until_client_is_gone(&stream, &mut buffer, fin));
            assert!(wait.await.is_err(), "{fin:?}: a FIN after data");
            socket::abort(&client).unwrap();
            timeout(LONG, until_client_is_gone(&stream, &mut buffer, fin)).await.unwrap();
        }
    }
}
