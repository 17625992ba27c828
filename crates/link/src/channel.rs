//! A channel model that writes traces.

use crate::trace::{RatePiece, Trace};
use units::{Bitrate, Duration, Rng, Seed};

/// A radio channel with shadowing and fading, as seen by one user: what it can carry from step to
/// step becomes a trace.
///
/// The signal-to-noise ratio is `median + shadowing + fading`, in dB:
///
/// - **Shadowing** is normal in dB (log-normal in power), and correlated along the way as
///   `exp(-distance / decorrelation)` (Gudmundson 1991).
/// - **Fading** is Rayleigh, as a finite-state Markov channel: the gain has eight states of equal
///   probability, and moves between neighbours as often as a Rayleigh envelope crosses the level
///   between them, `sqrt(2 pi level) f_d exp(-level)` times a second with the Doppler frequency
///   `f_d = speed * carrier / c` (Wang and Moayeri 1995).
///
/// The rate is Shannon's bound, attenuated and truncated as 3GPP TR 36.942 (annex A.2) does for LTE:
/// `share * bandwidth * min(0.6 log2(1 + snr), 4.4)`, nothing below -10 dB; then the mean over each
/// step, and never less than 1 kbps, so that a hopeless channel does not stand still for ever.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelModel {
    /// Bandwidth, in Hz.
    pub bandwidth_hz: f64,
    /// The user's share of it, from 0 to 1.
    pub share: f64,
    /// The carrier, in Hz.
    pub carrier_hz: f64,
    /// Speed of the user, in m/s; at zero nothing changes.
    pub speed: f64,
    /// The median signal-to-noise ratio but for fading, in dB.
    pub snr_db: f64,
    /// Standard deviation of the shadowing, in dB; typically 4 to 10.
    pub shadowing_db: f64,
    /// The distance over which shadowing stays alike, in metres; typically 5 indoors, 50 in a city.
    pub decorrelation_m: f64,
    /// How long each rate of the trace is in force; counts as 1 ms where it is less, and is
    /// lengthened where a trace would have more than a million rates.
    pub step: Duration,
}

/// Speed of light, in m/s.
const LIGHT: f64 = 299_792_458.0;
/// States of the fading.
const STATES: usize = 8;
/// The chance of a state to move within one inner step, at most about.
const MOVE: f64 = 0.1;
/// Rates of a trace, at most.
const MOST: u64 = 1_000_000;
const FLOOR: Bitrate = Bitrate::from_bps(1_000);

impl Default for ChannelModel {
    /// `lte-walking`.
    fn default() -> Self {
        Self {
            bandwidth_hz: 10e6,
            share: 0.5,
            carrier_hz: 2e9,
            speed: 1.4,
            snr_db: 12.0,
            shadowing_db: 8.0,
            decorrelation_m: 50.0,
            step: Duration::from_millis(100),
        }
    }
}

impl ChannelModel {
    /// The names that [`named`](Self::named) knows.
    pub const NAMES: [&str; 4] = ["lte-walking", "lte-driving", "3g-walking", "wifi-indoor"];

    /// A model by its name: half of a 10 MHz LTE carrier on foot or at 50 km/h, a fifth of a 5 MHz
    /// carrier for 3G, a third of a 20 MHz channel at 2.4 GHz for Wi-Fi indoors.
    pub fn named(name: &str) -> Option<Self> {
        let walking = Self::default();
        Some(match name {
            "lte-walking" => walking,
            "lte-driving" => Self { speed: 13.9, ..walking },
            "3g-walking" => Self { bandwidth_hz: 5e6, share: 0.2, snr_db: 8.0, ..walking },
            "wifi-indoor" => Self {
                bandwidth_hz: 20e6,
                share: 0.33,
                carrier_hz: 2.44e9,
                speed: 0.7,
                snr_db: 15.0,
                shadowing_db: 5.0,
                decorrelation_m: 5.0,
                ..walking
            },
            _ => return None,
        })
    }

    /// A trace of this length, of at least one step; it loops beyond. The same seed gives the same
    /// trace. Values out of their range count as the nearest that makes sense.
    pub fn generate(&self, length: Duration, seed: Seed) -> Trace {
        let step = self.step.max(Duration::from_millis(1)).max(length / MOST);
        let steps = (length.as_nanos() / step.as_nanos()).clamp(1, MOST);
        let mut channel = Channel::new(self, step, seed);
        let pieces: Vec<RatePiece> = (0..steps)
            .map(|_| RatePiece { duration: step, rate: channel.step(), latency: Duration::ZERO })
            .collect();
        Trace::from_rates(&pieces).unwrap_or_else(|| {
            // Only a step of more than a century comes here.
            let piece = RatePiece { duration: Duration::from_secs(1), rate: FLOOR, latency: Duration::ZERO };
            Trace::from_rates(&[piece]).expect("a rate above zero for a second")
        })
    }
}

/// A model at work.
struct Channel {
    rng: Rng,
    /// Hz that the user has.
    bandwidth: f64,
    median_db: f64,
    /// Shadowing, in standard deviations, and how it moves from step to step.
    shadow: f64,
    correlation: f64,
    shadowing_db: f64,
    /// Mean gain of each state of the fading, linear.
    gains: [f64; STATES],
    /// Of moving across the level above each state, from below and in one inner step.
    crossing: [f64; STATES],
    state: usize,
    inner: u32,
}

impl Channel {
    fn new(model: &ChannelModel, step: Duration, seed: Seed) -> Self {
        let within = |value: f64, low: f64, high: f64| if value >= low { value.min(high) } else { low };
        let mut rng = seed.rng("channel");
        let speed = within(model.speed, 0.0, 1000.0);
        let doppler = speed * within(model.carrier_hz, 0.0, 1e12) / LIGHT;
        let distance = speed * step.as_secs_f64();

        // Levels between states of equal probability: exp(-level) of the gain is above.
        let level = |i: usize| -libm::log(1.0 - i as f64 / STATES as f64);
        let tail = |x: f64| (x + 1.0) * libm::exp(-x);
        let mut gains = [0.0; STATES];
        let mut crossing = [0.0; STATES];
        // Crossings a second, over the probability of a state, in one inner step.
        let fastest = doppler * STATES as f64 * libm::sqrt(core::f64::consts::PI / core::f64::consts::E);
        let inner = within(libm::ceil(fastest * step.as_secs_f64() / MOVE), 1.0, 1000.0) as u32;
        let seconds = step.as_secs_f64() / f64::from(inner);
        for i in 0..STATES {
            let above = if i + 1 < STATES { tail(level(i + 1)) } else { 0.0 };
            gains[i] = (tail(level(i)) - above) * STATES as f64;
            if i + 1 < STATES {
                let x = level(i + 1);
                let rate = libm::sqrt(2.0 * core::f64::consts::PI * x) * doppler * libm::exp(-x);
                crossing[i] = (rate * seconds * STATES as f64).min(0.5);
            }
        }
        Self {
            bandwidth: within(model.bandwidth_hz, 0.0, 1e11) * within(model.share, 0.0, 1.0),
            median_db: within(model.snr_db, -100.0, 100.0),
            shadow: rng.normal(),
            correlation: libm::exp(-distance / within(model.decorrelation_m, 1e-3, 1e9)),
            shadowing_db: within(model.shadowing_db, 0.0, 100.0),
            gains,
            crossing,
            state: rng.below(STATES as u64) as usize,
            inner,
            rng,
        }
    }

    /// The rate of the next step.
    fn step(&mut self) -> Bitrate {
        let snr = libm::pow(10.0, (self.median_db + self.shadowing_db * self.shadow) / 10.0);
        let mut sum = 0.0;
        for _ in 0..self.inner {
            sum += efficiency(snr * self.gains[self.state]);
            self.fade();
        }
        let innovation = libm::sqrt(1.0 - self.correlation * self.correlation);
        self.shadow = self.correlation * self.shadow + innovation * self.rng.normal();
        let bps = self.bandwidth * sum / f64::from(self.inner);
        Bitrate::from_bps((bps + 0.5) as u64).max(FLOOR)
    }

    fn fade(&mut self) {
        let up = self.crossing[self.state];
        let down = if self.state > 0 { self.crossing[self.state - 1] } else { 0.0 };
        let drawn = self.rng.unit();
        if drawn < up {
            self.state += 1;
        } else if drawn < up + down {
            self.state -= 1;
        }
    }
}

/// Bits a second and Hz at a linear signal-to-noise ratio (3GPP TR 36.942, annex A.2).
fn efficiency(snr: f64) -> f64 {
    if snr < 0.1 { 0.0 } else { (0.6 * libm::log1p(snr) / core::f64::consts::LN_2).min(4.4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceKind;

    fn rates(trace: &Trace) -> Vec<f64> {
        match &trace.kind {
            TraceKind::Rates(table) => table.pieces.iter().map(|p| p.bps as f64).collect(),
            TraceKind::Opportunities(_) => panic!("a model makes rates"),
        }
    }

    /// Correlation of neighbouring steps.
    fn likeness(rates: &[f64]) -> f64 {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let variance: f64 = rates.iter().map(|r| (r - mean) * (r - mean)).sum();
        rates.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / variance
    }

    #[test]
    fn every_name_gives_a_trace_with_a_sensible_mean() {
        for (name, low, high) in [
            ("lte-walking", 6.0, 18.0),
            ("lte-driving", 6.0, 18.0),
            ("3g-walking", 0.8, 4.0),
            ("wifi-indoor", 10.0, 27.0),
        ] {
            let model = ChannelModel::named(name).unwrap();
            let trace = model.generate(Duration::from_secs(3000), Seed::new(1));
            assert_eq!(trace.period(), Duration::from_secs(3000));
            let mean = trace.mean_rate().as_mbps();
            assert!((low..high).contains(&mean), "{name}: {mean}");
            let most = model.bandwidth_hz * model.share * 4.4 + 1.0;
            assert!(rates(&trace).iter().all(|&r| (1000.0..=most).contains(&r)));
        }
        assert_eq!(ChannelModel::named("6g"), None);
        assert!(ChannelModel::NAMES.iter().all(|name| ChannelModel::named(name).is_some()));
    }

    #[test]
    fn a_seed_gives_one_trace() {
        let trace = |seed| ChannelModel::default().generate(Duration::from_secs(10), Seed::new(seed));
        assert_eq!(trace(1), trace(1));
        assert_ne!(trace(1), trace(2));
    }

    #[test]
    fn states_of_the_fading_are_equally_frequent_and_have_mean_one() {
        let model = ChannelModel { speed: 13.9, ..ChannelModel::default() };
        let mut channel = Channel::new(&model, model.step, Seed::new(1));
        assert!((channel.gains.iter().sum::<f64>() / STATES as f64 - 1.0).abs() < 1e-12);
        assert!(channel.crossing.iter().all(|&p| p <= MOVE * 1.01));
        let (mut visits, n) = ([0_u32; STATES], 2_000_000);
        for _ in 0..n {
            visits[channel.state] += 1;
            channel.fade();
        }
        for count in visits {
            let share = f64::from(count) / f64::from(n);
            assert!((share - 0.125).abs() < 0.01, "{share}");
        }
    }

    #[test]
    fn a_user_on_foot_sees_slower_change_than_one_in_a_car() {
        let length = Duration::from_secs(2000);
        let like = |speed| {
            let model = ChannelModel { speed, ..ChannelModel::default() };
            likeness(&rates(&model.generate(length, Seed::new(5))))
        };
        let (standing, foot, car) = (like(0.01), like(1.4), like(13.9));
        assert!(standing > foot && foot > 0.5, "{standing} {foot}");
        // In a car fading is averaged out within a step, and shadowing remains.
        assert!(car > 0.5, "{car}");
        let still = ChannelModel { speed: 0.0, ..ChannelModel::default() };
        let rates = rates(&still.generate(length, Seed::new(5)));
        assert!(rates.iter().all(|&r| r == rates[0]));
    }

    #[test]
    fn nonsense_is_taken_for_the_nearest_sense() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300] {
            let model = ChannelModel {
                bandwidth_hz: value,
                share: value,
                carrier_hz: value,
                speed: value,
                snr_db: value,
                shadowing_db: value,
                decorrelation_m: value,
                step: Duration::ZERO,
            };
            let trace = model.generate(Duration::from_millis(20), Seed::new(1));
            assert!(trace.mean_rate() >= FLOOR);
        }
        let model = ChannelModel { step: Duration::MAX, ..ChannelModel::default() };
        assert_eq!(model.generate(Duration::ZERO, Seed::new(1)).mean_rate(), FLOOR);
    }
}
