//! Write timeout: ends a connection whose client does not take its response.
//!
//! Progress is measured in acknowledged bytes. The kernel's send buffer may hold megabytes, so a
//! slow client may take minutes until the kernel accepts more from the server.

use rustix::net::sockopt::set_socket_linger;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// Bytes that a client has to acknowledge within the timeout, unless it has everything.
const MIN_PROGRESS_BYTES: u64 = 4 << 10;

pub(super) struct WriteTimeout {
    stream: TcpStream,
    limit: Option<Duration>,
    written: u64,
    waiting: Option<Waiting>,
}

/// A write that the kernel does not accept yet.
struct Waiting {
    timer: Pin<Box<Sleep>>,
    /// Acknowledged bytes when the timer was set.
    acknowledged: u64,
}

impl WriteTimeout {
    pub(super) fn new(stream: TcpStream, limit: Option<Duration>) -> Self {
        Self { stream, limit, written: 0, waiting: None }
    }

    fn acknowledged(&self) -> u64 {
        let left = linux::socket::unacknowledged(&self.stream).unwrap_or(0);
        self.written.saturating_sub(left)
    }

    fn on_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Some(limit) = self.limit else { return written };
        match written {
            Poll::Ready(written) => {
                self.waiting = None;
                self.written += written.as_ref().map_or(0, |bytes| *bytes as u64);
                return Poll::Ready(written);
            }
            Poll::Pending => {}
        }
        loop {
            let acknowledged = self.acknowledged();
            let waiting = self
                .waiting
                .get_or_insert_with(|| Waiting { timer: Box::pin(tokio::time::sleep(limit)), acknowledged });
            ready!(waiting.timer.as_mut().poll(cx));
            if acknowledged < waiting.acknowledged + MIN_PROGRESS_BYTES {
                // Drop the unsent data at once: the kernel would offer it for minutes.
                let _ = set_socket_linger(&self.stream, Some(Duration::ZERO));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            waiting.acknowledged = acknowledged;
            waiting.timer.as_mut().reset(Instant::now() + limit);
        }
    }
}

impl AsyncRead for WriteTimeout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for WriteTimeout {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.on_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.on_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
