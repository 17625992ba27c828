//! An end of a run that uses Tandem's stack, and the state of a device's interfaces there.

use crate::topology::{HEADER_BYTES, SERVER, device_address};
use linux::Error;
use linux::clock::Clock;
use linux::tun::Tun;
use sim::{Experiment, Protocol};
use stack::{Host, HostConfig, Interface, Limits, PreparedHost, RunningHost};

/// Applications read at once, as in simulation. They verify each byte, so they may be slower for a
/// moment.
const READ_AHEAD_BYTES: u64 = 1 << 20;

/// Tandem's stack at one end.
#[derive(Debug)]
pub(crate) enum StackEnd {
    /// Before the start of the clock.
    Prepared(Option<PreparedHost>),
    Running(RunningHost),
}

impl StackEnd {
    /// Prepares the stack of the device.
    pub(crate) fn device(experiment: &Experiment) -> Result<(Self, Vec<Tun>), Error> {
        let interfaces = (0..experiment.paths.len()).map(|path| interface(experiment, device_address(path)));
        Self::prepare("device", experiment, interfaces.collect())
    }

    /// Prepares the stack of the server, whose address is that of every interface.
    pub(crate) fn server(experiment: &Experiment) -> Result<(Self, Vec<Tun>), Error> {
        let interfaces = experiment.paths.iter().map(|_| interface(experiment, SERVER));
        Self::prepare("server", experiment, interfaces.collect())
    }

    fn prepare(
        name: &str,
        experiment: &Experiment,
        interfaces: Vec<Interface>,
    ) -> Result<(Self, Vec<Tun>), Error> {
        let (host, far) = PreparedHost::new(HostConfig {
            name: name.to_owned(),
            interfaces,
            limits: Limits { read_ahead: READ_AHEAD_BYTES, ..Limits::default() },
            entropy: experiment.seed.derive(name).into(),
            realtime: true,
            observer: None,
        })?;
        Ok((Self::Prepared(Some(host)), far))
    }

    /// Starts the stack on the clock of the run.
    pub(crate) fn start(&mut self, clock: Clock) -> Result<(), Error> {
        if let Self::Prepared(prepared) = self
            && let Some(prepared) = prepared.take()
        {
            *self = Self::Running(prepared.start(clock)?);
        }
        Ok(())
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self, Self::Running(running) if running.is_running())
    }

    /// Stops the stack.
    ///
    /// # Errors
    /// Fails when its thread has ended before.
    pub(crate) fn stop(&mut self) -> Result<(), Error> {
        match self {
            Self::Running(running) => running.stop(),
            Self::Prepared(_) => Ok(()),
        }
    }

    /// The host, once it runs.
    pub(crate) fn host(&self) -> Option<&Host> {
        match self {
            Self::Running(running) => Some(running.host()),
            Self::Prepared(_) => None,
        }
    }
}

fn interface(experiment: &Experiment, address: std::net::IpAddr) -> Interface {
    Interface { addresses: vec![address], mtu: experiment.transport.config.mss + HEADER_BYTES as u16 }
}

/// The device's interfaces at Tandem's stack.
#[derive(Debug)]
pub(crate) struct StackPaths {
    pub(crate) end: StackEnd,
    paths: Vec<StackPath>,
}

#[derive(Debug, Clone, Copy)]
struct StackPath {
    is_up: bool,
    /// The policy has closed the path.
    is_closed: bool,
    is_backup: bool,
}

impl StackPaths {
    pub(crate) fn new(end: StackEnd, experiment: &Experiment) -> Self {
        let path =
            |spec: &sim::PathSpec| StackPath { is_up: false, is_closed: false, is_backup: spec.backup };
        Self { end, paths: experiment.paths.iter().map(path).collect() }
    }

    /// Starts the stack, with the interfaces in their present state.
    pub(crate) fn start(&mut self, clock: Clock) -> Result<(), Error> {
        self.end.start(clock)?;
        for path in 0..self.paths.len() {
            self.set_backup(path, self.paths[path].is_backup);
            self.attach(path);
        }
        Ok(())
    }

    pub(crate) fn bring_up(&mut self, path: usize) {
        self.paths[path].is_up = true;
        self.attach(path);
    }

    pub(crate) fn take_down(&mut self, path: usize) {
        self.paths[path].is_up = false;
        self.detach(path, false);
    }

    pub(crate) fn open_path(&mut self, path: usize) {
        self.paths[path].is_closed = false;
        self.attach(path);
    }

    pub(crate) fn close_path(&mut self, path: usize) {
        self.paths[path].is_closed = true;
        self.detach(path, self.paths[path].is_up);
    }

    pub(crate) fn set_backup(&mut self, path: usize, backup: bool) {
        self.paths[path].is_backup = backup;
        if let Some(host) = self.end.host() {
            host.set_backup(path, backup);
        }
    }

    pub(crate) fn is_up(&self, path: usize) -> bool {
        self.paths[path].is_up
    }

    pub(crate) fn is_backup(&self, path: usize) -> bool {
        self.paths[path].is_backup
    }

    fn attach(&self, path: usize) {
        let StackPath { is_up, is_closed, .. } = self.paths[path];
        if let Some(host) = self.end.host().filter(|_| is_up && !is_closed) {
            host.attach(path);
        }
    }

    fn detach(&self, path: usize, reachable: bool) {
        if let Some(host) = self.end.host() {
            host.detach(path, reachable);
        }
    }
}

/// Path of a scenario that uses plain TCP.
pub(crate) fn tcp_path(experiment: &Experiment) -> Option<usize> {
    match experiment.transport.protocol {
        Protocol::Tcp { path } => Some(path),
        Protocol::Mptcp => None,
    }
}
