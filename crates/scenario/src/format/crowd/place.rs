//! Keys of the cells that several devices share, and of the devices' paths.

use super::super::cell::CELL;
use super::super::direction::DIRECTION;
use super::super::path;
use super::{DECIBELS, UNIFORM_NUMBER, with_keys};
use schema::shape::{
    Key,
    Need::{Absent, Required},
    Shape::{self, List, Name, Or},
    Table,
};

pub(super) static PATH: Table = Table {
    name: "a path of each device",
    doc: "A network path between each device and the server, over one radio of the device.",
    one_of: &[],
    keys: &PATH_KEYS,
};

static PATH_KEYS: [Key; path::PATH.keys.len()] = with_keys(
    path::PATH.keys,
    &[
        Key {
            name: "down",
            shape: Shape::Table(&PLACED_DIRECTION),
            need: Required,
            doc: "From the server to the device.",
            example: "{ cell = \"ap\", snr_db = 20, delay = \"10ms\" }",
        },
        Key {
            name: "up",
            shape: Shape::Table(&PLACED_DIRECTION),
            need: Absent("like `down`, with its own queue and random draws"),
            doc: "From the device to the server.",
            example: "{ rate = \"10Mbps\", delay = \"10ms\" }",
        },
    ],
);

static PLACED_DIRECTION: Table = Table {
    name: "a direction of each device",
    doc: "One direction of a path, or of a backhaul. Its capacity is given by exactly one of \
          `rate`, `trace`, `model` and `cell`.",
    one_of: &["rate", "trace", "model", "cell"],
    keys: &DIRECTION_KEYS,
};

static DIRECTION_KEYS: [Key; DIRECTION.keys.len() + 1] = with_keys(
    DIRECTION.keys,
    &[
        Key {
            name: "cell",
            shape: Or(&Name, &List { of: &Name, min: 1, max: 1000 }),
            need: Absent("`rate`, `trace` or `model`"),
            doc: "Name of the cell that shares its capacity with this direction. The devices of a \
                  kind join the cells of a list in turn.",
            example: "[\"ap1\", \"ap2\"]",
        },
        Key {
            name: "snr_db",
            shape: Or(
                &DECIBELS,
                &Or(&List { of: &DECIBELS, min: 1, max: 1000 }, &Shape::Table(&UNIFORM_NUMBER)),
            ),
            need: Absent("the cell's rate, or `link_rate`"),
            doc: "With `cell`: mean signal-to-noise ratio of this station, in dB. Its rate is `rate` \
                  of the cell times min(0.6 log2(1 + snr), 4.4) / 4.4 (3GPP TR 36.942), and zero \
                  below -10 dB. Each device draws one of a list, or from a range; `up` in the same \
                  cell as `down` has the value of `down` unless it gives its own.",
            example: "{ uniform = [3, 25] }",
        },
    ],
);

pub(super) static SHARED_CELL: Table = Table {
    name: "a shared cell",
    doc: "A medium that devices share. A direction of a path joins it with `cell`. A Wi-Fi cell \
          serves both directions; an LTE cell serves one direction, down or up.",
    one_of: &[],
    keys: &CELL_KEYS,
};

static CELL_KEYS: [Key; CELL.keys.len() + 1] = with_keys(
    CELL.keys,
    &[Key {
        name: "backhaul",
        shape: Shape::Table(&BACKHAUL),
        need: Absent("no limit"),
        doc: "Wi-Fi: what connects the access point to the network.",
        example: "{ down = { rate = \"50Mbps\" }, up = { rate = \"10Mbps\" } }",
    }],
);

static BACKHAUL: Table = Table {
    name: "a backhaul",
    doc: "What connects an access point to the network: links, or stations of other cells, as in a \
          bus whose Wi-Fi is carried over LTE.",
    one_of: &[],
    keys: &[
        Key {
            name: "down",
            shape: Shape::Table(&PLACED_DIRECTION),
            need: Required,
            doc: "From the network to the access point.",
            example: "{ cell = \"sector\", snr_db = 15, delay = \"30ms\" }",
        },
        Key {
            name: "up",
            shape: Shape::Table(&PLACED_DIRECTION),
            need: Required,
            doc: "From the access point to the network.",
            example: "{ rate = \"10Mbps\", delay = \"30ms\" }",
        },
    ],
};
