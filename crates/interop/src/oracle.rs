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

/// The first counter of a host that must not have increased.
pub(crate) fn violated(plan: &Plan, mib: &Mib) -> Option<String> {
    let may_fall_back = plan.expected == Expected::Tcp;
    let forbidden = NEVER.iter().chain(FALLBACK.iter().filter(|_| !may_fall_back));
    let mut wrong = forbidden.filter(|name| !plan.tolerates.contains(name));
    wrong.find_map(|name| mib.counter(name).filter(|&count| count > 0).map(|count| format!("{name} {count}")))
}
