//! One end of an MPTCP connection: the data level and the subflows below it.
//!
//! [`Endpoint`] owns the parts and connects them. `data_sender`, `data_receiver`, `handshake`,
//! `fallback`, `path_manager`, `receiver_driven` and `timers` hold the state; `input`, `output` and
//! `timeouts` handle segments and time; the other modules handle one concern each.

mod burst;
mod close;
mod coupling;
mod data_receiver;
mod data_retransmission;
mod data_sender;
mod dropped_data;
mod event;
mod fallback;
mod fast_path;
mod handshake;
mod inline_queue;
mod input;
mod keepalive;
mod mapping;
mod output;
mod path_manager;
mod paths;
mod receiver_driven;
mod repair;
mod reset;
mod reset_reason;
mod segment;
mod timeouts;
mod timers;

pub use event::{Event, Failure, Mode, ResetReason, SubflowEnds};
pub use receiver_driven::RecInfo;

use crate::congestion::Coupling;
use crate::log::Log;
use crate::subflow::{MIN_MSS, Subflow};
use crate::{Config, PathId, Randomness};
use data_receiver::DataReceiver;
use data_retransmission::DataRetransmission;
use data_sender::DataSender;
use fallback::Fallback;
use handshake::Handshake;
use path_manager::PathManager;
use receiver_driven::ReceiverDriven;
use std::collections::VecDeque;
use std::sync::Arc;
use timeouts::ProbeMonitor;
use timers::TimerTable;
use tracing::{debug, info_span};
use units::{Duration, Instant};
use wire::{Payload, Segment};

/// Largest useful receive buffer: far beyond the window that a segment can offer (RFC 7323, section
/// 2.3).
const MAX_RECV_BUFFER: u64 = 1 << 40;
/// Option bytes in a TCP header.
const OPTION_SPACE: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// State of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowInfo {
    /// The subflow is established.
    pub up: bool,
    /// It carries data only if no regular subflow can.
    pub backup: bool,
    /// Its last transmissions were not acknowledged.
    pub stale: bool,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Slow-start threshold, in bytes; `u64::MAX` before the first loss.
    pub ssthresh: u64,
    /// Bytes sent and not acknowledged.
    pub in_flight: u64,
    /// Estimated bytes in the network (RFC 6675, section 4).
    pub pipe: u64,
    /// Bytes assigned to the subflow and not sent.
    pub queued: u64,
    /// Segments retransmitted so far.
    pub retransmissions: u64,
}

/// One end of one MPTCP connection, with all its subflows.
///
/// The endpoint does no I/O and reads no clock. Its methods fall into these groups:
///
/// - **Construct**: [`client`](Self::client), [`server`](Self::server), and before the first
///   segment [`draw_key`](Self::draw_key) on a host with several connections. A client then
///   [`open`](Self::open)s its first subflow.
/// - **Feed**, whenever it happens: [`handle_segment`](Self::handle_segment),
///   [`handle_without_data`](Self::handle_without_data), [`write`](Self::write), [`read`](Self::read),
///   [`close`](Self::close), [`abort`](Self::abort).
/// - **Manage paths**: [`open`](Self::open), [`remove`](Self::remove),
///   [`set_priority`](Self::set_priority), [`set_shares`](Self::set_shares),
///   [`set_offload`](Self::set_offload), [`set_energy_costs`](Self::set_energy_costs),
///   [`announce`](Self::announce), [`withdraw`](Self::withdraw).
/// - **Drain**, after every call above: [`poll_transmit`](Self::poll_transmit) or
///   [`transmit_into`](Self::transmit_into) until `None`, or [`transmit_all`](Self::transmit_all);
///   then [`poll_event`](Self::poll_event) until `None`.
/// - **Timers**: after draining, [`poll_timeout`](Self::poll_timeout) tells the latest time for
///   [`handle_timeout`](Self::handle_timeout). The time may change with every call.
/// - **Inspect**, at any time: [`mode`](Self::mode), [`is_closed`](Self::is_closed),
///   [`subflow`](Self::subflow), [`write_space`](Self::write_space), [`unread`](Self::unread),
///   [`acknowledged`](Self::acknowledged) and the like.
///
/// # Example
///
/// Two endpoints exchange segments in memory until the server has read all data:
///
/// ```
/// use tandem_mptcp::{Config, Endpoint, PathId};
/// use units::{Instant, Seed};
/// use wire::{Payload, Span};
///
/// let now = Instant::ZERO;
/// let mut client = Endpoint::client(Config::default(), Seed::new(1));
/// let mut server = Endpoint::server(Config::default(), Seed::new(2));
/// client.open(now, PathId(0), false);
/// assert_eq!(client.write(&Span::new(0, 100_000)), 100_000);
/// client.close();
///
/// let mut received = 0;
/// loop {
///     let mut idle = true;
///     while let Some((path, segment)) = client.poll_transmit(now) {
///         server.handle_segment(now, path, segment);
///         idle = false;
///     }
///     while let Some(data) = server.read(usize::MAX) {
///         received += data.len();
///     }
///     while let Some((path, segment)) = server.poll_transmit(now) {
///         client.handle_segment(now, path, segment);
///         idle = false;
///     }
///     if idle {
///         break;
///     }
/// }
/// assert_eq!(received, 100_000);
/// ```
#[derive(Debug, Clone)]
pub struct Endpoint<P> {
    role: Role,
    config: Arc<Config>,
    /// By path index.
    subflows: Vec<Subflow<P>>,
    data_sender: DataSender<P>,
    data_receiver: DataReceiver<P>,
    handshake: Handshake,
    fallback: Fallback,
    paths: Box<PathManager>,
    /// MPTCP-rec, if both ends use it.
    receiver_driven: Option<Box<ReceiverDriven>>,
    timers: TimerTable,
    probe_monitor: ProbeMonitor,
    data_retransmission: DataRetransmission,
    /// By path index: energy of a byte, in joules; empty if all paths cost the same.
    energy_costs: Vec<f64>,
    /// Memory of the last coupling, kept for the next.
    coupling: Coupling,
    events: VecDeque<Event>,
    /// There may be something to transmit.
    transmit_pending: bool,
    /// The segment at hand had data, which the host has dropped.
    data_dropped: bool,
    /// A subflow has queued or sent its FIN.
    subflow_fins: bool,
    /// The connection has closed or failed.
    ended: bool,
    /// Why the last subflow ended, while none was established since.
    last_failure: Option<Failure>,
    /// Span of the log entries, a child of the span in which the endpoint was created.
    log: Log,
}

/// Construction.
impl<P: Payload> Endpoint<P> {
    /// Creates the end that opens the connection. It sends nothing before [`open`](Self::open).
    ///
    /// `randomness`, a [`Seed`](units::Seed) in simulations, gives keys, initial sequence numbers and
    /// nonces. Endpoints may share one `config`.
    pub fn client(config: impl Into<Arc<Config>>, randomness: impl Into<Randomness>) -> Self {
        Self::new(Role::Client, config.into(), randomness.into())
    }

    /// Creates the end that accepts the connection. It waits for a SYN on any path.
    pub fn server(config: impl Into<Arc<Config>>, randomness: impl Into<Randomness>) -> Self {
        Self::new(Role::Server, config.into(), randomness.into())
    }

    fn new(role: Role, config: Arc<Config>, randomness: Randomness) -> Self {
        let config = within_limits(config);
        Self {
            role,
            subflows: Vec::new(),
            data_sender: DataSender::new(&config),
            data_receiver: DataReceiver::new(&config),
            handshake: Handshake::new(&config, randomness),
            fallback: Fallback::default(),
            paths: Box::new(PathManager::new()),
            receiver_driven: None,
            timers: TimerTable::new(),
            probe_monitor: ProbeMonitor::new(),
            data_retransmission: DataRetransmission::default(),
            energy_costs: Vec::new(),
            coupling: Coupling::default(),
            events: VecDeque::new(),
            transmit_pending: false,
            data_dropped: false,
            subflow_fins: false,
            ended: false,
            last_failure: None,
            log: Log::new(match role {
                Role::Client => info_span!("client"),
                Role::Server => info_span!("server"),
            }),
            config,
        }
    }

    /// Index of the subflow over `path`, which is created if there was none.
    fn slot(&mut self, path: PathId) -> usize {
        while self.subflows.len() <= path.index() {
            let path = PathId(self.subflows.len() as u8);
            // Most connections have few.
            self.subflows.reserve_exact(1);
            self.subflows.push(Subflow::closed(path, &self.config, &self.log));
        }
        path.index()
    }
}

/// The application's stream.
impl<P: Payload> Endpoint<P> {
    /// Writes to the stream and returns how many bytes of `data` were taken, from its start.
    /// Returns 0 after [`close`](Self::close).
    pub fn write(&mut self, data: &P) -> usize {
        if self.data_sender.is_closed() || self.ended {
            return 0;
        }
        let space = self.write_space();
        let taken = self.data_sender.write(data, space);
        if taken > 0 {
            self.transmit_pending = true;
            self.outdate_data_retransmission();
        }
        taken
    }

    /// Bytes that [`write`](Self::write) would take.
    pub fn write_space(&self) -> u64 {
        self.data_sender.write_space(&self.subflows, &self.config)
    }

    /// Reports `len` bytes that the application dropped for lack of
    /// [`write_space`](Self::write_space). The share scheduler counts them for the path that was
    /// next, so that a full path does not hold up the others.
    pub fn record_dropped(&mut self, len: u64) {
        self.data_sender.record_dropped(len, &self.subflows, &self.config);
    }

    /// Takes the next in-order piece of the stream, of at most `limit` bytes.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory, the piece is read before its stores have completed"
    )]
    #[inline(always)]
    pub fn read(&mut self, limit: usize) -> Option<P> {
        let piece = self.data_receiver.read(limit)?;
        self.update_window();
        Some(piece)
    }

    /// Acknowledges at once if reading has opened the receive window far enough.
    fn update_window(&mut self) {
        if !self.data_receiver.needs_window_update() {
            return;
        }
        for subflow in &mut self.subflows {
            if subflow.carries_data() || subflow.fin_queued() && subflow.is_open() {
                subflow.receiver_mut().request_ack();
                self.transmit_pending = true;
            }
        }
    }

    /// Queues an event for the owner.
    #[cold]
    fn report(&mut self, event: Event) {
        debug!(parent: &self.log, "{event:?}");
        self.events.push_back(event);
    }

    /// [`poll_event`](Self::poll_event) would return an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the next event, if any.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if event.is_none() && self.events.capacity() > 0 {
            // Events are rare: most connections have none for nearly all of their time.
            self.events = VecDeque::new();
        }
        event
    }
}

/// Inspection.
impl<P: Payload> Endpoint<P> {
    /// Protocol that the connection uses.
    pub fn mode(&self) -> Mode {
        self.handshake.mode()
    }

    /// The connection has closed or failed. It may still answer late segments.
    pub fn is_closed(&self) -> bool {
        self.ended
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.data_sender.end() - 1
    }

    /// Bytes that the peer has acknowledged at data level.
    pub fn acknowledged(&self) -> u64 {
        self.data_sender.una().min(self.data_sender.end()) - 1
    }

    /// Payload bytes assigned to a further subflow after the first: reinjections, opportunistic
    /// retransmissions and copies of the redundant scheduler.
    pub fn reinjected_bytes(&self) -> u64 {
        self.data_sender.reinjected_bytes()
    }

    /// Bytes received beyond a gap, in the data stream or in a subflow. Bytes that two subflows have
    /// brought count twice while one of them keeps its copy behind a gap of its own.
    pub fn out_of_order(&self) -> u64 {
        self.data_receiver.out_of_order()
            + self.subflows.iter().map(|s| s.out_of_order().bytes()).sum::<u64>()
    }

    /// Bytes received without a complete mapping, over all subflows.
    pub fn unmapped(&self) -> u64 {
        self.subflows.iter().map(|subflow| subflow.mappings().unmapped_bytes()).sum()
    }

    /// Pieces of received data, ranges and mappings held. Each costs memory beside its bytes.
    pub fn received_pieces(&self) -> usize {
        let of_subflow =
            |s: &Subflow<P>| s.mappings().len() + s.receiver().ranges() + s.out_of_order().pieces();
        self.data_receiver.pieces() + self.subflows.iter().map(of_subflow).sum::<usize>()
    }

    /// In-order bytes that the application has not read.
    pub fn unread(&self) -> u64 {
        self.data_receiver.unread()
    }

    /// The segment has the next data of its subflow: without it, later data cannot be delivered.
    pub fn has_next_data(&self, path: PathId, segment: &Segment<P>) -> bool {
        let Some(subflow) = self.subflows.get(path.index()) else { return false };
        let next = subflow.receiver().next_offset();
        let start = subflow.receive_offset(segment.seq);
        start.is_some_and(|start| (start..start + segment.payload.len() as u64).contains(&next))
    }

    /// A subflow over `path` is being opened or is open.
    pub fn has_subflow(&self, path: PathId) -> bool {
        self.subflows.get(path.index()).is_some_and(Subflow::is_open)
    }

    /// A SYN between the ports of the last subflow over `path`, which has ended, may open another one.
    /// A subflow in TIME-WAIT answers all SYNs that may be delayed ones of its own.
    pub fn gives_way_to(&self, now: Instant, path: PathId, syn: &Segment<P>) -> bool {
        self.subflows.get(path.index()).is_none_or(|subflow| subflow.gives_way_to(now, syn))
    }

    /// The last subflow over `path` was refused for good, or lost its options: the host should not
    /// open it again (RFC 8684, section 3.6).
    pub fn is_refused(&self, path: PathId) -> bool {
        self.subflows.get(path.index()).is_some_and(Subflow::is_permanently_refused)
    }

    /// The peer accepts no joins to the address and port of the first subflow (flag C; RFC 8684, section
    /// 3.1). A host that knows addresses must join others.
    pub fn denies_initial_address(&self) -> bool {
        self.paths.denies_initial_address()
    }

    /// DSS checksums are in use.
    pub fn uses_checksum(&self) -> bool {
        self.handshake.uses_checksum()
    }

    /// Nothing is left to do for the connection: it has ended, and no subflow waits for segments
    /// that the network may have delayed.
    pub fn is_gone(&self) -> bool {
        self.ended && !self.transmit_pending && self.subflows.iter().all(Subflow::is_closed)
    }

    /// State of the subflow over `path`; `None` if there never was one.
    pub fn subflow(&self, path: PathId) -> Option<SubflowInfo> {
        let subflow = self.subflows.get(path.index())?;
        let sender = subflow.sender();
        Some(SubflowInfo {
            up: subflow.is_established(),
            backup: subflow.is_backup(),
            stale: subflow.is_stale(),
            srtt: sender.measured_rtt(),
            cwnd: sender.window().cwnd,
            ssthresh: sender.window().ssthresh,
            in_flight: sender.flight(),
            pipe: sender.pipe(),
            queued: sender.queued(),
            retransmissions: sender.retransmissions(),
        })
    }

    /// Checks the invariants. They hold for any behaviour of the peer. For tests.
    pub fn check(&self) -> Result<(), &'static str> {
        self.subflows.iter().try_for_each(Subflow::check_invariants)?;
        self.check_promises()?;
        self.data_sender.check()?;
        self.data_receiver.check()
    }
}

/// Limits the settings to values that the endpoint can work with.
fn within_limits(config: Arc<Config>) -> Arc<Config> {
    let recv_buffer = config.recv_buffer.min(MAX_RECV_BUFFER);
    let mss = config.mss.max(MIN_MSS);
    let initial_window = config.initial_window.max(1);
    let limited = (recv_buffer, mss, initial_window);
    if limited == (config.recv_buffer, config.mss, config.initial_window) {
        return config;
    }
    Arc::new(Config { mss, recv_buffer, initial_window, ..(*config).clone() })
}
