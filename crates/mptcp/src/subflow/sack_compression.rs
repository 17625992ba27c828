//! Compression of acknowledgements of data beyond a gap, as in Linux (`tcp_input.c`,
//! `__tcp_ack_snd_check`): a sender in recovery needs fewer of them than the segments it sent.

use units::Duration;

/// Acknowledgements sent at once for each gap (`TCP_FASTRETRANS_THRESH`).
const IMMEDIATE_ACKS: u32 = 3;
/// Segments that share an acknowledgement, at most (`tcp_comp_sack_nr`).
const MAX_WAITING_SEGMENTS: u32 = 44;
/// Longest delay, in percent of the round trip (`tcp_comp_sack_rtt_percent`).
const MAX_DELAY_RTT_PERCENT: u64 = 33;

#[derive(Debug, Clone, Default)]
pub(super) struct SackCompression {
    /// Longest delay.
    max_delay: Duration,
    /// Offset of the gap, and the acknowledgements sent at once for it.
    gap: u64,
    immediate: u32,
    /// Segments that wait for a common acknowledgement.
    waiting: u32,
}

impl SackCompression {
    /// Compression by at most `max_delay`; `None` if that is zero.
    pub(super) fn new(max_delay: Duration) -> Option<Box<Self>> {
        (!max_delay.is_zero()).then(|| Box::new(Self { max_delay, ..Self::default() }))
    }

    /// Returns how long the acknowledgement of a segment beyond the gap at offset `gap` may wait;
    /// `None` if it is due at once.
    pub(super) fn delay(&mut self, gap: u64, rtt: Option<Duration>) -> Option<Duration> {
        if self.waiting >= MAX_WAITING_SEGMENTS {
            return None;
        }
        if self.gap != gap {
            (self.gap, self.immediate) = (gap, 0);
        }
        if self.immediate < IMMEDIATE_ACKS {
            self.immediate += 1;
            return None;
        }
        self.waiting += 1;
        let by_rtt = rtt.map_or(self.max_delay, |rtt| rtt * MAX_DELAY_RTT_PERCENT / 100);
        Some(self.max_delay.min(by_rtt))
    }

    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_DELAY: Duration = Duration::from_millis(1);

    #[test]
    fn fourth_to_47th_segment_beyond_a_gap_wait() {
        let mut compression = SackCompression::new(MAX_DELAY).unwrap();
        assert_eq!([0; 3].map(|_| compression.delay(1, None)), [None; 3]);
        assert!((0..44).all(|_| compression.delay(1, None) == Some(MAX_DELAY)));
        assert_eq!(compression.delay(1, None), None);
        compression.on_ack_sent();
        assert_eq!(compression.delay(1, None), Some(MAX_DELAY));
        assert_eq!(compression.delay(1000, None), None, "another gap");
    }

    #[test]
    fn short_round_trip_shortens_the_delay() {
        let mut compression = SackCompression::new(MAX_DELAY).unwrap();
        let rtt = Some(Duration::from_millis(1));
        let delays = [0; 4].map(|_| compression.delay(1, rtt));
        assert_eq!(delays[3], Some(Duration::from_micros(330)));
    }
}
