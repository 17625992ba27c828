//! Plans with middleboxes.

use super::{BASE, TWO_PATHS};
use crate::plan::{Action, Expected, Join, Plan, Reset};

const STRIPPED: Plan = Plan { expected: Expected::Tcp, ..BASE };

/// Reset of a client that finds no MP_JOIN in the answer to its own.
const REFUSED_BY_CLIENT: Reset = Reset {
    by_client: true,
    linux: 1,
    tandem: 1,
    fails: false,
    sent: Some("MPTcpExtMPRstTx"),
    received: Some("TcpExtEmbryonicRsts"),
    seen: true,
};

const STRIPPED_JOIN: Plan =
    Plan { join: Join::Stripped, box_path: 1, reset: Some(REFUSED_BY_CLIENT), ..TWO_PATHS };

const CHECKSUM_FAILED: Reset = Reset {
    by_client: true,
    linux: 6,
    tandem: 6,
    fails: true,
    sent: Some("MPTcpExtMPFailTx"),
    received: Some("MPTcpExtMPFailRx"),
    seen: true,
};

const DSS_MISSING: Reset = Reset {
    fails: false,
    sent: Some("MPTcpExtMPRstTx"),
    received: Some("MPTcpExtMPRstRx"),
    ..CHECKSUM_FAILED
};

/// Data that lasts until the join is complete.
const LONG: u64 = 4_000_000;

const UNMAPPED_JOIN: Plan = Plan { join: Join::Failing, box_path: 1, ..TWO_PATHS };

const CORRUPTED_JOIN: Plan = Plan {
    join: Join::Failing,
    box_path: 1,
    checksum: true,
    tolerates: &["MPTcpExtDataCsumErr", "MPTcpExtMPFailRx", "MPTcpExtMPFailTx"],
    ..TWO_PATHS
};

const FORGOTTEN: Plan = Plan { action: Action::Idle, box_path: 1, ..TWO_PATHS };

pub(super) fn plans() -> Vec<Plan> {
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
            name: "strip-join-syn",
            about: "MP_JOIN is removed from the SYN of the join (MP_TCPRST: 1)",
            boxes: "{ kind = 'strip-options', options = ['mp-join'], on = 'syn', direction = 'up' }",
            // The server takes it for a connection of its own.
            reset: Some(Reset { seen: false, ..REFUSED_BY_CLIENT }),
            ..STRIPPED_JOIN
        },
        Plan {
            name: "strip-join-syn-ack",
            about: "the same from the SYN/ACK",
            boxes: "{ kind = 'strip-options', options = ['mp-join'], on = 'syn', direction = 'down' }",
            ..STRIPPED_JOIN
        },
        Plan {
            name: "strip-join-ack",
            about: "the same from the third ACK",
            boxes: "{ kind = 'strip-options', options = ['mp-join'], on = 'not-syn' }",
            reset: Some(Reset { by_client: false, sent: None, received: None, ..REFUSED_BY_CLIENT }),
            ..STRIPPED_JOIN
        },
        Plan {
            name: "corrupt-join-up",
            about: "data of the client is changed on the joined subflow (MP_FAIL)",
            boxes: "{ kind = 'corrupt', direction = 'up' }",
            reset: Some(Reset { by_client: false, ..CHECKSUM_FAILED }),
            up: LONG,
            ..CORRUPTED_JOIN
        },
        Plan {
            name: "corrupt-join-down",
            about: "the same with data of the server",
            boxes: "{ kind = 'corrupt', direction = 'down' }",
            reset: Some(CHECKSUM_FAILED),
            down: LONG,
            ..CORRUPTED_JOIN
        },
        Plan {
            name: "strip-dss-join-up",
            about: "DSS is removed from data of the client on the joined subflow (MP_TCPRST: 6)",
            boxes: "{ kind = 'strip-options', options = ['dss'], on = 'data', direction = 'up' }",
            reset: Some(Reset { by_client: false, ..DSS_MISSING }),
            up: LONG,
            ..UNMAPPED_JOIN
        },
        Plan {
            name: "strip-dss-join-down",
            about: "the same with data of the server",
            boxes: "{ kind = 'strip-options', options = ['dss'], on = 'data', direction = 'down' }",
            reset: Some(DSS_MISSING),
            down: LONG,
            ..UNMAPPED_JOIN
        },
        Plan {
            name: "nat-renew",
            about: "a translator forgets the joined subflow, and translates it as before",
            boxes: "{ kind = 'forget-nat', idle = '300ms', forgotten = 'renew' }",
            ..FORGOTTEN
        },
        Plan {
            name: "nat-new-port",
            about: "the same with another port",
            boxes: "{ kind = 'forget-nat', idle = '300ms', forgotten = 'new-port' }",
            ..FORGOTTEN
        },
        Plan {
            name: "nat-reset",
            about: "it answers with a reset",
            boxes: "{ kind = 'forget-nat', idle = '300ms', forgotten = 'reset' }",
            ..FORGOTTEN
        },
        Plan {
            name: "nat-drop",
            about: "it drops all segments",
            boxes: "{ kind = 'forget-nat', idle = '300ms', forgotten = 'drop' }",
            ..FORGOTTEN
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
