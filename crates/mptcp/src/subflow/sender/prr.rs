//! Proportional rate reduction: RFC 9937, which replaces RFC 6937.
//!
//! In fast recovery the window follows what is delivered: down to `ssthresh` in proportion over a
//! round trip, and where losses have emptied the network below it, up again.

/// State of one recovery, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prr {
    delivered: u64,
    out: u64,
    /// In flight when the recovery began.
    flight: u64,
}

impl Prr {
    /// Section 6.1. `flight` without what had been delivered before.
    pub(super) fn begin(&mut self, flight: u64) {
        (self.delivered, self.out, self.flight) = (0, 0, flight.max(1));
    }

    pub(super) fn sent(&mut self, len: u64) {
        self.out += len;
    }

    /// The window after an acknowledgement of so many bytes (section 6.2). `safe` if it moved forward
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
            let out = (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.flight));
            // In whole segments, as the examples of section 8 count: half a one is never sent.
            (out as u64).next_multiple_of(mss).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + if safe { mss } else { 0 };
            limit.min(ssthresh - pipe)
        };
        let forced = self.out == 0 && send == 0;
        Some(pipe + if forced { mss } else { send })
    }
}
