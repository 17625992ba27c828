//! Sender's half of explicit congestion notification (RFC 3168, section 6.1.2).

/// ECN state of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EcnState {
    /// Echoes in acknowledgements up to here belong to a reduction already made.
    reduced_until: u64,
    /// The next new segment carries CWR.
    send_cwr: bool,
}

impl EcnState {
    /// An acknowledgement up to `ack` carries ECE; `next` is the next offset to be sent. Returns
    /// true if the window must be reduced: once per window of data.
    pub(super) fn on_ece(&mut self, ack: u64, next: u64) -> bool {
        if ack <= self.reduced_until {
            return false;
        }
        *self = Self { reduced_until: next, send_cwr: true };
        true
    }
    /// Data of the window from `una` on was reduced for already.
    pub(super) fn has_reduced(&self, una: u64) -> bool {
        una < self.reduced_until
    }
    pub(super) fn take_cwr(&mut self) -> bool {
        core::mem::take(&mut self.send_cwr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reduction_and_one_cwr_per_window() {
        let mut ecn = EcnState::default();
        assert!(ecn.on_ece(10, 100));
        assert!(ecn.take_cwr() && !ecn.take_cwr());
        assert!(!ecn.on_ece(100, 150) && !ecn.take_cwr());
        assert!(ecn.on_ece(101, 200) && ecn.take_cwr());
    }
}
