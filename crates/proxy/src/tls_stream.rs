//! TLS sessions over the proxy's streams.

use crate::relay::{Linger, close_after_response};
use crate::stream::{SharedTcp, Stream};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tls::{ClientTls, ServerTls};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// Time for a client to acknowledge the alert of a failed handshake.
const ALERT_TIMEOUT: Duration = Duration::from_secs(1);

/// Accepts a session. A failure returns the closed connection and the error.
pub(crate) async fn accept_until(
    tls: &ServerTls,
    deadline: Instant,
    tcp: TcpStream,
) -> Result<Stream, (Stream, io::Error)> {
    let tcp = Arc::new(tcp);
    let error = match timeout_at(deadline, tls.accept(SharedTcp(Arc::clone(&tcp)))).await {
        Ok(Ok(session)) => return Ok(Stream::of_session(tcp, session.into())),
        Ok(Err((error, _))) => error,
        Err(_) => io::ErrorKind::TimedOut.into(),
    };
    let tcp = Arc::into_inner(tcp).expect("the failed handshake has dropped its reference");
    let stream = Stream::Tcp(tcp);
    // The client can read the alert, which a reset would discard.
    let until = Some(Instant::now() + ALERT_TIMEOUT);
    close_after_response(&stream, Linger { write: ALERT_TIMEOUT, until }).await;
    Err((stream, error))
}

/// Opens a session with `host` over a connection.
pub(crate) async fn connect(tls: &ClientTls, tcp: TcpStream, host: &str) -> io::Result<Stream> {
    let tcp = Arc::new(tcp);
    let session = tls.connect(SharedTcp(Arc::clone(&tcp)), host).await?;
    Ok(Stream::of_session(tcp, session.into()))
}
