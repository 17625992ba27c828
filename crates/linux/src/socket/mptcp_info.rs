//! MPTCP statistics of the kernel (`<linux/mptcp.h>`).

use super::TcpInfo;
use crate::netlink::{Malformed, read_array};
use std::net::{IpAddr, SocketAddr};

/// Length of `struct mptcp_info` as read here. Fields unknown to the running kernel are zero.
pub(super) const MPTCP_INFO_BYTES: usize = 96;
/// Length of `struct mptcp_subflow_info`: an identifier and two `struct sockaddr_storage`.
pub(super) const SUBFLOW_INFO_BYTES: usize = 8 + 2 * SOCKADDR_STORAGE_BYTES;
/// Length of `struct sockaddr_storage`.
pub(super) const SOCKADDR_STORAGE_BYTES: usize = 128;

/// Statistics of an MPTCP connection (`struct mptcp_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MptcpInfo {
    /// Additional subflows, without the first.
    pub extra_subflows: u8,
    /// All subflows; 0 on kernels before 6.7.
    pub subflows: u8,
    /// Addresses announced to the peer.
    pub announced: u8,
    /// Announced addresses of the peer that were accepted.
    pub accepted: u8,
    /// Limit of additional subflows.
    pub limit_subflows: u8,
    /// Number of endpoints with the flag `signal`.
    pub signal_endpoints: u8,
    /// Limit of accepted addresses.
    pub limit_accepted: u8,
    /// The connection fell back to TCP.
    pub fallback: bool,
    /// The peer's key has been received.
    pub remote_key: bool,
    /// Local token.
    pub token: u32,
    /// Data sequence number of the next byte to be written.
    pub write_seq: u64,
    /// Data sequence number of the first unacknowledged byte.
    pub snd_una: u64,
    /// Data sequence number of the next expected byte.
    pub rcv_nxt: u64,
    /// Additional local addresses in use.
    pub local_addresses: u8,
    /// Number of endpoints with the flag `subflow`.
    pub subflow_endpoints: u8,
    /// DSS checksums are in use (RFC 8684, section 3.3.1).
    pub checksum: bool,
    /// Number of data-level retransmission timeouts.
    pub retransmits: u32,
    /// Bytes reinjected on another subflow.
    pub bytes_retransmitted: u64,
    /// Payload bytes sent, at the data level.
    pub bytes_sent: u64,
    /// Payload bytes received, at the data level.
    pub bytes_received: u64,
    /// Payload bytes acknowledged by the peer, at the data level.
    pub bytes_acked: u64,
    /// Milliseconds since data was last sent.
    pub last_data_sent_ms: u32,
    /// Milliseconds since data was last received.
    pub last_data_received_ms: u32,
    /// Milliseconds since an acknowledgement was last received.
    pub last_ack_received_ms: u32,
}

impl MptcpInfo {
    /// Bytes written and not acknowledged yet, whether sent or not.
    pub fn outstanding(&self) -> u64 {
        self.write_seq.wrapping_sub(self.snd_una)
    }

    /// Parses `struct mptcp_info` of any kernel version.
    ///
    /// # Errors
    /// Fails when it is shorter than in the first kernel that had it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() < 40 {
            return Err(Malformed("truncated mptcp_info"));
        }
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = |at: usize| read_array(bytes, at).map_or(0, u32::from_ne_bytes);
        let long = |at: usize| read_array(bytes, at).map_or(0, u64::from_ne_bytes);
        let flags = word(8);
        Ok(Self {
            extra_subflows: byte(0),
            announced: byte(1),
            accepted: byte(2),
            limit_subflows: byte(3),
            signal_endpoints: byte(4),
            limit_accepted: byte(5),
            fallback: flags & 1 != 0,
            remote_key: flags & 2 != 0,
            token: word(12),
            write_seq: long(16),
            snd_una: long(24),
            rcv_nxt: long(32),
            local_addresses: byte(40),
            subflow_endpoints: byte(41),
            checksum: byte(42) != 0,
            retransmits: word(44),
            bytes_retransmitted: long(48),
            bytes_sent: long(56),
            bytes_received: long(64),
            bytes_acked: long(72),
            subflows: byte(80),
            last_data_sent_ms: word(84),
            last_data_received_ms: word(88),
            last_ack_received_ms: word(92),
        })
    }
}

/// Statistics of one subflow of a socket of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowInfo {
    /// Identifier unique within the connection, from 1; 0 when the kernel does not report it.
    pub id: u32,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// TCP statistics.
    pub tcp: TcpInfo,
}

/// Parses a `struct sockaddr_storage`. IPv4-mapped IPv6 is returned as IPv4.
pub(super) fn socket_address(bytes: &[u8]) -> Result<SocketAddr, Malformed> {
    let truncated = Malformed("truncated socket address");
    let family = read_array(bytes, 0).map(u16::from_ne_bytes).ok_or(truncated)?;
    let port = read_array(bytes, 2).map(u16::from_be_bytes).ok_or(truncated)?;
    let address = match i32::from(family) {
        libc::AF_INET => IpAddr::from(read_array::<4>(bytes, 4).ok_or(truncated)?),
        libc::AF_INET6 => IpAddr::from(read_array::<16>(bytes, 8).ok_or(truncated)?).to_canonical(),
        _ => return Err(Malformed("socket address is neither IPv4 nor IPv6")),
    };
    Ok(SocketAddr::new(address, port))
}

/// Parses the two arrays of `MPTCP_FULL_INFO`. `tcp_length` is the length of the kernel's `struct
/// tcp_info`, which may be shorter than its slot.
///
/// The kernel keeps the socket of a closed first subflow and lists it with remote port 0. It
/// carries no data and is skipped.
pub(super) fn parse_full(
    count: usize,
    subflows: &[u8],
    tcp: &[u8],
    tcp_length: usize,
) -> Result<Vec<SubflowInfo>, Malformed> {
    let truncated = Malformed("truncated list of subflows");
    let mut all = Vec::with_capacity(count.min(subflows.len() / SUBFLOW_INFO_BYTES));
    for nth in 0..count {
        let one = subflows.get(nth * SUBFLOW_INFO_BYTES..(nth + 1) * SUBFLOW_INFO_BYTES).ok_or(truncated)?;
        let at = nth * super::tcp_info::TCP_INFO_BYTES;
        let info = tcp.get(at..at + tcp_length.min(super::tcp_info::TCP_INFO_BYTES)).ok_or(truncated)?;
        let remote = socket_address(&one[8 + SOCKADDR_STORAGE_BYTES..])?;
        if remote.port() == 0 {
            continue;
        }
        all.push(SubflowInfo {
            id: read_array(one, 0).map_or(0, u32::from_ne_bytes),
            local: socket_address(&one[8..])?,
            remote,
            tcp: TcpInfo::parse(info)?,
        });
    }
    Ok(all)
}
