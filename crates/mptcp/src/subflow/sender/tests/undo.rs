//! RFC 5682, and taking back by timestamps and duplicate SACK.

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn frto(segments: u64) -> Sender<Span> {
    frto_with(segments, true)
}

fn frto_with(segments: u64, sack: bool) -> Sender<Span> {
    let mut s = sender_with(&Config { frto: true, ..config() }, sack);
    for n in 0..segments {
        assert_eq!(send(&mut s, T0), Some(n));
    }
    s
}

#[test]
fn a_timeout_that_was_only_delay_is_taken_back() {
    taken_back(frto(10));
}

#[test]
fn without_sack_too() {
    taken_back(frto_with(10, false));
}

#[test]
fn without_sack_a_duplicate_shows_that_the_timeout_was_none_too_soon() {
    for first in [0, 1] {
        let mut s = frto_with(10, false);
        s.on_timeout(after(400));
        assert_eq!(again(&mut s, after(400)), Some(0));
        // What was sent again is answered, or not even that; then comes only what lies beyond a hole.
        ack(&mut s, after(500), first, &[]);
        ack(&mut s, after(501), 1, &[]);
        ack(&mut s, after(502), 1, &[]);
        assert_eq!(again(&mut s, after(502)), Some(1), "{first}");
        assert_eq!(s.window.ssthresh, 5 * MSS);
    }
}

#[test]
fn what_was_sent_again_and_came_in_part_proves_nothing() {
    let mut s = frto(10);
    s.on_timeout(after(400));
    assert_eq!(again(&mut s, after(400)), Some(0));
    s.on_ack(after(410), MSS / 2, &[], true, None, &Coupling::default());
    s.on_ack(after(411), MSS, &[], true, None, &Coupling::default());
    assert_eq!(s.window.ssthresh, 5 * MSS);
}

fn taken_back(mut s: Sender<Span>) {
    let cwnd = s.window.cwnd;
    s.on_timeout(after(400));
    assert_eq!(again(&mut s, after(400)), Some(0));
    // The answer to the first copy: two new ones go out, and nothing again.
    ack(&mut s, after(410), 1, &[]);
    assert_eq!(again(&mut s, after(410)), None);
    assert_eq!((send(&mut s, after(410)), send(&mut s, after(410))), (Some(10), Some(11)));
    assert_eq!(send(&mut s, after(410)), None);
    // The answer to the second, which was sent once.
    ack(&mut s, after(411), 2, &[]);
    assert_eq!((s.window.cwnd >= cwnd, s.window.ssthresh), (true, u64::MAX));
    assert_eq!((s.lost, s.pipe()), (0, 10 * MSS));
    assert_eq!(again(&mut s, after(411)), None);
    ack(&mut s, after(420), 12, &[]);
    assert_eq!(s.retransmissions, 1);
}

#[test]
fn a_timeout_with_losses_goes_on_as_ever() {
    let mut s = frto(10);
    s.on_timeout(after(400));
    assert_eq!(again(&mut s, after(400)), Some(0));
    ack(&mut s, after(500), 1, &[]);
    assert_eq!((send(&mut s, after(500)), send(&mut s, after(500))), (Some(10), Some(11)));
    // Only what is new arrives.
    ack(&mut s, after(600), 1, &[(10, 11)]);
    assert_eq!(again(&mut s, after(600)), Some(1));
    assert_eq!(s.window.ssthresh, 5 * MSS);
}

#[test]
fn without_new_data_a_timeout_is_not_put_in_question() {
    let mut s = frto(10);
    s.on_timeout(after(400));
    assert_eq!(again(&mut s, after(400)), Some(0));
    ack(&mut s, after(500), 1, &[]);
    assert_eq!(again(&mut s, after(500)), None);
    assert_eq!(s.rescue(after(500)).map(|(offset, _)| offset / MSS), Some(1));
    assert_eq!(again(&mut s, after(500)), Some(2));
}

#[test]
fn a_timeout_within_a_recovery_is_not_put_in_question() {
    let mut s = frto(10);
    ack(&mut s, after(100), 0, &[(1, 5)]);
    assert_eq!(again(&mut s, after(100)), Some(0));
    s.on_timeout(after(400));
    assert_eq!(again(&mut s, after(400)), Some(0));
    ack(&mut s, after(500), 5, &[]);
    assert_eq!(again(&mut s, after(500)), Some(5));
}

/// Ten in flight, of which the first was sent again for three above it.
fn repaired() -> Sender<Span> {
    let s = repaired_with(&Config { undo: true, ..config() });
    assert_eq!(s.window.ssthresh, 5 * MSS);
    s
}

fn repaired_with(config: &Config) -> Sender<Span> {
    let mut s = sender_with(config, true);
    for n in 0..10 {
        assert_eq!(send(&mut s, T0), Some(n));
    }
    ack(&mut s, after(100), 0, &[(1, 4)]);
    assert_eq!(again(&mut s, after(105)), Some(0));
    s
}

#[test]
fn an_echo_from_before_the_retransmission_takes_the_reduction_back() {
    for (echo, ssthresh) in [(5, 5 * MSS), (6, u64::MAX)] {
        let mut s = repaired();
        // At 110 ms: an echo 5 ms old is of the retransmission, an older one of the first copy.
        s.on_ack(after(110), 1 + 4 * MSS, &[], true, Some(ms(echo)), &Coupling::default());
        assert_eq!(s.check_invariants(), Ok(()));
        assert_eq!(s.window.ssthresh, ssthresh);
    }
}

#[test]
fn a_duplicate_of_every_retransmission_takes_the_reduction_back() {
    let mut s = repaired();
    ack(&mut s, after(200), 10, &[]);
    assert_eq!(s.window.ssthresh, 5 * MSS);
    ack(&mut s, after(201), 10, &[(0, 1)]);
    assert_eq!((s.window.ssthresh, s.window.cwnd), (u64::MAX, 100 * MSS));
}

#[test]
fn a_window_that_has_grown_past_the_old_one_keeps_its_curve() {
    // RFC 9438, section 4.9.2.
    for (cwnd, keeps) in [(99, false), (100, true)] {
        let config = Config { undo: true, congestion: crate::CongestionKind::Cubic, ..config() };
        let mut s = repaired_with(&config);
        ack(&mut s, after(200), 10, &[]);
        s.window.cwnd = cwnd * MSS;
        let curve = format!("{:?}", s.algorithm);
        ack(&mut s, after(201), 10, &[(0, 1)]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (100 * MSS, u64::MAX));
        assert_eq!(format!("{:?}", s.algorithm) == curve, keeps, "{cwnd}");
    }
}
