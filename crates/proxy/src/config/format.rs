//! The shape of the proxy's file, as data.

use quantities::{POSITIVE_TIME, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default},
    Shape::{self, Integer, List, Tables, Text},
    Table,
};

pub(super) static PROXY: Table = Table {
    name: "the proxy",
    doc: "What a proxy does.",
    one_of: &[],
    keys: &[
        Key {
            name: "listen",
            shape: Tables(&LISTEN),
            need: Absent("127.0.0.1:1080, for HTTP and SOCKS5"),
            doc: "where it listens, and what is spoken there",
            example: "[{ address = \"127.0.0.1:1080\" }]",
        },
        Key {
            name: "clients",
            shape: Shape::Table(&CLIENTS),
            need: Default("{}"),
            doc: "whom it serves",
            example: "{ allow = [\"192.0.2.0/24\"] }",
        },
        Key {
            name: "destinations",
            shape: Shape::Table(&DESTINATIONS),
            need: Default("{}"),
            doc: "where it leads",
            example: "{ allow = [\"10.1.0.0/16\"] }",
        },
        Key {
            name: "servers",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"tcp\""),
            doc: "what is spoken to servers",
            example: "\"mptcp\"",
        },
        Key {
            name: "upstream",
            shape: Shape::Table(&UPSTREAM),
            need: Absent("it connects to servers itself"),
            doc: "the other half, to which everything is carried",
            example: "{ address = \"proxy.example:1080\" }",
        },
        Key {
            name: "limits",
            shape: Shape::Table(&LIMITS),
            need: Default("{}"),
            doc: "how much of everything there may be",
            example: "{ connections = 5000 }",
        },
        Key {
            name: "ahead",
            shape: TIME,
            need: Default("\"10ms\""),
            doc: "how much longer than a round trip a subflow may take to send what it has, before more is written to a connection of several; `0s` writes what there is",
            example: "\"50ms\"",
        },
        Key {
            name: "timeouts",
            shape: Shape::Table(&TIMEOUTS),
            need: Default("{}"),
            doc: "how long everything may take",
            example: "{ idle = \"5min\" }",
        },
        Key {
            name: "workers",
            shape: Integer { min: 1, max: 1024 },
            need: Absent("one for each core"),
            doc: "how many threads work",
            example: "2",
        },
        Key {
            name: "access_log",
            shape: Text,
            need: Absent("none is written"),
            doc: "the file that gets a line of JSON for each connection and request; `-` is the standard output",
            example: "\"/var/log/tandem/proxy.log\"",
        },
        Key {
            name: "status",
            shape: Shape::Table(&STATUS),
            need: Default("{}"),
            doc: "where the proxy says how things stand",
            example: "{ socket = \"/run/tandem/proxy.sock\" }",
        },
        Key {
            name: "agent",
            shape: Text,
            need: Absent("nobody is told"),
            doc: "the UNIX socket of `tandem agent`, which is told how players stand by the CMCD of their requests",
            example: "\"/run/tandem/agent.sock\"",
        },
        Key {
            name: "log",
            shape: Text,
            need: Default("\"info\""),
            doc: "how much is logged: error, warn, info, debug or trace, also by module",
            example: "\"warn\"",
        },
    ],
};

static LISTEN: Table = Table {
    name: "a listener",
    doc: "Where the proxy listens.",
    one_of: &[],
    keys: &[
        Key {
            name: "address",
            shape: Text,
            need: Default("\"127.0.0.1:1080\""),
            doc: "an address of this host, and a port",
            example: "\"192.0.2.1:1080\"",
        },
        Key {
            name: "serve",
            shape: Shape::Choice(&SERVE),
            need: Default("\"auto\""),
            doc: "what is spoken there",
            example: "\"socks5\"",
        },
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"mptcp\""),
            doc: "how clients come",
            example: "\"tcp\"",
        },
        Key {
            name: "send_buffer",
            shape: Integer { min: 16_384, max: 1 << 30 },
            need: Absent("Linux lets it grow, to some five times the largest window of each subflow"),
            doc: "the most bytes that the kernel holds of what is on its way to a client",
            example: "262144",
        },
    ],
};

static SERVE: [Choice; 5] = [
    Choice { name: "auto", doc: "HTTP or SOCKS5, as the client's first byte says" },
    Choice { name: "http", doc: "HTTP: requests in absolute form, and CONNECT" },
    Choice { name: "socks5", doc: "SOCKS5 (RFC 1928, RFC 1929)" },
    Choice { name: "convert", doc: "0-RTT TCP Convert (RFC 8803)" },
    Choice { name: "transparent", doc: "whatever TPROXY hands over (`tandem proxy rules`)" },
];

static PROTOCOLS: [Choice; 2] = [
    Choice { name: "mptcp", doc: "Multipath TCP, or TCP where the other end knows no more" },
    Choice { name: "tcp", doc: "TCP alone" },
];

static CLIENTS: Table = Table {
    name: "the clients",
    doc: "Whom the proxy serves: this host alone where nothing is said.",
    one_of: &[],
    keys: &[
        Key {
            name: "allow",
            shape: List { of: &Text, min: 0, max: 10_000 },
            need: Default("[]"),
            doc: "networks that clients are in",
            example: "[\"192.0.2.0/24\", \"2001:db8::/32\"]",
        },
        Key {
            name: "users",
            shape: Text,
            need: Absent("nobody is asked for a name"),
            doc: "a file with lines of `name:secret`, which nobody else can read",
            example: "\"/etc/tandem/proxy.users\"",
        },
    ],
};

static DESTINATIONS: Table = Table {
    name: "the destinations",
    doc: "Where the proxy leads: to all public addresses where nothing is said, and to no others.",
    one_of: &[],
    keys: &[
        Key {
            name: "allow",
            shape: List { of: &Text, min: 0, max: 10_000 },
            need: Default("[]"),
            doc: "networks that it leads to although they are not public",
            example: "[\"10.1.0.0/16\"]",
        },
        Key {
            name: "deny",
            shape: List { of: &Text, min: 0, max: 10_000 },
            need: Default("[]"),
            doc: "networks that it does not lead to in any case",
            example: "[\"198.51.100.0/24\"]",
        },
        Key {
            name: "ports",
            shape: List { of: &Integer { min: 1, max: 65535 }, min: 0, max: 1000 },
            need: Default("[]"),
            doc: "the only ports that it leads to; all where there is none",
            example: "[80, 443]",
        },
    ],
};

static UPSTREAM: Table = Table {
    name: "the upstream",
    doc: "The proxy behind this one, where this one is a device's half.",
    one_of: &[],
    keys: &[
        Key {
            name: "address",
            shape: Text,
            need: schema::shape::Need::Required,
            doc: "its host and port",
            example: "\"proxy.example:1080\"",
        },
        Key {
            name: "speak",
            shape: Shape::Choice(&SPEAK),
            need: Default("\"connect\""),
            doc: "how it is asked",
            example: "\"convert\"",
        },
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"mptcp\""),
            doc: "how it is reached",
            example: "\"mptcp\"",
        },
        Key {
            name: "credential",
            shape: Text,
            need: Absent("it asks for none"),
            doc: "a file with one line of `name:secret`, which nobody else can read",
            example: "\"/etc/tandem/proxy.credential\"",
        },
    ],
};

static SPEAK: [Choice; 2] = [
    Choice { name: "connect", doc: "by CONNECT of HTTP; it looks names up" },
    Choice { name: "convert", doc: "by 0-RTT TCP Convert (RFC 8803); names are looked up here" },
];

static LIMITS: Table = Table {
    name: "the limits",
    doc: "How much of everything there may be.",
    one_of: &[],
    keys: &[
        Key {
            name: "connections",
            shape: Integer { min: 1, max: 1_000_000 },
            need: Default("10000"),
            doc: "connections of clients at once",
            example: "5000",
        },
        Key {
            name: "per_client",
            shape: Integer { min: 1, max: 1_000_000 },
            need: Default("1000"),
            doc: "the same of one client: an IPv4 address, or the first 64 bits of an IPv6 address",
            example: "100",
        },
        Key {
            name: "head",
            shape: Integer { min: 1024, max: 1_048_576 },
            need: Default("32768"),
            doc: "bytes of a message's head",
            example: "16384",
        },
        Key {
            name: "lookups",
            shape: Integer { min: 1, max: 1000 },
            need: Default("32"),
            doc: "names that are looked up at once",
            example: "64",
        },
    ],
};

static TIMEOUTS: Table = Table {
    name: "the timeouts",
    doc: "How long everything may take.",
    one_of: &[],
    keys: &[
        Key {
            name: "handshake",
            shape: POSITIVE_TIME,
            need: Default("\"10s\""),
            doc: "until a client has said what it wants",
            example: "\"5s\"",
        },
        Key {
            name: "connect",
            shape: POSITIVE_TIME,
            need: Default("\"15s\""),
            doc: "until a server is found and reached",
            example: "\"10s\"",
        },
        Key {
            name: "idle",
            shape: POSITIVE_TIME,
            need: Default("\"10min\""),
            doc: "without a byte moved either way",
            example: "\"5min\"",
        },
        Key {
            name: "keep_alive",
            shape: POSITIVE_TIME,
            need: Default("\"60s\""),
            doc: "between an answer and the next request",
            example: "\"15s\"",
        },
        Key {
            name: "total",
            shape: POSITIVE_TIME,
            need: Absent("as long as it likes"),
            doc: "a tunnel as a whole",
            example: "\"24h\"",
        },
        Key {
            name: "drain",
            shape: POSITIVE_TIME,
            need: Default("\"30s\""),
            doc: "after SIGTERM, until what still goes on is broken off",
            example: "\"5min\"",
        },
    ],
};

static STATUS: Table = Table {
    name: "the status",
    doc: "Where the proxy says how things stand.",
    one_of: &[],
    keys: &[Key {
        name: "socket",
        shape: Text,
        need: Absent("proxy.sock in `$RUNTIME_DIRECTORY` of systemd, else /run/tandem/proxy.sock"),
        doc: "the UNIX socket for `tandem proxy status`, and for metrics (`/metrics`)",
        example: "\"/run/tandem/proxy.sock\"",
    }],
};
