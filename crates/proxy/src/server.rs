//! Listeners and admission of clients.

use crate::access::AccessLog;
use crate::config::Listen;
use crate::connect::ConnectError;
use crate::connection;
use crate::counters::Counters;
use crate::destination::Destination;
use crate::log_limit::LogLimit;
use crate::status::{self, Listening, Status};
use crate::{Config, Error};
use linux::socket::{self, Options, Protocol};
use linux::unix_socket::SocketFile;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// Phase of the proxy's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Accepts connections.
    Serving,
    /// Accepts no new connections; open ones finish.
    Draining,
    /// Aborts everything.
    Ended,
}

/// Request of the owner of the proxy.
#[derive(Debug)]
pub(crate) enum Request {
    /// Applies a configuration, and reports the result.
    Reload(Box<Config>, SyncSender<Result<(), Error>>),
    /// Accepts connections of this listener, which may be in another namespace.
    Accept(Listen, std::net::TcpListener),
}

/// State shared by all connections.
#[derive(Debug)]
pub(crate) struct Shared {
    config: RwLock<Arc<Config>>,
    pub(crate) counters: Counters,
    pub(crate) lookups: Semaphore,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) requests: mpsc::UnboundedSender<Request>,
    received: Mutex<Option<mpsc::UnboundedReceiver<Request>>>,
    /// Open connections per client.
    clients: Mutex<HashMap<IpAddr, usize>>,
    /// Connections aborted at the end of the drain timeout.
    pub(crate) broken_off: AtomicU64,
    /// Notified when a connection ends.
    ended: Notify,
    log: RwLock<Option<Arc<AccessLog>>>,
    log_limit: LogLimit,
    began: Instant,
    /// Limit of open files of this process.
    files: u64,
    listening: Mutex<Vec<Listening>>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        let (requests, received) = mpsc::unbounded_channel();
        Self {
            lookups: Semaphore::new(config.limits.lookups.max(1)),
            config: RwLock::new(Arc::new(config)),
            counters: Counters::default(),
            phase: watch::Sender::new(Phase::Serving),
            requests,
            received: Mutex::new(Some(received)),
            clients: Mutex::default(),
            broken_off: AtomicU64::new(0),
            ended: Notify::new(),
            log: RwLock::default(),
            log_limit: LogLimit::default(),
            began: Instant::now(),
            files: linux::process::open_file_limit(),
            listening: Mutex::default(),
        }
    }

    /// The access log, if enabled.
    pub(crate) fn log(&self) -> Option<Arc<AccessLog>> {
        self.log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the access log of `config`, or reopens its file.
    fn open_access_log(&self, config: &Config) -> Result<(), Error> {
        let own =
            |path: &Path, error| Error::setup(format!("write the access log {}", path.display()), error);
        let log = match (&config.access_log, self.log()) {
            (None, _) => None,
            (Some(path), Some(log)) if self.config().access_log.as_ref() == Some(path) => {
                log.reopen(path).map_err(|error| own(path, error))?;
                Some(log)
            }
            (Some(path), _) => Some(Arc::new(AccessLog::open(path).map_err(|error| own(path, error))?)),
        };
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = log;
        Ok(())
    }

    /// Connection limit: two files per connection, minus a reserve for the proxy itself.
    fn connection_limit(&self, config: &Config) -> u64 {
        (config.limits.connections as u64).min(self.files.saturating_sub(64) / 2)
    }

    /// Current status.
    pub(crate) fn status(&self) -> Status {
        let config = self.config();
        Status {
            running_s: self.began.elapsed().as_secs_f64(),
            draining: *self.phase.borrow() != Phase::Serving,
            listening: self.listening.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            upstream: config.upstream.as_ref().map(|upstream| upstream.destination.to_string()),
            most_connections: self.connection_limit(&config),
            totals: self.counters.totals(),
        }
    }

    /// Logs a failed connection, unless it is one of many in the same second.
    pub(crate) fn log_failure(&self, client: SocketAddr, destination: &Destination, failure: &ConnectError) {
        let is_refusal = matches!(failure, ConnectError::Upstream(_) | ConnectError::Refused(_));
        if is_refusal && self.log_limit.admit() {
            warn!(%client, %destination, "{}", failure.to_text());
        }
    }

    /// Logs a client that the rules reject.
    fn log_rejected_client(&self, client: SocketAddr) {
        if self.log_limit.admit() {
            warn!(%client, "client refused: `[clients] allow` does not contain its address");
        }
    }

    /// Current configuration.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Permit for one client connection; released on drop.
pub(crate) struct ConnectionPermit {
    shared: Arc<Shared>,
    client: IpAddr,
}

impl ConnectionPermit {
    /// Acquires a permit, unless a limit is reached.
    fn take(shared: &Arc<Shared>, config: &Config, client: IpAddr) -> Option<Self> {
        let client = client_key(client);
        let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.counters.open.load(Relaxed) >= shared.connection_limit(config) {
            return None;
        }
        let count = clients.entry(client).or_default();
        if *count >= config.limits.per_client {
            return None;
        }
        *count += 1;
        Counters::count(&shared.counters.open);
        Some(Self { shared: Arc::clone(shared), client })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut clients = self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&self.client);
            }
        }
        self.shared.counters.open.fetch_sub(1, Relaxed);
        self.shared.ended.notify_waiters();
    }
}

/// Key of a client for limits: an IPv4 address, or an IPv6 /64 prefix.
fn client_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & (u128::MAX << 64)).into()),
        address @ IpAddr::V4(_) => address,
    }
}

/// The proxy's listeners and status socket.
pub(crate) struct Server {
    shared: Arc<Shared>,
    listeners: Vec<(Listen, SocketAddr, JoinHandle<()>)>,
    /// File and task of the status socket.
    status: Option<(SocketFile, JoinHandle<()>)>,
}

/// Unsent bytes that the kernel buffers per connection (`TCP_NOTSENT_LOWAT`).
pub(crate) const NOTSENT_LOWAT_BYTES: u32 = 128 << 10;
/// Queue length for TCP Fast Open.
const FAST_OPEN_QUEUE_LEN: i32 = 256;

fn open(listen: &Listen) -> Result<(TcpListener, SocketAddr), Error> {
    let listener = bind(listen, None)?;
    let own = |error| Error::setup(format!("listen at {}", listen.address), error);
    let listener = TcpListener::from_std(listener).map_err(own)?;
    let address = listener.local_addr().map_err(own)?;
    Ok((listener, address))
}

/// Opens a listening socket in the namespace of the calling thread, with a congestion control.
pub(crate) fn bind(listen: &Listen, congestion: Option<&str>) -> Result<std::net::TcpListener, Error> {
    let convert = listen.serve == crate::config::ListenerProtocol::Convert;
    let options = Options {
        congestion: congestion.map(str::to_owned),
        // Accepted sockets inherit these options. Relayed data is already coalesced.
        no_delay: true,
        notsent_lowat: Some(NOTSENT_LOWAT_BYTES),
        // The kernel doubles the value.
        send_buffer: listen.send_buffer.map(|bytes| bytes as usize / 2),
        transparent: listen.serve == crate::config::ListenerProtocol::Transparent,
        fast_open: convert.then_some(FAST_OPEN_QUEUE_LEN),
        ..Options::default()
    };
    let listener = socket::listen(listen.address, listen.protocol, &options)?;
    let own = |error| Error::setup(format!("listen at {}", listen.address), error);
    listener.set_nonblocking(true).map_err(own)?;
    Ok(listener)
}

impl Server {
    /// Binds all listeners and starts accepting.
    pub(crate) fn listen(shared: Arc<Shared>) -> Result<Self, Error> {
        let mut server = Self { shared, listeners: Vec::new(), status: None };
        let config = server.shared.config();
        let opened = config.listen.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        if let Some(path) = &config.socket {
            let (listener, file) = status::bind(path)?;
            let shared = Arc::clone(&server.shared);
            let task = tokio::spawn(status::serve(listener, Arc::new(move || shared.status())));
            server.status = Some((file, task));
        }
        if server.shared.connection_limit(&config) < config.limits.connections as u64 {
            warn!(
                "connection limit reduced to {}: this process may open {} files (ulimit -n)",
                server.shared.connection_limit(&config),
                server.shared.files
            );
        }
        server.shared.open_access_log(&config)?;
        for (listen, (listener, address)) in config.listen.iter().zip(opened) {
            server.add(*listen, listener, address);
        }
        server.publish_listeners();
        Ok(server)
    }

    fn add(&mut self, listen: Listen, listener: TcpListener, address: SocketAddr) {
        info!("listening at {address} ({})", listen.serve.name());
        let task = tokio::spawn(accept(Arc::clone(&self.shared), listen, listener));
        self.listeners.push((listen, address, task));
    }

    /// Accepts connections of a listener that another thread has opened.
    fn accept_from(&mut self, listen: Listen, listener: std::net::TcpListener) {
        match TcpListener::from_std(listener).and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((address, listener)) => self.add(listen, listener, address),
            Err(error) => warn!("cannot accept connections: {error}"),
        }
    }

    /// Publishes the listeners in the status.
    fn publish_listeners(&self) {
        let listeners = self.listeners.iter().map(|(listen, address, _)| Listening {
            address: address.to_string(),
            serve: listen.serve.name().to_owned(),
            protocol: if listen.protocol == Protocol::Mptcp { "mptcp" } else { "tcp" }.to_owned(),
        });
        *self.shared.listening.lock().unwrap_or_else(PoisonError::into_inner) = listeners.collect();
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|one| one.1).collect()
    }

    /// Serves until shutdown, then drains.
    pub(crate) async fn run(mut self) {
        let received = self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut received) = received else { return };
        let mut phase = self.shared.phase.subscribe();
        loop {
            tokio::select! {
                Some(request) = received.recv() => match request {
                    Request::Reload(config, tx) => _ = tx.send(self.reload(*config)),
                    Request::Accept(listen, listener) => self.accept_from(listen, listener),
                },
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => break,
            }
        }
        for (_, _, task) in &self.listeners {
            task.abort();
        }
        let wait = self.shared.config().timeouts.drain;
        let finish = async {
            loop {
                let ended = self.shared.ended.notified();
                if self.shared.counters.open.load(Relaxed) == 0 {
                    return;
                }
                ended.await;
            }
        };
        tokio::select! {
            over = timeout(wait, finish) => if over.is_err() {
                let left = self.shared.counters.open.load(Relaxed);
                self.shared.broken_off.store(left, Relaxed);
                warn!("aborted {left} connections after the drain timeout");
            },
            _ = phase.wait_for(|phase| *phase == Phase::Ended) => {}
        }
    }

    /// Applies a new configuration; fallible steps come first.
    fn reload(&mut self, config: Config) -> Result<(), Error> {
        let stays = |listen: &Listen, others: &[Listen]| others.contains(listen);
        let now: Vec<Listen> = self.listeners.iter().map(|one| one.0).collect();
        let new: Vec<Listen> = config.listen.iter().filter(|one| !stays(one, &now)).copied().collect();
        // An address whose options change is free only after its listener has closed.
        let again = |listen: &Listen| now.iter().any(|one| one.address == listen.address);
        let opened = new
            .iter()
            .filter(|listen| !again(listen))
            .map(|listen| Ok((*listen, open(listen)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        self.shared.open_access_log(&config)?;
        self.listeners.retain(|(listen, address, task)| {
            let stays = stays(listen, &config.listen);
            if !stays {
                info!("stopped listening at {address}");
                task.abort();
            }
            stays
        });
        for (listen, (listener, address)) in opened {
            self.add(listen, listener, address);
        }
        let later: Vec<Listen> = new.into_iter().filter(again).collect();
        *self.shared.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        for listen in later {
            // The kernel frees the address when the old listener's task is dropped.
            let shared = Arc::clone(&self.shared);
            let task = tokio::spawn(async move {
                for _ in 0..50 {
                    match open(&listen) {
                        Ok((listener, _)) => return accept(shared, listen, listener).await,
                        Err(_) => sleep(Duration::from_millis(20)).await,
                    }
                }
                warn!("cannot rebind {}", listen.address);
            });
            self.listeners.push((listen, listen.address, task));
        }
        self.publish_listeners();
        info!("configuration reloaded");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.status {
            task.abort();
        }
    }
}

/// Accepts connections until the task is aborted.
async fn accept(shared: Arc<Shared>, listen: Listen, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, client)) => on_accept(&shared, listen, stream, client),
            Err(error) => {
                // Usually out of file descriptors or memory: wait, and keep open connections.
                warn!("cannot accept a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn on_accept(shared: &Arc<Shared>, listen: Listen, stream: TcpStream, client: SocketAddr) {
    let config = shared.config();
    let counters = &shared.counters;
    Counters::count(&counters.accepted);
    // NAT keeps the source address of local clients; only they reach a loopback listener.
    let is_local =
        listen.serve == crate::config::ListenerProtocol::Redirected && listen.address.ip().is_loopback();
    if !is_local && !config.clients.allow(client.ip()) {
        Counters::count(&counters.not_allowed);
        shared.log_rejected_client(client);
        _ = socket::abort(&stream);
        return;
    }
    let Some(permit) = ConnectionPermit::take(shared, &config, client.ip()) else {
        Counters::count(&counters.too_many);
        _ = socket::abort(&stream);
        return;
    };
    tokio::spawn(connection::serve(Arc::clone(shared), config, listen, (stream, client), permit));
}
