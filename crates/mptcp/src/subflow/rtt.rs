//! Round-trip time and retransmission timeout: RFC 6298.

use crate::Config;
use units::Duration;

/// Clock granularity G of RFC 6298: what a timestamp option resolves.
const GRANULARITY: Duration = Duration::from_millis(1);

/// The estimator of one subflow.
#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    lowest: Duration,
    rto: Duration,
    /// Doublings since the last answer (section 5.5).
    backoff: u32,
    min_rto: Duration,
    max_rto: Duration,
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
            max_rto: config.max_rto,
        }
    }

    /// A new measurement, of a segment that was sent once (Karn's algorithm, section 3).
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.lowest = self.lowest.min(rtt);
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = rtt / 2;
            }
            Some(srtt) => {
                // Section 2.3: the variation first, with the old average.
                let error = if srtt > rtt { srtt - rtt } else { rtt - srtt };
                self.variation = Duration::from_nanos((3 * self.variation.as_nanos() + error.as_nanos()) / 4);
                self.smoothed = Some(Duration::from_nanos((7 * srtt.as_nanos() + rtt.as_nanos()) / 8));
            }
        }
        // Section 5.7, as Linux: only a measurement ends the back-off, for an answer to a segment that
        // was sent again says nothing about the time it took (Karn).
        self.backoff = 0;
        let spread = (self.variation * 4).max(GRANULARITY);
        self.rto = (self.srtt() + spread).max(self.min_rto).min(self.max_rto);
    }

    /// The timer expired: wait twice as long (section 5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }

    pub(crate) fn rto(&self) -> Duration {
        (self.rto * (1 << self.backoff)).min(self.max_rto)
    }

    /// Smoothed round-trip time; the first timeout's guess before there is one.
    pub(crate) fn srtt(&self) -> Duration {
        self.smoothed.unwrap_or(self.rto)
    }

    /// The lowest measurement; [`Duration::MAX`] before the first.
    pub(crate) fn min(&self) -> Duration {
        self.lowest
    }

    /// RTTVAR of section 2.
    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

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
    fn by_hand_through_rfc_6298_section_2() {
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
    fn backs_off_to_the_bound_and_recovers() {
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
