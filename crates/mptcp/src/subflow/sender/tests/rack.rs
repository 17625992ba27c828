//! RACK-TLP (RFC 8985).

use super::*;

/// A sender with `segments` segments in flight, sent one millisecond apart.
fn spaced(segments: u64) -> Sender<Span> {
    let mut s = sender_with(&Config { rack: true, min_rto: Duration::from_millis(200), ..config() }, true);
    for n in 0..segments {
        assert_eq!(send(&mut s, after(n)), Some(n));
    }
    s
}

/// Time of the next timer after `T0`, in milliseconds.
fn timer(s: &Sender<Span>) -> u64 {
    s.next_timeout().since(T0).as_nanos().div_ceil(1_000_000)
}

#[test]
fn three_segments_above_mean_loss_without_reordering() {
    let mut s = spaced(10);
    ack(&mut s, after(101), 0, &[(1, 2)]);
    ack(&mut s, after(102), 0, &[(1, 3)]);
    assert_eq!(retransmit(&mut s, after(102)), None);
    ack(&mut s, after(103), 0, &[(1, 4)]);
    assert_eq!(retransmit(&mut s, after(103)), Some(0));
    assert_eq!(retransmit(&mut s, after(103)), None);
}

#[test]
fn segment_is_lost_after_the_reordering_window() {
    // Two segments above the hole are too few for duplicate acknowledgements.
    let mut s = spaced(3);
    ack(&mut s, after(101), 0, &[(1, 2)]);
    ack(&mut s, after(102), 0, &[(1, 3)]);
    assert_eq!(retransmit(&mut s, after(102)), None);
    // Sending time of the third, its round trip, and a quarter of the lowest round trip.
    assert_eq!(timer(&s), 2 + 100 + 25);
    assert!(!s.expire(after(126)));
    assert!(s.expire(after(127)));
    assert_eq!(retransmit(&mut s, after(127)), Some(0));
    assert_eq!(s.cwnd.ssthresh(), 2 * MSS);
}

#[test]
fn reordered_segment_is_not_retransmitted() {
    let mut s = spaced(10);
    // The first segment arrives after the second and third: the path reorders.
    ack(&mut s, after(101), 0, &[(1, 2)]);
    ack(&mut s, after(102), 0, &[(1, 3)]);
    ack(&mut s, after(103), 3, &[]);
    // Three segments above a hole no longer mean loss.
    for last in 5..9 {
        ack(&mut s, after(100 + last), 3, &[(4, last + 1)]);
        assert_eq!(retransmit(&mut s, after(100 + last)), None);
    }
    ack(&mut s, after(110), 9, &[]);
    assert_eq!((s.retransmissions(), s.scoreboard.lost_total()), (0, 0));
}

#[test]
fn reordering_window_grows_with_dsack_and_shrinks_later() {
    let mut s = spaced(40);
    let at = |s: &mut Sender<Span>, ms: u64, segments: u64, blocks: &[(u64, u64)]| {
        ack(s, after(ms), segments, blocks);
        Some(s.timers.expiry(Timer::Reordering))
            .filter(|&at| at < Instant::MAX)
            .map(|at| at.since(T0).as_millis())
    };
    at(&mut s, 101, 0, &[(1, 2)]);
    at(&mut s, 102, 2, &[]);
    assert_eq!(at(&mut s, 105, 3, &[(4, 5)]), Some(4 + 101 + 25));
    // A second duplicate SACK within the round trip changes nothing.
    assert_eq!(at(&mut s, 106, 3, &[(0, 1), (4, 6)]), Some(5 + 101 + 50));
    assert_eq!(at(&mut s, 107, 3, &[(1, 2), (4, 7)]), Some(6 + 101 + 50));
    for _ in 0..16 {
        s.rack.as_mut().unwrap().on_recovered();
    }
    assert_eq!(at(&mut s, 108, 3, &[(4, 8)]), Some(7 + 101 + 25));
}

#[test]
fn lost_retransmission_is_detected_by_later_segments() {
    let mut s = spaced(10);
    ack(&mut s, after(103), 0, &[(1, 4)]);
    assert_eq!(retransmit(&mut s, after(103)), Some(0));
    ack(&mut s, after(109), 0, &[(1, 10)]);
    assert_eq!(send(&mut s, after(110)), Some(10));
    // A segment sent after the retransmission arrives before it.
    ack(&mut s, after(215), 0, &[(1, 11)]);
    assert_eq!(retransmit(&mut s, after(215)), Some(0));
    assert_eq!(retransmit(&mut s, after(215)), None);
    ack(&mut s, after(320), 11, &[]);
    assert_eq!((s.pipe(), s.flight()), (0, 0));
}

#[test]
fn lost_tail_is_found_by_a_probe() {
    let mut s = spaced(10);
    ack(&mut s, after(106), 6, &[]);
    // Two round trips after the last acknowledgement, long before the retransmission timer.
    let probe = timer(&s);
    assert!((106 + 199..106 + 205).contains(&probe), "{probe}");
    assert!(s.expire(after(probe)));
    assert_eq!(retransmit(&mut s, after(probe)), None);
    assert_eq!(s.rescue(after(probe)).map(|(offset, _)| offset / MSS), Some(9));
    assert_eq!(s.check_invariants(), Ok(()));
    // The probe arrives; the three segments sent long before it have not.
    ack(&mut s, after(probe + 100), 6, &[(9, 10)]);
    assert_eq!(s.scoreboard.lost(), 3 * MSS);
    assert_eq!(retransmit(&mut s, after(probe + 100)), Some(6));
    assert_eq!(s.timeouts(), 0);
}

#[test]
fn probe_with_new_data_ignores_the_window() {
    let mut s = sender_with(&Config { rack: true, initial_window: 4, ..config() }, true);
    while send(&mut s, T0).is_some() {}
    assert_eq!((s.flight(), s.queued()), (4 * MSS, MSS));
    let at = s.next_timeout();
    assert!(s.expire(at));
    assert_eq!(send(&mut s, at), Some(4));
    assert_eq!(send(&mut s, at), None);
    // One probe at a time: only the retransmission timer is left.
    assert_eq!(s.next_timeout(), s.timers.expiry(Timer::Retransmission));
}

/// A sender with two segments in flight, the second of which was sent again as a probe.
fn probed() -> Sender<Span> {
    let mut s = spaced(2);
    ack(&mut s, after(100), 1, &[]);
    assert!(s.expire(after(timer(&s))));
    assert_eq!(s.rescue(after(500)).map(|(offset, _)| offset / MSS), Some(1));
    assert_eq!(send(&mut s, after(501)), Some(2));
    s
}

#[test]
fn loss_repaired_by_the_probe_reduces_the_window() {
    // No sign of a second copy.
    let mut s = probed();
    ack(&mut s, after(600), 2, &[]);
    assert_eq!(s.cwnd.ssthresh(), u64::MAX, "the loss is not known yet");
    ack(&mut s, after(601), 3, &[]);
    assert_eq!(s.cwnd.ssthresh(), 2 * MSS);
    // Both copies arrived, as a duplicate SACK or a duplicate acknowledgement shows.
    for blocks in [&[(1, 2)][..], &[]] {
        let mut s = probed();
        ack(&mut s, after(600), 2, &[]);
        ack(&mut s, after(601), 2, blocks);
        ack(&mut s, after(602), 3, &[]);
        assert_eq!(s.cwnd.ssthresh(), u64::MAX);
    }
}

#[test]
fn timeout_spares_recently_sent_segments() {
    let mut s = spaced(3);
    ack(&mut s, after(100), 1, &[]);
    send(&mut s, after(400));
    s.on_timeout(after(401));
    assert_eq!(s.check_invariants(), Ok(()));
    assert_eq!(s.scoreboard.lost(), 2 * MSS);
    assert_eq!(s.pipe(), MSS);
}

#[test]
fn recovery_that_a_timer_starts_begins_with_one_segment() {
    let config = Config { rack: true, prr: true, min_rto: Duration::from_millis(200), ..config() };
    let mut s = sender_with(&config, true);
    (0..20).for_each(|n| assert_eq!(send(&mut s, after(n)), Some(n)));
    // Two segments above the holes: only the timer finds the losses.
    ack(&mut s, after(118), 0, &[(18, 19)]);
    ack(&mut s, after(119), 0, &[(18, 20)]);
    assert!(!s.recovery.is_active());
    assert!(s.expire(after(200)));
    assert!(s.recovery.is_fast() && s.pipe() == 0);
    assert_eq!(retransmit(&mut s, after(200)), Some(0));
    assert_eq!(retransmit(&mut s, after(200)), None, "PRR spaces the rest (RFC 9937)");
    ack(&mut s, after(300), 1, &[(18, 20)]);
    assert_eq!(retransmit(&mut s, after(300)), Some(1));
}
