//! What is held against what.

use mptcp::rec::{Rec, Removal};
use mptcp::{Config, CongestionKind, SchedulerKind};

/// A way to send over several paths.
#[derive(Debug, Clone)]
pub struct Scheme {
    /// Its name in results.
    pub key: String,
    /// Its name in prose.
    pub title: String,
    /// Why it is there.
    pub role: Role,
    /// Both ends, but for the receive buffer.
    pub config: Config,
}

/// Why a scheme is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The paper's "standard MPTCP"; the first of them is what its figures are held against. Runs over
    /// the whole grid.
    Standard,
    /// What the paper proposes, whole; the first of them stands for it. Runs over the whole grid.
    Proposed,
    /// A part of what the paper proposes, the rest switched off.
    Part,
    /// What the paper proposes, changed: not the paper's.
    Variant,
    /// What a sender does by itself.
    SenderSide,
}

impl Role {
    /// Runs over the whole grid with all seeds.
    pub const fn is_headline(self) -> bool {
        matches!(self, Self::Standard | Self::Proposed)
    }
}

impl Scheme {
    /// A scheme of this name.
    pub fn new(key: impl Into<String>, title: impl Into<String>, role: Role, config: Config) -> Self {
        Self { key: key.into(), title: title.into(), role, config }
    }

    /// A scheduler and a congestion control of today, everything else as the endpoint has it.
    pub fn of(scheduler: SchedulerKind, congestion: CongestionKind, role: Role) -> Self {
        let config =
            Config { scheduler: scheduler.into(), congestion: congestion.into(), ..Config::default() };
        let key = format!("{}-{}", scheduler.name(), congestion.name());
        Self::new(key, format!("{}, {}", scheduler.name(), congestion.name()), role, config)
    }
}

/// The paper's "standard MPTCP": all paths, coupled by LIA (RFC 6356). The paper names no scheduler. It says
/// "allocates traffic fairly over all its available paths", which is round-robin's idea; `min-rtt` is what
/// implementations of its time had as default.
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

/// What the paper proposes, each part of it alone, and what is Tandem's own. With a part switched off its
/// work is done as in standard MPTCP: `min-rtt`, LIA.
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

/// The first of the [`standard`] ones.
fn standard_config() -> Config {
    Config {
        scheduler: SchedulerKind::MinRtt.into(),
        congestion: CongestionKind::Lia.into(),
        ..Config::default()
    }
}

/// The schedulers of today, each with LIA and OLIA; those that are among the [`standard`] ones left out.
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

/// Everything that the reproduction runs, in the order in which tables show it.
pub fn all() -> Vec<Scheme> {
    [standard(), proposed(), sender_side()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scheme_runs_twice_under_two_names() {
        let all = all();
        for (i, scheme) in all.iter().enumerate() {
            let same = |other: &Scheme| other.config == scheme.config || other.key == scheme.key;
            assert!(!all[..i].iter().any(same), "{}", scheme.key);
        }
        // Five schedulers with two congestion controls.
        assert_eq!(standard().len() + sender_side().len(), 10);
        assert_eq!(standard()[0].config, standard_config());
    }
}
