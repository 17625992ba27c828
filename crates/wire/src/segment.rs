//! Decoded TCP segment: header fields, options and payload.

use crate::ip::Ecn;
use crate::payload::Payload;
use crate::rec::RecOption;
use core::fmt;
use core::net::IpAddr;

/// TCP header flags (RFC 9293, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);
    /// SYN and ACK.
    pub const SYN_ACK: Self = Self(0x12);

    /// Flags of the header byte.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
    /// The header byte.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// True if every flag of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Union with `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, letter) in [
            (Self::SYN, 'S'),
            (Self::FIN, 'F'),
            (Self::RST, 'R'),
            (Self::PSH, 'P'),
            (Self::ACK, '.'),
            (Self::ECE, 'E'),
            (Self::CWR, 'W'),
        ] {
            if self.has(flag) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// The timestamps option (RFC 7323).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampOption {
    /// Timestamp of the sender's clock.
    pub value: u32,
    /// Latest timestamp that the sender has received from its peer.
    pub echo: u32,
}

/// Up to four SACK blocks (RFC 2018): [left edge, right edge), newest first.
#[derive(Clone, Copy, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    len: u8,
}

impl PartialEq for SackBlocks {
    /// Ignores old blocks beyond the length.
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl SackBlocks {
    /// Maximum number of blocks that fit in a segment's options.
    pub const MAX: usize = 4;

    /// Adds a block. Returns false if there are already four.
    pub fn push(&mut self, left: u32, right: u32) -> bool {
        let at = self.len as usize;
        if at == Self::MAX {
            return false;
        }
        self.blocks[at] = (left, right);
        self.len += 1;
        true
    }
    /// Removes all blocks.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
    /// The blocks in the order of addition.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.len as usize]
    }
    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// True without blocks.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// A data sequence mapping (RFC 8684, section 3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of the first byte. If the wire has only the lower 32 bits, the upper 32
    /// are 0 and [`Dss::dsn_is_short`] is set.
    pub dsn: u64,
    /// Subflow sequence number of the first byte, relative to the initial one: 1 for the first
    /// byte, 0 for a DATA_FIN without data.
    pub ssn: u32,
    /// Data-level length, in which a DATA_FIN counts as one byte; 0 for the infinite mapping of a
    /// fallback.
    pub len: u16,
    /// DSS checksum, if the connection uses it (RFC 8684, section 3.3.1).
    pub checksum: Option<u16>,
}

/// The mapping, if the segment has one.
pub type MapOption = Option<Mapping>;

/// The Data Sequence Signal (RFC 8684, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dss {
    /// Data-level acknowledgement: 64 bits, or the lower 32 if `ack_is_short`.
    pub data_ack: Option<u64>,
    /// The DATA_ACK has 4 bytes on the wire, not 8.
    pub ack_is_short: bool,
    /// Mapping of the payload to the data stream.
    pub mapping: MapOption,
    /// The DSN has 4 bytes on the wire, not 8.
    pub dsn_is_short: bool,
    /// DATA_FIN: the data stream ends with this mapping.
    pub data_fin: bool,
}

/// An MPTCP option other than DSS (RFC 8684, section 3). A segment carries at most one beside a
/// DSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MptcpSignal {
    /// MP_CAPABLE (section 3.1): on SYN without keys, on SYN/ACK with the sender's key, on the
    /// third ACK with both keys, and on the first data segment with both keys and the data-level
    /// length.
    Capable {
        /// Protocol version: 1.
        version: u8,
        /// Flag A: use data checksums.
        checksum: bool,
        /// Flag C: do not join to this source address and port.
        deny_join: bool,
        /// Flag H: HMAC-SHA256.
        hmac_sha256: bool,
        /// Flag B: an unknown extension; the receiver falls back to TCP.
        extension: bool,
        /// Key of the option's sender.
        sender_key: Option<u64>,
        /// Key of the option's receiver.
        receiver_key: Option<u64>,
        /// Data-level length and checksum, on the first data segment.
        data: Option<(u16, Option<u16>)>,
    },
    /// MP_JOIN on SYN (section 3.2).
    JoinSyn {
        /// The new subflow is a backup.
        backup: bool,
        /// Identifier of the source address.
        address_id: u8,
        /// Token of the receiver.
        token: u32,
        /// Random number of the sender.
        nonce: u32,
    },
    /// MP_JOIN on SYN/ACK (section 3.2).
    JoinSynAck {
        /// The subflow is a backup.
        backup: bool,
        /// Identifier of the source address.
        address_id: u8,
        /// Leftmost 64 bits of the sender's HMAC.
        hmac: u64,
        /// Random number of the sender.
        nonce: u32,
    },
    /// MP_JOIN on the third ACK (section 3.2).
    JoinAck {
        /// Leftmost 160 bits of the sender's HMAC.
        hmac: [u8; 20],
    },
    /// ADD_ADDR (section 3.4.1).
    AddAddress {
        /// Identifier of the address.
        address_id: u8,
        /// The address.
        address: IpAddr,
        /// Port, if it differs from that of the first subflow.
        port: Option<u16>,
        /// Rightmost 64 bits of the HMAC; `None` for an echo.
        hmac: Option<u64>,
    },
    /// REMOVE_ADDR (section 3.4.2).
    RemoveAddress {
        /// Address identifiers; the first `count` are valid.
        ids: [u8; 8],
        /// Number of identifiers, at most 8.
        count: u8,
    },
    /// MP_PRIO (section 3.3.8): requests a change of the subflow's priority.
    Priority {
        /// True to make the subflow a backup.
        backup: bool,
        /// Address identifier, in the four-byte form of older versions; `None` for this subflow.
        address_id: Option<u8>,
    },
    /// MP_FAIL (section 3.7): the checksum failed.
    Fail {
        /// Data sequence number of the failed mapping.
        dsn: u64,
    },
    /// MP_FASTCLOSE (section 3.5): closes the whole connection at once.
    FastClose {
        /// Key of the receiver.
        key: u64,
    },
    /// MP_TCPRST (section 3.6): reason for the reset of a subflow.
    Reset {
        /// The condition is transient: the subflow can be opened again later.
        transient: bool,
        /// 0 unspecified, 1 MPTCP-specific, 2 no resources, 3 prohibited, 4 too much outstanding,
        /// 5 unacceptable performance, 6 middlebox.
        reason: u8,
    },
}

/// A TCP segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment<P> {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number of the first byte (or of the SYN).
    pub seq: u32,
    /// Next sequence number expected from the peer; meaningful with [`Flags::ACK`].
    pub ack: u32,
    /// Header flags.
    pub flags: Flags,
    /// ECN field of the IP header; not part of the TCP encoding.
    pub ecn: Ecn,
    /// Receive window as on the wire, unscaled.
    pub window: u16,
    /// Maximum segment size, on SYN (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale, on SYN (RFC 7323).
    pub window_scale: Option<u8>,
    /// SACK permitted, on SYN (RFC 2018).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<TimestampOption>,
    /// SACK blocks (RFC 2018).
    pub sack: SackBlocks,
    /// Data Sequence Signal (RFC 8684).
    pub dss: Option<Dss>,
    /// Any other MPTCP option (RFC 8684).
    pub signal: Option<MptcpSignal>,
    /// MPTCP-rec option.
    pub rec: Option<RecOption>,
    /// Payload.
    pub payload: P,
}

impl Dss {
    /// Value of the option's length field: 4 to 28 bytes, without padding.
    #[inline]
    pub fn option_len(&self) -> usize {
        let ack = match self.data_ack {
            None => 0,
            Some(_) if self.ack_is_short => 4,
            Some(_) => 8,
        };
        let mapping = match self.mapping {
            None => 0,
            Some(map) => {
                (if self.dsn_is_short { 10 } else { 14 }) + if map.checksum.is_some() { 2 } else { 0 }
            }
        };
        4 + ack + mapping
    }
}

impl MptcpSignal {
    /// Value of the option's length field: 3 to 30 bytes, without padding.
    #[inline]
    pub fn option_len(&self) -> usize {
        match *self {
            Self::Capable { sender_key, receiver_key, data, .. } => {
                let key = |key: Option<u64>| if key.is_some() { 8 } else { 0 };
                let data = match data {
                    None => 0,
                    Some((_, None)) => 2,
                    Some((_, Some(_))) => 4,
                };
                4 + key(sender_key) + key(receiver_key) + data
            }
            Self::JoinSyn { .. } | Self::Fail { .. } | Self::FastClose { .. } => 12,
            Self::JoinSynAck { .. } => 16,
            Self::JoinAck { .. } => 24,
            Self::AddAddress { address, port, hmac, .. } => {
                let address = if address.is_ipv4() { 4 } else { 16 };
                4 + address + if port.is_some() { 2 } else { 0 } + if hmac.is_some() { 8 } else { 0 }
            }
            Self::RemoveAddress { count, .. } => 3 + usize::from(count.min(8)),
            Self::Priority { address_id, .. } => 3 + usize::from(address_id.is_some()),
            Self::Reset { .. } => 4,
        }
    }
}

impl<P> Segment<P> {
    /// Length of the TCP header without options (RFC 9293, section 3.1).
    pub const HEADER_LEN: usize = 20;
    /// Maximum length of the options of a TCP header.
    pub const MAX_OPTIONS_LEN: usize = 40;

    /// Length of the encoded options, each padded to a multiple of 4 as in Linux. A segment with
    /// more than [`Self::MAX_OPTIONS_LEN`] cannot be encoded.
    #[inline]
    pub fn options_len(&self) -> usize {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        // SACK permitted replaces the two NOPs before the timestamps.
        if self.timestamps.is_some() {
            len += 12;
        } else if self.sack_permitted {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        if !self.sack.is_empty() {
            len += 4 + 8 * self.sack.len();
        }
        if let Some(dss) = &self.dss {
            len += dss.option_len().next_multiple_of(4);
        }
        if let Some(signal) = &self.signal {
            len += signal.option_len().next_multiple_of(4);
        }
        if let Some(option) = &self.rec {
            len += option.option_len();
        }
        len
    }

    /// Removes all options.
    #[inline]
    pub fn clear_options(&mut self) {
        self.mss = None;
        self.window_scale = None;
        self.sack_permitted = false;
        self.timestamps = None;
        self.sack.clear();
        self.dss = None;
        self.signal = None;
        self.rec = None;
    }
}

impl<P: Payload> Segment<P> {
    /// Length of header, options and payload, without the IP header.
    #[inline]
    pub fn wire_len(&self) -> usize {
        Self::HEADER_LEN + self.options_len() + self.payload.len()
    }
    /// A segment without options or payload. `ports` are source and destination.
    pub fn new(ports: (u16, u16), seq: u32, ack: u32, flags: Flags, window: u16) -> Self {
        let (source, destination) = ports;
        Self {
            source,
            destination,
            seq,
            ack,
            flags,
            ecn: Ecn::NotEct,
            window,
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps: None,
            sack: SackBlocks::default(),
            dss: None,
            signal: None,
            rec: None,
            payload: P::empty(),
        }
    }
}
