//! Recorder of one connection's data: when each piece was first sent, when it arrived, and when the
//! application read it.
//!
//! The recorder observes segments and the number of bytes read, not the endpoints; it cannot change
//! the run.

mod downsample;
mod histogram;
mod outcome;
mod pending;

pub use histogram::Histogram;
pub use outcome::{
    DelayOutcome, DelayPoint, DeliveryOutcome, OffsetOutcome, OptionCounts, SegmentCounts, WorkOutcome,
};

use downsample::{Decimated, Extremes};
use pending::Pending;
use units::{Duration, Instant};
use wire::{Segment, Span};

/// Intervals into which the run is divided for values over time.
const INTERVALS: u64 = 240;

/// Recorder of a connection's data in the direction in which its application writes. Delays are in
/// nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRecorder {
    /// Length of each of the [`INTERVALS`].
    interval: Duration,
    pending: Pending,
    sent: Decimated,
    received: Decimated,
    /// Stream offset of the last segment that arrived with undelivered data.
    last_arrival: Option<u64>,
    offsets: Histogram,
    peak_offset: u64,
    extremes: Extremes,
    delays: Histogram,
    delay_sum: u128,
    longest_delay: u64,
    last_delay: Option<u64>,
    jitter_sum: u128,
    delays_over_time: Vec<DelayInterval>,
    /// Segments processed by the sender, and by the receiver.
    work: [WorkOutcome; 2],
}

/// Delays of the pieces delivered within an interval, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct DelayInterval {
    count: u64,
    sum: u128,
    /// Number and sum of the differences to the delay of the preceding piece.
    jitter_count: u64,
    jitter_sum: u128,
}

/// Role of an end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Sends the data.
    Sender,
    /// Receives the data.
    Receiver,
}

impl DeliveryRecorder {
    /// A recorder for a run of `duration`.
    pub(crate) fn new(duration: Duration) -> Self {
        let interval = Duration::from_nanos(duration.as_nanos().div_ceil(INTERVALS).max(1));
        Self {
            interval,
            pending: Pending::default(),
            sent: Decimated::default(),
            received: Decimated::default(),
            last_arrival: None,
            offsets: Histogram::default(),
            peak_offset: 0,
            extremes: Extremes::new(interval),
            delays: Histogram::default(),
            delay_sum: 0,
            longest_delay: 0,
            last_delay: None,
            jitter_sum: 0,
            delays_over_time: Vec::new(),
            work: [WorkOutcome::default(); 2],
        }
    }

    /// An end sends a segment.
    pub(crate) fn on_send(&mut self, now: Instant, side: Side, segment: &Segment<Span>) {
        self.work[side as usize].sent.count(segment);
        let Span { offset, len, .. } = segment.payload;
        if side == Side::Sender && len > 0 {
            self.sent.push(now, offset);
            self.pending.on_send(now, offset, offset + u64::from(len));
        }
    }

    /// An end has received a segment, after which the application has read `delivered` bytes in
    /// all.
    pub(crate) fn on_receive(&mut self, now: Instant, side: Side, segment: &Segment<Span>, delivered: u64) {
        self.work[side as usize].received.count(segment);
        if side == Side::Sender || segment.payload.len == 0 {
            return;
        }
        let Span { offset, len, .. } = segment.payload;
        self.received.push(now, offset);
        let is_new = offset + u64::from(len) > self.pending.delivered();
        if is_new && let Some(last) = self.last_arrival.replace(offset) {
            let magnitude = offset.abs_diff(last);
            self.offsets.add(magnitude);
            self.peak_offset = self.peak_offset.max(magnitude);
            self.extremes.push(now, offset as i64 - last as i64);
        }
        while let Some(first_sent) = self.pending.take_delivered(delivered) {
            self.add_delay(now, now.since(first_sent).as_nanos());
        }
    }

    /// Counts a piece that was delivered at `now`, `delay` nanoseconds after its first
    /// transmission.
    fn add_delay(&mut self, now: Instant, delay: u64) {
        self.delays.add(delay);
        self.delay_sum += u128::from(delay);
        self.longest_delay = self.longest_delay.max(delay);
        let index = (now.as_nanos() / self.interval.as_nanos()) as usize;
        if self.delays_over_time.len() <= index {
            self.delays_over_time.resize(index + 1, DelayInterval::default());
        }
        let interval = &mut self.delays_over_time[index];
        interval.count += 1;
        interval.sum += u128::from(delay);
        if let Some(last) = self.last_delay.replace(delay) {
            let change = u128::from(delay.abs_diff(last));
            self.jitter_sum += change;
            interval.jitter_count += 1;
            interval.jitter_sum += change;
        }
    }

    pub(crate) fn into_outcome(self) -> DeliveryOutcome {
        let delay = self.delay_outcome();
        let [sender, receiver] = self.work;
        DeliveryOutcome {
            sent: self.sent.into_points(),
            received: self.received.into_points(),
            offsets: OffsetOutcome {
                peak_bytes: self.peak_offset,
                p95_bytes: self.offsets.quantile(0.95),
                count: self.offsets.count(),
                by_power_of_two: self.offsets.by_power_of_two(),
                over_time: self.extremes.into_points(),
            },
            delay,
            sender,
            receiver,
        }
    }

    fn delay_outcome(&self) -> DelayOutcome {
        let count = self.delays.count();
        let seconds = |nanos: f64| nanos / 1e9;
        let mean = |sum: u128, count: u64| (count > 0).then(|| seconds(sum as f64 / count as f64));
        let quantile = |q: f64| self.delays.quantile(q).map(|nanos| seconds(nanos as f64));
        let intervals = self.delays_over_time.iter().enumerate().filter(|(_, interval)| interval.count > 0);
        DelayOutcome {
            count,
            mean_s: mean(self.delay_sum, count),
            p50_s: quantile(0.5),
            p95_s: quantile(0.95),
            p99_s: quantile(0.99),
            longest_s: seconds(self.longest_delay as f64),
            jitter_s: mean(self.jitter_sum, count.saturating_sub(1)),
            over_time: intervals
                .map(|(i, interval)| DelayPoint {
                    time_s: (self.interval * (i as u64 + 1)).as_secs_f64(),
                    mean_s: mean(interval.sum, interval.count).unwrap_or(0.0),
                    jitter_s: mean(interval.jitter_sum, interval.jitter_count),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Dss, Flags, MptcpSignal, RecOption, TimestampOption};

    fn data(offset: u64, len: u32) -> Segment<Span> {
        let mut segment = Segment::new((0, 0), 0, 0, Flags::ACK, 0);
        segment.payload = Span::new(offset, len);
        segment
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Records segments of 100 bytes: sent at (ms, offset), and received at (ms, offset,
    /// delivered).
    fn record(sent: &[(u64, u64)], received: &[(u64, u64, u64)]) -> DeliveryOutcome {
        let mut recorder = DeliveryRecorder::new(Duration::from_secs(1));
        for &(ms, offset) in sent {
            recorder.on_send(at(ms), Side::Sender, &data(offset, 100));
        }
        for &(ms, offset, delivered) in received {
            recorder.on_receive(at(ms), Side::Receiver, &data(offset, 100), delivered);
        }
        recorder.into_outcome()
    }

    fn assert_near(value: Option<f64>, expected: f64) {
        assert!((value.unwrap() - expected).abs() < 1e-12, "{value:?} is not {expected}");
    }

    #[test]
    fn in_order_delay_is_path_delay_and_offset_is_segment_length() {
        let outcome = record(&[(0, 0), (1, 100), (2, 200)], &[(10, 0, 100), (11, 100, 200), (12, 200, 300)]);
        assert_near(outcome.delay.mean_s, 0.010);
        assert_near(outcome.delay.jitter_s, 0.0);
        assert_eq!((outcome.offsets.peak_bytes, outcome.offsets.count), (100, 2));
    }

    #[test]
    fn delay_includes_the_wait_for_a_gap() {
        // The first piece comes last: the other two wait for it until 30 ms.
        let outcome = record(&[(0, 0), (1, 100), (2, 200)], &[(10, 100, 0), (12, 200, 0), (30, 0, 300)]);
        // 30, 29 and 28 ms.
        assert_near(outcome.delay.mean_s, 0.029);
        assert_near(outcome.delay.jitter_s, 0.001);
        assert_eq!(outcome.delay.longest_s, 0.030);
        // +100, then -200.
        assert_eq!((outcome.offsets.peak_bytes, outcome.offsets.count), (200, 2));
        let signed: Vec<i64> = outcome.offsets.over_time.iter().map(|&(_, offset)| offset).collect();
        assert_eq!(signed, [100, -200]);
    }

    #[test]
    fn delay_of_a_retransmission_counts_from_the_first_transmission() {
        let outcome = record(&[(0, 0), (20, 0)], &[(30, 0, 100)]);
        assert_near(outcome.delay.mean_s, 0.030);
        assert_eq!(outcome.delay.count, 1);
        assert_eq!(outcome.sent.len(), 2);
    }

    #[test]
    fn duplicate_data_is_received_twice_and_delivered_once() {
        let outcome = record(&[(0, 0), (1, 100)], &[(10, 0, 100), (11, 100, 200), (12, 0, 200)]);
        assert_eq!((outcome.received.len(), outcome.delay.count), (3, 2));
        // The duplicate is not an out-of-order arrival.
        assert_eq!(outcome.offsets.count, 1);
    }

    #[test]
    fn delay_points_are_at_the_end_of_their_interval() {
        // Intervals of 1/240 s are 4.17 ms: 10 and 11 ms are in the third, 40 ms is in the tenth.
        let outcome = record(&[(0, 0), (1, 100), (2, 200)], &[(10, 0, 100), (11, 100, 200), (40, 200, 300)]);
        let points = &outcome.delay.over_time;
        assert_eq!(points.len(), 2);
        assert!((points[0].time_s - 3.0 / 240.0).abs() < 1e-6 && (points[0].mean_s - 0.010).abs() < 1e-12);
        assert!((points[1].time_s - 10.0 / 240.0).abs() < 1e-6 && (points[1].mean_s - 0.038).abs() < 1e-12);
        assert_near(points[1].jitter_s, 0.028);
    }

    #[test]
    fn without_deliveries_there_is_no_delay() {
        let outcome = record(&[(0, 0)], &[]);
        assert_eq!((outcome.delay.mean_s, outcome.delay.p50_s, outcome.delay.jitter_s), (None, None, None));
    }

    #[test]
    fn segments_and_options_are_counted_by_end_direction_and_class() {
        let mut recorder = DeliveryRecorder::new(Duration::from_secs(1));
        let mut segment = data(0, 100);
        segment.timestamps = Some(TimestampOption { value: 1, echo: 1 });
        segment.dss = Some(Dss::default());
        recorder.on_send(at(0), Side::Sender, &segment);
        let mut answer = data(0, 0);
        answer.sack.push(1, 2);
        answer.sack.push(3, 4);
        answer.signal = Some(MptcpSignal::Priority { backup: true, address_id: None });
        answer.rec = Some(RecOption::Offer { version: 1 });
        recorder.on_send(at(1), Side::Receiver, &answer);
        recorder.on_receive(at(2), Side::Sender, &answer, 0);
        let outcome = recorder.into_outcome();
        let none = OptionCounts::default();
        assert_eq!(outcome.sender.sent.segments, 1);
        assert_eq!(outcome.sender.sent.options, OptionCounts { tcp: 1, dss: 1, ..none });
        // Two SACK blocks are one option.
        assert_eq!(
            outcome.sender.received.options,
            OptionCounts { sack: 1, mptcp: 1, experimental: 1, ..none }
        );
        assert_eq!(outcome.receiver.sent, outcome.sender.received);
        assert_eq!(outcome.receiver.received.segments, 0);
    }
}
