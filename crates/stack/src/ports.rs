//! Choice of local ports.

use mptcp::Randomness;

/// First local port of connections that this host opens (Linux `ip_local_port_range`).
const FIRST: u16 = 32_768;
/// Number of these ports.
const COUNT: u16 = 28_232;

/// Returns a port for which `is_taken` is false, from a random start; `None` if all are taken.
pub(crate) fn choose(randomness: &mut Randomness, is_taken: impl Fn(u16) -> bool) -> Option<u16> {
    let start = randomness.below(u64::from(COUNT)) as u16;
    (0..COUNT).map(|step| FIRST + (start + step) % COUNT).find(|&port| !is_taken(port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn free_port_is_found_among_taken_ones() {
        let mut rng = Randomness::from(Seed::new(1));
        assert_eq!(choose(&mut rng, |port| port != 40_000), Some(40_000));
        assert_eq!(choose(&mut rng, |_| true), None);
        let port = choose(&mut rng, |_| false);
        assert!(port.is_some_and(|port| (FIRST..FIRST + COUNT).contains(&port)));
    }
}
