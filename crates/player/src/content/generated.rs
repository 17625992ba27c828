//! Generated content: each byte follows from a seed and its position. A server need not store it,
//! and a receiver can check it.

/// Bytes of one segment at one level.
///
/// The little-endian words of SplitMix64 (Steele, Lea, Flood 2014) at consecutive positions:
/// incompressible, and different at every offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generated {
    key: u64,
}

impl Generated {
    /// Content of a segment at a level, both counted from 0.
    pub fn new(seed: u64, level: u64, segment: u64) -> Self {
        Self { key: mix(mix(mix(seed) ^ level) ^ segment) }
    }

    /// Writes the bytes from `offset` on.
    pub fn fill(self, offset: u64, into: &mut [u8]) {
        let mut at = offset;
        let mut into = into;
        while !into.is_empty() {
            let word = self.word(at / 8).to_le_bytes();
            let from = &word[(at % 8) as usize..];
            let count = from.len().min(into.len());
            let (piece, rest) = into.split_at_mut(count);
            piece.copy_from_slice(&from[..count]);
            into = rest;
            at += count as u64;
        }
    }

    /// Position of the first wrong byte in `found`, which begins at `offset`.
    pub fn mismatch(self, offset: u64, found: &[u8]) -> Option<u64> {
        let mut right = [0; 4096];
        let mut at = offset;
        for piece in found.chunks(right.len()) {
            let right = &mut right[..piece.len()];
            self.fill(at, right);
            if piece != right {
                let differs = piece.iter().zip(right.iter()).take_while(|(found, right)| found == right);
                return Some(at + differs.count() as u64);
            }
            at += piece.len() as u64;
        }
        None
    }

    fn word(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_equal_the_same_bytes_of_the_whole() {
        let content = Generated::new(7, 2, 40);
        let mut whole = [0; 100];
        content.fill(0, &mut whole);
        for from in 0..30 {
            let mut part = [0; 61];
            content.fill(from, &mut part);
            assert_eq!(part, whole[from as usize..from as usize + 61], "from {from}");
        }
        let others = [Generated::new(8, 2, 40), Generated::new(7, 40, 2), Generated::new(7, 2, 41)];
        for other in others {
            let mut bytes = [0; 100];
            other.fill(0, &mut bytes);
            assert_ne!(bytes, whole);
        }
    }

    #[test]
    fn mismatch_names_the_first_wrong_byte() {
        let content = Generated::new(1, 0, 0);
        let mut bytes = vec![0; 10_000];
        content.fill(5, &mut bytes);
        assert_eq!(content.mismatch(5, &bytes), None);
        assert_eq!(content.mismatch(6, &bytes), Some(6));
        bytes[9_000] ^= 1;
        assert_eq!(content.mismatch(5, &bytes), Some(9_005));
        assert_eq!(content.mismatch(5, &[]), None);
    }
}
