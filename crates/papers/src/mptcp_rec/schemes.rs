//! The compared schemes: standard MPTCP, MPTCP-rec with its parts, and the schedulers of today.

use mptcp::rec::{Rec, Removal};
use mptcp::{Config, CongestionKind, SchedulerKind};

/// A multipath transmission scheme.
#[derive(Debug, Clone)]
pub struct Scheme {
    /// Name in results.
    pub key: String,
    /// Name in tables and text.
    pub title: String,
    /// Role in the comparison.
    pub role: Role,
    /// Configuration of both ends, apart from the receive buffer.
    pub config: Config,
}

/// Role of a scheme in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Candidate for the paper's "standard MPTCP"; the first is the baseline. Runs over the whole
    /// grid.
    Standard,
    /// The complete scheme of the paper. Runs over the whole grid.
    Proposed,
    /// One part of the paper's scheme, with the other parts off.
    Part,
    /// A modification of the paper's scheme that is not in the paper.
    Variant,
    /// A scheduler of today, which needs no support by the receiver.
    SenderSide,
}

impl Role {
    /// Whether the role is compared over the whole grid.
    pub const fn is_headline(self) -> bool {
        matches!(self, Self::Standard | Self::Proposed)
    }
}

impl Scheme {
    /// A scheme with this name and configuration.
    pub fn new(key: impl Into<String>, title: impl Into<String>, role: Role, config: Config) -> Self {
        Self { key: key.into(), title: title.into(), role, config }
    }

    /// A scheme with this scheduler and congestion control, and the endpoint's defaults otherwise.
    pub fn of(scheduler: SchedulerKind, congestion: CongestionKind, role: Role) -> Self {
        let config =
            Config { scheduler: scheduler.into(), congestion: congestion.into(), ..Config::default() };
        let key = format!("{}-{}", scheduler.name(), congestion.name());
        Self::new(key, format!("{}, {}", scheduler.name(), congestion.name()), role, config)
    }
}

/// The paper's "standard MPTCP": all paths, coupled by LIA (RFC 6356). The paper names no
/// scheduler. `min-rtt` was the default of implementations of its time. Round-robin matches its
/// words "allocates traffic fairly over all its available paths".
pub fn standard() -> Vec<Scheme> {
    let titled = |key: &str, title: &str, scheduler| Scheme {
        key: key.into(),
        title: title.into(),
        ..Scheme::of(scheduler, CongestionKind::Lia, Role::Standard)
    };
    vec![
        titled("mptcp", "MPTCP", SchedulerKind::MinRtt),
        titled("mptcp-round-robin", "MPTCP, round-robin", SchedulerKind::RoundRobin),
    ]
}

/// The paper's scheme, each of its parts alone, and Tandem's variant. A part that is off is
/// replaced by that of standard MPTCP: `min-rtt`, LIA.
pub fn proposed() -> Vec<Scheme> {
    let none = Rec { nr_sack: false, rates: false, path_choice: false, ..Rec::default() };
    let rec = |key: &str, title: &str, role, rec| {
        Scheme::new(key, title, role, Config { rec: Some(rec), ..standard_config() })
    };
    vec![
        rec("mptcp-rec", "MPTCP-rec", Role::Proposed, Rec::default()),
        rec("mptcp-rec-nr-sack", "NR-SACK alone", Role::Part, Rec { nr_sack: true, ..none }),
        rec("mptcp-rec-rates", "rates alone", Role::Part, Rec { rates: true, ..none }),
        rec("mptcp-rec-path-choice", "path choice alone", Role::Part, Rec { path_choice: true, ..none }),
        rec(
            "mptcp-rec-weighed",
            "MPTCP-rec, weighed",
            Role::Variant,
            Rec { removal: Removal::Weighed, ..Rec::default() },
        ),
    ]
}

/// Configuration of the baseline, the first of [`standard`].
fn standard_config() -> Config {
    Config {
        scheduler: SchedulerKind::MinRtt.into(),
        congestion: CongestionKind::Lia.into(),
        ..Config::default()
    }
}

/// The schedulers of today, each with LIA and OLIA, without those in [`standard`].
pub fn sender_side() -> Vec<Scheme> {
    use SchedulerKind::{Blest, Ecf, Linux, MinRtt, RoundRobin};
    let known = standard();
    [MinRtt, RoundRobin, Blest, Ecf, Linux]
        .into_iter()
        .flat_map(|scheduler| {
            [CongestionKind::Lia, CongestionKind::Olia]
                .map(|congestion| Scheme::of(scheduler, congestion, Role::SenderSide))
        })
        .filter(|scheme| known.iter().all(|other| other.config != scheme.config))
        .collect()
}

/// All schemes of the reproduction in the order of its tables.
pub fn all() -> Vec<Scheme> {
    [standard(), proposed(), sender_side()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_have_distinct_keys_and_configurations() {
        let all = all();
        for (i, scheme) in all.iter().enumerate() {
            let same = |other: &Scheme| other.config == scheme.config || other.key == scheme.key;
            assert!(!all[..i].iter().any(same), "{}", scheme.key);
        }
        // Five schedulers, two congestion controls each.
        assert_eq!(standard().len() + sender_side().len(), 10);
        assert_eq!(standard()[0].config, standard_config());
    }
}
