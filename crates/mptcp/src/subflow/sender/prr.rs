//! Proportional rate reduction (RFC 9937).
//!
//! In fast recovery the window follows the data delivered: down to `ssthresh` in proportion over a
//! round trip, and up again where losses have emptied the network below it.

/// State of one recovery, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prr {
    delivered: u64,
    sent: u64,
    /// In flight when the recovery began.
    flight: u64,
}

impl Prr {
    /// A recovery begins (section 6.1). `flight` excludes data delivered before.
    pub(super) fn begin(&mut self, flight: u64) {
        (self.delivered, self.sent, self.flight) = (0, 0, flight.max(1));
    }

    pub(super) fn on_sent(&mut self, len: u64) {
        self.sent += len;
    }

    /// Window after an acknowledgement of `delivered` bytes (section 6.2). `safe` if it advanced
    /// and showed no further loss.
    pub(super) fn window(
        &mut self,
        delivered: u64,
        safe: bool,
        pipe: u64,
        ssthresh: u64,
        mss: u64,
    ) -> Option<u64> {
        if delivered == 0 {
            return None;
        }
        self.delivered += delivered;
        let send = if pipe > ssthresh {
            let target =
                (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.flight));
            // In whole segments, as the examples of section 8 count: half a segment is never sent.
            (target as u64).next_multiple_of(mss).saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(delivered) + if safe { mss } else { 0 };
            limit.min(ssthresh - pipe)
        };
        let forced = self.sent == 0 && send == 0;
        Some(pipe + if forced { mss } else { send })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_retransmission_is_always_allowed() {
        let mut prr = Prr::default();
        prr.begin(20);
        assert_eq!(prr.window(1, false, 10, 10, 5), Some(15));
        assert_eq!(prr.window(0, true, 10, 10, 5), None);
    }

    #[test]
    fn window_below_the_threshold_grows_faster_while_safe() {
        let grown = |safe| {
            let mut prr = Prr::default();
            prr.begin(100);
            prr.window(5, safe, 10, 50, 5)
        };
        assert_eq!((grown(false), grown(true)), (Some(15), Some(20)));
    }
}
