//! The keys of a radio profile.

use super::ENDLESS;
use crate::{Profile, builtin};
use quantities::{POSITIVE_TIME, POWER, TIME};
use schema::read::clip;
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, List, Or, Text},
    Table, one_of,
};
use schema::{Invalid, Literal, Parsed, ValueType};
use std::sync::Arc;

/// A value that gives a profile: the name of a built-in one, `{ file = "mine.toml" }`, or the keys
/// of a profile. [`ProfileValue`](super::ProfileValue) reads it.
pub const PROFILE_SHAPE: Shape = Or(
    &Shape::Custom(&ProfileName),
    &Shape::TableByKey { key: "file", with: &PROFILE_FILE, without: &PROFILE },
);

static PROFILE_FILE: Table = Table {
    name: "a profile file",
    doc: "A radio profile in a file of its own.",
    one_of: &[],
    keys: &[Key {
        name: "file",
        shape: Shape::File,
        need: Required,
        doc: "A file with the keys of a radio profile; `tandem profiles NAME` prints one.",
        example: "\"mine.toml\"",
    }],
};

/// A radio profile.
pub static PROFILE: Table = Table {
    name: "a radio profile",
    doc: "Power model of one interface. While active it draws `active` plus `up_per_mbps` and \
          `down_per_mbps` for each Mbit/s (Huang et al. 2012, section 4).",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Text,
            need: Absent("name of the path, from the second on with a number (`wifi.2`), or of the file"),
            doc: "Name of the profile in results.",
            example: "\"mine.lte\"",
        },
        Key {
            name: "kind",
            shape: Shape::Choice(&KINDS),
            need: Required,
            doc: "Technology of the interface. For policies, cellular and satellite links are costly.",
            example: "\"lte\"",
        },
        Key {
            name: "source",
            shape: Text,
            need: Default("\"\""),
            doc: "Source of the figures.",
            example: "\"Huang et al. 2012, table 4\"",
        },
        Key {
            name: "note",
            shape: Text,
            need: Default("\"\""),
            doc: "Remarks for readers of the results, such as assumptions.",
            example: "\"display subtracted\"",
        },
        Key {
            name: "origin",
            shape: Or(&Shape::Choice(&ORIGINS), &Shape::Table(&ORIGIN)),
            need: Default("\"assumed\""),
            doc: "How the figures are known: one word for all, or one for each group.",
            example: "{ rate = \"fit\", tail = \"read\" }",
        },
        Key {
            name: "up_per_mbps",
            shape: POWER,
            need: Required,
            doc: "Power for each Mbit/s sent, on top of `active`.",
            example: "\"438.39mW\"",
        },
        Key {
            name: "down_per_mbps",
            shape: POWER,
            need: Required,
            doc: "Power for each Mbit/s received, on top of `active`.",
            example: "\"51.97mW\"",
        },
        Key {
            name: "active",
            shape: POWER,
            need: Required,
            doc: "Power while active, at any rate.",
            example: "\"1288.04mW\"",
        },
        Key {
            name: "inactivity",
            shape: TIME_OR_ENDLESS,
            need: Required,
            doc: "Time from the last packet to the end of the active state.",
            example: "\"100ms\"",
        },
        Key {
            name: "promotion",
            shape: Shape::Table(&STAGE),
            need: Absent("from idle to active at once"),
            doc: "State between idle and active, of a length that no packet changes. It costs energy but \
                  delays no packet.",
            example: "{ power = \"1210.7mW\", duration = \"260.1ms\" }",
        },
        Key {
            name: "tail",
            shape: List { of: &Shape::Table(&STAGE), min: 0, max: usize::MAX },
            need: Default("[]"),
            doc: "States between active and idle, in order.",
            example: "[{ name = \"long DRX\", power = \"1060mW\", duration = \"11s\" }]",
        },
        Key {
            name: "idle",
            shape: Shape::Table(&IDLE),
            need: Absent("no power when idle"),
            doc: "The idle state.",
            example: "{ power = \"10mW\" }",
        },
    ],
};

static STAGE: Table = Table {
    name: "a stage",
    doc: "The promotion, or one state of the tail. A packet ends a state of the tail early.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Text,
            need: Absent("`promotion` or `tail`"),
            doc: "Name in the source, such as DCH or long DRX.",
            example: "\"long DRX\"",
        },
        Key {
            name: "power",
            shape: POWER,
            need: Required,
            doc: "Power outside pulses.",
            example: "\"1060mW\"",
        },
        Key {
            name: "duration",
            shape: TIME_OR_ENDLESS,
            need: Required,
            doc: "Length of the state if no packet ends it.",
            example: "\"11.5s\"",
        },
        Key {
            name: "pulse",
            shape: Shape::Table(&PULSE),
            need: Absent("constant power"),
            doc: "Periodic on-durations of discontinuous reception (DRX).",
            example: "{ power = \"1680mW\", width = \"2ms\", period = \"40ms\" }",
        },
    ],
};

static IDLE: Table = Table {
    name: "an idle state",
    doc: "The interface at rest.",
    one_of: &[],
    keys: &[
        Key {
            name: "power",
            shape: POWER,
            need: Required,
            doc: "Power outside pulses.",
            example: "\"10mW\"",
        },
        Key {
            name: "pulse",
            shape: Shape::Table(&PULSE),
            need: Absent("constant power"),
            doc: "Periodic paging occasions or beacons.",
            example: "{ power = \"594mW\", width = \"43ms\", period = \"1.28s\" }",
        },
    ],
};

static PULSE: Table = Table {
    name: "a pulse",
    doc: "A power that comes back periodically, in place of the base power of the state.",
    one_of: &[],
    keys: &[
        Key {
            name: "power",
            shape: POWER,
            need: Required,
            doc: "Power during a pulse.",
            example: "\"594mW\"",
        },
        Key {
            name: "width",
            shape: TIME,
            need: Required,
            doc: "Length of a pulse; at most `period`.",
            example: "\"43ms\"",
        },
        Key {
            name: "period",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "Time from the start of one pulse to the start of the next.",
            example: "\"1.28s\"",
        },
    ],
};

static ORIGIN: Table = Table {
    name: "an origin",
    doc: "How each group of figures of a profile is known.",
    one_of: &[],
    keys: &[
        origin("rate", "Of `up_per_mbps` and `down_per_mbps`."),
        origin("active", "Of `active`."),
        origin("promotion", "Of `promotion`."),
        origin("inactivity", "Of `inactivity`."),
        origin("tail", "Of `tail`."),
        origin("idle", "Of `idle`."),
    ],
};

const fn origin(name: &'static str, doc: &'static str) -> Key {
    Key { name, shape: Shape::Choice(&ORIGINS), need: Default("\"assumed\""), doc, example: "\"read\"" }
}

/// Kinds of interfaces, with the names of [`InterfaceKind::ALL`](crate::InterfaceKind::ALL).
pub static KINDS: [Choice; 8] = [
    Choice::new("wifi", "IEEE 802.11"),
    Choice::new("lte", "4G"),
    Choice::new("3g", "UMTS, HSPA, and GSM"),
    Choice::new("5g", "5G New Radio"),
    Choice::new("bluetooth", "Bluetooth"),
    Choice::new("ethernet", "Ethernet, or any other wire"),
    Choice::new("satellite", "a satellite network"),
    Choice::new("other", "any other technology"),
];

static ORIGINS: [Choice; 4] = [
    Choice::new("read", "read in the source"),
    Choice::new("known", "from the literature, not checked against the source"),
    Choice::new("fit", "derived from measurements or published figures"),
    Choice::new("assumed", "chosen for lack of a figure"),
];

static ENDLESS_CHOICE: [Choice; 1] = [Choice::new(ENDLESS, "until a packet ends it")];

const TIME_OR_ENDLESS: Shape = Or(&Shape::Choice(&ENDLESS_CHOICE), &TIME);

/// The name of a built-in profile, read as `Arc<Profile>`.
#[derive(Debug)]
struct ProfileName;

impl ValueType for ProfileName {
    fn expected(&self) -> String {
        format!("the name of a radio profile, such as `{}`", self.example())
    }
    fn summary(&self) -> String {
        "profile".to_owned()
    }
    fn example(&self) -> String {
        "\"huang2012.lte\"".to_owned()
    }
    fn json_schema(&self) -> serde_json::Value {
        serde_json::json!({ "type": "string", "minLength": 1 })
    }
    fn parse(&self, key: &str, literal: Literal<'_>) -> Result<Parsed, Invalid> {
        let (Literal::Text(name) | Literal::Number(name)) = literal;
        if name.trim().is_empty() {
            return Err(Invalid::new(format!("`{key}` is empty")));
        }
        Profile::named(name)
            .map(|profile| Parsed::new(Arc::new(profile)))
            .ok_or_else(|| unknown_profile(name))
    }
}

fn unknown_profile(name: &str) -> Invalid {
    let profiles = builtin::profiles();
    let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    let hint = if name.to_ascii_lowercase().ends_with(".toml") {
        format!("for a file write `{{ file = \"{}\" }}`", clip(name))
    } else if let Some(near) = schema::suggest(name, names.iter().copied()) {
        format!("did you mean `{near}`?")
    } else {
        "`tandem profiles` lists them with their sources".to_owned()
    };
    Invalid {
        message: format!("unknown radio profile `{}`", clip(name)),
        expected: Some(one_of(&names)),
        hint: Some(hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InterfaceKind, Origin};

    #[test]
    fn choices_are_the_names_of_kinds_and_origins() {
        let names = |choices: &[Choice]| choices.iter().map(|c| c.name).collect::<Vec<_>>();
        assert_eq!(names(&KINDS), InterfaceKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>());
        assert_eq!(names(&ORIGINS), Origin::ALL.iter().map(|origin| origin.as_str()).collect::<Vec<_>>());
    }
}
