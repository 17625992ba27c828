//! The time series and the end of a run on the real kernel.

use sim::Experiment;
use std::sync::Arc;
use tandem_testbed::{Outcome, Setup, run_with};
use units::Duration;

/// Two seconds of traffic over a link with a long way back.
fn experiment(sample: &str, traffic: &str) -> Experiment {
    let text = format!(
        "seed = 1\nduration = '2s'\nsample = '{sample}'\n\
         [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\n\
         down = {{ rate = '8Mbps', delay = '5ms' }}\nup = {{ rate = '8Mbps', delay = '300ms' }}\n\
         [[traffic]]\n{traffic}\n"
    );
    crate::parse("series", &text).experiment
}

fn run(experiment: &Experiment) -> Outcome {
    let ran = run_with(experiment, &Setup::default(), &Arc::default(), &mut |_| {}, None);
    ran.expect("the run succeeds").outcome
}

#[test]
#[ignore = "needs root"]
fn needs_root_series_has_a_row_for_each_interval() {
    let outcome = run(&experiment("1ms", "kind = 'cbr'\nrate = '4Mbps'"));
    let rates = &outcome.series.column("lte.rate_down_mbps").expect("the column exists").values;
    assert_eq!(rates.len(), 2000);
    let bytes = rates.iter().sum::<f64>() * 1e6 * 1e-3 / 8.0;
    let counted = outcome.paths[0].wire_down_bytes as f64;
    assert!((bytes - counted).abs() <= 0.01 * counted, "{bytes} in the series, {counted} in total");
}

#[test]
#[ignore = "needs root"]
fn needs_root_unsent_data_is_unacknowledged_data() {
    let outcome = run(&experiment("500ms", "kind = 'cbr'\nrate = '400kbps'"));
    let unsent = &outcome.series.column("connection1.unsent_kb").expect("the column exists").values;
    // Acknowledgements take 305 ms, in which 15 kB are written; received data is read at once.
    assert!(unsent[2..].iter().all(|kb| (12.0..60.0).contains(kb)), "{unsent:?}");
}

#[test]
#[ignore = "needs root"]
fn needs_root_radio_draws_no_energy_after_the_end_of_a_captured_run() {
    // LTE stays active for ten seconds after its last datagram.
    let datagrams = "kind = 'vbr'\nprotocol = 'udp'\npath = 'lte'\nrate = '1Mbps'\nstop = '200ms'";
    let mut experiment = experiment("1s", datagrams);
    experiment.sample = Duration::ZERO;
    let expected = sim::run(&experiment).device.energy_j;
    experiment.capture = true;
    let energy = run(&experiment).device.energy_j;
    // 50 ms have 53 mJ.
    assert!((energy - expected).abs() < 0.02, "{energy} J, {expected} J in simulation");
}

#[test]
#[ignore = "needs root"]
fn needs_root_drawn_periods_end_with_a_captured_run() {
    // The next packet is due after an hour of on periods.
    let traffic = "kind = 'on-off'\nrate = '3bps'\non = '1us'\noff = '1ms'\nexponential = true";
    let mut experiment = experiment("1s", traffic);
    experiment.capture = true;
    let begun = std::time::Instant::now();
    run(&experiment);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}
