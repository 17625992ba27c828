//! Plans of several paths: joins, addresses, priorities, cuts.

use super::TWO_PATHS;
use crate::plan::{Action, Join, Plan, Reset};

pub(super) fn plans() -> Vec<Plan> {
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
            about: "the server refuses the join (MP_TCPRST: 3 by Linux, 2 by Tandem)",
            join: Join::Refused,
            reset: Some(Reset {
                by_client: false,
                linux: 3,
                tandem: 2,
                fails: false,
                sent: Some("MPTcpExtMPJoinRejected"),
                received: None,
                seen: true,
            }),
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
            name: "join-server",
            about: "the client announces an address and a port, which the server joins",
            join: Join::Server,
            ..TWO_PATHS
        },
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
