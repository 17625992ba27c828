//! What the kernel knows of a TCP connection (`struct tcp_info` of `<linux/tcp.h>`).

use crate::netlink::{Malformed, fixed};

/// The length of the structure that is read here. Kernels know less or more: what is not told is zero.
pub(super) const LENGTH: usize = 232;

/// The state of a TCP connection (RFC 9293, section 3.3.2).
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
    /// A half-open connection that has no socket yet.
    NewSynReceived,
    /// Another number.
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

/// What the kernel knows of a TCP connection, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// Its state.
    pub state: TcpState,
    /// Timeouts in a row without an answer.
    pub retransmits: u8,
    /// The rate below was measured while the application had no more to send.
    pub app_limited: bool,
    /// Retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// Smoothed round-trip time (RFC 6298), in microseconds; 0 before the first sample.
    pub srtt_us: u32,
    /// Its variation, in microseconds.
    pub rttvar_us: u32,
    /// The least round-trip time seen lately, in microseconds.
    pub min_rtt_us: u32,
    /// Largest segment that is sent, in bytes.
    pub mss: u32,
    /// Path MTU, in bytes.
    pub pmtu: u32,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Slow-start threshold, in segments; 2^31 - 1 where there is none yet.
    pub ssthresh: u32,
    /// Segments sent and not yet acknowledged.
    pub unacked: u32,
    /// Segments thought to be lost.
    pub lost: u32,
    /// Segments sent again, ever.
    pub total_retransmitted: u32,
    /// Milliseconds since data was sent.
    pub last_data_sent_ms: u32,
    /// Milliseconds since data was received.
    pub last_data_received_ms: u32,
    /// Milliseconds since an acknowledgement was received.
    pub last_ack_received_ms: u32,
    /// At which rate segments leave, in bytes a second.
    pub pacing_rate: u64,
    /// At which rate data lately arrived, in bytes a second.
    pub delivery_rate: u64,
    /// Payload bytes sent, each time they were.
    pub bytes_sent: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Payload bytes that the peer acknowledged, and one for the SYN.
    pub bytes_acked: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Payload bytes written to the subflow and not yet sent.
    pub not_sent: u32,
    /// The peer's receive window, in bytes.
    pub send_window: u32,
    /// Segments sent.
    pub segments_out: u32,
    /// Segments received.
    pub segments_in: u32,
}

impl TcpInfo {
    /// Reads the structure, of whatever kernel.
    ///
    /// # Errors
    /// Where it is too short for the fields of the first kernels that had it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() < 104 {
            return Err(Malformed("tcp_info is cut off"));
        }
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = |at: usize| fixed(bytes, at).map_or(0, u32::from_ne_bytes);
        let long = |at: usize| fixed(bytes, at).map_or(0, u64::from_ne_bytes);
        Ok(Self {
            state: byte(0).into(),
            retransmits: byte(2),
            // The first of the bits of a byte, as the compiler of the kernel lays them out.
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
