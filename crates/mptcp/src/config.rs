//! What one endpoint is set to.

use crate::congestion::CongestionKind;
use crate::scheduler::SchedulerKind;
use units::Duration;

/// The settings of an endpoint. The default is what RFCs recommend; where Linux differs in a way
/// that matters, the field says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Offer Multipath TCP (RFC 8684). Without it the endpoint is plain TCP over one path.
    pub mptcp: bool,
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
    /// How fast each subflow sends.
    pub congestion: CongestionKind,
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
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mptcp: true,
            mss: 1460,
            send_buffer: 4 << 20,
            subflow_buffer: u64::MAX,
            recv_buffer: 4 << 20,
            scheduler: SchedulerKind::MinRtt,
            congestion: CongestionKind::Lia,
            initial_window: 10,
            sack: true,
            timestamps: true,
            delayed_ack: Duration::from_millis(40),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
            max_retries: 15,
            stale_after: 1,
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
