//! A channel model that writes traces.

use units::Duration;

/// A radio channel with shadowing and fading, as seen by one user: what it can carry from step to
/// step becomes a trace.
///
/// The signal-to-noise ratio is `mean + shadowing + fading`, in dB:
///
/// - **Shadowing** is normal in dB (log-normal in power), and correlated along the way as
///   `exp(-distance / decorrelation)` (Gudmundson 1991).
/// - **Fading** is Rayleigh, as a finite-state Markov channel: the gain has eight states of equal
///   probability, and moves between neighbours as often as a Rayleigh envelope crosses the level
///   between them, `sqrt(2 pi level) f_d exp(-level)` times a second with the Doppler frequency
///   `f_d = speed * carrier / c` (Wang and Moayeri 1995).
///
/// The rate is Shannon's bound, attenuated and truncated as 3GPP TR 36.942 (annex A.2) does for LTE:
/// `share * bandwidth * min(0.6 log2(1 + snr), 4.4)`, nothing below -10 dB; and never less than 1 kbps,
/// so that a hopeless channel does not stand still for ever.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelModel {
    /// Bandwidth, in Hz.
    pub bandwidth_hz: f64,
    /// The user's share of it, from 0 to 1.
    pub share: f64,
    /// The carrier, in Hz.
    pub carrier_hz: f64,
    /// Speed of the user, in m/s.
    pub speed: f64,
    /// The median signal-to-noise ratio, in dB.
    pub snr_db: f64,
    /// Standard deviation of the shadowing, in dB; typically 4 to 10.
    pub shadowing_db: f64,
    /// The distance over which shadowing stays alike, in metres; typically 5 indoors, 50 in a city.
    pub decorrelation_m: f64,
    /// How long each rate of the trace is in force; at least 1 ms.
    pub step: Duration,
}
