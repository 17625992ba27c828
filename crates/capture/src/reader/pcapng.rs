//! pcapng: sections of blocks.

use super::pcap::skip_oversized;
use super::{
    Buffer, Ended, FrameLocation, MAX_EXAMINED_BYTES, MAX_INTERFACES, MAX_NAME_BYTES, Order, ReadError,
};
use std::io::{self, Read};
use units::Instant;
use wire::pcapng::Direction;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete, but still in use.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
/// Bytes of a block around its body: type, length, and the length repeated at the end.
const BLOCK_OVERHEAD: usize = 12;
const SECTION_LEN: u32 = 28;

const END_OF_OPTIONS: u16 = 0;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const EPB_FLAGS: u16 = 2;

/// State of a section: byte order and interfaces.
#[derive(Debug, Default)]
pub(super) struct Section {
    order: Order,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    /// Index among the names.
    name: usize,
    link_type: u16,
    snaplen: u32,
    clock: Clock,
}

/// Start of the block at the front of the buffer.
#[derive(Debug, Clone, Copy)]
struct BlockHeader {
    kind: u32,
    len: u32,
    /// Bytes of the block that the buffer keeps.
    kept: usize,
}

/// Time resolution: units of 10^-n or 2^-n seconds, from an offset in seconds.
#[derive(Debug, Clone, Copy)]
struct Clock {
    per_second: u128,
    offset: i64,
}

impl Clock {
    fn new(resolution: u8, offset: i64) -> Self {
        let power = u32::from(resolution & 0x7f);
        let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
        // Units finer than a nanosecond's fraction count as zero.
        Self { per_second: base.checked_pow(power).unwrap_or(u128::MAX), offset }
    }
    fn time(self, units: u64) -> Instant {
        let nanos = (u128::from(units) * 1_000_000_000 / self.per_second) as i128;
        let nanos = nanos + i128::from(self.offset) * 1_000_000_000;
        Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

impl Section {
    /// Recognises the section header at the front of the file, which is then read like other
    /// blocks.
    pub(super) fn begin<R: Read>(bytes: &mut Buffer<R>) -> Result<(), ReadError> {
        let header =
            |what, offset, found: String, expected| ReadError::Header { what, offset, found, expected };
        if !bytes.fill(SECTION_LEN as usize)? {
            let found = format!("{} bytes long", bytes.filled().len());
            return Err(header("the section header of a pcapng file", 0, found, "at least 28 bytes"));
        }
        let filled = bytes.filled();
        let Some(order) = order(filled) else {
            let found = super::hex(filled.get(8..12).unwrap_or_default());
            return Err(header("the byte order of a pcapng file", 8, found, "1a2b3c4d in either order"));
        };
        let (len, major) = (order.u32(filled, 4), order.u16(filled, 12));
        if major != 1 {
            return Err(header("the version of a pcapng file", 12, major.to_string(), "1"));
        }
        if len < SECTION_LEN || len % 4 != 0 {
            let expected = "at least 28, and a multiple of 4";
            return Err(header("the length of a pcapng section header", 4, len.to_string(), expected));
        }
        Ok(())
    }

    /// Returns the next packet, skipping other blocks.
    pub(super) fn next<R: Read>(
        &mut self,
        bytes: &mut Buffer<R>,
        names: &mut Vec<String>,
        unknown: &mut u64,
    ) -> io::Result<Result<FrameLocation, Ended>> {
        loop {
            let offset = bytes.offset;
            let BlockHeader { kind, len, kept } = match self.header(bytes)? {
                Ok(header) => header,
                Err(ended) => return Ok(Err(ended)),
            };
            let is_whole = kept == len as usize;
            let block = &bytes.filled()[..kept];
            let body = if is_whole { &block[..kept - 4] } else { block };
            let found = match kind {
                INTERFACE_DESCRIPTION => {
                    if self.interfaces.len() < MAX_INTERFACES {
                        self.interfaces.push(self.interface(body, names));
                    }
                    None
                }
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => match self.packet(kind, body, len) {
                    Ok(None) => {
                        *unknown += 1;
                        None
                    }
                    Ok(found) => found,
                    Err(what) => return Ok(Err(Ended::Damaged { offset, what })),
                },
                _ => None,
            };
            let Some(mut found) = found else {
                if !bytes.skip(u64::from(len))? {
                    return Ok(Err(Ended::Cut { offset }));
                }
                continue;
            };
            found.from += bytes.from;
            found.to += bytes.from;
            if is_whole {
                bytes.skip(u64::from(len))?;
                return Ok(Ok(found));
            }
            return skip_oversized(bytes, found, u64::from(len), offset);
        }
    }

    /// Reads and checks the header of the next block. A section header sets the byte order.
    fn header<R: Read>(&mut self, bytes: &mut Buffer<R>) -> io::Result<Result<BlockHeader, Ended>> {
        let offset = bytes.offset;
        let damaged = |what: String| Ok(Err(Ended::Damaged { offset, what }));
        if !bytes.fill(BLOCK_OVERHEAD)? {
            return Ok(Err(bytes.end()));
        }
        let filled = bytes.filled();
        let is_section = self.order.u32(filled, 0) == SECTION_HEADER;
        if is_section {
            let Some(order) = order(filled) else {
                return damaged("a section header without a byte order".to_owned());
            };
            self.order = order;
            self.interfaces.clear();
        }
        let (kind, len) = (self.order.u32(filled, 0), self.order.u32(filled, 4));
        let least = if is_section { SECTION_LEN } else { BLOCK_OVERHEAD as u32 };
        if len < least || len % 4 != 0 {
            return damaged(format!("a block of {len} bytes"));
        }
        let kept = (len as usize).min(MAX_EXAMINED_BYTES);
        if !bytes.fill(kept)? {
            return Ok(Err(bytes.end()));
        }
        let block = &bytes.filled()[..kept];
        if kept == len as usize && self.order.u32(block, kept - 4) != len {
            let end = self.order.u32(block, kept - 4);
            return damaged(format!("a block of {len} bytes that says {end} at its end"));
        }
        if is_section && self.order.u16(block, 12) != 1 {
            return damaged(format!("a section of version {}", self.order.u16(block, 12)));
        }
        Ok(Ok(BlockHeader { kind, len, kept }))
    }

    fn interface(&self, body: &[u8], names: &mut Vec<String>) -> Interface {
        let (mut name, mut description, mut resolution, mut offset) = ("", "", 6, 0);
        for (code, value) in self.options(body, 16) {
            match (code, value) {
                (IF_NAME, _) => name = text(value),
                (IF_DESCRIPTION, _) => description = text(value),
                (IF_TSRESOL, [n, ..]) => resolution = *n,
                (IF_TSOFFSET, _) if value.len() == 8 => {
                    let words = [self.order.u32(value, 0), self.order.u32(value, 4)].map(u64::from);
                    let [low, high] = if self.order == Order::Big { [words[1], words[0]] } else { words };
                    offset = (high << 32 | low) as i64;
                }
                _ => {}
            }
        }
        let name = match (name, description, self.interfaces.len()) {
            // Unnamed interfaces of a section are different ones.
            ("", "", number @ 1..) => format!("interface {number}"),
            ("", description, _) => description.to_owned(),
            (name, ..) => name.to_owned(),
        };
        let index = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            // The last interface stands for all beyond the limit.
            if names.len() < MAX_INTERFACES {
                names.push(name);
            }
            names.len() - 1
        });
        Interface {
            name: index,
            link_type: self.order.u16(body, 8),
            snaplen: self.order.u32(body, 12),
            clock: Clock::new(resolution, offset),
        }
    }

    /// Position of the packet in its block; `None` for an unknown interface.
    fn packet(&self, kind: u32, body: &[u8], len: u32) -> Result<Option<FrameLocation>, String> {
        let number = |at| self.order.u32(body, at);
        let (interface, data) = match kind {
            SIMPLE_PACKET => (0, 12),
            PACKET => (usize::from(self.order.u16(body, 8)), 28),
            _ => (number(8) as usize, 28),
        };
        let room = (len as usize).saturating_sub(data + 4);
        let Some(interface) = self.interfaces.get(interface) else { return Ok(None) };
        let (captured, original) = if kind == SIMPLE_PACKET {
            let original = number(8);
            let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            (original.min(snaplen).min(room as u32), original)
        } else {
            (number(20), number(24))
        };
        if captured as usize > room {
            return Err(format!("a packet of {captured} bytes in a block of {len}"));
        }
        let units = u64::from(number(12)) << 32 | u64::from(number(16));
        let flags = || {
            let behind = data + (captured as usize).next_multiple_of(4);
            self.options(body, behind).find(|(code, value)| *code == EPB_FLAGS && value.len() == 4)
        };
        let direction = match kind {
            ENHANCED_PACKET => flags().and_then(|(_, value)| match self.order.u32(value, 0) & 3 {
                1 => Some(Direction::Inbound),
                2 => Some(Direction::Outbound),
                _ => None,
            }),
            _ => None,
        };
        Ok(Some(FrameLocation {
            at: (kind != SIMPLE_PACKET).then(|| interface.clock.time(units)),
            interface: interface.name,
            link_type: interface.link_type,
            direction,
            original_len: original.max(captured),
            from: data,
            to: (data + captured as usize).min(body.len()),
        }))
    }

    /// Options of a block from `at`, up to the first invalid one.
    fn options<'a>(&self, body: &'a [u8], at: usize) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let order = self.order;
        let mut rest = body.get(at..).unwrap_or_default();
        core::iter::from_fn(move || {
            if rest.len() < 4 {
                return None;
            }
            let (code, len) = (order.u16(rest, 0), usize::from(order.u16(rest, 2)));
            let value = rest.get(4..4 + len)?;
            rest = rest.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
            (code != END_OF_OPTIONS).then_some((code, value))
        })
    }
}

fn order(block: &[u8]) -> Option<Order> {
    let magic: [u8; 4] = *block.get(8..)?.first_chunk()?;
    if magic == BYTE_ORDER {
        return Some(Order::Big);
    }
    let mut reversed = BYTE_ORDER;
    reversed.reverse();
    (magic == reversed).then_some(Order::Little)
}

/// A name up to its first invalid character, limited in length.
fn text(value: &[u8]) -> &str {
    let value = &value[..value.len().min(MAX_NAME_BYTES)];
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    match core::str::from_utf8(&value[..end]) {
        Ok(text) => text,
        Err(error) => core::str::from_utf8(&value[..error.valid_up_to()]).unwrap_or_default(),
    }
}
