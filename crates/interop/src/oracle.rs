//! Counters of the kernel that mean a violation of the protocol.

use crate::plan::{Expected, Plan};
use linux::mib::Mib;

/// Counters that no plan may increase.
const NEVER: [&str; 8] = [
    "MPTcpExtMPJoinSynAckHMacFailure",
    "MPTcpExtMPJoinAckHMacFailure",
    "MPTcpExtMPJoinNoTokenFound",
    "MPTcpExtMismatchPortSynRx",
    "MPTcpExtMismatchPortAckRx",
    "MPTcpExtSimultConnectFallback",
    "MPTcpExtMD5SigFallback",
    "TcpInErrs",
];

/// Counters that only plans with a fallback may increase.
const FALLBACK: [&str; 14] = [
    "MPTcpExtDSSNotMatching",
    "MPTcpExtDSSCorruptionFallback",
    "MPTcpExtDSSCorruptionReset",
    "MPTcpExtDSSNoMatchTCP",
    "MPTcpExtDataCsumErr",
    "MPTcpExtInfiniteMapRx",
    "MPTcpExtInfiniteMapTx",
    "MPTcpExtMPFailRx",
    "MPTcpExtMPFailTx",
    "MPTcpExtMPCapableFallbackACK",
    "MPTcpExtMPCapableFallbackSYNACK",
    "MPTcpExtMPCapableDataFallback",
    "MPTcpExtDssFallback",
    "MPTcpExtFallbackFailed",
];

/// The first counter of a host that must not have increased, or that the kernel lacks.
pub(crate) fn violated(plan: &Plan, mib: &Mib) -> Option<String> {
    let may_fall_back = plan.expected == Expected::Tcp;
    let forbidden = NEVER.iter().chain(FALLBACK.iter().filter(|_| !may_fall_back));
    let mut wrong = forbidden.filter(|name| !plan.tolerates.contains(name));
    wrong.find_map(|name| match mib.counter(name) {
        Some(0) => None,
        Some(count) => Some(format!("{name} {count}")),
        None => Some(format!("{name} is unknown to this kernel")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans;

    #[test]
    fn missing_and_increased_counters_are_violations() {
        let names: Vec<&str> = NEVER.into_iter().chain(FALLBACK).collect();
        let group = |name: &&str| name.strip_prefix("MPTcpExt").map(str::to_owned);
        let names: Vec<String> = names.iter().filter_map(group).collect();
        let mib = |values: &dyn Fn(usize) -> u64| {
            let values: Vec<String> = (0..names.len()).map(|i| values(i).to_string()).collect();
            let (names, values) = (names.join(" "), values.join(" "));
            Mib::parse(&format!("Tcp: InErrs\nTcp: 0\nMPTcpExt: {names}\nMPTcpExt: {values}\n"))
        };
        let plan = plans()[0];
        assert_eq!(violated(&plan, &mib(&|_| 0)), None);
        let increased = violated(&plan, &mib(&|i| u64::from(i == 2)));
        assert_eq!(increased.as_deref(), Some("MPTcpExtMPJoinNoTokenFound 1"));
        assert!(violated(&plan, &Mib::default()).is_some_and(|text| text.contains("unknown")));
    }
}
