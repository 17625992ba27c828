//! Copies over several paths.

use crate::bench::{Bench, fixed, multipath};
use link::{LinkConfig, Loss, QueueLimit};
use mptcp::{Config, CongestionKind, SchedulerKind};
use units::{Duration, Instant, Probability};

/// The share of messages of one segment that do not arrive by their first transmissions.
fn late(scheduler: SchedulerKind, messages: u64) -> f64 {
    let mut bench = Bench::new(1);
    let loss = Loss::Uniform(Probability::new(0.2).expect("from 0 to 1"));
    let lossy = LinkConfig { loss, ..fixed(10.0, QueueLimit::Unlimited, 0.0) };
    let paths = [(bench.link(&lossy), 50.0), (bench.link(&lossy), 50.0)];
    let max_rto = Duration::from_secs(1);
    let config = Config { scheduler, max_rto, max_retries: 100, ..multipath(CongestionKind::Reno) };
    let flow = bench.flow(config, Instant::ZERO, &paths, 0.0);
    bench.by_hand(flow);
    bench.run(Instant::from_secs(60));
    let mut late = 0;
    for n in 1..=messages {
        let at = Instant::from_secs(60 + 5 * n);
        bench.run(at);
        assert_eq!(bench.delivered(flow), (n - 1) * 1000, "what was before has arrived");
        bench.write(flow, 1000);
        // 25 ms there; nothing is sent again within 200 ms.
        bench.run(at + Duration::from_millis(30));
        late += u64::from(bench.delivered(flow) < n * 1000);
    }
    late as f64 / messages as f64
}

/// Independent losses multiply: with a copy of everything on each of two paths that lose 20 %, 4 % of the
/// messages need a repeat; with one copy 20 %. Of 5000 messages each, within three standard deviations:
/// 0.8 and 1.7 points.
#[test]
fn copies_over_two_paths_are_lost_with_the_product_of_their_losses() {
    let (one, both) = (late(SchedulerKind::MinRtt, 5000), late(SchedulerKind::Redundant, 5000));
    println!("one copy {one:.4}, two {both:.4}");
    assert!((one - 0.2).abs() < 0.017, "{one}");
    assert!((both - 0.04).abs() < 0.008, "{both}");
}
