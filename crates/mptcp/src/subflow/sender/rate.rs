//! How fast data arrives: the delivery rate sampler of draft-cheng-iccrg-delivery-rate-estimation-02,
//! for algorithms that ask for it. Others pay one branch: what it keeps of each segment lies beside the
//! queue of what is in flight, not in it.

use crate::congestion::RateSample;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// How things stood when a segment was sent last (section 3.1.2).
#[derive(Debug, Clone, Copy)]
struct Stamp {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    app_limited: bool,
}

/// The stamp of the latest sent among what an acknowledgement delivered.
#[derive(Debug, Clone, Copy)]
struct Newest {
    stamp: Stamp,
    sent: Instant,
}

#[derive(Debug, Clone)]
pub(super) struct Sampler {
    /// Bytes delivered, ever, and when the last of them were.
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// What had been sent by then goes at the pace of the application; 0 for nothing.
    app_limited: u64,
    /// One for each segment in flight, in the same order.
    stamps: VecDeque<Stamp>,
    newest: Option<Newest>,
}

impl Sampler {
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

    /// Segments that are stamped.
    pub(super) fn len(&self) -> usize {
        self.stamps.len()
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

    /// A segment goes out for the first time; `idle` if nothing was in flight.
    pub(super) fn sent(&mut self, now: Instant, idle: bool) {
        let stamp = self.stamp(now, idle);
        self.stamps.push_back(stamp);
    }

    pub(super) fn sent_again(&mut self, now: Instant, i: usize) {
        let stamp = self.stamp(now, false);
        if let Some(place) = self.stamps.get_mut(i) {
            *place = stamp;
        }
    }

    /// The first segment is acknowledged whole.
    pub(super) fn pop(&mut self) {
        self.stamps.pop_front();
    }

    /// `len` bytes of segment `i`, sent last at `sent`, have arrived (section 3.3, UpdateRateSample).
    pub(super) fn delivered(&mut self, now: Instant, i: usize, len: u64, sent: Instant) {
        self.delivered += len;
        self.delivered_at = now;
        let Some(&stamp) = self.stamps.get(i) else { return };
        let newer = |old: &Newest| (stamp.delivered, sent) >= (old.stamp.delivered, old.sent);
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(Newest { stamp, sent });
            self.first_sent = sent;
        }
    }

    /// There was window and nothing to send (section 3.4).
    pub(super) fn run_dry(&mut self, pipe: u64) {
        self.app_limited = (self.delivered + pipe).max(1);
    }

    /// The sample of an acknowledgement that is done with (GenerateRateSample). What it delivered is
    /// told by `before`, bytes delivered until then.
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
            // The slower of sending and arriving: acknowledgements come in bunches.
            let interval = sent.since(stamp.first_sent).max(self.delivered_at.since(stamp.delivered_at));
            sample.prior_delivered = stamp.delivered;
            sample.app_limited = stamp.app_limited;
            // Nothing can take less than a round trip.
            if interval >= min_rtt {
                sample.interval = interval;
            }
        }
        sample
    }

    pub(super) fn delivered_so_far(&self) -> u64 {
        self.delivered
    }
}
