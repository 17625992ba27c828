//! Keys of one direction of a path.

use super::choice;
use super::queue::QUEUE_LIMIT;
use link::{LOSS_MODELS, SCALE_RANGE, TraceFormat};
use quantities::{POSITIVE_RATE, POSITIVE_TIME, RATE, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Flag, Integer, List, Name, Number, Or, Probability, Tuple},
    Table,
};

pub(super) static DIRECTION: Table = Table {
    name: "a direction",
    doc: "One direction of a path. Its capacity is given by exactly one of `rate`, `trace`, \
          `model` and `cell`.",
    one_of: &["rate", "trace", "model", "cell"],
    keys: &[
        Key {
            name: "rate",
            shape: Or(&POSITIVE_RATE, &Shape::Table(&RATE_TABLE)),
            need: Absent("`trace`, `model` or `cell`"),
            doc: "Link rate, constant or in steps.",
            example: "\"20Mbps\"",
        },
        Key {
            name: "trace",
            shape: Or(&Shape::File, &Shape::Table(&TRACE)),
            need: Absent("`rate`, `model` or `cell`"),
            doc: "File with a measured trace of the link rate, repeated until the end of the run.",
            example: "\"traces/lte.down\"",
        },
        Key {
            name: "model",
            shape: Or(&Shape::Choice(&MODELS), &Shape::Table(&MODEL)),
            need: Absent("`rate`, `trace` or `cell`"),
            doc: "Channel model from which a trace of the link rate is generated.",
            example: "{ name = \"lte-driving\", snr_db = 6 }",
        },
        Key {
            name: "cell",
            shape: Name,
            need: Absent("`rate`, `trace` or `model`"),
            doc: "Name of the cell that shares its capacity with this direction.",
            example: "\"home\"",
        },
        Key {
            name: "delay",
            shape: Or(&TIME, &Shape::Table(&DELAY)),
            need: Default("\"0s\""),
            doc: "One-way propagation delay, after transmission.",
            example: "\"10ms\"",
        },
        Key {
            name: "queue",
            shape: Or(&QUEUE_LIMIT, &Shape::Table(&MANAGED)),
            need: Default("\"100 packets\""),
            doc: "Queue limit; packets beyond it are dropped. Or CoDel, which drops or marks \
                  packets by their queueing delay.",
            example: "\"50 packets\"",
        },
        Key {
            name: "loss",
            shape: Or(&Probability, &Shape::Table(&LOSS)),
            need: Default("0.0"),
            doc: "Packet loss: independent with this probability, or in bursts.",
            example: "0.01",
        },
        Key {
            name: "outages",
            shape: List { of: &Tuple(&[("from", TIME), ("to", TIME)]), min: 0, max: 100_000 },
            need: Default("[]"),
            doc: "Periods in which every packet is lost.",
            example: "[[\"10s\", \"12s\"]]",
        },
        Key {
            name: "duplicate",
            shape: Probability,
            need: Default("0.0"),
            doc: "Probability that a packet is duplicated; both copies have the same delay.",
            example: "0.001",
        },
        Key {
            name: "corrupt",
            shape: Probability,
            need: Default("0.0"),
            doc: "Probability that a packet is damaged. The receiver drops it by its checksum; it \
                  is counted apart from losses.",
            example: "0.001",
        },
        Key {
            name: "reorder",
            shape: Or(&Flag, &Shape::Table(&LATE)),
            need: Default("false"),
            doc: "Whether packets may overtake others when the delay varies; or a table that \
                  delays some packets.",
            example: "true",
        },
        Key {
            name: "link_rate",
            shape: POSITIVE_RATE,
            need: Absent("the cell's rate"),
            doc: "With `cell`: rate of the medium while this station sends, at most `rate` of the cell. \
                  With `fading` it is that of the mean channel, and a better channel gives at most `rate` \
                  of the cell.",
            example: "\"6Mbps\"",
        },
    ],
};

static RATE_TABLE: Table = Table {
    name: "a stepped rate",
    doc: "A link rate in steps.",
    one_of: &[],
    keys: &[Key {
        name: "steps",
        shape: List { of: &Tuple(&[("from", TIME), ("rate", RATE)]), min: 1, max: 100_000 },
        need: Required,
        doc: "Start time and rate of each step, in order of time, the first at `0s`.",
        example: "[[\"0s\", \"20Mbps\"], [\"30s\", \"2Mbps\"]]",
    }],
};

static TRACE: Table = Table {
    name: "a trace",
    doc: "A trace with its format, its start and its scale.",
    one_of: &[],
    keys: &[
        Key {
            name: "file",
            shape: Shape::File,
            need: Required,
            doc: "Path of the file.",
            example: "\"traces/lte.down\"",
        },
        Key {
            name: "format",
            shape: Shape::Choice(&TRACE_FORMATS),
            need: Absent("detected from the content"),
            doc: "Format of the file. [Trace formats](traces.md) has the details.",
            example: "\"mahimahi\"",
        },
        Key {
            name: "column",
            shape: Or(&Shape::Text, &Integer { min: 1, max: 10_000 }),
            need: Absent("the only column with a unit of a rate, or that of the direction"),
            doc: "Column of the rate: its name in the header, or its number from 1.",
            example: "\"DL_bitrate\"",
        },
        Key {
            name: "start",
            shape: Or(&TIME, &Shape::Choice(&TRACE_STARTS)),
            need: Default("\"0s\""),
            doc: "Time within the trace at which the run begins; the trace loops. `\"random\"` draws it \
                  from the seed and the name of the path, so that seeds differ over one trace. Traces of \
                  equal length in both directions of a path begin together.",
            example: "\"10s\"",
        },
        Key {
            name: "scale",
            shape: Number { min: SCALE_RANGE.0, max: SCALE_RANGE.1 },
            need: Default("1"),
            doc: "Factor on the rate.",
            example: "0.5",
        },
    ],
};

static TRACE_STARTS: [Choice; 1] = [choice("random", "drawn from the seed")];

static TRACE_FORMATS: [Choice; TraceFormat::REGISTRY.len()] = {
    let mut choices = [const { choice("", "") }; TraceFormat::REGISTRY.len()];
    let mut i = 0;
    while i < choices.len() {
        let format = &TraceFormat::REGISTRY[i];
        choices[i] = choice(format.name, format.summary);
        i += 1;
    }
    choices
};

pub(super) static MODELS: [Choice; 4] = [
    choice("lte-walking", "half of a 10 MHz LTE carrier at 2 GHz, walking"),
    choice("lte-driving", "the same at 50 km/h"),
    choice("3g-walking", "a fifth of a 5 MHz carrier, walking"),
    choice("wifi-indoor", "a third of a 20 MHz channel at 2.4 GHz, moving slowly indoors"),
];

static MODEL: Table = Table {
    name: "a channel model",
    doc: "A radio channel with log-normal shadowing (Gudmundson 1991) and Rayleigh fading as a \
          finite-state Markov channel (Wang and Moayeri 1995). Its rate is Shannon's bound, \
          attenuated and truncated as 3GPP TR 36.942 does for LTE. The generated trace is as long \
          as the run; under `tandem emulate` without `--duration` it has the scenario's duration, and \
          repeats. Absent keys take the values of the named model.",
    one_of: &[],
    keys: &[
        Key {
            name: "name",
            shape: Shape::Choice(&MODELS),
            need: Default("\"lte-walking\""),
            doc: "Model that provides the absent keys.",
            example: "\"wifi-indoor\"",
        },
        Key {
            name: "bandwidth_mhz",
            shape: Number { min: 0.001, max: 10_000.0 },
            need: Absent("that of the named model"),
            doc: "Bandwidth in MHz.",
            example: "10",
        },
        Key {
            name: "share",
            shape: Number { min: 0.001, max: 1.0 },
            need: Absent("that of the named model"),
            doc: "Share of the bandwidth that the user gets.",
            example: "0.5",
        },
        Key {
            name: "carrier_mhz",
            shape: Number { min: 1.0, max: 300_000.0 },
            need: Absent("that of the named model"),
            doc: "Carrier frequency in MHz.",
            example: "1800",
        },
        Key {
            name: "speed_kmh",
            shape: Number { min: 0.0, max: 1000.0 },
            need: Absent("that of the named model"),
            doc: "Speed of the user in km/h: 5 walking, 50 in a city, 300 in a train. At 0 the \
                  channel is constant.",
            example: "5",
        },
        Key {
            name: "snr_db",
            shape: Number { min: -20.0, max: 60.0 },
            need: Absent("that of the named model"),
            doc: "Median signal-to-noise ratio in dB: 0 at the edge of a cell, 20 near its centre.",
            example: "10",
        },
        Key {
            name: "shadowing_db",
            shape: Number { min: 0.0, max: 30.0 },
            need: Absent("that of the named model"),
            doc: "Standard deviation of the shadowing in dB; typically 4 to 10.",
            example: "6",
        },
        Key {
            name: "decorrelation_m",
            shape: Number { min: 0.1, max: 100_000.0 },
            need: Absent("that of the named model"),
            doc: "Decorrelation distance of the shadowing in metres; typically 5 indoors, 50 in a \
                  city.",
            example: "20",
        },
        Key {
            name: "step",
            shape: POSITIVE_TIME,
            need: Absent("that of the named model"),
            doc: "Interval between rates of the trace; at least 1 ms.",
            example: "\"100ms\"",
        },
        Key {
            name: "seed",
            shape: Integer { min: 0, max: i64::MAX },
            need: Absent("follows the scenario's seed"),
            doc: "Seed of the channel, independent of the scenario's seed: the same channel in every run, \
                  and for every device with this path.",
            example: "7",
        },
    ],
};

static MANAGED: Table = Table {
    name: "a managed queue",
    doc: "A queue managed by CoDel (RFC 8289). Not with `cell`.",
    one_of: &[],
    keys: &[
        Key {
            name: "codel",
            shape: Shape::Table(&CODEL),
            need: Required,
            doc: "Parameters of CoDel.",
            example: "{}",
        },
        Key {
            name: "limit",
            shape: QUEUE_LIMIT,
            need: Default("\"1000 packets\""),
            doc: "Hard limit of the queue. A time limits how long the first packet may have \
                  waited.",
            example: "\"100 packets\"",
        },
    ],
};

static CODEL: Table = Table {
    name: "CoDel",
    doc: "CoDel drops a packet once the queueing delay has exceeded `target` for `interval`, then \
          further packets at decreasing intervals until the delay falls below `target`.",
    one_of: &[],
    keys: &[
        Key {
            name: "target",
            shape: POSITIVE_TIME,
            need: Default("\"5ms\""),
            doc: "Acceptable queueing delay; on a slow link at least the transmission time of one \
                  packet.",
            example: "\"13ms\"",
        },
        Key {
            name: "interval",
            shape: POSITIVE_TIME,
            need: Default("\"100ms\""),
            doc: "Roughly the longest round-trip time.",
            example: "\"100ms\"",
        },
        Key {
            name: "ecn",
            shape: Flag,
            need: Default("false"),
            doc: "Mark packets of ECN-capable connections (RFC 3168) instead of dropping them.",
            example: "true",
        },
    ],
};

static LATE: Table = Table {
    name: "a reordering",
    doc: "Reordering by extra delay of some packets.",
    one_of: &[],
    keys: &[
        Key {
            name: "chance",
            shape: Probability,
            need: Required,
            doc: "Probability that a packet is delayed.",
            example: "0.01",
        },
        Key {
            name: "by",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "Extra delay of such a packet.",
            example: "\"20ms\"",
        },
    ],
};

static DELAY: Table = Table {
    name: "a random delay",
    doc: "A delay drawn for each packet. Without `reorder`, a packet also waits for those before it: \
          the mean of what is measured is then higher.",
    one_of: &["uniform", "normal"],
    keys: &[
        Key {
            name: "uniform",
            shape: Tuple(&[("min", TIME), ("max", TIME)]),
            need: Absent("`normal`"),
            doc: "Bounds of a uniform distribution.",
            example: "[\"20ms\", \"50ms\"]",
        },
        Key {
            name: "normal",
            shape: Shape::Table(&NORMAL),
            need: Absent("`uniform`"),
            doc: "Normal distribution; negative values become zero.",
            example: "{ mean = \"30ms\", sd = \"5ms\" }",
        },
    ],
};

static NORMAL: Table = Table {
    name: "a normal delay",
    doc: "A normal distribution.",
    one_of: &[],
    keys: &[
        Key { name: "mean", shape: TIME, need: Required, doc: "Mean.", example: "\"30ms\"" },
        Key { name: "sd", shape: TIME, need: Required, doc: "Standard deviation.", example: "\"5ms\"" },
    ],
};

static LOSS: Table =
    Table { name: "a burst loss", doc: "Loss in bursts.", one_of: &LOSS_NAMES, keys: &LOSS_KEYS };

/// One key for each loss model of the registry.
static LOSS_KEYS: [Key; LOSS_MODELS.len()] = {
    let mut keys = [LOSS_MODELS[0].key; LOSS_MODELS.len()];
    let mut i = 0;
    while i < keys.len() {
        keys[i] = LOSS_MODELS[i].key;
        i += 1;
    }
    keys
};

static LOSS_NAMES: [&str; LOSS_MODELS.len()] = {
    let mut names = [""; LOSS_MODELS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = LOSS_MODELS[i].key.name;
        i += 1;
    }
    names
};
