//! Plans with losses, small buffers and closed windows.

use super::{BASE, TWO_PATHS};
use crate::plan::{Action, Expected, LOST_KEYS, Plan};

pub(super) fn plans() -> Vec<Plan> {
    let lossy = "rate = '200Mbps', delay = '2ms', queue = '200ms', loss = 0.01, reorder = { chance = 0.02, by = '3ms' }";
    let (one_path, two_paths) = (
        Plan { link: lossy, tolerates: &[LOST_KEYS], ..BASE },
        Plan { link: lossy, tolerates: &[LOST_KEYS], ..TWO_PATHS },
    );
    vec![
        Plan { name: "loss", about: "1 % loss, and reordering", ..one_path },
        Plan { name: "loss-checksum", about: "the same with DSS checksums", checksum: true, ..one_path },
        Plan { name: "loss-two-paths", about: "the same over two paths", ..two_paths },
        Plan {
            name: "zero-window",
            about: "the readers pause until the windows are full",
            reads_late: true,
            action: Action::FillWindows,
            buffers: Some(60_000),
            ..BASE
        },
        Plan {
            name: "zero-window-probes",
            about: "the same until the windows have been probed",
            reads_late: true,
            action: Action::ProbeWindows,
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
