//! Sans-IO pcapng writer (draft-ietf-opsawg-pcapng): produces bytes for the caller to store.
//!
//! The file is one little-endian section. Timestamps are nanoseconds since the start of the run,
//! which readers display as 1970. Interfaces carry raw IP packets of either version
//! (`LINKTYPE_RAW`) and can be added at any time before their first packet.

use units::Instant;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const LINKTYPE_RAW: u16 = 101;

const END_OF_OPTIONS: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// Timestamp resolution: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Direction of a packet at its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

/// An interface of one [`Writer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface(u32);

/// Writer of a pcapng file.
#[derive(Debug, Clone)]
pub struct Writer {
    out: Vec<u8>,
    interfaces: u32,
}

impl Writer {
    /// A file without interfaces, with `program` as its application.
    pub fn new(program: &str) -> Self {
        let mut writer = Self { out: Vec::new(), interfaces: 0 };
        writer.block(SECTION_HEADER, |out| {
            out.extend(BYTE_ORDER.to_le_bytes());
            // Version 1.0, and an unspecified section length.
            out.extend(1u16.to_le_bytes());
            out.extend(0u16.to_le_bytes());
            out.extend(u64::MAX.to_le_bytes());
            option(SHB_USERAPPL, text(program), out);
            option(END_OF_OPTIONS, &[], out);
        });
        writer
    }
    /// Adds an interface with a `name` such as `wifi` and, if not empty, a description. `snaplen`
    /// is the maximum number of bytes kept of a packet; 0 means no limit.
    pub fn interface(&mut self, name: &str, description: &str, snaplen: u32) -> Interface {
        self.block(INTERFACE_DESCRIPTION, |out| {
            out.extend(LINKTYPE_RAW.to_le_bytes());
            out.extend([0; 2]);
            out.extend(snaplen.to_le_bytes());
            option(IF_NAME, text(name), out);
            if !description.is_empty() {
                option(IF_DESCRIPTION, text(description), out);
            }
            option(IF_TSRESOL, &[NANOSECONDS], out);
            option(END_OF_OPTIONS, &[], out);
        });
        let interface = Interface(self.interfaces);
        self.interfaces += 1;
        interface
    }
    /// Adds a packet of `original_len` bytes (at least the length of `bytes`) of which `bytes` were
    /// kept. Packets may be in any order of time.
    pub fn packet(
        &mut self,
        interface: Interface,
        at: Instant,
        direction: Direction,
        original_len: usize,
        bytes: &[u8],
    ) {
        let nanos = at.as_nanos();
        self.block(ENHANCED_PACKET, |out| {
            out.extend(interface.0.to_le_bytes());
            out.extend(((nanos >> 32) as u32).to_le_bytes());
            out.extend((nanos as u32).to_le_bytes());
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend((original_len.max(bytes.len()) as u32).to_le_bytes());
            out.extend(bytes);
            pad(bytes.len(), out);
            let direction: u32 = match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            };
            option(EPB_FLAGS, &direction.to_le_bytes(), out);
            option(END_OF_OPTIONS, &[], out);
        });
    }
    /// Takes the bytes written since the last call, so that the caller can store the file in
    /// pieces.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }
    /// Returns the bytes not yet taken.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }
    /// Number of bytes not yet taken.
    pub fn len(&self) -> usize {
        self.out.len()
    }
    /// True if all bytes were taken.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Writes a block: type, length, body, length. The body must be a multiple of 4 bytes long.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend(kind.to_le_bytes());
        self.out.extend([0; 4]);
        body(&mut self.out);
        let len = ((self.out.len() - start + 4) as u32).to_le_bytes();
        self.out.extend(len);
        self.out[start + 4..][..4].copy_from_slice(&len);
    }
}

fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(value.len(), out);
}

fn pad(len: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + len.next_multiple_of(4) - len, 0);
}

/// Bytes of a text, truncated to the maximum length of an option.
fn text(text: &str) -> &[u8] {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text.as_bytes()[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32s(bytes: &[u8]) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn blocks_match_hand_encoded_ones() {
        let mut writer = Writer::new("me");
        let section = writer.take();
        assert_eq!(
            u32s(&section),
            [0x0a0d_0d0a, 40, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 0x0002_0004, 0x656d, 0, 40]
        );
        let wifi = writer.interface("wifi", "", 96);
        assert_eq!(
            u32s(&writer.take()),
            [1, 40, 101, 96, 0x0004_0002, u32::from_le_bytes(*b"wifi"), 0x0001_0009, 9, 0, 40]
        );
        writer.packet(wifi, Instant::from_nanos((3 << 32) + 5), Direction::Outbound, 1500, &[1, 2, 3, 4, 5]);
        assert_eq!(
            u32s(&writer.into_bytes()),
            [6, 52, 0, 3, 5, 5, 1500, 0x0403_0201, 5, 0x0004_0002, 2, 0, 52]
        );
    }

    #[test]
    fn interfaces_are_numbered_in_order() {
        let mut writer = Writer::new("me");
        assert_eq!(writer.interface("wifi", "802.11", 0), Interface(0));
        assert_eq!(writer.interface("lte", "", 0), Interface(1));
        assert!(!writer.is_empty());
        assert_eq!(writer.len() % 4, 0);
    }

    #[test]
    fn long_text_is_truncated_at_a_character_boundary() {
        let long = "é".repeat(40_000);
        assert_eq!(text(&long).len(), 65_534);
    }
}
