//! Keys of applications and their traffic.

use super::choice;
use quantities::{POSITIVE_RATE, POSITIVE_SIZE, POSITIVE_TIME, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Flag},
    Table,
};

pub(super) static TRAFFIC: Table = Table {
    name: "a traffic source",
    doc: "An application and its traffic. Each has its own connection.",
    one_of: &[],
    keys: &[
        Key {
            name: "kind",
            shape: Shape::Choice(&TRAFFIC_KINDS),
            need: Required,
            doc: "Kind of application.",
            example: "\"bulk\"",
        },
        Key {
            name: "direction",
            shape: Shape::Choice(&DIRECTIONS),
            need: Default("\"down\""),
            doc: "Direction of the data.",
            example: "\"up\"",
        },
        Key { name: "start", shape: TIME, need: Default("\"0s\""), doc: "Start time.", example: "\"5s\"" },
        Key {
            name: "stop",
            shape: TIME,
            need: Absent("the end of the run"),
            doc: "End time.",
            example: "\"50s\"",
        },
        Key {
            name: "rate",
            shape: POSITIVE_RATE,
            need: Absent("`cbr`, `on-off` and `vbr` need it"),
            doc: "`cbr`, `on-off`, `vbr`: offered rate; for `vbr` its mean.",
            example: "\"2Mbps\"",
        },
        Key {
            name: "packet",
            shape: POSITIVE_SIZE,
            need: Default("\"1000B\""),
            doc: "`cbr`, `on-off`: size of each write.",
            example: "\"1040B\"",
        },
        Key {
            name: "on",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "`on-off`, and `vbr` with `bursts`: length of a period of sending.",
            example: "\"2s\"",
        },
        Key {
            name: "off",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "`on-off`, and `vbr` with `bursts`: length of a pause.",
            example: "\"20s\"",
        },
        Key {
            name: "exponential",
            shape: Flag,
            need: Default("false"),
            doc: "`on-off`: draw both lengths from exponential distributions with these means.",
            example: "true",
        },
        Key {
            name: "size",
            shape: POSITIVE_SIZE,
            need: Absent("`file` needs it"),
            doc: "`file`: size of the file.",
            example: "\"5MB\"",
        },
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"udp\""),
            doc: "`vbr`: transport protocol.",
            example: "\"tcp\"",
        },
        Key {
            name: "path",
            shape: Shape::Name,
            need: Absent("the only path; required for `vbr` over UDP with several paths"),
            doc: "`vbr` over UDP: path of the datagrams.",
            example: "\"wifi\"",
        },
        Key {
            name: "mix",
            shape: Shape::Or(&Shape::Choice(&MIXES), &MIX),
            need: Default("\"imix\""),
            doc: "`vbr`: packet sizes, headers included, each with its relative frequency.",
            example: "[[\"64B\", 1], [\"1500B\", 3]]",
        },
        Key {
            name: "spread",
            shape: Shape::Number { min: 0.0, max: 1.0 },
            need: Default("0.0"),
            doc: "`vbr`: relative spread. The rate is redrawn every `every`, uniformly from `rate` \
                  x (1 - spread) to `rate` x (1 + spread).",
            example: "1.0",
        },
        Key {
            name: "every",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "`vbr`: interval between redraws of the rate; at least 1 ms.",
            example: "\"5s\"",
        },
        Key {
            name: "bursts",
            shape: Flag,
            need: Default("false"),
            doc: "`vbr`: send in on and off periods, Pareto-distributed with means `on` and `off`, \
                  at the same mean rate.",
            example: "true",
        },
        Key {
            name: "on_full",
            shape: Shape::Choice(&ON_FULL),
            need: Default("\"wait\""),
            doc: "`cbr`, `on-off`, `vbr` over TCP: treatment of a write when the send buffer is \
                  full.",
            example: "\"drop\"",
        },
        Key {
            name: "manifest",
            shape: Shape::Or(&Shape::File, &Shape::Table(&MANIFEST)),
            need: Absent("`video` needs it"),
            doc: "`video`: the video to play: a JSON file of sizes (docs/reference/sizes.md), or a table for \
                  segments of constant bitrate.",
            example: "{ bitrates = \"16Mbps\", duration = \"66s\" }",
        },
        Key {
            name: "rule",
            shape: Shape::Choice(&RULES),
            need: Default("\"bola\""),
            doc: "`video`: adaptation rule that chooses the bitrate of the next segment.",
            example: "\"throughput\"",
        },
        Key {
            name: "buffer",
            shape: POSITIVE_TIME,
            need: Default("\"25s\""),
            doc: "`video`: capacity of the playback buffer. A segment is requested when it fits.",
            example: "\"60s\"",
        },
        Key {
            name: "startup",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "`video`: buffer level at which playback starts; at least one segment.",
            example: "\"4s\"",
        },
        Key {
            name: "resume",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "`video`: buffer level at which a stall ends; at least one segment.",
            example: "\"4s\"",
        },
        Key {
            name: "request",
            shape: POSITIVE_SIZE,
            need: Default("\"400B\""),
            doc: "`video`: size of a request, headers included. A response has 240 bytes of \
                  headers.",
            example: "\"800B\"",
        },
        Key {
            name: "wait",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "`video`: time from a request to the start of its response, such as the RTT \
                  between a proxy and the server.",
            example: "\"25ms\"",
        },
    ],
};

pub(super) static TRAFFIC_KINDS: [Choice; 6] = [
    choice("bulk", "sends without limit"),
    choice("cbr", "a constant rate"),
    choice("on-off", "a constant rate with pauses"),
    choice("vbr", "packets of random sizes at a varying rate"),
    choice("file", "one file of a given size"),
    choice(
        "video",
        "adaptive video streaming: the device requests segment by segment over HTTP/1.1 and plays \
         them",
    ),
];

/// The registered rules.
static RULES: [Choice; abr::RULES.len()] = {
    let mut rules = [choice("", ""); abr::RULES.len()];
    let mut i = 0;
    while i < abr::RULES.len() {
        rules[i] = choice(abr::RULES[i].name, abr::RULES[i].doc);
        i += 1;
    }
    rules
};

pub(super) static MANIFEST: Table = Table {
    name: "a manifest",
    doc: "A video with segments of constant bitrate.",
    one_of: &[],
    keys: &[
        Key {
            name: "bitrates",
            shape: Shape::Or(&POSITIVE_RATE, &Shape::List { of: &POSITIVE_RATE, min: 1, max: 100 }),
            need: Required,
            doc: "Available bitrates, in ascending order, or the only one.",
            example: "[\"1Mbps\", \"5Mbps\"]",
        },
        Key {
            name: "duration",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "Playing time of the video.",
            example: "\"66s\"",
        },
        Key {
            name: "segment",
            shape: POSITIVE_TIME,
            need: Default("\"2s\""),
            doc: "Playing time of a segment; the duration is a multiple of it.",
            example: "\"4s\"",
        },
    ],
};

static PROTOCOLS: [Choice; 2] = [
    choice("udp", "datagrams on one path, without a connection or acknowledgements"),
    choice("tcp", "a connection with the parameters of `[transport]`"),
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
    [choice("drop", "discard it, as a live source does"), choice("wait", "write it later")];

/// The keys that apply to this kind only.
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
