//! Content of connections, which the receiver can verify.

use units::Seed;

/// Endless stream of pseudorandom bytes with random access, determined by a seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeededBytes {
    key: u64,
}

impl SeededBytes {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { key: seed.get() }
    }

    /// Fills `out` with the bytes from `offset` on.
    pub(crate) fn fill(self, offset: u64, out: &mut [u8]) {
        let mut at = offset;
        let mut rest = out;
        while !rest.is_empty() {
            let word = self.word(at / 8).to_le_bytes();
            let from = (at % 8) as usize;
            let length = (8 - from).min(rest.len());
            let (head, tail) = rest.split_at_mut(length);
            head.copy_from_slice(&word[from..from + length]);
            at += length as u64;
            rest = tail;
        }
    }

    /// Returns the stream offset of the first wrong byte in `bytes`, which were received at
    /// `offset`. `expected` is a reusable buffer.
    pub(crate) fn first_mismatch(self, offset: u64, bytes: &[u8], expected: &mut Vec<u8>) -> Option<u64> {
        expected.resize(bytes.len(), 0);
        self.fill(offset, expected);
        if expected == bytes {
            return None;
        }
        expected.iter().zip(bytes).position(|(a, b)| a != b).map(|at| offset + at as u64)
    }

    /// Element `index` of a SplitMix64 sequence (Steele, Lea, Flood 2014).
    fn word(self, index: u64) -> u64 {
        let mut z = self.key.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_equals_the_same_range_of_the_whole() {
        let content = SeededBytes::new(Seed::new(7));
        let mut whole = vec![0; 1000];
        content.fill(0, &mut whole);
        for (from, to) in [(0, 1), (3, 20), (8, 16), (999, 1000), (13, 777)] {
            let mut part = vec![0; to - from];
            content.fill(from as u64, &mut part);
            assert_eq!(part, whole[from..to]);
            assert_eq!(content.first_mismatch(from as u64, &part, &mut Vec::new()), None);
            part[0] ^= 1;
            assert_eq!(content.first_mismatch(from as u64, &part, &mut Vec::new()), Some(from as u64));
        }
    }
}
