//! TCP and MPTCP counters of the kernel (`/proc/net/snmp`, `/proc/net/netstat`).

use crate::Error;
use std::collections::BTreeMap;
use std::fs;

/// Counters of one network namespace. A counter's name is its group followed by its own name, as
/// printed by `nstat`: `MPTcpExtMPPrioRx`, `TcpRetransSegs`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mib {
    counters: BTreeMap<String, u64>,
}

impl Mib {
    /// Reads the counters of the calling thread's namespace.
    ///
    /// # Errors
    /// Fails when `/proc` is not mounted.
    pub fn read() -> Result<Self, Error> {
        let mut mib = Self::default();
        for name in ["snmp", "netstat"] {
            // `/proc/net` shows the namespace of the main thread, not of this one.
            let path = format!("/proc/thread-self/net/{name}");
            let text =
                fs::read_to_string(&path).map_err(|error| Error::system(format!("read {path}"), error))?;
            mib.parse_pairs(&text);
        }
        Ok(mib)
    }

    /// Parses pairs of lines: names, then values, both prefixed with the group. Mismatched pairs
    /// are skipped.
    pub fn parse(text: &str) -> Self {
        let mut mib = Self::default();
        mib.parse_pairs(text);
        mib
    }

    fn parse_pairs(&mut self, text: &str) {
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
                // Negative values such as MaxConn -1 mean "unlimited" and are no counters.
                if let Ok(number) = number.parse() {
                    self.counters.insert(format!("{group}{name}"), number);
                }
            }
        }
    }

    /// Value of one counter, or `None` when this kernel lacks it.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// All counters, sorted by name.
    pub fn counters(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counters.iter().map(|(name, number)| (name.as_str(), *number))
    }

    /// Counters that increased since `before`, with their increments.
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
    fn counter_name_is_group_and_name() {
        let text = "Tcp: MaxConn RetransSegs\nTcp: -1 7\nMPTcpExt: MPPrioTx MPPrioRx\nMPTcpExt: 3 4\n";
        let mib = Mib::parse(text);
        assert_eq!(mib.counter("MPTcpExtMPPrioRx"), Some(4));
        assert_eq!(mib.counter("TcpRetransSegs"), Some(7));
        assert_eq!(mib.counter("TcpMaxConn"), None);
        assert_eq!(mib.counters().count(), 3);
    }

    #[test]
    fn mismatched_lines_are_skipped() {
        assert_eq!(Mib::parse("A: b c\nB: 1 2\nno colon\nA: 1\nA: b\n"), Mib::default());
        assert_eq!(Mib::parse("A: b c d\nA: 1 2\n").counters().count(), 2);
    }

    #[test]
    fn since_returns_increments() {
        let (before, after) = (Mib::parse("A: b c\nA: 1 2\n"), Mib::parse("A: b c d\nA: 1 5 9\n"));
        assert_eq!(after.since(&before).counters().collect::<Vec<_>>(), [("Ac", 3), ("Ad", 9)]);
    }
}
