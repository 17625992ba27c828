//! Listeners, and who may come in.

use crate::access::Log;
use crate::config::Listen;
use crate::connection;
use crate::counters::Counters;
use crate::status::{self, Listening, Status};
use crate::{Config, Error};
use linux::socket::{self, Options, Protocol};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// How a proxy is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It works.
    Serving,
    /// It takes nothing new.
    Draining,
    /// All is over.
    Ended,
}

type Reload = (Config, SyncSender<Result<(), Error>>);

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    config: RwLock<Arc<Config>>,
    pub(crate) counters: Counters,
    pub(crate) lookups: Semaphore,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) reload: mpsc::UnboundedSender<Reload>,
    reloads: Mutex<Option<mpsc::UnboundedReceiver<Reload>>>,
    /// Connections now, by client.
    clients: Mutex<HashMap<IpAddr, usize>>,
    /// Connections that did not end in time, when the proxy did.
    pub(crate) broken_off: AtomicU64,
    /// A connection has ended.
    ended: Notify,
    log: RwLock<Option<Arc<Log>>>,
    began: Instant,
    /// How many files this process may have open.
    files: u64,
    listening: Mutex<Vec<Listening>>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        let (reload, reloads) = mpsc::unbounded_channel();
        Self {
            lookups: Semaphore::new(config.limits.lookups.max(1)),
            config: RwLock::new(Arc::new(config)),
            counters: Counters::default(),
            phase: watch::Sender::new(Phase::Serving),
            reload,
            reloads: Mutex::new(Some(reloads)),
            clients: Mutex::default(),
            broken_off: AtomicU64::new(0),
            ended: Notify::new(),
            log: RwLock::default(),
            began: Instant::now(),
            files: linux::process::open_file_limit(),
            listening: Mutex::default(),
        }
    }

    /// The access log, where there is one.
    pub(crate) fn log(&self) -> Option<Arc<Log>> {
        self.log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins the access log of `config`, or opens its file again.
    fn begin_log(&self, config: &Config) -> Result<(), Error> {
        let own = |path: &Path, error| Error::own(format!("write the access log {}", path.display()), error);
        let log = match (&config.access_log, self.log()) {
            (None, _) => None,
            (Some(path), Some(log)) if self.config().access_log.as_ref() == Some(path) => {
                log.reopen(path).map_err(|error| own(path, error))?;
                Some(log)
            }
            (Some(path), _) => Some(Arc::new(Log::open(path).map_err(|error| own(path, error))?)),
        };
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = log;
        Ok(())
    }

    /// How many connections there may be: two files each, and some for the proxy itself.
    fn most_connections(&self, config: &Config) -> u64 {
        (config.limits.connections as u64).min(self.files.saturating_sub(64) / 2)
    }

    /// How things stand.
    pub(crate) fn status(&self) -> Status {
        let config = self.config();
        Status {
            running_s: self.began.elapsed().as_secs_f64(),
            draining: *self.phase.borrow() != Phase::Serving,
            listening: self.listening.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            upstream: config.upstream.as_ref().map(|upstream| upstream.destination.to_string()),
            most_connections: self.most_connections(&config),
            totals: self.counters.totals(),
        }
    }

    /// The configuration as it is now.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A place in the proxy, given back when it is dropped.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    client: IpAddr,
}

impl Seat {
    /// One for a client, if there is one left.
    fn take(shared: &Arc<Shared>, config: &Config, client: IpAddr) -> Option<Self> {
        let client = one_client(client);
        let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.counters.open.load(Relaxed) >= shared.most_connections(config) {
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

impl Drop for Seat {
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

/// What counts as one client: an IPv4 address, or what a host has of IPv6 mostly, 64 bits.
fn one_client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & (u128::MAX << 64)).into()),
        address @ IpAddr::V4(_) => address,
    }
}

/// The listeners of a proxy.
pub(crate) struct Server {
    shared: Arc<Shared>,
    listeners: Vec<(Listen, SocketAddr, JoinHandle<()>)>,
    /// The socket file of the status, and who answers there.
    status: Option<(PathBuf, JoinHandle<()>)>,
}

/// What the kernel holds for a slow client or server beyond what is on its way, in bytes.
pub(crate) const UNSENT: u32 = 128 << 10;
/// How many connections with data in their SYN may wait, where that is of use.
const FAST_OPEN: i32 = 256;

fn open(listen: &Listen) -> Result<(TcpListener, SocketAddr), Error> {
    let convert = listen.serve == crate::config::Serve::Convert;
    let options = Options {
        // Every connection that comes has it of its listener: what is relayed has been together once already.
        no_delay: true,
        notsent_lowat: Some(UNSENT),
        // The kernel takes twice what a socket is given.
        send_buffer: listen.send_buffer.map(|bytes| bytes as usize / 2),
        transparent: listen.serve == crate::config::Serve::Transparent,
        fast_open: convert.then_some(FAST_OPEN),
        ..Options::default()
    };
    let listener = socket::listen(listen.address, listen.protocol, &options)?;
    let own = |error| Error::own(format!("listen at {}", listen.address), error);
    listener.set_nonblocking(true).map_err(own)?;
    let listener = TcpListener::from_std(listener).map_err(own)?;
    let address = listener.local_addr().map_err(own)?;
    Ok((listener, address))
}

impl Server {
    /// Listens everywhere.
    pub(crate) fn listen(shared: Arc<Shared>) -> Result<Self, Error> {
        let mut server = Self { shared, listeners: Vec::new(), status: None };
        let config = server.shared.config();
        let opened = config.listen.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        if let Some(path) = &config.socket {
            let listener = status::bind(path)?;
            let shared = Arc::clone(&server.shared);
            let task = tokio::spawn(status::serve(listener, Arc::new(move || shared.status())));
            server.status = Some((path.clone(), task));
        }
        if server.shared.most_connections(&config) < config.limits.connections as u64 {
            warn!(
                "there can be {} connections and no more: this process may open {} files (ulimit -n)",
                server.shared.most_connections(&config),
                server.shared.files
            );
        }
        server.shared.begin_log(&config)?;
        for (listen, (listener, address)) in config.listen.iter().zip(opened) {
            server.add(*listen, listener, address);
        }
        server.tell();
        Ok(server)
    }

    fn add(&mut self, listen: Listen, listener: TcpListener, address: SocketAddr) {
        info!("listening at {address} ({})", listen.serve.name());
        let task = tokio::spawn(accept(Arc::clone(&self.shared), listen, listener));
        self.listeners.push((listen, address, task));
    }

    /// Has the status say where it listens.
    fn tell(&self) {
        let told = self.listeners.iter().map(|(listen, address, _)| Listening {
            address: address.to_string(),
            serve: listen.serve.name().to_owned(),
            protocol: if listen.protocol == Protocol::Mptcp { "mptcp" } else { "tcp" }.to_owned(),
        });
        *self.shared.listening.lock().unwrap_or_else(PoisonError::into_inner) = told.collect();
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|one| one.1).collect()
    }

    /// Works until it is told to end, and all has.
    pub(crate) async fn run(mut self) {
        let reloads = self.shared.reloads.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut reloads) = reloads else { return };
        let mut phase = self.shared.phase.subscribe();
        loop {
            tokio::select! {
                Some((config, say)) = reloads.recv() => {
                    _ = say.send(self.reload(config));
                }
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
                warn!("broken off: {left} connections");
            },
            _ = phase.wait_for(|phase| *phase == Phase::Ended) => {}
        }
    }

    /// Takes another configuration. Everything that can fail comes first.
    fn reload(&mut self, config: Config) -> Result<(), Error> {
        let stays = |listen: &Listen, others: &[Listen]| others.contains(listen);
        let now: Vec<Listen> = self.listeners.iter().map(|one| one.0).collect();
        let new: Vec<Listen> = config.listen.iter().filter(|one| !stays(one, &now)).copied().collect();
        // An address that is spoken to otherwise from now on is free only when its listener is gone.
        let again = |listen: &Listen| now.iter().any(|one| one.address == listen.address);
        let opened = new
            .iter()
            .filter(|listen| !again(listen))
            .map(|listen| Ok((*listen, open(listen)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        self.shared.begin_log(&config)?;
        self.listeners.retain(|(listen, address, task)| {
            let stays = stays(listen, &config.listen);
            if !stays {
                info!("no longer listening at {address}");
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
            // The kernel lets go of the old listener when its task has been dropped.
            let shared = Arc::clone(&self.shared);
            let task = tokio::spawn(async move {
                for _ in 0..50 {
                    match open(&listen) {
                        Ok((listener, _)) => return accept(shared, listen, listener).await,
                        Err(_) => sleep(Duration::from_millis(20)).await,
                    }
                }
                warn!("cannot listen at {} again", listen.address);
            });
            self.listeners.push((listen, listen.address, task));
        }
        self.tell();
        info!("the configuration was read again");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((path, task)) = &self.status {
            task.abort();
            _ = std::fs::remove_file(path);
        }
    }
}

/// Takes connections, for as long as it is let.
async fn accept(shared: Arc<Shared>, listen: Listen, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, client)) => welcome(&shared, listen, stream, client),
            Err(error) => {
                // Out of descriptors or memory, mostly: those who are here go on, and others may wait.
                warn!("cannot take a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn welcome(shared: &Arc<Shared>, listen: Listen, stream: TcpStream, client: SocketAddr) {
    let config = shared.config();
    let counters = &shared.counters;
    Counters::count(&counters.accepted);
    if !config.clients.allow(client.ip()) {
        Counters::count(&counters.not_allowed);
        _ = socket::abort(&stream);
        return;
    }
    let Some(seat) = Seat::take(shared, &config, client.ip()) else {
        Counters::count(&counters.too_many);
        _ = socket::abort(&stream);
        return;
    };
    tokio::spawn(connection::serve(Arc::clone(shared), config, listen, stream, client, seat));
}
