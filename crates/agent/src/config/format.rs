//! Schema of the agent's configuration file.

use quantities::{POSITIVE_SIZE, POSITIVE_TIME};
use radio::{KINDS, PROFILE_SHAPE};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Integer, Tables, Text},
    Table,
};

pub(super) static AGENT: Table = Table {
    name: "the agent",
    doc: "Configuration of the agent on a device.",
    one_of: &[],
    keys: &[
        Key {
            name: "policy",
            shape: Text,
            need: Required,
            doc: "the policy of the device; parameters follow after colons",
            example: "\"wifi-first\"",
        },
        Key {
            name: "interface",
            shape: Tables(&INTERFACE),
            need: Required,
            doc: "the managed interfaces; all others are left alone",
            example: "[{ match = \"wlan*\", kind = \"wifi\" }]",
        },
        Key {
            name: "connection",
            shape: Tables(&CONNECTION),
            need: Default("[]"),
            doc: "rules for connections by their remote end; all others follow the policy",
            example: "[{ remote = \"203.0.113.0/24:443\", policy = \"wifi-only\" }]",
        },
        Key {
            name: "detector",
            shape: Shape::Table(&DETECTOR),
            need: Default("{}"),
            doc: "the sampling interval of the interface counters",
            example: "{ busy = \"50ms\", rest = \"250ms\" }",
        },
        Key {
            name: "status",
            shape: Shape::Table(&STATUS),
            need: Default("{}"),
            doc: "the status and metrics server",
            example: "{ socket = \"/run/tandem/agent.sock\" }",
        },
        Key {
            name: "players",
            shape: Shape::Table(&PLAYERS),
            need: Absent("no port is opened"),
            doc: "a port at which web pages and other players report their buffers, for `qoe`",
            example: "{ listen = \"127.0.0.1:9465\", token_file = \"player-token\" }",
        },
        Key {
            name: "state",
            shape: Text,
            need: Absent("`$STATE_DIRECTORY` of systemd, else /var/lib/tandem"),
            doc: "the state directory: data usage, and changes to undo after a crash",
            example: "\"/var/lib/tandem\"",
        },
        Key {
            name: "zone",
            shape: Text,
            need: Default("\"+00:00\""),
            doc: "the time zone of allowance periods: a UTC offset, or a name of the tz database",
            example: "\"Europe/Berlin\"",
        },
        Key {
            name: "log",
            shape: schema::LOG_FILTER,
            need: Default("\"info\""),
            doc: "the log level: error, warn, info, debug or trace, optionally per module",
            example: "\"info,tandem_agent::endpoints=debug\"",
        },
    ],
};

static INTERFACE: Table = Table {
    name: "an interface",
    doc: "Managed interfaces of the device.",
    one_of: &[],
    keys: &[
        Key {
            name: "match",
            shape: Text,
            need: Required,
            doc: "the interface name; `*` matches any text and `?` one character",
            example: "\"wlan*\"",
        },
        Key {
            name: "kind",
            shape: Shape::Choice(&KINDS),
            need: Absent("the kind of its `radio`; one of the two is required"),
            doc: "its technology; policies treat lte, 3g, 5g and satellite as costly, all others as cheap",
            example: "\"wifi\"",
        },
        Key {
            name: "radio",
            shape: PROFILE_SHAPE,
            need: Absent("no energy is estimated"),
            doc: "its power profile (`tandem profiles`), to estimate its energy",
            example: "\"huang2012.wifi\"",
        },
        Key {
            name: "allowance",
            shape: Shape::Table(&ALLOWANCE),
            need: Absent("no limit"),
            doc: "its data allowance",
            example: "{ data = \"5GB\", per = \"month\", from = 1, at_cap = \"close\" }",
        },
    ],
};

static CONNECTION: Table = Table {
    name: "a connection",
    doc: "Rule for connections of this device by their remote end. The first match applies.",
    one_of: &[],
    keys: &[
        Key {
            name: "remote",
            shape: Text,
            need: Required,
            doc: "the remote end: an address, a network, a port, or an address or network with a port",
            example: "\"203.0.113.0/24:443\"",
        },
        Key {
            name: "policy",
            shape: Text,
            need: Absent("the policy of the device"),
            doc: "the policy of these connections",
            example: "\"wifi-only\"",
        },
        Key {
            name: "never",
            shape: Text,
            need: Absent("the policy decides"),
            doc: "excluded interfaces; `*` matches any text and `?` one character",
            example: "\"wwan*\"",
        },
    ],
};

static ALLOWANCE: Table = Table {
    name: "an allowance",
    doc: "Data allowance per period, shared by the matching interfaces, both directions together.",
    one_of: &[],
    keys: &[
        Key { name: "data", shape: POSITIVE_SIZE, need: Required, doc: "the limit", example: "\"5GB\"" },
        Key {
            name: "per",
            shape: Shape::Choice(&PERIODS),
            need: Required,
            doc: "the period",
            example: "\"month\"",
        },
        Key {
            name: "from",
            shape: Integer { min: 1, max: 31 },
            need: Default("1"),
            doc: "the first day of a period: day of the month, or of the week (Monday is 1)",
            example: "1",
        },
        Key {
            name: "at_cap",
            shape: Shape::Choice(&AT_CAP),
            need: Default("\"close\""),
            doc: "the action when the allowance is used up",
            example: "\"backup\"",
        },
    ],
};

static PERIODS: [Choice; 3] = [
    Choice { name: "day", doc: "starts at midnight" },
    Choice { name: "week", doc: "starts on a day of the week" },
    Choice { name: "month", doc: "starts on a day of the month, on the last day of a shorter month" },
];

static AT_CAP: [Choice; 3] = [
    Choice { name: "close", doc: "its subflows are closed, and none is opened until the next period" },
    Choice { name: "backup", doc: "it is used only when no other interface is available" },
    Choice { name: "warn", doc: "it is logged only" },
];

static DETECTOR: Table = Table {
    name: "the detector",
    doc: "Sampling interval of the interface counters.",
    one_of: &[],
    keys: &[
        Key {
            name: "busy",
            shape: POSITIVE_TIME,
            need: Default("\"50ms\""),
            doc: "the interval while there is traffic",
            example: "\"20ms\"",
        },
        Key {
            name: "rest",
            shape: POSITIVE_TIME,
            need: Default("\"500ms\""),
            doc: "the longest interval without traffic",
            example: "\"1s\"",
        },
    ],
};

static STATUS: Table = Table {
    name: "the status",
    doc: "Status and metrics server.",
    one_of: &[],
    keys: &[
        Key {
            name: "socket",
            shape: Text,
            need: Absent("agent.sock in `$RUNTIME_DIRECTORY` of systemd, else /run/tandem/agent.sock"),
            doc: "the UNIX socket for `tandem agent status`, metrics and players",
            example: "\"/run/tandem/agent.sock\"",
        },
        Key {
            name: "metrics",
            shape: Text,
            need: Absent("no network port is opened"),
            doc: "a loopback address and port that also serves metrics, for Prometheus",
            example: "\"127.0.0.1:9464\"",
        },
    ],
};

static PLAYERS: Table = Table {
    name: "the port of players",
    doc: "Port at which web pages and other players of this host report their buffers.",
    one_of: &[],
    keys: &[
        Key {
            name: "listen",
            shape: Text,
            need: Required,
            doc: "a loopback address and port",
            example: "\"127.0.0.1:9465\"",
        },
        Key {
            name: "token_file",
            shape: Shape::File,
            need: Required,
            doc: "a file with the token that every report carries: 32 to 256 characters",
            example: "\"player-token\"",
        },
        Key {
            name: "origins",
            shape: Shape::List { of: &Text, min: 0, max: 64 },
            need: Default("[]"),
            doc: "the origins of the web pages that may report; others are refused",
            example: "[\"https://player.example.org\"]",
        },
    ],
};
