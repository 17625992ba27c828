//! The internet checksum (RFC 1071), TCP's pseudo header and the DSS checksum.

use core::net::IpAddr;

/// A ones' complement sum in progress; pieces may have odd lengths.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    total: u64,
    /// An odd number of bytes came before: the next byte is the lower half of a word.
    odd: bool,
}

impl Sum {
    /// Nothing added yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds bytes as if they followed all those before.
    pub fn add(&mut self, mut bytes: &[u8]) {
        if self.odd
            && let Some((first, rest)) = bytes.split_first()
        {
            self.total += u64::from(*first);
            self.odd = false;
            bytes = rest;
        }
        // A 64-bit total holds 2^48 words: it cannot overflow on anything that fits in memory.
        let (words, tail) = bytes.as_chunks::<2>();
        self.total += words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>();
        if let [last] = tail {
            self.total += u64::from(*last) << 8;
            self.odd = true;
        }
    }
    /// Adds `len` bytes of which the sum by themselves is known.
    pub fn add_part(&mut self, sum: u16, len: usize) {
        // A byte in the other half of its word counts 256 times as much, or as little (RFC 1071,
        // section 2, B).
        self.total += u64::from(if self.odd { sum.swap_bytes() } else { sum });
        self.odd ^= len % 2 == 1;
    }
    /// The checksum: the complement of the folded sum. Over bytes that include their own checksum
    /// it is 0.
    pub fn finish(self) -> u16 {
        let mut total = self.total;
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        !(total as u16)
    }
}

/// The internet checksum of `bytes` (RFC 1071).
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = Sum::new();
    sum.add(bytes);
    sum.finish()
}

/// A sum that begins with the pseudo header of an upper-layer packet of `len` bytes (RFC 9293,
/// section 3.1 and RFC 8200, section 8.1). `None` if one address is IPv4 and the other is not.
pub fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, len: u32) -> Option<Sum> {
    let mut sum = Sum::new();
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            sum.add(&source.octets());
            sum.add(&destination.octets());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            sum.add(&source.octets());
            sum.add(&destination.octets());
        }
        _ => return None,
    }
    // The two layouts differ (16 and 32 bits of length), their sums do not.
    sum.add(&len.to_be_bytes());
    sum.add(&[0, protocol]);
    Some(sum)
}

/// The checksum of a data sequence mapping (RFC 8684, section 3.3.1): over the pseudo header of all
/// 64 bits of the data sequence number, the relative subflow sequence number, the data-level length
/// and zeros, and then the mapped data. `len` counts a DATA_FIN, `data` does not hold it.
pub fn dss_checksum(dsn: u64, ssn: u32, len: u16, data: &[u8]) -> u16 {
    let mut sum = dss_pseudo_header(dsn, ssn, len);
    sum.add(data);
    sum.finish()
}

/// The sum with which [`dss_checksum`] begins, for data that comes in parts.
pub fn dss_pseudo_header(dsn: u64, ssn: u32, len: u16) -> Sum {
    let word = |n: u64, shift: u32| n >> shift & 0xffff;
    let dsn = word(dsn, 48) + word(dsn, 32) + word(dsn, 16) + word(dsn, 0);
    let ssn = word(ssn.into(), 16) + word(ssn.into(), 0);
    Sum { total: dsn + ssn + u64::from(len), odd: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071_sums_as_printed() {
        // Section 3: 0001 f203 f4f5 f6f7 sums to ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn dss_checksum_by_hand() {
        // dsn 0001 0002 0003 0004, ssn 0000 0001, len 0003, zeros, data "abc" = 6162 6300:
        // 1+2+3+4+1+3 = e; e + 6162 + 6300 = c470; complement 3b8f.
        assert_eq!(dss_checksum(0x0001_0002_0003_0004, 1, 3, b"abc"), 0x3b8f);
        // A DATA_FIN alone: dsn 7, ssn 0, len 1.
        assert_eq!(dss_checksum(7, 0, 1, &[]), !8);
    }

    proptest! {
        #[test]
        fn pieces_sum_like_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(0usize..200, 0..5)) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let (mut sum, mut from) = (Sum::new(), 0);
            for to in cuts {
                sum.add(&bytes[from..to]);
                from = to;
            }
            prop_assert_eq!(sum.finish(), checksum(&bytes));
        }
    }
}
