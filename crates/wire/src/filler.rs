//! The bytes that stand for a piece of a simulated stream, and their checksum without making them.
//!
//! They depend on the offset alone: lines of 16 bytes, each its own offset in 15 hexadecimal digits and
//! a line feed, so that a stream followed in a capture shows where each of its bytes belongs. A piece
//! that was corrupted on its way has [`MARK`] added to each byte.

use crate::{Payload, Span};

/// Bytes of one line.
const LINE: usize = 16;
const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// What corruption adds to the bytes at even and at odd offsets. No mapping shorter than 57,821 bytes
/// has the checksum of the right bytes then.
const MARK: [u8; 2] = [3, 5];
/// Ones' complement sums of 16 bits are sums modulo this, with 0xffff for 0.
const MODULUS: u64 = 0xffff;

/// Appends the bytes of a piece.
pub fn filler(span: Span, out: &mut Vec<u8>) {
    let (mut at, mut left) = (span.offset, span.len());
    let from = out.len();
    out.reserve(left);
    while left > 0 {
        let within = (at % LINE as u64) as usize;
        let line = line(at - within as u64);
        let take = left.min(LINE - within);
        out.extend(&line[within..within + take]);
        at = at.wrapping_add(take as u64);
        left -= take;
    }
    if span.is_corrupted() {
        for (i, byte) in out[from..].iter_mut().enumerate() {
            *byte += MARK[(span.offset as usize + i) % 2];
        }
    }
}

fn line(offset: u64) -> [u8; LINE] {
    let mut line = [b'\n'; LINE];
    let mut rest = offset;
    for digit in line[..LINE - 1].iter_mut().rev() {
        *digit = DIGITS[(rest & 0xf) as usize];
        rest >>= 4;
    }
    line
}

/// The ones' complement sum of the bytes of a piece, as [`crate::Payload::ones_sum`] says.
pub(crate) fn sum(span: Span) -> u16 {
    if span.len == 0 {
        return 0;
    }
    let end = span.offset.wrapping_add(u64::from(span.len));
    let mut sum = MODULUS + up_to(end) - up_to(span.offset);
    if span.is_corrupted() {
        let even = u64::from(span.len).div_ceil(2) - (span.offset & 1 & u64::from(span.len));
        let odd = u64::from(span.len) - even;
        sum += 256 * u64::from(MARK[0]) * even + u64::from(MARK[1]) * odd;
    }
    if span.offset % 2 == 1 {
        // Words begin at the piece's first byte.
        sum = sum % MODULUS * 256;
    }
    match sum % MODULUS {
        0 => 0xffff,
        sum => sum as u16,
    }
}

/// The sum of the stream's bytes before `offset`, modulo 65,535.
fn up_to(offset: u64) -> u64 {
    let (lines, within) = (offset / LINE as u64, (offset % LINE as u64) as usize);
    let mut sum = whole_lines(lines);
    if within > 0 {
        for (i, byte) in line(offset - within as u64)[..within].iter().enumerate() {
            sum += weight(i) * u64::from(*byte);
        }
    }
    sum % MODULUS
}

/// The byte at an even place of a line is the upper half of its word.
fn weight(place: usize) -> u64 {
    if place.is_multiple_of(2) { 256 } else { 1 }
}

/// The sum of the first `lines` lines. A digit runs through all 16 values again and again, each kept
/// for a power of 16 lines, so that whole rounds need not be added one by one.
fn whole_lines(lines: u64) -> u64 {
    let round: u64 = DIGITS.iter().map(|&digit| u64::from(digit)).sum();
    // The last digit of a line's offset is 0, and then comes the line feed.
    let lines_mod = lines % MODULUS;
    let mut sum = lines_mod * (256 * u64::from(b'0') + u64::from(b'\n'));
    for exponent in 0..14 {
        let place = 13 - exponent;
        // 16^4 is 1 modulo 65,535.
        let kept = 1_u64 << (4 * (exponent % 4));
        let value = lines >> (4 * exponent);
        let (rounds, digit) = (value >> 4, (value & 0xf) as usize);
        let before: u64 = DIGITS[..digit].iter().map(|&digit| u64::from(digit)).sum();
        let rest = lines & ((1 << (4 * exponent)) - 1);
        let column = (rounds % MODULUS) * kept % MODULUS * round
            + kept * before
            + rest % MODULUS * u64::from(DIGITS[digit]);
        sum += weight(place) * (column % MODULUS);
    }
    sum % MODULUS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Sum;
    use proptest::prelude::*;

    fn bytes_of(span: Span) -> Vec<u8> {
        let mut out = Vec::new();
        filler(span, &mut out);
        out
    }
    fn filled(offset: u64, len: u32) -> Vec<u8> {
        bytes_of(Span::new(offset, len))
    }

    #[test]
    fn filler_says_where_it_belongs() {
        assert_eq!(filled(0, 20), b"000000000000000\n0000");
        assert_eq!(filled(0x12_340e, 4), b"0\n00");
        assert_eq!(filled(0x12_3400, 16), b"000000000123400\n");
    }

    #[test]
    fn filler_of_a_piece_is_a_piece_of_the_filler() {
        for mark in [|span| span, Span::corrupted] {
            let whole = bytes_of(mark(Span::new(0, 300)));
            for from in 0..=64 {
                for to in from..=100 {
                    let part = bytes_of(mark(Span::new(from as u64, (to - from) as u32)));
                    assert_eq!(part, &whole[from..to]);
                }
            }
        }
    }

    #[test]
    fn the_sum_of_corrupted_bytes_is_another_for_every_length() {
        for offset in [0, 1] {
            for len in 1..57_821 {
                let span = Span::new(offset, len);
                assert_ne!(sum(span), sum(span.corrupted()), "{len}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_sum_is_that_of_the_bytes(
            offset in prop_oneof![0..600_000_u64, any::<u64>()],
            len in 0..3000_u32,
            corrupt in any::<bool>(),
        ) {
            let span = Span::new(offset, len);
            let span = if corrupt { span.corrupted() } else { span };
            let mut of_bytes = Sum::new();
            of_bytes.add(&bytes_of(span));
            prop_assert_eq!(!of_bytes.finish(), sum(span));
        }

        #[test]
        fn sums_of_pieces_make_the_sum_of_the_whole(offset in any::<u32>(), len in 0..3000_u32, cut in 0..3000_u32) {
            let whole = Span::new(offset.into(), len);
            let cut = cut.min(len) as usize;
            let mut total = Sum::new();
            for part in [whole.slice(0, cut), whole.slice(cut, len as usize)] {
                total.add_part(part.ones_sum(), part.len());
            }
            prop_assert_eq!(!total.finish(), whole.ones_sum());
        }
    }
}
