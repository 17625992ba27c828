//! Throughput as a function of the loss rate.

use crate::bench::{Bench, TCP_PAYLOAD, fixed, mean, tcp};
use link::{LinkConfig, Loss, QueueLimit};
use mptcp::CongestionKind;
use units::{Instant, Probability};

/// A link with loss that is faster than any flow here.
fn lossy(p: f64) -> LinkConfig {
    let loss = Loss::Uniform(Probability::new(p).expect("from 0 to 1"));
    LinkConfig { loss, ..fixed(10_000.0, QueueLimit::Unlimited, 0.0) }
}

/// RTT of every flow, in milliseconds.
const RTT_MS: f64 = 100.0;

/// Loss of segments.
#[derive(Clone, Copy)]
enum Losses {
    /// Each segment is lost with this probability.
    Random(f64),
    /// Every `n`-th segment is lost.
    Periodic(u64),
}

/// Segments per second that one flow sends, segments per second that its receiver reads, and loss
/// indications per segment sent, over `seconds` after a warm-up.
fn rates(kind: CongestionKind, losses: Losses, seconds: u64, seed: u64) -> [f64; 3] {
    let mut bench = Bench::new(seed);
    let p = match losses {
        Losses::Random(p) => p,
        Losses::Periodic(period) => {
            bench.loss_period = period;
            0.0
        }
    };
    let link = bench.link(&lossy(p));
    bench.flow(tcp(kind), Instant::ZERO, &[(link, RTT_MS)], 0.0);
    bench.run(Instant::from_secs(50));
    let (sent, reductions) = (bench.sent(0), bench.reductions(0));
    let arrived = bench.goodput(50, 50 + seconds)[0] * 1e6 / 8.0 / TCP_PAYLOAD;
    let sent = (bench.sent(0) - sent) as f64;
    [sent / seconds as f64, arrived, (bench.reductions(0) - reductions) as f64 / sent]
}

/// Padhye, Firoiu, Towsley, Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical
/// Validation", SIGCOMM 1998: send rate of the full model (Eq. 32, from Eqs. 13, 24 and 29) in
/// segments per second, without a limit by the receiver.
fn pftk(p: f64, rtt: f64, t0: f64) -> f64 {
    // Byte counting makes delayed acknowledgements irrelevant: b = 1.
    let b = 1.0;
    let third = (2.0 + b) / (3.0 * b);
    let q = 1.0 - p;
    let w = third + (8.0 * q / (3.0 * b * p) + third * third).sqrt();
    let cube = q * q * q;
    let last = (1.0 - cube) * (1.0 + cube * (1.0 - libm::pow(q, w - 3.0))) / (1.0 - libm::pow(q, w));
    let timeout = last.min(1.0);
    let powers: f64 = (0..6).map(|n| f64::from(1 << n) * libm::pow(p, f64::from(n + 1))).sum();
    (q / p + w + timeout / q) / (rtt * (b / 2.0 * w + 1.0) + timeout * t0 * (1.0 + powers) / q)
}

/// Reno with SACK and byte counting (RFC 3465), so that b = 1. The RTT is 100 ms, and T0 is the
/// minimum timeout of 200 ms. The rate is within 15 % of the model from 0.01 % to 3 % loss.
///
/// The `p` of the model is the rate of loss indications: only the first lost packet of a round
/// counts. As in the paper (section III) it is measured as indications over packets sent. At 3 %
/// independent loss there are four indications for five losses.
#[test]
fn reno_send_rate_matches_the_pftk_model() {
    for (p, span) in [(1e-4, 1000), (3e-4, 600), (1e-3, 600), (3e-3, 600), (1e-2, 600), (3e-2, 600)] {
        let runs: Vec<_> =
            (1..=2).map(|seed| rates(CongestionKind::Reno, Losses::Random(p), span, seed)).collect();
        let mean = |n: usize| runs.iter().map(|run| run[n]).sum::<f64>() / runs.len() as f64;
        let (sent, indications) = (mean(0), mean(2));
        let model = pftk(indications, 0.1, 0.2);
        println!("loss {p}: {sent:.1} segments/s, PFTK {model:.1}, {:.3}", sent / model);
        assert!((sent / model - 1.0).abs() < 0.15, "{p}: {sent} against {model}");
    }
}

/// Ott, Kemperman, Mathis, "The Stationary Behavior of Ideal TCP Congestion Avoidance", 1996: with
/// independent losses the mean window is 1.3098 / sqrt(p). The received rate matches within 4 % at
/// loss rates with few timeouts.
#[test]
fn reno_mean_window_under_random_loss_matches_ott() {
    for p in [1e-3, 3e-3] {
        let seeds = 1..=4;
        let window = mean(seeds, |seed| rates(CongestionKind::Reno, Losses::Random(p), 400, seed)[1] * 0.1);
        let theory = 1.3098 / p.sqrt();
        println!("loss {p}: window {window:.1}, Ott et al. {theory:.1}");
        assert!((window / theory - 1.0).abs() < 0.04, "{p}: {window} against {theory}");
    }
}

/// Mathis, Semke, Mahdavi, Ott 1997 (also RFC 9438, Table 1, column Reno): with periodic loss the
/// mean window is sqrt(3/2 / p), within 3 %.
#[test]
fn reno_mean_window_under_periodic_loss_matches_mathis() {
    for period in [100, 1000, 10_000] {
        let p = 1.0 / period as f64;
        let window = rates(CongestionKind::Reno, Losses::Periodic(period), 300, 1)[1] * 0.1;
        let theory = (1.5 / p).sqrt();
        println!("one in {period}: window {window:.1}, Mathis et al. {theory:.1}");
        assert!((window / theory - 1.0).abs() < 0.03, "{period}: {window} against {theory}");
    }
}

/// RFC 9438, section 5 and Table 1: with periodic loss, RTT 0.1 s and C = 0.4 the mean window is
/// 1.054 (RTT / p)^(3/4) (Figure 8), or the window of Reno if that is larger (section 4.3). The
/// tolerance is 12 % in the cubic region and 5 % in the Reno region. The function ignores fast
/// convergence (section 4.7), which lowers the plateau after every second cycle here.
#[test]
fn cubic_mean_window_matches_the_response_function() {
    for (period, span, tolerance) in
        [(100, 300, 0.05), (1000, 300, 0.05), (10_000, 400, 0.12), (30_000, 600, 0.12)]
    {
        let p = 1.0 / period as f64;
        let window = rates(CongestionKind::Cubic, Losses::Periodic(period), span, 1)[1] * 0.1;
        let cubic = 1.054 * libm::pow(0.1 / p, 0.75);
        let theory = cubic.max((1.5 / p).sqrt());
        println!("one in {period}: window {window:.1}, RFC 9438 {theory:.1}");
        assert!((window / theory - 1.0).abs() < tolerance, "{period}: {window} against {theory}");
    }
}
