//! HTTP client for the agent's UNIX socket.

use super::server::CONNECTION_TIMEOUT;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::io::{self, ErrorKind};
use std::path::Path;
use tokio::net::UnixStream;
use tokio::runtime::Builder;

/// Requests `path`, such as `/status`, from the agent that listens at `socket`. Blocks until the
/// response is complete.
///
/// # Errors
/// Fails when no agent listens there, access is denied, or the agent does not respond in time. For
/// an HTTP error status, the message is the content of the response.
pub fn query(socket: &Path, path: &str) -> io::Result<String> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        let response = tokio::time::timeout(2 * CONNECTION_TIMEOUT, send_request(socket, path));
        response.await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    })
}

async fn send_request(socket: &Path, path: &str) -> io::Result<String> {
    let invalid = |error: hyper::Error| {
        io::Error::new(ErrorKind::InvalidData, format!("the response is not one of an agent: {error}"))
    };
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(invalid)?;
    tokio::spawn(connection);
    let request = Request::get(path).header(HOST, "agent").body(Empty::<Bytes>::new());
    let response = sender.send_request(request.map_err(io::Error::other)?).await.map_err(invalid)?;
    let status = response.status();
    let content = response.into_body().collect().await.map_err(invalid)?.to_bytes();
    let content = String::from_utf8_lossy(&content);
    if status != StatusCode::OK {
        return Err(io::Error::other(content.trim_end().to_owned()));
    }
    Ok(content.into_owned())
}
