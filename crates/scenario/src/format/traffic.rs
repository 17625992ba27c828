//! What applications do.

use super::{RATE, SIZE, SPAN, TIME, choice};
use crate::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Flag},
    Table,
};

pub(super) static TRAFFIC: Table = Table {
    name: "a traffic",
    doc: "What an application does. Each has a connection of its own.",
    one_of: &[],
    keys: &[
        Key {
            name: "kind",
            shape: Shape::Choice(&TRAFFIC_KINDS),
            need: Required,
            doc: "What it is.",
            example: "\"bulk\"",
        },
        Key {
            name: "direction",
            shape: Shape::Choice(&DIRECTIONS),
            need: Default("\"down\""),
            doc: "Which way the data goes.",
            example: "\"up\"",
        },
        Key {
            name: "start",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "When it begins.",
            example: "\"5s\"",
        },
        Key {
            name: "stop",
            shape: TIME,
            need: Absent("the end of the run"),
            doc: "When it ends.",
            example: "\"50s\"",
        },
        Key {
            name: "rate",
            shape: RATE,
            need: Absent("`cbr` and `on-off` need it"),
            doc: "`cbr`, `on-off`: what is offered.",
            example: "\"2Mbps\"",
        },
        Key {
            name: "packet",
            shape: SIZE,
            need: Default("\"1000B\""),
            doc: "`cbr`, `on-off`: how much is written at a time.",
            example: "\"1040B\"",
        },
        Key {
            name: "on",
            shape: SPAN,
            need: Default("\"1s\""),
            doc: "`on-off`: how long it sends.",
            example: "\"2s\"",
        },
        Key {
            name: "off",
            shape: SPAN,
            need: Default("\"1s\""),
            doc: "`on-off`: how long it is silent.",
            example: "\"20s\"",
        },
        Key {
            name: "exponential",
            shape: Flag,
            need: Default("false"),
            doc: "`on-off`: both times are exponential with these means.",
            example: "true",
        },
        Key {
            name: "size",
            shape: SIZE,
            need: Absent("`file` needs it"),
            doc: "`file`: how much there is.",
            example: "\"5MB\"",
        },
        Key {
            name: "on_full",
            shape: Shape::Choice(&ON_FULL),
            need: Default("\"wait\""),
            doc: "`cbr`, `on-off`: what a full send buffer does to a write.",
            example: "\"drop\"",
        },
    ],
};

pub(super) static TRAFFIC_KINDS: [Choice; 4] = [
    choice("bulk", "as much as there is room for"),
    choice("cbr", "a constant rate"),
    choice("on-off", "a constant rate, with pauses"),
    choice("file", "so much, then no more"),
];

static DIRECTIONS: [Choice; 2] =
    [choice("down", "from the server to the device"), choice("up", "from the device to the server")];

static ON_FULL: [Choice; 2] =
    [choice("drop", "it is lost, as with a live source"), choice("wait", "it is written later")];

pub(crate) fn traffic_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "cbr" => &["rate", "packet", "on_full"],
        "on-off" => &["rate", "packet", "on", "off", "exponential", "on_full"],
        "file" => &["size"],
        _ => &[],
    }
}
