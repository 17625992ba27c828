//! Ports of a subflow and of the subflows before it on the same path.

/// Remote ports of past subflows that are remembered for each path.
const MAX_PAST_PORTS: usize = 8;

/// Ports of the present subflow, and remote ports of past ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Ports {
    local: u16,
    remote: u16,
    past: Vec<u16>,
}

impl Ports {
    pub(super) fn set(&mut self, local: u16, remote: u16) {
        (self.local, self.remote) = (local, remote);
    }
    #[inline]
    pub(super) fn local(&self) -> u16 {
        self.local
    }
    #[inline]
    pub(super) fn remote(&self) -> u16 {
        self.remote
    }

    /// A SYN from such a port was delayed or duplicated by the network.
    pub(super) fn was_used_by(&self, remote: u16) -> bool {
        self.past.contains(&remote)
    }

    /// Takes over the history of `previous`, and adds its remote port unless this subflow uses it.
    pub(super) fn inherit(&mut self, previous: &mut Self) {
        self.past = core::mem::take(&mut previous.past);
        if previous.remote != 0 && previous.remote != self.remote {
            if self.past.len() == MAX_PAST_PORTS {
                self.past.remove(0);
            }
            self.past.push(previous.remote);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_eight_remote_ports_are_remembered() {
        let mut ports = Ports::default();
        for remote in 1..=10 {
            let mut next = Ports::default();
            next.set(443, remote);
            next.inherit(&mut ports);
            ports = next;
        }
        let known: Vec<u16> = (0..20).filter(|&port| ports.was_used_by(port)).collect();
        assert_eq!(known, [2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn repeated_remote_port_is_not_a_past_one() {
        let mut first = Ports::default();
        first.set(443, 5000);
        let mut second = first.clone();
        second.inherit(&mut first);
        assert!(!second.was_used_by(5000));
    }
}
