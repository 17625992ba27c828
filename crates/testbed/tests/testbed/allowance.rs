//! The policy `allowance` on the real kernel, beside background traffic.

use std::sync::Arc;
use tandem_testbed::run;

const ALLOWANCE_BYTES: u64 = 2_000_000;

/// A stream of 1.6 MB, and datagrams of 1 MB in the first two seconds.
const SCENARIO: &str = "seed = 1\nduration = '6s'\n[device]\nname = 'phone'\npolicy = 'allowance'\n\
     [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '8Mbps', delay = '20ms' }\n\
     up = { rate = '8Mbps', delay = '20ms' }\nallowance = '2MB'\n\
     [[traffic]]\nkind = 'cbr'\nrate = '2Mbps'\n\
     [[traffic]]\nkind = 'vbr'\nprotocol = 'udp'\npath = 'lte'\nrate = '4Mbps'\nspread = 0.2\nstop = '2s'\n";

#[test]
#[ignore = "needs root"]
fn needs_root_background_traffic_counts_in_the_allowance() {
    let experiment = crate::parse("allowance", SCENARIO).experiment;
    let outcome = run(&experiment, &Arc::default(), &mut |_| {}).expect("the run succeeds").outcome;
    let (path, background) = (&outcome.paths[0], &outcome.background[0]);
    let used = path.wire_down_bytes + path.wire_up_bytes;
    let bytes = format!("{used} bytes, {} of them background", background.delivered_bytes);
    // A thread that is late by 100 ms counts 75 kB too few.
    assert!((ALLOWANCE_BYTES * 9 / 10..ALLOWANCE_BYTES * 11 / 10).contains(&used), "{bytes}");
    assert!(background.delivered_bytes > ALLOWANCE_BYTES / 3, "{bytes}");
}
