//! The plans: tasks of two hosts, with the expected results.

use crate::plan::{Action, Expected, Join, Plan};

const FAST: &str = "rate = '200Mbps', delay = '2ms', queue = '200ms'";

const BASE: Plan = Plan {
    name: "",
    about: "",
    paths: 1,
    checksum: false,
    up: 200_000,
    down: 200_000,
    client_closes_first: false,
    server_closes_first: false,
    reads_late: false,
    join: Join::None,
    action: Action::None,
    expected: Expected::Mptcp,
    link: FAST,
    boxes: "",
    corrupts: false,
    buffers: None,
    tolerates: &[],
};

const TWO_PATHS: Plan = Plan { paths: 2, join: Join::Client, up: 400_000, down: 400_000, ..BASE };

const STRIPPED: Plan = Plan { expected: Expected::Tcp, ..BASE };

/// All plans, in the order of the page.
pub fn plans() -> Vec<Plan> {
    let mut plans = transfers();
    plans.extend(path_management());
    plans.extend(middleboxes());
    plans.extend(conditions());
    plans
}

fn transfers() -> Vec<Plan> {
    vec![
        Plan { name: "handshake", about: "no data; both ends close", up: 0, down: 0, ..BASE },
        Plan {
            name: "handshake-checksum",
            about: "the same with DSS checksums",
            up: 0,
            down: 0,
            checksum: true,
            ..BASE
        },
        Plan { name: "download", about: "data from the server", up: 0, down: 1_000_000, ..BASE },
        Plan { name: "upload", about: "data from the client", up: 1_000_000, down: 0, ..BASE },
        Plan { name: "both-ways", about: "data in both directions", up: 500_000, down: 500_000, ..BASE },
        Plan { name: "checksum", about: "the same with DSS checksums", checksum: true, ..BASE },
        Plan {
            name: "client-closes-first",
            about: "the server sends DATA_FIN after the client's",
            client_closes_first: true,
            ..BASE
        },
        Plan {
            name: "server-closes-first",
            about: "the client sends DATA_FIN after the server's",
            server_closes_first: true,
            ..BASE
        },
        Plan {
            name: "fastclose-client",
            about: "the client aborts (MP_FASTCLOSE)",
            action: Action::Abort { client: true },
            ..BASE
        },
        Plan {
            name: "fastclose-server",
            about: "the server aborts (MP_FASTCLOSE)",
            action: Action::Abort { client: false },
            ..BASE
        },
    ]
}

fn path_management() -> Vec<Plan> {
    vec![
        Plan { name: "join", about: "the client joins over a second path (MP_JOIN)", ..TWO_PATHS },
        Plan { name: "join-checksum", about: "the same with DSS checksums", checksum: true, ..TWO_PATHS },
        Plan {
            name: "join-backup",
            about: "the client joins with a backup",
            join: Join::ClientBackup,
            ..TWO_PATHS
        },
        Plan {
            name: "join-refused",
            about: "the server refuses the join with a reset (MP_TCPRST)",
            join: Join::Refused,
            ..TWO_PATHS
        },
        Plan {
            name: "add-addr",
            about: "the server announces an address (ADD_ADDR), which the client joins",
            join: Join::Announced,
            ..TWO_PATHS
        },
        Plan { name: "add-addr-port", about: "the same with a port", join: Join::AnnouncedPort, ..TWO_PATHS },
        Plan {
            name: "add-addr-lost",
            about: "the first ADD_ADDR is lost",
            join: Join::Announced,
            boxes: "{ kind = 'strip-options', options = ['add-addr'], direction = 'down', drop = true, until = '800ms' }",
            ..TWO_PATHS
        },
        Plan {
            name: "add-addr-echo-lost",
            about: "the first echo of ADD_ADDR is lost",
            join: Join::Announced,
            boxes: "{ kind = 'strip-options', options = ['add-addr'], direction = 'up', until = '800ms' }",
            ..TWO_PATHS
        },
        Plan {
            name: "remove-addr-client",
            about: "the client removes its second address (REMOVE_ADDR)",
            action: Action::Remove { client: true },
            ..TWO_PATHS
        },
        Plan {
            name: "remove-addr-server",
            about: "the server removes its announced address",
            join: Join::Announced,
            action: Action::Remove { client: false },
            ..TWO_PATHS
        },
        Plan {
            name: "mp-prio-client",
            about: "the client makes a subflow a backup (MP_PRIO)",
            action: Action::SetBackup { client: true },
            ..TWO_PATHS
        },
        Plan {
            name: "mp-prio-server",
            about: "the server makes a subflow a backup",
            join: Join::Announced,
            action: Action::SetBackup { client: false },
            ..TWO_PATHS
        },
        Plan {
            name: "cut-first",
            about: "the first path carries nothing for a while",
            action: Action::Cut(0),
            ..TWO_PATHS
        },
        Plan {
            name: "cut-second",
            about: "the second path carries nothing for a while",
            action: Action::Cut(1),
            ..TWO_PATHS
        },
    ]
}

fn middleboxes() -> Vec<Plan> {
    vec![
        Plan {
            name: "strip-mptcp",
            about: "all MPTCP options are removed",
            boxes: "{ kind = 'strip-options' }",
            ..STRIPPED
        },
        Plan {
            name: "strip-syn",
            about: "they are removed from SYNs",
            boxes: "{ kind = 'strip-options', on = 'syn' }",
            ..STRIPPED
        },
        Plan {
            name: "strip-syn-ack",
            about: "they are removed from SYN/ACKs",
            boxes: "{ kind = 'strip-options', on = 'syn', direction = 'down' }",
            ..STRIPPED
        },
        Plan {
            name: "strip-after-syn",
            about: "they are removed after the SYNs",
            boxes: "{ kind = 'strip-options', on = 'not-syn' }",
            ..STRIPPED
        },
        Plan {
            name: "strip-timestamps",
            about: "timestamps are removed",
            boxes: "{ kind = 'strip-options', options = ['timestamps'] }",
            ..BASE
        },
        Plan {
            name: "strip-sack",
            about: "SACK is removed",
            boxes: "{ kind = 'strip-options', options = ['sack'] }",
            ..BASE
        },
        Plan {
            name: "rewrite-sequence",
            about: "sequence numbers are changed",
            boxes: "{ kind = 'rewrite-sequence' }",
            ..BASE
        },
        Plan {
            name: "rewrite-not-sack",
            about: "the same, without SACK blocks",
            boxes: "{ kind = 'rewrite-sequence', sack = false }",
            ..BASE
        },
        Plan { name: "split", about: "segments are split", boxes: "{ kind = 'split' }", ..BASE },
        Plan {
            name: "split-checksum",
            about: "the same with DSS checksums",
            boxes: "{ kind = 'split' }",
            checksum: true,
            ..BASE
        },
        Plan {
            name: "coalesce",
            about: "segments are merged, with the options of the first; buffers of 20 kB",
            boxes: "{ kind = 'coalesce', most = '3000B' }",
            buffers: Some(20_000),
            up: 60_000,
            down: 60_000,
            expected: Expected::Any,
            tolerates: &["MPTcpExtDSSCorruptionFallback"],
            ..BASE
        },
        Plan {
            name: "corrupt-up",
            about: "data of the client is changed, so that its checksum fails",
            boxes: "{ kind = 'corrupt', direction = 'up' }",
            corrupts: true,
            checksum: true,
            down: 0,
            ..STRIPPED
        },
        Plan {
            name: "corrupt-down",
            about: "data of the server is changed",
            boxes: "{ kind = 'corrupt', direction = 'down' }",
            corrupts: true,
            checksum: true,
            up: 0,
            ..STRIPPED
        },
    ]
}

fn conditions() -> Vec<Plan> {
    let lossy = "rate = '200Mbps', delay = '2ms', queue = '200ms', loss = 0.01, reorder = { chance = 0.02, by = '3ms' }";
    vec![
        Plan { name: "loss", about: "1 % loss, and reordering", link: lossy, ..BASE },
        Plan {
            name: "loss-checksum",
            about: "the same with DSS checksums",
            link: lossy,
            checksum: true,
            ..BASE
        },
        Plan { name: "loss-two-paths", about: "the same over two paths", link: lossy, ..TWO_PATHS },
        Plan {
            name: "zero-window",
            about: "the readers pause until the windows are full",
            reads_late: true,
            action: Action::FillWindows,
            buffers: Some(60_000),
            ..BASE
        },
        Plan { name: "small-buffers", about: "buffers of 20 kB", buffers: Some(20_000), ..BASE },
        Plan {
            name: "small-buffers-two-paths",
            about: "the same over two paths",
            buffers: Some(20_000),
            ..TWO_PATHS
        },
        Plan {
            name: "keys-lost",
            about: "the third ACK and the first data are lost for 300 ms",
            boxes: "{ kind = 'strip-options', options = ['mp-capable'], on = 'not-syn', drop = true, until = '300ms' }",
            expected: Expected::Any,
            tolerates: &["MPTcpExtMPCapableFallbackACK", "MPTcpExtMPCapableDataFallback"],
            ..BASE
        },
    ]
}
