//! Log of one connection's responses: the first and last write of each, and its acknowledgement.

use crate::content::{Body, Entry, Log};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header;
use hyper::{Request, Response};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Records the responses of one connection in order.
pub(super) struct Observer {
    log: Log,
    /// Second descriptor of the socket, to query unacknowledged bytes.
    socket: Arc<OwnedFd>,
    current: Mutex<Option<Current>>,
}

struct Current {
    entry: Entry,
    /// True once the body was consumed.
    body_ended: bool,
    /// True if the length is unknown at the start: the frames are added up.
    counts_frames: bool,
    /// Number of the response on the connection.
    number: u64,
}

impl Observer {
    pub(super) fn new(log: Log, stream: impl AsFd) -> io::Result<Self> {
        let socket = Arc::new(rustix::io::fcntl_dupfd_cloexec(stream, 0)?);
        Ok(Self { log, socket, current: Mutex::new(None) })
    }

    pub(super) fn on_request(&self, peer: SocketAddr, request: &Request<Incoming>) {
        let now = self.log.now_ms();
        let field = |name: &str| {
            request.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let cmcd: Vec<String> = ["cmcd-object", "cmcd-request", "cmcd-session", "cmcd-status"]
            .into_iter()
            .filter_map(field)
            .collect();
        let entry = Entry {
            peer: peer.to_string(),
            method: request.method().to_string(),
            path: request.uri().to_string(),
            range: field(header::RANGE.as_str()),
            cmcd: (!cmcd.is_empty()).then(|| cmcd.join(",")),
            status: 0,
            bytes: 0,
            asked_ms: now,
            first_write_ms: None,
            last_write_ms: None,
            acknowledged_ms: None,
            complete: false,
        };
        let mut current = self.lock();
        let number = current.as_ref().map_or(0, |current| current.number + 1);
        // A request for the next response implies that the previous one arrived.
        if let Some(mut before) =
            current.replace(Current { entry, body_ended: false, counts_frames: false, number })
        {
            if before.entry.complete {
                before.entry.acknowledged_ms.get_or_insert(now);
            }
            self.log.push(before.entry);
        }
    }

    pub(super) fn on_response(&self, response: &Response<Body>) {
        if let Some(current) = &mut *self.lock() {
            let field = response.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
            let length = field.and_then(|field| field.parse().ok());
            current.entry.status = response.status().as_u16();
            current.entry.bytes = length.or_else(|| response.body().length()).unwrap_or(0);
            current.counts_frames = length.is_none() && response.body().length().is_none();
            current.body_ended = response.body().left() == 0;
        }
    }

    fn on_frame(&self, bytes: usize, is_last: bool) {
        if let Some(current) = &mut *self.lock() {
            current.body_ended |= is_last;
            if current.counts_frames {
                current.entry.bytes += bytes as u64;
            }
        }
    }

    fn on_write(&self) {
        let now = self.log.now_ms();
        if let Some(Current { entry, .. }) = &mut *self.lock() {
            entry.first_write_ms.get_or_insert(now);
            entry.last_write_ms = Some(now);
        }
    }

    /// Completes the entry of a response once all bytes handed to the connection were written, and
    /// waits for their acknowledgement.
    fn on_flush(self: &Arc<Self>) {
        let mut current = self.lock();
        let Some(Current { entry, body_ended: true, number, .. }) = &mut *current else { return };
        if entry.complete || entry.status == 0 || entry.last_write_ms.is_none() {
            return;
        }
        entry.complete = true;
        let (number, socket, observer) = (*number, Arc::clone(&self.socket), Arc::downgrade(self));
        tokio::spawn(async move {
            loop {
                let left = linux::socket::unacknowledged(&*socket).unwrap_or(0);
                let Some(observer) = observer.upgrade() else { return };
                let now = observer.log.now_ms();
                {
                    let mut current = observer.lock();
                    let Some(current) = current.as_mut().filter(|current| current.number == number) else {
                        return;
                    };
                    if left == 0 {
                        current.entry.acknowledged_ms = Some(now);
                        return;
                    }
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }

    pub(super) fn end(&self) {
        if let Some(current) = self.lock().take() {
            self.log.push(current.entry);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connection wrapper that records writes.
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) observer: Option<Arc<Observer>>,
}

impl<S> Watched<S> {
    fn on_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let (Poll::Ready(Ok(1..)), Some(observer)) = (&written, &self.observer) {
            observer.on_write();
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.on_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.on_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if let (Poll::Ready(Ok(())), Some(observer)) = (&flushed, &self.observer) {
            observer.on_flush();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Body wrapper that records its end.
pub(super) struct Observed {
    pub(super) body: Body,
    pub(super) observer: Option<Arc<Observer>>,
}

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Some(observer) = &self.observer {
            let bytes = match &frame {
                Poll::Ready(Some(Ok(frame))) => frame.data_ref().map_or(0, Bytes::len),
                _ => 0,
            };
            observer.on_frame(bytes, self.body.is_empty());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
