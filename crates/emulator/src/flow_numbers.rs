//! Numbers that middleboxes use in place of addresses.

use core::net::IpAddr;
use std::collections::BTreeMap;

/// Maximum number of address pairs; the oldest gives way to a new one.
const MAX_PAIRS: usize = 65_536;

/// Addresses of the device and of the server.
type Pair = (IpAddr, IpAddr);

/// Numbers of address pairs. A number that a middlebox has seen is not given again.
#[derive(Debug, Default)]
pub(crate) struct FlowNumbers {
    numbers: BTreeMap<Pair, u32>,
    pairs: BTreeMap<u32, Pair>,
    next: u32,
}

impl FlowNumbers {
    /// Number of a pair; a new one if it has none.
    pub(crate) fn number(&mut self, pair: Pair) -> u32 {
        if let Some(number) = self.numbers.get(&pair) {
            return *number;
        }
        if self.pairs.len() >= MAX_PAIRS
            && let Some((_, oldest)) = self.pairs.pop_first()
        {
            self.numbers.remove(&oldest);
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.numbers.insert(pair, number);
        self.pairs.insert(number, pair);
        number
    }

    /// Pair of a number; `None` once the pair has given way.
    pub(crate) fn pair(&self, number: u32) -> Option<Pair> {
        self.pairs.get(&number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn pair(server: u32) -> Pair {
        (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::from_bits(server).into())
    }

    #[test]
    fn oldest_address_pair_gives_way_to_a_new_one() {
        let mut flows = FlowNumbers::default();
        let most = MAX_PAIRS as u32;
        for server in 0..=most {
            assert_eq!(flows.number(pair(server)), server);
        }
        assert_eq!((flows.numbers.len(), flows.pairs.len()), (MAX_PAIRS, MAX_PAIRS));
        assert_eq!((flows.pair(0), flows.pair(1), flows.number(pair(1))), (None, Some(pair(1)), 1));
        assert_eq!(flows.number(pair(0)), most + 1, "a new flow");
    }
}
