//! The device and its policy.

use super::choice;
use quantities::{POSITIVE_ENERGY, POSITIVE_RATE, POSITIVE_TIME, POWER};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Or, Probability, Text},
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
            shape: POSITIVE_ENERGY,
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
            shape: POWER,
            need: Default("\"0W\""),
            doc: "Extra power while two or more radios are active at once: their sum is not always the whole.",
            example: "\"50mW\"",
        },
    ],
};

pub(super) static POLICIES: [Choice; 8] = [
    choice("none", "plain Multipath TCP: every path, as the scheduler likes"),
    choice("wifi-only", "every path that is not Wi-Fi is closed"),
    choice("lte-only", "every path that is not LTE is closed"),
    choice("wifi-first", "cellular paths are backup while another path is up"),
    choice(
        "when-needed",
        "cellular paths are backup, and regular only while the others fall short of the demand seen",
    ),
    choice(
        "qoe",
        "cellular paths are backup, and regular only when the others would miss what a `video` needs next",
    ),
    choice(
        "allowance",
        "a path with a data `allowance` is used no faster than what is left of it lasts, and is a backup otherwise",
    ),
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
        Key {
            name: "at_cap",
            shape: Shape::Choice(&AT_CAP),
            need: Default("\"close\""),
            doc: "For `allowance`: what becomes of a path whose allowance is used up.",
            example: "\"backup\"",
        },
        Key {
            name: "late",
            shape: POSITIVE_TIME,
            need: Default("\"250ms\""),
            doc: "For `when-needed`: how far behind the demand what comes may fall before cellular paths help. \
                  Shorter wakes them for a hiccup, longer empties buffers.",
            example: "\"500ms\"",
        },
        Key {
            name: "hold",
            shape: POSITIVE_TIME,
            need: Default("\"500ms\""),
            doc: "For `when-needed`: how long cellular paths stay regular at least.",
            example: "\"1s\"",
        },
        Key {
            name: "longest_hold",
            shape: POSITIVE_TIME,
            need: Default("\"4s\""),
            doc: "For `when-needed`: how long they stay regular at most, where the others have failed to suffice \
                  again and again, until that is tried once more.",
            example: "\"10s\"",
        },
        Key {
            name: "memory",
            shape: POSITIVE_TIME,
            need: Default("\"10s\""),
            doc: "For `when-needed`: time constant with which a demand that is no longer seen is forgotten.",
            example: "\"30s\"",
        },
        Key {
            name: "queueing",
            shape: POSITIVE_TIME,
            need: Default("\"100ms\""),
            doc: "For `when-needed`: how much longer than its least a round trip is that shows a full link.",
            example: "\"50ms\"",
        },
        Key {
            name: "silent",
            shape: POSITIVE_TIME,
            need: Default("\"250ms\""),
            doc: "For `when-needed`: how long the preferred paths may be silent when cellular ones are regular, until their \
                  subflows are given up and made anew.",
            example: "\"1s\"",
        },
        Key {
            name: "standby",
            shape: POSITIVE_TIME,
            need: Default("\"5s\""),
            doc: "For `when-needed`: how long cellular paths that have carried more than the others could not stay backups \
                  while they are not needed, until their subflows are closed. A peer may use a backup on its own account.",
            example: "\"1h\"",
        },
        Key {
            name: "margin",
            shape: POSITIVE_TIME,
            need: Default("\"8s\""),
            doc: "For `qoe`: what is to be left in the player's buffer when a segment comes.",
            example: "\"6s\"",
        },
        Key {
            name: "enough",
            shape: POSITIVE_RATE,
            need: Absent("all that is seen"),
            doc: "For `when-needed`: more than this is not asked for, whatever is seen.",
            example: "\"8Mbps\"",
        },
    ],
};

pub(super) static AT_CAP: [Choice; 2] = [
    choice("close", "the path is closed until the allowance is renewed"),
    choice("backup", "the path carries data where nothing else can"),
];

pub(super) static ACTUATORS: [Choice; 2] = [
    choice("ideal", "the sender's scheduler moves the exact share, as in the paper's model"),
    choice(
        "mp-prio",
        "the device marks LTE as backup and back (RFC 8684, section 3.3.8): works with any server",
    ),
];
