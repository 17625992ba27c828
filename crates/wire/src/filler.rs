//! Filler bytes for the payload of a simulated stream, and their checksum in closed form.
//!
//! The stream consists of lines of 16 bytes: the offset of the line in 15 hexadecimal digits, and a
//! line feed. A stream followed in a capture thus shows the offset of each byte. Corrupted payload
//! has [`CORRUPTION`] added to each byte.

use crate::span::Span;

/// Bytes of one line.
const LINE_LEN: usize = 16;
const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// Added by corruption to the bytes at even and at odd offsets. The checksum changes for every
/// length below 57,821 bytes.
const CORRUPTION: [u8; 2] = [3, 5];
/// Ones' complement sums of 16 bits are sums with this modulus, where 0xffff stands for 0.
const MODULUS: u64 = 0xffff;

/// Appends the filler bytes of `span`.
pub fn filler(span: Span, out: &mut Vec<u8>) {
    let (mut at, mut left) = (span.offset, span.len as usize);
    let from = out.len();
    out.reserve(left);
    while left > 0 {
        let within = (at % LINE_LEN as u64) as usize;
        let line = line(at - within as u64);
        let take = left.min(LINE_LEN - within);
        out.extend(&line[within..within + take]);
        at = at.wrapping_add(take as u64);
        left -= take;
    }
    if span.is_corrupted() {
        for (i, byte) in out[from..].iter_mut().enumerate() {
            *byte += CORRUPTION[(span.offset as usize + i) % 2];
        }
    }
}

fn line(offset: u64) -> [u8; LINE_LEN] {
    let mut line = [b'\n'; LINE_LEN];
    let mut rest = offset;
    for digit in line[..LINE_LEN - 1].iter_mut().rev() {
        *digit = DIGITS[(rest & 0xf) as usize];
        rest >>= 4;
    }
    line
}

/// Ones' complement sum of the filler bytes of `span` ([`crate::Payload::ones_sum`]).
pub(crate) fn sum(span: Span) -> u16 {
    if span.len == 0 {
        return 0;
    }
    let end = span.offset.wrapping_add(u64::from(span.len));
    let mut sum = MODULUS + sum_before(end) - sum_before(span.offset);
    if span.is_corrupted() {
        let even = u64::from(span.len).div_ceil(2) - (span.offset & 1 & u64::from(span.len));
        let odd = u64::from(span.len) - even;
        sum += 256 * u64::from(CORRUPTION[0]) * even + u64::from(CORRUPTION[1]) * odd;
    }
    if span.offset % 2 == 1 {
        // The words of the span start at an odd offset, so that the halves are swapped.
        sum = sum % MODULUS * 256;
    }
    match sum % MODULUS {
        0 => 0xffff,
        sum => sum as u16,
    }
}

/// Sum of the bytes of the stream before `offset`, modulo 65,535.
fn sum_before(offset: u64) -> u64 {
    let (lines, within) = (offset / LINE_LEN as u64, (offset % LINE_LEN as u64) as usize);
    let mut sum = sum_of_lines(lines);
    if within > 0 {
        for (i, byte) in line(offset - within as u64)[..within].iter().enumerate() {
            sum += weight(i) * u64::from(*byte);
        }
    }
    sum % MODULUS
}

/// Weight of a byte in a sum of words: at an even index it is the upper half of its word.
fn weight(index: usize) -> u64 {
    if index.is_multiple_of(2) { 256 } else { 1 }
}

/// Sum of the first `lines` lines, modulo 65,535. Digit `n` of the line number cycles through all
/// 16 values and keeps each for `16^n` lines, so that complete cycles have a closed form.
fn sum_of_lines(lines: u64) -> u64 {
    let cycle_sum: u64 = DIGITS.iter().map(|&digit| u64::from(digit)).sum();
    // A line ends with the digit 0, because its offset is a multiple of 16, and a line feed.
    let lines_mod = lines % MODULUS;
    let mut sum = lines_mod * (256 * u64::from(b'0') + u64::from(b'\n'));
    for exponent in 0..14 {
        let index = 13 - exponent;
        // 16^4 is 1 modulo 65,535.
        let repeats = 1_u64 << (4 * (exponent % 4));
        let value = lines >> (4 * exponent);
        let (cycles, digit) = (value >> 4, (value & 0xf) as usize);
        let before: u64 = DIGITS[..digit].iter().map(|&digit| u64::from(digit)).sum();
        let rest = lines & ((1 << (4 * exponent)) - 1);
        let column = (cycles % MODULUS) * repeats % MODULUS * cycle_sum
            + repeats * before
            + rest % MODULUS * u64::from(DIGITS[digit]);
        sum += weight(index) * (column % MODULUS);
    }
    sum % MODULUS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Sum;
    use crate::payload::Payload;
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
    fn filler_shows_its_offset() {
        assert_eq!(filled(0, 20), b"000000000000000\n0000");
        assert_eq!(filled(0x12_340e, 4), b"0\n00");
        assert_eq!(filled(0x12_3400, 16), b"000000000123400\n");
    }

    #[test]
    fn filler_of_a_part_is_a_part_of_the_filler() {
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
    fn corruption_changes_the_sum_for_every_length() {
        for offset in [0, 1] {
            for len in 1..57_821 {
                let span = Span::new(offset, len);
                assert_ne!(sum(span), sum(span.corrupted()), "{len}");
            }
        }
    }

    proptest! {
        #[test]
        fn closed_form_sum_equals_the_sum_of_the_bytes(
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
        fn sums_of_parts_add_up_to_the_sum_of_the_whole(offset in any::<u32>(), len in 0..3000_u32, cut in 0..3000_u32) {
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
