//! One subflow: a TCP connection over one path.

mod held;
mod receiver;
mod rtt;
mod sender;

pub(crate) use held::Held;
pub(crate) use receiver::{Arrival, Receiver};
pub(crate) use rtt::Rtt;
pub(crate) use sender::{Chunk, Sender};

use crate::{Config, PathId};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::{Ecn, Flags, MptcpSignal, Payload, Segment};

/// How long a closed subflow still answers a repeated FIN (Linux: 60 s; RFC 9293: twice the longest
/// life of a segment).
pub(crate) const TIME_WAIT: Duration = Duration::from_secs(60);
/// The peer's clock is not remembered for longer (RFC 7323, section 5.5).
const CLOCK_LIFE: Duration = Duration::from_secs(24 * 86_400);
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// Where a subflow stands (RFC 9293, section 3.3.2; the closing states follow from which FINs were
/// sent, acknowledged and received).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    SynSent,
    SynReceived,
    /// The third ACK of a join is out, the fourth is awaited (RFC 8684, section 3.2).
    Confirming,
    Established,
    TimeWait {
        until: Instant,
    },
}

/// A data sequence mapping kept for bytes still to come, in offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mapped {
    pub(crate) subflow: u64,
    pub(crate) data: u64,
    pub(crate) len: u64,
    /// What the sum over its data must come to, where that is still to be seen.
    pub(crate) checksum: Option<u16>,
}

impl Mapped {
    /// Subflow offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.subflow + self.len
    }
}

/// Send and receive state of one TCP connection, and how it stands to the others.
///
/// In the order of use, as [`Sender`]: what every segment looks at lies first and together.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Subflow<P> {
    pub(crate) state: State,
    pub(crate) path: PathId,
    pub(crate) peer_scale: u8,
    pub(crate) own_scale: u8,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    /// Both ends heed congestion marks (RFC 3168, section 6.1.1).
    pub(crate) ecn: bool,
    /// We asked for it to be a backup; the peer did.
    pub(crate) backup_here: bool,
    pub(crate) backup_there: bool,
    pub(crate) stale: bool,
    pub(crate) fin_queued: bool,
    /// A SYN, or the answer to one, must go out.
    pub(crate) send_syn: bool,
    /// The handshake's last ACK must go out (again).
    pub(crate) send_handshake_ack: bool,
    /// The next bare acknowledgement is a probe.
    pub(crate) send_probe: bool,
    /// Data of ours was acknowledged with a DATA_ACK; and lately without.
    pub(crate) proven: bool,
    pub(crate) bare: bool,
    /// Acknowledgements in a row that had no reason to come.
    pub(crate) idle_repeats: u8,
    /// Joined to a connection that was there (RFC 8684, section 3.2).
    pub(crate) joined: bool,
    /// The peer's FIN came before ours went out: the peer is the one to wait (RFC 9293, section 3.6).
    pub(crate) closed_first_there: bool,
    /// The window field of the last segment that came.
    pub(crate) peer_window: Option<u16>,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// Initial sequence numbers, ours and the peer's.
    pub(crate) iss: u32,
    pub(crate) irs: u32,
    /// Payload of a full segment, options taken off.
    pub(crate) payload_max: u64,
    /// When anything was heard of the peer.
    pub(crate) heard: Instant,
    pub(crate) keepalive_at: Option<Instant>,
    /// Keepalive probes in a row without an answer.
    pub(crate) probes: u32,
    pub(crate) receiver: Receiver,
    /// The widest window that the peer has offered.
    pub(crate) widest: u64,
    /// Where all data goes over every subflow: data offset after what was dealt to this one.
    pub(crate) copied: u64,
    pub(crate) reset: Option<Box<Reset>>,
    /// Payload that has no mapping yet, or that waits for the rest of its mapping's.
    pub(crate) held: Held<P>,
    pub(crate) mappings: Vec<Mapped>,
    pub(crate) signals: VecDeque<MptcpSignal>,
    /// Offset of our FIN once sent.
    pub(crate) fin_at: Option<u64>,
    pub(crate) sender: Sender<P>,

    /// When payload in order has waited too long for its mapping.
    pub(crate) unmapped: Option<Instant>,
    pub(crate) local_id: u8,
    pub(crate) remote_id: u8,
    pub(crate) local_nonce: u32,
    pub(crate) remote_nonce: u32,
    pub(crate) syn_sent_at: Instant,
    pub(crate) syn_tries: u32,
    /// The handshake's last ACK must be answered, even by a peer that sees no MPTCP in it.
    pub(crate) ask_for_answer: bool,
    /// When something that does not fit was last answered (see [`Subflow::challenge`]).
    challenged: Option<Instant>,
    /// Remote ports of the subflows that were here before.
    pub(crate) earlier: Vec<u16>,
    /// What our reset said, for as long as the peer goes on.
    pub(crate) told: Option<MptcpSignal>,
    /// It ended in a way that another try would not change.
    pub(crate) barred: bool,
}

/// A reset to be sent; it may answer a segment of no subflow that is here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reset {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) signal: Option<MptcpSignal>,
}

impl<P: Payload> Subflow<P> {
    pub(crate) fn closed(path: PathId, config: &Config) -> Self {
        let mss = u64::from(config.mss);
        Self {
            path,
            state: State::Closed,
            joined: false,
            local_port: 0,
            remote_port: 0,
            iss: 0,
            irs: 0,
            sender: Sender::new(config, mss),
            receiver: Receiver::new(config),
            payload_max: mss,
            peer_scale: 0,
            own_scale: window_scale(config.recv_buffer),
            timestamps: config.timestamps,
            sack: config.sack,
            ecn: false,
            backup_here: false,
            backup_there: false,
            local_id: 0,
            remote_id: 0,
            local_nonce: 0,
            remote_nonce: 0,
            send_syn: false,
            syn_sent_at: Instant::ZERO,
            syn_tries: 0,
            send_handshake_ack: false,
            ask_for_answer: false,
            reset: None,
            challenged: None,
            heard: Instant::ZERO,
            keepalive_at: None,
            probes: 0,
            send_probe: false,
            widest: 65_535,
            earlier: Vec::new(),
            peer_window: None,
            signals: VecDeque::new(),
            fin_queued: false,
            fin_at: None,
            mappings: Vec::new(),
            held: Held::new(),
            unmapped: None,
            proven: false,
            bare: false,
            idle_repeats: 0,
            told: None,
            barred: false,
            stale: false,
            copied: 0,
            closed_first_there: false,
        }
    }

    /// A segment that does not fit is answered with where we stand, but not each one: two ends that
    /// disagree would answer one another for ever (RFC 5961, section 7; Linux
    /// `tcp_invalid_ratelimit`: 500 ms).
    pub(crate) fn challenge(&mut self, now: Instant) {
        if self.challenged.is_none_or(|last| now.since(last) >= CHALLENGE_INTERVAL) {
            self.challenged = Some(now);
            self.receiver.ack_now = true;
        }
    }

    /// Older than what came last, by the peer's own clock: PAWS (RFC 7323, section 5.3). A clock not
    /// heard for long may have gone round.
    pub(crate) fn is_outdated(&self, now: Instant, segment: &Segment<P>) -> bool {
        self.timestamps
            && segment.timestamps.is_some_and(|clock| {
                (clock.value.wrapping_sub(self.receiver.peer_clock) as i32) < 0
                    && now.since(self.receiver.peer_clock_at) < CLOCK_LIFE
            })
    }

    /// What a segment says of congestion, on the way here and on the way there (RFC 3168, sections
    /// 6.1.2 and 6.1.3).
    pub(crate) fn heed_marks(&mut self, now: Instant, ack: u64, segment: &Segment<P>) {
        if segment.flags.has(Flags::CWR) {
            self.receiver.marked = false;
        }
        if segment.ecn == Ecn::Ce {
            self.receiver.ack_now |= !self.receiver.marked;
            self.receiver.marked = true;
        }
        if segment.flags.has(Flags::ECE) {
            self.sender.on_echo(now, ack);
        }
    }

    /// The round trip from here, by the clock that the peer echoes.
    pub(crate) fn measure_backwards(&mut self, now: Instant, segment: &Segment<P>) -> Option<Duration> {
        let clock = segment.timestamps.filter(|_| self.timestamps)?;
        self.receiver.measure(clock_at(now), clock.echo)
    }

    /// What must hold at any time.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        self.sender.check()?;
        if self.state == State::Established && self.sender.flight() > 0 && self.sender.timer.is_none() {
            return Err("data in flight and no timer");
        }
        Ok(())
    }

    /// The mapping of the byte at an offset, of those that were kept.
    pub(crate) fn mapping_of(&self, at: u64) -> Option<Mapped> {
        self.mappings.iter().find(|m| m.subflow <= at && at < m.end()).copied()
    }
    /// Data may be sent over it.
    pub(crate) fn carries_data(&self) -> bool {
        self.state == State::Established && !self.fin_queued
    }
    pub(crate) fn is_backup(&self) -> bool {
        self.backup_here || self.backup_there
    }
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed | State::TimeWait { .. })
    }
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.sender.una > fin)
    }

    /// A handshake, a reset or a signal may have to be sent.
    #[inline]
    pub(crate) fn has_control(&self) -> bool {
        self.send_syn || self.send_handshake_ack || self.reset.is_some() || !self.signals.is_empty()
    }

    /// When something must happen by itself; [`Instant::MAX`] for never.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        match self.state {
            State::TimeWait { until } => return until,
            State::Closed => return Instant::MAX,
            _ => {}
        }
        let others = [self.receiver.ack_at, self.keepalive_at];
        others.into_iter().fold(self.sender.next_timeout(), |first, at| first.min(at.unwrap_or(Instant::MAX)))
    }
}

/// The timestamp clock: milliseconds (RFC 7323, section 5.4).
pub(crate) fn clock_at(now: Instant) -> u32 {
    (now.as_millis() as u32).wrapping_add(1)
}

/// The smallest scale with which 16 bits can say the buffer (RFC 7323, section 2.3: at most 14).
pub(crate) fn window_scale(buffer: u64) -> u8 {
    (0..14).find(|&shift| buffer >> shift <= 65_535).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::window_scale;

    #[test]
    fn the_scale_reaches_the_buffer() {
        assert_eq!(window_scale(65_535), 0);
        assert_eq!(window_scale(65_536), 1);
        assert_eq!(window_scale(2_550_000), 6);
        assert_eq!(window_scale(u64::MAX), 14);
    }
}
