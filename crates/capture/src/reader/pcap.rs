//! pcap: a header and records.

use super::{Buffer, Ended, FrameLocation, MAX_EXAMINED_BYTES, Order, ReadError};
use std::io::{self, Read};
use units::Instant;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Packet length that is accepted regardless of the header (libpcap's maximum snapshot length).
const SNAPLEN: u32 = 262_144;

/// Format of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    order: Order,
    /// Nanoseconds per unit of the fraction of a second.
    unit: u64,
    link_type: u16,
    longest: u32,
}

impl Header {
    /// Recognises the first four bytes; the rest of the header follows.
    pub(super) fn of_magic(magic: [u8; 4]) -> Option<Self> {
        let (order, unit) = match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1000),
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1000),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1),
            _ => return None,
        };
        Some(Self { order, unit, link_type: 0, longest: SNAPLEN })
    }
    /// Reads the rest of the header.
    pub(super) fn read<R: Read>(mut self, bytes: &mut Buffer<R>) -> Result<Self, ReadError> {
        let header =
            |what, offset, found: String, expected| ReadError::Header { what, offset, found, expected };
        if !bytes.fill(FILE_HEADER)? {
            let found = format!("{} bytes long", bytes.filled().len());
            return Err(header("the header of a pcap file", 0, found, "24 bytes"));
        }
        let filled = bytes.filled();
        let major = self.order.u16(filled, 4);
        if major != 2 {
            return Err(header("the version of a pcap file", 4, major.to_string(), "2"));
        }
        let snaplen = self.order.u32(filled, 16);
        // Some writers use 0 for no limit.
        self.longest = if snaplen == 0 { u32::MAX } else { snaplen.max(SNAPLEN) };
        // The upper half has other uses (length of a frame check sequence).
        self.link_type = self.order.u32(filled, 20) as u16;
        bytes.skip(FILE_HEADER as u64)?;
        Ok(self)
    }
    pub(super) fn next<R: Read>(self, bytes: &mut Buffer<R>) -> io::Result<Result<FrameLocation, Ended>> {
        let offset = bytes.offset;
        if !bytes.fill(RECORD_HEADER)? {
            return Ok(Err(bytes.end()));
        }
        let filled = bytes.filled();
        let number = |at| self.order.u32(filled, at);
        let (seconds, fraction, captured, original_len) = (number(0), number(4), number(8), number(12));
        if captured > self.longest {
            let what = format!("a packet of {captured} bytes, at most {} can be", self.longest);
            return Ok(Err(Ended::Damaged { offset, what }));
        }
        let kept = (captured as usize).min(MAX_EXAMINED_BYTES);
        if !bytes.fill(RECORD_HEADER + kept)? {
            return Ok(Err(bytes.end()));
        }
        let from = bytes.from + RECORD_HEADER;
        let found = FrameLocation {
            at: Some(Instant::from_nanos(
                u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit,
            )),
            interface: 0,
            link_type: self.link_type,
            direction: None,
            original_len: original_len.max(captured),
            from,
            to: from + kept,
        };
        let rest = u64::from(captured) - kept as u64;
        // Skipping leaves the buffer in place, except if the skipped part must be read through it.
        if rest == 0 {
            bytes.skip((RECORD_HEADER + kept) as u64)?;
        } else {
            return skip_oversized(bytes, found, (RECORD_HEADER + kept) as u64 + rest, offset);
        }
        Ok(Ok(found))
    }
}

/// Skips a record that exceeds the buffer. Its first bytes, which hold the headers, are kept apart
/// from the part that is overwritten.
pub(super) fn skip_oversized<R: Read>(
    bytes: &mut Buffer<R>,
    mut found: FrameLocation,
    len: u64,
    offset: u64,
) -> io::Result<Result<FrameLocation, Ended>> {
    let mut head = [0; 512];
    let kept = (found.to - found.from).min(head.len());
    head[..kept].copy_from_slice(&bytes.data[found.from..found.from + kept]);
    if !bytes.skip(len)? {
        return Ok(Err(Ended::Cut { offset }));
    }
    // After a skip the bytes before `from` are free; if they are too few, the rest moves up.
    if bytes.from < kept {
        let (from, to) = (bytes.from, bytes.to);
        if bytes.data.len() - (to - from) < kept {
            found.to = found.from;
            return Ok(Ok(found));
        }
        bytes.data.copy_within(from..to, kept);
        bytes.to = to - from + kept;
        bytes.from = kept;
    }
    found.from = bytes.from - kept;
    found.to = bytes.from;
    bytes.data[found.from..found.to].copy_from_slice(&head[..kept]);
    Ok(Ok(found))
}
