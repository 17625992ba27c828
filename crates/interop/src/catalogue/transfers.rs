//! Plans of one path: handshakes, data and the end of a connection.

use super::BASE;
use crate::plan::{Action, Plan};

pub(super) fn plans() -> Vec<Plan> {
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
            name: "half-close-client",
            about: "the server sends half of its data after the client's DATA_FIN",
            client_closes_first: true,
            half_close: true,
            ..BASE
        },
        Plan {
            name: "half-close-server",
            about: "the client sends half of its data after the server's DATA_FIN",
            server_closes_first: true,
            half_close: true,
            ..BASE
        },
        Plan {
            name: "data-fin-lost",
            about: "the DATA_FINs of both are lost for a while",
            up: 0,
            down: 0,
            action: Action::CutClose,
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
