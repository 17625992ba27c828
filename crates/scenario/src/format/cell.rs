//! Shared media.

use super::choice;
use quantities::{POSITIVE_RATE, POSITIVE_SIZE, POSITIVE_TIME, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Integer, List, Name, Number},
    Table,
};

pub(super) static CELL: Table = Table {
    name: "a cell",
    doc: "A medium that several stations share. A direction of a path takes part in it by naming it. A Wi-Fi cell \
          serves both directions; an LTE cell is one direction, down or up.",
    one_of: &[],
    keys: &[
        Key { name: "name", shape: Name, need: Required, doc: "What paths call it.", example: "\"home\"" },
        Key {
            name: "kind",
            shape: Shape::Choice(&CELL_KINDS),
            need: Required,
            doc: "How the medium is shared.",
            example: "\"wifi\"",
        },
        Key {
            name: "rate",
            shape: POSITIVE_RATE,
            need: Required,
            doc: "What it carries in all, net of the medium's own overhead: some 60 % of an 802.11 PHY rate.",
            example: "\"20Mbps\"",
        },
        Key {
            name: "others",
            shape: List { of: &Shape::Table(&LOAD), min: 0, max: 1000 },
            need: Default("[]"),
            doc: "Other stations, which are only there to take their part.",
            example: "[{ count = 4, rate = \"1Mbps\" }]",
        },
        Key {
            name: "overhead",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Wi-Fi: what each frame costs beside its bits; 100 to 400 us for 802.11g if `rate` is the PHY's.",
            example: "\"150us\"",
        },
        Key {
            name: "pf_window",
            shape: POSITIVE_TIME,
            need: Default("\"100ms\""),
            doc: "LTE: over what time proportional fairness averages; typically 100 ms to 1 s.",
            example: "\"100ms\"",
        },
        Key {
            name: "fading",
            shape: Shape::Table(&FADING),
            need: Absent("all users are always as good"),
            doc: "LTE: fast fading of each user.",
            example: "{ coherence = \"80ms\", snr_db = 10 }",
        },
    ],
};

static CELL_KINDS: [Choice; 2] = [
    choice("wifi", "one frame at a time, and each station that has one is as likely to send"),
    choice("lte", "each millisecond goes to a user by proportional fairness"),
];

static FADING: Table = Table {
    name: "a fading",
    doc: "Rayleigh block fading: a user's gain is drawn anew after each coherence time.",
    one_of: &[],
    keys: &[
        Key {
            name: "coherence",
            shape: POSITIVE_TIME,
            need: Default("\"80ms\""),
            doc: "How long a gain holds: 80 ms at walking pace and 2 GHz, 5 ms in a car.",
            example: "\"80ms\"",
        },
        Key {
            name: "snr_db",
            shape: Number { min: -20.0, max: 60.0 },
            need: Default("10"),
            doc: "Mean signal-to-noise ratio, in dB.",
            example: "10",
        },
    ],
};

static LOAD: Table = Table {
    name: "a load",
    doc: "Stations of a cell that send packets of one size at a constant rate.",
    one_of: &[],
    keys: &[
        Key {
            name: "count",
            shape: Integer { min: 0, max: 10_000 },
            need: Default("1"),
            doc: "How many such stations.",
            example: "4",
        },
        Key {
            name: "rate",
            shape: POSITIVE_RATE,
            need: Required,
            doc: "What each of them offers.",
            example: "\"1Mbps\"",
        },
        Key {
            name: "packet",
            shape: POSITIVE_SIZE,
            need: Default("\"1040B\""),
            doc: "The size of each packet.",
            example: "\"1040B\"",
        },
        Key {
            name: "jitter",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Each packet comes late by a random time below this.",
            example: "\"2ms\"",
        },
        Key {
            name: "queue",
            shape: Integer { min: 1, max: 1_000_000 },
            need: Default("50"),
            doc: "How many packets may wait at each station.",
            example: "50",
        },
        Key {
            name: "start",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "When they begin.",
            example: "\"10s\"",
        },
        Key { name: "stop", shape: TIME, need: Absent("never"), doc: "When they end.", example: "\"40s\"" },
        Key {
            name: "link_rate",
            shape: POSITIVE_RATE,
            need: Absent("the cell's rate"),
            doc: "What the medium carries while one of these stations sends.",
            example: "\"6Mbps\"",
        },
    ],
};
