//! The scenario file, described once: every key with its shape, its default and what it means.

mod cell;
mod device;
mod direction;
mod middlebox;
mod path;
mod queue;
mod traffic;
mod transport;

pub(crate) use middlebox::middlebox_keys;
pub(crate) use traffic::traffic_keys;

use cell::CELL;
use device::DEVICE;
use path::PATH;
use traffic::TRAFFIC;
use transport::TRANSPORT;

use quantities::POSITIVE_TIME;
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Flag, Integer, Text},
    Table,
};

const fn choice(name: &'static str, doc: &'static str) -> Choice {
    Choice { name, doc }
}

pub(crate) static SCENARIO: Table = Table {
    name: "the scenario",
    doc: "One device, the paths between it and a server, what carries the bytes, and what the \
          applications do. Units are written, never implied: every quantity is text in quotes with its unit. \
          Paths of files are relative to the folder of the scenario.",
    one_of: &[],
    keys: &[
        Key {
            name: "title",
            shape: Text,
            need: Absent("the name of the file"),
            doc: "One line that says what the scenario shows.",
            example: "\"Wi-Fi that weakens\"",
        },
        Key {
            name: "description",
            shape: Text,
            need: Absent("none"),
            doc: "More about it; goes into the report.",
            example: "\"\"\"A user walks away from the access point.\"\"\"",
        },
        Key {
            name: "seed",
            shape: Integer { min: 0, max: i64::MAX },
            need: Default("1"),
            doc: "Where all randomness starts: the same seed gives the same results.",
            example: "1",
        },
        Key {
            name: "duration",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "How much time passes.",
            example: "\"60s\"",
        },
        Key {
            name: "sample",
            shape: POSITIVE_TIME,
            need: Default("\"100ms\""),
            doc: "How often a row of the series is taken.",
            example: "\"100ms\"",
        },
        Key {
            name: "capture",
            shape: Flag,
            need: Default("false"),
            doc: "Write every packet, as the device sees it, to `capture.pcapng`.",
            example: "true",
        },
        Key {
            name: "device",
            shape: Shape::Table(&DEVICE),
            need: Default("{}"),
            doc: "The device whose radios are looked at.",
            example: "{ battery = \"10Wh\", policy = \"wifi-first\" }",
        },
        Key {
            name: "cell",
            shape: Shape::Tables(&CELL),
            need: Absent("no shared medium"),
            doc: "A medium that paths share with other stations.",
            example: "[{ name = \"home\", kind = \"wifi\", rate = \"20Mbps\" }]",
        },
        Key {
            name: "path",
            shape: Shape::Tables(&PATH),
            need: Required,
            doc: "A way between the device and the server, over one radio of the device.",
            example: "[{ name = \"wifi\", radio = \"huang2012.wifi\", down = { rate = \"20Mbps\" } }]",
        },
        Key {
            name: "transport",
            shape: Shape::Table(&TRANSPORT),
            need: Default("{}"),
            doc: "What carries the bytes.",
            example: "{ protocol = \"mptcp\", scheduler = \"min-rtt\" }",
        },
        Key {
            name: "traffic",
            shape: Shape::Tables(&TRAFFIC),
            need: Required,
            doc: "What an application does; each has a connection of its own.",
            example: "[{ kind = \"bulk\" }]",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use super::{direction::*, middlebox::*, traffic::*, transport::*};
    use schema::diagnostic::{Problems, Source};
    use schema::read::read_value;
    use toml::de::DeValue;

    #[test]
    fn every_default_and_every_example_fits_its_key() {
        for table in SCENARIO.with_inner() {
            for key in table.keys {
                let default = match key.need {
                    Default(text) => Some(text),
                    Required | Absent(_) => None,
                };
                for text in default.into_iter().chain([key.example]) {
                    let value = DeValue::parse(text).expect("TOML");
                    let mut problems = Problems::new(Source::new("example", text));
                    read_value(key.name, &key.shape, &value, &mut problems);
                    let told: String = problems.found.iter().map(ToString::to_string).collect();
                    assert!(told.is_empty(), "{}.{}: {told}", table.name, key.name);
                }
            }
        }
    }

    #[test]
    fn docs_are_sentences_and_names_are_told_apart() {
        let all = SCENARIO.with_inner();
        for (i, table) in all.iter().enumerate() {
            assert!(!all[..i].iter().any(|t| t.id() == table.id()), "two tables are {}", table.name);
            for (j, key) in table.keys.iter().enumerate() {
                assert!(key.doc.ends_with('.'), "{}.{}", table.name, key.name);
                assert!(!table.keys[..j].iter().any(|k| k.name == key.name));
            }
            assert!(table.one_of.iter().all(|name| table.key(name).is_some()));
        }
    }

    #[test]
    fn words_are_those_that_the_other_crates_read() {
        let names = |choices: &[Choice]| choices.iter().map(|c| c.name).collect::<Vec<_>>();
        assert_eq!(names(&TRAFFIC_KINDS), ::traffic::Kind::NAMES.map(|(n, _)| n));
        assert_eq!(names(&RULES), abr::Rule::ALL.map(abr::Rule::name));
        assert_eq!(names(&MIDDLEBOXES), ::middlebox::MiddleboxKind::NAMES);
        let options = ::middlebox::OptionSet::NAMES.map(|(n, _)| n);
        assert!(names(&OPTIONS).iter().filter(|n| !["mptcp", "all"].contains(n)).eq(&options));
        assert_eq!(names(&MIXES), ::traffic::Mix::NAMES.map(|(n, _)| n));
        assert_eq!(names(&MODELS), link::ChannelModel::NAMES);
        assert_eq!(names(&SCHEDULERS), mptcp::SchedulerKind::ALL.map(mptcp::SchedulerKind::name));
        assert_eq!(names(&CONGESTION), mptcp::CongestionKind::ALL.map(mptcp::CongestionKind::name));
        let same = |choices: &[Choice], all: &mut dyn Iterator<Item = &'static str>| all.eq(names(choices));
        assert!(same(&ROUND_TRIPS, &mut mptcp::rec::RoundTrip::ALL.iter().map(|kind| kind.name())));
        assert!(same(&RATE_RULES, &mut mptcp::rec::RateRule::ALL.iter().map(|kind| kind.name())));
        assert!(same(&REMOVALS, &mut mptcp::rec::Removal::ALL.iter().map(|kind| kind.name())));
        assert!(names(&TRACE_FORMATS).iter().all(|n| n.parse::<link::TraceFormat>().is_ok()));
    }

    #[test]
    fn keys_of_a_kind_are_keys_of_its_table() {
        for kind in &TRAFFIC_KINDS {
            assert!(traffic_keys(kind.name).iter().all(|key| TRAFFIC.key(key).is_some()));
        }
        for kind in &MIDDLEBOXES {
            assert!(middlebox_keys(kind.name).iter().all(|key| MIDDLEBOX.key(key).is_some()));
        }
    }
}
