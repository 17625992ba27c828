//! Keys of shared media.

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
    doc: "A medium that several stations share. A direction of a path joins it with `cell`. A \
          Wi-Fi cell serves both directions; an LTE cell serves one direction, down or up.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Name,
            need: Required,
            doc: "Name of the cell, for the key `cell` of paths.",
            example: "\"home\"",
        },
        Key {
            name: "kind",
            shape: Shape::Choice(&CELL_KINDS),
            need: Required,
            doc: "How stations share the medium.",
            example: "\"wifi\"",
        },
        Key {
            name: "rate",
            shape: POSITIVE_RATE,
            need: Required,
            doc: "Capacity of the cell at the best channel, net of protocol overhead: about 60 % of \
                  an 802.11 PHY rate.",
            example: "\"20Mbps\"",
        },
        Key {
            name: "others",
            shape: List { of: &Shape::Table(&LOAD), min: 0, max: 1000 },
            need: Default("[]"),
            doc: "Background load: other stations that compete for the medium.",
            example: "[{ count = 4, rate = \"1Mbps\" }]",
        },
        Key {
            name: "overhead",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Wi-Fi: airtime of each frame on top of its bits; 100 to 400 us for 802.11g if \
                  `rate` is the PHY rate.",
            example: "\"150us\"",
        },
        Key {
            name: "pf_window",
            shape: POSITIVE_TIME,
            need: Default("\"100ms\""),
            doc: "LTE: averaging window of proportional fairness; typically 100 ms to 1 s.",
            example: "\"100ms\"",
        },
        Key {
            name: "fading",
            shape: Shape::Table(&FADING),
            need: Absent("every user has the same constant channel"),
            doc: "LTE: fast fading of each user's channel.",
            example: "{ coherence = \"80ms\", snr_db = 10 }",
        },
    ],
};

static CELL_KINDS: [Choice; 2] = [
    choice(
        "wifi",
        "one frame at a time; every sender with a queued frame is equally likely to send, the access point \
         once for all its downlinks",
    ),
    choice("lte", "proportional fairness assigns each millisecond to one user"),
];

static FADING: Table = Table {
    name: "a fading model",
    doc: "Rayleigh block fading: each user's gain is redrawn after every coherence time.",
    one_of: &[],
    keys: &[
        Key {
            name: "coherence",
            shape: POSITIVE_TIME,
            need: Default("\"80ms\""),
            doc: "Coherence time: 80 ms at walking pace and 2 GHz, 5 ms in a car.",
            example: "\"80ms\"",
        },
        Key {
            name: "snr_db",
            shape: Number { min: -20.0, max: 60.0 },
            need: Default("10"),
            doc: "Mean signal-to-noise ratio of users without `snr_db` of their own, in dB. Their rate \
                  follows from it as from theirs.",
            example: "10",
        },
    ],
};

static LOAD: Table = Table {
    name: "a background load",
    doc: "Stations that send packets of one size at a constant rate.",
    one_of: &[],
    keys: &[
        Key {
            name: "count",
            shape: Integer { min: 0, max: 10_000 },
            need: Default("1"),
            doc: "Number of such stations.",
            example: "4",
        },
        Key {
            name: "rate",
            shape: POSITIVE_RATE,
            need: Required,
            doc: "Offered load of each station.",
            example: "\"1Mbps\"",
        },
        Key {
            name: "packet",
            shape: POSITIVE_SIZE,
            need: Default("\"1040B\""),
            doc: "Size of each packet.",
            example: "\"1040B\"",
        },
        Key {
            name: "jitter",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Upper bound of a random delay of each packet.",
            example: "\"2ms\"",
        },
        Key {
            name: "queue",
            shape: Integer { min: 1, max: 1_000_000 },
            need: Default("50"),
            doc: "Queue limit of each station, in packets.",
            example: "50",
        },
        Key {
            name: "start",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Start; the first packet follows within one interval between packets.",
            example: "\"10s\"",
        },
        Key {
            name: "stop",
            shape: TIME,
            need: Absent("never"),
            doc: "Time after which they send nothing.",
            example: "\"40s\"",
        },
        Key {
            name: "link_rate",
            shape: POSITIVE_RATE,
            need: Absent("the cell's rate"),
            doc: "Rate of the medium while one of these stations sends, at most `rate` of the cell. With \
                  `fading` it is that of the mean channel, and a better channel gives at most `rate` of \
                  the cell.",
            example: "\"6Mbps\"",
        },
    ],
};
