//! Receive buffer autotuning (dynamic right-sizing), after Linux
//! (`mptcp_rcvbuf_grow`, `tcp_rcvbuf_grow`).

use super::MAX_UNSCALED_WINDOW;
use crate::Config;
use crate::subflow::own_window_scale;
use units::{Duration, Instant};

/// Initial window of a sender (Linux `TCP_INIT_CWND`).
const INITIAL_WINDOW_SEGMENTS: u64 = 10;

#[derive(Debug, Clone)]
pub(super) struct Autotune {
    enabled: bool,
    gradual: bool,
    /// Current size of the receive buffer, in bytes.
    buffer: u64,
    /// Largest window to offer (Linux `rcv_ssthresh`).
    opened: u64,
    max_buffer: u64,
    /// Bytes read in the current round trip.
    read_bytes: u64,
    /// Most bytes read in an earlier round trip.
    max_read_bytes: u64,
    round_start: Instant,
}

impl Autotune {
    pub(super) fn new(config: &Config) -> Self {
        // A window below the unit of the scaled window field could never open.
        let unit = 1 << own_window_scale(config);
        let max_buffer = config.recv_buffer.max(unit);
        let buffer = config.autotune.map_or(max_buffer, |initial| initial.clamp(unit, max_buffer));
        Self {
            enabled: config.autotune.is_some(),
            gradual: config.gradual_window,
            buffer,
            opened: if config.gradual_window { buffer.min(MAX_UNSCALED_WINDOW) } else { buffer },
            max_buffer,
            read_bytes: 0,
            max_read_bytes: INITIAL_WINDOW_SEGMENTS * u64::from(config.mss),
            round_start: Instant::ZERO,
        }
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The buffer or the window may grow.
    #[inline]
    pub(super) fn may_grow(&self) -> bool {
        self.enabled || self.opened < self.buffer
    }

    /// Current size of the receive buffer, in bytes.
    #[inline]
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Size up to which the receive buffer may grow, in bytes.
    #[inline]
    pub(super) fn max_buffer(&self) -> u64 {
        self.max_buffer
    }

    /// Largest window to offer, in bytes.
    #[inline]
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    /// Opens the window by two segments for a segment received, up to the buffer (Linux
    /// `tcp_grow_window`). Returns true if it grew.
    pub(super) fn open(&mut self, mss: u64) -> bool {
        let grows = self.opened < self.buffer;
        self.opened = (self.opened + 2 * mss).min(self.buffer);
        grows
    }

    /// Counts bytes that the application read.
    #[inline]
    pub(super) fn on_read(&mut self, len: u64) {
        self.read_bytes += len;
    }

    /// Grows the buffer to hold `span` bytes beyond a gap as well (Linux `tcp_data_queue_ofo`).
    pub(super) fn cover(&mut self, span: u64) {
        self.buffer = self.buffer.max((2 * self.max_read_bytes + span).min(self.max_buffer));
    }

    /// Grows the buffer once per round trip.
    pub(super) fn adjust(&mut self, now: Instant, rtt: Duration) {
        if now.since(self.round_start) < rtt {
            return;
        }
        if self.read_bytes > self.max_read_bytes {
            // Twice the bytes read, for a sender in slow start, plus twice the growth.
            let window = 2 * self.read_bytes;
            let more = u128::from(self.read_bytes - self.max_read_bytes);
            let growth = u128::from(window) * more / u128::from(self.max_read_bytes);
            let window = u128::from(window) + 2 * growth;
            let window = u64::try_from(window).unwrap_or(u64::MAX).min(self.max_buffer);
            self.buffer = self.buffer.max(window);
            if !self.gradual {
                self.opened = self.buffer;
            }
            self.max_read_bytes = self.read_bytes;
        }
        (self.read_bytes, self.round_start) = (0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_opens_by_two_segments_per_segment_received() {
        let config = Config {
            autotune: Some(20_000),
            gradual_window: true,
            recv_buffer: 300_000,
            mss: 1000,
            ..Config::default()
        };
        let mut tune = Autotune::new(&config);
        assert!(!tune.open(1000));
        tune.on_read(20_000);
        tune.adjust(Instant::from_millis(100), Duration::from_millis(100));
        assert!(tune.buffer > 23_000 && tune.opened() == 20_000);
        assert!(tune.open(1000));
        assert_eq!(tune.opened(), 22_000);
    }

    #[test]
    fn buffer_grows_with_bytes_read_per_round_trip_up_to_its_maximum() {
        let config = Config { autotune: Some(20_000), recv_buffer: 300_000, mss: 1000, ..Config::default() };
        let mut tune = Autotune::new(&config);
        let rtt = Duration::from_millis(100);
        let mut buffer_after = |read, ms| {
            tune.on_read(read);
            tune.adjust(Instant::from_millis(ms), rtt);
            tune.buffer
        };
        assert_eq!(buffer_after(10_000, 100), 20_000, "within the initial window");
        assert_eq!(buffer_after(20_000, 150), 20_000, "the round trip is not over");
        // 2 * 20,000, plus twice 40,000 * (20,000 - 10,000) / 10,000.
        assert_eq!(buffer_after(0, 200), 40_000 + 2 * 40_000);
        assert_eq!(buffer_after(5_000, 300), 120_000);
        assert_eq!(buffer_after(150_000, 400), 300_000);
        assert_eq!(buffer_after(0, 500), 300_000);
    }
}
