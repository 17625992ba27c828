//! Schema of the agent's configuration file.

use quantities::{POSITIVE_SIZE, POSITIVE_TIME};
use radio::PROFILE_SHAPE;
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default, Required},
    Shape::{self, Integer, Tables, Text},
    Table,
};

pub(super) static AGENT: Table = Table {
    name: "the agent",
    doc: "What an agent does on a device.",
    one_of: &[],
    keys: &[
        Key {
            name: "policy",
            shape: Text,
            need: Required,
            doc: "what the device does with its paths, with its parameters behind colons",
            example: "\"wifi-first\"",
        },
        Key {
            name: "interface",
            shape: Tables(&INTERFACE),
            need: Required,
            doc: "the interfaces that the agent manages; all others are left alone",
            example: "[{ match = \"wlan*\", radio = \"huang2012.wifi\" }]",
        },
        Key {
            name: "connection",
            shape: Tables(&CONNECTION),
            need: Default("[]"),
            doc: "rules for connections by where they lead to; all others follow the policy",
            example: "[{ remote = \"203.0.113.0/24:443\", policy = \"wifi-only\" }]",
        },
        Key {
            name: "detector",
            shape: Shape::Table(&DETECTOR),
            need: Default("{}"),
            doc: "how often the kernel's counters are read",
            example: "{ busy = \"50ms\", rest = \"250ms\" }",
        },
        Key {
            name: "status",
            shape: Shape::Table(&STATUS),
            need: Default("{}"),
            doc: "where the agent says how things stand",
            example: "{ socket = \"/run/tandem/agent.sock\" }",
        },
        Key {
            name: "state",
            shape: Text,
            need: Absent("`$STATE_DIRECTORY` of systemd, else /var/lib/tandem"),
            doc: "the directory in which it keeps what has to outlive it",
            example: "\"/var/lib/tandem\"",
        },
        Key {
            name: "zone",
            shape: Text,
            need: Default("\"+00:00\""),
            doc: "how far local time is from UTC: when a day of an allowance begins",
            example: "\"+01:00\"",
        },
        Key {
            name: "log",
            shape: Text,
            need: Default("\"info\""),
            doc: "how much is logged: error, warn, info, debug or trace, also by module",
            example: "\"info,tandem_agent::endpoints=debug\"",
        },
    ],
};

static INTERFACE: Table = Table {
    name: "an interface",
    doc: "Interfaces of the device.",
    one_of: &[],
    keys: &[
        Key {
            name: "match",
            shape: Text,
            need: Required,
            doc: "the interface's name; `*` stands for any letters and `?` for any one",
            example: "\"wlan*\"",
        },
        Key {
            name: "radio",
            shape: PROFILE_SHAPE,
            need: Required,
            doc: "its power profile, from which also follows what kind it is (`tandem profiles`)",
            example: "\"huang2012.wifi\"",
        },
        Key {
            name: "allowance",
            shape: Shape::Table(&ALLOWANCE),
            need: Absent("no limit"),
            doc: "how much it may carry",
            example: "{ data = \"5GB\", per = \"month\", from = 1, at_cap = \"close\" }",
        },
    ],
};

static CONNECTION: Table = Table {
    name: "a connection",
    doc: "Connections of this device, by where they lead to. The first rule that fits counts.",
    one_of: &[],
    keys: &[
        Key {
            name: "remote",
            shape: Text,
            need: Required,
            doc: "the other end: an address, a network, a port, or one of these with a port",
            example: "\"203.0.113.0/24:443\"",
        },
        Key {
            name: "policy",
            shape: Text,
            need: Absent("the policy of the device"),
            doc: "what these connections do with the device's paths",
            example: "\"wifi-only\"",
        },
        Key {
            name: "never",
            shape: Text,
            need: Absent("the policy alone decides"),
            doc: "interfaces that they never use; `*` stands for any letters and `?` for any one",
            example: "\"wwan*\"",
        },
    ],
};

static ALLOWANCE: Table = Table {
    name: "an allowance",
    doc: "How much the interfaces that match may carry together, both ways, in a period.",
    one_of: &[],
    keys: &[
        Key { name: "data", shape: POSITIVE_SIZE, need: Required, doc: "how much", example: "\"5GB\"" },
        Key {
            name: "per",
            shape: Shape::Choice(&PERIODS),
            need: Required,
            doc: "in which time",
            example: "\"month\"",
        },
        Key {
            name: "from",
            shape: Integer { min: 1, max: 31 },
            need: Default("1"),
            doc: "the day on which a period begins: of the month, or of the week from Monday, 1",
            example: "1",
        },
        Key {
            name: "at_cap",
            shape: Shape::Choice(&AT_CAP),
            need: Default("\"close\""),
            doc: "what happens when it is used up",
            example: "\"backup\"",
        },
    ],
};

static PERIODS: [Choice; 3] = [
    Choice { name: "day", doc: "from midnight" },
    Choice { name: "week", doc: "from a day of the week" },
    Choice { name: "month", doc: "from a day of the month, or its last where it is shorter" },
];

static AT_CAP: [Choice; 3] = [
    Choice { name: "close", doc: "subflows over it end, and none is opened until the next period" },
    Choice { name: "backup", doc: "it carries only where nothing else does" },
    Choice { name: "warn", doc: "it is logged, and nothing else" },
];

static DETECTOR: Table = Table {
    name: "the detector",
    doc: "How often the kernel's counters are read.",
    one_of: &[],
    keys: &[
        Key {
            name: "busy",
            shape: POSITIVE_TIME,
            need: Default("\"50ms\""),
            doc: "while something is carried",
            example: "\"20ms\"",
        },
        Key {
            name: "rest",
            shape: POSITIVE_TIME,
            need: Default("\"500ms\""),
            doc: "while nothing is",
            example: "\"1s\"",
        },
    ],
};

static STATUS: Table = Table {
    name: "the status",
    doc: "Where the agent says how things stand.",
    one_of: &[],
    keys: &[
        Key {
            name: "socket",
            shape: Text,
            need: Absent("agent.sock in `$RUNTIME_DIRECTORY` of systemd, else /run/tandem/agent.sock"),
            doc: "the UNIX socket for `tandem agent status`, and for metrics",
            example: "\"/run/tandem/agent.sock\"",
        },
        Key {
            name: "metrics",
            shape: Text,
            need: Absent("no network port is opened"),
            doc: "a loopback address and port at which Prometheus may ask for metrics too",
            example: "\"127.0.0.1:9464\"",
        },
    ],
};
