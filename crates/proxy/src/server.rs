//! Listeners and admission of clients.

use crate::access;
use crate::access_log::{AccessLog, Output, open_output};
use crate::config::{Listen, MetricsListener};
use crate::connect::{ConnectError, Dialer};
use crate::connection;
use crate::counters::Counters;
use crate::descriptors::Descriptors;
use crate::destination::Destination;
use crate::latency::LiveLatencies;
use crate::listener::{Listeners, Opened};
use crate::log_limit::LogLimits;
use crate::logins::Logins;
use crate::permits::Clients;
pub(crate) use crate::permits::ConnectionPermit;
use crate::status::{self, Listening, Status};
use crate::{Config, Error};
use linux::socket;
use linux::unix_socket::SocketFile;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tls::{FailureCounts, ServerTls};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
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
    /// Answers from a worker thread.
    Ping(SyncSender<()>),
    /// Accepts connections of this listener, which may be in another namespace.
    Accept(Listen, std::net::TcpListener),
}

/// Settings that count from the start to the end of the process.
#[derive(Debug)]
struct StartSettings {
    workers: Option<usize>,
    socket: Option<PathBuf>,
    metrics: Option<MetricsListener>,
    log: String,
}

impl StartSettings {
    fn of(config: &Config) -> Self {
        let Config { workers, socket, metrics, log, .. } = config.clone();
        Self { workers, socket, metrics, log }
    }

    /// Keys of `new` that a reload does not apply.
    fn changed_keys(&self, new: &Config) -> Vec<&'static str> {
        let keys = [
            ("workers", self.workers == new.workers),
            ("status", self.socket == new.socket && self.metrics == new.metrics),
            ("log", self.log == new.log),
        ];
        keys.into_iter().filter_map(|(key, is_same)| (!is_same).then_some(key)).collect()
    }
}

/// State shared by all connections.
#[derive(Debug)]
pub(crate) struct Shared {
    config: RwLock<Arc<Config>>,
    start: StartSettings,
    pub(crate) counters: Arc<Counters>,
    pub(crate) dialer: Dialer,
    pub(crate) latencies: LiveLatencies,
    /// First part of request ids, which differs at every start.
    id_prefix: u64,
    /// Connections that have a number.
    connections: AtomicU64,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) requests: mpsc::UnboundedSender<Request>,
    received: Mutex<Option<mpsc::UnboundedReceiver<Request>>>,
    /// Open connections by client.
    pub(crate) clients: Clients,
    /// Connections aborted at the end of the drain timeout.
    pub(crate) broken_off: AtomicU64,
    /// Notified when a connection ends.
    pub(crate) ended: Notify,
    log: RwLock<Option<Arc<AccessLog>>>,
    log_limits: LogLimits,
    pub(crate) logins: Logins,
    /// TLS of the present configuration. Connections follow its revocations.
    pub(crate) tls: watch::Sender<Option<ServerTls>>,
    pub(crate) tls_failures: FailureCounts,
    began: Instant,
    /// Division of the descriptors of this process, once listeners are open.
    descriptors: OnceLock<Descriptors>,
    listening: Mutex<Vec<Listening>>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        let (requests, received) = mpsc::unbounded_channel();
        Self {
            dialer: Dialer::new(&config),
            logins: Logins::new(config.clients.users.clone()),
            tls: watch::Sender::new(config.tls.clone()),
            tls_failures: FailureCounts::default(),
            start: StartSettings::of(&config),
            config: RwLock::new(Arc::new(config)),
            counters: Arc::default(),
            latencies: LiveLatencies::default(),
            id_prefix: (access::now() as u64) << 16 | u64::from(std::process::id() & 0xffff),
            connections: AtomicU64::new(0),
            phase: watch::Sender::new(Phase::Serving),
            requests,
            received: Mutex::new(Some(received)),
            clients: Clients::default(),
            broken_off: AtomicU64::new(0),
            ended: Notify::new(),
            log: RwLock::default(),
            log_limits: LogLimits::default(),
            began: Instant::now(),
            descriptors: OnceLock::new(),
            listening: Mutex::default(),
        }
    }

    /// The access log, if enabled.
    pub(crate) fn log(&self) -> Option<Arc<AccessLog>> {
        self.log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the access log of `config`, or its file again after a rotation.
    fn open_access_log(&self, config: &Config) -> Result<LogChange, Error> {
        let Some(path) = &config.access_log else { return Ok(LogChange::Replace(None)) };
        let own = |error| Error::setup(format!("write the access log {}", path.display()), error);
        Ok(match self.log() {
            Some(log) if self.config().access_log.as_ref() == Some(path) => {
                LogChange::Reopen(log, open_output(path).map_err(own)?)
            }
            _ => {
                let log = AccessLog::open(path, Arc::clone(&self.counters)).map_err(own)?;
                LogChange::Replace(Some(Arc::new(log)))
            }
        })
    }

    /// Uses an opened access log from now on.
    fn use_access_log(&self, change: LogChange) {
        match change {
            LogChange::Reopen(log, file) => log.reopen(file),
            LogChange::Replace(log) => {
                let old = {
                    let mut current = self.log.write().unwrap_or_else(PoisonError::into_inner);
                    std::mem::replace(&mut *current, log)
                };
                if let Some(old) = old {
                    old.close();
                }
            }
        }
    }

    /// Warns if one client of a network can take all places.
    fn warn_of_greedy_clients(&self, config: &Config) {
        let is_open = config.listen.iter().any(|one| !one.address.ip().to_canonical().is_loopback());
        if is_open && self.per_client_limit(config) >= self.connection_limit(config) {
            warn!(
                "one client can take all connections: `limits.per_client` is not below `limits.connections`"
            );
        }
    }

    /// Logs a failed accept, unless it is one of many.
    pub(crate) fn log_failed_accept(&self, error: &io::Error) {
        if self.log_limits.accept.admit() {
            warn!("cannot accept a connection: {error}");
        }
    }

    /// Writes the queued lines of the access log, for a limited time.
    pub(crate) fn close_access_log(&self) {
        if let Some(log) = self.log() {
            log.close();
        }
    }

    /// Connection limit: that of the configuration, or for which there are descriptors.
    pub(crate) fn connection_limit(&self, config: &Config) -> u64 {
        let configured = config.limits.connections as u64;
        self.descriptors.get().map_or(configured, |descriptors| descriptors.connections(config))
    }

    /// Connection limit of one client. With fewer files than configured connections it shrinks in
    /// proportion, so that one client does not take all places.
    pub(crate) fn per_client_limit(&self, config: &Config) -> u64 {
        let (limits, total) = (&config.limits, self.connection_limit(config));
        let share =
            (u128::from(total) * limits.per_client as u128).div_ceil(limits.connections.max(1) as u128);
        (limits.per_client as u64).min(u64::try_from(share).unwrap_or(u64::MAX)).max(1)
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
            latencies: self.latencies.snapshot(),
            tls_failures: self
                .tls_failures
                .each()
                .into_iter()
                .map(|(reason, count)| (reason.to_owned(), count))
                .collect(),
        }
    }

    /// Number of a new connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Relaxed)
    }

    /// Id of a connection, unique among all starts of the proxy.
    pub(crate) fn connection_id(&self, number: u64) -> String {
        format!("{:x}-{number:x}", self.id_prefix)
    }

    /// Logs a failed connection, unless it is one of many in the same second.
    pub(crate) fn log_failure(
        &self,
        (client, id): (SocketAddr, &str),
        destination: &Destination,
        failure: &ConnectError,
    ) {
        let is_refusal =
            matches!(failure, ConnectError::Upstream(_) | ConnectError::Refused(_) | ConnectError::Loop);
        if is_refusal && self.log_limits.connect.admit() {
            warn!(%client, %destination, id, "{}", failure.to_text());
        }
    }

    /// Logs that a client has to wait after failed logins.
    pub(crate) fn log_lock_out(&self, client: SocketAddr, wait: Duration) {
        if self.log_limits.lock_out.admit() {
            warn!(%client, "failed logins: its address has to wait {} s", wait.as_secs());
        }
    }

    /// Logs a failed TLS handshake of a client.
    pub(crate) fn log_failed_tls(&self, client: SocketAddr, reason: &str) {
        if self.log_limits.tls.admit() {
            warn!(%client, "TLS handshake with a client failed: {reason}");
        }
    }

    /// Logs a client that the rules reject.
    fn log_rejected_client(&self, client: SocketAddr) {
        if self.log_limits.address.admit() {
            warn!(%client, "client refused: `[clients] allow` does not contain its address");
        }
    }

    /// Current configuration.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Opened access log that is not yet in use.
enum LogChange {
    /// The same log with its file opened again.
    Reopen(Arc<AccessLog>, Output),
    Replace(Option<Arc<AccessLog>>),
}

/// The proxy's listeners and status socket.
pub(crate) struct Server {
    shared: Arc<Shared>,
    listeners: Listeners,
    /// File of the status socket, removed on drop.
    status_file: Option<SocketFile>,
    /// Tasks that answer requests for status and metrics.
    status_tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Binds all listeners and starts accepting.
    pub(crate) fn listen(shared: Arc<Shared>) -> Result<Self, Error> {
        let listeners = Listeners::new(Arc::clone(&shared));
        let mut server = Self { shared, listeners, status_file: None, status_tasks: Vec::new() };
        let config = server.shared.config();
        let opened = config.listen.iter().map(Opened::new).collect::<Result<Vec<_>, _>>()?;
        let source: status::Source = {
            let shared = Arc::clone(&server.shared);
            Arc::new(move || shared.status())
        };
        if let Some(path) = &config.socket {
            let (listener, file) = status::bind(path)?;
            server.status_tasks.push(tokio::spawn(status::serve(listener, Arc::clone(&source))));
            server.status_file = Some(file);
        }
        if let Some(metrics) = &config.metrics {
            let listener = status::bind_metrics(metrics)?;
            server.status_tasks.push(tokio::spawn(status::serve_metrics(listener, metrics.clone(), source)));
        }
        let log = server.shared.open_access_log(&config)?;
        let descriptors = Descriptors::of_process(&config)?;
        server.shared.dialer.reduce(&config, &descriptors);
        if descriptors.connections(&config) < config.limits.connections as u64 {
            warn!(
                "connection limit reduced to {}: this process may open {} files (ulimit -n)",
                descriptors.connections(&config),
                descriptors.limit
            );
        }
        _ = server.shared.descriptors.set(descriptors);
        server.shared.warn_of_greedy_clients(&config);
        server.shared.use_access_log(log);
        for one in opened {
            server.listeners.add(one);
        }
        server.publish_listeners();
        Ok(server)
    }

    /// Publishes the listeners in the status.
    fn publish_listeners(&self) {
        *self.shared.listening.lock().unwrap_or_else(PoisonError::into_inner) = self.listeners.describe();
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.addresses()
    }

    /// Serves until shutdown, then drains.
    pub(crate) async fn run(mut self) {
        let received = self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut received) = received else { return };
        let mut phase = self.shared.phase.subscribe();
        loop {
            tokio::select! {
                Some(request) = received.recv() => match request {
                    Request::Reload(config, tx) => _ = tx.send(self.reload(*config).await),
                    Request::Ping(tx) => _ = tokio::spawn(async move { _ = tx.send(()) }),
                    Request::Accept(listen, listener) => self.listeners.add_foreign(listen, listener),
                },
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => break,
            }
        }
        self.listeners.close();
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

    /// Applies a new configuration, or keeps the old one as a whole.
    async fn reload(&mut self, config: Config) -> Result<(), Error> {
        let log = self.shared.open_access_log(&config)?;
        let change = self.listeners.prepare(&config.listen)?;
        // Nothing fails from here on.
        self.shared.use_access_log(log);
        let unapplied = self.shared.start.changed_keys(&config);
        self.shared.warn_of_greedy_clients(&config);
        self.shared.logins.replace_users(config.clients.users.clone());
        self.shared.tls.send_replace(config.tls.clone());
        self.shared.dialer.set_name_servers(&config);
        if let Some(descriptors) = self.shared.descriptors.get() {
            self.shared.dialer.resize(&config, descriptors);
        }
        let shared = Arc::clone(&self.shared);
        let swap = move || {
            let mut current = shared.config.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, Arc::new(config))
        };
        self.listeners.apply(change, swap).await;
        self.publish_listeners();
        if unapplied.is_empty() {
            info!("configuration reloaded");
        } else {
            warn!("configuration reloaded, except for keys that need a restart: {}", unapplied.join(", "));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for task in &self.status_tasks {
            task.abort();
        }
        self.status_file = None;
    }
}

/// Admits a client and starts its session.
pub(crate) fn on_accept(
    shared: &Arc<Shared>,
    config: Arc<Config>,
    listen: Listen,
    (stream, client): (TcpStream, SocketAddr),
) {
    let counters = &shared.counters;
    Counters::count(&counters.accepted);
    // NAT keeps the source address of local clients; only they reach a loopback listener.
    let is_local =
        listen.serve == crate::config::ListenerProtocol::Redirected && listen.address.ip().is_loopback();
    if !is_local && !config.admits(&listen, client.ip()) {
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
    connection::start(Arc::clone(shared), config, listen, (stream, client), permit);
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
