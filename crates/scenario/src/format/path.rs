//! Keys of paths.

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
    doc: "A network path between the device and the server, over one radio of the device.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Name,
            need: Required,
            doc: "Name of the path and of its interface.",
            example: "\"wifi\"",
        },
        Key {
            name: "radio",
            shape: PROFILE_SHAPE,
            need: Required,
            doc: "Power profile of the interface: a name from `tandem profiles`, `{ file = \
                  \"mine.toml\" }`, or the keys of a profile.",
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
            need: Absent("like `down`, with its own queue and random draws"),
            doc: "From the device to the server.",
            example: "{ rate = \"10Mbps\", delay = \"10ms\" }",
        },
        Key {
            name: "middlebox",
            shape: Shape::Tables(&MIDDLEBOX),
            need: Absent("none"),
            doc: "Middleboxes between the access link and the server, in order from the device.",
            example: "[{ kind = \"strip-options\", options = [\"mp-join\"] }]",
        },
        Key {
            name: "backup",
            shape: Flag,
            need: Default("false"),
            doc: "Start as a backup, which carries data only when no other path can (RFC 8684).",
            example: "true",
        },
        Key {
            name: "join_at",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Time at which the interface comes up. Its radio is idle before.",
            example: "\"5s\"",
        },
        Key {
            name: "leave_at",
            shape: TIME,
            need: Absent("never"),
            doc: "Time at which the interface goes down; the connection is notified. Packets that are under \
                  way in either direction are lost. The radio stays on: in its tail, then idle.",
            example: "\"40s\"",
        },
        Key {
            name: "allowance",
            shape: POSITIVE_SIZE,
            need: Absent("unlimited"),
            doc: "Remaining data volume of the tariff, both directions, headers included. The \
                  policy `allowance` keeps to it.",
            example: "\"2GB\"",
        },
        Key {
            name: "allowance_period",
            shape: POSITIVE_TIME,
            need: Absent("the duration of the run"),
            doc: "Period after which the allowance is renewed, counted from the start.",
            example: "\"30s\"",
        },
        Key {
            name: "also_measure",
            shape: List { of: &PROFILE_SHAPE, min: 0, max: 16 },
            need: Default("[]"),
            doc: "Further profiles that meter the same traffic, without any effect on the run.",
            example: "[\"huang2012.lte\"]",
        },
    ],
};
