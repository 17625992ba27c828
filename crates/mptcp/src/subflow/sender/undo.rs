//! Detection of spurious reductions: F-RTO after a timeout (RFC 5682), and the Eifel check by
//! timestamps (RFC 3522) or by duplicate SACK (RFC 3708).

use crate::Config;
use crate::congestion::Window;
use units::{Duration, Instant};

/// State of F-RTO (RFC 5682, sections 2.1 and 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Frto {
    #[default]
    Off,
    /// Step 2: the first segment was sent again, and its acknowledgement is awaited.
    Repeated,
    /// Step 3: new data is sent instead of further retransmissions.
    Holding,
}

/// Verdict of F-RTO on an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrtoVerdict {
    Undecided,
    /// Step 2b: send two new segments.
    SendNewData,
    /// The timeout was spurious.
    Spurious,
}

/// An acknowledgement during timeout recovery, as F-RTO sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrtoAck {
    pub(super) advanced: bool,
    /// Shows without SACK that a segment is missing.
    pub(super) duplicate: bool,
    /// The first segment in flight was sent more than once.
    pub(super) first_repeated: bool,
    /// Data sent after the timeout was delivered.
    pub(super) beyond: bool,
    /// Bytes delivered.
    pub(super) delivered: u64,
}

/// State before the last reduction.
#[derive(Debug, Clone, Copy)]
struct Saved {
    window: Window,
    /// When the first segment was sent again for it.
    first_retransmission: Option<Instant>,
    /// First offset in flight: duplicates before it belong to an earlier reduction.
    from: u64,
    /// Bytes sent again and not shown to be needless. Counted in bytes, because a segment may be
    /// cut on its way and each part arrive twice.
    unexplained: u64,
}

/// Undo state of one subflow.
#[derive(Debug, Clone)]
pub(super) struct Undo {
    eifel_enabled: bool,
    frto_enabled: bool,
    frto: Frto,
    saved: Option<Box<Saved>>,
}

impl Undo {
    pub(super) fn new(config: &Config) -> Self {
        Self { eifel_enabled: config.undo, frto_enabled: config.frto, frto: Frto::Off, saved: None }
    }

    /// Saves the window before a reduction. `una` is the first offset in flight.
    pub(super) fn save(&mut self, window: Window, una: u64) {
        if self.eifel_enabled || self.frto_enabled {
            let saved = Saved { window, first_retransmission: None, from: una, unexplained: 0 };
            self.saved = Some(Box::new(saved));
        }
    }
    pub(super) fn forget(&mut self) {
        self.saved = None;
    }
    #[inline]
    pub(super) fn has_saved(&self) -> bool {
        self.saved.is_some()
    }
    /// Ends F-RTO, and returns the window before the reduction.
    pub(super) fn take(&mut self) -> Option<Window> {
        let saved = self.saved.take()?;
        self.frto = Frto::Off;
        Some(saved.window)
    }

    pub(super) fn on_retransmission(&mut self, now: Instant, len: u64) {
        if let Some(saved) = &mut self.saved {
            saved.first_retransmission.get_or_insert(now);
            saved.unexplained += len;
        }
    }

    /// Returns true if the reduction was spurious: the acknowledged segment was sent before the
    /// first retransmission, or every retransmission arrived as a duplicate. `rtt` is the age of
    /// that segment by timestamps.
    pub(super) fn eifel_check(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        dsack: Option<(u64, u64)>,
        in_recovery: bool,
    ) -> bool {
        let Some(saved) = &mut self.saved else { return false };
        let Some(first) = saved.first_retransmission.filter(|_| self.eifel_enabled) else { return false };
        // In whole milliseconds, like the timestamps.
        let since = Duration::from_millis(now.as_millis() - first.as_millis());
        let mut spurious = in_recovery && rtt.is_some_and(|rtt| rtt > since);
        if let Some((left, right)) = dsack.filter(|&(left, _)| left >= saved.from && saved.unexplained > 0) {
            saved.unexplained = saved.unexplained.saturating_sub(right - left);
            spurious |= saved.unexplained == 0;
        }
        spurious
    }

    /// A timeout (RFC 5682, step 1): F-RTO starts outside recovery, or again for the same segment.
    pub(super) fn frto_on_timeout(&mut self, in_recovery: bool, repeated_timeout: bool) {
        let same = repeated_timeout && self.frto == Frto::Repeated;
        let starts = self.frto_enabled && (!in_recovery || same);
        self.frto = if starts { Frto::Repeated } else { Frto::Off };
    }

    /// An acknowledgement during a timeout recovery (RFC 5682, steps 2 and 3).
    pub(super) fn frto_on_ack(&mut self, ack: FrtoAck) -> FrtoVerdict {
        match self.frto {
            Frto::Off => {}
            Frto::Repeated if ack.duplicate => self.frto = Frto::Off,
            Frto::Repeated => {
                if ack.advanced && !ack.first_repeated {
                    self.frto = Frto::Holding;
                    return FrtoVerdict::SendNewData;
                }
            }
            Frto::Holding if !ack.beyond && ack.delivered > 0 => return FrtoVerdict::Spurious,
            Frto::Holding => self.frto = Frto::Off,
        }
        FrtoVerdict::Undecided
    }

    pub(super) fn stop_frto(&mut self) {
        self.frto = Frto::Off;
    }
    /// F-RTO holds back retransmissions.
    #[inline]
    pub(super) fn frto_holds(&self) -> bool {
        self.frto == Frto::Holding
    }
    pub(super) fn frto_is_off(&self) -> bool {
        self.frto == Frto::Off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_secs(1);
    const WINDOW: Window = Window { cwnd: 10_000, ssthresh: 5000 };

    fn saved() -> Undo {
        let mut undo = Undo::new(&Config { undo: true, frto: true, ..Config::default() });
        undo.save(WINDOW, 100);
        undo.on_retransmission(START, 50);
        undo
    }

    #[test]
    fn echo_older_than_the_retransmission_is_spurious() {
        let now = START + Duration::from_millis(10);
        let check =
            |ms, in_recovery| saved().eifel_check(now, Some(Duration::from_millis(ms)), None, in_recovery);
        assert!(check(11, true));
        assert!(!check(10, true) && !check(11, false));
    }

    #[test]
    fn duplicates_of_all_retransmitted_bytes_are_spurious() {
        let mut undo = saved();
        assert!(!undo.eifel_check(START, None, Some((90, 100)), false), "of an earlier reduction");
        assert!(!undo.eifel_check(START, None, Some((100, 130)), false));
        assert!(undo.eifel_check(START, None, Some((130, 150)), false));
        assert_eq!(undo.take(), Some(WINDOW));
        assert!(!undo.has_saved());
    }

    #[test]
    fn frto_needs_two_acknowledgements_without_loss() {
        let ack = FrtoAck {
            advanced: true,
            duplicate: false,
            first_repeated: false,
            beyond: false,
            delivered: 1000,
        };
        let mut undo = saved();
        undo.frto_on_timeout(false, false);
        assert_eq!(undo.frto_on_ack(ack), FrtoVerdict::SendNewData);
        assert!(undo.frto_holds());
        assert_eq!(undo.frto_on_ack(ack), FrtoVerdict::Spurious);
        let mut undo = saved();
        undo.frto_on_timeout(false, false);
        assert_eq!(undo.frto_on_ack(FrtoAck { duplicate: true, ..ack }), FrtoVerdict::Undecided);
        assert!(undo.frto_is_off());
        undo.frto_on_timeout(true, false);
        assert!(undo.frto_is_off(), "within another recovery");
    }
}
