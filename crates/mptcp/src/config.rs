//! Configuration of an endpoint.

use crate::congestion::{CongestionChoice, CongestionKind};
use crate::rec::Rec;
use crate::scheduler::{SchedulerChoice, SchedulerKind};
use units::Duration;

/// Use of explicit congestion notification (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnMode {
    /// Neither requests nor accepts it.
    #[default]
    Off,
    /// Accepts it if the peer requests it (Linux `tcp_ecn`: 2, its default).
    Accept,
    /// Also requests it in SYNs (Linux `tcp_ecn`: 1).
    Request,
}

/// Rule by which slow start ends before the first loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HyStartMode {
    /// Only a loss or the threshold ends slow start.
    #[default]
    Off,
    /// `HyStart` of Ha and Rhee (2011) with the parameters of Linux: by the length of a train of
    /// acknowledgements, or by a longer round trip.
    Original,
    /// `HyStart++` (RFC 9406).
    Rfc9406,
}

/// Keepalive probes of idle subflows (RFC 9293, section 3.8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Idle time before the first probe (Linux `tcp_keepalive_time`: 2 h).
    pub idle: Duration,
    /// Time between probes (Linux `tcp_keepalive_intvl`: 75 s).
    pub interval: Duration,
    /// Unanswered probes after which the subflow is given up (Linux `tcp_keepalive_probes`: 9).
    pub probes: u32,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// Settings of an endpoint. The default follows the RFCs, [`linux`](Self::linux) follows Linux. The
/// fields name Linux's own values.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Offer Multipath TCP (RFC 8684). Without it the endpoint is plain TCP over one path.
    pub mptcp: bool,
    /// Request DSS checksums (RFC 8684, section 3.3.1; Linux `net.mptcp.checksum_enabled`). They
    /// are used if either end requests them.
    pub checksum: bool,
    /// Ask the peer for no joins to the address of the first subflow (flag C; RFC 8684, section
    /// 3.1). Announced addresses accept joins.
    pub deny_join: bool,
    /// Most subflows open at once, including the first (Linux `ip mptcp limits`: 3).
    pub max_subflows: u8,
    /// Most addresses of the peer that are accepted (Linux `ip mptcp limits`: 0).
    pub max_addresses: u8,
    /// SYNs that offer Multipath TCP before plain ones are sent, because a middlebox may drop SYNs
    /// with the option (RFC 8684, section 3.1; Linux `net.mptcp.syn_retrans_before_tcp_fallback`: 2
    /// after the first).
    pub mptcp_syns: u32,
    /// Largest payload of a segment without options, in bytes (RFC 9293, section 3.7.1): 1460 over
    /// Ethernet and IPv4.
    pub mss: u16,
    /// Most bytes that the application may write ahead of the peer's acknowledgements.
    pub send_buffer: u64,
    /// Send buffer of each subflow, in bytes, as each socket of Linux or ns-3 has one (ns-3:
    /// 131,072). It applies if the scheduler assigns data by shares: a path whose buffer is full
    /// takes no more of its share.
    pub subflow_buffer: u64,
    /// Receive buffer of the connection, in bytes. Unread data and out-of-order data share it.
    pub recv_buffer: u64,
    /// Smallest window scale to offer (RFC 7323). Above 0, a window that opens is rounded up to its
    /// unit, as in Linux (`__tcp_select_window`), so that the edge of the window falls between
    /// segments. Linux 6.18 offers at least 7, for `net.core.rmem_max` of 4 MiB
    /// (`tcp_select_initial_window`).
    pub min_window_scale: u8,
    /// Wait for the window of a full segment before sending at its edge (RFC 9293, section
    /// 3.8.6.2.1). Linux does not at the data level (`mptcp_check_allowed_size`): a connection that
    /// its window limits sends short segments.
    pub avoid_silly_window: bool,
    /// Scheduler, which chooses the subflow for new data: a registered one, or one from another
    /// crate.
    pub scheduler: SchedulerChoice,
    /// Opportunistic retransmission: while the peer's window or the send buffer is full, a subflow
    /// with room retransmits data of a slower one (Raiciu et al., NSDI 2012, section 4.2).
    pub opportunistic: bool,
    /// Penalisation: in the same case, halve the congestion window of the slower subflow, at most
    /// once per round trip (same source).
    pub penalise: bool,
    /// Congestion control of each subflow: a registered one, or one from another crate.
    pub congestion: CongestionChoice,
    /// Grow congestion windows as Linux does, which makes throughput about 15 % lower with small
    /// windows and many losses. Growth counts newly delivered data, without data that SACK reported
    /// before (RFC 3465 counts everything acknowledged). CUBIC uses whole segments, and its
    /// estimate of Reno's window always grows by 3(1-b)/(1+b) per round trip (in RFC 9438, section
    /// 4.3, finally by 1). Idle time halves the window for each timeout, instead of a restart with
    /// the initial window.
    pub linux_counting: bool,
    /// Follow CUBIC's curve as Linux does: one lowest round trip ahead, in whole segments, at least
    /// by 5 % a round trip before the first loss. RFC 9438, section 4.2: one round trip ahead.
    pub linux_curve: bool,
    /// Offer MPTCP-rec, and use it if the peer does as well (see [`rec`](crate::rec)).
    pub rec: Option<Rec>,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Offer selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Longest delay of an acknowledgement (RFC 9293, section 3.8.6.3: below 500 ms; Linux: 40 ms).
    /// Zero acknowledges every segment at once.
    pub delayed_ack: Duration,
    /// Shortest time between acknowledgements of data in order. Linux acknowledges arrivals that it
    /// handles together (GRO, socket backlog) once: measured on Linux 6.18, 20,000 to 26,000
    /// acknowledgements a second at 1 to 2 Gbit/s, and every second segment below 500 Mbit/s. Zero
    /// acknowledges every second segment at any rate.
    pub ack_coalescing: Duration,
    /// Longest delay of an acknowledgement that several segments beyond a gap share, after the first
    /// three for a gap (Linux `tcp_comp_sack_delay_ns`: 1 ms, at most 33 % of a round trip and 44
    /// segments). Zero acknowledges each of them at once.
    pub sack_compression: Duration,
    /// A round-trip sample begins with the first segment that an acknowledgement covers, so that it
    /// contains the delay of the acknowledgement, as it does with timestamps (RFC 7323, section 4.3) and
    /// in Linux (`tcp_clean_rtx_queue`). Otherwise it begins with the last.
    pub ack_delay_in_rtt: bool,
    /// Retransmission timeout before the first sample (RFC 6298: 1 s).
    pub initial_rto: Duration,
    /// Lower bound of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).
    pub min_rto: Duration,
    /// Smallest margin of the retransmission timeout above the smoothed round trip. RFC 6298,
    /// section 2.3: the clock granularity, 1 ms. Linux (`tcp_rtt_estimator`): 200 ms.
    pub min_rto_margin: Duration,
    /// Upper bound of the retransmission timeout (RFC 6298: at least 60 s).
    pub max_rto: Duration,
    /// Consecutive timeouts after which a subflow is given up (Linux `tcp_retries2`: 15).
    pub max_retries: u32,
    /// Consecutive timeouts after which a subflow is stale: its data in flight is reinjected on
    /// another subflow, and it gets no new data until it is acknowledged (Linux
    /// `net.mptcp.stale_loss_cnt`: 4).
    pub stale_after: u32,
    /// Repeat the first unacknowledged data over an idle subflow when a timer of the connection
    /// expires, and count `stale_after` in expiries of this timer in which the subflow received
    /// nothing, as Linux does. Once a subflow is stale or closed without an orderly end, all data that
    /// has no DATA_ACK is sent again, also what others have carried
    /// (`__mptcp_retransmit_pending_data`). No window probes are sent while data is outstanding.
    pub data_retransmission: bool,
    /// Detect losses by time, and probe for lost tails: RACK-TLP (RFC 8985). Needs SACK.
    pub rack: bool,
    /// Report segments received twice: DSACK (RFC 2883). Needs SACK.
    pub dsack: bool,
    /// Reduce the congestion window gradually over a round trip: PRR (RFC 9937). Needs SACK.
    /// Algorithms that model the path do not use it.
    pub prr: bool,
    /// Detect spurious timeouts and revert their reductions: F-RTO (RFC 5682), with or without
    /// SACK.
    pub frto: bool,
    /// Revert a reduction if all its retransmissions prove needless, by timestamps (RFC 3522, RFC
    /// 4015) or by DSACK (RFC 3708).
    pub undo: bool,
    /// Leave slow start before the queue is full. Linux has [`HyStartMode::Original`], for CUBIC
    /// only.
    pub hystart: HyStartMode,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: EcnMode,
    /// Pace segments at a multiple of the window per round trip, as Linux does with `fq`.
    /// Algorithms that set a rate are always paced.
    pub pacing: bool,
    /// Autotune the receive buffer, from this many bytes up to `recv_buffer`, by the bytes read in
    /// a round trip (Linux: 80 KiB). `None` uses `recv_buffer` from the start.
    pub autotune: Option<u64>,
    /// Begin with a window of at most 64 KiB. Open it by two segments per segment received, up to
    /// the buffer, and acknowledge each of them at once (Linux `tcp_grow_window`). Otherwise it is
    /// as large as the buffer.
    pub gradual_window: bool,
    /// Take data beyond a gap from the window offered: Linux counts the memory of all data in the
    /// receive buffer (`mptcp_space`). Otherwise the window ends a buffer after the data in order.
    pub count_out_of_order: bool,
    /// Keep data beyond a gap of its subflow there, and take nothing from the window for it: Linux's
    /// subflows pass on data in order. Otherwise it enters the stream at once.
    pub subflow_order: bool,
    /// Send and drop data beyond the receive window as Linux does. A duplicate acknowledgement does
    /// not narrow the window of its subflow (`tcp_may_update_window`), and its DATA_ACK moves that
    /// window on (`ack_update_msk`). The receiver drops what is out of order and beyond the window it
    /// offered, after the subflow has acknowledged it (`mptcp_data_queue_ofo`): the data level has to
    /// repeat it.
    pub overruns_window: bool,
    /// Send keepalive probes on idle subflows; `None` by default (RFC 9293, section 3.8.4). Without
    /// them an end that only receives cannot notice that its peer has gone, or that a middlebox has
    /// forgotten the connection. Behind an address translator the idle time must be shorter than
    /// the translator's timeout.
    pub keepalive: Option<Keepalive>,
    /// Time after which an MPTCP connection without a subflow fails, with the reason that ended the
    /// last one (Linux `net.mptcp.close_timeout`: 60 s). `None` waits for ever.
    pub close_timeout: Option<Duration>,
    /// Drop segments with a timestamp older than the latest: PAWS (RFC 7323, section 5).
    pub paws: bool,
    /// Refuse very old acknowledgements, and challenge a SYN inside the window (RFC 5961).
    pub challenge_acks: bool,
    /// Acknowledge each of the first segments at once, so that the peer's window opens (Linux: up
    /// to 16).
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
            min_window_scale: 0,
            avoid_silly_window: true,
            scheduler: SchedulerKind::MinRtt.into(),
            opportunistic: false,
            penalise: false,
            congestion: CongestionKind::Lia.into(),
            linux_counting: false,
            linux_curve: false,
            rec: None,
            initial_window: 10,
            sack: true,
            timestamps: true,
            delayed_ack: Duration::from_millis(40),
            ack_coalescing: Duration::ZERO,
            sack_compression: Duration::ZERO,
            ack_delay_in_rtt: false,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            min_rto_margin: Duration::from_millis(1),
            max_rto: Duration::from_secs(60),
            max_retries: 15,
            stale_after: 1,
            data_retransmission: false,
            rack: false,
            dsack: false,
            prr: false,
            frto: false,
            undo: false,
            hystart: HyStartMode::Off,
            ecn: EcnMode::Off,
            pacing: false,
            autotune: None,
            gradual_window: false,
            count_out_of_order: false,
            subflow_order: false,
            overruns_window: false,
            keepalive: None,
            close_timeout: None,
            paws: false,
            challenge_acks: false,
            quickack: false,
        }
    }
}

impl Config {
    /// The defaults of Linux 6. `tcp_rmem` counts memory: the window is 5/8 of it with packets of
    /// 1500 bytes, 80 KiB at first and up to 3.75 MiB. As in Linux without the `fq` queueing discipline, segments are not paced.
    pub fn linux() -> Self {
        Self {
            send_buffer: 4 << 20,
            recv_buffer: 3_932_160,
            min_window_scale: 7,
            avoid_silly_window: false,
            scheduler: SchedulerKind::Linux.into(),
            congestion: CongestionKind::Cubic.into(),
            linux_counting: true,
            linux_curve: true,
            ack_coalescing: Duration::from_micros(50),
            sack_compression: Duration::from_millis(1),
            ack_delay_in_rtt: true,
            stale_after: 4,
            data_retransmission: true,
            min_rto_margin: Duration::from_millis(200),
            rack: true,
            dsack: true,
            prr: true,
            frto: true,
            undo: true,
            hystart: HyStartMode::Original,
            ecn: EcnMode::Accept,
            autotune: Some(81_920),
            gradual_window: true,
            count_out_of_order: true,
            subflow_order: true,
            overruns_window: true,
            close_timeout: Some(Duration::from_secs(60)),
            paws: true,
            challenge_acks: true,
            quickack: true,
            ..Self::default()
        }
    }

    /// Multipath TCP of the MPTCP-NS3 project for ns-3 of 2011 to 2013, which the eMTCP paper used:
    /// one send buffer for the connection, and round robin in pieces of an MSS over the subflows
    /// with an available window.
    ///
    /// Its congestion controls are `RTT_Compensator` (its default, here [`Lia`](CongestionKind::Lia)),
    /// `Linked_Increases`, `Fully_Coupled` and `Uncoupled_TCPs` ([`Reno`](CongestionKind::Reno)). The
    /// retransmission timeout is at least a second. All else is as in the default.
    pub fn ns3_mptcp_2012() -> Self {
        Self {
            scheduler: SchedulerKind::RoundRobin.into(),
            congestion: CongestionKind::Lia.into(),
            subflow_buffer: u64::MAX,
            min_rto: Duration::from_secs(1),
            ..Self::default()
        }
    }
}

/// Receive buffer in bytes with which no subflow stalls while another recovers from a loss: twice
/// the sum of the bandwidths times the longest round-trip time (RFC 6182, section 5.3; equation 1
/// of the eMTCP paper).
///
/// `bandwidths_bps` is in bits per second.
pub fn receive_buffer(bandwidths_bps: &[u64], rtt_max: Duration) -> u64 {
    let sum: u128 = bandwidths_bps.iter().map(|&b| u128::from(b)).sum();
    (2 * sum * u128::from(rtt_max.as_nanos()) / 8_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_buffer_matches_the_emtcp_paper() {
        // 2 Mbit/s and 100 Mbit/s, 100 ms: 2.55 Mbyte (eMTCP paper, section V.A).
        assert_eq!(receive_buffer(&[2_000_000, 100_000_000], Duration::from_millis(100)), 2_550_000);
    }
}
