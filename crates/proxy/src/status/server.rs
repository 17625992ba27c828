//! HTTP server on the status socket, and its client.

use super::{Status, metrics};
use crate::Error;
use linux::unix_socket::{self, BindError, SocketFile};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Length limit of a request, in bytes.
const MAX_REQUEST_BYTES: u64 = 4096;
/// Time limit of a request and its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Concurrent requests.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// Binds the socket at `path` for its owner and group. The path is removed with the returned file.
pub(crate) fn bind(path: &Path) -> Result<(UnixListener, SocketFile), Error> {
    let (listener, file) = unix_socket::listen_at(path, 0o660).map_err(|error| match error {
        BindError::InUse(path) => Error::AlreadyRunning(path),
        error => Error::Socket(error),
    })?;
    let own = |error| Error::setup(format!("listen at {}", path.display()), error);
    Ok((UnixListener::from_std(listener).map_err(own)?, file))
}

/// Answers requests until the task is aborted.
pub(crate) async fn serve(listener: UnixListener, status: Arc<dyn Fn() -> Status + Send + Sync>) {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let status = Arc::clone(&status);
                tokio::spawn(async move {
                    _ = timeout(REQUEST_TIMEOUT, answer(stream, &*status)).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: UnixStream, status: &(dyn Fn() -> Status + Send + Sync)) -> io::Result<()> {
    let mut request = Vec::new();
    // Read the whole request first: closing with unread data makes the kernel send RST and drop the
    // response.
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = (&mut stream).take(MAX_REQUEST_BYTES - request.len() as u64);
        if part.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let reply = match line.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics", _] => {
            response("200 OK", "text/plain; version=0.0.4; charset=utf-8", &metrics(&status()))
        }
        [b"GET", b"/status", _] => match serde_json::to_string(&status()) {
            Ok(text) => response("200 OK", "application/json", &text),
            Err(error) => response("500 Internal Server Error", "text/plain", &error.to_string()),
        },
        [b"GET", _, _] => response("404 Not Found", "text/plain", "unknown path: try /status or /metrics\n"),
        _ => response("405 Method Not Allowed", "text/plain", "method not allowed: use GET\n"),
    };
    stream.write_all(&reply).await
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
