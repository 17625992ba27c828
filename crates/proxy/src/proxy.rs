//! Lifecycle of a proxy: start, status, reload, drain.

use crate::config::{Listen, ListenerProtocol};
use crate::counters::Totals;
use crate::listener;
use crate::logins::MAX_VERIFICATIONS;
use crate::server::{Request, Server, Shared};
use crate::status::Status;
use crate::{Config, Error};
use linux::namespace::Namespace;
use linux::socket::Protocol;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::Builder;

/// Time for the remaining connections to end after the drain.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for the threads to answer [`Proxy::is_responsive`].
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// Running proxy. Dropping it aborts all connections.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    listening: Vec<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Whether the proxy still serves; false if its thread has ended, for example by a panic.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Whether the proxy's threads answer within a second.
    pub fn is_responsive(&self) -> bool {
        let (tx, rx) = mpsc::sync_channel(1);
        let is_sent = self.shared.requests.send(Request::Ping(tx)).is_ok();
        is_sent && rx.recv_timeout(PING_TIMEOUT).is_ok()
    }

    /// Starts a proxy in `namespace`, or in the namespace of the calling thread. Its listeners are
    /// open on return.
    ///
    /// # Errors
    /// The configuration is an open proxy, an address cannot be bound, the kernel lacks MPTCP, or a
    /// thread cannot start.
    pub fn start(config: Config, place: Option<&Namespace>) -> Result<Self, Error> {
        config.check()?;
        let shared = Arc::new(Shared::new(config));
        let (tx, rx) = mpsc::sync_channel(1);
        let work = {
            let shared = Arc::clone(&shared);
            // New threads inherit the network namespace, so the runtime's threads are in it too.
            move || work(&shared, &tx)
        };
        let thread = match place {
            None => thread::Builder::new()
                .name("proxy".to_owned())
                .spawn(work)
                .map_err(|error| Error::setup("start a thread", error))?,
            Some(place) => {
                let inside = place.spawn("proxy", move || {
                    work();
                    Ok::<_, Error>(())
                })?;
                // If the namespace cannot be entered, the channel closes and `recv` below fails.
                thread::spawn(move || _ = inside.join())
            }
        };
        let lost = || Error::setup("start the proxy", std::io::Error::other("its thread exited"));
        match rx.recv().unwrap_or_else(|_| Err(lost())) {
            Ok(listening) => Ok(Self { shared, listening, thread: Some(thread) }),
            Err(error) => {
                _ = thread.join();
                Err(error)
            }
        }
    }

    /// Bound addresses in the order of the configuration.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.listening
    }

    /// Current counters.
    pub fn totals(&self) -> Totals {
        self.shared.counters.totals()
    }

    /// Current status.
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Applies a configuration to new connections. Unchanged listeners and open connections
    /// persist. Thread count and status socket change only with a restart.
    ///
    /// # Errors
    /// As for [`Proxy::start`]; the old configuration then stays in force.
    pub fn reload(&self, config: Config) -> Result<(), Error> {
        config.check()?;
        let (tx, rx) = mpsc::sync_channel(1);
        let lost = || Error::setup("reload the proxy", std::io::Error::other("it has stopped"));
        self.shared.requests.send(Request::Reload(Box::new(config), tx)).map_err(|_| lost())?;
        rx.recv().unwrap_or_else(|_| Err(lost()))
    }

    /// Opens an MPTCP listener at `address` in the namespace of the calling thread, which is not that
    /// of the proxy. The proxy forwards each connection to the connection's local address, from its
    /// own namespace.
    ///
    /// # Errors
    /// The address cannot be bound, or the kernel lacks MPTCP or the congestion control.
    pub fn forward_from_here(&self, address: SocketAddr, congestion: Option<&str>) -> Result<(), Error> {
        let listen = Listen {
            address,
            serve: ListenerProtocol::Transparent,
            protocol: Protocol::Mptcp,
            tls: false,
            send_buffer: None,
        };
        let listener = listener::bind(&listen, congestion, false)?;
        // Forwarding from one namespace to another cannot loop: no local address is the listener's.
        let listen = Listen { address: SocketAddr::new(address.ip(), 0), ..listen };
        // Without a receiver the proxy has ended, and the listener closes.
        _ = self.shared.requests.send(Request::Accept(listen, listener));
        Ok(())
    }

    /// Longest time that [`drain`](Self::drain) waits for connections.
    pub fn drain_timeout(&self) -> Duration {
        self.shared.config().timeouts.drain
    }

    /// Stops accepting, closes idle HTTP connections and waits for the others up to the drain
    /// timeout. Returns whether all connections finished by themselves.
    pub fn drain(mut self) -> bool {
        self.shared.phase.send_replace(crate::server::Phase::Draining);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
        self.shared.broken_off.load(Relaxed) == 0
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.phase.send_replace(crate::server::Phase::Ended);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

type Started = Result<Vec<SocketAddr>, Error>;

fn work(shared: &Arc<Shared>, tx: &mpsc::SyncSender<Started>) {
    let config = shared.config();
    let workers =
        config.workers.or_else(|| thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let built = Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(MAX_VERIFICATIONS + 4)
        .thread_name("proxy")
        .enable_all()
        .build();
    let runtime = match built {
        Ok(runtime) => runtime,
        Err(error) => {
            _ = tx.send(Err(Error::setup("start threads", error)));
            return;
        }
    };
    let own = &shared.dialer.own;
    match own.open() {
        Ok(source) => _ = runtime.spawn(Arc::clone(own).watch(source)),
        Err(error) => {
            _ = tx.send(Err(error));
            return;
        }
    }
    runtime.block_on(async {
        match Server::listen(Arc::clone(shared)) {
            Ok(server) => {
                _ = tx.send(Ok(server.addresses()));
                server.run().await;
            }
            Err(error) => _ = tx.send(Err(error)),
        }
    });
    // Ends the remaining connections, which log themselves; a pending name lookup is not awaited.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    shared.close_access_log();
}
