//! Byte stream of a connection: TCP, or TLS over TCP.
//!
//! All methods take `&self`, so that both directions of a relay share a stream. One task at a time
//! polls it: each direction keeps only the waker of its last poll.

use core::future::poll_fn;
use core::mem::MaybeUninit;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop::has_budget_remaining;
use tokio_rustls::TlsStream;
use tokio_rustls::rustls::pki_types::CertificateDer;

/// Most bytes read at once: the size of a TLS record.
pub(crate) const RECORD_BYTES: usize = 16 << 10;

/// Connection to a client or towards a server.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Tls(Box<Tls>),
}

/// TLS session over a connection.
#[derive(Debug)]
pub(crate) struct Tls {
    tcp: Arc<TcpStream>,
    session: Mutex<TlsStream<SharedTcp>>,
}

impl Tls {
    fn session(&self) -> MutexGuard<'_, TlsStream<SharedTcp>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    /// TLS stream after its handshake over `tcp`.
    pub(crate) fn of_session(tcp: Arc<TcpStream>, session: TlsStream<SharedTcp>) -> Self {
        Self::Tls(Box::new(Tls { tcp, session: Mutex::new(session) }))
    }

    /// Connection below TLS, for socket options and readiness. Its bytes may be ciphertext.
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Tcp(tcp) => tcp,
            Self::Tls(tls) => &tls.tcp,
        }
    }

    /// The connection, if its bytes are not encrypted.
    pub(crate) fn as_plain(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::Tls(_) => None,
        }
    }

    /// Certificates that the client of a session has presented, its own first.
    pub(crate) fn peer_certificates(&self) -> Vec<CertificateDer<'static>> {
        let Self::Tls(tls) = self else { return Vec::new() };
        let session = tls.session();
        let certificates = session.get_ref().1.peer_certificates().unwrap_or_default();
        certificates.iter().map(|one| one.clone().into_owned()).collect()
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp().local_addr()
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.tcp().peer_addr()
    }

    /// Reads into `buffer`; nothing at end of stream.
    pub(crate) fn poll_read(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(tcp) => read_tcp(tcp, context, buffer),
            Self::Tls(tls) => Pin::new(&mut *tls.session()).poll_read(context, buffer),
        }
    }

    /// Writes a part of `bytes`. TLS may keep it until [`Self::poll_flush`].
    pub(crate) fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(tcp) => write_tcp(tcp, context, bytes),
            Self::Tls(tls) => Pin::new(&mut *tls.session()).poll_write(context, bytes),
        }
    }

    /// Sends the bytes that TLS has encrypted.
    pub(crate) fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(_) => Poll::Ready(Ok(())),
            Self::Tls(tls) => Pin::new(&mut *tls.session()).poll_flush(context),
        }
    }

    /// Ends the direction to the peer: FIN, after the `close_notify` of TLS.
    pub(crate) fn poll_shutdown(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(tcp) => Poll::Ready(Ok(rustix::net::shutdown(tcp, rustix::net::Shutdown::Write)?)),
            Self::Tls(tls) => Pin::new(&mut *tls.session()).poll_shutdown(context),
        }
    }

    /// Appends available bytes to `buffer`, at most `max_len` and [`RECORD_BYTES`]; returns 0 at end of
    /// stream. An empty buffer keeps no allocation while it waits.
    pub(crate) async fn read_some(&self, buffer: &mut Vec<u8>, max_len: usize) -> io::Result<usize> {
        poll_fn(|context| self.poll_append(context, buffer, max_len)).await
    }

    fn poll_append(
        &self,
        context: &mut Context<'_>,
        buffer: &mut Vec<u8>,
        max_len: usize,
    ) -> Poll<io::Result<usize>> {
        // On the stack, so that `buffer` grows by the received bytes alone.
        let mut bytes = [MaybeUninit::uninit(); RECORD_BYTES];
        let mut bytes = ReadBuf::uninit(&mut bytes[..max_len.min(RECORD_BYTES)]);
        let read = self.poll_read(context, &mut bytes);
        if read.is_pending() && buffer.is_empty() {
            *buffer = Vec::new();
        }
        ready!(read)?;
        buffer.extend_from_slice(bytes.filled());
        Poll::Ready(Ok(bytes.filled().len()))
    }

    /// Writes all bytes.
    pub(crate) async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match poll_fn(|context| self.poll_write(context, &bytes[written..])).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => written += count,
            }
        }
        poll_fn(|context| self.poll_flush(context)).await
    }

    /// Whether an idle connection is open and has sent nothing unsolicited.
    pub(crate) fn is_quiet(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        match self {
            // Query the kernel: the runtime may not have seen the latest readiness yet.
            Self::Tcp(tcp) => {
                recv(tcp, &mut [0u8], RecvFlags::PEEK | RecvFlags::DONTWAIT) == Err(rustix::io::Errno::AGAIN)
            }
            Self::Tls(_) => {
                let mut context = Context::from_waker(core::task::Waker::noop());
                // Without budget the task reads nothing, although bytes may have arrived.
                has_budget_remaining()
                    && self.poll_read(&mut context, &mut ReadBuf::new(&mut [0])).is_pending()
            }
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tcp().as_fd()
    }
}

/// Connection below a TLS session.
#[derive(Debug)]
pub(crate) struct SharedTcp(pub(crate) Arc<TcpStream>);

impl AsyncRead for SharedTcp {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        read_tcp(&self.0, context, buffer)
    }
}

impl AsyncWrite for SharedTcp {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        write_tcp(&self.0, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(rustix::net::shutdown(&self.0, rustix::net::Shutdown::Write)?))
    }
}

fn read_tcp(tcp: &TcpStream, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    loop {
        ready!(tcp.poll_read_ready(context))?;
        match tcp.try_read_buf(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => return Poll::Ready(result.map(drop)),
        }
    }
}

fn write_tcp(tcp: &TcpStream, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
    loop {
        ready!(tcp.poll_write_ready(context))?;
        match tcp.try_write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => return Poll::Ready(result),
        }
    }
}
