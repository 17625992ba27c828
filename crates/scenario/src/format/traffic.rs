//! What applications do.

use super::choice;
use quantities::{POSITIVE_RATE, POSITIVE_SIZE, POSITIVE_TIME, TIME};
use schema::shape::{
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
            shape: POSITIVE_RATE,
            need: Absent("`cbr`, `on-off` and `vbr` need it"),
            doc: "`cbr`, `on-off`, `vbr`: what is offered; of `vbr` the mean.",
            example: "\"2Mbps\"",
        },
        Key {
            name: "packet",
            shape: POSITIVE_SIZE,
            need: Default("\"1000B\""),
            doc: "`cbr`, `on-off`: how much is written at a time.",
            example: "\"1040B\"",
        },
        Key {
            name: "on",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "`on-off`, `vbr` in bursts: how long it sends.",
            example: "\"2s\"",
        },
        Key {
            name: "off",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "`on-off`, `vbr` in bursts: how long it is silent.",
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
            shape: POSITIVE_SIZE,
            need: Absent("`file` needs it"),
            doc: "`file`: how much there is.",
            example: "\"5MB\"",
        },
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"udp\""),
            doc: "`vbr`: what carries it.",
            example: "\"tcp\"",
        },
        Key {
            name: "path",
            shape: Shape::Name,
            need: Absent("`vbr` over UDP needs it, where there are several"),
            doc: "`vbr` over UDP: the path that the datagrams take.",
            example: "\"wifi\"",
        },
        Key {
            name: "mix",
            shape: Shape::Or(&Shape::Choice(&MIXES), &MIX),
            need: Default("\"imix\""),
            doc: "`vbr`: the sizes of packets, headers counted, and how often each comes.",
            example: "[[\"64B\", 1], [\"1500B\", 3]]",
        },
        Key {
            name: "spread",
            shape: Shape::Number { min: 0.0, max: 1.0 },
            need: Default("0.0"),
            doc: "`vbr`: the rate is drawn anew now and then, uniformly from `rate` less to `rate` more this part of it.",
            example: "1.0",
        },
        Key {
            name: "every",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "`vbr`: how long a rate holds.",
            example: "\"5s\"",
        },
        Key {
            name: "bursts",
            shape: Flag,
            need: Default("false"),
            doc: "`vbr`: sends in on and off periods, Pareto with means `on` and `off`, with the same mean rate.",
            example: "true",
        },
        Key {
            name: "on_full",
            shape: Shape::Choice(&ON_FULL),
            need: Default("\"wait\""),
            doc: "`cbr`, `on-off`, `vbr` over TCP: what a full send buffer does to a write.",
            example: "\"drop\"",
        },
        Key {
            name: "manifest",
            shape: Shape::Or(&Shape::File, &Shape::Table(&MANIFEST)),
            need: Absent("`video` needs it"),
            doc: "`video`: what there is to play: a JSON document (docs/player.md), or a video of even segments.",
            example: "{ bitrates = \"16Mbps\", duration = \"66s\" }",
        },
        Key {
            name: "rule",
            shape: Shape::Choice(&RULES),
            need: Default("\"bola\""),
            doc: "`video`: which bitrate the next segment has.",
            example: "\"throughput\"",
        },
        Key {
            name: "buffer",
            shape: POSITIVE_TIME,
            need: Default("\"25s\""),
            doc: "`video`: the most that the buffer holds; a segment is asked for where it still fits.",
            example: "\"60s\"",
        },
        Key {
            name: "startup",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "`video`: what is in the buffer before the first picture, but at least one segment.",
            example: "\"4s\"",
        },
        Key {
            name: "resume",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "`video`: what is in the buffer before a stall ends, but at least one segment.",
            example: "\"4s\"",
        },
        Key {
            name: "request",
            shape: POSITIVE_SIZE,
            need: Default("\"400B\""),
            doc: "`video`: how large a request is, headers and all. An answer has 240 bytes of headers.",
            example: "\"800B\"",
        },
        Key {
            name: "wait",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "`video`: how long after a request its answer begins, such as the round trip of a proxy to the server.",
            example: "\"25ms\"",
        },
    ],
};

pub(super) static TRAFFIC_KINDS: [Choice; 6] = [
    choice("bulk", "as much as there is room for"),
    choice("cbr", "a constant rate"),
    choice("on-off", "a constant rate, with pauses"),
    choice("vbr", "packets of mixed sizes at random, at a rate that varies"),
    choice("file", "so much, then no more"),
    choice(
        "video",
        "a video that the device plays while it comes, asked for segment by segment over HTTP/1.1",
    ),
];

pub(super) static RULES: [Choice; 5] = [
    choice("throughput", "the highest bitrate that 0.9 of the throughput carries"),
    choice("bola-basic", "BOLA, by the buffer alone"),
    choice("bola", "BOLA-U, for videos that end"),
    choice("bola-e", "BOLA-E, which starts at the throughput"),
    choice("buffer", "BBA-0, a map from the buffer's level"),
];

static MANIFEST: Table = Table {
    name: "a manifest",
    doc: "A video whose segments are all as large as their bitrate says.",
    one_of: &[],
    keys: &[
        Key {
            name: "bitrates",
            shape: Shape::Or(&POSITIVE_RATE, &Shape::List { of: &POSITIVE_RATE, min: 1, max: 100 }),
            need: Required,
            doc: "The one it has, or those it is to be had in, from the lowest to the highest.",
            example: "[\"1Mbps\", \"5Mbps\"]",
        },
        Key {
            name: "duration",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "How long it plays.",
            example: "\"66s\"",
        },
        Key {
            name: "segment",
            shape: POSITIVE_TIME,
            need: Default("\"2s\""),
            doc: "How long each segment plays; the duration is a multiple of it.",
            example: "\"4s\"",
        },
    ],
};

static PROTOCOLS: [Choice; 2] = [
    choice("udp", "datagrams on one path, which nobody acknowledges; they have no connection"),
    choice("tcp", "a connection of its own, as `[transport]` has it"),
];

pub(super) static MIXES: [Choice; 2] = [
    choice("imix", "7:4:1 of 40, 576 and 1500 bytes"),
    choice("trimodal", "2:1:1 of 44, 576 and 1500 bytes"),
];

static MIX: Shape = Shape::List {
    of: &Shape::Tuple(&[("size", POSITIVE_SIZE), ("weight", Shape::Integer { min: 0, max: 1_000_000 })]),
    min: 1,
    max: 8,
};

static DIRECTIONS: [Choice; 2] =
    [choice("down", "from the server to the device"), choice("up", "from the device to the server")];

static ON_FULL: [Choice; 2] =
    [choice("drop", "it is lost, as with a live source"), choice("wait", "it is written later")];

pub(crate) fn traffic_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "cbr" => &["rate", "packet", "on_full"],
        "on-off" => &["rate", "packet", "on", "off", "exponential", "on_full"],
        "vbr" => &["rate", "protocol", "path", "mix", "spread", "every", "bursts", "on", "off", "on_full"],
        "file" => &["size"],
        "video" => &["manifest", "rule", "buffer", "startup", "resume", "request", "wait"],
        _ => &[],
    }
}
