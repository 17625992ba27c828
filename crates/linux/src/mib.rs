//! The kernel's counters of TCP and MPTCP (`/proc/net/snmp`, `/proc/net/netstat`).

use crate::Error;
use std::collections::BTreeMap;
use std::fs;

/// The counters of a namespace, by names such as `MPTcpExtMPPrioRx` and `TcpRetransSegs`: the name of the
/// group and that of the counter, as `nstat` writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mib {
    counters: BTreeMap<String, u64>,
}

impl Mib {
    /// Reads those of the namespace that the calling thread is in.
    ///
    /// # Errors
    /// Where `/proc` is not mounted.
    pub fn read() -> Result<Self, Error> {
        let mut mib = Self::default();
        for name in ["snmp", "netstat"] {
            // `/proc/net` would be the namespace of the process's first thread.
            let path = format!("/proc/thread-self/net/{name}");
            let text =
                fs::read_to_string(&path).map_err(|error| Error::system(format!("read {path}"), error))?;
            mib.add(&text);
        }
        Ok(mib)
    }

    /// Reads such a file: a line of names, then a line of numbers, each with the group's name before it.
    /// What does not fit together is passed over.
    pub fn parse(text: &str) -> Self {
        let mut mib = Self::default();
        mib.add(text);
        mib
    }

    fn add(&mut self, text: &str) {
        let mut lines = text.lines();
        while let (Some(names), Some(numbers)) = (lines.next(), lines.next()) {
            let (Some((group, names)), Some((same, numbers))) =
                (names.split_once(':'), numbers.split_once(':'))
            else {
                continue;
            };
            if group != same {
                continue;
            }
            for (name, number) in names.split_ascii_whitespace().zip(numbers.split_ascii_whitespace()) {
                // Some are -1 for `none`: no counter.
                if let Ok(number) = number.parse() {
                    self.counters.insert(format!("{group}{name}"), number);
                }
            }
        }
    }

    /// A counter; `None` where this kernel has none of that name.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// All, in the order of their names.
    pub fn counters(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counters.iter().map(|(name, number)| (name.as_str(), *number))
    }

    /// What was counted since `before`: the counters that have changed.
    pub fn since(&self, before: &Self) -> Self {
        let changed = self.counters.iter().filter_map(|(name, number)| {
            let more = number.saturating_sub(before.counter(name).unwrap_or(0));
            (more > 0).then(|| (name.clone(), more))
        });
        Self { counters: changed.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::Mib;

    #[test]
    fn a_counter_is_found_by_the_name_of_its_group_and_its_own() {
        let text = "Tcp: MaxConn RetransSegs\nTcp: -1 7\nMPTcpExt: MPPrioTx MPPrioRx\nMPTcpExt: 3 4\n";
        let mib = Mib::parse(text);
        assert_eq!(mib.counter("MPTcpExtMPPrioRx"), Some(4));
        assert_eq!(mib.counter("TcpRetransSegs"), Some(7));
        assert_eq!(mib.counter("TcpMaxConn"), None);
        assert_eq!(mib.counters().count(), 3);
    }

    #[test]
    fn what_does_not_fit_together_is_passed_over() {
        assert_eq!(Mib::parse("A: b c\nB: 1 2\nno colon\nA: 1\nA: b\n"), Mib::default());
        assert_eq!(Mib::parse("A: b c d\nA: 1 2\n").counters().count(), 2);
    }

    #[test]
    fn what_was_counted_since_is_the_difference() {
        let (before, after) = (Mib::parse("A: b c\nA: 1 2\n"), Mib::parse("A: b c d\nA: 1 5 9\n"));
        assert_eq!(after.since(&before).counters().collect::<Vec<_>>(), [("Ac", 3), ("Ad", 9)]);
    }
}
