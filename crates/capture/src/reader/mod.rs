//! Frames out of pcap and pcapng files, through a buffer of fixed size.
//!
//! | specification | file |
//! | --- | --- |
//! | pcap (draft-ietf-opsawg-pcap), micro- and nanoseconds, both byte orders | `pcap` |
//! | pcapng (draft-ietf-opsawg-pcapng), any sections, interfaces, resolutions | `pcapng` |
//!
//! What cannot be read at the start is an error. What goes wrong later ends the reading, and
//! [`Reader::ended`] says where and why: what came before is still worth having.

mod pcap;
mod pcapng;

use std::io::{self, Read};
use units::Instant;
use wire::pcapng::Direction;

/// Bytes of the buffer.
const BUFFER: usize = 512 * 1024;
/// The most of one record that is looked at; the rest is passed over. A whole packet of IP has 65,535.
const KEEP: usize = 128 * 1024;
/// Interfaces that are told apart, in a section and in all.
const MOST_INTERFACES: usize = 1024;
/// Bytes of an interface's name that are kept.
const MOST_NAME: usize = 64;

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is neither pcap nor pcapng.
    #[error(
        "no capture: byte {offset} has {found}, expected the first bytes of a pcap (a1b2c3d4 or a1b23c4d, in \
         either order) or pcapng file (0a0d0d0a){}", .hint.map_or_else(String::new, |hint| format!("; {hint}"))
    )]
    NotACapture {
        /// Where, in bytes from the beginning.
        offset: u64,
        /// What is there, in hexadecimal digits.
        found: String,
        /// What it might be.
        hint: Option<&'static str>,
    },
    /// It begins as a capture, and its header cannot be right.
    #[error("no capture: {what} at byte {offset} is {found}, expected {expected}")]
    Header {
        /// What is wrong.
        what: &'static str,
        /// Where, in bytes from the beginning.
        offset: u64,
        /// What is there.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// It could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How a file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// Behind its last record.
    Whole,
    /// Within a record, which is left out.
    Cut {
        /// Where the record begins, in bytes from the beginning.
        offset: u64,
    },
    /// At a record that cannot be; what follows it is left out.
    Damaged {
        /// Where the record begins, in bytes from the beginning.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
}

/// A packet as the file has it.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// When, since 1970 or whatever the file's clock begins with; `None` where it does not say.
    pub at: Option<Instant>,
    /// Which interface: an index into [`Reader::interfaces`].
    pub interface: usize,
    /// The kind of its first header (`LINKTYPE_`).
    pub link_type: u16,
    /// Which way it went, where the file says so.
    pub direction: Option<Direction>,
    /// Its length on the wire.
    pub original_len: u32,
    /// What was kept of it, up to some 128 kB.
    pub bytes: &'a [u8],
}

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Pcap(pcap::Header),
    Pcapng,
}

/// Where a frame lies in the buffer.
#[derive(Debug, Clone, Copy)]
struct Found {
    at: Option<Instant>,
    interface: usize,
    link_type: u16,
    direction: Option<Direction>,
    original_len: u32,
    from: usize,
    to: usize,
}

/// Reads frame after frame.
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
    /// Looks at how the file begins.
    ///
    /// # Errors
    /// Where that is no capture, or cannot be read.
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
    /// The next frame; `None` at the end, however the file ends.
    ///
    /// # Errors
    /// Where the source cannot be read.
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
            Ok(Found { at, interface, link_type, direction, original_len, from, to }) => {
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
    /// Names of the interfaces so far; empty for those without a name. Interfaces of one name are one.
    pub fn interfaces(&self) -> &[String] {
        &self.interfaces
    }
    /// How it ended; `None` before the end.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }
    /// Bytes of the file so far.
    pub fn offset(&self) -> u64 {
        self.bytes.offset
    }
    /// Frames of interfaces that the file does not describe, or that are too many: they are left out.
    pub fn unknown_interface(&self) -> u64 {
        self.unknown_interface
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

/// Up to four bytes in hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let number = bytes.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    format!("{number:0width$x}", width = 2 * bytes.len().min(4))
}

/// A window on the source that moves on.
#[derive(Debug)]
struct Buffer<R> {
    source: R,
    data: Box<[u8]>,
    from: usize,
    to: usize,
    /// Of `data[from]`, from the source's beginning.
    offset: u64,
}

impl<R: Read> Buffer<R> {
    fn new(source: R) -> Self {
        Self { source, data: vec![0; BUFFER].into_boxed_slice(), from: 0, to: 0, offset: 0 }
    }
    /// What is there.
    fn filled(&self) -> &[u8] {
        self.data.get(self.from..self.to).unwrap_or_default()
    }
    /// Gets at least `len` bytes, which are no more than the buffer has; false where the source ends before.
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
    /// Passes over `len` bytes; false where the source ends before.
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
    /// At the end of the source, which lies between two records or within one.
    fn end(&self) -> Ended {
        if self.from == self.to { Ended::Whole } else { Ended::Cut { offset: self.offset } }
    }
}

/// The order of the bytes in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    /// 0 where the bytes end before.
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let array = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        if self == Self::Big { u16::from_be_bytes(array) } else { u16::from_le_bytes(array) }
    }
    /// 0 where the bytes end before.
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let array = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        if self == Self::Big { u32::from_be_bytes(array) } else { u32::from_le_bytes(array) }
    }
}
