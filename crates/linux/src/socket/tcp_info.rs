//! TCP statistics of the kernel (`struct tcp_info` of `<linux/tcp.h>`).

use crate::netlink::{Malformed, read_array};

/// Length of the structure as read here. Fields unknown to the running kernel are zero.
pub(super) const TCP_INFO_BYTES: usize = 232;

/// State of a TCP connection (RFC 9293, section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum TcpState {
    Established,
    SynSent,
    SynReceived,
    FinWait1,
    FinWait2,
    TimeWait,
    #[default]
    Closed,
    CloseWait,
    LastAck,
    Listen,
    Closing,
    /// Half-open connection without a full socket.
    NewSynReceived,
    /// Another state number.
    Unknown(u8),
}

impl From<u8> for TcpState {
    fn from(number: u8) -> Self {
        match number {
            1 => Self::Established,
            2 => Self::SynSent,
            3 => Self::SynReceived,
            4 => Self::FinWait1,
            5 => Self::FinWait2,
            6 => Self::TimeWait,
            7 => Self::Closed,
            8 => Self::CloseWait,
            9 => Self::LastAck,
            10 => Self::Listen,
            11 => Self::Closing,
            12 => Self::NewSynReceived,
            other => Self::Unknown(other),
        }
    }
}

/// Statistics of a TCP connection: a subset of `struct tcp_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// Connection state.
    pub state: TcpState,
    /// Consecutive retransmission timeouts.
    pub retransmits: u8,
    /// `delivery_rate` was measured while the application limited sending.
    pub app_limited: bool,
    /// Retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// Smoothed round-trip time (RFC 6298), in microseconds; 0 before the first sample.
    pub srtt_us: u32,
    /// Round-trip time variation, in microseconds.
    pub rttvar_us: u32,
    /// Minimum round-trip time of the recent past, in microseconds.
    pub min_rtt_us: u32,
    /// Maximum segment size for sending, in bytes.
    pub mss: u32,
    /// Path MTU, in bytes.
    pub pmtu: u32,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Slow-start threshold, in segments; 2^31 - 1 while unset.
    pub ssthresh: u32,
    /// Segments in flight.
    pub unacked: u32,
    /// Segments marked as lost.
    pub lost: u32,
    /// Segments retransmitted since the start.
    pub total_retransmitted: u32,
    /// Milliseconds since data was last sent.
    pub last_data_sent_ms: u32,
    /// Milliseconds since data was last received.
    pub last_data_received_ms: u32,
    /// Milliseconds since an acknowledgement was last received.
    pub last_ack_received_ms: u32,
    /// Pacing rate, in bytes per second.
    pub pacing_rate: u64,
    /// Recent delivery rate, in bytes per second.
    pub delivery_rate: u64,
    /// Payload bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Payload bytes acknowledged by the peer, plus one for the SYN.
    pub bytes_acked: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Payload bytes queued in the subflow and not sent yet.
    pub not_sent: u32,
    /// Peer's receive window, in bytes.
    pub send_window: u32,
    /// Segments sent.
    pub segments_out: u32,
    /// Segments received.
    pub segments_in: u32,
}

impl TcpInfo {
    /// Parses the structure of any kernel version.
    ///
    /// # Errors
    /// Fails when it is shorter than in the first kernel that had it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() < 104 {
            return Err(Malformed("truncated tcp_info"));
        }
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = |at: usize| read_array(bytes, at).map_or(0, u32::from_ne_bytes);
        let long = |at: usize| read_array(bytes, at).map_or(0, u64::from_ne_bytes);
        Ok(Self {
            state: byte(0).into(),
            retransmits: byte(2),
            // Bit-field layout: the first bit is the lowest on little-endian machines.
            app_limited: byte(7) & if cfg!(target_endian = "little") { 1 } else { 0x80 } != 0,
            rto_us: word(8),
            mss: word(16),
            unacked: word(24),
            lost: word(32),
            last_data_sent_ms: word(44),
            last_data_received_ms: word(52),
            last_ack_received_ms: word(56),
            pmtu: word(60),
            srtt_us: word(68),
            rttvar_us: word(72),
            ssthresh: word(76),
            cwnd: word(80),
            total_retransmitted: word(100),
            pacing_rate: long(104),
            bytes_acked: long(120),
            bytes_received: long(128),
            segments_out: word(136),
            segments_in: word(140),
            not_sent: word(144),
            min_rtt_us: word(148),
            delivery_rate: long(160),
            bytes_sent: long(200),
            bytes_retransmitted: long(208),
            send_window: word(228),
        })
    }
}
