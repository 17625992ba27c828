//! One direction of a path.

use super::choice;
use super::queue::QUEUE_LIMIT;
use quantities::{POSITIVE_RATE, POSITIVE_TIME, RATE, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Flag, Integer, List, Name, Number, Or, Probability, Tuple},
    Table,
};

pub(super) static DIRECTION: Table = Table {
    name: "a direction",
    doc: "One direction of a path. What it carries is said in one of four ways: `rate`, `trace`, `model` or `cell`.",
    one_of: &["rate", "trace", "model", "cell"],
    keys: &[
        Key {
            name: "rate",
            shape: Or(&POSITIVE_RATE, &Shape::Table(&RATE_TABLE)),
            need: Absent("see the other three"),
            doc: "A rate that is fixed, or goes in steps.",
            example: "\"20Mbps\"",
        },
        Key {
            name: "trace",
            shape: Or(&Shape::File, &Shape::Table(&TRACE)),
            need: Absent("see the other three"),
            doc: "A measured trace, over and over.",
            example: "\"traces/lte.down\"",
        },
        Key {
            name: "model",
            shape: Or(&Shape::Choice(&MODELS), &Shape::Table(&MODEL)),
            need: Absent("see the other three"),
            doc: "A trace that Tandem generates from a channel model.",
            example: "{ name = \"lte-driving\", snr_db = 6 }",
        },
        Key {
            name: "cell",
            shape: Name,
            need: Absent("see the other three"),
            doc: "A share of this cell.",
            example: "\"home\"",
        },
        Key {
            name: "delay",
            shape: Or(&TIME, &Shape::Table(&DELAY)),
            need: Default("\"0s\""),
            doc: "How long a packet is under way once it has been sent, one way.",
            example: "\"10ms\"",
        },
        Key {
            name: "queue",
            shape: Or(&QUEUE_LIMIT, &Shape::Table(&MANAGED)),
            need: Default("\"100 packets\""),
            doc: "How much may wait to be sent; what does not fit is dropped. Or CoDel, which drops or marks by how long \
                  packets have waited.",
            example: "\"50 packets\"",
        },
        Key {
            name: "loss",
            shape: Or(&Probability, &Shape::Table(&LOSS)),
            need: Default("0.0"),
            doc: "What is lost on the way: each packet with this probability, or in bursts.",
            example: "0.01",
        },
        Key {
            name: "outages",
            shape: List { of: &Tuple(&[("from", TIME), ("to", TIME)]), min: 0, max: 100_000 },
            need: Default("[]"),
            doc: "Spans of time in which whatever is sent is lost.",
            example: "[[\"10s\", \"12s\"]]",
        },
        Key {
            name: "duplicate",
            shape: Probability,
            need: Default("0.0"),
            doc: "Each packet arrives twice with this probability.",
            example: "0.001",
        },
        Key {
            name: "corrupt",
            shape: Probability,
            need: Default("0.0"),
            doc: "Each packet is damaged with this probability; the receiver's checksum drops it, and it is counted apart.",
            example: "0.001",
        },
        Key {
            name: "reorder",
            shape: Or(&Flag, &Shape::Table(&LATE)),
            need: Default("false"),
            doc: "A packet may overtake an earlier one where the delay varies; or some packets are late, and others \
                  overtake them.",
            example: "true",
        },
        Key {
            name: "link_rate",
            shape: POSITIVE_RATE,
            need: Absent("the cell's rate"),
            doc: "With `cell`: what the medium carries while this station sends.",
            example: "\"6Mbps\"",
        },
    ],
};

static RATE_TABLE: Table = Table {
    name: "a rate",
    doc: "A rate that goes in steps.",
    one_of: &[],
    keys: &[Key {
        name: "steps",
        shape: List { of: &Tuple(&[("from", TIME), ("rate", RATE)]), min: 1, max: 100_000 },
        need: Required,
        doc: "Each rate from its time on, in order of time, the first from `0s`.",
        example: "[[\"0s\", \"20Mbps\"], [\"30s\", \"2Mbps\"]]",
    }],
};

static TRACE: Table = Table {
    name: "a trace",
    doc: "A trace whose format is said, not guessed.",
    one_of: &[],
    keys: &[
        Key {
            name: "file",
            shape: Shape::File,
            need: Required,
            doc: "The file.",
            example: "\"traces/lte.down\"",
        },
        Key {
            name: "format",
            shape: Shape::Choice(&TRACE_FORMATS),
            need: Absent("told from the file's content"),
            doc: "How to read it.",
            example: "\"mahimahi\"",
        },
    ],
};

pub(super) static TRACE_FORMATS: [Choice; 4] = [
    choice("mahimahi", "one line for each 1500 bytes that may pass: milliseconds since the start"),
    choice("second-bytes", "lines `second,bytes_per_second`"),
    choice("seconds-mbps", "lines `seconds Mbps`"),
    choice("json", "a list of `duration_ms`, `bandwidth_kbps` and, where known, `latency_ms`"),
];

pub(super) static MODELS: [Choice; 4] = [
    choice("lte-walking", "half of a 10 MHz LTE carrier at 2 GHz, on foot"),
    choice("lte-driving", "the same at 50 km/h"),
    choice("3g-walking", "a fifth of a 5 MHz carrier, on foot"),
    choice("wifi-indoor", "a third of a 20 MHz channel at 2.4 GHz, moving slowly indoors"),
];

static MODEL: Table = Table {
    name: "a channel model",
    doc: "A radio channel with log-normal shadowing (Gudmundson 1991) and Rayleigh fading as a finite-state Markov \
          channel (Wang and Moayeri 1995); its rate is Shannon's bound, attenuated and truncated as 3GPP TR 36.942 does \
          for LTE. It becomes a trace as long as the run. What is not given is that of the named model.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Shape::Choice(&MODELS),
            need: Default("\"lte-walking\""),
            doc: "The model to start from.",
            example: "\"wifi-indoor\"",
        },
        Key {
            name: "bandwidth_mhz",
            shape: Number { min: 0.001, max: 10_000.0 },
            need: Absent("that of the named model"),
            doc: "Bandwidth, in MHz.",
            example: "10",
        },
        Key {
            name: "share",
            shape: Number { min: 0.001, max: 1.0 },
            need: Absent("that of the named model"),
            doc: "The user's share of it.",
            example: "0.5",
        },
        Key {
            name: "carrier_mhz",
            shape: Number { min: 1.0, max: 300_000.0 },
            need: Absent("that of the named model"),
            doc: "The carrier, in MHz.",
            example: "1800",
        },
        Key {
            name: "speed_kmh",
            shape: Number { min: 0.0, max: 1000.0 },
            need: Absent("that of the named model"),
            doc: "Speed of the user, in km/h: 5 on foot, 50 in a city, 300 in a train; at 0 nothing changes.",
            example: "5",
        },
        Key {
            name: "snr_db",
            shape: Number { min: -20.0, max: 60.0 },
            need: Absent("that of the named model"),
            doc: "Median signal-to-noise ratio, in dB: 0 at the edge of a cell, 20 near its middle.",
            example: "10",
        },
        Key {
            name: "shadowing_db",
            shape: Number { min: 0.0, max: 30.0 },
            need: Absent("that of the named model"),
            doc: "Standard deviation of the shadowing, in dB; typically 4 to 10.",
            example: "6",
        },
        Key {
            name: "decorrelation_m",
            shape: Number { min: 0.1, max: 100_000.0 },
            need: Absent("that of the named model"),
            doc: "Over how many metres shadowing stays alike; typically 5 indoors, 50 in a city.",
            example: "20",
        },
        Key {
            name: "step",
            shape: POSITIVE_TIME,
            need: Absent("that of the named model"),
            doc: "How long each rate of the trace holds; at least 1 ms.",
            example: "\"100ms\"",
        },
        Key {
            name: "seed",
            shape: Integer { min: 0, max: i64::MAX },
            need: Absent("follows the scenario's seed"),
            doc: "Draw the same channel whatever the scenario's seed.",
            example: "7",
        },
    ],
};

static MANAGED: Table = Table {
    name: "a managed queue",
    doc: "A queue that CoDel manages (RFC 8289); not with `cell`.",
    one_of: &[],
    keys: &[
        Key {
            name: "codel",
            shape: Shape::Table(&CODEL),
            need: Required,
            doc: "When it drops.",
            example: "{}",
        },
        Key {
            name: "limit",
            shape: QUEUE_LIMIT,
            need: Default("\"1000 packets\""),
            doc: "How much may wait at all; a time is how long the first may have waited.",
            example: "\"100 packets\"",
        },
    ],
};

static CODEL: Table = Table {
    name: "CoDel",
    doc: "Once packets have waited longer than `target` for as long as `interval`, one is dropped, and then others at \
          ever shorter intervals, until they wait less.",
    one_of: &[],
    keys: &[
        Key {
            name: "target",
            shape: POSITIVE_TIME,
            need: Default("\"5ms\""),
            doc: "The wait that is no queue yet; on a slow link at least the time of a packet.",
            example: "\"13ms\"",
        },
        Key {
            name: "interval",
            shape: POSITIVE_TIME,
            need: Default("\"100ms\""),
            doc: "About the longest round trip.",
            example: "\"100ms\"",
        },
        Key {
            name: "ecn",
            shape: Flag,
            need: Default("false"),
            doc: "Marks packets of connections that use ECN (RFC 3168) instead of dropping them.",
            example: "true",
        },
    ],
};

static LATE: Table = Table {
    name: "a late packet",
    doc: "Packets that others overtake.",
    one_of: &[],
    keys: &[
        Key {
            name: "chance",
            shape: Probability,
            need: Required,
            doc: "How likely each packet is to be late.",
            example: "0.01",
        },
        Key {
            name: "by",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "How much later than its turn it arrives.",
            example: "\"20ms\"",
        },
    ],
};

static DELAY: Table = Table {
    name: "a delay",
    doc: "A delay that is drawn for each packet.",
    one_of: &["uniform", "normal"],
    keys: &[
        Key {
            name: "uniform",
            shape: Tuple(&[("min", TIME), ("max", TIME)]),
            need: Absent("see the other"),
            doc: "Uniform between two times.",
            example: "[\"20ms\", \"50ms\"]",
        },
        Key {
            name: "normal",
            shape: Shape::Table(&NORMAL),
            need: Absent("see the other"),
            doc: "Normal; what would be negative is zero.",
            example: "{ mean = \"30ms\", sd = \"5ms\" }",
        },
    ],
};

static NORMAL: Table = Table {
    name: "a normal delay",
    doc: "A normal distribution.",
    one_of: &[],
    keys: &[
        Key { name: "mean", shape: TIME, need: Required, doc: "The mean.", example: "\"30ms\"" },
        Key { name: "sd", shape: TIME, need: Required, doc: "The standard deviation.", example: "\"5ms\"" },
    ],
};

static LOSS: Table = Table {
    name: "a loss",
    doc: "Loss in bursts.",
    one_of: &["gilbert"],
    keys: &[Key {
        name: "gilbert",
        shape: Shape::Table(&GILBERT),
        need: Absent("see the other"),
        doc: "A chain of a good and a bad state that moves once per packet (Gilbert 1960, Elliott 1963).",
        example: "{ p = 0.01, r = 0.3 }",
    }],
};

static GILBERT: Table = Table {
    name: "a Gilbert-Elliott loss",
    doc: "The share of time in the bad state is p / (p + r); a bad spell lasts 1 / r packets in the mean.",
    one_of: &[],
    keys: &[
        Key {
            name: "p",
            shape: Probability,
            need: Required,
            doc: "From good to bad, per packet.",
            example: "0.01",
        },
        Key {
            name: "r",
            shape: Probability,
            need: Required,
            doc: "From bad to good, per packet.",
            example: "0.3",
        },
        Key {
            name: "loss_good",
            shape: Probability,
            need: Default("0.0"),
            doc: "Of losing a packet in the good state.",
            example: "0.0",
        },
        Key {
            name: "loss_bad",
            shape: Probability,
            need: Default("1.0"),
            doc: "Of losing a packet in the bad state.",
            example: "0.8",
        },
    ],
};
