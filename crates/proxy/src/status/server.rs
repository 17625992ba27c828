//! HTTP server on the status socket, and its client.

use super::{Status, metrics};
use crate::Error;
use crate::config::MetricsListener;
use linux::socket::is_address_or_localhost;
use linux::unix_socket::{self, BindError, SocketFile};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// Length limit of a request, in bytes.
const MAX_REQUEST_BYTES: u64 = 4096;
/// Time limit of a request and its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Concurrent requests.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// Pause after a failed accept, for instance when file descriptors have run out.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Binds the socket at `path` for its owner and group. The path is removed with the returned file.
pub(crate) fn bind(path: &Path) -> Result<(UnixListener, SocketFile), Error> {
    let (listener, file) = unix_socket::listen_at(path, 0o660).map_err(|error| match error {
        BindError::InUse(path) => Error::AlreadyRunning(path),
        error => Error::Socket(error),
    })?;
    let own = |error| Error::setup(format!("listen at {}", path.display()), error);
    Ok((UnixListener::from_std(listener).map_err(own)?, file))
}

/// Opens the listener for metrics over TCP.
pub(crate) fn bind_metrics(listener: &MetricsListener) -> Result<TcpListener, Error> {
    let own = |error| Error::setup(format!("listen at {} for metrics", listener.address), error);
    let socket = std::net::TcpListener::bind(listener.address).map_err(own)?;
    socket.set_nonblocking(true).map_err(own)?;
    TcpListener::from_std(socket).map_err(own)
}

/// Source of the status.
pub(crate) type Source = Arc<dyn Fn() -> Status + Send + Sync>;

/// Answers requests on the UNIX socket until the task is aborted.
pub(crate) async fn serve(listener: UnixListener, status: Source) {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => spawn_answer(stream, &status, Paths::All, permit),
            Err(_) => sleep(ACCEPT_RETRY_INTERVAL).await,
        }
    }
}

/// Answers requests for metrics over TCP until the task is aborted.
pub(crate) async fn serve_metrics(listener: TcpListener, config: MetricsListener, status: Source) {
    let is_local = config.address.ip().to_canonical().is_loopback();
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            sleep(ACCEPT_RETRY_INTERVAL).await;
            continue;
        };
        let from_loopback = client.ip().to_canonical().is_loopback();
        let is_allowed = match &config.from[..] {
            [] => from_loopback,
            networks => networks.iter().any(|network| network.contains(client.ip())),
        };
        let paths = if is_local || from_loopback { Paths::LocalMetrics } else { Paths::Metrics };
        // Too many requests at once: refuse, rather than let them wait behind silent clients.
        match Arc::clone(&permits).try_acquire_owned() {
            Ok(permit) if is_allowed => spawn_answer(stream, &status, paths, permit),
            _ => _ = linux::socket::abort(&stream),
        }
    }
}

/// Paths available to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    All,
    Metrics,
    /// Metrics on loopback. `Host` must be an address or `localhost`, so that no page of a browser
    /// reads them through a name of its own (DNS rebinding).
    LocalMetrics,
}

fn spawn_answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    status: &Source,
    paths: Paths,
    permit: OwnedSemaphorePermit,
) {
    let status = Arc::clone(status);
    tokio::spawn(async move {
        _ = timeout(REQUEST_TIMEOUT, answer(stream, &*status, paths)).await;
        drop(permit);
    });
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    status: &(dyn Fn() -> Status + Send + Sync),
    paths: Paths,
) -> io::Result<()> {
    let mut request = Vec::new();
    // Read the whole request first: closing with unread data makes the kernel send RST and drop the
    // response.
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = (&mut stream).take(MAX_REQUEST_BYTES - request.len() as u64);
        if part.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(&reply(&request, status, paths)).await?;
    stream.shutdown().await
}

/// Response to a request head.
fn reply(request: &[u8], status: &(dyn Fn() -> Status + Send + Sync), paths: Paths) -> Vec<u8> {
    if paths != Paths::All {
        let local_only = paths == Paths::LocalMetrics;
        match host(request) {
            None => return response("400 Bad Request", "text/plain", "one `Host` is required\n"),
            Some(host) if local_only && !is_address_or_localhost(host) => {
                return response("403 Forbidden", "text/plain", "`Host` must be an address or localhost\n");
            }
            Some(_) => {}
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    match line.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics", _] => {
            response("200 OK", "text/plain; version=0.0.4; charset=utf-8", &metrics(&status()))
        }
        [b"GET", b"/status", _] if paths == Paths::All => match serde_json::to_string(&status()) {
            Ok(text) => response("200 OK", "application/json", &text),
            Err(error) => response("500 Internal Server Error", "text/plain", &error.to_string()),
        },
        [b"GET", _, _] if paths != Paths::All => {
            response("404 Not Found", "text/plain", "unknown path: try /metrics\n")
        }
        [b"GET", _, _] => response("404 Not Found", "text/plain", "unknown path: try /status or /metrics\n"),
        _ => response("405 Method Not Allowed", "text/plain", "method not allowed: use GET\n"),
    }
}

/// Value of the only field `Host`.
fn host(request: &[u8]) -> Option<&str> {
    let head = std::str::from_utf8(request).ok()?;
    let mut hosts = head.split("\r\n").skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then_some(value.trim())
    });
    let first = hosts.next()?;
    hosts.next().is_none().then_some(first)
}

fn response(code: &str, kind: &str, content: &str) -> Vec<u8> {
    let length = content.len();
    format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{content}"
    )
    .into_bytes()
}

/// Sends a GET for `path`, such as `/status`, to the proxy at `socket` and returns the content.
///
/// # Errors
/// No proxy listens there, permission is denied, it does not answer in time, or it answers with an
/// error.
pub fn query(socket: &Path, path: &str) -> io::Result<String> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(2 * REQUEST_TIMEOUT))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: proxy\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let odd = || io::Error::new(ErrorKind::InvalidData, "not a response of a proxy");
    let (head, content) = answer.split_once("\r\n\r\n").ok_or_else(odd)?;
    if head.split(' ').nth(1) != Some("200") {
        return Err(io::Error::other(content.trim_end().to_owned()));
    }
    Ok(content.to_owned())
}
