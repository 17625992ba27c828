//! Tests of the sender as a whole. Each part has its own tests in its module.

mod prr;
mod rack;
mod undo;

use super::*;
use crate::congestion::Coupling;
use wire::Span;

const MSS: u64 = 1000;
const T0: Instant = Instant::from_secs(10);

fn after(ms: u64) -> Instant {
    T0 + Duration::from_millis(ms)
}

fn config() -> Config {
    Config {
        initial_window: 100,
        congestion: crate::CongestionKind::Reno.into(),
        min_rto: Duration::from_millis(1),
        ..Config::default()
    }
}

/// A sender with `segments` segments in flight, from offset 1 on.
fn sender(sack: bool, segments: u64) -> Sender<Span> {
    let mut s = sender_with(&config(), sack);
    for n in 0..segments {
        assert_eq!(send(&mut s, T0), Some(n));
    }
    s
}

/// A connected sender over a path with a round trip of 100 ms.
fn sender_with(config: &Config, sack: bool) -> Sender<Span> {
    let mut s = Sender::new(config, MSS, crate::log::Log::new(tracing::Span::none()));
    s.negotiated(MSS, sack);
    s.start();
    s.on_syn_acked();
    s.sample_rtt(Duration::from_millis(100));
    s
}

/// Sends the next new segment if the window has room. Returns its number.
fn send(s: &mut Sender<Span>, now: Instant) -> Option<u64> {
    if s.queued() == 0 {
        let at = s.next_offset() - 1;
        s.enqueue(Chunk {
            data: 1 + at,
            payload: Span::new(at, MSS as u32),
            fin: false,
            cut: Cut::default(),
        });
    }
    let sent = s.send_new(now, 0).map(|(offset, _)| offset / MSS);
    assert_eq!(s.check_invariants(), Ok(()));
    sent
}

/// Retransmits the next lost segment if the window has room. Returns its number.
fn retransmit(s: &mut Sender<Span>, now: Instant) -> Option<u64> {
    let sent = s.retransmit(now).map(|(offset, _)| offset / MSS);
    assert_eq!(s.check_invariants(), Ok(()));
    sent
}

/// A pure acknowledgement up to `offset`.
fn on_ack(
    s: &mut Sender<Span>,
    now: Instant,
    offset: u64,
    blocks: &[(u64, u64)],
    clock_sample: Option<Duration>,
) {
    let ack = Acknowledgement { offset, blocks, pure: true, clock_sample };
    s.on_ack(now, &ack, &Coupling::default());
    assert_eq!(s.check_invariants(), Ok(()));
}

/// A pure acknowledgement of the first `segments`, with SACK blocks in segments.
fn ack(s: &mut Sender<Span>, now: Instant, segments: u64, blocks: &[(u64, u64)]) {
    let at = |n: u64| 1 + n * MSS;
    let blocks: Vec<_> = blocks.iter().map(|&(l, r)| (at(l), at(r))).collect();
    on_ack(s, now, at(segments), &blocks, None);
}

#[test]
fn partial_ack_uncounts_its_duplicates() {
    // Of twenty segments the first and the seventh are lost: eighteen duplicates, five of them for
    // segments before the second hole.
    let mut s = sender(false, 20);
    for _ in 0..18 {
        ack(&mut s, after(100), 0, &[]);
    }
    assert!(s.retransmit(after(100)).is_some_and(|(offset, _)| offset == 1));
    // In the network are the first one's copy and, as far as the sender knows, the seventh.
    assert_eq!(s.pipe(), 2 * MSS);
    ack(&mut s, after(200), 6, &[]);
    // Fourteen in flight, thirteen counted as arrived, one lost.
    assert_eq!(s.pipe(), 0);
    assert!(s.retransmit(after(200)).is_some_and(|(offset, _)| offset == 1 + 6 * MSS));
    assert_eq!(s.pipe(), MSS);
    ack(&mut s, after(300), 20, &[]);
    assert_eq!((s.pipe(), s.flight()), (0, 0));
}

#[test]
fn duplicates_after_a_timeout_are_not_counted() {
    let mut s = sender(false, 10);
    s.on_timeout(after(400));
    assert!(s.retransmit(after(400)).is_some());
    for _ in 0..5 {
        ack(&mut s, after(450), 0, &[]);
    }
    assert_eq!(s.pipe(), MSS);
    assert!(s.retransmit(after(450)).is_none(), "the window is one segment");
}

#[test]
fn everything_is_retransmitted_after_reneging() {
    let mut s = sender(true, 4);
    // Sacking the first segment without acknowledging it is a contradiction.
    ack(&mut s, after(100), 0, &[(0, 4)]);
    assert_eq!(s.pipe(), 0);
    s.on_timeout(after(400));
    assert_eq!(s.check_invariants(), Ok(()));
    assert!(s.retransmit(after(400)).is_some_and(|(offset, _)| offset == 1));
    ack(&mut s, after(500), 1, &[]);
    assert!(s.retransmit(after(500)).is_some_and(|(offset, _)| offset == 1 + MSS));
}

#[test]
fn sacked_segments_are_not_retransmitted_after_a_timeout() {
    let mut s = sender(true, 4);
    ack(&mut s, after(100), 0, &[(2, 3)]);
    s.on_timeout(after(400));
    let mut retransmitted = Vec::new();
    for n in 0..4 {
        if let Some((offset, _)) = s.retransmit(after(400 + n)) {
            retransmitted.push(offset / MSS);
        }
        ack(&mut s, after(500 + n), u64::min(n + 1, 2), &[(2, 3)]);
    }
    assert_eq!(retransmitted, [0, 1, 3]);
}

#[test]
fn back_off_lasts_until_the_next_rtt_sample() {
    let mut s = sender(true, 1);
    assert_eq!(s.rto(), Duration::from_millis(300));
    s.on_timeout(after(300));
    s.retransmit(after(300));
    // The acknowledgement may be for either copy (Karn).
    ack(&mut s, after(350), 1, &[]);
    assert_eq!(s.rto(), Duration::from_millis(600));
    let payload = Span::new(MSS, MSS as u32);
    s.enqueue(Chunk { data: 1 + MSS, payload, fin: false, cut: Cut::default() });
    s.send_new(after(400), 0);
    ack(&mut s, after(500), 2, &[]);
    assert_eq!(s.rto(), Duration::from_millis(250));
}

#[test]
fn data_is_reinjected_once_and_the_fin_stays() {
    let mut s = sender(true, 3);
    s.enqueue(Chunk { data: 1 + 3 * MSS, payload: Span::new(3 * MSS, 5), fin: false, cut: Cut::default() });
    s.enqueue(Chunk { data: 6 + 3 * MSS, payload: Span::default(), fin: true, cut: Cut::default() });
    ack(&mut s, after(100), 0, &[(1, 2)]);
    let data = |chunks: Vec<Chunk<Span>>| chunks.iter().map(|c| c.data).collect::<Vec<_>>();
    let (in_flight, unsent) = s.reinject(1);
    assert_eq!((data(in_flight), data(unsent)), (vec![1, 1 + 2 * MSS], vec![1 + 3 * MSS]));
    let (in_flight, unsent) = s.reinject(1);
    assert!(in_flight.is_empty() && unsent.is_empty());
    s.cancel_reinjection();
    assert_eq!(s.reinject(1 + MSS).0.len(), 1);
    assert!(s.send_new(after(100), 0).is_some_and(|(_, chunk)| chunk.fin));
    assert_eq!(s.check_invariants(), Ok(()));
}

#[test]
fn queued_data_is_sent_in_stream_order() {
    let mut s = sender(true, 0);
    let chunk = |data| Chunk { data, payload: Span::new(data - 1, 10), fin: false, cut: Cut::default() };
    for data in [101, 121, 141] {
        s.enqueue(chunk(data));
    }
    for data in [131, 1, 111] {
        s.enqueue_in_order(chunk(data));
    }
    let order: Vec<_> = core::iter::from_fn(|| s.send_new(T0, 0)).map(|(_, chunk)| chunk.data).collect();
    assert_eq!(order, [1, 101, 111, 121, 131, 141]);
}

#[test]
fn segment_behind_a_hole_gives_no_rtt_sample() {
    // The first of five segments is lost, and so are the acknowledgements of the last two.
    let repaired = |clock: Option<Duration>| {
        let mut s = sender(true, 5);
        ack(&mut s, after(100), 0, &[(1, 3)]);
        s.on_timeout(after(1000));
        assert_eq!(retransmit(&mut s, after(1000)), Some(0));
        on_ack(&mut s, after(1100), 1 + 5 * MSS, &[], clock);
        (s.srtt().as_millis(), s.rto().as_millis())
    };
    // Without a sample the timeout stays backed off: 2 * 300 ms.
    assert_eq!(repaired(None), (100, 600));
    assert_eq!(repaired(Some(Duration::from_millis(100))), (100, 250));
}

#[test]
fn idle_time_restarts_the_window_without_a_path_model() {
    // RFC 5681, section 4.1.
    for (congestion, cwnd) in [(crate::CongestionKind::Reno, 10), (crate::CongestionKind::Bbr, 50)] {
        let mut s =
            sender_with(&Config { congestion: congestion.into(), initial_window: 10, ..config() }, true);
        assert_eq!(send(&mut s, T0), Some(0));
        ack(&mut s, after(100), 1, &[]);
        s.cwnd.set_cwnd(50 * MSS);
        assert_eq!(send(&mut s, after(5000)), Some(1));
        assert_eq!(s.cwnd.cwnd(), cwnd * MSS, "{congestion:?}");
    }
}

#[test]
fn timeout_after_progress_reduces_the_threshold_again() {
    let mut s = sender(true, 20);
    s.on_timeout(after(400));
    assert_eq!(retransmit(&mut s, after(400)), Some(0));
    s.on_timeout(after(1000));
    assert_eq!(s.cwnd.ssthresh(), 10 * MSS, "the same segment is lost again");
    assert_eq!(retransmit(&mut s, after(1000)), Some(0));
    ack(&mut s, after(1100), 8, &[]);
    let window = s.cwnd.cwnd();
    s.on_timeout(after(2000));
    assert_eq!(s.cwnd.ssthresh(), window / 2, "slow start has reached this window");
}

#[test]
fn subflow_in_timeout_counts_with_its_window_in_coupled_increases() {
    let mut s = sender(true, 20);
    ack(&mut s, after(100), 0, &[(1, 20)]);
    assert_eq!(s.coupled_window(), s.cwnd.ssthresh());
    let mut s = sender(true, 20);
    s.on_timeout(after(400));
    assert_eq!((s.coupled_window(), s.cwnd.ssthresh()), (MSS, 10 * MSS));
}

#[test]
fn loss_in_a_window_that_a_mark_has_reduced_reduces_it_no_further() {
    // RFC 3168, section 6.1.2.
    for (echoed, threshold) in [(false, 10), (true, 10)] {
        let mut s = sender(true, 20);
        if echoed {
            s.on_ece(after(90), 1);
        }
        ack(&mut s, after(100), 0, &[(1, 10)]);
        assert!(s.recovery.is_fast());
        assert_eq!(s.cwnd.ssthresh(), threshold * MSS, "marked: {echoed}");
        // Data of the next window is lost: another reduction.
        ack(&mut s, after(200), 20, &[]);
        (20..30).for_each(|n| assert_eq!(send(&mut s, after(200)), Some(n)));
        ack(&mut s, after(300), 20, &[(21, 30)]);
        assert_eq!(s.cwnd.ssthresh(), threshold / 2 * MSS, "marked: {echoed}");
    }
}

#[test]
fn whole_milliseconds_of_a_timestamp_do_not_lower_the_lowest_round_trip() {
    let mut s = sender(true, 20);
    ack(&mut s, after(100), 0, &[(1, 20)]);
    assert_eq!(retransmit(&mut s, after(100)), Some(0));
    // The first sample, of the handshake, is 100 ms.
    on_ack(&mut s, after(200), 1 + 20 * MSS, &[], Some(Duration::from_millis(99)));
    assert_eq!(s.rtt.min(), Duration::from_millis(100));
    assert!(s.srtt() < Duration::from_millis(100));
}

#[test]
fn idle_time_measures_the_round_trip_of_bbr_without_a_probe() {
    let config = Config { congestion: crate::CongestionKind::Bbr.into(), ..config() };
    let mut s = sender_with(&config, true);
    assert_eq!(send(&mut s, T0), Some(0));
    ack(&mut s, after(100), 1, &[]);
    // The lowest round trip expires after 10 s. The path was empty, so the next one is as low.
    (1..3).for_each(|n| assert_eq!(send(&mut s, after(15_000)), Some(n)));
    ack(&mut s, after(15_100), 2, &[]);
    assert!(s.cwnd.cwnd() >= 100 * MSS, "{}", s.cwnd.cwnd());
    ack(&mut s, after(15_200), 3, &[]);
    assert!(s.cwnd.cwnd() >= 100 * MSS, "{}", s.cwnd.cwnd());
}

#[test]
fn acknowledgement_after_a_timeout_counts_no_data_that_arrived_before() {
    for sack in [true, false] {
        let mut s = sender(sack, 40);
        ack(&mut s, after(100), 0, if sack { &[(1, 39)] } else { &[] });
        s.on_timeout(after(400));
        assert_eq!(retransmit(&mut s, after(400)), Some(0));
        // It covers 38 segments that arrived long before (RFC 3465, section 2.3), and the last one.
        ack(&mut s, after(500), 40, &[]);
        assert_eq!(s.cwnd.cwnd() / MSS, if sack { 3 } else { 2 });
    }
}
