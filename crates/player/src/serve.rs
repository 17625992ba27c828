//! HTTP/1.1 server: connections, their limits and their end. The caller supplies the responses.

use crate::content::{Body, Entry, Log};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Limits of the server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Concurrent connections; further ones wait in the backlog.
    pub connections: usize,
    /// Timeout of a request's head, and of an idle connection.
    pub head: Duration,
    /// Time for pending responses after a stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 512, head: Duration::from_secs(30), grace: Duration::from_secs(5) }
    }
}

/// Serves until `stop` completes. Then it accepts no connection, closes idle ones, and lets
/// responses finish within [`Limits::grace`].
pub async fn run<A, F>(
    listener: TcpListener,
    limits: Limits,
    log: Option<Log>,
    answer: A,
    stop: impl Future<Output = ()>,
) where
    A: Fn(SocketAddr, Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let (stopping, stopped) = watch::channel(false);
    let connection = Connection { limits, log, answer, stopped };
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            let room = Arc::clone(&room).acquire_owned().await;
            (room, listener.accept().await)
        };
        let (room, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, peer)) = accepted else {
            // Out of descriptors, or the client is gone: the next accept may succeed.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let connection = connection.clone();
        connections.spawn(async move {
            connection.serve(stream, peer).await;
            drop(room);
        });
    }
    drop(listener);
    let _ = stopping.send(true);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.grace, all).await;
}

/// Settings of every connection.
#[derive(Clone)]
struct Connection<A> {
    limits: Limits,
    log: Option<Log>,
    answer: A,
    stopped: watch::Receiver<bool>,
}

impl<A, F> Connection<A>
where
    A: Fn(SocketAddr, Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    async fn serve(self, stream: TcpStream, peer: SocketAddr) {
        let Self { limits, log, answer, mut stopped } = self;
        let _ = stream.set_nodelay(true);
        let observer = log.and_then(|log| Observer::new(log, &stream).ok()).map(Arc::new);
        let watching = observer.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let (answer, observer) = (answer.clone(), watching.clone());
            async move {
                if let Some(observer) = &observer {
                    observer.on_request(peer, &request);
                }
                let response = answer(peer, request).await;
                if let Some(observer) = &observer {
                    observer.on_response(&response);
                }
                Ok::<_, Infallible>(response.map(|body| Observed { body, observer }))
            }
        });
        let io = TokioIo::new(Watched { stream, observer: observer.clone() });
        let mut connection = pin!(
            hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.head)
                .serve_connection(io, service)
        );
        tokio::select! {
            _ = connection.as_mut() => {}
            () = async { drop(stopped.wait_for(|stopped| *stopped).await) } => {
                connection.as_mut().graceful_shutdown();
                // An error of one connection concerns its client only.
                let _ = connection.as_mut().await;
            }
        }
        if let Some(observer) = observer {
            observer.end();
        }
    }
}

/// Records the responses of one connection in order.
struct Observer {
    log: Log,
    /// Second descriptor of the socket, to query unacknowledged bytes.
    socket: Arc<OwnedFd>,
    current: Mutex<Option<Current>>,
}

struct Current {
    entry: Entry,
    /// True once the body was consumed.
    body_ended: bool,
    /// Number of the response on the connection.
    number: u64,
}

impl Observer {
    fn new(log: Log, stream: &TcpStream) -> io::Result<Self> {
        let socket = Arc::new(rustix::io::fcntl_dupfd_cloexec(stream, 0)?);
        Ok(Self { log, socket, current: Mutex::new(None) })
    }

    fn on_request(&self, peer: SocketAddr, request: &Request<Incoming>) {
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
        if let Some(mut before) = current.replace(Current { entry, body_ended: false, number }) {
            if before.entry.complete {
                before.entry.acknowledged_ms = Some(now);
            }
            self.log.push(before.entry);
        }
    }

    fn on_response(&self, response: &Response<Body>) {
        if let Some(current) = &mut *self.lock() {
            let field = response.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
            let length = field.and_then(|field| field.parse().ok());
            current.entry.status = response.status().as_u16();
            current.entry.bytes = length.unwrap_or_else(|| response.body().left());
            current.body_ended = response.body().left() == 0;
        }
    }

    fn on_body_end(&self) {
        if let Some(current) = &mut *self.lock() {
            current.body_ended = true;
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
        let Some(Current { entry, body_ended: true, number }) = &mut *current else { return };
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

    fn end(&self) {
        if let Some(current) = self.lock().take() {
            self.log.push(current.entry);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connection wrapper that records writes.
struct Watched {
    stream: TcpStream,
    observer: Option<Arc<Observer>>,
}

impl Watched {
    fn on_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let (Poll::Ready(Ok(1..)), Some(observer)) = (&written, &self.observer) {
            observer.on_write();
        }
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Watched {
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
struct Observed {
    body: Body,
    observer: Option<Arc<Observer>>,
}

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let (0, Some(observer)) = (self.body.left(), &self.observer) {
            observer.on_body_end();
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
