//! What carries the bytes.

use super::choice;
use quantities::{POSITIVE_SIZE, POSITIVE_TIME, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default},
    Shape::{self, Flag, Integer, Name, Number, Or, Probability},
    Table,
};

pub(super) static TRANSPORT: Table = Table {
    name: "the transport",
    doc: "What carries the bytes, at both ends.",
    one_of: &[],
    keys: &[
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"mptcp\""),
            doc: "One path or all of them.",
            example: "\"mptcp\"",
        },
        Key {
            name: "rec",
            shape: Shape::Table(&REC),
            need: Absent("all of it, as reconstructed"),
            doc: "With `mptcp-rec`: which of its parts are at work, and how.",
            example: "{ path_choice = false, sigma = 4 }",
        },
        Key {
            name: "preset",
            shape: Shape::Choice(&PRESETS),
            need: Default("\"rfc\""),
            doc: "What the keys below stand for where they are not given: their defaults, or what Linux does.",
            example: "\"linux\"",
        },
        Key {
            name: "path",
            shape: Name,
            need: Absent("the only path, if there is one"),
            doc: "With `tcp`: the path that it takes.",
            example: "\"wifi\"",
        },
        Key {
            name: "scheduler",
            shape: Shape::Choice(&SCHEDULERS),
            need: Default("\"min-rtt\""),
            doc: "Which path carries the next data.",
            example: "\"linux\"",
        },
        Key {
            name: "opportunistic",
            shape: Flag,
            need: Default("false"),
            doc: "Where a full buffer stops the connection, a path with room sends again what a slower one \
                  holds it up with.",
            example: "true",
        },
        Key {
            name: "penalise",
            shape: Flag,
            need: Default("false"),
            doc: "In the same case the slower path's window is halved, once a round trip.",
            example: "true",
        },
        Key {
            name: "checksum",
            shape: Flag,
            need: Default("false"),
            doc: "Checksums over the data, so that what a middlebox changes is noticed (RFC 8684, section 3.3.1).",
            example: "true",
        },
        Key {
            name: "max_subflows",
            shape: Integer { min: 1, max: 255 },
            need: Default("255"),
            doc: "The most paths in use at once (Linux: 3, two beside the first).",
            example: "2",
        },
        Key {
            name: "max_addresses",
            shape: Integer { min: 0, max: 255 },
            need: Default("255"),
            doc: "The most addresses of the other end that are taken note of (RFC 8684, section 3.4.1). No \
                  simulated host announces any so far.",
            example: "8",
        },
        Key {
            name: "congestion",
            shape: Shape::Choice(&CONGESTION),
            need: Default("\"lia\""),
            doc: "How fast each path sends.",
            example: "\"cubic\"",
        },
        Key {
            name: "send_buffer",
            shape: Or(&Shape::Choice(&BUFFERS), &POSITIVE_SIZE),
            need: Default("\"4MiB\""),
            doc: "How much an application may write ahead of what has been acknowledged.",
            example: "\"eq1\"",
        },
        Key {
            name: "subflow_buffer",
            shape: POSITIVE_SIZE,
            need: Absent("only `send_buffer` counts"),
            doc: "How much one path may hold of the data dealt to it by shares.",
            example: "\"128KiB\"",
        },
        Key {
            name: "recv_buffer",
            shape: Or(&Shape::Choice(&BUFFERS), &POSITIVE_SIZE),
            need: Default("\"4MiB\""),
            doc: "The receive window of the whole connection.",
            example: "\"eq1\"",
        },
        Key {
            name: "mss",
            shape: Integer { min: 88, max: 9000 },
            need: Default("1460"),
            doc: "The largest segment, in bytes, options included.",
            example: "1460",
        },
        Key {
            name: "initial_window",
            shape: Integer { min: 1, max: 1000 },
            need: Default("10"),
            doc: "Initial congestion window, in segments (RFC 6928: 10).",
            example: "10",
        },
        Key {
            name: "sack",
            shape: Flag,
            need: Default("true"),
            doc: "Selective acknowledgements (RFC 2018).",
            example: "true",
        },
        Key {
            name: "timestamps",
            shape: Flag,
            need: Default("true"),
            doc: "Timestamps (RFC 7323).",
            example: "true",
        },
        Key {
            name: "delayed_ack",
            shape: TIME,
            need: Default("\"40ms\""),
            doc: "How long an acknowledgement may wait for company, at most 500 ms; zero for none.",
            example: "\"40ms\"",
        },
        Key {
            name: "initial_rto",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "Retransmission timeout before the first sample.",
            example: "\"1s\"",
        },
        Key {
            name: "min_rto",
            shape: POSITIVE_TIME,
            need: Default("\"200ms\""),
            doc: "Lower bound of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).",
            example: "\"200ms\"",
        },
        Key {
            name: "max_rto",
            shape: POSITIVE_TIME,
            need: Default("\"60s\""),
            doc: "Upper bound of the retransmission timeout.",
            example: "\"60s\"",
        },
        Key {
            name: "max_retries",
            shape: Integer { min: 1, max: 1000 },
            need: Default("15"),
            doc: "A path that times out so often in a row is given up.",
            example: "15",
        },
        Key {
            name: "stale_after",
            shape: Integer { min: 1, max: 1000 },
            need: Default("1"),
            doc: "After so many timeouts in a row a path's data goes over another (Linux: 4).",
            example: "1",
        },
        Key {
            name: "rack",
            shape: Flag,
            need: Default("false"),
            doc: "Losses are judged by time, and lost tails probed for: RACK-TLP (RFC 8985; Linux: on).",
            example: "true",
        },
        Key {
            name: "dsack",
            shape: Flag,
            need: Default("false"),
            doc: "The sender is told what came twice (RFC 2883; Linux: on).",
            example: "true",
        },
        Key {
            name: "prr",
            shape: Flag,
            need: Default("false"),
            doc: "The window shrinks bit by bit in recovery: PRR (RFC 9937; Linux: on).",
            example: "true",
        },
        Key {
            name: "frto",
            shape: Flag,
            need: Default("false"),
            doc: "A timeout that was spurious is found out: F-RTO (RFC 5682; Linux: on).",
            example: "true",
        },
        Key {
            name: "undo",
            shape: Flag,
            need: Default("false"),
            doc: "A reduction is taken back where nothing was lost (RFC 3522, RFC 3708; Linux: on).",
            example: "true",
        },
        Key {
            name: "hystart",
            shape: Flag,
            need: Default("false"),
            doc: "Slow start ends when round trips grow: HyStart++ (RFC 9406; Linux: an older kind).",
            example: "true",
        },
        Key {
            name: "linux_counting",
            shape: Flag,
            need: Default("false"),
            doc: "Windows count as in Linux: some 15 % less where they are small and losses many (Linux: on).",
            example: "true",
        },
        Key {
            name: "ecn",
            shape: Shape::Choice(&ECN),
            need: Default("\"off\""),
            doc: "Congestion marks instead of drops (RFC 3168; Linux: `accept`).",
            example: "\"request\"",
        },
        Key {
            name: "pacing",
            shape: Flag,
            need: Default("false"),
            doc: "Segments are spaced at a multiple of the window over the round trip, as Linux with `fq`.",
            example: "true",
        },
        Key {
            name: "autotune",
            shape: Or(&Shape::Choice(&OFF), &POSITIVE_SIZE),
            need: Default("\"off\""),
            doc: "The receive buffer begins so small and grows up to `recv_buffer` (Linux: `128KiB` to 6 MiB).",
            example: "\"128KiB\"",
        },
        Key {
            name: "keepalive",
            shape: Shape::Table(&KEEPALIVE),
            need: Absent("no probes"),
            doc: "Probes of a connection on which nothing happens.",
            example: "{ idle = \"60s\", interval = \"10s\", probes = 5 }",
        },
        Key {
            name: "paws",
            shape: Flag,
            need: Default("false"),
            doc: "Segments with old timestamps are dropped (RFC 7323, section 5; Linux: on).",
            example: "true",
        },
        Key {
            name: "challenge_acks",
            shape: Flag,
            need: Default("false"),
            doc: "What may be forged is challenged (RFC 5961; Linux: on).",
            example: "true",
        },
        Key {
            name: "quickack",
            shape: Flag,
            need: Default("false"),
            doc: "The first 16 segments are acknowledged at once (Linux: on).",
            example: "true",
        },
    ],
};

/// What of MPTCP-rec was open in the paper, and its parts; docs/mptcp-rec.md has the reasons.
static REC: Table = Table {
    name: "MPTCP-rec",
    doc: "The parts of MPTCP-rec, each of which works for itself, and what its paper leaves open. See \
          docs/mptcp-rec.md.",
    one_of: &[],
    keys: &[
        Key {
            name: "nr_sack",
            shape: Flag,
            need: Default("true"),
            doc: "The receiver says what it holds out of order for good, and the sender frees that.",
            example: "false",
        },
        Key {
            name: "rates",
            shape: Flag,
            need: Default("true"),
            doc: "The sender sends at the rates that the receiver wants, not by windows of its own.",
            example: "false",
        },
        Key {
            name: "path_choice",
            shape: Flag,
            need: Default("true"),
            doc: "Data goes to the path with the highest rate first, and while the receive buffer threatens to \
                  block a path is left out. Takes the place of `scheduler`.",
            example: "false",
        },
        Key {
            name: "phi",
            shape: Probability,
            need: Default("0.5"),
            doc: "Weight of a path's rate before in its rate after a round.",
            example: "0.5",
        },
        Key {
            name: "sigma",
            shape: Integer { min: 1, max: 16 },
            need: Default("8"),
            doc: "Of so many rates the one that is told is smoothed.",
            example: "4",
        },
        Key {
            name: "round_trip",
            shape: Shape::Choice(&ROUND_TRIPS),
            need: Default("\"echo\""),
            doc: "By what the receiver knows a path's round trip.",
            example: "\"rounds\"",
        },
        Key {
            name: "rate",
            shape: Shape::Choice(&RATE_RULES),
            need: Default("\"rounds\""),
            doc: "By what the receiver knows how fast a path can go.",
            example: "\"window\"",
        },
        Key {
            name: "tolerance",
            shape: Number { min: 0.0, max: 100.0 },
            need: Default("0.125"),
            doc: "The sender is told at once where it is off its rate by more than this part of it.",
            example: "0.25",
        },
        Key {
            name: "observations",
            shape: Integer { min: 2, max: 64 },
            need: Default("8"),
            doc: "Of so many looks at the receive buffer, one each round trip of the fastest path, the sender makes \
                  out whether it will block.",
            example: "16",
        },
        Key {
            name: "hold",
            shape: Integer { min: 1, max: 1000 },
            need: Default("8"),
            doc: "After so many looks without such a sign all paths are used again.",
            example: "1",
        },
        Key {
            name: "removal",
            shape: Shape::Choice(&REMOVALS),
            need: Default("\"worst\""),
            doc: "Which path is left out.",
            example: "\"weighed\"",
        },
    ],
};

pub(super) static ROUND_TRIPS: [Choice; 2] = [
    choice("echo", "the timestamps that data echoes, or where there are none as `rounds`"),
    choice("rounds", "the lengths of its own rounds"),
];

pub(super) static RATE_RULES: [Choice; 2] = [
    choice("rounds", "what came in a round over the round trip"),
    choice("window", "the receiver's window over the round trip, as in TEAR"),
];

pub(super) static REMOVALS: [Choice; 2] = [
    choice("worst", "the one with the lowest rate, as in the paper"),
    choice("weighed", "the slowest, and only where the others would fill the buffer meanwhile: Tandem's own"),
];

static PRESETS: [Choice; 2] = [
    choice("rfc", "the defaults of this table"),
    choice("linux", "what Linux 6 has by default: `cubic`, `linux`, and most of the switches below"),
];

static ECN: [Choice; 3] = [
    choice("off", "no marks"),
    choice("accept", "where the other end asks; both ends are set alike, so that nobody does"),
    choice("request", "asked for and agreed to"),
];

static OFF: [Choice; 1] = [choice("off", "all of it from the start")];

static KEEPALIVE: Table = Table {
    name: "keepalive",
    doc: "When an idle connection is probed (RFC 9293, section 3.8.4), and when it is given up.",
    one_of: &[],
    keys: &[
        Key {
            name: "idle",
            shape: POSITIVE_TIME,
            need: Default("\"7200s\""),
            doc: "Quiet time before the first probe.",
            example: "\"60s\"",
        },
        Key {
            name: "interval",
            shape: POSITIVE_TIME,
            need: Default("\"75s\""),
            doc: "Time between probes.",
            example: "\"10s\"",
        },
        Key {
            name: "probes",
            shape: Integer { min: 1, max: 1000 },
            need: Default("9"),
            doc: "A path that leaves so many unanswered is given up.",
            example: "5",
        },
    ],
};

static PROTOCOLS: [Choice; 3] = [
    choice("mptcp", "Multipath TCP (RFC 8684) over all paths"),
    choice("mptcp-rec", "the same, and the receiver says how fast each path sends (Cao et al. 2016)"),
    choice("tcp", "plain TCP over one path"),
];

pub(super) static SCHEDULERS: [Choice; 7] = [
    choice("min-rtt", "the lowest round-trip time that has room"),
    choice("round-robin", "each path that has room, in turn"),
    choice("linux", "the path that would first be done with what it has"),
    choice("share", "an exact share to each path, as a policy sets it"),
    choice("blest", "as `min-rtt`, but no slow path that would block the send window"),
    choice("ecf", "as `min-rtt`, but no slow path that would make all take longer"),
    choice("redundant", "all data over every path"),
];

pub(super) static CONGESTION: [Choice; 8] = [
    choice("reno", "NewReno on each path (RFC 5681)"),
    choice("cubic", "CUBIC on each path (RFC 9438)"),
    choice("lia", "linked increases: no more than TCP on the best path (RFC 6356)"),
    choice("olia", "opportunistic linked increases (Khalili et al. 2013)"),
    choice("balia", "balanced linked adaptation (Peng et al. 2016)"),
    choice("wvegas", "weighted Vegas: coupled, by queueing delay (Cao et al. 2012)"),
    choice("ecmtcp", "linked increases weighted by what a byte costs in energy (after Le et al. 2012)"),
    choice("bbr", "BBR, version 1, on each path: by bandwidth and round trip, paced"),
];

static BUFFERS: [Choice; 1] =
    [choice("eq1", "twice the sum of the paths' rates times the longest round trip (RFC 6182, section 5.3)")];
