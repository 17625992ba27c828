//! Keys of middleboxes.

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
    doc: "A device on a path that changes TCP segments (RFC 6182, section 7).",
    one_of: &[],
    keys: &[
        Key {
            name: "kind",
            shape: Shape::Choice(&MIDDLEBOXES),
            need: Required,
            doc: "Behaviour of the middlebox.",
            example: "\"split\"",
        },
        Key {
            name: "direction",
            shape: Shape::Choice(&DIRECTIONS),
            need: Default("\"both\""),
            doc: "Direction of the affected segments. `rewrite-sequence` and `forget-nat` always \
                  affect both.",
            example: "\"down\"",
        },
        Key {
            name: "from",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Start time. A start within a connection models a route change.",
            example: "\"10s\"",
        },
        Key {
            name: "until",
            shape: TIME,
            need: Absent("the end of the run"),
            doc: "End time.",
            example: "\"20s\"",
        },
        Key {
            name: "options",
            shape: List { of: &Shape::Choice(&OPTIONS), min: 1, max: 15 },
            need: Default("[\"mptcp\"]"),
            doc: "`strip-options`: TCP options that it removes.",
            example: "[\"mp-join\", \"add-addr\"]",
        },
        Key {
            name: "on",
            shape: Shape::Choice(&SEGMENTS),
            need: Default("\"all\""),
            doc: "`strip-options`: affected segments.",
            example: "\"syn\"",
        },
        Key {
            name: "drop",
            shape: Flag,
            need: Default("false"),
            doc: "`strip-options`: drop the whole segment instead.",
            example: "true",
        },
        Key {
            name: "chance",
            shape: Probability,
            need: Default("1.0"),
            doc: "`strip-options`, `corrupt`: probability for each segment.",
            example: "0.01",
        },
        Key {
            name: "up",
            shape: Integer { min: 0, max: u32::MAX as i64 },
            need: Default("1000000"),
            doc: "`rewrite-sequence`: offset added to the device's sequence numbers.",
            example: "12345",
        },
        Key {
            name: "down",
            shape: Integer { min: 0, max: u32::MAX as i64 },
            need: Default("2000000"),
            doc: "`rewrite-sequence`: offset added to the server's sequence numbers.",
            example: "54321",
        },
        Key {
            name: "sack",
            shape: Flag,
            need: Default("true"),
            doc: "`rewrite-sequence`: also translate SACK blocks; some middleboxes do not.",
            example: "false",
        },
        Key {
            name: "mss",
            shape: Integer { min: 1, max: 65_535 },
            need: Default("536"),
            doc: "`split`: maximum payload of a segment, in bytes.",
            example: "536",
        },
        Key {
            name: "most",
            shape: POSITIVE_SIZE,
            need: Default("\"64KiB\""),
            doc: "`coalesce`: maximum payload of a merged segment.",
            example: "\"3000B\"",
        },
        Key {
            name: "hold",
            shape: POSITIVE_TIME,
            need: Default("\"1ms\""),
            doc: "`coalesce`: maximum time for which a segment is held.",
            example: "\"2ms\"",
        },
        Key {
            name: "idle",
            shape: POSITIVE_TIME,
            need: Default("\"120s\""),
            doc: "`forget-nat`: idle timeout of a connection. RFC 5382 requires at least 2 h 4 \
                  min.",
            example: "\"30s\"",
        },
        Key {
            name: "forgotten",
            shape: Shape::Choice(&FORGOTTEN),
            need: Default("\"renew\""),
            doc: "`forget-nat`: treatment of the device's next segment.",
            example: "\"reset\"",
        },
    ],
};

pub(super) static MIDDLEBOXES: [Choice; 6] = [
    choice("strip-options", "removes TCP options, or drops segments that carry them"),
    choice("rewrite-sequence", "adds an offset to sequence numbers, like a firewall that randomises them"),
    choice("split", "splits segments, repeating the options in each"),
    choice("coalesce", "merges segments and keeps the options of the first"),
    choice("forget-nat", "an address translator that drops the state of idle connections"),
    choice("corrupt", "changes payload bytes and corrects the TCP checksum"),
];

static DIRECTIONS: [Choice; 3] = [
    choice("both", "both directions"),
    choice("down", "from the server to the device"),
    choice("up", "from the device to the server"),
];

pub(super) static OPTIONS: [Choice; 16] = [
    choice("mptcp", "all options of Multipath TCP"),
    choice("all", "every option"),
    choice("mss", "maximum segment size"),
    choice("window-scale", "window scale"),
    choice("sack", "SACK permitted and SACK blocks"),
    choice("timestamps", "timestamps"),
    choice("mp-capable", "MP_CAPABLE"),
    choice("mp-join", "MP_JOIN"),
    choice("dss", "DSS: mappings, DATA_ACK and DATA_FIN"),
    choice("add-addr", "ADD_ADDR"),
    choice("remove-addr", "REMOVE_ADDR"),
    choice("mp-prio", "MP_PRIO"),
    choice("mp-fail", "MP_FAIL"),
    choice("mp-fastclose", "MP_FASTCLOSE"),
    choice("mp-tcprst", "MP_TCPRST"),
    choice("mptcp-rec", "the options of MPTCP-rec"),
];

static SEGMENTS: [Choice; 4] = [
    choice("syn", "SYN and SYN/ACK"),
    choice("not-syn", "every other segment"),
    choice("data", "segments with payload"),
    choice("all", "every segment"),
];

static FORGOTTEN: [Choice; 4] = [
    choice("renew", "it passes as before; only segments from the other side were lost meanwhile"),
    choice("new-port", "it passes with another source port, unknown to the server"),
    choice("reset", "the middlebox answers with a RST"),
    choice("drop", "it is dropped, as is everything before the next SYN"),
];

/// The keys that apply to this kind only.
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
