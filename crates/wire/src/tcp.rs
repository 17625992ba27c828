//! TCP decoding and encoding (RFC 9293).
//!
//! [`Packet`] reads header fields on access, [`parse`] decodes a [`Segment`], and [`emit`] encodes
//! one. A segment omits reserved bits, the urgent pointer, and options that are unknown or have a
//! wrong length. Of repeated options, and of several MPTCP options beside a DSS, it keeps the first;
//! [`Packet::options`] returns all.

use crate::checksum::pseudo_header;
use crate::error::WireError;
use crate::payload::Payload;
use crate::reader::{u16_at, u32_at};
use crate::segment::{Flags, Segment};
use crate::{ip, option};
use bytes::Bytes;
use core::net::IpAddr;

pub use crate::option::{Options, TcpOption};

/// Length of a header without options.
pub const HEADER_LEN: usize = Segment::<()>::HEADER_LEN;
/// Maximum length of the options of a header.
pub const MAX_OPTIONS_LEN: usize = Segment::<()>::MAX_OPTIONS_LEN;

const CHECKSUM: usize = 16;

/// A TCP header and its payload, decoded on access.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    header_len: usize,
}

impl<'a> Packet<'a> {
    /// Wraps `bytes`, which start with a TCP header and end with its payload. Does not check the
    /// checksum and the options.
    ///
    /// # Errors
    /// If the header is truncated, or its length field is below 20 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let available = bytes.len();
        let what = "TCP header";
        if available < HEADER_LEN {
            return Err(WireError::Truncated { what, offset: 0, needed: HEADER_LEN, available });
        }
        let header_len = usize::from(bytes[12] >> 4) * 4;
        if header_len < HEADER_LEN {
            return Err(WireError::Length { what, offset: 12, found: header_len, expected: "20 to 60" });
        }
        if available < header_len {
            return Err(WireError::Truncated { what, offset: 0, needed: header_len, available });
        }
        Ok(Self { bytes, header_len })
    }
    /// Source port.
    pub fn source(&self) -> u16 {
        u16_at(self.bytes, 0)
    }
    /// Destination port.
    pub fn destination(&self) -> u16 {
        u16_at(self.bytes, 2)
    }
    /// Sequence number.
    pub fn seq(&self) -> u32 {
        u32_at(self.bytes, 4)
    }
    /// Acknowledgement number; meaningful with [`Flags::ACK`].
    pub fn ack(&self) -> u32 {
        u32_at(self.bytes, 8)
    }
    /// Length of the header with its options: 20 to 60 bytes.
    pub fn header_len(&self) -> usize {
        self.header_len
    }
    /// Flags.
    pub fn flags(&self) -> Flags {
        Flags::from_bits(self.bytes[13])
    }
    /// Receive window, unscaled.
    pub fn window(&self) -> u16 {
        u16_at(self.bytes, 14)
    }
    /// Checksum field.
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, CHECKSUM)
    }
    /// Iterator over the options.
    pub fn options(&self) -> Options<'a> {
        Options::new(&self.bytes[HEADER_LEN..self.header_len], HEADER_LEN)
    }
    /// Payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len..]
    }
    /// Checks the checksum over header, payload and addresses.
    ///
    /// # Errors
    /// If the checksum is wrong, or the addresses are of different families.
    pub fn verify_checksum(&self, source: IpAddr, destination: IpAddr) -> Result<(), WireError> {
        if segment_checksum(self.bytes, source, destination)? == 0 {
            return Ok(());
        }
        Err(WireError::Checksum { what: "TCP checksum", offset: CHECKSUM, found: self.checksum() })
    }
    /// Decodes the header into a segment with the given payload. An option of a wrong length is
    /// ignored (RFC 9293, section 3.1, MUST-7), as in Linux. Of several options of a kind the first
    /// counts; the options of MPTCP other than DSS are one kind here.
    ///
    /// # Errors
    /// If an option overruns the header, or has a length below 2.
    pub fn segment<P: Payload>(&self, payload: P) -> Result<Segment<P>, WireError> {
        let (source, destination) = (self.source(), self.destination());
        let mut segment =
            Segment::new((source, destination), self.seq(), self.ack(), self.flags(), self.window());
        for option in self.options() {
            match option? {
                TcpOption::Mss(mss) => _ = segment.mss.get_or_insert(mss),
                TcpOption::WindowScale(shift) => _ = segment.window_scale.get_or_insert(shift),
                TcpOption::SackPermitted => segment.sack_permitted = true,
                TcpOption::Sack(blocks) if segment.sack.is_empty() => segment.sack = blocks,
                TcpOption::Timestamps(stamps) => _ = segment.timestamps.get_or_insert(stamps),
                TcpOption::Dss(dss) => _ = segment.dss.get_or_insert(dss),
                TcpOption::Signal(signal) => _ = segment.signal.get_or_insert(signal),
                TcpOption::Rec(option) => _ = segment.rec.get_or_insert(option),
                TcpOption::Sack(_) | TcpOption::Unknown { .. } | TcpOption::Malformed { .. } => {}
            }
        }
        segment.payload = payload;
        Ok(segment)
    }
}

/// Decodes a segment and copies its payload. Does not check the checksum, which needs the
/// addresses: see [`Packet::verify_checksum`].
///
/// # Errors
/// If the header is truncated, or an option overruns it or has a length below 2.
pub fn parse(bytes: &[u8]) -> Result<Segment<Bytes>, WireError> {
    let packet = Packet::new(bytes)?;
    packet.segment(Bytes::copy_from_slice(packet.payload()))
}

/// Decodes a segment as [`parse`] does, with a payload that shares the memory of `bytes`.
///
/// # Errors
/// As [`parse`].
pub fn parse_shared(bytes: &Bytes) -> Result<Segment<Bytes>, WireError> {
    let packet = Packet::new(bytes)?;
    packet.segment(bytes.slice(packet.header_len()..))
}

/// Appends a segment to `out`, with its checksum and with `payload` as its payload bytes.
///
/// # Errors
/// If the options do not fit or cannot be encoded, `payload` has another length than the segment's
/// payload, the segment exceeds 65,535 bytes, or the addresses are of different families. `out` is
/// then unchanged.
pub fn emit<P: Payload>(
    segment: &Segment<P>,
    source: IpAddr,
    destination: IpAddr,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = out.len();
    let result = try_emit(segment, source, destination, payload, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn try_emit<P: Payload>(
    segment: &Segment<P>,
    source: IpAddr,
    destination: IpAddr,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    if payload.len() != segment.payload.len() {
        let expected = "as many bytes as the payload of the segment";
        return Err(WireError::Unwritable { what: "TCP payload", expected });
    }
    let len = segment.wire_len();
    if len > usize::from(u16::MAX) {
        return Err(WireError::TooLong { what: "TCP segment", len, max: usize::from(u16::MAX) });
    }
    let start = out.len();
    out.reserve(len);
    let header_words = ((len - payload.len()) / 4) as u8;
    out.extend(segment.source.to_be_bytes());
    out.extend(segment.destination.to_be_bytes());
    out.extend(segment.seq.to_be_bytes());
    out.extend(segment.ack.to_be_bytes());
    out.extend([header_words << 4, segment.flags.bits()]);
    out.extend(segment.window.to_be_bytes());
    // Checksum, filled in below, and urgent pointer.
    out.extend([0; 4]);
    option::emit(segment, out)?;
    out.extend(payload);
    let checksum = segment_checksum(&out[start..], source, destination)?;
    out[start + CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Checksum over a segment: 0 if its checksum field is correct, the correct value if the field is
/// 0.
fn segment_checksum(bytes: &[u8], source: IpAddr, destination: IpAddr) -> Result<u16, WireError> {
    let mut sum =
        pseudo_header(source, destination, ip::TCP, bytes.len() as u32).ok_or(WireError::Unwritable {
            what: "pseudo header",
            expected: "two addresses of the same family",
        })?;
    sum.add(bytes);
    Ok(sum.finish())
}
