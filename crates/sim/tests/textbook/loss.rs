//! Throughput as a function of loss.

use crate::bench::{Bench, TCP_PAYLOAD, fixed, mean, tcp};
use link::{LinkConfig, Loss, QueueLimit};
use mptcp::CongestionKind;
use units::{Instant, Probability};

/// A link that no flow here can fill, with loss.
fn lossy(p: f64) -> LinkConfig {
    let loss = Loss::Uniform(Probability::new(p).expect("from 0 to 1"));
    LinkConfig { loss, ..fixed(10_000.0, QueueLimit::Unlimited, 0.0) }
}

/// Segments a second that one flow sends, those that its receiver has in order, and loss indications per
/// segment sent, after a warm-up. One of `every` segments is lost, and each with probability `p`.
fn rates(kind: CongestionKind, p: f64, every: u64, rtt_ms: f64, span: u64, seed: u64) -> [f64; 3] {
    let mut bench = Bench::new(seed);
    bench.lose_every = every;
    let link = bench.link(&lossy(p));
    bench.flow(tcp(kind), Instant::ZERO, &[(link, rtt_ms)], 0.0);
    bench.run(Instant::from_secs(50));
    let (sent, reductions) = (bench.sent(0), bench.reductions(0));
    let arrived = bench.goodput(50, 50 + span)[0] * 1e6 / 8.0 / TCP_PAYLOAD;
    let sent = (bench.sent(0) - sent) as f64;
    [sent / span as f64, arrived, (bench.reductions(0) - reductions) as f64 / sent]
}

/// Padhye, Firoiu, Towsley, Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical
/// Validation", SIGCOMM 1998: the full model's send rate (Eq. 32, of Eqs. 13, 24 and 29) in segments a
/// second, without a limit by the receiver.
fn pftk(p: f64, rtt: f64, t0: f64) -> f64 {
    // Every acknowledged segment counts, delayed acknowledgements or not.
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

/// Reno with SACK and byte counting, so that delayed acknowledgements would not slow it (RFC 3465): b = 1.
/// RTT is 100 ms, always, and T0 the least timeout of 200 ms. Within 15 % of PFTK from 0.01 % to 3 %.
///
/// The model's `p` is the rate of loss indications: of the packets of a round only the first lost one
/// counts, and the authors estimate it in measurements as indications over packets sent (section III).
/// Losses here are independent, and at 3 % there are four indications for five of them, so `p` is
/// counted as the authors do. Taken for `p` the loss rate would put the model 19 % low at 3 %, and
/// within 14 % elsewhere.
#[test]
fn reno_sends_as_padhyes_model_says() {
    for (p, span) in [(1e-4, 1000), (3e-4, 600), (1e-3, 600), (3e-3, 600), (1e-2, 600), (3e-2, 600)] {
        let runs: Vec<_> = (1..=2).map(|seed| rates(CongestionKind::Reno, p, 0, 100.0, span, seed)).collect();
        let mean = |n: usize| runs.iter().map(|run| run[n]).sum::<f64>() / runs.len() as f64;
        let (sent, indications) = (mean(0), mean(2));
        let model = pftk(indications, 0.1, 0.2);
        println!("loss {p}: {sent:.1} segments/s, PFTK {model:.1}, {:.3}", sent / model);
        assert!((sent / model - 1.0).abs() < 0.15, "{p}: {sent} against {model}");
    }
}

/// Ott, Kemperman, Mathis, "The Stationary Behavior of Ideal TCP Congestion Avoidance", 1996: with
/// independent losses the mean window is 1.3098 / sqrt(p). Within 4 %, of what arrives, where timeouts
/// are rare.
#[test]
fn renos_mean_window_is_otts_constant_over_the_root_of_loss() {
    for p in [1e-3, 3e-3] {
        let seeds = 1..=4;
        let window = mean(seeds, |seed| rates(CongestionKind::Reno, p, 0, 100.0, 400, seed)[1] * 0.1);
        let theory = 1.3098 / p.sqrt();
        println!("loss {p}: window {window:.1}, Ott et al. {theory:.1}");
        assert!((window / theory - 1.0).abs() < 0.04, "{p}: {window} against {theory}");
    }
}

/// Mathis, Semke, Mahdavi, Ott 1997 (also RFC 9438, Table 1, column Reno): where one in so many packets
/// is lost, regularly, the mean window is sqrt(3/2 / p). Within 3 %.
#[test]
fn reno_with_regular_loss_follows_the_square_root() {
    for every in [100, 1000, 10_000] {
        let p = 1.0 / every as f64;
        let window = rates(CongestionKind::Reno, 0.0, every, 100.0, 300, 1)[1] * 0.1;
        let theory = (1.5 / p).sqrt();
        println!("one in {every}: window {window:.1}, Mathis et al. {theory:.1}");
        assert!((window / theory - 1.0).abs() < 0.03, "{every}: {window} against {theory}");
    }
}

/// RFC 9438, section 5: with one loss in `1/p` packets, RTT 0.1 s and C = 0.4 the mean window is
/// 1.054 (RTT / p)^(3/4) (Figure 8), or Reno's where that is larger (section 4.3); Table 1 there. Within 12 % in
/// the cubic region, 5 % in Reno's. The function leaves fast convergence (section 4.7) out, which lowers the
/// plateau after each cycle that ends below it, here every second one; without it the windows are 11 to 14 %
/// above the function for hundreds of seconds, for nothing else brings a plateau down that was once too high.
#[test]
fn cubic_follows_its_response_function() {
    for (every, span, within) in
        [(100, 300, 0.05), (1000, 300, 0.05), (10_000, 400, 0.12), (30_000, 600, 0.12)]
    {
        let p = 1.0 / every as f64;
        let window = rates(CongestionKind::Cubic, 0.0, every, 100.0, span, 1)[1] * 0.1;
        let cubic = 1.054 * libm::pow(0.1 / p, 0.75);
        let theory = cubic.max((1.5 / p).sqrt());
        println!("one in {every}: window {window:.1}, RFC 9438 {theory:.1}");
        assert!((window / theory - 1.0).abs() < within, "{every}: {window} against {theory}");
    }
}
