//! What one endpoint is set to.

use crate::congestion::CongestionKind;
use crate::rec::Rec;
use crate::scheduler::SchedulerKind;
use units::Duration;

/// What an endpoint does with explicit congestion notification (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnMode {
    /// Neither asks for it nor agrees to it.
    #[default]
    Off,
    /// Agrees where the peer asks (Linux `tcp_ecn`: 2, its default).
    Accept,
    /// Asks in its own SYN too (Linux `tcp_ecn`: 1).
    Request,
}

/// Probes of a connection on which nothing happens (RFC 9293, section 3.8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Quiet time before the first probe (Linux `tcp_keepalive_time`: 2 h).
    pub idle: Duration,
    /// Time between probes (Linux `tcp_keepalive_intvl`: 75 s).
    pub interval: Duration,
    /// A subflow that leaves so many unanswered is given up (Linux `tcp_keepalive_probes`: 9).
    pub probes: u32,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// The settings of an endpoint. The default is what RFCs recommend; where Linux differs in a way
/// that matters, the field says so, and [`linux`](Self::linux) has what it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Offer Multipath TCP (RFC 8684). Without it the endpoint is plain TCP over one path.
    pub mptcp: bool,
    /// Demand checksums over data (RFC 8684, section 3.3.1; Linux `net.mptcp.checksum_enabled`). They are
    /// used if either end demands them.
    pub checksum: bool,
    /// Ask for no joins to the address of the first subflow (flag C; RFC 8684, section 3.1). Addresses
    /// that were announced take them.
    pub deny_join: bool,
    /// The most subflows open at once, the first included (Linux `ip mptcp limits`: 3, two beside the
    /// first).
    pub max_subflows: u8,
    /// The most addresses of the peer that are taken note of (Linux `ip mptcp limits`: 0).
    pub max_addresses: u8,
    /// Offer Multipath TCP in so many SYNs, then in no more: something may drop those with the option
    /// (RFC 8684, section 3.1; Linux `net.mptcp.syn_retrans_before_tcp_fallback`: 2 and the first).
    pub mptcp_syns: u32,
    /// The largest payload of a segment before options are taken off, in bytes (RFC 9293, section
    /// 3.7.1): 1460 over Ethernet and IPv4.
    pub mss: u16,
    /// How much the application may write ahead of what the peer has acknowledged, in bytes.
    pub send_buffer: u64,
    /// How much one subflow may hold of data dealt to it ahead of its window, in bytes, as each socket
    /// of Linux or ns-3 has a send buffer of its own (ns-3: 131,072). Binds where the scheduler deals
    /// ahead by shares: a path whose own buffer is full takes no more of its share.
    pub subflow_buffer: u64,
    /// The receive window of the whole connection, in bytes: in-order data that the application has
    /// not read and data that waits for a gap to fill share it.
    pub recv_buffer: u64,
    /// Which subflow carries the next data.
    pub scheduler: SchedulerKind,
    /// Where the peer's window or the send buffer is full, a subflow with room sends again what the peer
    /// waits for from a slower one (Raiciu et al., NSDI 2012, section 4.2).
    pub opportunistic: bool,
    /// In the same case halve the window of the slower subflow, once a round trip (there too).
    pub penalise: bool,
    /// How fast each subflow sends.
    pub congestion: CongestionKind,
    /// Windows count as Linux counts them, which comes to some 15 % less where they are small and losses
    /// many. They grow by what an acknowledgement newly says to have arrived, not by what SACK had told
    /// before (RFC 3465 counts all that it acknowledges); and CUBIC has whole segments and an estimate of
    /// Reno's window that always grows by 3(1-b)/(1+b) a round trip (RFC 9438, section 4.3, by 1 in the end).
    pub linux_counting: bool,
    /// Offer MPTCP-rec, and speak it with a peer that does too (see [`rec`](crate::rec)).
    pub rec: Option<Rec>,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Offer selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// How long an acknowledgement may wait for company (RFC 9293, section 3.8.6.3: below 500 ms;
    /// Linux: 40 ms). Zero acknowledges every segment at once.
    pub delayed_ack: Duration,
    /// Retransmission timeout before the first sample (RFC 6298: 1 s).
    pub initial_rto: Duration,
    /// Lower bound of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).
    pub min_rto: Duration,
    /// Upper bound of the retransmission timeout (RFC 6298: at least 60 s).
    pub max_rto: Duration,
    /// A subflow that times out so often in a row is given up (Linux `tcp_retries2`: 15).
    pub max_retries: u32,
    /// After so many timeouts in a row a subflow is stale: what it has in flight is sent again over
    /// another, and it gets nothing new until it answers (Linux `net.mptcp.stale_loss_cnt`: 4; here
    /// 1, since a simulated user has no patience either).
    pub stale_after: u32,
    /// Judge losses by time, and probe for lost tails: RACK-TLP (RFC 8985). Needs SACK.
    pub rack: bool,
    /// Tell the peer what came twice (RFC 2883). Needs SACK.
    pub dsack: bool,
    /// Reduce the window over a round trip, in step with what is delivered, and not at once: PRR
    /// (RFC 9937). Needs SACK; algorithms that keep a model of the path do without.
    pub prr: bool,
    /// Find out whether a timeout was spurious (RFC 5682, with SACK or without), and take the reduction back where it was.
    pub frto: bool,
    /// Take a reduction back where the answer shows that all retransmissions were needless, by
    /// timestamps (RFC 3522, RFC 4015) or by duplicate SACK (RFC 3708).
    pub undo: bool,
    /// Leave slow start when round trips grow: `HyStart++` (RFC 9406). Linux has the older `HyStart`,
    /// for CUBIC only.
    pub hystart: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: EcnMode,
    /// Space segments at a multiple of the window over the round trip, as Linux does under `fq`.
    /// Congestion control that sets a rate of its own is paced in any case.
    pub pacing: bool,
    /// Grow the receive buffer with what the application reads in a round trip, from so many bytes up
    /// to `recv_buffer` (Linux `tcp_rmem`: 131,072). `None` starts with all of it.
    pub autotune: Option<u64>,
    /// Probe subflows on which nothing happens. As with any TCP, an end that only listens notices in no other
    /// way that a middlebox has forgotten the connection, or that its peer is gone: none by default (RFC 9293,
    /// section 3.8.4), and a device behind an address translator wants one shorter than its memory.
    pub keepalive: Option<Keepalive>,
    /// An MPTCP connection without a subflow fails after so long, with the reason for which it lost the
    /// last one (Linux `net.mptcp.close_timeout`: 60 s). `None` waits for ever: a device may come back.
    pub close_timeout: Option<Duration>,
    /// Drop segments with timestamps older than what came last: PAWS (RFC 7323, section 5).
    pub paws: bool,
    /// Refuse acknowledgements far behind and challenge a SYN inside the window (RFC 5961).
    pub challenge_acks: bool,
    /// Acknowledge every segment of the start at once, so that the peer's window opens (Linux: up to
    /// 16 of them).
    pub quickack: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mptcp: true,
            checksum: false,
            deny_join: false,
            max_subflows: u8::MAX,
            max_addresses: u8::MAX,
            mptcp_syns: u32::MAX,
            mss: 1460,
            send_buffer: 4 << 20,
            subflow_buffer: u64::MAX,
            recv_buffer: 4 << 20,
            scheduler: SchedulerKind::MinRtt,
            opportunistic: false,
            penalise: false,
            congestion: CongestionKind::Lia,
            linux_counting: false,
            rec: None,
            initial_window: 10,
            sack: true,
            timestamps: true,
            delayed_ack: Duration::from_millis(40),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
            max_retries: 15,
            stale_after: 1,
            rack: false,
            dsack: false,
            prr: false,
            frto: false,
            undo: false,
            hystart: false,
            ecn: EcnMode::Off,
            pacing: false,
            autotune: None,
            keepalive: None,
            close_timeout: None,
            paws: false,
            challenge_acks: false,
            quickack: false,
        }
    }
}

impl Config {
    /// What Linux 6 does unless told otherwise. It has the older `HyStart` where this has `HyStart++`,
    /// and does not pace unless the queueing discipline is `fq`.
    pub fn linux() -> Self {
        Self {
            send_buffer: 4 << 20,
            recv_buffer: 6_291_456,
            scheduler: SchedulerKind::Linux,
            congestion: CongestionKind::Cubic,
            linux_counting: true,
            stale_after: 4,
            rack: true,
            dsack: true,
            prr: true,
            frto: true,
            undo: true,
            hystart: true,
            ecn: EcnMode::Accept,
            autotune: Some(131_072),
            close_timeout: Some(Duration::from_secs(60)),
            paws: true,
            challenge_acks: true,
            quickack: true,
            ..Self::default()
        }
    }
}

/// Eq. (1) of the eMTCP paper, from RFC 6182, section 5.3: the receive buffer with which no subflow
/// stalls while another recovers: twice the sum of the bandwidths times the longest round trip.
///
/// `bandwidths_bps` in bits per second, `rtt_max` the longest round-trip time; the result in bytes.
pub fn receive_buffer(bandwidths_bps: &[u64], rtt_max: Duration) -> u64 {
    let sum: u128 = bandwidths_bps.iter().map(|&b| u128::from(b)).sum();
    (2 * sum * u128::from(rtt_max.as_nanos()) / 8_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equation_1_gives_the_papers_buffer() {
        // 2 Mbit/s and 100 Mbit/s, 100 ms: 2.55 Mbyte (eMTCP paper, section V.A).
        assert_eq!(receive_buffer(&[2_000_000, 100_000_000], Duration::from_millis(100)), 2_550_000);
    }
}
