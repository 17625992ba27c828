//! MPTCP-rec on whole connections: negotiation, rates, reports, path removal, and its end.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::rec::Observed;
use tandem_mptcp::rec::state::State;
use tandem_mptcp::{Config, PathId, Rec, RecInfo};
use units::Instant;
use wire::{Flags, RecOption};

fn with(rec: Option<Rec>) -> Config {
    Config { rec, recv_buffer: 64_000, ..Config::default() }
}

/// A download of `bytes` over a slow path and a fast one.
fn download(client: Config, server: Config, bytes: u64, loss: f64) -> Pair {
    let paths = vec![PathModel::lossy(60, loss), PathModel::lossy(10, loss)];
    let mut pair = Pair::with(7, client, server, paths).keep_trace();
    pair.to_write[SERVER] = bytes;
    pair.close_when_done = [true, true];
    pair
}

fn reports(pair: &Pair, from: usize) -> usize {
    let is_report = |option: &Option<RecOption>| matches!(option, Some(RecOption::Report(_)));
    pair.trace.iter().filter(|seen| seen.from == from && is_report(&seen.segment.rec)).count()
}

fn info(pair: &mut Pair, end: usize, path: u8) -> RecInfo {
    pair.ends[end].rec_info(PathId(path)).expect("MPTCP-rec is negotiated")
}

#[test]
fn rec_requires_an_offer_from_both_ends() {
    let rec = || with(Some(Rec::default()));
    for (client, server, negotiated) in [
        (rec(), rec(), true),
        (rec(), with(None), false),
        (with(None), rec(), false),
        (rec(), Config { mptcp: false, ..rec() }, false),
    ] {
        let mut pair = download(client, server, 300_000, 0.01);
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        assert_eq!(pair.ends[CLIENT].rec_info(PathId(0)).is_some(), negotiated);
        pair.run_until(Instant::from_secs(120));
        assert_eq!(pair.read[CLIENT], 300_000);
        assert_eq!(reports(&pair, CLIENT) > 0, negotiated);
        // The server receives no data, so it has nothing to report.
        assert_eq!(reports(&pair, SERVER), 0);
        // Only SYNs of the first subflow carry the offer, and the server answers only if it
        // supports it.
        let offers =
            pair.trace.iter().filter(|seen| matches!(seen.segment.rec, Some(RecOption::Offer { .. })));
        assert!(offers.clone().all(|seen| seen.segment.flags.has(Flags::SYN) && seen.path == PathId(0)));
        assert_eq!(offers.clone().any(|seen| seen.from == SERVER), negotiated);
    }
}

#[test]
fn rec_stays_off_if_the_offer_is_stripped() {
    for stripped_from in [CLIENT, SERVER] {
        let mut pair = download(with(Some(Rec::default())), with(Some(Rec::default())), 300_000, 0.01);
        pair.tamper = Some(Box::new(move |from, _, segment| {
            if from == stripped_from && matches!(segment.rec, Some(RecOption::Offer { .. })) {
                segment.rec = None;
            }
            true
        }));
        pair.connect();
        pair.run_until(Instant::from_secs(120));
        assert_eq!(pair.read[CLIENT], 300_000);
        assert_eq!(reports(&pair, CLIENT), 0);
    }
}

#[test]
fn receiver_sets_the_rate_while_its_reports_arrive() {
    let mut pair = download(with(Some(Rec::default())), with(Some(Rec::default())), 20_000_000, 0.01);
    let silent = Instant::from_secs(3);
    pair.connect();
    pair.run_until(silent);
    for path in [0, 1] {
        assert!(info(&mut pair, SERVER, path).driven, "path {path}");
    }
    pair.tamper = Some(Box::new(|_, _, segment| {
        segment.rec = None;
        true
    }));
    pair.run_until(Instant::from_secs(10));
    let undriven = |pair: &mut Pair| [0, 1].map(|path| !info(pair, SERVER, path).driven);
    // An unused path gets no acknowledgements, so it does not notice the missing reports.
    assert!(undriven(&mut pair)[1], "the fast path uses its own window again");
    pair.tamper = None;
    pair.run_until(Instant::from_secs(12));
    assert!(info(&mut pair, SERVER, 1).driven, "the receiver's rate applies once reports arrive again");
    pair.run_until(Instant::from_secs(300));
    assert_eq!(pair.read[CLIENT], 20_000_000);
}

#[test]
fn lossy_path_enters_every_state() {
    let mut entered = [0; 7];
    for seed in 0..4 {
        let mut pair = Pair::new(seed, with(Some(Rec::default())), vec![PathModel::lossy(20, 0.15)]);
        pair.to_write[SERVER] = 1_000_000;
        pair.connect();
        // Then small writes: too few segments follow a loss to tell it from reordering.
        for second in 60..160 {
            pair.run_until(Instant::from_secs(second));
            pair.to_write[SERVER] += 3000;
        }
        let info = info(&mut pair, CLIENT, 0);
        (0..7).for_each(|i| entered[i] += info.entered[i]);
    }
    for (state, count) in State::ALL.iter().zip(entered) {
        assert!(count > 0, "{} was never entered: {entered:?}", state.short());
    }
}

#[test]
fn non_renegable_sack_frees_the_send_buffer() {
    // The send buffer is a tenth of the receive buffer: one loss on the long path stalls the
    // sender.
    let run = |nr_sack| {
        let rec = Some(Rec { nr_sack, rates: false, path_choice: false, ..Rec::default() });
        let config = Config { rec, recv_buffer: 500_000, send_buffer: 50_000, ..Config::default() };
        let mut pair = download(config.clone(), config, 3_000_000, 0.01);
        pair.connect();
        let mut held = 0;
        for ms in 1..4000 {
            pair.run_until(Instant::from_millis(5 * ms));
            held = held.max(pair.ends[SERVER].rec_info(PathId(0)).map_or(0, |info| info.held));
        }
        pair.run_until(Instant::from_secs(600));
        assert_eq!(pair.read[CLIENT], 3_000_000);
        let took = pair.trace.iter().filter(|s| s.from == SERVER && s.segment.payload.len > 0);
        (held, took.map(|s| s.at).max())
    };
    let ((with, faster), (_, slower)) = (run(true), run(false));
    assert!(with > 20_000, "{with} bytes were sacked for good");
    assert!(faster < slower, "{faster:?} and {slower:?}");
}

#[test]
fn reports_fit_into_the_options_in_order() {
    let mut pair = download(with(Some(Rec::default())), with(Some(Rec::default())), 3_000_000, 0.03);
    pair.connect();
    pair.run_until(Instant::from_secs(100));
    let (mut blocks, mut clocks) = (0, [0, 0]);
    for seen in pair.trace.iter().filter(|seen| seen.from == CLIENT) {
        assert!(seen.segment.options_len() <= 40);
        let Some(RecOption::Report(report)) = seen.segment.rec else { continue };
        // The first subflow has identifier 0, the second that of the client's address.
        let path = usize::from(report.path > 0);
        assert_eq!(u8::from(report.path > 0), seen.path.0);
        assert!(report.clock >= clocks[path], "reports are in order");
        clocks[path] = report.clock;
        blocks += report.blocks.as_slice().len();
        assert!(report.blocks.as_slice().iter().all(|&(ahead, len)| ahead > 0 && len > 0));
    }
    assert!(blocks > 100, "{blocks} blocks");
}

#[test]
fn worst_path_is_removed_and_restored() {
    let paths = vec![PathModel::lossy(300, 0.02), PathModel::lossy(10, 0.005)];
    let mut pair = Pair::with(3, with(Some(Rec::default())), with(Some(Rec::default())), paths);
    pair.to_write[SERVER] = 30_000_000;
    pair.connect();
    let (mut out, mut in_use) = (0, 0);
    for step in 1..600 {
        pair.run_until(Instant::from_millis(20 * step));
        if pair.ends[SERVER].rec_info(PathId(0)).is_some_and(|info| info.unused) {
            out += 1;
        } else {
            in_use += 1;
        }
        // At least one of two paths stays in use.
        let unused = |path| pair.ends[SERVER].rec_info(PathId(path)).is_some_and(|info| info.unused);
        let both = [0, 1].map(unused) == [true, true];
        assert!(!both);
    }
    assert!(out > 20 && in_use > 20, "out {out}, in use {in_use}");
    assert!(info(&mut pair, SERVER, 0).removals > 3);
}

/// MPTCP's window contains out-of-order data (RFC 8684, section 3.3.1): while the application reads
/// at once, it does not announce blocking.
#[test]
fn advertised_window_removes_no_path_while_the_application_reads() {
    for seed in 0..10 {
        let removals = |observed| {
            let rec = with(Some(Rec { observed, ..Rec::default() }));
            let paths = vec![PathModel::lossy(300, 0.02), PathModel::lossy(10, 0.005)];
            let mut pair = Pair::with(seed, rec.clone(), rec, paths);
            pair.to_write[SERVER] = 10_000_000;
            pair.connect();
            pair.run_until(Instant::from_secs(30));
            info(&mut pair, SERVER, 0).removals
        };
        assert!(removals(Observed::Free) > 0, "seed {seed}");
        assert_eq!(removals(Observed::Advertised), 0, "seed {seed}");
    }
}
