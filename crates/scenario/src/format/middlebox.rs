//! Middleboxes.

use super::choice;
use quantities::{POSITIVE_SIZE, POSITIVE_TIME, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Flag, Integer, List, Probability},
    Table,
};

pub(super) static MIDDLEBOX: Table = Table {
    name: "a middlebox",
    doc: "What stands on a path and changes TCP segments (RFC 6182, section 7).",
    one_of: &[],
    keys: &[
        Key {
            name: "kind",
            shape: Shape::Choice(&MIDDLEBOXES),
            need: Required,
            doc: "What it does.",
            example: "\"split\"",
        },
        Key {
            name: "direction",
            shape: Shape::Choice(&DIRECTIONS),
            need: Default("\"both\""),
            doc: "Which way it looks; not for `rewrite-sequence` and `forget-nat`, which concern both.",
            example: "\"down\"",
        },
        Key {
            name: "from",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "From when on; a box that comes in the middle of a connection is a change of route.",
            example: "\"10s\"",
        },
        Key {
            name: "until",
            shape: TIME,
            need: Absent("the end of the run"),
            doc: "Until when.",
            example: "\"20s\"",
        },
        Key {
            name: "options",
            shape: List { of: &Shape::Choice(&OPTIONS), min: 1, max: 15 },
            need: Default("[\"mptcp\"]"),
            doc: "`strip-options`: which.",
            example: "[\"mp-join\", \"add-addr\"]",
        },
        Key {
            name: "on",
            shape: Shape::Choice(&SEGMENTS),
            need: Default("\"all\""),
            doc: "`strip-options`: in which segments.",
            example: "\"syn\"",
        },
        Key {
            name: "drop",
            shape: Flag,
            need: Default("false"),
            doc: "`strip-options`: drops the whole segment.",
            example: "true",
        },
        Key {
            name: "chance",
            shape: Probability,
            need: Default("1.0"),
            doc: "`strip-options`, `corrupt`: how likely it is to do so, segment by segment.",
            example: "0.01",
        },
        Key {
            name: "up",
            shape: Integer { min: 0, max: u32::MAX as i64 },
            need: Default("1000000"),
            doc: "`rewrite-sequence`: added to the numbers of what the device sends.",
            example: "12345",
        },
        Key {
            name: "down",
            shape: Integer { min: 0, max: u32::MAX as i64 },
            need: Default("2000000"),
            doc: "`rewrite-sequence`: added to the numbers of what the server sends.",
            example: "54321",
        },
        Key {
            name: "sack",
            shape: Flag,
            need: Default("true"),
            doc: "`rewrite-sequence`: SACK blocks are translated too, which some boxes forget.",
            example: "false",
        },
        Key {
            name: "mss",
            shape: Integer { min: 1, max: 65_535 },
            need: Default("536"),
            doc: "`split`: the most payload of a piece, in bytes.",
            example: "536",
        },
        Key {
            name: "most",
            shape: POSITIVE_SIZE,
            need: Default("\"64KiB\""),
            doc: "`coalesce`: the most payload of a merged segment.",
            example: "\"3000B\"",
        },
        Key {
            name: "hold",
            shape: POSITIVE_TIME,
            need: Default("\"1ms\""),
            doc: "`coalesce`: how long a segment is held at most.",
            example: "\"2ms\"",
        },
        Key {
            name: "idle",
            shape: POSITIVE_TIME,
            need: Default("\"120s\""),
            doc: "`forget-nat`: how long a connection may be silent. RFC 5382 asks for at least 2 h 4 min.",
            example: "\"30s\"",
        },
        Key {
            name: "forgotten",
            shape: Shape::Choice(&FORGOTTEN),
            need: Default("\"renew\""),
            doc: "`forget-nat`: what becomes of the device's next segment.",
            example: "\"reset\"",
        },
    ],
};

pub(super) static MIDDLEBOXES: [Choice; 6] = [
    choice("strip-options", "takes options out, or drops what has them"),
    choice("rewrite-sequence", "adds an offset to sequence numbers, as a firewall that draws its own"),
    choice("split", "cuts segments into smaller ones, each with the options of the whole"),
    choice("coalesce", "merges segments; options after the first are lost"),
    choice("forget-nat", "an address translator that forgets idle connections"),
    choice("corrupt", "changes bytes and makes the TCP checksum right again"),
];

static DIRECTIONS: [Choice; 3] = [
    choice("both", "both ways"),
    choice("down", "from the server to the device"),
    choice("up", "from the device to the server"),
];

pub(super) static OPTIONS: [Choice; 16] = [
    choice("mptcp", "all of Multipath TCP"),
    choice("all", "every option"),
    choice("mss", "maximum segment size"),
    choice("window-scale", "window scale"),
    choice("sack", "SACK permitted and SACK blocks"),
    choice("timestamps", "timestamps"),
    choice("mp-capable", "MP_CAPABLE"),
    choice("mp-join", "MP_JOIN"),
    choice("dss", "mappings, DATA_ACK and DATA_FIN"),
    choice("add-addr", "ADD_ADDR"),
    choice("remove-addr", "REMOVE_ADDR"),
    choice("mp-prio", "MP_PRIO"),
    choice("mp-fail", "MP_FAIL"),
    choice("mp-fastclose", "MP_FASTCLOSE"),
    choice("mp-tcprst", "MP_TCPRST"),
    choice("mptcp-rec", "those of MPTCP-rec"),
];

static SEGMENTS: [Choice; 4] = [
    choice("syn", "SYN and SYN/ACK"),
    choice("not-syn", "all but those"),
    choice("data", "those with payload"),
    choice("all", "every one"),
];

static FORGOTTEN: [Choice; 4] = [
    choice("renew", "it passes as before: only what came meanwhile was lost"),
    choice("new-port", "it passes with another port, which the server does not know"),
    choice("reset", "the box answers with a reset"),
    choice("drop", "it is dropped, until a SYN comes"),
];

/// The keys that only this kind has.
pub(crate) fn middlebox_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "strip-options" => &["options", "on", "drop", "chance"],
        "rewrite-sequence" => &["up", "down", "sack"],
        "split" => &["mss"],
        "coalesce" => &["most", "hold"],
        "forget-nat" => &["idle", "forgotten"],
        "corrupt" => &["chance"],
        _ => &[],
    }
}
