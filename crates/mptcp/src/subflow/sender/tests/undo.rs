//! F-RTO (RFC 5682), and undo by timestamps and duplicate SACK.

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
fn spurious_timeout_is_undone() {
    assert_timeout_is_undone(frto(10));
}

#[test]
fn spurious_timeout_is_undone_without_sack() {
    assert_timeout_is_undone(frto_with(10, false));
}

#[test]
fn duplicate_ack_confirms_the_timeout_without_sack() {
    for first in [0, 1] {
        let mut s = frto_with(10, false);
        s.on_timeout(after(400));
        assert_eq!(retransmit(&mut s, after(400)), Some(0));
        // The retransmission is acknowledged or not; later segments give duplicates only.
        ack(&mut s, after(500), first, &[]);
        ack(&mut s, after(501), 1, &[]);
        ack(&mut s, after(502), 1, &[]);
        assert_eq!(retransmit(&mut s, after(502)), Some(1), "{first}");
        assert_eq!(s.cwnd.ssthresh(), 5 * MSS);
    }
}

#[test]
fn partially_acknowledged_retransmission_proves_nothing() {
    let mut s = frto(10);
    s.on_timeout(after(400));
    assert_eq!(retransmit(&mut s, after(400)), Some(0));
    on_ack(&mut s, after(410), MSS / 2, &[], None);
    on_ack(&mut s, after(411), MSS, &[], None);
    assert_eq!(s.cwnd.ssthresh(), 5 * MSS);
}

fn assert_timeout_is_undone(mut s: Sender<Span>) {
    let cwnd = s.cwnd.cwnd();
    s.on_timeout(after(400));
    assert_eq!(retransmit(&mut s, after(400)), Some(0));
    // The first copy is acknowledged: two new segments are sent, and no retransmission.
    ack(&mut s, after(410), 1, &[]);
    assert_eq!(retransmit(&mut s, after(410)), None);
    assert_eq!((send(&mut s, after(410)), send(&mut s, after(410))), (Some(10), Some(11)));
    assert_eq!(send(&mut s, after(410)), None);
    // The second segment, sent once, is acknowledged.
    ack(&mut s, after(411), 2, &[]);
    assert_eq!((s.cwnd.cwnd() >= cwnd, s.cwnd.ssthresh()), (true, u64::MAX));
    assert_eq!((s.scoreboard.lost(), s.pipe()), (0, 10 * MSS));
    assert_eq!(retransmit(&mut s, after(411)), None);
    ack(&mut s, after(420), 12, &[]);
    assert_eq!(s.retransmissions(), 1);
}

#[test]
fn genuine_timeout_retransmits() {
    let mut s = frto(10);
    s.on_timeout(after(400));
    assert_eq!(retransmit(&mut s, after(400)), Some(0));
    ack(&mut s, after(500), 1, &[]);
    assert_eq!((send(&mut s, after(500)), send(&mut s, after(500))), (Some(10), Some(11)));
    // Only the new segments arrive.
    ack(&mut s, after(600), 1, &[(10, 11)]);
    assert_eq!(retransmit(&mut s, after(600)), Some(1));
    assert_eq!(s.cwnd.ssthresh(), 5 * MSS);
}

#[test]
fn frto_ends_without_new_data() {
    let mut s = frto(10);
    s.on_timeout(after(400));
    assert_eq!(retransmit(&mut s, after(400)), Some(0));
    ack(&mut s, after(500), 1, &[]);
    assert_eq!(retransmit(&mut s, after(500)), None);
    assert_eq!(s.rescue(after(500)).map(|(offset, _)| offset / MSS), Some(1));
    assert_eq!(retransmit(&mut s, after(500)), Some(2));
}

#[test]
fn frto_does_not_start_within_recovery() {
    let mut s = frto(10);
    ack(&mut s, after(100), 0, &[(1, 5)]);
    assert_eq!(retransmit(&mut s, after(100)), Some(0));
    s.on_timeout(after(400));
    assert_eq!(retransmit(&mut s, after(400)), Some(0));
    ack(&mut s, after(500), 5, &[]);
    assert_eq!(retransmit(&mut s, after(500)), Some(5));
}

/// A sender with ten segments in flight, the first of which was retransmitted after three sacked
/// ones.
fn recovering() -> Sender<Span> {
    let s = recovering_with(&Config { undo: true, ..config() });
    assert_eq!(s.cwnd.ssthresh(), 5 * MSS);
    s
}

fn recovering_with(config: &Config) -> Sender<Span> {
    let mut s = sender_with(config, true);
    for n in 0..10 {
        assert_eq!(send(&mut s, T0), Some(n));
    }
    ack(&mut s, after(100), 0, &[(1, 4)]);
    assert_eq!(retransmit(&mut s, after(105)), Some(0));
    s
}

#[test]
fn echo_from_before_the_retransmission_undoes_the_reduction() {
    for (echo, ssthresh) in [(5, 5 * MSS), (6, u64::MAX)] {
        let mut s = recovering();
        // At 110 ms an echo 5 ms old answers the retransmission, an older one the first copy.
        on_ack(&mut s, after(110), 1 + 4 * MSS, &[], Some(ms(echo)));
        assert_eq!(s.cwnd.ssthresh(), ssthresh);
    }
}

#[test]
fn dsack_of_every_retransmission_undoes_the_reduction() {
    let mut s = recovering();
    ack(&mut s, after(200), 10, &[]);
    assert_eq!(s.cwnd.ssthresh(), 5 * MSS);
    ack(&mut s, after(201), 10, &[(0, 1)]);
    assert_eq!((s.cwnd.ssthresh(), s.cwnd.cwnd()), (u64::MAX, 100 * MSS));
}

#[test]
fn regrown_window_keeps_its_cubic_curve() {
    // RFC 9438, section 4.9.2.
    for (cwnd, keeps) in [(99, false), (100, true)] {
        let config = Config { undo: true, congestion: crate::CongestionKind::Cubic.into(), ..config() };
        let mut s = recovering_with(&config);
        ack(&mut s, after(200), 10, &[]);
        s.cwnd.set_cwnd(cwnd * MSS);
        let curve = s.cwnd.algorithm_state();
        ack(&mut s, after(201), 10, &[(0, 1)]);
        assert_eq!((s.cwnd.cwnd(), s.cwnd.ssthresh()), (100 * MSS, u64::MAX));
        assert_eq!(s.cwnd.algorithm_state() == curve, keeps, "{cwnd}");
    }
}

#[test]
fn late_acknowledgement_is_no_duplicate_sack() {
    let mut s = sender_with(&Config { undo: true, ..config() }, true);
    for n in 0..20 {
        assert_eq!(send(&mut s, T0), Some(n));
    }
    ack(&mut s, after(100), 0, &[(1, 20)]);
    assert_eq!(retransmit(&mut s, after(100)), Some(0));
    ack(&mut s, after(200), 20, &[]);
    let ssthresh = s.cwnd.ssthresh();
    assert!(ssthresh < 20 * MSS);
    // Sent before the loss was repaired: its block is beyond its own acknowledgement.
    ack(&mut s, after(201), 0, &[(1, 2)]);
    assert_eq!(s.cwnd.ssthresh(), ssthresh);
}
