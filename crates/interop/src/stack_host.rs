//! A host with Tandem's stack, in a thread of its own.

use crate::host::{PORT, Setup};
use crate::network::{client_address, server_address, stack_interfaces};
use crate::plan::Action;
use crate::progress::{Script, Shared, bytes_at};
use bytes::Bytes;
use linux::Error;
use linux::clock::Clock;
use linux::tun::Tun;
use mptcp::{Config, Endpoint, Event, Mode, PathId};
use stack::{ConnectionId, Device, Driver, Limits, Stack, StackEvent, Waker};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use units::{Duration, Instant, Seed};

/// Most bytes written at once.
const WRITE_BYTES: u64 = 64 << 10;
/// Longest wait for packets, in which a thread does not notice the gate.
const MAX_WAIT: Duration = Duration::from_millis(5);

type Command = Box<dyn FnOnce(&mut Stack, ConnectionId) + Send>;

/// State of the endpoint that the player of the case asks for.
#[derive(Debug, Default, Clone, Copy)]
struct Snapshot {
    is_mptcp: bool,
    subflows: usize,
    has_backup: bool,
    uses_checksum: bool,
    /// Packets that the wires did not take.
    lost_packets: u64,
}

pub(crate) struct StackHost {
    shared: Shared,
    snapshot: Arc<Mutex<Snapshot>>,
    commands: Sender<Command>,
    start: Sender<()>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    /// Address on the second path.
    second: IpAddr,
    is_client: bool,
}

/// The thread's side.
struct Application {
    shared: Shared,
    snapshot: Arc<Mutex<Snapshot>>,
    commands: Receiver<Command>,
    start: Receiver<()>,
    script: Script,
    id: Option<ConnectionId>,
    is_closed: bool,
    /// The connection has ended. What it received may still wait to be read.
    has_ended: bool,
    /// Announced address that was not joined yet.
    pending_join: Option<SocketAddr>,
    joins: bool,
    backup: bool,
    /// A path may be dead in the end, and never carry the FIN of its subflow.
    ignores_fins: bool,
    announced: Option<(IpAddr, Option<u16>)>,
    second: IpAddr,
    v6: bool,
    config: Config,
}

impl StackHost {
    pub(crate) fn start(setup: Setup<'_>) -> Result<(Self, Vec<Tun>), Error> {
        let Setup { plan, v6, is_client } = setup;
        let interfaces = stack_interfaces(v6, plan.paths, is_client);
        let mut config =
            Config { checksum: plan.checksum, timestamps: setup.has_timestamps(), ..Config::linux() };
        if let Some(bytes) = plan.buffers {
            config = Config { send_buffer: bytes, recv_buffer: bytes, autotune: None, ..config };
        }
        if setup.refuses_joins() {
            config.max_subflows = 1;
        }
        let mut stack = Stack::new(interfaces, Limits::default(), Seed::new(11 + u64::from(is_client)));
        if !is_client {
            stack.listen(PORT, config.clone());
        }
        let (driver, far) = Driver::wired("tandem", stack, Clock::start())?;
        let (shared, snapshot) = (Shared::default(), Arc::<Mutex<Snapshot>>::default());
        let ((commands, receiver), (start, started)) = (channel(), channel());
        let mut application = Application {
            shared: shared.clone(),
            snapshot: Arc::clone(&snapshot),
            commands: receiver,
            start: started,
            script: setup.script(),
            id: None,
            is_closed: false,
            has_ended: false,
            pending_join: None,
            joins: setup.joins(),
            backup: setup.is_backup(),
            ignores_fins: plan.action == Action::Idle,
            announced: setup.announces().then(|| (setup.second_address(), setup.announced_port())),
            second: setup.second_address(),
            v6,
            config,
        };
        let waker = driver.waker();
        let thread = std::thread::Builder::new()
            .name("tandem".to_owned())
            .spawn(move || application.run(driver))
            .map_err(|error| Error::system("start a thread", error))?;
        let (thread, second) = (Some(thread), setup.second_address());
        let host = Self { shared, snapshot, commands, start, waker, thread, second, is_client };
        Ok((host, far))
    }

    pub(crate) fn connect(&self) {
        _ = self.start.send(());
        self.waker.wake();
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn snapshot(&self) -> Snapshot {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_mptcp(&self) -> bool {
        self.snapshot().is_mptcp
    }

    pub(crate) fn uses_checksum(&self) -> bool {
        self.snapshot().uses_checksum
    }

    pub(crate) fn lost_packets(&self) -> u64 {
        self.snapshot().lost_packets
    }

    pub(crate) fn subflows(&self) -> usize {
        self.snapshot().subflows
    }

    pub(crate) fn saw(&self, is_wanted: impl Fn(&Event) -> bool) -> bool {
        self.shared.lock().events.iter().any(is_wanted)
    }

    pub(crate) fn has_backup(&self) -> bool {
        self.snapshot().has_backup
    }

    fn command(&self, command: impl FnOnce(&mut Endpoint<Bytes>, Option<u8>) + Send + 'static) {
        let address = self.second;
        _ = self.commands.send(Box::new(move |stack, id| {
            let address_id = stack.address_id(id, address);
            stack.update(id, |endpoint| command(endpoint, address_id));
        }));
        self.waker.wake();
    }

    pub(crate) fn set_backup(&self) {
        self.command(|endpoint, _| endpoint.set_priority(PathId(1), true));
    }

    pub(crate) fn remove_address(&self) {
        let is_client = self.is_client;
        self.command(move |endpoint, address_id| match address_id {
            Some(id) if !is_client => endpoint.withdraw(&[id]),
            _ => endpoint.remove(PathId(1), true),
        });
    }

    pub(crate) fn abort(&self) {
        self.command(|endpoint, _| endpoint.abort());
    }
}

impl Drop for StackHost {
    fn drop(&mut self) {
        self.shared.stop();
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Application {
    fn run(&mut self, mut driver: Driver) {
        while !self.shared.is_stopped() {
            if let Err(error) = driver.step(MAX_WAIT) {
                self.shared.lock().failure = Some(error.to_string());
                return;
            }
            let now = driver.now();
            let lost_packets = driver.devices().iter().map(Device::dropped).sum();
            let stack = driver.stack();
            if self.start.try_recv().is_ok() {
                self.connect(now, stack);
            }
            while let Some((id, event)) = stack.poll_event() {
                if *self.id.get_or_insert(id) == id {
                    self.on_event(now, stack, event);
                }
            }
            let Some(id) = self.id else { continue };
            while let Ok(command) = self.commands.try_recv() {
                command(stack, id);
            }
            self.pump(stack, id);
            if let Some(endpoint) = stack.endpoint(id) {
                let up = |&path: &u8| endpoint.subflow(PathId(path)).is_some_and(|subflow| subflow.up);
                let snapshot = Snapshot {
                    is_mptcp: endpoint.mode() == Mode::Mptcp,
                    subflows: (0..8).filter(up).count(),
                    has_backup: (0..8)
                        .any(|path| endpoint.subflow(PathId(path)).is_some_and(|subflow| subflow.backup)),
                    uses_checksum: endpoint.uses_checksum(),
                    lost_packets,
                };
                *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
            }
        }
    }

    fn connect(&mut self, now: Instant, stack: &mut Stack) {
        let remote = SocketAddr::new(server_address(self.v6), PORT);
        match stack.connect(now, client_address(self.v6, 0), remote, self.config.clone()) {
            Ok(id) => self.id = Some(id),
            Err(error) => self.shared.lock().failure = Some(error.to_string()),
        }
    }

    fn on_event(&mut self, now: Instant, stack: &mut Stack, event: StackEvent) {
        let StackEvent::Endpoint(event) = event else { return };
        let Some(id) = self.id else { return };
        match &event {
            Event::Connected(mode) => {
                self.shared.lock().is_connected = true;
                if *mode == Mode::Mptcp && self.joins {
                    let remote = SocketAddr::new(server_address(self.v6), PORT);
                    _ = stack.join(now, id, self.second, remote, self.backup);
                }
                if let Some((address, port)) = self.announced {
                    let address_id = stack.address_id(id, address).unwrap_or(0);
                    stack.update(id, |endpoint| endpoint.announce(address_id, address, port));
                }
            }
            Event::AddressAdded(_, address, port) => {
                self.pending_join = Some(SocketAddr::new(*address, port.unwrap_or(PORT)));
            }
            Event::PeerClosed => self.shared.lock().has_end = true,
            Event::Closed => self.has_ended = true,
            Event::Failed(failure) => self.shared.lock().failure = Some(format!("{failure:?}")),
            _ => {}
        }
        self.shared.lock().events.push(event);
        // The announcement may come with the first acknowledgement, before a join is possible.
        if let Some(remote) = self.pending_join
            && stack.join(now, id, self.second, remote, false).is_ok()
        {
            self.pending_join = None;
        }
    }

    /// Reads and writes as much as possible, and closes.
    fn pump(&mut self, stack: &mut Stack, id: ConnectionId) {
        if !self.script.reads_late || self.shared.is_open() {
            while let Some(piece) = stack.read(id, usize::MAX) {
                self.shared.receive(&self.script, &piece);
            }
        }
        let (is_connected, has_end, mut sent) = {
            let mut progress = self.shared.lock();
            // Only now: the checks begin as soon as all ends are finished.
            progress.is_finished |= self.has_ended;
            (progress.is_connected, progress.has_end, progress.sent)
        };
        if self.is_closed && self.ignores_fins && has_end {
            let all_acknowledged =
                stack.endpoint(id).is_none_or(|own| own.acknowledged() == self.script.send);
            self.shared.lock().is_finished |= all_acknowledged;
        }
        if !is_connected || self.is_closed {
            return;
        }
        let allowed = self.shared.allowed(&self.script, has_end);
        while sent < allowed {
            let len = (allowed - sent).min(WRITE_BYTES) as usize;
            let taken = stack.write(id, &Bytes::from(bytes_at(self.script.stream, sent, len)));
            sent += taken as u64;
            if taken < len {
                break;
            }
        }
        self.shared.lock().sent = sent;
        if sent == self.script.send && self.shared.is_open() && (has_end || !self.script.waits_for_end) {
            stack.update(id, Endpoint::close);
            self.is_closed = true;
        }
    }
}
