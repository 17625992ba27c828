//! Internet checksum (RFC 1071), TCP pseudo header, and DSS checksum.

use core::net::IpAddr;

/// A running ones' complement sum. Pieces may have odd lengths.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    total: u64,
    /// The number of bytes so far is odd: the next byte is the lower half of a word.
    odd: bool,
}

impl Sum {
    /// An empty sum.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds the next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        if self.odd
            && let Some((first, rest)) = bytes.split_first()
        {
            self.total += u64::from(*first);
            self.odd = false;
            bytes = rest;
        }
        // The total cannot overflow: 64 bits hold the sum of 2^48 words.
        let (words, tail) = bytes.as_chunks::<2>();
        self.total += words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>();
        if let [last] = tail {
            self.total += u64::from(*last) << 8;
            self.odd = true;
        }
    }
    /// Adds the next `len` bytes, given their own sum.
    pub fn add_part(&mut self, sum: u16, len: usize) {
        // At an odd position the bytes of each word are swapped (RFC 1071, section 2, B).
        self.total += u64::from(if self.odd { sum.swap_bytes() } else { sum });
        self.odd ^= len % 2 == 1;
    }
    /// Checksum: the complement of the folded sum. It is 0 over bytes that include a valid
    /// checksum.
    pub fn finish(self) -> u16 {
        let mut total = self.total;
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        !(total as u16)
    }
}

/// Internet checksum of `bytes` (RFC 1071).
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = Sum::new();
    sum.add(bytes);
    sum.finish()
}

/// Sum of the pseudo header of an upper-layer packet of `len` bytes (RFC 9293, section 3.1; RFC
/// 8200, section 8.1). `None` if the addresses are of different families.
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
    // The layouts differ (length in 16 or 32 bits), but have the same sum.
    sum.add(&len.to_be_bytes());
    sum.add(&[0, protocol]);
    Some(sum)
}

/// DSS checksum (RFC 8684, section 3.3.1) over a pseudo header and the mapped data. The pseudo
/// header is the 64-bit data sequence number, the relative subflow sequence number, the data-level
/// length and zeros. `len` includes a DATA_FIN, `data` does not.
pub fn dss_checksum(dsn: u64, ssn: u32, len: u16, data: &[u8]) -> u16 {
    let mut sum = dss_pseudo_header(dsn, ssn, len);
    sum.add(data);
    sum.finish()
}

/// Sum of the pseudo header of [`dss_checksum`], for data in several parts.
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
    fn sums_the_example_of_rfc_1071() {
        // Section 3: 0001 f203 f4f5 f6f7 sums to ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn dss_checksum_matches_hand_computed_values() {
        // dsn 0001 0002 0003 0004, ssn 0000 0001, len 0003, zeros, data "abc" = 6162 6300:
        // 1+2+3+4+1+3 = e; e + 6162 + 6300 = c470; complement 3b8f.
        assert_eq!(dss_checksum(0x0001_0002_0003_0004, 1, 3, b"abc"), 0x3b8f);
        // A DATA_FIN alone: dsn 7, ssn 0, len 1.
        assert_eq!(dss_checksum(7, 0, 1, &[]), !8);
    }

    proptest! {
        #[test]
        fn sum_of_pieces_is_the_sum_of_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(0usize..200, 0..5)) {
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
