//! Application delay on the kernel, against the delay of the emulated links.

use std::sync::Arc;
use tandem_testbed::{Outcome, run};

fn run_on_kernel(traffic: &str) -> Outcome {
    let text = format!(
        "seed = 1\nduration = '3s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
        down = {{ rate = '10Mbps', delay = '20ms' }}\nup = {{ rate = '10Mbps', delay = '35ms' }}\n\
        [transport]\nprotocol = 'tcp'\npath = 'wifi'\n{traffic}"
    );
    let scenario = crate::parse("delay", &text);
    run(&scenario.experiment, &Arc::default(), &mut |_| {}).expect("the run succeeds").outcome
}

#[test]
#[ignore = "needs root"]
fn needs_root_delay_is_propagation_and_transmission() {
    for (direction, delay_ms) in [("down", 20.0), ("up", 35.0)] {
        let outcome = run_on_kernel(&format!(
            "[[traffic]]\nkind = 'cbr'\nrate = '800kbps'\npacket = '1000B'\ndirection = '{direction}'\nstop = '2s'\n"
        ));
        let connection = &outcome.connections[0];
        // 1000 bytes and 52 of headers at 10 Mbit/s.
        let expected = delay_ms + 1052.0 * 8e-4;
        let [min, p50] = [connection.delay.min_s, connection.delay.p50_s].map(|s| s.expect("a delay") * 1e3);
        assert_eq!((connection.message, connection.delay.count), ("packet", 200), "{direction}");
        assert!(min >= expected, "{direction}: {min} ms, expected {expected} ms at least");
        // A loaded machine wakes its threads late.
        assert!(p50 < expected + 20.0, "{direction}: {p50} ms, expected about {expected} ms");
        assert_eq!(connection.jitter.count, 199);
        assert_eq!(connection.head_of_line, None);
        let column = outcome.series.column("connection1.delay_ms").expect("the column exists");
        assert!(column.values.iter().any(|&ms| ms >= expected), "{column:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_file_is_measured_in_blocks() {
    let outcome = run_on_kernel("[[traffic]]\nkind = 'file'\nsize = '100kB'\n");
    let connection = &outcome.connections[0];
    assert!(connection.completed_s.is_some(), "{connection:?}");
    assert_eq!((connection.message, connection.delay.count), ("block", 100_000_u64.div_ceil(8192)));
    // The last block is read at the end, and was written into the empty send buffer at the start.
    let (longest, completed) = (connection.delay.max_s.unwrap(), connection.completed_s.unwrap());
    assert!(longest <= completed && longest > 0.08, "{longest} of {completed}");
}
