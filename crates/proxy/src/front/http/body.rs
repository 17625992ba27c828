//! Where a message's body ends (RFC 9112, section 6).

use super::head::{Bad, Head};
use core::ops::Range;

/// How a body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Empty,
    /// So many bytes.
    Length(u64),
    /// In chunks, the last of which says so.
    Chunked,
    /// All until the connection ends.
    UntilClose,
}

impl Framing {
    /// What the fields say; `None` where they say nothing. Only the one reading that everybody shares is taken:
    /// one length, or `chunked` and nothing else, and never both.
    pub(super) fn read(head: &Head<'_>, minor: u8) -> Result<Option<Self>, Bad> {
        let coding = head.one("transfer-encoding").map_err(|()| Bad::request("Transfer-Encoding twice"))?;
        let length = head.one("content-length").map_err(|()| Bad::request("Content-Length twice"))?;
        match (coding, length) {
            (Some(_), Some(_)) => Err(Bad::request("both Transfer-Encoding and Content-Length")),
            (Some(_), _) if minor == 0 => Err(Bad::request("Transfer-Encoding in HTTP/1.0")),
            (Some(coding), _) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Some(Self::Chunked)),
            (Some(_), _) => Err(Bad { status: 501, why: "a transfer coding other than chunked" }),
            (None, Some(length)) => {
                let is_number = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
                let number = core::str::from_utf8(length).ok().filter(|_| is_number);
                match number.and_then(|number| number.parse().ok()) {
                    Some(0) => Ok(Some(Self::Empty)),
                    Some(length) => Ok(Some(Self::Length(length))),
                    None => Err(Bad::request("a Content-Length that is no number")),
                }
            }
            (None, None) => Ok(None),
        }
    }
}

/// What was found in a body of chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These bytes of the buffer are data; there may be more.
    Data(Range<usize>),
    /// The body is over: so many bytes of the buffer belong to it.
    End(usize),
    /// All was read, and more is to come.
    More,
}

/// Reads a body of chunks (RFC 9112, section 7.1), byte by byte in whatever portions. Extensions and trailers
/// are read, held against their grammar, and dropped.
#[derive(Debug, Clone, Default)]
pub struct Chunks {
    state: State,
    /// Data left of this chunk.
    left: u64,
    /// Digits of its size so far, or bytes of extensions, or of trailers.
    read: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Size,
    Extension,
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    /// At the beginning of a line of the trailers.
    Trailer,
    TrailerLine,
    TrailerLf,
    EndLf,
    Done,
}

/// How long the extensions of a chunk are at most: as much again for each byte of data would be an attack.
const EXTENSIONS: u32 = 256;
/// How long the trailers are at most.
const TRAILERS: u32 = 8192;

impl Chunks {
    /// What comes next in `buffer` from `at` on, which is moved behind it.
    ///
    /// # Errors
    /// Where it is not what RFC 9112 says.
    pub fn next(&mut self, buffer: &[u8], at: &mut usize) -> Result<Piece, &'static str> {
        while let Some(&byte) = buffer.get(*at) {
            if self.state == State::Data {
                let there = (buffer.len() - *at) as u64;
                let take = there.min(self.left) as usize;
                let range = *at..*at + take;
                *at += take;
                self.left -= take as u64;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                return Ok(Piece::Data(range));
            }
            if self.state == State::Done {
                break;
            }
            *at += 1;
            self.step(byte)?;
        }
        Ok(if self.state == State::Done { Piece::End(*at) } else { Piece::More })
    }

    fn step(&mut self, byte: u8) -> Result<(), &'static str> {
        self.state = match (self.state, byte) {
            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // 15 digits are more than anybody has, and cannot overflow.
                self.read += 1;
                if self.read > 15 {
                    return Err("a chunk's size is too long");
                }
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                self.left = self.left << 4 | u64::from(digit);
                State::Size
            }
            (State::Size, b';') if self.read > 0 => {
                self.read = 0;
                State::Extension
            }
            (State::Size, b'\r') if self.read > 0 => State::SizeEnd,
            (State::Size, _) => return Err("a chunk's size is no number"),
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, byte) if super::head::is_control(byte) => {
                return Err("a control character in a chunk's extension");
            }
            (State::Extension, _) => {
                self.read += 1;
                if self.read > EXTENSIONS {
                    return Err("a chunk's extensions are too long");
                }
                State::Extension
            }
            (State::SizeEnd, b'\n') => {
                self.read = 0;
                if self.left == 0 { State::Trailer } else { State::Data }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size,
            (State::Trailer, b'\r') => State::EndLf,
            (State::Trailer, byte) if super::head::is_token(byte) => State::TrailerLine,
            (State::TrailerLine, b'\r') => State::TrailerLf,
            (State::TrailerLine, byte) if !super::head::is_control(byte) => {
                self.read += 1;
                if self.read > TRAILERS {
                    return Err("the trailers are too long");
                }
                State::TrailerLine
            }
            (State::TrailerLf, b'\n') => State::Trailer,
            (State::EndLf, b'\n') => State::Done,
            _ => return Err("a chunk does not end where it should"),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The data, and how many bytes belong to the body where it is whole; fed in portions of `step` bytes.
    fn read(bytes: &[u8], step: usize) -> Result<(Vec<u8>, Option<usize>), &'static str> {
        let (mut chunks, mut data) = (Chunks::default(), Vec::new());
        let mut before = 0;
        for portion in bytes.chunks(step.max(1)) {
            let mut at = 0;
            loop {
                match chunks.next(portion, &mut at)? {
                    Piece::Data(range) => data.extend_from_slice(&portion[range]),
                    Piece::End(length) => return Ok((data, Some(before + length))),
                    Piece::More => break,
                }
            }
            before += portion.len();
        }
        Ok((data, None))
    }

    #[test]
    fn a_body_of_chunks_ends_where_it_says() {
        let body = b"4\r\nWiki\r\n6;a=b\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nName: value\r\n\r\nGET ";
        for step in 1..body.len() {
            assert_eq!(
                read(body, step),
                Ok((b"Wikipedia in \r\n\r\nchunks.".to_vec(), Some(body.len() - 4)))
            );
        }
        assert_eq!(read(b"0\r\n\r\n", 9), Ok((vec![], Some(5))));
        assert_eq!(read(b"00\r\n\r\n", 9), Ok((vec![], Some(6))));
        assert_eq!(read(b"5\r\nab", 9), Ok((b"ab".to_vec(), None)));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let bad = [
            "\r\n0\r\n\r\n",
            " 5\r\nhello\r\n",
            "5 \r\nhello\r\n",
            "+5\r\nhello\r\n",
            "0x5\r\nhello\r\n",
            "-1\r\n",
            "5\nhello\n",
            "5\r\nhello0\r\n\r\n",
            "5\r\nhello\n0\r\n\r\n",
            "5;a\nb\r\nhello\r\n",
            "10000000000000000\r\n",
            "0\r\n GET\r\n\r\n",
            "0\r\nA: b\n\r\n",
            "5;\0\r\nhello\r\n",
            "5\rhello",
            "0\r\n:\r\n\r\n",
            "\u{ff15}\r\nhello\r\n",
        ];
        for text in bad {
            assert!(read(text.as_bytes(), 100).is_err(), "{text:?}");
        }
        assert!(read(format!("1;{}\r\n", "a".repeat(300)).as_bytes(), 100).is_err());
        assert!(read(format!("0\r\nA: {}\r\n\r\n", "a".repeat(9000)).as_bytes(), 100).is_err());
    }

    proptest! {
        #[test]
        fn portions_do_not_matter(bytes in "[0-5a;:\r\n]{0,40}", step in 1usize..7) {
            let (whole, parts) = (read(bytes.as_bytes(), 1000), read(bytes.as_bytes(), step));
            prop_assert_eq!(whole, parts);
        }
    }
}
