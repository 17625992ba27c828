//! A map of measured cases: which policy was the best for which radios and demand.

use super::Demand;
use crate::state::is_preferred;
use crate::{InterfaceKind, PolicyConfig};
use core::fmt::Write as _;
use quantities::{Quantities as _, RATE};
use schema::shape::{Key, Need, Shape, Table};
use schema::{Diagnostic, Fields, Node, Problems};
use std::sync::{Arc, OnceLock};
use units::Bitrate;

/// The cases that Tandem was released with; `tandem map` has made them.
const BUILT_IN: &str = include_str!("built_in.toml");

/// Activities below are the same: one interval of data in ten seconds.
const MIN_ACTIVITY: f64 = 0.01;

/// A file of cases.
pub static MAP: Table = Table {
    name: "a map of best policies",
    doc: "Measured cases, each with its best policy. `tandem map` writes such a file; the policy `best-known` \
          follows the nearest case.",
    one_of: &[],
    keys: &[Key {
        name: "case",
        shape: Shape::List { of: &Shape::Table(&CASE), min: 1, max: usize::MAX },
        need: Need::Required,
        doc: "The cases.",
        example: "[{ preferred = \"wifi\", costly = \"lte\", activity = 1.0, rate = \"2Mbps\", policy = \"wifi-first\" }]",
    }],
};

static CASE: Table = Table {
    name: "a case",
    doc: "The radios, the demand that a device saw with plain Multipath TCP, and the best policy.",
    one_of: &[],
    keys: &[
        Key {
            name: "preferred",
            shape: Shape::Choice(&radio::KINDS),
            need: Need::Required,
            doc: "Kind of the cheap radio.",
            example: "\"wifi\"",
        },
        Key {
            name: "costly",
            shape: Shape::Choice(&radio::KINDS),
            need: Need::Required,
            doc: "Kind of the costly radio.",
            example: "\"lte\"",
        },
        Key {
            name: "activity",
            shape: Shape::Probability,
            need: Need::Required,
            doc: "Share of the time in which data flows, from 0 to 1.",
            example: "0.25",
        },
        Key {
            name: "rate",
            shape: RATE,
            need: Need::Required,
            doc: "Rate during that time.",
            example: "\"2Mbps\"",
        },
        Key {
            name: "costly_share",
            shape: Shape::Probability,
            need: Need::Default("0.0"),
            doc: "Share of the data over the costly radio, from 0 to 1.",
            example: "0.3",
        },
        Key {
            name: "video",
            shape: Shape::Flag,
            need: Need::Default("false"),
            doc: "A video player reports its state.",
            example: "true",
        },
        Key {
            name: "policy",
            shape: Shape::Text,
            need: Need::Required,
            doc: "The best policy, with its parameters.",
            example: "\"emtcp:mp-prio:0.5\"",
        },
    ],
};

/// Measured cases.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The cases.
    pub cases: Vec<MapCase>,
}

/// A measured case.
#[derive(Debug, Clone, PartialEq)]
pub struct MapCase {
    /// Kind of the cheap radio.
    pub preferred: InterfaceKind,
    /// Kind of the costly radio.
    pub costly: InterfaceKind,
    /// The demand.
    pub demand: Demand,
    /// The best policy.
    pub policy: PolicyConfig,
}

impl Map {
    /// The map that is built in.
    pub fn built_in() -> Arc<Self> {
        static READ: OnceLock<Arc<Map>> = OnceLock::new();
        let read = || Arc::new(Self::from_toml("the built-in map", BUILT_IN).unwrap_or_default());
        Arc::clone(READ.get_or_init(read))
    }

    /// Reads a map.
    ///
    /// # Errors
    /// Every problem of the file, with its position.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        schema::read(name, text, &MAP, |root, problems| {
            let cases = root.list("case").iter().filter_map(Node::fields);
            Self { cases: cases.filter_map(|fields| case(fields, problems)).collect() }
        })
    }

    /// The map as a file.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for MapCase { preferred, costly, demand, policy } in &self.cases {
            let Demand { activity, rate, costly_share, is_video } = demand;
            let video = if *is_video { "video = true\n" } else { "" };
            let _ = write!(
                text,
                "\n[[case]]\npreferred = \"{preferred}\"\ncostly = \"{costly}\"\nactivity = {activity:.3}\n\
                 rate = \"{}bps\"\ncostly_share = {costly_share:.3}\n{video}policy = \"{policy}\"\n",
                rate.as_bps()
            );
        }
        text
    }

    /// The case for these radios whose demand is nearest: half the activity is as far as half the
    /// rate, and as a tenth of the data over another radio. `None` if the map has no case of these
    /// radios.
    pub fn nearest(&self, kinds: &[InterfaceKind], demand: &Demand) -> Option<&MapCase> {
        let cases = self.cases_of(kinds).filter(|case| case.demand.is_video == demand.is_video);
        cases.min_by(|a, b| distance(&a.demand, demand).total_cmp(&distance(&b.demand, demand)))
    }

    /// Whether the map has a case for these radios, of any demand.
    pub fn has_case(&self, kinds: &[InterfaceKind]) -> bool {
        self.cases_of(kinds).next().is_some()
    }

    fn cases_of(&self, kinds: &[InterfaceKind]) -> impl Iterator<Item = &MapCase> {
        self.cases.iter().filter(|case| kinds.contains(&case.preferred) && kinds.contains(&case.costly))
    }
}

/// Factor between two demands, at least 1.
fn distance(a: &Demand, b: &Demand) -> f64 {
    let factor = |a: f64, b: f64| (a / b).max(b / a);
    let rate = |demand: &Demand| demand.rate.as_bps().max(1) as f64;
    let activity = |demand: &Demand| demand.activity.max(MIN_ACTIVITY);
    let share = (a.costly_share - b.costly_share).abs();
    factor(activity(a), activity(b)) * factor(rate(a), rate(b)) * (1.0 + share / 0.1)
}

fn case(fields: &Fields, problems: &mut Problems<'_>) -> Option<MapCase> {
    let kind = |key| fields.text(key).and_then(|name| name.parse().ok()).unwrap_or(InterfaceKind::Other);
    let (preferred, costly) = (kind("preferred"), kind("costly"));
    if !is_preferred(preferred) || is_preferred(costly) {
        problems
            .add(
                fields.span.clone(),
                format!("`{preferred}` and `{costly}` are not a cheap and a costly radio"),
            )
            .expected("`costly` names a cellular or satellite network, and `preferred` another one");
    }
    let text = fields.text("policy")?;
    let policy: PolicyConfig = match text.parse() {
        Ok(policy) => policy,
        Err(error) => {
            let error: crate::PolicyError = error;
            problems.add(fields.span("policy"), error.to_string()).expected("a policy").hint(error.hint());
            return None;
        }
    };
    if policy.name() == super::ENTRY.name {
        problems.add(fields.span("policy"), "`best-known` leads to itself").expected("another policy");
    }
    if let Some(on_device) = policy.for_device() {
        problems
            .add(fields.span("policy"), format!("`{policy}` needs the sender's scheduler"))
            .expected("a policy that a device carries out")
            .hint(format!("write \"{on_device}\""));
    }
    Some(MapCase {
        preferred,
        costly,
        demand: Demand {
            activity: fields.number("activity").unwrap_or_default(),
            rate: fields.rate("rate").unwrap_or(Bitrate::ZERO),
            costly_share: fields.number("costly_share").unwrap_or_default(),
            is_video: fields.flag("video").unwrap_or_default(),
        },
        policy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use InterfaceKind::{Bluetooth, Lte, ThreeG, Wifi};

    fn demand(activity: f64, mbps: f64) -> Demand {
        Demand { activity, rate: Bitrate::from_mbps(mbps), costly_share: 0.0, is_video: false }
    }

    fn map() -> Map {
        let case = |costly, demand, policy: &str| MapCase {
            preferred: Wifi,
            costly,
            demand,
            policy: policy.parse().unwrap(),
        };
        Map {
            cases: vec![
                case(Lte, demand(1.0, 2.0), "wifi-first"),
                case(Lte, demand(1.0, 20.0), "none"),
                case(Lte, demand(0.2, 20.0), "emtcp:mp-prio:0.5"),
                case(ThreeG, demand(1.0, 20.0), "wifi-only"),
            ],
        }
    }

    #[test]
    fn written_map_reads_back() {
        assert_eq!(Map::from_toml("map.toml", &map().to_toml()), Ok(map()));
        assert!(!Map::built_in().cases.is_empty());
        assert_eq!(Map::from_toml("map.toml", &Map::built_in().to_toml()).as_ref(), Ok(&*Map::built_in()));
    }

    #[test]
    fn nearest_case_has_the_radios_and_the_demand() {
        let map = map();
        let policy =
            |kinds: &[InterfaceKind], demand| map.nearest(kinds, &demand).map(|case| case.policy.to_string());
        assert_eq!(policy(&[Wifi, Lte], demand(1.0, 3.0)).as_deref(), Some("wifi-first"));
        assert_eq!(policy(&[Lte, Wifi], demand(0.9, 9.0)).as_deref(), Some("none"));
        assert_eq!(policy(&[Wifi, Lte], demand(0.0, 90.0)).as_deref(), Some("emtcp:mp-prio:0.5"));
        let spilled = Demand { costly_share: 0.4, ..demand(1.0, 9.0) };
        let mut known = map.clone();
        known.cases[0].demand.costly_share = 0.4;
        let nearest = known.nearest(&[Wifi, Lte], &spilled).map(|case| case.policy.to_string());
        assert_eq!(nearest.as_deref(), Some("wifi-first"), "the share decides between factors of 2 to 5");
        assert_eq!(policy(&[Wifi, ThreeG], demand(1.0, 3.0)).as_deref(), Some("wifi-only"));
        assert_eq!(policy(&[Bluetooth, Lte], demand(1.0, 3.0)), None);
        assert_eq!(policy(&[Wifi, Lte], Demand { is_video: true, ..demand(1.0, 3.0) }), None);
    }

    #[test]
    fn problems_of_a_map_are_told() {
        let told = |text: &str| {
            let problems = Map::from_toml("map.toml", text).unwrap_err();
            problems.iter().map(|one| one.message.clone()).collect::<Vec<_>>().join("; ")
        };
        let case = |preferred: &str, policy: &str| {
            format!(
                "[[case]]\npreferred = \"{preferred}\"\ncostly = \"lte\"\nactivity = 1\nrate = \"1Mbps\"\npolicy = \"{policy}\"\n"
            )
        };
        assert!(Map::from_toml("map.toml", &case("wifi", "none")).is_ok());
        assert!(told(&case("3g", "none")).contains("not a cheap and a costly radio"));
        assert!(told(&case("wifi", "wifi-frist")).contains("did you mean `wifi-first`"));
        assert!(told(&case("wifi", "best-known")).contains("leads to itself"));
        assert!(told(&case("wifi", "emtcp:0.5")).contains("needs the sender's scheduler"));
        assert!(told("").contains("case"));
    }
}
