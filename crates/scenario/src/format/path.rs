//! Paths.

use super::direction::DIRECTION;
use super::middlebox::MIDDLEBOX;
use quantities::{POSITIVE_SIZE, POSITIVE_TIME, TIME};
use radio::PROFILE_SHAPE;
use schema::shape::{
    Key,
    Need::{Absent, Default, Required},
    Shape::{self, Flag, List, Name},
    Table,
};

pub(super) static PATH: Table = Table {
    name: "a path",
    doc: "A way between the device and the server, over one radio of the device.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Name,
            need: Required,
            doc: "Its name, which is also that of the interface.",
            example: "\"wifi\"",
        },
        Key {
            name: "radio",
            shape: PROFILE_SHAPE,
            need: Required,
            doc: "What the interface draws: a profile of `tandem profiles`, `{ file = \"mine.toml\" }`, or a profile's keys.",
            example: "\"huang2012.wifi\"",
        },
        Key {
            name: "down",
            shape: Shape::Table(&DIRECTION),
            need: Required,
            doc: "From the server to the device.",
            example: "{ rate = \"20Mbps\", delay = \"10ms\" }",
        },
        Key {
            name: "up",
            shape: Shape::Table(&DIRECTION),
            need: Absent("like `down`, with a queue and random draws of its own"),
            doc: "From the device to the server.",
            example: "{ rate = \"10Mbps\", delay = \"10ms\" }",
        },
        Key {
            name: "middlebox",
            shape: Shape::Tables(&MIDDLEBOX),
            need: Absent("none"),
            doc: "What changes segments between the access link and the server, in order from the device.",
            example: "[{ kind = \"strip-options\", options = [\"mp-join\"] }]",
        },
        Key {
            name: "backup",
            shape: Flag,
            need: Default("false"),
            doc: "Begins as a backup, which carries data only when no other path can (RFC 8684).",
            example: "true",
        },
        Key {
            name: "join_at",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "When the interface comes up.",
            example: "\"5s\"",
        },
        Key {
            name: "leave_at",
            shape: TIME,
            need: Absent("never"),
            doc: "When the interface goes away, and the connection is told so.",
            example: "\"40s\"",
        },
        Key {
            name: "allowance",
            shape: POSITIVE_SIZE,
            need: Absent("unlimited"),
            doc: "How much the contract has left to carry over it, both ways, headers counted. The policy `allowance` heeds it.",
            example: "\"2GB\"",
        },
        Key {
            name: "allowance_period",
            shape: POSITIVE_TIME,
            need: Absent("the run"),
            doc: "How long the allowance has to last from the beginning on; then there is as much again.",
            example: "\"30s\"",
        },
        Key {
            name: "also_measure",
            shape: List { of: &PROFILE_SHAPE, min: 0, max: 16 },
            need: Default("[]"),
            doc: "Other profiles to measure the same traffic with; they change nothing else.",
            example: "[\"huang2012.lte\"]",
        },
    ],
};
