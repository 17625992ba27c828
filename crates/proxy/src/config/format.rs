//! Schema of the configuration file.

use quantities::{POSITIVE_TIME, TIME};
use schema::shape::{
    Choice, Key,
    Need::{Absent, Default},
    Shape::{self, Integer, List, Tables, Text},
    Table,
};

pub(super) static PROXY: Table = Table {
    name: "the proxy",
    doc: "Configuration of the proxy.",
    one_of: &[],
    keys: &[
        Key {
            name: "listen",
            shape: Tables(&LISTEN),
            need: Absent("127.0.0.1:1080, for HTTP and SOCKS5"),
            doc: "listening addresses and their protocols",
            example: "[{ address = \"127.0.0.1:1080\" }]",
        },
        Key {
            name: "tls",
            shape: Shape::Table(&TLS),
            need: Absent("no listener can have `tls = true`"),
            doc: "certificate of the listeners with `tls = true`",
            example: "{ certificate = \"proxy.crt\", key = \"proxy.key\" }",
        },
        Key {
            name: "clients",
            shape: Shape::Table(&CLIENTS),
            need: Default("{}"),
            doc: "clients that may connect",
            example: "{ allow = [\"192.0.2.0/24\"] }",
        },
        Key {
            name: "destinations",
            shape: Shape::Table(&DESTINATIONS),
            need: Default("{}"),
            doc: "destinations that clients may reach",
            example: "{ allow = [\"10.1.0.0/16\"] }",
        },
        Key {
            name: "servers",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"tcp\""),
            doc: "transport to servers",
            example: "\"mptcp\"",
        },
        Key {
            name: "upstream",
            shape: Shape::Table(&UPSTREAM),
            need: Absent("the proxy connects to servers directly"),
            doc: "the next proxy for all connections",
            example: "{ address = \"proxy.example:1080\" }",
        },
        Key {
            name: "name_servers",
            shape: List { of: &Text, min: 0, max: 16 },
            need: Default("[]"),
            doc: "DNS servers, each an address with or without a port; those of /etc/resolv.conf if empty",
            example: "[\"192.0.2.53\", \"127.0.0.1:5353\"]",
        },
        Key {
            name: "limits",
            shape: Shape::Table(&LIMITS),
            need: Default("{}"),
            doc: "resource limits",
            example: "{ connections = 5000 }",
        },
        Key {
            name: "ahead",
            shape: TIME,
            need: Default("\"10ms\""),
            doc: "time beyond one round trip for which a subflow may hold queued data before the proxy pauses writes to a multipath connection; `0s` never pauses",
            example: "\"50ms\"",
        },
        Key {
            name: "timeouts",
            shape: Shape::Table(&TIMEOUTS),
            need: Default("{}"),
            doc: "timeouts",
            example: "{ idle = \"5min\" }",
        },
        Key {
            name: "workers",
            shape: Integer { min: 1, max: 1024 },
            need: Absent("one per core"),
            doc: "worker threads",
            example: "2",
        },
        Key {
            name: "access_log",
            shape: Text,
            need: Absent("no access log"),
            doc: "file for one line of JSON per connection and request; `-` is standard output",
            example: "\"/var/log/tandem/proxy.log\"",
        },
        Key {
            name: "status",
            shape: Shape::Table(&STATUS),
            need: Default("{}"),
            doc: "status socket",
            example: "{ socket = \"/run/tandem/proxy.sock\" }",
        },
        Key {
            name: "agent",
            shape: Text,
            need: Absent("no reports"),
            doc: "UNIX socket of `tandem agent`, to which the proxy reports player state from the CMCD of requests",
            example: "\"/run/tandem/agent.sock\"",
        },
        Key {
            name: "log",
            shape: schema::LOG_FILTER,
            need: Default("\"info\""),
            doc: "level of the diagnostic log: error, warn, info, debug or trace, optionally per module",
            example: "\"warn\"",
        },
    ],
};

static LISTEN: Table = Table {
    name: "a listener",
    doc: "One listener.",
    one_of: &[],
    keys: &[
        Key {
            name: "address",
            shape: Text,
            need: Default("\"127.0.0.1:1080\""),
            doc: "address of this host, with a port",
            example: "\"192.0.2.1:1080\"",
        },
        Key {
            name: "serve",
            shape: Shape::Choice(&SERVE),
            need: Default("\"auto\""),
            doc: "protocol of clients",
            example: "\"socks5\"",
        },
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"mptcp\""),
            doc: "transport of clients",
            example: "\"tcp\"",
        },
        Key {
            name: "tls",
            shape: Shape::Flag,
            need: Default("false"),
            doc: "encrypts connections by TLS, with the certificate of `[tls]`; for HTTP and SOCKS5",
            example: "true",
        },
        Key {
            name: "send_buffer",
            shape: Integer { min: 16_384, max: 1 << 30 },
            need: Absent("Linux's autotuning"),
            doc: "limit of the kernel's send buffer toward each client, in bytes",
            example: "262144",
        },
    ],
};

static TLS: Table = Table {
    name: "the TLS settings",
    doc: "TLS of listeners. The files are PEM.",
    one_of: &[],
    keys: &[
        Key {
            name: "certificate",
            shape: Text,
            need: schema::shape::Need::Required,
            doc: "file with the certificate of this proxy, followed by those of intermediate CAs",
            example: "\"/etc/tandem/proxy.crt\"",
        },
        Key {
            name: "key",
            shape: Text,
            need: schema::shape::Need::Required,
            doc: "file with the private key, readable by its owner only",
            example: "\"/etc/tandem/proxy.key\"",
        },
        Key {
            name: "client_ca",
            shape: Text,
            need: Absent("clients need no certificate"),
            doc: "file with the CAs of clients: only clients with a certificate that one of them signed are served",
            example: "\"/etc/tandem/clients-ca.crt\"",
        },
        Key {
            name: "crl",
            shape: Text,
            need: Absent("no certificate is revoked"),
            doc: "file with the certificate revocation list of each CA of `client_ca`; revoked clients are refused",
            example: "\"/etc/tandem/clients.crl\"",
        },
    ],
};

static SERVE: [Choice; 6] = [
    Choice { name: "auto", doc: "HTTP or SOCKS5, selected by the client's first byte" },
    Choice { name: "http", doc: "HTTP: absolute-form requests and CONNECT" },
    Choice { name: "socks5", doc: "SOCKS5 (RFC 1928, RFC 1929)" },
    Choice { name: "convert", doc: "0-RTT TCP Convert (RFC 8803)" },
    Choice { name: "transparent", doc: "connections redirected by TPROXY (`tandem proxy rules`)" },
    Choice { name: "redirected", doc: "connections redirected by NAT (`tandem gateway`)" },
];

static PROTOCOLS: [Choice; 2] = [
    Choice { name: "mptcp", doc: "Multipath TCP, with fallback to TCP" },
    Choice { name: "tcp", doc: "TCP only" },
];

static CLIENTS: Table = Table {
    name: "the clients",
    doc: "Client authorization; by default only this host.",
    one_of: &[],
    keys: &[
        Key {
            name: "allow",
            shape: List { of: &Text, min: 0, max: 10_000 },
            need: Default("[]"),
            doc: "networks of allowed clients",
            example: "[\"192.0.2.0/24\", \"2001:db8::/32\"]",
        },
        Key {
            name: "users",
            shape: Text,
            need: Absent("no authentication"),
            doc: "file with lines of `username:hash`, which `tandem proxy passwd` writes; readable by its owner only",
            example: "\"/etc/tandem/proxy.users\"",
        },
        Key {
            name: "clear_passwords",
            shape: Shape::Flag,
            need: Default("false"),
            doc: "accepts passwords in clear text over networks, where everybody on the way can read them",
            example: "true",
        },
    ],
};

static DESTINATIONS: Table = Table {
    name: "the destinations",
    doc: "Rules for destinations; by default all public addresses, with ports 80, 443 and above 1024. With an upstream, names are resolved there and only their ports are checked here.",
    one_of: &[],
    keys: &[
        Key {
            name: "allow",
            shape: List { of: &Text, min: 0, max: 10_000 },
            need: Default("[]"),
            doc: "non-public networks that clients may reach",
            example: "[\"10.1.0.0/16\"]",
        },
        Key {
            name: "deny",
            shape: List { of: &Text, min: 0, max: 10_000 },
            need: Default("[]"),
            doc: "networks that clients may never reach, also embedded in IPv6 addresses",
            example: "[\"198.51.100.0/24\"]",
        },
        Key {
            name: "ports",
            shape: List { of: &Shape::Or(&Integer { min: 1, max: 65535 }, &Text), min: 1, max: 1000 },
            need: Default("[80, 443, \"1025-65535\"]"),
            doc: "allowed ports and ranges of ports; no range includes port 25 (SMTP)",
            example: "[22, 443, \"8000-8100\"]",
        },
        Key {
            name: "nat64",
            shape: List { of: &Text, min: 0, max: 100 },
            need: Default("[]"),
            doc: "NAT64 prefixes of this network besides 64:ff9b::/96 (RFC 6052); rules see the IPv4 addresses behind them",
            example: "[\"2001:db8:64::/96\"]",
        },
    ],
};

static UPSTREAM: Table = Table {
    name: "the upstream",
    doc: "The next proxy on the way to servers.",
    one_of: &[],
    keys: &[
        Key {
            name: "address",
            shape: Text,
            need: schema::shape::Need::Required,
            doc: "host and port of the upstream proxy",
            example: "\"proxy.example:1080\"",
        },
        Key {
            name: "speak",
            shape: Shape::Choice(&SPEAK),
            need: Default("\"connect\""),
            doc: "protocol between the two proxies",
            example: "\"convert\"",
        },
        Key {
            name: "protocol",
            shape: Shape::Choice(&PROTOCOLS),
            need: Default("\"mptcp\""),
            doc: "transport to the upstream proxy",
            example: "\"mptcp\"",
        },
        Key {
            name: "credential",
            shape: Text,
            need: Absent("no credentials"),
            doc: "file with one line of `username:password`, readable by its owner only",
            example: "\"/etc/tandem/proxy.credential\"",
        },
        Key {
            name: "clear_passwords",
            shape: Shape::Flag,
            need: Default("false"),
            doc: "sends the credential in clear text over networks, where everybody on the way can read it",
            example: "true",
        },
        Key {
            name: "tls",
            shape: Shape::Table(&UPSTREAM_TLS),
            need: Absent("no encryption"),
            doc: "encrypts connections to the upstream by TLS; `{}` trusts the CAs of the system",
            example: "{ ca = \"ca.crt\" }",
        },
    ],
};

static UPSTREAM_TLS: Table = Table {
    name: "the TLS settings of the upstream",
    doc: "TLS to the upstream proxy. The files are PEM.",
    one_of: &[],
    keys: &[
        Key {
            name: "ca",
            shape: Text,
            need: Absent("the CAs of the system"),
            doc: "file with the CAs that may sign the upstream's certificate",
            example: "\"/etc/tandem/ca.crt\"",
        },
        Key {
            name: "server_name",
            shape: Text,
            need: Absent("the host of `address`"),
            doc: "name or address in the upstream's certificate",
            example: "\"proxy.example\"",
        },
        Key {
            name: "certificate",
            shape: Text,
            need: Absent("none is presented"),
            doc: "file with the certificate of this proxy, for an upstream with `client_ca`",
            example: "\"/etc/tandem/device.crt\"",
        },
        Key {
            name: "key",
            shape: Text,
            need: Absent("none, without `certificate`"),
            doc: "file with the private key of `certificate`, readable by its owner only",
            example: "\"/etc/tandem/device.key\"",
        },
    ],
};

static SPEAK: [Choice; 2] = [
    Choice { name: "connect", doc: "HTTP CONNECT; the upstream proxy resolves names" },
    Choice { name: "convert", doc: "0-RTT TCP Convert (RFC 8803); this proxy resolves names" },
];

static LIMITS: Table = Table {
    name: "the limits",
    doc: "Resource limits.",
    one_of: &[],
    keys: &[
        Key {
            name: "connections",
            shape: Integer { min: 1, max: 1_000_000 },
            need: Default("10000"),
            doc: "concurrent client connections",
            example: "5000",
        },
        Key {
            name: "per_client",
            shape: Integer { min: 1, max: 1_000_000 },
            need: Default("1000"),
            doc: "concurrent connections per client: an IPv4 address, or an IPv6 /64 prefix",
            example: "100",
        },
        Key {
            name: "head",
            shape: Integer { min: 1024, max: 1_048_576 },
            need: Default("32768"),
            doc: "maximum size of a message head, in bytes",
            example: "16384",
        },
        Key {
            name: "lookups",
            shape: Integer { min: 1, max: 1000 },
            need: Default("128"),
            doc: "concurrent name lookups",
            example: "64",
        },
        Key {
            name: "lookups_per_client",
            shape: Integer { min: 1, max: 1000 },
            need: Default("16"),
            doc: "concurrent name lookups per client; further ones wait",
            example: "8",
        },
    ],
};

static TIMEOUTS: Table = Table {
    name: "the timeouts",
    doc: "Timeouts.",
    one_of: &[],
    keys: &[
        Key {
            name: "handshake",
            shape: POSITIVE_TIME,
            need: Default("\"10s\""),
            doc: "time for a client's complete request",
            example: "\"5s\"",
        },
        Key {
            name: "connect",
            shape: POSITIVE_TIME,
            need: Default("\"15s\""),
            doc: "time to resolve and connect to a server",
            example: "\"10s\"",
        },
        Key {
            name: "idle",
            shape: POSITIVE_TIME,
            need: Default("\"10min\""),
            doc: "time without progress in either direction",
            example: "\"5min\"",
        },
        Key {
            name: "write",
            shape: POSITIVE_TIME,
            need: Absent("that of `idle`"),
            doc: "time in which a client or server that does not read accepts none of the data that waits for it",
            example: "\"1min\"",
        },
        Key {
            name: "keep_alive",
            shape: POSITIVE_TIME,
            need: Default("\"60s\""),
            doc: "time between a response and the next request",
            example: "\"15s\"",
        },
        Key {
            name: "total",
            shape: POSITIVE_TIME,
            need: Absent("unlimited"),
            doc: "lifetime of a tunnel, and of an HTTP request with its response",
            example: "\"24h\"",
        },
        Key {
            name: "drain",
            shape: POSITIVE_TIME,
            need: Default("\"30s\""),
            doc: "time after SIGTERM before open connections are aborted",
            example: "\"5min\"",
        },
    ],
};

static STATUS: Table = Table {
    name: "the status",
    doc: "The status socket.",
    one_of: &[],
    keys: &[
        Key {
            name: "socket",
            shape: Text,
            need: Absent("proxy.sock in `$RUNTIME_DIRECTORY` of systemd, else /run/tandem/proxy.sock"),
            doc: "UNIX socket for `tandem proxy status` and for metrics (`/metrics`)",
            example: "\"/run/tandem/proxy.sock\"",
        },
        Key {
            name: "metrics",
            shape: Text,
            need: Absent("metrics on the UNIX socket only"),
            doc: "address at which Prometheus reads `/metrics` over TCP; other than loopback needs `metrics_from`",
            example: "\"127.0.0.1:9464\"",
        },
        Key {
            name: "metrics_from",
            shape: List { of: &Text, min: 0, max: 1000 },
            need: Default("[]"),
            doc: "networks that may read metrics over TCP; by default this host",
            example: "[\"192.0.2.7/32\"]",
        },
    ],
};
