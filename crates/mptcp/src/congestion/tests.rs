use super::*;

const MSS: u64 = 1000;

fn view(now_ms: u64, in_flight: u64) -> View {
    let rtt = Duration::from_millis(100);
    View {
        now: Instant::from_millis(now_ms),
        mss: MSS,
        srtt: rtt,
        in_flight,
        rtt: Some(rtt),
        min_rtt: rtt,
        una: 0,
        recovering: false,
    }
}

/// One round trip: a window's worth of acknowledgements, two segments each.
fn round(algorithm: &mut Algorithm, window: &mut Window, now_ms: u64, coupling: &Coupling) {
    let cwnd = window.cwnd;
    for _ in 0..cwnd / (2 * MSS) {
        algorithm.on_ack(2 * MSS, &view(now_ms, cwnd), coupling, window);
    }
}

fn alone(window: &Window) -> Coupling {
    // RFC 6356: over one path alpha is 1 and the algorithm is NewReno.
    let rate = window.cwnd as f64 / 0.1;
    Coupling {
        total_cwnd: window.cwnd,
        alpha: 1.0,
        total_rate: rate,
        best_rate: rate,
        shift: 0.0,
        thrift: 1.0,
    }
}

/// Segments by which `rounds` round trips grow a window of `segments` in congestion avoidance.
fn gained(kind: CongestionKind, segments: u64, rounds: u64, coupling: impl Fn(&Window) -> Coupling) -> f64 {
    let mut algorithm = Algorithm::new(kind, false);
    let mut window = Window { cwnd: segments * MSS, ssthresh: segments * MSS / 2 };
    for n in 1..=rounds {
        let coupling = coupling(&window);
        round(&mut algorithm, &mut window, 100 * n, &coupling);
    }
    window.cwnd as f64 / MSS as f64 - segments as f64
}

#[test]
fn every_algorithm_doubles_in_slow_start_and_answers_loss() {
    // What is left of the threshold after a loss; BBR keeps what is in flight.
    let left = |kind| match kind {
        CongestionKind::Cubic => 0.7,
        CongestionKind::Bbr => 1.0,
        _ => 0.5,
    };
    for kind in CongestionKind::ALL {
        let mut algorithm = Algorithm::new(kind, false);
        let mut window = Window { cwnd: 10 * MSS, ssthresh: u64::MAX };
        let coupling = alone(&window);
        if algorithm.wants_samples() {
            window.cwnd = 20 * MSS;
        }
        round(&mut algorithm, &mut window, 100, &coupling);
        // wVegas looks at the round's first acknowledgement and does not count it.
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
fn over_one_path_the_coupled_ones_are_reno() {
    // RFC 6356: alpha is 1. Khalili et al.: 1/w per segment. Walid et al.: a = 1, so both factors are 1.
    let reno_like = [
        CongestionKind::Reno,
        CongestionKind::Lia,
        CongestionKind::Olia,
        CongestionKind::Balia,
        CongestionKind::EcMtcp,
    ];
    for kind in reno_like {
        let gained = gained(kind, 20, 10, alone);
        assert!((gained - 10.0).abs() <= 1.0, "{kind}: {gained}");
    }
}

#[test]
fn coupled_increases_by_hand() {
    // 20 segments and 100 ms here: x = 20,000 / 0.1 = 200 kB/s. One round of twenty acknowledged segments
    // grows the window by twenty times the formula's increase.
    let here = 200e3;
    let rates = |total: f64, best: f64, shift: f64| Coupling {
        total_rate: total,
        best_rate: best,
        shift,
        ..Coupling::default()
    };
    let linked = |total_segments: u64, alpha, thrift| Coupling {
        total_cwnd: total_segments * MSS,
        alpha,
        thrift,
        ..Coupling::default()
    };
    let table = [
        // Two equal paths: (w/r²) / (2w/r)² = 1/(4w), a quarter of a segment a round.
        (CongestionKind::Olia, rates(2.0 * here, here, 0.0), 0.25),
        // And it is best but not largest of two: 1/2 more; or largest and not best: 1/2 less.
        (CongestionKind::Olia, rates(2.0 * here, here, 0.5), 0.75),
        (CongestionKind::Olia, rates(2.0 * here, here, -0.5), -0.25),
        // Two equal paths: a = 1, as OLIA.
        (CongestionKind::Balia, rates(2.0 * here, here, 0.0), 0.25),
        // The other is three times as fast, a = 3: 1/16 * (1+3)/2 * (4+3)/5 = 0.175.
        (CongestionKind::Balia, rates(4.0 * here, 3.0 * here, 0.0), 0.175),
        // Equal windows: alpha = 1/2 by RFC 6356, 20 * 1/2 / 40.
        (CongestionKind::Lia, linked(40, 0.5, 1.0), 0.25),
        // The same paths, twice as dear here: alpha = 2w * 2w/r² / (2w/r)² = 1, halved here: 20 * 1/2 / 40.
        (CongestionKind::EcMtcp, linked(40, 1.0, 0.5), 0.25),
        // And on the other, which is cheap: 20 * 1 / 40.
        (CongestionKind::EcMtcp, linked(40, 1.0, 1.0), 0.5),
        // No more than a TCP, whatever alpha.
        (CongestionKind::EcMtcp, linked(40, 100.0, 1.0), 1.0),
    ];
    for (kind, coupling, expected) in table {
        let got = gained(kind, 20, 1, |_| coupling);
        assert!((got - expected).abs() < 0.05 * expected.abs() + 0.01, "{kind}: {got}, not {expected}");
    }
}

#[test]
fn balia_gives_way_more_on_its_slower_paths() {
    // a = 1: half; a = 1.2: 0.6 of it goes; a = 3: no more than three quarters.
    for (ratio, left) in [(1.0, 0.5), (1.2, 0.4), (3.0, 0.25)] {
        let mut algorithm = Algorithm::new(CongestionKind::Balia, false);
        let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
        let coupling = Coupling { total_rate: 2e6, best_rate: ratio * 1e6, ..Coupling::default() };
        algorithm.on_ack(MSS, &view(100, 100 * MSS), &coupling, &mut window);
        algorithm.on_loss(&view(200, 100 * MSS), &mut window);
        assert!((window.ssthresh as f64 / (100_000.0 * left) - 1.0).abs() < 0.01, "{ratio}: {window:?}");
    }
}

#[test]
fn olia_knows_how_much_came_between_losses() {
    let mut algorithm = Algorithm::new(CongestionKind::Olia, false);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    let at = |una| View { una, ..view(100, 100 * MSS) };
    assert_eq!(algorithm.between_losses(70), 70);
    algorithm.on_loss(&at(100), &mut window);
    algorithm.on_loss(&at(400), &mut window);
    // 300 between the last two, until more have come since.
    assert_eq!(algorithm.between_losses(600), 300);
    assert_eq!(algorithm.between_losses(800), 400);
}

#[test]
fn wvegas_keeps_its_share_of_ten_segments_waiting() {
    // 50 segments at a lowest round trip of 100 ms. With 25 ms of queue 50 * 25/125 = 10 wait.
    let rounds = |rtt_ms: u64, total_rate: f64| {
        let mut algorithm = Algorithm::new(CongestionKind::WVegas, false);
        let mut window = Window { cwnd: 50 * MSS, ssthresh: 10 * MSS };
        let rtt = Duration::from_millis(rtt_ms);
        let coupling = Coupling { total_rate, ..Coupling::default() };
        for n in 1..=2 {
            let view = View { srtt: rtt, rtt: Some(rtt), ..view(200 * n, 50 * MSS) };
            algorithm.on_ack(MSS, &view, &coupling, &mut window);
        }
        window.cwnd / MSS
    };
    // Nothing waits, or eight: room for more. Twelve: too much.
    assert_eq!(rounds(100, 0.0), 52);
    assert_eq!(rounds(119, 0.0), 52);
    assert_eq!(rounds(132, 0.0), 48);
    // Half the rate goes elsewhere: five may wait here, and eight are too much.
    assert_eq!(rounds(119, 2.0 * 50_000.0 / 0.119), 48);
    assert_eq!(rounds(110, 2.0 * 50_000.0 / 0.110), 52);
}

#[test]
fn wvegas_drains_a_queue_that_has_doubled() {
    let mut algorithm = Algorithm::new(CongestionKind::WVegas, false);
    let mut window = Window { cwnd: 50 * MSS, ssthresh: 10 * MSS };
    // The first round raises alpha from 2 to 10. Then 11 wait, and then 18.
    for (n, rtt_ms, expected) in [(1, 126, 49), (2, 130, 48), (3, 160, 14)] {
        let rtt = Duration::from_millis(rtt_ms);
        let view = View { srtt: rtt, rtt: Some(rtt), ..view(200 * n, 50 * MSS) };
        algorithm.on_ack(MSS, &view, &Coupling::default(), &mut window);
        // The third: 47 after a step down, times 100 / (2 * 160).
        assert_eq!(window.cwnd / MSS, expected, "{rtt_ms} ms");
    }
    assert!(!window.in_slow_start());
}

#[test]
fn wvegas_leaves_slow_start_when_a_segment_waits() {
    let mut algorithm = Algorithm::new(CongestionKind::WVegas, false);
    let mut window = Window { cwnd: 40 * MSS, ssthresh: u64::MAX };
    let rtt = Duration::from_millis(125);
    let view = View { srtt: rtt, rtt: Some(rtt), ..view(200, 40 * MSS) };
    algorithm.on_ack(MSS, &view, &Coupling::default(), &mut window);
    // 40 * 100/125 without the queue, and one.
    assert_eq!((window.cwnd, window.ssthresh), (33 * MSS, 33 * MSS));
}

#[test]
fn wvegas_takes_no_burst_of_its_own_for_a_queue() {
    // Ten answers a round, a millisecond apart, for each segment waits for those of its burst before it.
    let after_rounds = |first_ms: u64| {
        let mut algorithm = Algorithm::new(CongestionKind::WVegas, false);
        let mut window = Window { cwnd: 40 * MSS, ssthresh: u64::MAX };
        for n in 0..40 {
            let rtt = Duration::from_millis(first_ms + n % 10);
            let srtt = Duration::from_millis(95);
            let view = View { srtt, rtt: Some(rtt), ..view(100 * (n / 10) + n % 10, 40 * MSS) };
            algorithm.on_ack(MSS, &view, &Coupling::default(), &mut window);
        }
        window.in_slow_start()
    };
    assert!(after_rounds(100));
    // Where the first of them waits too, there is a queue.
    assert!(!after_rounds(105));
}

#[test]
fn lia_over_two_equal_paths_grows_each_a_quarter_as_fast() {
    // Equal windows w and round trips: alpha = 2w * (w/r²) / (2w/r)² = 1/2, and the increase on each
    // is alpha / total = 1/(4w) of a segment per segment: half a segment a round trip together.
    let mut algorithm = Algorithm::new(CongestionKind::Lia, false);
    let mut window = Window { cwnd: 20 * MSS, ssthresh: 10 * MSS };
    let coupling = Coupling { total_cwnd: 40 * MSS, alpha: 0.5, ..Coupling::default() };
    for n in 1..=8 {
        round(&mut algorithm, &mut window, 100 * n, &coupling);
    }
    let gained = window.cwnd as f64 / MSS as f64 - 20.0;
    assert!((gained - 2.0).abs() < 0.4, "{gained}");
}

#[test]
fn cubic_returns_to_its_plateau_after_k_seconds() {
    let mut algorithm = Algorithm::new(CongestionKind::Cubic, false);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    algorithm.on_loss(&view(0, 100 * MSS), &mut window);
    window.cwnd = window.ssthresh;
    // RFC 9438, Eq. 2: K = cbrt((100 - 70) / 0.4) = 4.22 s.
    let k_ms = 4217;
    let mut now = 100;
    while now < k_ms {
        round(&mut algorithm, &mut window, now, &Coupling::default());
        now += 100;
    }
    let at_k = window.cwnd as f64 / MSS as f64;
    assert!((at_k - 100.0).abs() < 5.0, "{at_k}");
}

#[test]
fn names_read_back() {
    for kind in CongestionKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
}

#[test]
fn cubic_after_a_timeout_starts_on_a_new_plateau() {
    // RFC 9438, section 4.8: K = 0 and W_max the window where congestion avoidance begins, so that a
    // second after it the curve is C segments above, and Reno's estimate leads.
    let mut algorithm = Algorithm::new(CongestionKind::Cubic, false);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    algorithm.on_timeout(&view(0, 100 * MSS), &mut window);
    assert_eq!((window.cwnd, window.ssthresh), (MSS, 70 * MSS));
    window.cwnd = window.ssthresh;
    for n in 1..=20 {
        round(&mut algorithm, &mut window, 100 * n, &Coupling::default());
    }
    let at = window.cwnd as f64 / MSS as f64;
    // 0.4 * 2³ = 3.2 by the curve; Reno's half segment a round trip gives 10.
    assert!((at - 80.0).abs() < 2.0, "{at}");
}

#[test]
fn cubic_counts_no_time_in_which_the_window_was_not_needed() {
    // RFC 9438, sections 4.2 and 5.8: the same acknowledgements, with three seconds of too little data
    // or of none between them.
    let run = |pause: Option<bool>| {
        let mut algorithm = Algorithm::new(CongestionKind::Cubic, false);
        let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
        algorithm.on_loss(&view(0, 100 * MSS), &mut window);
        window.cwnd = window.ssthresh;
        let mut now = 100;
        for n in 0..30 {
            if n == 15 && pause.is_some() {
                for _ in 0..30 {
                    if pause == Some(true) {
                        algorithm.on_unused(&view(now, MSS));
                    }
                    now += 100;
                }
            }
            round(&mut algorithm, &mut window, now, &Coupling::default());
            now += 100;
        }
        window.cwnd
    };
    assert_eq!(run(Some(true)), run(None));
    assert_eq!(run(Some(false)), run(None));
}

#[test]
fn cubic_takes_back_what_a_wrong_reduction_changed() {
    // RFC 9438, section 4.9: the curve goes on as if nothing had been.
    let mut algorithm = Algorithm::new(CongestionKind::Cubic, false);
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS };
    algorithm.on_loss(&view(0, 100 * MSS), &mut window);
    window.cwnd = window.ssthresh;
    for n in 1..=10 {
        round(&mut algorithm, &mut window, 100 * n, &Coupling::default());
    }
    let (mut undone, before) = (algorithm.clone(), window);
    let mut spoilt = window;
    undone.on_timeout(&view(1050, window.cwnd), &mut spoilt);
    undone.on_undo(false);
    let mut after = before;
    for n in 11..=20 {
        round(&mut algorithm, &mut window, 100 * n, &Coupling::default());
        round(&mut undone, &mut after, 100 * n, &Coupling::default());
    }
    assert!(after.cwnd.abs_diff(window.cwnd) <= 1, "{after:?} {window:?}");
}
