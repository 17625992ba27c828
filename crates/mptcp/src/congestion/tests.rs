//! Every registered algorithm through the same tables, and each one's own rules.

use super::*;
use crate::PathId;

const MSS: u64 = 1000;
const SRTT: Duration = Duration::from_millis(100);

fn view(now_ms: u64, in_flight: u64) -> SubflowView {
    SubflowView {
        now: Instant::from_millis(now_ms),
        mss: MSS,
        srtt: SRTT,
        in_flight,
        rtt: Some(SRTT),
        min_rtt: SRTT,
        una: 0,
        recovering: false,
    }
}

fn build(kind: CongestionKind) -> Box<dyn CongestionControl> {
    kind.build(&CongestionSettings::default())
}

/// Acknowledges one round trip's window, two segments at a time.
fn round(algorithm: &mut dyn CongestionControl, window: &mut Window, now_ms: u64, coupling: &Coupling) {
    let cwnd = window.cwnd;
    for _ in 0..cwnd / (2 * MSS) {
        algorithm.on_ack(2 * MSS, &view(now_ms, cwnd), coupling, window);
    }
}

fn subflow(path: u8, segments: u64, srtt_secs: f64) -> CoupledSubflow {
    let cwnd = segments * MSS;
    let rate = cwnd as f64 / srtt_secs;
    CoupledSubflow { path: PathId(path), cwnd, srtt_secs, rate, energy_cost: None, shared_value: 0 }
}

/// The connection's only subflow.
fn single(window: &Window) -> Coupling {
    let own = CoupledSubflow { cwnd: window.cwnd, rate: window.cwnd as f64 / 0.1, ..subflow(0, 0, 0.1) };
    Coupling::new(PathId(0), vec![own])
}

/// 20 segments and 100 ms on the own path, and another one.
fn beside(other: CoupledSubflow) -> Coupling {
    Coupling::new(PathId(0), vec![subflow(0, 20, 0.1), other])
}

/// Returns the segments by which `rounds` round trips grow a window of `segments` in congestion
/// avoidance.
fn growth(kind: CongestionKind, segments: u64, rounds: u64, coupling: impl Fn(&Window) -> Coupling) -> f64 {
    let mut algorithm = build(kind);
    let mut window = Window { cwnd: segments * MSS, ssthresh: segments * MSS / 2 };
    for n in 1..=rounds {
        let coupling = coupling(&window);
        round(&mut *algorithm, &mut window, 100 * n, &coupling);
    }
    window.cwnd as f64 / MSS as f64 - segments as f64
}

#[test]
fn every_algorithm_doubles_in_slow_start_and_answers_loss() {
    // Threshold after a loss, as a part of the window; BBR keeps the flight size.
    let left = |kind| match kind {
        CongestionKind::Cubic => 0.7,
        CongestionKind::Bbr => 1.0,
        _ => 0.5,
    };
    for kind in CongestionKind::ALL {
        let mut algorithm = build(kind);
        let mut window = Window { cwnd: 10 * MSS, ssthresh: u64::MAX };
        let coupling = single(&window);
        if algorithm.uses_rate_samples() {
            window.cwnd = 20 * MSS;
        }
        round(&mut *algorithm, &mut window, 100, &coupling);
        // wVegas ends a round at the first acknowledgement and does not count it.
        assert!((19 * MSS - MSS..=20 * MSS).contains(&window.cwnd), "{kind}: {window:?}");
        algorithm.on_loss(&view(200, 20 * MSS), &mut window);
        let expected = (window.cwnd as f64 * left(kind)) as u64;
        assert_eq!(window.ssthresh, expected, "{kind}");
        algorithm.on_timeout(&view(300, 2 * MSS), &mut window);
        let least = if kind == CongestionKind::Bbr { 4 } else { 2 };
        assert_eq!((window.cwnd, window.ssthresh), (MSS, least * MSS), "{kind}");
    }
}

#[test]
fn coupled_algorithms_are_reno_over_one_path() {
    // RFC 6356: alpha is 1. Khalili et al.: 1/w per segment. Walid et al.: a = 1, so both factors
    // are 1.
    let reno_like = [
        CongestionKind::Reno,
        CongestionKind::Lia,
        CongestionKind::LinkedIncreases,
        CongestionKind::FullyCoupled,
        CongestionKind::Olia,
        CongestionKind::Balia,
        CongestionKind::EcMtcp,
    ];
    for kind in reno_like {
        let growth = growth(kind, 20, 10, single);
        assert!((growth - 10.0).abs() <= 1.0, "{kind}: {growth}");
    }
}

#[test]
fn uncoupled_algorithms_ignore_other_subflows() {
    for kind in CongestionKind::ALL.into_iter().filter(|&kind| !build(kind).is_coupled()) {
        let alone = growth(kind, 20, 3, single);
        assert_eq!(growth(kind, 20, 3, |_| beside(subflow(1, 500, 0.01))), alone, "{kind}");
    }
}

#[test]
fn without_coupling_no_linked_increase_takes_place() {
    for kind in [CongestionKind::Lia, CongestionKind::LinkedIncreases, CongestionKind::EcMtcp] {
        assert_eq!(growth(kind, 20, 3, |_| Coupling::default()), 0.0, "{kind}");
    }
}

#[test]
fn coupled_increases_match_the_formulas() {
    let costs = |own: f64, other: f64| {
        let own = CoupledSubflow { energy_cost: Some(own), ..subflow(0, 20, 0.1) };
        let other = CoupledSubflow { energy_cost: Some(other), ..subflow(1, 20, 0.1) };
        Coupling::new(PathId(0), vec![own, other])
    };
    // Bytes between losses of both paths.
    let losses = |own: u64, other: u64, subflow: CoupledSubflow| {
        let [a, b] = beside(subflow).subflows().try_into().expect("two subflows");
        let with = |s: CoupledSubflow, shared_value| CoupledSubflow { shared_value, ..s };
        Coupling::new(PathId(0), vec![with(a, own), with(b, other)])
    };
    let slow_beside_fast = || Coupling::new(PathId(0), vec![subflow(0, 20, 10.0), subflow(1, 10, 0.01)]);
    // The own rate is 20,000 / 0.1 = 200 kB/s. One round of twenty acknowledged segments grows the
    // window by twenty times the formula's increase.
    let table = [
        // Two equal paths: (w/r²) / (2w/r)² = 1/(4w), a quarter of a segment a round.
        (CongestionKind::Olia, beside(subflow(1, 20, 0.1)), 0.25),
        // Equal rates, the own path best and not largest of two: 1/2 more.
        (CongestionKind::Olia, losses(1000, 1, subflow(1, 40, 0.2)), 0.75),
        // The own path largest and not best: 1/2 less.
        (CongestionKind::Olia, losses(1, 1000, subflow(1, 10, 0.05)), -0.25),
        // The own path largest and best: nothing moves.
        (CongestionKind::Olia, losses(1000, 1, subflow(1, 10, 0.05)), 0.25),
        // Two equal paths: a = 1, as OLIA.
        (CongestionKind::Balia, beside(subflow(1, 20, 0.1)), 0.25),
        // The other is three times as fast, a = 3: 1/16 * (1+3)/2 * (4+3)/5 = 0.175.
        (CongestionKind::Balia, beside(subflow(1, 60, 0.1)), 0.175),
        // Equal windows: alpha = 1/2 by RFC 6356, 20 * 1/2 / 40.
        (CongestionKind::Lia, beside(subflow(1, 20, 0.1)), 0.25),
        (CongestionKind::LinkedIncreases, beside(subflow(1, 20, 0.1)), 0.25),
        // 20 / 40, whatever the round trips are.
        (CongestionKind::FullyCoupled, beside(subflow(1, 20, 0.1)), 0.5),
        (CongestionKind::FullyCoupled, beside(subflow(1, 60, 0.9)), 0.25),
        // The same paths, twice the cost here: alpha = 2w * 2w/r² / (2w/r)² = 1, halved: 20 * 1/2 /
        // 40.
        (CongestionKind::EcMtcp, costs(2.0, 1.0), 0.25),
        // Half the cost here: 20 * 1 / 40.
        (CongestionKind::EcMtcp, costs(1.0, 2.0), 0.5),
        // A fast path beside a slow one has a large alpha; the increase stays below TCP's.
        (CongestionKind::EcMtcp, slow_beside_fast(), 1.0),
        (CongestionKind::Lia, slow_beside_fast(), 1.0),
        // Without the bound: 20 * 10/0.01² / (20/10 + 10/0.01)².
        (CongestionKind::LinkedIncreases, slow_beside_fast(), 1.99),
    ];
    for (kind, coupling, expected) in table {
        let growth = growth(kind, 20, 1, |_| coupling.clone());
        let tolerance = 0.05 * f64::abs(expected) + 0.01;
        assert!((growth - expected).abs() < tolerance, "{kind}: {growth}, not {expected}");
    }
}

#[test]
fn balia_reduces_more_on_slower_paths() {
    // a = 1 takes half of the window, a = 1.2 takes 0.6, a = 3 takes the maximum of three quarters.
    // `ratio` times the own rate.
    let faster = |ratio: f64| CoupledSubflow { rate: ratio * 1e6, ..subflow(1, 0, 1.0) };
    for (ratio, left) in [(1.0, 0.5), (1.2, 0.4), (3.0, 0.25)] {
        let mut algorithm = build(CongestionKind::Balia);
        let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
        let coupling = Coupling::new(PathId(0), vec![subflow(0, 100, 0.1), faster(ratio)]);
        algorithm.on_ack(MSS, &view(100, 100 * MSS), &coupling, &mut window);
        algorithm.on_loss(&view(200, 100 * MSS), &mut window);
        assert!((window.ssthresh as f64 / (100_000.0 * left) - 1.0).abs() < 0.01, "{ratio}: {window:?}");
    }
}

#[test]
fn fully_coupled_loss_takes_half_of_all_windows() {
    // Own window and the other one, and what is left of the own: at least two segments.
    for (own, other, left) in [(60, 20, 20), (40, 40, 2), (20, 60, 2), (100, 0, 50)] {
        let mut algorithm = build(CongestionKind::FullyCoupled);
        let mut window = Window { cwnd: own * MSS, ssthresh: own * MSS };
        let coupling = Coupling::new(PathId(0), vec![subflow(0, own, 0.1), subflow(1, other, 0.1)]);
        algorithm.on_ack(MSS, &view(100, own * MSS), &coupling, &mut window);
        algorithm.on_loss(&view(200, own * MSS), &mut window);
        assert_eq!(window.ssthresh, left * MSS, "{own} beside {other}");
    }
}

#[test]
fn olia_shares_the_bytes_between_losses() {
    let mut algorithm = build(CongestionKind::Olia);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    let at = |una| SubflowView { una, ..view(100, 100 * MSS) };
    assert_eq!(algorithm.shared_value(70), 70);
    algorithm.on_loss(&at(100), &mut window);
    algorithm.on_loss(&at(400), &mut window);
    // 300 between the last two losses, until more are acknowledged since the last.
    assert_eq!(algorithm.shared_value(600), 300);
    assert_eq!(algorithm.shared_value(800), 400);
}

#[test]
fn wvegas_keeps_its_share_of_ten_segments_queued() {
    // 50 segments, lowest RTT 100 ms. A queueing delay of 25 ms means 50 * 25/125 = 10 queued
    // segments.
    let rounds = |rtt_ms: u64, total_rate: f64| {
        let mut algorithm = build(CongestionKind::WVegas);
        let mut window = Window { cwnd: 50 * MSS, ssthresh: 10 * MSS };
        let rtt = Duration::from_millis(rtt_ms);
        let coupling =
            Coupling::new(PathId(1), vec![CoupledSubflow { rate: total_rate, ..subflow(0, 0, 1.0) }]);
        for n in 1..=2 {
            let view = SubflowView { srtt: rtt, rtt: Some(rtt), ..view(200 * n, 50 * MSS) };
            algorithm.on_ack(MSS, &view, &coupling, &mut window);
        }
        window.cwnd / MSS
    };
    // Nothing or eight segments queued: below alpha. Twelve: above.
    assert_eq!(rounds(100, 0.0), 52);
    assert_eq!(rounds(119, 0.0), 52);
    assert_eq!(rounds(132, 0.0), 48);
    // Half of the rate is on another path: alpha is five, so eight are too many.
    assert_eq!(rounds(119, 2.0 * 50_000.0 / 0.119), 48);
    assert_eq!(rounds(110, 2.0 * 50_000.0 / 0.110), 52);
}

#[test]
fn wvegas_drains_a_doubled_queue() {
    let mut algorithm = build(CongestionKind::WVegas);
    let mut window = Window { cwnd: 50 * MSS, ssthresh: 10 * MSS };
    // The first round raises alpha from 2 to 10. The second finds 11 segments queued, the third 18.
    for (n, rtt_ms, expected) in [(1, 126, 49), (2, 130, 48), (3, 160, 14)] {
        let rtt = Duration::from_millis(rtt_ms);
        let view = SubflowView { srtt: rtt, rtt: Some(rtt), ..view(200 * n, 50 * MSS) };
        algorithm.on_ack(MSS, &view, &Coupling::default(), &mut window);
        // Third round: 47 after a step down, times 100 / (2 * 160).
        assert_eq!(window.cwnd / MSS, expected, "{rtt_ms} ms");
    }
    assert!(!window.in_slow_start());
}

#[test]
fn wvegas_leaves_slow_start_when_a_segment_queues() {
    let mut algorithm = build(CongestionKind::WVegas);
    let mut window = Window { cwnd: 40 * MSS, ssthresh: u64::MAX };
    let rtt = Duration::from_millis(125);
    let view = SubflowView { srtt: rtt, rtt: Some(rtt), ..view(200, 40 * MSS) };
    algorithm.on_ack(MSS, &view, &Coupling::default(), &mut window);
    // 40 * 100/125 without the queue, and one more.
    assert_eq!((window.cwnd, window.ssthresh), (33 * MSS, 33 * MSS));
}

#[test]
fn wvegas_ignores_queueing_within_its_own_burst() {
    // Ten acknowledgements a round, a millisecond apart: each segment queues behind its own burst.
    let after_rounds = |first_ms: u64| {
        let mut algorithm = build(CongestionKind::WVegas);
        let mut window = Window { cwnd: 40 * MSS, ssthresh: u64::MAX };
        for n in 0..40 {
            let rtt = Duration::from_millis(first_ms + n % 10);
            let srtt = Duration::from_millis(95);
            let view = SubflowView { srtt, rtt: Some(rtt), ..view(100 * (n / 10) + n % 10, 40 * MSS) };
            algorithm.on_ack(MSS, &view, &Coupling::default(), &mut window);
        }
        window.in_slow_start()
    };
    assert!(after_rounds(100));
    // If the first segment is delayed too, there is a queue.
    assert!(!after_rounds(105));
}

#[test]
fn lia_grows_each_of_two_equal_paths_a_quarter_as_fast() {
    // Equal windows w and round trips: alpha = 2w * (w/r²) / (2w/r)² = 1/2, and the increase on
    // each is alpha / total = 1/(4w) of a segment per segment: half a segment a round trip
    // together.
    let mut algorithm = build(CongestionKind::Lia);
    let mut window = Window { cwnd: 20 * MSS, ssthresh: 10 * MSS };
    let coupling = beside(subflow(1, 20, 0.1));
    for n in 1..=8 {
        round(&mut *algorithm, &mut window, 100 * n, &coupling);
    }
    let gained = window.cwnd as f64 / MSS as f64 - 20.0;
    assert!((gained - 2.0).abs() < 0.4, "{gained}");
}

#[test]
fn cubic_returns_to_its_plateau_after_k_seconds() {
    let mut algorithm = build(CongestionKind::Cubic);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    algorithm.on_loss(&view(0, 100 * MSS), &mut window);
    window.cwnd = window.ssthresh;
    // RFC 9438, Eq. 2: K = cbrt((100 - 70) / 0.4) = 4.22 s.
    let k_ms = 4217;
    let mut now = 100;
    while now < k_ms {
        round(&mut *algorithm, &mut window, now, &Coupling::default());
        now += 100;
    }
    let at_k = window.cwnd as f64 / MSS as f64;
    assert!((at_k - 100.0).abs() < 5.0, "{at_k}");
}

#[test]
fn names_parse_back() {
    for kind in CongestionKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
}

#[test]
fn cubic_starts_on_a_new_plateau_after_a_timeout() {
    // RFC 9438, section 4.8: K = 0 and W_max the window where congestion avoidance begins, so that
    // a second after it the curve is C segments above, and Reno's estimate leads.
    let mut algorithm = build(CongestionKind::Cubic);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    algorithm.on_timeout(&view(0, 100 * MSS), &mut window);
    assert_eq!((window.cwnd, window.ssthresh), (MSS, 70 * MSS));
    window.cwnd = window.ssthresh;
    for n in 1..=20 {
        round(&mut *algorithm, &mut window, 100 * n, &Coupling::default());
    }
    let at = window.cwnd as f64 / MSS as f64;
    // 0.4 * 2³ = 3.2 by the curve; Reno's half segment a round trip gives 10.
    assert!((at - 80.0).abs() < 2.0, "{at}");
}

#[test]
fn cubic_ignores_time_in_which_the_window_does_not_limit() {
    // RFC 9438, sections 4.2 and 5.8: the same acknowledgements, with a pause of three seconds in
    // which too little data is sent, or none.
    let run = |pause: Option<bool>| {
        let mut algorithm = build(CongestionKind::Cubic);
        let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
        algorithm.on_loss(&view(0, 100 * MSS), &mut window);
        window.cwnd = window.ssthresh;
        let mut now = 100;
        for n in 0..30 {
            if n == 15 && pause.is_some() {
                for _ in 0..30 {
                    if pause == Some(true) {
                        algorithm.on_limited_ack(&view(now, MSS));
                    }
                    now += 100;
                }
            }
            round(&mut *algorithm, &mut window, now, &Coupling::default());
            now += 100;
        }
        window.cwnd
    };
    assert_eq!(run(Some(true)), run(None));
    assert_eq!(run(Some(false)), run(None));
}

#[test]
fn cubic_restores_the_curve_after_a_spurious_reduction() {
    // RFC 9438, section 4.9: the curve continues as if there had been no reduction.
    let mut algorithm = build(CongestionKind::Cubic);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    algorithm.on_loss(&view(0, 100 * MSS), &mut window);
    window.cwnd = window.ssthresh;
    for n in 1..=10 {
        round(&mut *algorithm, &mut window, 100 * n, &Coupling::default());
    }
    let (mut undone, before) = (algorithm.clone(), window);
    let mut reduced = window;
    undone.on_timeout(&view(1050, window.cwnd), &mut reduced);
    undone.on_spurious_reduction(false);
    let mut after = before;
    for n in 11..=20 {
        round(&mut *algorithm, &mut window, 100 * n, &Coupling::default());
        round(&mut *undone, &mut after, 100 * n, &Coupling::default());
    }
    assert!(after.cwnd.abs_diff(window.cwnd) <= 1, "{after:?} {window:?}");
}

#[test]
fn olia_window_that_gives_way_to_a_better_path_stays_out_of_slow_start() {
    let mut algorithm = build(CongestionKind::Olia);
    let mut window = Window { cwnd: 20 * MSS, ssthresh: 20 * MSS };
    // The other path has the better quality and a smaller window.
    let coupling = beside(CoupledSubflow { shared_value: 1000, ..subflow(1, 19, 0.1) });
    for _ in 0..10 {
        round(&mut *algorithm, &mut window, 100, &coupling);
    }
    assert!(window.cwnd < 19 * MSS, "{window:?}");
    assert!(!window.in_slow_start(), "{window:?}");
}
