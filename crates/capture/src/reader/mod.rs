//! Reader of pcap and pcapng files, through a buffer of fixed size.
//!
//! pcap (draft-ietf-opsawg-pcap) with micro- and nanoseconds in both byte orders; pcapng
//! (draft-ietf-opsawg-pcapng) with any sections, interfaces and resolutions. An unreadable
//! beginning is an error. A later problem ends the reading, and [`Reader::ended`] has its place
//! and reason.

mod pcap;
mod pcapng;

use std::io::{self, Read};
use units::Instant;
use wire::pcapng::Direction;

/// Size of the buffer, in bytes.
const BUFFER_BYTES: usize = 512 * 1024;
/// Maximum of a record that is examined; an IP packet has 65,535 bytes.
const MAX_EXAMINED_BYTES: usize = 128 * 1024;
/// Maximum number of interfaces, per section and in total.
const MAX_INTERFACES: usize = 1024;
/// Maximum length of an interface's name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Error of a file that cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Neither pcap nor pcapng.
    #[error(
        "no capture: byte {offset} has {found}, expected the first bytes of a pcap (a1b2c3d4 or a1b23c4d, in \
         either order) or pcapng file (0a0d0d0a){}", .hint.map_or_else(String::new, |hint| format!("; {hint}"))
    )]
    NotACapture {
        /// Offset in bytes.
        offset: u64,
        /// Found bytes, in hexadecimal.
        found: String,
        /// A guess at the format.
        hint: Option<&'static str>,
    },
    /// A capture with an invalid header.
    #[error("no capture: {what} at byte {offset} is {found}, expected {expected}")]
    Header {
        /// The problem.
        what: &'static str,
        /// Offset in bytes.
        offset: u64,
        /// Found value.
        found: String,
        /// Expected value.
        expected: &'static str,
    },
    /// I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// End of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// After the last record.
    Whole,
    /// Within a record, which is dropped.
    Cut {
        /// Offset of the record in bytes.
        offset: u64,
    },
    /// At an invalid record; the rest is dropped.
    Damaged {
        /// Offset of the record in bytes.
        offset: u64,
        /// The problem.
        what: String,
    },
}

/// A packet of the file.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Time since 1970, or since the start of the file's clock; `None` if absent.
    pub at: Option<Instant>,
    /// Interface: index into [`Reader::interfaces`].
    pub interface: usize,
    /// Link type (`LINKTYPE_`).
    pub link_type: u16,
    /// Direction, if the file has it.
    pub direction: Option<Direction>,
    /// Length on the wire.
    pub original_len: u32,
    /// Captured bytes, at most about 128 kB.
    pub bytes: &'a [u8],
}

/// File format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Pcap(pcap::Header),
    Pcapng,
}

/// Position of a frame in the buffer.
#[derive(Debug, Clone, Copy)]
struct FrameLocation {
    at: Option<Instant>,
    interface: usize,
    link_type: u16,
    direction: Option<Direction>,
    original_len: u32,
    from: usize,
    to: usize,
}

/// Reads a file frame by frame.
#[derive(Debug)]
pub struct Reader<R> {
    bytes: Buffer<R>,
    format: Format,
    section: pcapng::Section,
    interfaces: Vec<String>,
    ended: Option<Ended>,
    unknown_interface: u64,
}

impl<R: Read> Reader<R> {
    /// Opens a capture and recognises its format.
    ///
    /// # Errors
    /// If it is not a capture, or cannot be read.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut bytes = Buffer::new(source);
        let whole = bytes.fill(4)?;
        let start = bytes.filled();
        let format = match start.first_chunk::<4>() {
            Some(&[0x0a, 0x0d, 0x0d, 0x0a]) => Format::Pcapng,
            Some(magic) if whole => match pcap::Header::of_magic(*magic) {
                Some(order) => Format::Pcap(order.read(&mut bytes)?),
                None => return Err(not_a_capture(start)),
            },
            _ => return Err(not_a_capture(start)),
        };
        let section = pcapng::Section::default();
        let mut interfaces = Vec::new();
        match format {
            Format::Pcap(_) => interfaces.push(String::new()),
            Format::Pcapng => pcapng::Section::begin(&mut bytes)?,
        }
        Ok(Self { bytes, format, section, interfaces, ended: None, unknown_interface: 0 })
    }
    /// Returns the next frame; `None` at the end, regular or not.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        if self.ended.is_some() {
            return Ok(None);
        }
        let next = match &self.format {
            Format::Pcap(header) => header.next(&mut self.bytes)?,
            Format::Pcapng => {
                self.section.next(&mut self.bytes, &mut self.interfaces, &mut self.unknown_interface)?
            }
        };
        Ok(match next {
            Ok(FrameLocation { at, interface, link_type, direction, original_len, from, to }) => {
                let bytes = self.bytes.data.get(from..to).unwrap_or_default();
                Some(Frame { at, interface, link_type, direction, original_len, bytes })
            }
            Err(ended) => {
                self.ended = Some(ended);
                None
            }
        })
    }
    /// `pcap` or `pcapng`.
    pub fn format(&self) -> &'static str {
        match self.format {
            Format::Pcap(_) => "pcap",
            Format::Pcapng => "pcapng",
        }
    }
    /// Names of the interfaces so far; empty for unnamed ones. Interfaces with one name are one.
    pub fn interfaces(&self) -> &[String] {
        &self.interfaces
    }
    /// End of the file; `None` before it is reached.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }
    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.bytes.offset
    }
    /// Dropped frames: of interfaces that the file does not describe, or beyond the limit.
    pub fn unknown_interface(&self) -> u64 {
        self.unknown_interface
    }
}

/// True if a file begins like a capture: pcap with micro- or nanoseconds in either byte order, an old
/// variant of pcap that [`Reader`] rejects with a hint, or pcapng.
pub fn is_capture(start: &[u8]) -> bool {
    match start.first_chunk::<4>() {
        Some([0x0a, 0x0d, 0x0d, 0x0a] | [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34]) => true,
        Some(magic) => pcap::Header::of_magic(*magic).is_some(),
        None => false,
    }
}

fn not_a_capture(start: &[u8]) -> ReadError {
    let hint = match start {
        [0x1f, 0x8b, ..] => Some("it looks compressed by gzip: unpack it first"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("it looks compressed by zstd: unpack it first"),
        [0x34, 0xcd, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0xcd, 0x34, ..] => {
            Some("it is an old variant of pcap: `editcap` makes a current one of it")
        }
        [] => Some("it is empty"),
        _ => None,
    };
    let found = if start.is_empty() { "nothing".to_owned() } else { hex(&start[..start.len().min(4)]) };
    ReadError::NotACapture { offset: 0, found, hint }
}

/// Up to four bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    let number = bytes.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    format!("{number:0width$x}", width = 2 * bytes.len().min(4))
}

/// Sliding window over the source.
#[derive(Debug)]
struct Buffer<R> {
    source: R,
    data: Box<[u8]>,
    from: usize,
    to: usize,
    /// Offset of `data[from]` in the source.
    offset: u64,
}

impl<R: Read> Buffer<R> {
    fn new(source: R) -> Self {
        Self { source, data: vec![0; BUFFER_BYTES].into_boxed_slice(), from: 0, to: 0, offset: 0 }
    }
    /// Buffered bytes.
    fn filled(&self) -> &[u8] {
        self.data.get(self.from..self.to).unwrap_or_default()
    }
    /// Fills the window to at least `len` bytes, at most the buffer's size; false if the source
    /// ends before.
    fn fill(&mut self, len: usize) -> io::Result<bool> {
        while self.to - self.from < len {
            if self.data.len() - self.from < len {
                self.data.copy_within(self.from..self.to, 0);
                self.to -= self.from;
                self.from = 0;
            }
            match self.source.read(&mut self.data[self.to..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.to += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
    /// Skips `len` bytes; false if the source ends before.
    fn skip(&mut self, mut len: u64) -> io::Result<bool> {
        loop {
            let step = len.min((self.to - self.from) as u64);
            self.from += step as usize;
            self.offset += step;
            len -= step;
            if len == 0 {
                return Ok(true);
            }
            (self.from, self.to) = (0, 0);
            if !self.fill(1)? {
                return Ok(false);
            }
        }
    }
    /// True at the end of the source, between two records or within one.
    fn end(&self) -> Ended {
        if self.from == self.to { Ended::Whole } else { Ended::Cut { offset: self.offset } }
    }
}

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    /// Returns 0 beyond the end.
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let array = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        if self == Self::Big { u16::from_be_bytes(array) } else { u16::from_le_bytes(array) }
    }
    /// Returns 0 beyond the end.
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let array = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        if self == Self::Big { u32::from_be_bytes(array) } else { u32::from_le_bytes(array) }
    }
}
