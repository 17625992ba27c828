//! Preferred paths that have died without a word, and how their subflows are made anew.

use super::Action;
use units::{Duration, Instant};

/// Watches for preferred paths that carry nothing while costly ones are to help, and has their subflows closed and opened again.
///
/// What a sender has put on a path that is silent it gets back by timeouts of that path alone: meanwhile all that comes
/// over the others waits behind the hole, and at the end some senders send all of that a second time. Where the device
/// closes the subflow, its peer puts what is missing on the other paths at once. The new subflow is set up when the
/// path carries again, and until then nothing can be put there.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence {
    /// Preferred paths have carried nothing for so long, in seconds.
    span: f64,
    /// When subflows were last given up.
    given_up: Option<GivenUp>,
    /// The paths that are closed now, by their indices, and not yet opened again.
    closed: Vec<usize>,
}

/// How preferred paths were given up.
#[derive(Debug, Clone, Copy)]
struct GivenUp {
    at: Instant,
    /// When they first carried something after that.
    carried: Option<Instant>,
    /// Something was stuck, as far as is known, and may be sent twice.
    stuck: bool,
}

impl Silence {
    /// What carries less than this part of the demand is silent: what got stuck there would take ten times as long as
    /// it was asked for.
    pub(super) const CARRIES: f64 = 0.1;
    /// Where nothing has come since, the next attempt is made after so long: one whose packets were lost waits ever
    /// longer by itself (RFC 6298).
    const AGAIN: Duration = Duration::from_secs(4);
    /// What a sender puts on other paths on account of it has come after so long.
    const SETTLING: Duration = Duration::from_secs(2);
    /// So long a path is closed: who hears of the end and of a new subflow at once might take them for one.
    const APART: Duration = Duration::from_millis(100);

    /// Accounts for a look of `seconds` that ends at `now`, at which preferred paths carried `rate` of a demand, in bytes a second.
    pub(super) fn account(&mut self, now: Instant, rate: f64, demand: f64, seconds: f64) {
        let carries = rate >= Self::CARRIES * demand;
        self.span = if carries { 0.0 } else { self.span + seconds };
        if let Some(last) = &mut self.given_up
            && carries
        {
            last.carried.get_or_insert(now);
        }
    }

    /// Whether preferred paths were silent at the last look.
    pub(super) fn is_there(&self) -> bool {
        self.span > 0.0
    }

    /// Whether they were, or were given up, so lately that what is sent twice on account of it may come.
    pub(super) fn was_there(&self, now: Instant) -> bool {
        self.is_there() || self.was_given_up(now)
    }

    /// Whether they were given up, or carried again after that, so lately that what is sent twice on account of it may come:
    /// over others at first, and what was stuck when they are back.
    pub(super) fn was_given_up(&self, now: Instant) -> bool {
        let lately = |at| now.since(at) < Self::SETTLING;
        self.given_up.is_some_and(|last| last.stuck && (lately(last.at) || last.carried.is_some_and(lately)))
    }

    /// The application was silent, and no path.
    pub(super) fn nothing_was_stuck(&mut self) {
        if let Some(last) = &mut self.given_up {
            last.stuck = false;
        }
    }

    /// What is to be done about preferred paths: those of the indices `up` are there, and open unless it closed them.
    ///
    /// `others` says that costly paths are to help; `most` is how long preferred ones may be silent then.
    pub(super) fn act(
        &mut self,
        now: Instant,
        others: bool,
        most: Duration,
        up: impl Iterator<Item = usize>,
        actions: &mut Vec<Action>,
    ) {
        if let Some(last) = self.given_up
            && !self.closed.is_empty()
            && now.since(last.at) >= Self::APART
        {
            // How long the new subflow is silent is another matter.
            self.span = 0.0;
            actions.extend(self.closed.drain(..).map(|path| Action::Open { path }));
        }
        let due =
            self.given_up.is_none_or(|last| last.carried.is_some() || now.since(last.at) >= Self::AGAIN);
        if others && due && self.span >= most.as_secs_f64() {
            self.closed.extend(up);
            if !self.closed.is_empty() {
                self.given_up = Some(GivenUp { at: now, carried: None, stuck: true });
                actions.extend(self.closed.iter().map(|&path| Action::Close { path }));
            }
        }
    }
}
