//! The device and its policy.

use super::choice;
use crate::shape::{
    Choice, Key,
    Least::{AboveZero, Zero},
    Need::{Default, Required},
    Quantity::{Energy, Power},
    Shape::{self, Or, Probability, Quantity, Text},
    Table,
};

pub(super) static DEVICE: Table = Table {
    name: "the device",
    doc: "The device whose radios are looked at.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Text,
            need: Default("\"device\""),
            doc: "What it is called in results.",
            example: "\"phone\"",
        },
        Key {
            name: "battery",
            shape: Quantity(Energy, AboveZero),
            need: Default("\"15Wh\""),
            doc: "What its battery holds; a phone's 15 Wh is 4000 mAh at 3.85 V.",
            example: "\"300J\"",
        },
        Key {
            name: "policy",
            shape: Or(&Shape::Choice(&POLICIES), &Shape::Table(&POLICY)),
            need: Default("\"none\""),
            doc: "What the device does with its paths.",
            example: "{ name = \"emtcp\", share = 0.24, actuator = \"mp-prio\" }",
        },
        Key {
            name: "joint_power",
            shape: Quantity(Power, Zero),
            need: Default("\"0W\""),
            doc: "Extra power while two or more radios are active at once: their sum is not always the whole.",
            example: "\"50mW\"",
        },
    ],
};

pub(super) static POLICIES: [Choice; 5] = [
    choice("none", "plain Multipath TCP: every path, as the scheduler likes"),
    choice("wifi-only", "every path that is not Wi-Fi is closed"),
    choice("lte-only", "every path that is not LTE is closed"),
    choice("wifi-first", "cellular paths are backup while another path is up"),
    choice("emtcp", "moves a share of the costly paths' data to the cheap ones (the eMTCP paper)"),
];

static POLICY: Table = Table {
    name: "a policy",
    doc: "A policy with its settings.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Shape::Choice(&POLICIES),
            need: Required,
            doc: "Which policy.",
            example: "\"emtcp\"",
        },
        Key {
            name: "share",
            shape: Probability,
            need: Default("0.24"),
            doc: "For `emtcp`: which part of the costly paths' data is moved, from 0 to 1.",
            example: "0.24",
        },
        Key {
            name: "actuator",
            shape: Shape::Choice(&ACTUATORS),
            need: Default("\"ideal\""),
            doc: "For `emtcp`: how the share is brought about.",
            example: "\"mp-prio\"",
        },
    ],
};

pub(super) static ACTUATORS: [Choice; 2] = [
    choice("ideal", "the sender's scheduler moves the exact share, as in the paper's model"),
    choice(
        "mp-prio",
        "the device marks LTE as backup and back (RFC 8684, section 3.3.8): works with any server",
    ),
];
