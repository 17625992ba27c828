//! HTTP/1.1 server: connections, their limits and their end. The caller supplies the responses.

mod handshake;
mod network;
mod observer;
mod places;
mod stalled;

pub use network::Network;

use crate::content::{Body, Log};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use observer::{Observed, Observer, Watched};
use places::Places;
use stalled::WriteTimeout;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tls::{FailureCounts, ServerTls};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Limits of the server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Concurrent connections. Further ones wait in the backlog, or with `is_public` take the place
    /// of a connection of the site and network that hold the most.
    pub connections: usize,
    /// Timeout of a TLS handshake.
    pub handshake: Duration,
    /// Timeout of a request's head, and of an idle connection.
    pub head: Duration,
    /// Time for pending responses after a stop.
    pub grace: Duration,
    /// Time in which a client has to acknowledge more of a response; `None` for any time.
    pub write: Option<Duration>,
    /// Limit of a connection's read and write buffer; `None` for hyper's own.
    pub buffer_bytes: Option<usize>,
    /// Unknown clients: places are shared fairly between their sites and networks.
    pub is_public: bool,
}

impl Default for Limits {
    /// Limits for known clients, such as those of a test bed, whose paths may pause for any time.
    fn default() -> Self {
        Self {
            connections: 512,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(30),
            grace: Duration::from_secs(5),
            write: None,
            buffer_bytes: None,
            is_public: false,
        }
    }
}

impl Limits {
    /// Limits for clients that may be hostile.
    pub fn public() -> Self {
        Self {
            write: Some(Duration::from_secs(30)),
            buffer_bytes: Some(64 << 10),
            is_public: true,
            ..Self::default()
        }
    }
}

/// Settings of a server.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// Limits of connections.
    pub limits: Limits,
    /// Log of responses.
    pub log: Option<Log>,
    /// TLS of new connections; a new value counts from the next connection on. `None` for clear text.
    pub tls: Option<watch::Receiver<ServerTls>>,
    /// Counts of failed handshakes.
    pub tls_failures: Arc<FailureCounts>,
}

impl Server {
    /// Serves until `stop` completes. Then it accepts no connection, closes idle ones, and lets
    /// responses finish within [`Limits::grace`].
    pub async fn run<A, F>(self, listener: TcpListener, answer: A, stop: impl Future<Output = ()>)
    where
        A: Fn(SocketAddr, Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let (stopping, stopped) = watch::channel(false);
        let limits = self.limits;
        let connection = Connection { server: self, answer, stopped };
        let mut connections = accept_until(listener, &limits, connection, stop).await;
        let _ = stopping.send(true);
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(limits.grace, all).await;
    }
}

/// Starts a task for each connection until `stop` completes; returns the tasks.
async fn accept_until<A, F>(
    listener: TcpListener,
    limits: &Limits,
    connection: Connection<A>,
    stop: impl Future<Output = ()>,
) -> JoinSet<()>
where
    A: Fn(SocketAddr, Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let places = Places::new(limits.connections);
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            if !limits.is_public {
                places.free().await;
            }
            listener.accept().await
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => return connections,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, peer)) = accepted else {
            // Out of descriptors, or the client is gone: the next accept may succeed.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let network = Network::of(peer.ip());
        if !places.make_room(network) {
            continue;
        }
        let (connection, place) = (connection.clone(), places.take(network));
        let number = place.number();
        let task = connections.spawn(async move {
            connection.accept(stream, peer).await;
            drop(place);
        });
        places.set_task(number, task);
    }
}

/// Settings of every connection.
#[derive(Clone)]
struct Connection<A> {
    server: Server,
    answer: A,
    stopped: watch::Receiver<bool>,
}

impl<A, F> Connection<A>
where
    A: Fn(SocketAddr, Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    /// Serves a connection over its TCP stream, after the TLS handshake if there is one.
    async fn accept(mut self, stream: TcpStream, peer: SocketAddr) {
        let _ = stream.set_nodelay(true);
        let Server { limits, log, tls, tls_failures } = &self.server;
        let observer = log.clone().and_then(|log| Observer::new(log, &stream).ok()).map(Arc::new);
        let Some(current) = tls.clone() else {
            let stream = WriteTimeout::new(stream, limits.write);
            return self.serve(Watched { stream, observer: observer.clone() }, peer, observer).await;
        };
        let tls = current.borrow().clone();
        let accepted = tokio::select! {
            accepted = handshake::accept(&tls, stream, limits) => accepted,
            _ = self.stopped.wait_for(|stopped| *stopped) => return,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => return tls_failures.count(&error),
        };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let chain = chain.iter().map(|one| one.clone().into_owned()).collect();
        tokio::select! {
            () = self.serve(Watched { stream, observer: observer.clone() }, peer, observer) => {}
            () = tls::revocation(current, |tls| Some(tls), tls, chain) => {}
        }
    }

    /// Serves HTTP over any stream.
    async fn serve<S>(self, stream: S, peer: SocketAddr, observer: Option<Arc<Observer>>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { server: Server { limits, .. }, answer, mut stopped } = self;
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
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limits.head);
        if let Some(bytes) = limits.buffer_bytes {
            http.max_buf_size(bytes);
        }
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
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
