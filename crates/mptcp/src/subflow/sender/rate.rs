//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation-02), for congestion controls
//! that ask for them. The state of each segment lies in a queue beside the scoreboard, so that
//! other algorithms pay one branch only.

use crate::congestion::RateSample;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// State of the sampler when a segment was last sent (section 3.1.2).
#[derive(Debug, Clone, Copy)]
struct Stamp {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    app_limited: bool,
}

/// Of the segments that an acknowledgement delivered, the one sent last.
#[derive(Debug, Clone, Copy)]
struct Newest {
    stamp: Stamp,
    sent: Instant,
}

/// Sampler of one subflow.
#[derive(Debug, Clone)]
pub(super) struct RateSampler {
    /// Bytes delivered, ever, and when the last of them were.
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// Samples are limited by the application until this many bytes are delivered; 0 if they are
    /// not.
    app_limited: u64,
    /// One stamp for each segment in flight, in the same order.
    stamps: VecDeque<Stamp>,
    newest: Option<Newest>,
}

impl RateSampler {
    pub(super) fn new() -> Self {
        Self {
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited: 0,
            stamps: VecDeque::new(),
            newest: None,
        }
    }

    /// Segments in flight.
    pub(super) fn len(&self) -> usize {
        self.stamps.len()
    }
    /// Bytes delivered, ever.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    fn stamp(&mut self, now: Instant, idle: bool) -> Stamp {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited > 0,
        }
    }

    /// A segment is sent for the first time; `idle` if it is alone in flight.
    pub(super) fn on_sent(&mut self, now: Instant, idle: bool) {
        let stamp = self.stamp(now, idle);
        self.stamps.push_back(stamp);
    }

    /// Segment `i` is sent again.
    pub(super) fn on_retransmission(&mut self, now: Instant, i: usize) {
        let stamp = self.stamp(now, false);
        if let Some(place) = self.stamps.get_mut(i) {
            *place = stamp;
        }
    }

    /// The first segment is acknowledged as a whole.
    pub(super) fn pop(&mut self) {
        self.stamps.pop_front();
    }

    /// `len` bytes of segment `i`, last sent at `sent`, were delivered (section 3.3,
    /// UpdateRateSample).
    pub(super) fn on_delivered(&mut self, now: Instant, i: usize, len: u64, sent: Instant) {
        self.delivered += len;
        self.delivered_at = now;
        let Some(&stamp) = self.stamps.get(i) else { return };
        let newer = |old: &Newest| (stamp.delivered, sent) >= (old.stamp.delivered, old.sent);
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(Newest { stamp, sent });
            self.first_sent = sent;
        }
    }

    /// The window had room and no data was left to send (section 3.4).
    pub(super) fn set_app_limited(&mut self, pipe: u64) {
        self.app_limited = (self.delivered + pipe).max(1);
    }

    /// Sample of an acknowledgement (GenerateRateSample). `before` is
    /// [`delivered`](Self::delivered) before it.
    pub(super) fn sample(&mut self, before: u64, min_rtt: Duration) -> RateSample {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mut sample = RateSample {
            delivered: self.delivered,
            prior_delivered: before,
            newly_delivered: self.delivered - before,
            newly_lost: 0,
            interval: Duration::ZERO,
            app_limited: self.app_limited > 0,
            rtt: None,
            in_flight: 0,
        };
        if let Some(Newest { stamp, sent }) = self.newest.take() {
            // Acknowledgements come in bunches: take the slower of sending and arriving.
            let interval = sent.since(stamp.first_sent).max(self.delivered_at.since(stamp.delivered_at));
            sample.prior_delivered = stamp.delivered;
            sample.app_limited = stamp.app_limited;
            // An interval below the lowest round trip is not reliable.
            if interval >= min_rtt {
                sample.interval = interval;
            }
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_secs(1) + Duration::from_millis(ms)
    }

    #[test]
    fn sample_spans_the_slower_of_sending_and_arriving() {
        let mut sampler = RateSampler::new();
        sampler.on_sent(at(0), true);
        sampler.on_sent(at(30), false);
        sampler.on_delivered(at(100), 0, 1000, at(0));
        sampler.pop();
        let sample = sampler.sample(0, Duration::from_millis(100));
        assert_eq!((sample.newly_delivered, sample.interval), (1000, Duration::from_millis(100)));
        sampler.on_delivered(at(140), 0, 1000, at(30));
        sampler.pop();
        let sample = sampler.sample(1000, Duration::from_millis(100));
        assert_eq!((sample.prior_delivered, sample.interval), (0, Duration::from_millis(140)));
        assert_eq!(sampler.len(), 0);
    }

    #[test]
    fn application_limit_ends_after_the_bytes_in_flight() {
        let mut sampler = RateSampler::new();
        sampler.set_app_limited(1000);
        sampler.on_sent(at(0), true);
        sampler.on_delivered(at(100), 0, 1000, at(0));
        assert!(sampler.sample(0, Duration::ZERO).app_limited);
        sampler.on_sent(at(100), false);
        sampler.on_delivered(at(200), 1, 1000, at(100));
        assert!(sampler.sample(1000, Duration::ZERO).app_limited, "it was sent within the limit");
        sampler.on_sent(at(200), false);
        sampler.on_delivered(at(300), 2, 1000, at(200));
        assert!(!sampler.sample(2000, Duration::ZERO).app_limited);
    }
}
