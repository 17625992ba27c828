//! Keys of the transport protocol.

use super::choice;
use mptcp::rec::{Observed, RateRule, Removal, RoundTrip};
use mptcp::{CongestionKind, SchedulerKind};
use quantities::{POSITIVE_SIZE, POSITIVE_TIME, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default},
    Shape::{self, Flag, Integer, Name, Number, Or, Probability},
    Table,
};

pub(super) static TRANSPORT: Table = Table {
    name: "the transport",
    doc: "Protocol and parameters of the connections, at both ends.",
    one_of: &[],
    keys: &[
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"mptcp\""),
            doc: "Transport protocol.",
            example: "\"mptcp\"",
        },
        Key {
            name: "rec",
            shape: Shape::Table(&REC),
            need: Absent("every part, with its defaults"),
            doc: "With `mptcp-rec`: its enabled parts and their parameters.",
            example: "{ path_choice = false, sigma = 4 }",
        },
        Key {
            name: "preset",
            shape: Shape::Choice(&PRESETS),
            need: Default("\"rfc\""),
            doc: "Defaults of absent keys: the values of this table, or those of an implementation.",
            example: "\"linux\"",
        },
        Key {
            name: "path",
            shape: Name,
            need: Absent("the only path, if there is one"),
            doc: "With `tcp`: the path to use.",
            example: "\"wifi\"",
        },
        Key {
            name: "scheduler",
            shape: Shape::Choice(&SCHEDULERS),
            need: Default("\"min-rtt\""),
            doc: "Packet scheduler: selects the path of the next data.",
            example: "\"linux\"",
        },
        Key {
            name: "opportunistic",
            shape: Flag,
            need: Default("false"),
            doc: "Opportunistic retransmission: while the receive window blocks the connection, a \
                  path with space in its congestion window resends the data that a slower path \
                  holds back.",
            example: "true",
        },
        Key {
            name: "penalise",
            shape: Flag,
            need: Default("false"),
            doc: "Penalisation: in the same case the slower path's congestion window is halved, at \
                  most once per RTT.",
            example: "true",
        },
        Key {
            name: "checksum",
            shape: Flag,
            need: Default("false"),
            doc: "DSS checksum, which detects changes by middleboxes (RFC 8684, section 3.3.1).",
            example: "true",
        },
        Key {
            name: "max_subflows",
            shape: Integer { min: 1, max: 255 },
            need: Default("255"),
            doc: "Maximum number of subflows at once (Linux: 3, two beside the first).",
            example: "2",
        },
        Key {
            name: "max_addresses",
            shape: Integer { min: 0, max: 255 },
            need: Default("255"),
            doc: "Maximum number of peer addresses from ADD_ADDR that are stored (RFC 8684, \
                  section 3.4.1). Simulated hosts announce none.",
            example: "8",
        },
        Key {
            name: "congestion",
            shape: Shape::Choice(&CONGESTION),
            need: Default("\"lia\""),
            doc: "Congestion control.",
            example: "\"cubic\"",
        },
        Key {
            name: "send_buffer",
            shape: Or(&Shape::Choice(&BUFFERS), &POSITIVE_SIZE),
            need: Default("\"4MiB\""),
            doc: "Send buffer of the connection: written but unacknowledged data.",
            example: "\"eq1\"",
        },
        Key {
            name: "subflow_buffer",
            shape: POSITIVE_SIZE,
            need: Absent("only `send_buffer` counts"),
            doc: "Maximum data that the `share` scheduler may assign to one path before it is \
                  sent.",
            example: "\"128KiB\"",
        },
        Key {
            name: "recv_buffer",
            shape: Or(&Shape::Choice(&BUFFERS), &POSITIVE_SIZE),
            need: Default("\"4MiB\""),
            doc: "Receive buffer of the connection.",
            example: "\"eq1\"",
        },
        Key {
            name: "mss",
            shape: Integer { min: 88, max: 9000 },
            need: Default("1460"),
            doc: "Maximum segment size in bytes, TCP options included.",
            example: "1460",
        },
        Key {
            name: "initial_window",
            shape: Integer { min: 1, max: 1000 },
            need: Default("10"),
            doc: "Initial congestion window in segments (RFC 6928: 10).",
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
            doc: "Delayed-ACK timeout, at most 500 ms; zero acknowledges at once.",
            example: "\"40ms\"",
        },
        Key {
            name: "ack_coalescing",
            shape: TIME,
            need: Default("\"0s\""),
            doc: "Shortest time between acknowledgements of data in order (Linux: arrivals handled \
                  together are acknowledged once, measured: `50us`).",
            example: "\"50us\"",
        },
        Key {
            name: "initial_rto",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "Retransmission timeout before the first RTT sample.",
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
            name: "min_rto_margin",
            shape: POSITIVE_TIME,
            need: Default("\"1ms\""),
            doc: "Least margin of the retransmission timeout above the smoothed RTT (RFC 6298: the \
                  clock granularity; Linux: 200 ms).",
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
            doc: "Number of consecutive timeouts after which a subflow is closed.",
            example: "15",
        },
        Key {
            name: "stale_after",
            shape: Integer { min: 1, max: 1000 },
            need: Default("1"),
            doc: "Number of consecutive timeouts after which a path's data is reinjected on \
                  another (Linux: 4).",
            example: "1",
        },
        Key {
            name: "data_retransmission",
            shape: Flag,
            need: Default("false"),
            doc: "Retransmission timer of the connection: repeats the oldest data over an idle path, \
                  and counts `stale_after` (Linux: on).",
            example: "true",
        },
        Key {
            name: "rack",
            shape: Flag,
            need: Default("false"),
            doc: "RACK-TLP: time-based loss detection and tail loss probes (RFC 8985; Linux: on).",
            example: "true",
        },
        Key {
            name: "dsack",
            shape: Flag,
            need: Default("false"),
            doc: "D-SACK: the receiver reports duplicates (RFC 2883; Linux: on).",
            example: "true",
        },
        Key {
            name: "prr",
            shape: Flag,
            need: Default("false"),
            doc: "Proportional rate reduction in recovery (RFC 9937; Linux: on).",
            example: "true",
        },
        Key {
            name: "frto",
            shape: Flag,
            need: Default("false"),
            doc: "F-RTO: detection of spurious timeouts (RFC 5682; Linux: on).",
            example: "true",
        },
        Key {
            name: "undo",
            shape: Flag,
            need: Default("false"),
            doc: "Undo a window reduction after a spurious retransmission (RFC 3522, RFC 3708; \
                  Linux: on).",
            example: "true",
        },
        Key {
            name: "hystart",
            shape: Or(&Shape::Choice(&HYSTART), &Flag),
            need: Default("\"off\""),
            doc: "Leave slow start before the queue is full (Linux: `original`, with CUBIC). `true` \
                  and `false`, the earlier spelling, stand for `rfc9406` and `off`.",
            example: "\"original\"",
        },
        Key {
            name: "linux_counting",
            shape: Flag,
            need: Default("false"),
            doc: "Count congestion windows in packets as Linux does: about 15 % lower goodput with \
                  small windows and many losses (Linux: on).",
            example: "true",
        },
        Key {
            name: "ecn",
            shape: Shape::Choice(&ECN),
            need: Default("\"off\""),
            doc: "Explicit congestion notification (RFC 3168; Linux: `accept`).",
            example: "\"request\"",
        },
        Key {
            name: "pacing",
            shape: Flag,
            need: Default("false"),
            doc: "Pace segments at a multiple of window / RTT, like Linux with `fq`.",
            example: "true",
        },
        Key {
            name: "autotune",
            shape: Or(&Shape::Choice(&OFF), &POSITIVE_SIZE),
            need: Default("\"off\""),
            doc: "Initial receive buffer, which grows up to `recv_buffer` (Linux: `80KiB` to 3.75 \
                  MiB).",
            example: "\"80KiB\"",
        },
        Key {
            name: "keepalive",
            shape: Shape::Table(&KEEPALIVE),
            need: Absent("no probes"),
            doc: "Keepalive probes of idle connections.",
            example: "{ idle = \"60s\", interval = \"10s\", probes = 5 }",
        },
        Key {
            name: "paws",
            shape: Flag,
            need: Default("false"),
            doc: "PAWS: drop segments with old timestamps (RFC 7323, section 5; Linux: on).",
            example: "true",
        },
        Key {
            name: "challenge_acks",
            shape: Flag,
            need: Default("false"),
            doc: "Challenge ACKs against forged segments (RFC 5961; Linux: on).",
            example: "true",
        },
        Key {
            name: "quickack",
            shape: Flag,
            need: Default("false"),
            doc: "Acknowledge the first 16 segments at once (Linux: on).",
            example: "true",
        },
    ],
};

/// Parts of MPTCP-rec and the parameters that its paper leaves open; see
/// docs/background/mptcp-rec.md.
static REC: Table = Table {
    name: "MPTCP-rec",
    doc: "The parts of MPTCP-rec, which can be enabled independently, and the parameters that its \
          paper leaves open. See docs/background/mptcp-rec.md.",
    one_of: &[],
    keys: &[
        Key {
            name: "nr_sack",
            shape: Flag,
            need: Default("true"),
            doc: "NR-SACK: the receiver reports out-of-order data that it will keep, and the \
                  sender frees it.",
            example: "false",
        },
        Key {
            name: "rates",
            shape: Flag,
            need: Default("true"),
            doc: "The receiver sets the sending rate of each path; the sender has no congestion \
                  windows.",
            example: "false",
        },
        Key {
            name: "path_choice",
            shape: Flag,
            need: Default("true"),
            doc: "Schedule data on the path with the highest rate first, and leave out a path \
                  while the receive buffer is about to block. Replaces `scheduler`.",
            example: "false",
        },
        Key {
            name: "phi",
            shape: Probability,
            need: Default("0.5"),
            doc: "Weight of the previous rate in the moving average of a path's rate.",
            example: "0.5",
        },
        Key {
            name: "sigma",
            shape: Integer { min: 1, max: 16 },
            need: Default("8"),
            doc: "Number of rates over which the signalled rate is smoothed.",
            example: "4",
        },
        Key {
            name: "round_trip",
            shape: Shape::Choice(&ROUND_TRIPS),
            need: Default("\"echo\""),
            doc: "How the receiver measures the RTT of a path.",
            example: "\"rounds\"",
        },
        Key {
            name: "rate",
            shape: Shape::Choice(&RATE_RULES),
            need: Default("\"rounds\""),
            doc: "How the receiver estimates the rate of a path.",
            example: "\"window\"",
        },
        Key {
            name: "tolerance",
            shape: Number { min: 0.0, max: 100.0 },
            need: Default("0.125"),
            doc: "Relative deviation from its rate at which the sender is notified at once.",
            example: "0.25",
        },
        Key {
            name: "observations",
            shape: Integer { min: 2, max: 64 },
            need: Default("8"),
            doc: "Number of samples of the receive buffer, one per RTT of the fastest path, from \
                  which the sender predicts blocking.",
            example: "16",
        },
        Key {
            name: "hold",
            shape: Integer { min: 1, max: 1000 },
            need: Default("8"),
            doc: "Number of samples without predicted blocking after which all paths are used \
                  again.",
            example: "1",
        },
        Key {
            name: "removal",
            shape: Shape::Choice(&REMOVALS),
            need: Default("\"worst\""),
            doc: "Choice of the path that is left out.",
            example: "\"weighed\"",
        },
        Key {
            name: "observed",
            shape: Shape::Choice(&OBSERVED),
            need: Default("\"free\""),
            doc: "Quantity of the receive buffer that the sender samples.",
            example: "\"advertised\"",
        },
    ],
};

/// Lists a registry of `mptcp` as the choices of a key.
macro_rules! choices_of {
    ($kind:ty) => {{
        let mut choices = [const { choice("", "") }; <$kind>::ALL.len()];
        let mut i = 0;
        while i < choices.len() {
            let kind = <$kind>::ALL[i];
            choices[i] = choice(kind.name(), kind.summary());
            i += 1;
        }
        choices
    }};
}

static ROUND_TRIPS: [Choice; RoundTrip::ALL.len()] = choices_of!(RoundTrip);
static RATE_RULES: [Choice; RateRule::ALL.len()] = choices_of!(RateRule);
static REMOVALS: [Choice; Removal::ALL.len()] = choices_of!(Removal);
static OBSERVED: [Choice; Observed::ALL.len()] = choices_of!(Observed);
static SCHEDULERS: [Choice; SchedulerKind::ALL.len()] = choices_of!(SchedulerKind);
static CONGESTION: [Choice; CongestionKind::ALL.len()] = choices_of!(CongestionKind);

static PRESETS: [Choice; 3] = [
    choice("rfc", "the defaults of this table"),
    choice("linux", "the defaults of Linux 6: `cubic`, `linux`, and most of the features below"),
    choice(
        "ns3-mptcp-2012",
        "Multipath TCP for ns-3, as the eMTCP paper used it: `round-robin`, `lia`, `min_rto = \"1s\"`. \
         Its other congestion controls are `reno`, `linked-increases` and `fully-coupled`",
    ),
];

static ECN: [Choice; 3] = [
    choice("off", "no ECN"),
    choice("accept", "if the peer requests it. Both ends have the same setting, so that neither does"),
    choice("request", "request and accept it"),
];

static HYSTART: [Choice; 3] = [
    choice("off", "slow start ends at a loss"),
    choice("original", "HyStart: by trains of acknowledgements and by delay (Ha and Rhee 2011)"),
    choice("rfc9406", "HyStart++: by delay, in two phases (RFC 9406)"),
];

static OFF: [Choice; 1] = [choice("off", "the full buffer from the start")];

static KEEPALIVE: Table = Table {
    name: "keepalive",
    doc: "Probes of an idle connection (RFC 9293, section 3.8.4).",
    one_of: &[],
    keys: &[
        Key {
            name: "idle",
            shape: POSITIVE_TIME,
            need: Default("\"7200s\""),
            doc: "Idle time before the first probe.",
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
            doc: "Number of unanswered probes after which a subflow is closed.",
            example: "5",
        },
    ],
};

static PROTOCOLS: [Choice; 3] = [
    choice("mptcp", "Multipath TCP (RFC 8684) over all paths"),
    choice("mptcp-rec", "the same with receiver-driven rates (Cao et al. 2016)"),
    choice("tcp", "plain TCP over one path"),
];

static BUFFERS: [Choice; 1] =
    [choice("eq1", "2 x sum of the paths' rates x longest RTT (RFC 6182, section 5.3)")];
