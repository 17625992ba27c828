//! A case: a plan, the kinds of its hosts, and the version of IP.

use crate::catalogue::plans;
use crate::plan::Plan;
use core::fmt;

/// Implementation of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The Linux kernel.
    Linux,
    /// Tandem's stack.
    Tandem,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "linux",
            Self::Tandem => "tandem",
        })
    }
}

/// A case. Its name is `PLAN/CLIENT-SERVER/ipv4` or `…/ipv6`; `/2` follows for the seed 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Plan of the hosts.
    pub plan: Plan,
    /// Client.
    pub client: Kind,
    /// Server.
    pub server: Kind,
    /// IPv6 instead of IPv4.
    pub v6: bool,
    /// Seed of losses and delays.
    pub seed: u64,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = if self.v6 { "ipv6" } else { "ipv4" };
        write!(f, "{}/{}-{}/{version}", self.plan.name, self.client, self.server)?;
        if self.seed == FIRST_SEED { Ok(()) } else { write!(f, "/{}", self.seed) }
    }
}

/// Seed of the cases of the page.
pub(crate) const FIRST_SEED: u64 = 1;
/// Seeds of each case with losses in the long form.
const LONG_SEEDS: u64 = 12;

/// Clients and servers of the cases.
pub(crate) const COMBINATIONS: [(Kind, Kind); 4] = [
    (Kind::Linux, Kind::Linux),
    (Kind::Linux, Kind::Tandem),
    (Kind::Tandem, Kind::Linux),
    (Kind::Tandem, Kind::Tandem),
];

/// All cases, plan by plan.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for plan in plans() {
        for (client, server) in COMBINATIONS {
            for v6 in [false, true] {
                let case = Case { plan, client, server, v6, seed: FIRST_SEED };
                if case.omitted().is_none() {
                    cases.push(case);
                }
            }
        }
    }
    cases
}

/// All cases of the long form: those with losses have more seeds.
pub fn long_cases() -> Vec<Case> {
    let seeds = |case: &Case| if case.plan.link.contains("loss") { LONG_SEEDS } else { FIRST_SEED };
    let repeat = |case: Case| (FIRST_SEED..=seeds(&case)).map(move |seed| Case { seed, ..case });
    cases().into_iter().flat_map(repeat).collect()
}

impl Case {
    /// Why the case is left out, mostly because Linux itself fails.
    pub fn omitted(&self) -> Option<&'static str> {
        let Self { plan, client, server, .. } = *self;
        let linux_sends = plan.up > 0 && client == Kind::Linux || plan.down > 0 && server == Kind::Linux;
        if plan.corrupts && linux_sends {
            return Some("Linux as the sender stalls after its infinite mapping");
        }
        match (plan.name, client, server) {
            ("strip-dss-join-up", _, Kind::Tandem) | ("strip-dss-join-down", Kind::Tandem, _) => {
                return Some("Tandem keeps data without a mapping until a receive window of it is there");
            }
            ("coalesce", Kind::Linux, Kind::Linux) => return Some("a connection from Linux to Linux stalls"),
            ("coalesce", Kind::Tandem, Kind::Tandem) => {
                return Some("Tandem resets a subflow whose mappings stay missing, even the only one");
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_has_a_case_with_both_kinds_of_hosts() {
        let cases = cases();
        for plan in plans() {
            let of_plan = || cases.iter().filter(|case| case.plan.name == plan.name);
            assert!(of_plan().any(|case| case.client != case.server), "{}", plan.name);
        }
    }
}
