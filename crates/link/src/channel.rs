//! Radio channel model, which generates traces.

use crate::trace::{RatePiece, Trace};
use units::{Bitrate, Duration, Rng, Seed};

/// A radio channel of one user with shadowing and fading. Its rate, step by step, is a trace.
///
/// The signal-to-noise ratio (SNR) is `median + shadowing + fading`, in dB:
///
/// - **Shadowing** is log-normal, with the correlation `exp(-distance / decorrelation)` along the
///   user's path (Gudmundson 1991).
/// - **Fading** is Rayleigh, as a finite-state Markov channel (Wang and Moayeri 1995). The gain
///   has eight equally probable states. It changes between neighbours at the level crossing rate
///   of a Rayleigh envelope, `sqrt(2 pi level) f_d exp(-level)`, with the Doppler frequency
///   `f_d = speed * carrier / c`.
///
/// The rate is the attenuated and truncated Shannon bound of 3GPP TR 36.942 (annex A.2):
/// `share * bandwidth * min(0.6 log2(1 + snr), 4.4)`, and zero below -10 dB. A rate of the trace
/// is the mean over a step, at least 1 kbps, so that a bad channel does not stall a link for ever.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelModel {
    /// Bandwidth, in Hz.
    pub bandwidth_hz: f64,
    /// Share of the bandwidth for this user, from 0 to 1.
    pub share: f64,
    /// Carrier frequency, in Hz.
    pub carrier_hz: f64,
    /// Speed of the user, in m/s; at zero the rate is constant.
    pub speed: f64,
    /// Median SNR without fading, in dB.
    pub snr_db: f64,
    /// Standard deviation of the shadowing, in dB; typically 4 to 10.
    pub shadowing_db: f64,
    /// Decorrelation distance of the shadowing, in metres; typically 5 indoors, 50 in a city.
    pub decorrelation_m: f64,
    /// Duration of each rate of the trace, at least 1 ms. Longer if the trace would have more than
    /// a million rates.
    pub step: Duration,
}

/// Speed of light, in m/s.
const SPEED_OF_LIGHT_M_PER_S: f64 = 299_792_458.0;
/// Number of states of the fading.
const FADING_STATES: usize = 8;
/// Maximum probability of a state change in a substep, approximately.
const MAX_CHANGE_PROBABILITY: f64 = 0.1;
/// Maximum number of rates of a trace.
const MAX_RATES: u64 = 1_000_000;
/// Minimum rate of a trace.
const MIN_RATE: Bitrate = Bitrate::from_bps(1_000);

impl Default for ChannelModel {
    /// Returns the model `lte-walking`.
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
    /// Names of the predefined models.
    pub const NAMES: [&str; 4] = ["lte-walking", "lte-driving", "3g-walking", "wifi-indoor"];

    /// Returns a predefined model: half of a 10 MHz LTE carrier on foot or at 50 km/h, a fifth of
    /// a 5 MHz 3G carrier, or a third of a 20 MHz Wi-Fi channel at 2.4 GHz indoors.
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

    /// Generates a trace of at least this length, in whole steps. Equal seeds give equal traces.
    /// Parameters out of range are clamped.
    pub fn generate(&self, length: Duration, seed: Seed) -> Trace {
        let step = self.step.max(Duration::from_millis(1)).max(length / MAX_RATES);
        let steps = length.as_nanos().div_ceil(step.as_nanos()).clamp(1, MAX_RATES);
        let mut channel = Channel::new(self, step, seed);
        let pieces: Vec<RatePiece> = (0..steps)
            .map(|_| RatePiece { duration: step, rate: channel.step(), latency: Duration::ZERO })
            .collect();
        Trace::from_rates(&pieces).unwrap_or_else(|| {
            // A step of more than a century exceeds the longest period of a trace.
            let piece =
                RatePiece { duration: Duration::from_secs(1), rate: MIN_RATE, latency: Duration::ZERO };
            Trace::from_rates(&[piece]).expect("a rate above zero for a second")
        })
    }
}

/// State of a channel.
struct Channel {
    rng: Rng,
    /// Bandwidth of the user, in Hz.
    bandwidth: f64,
    median_db: f64,
    /// Shadowing, in standard deviations.
    shadow: f64,
    /// Correlation of the shadowing of successive steps.
    correlation: f64,
    shadowing_db: f64,
    /// Mean gain of each fading state, linear.
    gains: [f64; FADING_STATES],
    /// Probability, in one substep, of a change from each state to the next higher one, and of a
    /// change back.
    crossing: [f64; FADING_STATES],
    state: usize,
    /// Substeps of the fading in one step.
    substeps: u32,
}

impl Channel {
    fn new(model: &ChannelModel, step: Duration, seed: Seed) -> Self {
        let clamp = |value: f64, low: f64, high: f64| if value >= low { value.min(high) } else { low };
        let mut rng = seed.rng("channel");
        let speed = clamp(model.speed, 0.0, 1000.0);
        let doppler = speed * clamp(model.carrier_hz, 0.0, 1e12) / SPEED_OF_LIGHT_M_PER_S;
        let distance = speed * step.as_secs_f64();

        // Levels that separate states of equal probability: the gain exceeds a level with
        // probability exp(-level).
        let level = |i: usize| -libm::log(1.0 - i as f64 / FADING_STATES as f64);
        let tail = |x: f64| (x + 1.0) * libm::exp(-x);
        let mut gains = [0.0; FADING_STATES];
        let mut crossing = [0.0; FADING_STATES];
        // The highest rate of changes from one state to a neighbour determines the substep.
        let fastest =
            doppler * FADING_STATES as f64 * libm::sqrt(core::f64::consts::PI / core::f64::consts::E);
        let substeps =
            clamp(libm::ceil(fastest * step.as_secs_f64() / MAX_CHANGE_PROBABILITY), 1.0, 1000.0) as u32;
        let seconds = step.as_secs_f64() / f64::from(substeps);
        for i in 0..FADING_STATES {
            let above = if i + 1 < FADING_STATES { tail(level(i + 1)) } else { 0.0 };
            gains[i] = (tail(level(i)) - above) * FADING_STATES as f64;
            if i + 1 < FADING_STATES {
                let x = level(i + 1);
                let rate = libm::sqrt(2.0 * core::f64::consts::PI * x) * doppler * libm::exp(-x);
                crossing[i] = (rate * seconds * FADING_STATES as f64).min(0.5);
            }
        }
        Self {
            bandwidth: clamp(model.bandwidth_hz, 0.0, 1e11) * clamp(model.share, 0.0, 1.0),
            median_db: clamp(model.snr_db, -100.0, 100.0),
            shadow: rng.normal(),
            correlation: libm::exp(-distance / clamp(model.decorrelation_m, 1e-3, 1e9)),
            shadowing_db: clamp(model.shadowing_db, 0.0, 100.0),
            gains,
            crossing,
            state: rng.below(FADING_STATES as u64) as usize,
            substeps,
            rng,
        }
    }

    /// Returns the rate of the next step.
    fn step(&mut self) -> Bitrate {
        let snr = libm::pow(10.0, (self.median_db + self.shadowing_db * self.shadow) / 10.0);
        let mut sum = 0.0;
        for _ in 0..self.substeps {
            sum += spectral_efficiency(snr * self.gains[self.state]);
            self.fade();
        }
        let innovation = libm::sqrt(1.0 - self.correlation * self.correlation);
        self.shadow = self.correlation * self.shadow + innovation * self.rng.normal();
        let bps = self.bandwidth * sum / f64::from(self.substeps);
        Bitrate::from_bps((bps + 0.5) as u64).max(MIN_RATE)
    }

    /// Advances the fading by a substep.
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

/// Largest spectral efficiency of [`spectral_efficiency`], in bit/s/Hz.
pub(crate) const MAX_EFFICIENCY: f64 = 4.4;

/// Spectral efficiency at a linear SNR, in bit/s/Hz: the attenuated and truncated Shannon bound of
/// 3GPP TR 36.942, annex A.2. Zero below -10 dB.
pub fn spectral_efficiency(snr: f64) -> f64 {
    if snr < 0.1 { 0.0 } else { (0.6 * libm::log1p(snr) / core::f64::consts::LN_2).min(MAX_EFFICIENCY) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceKind;

    fn rates(trace: &Trace) -> Vec<f64> {
        match &trace.kind {
            TraceKind::Rates(table) => table.pieces.iter().map(|p| p.bps as f64).collect(),
            TraceKind::Opportunities { .. } => panic!("a model generates rates"),
        }
    }

    /// Correlation of successive rates.
    fn correlation(rates: &[f64]) -> f64 {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let variance: f64 = rates.iter().map(|r| (r - mean) * (r - mean)).sum();
        rates.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / variance
    }

    #[test]
    fn predefined_models_have_plausible_mean_rates() {
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
            let max = model.bandwidth_hz * model.share * 4.4 + 1.0;
            assert!(rates(&trace).iter().all(|&r| (1000.0..=max).contains(&r)));
        }
        assert_eq!(ChannelModel::named("6g"), None);
        assert!(ChannelModel::NAMES.iter().all(|name| ChannelModel::named(name).is_some()));
    }

    #[test]
    fn trace_is_not_shorter_than_asked() {
        let model = ChannelModel { step: Duration::from_millis(100), ..ChannelModel::default() };
        let period = |ms| model.generate(Duration::from_millis(ms), Seed::new(1)).period();
        assert_eq!([1, 250, 300].map(period), [100, 300, 300].map(Duration::from_millis));
    }

    #[test]
    fn trace_depends_on_the_seed() {
        let trace = |seed| ChannelModel::default().generate(Duration::from_secs(10), Seed::new(seed));
        assert_eq!(trace(1), trace(1));
        assert_ne!(trace(1), trace(2));
    }

    #[test]
    fn fading_states_are_equally_frequent_with_mean_gain_one() {
        let model = ChannelModel { speed: 13.9, ..ChannelModel::default() };
        let mut channel = Channel::new(&model, model.step, Seed::new(1));
        assert!((channel.gains.iter().sum::<f64>() / FADING_STATES as f64 - 1.0).abs() < 1e-12);
        assert!(channel.crossing.iter().all(|&p| p <= MAX_CHANGE_PROBABILITY * 1.01));
        let (mut visits, n) = ([0_u32; FADING_STATES], 2_000_000);
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
    fn rates_of_slower_users_are_more_correlated() {
        let length = Duration::from_secs(2000);
        let correlation_at = |speed| {
            let model = ChannelModel { speed, ..ChannelModel::default() };
            correlation(&rates(&model.generate(length, Seed::new(5))))
        };
        let (standing, foot, car) = (correlation_at(0.01), correlation_at(1.4), correlation_at(13.9));
        assert!(standing > foot && foot > 0.5, "{standing} {foot}");
        // At driving speed, fading averages out within a step and shadowing dominates.
        assert!(car > 0.5, "{car}");
        let still = ChannelModel { speed: 0.0, ..ChannelModel::default() };
        let rates = rates(&still.generate(length, Seed::new(5)));
        assert!(rates.iter().all(|&r| r == rates[0]));
    }

    #[test]
    fn parameters_out_of_range_are_clamped() {
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
            assert!(trace.mean_rate() >= MIN_RATE);
        }
        let model = ChannelModel { step: Duration::MAX, ..ChannelModel::default() };
        assert_eq!(model.generate(Duration::ZERO, Seed::new(1)).mean_rate(), MIN_RATE);
    }
}
