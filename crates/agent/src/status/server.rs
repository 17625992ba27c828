//! HTTP server for status, metrics and reports of players.
//!
//! hyper runs on a thread of its own, so a slow client never delays the agent. That thread passes
//! each request over a channel, and the agent's thread answers it in [`Server::serve`]. The UNIX
//! socket serves all paths. TCP serves only `/metrics`, because any local user can connect there, if
//! `Host` is an address ([`names_this_host`]), and reports of players with a token ([`PlayerPort`]).

use super::gate::names_this_host;
use super::listeners::{Listeners, PortFailures};
use super::player_port::PlayerPort;
use crate::Error;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use linux::unix_socket::{self, BindError, SocketFile};
use rustix::event::{EventfdFlags, eventfd};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use units::Instant;

/// Permissions of the UNIX socket: its user and its group.
const SOCKET_MODE: u32 = 0o660;
/// Maximum length of a request head, the smallest limit hyper supports.
const MAX_HEAD_BYTES: usize = 8192;
/// Time limit of a connection, from accept to the last byte of the response.
pub(super) const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Source of the responses.
pub trait Responder {
    /// Returns the status as JSON.
    fn status(&mut self) -> Result<String, Error>;
    /// Returns the metrics in the text format of Prometheus.
    fn metrics(&mut self) -> Result<String, Error>;
    /// Takes a player's report. Returns false when it contains no buffer state.
    fn player(&mut self, now: Instant, state: cmcd::State) -> bool;
}

/// Listening HTTP server.
#[derive(Debug)]
pub struct Server {
    _file: SocketFile,
    #[cfg(test)]
    tcp_address: Option<SocketAddr>,
    #[cfg(test)]
    pub(super) players_address: Option<SocketAddr>,
    port_failures: PortFailures,
    requests: mpsc::Receiver<PendingRequest>,
    /// eventfd, readable while requests may be pending.
    wakeup: Arc<OwnedFd>,
    shutdown: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on the UNIX socket `path`, accessible to user and group of this process, and on
    /// `tcp` and the port of `players`, as soon as they can be bound.
    ///
    /// # Errors
    /// Fails when another agent listens at `path`, or the system rejects it.
    pub fn open(path: &Path, tcp: Option<SocketAddr>, players: Option<&PlayerPort>) -> Result<Self, Error> {
        Self::open_with_timeout(path, tcp, players, CONNECTION_TIMEOUT)
    }

    pub(super) fn open_with_timeout(
        path: &Path,
        tcp: Option<SocketAddr>,
        players: Option<&PlayerPort>,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Listen { at: path.display().to_string(), source };
        let (unix, file) = unix_socket::listen_at(path, SOCKET_MODE).map_err(|error| match error {
            BindError::InUse(path) => Error::AlreadyRunning { at: path.display().to_string() },
            error => Error::Socket(error),
        })?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let port_failures = PortFailures::default();
        let context = runtime.enter();
        let listeners = Listeners::open(unix, tcp, players, &port_failures).map_err(failed)?;
        drop(context);
        #[cfg(test)]
        let [tcp_address, players_address] = listeners.local_addresses();
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wakeup = Arc::new(eventfd(0, flags).map_err(|error| failed(error.into()))?);
        let (sender, requests) = mpsc::channel();
        let handler = Handler { requests: sender, wakeup: Arc::clone(&wakeup) };
        let (shutdown, until_shutdown) = oneshot::channel::<Infallible>();
        let thread = thread::Builder::new().name("status".to_owned()).spawn(move || {
            // The agent's thread waits for signals.
            linux::signal::block_in_this_thread();
            runtime.block_on(async {
                tokio::select! {
                    _ = until_shutdown => {}
                    () = listeners.accept_loop(&handler, timeout) => {}
                }
            });
        });
        Ok(Self {
            _file: file,
            #[cfg(test)]
            tcp_address,
            #[cfg(test)]
            players_address,
            port_failures,
            requests,
            wakeup,
            shutdown: Some(shutdown),
            thread: Some(thread.map_err(failed)?),
        })
    }

    /// The ports that cannot be bound, kept up to date.
    pub fn port_failures(&self) -> PortFailures {
        self.port_failures.clone()
    }

    /// Answers one pending request, so that many clients do not delay the agent. The descriptor stays
    /// readable for the others. To be called when it is readable.
    pub fn serve(&mut self, now: Instant, responder: &mut dyn Responder) {
        // Resets the eventfd; fails only when it was not signalled.
        let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
        // The client of a closed one disconnected or timed out.
        let pending = self.requests.try_iter().find(|request| !request.reply.is_closed());
        if let Some(PendingRequest { query, reply }) = pending {
            let _ = reply.send(respond(query, now, responder));
            signal(&self.wakeup);
        }
    }
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wakeup.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shutdown.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Error status and text of a request that the agent does not answer.
pub(super) type Rejection = (StatusCode, &'static str);

pub(super) const MISSING_BUFFER_STATE: Rejection =
    (StatusCode::BAD_REQUEST, "expected CMCD with `bl`, or with `su`\n");

/// Content that a client requested from the agent.
#[derive(Debug)]
pub(super) enum Query {
    Status,
    Metrics,
    Player(cmcd::State),
}

#[derive(Debug)]
struct PendingRequest {
    query: Query,
    reply: oneshot::Sender<Response<Full<Bytes>>>,
}

fn respond(query: Query, now: Instant, responder: &mut dyn Responder) -> Response<Full<Bytes>> {
    let (content_type, content) = match query {
        Query::Metrics => ("text/plain; version=0.0.4; charset=utf-8", responder.metrics()),
        Query::Status => ("application/json", responder.status()),
        Query::Player(state) => {
            return if responder.player(now, state) {
                response(StatusCode::NO_CONTENT, "text/plain", String::new())
            } else {
                rejection(MISSING_BUFFER_STATE)
            };
        }
    };
    match content {
        Ok(content) => response(StatusCode::OK, content_type, content),
        Err(error) => response(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", format!("{error}\n")),
    }
}

/// Paths available to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    All,
    MetricsOnly,
}

pub(super) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    handler: Handler,
    access: Access,
    timeout: Duration,
) {
    let service = service_fn(|request| {
        let handler = handler.clone();
        async move { Ok::<_, Infallible>(handler.handle(request, access).await) }
    });
    let connection = http().serve_connection(TokioIo::new(stream), service);
    // A timeout or a protocol error only ends this connection.
    let _ = tokio::time::timeout(timeout, connection).await;
}

/// HTTP/1.1 with one request per connection.
pub(super) fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.half_close(true).keep_alive(false).max_buf_size(MAX_HEAD_BYTES);
    http
}

#[derive(Debug, Clone)]
pub(super) struct Handler {
    requests: mpsc::Sender<PendingRequest>,
    wakeup: Arc<OwnedFd>,
}

impl Handler {
    async fn handle(&self, request: Request<Incoming>, access: Access) -> Response<Full<Bytes>> {
        let fields: Vec<(&str, &[u8])> =
            request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        if access == Access::MetricsOnly && !names_this_host(&fields) {
            return rejection((StatusCode::FORBIDDEN, "`Host` must be an address or localhost\n"));
        }
        match parse_query(&request, access) {
            Ok(query) => self.ask(query).await,
            Err(error) => rejection(error),
        }
    }

    /// Passes a query to the agent's thread and waits for its response.
    pub(super) async fn ask(&self, query: Query) -> Response<Full<Bytes>> {
        let (reply, response_of_agent) = oneshot::channel();
        // Fails only while the agent ends.
        let _ = self.requests.send(PendingRequest { query, reply });
        signal(&self.wakeup);
        response_of_agent.await.unwrap_or_else(|_| {
            response(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "the agent is ending\n".to_owned())
        })
    }
}

fn signal(wakeup: &OwnedFd) {
    let _ = rustix::io::write(wakeup, &1_u64.to_ne_bytes());
}

fn parse_query(request: &Request<Incoming>, access: Access) -> Result<Query, Rejection> {
    let all = access == Access::All;
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => Ok(Query::Metrics),
        (&Method::GET, "/status") if all => Ok(Query::Status),
        (&Method::POST, "/player") if all => {
            let state = cmcd::State::of_request(head_text(request).as_bytes());
            state.map(Query::Player).ok_or(MISSING_BUFFER_STATE)
        }
        (&Method::GET, _) => Err((StatusCode::NOT_FOUND, "available: /status and /metrics\n")),
        _ => Err((StatusCode::METHOD_NOT_ALLOWED, "supported: GET, and POST /player\n")),
    }
}

/// Request head as text, the form that the CMCD parser takes.
fn head_text(request: &Request<Incoming>) -> String {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri());
    for (name, value) in request.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head + "\r\n"
}

pub(super) fn rejection((status, text): Rejection) -> Response<Full<Bytes>> {
    response(status, "text/plain", text.to_owned())
}

fn response(status: StatusCode, content_type: &'static str, content: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(content));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type.parse().expect("valid content type"));
    response
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
