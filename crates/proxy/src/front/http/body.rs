//! Message body framing (RFC 9112, section 6).

use super::head::{Head, ParseError, number};
use core::ops::Range;

/// Framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    Empty,
    /// Content-Length, in bytes.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
    /// The body ends with the connection.
    UntilClose,
}

impl Framing {
    /// Framing from the header fields; `None` if they specify none. Accepts a single
    /// Content-Length, or `chunked` as the only transfer coding, never both.
    pub(super) fn read(head: &Head<'_>, minor: u8) -> Result<Option<Self>, ParseError> {
        let coding = head
            .one("transfer-encoding")
            .map_err(|()| ParseError::bad_request("duplicate Transfer-Encoding"))?;
        let length =
            head.one("content-length").map_err(|()| ParseError::bad_request("duplicate Content-Length"))?;
        match (coding, length) {
            (Some(_), Some(_)) => Err(ParseError::bad_request("both Transfer-Encoding and Content-Length")),
            (Some(_), _) if minor == 0 => Err(ParseError::bad_request("Transfer-Encoding in HTTP/1.0")),
            (Some(coding), _) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Some(Self::Chunked)),
            (Some(_), _) => Err(ParseError { status: 501, reason: "unsupported transfer coding" }),
            (None, Some(length)) => match number(length) {
                Some(0) => Ok(Some(Self::Empty)),
                Some(length) => Ok(Some(Self::Length(length))),
                None => Err(ParseError::bad_request("invalid Content-Length")),
            },
            (None, None) => Ok(None),
        }
    }
}

/// Output of [`ChunkDecoder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkEvent {
    /// Range of the buffer with body data.
    Data(Range<usize>),
    /// End of the body; the bytes of the buffer up to here belong to it.
    End(usize),
    /// The buffer is consumed and the body continues.
    More,
}

/// Incremental decoder of chunked bodies (RFC 9112, section 7.1). Validates and discards extensions
/// and trailers.
#[derive(Debug, Clone, Default)]
pub struct ChunkDecoder {
    state: State,
    /// Remaining data bytes of the current chunk.
    left: u64,
    /// Digits of the chunk size, or bytes of extensions or trailers, so far.
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
    /// Start of a trailer line.
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Limit of extensions per chunk, so that they cannot amplify traffic.
const MAX_EXTENSION_BYTES: u32 = 256;
/// Limit of the trailer section, without line ends.
const MAX_TRAILER_BYTES: u32 = 8192;

impl ChunkDecoder {
    /// Decodes from `at`, which advances past the decoded bytes.
    ///
    /// # Errors
    /// The encoding violates RFC 9112.
    pub fn next(&mut self, buffer: &[u8], at: &mut usize) -> Result<ChunkEvent, &'static str> {
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
                return Ok(ChunkEvent::Data(range));
            }
            if self.state == State::Done {
                break;
            }
            *at += 1;
            self.step(byte)?;
        }
        Ok(if self.state == State::Done { ChunkEvent::End(*at) } else { ChunkEvent::More })
    }

    fn step(&mut self, byte: u8) -> Result<(), &'static str> {
        self.state = match (self.state, byte) {
            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // 15 digits cannot overflow a `u64`.
                self.read += 1;
                if self.read > 15 {
                    return Err("chunk size too long");
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
            (State::Size, _) => return Err("invalid chunk size"),
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, byte) if super::head::is_control(byte) => {
                return Err("control character in a chunk extension");
            }
            (State::Extension, _) => {
                self.read += 1;
                if self.read > MAX_EXTENSION_BYTES {
                    return Err("chunk extensions too long");
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
            (State::Trailer | State::TrailerName, byte) if super::head::is_token(byte) => {
                self.count_trailer_byte()?;
                State::TrailerName
            }
            (State::TrailerName, b':') => {
                self.count_trailer_byte()?;
                State::TrailerValue
            }
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, byte) if !super::head::is_control(byte) => {
                self.count_trailer_byte()?;
                State::TrailerValue
            }
            (State::TrailerLf, b'\n') => State::Trailer,
            (State::EndLf, b'\n') => State::Done,
            _ => return Err("invalid chunk delimiter"),
        };
        Ok(())
    }

    fn count_trailer_byte(&mut self) -> Result<(), &'static str> {
        self.read += 1;
        if self.read > MAX_TRAILER_BYTES { Err("trailers too long") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decoded data, and the length of a complete body; fed in portions of `step` bytes.
    fn read(bytes: &[u8], step: usize) -> Result<(Vec<u8>, Option<usize>), &'static str> {
        let (mut chunks, mut data) = (ChunkDecoder::default(), Vec::new());
        let mut before = 0;
        for portion in bytes.chunks(step.max(1)) {
            let mut at = 0;
            loop {
                match chunks.next(portion, &mut at)? {
                    ChunkEvent::Data(range) => data.extend_from_slice(&portion[range]),
                    ChunkEvent::End(length) => return Ok((data, Some(before + length))),
                    ChunkEvent::More => break,
                }
            }
            before += portion.len();
        }
        Ok((data, None))
    }

    #[test]
    fn chunked_body_ends_at_the_last_chunk() {
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
    fn malformed_chunks_are_rejected() {
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

    #[test]
    fn trailers_are_fields_of_limited_size() {
        for line in ["a", "a b: c", "a : b", "a\t: b", "a\u{c}: b", "a: \0"] {
            assert!(read(format!("0\r\n{line}\r\n\r\n").as_bytes(), 100).is_err(), "{line:?}");
        }
        let lines = |name: &str, count| format!("0\r\n{}\r\n", format!("{name}:\r\n").repeat(count));
        for name in ["a", "abcdefg"] {
            let most = MAX_TRAILER_BYTES as usize / (name.len() + 1);
            assert!(read(lines(name, most).as_bytes(), 100).is_ok());
            assert!(read(lines(name, most + 1).as_bytes(), 100).is_err());
        }
        assert!(read(format!("0\r\n{}:\r\n\r\n", "a".repeat(9000)).as_bytes(), 100).is_err());
    }

    proptest! {
        #[test]
        fn decoding_is_independent_of_portions(bytes in "[0-5a;:\r\n]{0,40}", step in 1usize..7) {
            let (whole, parts) = (read(bytes.as_bytes(), 1000), read(bytes.as_bytes(), step));
            prop_assert_eq!(whole, parts);
        }
    }
}
