//! Tail loss probe: TLP (RFC 8985, section 7).

use units::Duration;

/// Longest delay of the peer's acknowledgement (section 7.2; Linux `tcp_rto_min`: 200 ms).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Probe timeout before the first round-trip sample (section 7.2).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);

/// A probe in flight.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    /// Next offset after the probe.
    end: u64,
    /// It repeats the last segment; otherwise it was new data.
    repeated: bool,
}

/// Probe that is due or in flight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TailProbe {
    outstanding: Option<Outstanding>,
    /// A probe is to be sent now, regardless of the window.
    due: bool,
}

impl TailProbe {
    /// Time without an acknowledgement until a probe is sent (section 7.2).
    pub(super) fn timeout(srtt: Option<Duration>, segments_in_flight: usize) -> Duration {
        match srtt {
            None => INITIAL_TIMEOUT,
            Some(srtt) if segments_in_flight == 1 => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2,
        }
    }

    #[inline]
    pub(super) fn is_due(self) -> bool {
        self.due
    }
    #[inline]
    pub(super) fn is_outstanding(self) -> bool {
        self.outstanding.is_some()
    }
    pub(super) fn set_due(&mut self) {
        self.due = true;
    }
    pub(super) fn cancel_due(&mut self) {
        self.due = false;
    }
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
    /// The probe is sent; `end` is the next offset after it.
    pub(super) fn on_sent(&mut self, end: u64, repeated: bool) {
        self.due = false;
        self.outstanding = Some(Outstanding { end, repeated });
    }

    /// An acknowledgement up to `ack` (section 7.4). `duplicate` if it shows without SACK that
    /// both copies arrived. Returns true if the probe has repaired the loss of the tail.
    pub(super) fn on_ack(&mut self, ack: u64, dsack: Option<(u64, u64)>, duplicate: bool) -> bool {
        let Some(probe) = self.outstanding.filter(|probe| ack >= probe.end) else { return false };
        let nothing_lost = !probe.repeated || dsack.is_some_and(|(_, right)| right == probe.end) || duplicate;
        if nothing_lost || ack > probe.end {
            self.outstanding = None;
        }
        !nothing_lost && ack > probe.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_allows_for_a_delayed_ack_of_a_lone_segment() {
        let srtt = Duration::from_millis(50);
        assert_eq!(TailProbe::timeout(Some(srtt), 2), Duration::from_millis(100));
        assert_eq!(TailProbe::timeout(Some(srtt), 1), Duration::from_millis(300));
        assert_eq!(TailProbe::timeout(None, 2), Duration::from_secs(1));
    }

    #[test]
    fn repeated_probe_reports_a_loss_only_after_an_ack_beyond_it() {
        let mut probe = TailProbe::default();
        probe.on_sent(100, true);
        assert!(!probe.on_ack(99, None, false) && !probe.on_ack(100, None, false));
        assert!(probe.is_outstanding());
        assert!(probe.on_ack(101, None, false));
        assert!(!probe.is_outstanding());
    }

    #[test]
    fn dsack_duplicate_or_new_data_mean_no_loss() {
        for (repeated, dsack, duplicate) in
            [(true, Some((90, 100)), false), (true, None, true), (false, None, false)]
        {
            let mut probe = TailProbe::default();
            probe.on_sent(100, repeated);
            assert!(!probe.on_ack(100, dsack, duplicate));
            assert!(!probe.is_outstanding());
        }
    }
}
