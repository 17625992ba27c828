//! What the device's applications ask for, as its byte counters show it.

use units::Duration;

/// The rate that is asked for, and how far what came has fallen behind it.
///
/// The counters show what came, never what was asked for. So the demand is taken from the past: the
/// median of a second's looks, which a short burst (a backlog that drains) does not raise, held as a
/// maximum that is forgotten slowly. A rate below it is **debt**, in bytes, until a rate above it pays
/// it back: what a sender could not send it keeps, and sends later. Looks that fall far short, and the part
/// of a rate that pays a debt, say nothing of what is asked for, and are left out of the median. And what a
/// shortage leaves behind in a queue comes faster than anybody asks, though other paths have carried it too: for two
/// seconds after one it takes eight of ten looks to raise the demand. For as long after a subflow was given up, when
/// senders send things twice, nothing raises it.
#[derive(Debug, Clone, Default)]
pub(super) struct Demand {
    /// The last looks' rates, bytes a second, as a ring.
    looks: [f64; Self::LOOKS],
    next: usize,
    /// Bytes a second.
    rate: f64,
    /// Bytes.
    debt: f64,
}

/// What the account is kept within.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Time constant with which the demand is forgotten.
    pub(super) memory: Duration,
    /// The most that is asked for, in bytes a second.
    pub(super) enough: f64,
    /// The most that is owed, in bytes.
    pub(super) most: f64,
}

/// What a rate above the demand says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// So much is asked for.
    More,
    /// What was stuck in a shortage may come.
    MoreSlowly,
    /// What is sent twice may come.
    NoMore,
}

impl Demand {
    /// Looks whose median is taken: a second of them.
    const LOOKS: usize = 10;
    /// After a shortage as many of them may be less than what the demand rises to.
    const LESS: usize = 2;
    /// A rate that is below the demand by no more than this part is not behind it: counters are read
    /// between packets, and a stream's rate wavers.
    pub(super) const SLACK: f64 = 0.05;

    /// A rate below this part of the demand is a shortage, and no smaller demand.
    const SHORT: f64 = 0.8;

    /// Accounts for a look: `rate` bytes a second came for `span`, which says so much of what is asked for.
    pub(super) fn account(&mut self, rate: f64, span: Duration, says: Says, bounds: &Bounds) {
        let &Bounds { memory, enough, most } = bounds;
        let span = span.as_secs_f64();
        // What pays a debt was asked for before.
        let paid = (rate - self.rate).clamp(0.0, if span > 0.0 { self.debt / span } else { 0.0 });
        // What falls far short tells nothing of what was asked for.
        if rate >= Self::SHORT * self.rate {
            let most = if says == Says::NoMore { self.rate } else { f64::INFINITY };
            self.looks[self.next] = (rate - paid).min(most);
            self.next = (self.next + 1) % Self::LOOKS;
            let mut sorted = self.looks;
            sorted.sort_unstable_by(f64::total_cmp);
            let median = f64::midpoint(sorted[Self::LOOKS / 2 - 1], sorted[Self::LOOKS / 2]).min(enough);
            let raises = if says == Says::MoreSlowly { median.min(sorted[Self::LESS]) } else { median };
            if raises > self.rate {
                self.rate = raises;
            } else if median < self.rate {
                let memory = memory.as_secs_f64();
                let part = if memory > 0.0 { (span / memory).min(1.0) } else { 1.0 };
                self.rate += (median - self.rate) * part;
            }
        }
        let owed = (self.asked() - rate) * span;
        self.debt = (self.debt + owed).clamp(0.0, most);
    }

    /// The demand was less than thought: it is `rate`, in bytes a second, and nothing is owed.
    pub(super) fn correct(&mut self, rate: f64) {
        *self = Self { looks: [rate; Self::LOOKS], next: 0, rate, debt: 0.0 };
    }

    /// The shortage is over: nothing is owed, and how fast what was owed came says nothing of what is asked for.
    pub(super) fn forgive(&mut self) {
        self.debt = 0.0;
        self.looks = [self.rate; Self::LOOKS];
    }

    /// What is asked for, in bytes a second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// What comes below this is behind what is asked for, in bytes a second.
    pub(super) fn asked(&self) -> f64 {
        (1.0 - Self::SLACK) * self.rate
    }

    /// What is owed, in bytes.
    pub(super) fn debt(&self) -> f64 {
        self.debt
    }

    /// What is owed, in seconds of the demand; 0 where nothing is asked for.
    pub(super) fn late(&self) -> f64 {
        if self.rate > 0.0 { self.debt / self.rate } else { 0.0 }
    }
}
