//! What the kernel knows of an MPTCP connection (`<linux/mptcp.h>`).

use super::TcpInfo;
use crate::netlink::{Malformed, fixed};
use std::net::{IpAddr, SocketAddr};

/// The length of `struct mptcp_info` that is read here. Kernels know less or more: what is not told is
/// zero.
pub(super) const LENGTH: usize = 96;
/// The length of `struct mptcp_subflow_info`: an identifier, then two `struct sockaddr_storage`.
pub(super) const SUBFLOW_LENGTH: usize = 8 + 2 * STORAGE;
/// The length of `struct sockaddr_storage`.
pub(super) const STORAGE: usize = 128;

/// What the kernel knows of an MPTCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MptcpInfo {
    /// Subflows beside the first.
    pub extra_subflows: u8,
    /// All subflows, where the kernel counts them (Linux 6.7).
    pub subflows: u8,
    /// Addresses announced to the peer.
    pub announced: u8,
    /// The peer's addresses that were accepted.
    pub accepted: u8,
    /// How many subflows beside the first there may be.
    pub limit_subflows: u8,
    /// How many endpoints are there to be announced.
    pub signal_endpoints: u8,
    /// How many of the peer's addresses may be accepted.
    pub limit_accepted: u8,
    /// It is plain TCP: the peer or the path does not let MPTCP through.
    pub fallback: bool,
    /// The peer's key is known.
    pub remote_key: bool,
    /// The local token.
    pub token: u32,
    /// Data sequence number of the next byte to be written.
    pub write_seq: u64,
    /// Data sequence number of the first byte not yet acknowledged.
    pub snd_una: u64,
    /// Data sequence number of the next byte expected.
    pub rcv_nxt: u64,
    /// Local addresses in use beside the first.
    pub local_addresses: u8,
    /// How many endpoints are there to open subflows from.
    pub subflow_endpoints: u8,
    /// Checksums are in use (RFC 8684, section 3.3.1).
    pub checksum: bool,
    /// Timeouts of data-level acknowledgements.
    pub retransmits: u32,
    /// Bytes sent again on another subflow.
    pub bytes_retransmitted: u64,
    /// Bytes of the stream sent.
    pub bytes_sent: u64,
    /// Bytes of the stream received.
    pub bytes_received: u64,
    /// Bytes of the stream that the peer acknowledged.
    pub bytes_acked: u64,
    /// Milliseconds since data was sent.
    pub last_data_sent_ms: u32,
    /// Milliseconds since data was received.
    pub last_data_received_ms: u32,
    /// Milliseconds since an acknowledgement was received.
    pub last_ack_received_ms: u32,
}

impl MptcpInfo {
    /// Bytes that were written and not yet acknowledged, sent or not.
    pub fn outstanding(&self) -> u64 {
        self.write_seq.wrapping_sub(self.snd_una)
    }

    /// Reads `struct mptcp_info`, of whatever kernel.
    ///
    /// # Errors
    /// Where it is too short for the fields of the first kernels that had it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() < 40 {
            return Err(Malformed("mptcp_info is cut off"));
        }
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = |at: usize| fixed(bytes, at).map_or(0, u32::from_ne_bytes);
        let long = |at: usize| fixed(bytes, at).map_or(0, u64::from_ne_bytes);
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

/// What the kernel knows of one subflow of a socket of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowInfo {
    /// A number that no other subflow of the connection ever has, from 1 on; 0 where it is not told.
    pub id: u32,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Its TCP connection.
    pub tcp: TcpInfo,
}

/// An address from the first bytes of a `struct sockaddr_storage`. IPv4 in IPv6 is given as IPv4.
pub(super) fn socket_address(bytes: &[u8]) -> Result<SocketAddr, Malformed> {
    let cut = Malformed("a socket address is cut off");
    let family = fixed(bytes, 0).map(u16::from_ne_bytes).ok_or(cut)?;
    let port = fixed(bytes, 2).map(u16::from_be_bytes).ok_or(cut)?;
    let address = match i32::from(family) {
        libc::AF_INET => IpAddr::from(fixed::<4>(bytes, 4).ok_or(cut)?),
        libc::AF_INET6 => IpAddr::from(fixed::<16>(bytes, 8).ok_or(cut)?).to_canonical(),
        _ => return Err(Malformed("a socket address is neither IPv4 nor IPv6")),
    };
    Ok(SocketAddr::new(address, port))
}

/// Reads the two arrays of `MPTCP_FULL_INFO`; `tcp_length` is how long the kernel's `struct tcp_info` is,
/// which may be shorter than the place for it.
///
/// The kernel keeps the socket of the first subflow when that has ended, and tells of it still: disconnected, with
/// nothing counted, and without the port of the other end, by which it is known and left out.
pub(super) fn parse_full(
    count: usize,
    subflows: &[u8],
    tcp: &[u8],
    tcp_length: usize,
) -> Result<Vec<SubflowInfo>, Malformed> {
    let cut = Malformed("the list of subflows is cut off");
    let mut all = Vec::with_capacity(count.min(subflows.len() / SUBFLOW_LENGTH));
    for nth in 0..count {
        let one = subflows.get(nth * SUBFLOW_LENGTH..(nth + 1) * SUBFLOW_LENGTH).ok_or(cut)?;
        let at = nth * super::tcp_info::LENGTH;
        let info = tcp.get(at..at + tcp_length.min(super::tcp_info::LENGTH)).ok_or(cut)?;
        let remote = socket_address(&one[8 + STORAGE..])?;
        if remote.port() == 0 {
            continue;
        }
        all.push(SubflowInfo {
            id: fixed(one, 0).map_or(0, u32::from_ne_bytes),
            local: socket_address(&one[8..])?,
            remote,
            tcp: TcpInfo::parse(info)?,
        });
    }
    Ok(all)
}
