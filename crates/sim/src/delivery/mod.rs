//! A record of one connection's data on its way: when each piece was sent first, when it arrived, and
//! when the application had it.
//!
//! It looks on from outside, at the segments that pass and at how much the application has read, so that
//! an endpoint does the same whether it is watched or not. Where data lies is counted from the first byte
//! of the stream: a data sequence number less the first one.

mod histogram;
mod outcome;
mod pending;
mod thin;

pub use histogram::Histogram;
pub use outcome::{
    DelayOutcome, DelayPoint, DeliveryOutcome, OffsetOutcome, OptionCounts, SegmentCounts, WorkOutcome,
};

use pending::Pending;
use thin::{Extremes, Thinned};
use units::{Duration, Instant};
use wire::{Segment, Span};

/// Spans of time into which what is told over time is gathered.
const SPANS: u64 = 240;

/// What became of the data of one connection, in the direction in which its application writes.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// Each of [`SPANS`].
    span: Duration,
    pending: Pending,
    sent: Thinned,
    received: Thinned,
    /// Where the last piece lies that arrived and was not delivered already.
    last_arrival: Option<u64>,
    offsets: Histogram,
    peak: u64,
    extremes: Extremes,
    delays: Histogram,
    /// In nanoseconds.
    delay_sum: u128,
    longest: u64,
    last_delay: Option<u64>,
    jitter_sum: u128,
    over_time: Vec<Gathered>,
    /// Of the end that writes, and of the end that reads.
    work: [WorkOutcome; 2],
}

/// Delays of what was delivered within a span, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Gathered {
    count: u64,
    sum: u128,
    changes: u64,
    change_sum: u128,
}

/// Which end of the connection a segment left or reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Writes the data.
    Sender,
    /// Reads it.
    Receiver,
}

impl Delivery {
    pub(crate) fn new(duration: Duration) -> Self {
        let span = Duration::from_nanos(duration.as_nanos().div_ceil(SPANS).max(1));
        Self {
            span,
            pending: Pending::default(),
            sent: Thinned::default(),
            received: Thinned::default(),
            last_arrival: None,
            offsets: Histogram::default(),
            peak: 0,
            extremes: Extremes::new(span),
            delays: Histogram::default(),
            delay_sum: 0,
            longest: 0,
            last_delay: None,
            jitter_sum: 0,
            over_time: Vec::new(),
            work: [WorkOutcome::default(); 2],
        }
    }

    /// A segment leaves one of the ends.
    pub(crate) fn leaves(&mut self, now: Instant, side: Side, segment: &Segment<Span>) {
        self.work[side as usize].sent.count(segment);
        let Span { offset, len, .. } = segment.payload;
        if side == Side::Sender && len > 0 {
            self.sent.push(now, offset);
            self.pending.sent(now, offset, offset + u64::from(len));
        }
    }

    /// A segment has reached one of the ends, after which the application has read `delivered` bytes.
    pub(crate) fn arrived(&mut self, now: Instant, side: Side, segment: &Segment<Span>, delivered: u64) {
        self.work[side as usize].received.count(segment);
        if side == Side::Sender || segment.payload.len == 0 {
            return;
        }
        let Span { offset, len, .. } = segment.payload;
        self.received.push(now, offset);
        let is_new = offset + u64::from(len) > self.pending.up_to();
        if is_new && let Some(last) = self.last_arrival.replace(offset) {
            let size = offset.abs_diff(last);
            self.offsets.add(size);
            self.peak = self.peak.max(size);
            self.extremes.push(now, offset as i64 - last as i64);
        }
        while let Some(first_sent) = self.pending.delivered(delivered) {
            self.delivered(now, now.since(first_sent).as_nanos());
        }
    }

    /// A piece reached the application `delay` nanoseconds after it was first sent.
    fn delivered(&mut self, now: Instant, delay: u64) {
        self.delays.add(delay);
        self.delay_sum += u128::from(delay);
        self.longest = self.longest.max(delay);
        let span = (now.as_nanos() / self.span.as_nanos()) as usize;
        if self.over_time.len() <= span {
            self.over_time.resize(span + 1, Gathered::default());
        }
        let gathered = &mut self.over_time[span];
        gathered.count += 1;
        gathered.sum += u128::from(delay);
        if let Some(last) = self.last_delay.replace(delay) {
            let change = u128::from(delay.abs_diff(last));
            self.jitter_sum += change;
            gathered.changes += 1;
            gathered.change_sum += change;
        }
    }

    pub(crate) fn outcome(self) -> DeliveryOutcome {
        let count = self.delays.count();
        let seconds = |nanos: f64| nanos / 1e9;
        let mean = |sum: u128, count: u64| (count > 0).then(|| seconds(sum as f64 / count as f64));
        let quantile = |q: f64| self.delays.quantile(q).map(|nanos| seconds(nanos as f64));
        let over_time = self.over_time.iter().enumerate().filter(|(_, gathered)| gathered.count > 0);
        let [sender, receiver] = self.work;
        DeliveryOutcome {
            sent: self.sent.into_points(),
            received: self.received.into_points(),
            offsets: OffsetOutcome {
                peak_bytes: self.peak,
                p95_bytes: self.offsets.quantile(0.95),
                count: self.offsets.count(),
                by_power_of_two: self.offsets.by_power_of_two(),
                over_time: self.extremes.into_points(),
            },
            delay: DelayOutcome {
                count,
                mean_s: mean(self.delay_sum, count),
                p50_s: quantile(0.5),
                p95_s: quantile(0.95),
                p99_s: quantile(0.99),
                longest_s: seconds(self.longest as f64),
                jitter_s: mean(self.jitter_sum, count.saturating_sub(1)),
                over_time: over_time
                    .map(|(i, gathered)| DelayPoint {
                        time_s: (self.span * (i as u64 + 1)).as_secs_f64(),
                        mean_s: mean(gathered.sum, gathered.count).unwrap_or(0.0),
                        jitter_s: mean(gathered.change_sum, gathered.changes),
                    })
                    .collect(),
            },
            sender,
            receiver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Dss, Flags, MptcpSignal, RecOption, TimestampOption};

    fn data(offset: u64, len: u32) -> Segment<Span> {
        let mut segment = Segment::new(0, 0, 0, 0, Flags::ACK, 0);
        segment.payload = Span::new(offset, len);
        segment
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Sends (ms, offset) and receives (ms, offset, delivered), pieces of 100 bytes.
    fn play(sent: &[(u64, u64)], received: &[(u64, u64, u64)]) -> DeliveryOutcome {
        let mut delivery = Delivery::new(Duration::from_secs(1));
        for &(ms, offset) in sent {
            delivery.leaves(at(ms), Side::Sender, &data(offset, 100));
        }
        for &(ms, offset, delivered) in received {
            delivery.arrived(at(ms), Side::Receiver, &data(offset, 100), delivered);
        }
        delivery.outcome()
    }

    fn near(value: Option<f64>, wanted: f64) {
        assert!((value.unwrap() - wanted).abs() < 1e-12, "{value:?} is not {wanted}");
    }

    #[test]
    fn in_order_the_delay_is_that_of_the_way_and_offsets_are_a_piece() {
        let outcome = play(&[(0, 0), (1, 100), (2, 200)], &[(10, 0, 100), (11, 100, 200), (12, 200, 300)]);
        near(outcome.delay.mean_s, 0.010);
        near(outcome.delay.jitter_s, 0.0);
        assert_eq!((outcome.offsets.peak_bytes, outcome.offsets.count), (100, 2));
    }

    #[test]
    fn what_waits_for_a_gap_is_late_by_the_wait_and_not_by_the_way() {
        // The first piece comes last: the other two wait for it until 30 ms.
        let outcome = play(&[(0, 0), (1, 100), (2, 200)], &[(10, 100, 0), (12, 200, 0), (30, 0, 300)]);
        // 30, 29 and 28 ms.
        near(outcome.delay.mean_s, 0.029);
        near(outcome.delay.jitter_s, 0.001);
        assert_eq!(outcome.delay.longest_s, 0.030);
        // +100, then -200.
        assert_eq!((outcome.offsets.peak_bytes, outcome.offsets.count), (200, 2));
        let signed: Vec<i64> = outcome.offsets.over_time.iter().map(|&(_, offset)| offset).collect();
        assert_eq!(signed, [100, -200]);
    }

    #[test]
    fn a_repeated_piece_counts_from_its_first_sending() {
        let outcome = play(&[(0, 0), (20, 0)], &[(30, 0, 100)]);
        near(outcome.delay.mean_s, 0.030);
        assert_eq!(outcome.delay.count, 1);
        assert_eq!(outcome.sent.len(), 2);
    }

    #[test]
    fn data_that_came_twice_is_received_twice_and_delivered_once() {
        let outcome = play(&[(0, 0), (1, 100)], &[(10, 0, 100), (11, 100, 200), (12, 0, 200)]);
        assert_eq!((outcome.received.len(), outcome.delay.count), (3, 2));
        // The repeat is nothing that would have to be put in order.
        assert_eq!(outcome.offsets.count, 1);
    }

    #[test]
    fn delays_over_time_stand_at_the_end_of_their_span() {
        // A second in 240 spans: 4.17 ms each. 10 and 11 ms fall into the third, 40 ms into the tenth.
        let outcome = play(&[(0, 0), (1, 100), (2, 200)], &[(10, 0, 100), (11, 100, 200), (40, 200, 300)]);
        let points = &outcome.delay.over_time;
        assert_eq!(points.len(), 2);
        assert!((points[0].time_s - 3.0 / 240.0).abs() < 1e-6 && (points[0].mean_s - 0.010).abs() < 1e-12);
        assert!((points[1].time_s - 10.0 / 240.0).abs() < 1e-6 && (points[1].mean_s - 0.038).abs() < 1e-12);
        near(points[1].jitter_s, 0.028);
    }

    #[test]
    fn nothing_delivered_has_no_delay() {
        let outcome = play(&[(0, 0)], &[]);
        assert_eq!((outcome.delay.mean_s, outcome.delay.p50_s, outcome.delay.jitter_s), (None, None, None));
    }

    #[test]
    fn work_is_counted_by_end_and_way_and_options_by_class() {
        let mut delivery = Delivery::new(Duration::from_secs(1));
        let mut segment = data(0, 100);
        segment.timestamps = Some(TimestampOption { value: 1, echo: 1 });
        segment.dss = Some(Dss::default());
        delivery.leaves(at(0), Side::Sender, &segment);
        let mut answer = data(0, 0);
        answer.sack.push(1, 2);
        answer.sack.push(3, 4);
        answer.signal = Some(MptcpSignal::Priority { backup: true, address_id: None });
        answer.rec = Some(RecOption::Offer { version: 1 });
        delivery.leaves(at(1), Side::Receiver, &answer);
        delivery.arrived(at(2), Side::Sender, &answer, 0);
        let outcome = delivery.outcome();
        let none = OptionCounts::default();
        assert_eq!(outcome.sender.sent.segments, 1);
        assert_eq!(outcome.sender.sent.options, OptionCounts { tcp: 1, dss: 1, ..none });
        // Two blocks are one option.
        assert_eq!(
            outcome.sender.received.options,
            OptionCounts { sack: 1, mptcp: 1, experimental: 1, ..none }
        );
        assert_eq!(outcome.receiver.sent, outcome.sender.received);
        assert_eq!(outcome.receiver.received.segments, 0);
    }
}
