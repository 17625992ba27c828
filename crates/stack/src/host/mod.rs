//! A stack in a thread of its own, with sockets for the threads of applications.
//!
//! [`PreparedHost::new`] creates the wires of its interfaces; their far ends go to the emulator.
//! [`Host`] opens and accepts connections. The thread handles packets and timers, and the `paths`
//! of a client open a subflow over each usable interface.

mod paths;
mod sender_rules;
mod socket;
mod state;

pub use paths::SubflowSample;
pub use socket::{Interest, Listener, Socket};

use crate::driver::wires;
use crate::{ConnectError, ConnectionId, Device, Driver, Entropy, Interface, Limits, Sleeper, Stack, Waker};
use linux::Error;
use linux::clock::{Clock, request_realtime_priority, use_precise_timers};
use linux::tun::Tun;
use mptcp::scheduler::Offload;
use mptcp::{Config, Event};
use paths::LocalPaths;
use sender_rules::SenderRules;
use state::{EVERY_PORT, State};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use units::{Duration, Instant};

/// Longest wait of the thread, after which it checks whether it must stop.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// Function that is called with each event of an endpoint, on the thread that caused it.
pub type Observer = Box<dyn FnMut(ConnectionId, &Event) + Send>;

/// Settings of a host.
pub struct HostConfig {
    /// Name of the thread and of the wires.
    pub name: String,
    /// Interfaces; the number of each is that of its path.
    pub interfaces: Vec<Interface>,
    /// Limits of memory.
    pub limits: Limits,
    /// Source of keys, sequence numbers and ports.
    pub entropy: Entropy,
    /// Requests a real-time priority for the thread.
    pub realtime: bool,
    /// Called with each event of an endpoint.
    pub observer: Option<Observer>,
}

/// A host without a running thread.
pub struct PreparedHost {
    config: HostConfig,
    devices: Vec<Tun>,
}

/// A running host. Dropping it stops the thread; its devices stay open while a [`Host`] or a socket
/// exists.
#[derive(Debug)]
pub struct RunningHost {
    host: Host,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

/// Access to a running host from any thread.
#[derive(Debug, Clone)]
pub struct Host(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    waker: Waker,
    is_stopped: AtomicBool,
}

impl fmt::Debug for PreparedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedHost").field("devices", &self.devices).finish_non_exhaustive()
    }
}

impl PreparedHost {
    /// Creates the wires of the interfaces. Returns their far ends, in the same order.
    ///
    /// # Errors
    /// Fails when the process may open no more files.
    pub fn new(config: HostConfig) -> Result<(Self, Vec<Tun>), Error> {
        let (devices, far) = wires(&config.name, config.interfaces.len())?;
        Ok((Self { config, devices }, far))
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// Fails when the system can start no thread or open no descriptor.
    pub fn start(self, clock: Clock) -> Result<RunningHost, Error> {
        let HostConfig { name, interfaces, limits, entropy, realtime, observer } = self.config;
        let paths = LocalPaths::new(&interfaces);
        let driver = Driver::new(Stack::new(interfaces, limits, entropy), self.devices, clock)?;
        let (waker, sleeper) = (driver.waker(), driver.sleeper());
        let state = Mutex::new(State::new(driver, paths, observer));
        let host = Host(Arc::new(Shared { state, waker, is_stopped: AtomicBool::new(false) }));
        let shared = Arc::clone(&host.0);
        let body = move || {
            use_precise_timers();
            if realtime {
                request_realtime_priority();
            }
            let _end = ThreadEnd(&shared);
            run(&shared, &sleeper)
        };
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(body)
            .map_err(|error| Error::system("start the thread of a stack", error))?;
        Ok(RunningHost { host, thread: Some(thread) })
    }
}

/// Body of the thread.
fn run(shared: &Shared, sleeper: &Sleeper) -> Result<(), Error> {
    while !shared.is_stopped.load(Ordering::Relaxed) {
        let wait = shared.lock().step();
        if !wait.is_zero() {
            sleeper.wait(wait.min(MAX_WAIT))?;
        }
    }
    Ok(())
}

/// Fails all connections when the thread ends, also by a panic.
struct ThreadEnd<'a>(&'a Shared);

impl Drop for ThreadEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().fail();
    }
}

impl RunningHost {
    /// Access to the host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The thread runs. [`stop`](Self::stop) returns the error that has ended it.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Stops the thread. All connections fail.
    ///
    /// # Errors
    /// Fails when the thread has ended before, by an error of epoll or a panic.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.host.0.is_stopped.store(true, Ordering::Relaxed);
        self.host.0.waker.wake();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let panicked = || Error::system("run a stack", io::Error::other("its thread panicked"));
        thread.join().unwrap_or_else(|_| Err(panicked()))
    }
}

impl Drop for RunningHost {
    fn drop(&mut self) {
        // `stop` returns the error.
        _ = self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state; then sends what there is to send, and wakes the thread if it would sleep
    /// too long.
    fn change<R>(&self, change: impl FnOnce(&mut State, Instant) -> R) -> R {
        let mut state = self.lock();
        let now = state.driver.now();
        let result = change(&mut state, now);
        if !state.has_ended && state.settle() {
            self.waker.wake();
        }
        result
    }
}

impl Host {
    /// Accepts connections to `port` at every address.
    pub fn listen(&self, port: u16, config: impl Into<Arc<Config>>) -> Listener {
        Listener::open(Arc::clone(&self.0), port, config.into())
    }

    /// Accepts connections to every port without a listener of its own.
    pub fn listen_at_every_port(&self, config: impl Into<Arc<Config>>) -> Listener {
        Listener::open(Arc::clone(&self.0), EVERY_PORT, config.into())
    }

    /// Opens a connection from the first usable interface, or from `interface` alone. Further
    /// subflows follow over the other usable interfaces.
    ///
    /// # Errors
    /// Fails when no interface is usable, and as [`Stack::connect`].
    pub fn connect(
        &self,
        interface: Option<usize>,
        remote: SocketAddr,
        config: impl Into<Arc<Config>>,
    ) -> io::Result<Socket> {
        let config = config.into();
        let id = self.0.change(|state, now| state.connect(now, interface, remote, config))?;
        Ok(Socket::new(Arc::clone(&self.0), id))
    }

    /// Lets connections use an interface: open ones join over it, new ones may begin there. At first
    /// no interface is usable.
    pub fn attach(&self, interface: usize) {
        self.0.change(|state, now| state.paths.attach(now, state.driver.stack(), interface));
    }

    /// Ends the subflows over an interface, and opens none. With `reachable` the peer learns of it
    /// over the interface itself.
    pub fn detach(&self, interface: usize, reachable: bool) {
        self.0.change(|state, _| state.paths.detach(state.driver.stack(), interface, reachable));
    }

    /// Makes an interface's present and future subflows backups or regular subflows (MP_PRIO).
    pub fn set_backup(&self, interface: usize, backup: bool) {
        self.0.change(|state, _| state.paths.set_backup(state.driver.stack(), interface, backup));
    }

    /// Sets the share of the sent data for each interface, for present and future connections
    /// ([`Endpoint::set_shares`](mptcp::Endpoint::set_shares)).
    pub fn set_shares(&self, shares: &[f64]) {
        self.change_rules(|rules| rules.shares = Some(shares.to_vec()));
    }

    /// Sets the rule that moves sent data off costly interfaces
    /// ([`Endpoint::set_offload`](mptcp::Endpoint::set_offload)).
    pub fn set_offload(&self, rule: &Offload) {
        self.change_rules(|rules| rules.offload = Some(rule.clone()));
    }

    /// Sets the energy of a byte over each interface, in joules
    /// ([`Endpoint::set_energy_costs`](mptcp::Endpoint::set_energy_costs)).
    pub fn set_energy_costs(&self, joules_per_byte: &[f64]) {
        self.change_rules(|rules| rules.energy_costs = Some(joules_per_byte.to_vec()));
    }

    fn change_rules(&self, change: impl FnOnce(&mut SenderRules)) {
        self.0.change(|state, _| {
            change(&mut state.rules);
            for &id in state.sockets.keys() {
                state.rules.apply(state.driver.stack(), id);
            }
        });
    }

    /// Changes the stack, for all that this interface has no method for.
    pub fn update<R>(&self, change: impl FnOnce(&mut Stack, Instant) -> R) -> R {
        self.0.change(|state, now| change(state.driver.stack(), now))
    }

    /// State of all open subflows.
    pub fn subflows(&self) -> Vec<SubflowSample> {
        self.0.lock().subflows()
    }

    /// Number of priority changes (MP_PRIO) received from peers.
    pub fn priorities_heard(&self) -> u64 {
        self.0.lock().priorities_heard
    }

    /// Packets that the wires of the interfaces did not take: no link has lost them.
    pub fn lost_packets(&self) -> u64 {
        self.0.lock().driver.devices().iter().map(Device::dropped).sum()
    }

    /// First address of an interface.
    pub fn address(&self, interface: usize) -> Option<IpAddr> {
        self.0.lock().paths.address(interface)
    }
}

/// An error of a stack as one of the system.
fn connect_error(error: ConnectError) -> io::Error {
    io::Error::new(
        match error {
            ConnectError::Address => io::ErrorKind::AddrNotAvailable,
            ConnectError::Ports => io::ErrorKind::AddrInUse,
            ConnectError::Limit => io::ErrorKind::OutOfMemory,
        },
        error,
    )
}
