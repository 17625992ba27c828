//! A receive buffer that grows with what the application reads: dynamic right-sizing, with the rules of
//! Linux (`tcp_rcv_space_adjust`), for the whole connection as its `mptcp_rcv_space_adjust`.

use super::Endpoint;
use crate::Config;
use crate::subflow::window_scale;
use units::{Duration, Instant};
use wire::Payload;

/// Segments that a sender may begin with (Linux `TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;

#[derive(Debug, Clone)]
pub(super) struct Autotune {
    on: bool,
    /// The buffer as it is now, in bytes.
    pub(super) buffer: u64,
    most: u64,
    /// Read in the present round trip, and the most in one before.
    copied: u64,
    space: u64,
    since: Instant,
}

impl Autotune {
    pub(super) fn new(config: &Config) -> Self {
        let most = config.recv_buffer;
        // Below what the window field counts in, a window could never open.
        let unit = 1 << window_scale(most);
        Self {
            on: config.autotune.is_some(),
            buffer: config.autotune.map_or(most, |first| first.max(unit).min(most)),
            most,
            copied: 0,
            space: FIRST_SEGMENTS * u64::from(config.mss),
            since: Instant::ZERO,
        }
    }

    pub(super) fn read(&mut self, len: u64) {
        self.copied += len;
    }

    /// Time has come as far as `now`, and a round trip takes `rtt`.
    fn adjust(&mut self, now: Instant, rtt: Duration, mss: u64) {
        if now.since(self.since) < rtt {
            return;
        }
        if self.copied > self.space {
            // Twice what was read, for a sender in slow start, and twice the growth on top.
            let window = 2 * self.copied + 16 * mss;
            let growth = u128::from(window) * u128::from(self.copied - self.space) / u128::from(self.space);
            let window = u128::from(window) + 2 * growth;
            let window = u64::try_from(window).unwrap_or(u64::MAX).min(self.most);
            self.buffer = self.buffer.max(window);
            self.space = self.copied;
        }
        (self.copied, self.since) = (0, now);
    }
}

impl<P: Payload> Endpoint<P> {
    /// Once a round trip, that of the slowest subflow: its data is what the others' waits for.
    pub(super) fn tune_buffer(&mut self, now: Instant) {
        if !self.autotune.on {
            return;
        }
        let rtts = self.subflows.iter().filter(|s| s.is_established());
        let rtts = rtts.filter_map(|s| s.receiver().rtt().or(s.sender().measured_rtt()));
        if let Some(rtt) = rtts.max() {
            self.autotune.adjust(now, rtt, u64::from(self.config.mss));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_what_is_read_in_a_round_trip_up_to_its_bound_and_never_shrinks() {
        let config = Config { autotune: Some(20_000), recv_buffer: 300_000, mss: 1000, ..Config::default() };
        let mut tune = Autotune::new(&config);
        let rtt = Duration::from_millis(100);
        let mut at = |read, ms| {
            tune.read(read);
            tune.adjust(Instant::from_millis(ms), rtt, 1000);
            tune.buffer
        };
        assert_eq!(at(10_000, 100), 20_000, "no more than a sender begins with");
        assert_eq!(at(20_000, 150), 20_000, "the round trip is not over");
        // 2 * 20,000 + 16,000 = 56,000; twice by as much as 20,000 is above 10,000.
        assert_eq!(at(0, 200), 56_000 + 2 * 56_000);
        assert_eq!(at(5_000, 300), 168_000);
        assert_eq!(at(150_000, 400), 300_000);
        assert_eq!(at(0, 500), 300_000);
    }
}
