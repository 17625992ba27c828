//! The keys of the scenario file, each with its shape, default and documentation.

mod cell;
mod crowd;
mod device;
mod direction;
mod middlebox;
mod path;
mod queue;
mod traffic;
mod transport;

pub(crate) use crowd::CROWD;
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
    doc: "A scenario describes one device, the paths between it and a server, the transport \
          protocol, and the traffic of applications. Every quantity is text in quotes with its \
          unit. Paths of files are relative to the folder of the scenario.",
    one_of: &[],
    keys: &[
        Key {
            name: "title",
            shape: Text,
            need: Absent("the name of the file"),
            doc: "One-line title of the scenario.",
            example: "\"Wi-Fi that weakens\"",
        },
        Key {
            name: "description",
            shape: Text,
            need: Absent("none"),
            doc: "Longer description, shown in the report.",
            example: "\"\"\"A user walks away from the access point.\"\"\"",
        },
        Key {
            name: "seed",
            shape: Integer { min: 0, max: i64::MAX },
            need: Default("1"),
            doc: "Seed of every random source. The same seed gives the same results.",
            example: "1",
        },
        Key {
            name: "duration",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "Simulated time of a run.",
            example: "\"60s\"",
        },
        Key {
            name: "sample",
            shape: POSITIVE_TIME,
            need: Default("\"100ms\""),
            doc: "Interval between the rows of the time series.",
            example: "\"100ms\"",
        },
        Key {
            name: "capture",
            shape: Flag,
            need: Default("false"),
            doc: "Write the packets of connections at the device's interfaces to `capture.pcapng`, as `--pcap` of \
                  `tandem run`, `testbed` and `emulate` does. Packets of the device come before the queue of \
                  the uplink, which may drop them. Datagrams of the simulator are left out.",
            example: "true",
        },
        Key {
            name: "device",
            shape: Shape::Table(&DEVICE),
            need: Default("{}"),
            doc: "The device: battery, policy, radios used together.",
            example: "{ battery = \"10Wh\", policy = \"wifi-first\" }",
        },
        Key {
            name: "cell",
            shape: Shape::Tables(&CELL),
            need: Absent("no shared media"),
            doc: "A wireless medium that paths share with other stations.",
            example: "[{ name = \"home\", kind = \"wifi\", rate = \"20Mbps\" }]",
        },
        Key {
            name: "path",
            shape: Shape::Tables(&PATH),
            need: Required,
            doc: "A network path between device and server, over one radio of the device.",
            example: "[{ name = \"wifi\", radio = \"huang2012.wifi\", down = { rate = \"20Mbps\" } }]",
        },
        Key {
            name: "transport",
            shape: Shape::Table(&TRANSPORT),
            need: Default("{}"),
            doc: "Protocol and parameters of the connections.",
            example: "{ protocol = \"mptcp\", scheduler = \"min-rtt\" }",
        },
        Key {
            name: "traffic",
            shape: Shape::Tables(&TRAFFIC),
            need: Required,
            doc: "An application and its traffic. Each has its own connection.",
            example: "[{ kind = \"bulk\" }]",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use super::{direction::*, middlebox::*, traffic::*};
    use schema::diagnostic::{Problems, Source};
    use schema::read::read_value;
    use toml::de::DeValue;

    #[test]
    fn defaults_and_examples_fit_their_keys() {
        for table in SCENARIO.with_inner().into_iter().chain(CROWD.with_inner()) {
            for key in table.keys {
                let default = match key.need {
                    Default(text) => Some(text),
                    Required | Absent(_) => None,
                };
                for text in default.into_iter().chain([key.example]) {
                    let value = DeValue::parse(text).expect("TOML");
                    let mut problems = Problems::new(Source::new("example", text));
                    read_value(key.name, &key.shape, &value, &mut problems);
                    let shown: String = problems.found.iter().map(ToString::to_string).collect();
                    assert!(shown.is_empty(), "{}.{}: {shown}", table.name, key.name);
                }
            }
        }
    }

    #[test]
    fn docs_are_sentences_and_names_are_unique() {
        let mut all = SCENARIO.with_inner();
        for table in CROWD.with_inner() {
            if !all.iter().any(|known| core::ptr::eq(*known, table)) {
                all.push(table);
            }
        }
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
    fn choices_are_the_names_in_other_crates() {
        let names = |choices: &[Choice]| choices.iter().map(|c| c.name).collect::<Vec<_>>();
        assert_eq!(names(&TRAFFIC_KINDS), ::traffic::Kind::NAMES.map(|(n, _)| n));
        assert_eq!(names(&MIDDLEBOXES), ::middlebox::MiddleboxKind::NAMES);
        let options = ::middlebox::OptionSet::NAMES.map(|(n, _)| n);
        assert!(names(&OPTIONS).iter().filter(|n| !["mptcp", "all"].contains(n)).eq(&options));
        assert_eq!(names(&MIXES), ::traffic::Mix::NAMES.map(|(n, _)| n));
        assert_eq!(names(&MODELS), link::ChannelModel::NAMES);
    }

    #[test]
    fn keys_of_a_kind_exist_in_its_table() {
        for kind in &TRAFFIC_KINDS {
            assert!(traffic_keys(kind.name).iter().all(|key| TRAFFIC.key(key).is_some()));
        }
        for kind in &MIDDLEBOXES {
            assert!(middlebox_keys(kind.name).iter().all(|key| MIDDLEBOX.key(key).is_some()));
        }
    }
}
