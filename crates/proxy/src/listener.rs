//! Listening sockets: opening, accepting, and their exchange at a reload.
//!
//! A reload opens all new sockets before it closes an old one. A socket whose options stay is kept
//! with its queue of connections. Where an old and a new socket overlap, both are open for a moment
//! (`SO_REUSEPORT`, socket(7)), and the connections that wait at the old one are served.

use crate::config::{Listen, ListenerProtocol};
use crate::server::{Shared, on_accept};
use crate::status::Listening;
use crate::{Config, Error};
use linux::socket::{self, Options, Protocol};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// Unsent bytes that the kernel buffers per connection (`TCP_NOTSENT_LOWAT`).
pub(crate) const NOTSENT_LOWAT_BYTES: u32 = 128 << 10;
/// Queue length for TCP Fast Open.
const FAST_OPEN_QUEUE_LEN: i32 = 256;
/// Time for which a replaced listener still accepts: handshakes in progress belong to it.
const RETIREMENT: Duration = Duration::from_secs(1);
/// Pause after a failed accept, for instance when file descriptors have run out.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Open listening socket.
#[derive(Debug)]
struct Listener {
    listen: Listen,
    /// Bound address.
    address: SocketAddr,
    socket: Arc<TcpListener>,
    task: JoinHandle<()>,
    /// Opened by another thread, so a reload leaves it alone.
    is_foreign: bool,
}

/// All listening sockets.
#[derive(Debug)]
pub(crate) struct Listeners {
    shared: Arc<Shared>,
    all: Vec<Listener>,
    /// Sockets that a reload has replaced, and that may still accept.
    retiring: Vec<(SocketAddr, Weak<TcpListener>)>,
}

/// New socket that accepts nothing yet.
#[derive(Debug)]
pub(crate) struct Opened {
    listen: Listen,
    address: SocketAddr,
    socket: TcpListener,
}

/// One listener of a new configuration.
#[derive(Debug)]
enum Step {
    /// Keeps the socket of the old listener with this index.
    Keep(usize, Listen),
    Open(Opened),
}

/// Change to the listeners of a new configuration; all its sockets are open.
#[derive(Debug)]
pub(crate) struct Change(Vec<Step>);

impl Listeners {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, all: Vec::new(), retiring: Vec::new() }
    }

    /// Starts to accept.
    pub(crate) fn add(&mut self, opened: Opened) {
        info!("listening at {} ({})", opened.address, opened.listen.serve.name());
        self.spawn(opened.listen, opened.address, Arc::new(opened.socket), false);
    }

    /// Accepts connections of a listener that another thread has opened.
    pub(crate) fn add_foreign(&mut self, listen: Listen, listener: std::net::TcpListener) {
        match Opened::of(listen, listener) {
            Ok(opened) => self.spawn(opened.listen, opened.address, Arc::new(opened.socket), true),
            Err(error) => warn!("{error}"),
        }
    }

    fn spawn(&mut self, listen: Listen, address: SocketAddr, socket: Arc<TcpListener>, is_foreign: bool) {
        let task = tokio::spawn(accept(Arc::clone(&self.shared), None, listen, Arc::clone(&socket)));
        self.all.push(Listener { listen, address, socket, task, is_foreign });
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().map(|one| one.address).collect()
    }

    /// Description for the status.
    pub(crate) fn describe(&self) -> Vec<Listening> {
        let describe = |one: &Listener| Listening {
            address: one.address.to_string(),
            serve: one.listen.serve.name().to_owned(),
            protocol: if one.listen.protocol == Protocol::Mptcp { "mptcp" } else { "tcp" }.to_owned(),
        };
        self.all.iter().map(describe).collect()
    }

    /// Stops accepting.
    pub(crate) fn close(&mut self) {
        for one in self.all.drain(..) {
            one.task.abort();
        }
    }

    /// Opens the sockets that `wanted` lacks. The old listeners stay as they are.
    pub(crate) fn prepare(&self, wanted: &[Listen]) -> Result<Change, Error> {
        let kept = self.match_listeners(wanted);
        let is_leaving = |index: &usize| !kept.contains(&Some(*index)) && !self.all[*index].is_foreign;
        let leaving = (0..self.all.len()).filter(is_leaving).map(|index| {
            let old = &self.all[index];
            (old.address, Arc::clone(&old.socket))
        });
        let retiring = self.retiring.iter().filter_map(|(address, old)| Some((*address, old.upgrade()?)));
        let leaving: Vec<_> = leaving.chain(retiring).collect();
        let opened = open_beside(&leaving, wanted, &kept);
        for (_, old) in leaving {
            // With the flag, the kernel would distribute new connections over both sockets.
            _ = socket::set_reuse_port(&old, false);
        }
        opened.map(Change)
    }

    /// Index of the old listener whose socket serves each wanted one.
    fn match_listeners(&self, wanted: &[Listen]) -> Vec<Option<usize>> {
        let mut kept = vec![None; wanted.len()];
        let is_same = |old: &Listen, new: &Listen| old == new;
        let has_same_socket = |old: &Listen, new: &Listen| {
            (old.address, old.protocol) == (new.address, new.protocol)
                && socket_options(old, None) == socket_options(new, None)
        };
        for matches in [is_same as fn(&Listen, &Listen) -> bool, has_same_socket] {
            for (position, new) in wanted.iter().enumerate() {
                if kept[position].is_none() {
                    kept[position] = (0..self.all.len()).find(|index| {
                        let old = &self.all[*index];
                        // A task that has ended, as by a panic, is replaced.
                        let is_free = !kept.contains(&Some(*index)) && !old.is_foreign;
                        is_free && !old.task.is_finished() && matches(&old.listen, new)
                    });
                }
            }
        }
        kept
    }

    /// Exchanges the listeners, and the configuration by `swap`, which returns the old one. Serves the
    /// connections that wait at listeners that close: by the rules of the old configuration.
    pub(crate) async fn apply(&mut self, change: Change, swap: impl FnOnce() -> Arc<Config>) {
        self.stop_replaced(&change).await;
        let old_config = swap();
        self.retiring.retain(|(_, socket)| socket.strong_count() > 0);
        let mut old: Vec<_> = std::mem::take(&mut self.all).into_iter().map(Some).collect();
        for step in change.0 {
            match step {
                Step::Open(opened) => self.add(opened),
                Step::Keep(index, listen) => {
                    let Some(one) = old[index].take() else { continue };
                    if one.listen == listen {
                        self.all.push(one);
                    } else {
                        info!("now serving {} at {}", listen.serve.name(), one.address);
                        self.spawn(listen, one.address, one.socket, false);
                    }
                }
            }
        }
        for one in old.into_iter().flatten() {
            if one.is_foreign {
                self.all.push(one);
                continue;
            }
            info!("stopped listening at {} ({})", one.address, one.listen.serve.name());
            let is_covered = self.all.iter().any(|new| covers(new.address, one.address));
            let replaced = (one.address, Arc::downgrade(&one.socket));
            let retire = retire(Arc::clone(&self.shared), Arc::clone(&old_config), one, is_covered);
            if is_covered {
                self.retiring.push(replaced);
                tokio::spawn(retire);
            } else {
                // An address that is no longer configured accepts nothing once the reload is done.
                retire.await;
            }
        }
    }

    /// Ends the accepting tasks of listeners that leave or change. Their connections wait.
    async fn stop_replaced(&mut self, change: &Change) {
        for (index, one) in self.all.iter_mut().enumerate() {
            let stays = one.is_foreign
                || change.0.iter().any(|step| {
                    matches!(step, Step::Keep(kept, listen) if (*kept, *listen) == (index, one.listen))
                });
            if !stays {
                one.task.abort();
                _ = (&mut one.task).await;
            }
        }
    }
}

/// Whether new connections to the address `old` also reach a listener at `new`.
fn covers(new: SocketAddr, old: SocketAddr) -> bool {
    new.port() == old.port() && (new.ip() == old.ip() || new.ip().is_unspecified())
}

/// Closes an old listener without a task after it has accepted the connections that wait.
/// With `has_successor`, it accepts for a while longer. The connections are of its `config`.
async fn retire(shared: Arc<Shared>, config: Arc<Config>, old: Listener, has_successor: bool) {
    if has_successor {
        let accept = accept(Arc::clone(&shared), Some(&config), old.listen, Arc::clone(&old.socket));
        _ = timeout(RETIREMENT, accept).await;
    }
    // By system calls: the runtime may not have seen the latest connections.
    let Ok(socket) = old.socket.as_fd().try_clone_to_owned() else { return };
    let socket = std::net::TcpListener::from(socket);
    // Bounded, because new clients may connect as fast as this loop accepts.
    for _ in 0..socket::ACCEPT_QUEUE_LEN {
        let Ok((stream, client)) = socket.accept() else { return };
        if stream.set_nonblocking(true).is_ok()
            && let Ok(stream) = TcpStream::from_std(stream)
        {
            on_accept(&shared, Arc::clone(&config), old.listen, (stream, client));
        }
    }
}

/// Opens the sockets of the `wanted` listeners without an old one. Shares ports with the `leaving`
/// listeners.
fn open_beside(
    leaving: &[(SocketAddr, Arc<TcpListener>)],
    wanted: &[Listen],
    kept: &[Option<usize>],
) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for (listen, kept) in wanted.iter().zip(kept) {
        if let Some(index) = kept {
            steps.push(Step::Keep(*index, *listen));
            continue;
        }
        let overlaps: Vec<_> =
            leaving.iter().filter(|(address, _)| address.port() == listen.address.port()).collect();
        for (_, old) in &overlaps {
            socket::set_reuse_port(old, true)?;
        }
        let listener = bind(listen, None, !overlaps.is_empty())?;
        if !overlaps.is_empty() {
            _ = socket::set_reuse_port(&listener, false);
        }
        steps.push(Step::Open(Opened::of(*listen, listener)?));
    }
    Ok(steps)
}

impl Opened {
    /// Opens a listening socket.
    pub(crate) fn new(listen: &Listen) -> Result<Self, Error> {
        Self::of(*listen, bind(listen, None, false)?)
    }

    fn of(listen: Listen, listener: std::net::TcpListener) -> Result<Self, Error> {
        let own = |error| Error::setup(format!("listen at {}", listen.address), error);
        let socket = TcpListener::from_std(listener).map_err(own)?;
        let address = socket.local_addr().map_err(own)?;
        Ok(Self { listen, address, socket })
    }
}

/// Options of a listening socket, with a congestion control.
fn socket_options(listen: &Listen, congestion: Option<&str>) -> Options {
    Options {
        congestion: congestion.map(str::to_owned),
        // Accepted sockets inherit these options, but a TCP connection at an MPTCP listener does not
        // inherit `notsent_lowat`. Relayed data is already coalesced.
        no_delay: true,
        notsent_lowat: Some(NOTSENT_LOWAT_BYTES),
        // The kernel doubles the value.
        send_buffer: listen.send_buffer.map(|bytes| bytes as usize / 2),
        transparent: listen.serve == ListenerProtocol::Transparent,
        fast_open: (listen.serve == ListenerProtocol::Convert).then_some(FAST_OPEN_QUEUE_LEN),
        ..Options::default()
    }
}

/// Opens a listening socket in the namespace of the calling thread, with a congestion control.
/// `shares_port` lets it overlap with sockets that share their port as well.
pub(crate) fn bind(
    listen: &Listen,
    congestion: Option<&str>,
    shares_port: bool,
) -> Result<std::net::TcpListener, Error> {
    let options = Options { reuse_port: shares_port, ..socket_options(listen, congestion) };
    let listener = socket::listen(listen.address, listen.protocol, &options)?;
    let own = |error| Error::setup(format!("listen at {}", listen.address), error);
    listener.set_nonblocking(true).map_err(own)?;
    Ok(listener)
}

/// Accepts connections until the task is aborted, by the configuration in force or an older one.
async fn accept(
    shared: Arc<Shared>,
    config: Option<&Arc<Config>>,
    listen: Listen,
    listener: Arc<TcpListener>,
) {
    loop {
        match listener.accept().await {
            Ok(client) => {
                let config = config.map_or_else(|| shared.config(), Arc::clone);
                on_accept(&shared, config, listen, client);
            }
            Err(error) => {
                // Usually out of file descriptors or memory: wait, and keep open connections.
                shared.log_failed_accept(&error);
                sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
