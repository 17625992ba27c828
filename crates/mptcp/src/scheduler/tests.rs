use super::*;

pub(super) fn candidate(path: u8, rtt_ms: u64, cwnd: u64, queued: u64) -> Candidate {
    Candidate {
        path: PathId(path),
        srtt: Duration::from_millis(rtt_ms),
        rtt_variation: Duration::ZERO,
        mss: 1000,
        cwnd,
        ssthresh: 0,
        in_flight: 0,
        queued,
        room: cwnd.saturating_sub(queued),
    }
}

/// A piece of 1000 bytes is next.
pub(super) fn context(window: u64, unsent: u64) -> SchedulerContext {
    SchedulerContext { now: Instant::ZERO, len: 1000, unsent, sendable: u64::MAX, window }
}

/// Schedules up to ten pieces of 1000 bytes with a send window of 80,000; returns the bytes per
/// path.
pub(crate) fn schedule_ten(scheduler: &mut dyn Scheduler, mut candidates: Vec<Candidate>) -> Vec<u64> {
    for piece in 0..10 {
        let context = context(80_000, 1000 * (10 - piece));
        let Some(i) = scheduler.pick(&candidates, &context) else { break };
        scheduler.on_scheduled(candidates[i].path, 1000);
        candidates[i].queued += 1000;
        candidates[i].room = candidates[i].room.saturating_sub(1000);
    }
    candidates.iter().map(|c| c.queued).collect()
}

#[test]
fn each_scheduler_divides_ten_segments_as_expected() {
    let wifi_lte = || vec![candidate(0, 10, 4000, 0), candidate(1, 100, 40_000, 0)];
    let table = [
        (SchedulerKind::MinRtt, wifi_lte(), vec![4000, 6000]),
        (SchedulerKind::RoundRobin, wifi_lte(), vec![4000, 6000]),
        // Less than a burst stays on one path.
        (SchedulerKind::Linux, wifi_lte(), vec![10_000, 0]),
        (SchedulerKind::Share, wifi_lte(), vec![5000, 5000]),
        // Five windows of the fast path per round trip of the slow one are half the send window.
        (
            SchedulerKind::Blest,
            vec![candidate(0, 20, 4000, 0), candidate(1, 100, 40_000, 0)],
            vec![4000, 6000],
        ),
        (SchedulerKind::Blest, wifi_lte(), vec![4000, 0]),
        // The fast path alone takes 15 ms and a round trip, the slow one 15 ms.
        (SchedulerKind::Ecf, wifi_lte(), vec![4000, 6000]),
        (SchedulerKind::Ecf, vec![candidate(0, 10, 4000, 0), candidate(1, 100, 4000, 0)], vec![4000, 0]),
        (SchedulerKind::Redundant, wifi_lte(), vec![4000, 6000]),
        (SchedulerKind::RoundRobin, vec![candidate(3, 1, 2000, 0)], vec![2000]),
    ];
    for (kind, candidates, expected) in table {
        assert_eq!(schedule_ten(&mut *kind.build(), candidates), expected, "{kind}");
    }
}

#[test]
fn every_scheduler_fills_a_single_roomy_path_and_waits_without_candidates() {
    for kind in SchedulerKind::ALL {
        let mut scheduler = kind.build();
        assert_eq!(scheduler.pick(&[], &context(80_000, 1000)), None, "{kind}");
        assert_eq!(schedule_ten(&mut *scheduler, vec![candidate(3, 20, 40_000, 0)]), [10_000], "{kind}");
        // Two equal paths with room for all: every piece goes somewhere.
        let two = vec![candidate(0, 20, 40_000, 0), candidate(1, 20, 40_000, 0)];
        assert_eq!(schedule_ten(&mut *kind.build(), two).iter().sum::<u64>(), 10_000, "{kind}");
    }
}

#[test]
fn names_parse_back() {
    for kind in SchedulerKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
        assert_eq!(kind.name().parse::<SchedulerChoice>(), Ok(kind.into()));
    }
    assert_eq!("fastest".parse::<SchedulerKind>(), Err(UnknownName));
}

#[derive(Debug)]
struct AlwaysLast;

impl SchedulerFactory for AlwaysLast {
    fn name(&self) -> &'static str {
        "always-last"
    }
    fn build(&self) -> Box<dyn Scheduler> {
        Box::<round_robin::RoundRobin>::default()
    }
}

#[test]
fn custom_choices_are_equal_only_with_the_same_factory() {
    let factory = Arc::new(AlwaysLast);
    let choice = SchedulerChoice::from(Arc::clone(&factory));
    assert_eq!((choice.name(), choice.to_string().as_str()), ("always-last", "always-last"));
    assert_eq!(choice, SchedulerChoice::from(factory));
    assert_ne!(choice, SchedulerChoice::from(Arc::new(AlwaysLast)));
    assert_ne!(choice, SchedulerKind::RoundRobin);
}
