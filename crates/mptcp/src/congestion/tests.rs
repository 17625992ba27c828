use super::*;

const MSS: u64 = 1000;

fn view(now_ms: u64, in_flight: u64) -> View {
    let rtt = Duration::from_millis(100);
    View { now: Time::from_millis(now_ms), mss: MSS, srtt: rtt, in_flight, rtt: Some(rtt), min_rtt: rtt }
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
    Coupling { total_cwnd: window.cwnd, alpha: 1.0 }
}

#[test]
fn every_algorithm_doubles_in_slow_start_and_answers_loss() {
    for kind in CongestionKind::ALL {
        let mut algorithm = Algorithm::new(kind);
        let mut window = Window { cwnd: 10 * MSS, ssthresh: u64::MAX };
        let coupling = alone(&window);
        round(&mut algorithm, &mut window, 100, &coupling);
        assert_eq!(window.cwnd, 20 * MSS, "{kind}");
        algorithm.on_loss(&view(200, 20 * MSS), &mut window);
        let beta = if kind == CongestionKind::Cubic { 0.7 } else { 0.5 };
        assert_eq!(window.ssthresh, (20_000.0 * beta) as u64, "{kind}");
        algorithm.on_timeout(&view(300, 2 * MSS), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (MSS, 2 * MSS), "{kind}");
    }
}

#[test]
fn reno_and_uncoupled_lia_add_a_segment_a_round_trip() {
    for kind in [CongestionKind::Reno, CongestionKind::Lia] {
        let mut algorithm = Algorithm::new(kind);
        let mut window = Window { cwnd: 20 * MSS, ssthresh: 10 * MSS };
        for n in 1..=10 {
            let coupling = alone(&window);
            round(&mut algorithm, &mut window, 100 * n, &coupling);
        }
        let gained = window.cwnd as f64 / MSS as f64 - 20.0;
        assert!((gained - 10.0).abs() <= 1.0, "{kind}: {gained}");
    }
}

#[test]
fn lia_over_two_equal_paths_grows_each_a_quarter_as_fast() {
    // Equal windows w and round trips: alpha = 2w * (w/r²) / (2w/r)² = 1/2, and the increase on each
    // is alpha / total = 1/(4w) of a segment per segment: half a segment a round trip together.
    let mut algorithm = Algorithm::new(CongestionKind::Lia);
    let mut window = Window { cwnd: 20 * MSS, ssthresh: 10 * MSS };
    let coupling = Coupling { total_cwnd: 40 * MSS, alpha: 0.5 };
    for n in 1..=8 {
        round(&mut algorithm, &mut window, 100 * n, &coupling);
    }
    let gained = window.cwnd as f64 / MSS as f64 - 20.0;
    assert!((gained - 2.0).abs() < 0.4, "{gained}");
}

#[test]
fn cubic_returns_to_its_plateau_after_k_seconds() {
    let mut algorithm = Algorithm::new(CongestionKind::Cubic);
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
    let mut algorithm = Algorithm::new(CongestionKind::Cubic);
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
