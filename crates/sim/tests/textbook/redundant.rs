//! Loss probability of the redundant scheduler.

use crate::bench::{Bench, fixed, multipath};
use link::{LinkConfig, Loss, QueueLimit};
use mptcp::{Config, CongestionKind, SchedulerKind};
use units::{Duration, Instant, Probability};

/// Share of one-segment messages that need a retransmission.
fn retransmitted_share(scheduler: SchedulerKind, messages: u64) -> f64 {
    let mut bench = Bench::new(1);
    let loss = Loss::Uniform(Probability::new(0.2).expect("from 0 to 1"));
    let lossy = LinkConfig { loss, ..fixed(10.0, QueueLimit::Unlimited, 0.0) };
    let paths = [(bench.link(&lossy), 50.0), (bench.link(&lossy), 50.0)];
    let max_rto = Duration::from_secs(1);
    let config =
        Config { scheduler: scheduler.into(), max_rto, max_retries: 100, ..multipath(CongestionKind::Reno) };
    let flow = bench.flow(config, Instant::ZERO, &paths, 0.0);
    bench.set_manual(flow);
    bench.run(Instant::from_secs(60));
    let mut retransmitted = 0;
    for n in 1..=messages {
        let at = Instant::from_secs(60 + 5 * n);
        bench.run(at);
        assert_eq!(bench.delivered(flow), (n - 1) * 1000, "an earlier message is missing");
        bench.write(flow, 1000);
        // The one-way delay is 25 ms, the minimum RTO 200 ms.
        bench.run(at + Duration::from_millis(30));
        retransmitted += u64::from(bench.delivered(flow) < n * 1000);
    }
    retransmitted as f64 / messages as f64
}

/// Independent losses multiply: on paths with 20 % loss, 4 % of the messages with a copy on each of
/// two paths need a retransmission, and 20 % of those with one copy. The tolerance for 5000
/// messages is three standard deviations: 0.008 and 0.017.
#[test]
fn loss_of_two_copies_is_the_product_of_the_loss_rates() {
    let (one, both) = (
        retransmitted_share(SchedulerKind::MinRtt, 5000),
        retransmitted_share(SchedulerKind::Redundant, 5000),
    );
    println!("one copy {one:.4}, two {both:.4}");
    assert!((one - 0.2).abs() < 0.017, "{one}");
    assert!((both - 0.04).abs() < 0.008, "{both}");
}
