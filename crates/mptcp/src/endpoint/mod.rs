//! One end of one connection: data level above, subflows below.
//!
//! `handshake` opens subflows, `input` takes segments in (`predict` the one that is just as expected),
//! `output` makes them, `deal` decides which subflow carries what, `again` what goes over several,
//! `mapping` places what comes, `fallback` goes back to TCP, `repair` sends again what was lost above the
//! subflows, `coupling` tells congestion controls of one another, `paths` moves paths in and out,
//! `addresses` tells of others, `keys` are drawn, `close` ends things, `timers` keeps time, `alive` probes
//! what is idle, `autotune` grows the receive buffer, `driven` is MPTCP-rec, where the receiver sets the pace.

mod addresses;
mod again;
mod alive;
mod autotune;
mod close;
mod coupling;
mod deal;
mod driven;
mod fallback;
mod few;
mod handshake;
mod input;
mod keys;
mod mapping;
mod output;
mod paths;
mod predict;
mod reorder;
mod repair;
mod send_buffer;
mod timers;

pub use driven::RecInfo;

use crate::scheduler::{AnyScheduler, Candidate, Scheduler};
use crate::subflow::{Chunk, MIN_MSS, Subflow};
use crate::{Config, PathId, crypto};
use addresses::{Announcement, Removal};
use autotune::Autotune;
use core::net::IpAddr;
use driven::Driving;
use fallback::{Failing, Infinite};
use reorder::Reorder;
use repair::Repair;
use send_buffer::SendBuffer;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Duration, Instant, Rng, Seed};
use wire::{MptcpSignal, Payload};

/// Which end this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// What the connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// MP_CAPABLE was offered and not yet answered.
    Offered,
    /// Multipath TCP.
    Mptcp,
    /// TCP: never offered, or fallen back (RFC 8684, section 3.7).
    Tcp,
}

/// What a reset said of why (MP_TCPRST; RFC 8684, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResetReason {
    /// 0 unspecified, 1 MPTCP-specific, 2 no resources, 3 prohibited, 4 too much outstanding,
    /// 5 unacceptable performance, 6 middlebox.
    pub code: u8,
    /// Another try may succeed later. After any other, [`Endpoint::open`] refuses the path.
    pub transient: bool,
}

/// Why a subflow or the connection ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The peer reset it, and maybe said why.
    Reset(Option<ResetReason>),
    /// The peer ended the whole connection at once (MP_FASTCLOSE; RFC 8684, section 3.5).
    FastClose,
    /// Nothing came back.
    TimedOut,
    /// The peer's MP_JOIN did not prove that it knows the keys.
    Authentication,
    /// The interface went away, or the peer said that its address did.
    Removed,
    /// Aborted on this side.
    Aborted,
    /// The peer broke the protocol.
    Protocol,
    /// Data was changed on its way: the data checksum does not match here, or the peer says so
    /// (MP_FAIL).
    Checksum,
    /// MPTCP options no longer get through (RFC 8684, section 3.7).
    Middlebox,
}

/// What happened that the owner may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The connection is up and speaks this.
    Connected(Mode),
    /// A subflow is up.
    SubflowUp(PathId),
    /// A subflow has ended; `None` if it was closed in order.
    SubflowDown(PathId, Option<Failure>),
    /// The peer asks for this subflow to be used as a backup, or not (RFC 8684, section 3.3.8).
    Priority(PathId, bool),
    /// The peer has another address (RFC 8684, section 3.4.1).
    AddressAdded(u8, IpAddr, Option<u16>),
    /// The peer's address went away (RFC 8684, section 3.4.2).
    AddressRemoved(u8),
    /// The peer will send nothing more, and everything before was delivered in order.
    PeerClosed,
    /// Both ends have closed and everything was acknowledged.
    Closed,
    /// The connection is lost.
    Failed(Failure),
}

/// A subflow as its owner may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowInfo {
    /// Established.
    pub up: bool,
    /// Used only if nothing else is there.
    pub backup: bool,
    /// Got no answer to its last transmissions.
    pub stale: bool,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Slow-start threshold, in bytes; `u64::MAX` until the first loss.
    pub ssthresh: u64,
    /// Bytes sent and not acknowledged.
    pub in_flight: u64,
    /// Bytes believed to be in the network (RFC 6675, section 4).
    pub pipe: u64,
    /// Bytes dealt to it and not yet sent.
    pub queued: u64,
    /// Segments sent again, ever.
    pub retransmissions: u64,
}

/// Data to be sent again elsewhere, and the path that still tries to deliver it.
#[derive(Debug, Clone)]
struct Reinjection<P> {
    chunk: Chunk<P>,
    tried: Option<PathId>,
}

/// Address identifiers from here on are for paths that are opened again: below are those that paths get first.
const FIRST_SPARE_ID: u8 = 128;
/// More than a window can say (RFC 7323, section 2.3), for all that a connection lives.
const MOST_BUFFER: u64 = 1 << 40;

/// One end of one connection. See the [crate] documentation for the order of calls.
///
/// Its fields are in the order of use, so that what every segment looks at is fetched together.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Endpoint<P> {
    subflows: Vec<Subflow<P>>,
    /// MPTCP-rec, once both ends have said that they speak it.
    driving: Option<Box<Driving>>,
    mode: Mode,
    role: Role,
    /// Something may have to be transmitted.
    work: bool,
    closing: bool,
    /// A subflow has a FIN to send, or sent it.
    fins: bool,
    ended: bool,
    /// The peer has shown that it speaks MPTCP on this connection.
    confirmed: bool,
    connected: bool,
    /// Data checksums are in use (RFC 8684, section 3.3.1).
    checksum: bool,
    /// Data went over more than the first subflow, or twice: falling back is no longer possible.
    spread: bool,
    /// Data came that does not lie in the stream as it does on the first subflow: the peer can fall back
    /// no more.
    parted: bool,
    send_data_fin: bool,
    send_probe: bool,
    peer_closed: bool,
    /// First data offset not acknowledged.
    data_una: u64,
    /// First data offset not dealt to a subflow.
    data_next: u64,
    /// The peer takes data before this offset.
    window_end: u64,
    /// We told the peer that we take data before this offset.
    advertised: u64,
    buffer: SendBuffer<P>,
    reorder: Reorder<P>,
    /// Data offset of the peer's DATA_FIN.
    peer_fin: Option<u64>,
    /// The earliest timer of what rarely happens.
    rare: Option<Instant>,
    /// Why the last subflow ended.
    lost: Option<Failure>,
    fin_timer: Option<Instant>,
    probe_timer: Option<Instant>,
    probe_tries: u32,
    fin_tries: u32,
    events: VecDeque<Event>,
    reinjections: VecDeque<Reinjection<P>>,
    local_idsn: u64,
    remote_idsn: u64,
    scheduler: AnyScheduler,
    autotune: Autotune,
    infinite: Option<Infinite>,
    /// Mostly one for all connections of a driver, so that what it says is always near.
    config: Arc<Config>,
    failing: Option<Failing>,
    /// Data offset of our DATA_FIN, once it was sent.
    data_fin: Option<u64>,
    /// Room to list for the scheduler whom it may pick.
    list: Vec<Candidate>,
    first: Option<PathId>,

    rng: Rng,
    local_key: u64,
    remote_key: Option<u64>,
    repair: Repair,
    /// Addresses of this end that the peer was told of, and those that the peer told of.
    announced: Vec<Announcement>,
    removed: Vec<Removal>,
    accepted: Vec<(u8, IpAddr, Option<u16>)>,
    /// The address identifier given last to a path that was opened again.
    last_id: u8,
    /// Signals for the next subflow that comes up.
    waiting: Vec<MptcpSignal>,
    /// The peer takes no joins where the first subflow went (flag C; RFC 8684, section 3.1).
    denied: bool,
    /// When being without a subflow has lasted too long.
    alone: Option<Instant>,
    /// When the last probe of a shut window or DATA_FIN went out, and how many in a row of which nothing was
    /// heard.
    asked_at: Instant,
    unheard: u32,
    /// Up to this data offset there is nothing left to be sent again opportunistically.
    seized: u64,
    /// Payload dealt to one subflow after another, ever, in bytes.
    repeated_bytes: u64,
    /// What a byte costs on each path, in joules; none where all cost the same.
    energy_costs: Vec<f64>,
}

impl<P: Payload> Endpoint<P> {
    /// The end that opens the connection. Nothing happens before [`open`](Self::open).
    ///
    /// `seed` gives keys, initial sequence numbers and nonces. Who has many of them shares one `config`.
    pub fn client(config: impl Into<Arc<Config>>, seed: Seed) -> Self {
        Self::new(Role::Client, config.into(), seed)
    }

    /// The end that waits for a SYN on any path.
    pub fn server(config: impl Into<Arc<Config>>, seed: Seed) -> Self {
        Self::new(Role::Server, config.into(), seed)
    }

    fn new(role: Role, mut config: Arc<Config>, seed: Seed) -> Self {
        // Beyond these nothing would be left to add.
        let recv_buffer = config.recv_buffer.min(MOST_BUFFER);
        let mss = config.mss.max(MIN_MSS);
        let initial_window = config.initial_window.max(1);
        if (recv_buffer, mss, initial_window) != (config.recv_buffer, config.mss, config.initial_window) {
            config = Arc::new(Config { mss, recv_buffer, initial_window, ..(*config).clone() });
        }
        let mut rng = seed.rng("endpoint");
        let local_key = rng.bits();
        let autotune = Autotune::new(&config);
        let mode = if config.mptcp { Mode::Offered } else { Mode::Tcp };
        Self {
            role,
            mode,
            subflows: Vec::new(),
            driving: None,
            first: None,
            local_key,
            remote_key: None,
            local_idsn: crypto::initial_dsn(local_key),
            remote_idsn: 0,
            checksum: config.checksum,
            spread: false,
            parted: false,
            failing: None,
            infinite: None,
            repair: Repair::default(),
            announced: Vec::new(),
            removed: Vec::new(),
            accepted: Vec::new(),
            last_id: FIRST_SPARE_ID - 1,
            waiting: Vec::new(),
            denied: false,
            alone: None,
            lost: None,
            rare: None,
            confirmed: false,
            connected: false,
            buffer: SendBuffer::new(),
            data_una: 1,
            data_next: 1,
            window_end: 1,
            reinjections: VecDeque::new(),
            seized: 1,
            repeated_bytes: 0,
            scheduler: AnyScheduler::new(config.scheduler),
            energy_costs: Vec::new(),
            list: Vec::new(),
            closing: false,
            fins: false,
            data_fin: None,
            send_data_fin: false,
            fin_timer: None,
            fin_tries: 0,
            probe_timer: None,
            probe_tries: 0,
            asked_at: Instant::ZERO,
            unheard: 0,
            send_probe: false,
            reorder: Reorder::new(),
            peer_fin: None,
            peer_closed: false,
            // What a SYN says, which is not scaled (RFC 7323, section 2.2).
            advertised: 1 + autotune.buffer.min(65_535),
            autotune,
            ended: false,
            events: VecDeque::new(),
            work: false,
            rng,
            config,
        }
    }

    /// Writes to the stream; returns how many bytes of `data` were taken, from its start.
    /// None are once the stream was closed.
    pub fn write(&mut self, data: &P) -> usize {
        if self.closing || self.ended {
            return 0;
        }
        let taken = (data.len() as u64).min(self.write_space()) as usize;
        if taken > 0 {
            self.buffer.push(if taken == data.len() { data.clone() } else { data.slice(0, taken) });
            self.work = true;
        }
        taken
    }

    /// How many bytes [`write`](Self::write) would take.
    pub fn write_space(&self) -> u64 {
        // The acknowledgement of a DATA_FIN is one beyond the data.
        let waiting = self.buffer.end.saturating_sub(self.data_una).saturating_sub(self.freed());
        let space = self.config.send_buffer.saturating_sub(waiting);
        match self.turn() {
            Some(path) => {
                let sender = self.subflows[path.index()].sender();
                let held = sender.flight() + sender.queued() + (self.buffer.end - self.data_next);
                space.min(self.config.subflow_buffer.saturating_sub(held))
            }
            None => space,
        }
    }

    /// The application had `len` more bytes, found no room, and dropped them. Where data is dealt by
    /// shares they count as offered to the path whose turn it was, so that a full path does not hold
    /// up the others.
    pub fn dropped(&mut self, len: u64) {
        if let Some(path) = self.turn() {
            self.scheduler.dealt(path, len);
        }
    }

    /// Bytes written, in all.
    pub fn written(&self) -> u64 {
        self.buffer.end - 1
    }

    /// Bytes that the peer has acknowledged at data level.
    pub fn acknowledged(&self) -> u64 {
        self.data_una.min(self.buffer.end) - 1
    }

    /// Payload that was dealt to one subflow after another had it, in bytes: reinjections, opportunistic
    /// retransmissions, the copies of the redundant scheduler.
    pub fn repeated(&self) -> u64 {
        self.repeated_bytes
    }

    /// Takes the next piece of the stream in order, of at most `most` bytes.
    #[expect(
        clippy::inline_always,
        reason = "given back in memory it is read before its writes have got there"
    )]
    #[inline(always)]
    pub fn read(&mut self, most: usize) -> Option<P> {
        let piece = self.reorder.read(most)?;
        self.autotune.read(piece.len() as u64);
        self.offer_window();
        Some(piece)
    }

    /// Bytes that wait beyond a gap in the data stream.
    pub fn out_of_order(&self) -> u64 {
        self.reorder.out_of_order()
    }

    /// Bytes ready to be read.
    pub fn unread(&self) -> u64 {
        self.reorder.unread()
    }

    /// What happened since the last call, one by one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What the connection speaks.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// True once nothing more can happen.
    pub fn is_closed(&self) -> bool {
        self.ended
    }

    /// The subflow over `path`, if there ever was one.
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

    /// What must hold at any time, whatever the peer does: for tests.
    pub fn check(&self) -> Result<(), &'static str> {
        let held = |condition: bool, what| if condition { Ok(()) } else { Err(what) };
        self.subflows.iter().try_for_each(Subflow::check_invariants)?;
        self.reorder.check()?;
        self.check_promises()?;
        held(self.data_una <= self.data_sent(), "acknowledged more than was sent")?;
        held(self.data_next <= self.buffer.end, "dealt more than was written")?;
        held(self.data_next <= self.window_end.max(1), "dealt beyond the peer's window")?;
        held(self.unread() + self.out_of_order() <= self.advertised, "more data than was asked for")
    }

    fn slot(&mut self, path: PathId) -> usize {
        while self.subflows.len() <= path.index() {
            let path = PathId(self.subflows.len() as u8);
            self.subflows.push(Subflow::closed(path, &self.config));
        }
        path.index()
    }

    fn fail(&mut self, failure: Failure) {
        if !self.ended {
            self.end();
            self.events.push_back(Event::Failed(failure));
        }
    }
}
