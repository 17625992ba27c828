//! Negotiated options of a subflow, its priority, the peer's window and the DSS options seen.

use crate::Config;
use wire::{Payload, Segment};

/// Smallest MSS that leaves room for options (Linux `tcp_min_snd_mss`: 48).
pub(crate) const MIN_MSS: u16 = 64;
/// MSS of a peer that sends no MSS option (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Largest window scale (RFC 7323, section 2.3).
const MAX_WINDOW_SCALE: u8 = 14;
/// Bytes of a padded timestamp option.
const TIMESTAMP_LEN: u64 = 12;

/// TCP options: those offered in the SYN, and after the handshake those in use.
#[derive(Debug, Clone)]
pub(super) struct Negotiated {
    peer_scale: u8,
    own_scale: u8,
    timestamps: bool,
    sack: bool,
    ecn: bool,
    max_payload: u64,
}

impl Negotiated {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            peer_scale: 0,
            own_scale: own_window_scale(config),
            timestamps: config.timestamps,
            sack: config.sack,
            ecn: false,
            max_payload: u64::from(config.mss),
        }
    }

    /// Applies the options of the peer's SYN or SYN/ACK.
    pub(super) fn negotiate<P: Payload>(
        &mut self,
        config: &Config,
        segment: &Segment<P>,
        ecn: bool,
        dss_len: u64,
    ) {
        self.timestamps = config.timestamps && segment.timestamps.is_some();
        self.sack = config.sack && segment.sack_permitted;
        self.ecn = ecn;
        match segment.window_scale {
            Some(scale) => self.peer_scale = scale.min(MAX_WINDOW_SCALE),
            // Either both ends scale or neither does (RFC 7323, section 2.2).
            None => self.own_scale = 0,
        }
        let mss = segment.mss.unwrap_or(DEFAULT_MSS).min(config.mss).max(MIN_MSS);
        // The sender's maximum segment size excludes headers and options (RFC 5681, section 2).
        self.max_payload = u64::from(mss) - if self.timestamps { TIMESTAMP_LEN } else { 0 } - dss_len;
    }

    #[inline]
    pub(super) fn peer_scale(&self) -> u8 {
        self.peer_scale
    }
    #[inline]
    pub(super) fn own_scale(&self) -> u8 {
        self.own_scale
    }
    #[inline]
    pub(super) fn timestamps(&self) -> bool {
        self.timestamps
    }
    #[inline]
    pub(super) fn sack(&self) -> bool {
        self.sack
    }
    #[inline]
    pub(super) fn ecn(&self) -> bool {
        self.ecn
    }
    #[inline]
    pub(super) fn max_payload(&self) -> u64 {
        self.max_payload
    }
}

/// Window scale to offer to the peer.
pub(crate) fn own_window_scale(config: &Config) -> u8 {
    window_scale(config.recv_buffer).max(config.min_window_scale).min(MAX_WINDOW_SCALE)
}

/// Smallest window scale with which a 16-bit window covers `buffer` bytes (RFC 7323, section 2.3).
pub(crate) fn window_scale(buffer: u64) -> u8 {
    (0..MAX_WINDOW_SCALE).find(|&shift| buffer >> shift <= 65_535).unwrap_or(MAX_WINDOW_SCALE)
}

/// Backup flags of both ends (RFC 8684, section 3.3.8).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Priority {
    local_backup: bool,
    peer_backup: bool,
}

impl Priority {
    #[inline]
    pub(super) fn is_backup(self) -> bool {
        self.local_backup || self.peer_backup
    }
    pub(super) fn is_local(self) -> bool {
        self.local_backup
    }
    pub(super) fn set_local(&mut self, backup: bool) {
        self.local_backup = backup;
    }
    /// Returns true if the peer's flag changed.
    pub(super) fn set_peer(&mut self, backup: bool) -> bool {
        core::mem::replace(&mut self.peer_backup, backup) != backup
    }
}

/// Windows that the peer offered over this subflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerWindow {
    /// Window field of the last segment.
    field: Option<u16>,
    /// Largest window so far, in bytes.
    max: u64,
    /// Send window as Linux counts it (`snd_wnd`), in bytes, and the sequence number of its segment
    /// (`snd_wl1`).
    send_window: u64,
    updated_by: Option<u32>,
}

impl Default for PeerWindow {
    fn default() -> Self {
        Self { field: None, max: 65_535, send_window: 0, updated_by: None }
    }
}

impl PeerWindow {
    /// Returns true if `field` is the same as in the segment before.
    #[inline]
    pub(super) fn update(&mut self, field: u16, bytes: u64) -> bool {
        self.max = self.max.max(bytes);
        self.field.replace(field) == Some(field)
    }
    /// Updates the send window by a segment with the sequence number `seq`, and returns it. A duplicate
    /// acknowledgement opens it and never narrows it (`tcp_may_update_window`). `advances`: the segment
    /// acknowledges new data.
    pub(super) fn update_send_window(&mut self, bytes: u64, seq: u32, advances: bool) -> u64 {
        let is_newer = self.updated_by.is_none_or(|at| (seq.wrapping_sub(at) as i32) > 0);
        let opens_or_closes = self.updated_by == Some(seq) && (bytes > self.send_window || bytes == 0);
        if advances || is_newer || opens_or_closes {
            (self.send_window, self.updated_by) = (bytes, Some(seq));
        }
        self.send_window
    }
    #[inline]
    pub(super) fn is_same(self, field: u16) -> bool {
        self.field == Some(field)
    }
    pub(super) fn max(self) -> u64 {
        self.max
    }
}

/// DSS options of the peer's acknowledgements: do middleboxes let them pass?
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DssHistory {
    /// Data was acknowledged with a DATA_ACK.
    passed: bool,
    /// The latest acknowledgements had no DSS.
    missing: bool,
    /// Acknowledgements without cause, in a row.
    idle_acks: u8,
}

impl DssHistory {
    #[inline]
    pub(super) fn on_data_ack(&mut self, after_syn: bool, is_old: bool) {
        self.passed |= after_syn;
        // A late segment says nothing about what middleboxes do now.
        self.missing &= is_old;
        self.idle_acks = 0;
    }
    pub(super) fn on_missing(&mut self) {
        self.missing = true;
    }
    #[inline]
    pub(super) fn is_missing(self) -> bool {
        self.missing
    }
    pub(super) fn has_passed(self) -> bool {
        self.passed
    }
    pub(super) fn count_idle_ack(&mut self) -> u8 {
        self.idle_acks = self.idle_acks.saturating_add(1);
        self.idle_acks
    }
    #[inline]
    pub(super) fn reset_idle_acks(&mut self) {
        self.idle_acks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Flags, Span};

    #[test]
    fn window_scale_covers_the_buffer() {
        assert_eq!(window_scale(65_535), 0);
        assert_eq!(window_scale(65_536), 1);
        assert_eq!(window_scale(2_550_000), 6);
        assert_eq!(window_scale(u64::MAX), 14);
        let scale = |min_window_scale| {
            own_window_scale(&Config { min_window_scale, recv_buffer: 2_550_000, ..Config::default() })
        };
        assert_eq!([0, 7, 99].map(scale), [6, 7, 14]);
    }

    fn negotiated(edit: impl FnOnce(&mut Segment<Span>)) -> Negotiated {
        let config = Config::default();
        let mut segment = Segment::new((1, 2), 3, 4, Flags::SYN, 0);
        edit(&mut segment);
        let mut options = Negotiated::new(&config);
        options.negotiate(&config, &segment, false, 24);
        options
    }

    #[test]
    fn syn_without_options_disables_scaling_sack_and_timestamps() {
        let options = negotiated(|_| {});
        assert_eq!((options.own_scale(), options.peer_scale()), (0, 0));
        assert!(!options.sack() && !options.timestamps());
        assert_eq!(options.max_payload(), 536 - 24);
    }

    #[test]
    fn mss_and_scale_are_bounded() {
        let options = negotiated(|segment| {
            (segment.mss, segment.window_scale) = (Some(1), Some(99));
        });
        assert_eq!(options.max_payload(), 64 - 24);
        assert_eq!(options.peer_scale(), 14);
        assert!(options.own_scale() > 0);
    }

    #[test]
    fn peer_window_keeps_the_maximum() {
        let mut window = PeerWindow::default();
        assert!(!window.update(10, 10));
        assert_eq!(window.max(), 65_535);
        assert!(!window.update(20, 2_000_000));
        assert!(window.update(20, 20) && window.is_same(20));
        assert_eq!(window.max(), 2_000_000);
    }

    #[test]
    fn duplicate_acknowledgement_never_narrows_the_send_window() {
        let mut window = PeerWindow::default();
        assert_eq!(window.update_send_window(1000, u32::MAX, true), 1000);
        assert_eq!(window.update_send_window(900, u32::MAX, false), 1000, "duplicate");
        assert_eq!(window.update_send_window(1100, u32::MAX, false), 1100);
        assert_eq!(window.update_send_window(800, u32::MAX, true), 800, "it acknowledges data");
        assert_eq!(window.update_send_window(700, 5, false), 700, "it carries data");
        assert_eq!(window.update_send_window(9000, u32::MAX, false), 700, "an old segment");
    }

    #[test]
    fn data_ack_clears_missing_dss_and_idle_acks() {
        let mut dss = DssHistory::default();
        dss.on_missing();
        assert_eq!((dss.count_idle_ack(), dss.count_idle_ack()), (1, 2));
        dss.on_data_ack(false, false);
        assert!(!dss.is_missing() && !dss.has_passed());
        assert_eq!(dss.count_idle_ack(), 1);
        dss.on_data_ack(true, false);
        assert!(dss.has_passed());
    }

    #[test]
    fn count_of_idle_acks_does_not_overflow() {
        let mut dss = DssHistory::default();
        // A subflow in TIME-WAIT takes any number: there is nothing to reset.
        let counts: Vec<u8> = (0..300).map(|_| dss.count_idle_ack()).collect();
        assert!(counts.is_sorted() && counts[299] == u8::MAX);
    }
}
