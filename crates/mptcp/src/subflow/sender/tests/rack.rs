//! RFC 8985 step by step.

use super::*;

/// `segments` of them, a millisecond apart.
fn spaced(segments: u64) -> Sender<Span> {
    let mut s = sender_with(&Config { rack: true, min_rto: Duration::from_millis(200), ..config() }, true);
    for n in 0..segments {
        assert_eq!(send(&mut s, after(n)), Some(n));
    }
    s
}

fn timer(s: &Sender<Span>) -> u64 {
    s.next_timeout().since(T0).as_nanos().div_ceil(1_000_000)
}

#[test]
fn three_above_mean_loss_at_once_while_nothing_was_reordered() {
    let mut s = spaced(10);
    ack(&mut s, after(101), 0, &[(1, 2)]);
    ack(&mut s, after(102), 0, &[(1, 3)]);
    assert_eq!(again(&mut s, after(102)), None);
    ack(&mut s, after(103), 0, &[(1, 4)]);
    assert_eq!(again(&mut s, after(103)), Some(0));
    assert_eq!(again(&mut s, after(103)), None);
}

#[test]
fn one_above_means_loss_once_the_reordering_window_is_over() {
    // Of three the first is lost: too few for duplicate acknowledgements.
    let mut s = spaced(3);
    ack(&mut s, after(101), 0, &[(1, 2)]);
    ack(&mut s, after(102), 0, &[(1, 3)]);
    assert_eq!(again(&mut s, after(102)), None);
    // The round trip of the third, and a quarter of the lowest.
    assert_eq!(timer(&s), 2 + 100 + 25);
    assert!(!s.expire(after(126)));
    assert!(s.expire(after(127)));
    assert_eq!(again(&mut s, after(127)), Some(0));
    assert_eq!(s.window.ssthresh, 2 * MSS);
}

#[test]
fn what_was_only_late_is_not_sent_again() {
    let mut s = spaced(10);
    // The first comes after the second and third, and shows that the path reorders.
    ack(&mut s, after(101), 0, &[(1, 2)]);
    ack(&mut s, after(102), 0, &[(1, 3)]);
    ack(&mut s, after(103), 3, &[]);
    // From now on three above are not enough.
    for last in 5..9 {
        ack(&mut s, after(100 + last), 3, &[(4, last + 1)]);
        assert_eq!(again(&mut s, after(100 + last)), None);
    }
    ack(&mut s, after(110), 9, &[]);
    assert_eq!((s.retransmissions, s.lost_ever), (0, 0));
}

#[test]
fn the_reordering_window_grows_with_what_was_sent_again_for_nothing_and_shrinks_again() {
    let mut s = spaced(40);
    let at = |s: &mut Sender<Span>, ms: u64, segments: u64, blocks: &[(u64, u64)]| {
        ack(s, after(ms), segments, blocks);
        s.early.map(|(at, _)| at.since(T0).as_millis())
    };
    at(&mut s, 101, 0, &[(1, 2)]);
    at(&mut s, 102, 2, &[]);
    assert_eq!(at(&mut s, 105, 3, &[(4, 5)]), Some(4 + 101 + 25));
    // A duplicate (RFC 2883) below the acknowledgement; a second within the round changes nothing.
    assert_eq!(at(&mut s, 106, 3, &[(0, 1), (4, 6)]), Some(5 + 101 + 50));
    assert_eq!(at(&mut s, 107, 3, &[(1, 2), (4, 7)]), Some(6 + 101 + 50));
    for _ in 0..16 {
        s.rack.recovered();
    }
    assert_eq!(at(&mut s, 108, 3, &[(4, 8)]), Some(7 + 101 + 25));
}

#[test]
fn a_retransmission_that_is_lost_too_is_seen_by_what_was_sent_after_it() {
    let mut s = spaced(10);
    ack(&mut s, after(103), 0, &[(1, 4)]);
    assert_eq!(again(&mut s, after(103)), Some(0));
    ack(&mut s, after(109), 0, &[(1, 10)]);
    assert_eq!(send(&mut s, after(110)), Some(10));
    // What went out after the retransmission arrives, and it has not.
    ack(&mut s, after(215), 0, &[(1, 11)]);
    assert_eq!(again(&mut s, after(215)), Some(0));
    assert_eq!(again(&mut s, after(215)), None);
    ack(&mut s, after(320), 11, &[]);
    assert_eq!((s.pipe(), s.flight()), (0, 0));
}

#[test]
fn a_lost_tail_is_probed_and_found() {
    let mut s = spaced(10);
    ack(&mut s, after(106), 6, &[]);
    // Two round trips after the last acknowledgement, long before the retransmission timer.
    let probe = timer(&s);
    assert!((106 + 199..106 + 205).contains(&probe), "{probe}");
    assert!(s.expire(after(probe)));
    assert_eq!(again(&mut s, after(probe)), None);
    assert_eq!(s.rescue(after(probe)).map(|(offset, _)| offset / MSS), Some(9));
    assert_eq!(s.check_invariants(), Ok(()));
    // The probe arrives, and what was sent long before it has not.
    ack(&mut s, after(probe + 100), 6, &[(9, 10)]);
    assert_eq!(s.lost, 3 * MSS);
    assert_eq!(again(&mut s, after(probe + 100)), Some(6));
    assert_eq!(s.timeouts, 0);
}

#[test]
fn a_probe_may_be_new_data_whatever_the_window() {
    let mut s = sender_with(&Config { rack: true, initial_window: 4, ..config() }, true);
    while send(&mut s, T0).is_some() {}
    assert_eq!((s.flight(), s.queued()), (4 * MSS, MSS));
    let at = s.next_timeout();
    assert!(s.expire(at));
    assert_eq!(send(&mut s, at), Some(4));
    assert_eq!(send(&mut s, at), None);
    // One probe at a time: next is the retransmission timer.
    assert_eq!(Some(s.next_timeout()), s.timer);
}

/// Two in flight, of which the second was sent again as a probe.
fn probed() -> Sender<Span> {
    let mut s = spaced(2);
    ack(&mut s, after(100), 1, &[]);
    assert!(s.expire(after(timer(&s))));
    assert_eq!(s.rescue(after(500)).map(|(offset, _)| offset / MSS), Some(1));
    assert_eq!(send(&mut s, after(501)), Some(2));
    s
}

#[test]
fn a_loss_that_the_probe_repaired_counts_all_the_same_unless_both_copies_came() {
    // Nothing tells of a second copy.
    let mut s = probed();
    ack(&mut s, after(600), 2, &[]);
    assert_eq!(s.window.ssthresh, u64::MAX, "it cannot be told yet");
    ack(&mut s, after(601), 3, &[]);
    assert_eq!(s.window.ssthresh, 2 * MSS);
    // RFC 2883 tells, or without it a duplicate.
    for blocks in [&[(1, 2)][..], &[]] {
        let mut s = probed();
        ack(&mut s, after(600), 2, &[]);
        ack(&mut s, after(601), 2, blocks);
        ack(&mut s, after(602), 3, &[]);
        assert_eq!(s.window.ssthresh, u64::MAX);
    }
}

#[test]
fn a_timeout_spares_what_was_sent_just_now() {
    let mut s = spaced(3);
    ack(&mut s, after(100), 1, &[]);
    send(&mut s, after(400));
    s.on_timeout(after(401));
    assert_eq!(s.check_invariants(), Ok(()));
    assert_eq!(s.lost, 2 * MSS);
    assert_eq!(s.pipe(), MSS);
}
