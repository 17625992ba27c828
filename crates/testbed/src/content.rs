//! What is written into a connection, so that the other end can tell whether it is what was meant.

use units::Seed;

/// A stream of bytes that a seed determines: any part of it can be made without the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    key: u64,
}

impl Content {
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

    /// Where `bytes`, read at `offset`, are not what they should be: the first such place in the stream.
    pub(crate) fn differs(self, offset: u64, bytes: &[u8], room: &mut Vec<u8>) -> Option<u64> {
        room.resize(bytes.len(), 0);
        self.fill(offset, room);
        if room == bytes {
            return None;
        }
        room.iter().zip(bytes).position(|(a, b)| a != b).map(|at| offset + at as u64)
    }

    /// SplitMix64 (Steele, Lea, Flood 2014) at a place of its sequence.
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
    fn any_part_is_the_same_as_in_the_whole() {
        let content = Content::new(Seed::new(7));
        let mut whole = vec![0; 1000];
        content.fill(0, &mut whole);
        for (from, to) in [(0, 1), (3, 20), (8, 16), (999, 1000), (13, 777)] {
            let mut part = vec![0; to - from];
            content.fill(from as u64, &mut part);
            assert_eq!(part, whole[from..to]);
            assert_eq!(content.differs(from as u64, &part, &mut Vec::new()), None);
            part[0] ^= 1;
            assert_eq!(content.differs(from as u64, &part, &mut Vec::new()), Some(from as u64));
        }
    }
}
