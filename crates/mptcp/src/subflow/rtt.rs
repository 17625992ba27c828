//! Round-trip time and retransmission timeout (RFC 6298).

use crate::Config;
use units::Duration;

/// Minimum timeout of the first data after a repeated SYN (section 5.7).
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The estimator of one subflow.
#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    lowest: Duration,
    rto: Duration,
    /// Doublings since the last sample or the handshake (section 5.5).
    backoff: u32,
    min_rto: Duration,
    min_margin: Duration,
    max_rto: Duration,
    with_ack_delay: bool,
}

impl Rtt {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            smoothed: None,
            variation: Duration::ZERO,
            lowest: Duration::MAX,
            rto: config.initial_rto,
            backoff: 0,
            min_rto: config.min_rto,
            min_margin: config.min_rto_margin,
            max_rto: config.max_rto,
            with_ack_delay: config.ack_delay_in_rtt,
        }
    }

    /// Adds the sample of segments that were sent once and acknowledged together (Karn's algorithm,
    /// section 3): the times since the first and since the last of them was sent.
    pub(crate) fn sample_of(&mut self, first: Duration, last: Duration) {
        self.lowest = self.lowest.min(last);
        self.add(if self.with_ack_delay { first } else { last });
    }

    /// Adds a sample of an echoed timestamp. Its whole milliseconds may be too few, so the lowest
    /// round trip ignores it.
    pub(crate) fn sample_of_clock(&mut self, rtt: Duration) {
        self.add(rtt);
    }

    /// Adds a sample of one segment.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.sample_of(rtt, rtt);
    }

    fn add(&mut self, rtt: Duration) {
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = rtt / 2;
            }
            Some(srtt) => {
                // Section 2.3: the variation is updated first, with the old average.
                let error = if srtt > rtt { srtt - rtt } else { rtt - srtt };
                self.variation = Duration::from_nanos((3 * self.variation.as_nanos() + error.as_nanos()) / 4);
                self.smoothed = Some(Duration::from_nanos((7 * srtt.as_nanos() + rtt.as_nanos()) / 8));
            }
        }
        // Only a valid sample ends the back-off, as in Linux: the acknowledgement of a
        // retransmitted segment gives none (section 5.7).
        self.backoff = 0;
        let margin = (self.variation * 4).max(self.min_margin);
        self.rto = (self.srtt() + margin).max(self.min_rto).min(self.max_rto);
    }

    /// The timer expired: doubles the timeout (section 5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }

    /// The SYN was sent more than once and gives no sample: data starts with the initial timeout, at
    /// least 3 s (section 5.7).
    pub(crate) fn reset_after_lost_syn(&mut self) {
        self.rto = self.rto.max(RTO_AFTER_LOST_SYN);
        self.backoff = 0;
    }

    pub(crate) fn rto(&self) -> Duration {
        (self.rto * (1 << self.backoff)).min(self.max_rto)
    }

    /// Smoothed round-trip time; the timeout before the first sample.
    pub(crate) fn srtt(&self) -> Duration {
        self.smoothed.unwrap_or(self.rto)
    }

    /// Lowest sample; [`Duration::MAX`] before the first.
    pub(crate) fn min(&self) -> Duration {
        self.lowest
    }

    /// RTTVAR of section 2.
    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

    /// Smoothed round-trip time, once sampled.
    pub(crate) fn measured(&self) -> Option<Duration> {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn delay_of_acknowledgement_counts_if_configured_but_not_in_the_lowest() {
        for (ack_delay_in_rtt, smoothed) in [(true, 30), (false, 20)] {
            let mut rtt = Rtt::new(&Config { ack_delay_in_rtt, ..Config::default() });
            rtt.sample_of(ms(30), ms(20));
            assert_eq!((rtt.srtt(), rtt.min()), (ms(smoothed), ms(20)));
        }
    }

    #[test]
    fn samples_follow_rfc_6298_section_2() {
        let mut rtt = Rtt::new(&Config { min_rto: ms(1), ..Config::default() });
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(ms(100));
        // SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2.
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(100), ms(300)));
        rtt.sample(ms(180));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(110), ms(340)));
    }

    #[test]
    fn margin_keeps_the_timeout_above_a_steady_round_trip() {
        let mut rtt = Rtt::new(&Config { min_rto_margin: ms(200), ..Config::default() });
        (0..50).for_each(|_| rtt.sample(ms(300)));
        assert_eq!(rtt.rto(), ms(500));
    }

    #[test]
    fn back_off_is_bounded_and_ends_with_a_sample() {
        let mut rtt = Rtt::new(&Config::default());
        rtt.sample(ms(100));
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(600));
        for _ in 0..30 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(ms(100));
        // RTTVAR = 3/4 * 50.
        assert_eq!(rtt.rto(), ms(250));
    }
}
