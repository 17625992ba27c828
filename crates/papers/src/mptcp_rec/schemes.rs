//! The compared schemes: standard MPTCP, MPTCP-rec with its parts and readings, and the schedulers
//! of today.

use mptcp::rec::{Observed, Rec, Removal, RoundTrip};
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
    /// A reading of the paper's text between "as printed" and the proposed scheme.
    Reading,
    /// The proposed scheme with another value of one parameter.
    Sweep,
    /// One part of the paper's scheme, with the other parts off.
    Part,
    /// A modification of the paper's scheme that is not in the paper.
    Variant,
    /// A scheduler of today, which needs no support by the receiver.
    SenderSide,
}

impl Role {
    /// Whether the role has a table of its own.
    pub const fn is_apart(self) -> bool {
        matches!(self, Self::Reading | Self::Sweep)
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

fn rec(key: &str, title: &str, role: Role, rec: Rec) -> Scheme {
    Scheme::new(key, title, role, Config { rec: Some(rec), ..standard_config() })
}

/// What the paper's text gives, without Tandem's changes to it.
pub fn as_printed() -> Rec {
    Rec {
        round_trip: RoundTrip::Rounds,
        tolerance: 0.0,
        hold: 1,
        observed: Observed::Advertised,
        ..Rec::default()
    }
}

/// A parameter's assignment from the second settings to the first.
type Assign = fn(&mut Rec, &Rec);

/// Tandem's changes to the printed text: key, the change and the printed reading in words, and the
/// parameter.
const CHANGES: [(&str, [&str; 2], Assign); 4] = [
    ("echo", ["round trips from timestamps", "round trips from rounds"], |to, from| {
        to.round_trip = from.round_trip;
    }),
    ("tolerance", ["reports beyond 12.5 %", "reports at any difference"], |to, from| {
        to.tolerance = from.tolerance;
    }),
    ("free", ["free buffer observed", "advertised window observed"], |to, from| {
        to.observed = from.observed;
    }),
    ("hold", ["hold = 8", "hold = 1"], |to, from| to.hold = from.hold),
];

/// The scheme as printed, with each change alone, and the proposed one without each change.
pub fn readings() -> Vec<Scheme> {
    let (printed, proposed) = (as_printed(), Rec::default());
    let reading = |name: String, title: String, settings| {
        rec(&format!("mptcp-rec-{name}"), &title, Role::Reading, settings)
    };
    let mut all = vec![reading("printed".to_owned(), "as printed".to_owned(), printed)];
    for (key, [change, _], assign) in CHANGES {
        let mut with = printed;
        assign(&mut with, &proposed);
        all.push(reading(format!("printed-{key}"), format!("as printed, but {change}"), with));
    }
    for (key, [_, reverted], assign) in CHANGES {
        let mut without = proposed;
        assign(&mut without, &printed);
        all.push(reading(format!("without-{key}"), format!("all changes, but {reverted}"), without));
    }
    all
}

/// Values of [`Rec::hold`] in the sweep.
pub const HOLDS: [u16; 6] = [1, 2, 4, 8, 16, 32];
/// Values of [`Rec::observations`], the paper's m, in the sweep.
pub const OBSERVATIONS: [u8; 6] = [2, 4, 8, 16, 32, 64];

/// The proposed scheme with these settings for the sweeps: parameter, value and settings.
pub fn sweep_settings() -> impl Iterator<Item = (&'static str, u16, Rec)> {
    let holds = HOLDS.into_iter().map(|hold| ("hold", hold, Rec { hold, ..Rec::default() }));
    let observed = OBSERVATIONS.into_iter().map(|observations| {
        ("observations", u16::from(observations), Rec { observations, ..Rec::default() })
    });
    holds.chain(observed)
}

/// The schemes of the sweeps that are not among the others.
pub fn sweeps() -> Vec<Scheme> {
    let known = [proposed(), readings()].concat();
    sweep_settings()
        .map(|(name, value, settings)| {
            rec(&format!("mptcp-rec-{name}-{value}"), &format!("{name} = {value}"), Role::Sweep, settings)
        })
        .filter(|scheme| known.iter().all(|other| other.config != scheme.config))
        .collect()
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
    [standard(), proposed(), readings(), sweeps(), sender_side()].concat()
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

    #[test]
    fn changes_together_turn_the_printed_scheme_into_the_proposed_one() {
        let mut settings = as_printed();
        for (_, _, assign) in CHANGES {
            let before = settings;
            assign(&mut settings, &Rec::default());
            assert_ne!(settings, before);
        }
        assert_eq!(settings, Rec::default());
        assert_eq!(readings().len(), 1 + 2 * CHANGES.len());
        // 8 is the default of both parameters, and a hold of 1 is among the readings.
        assert_eq!(sweeps().len(), HOLDS.len() + OBSERVATIONS.len() - 3);
    }
}
