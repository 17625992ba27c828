//! Start of a connection with TLS: the handshake, and the end of clients that fail it.

use super::Limits;
use super::stalled::WriteTimeout;
use std::io;
use std::time::Duration;
use tls::ServerTls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::{Error, InvalidMessage};
use tokio_rustls::server::TlsStream;

/// Response to a request without TLS.
const NEEDS_TLS: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 46\r\nConnection: close\r\n\r\nthis port speaks TLS: use an https:// address\n";

/// Time for a client to read why its handshake failed.
const LINGER: Duration = Duration::from_secs(1);

/// Accepts a session within the timeout of [`Limits`].
///
/// # Errors
/// The client was refused; it was told, if it waits for that.
pub(super) async fn accept(
    tls: &ServerTls,
    mut stream: TcpStream,
    limits: &Limits,
) -> io::Result<TlsStream<WriteTimeout>> {
    let accept = async {
        if speaks_http(&stream).await? {
            stream.write_all(NEEDS_TLS.as_bytes()).await?;
            linger(&mut stream).await;
            return Err(io::Error::other(Error::InvalidMessage(InvalidMessage::InvalidContentType)));
        }
        match tls.accept(WriteTimeout::new(stream, limits.write)).await {
            Ok(session) => Ok(session),
            Err((error, mut stream)) => {
                linger(&mut stream).await;
                Err(error)
            }
        }
    };
    timeout(limits.handshake, accept).await?
}

/// True if the client begins with a request line: each method begins with a capital letter, a TLS
/// record with its type, 22 (RFC 8446, section 5.1).
async fn speaks_http(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    Ok(stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase())
}

/// Ends the connection and discards further input, so that no reset overtakes the last bytes sent.
async fn linger<S: AsyncReadExt + AsyncWriteExt + Unpin>(stream: &mut S) {
    let _ = stream.shutdown().await;
    let mut discarded = [0; 4096];
    let rest = async { while stream.read(&mut discarded).await.is_ok_and(|count| count > 0) {} };
    let _ = timeout(LINGER, rest).await;
}
