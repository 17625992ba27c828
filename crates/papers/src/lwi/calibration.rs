//! Parameters that the paper does not print, and their file.

use super::paper::{Access, LTE_MAX_MBPS};
use super::process::{self, RateProcess, Steps};
use schema::Diagnostic;
use schema::shape::{Key, Need, Shape, Table};
use std::fmt::Write as _;
use units::{Duration, Seed};

/// The calibration file built into the program.
pub const SHIPPED: &str = include_str!("../../calibration/lwi.toml");
/// The first calibration, with independent links and a short buffer of the player. The runs on the
/// kernel and those with policies in docs/background/lwi.md used it.
pub const FIRST: &str = include_str!("../../calibration/lwi-first.toml");

/// The fitted parameters of the links and the player. All other parameters of the model come from
/// the paper or are choices documented in [`model`](super::model).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Rate of the Wi-Fi link.
    pub wifi: RateProcess,
    /// Rate of the LTE link.
    pub lte: RateProcess,
    /// Coupling of the rates of change while both links are in the same state: see
    /// [`process::draw_pair`].
    pub coupling: f64,
    /// Maximum buffer of the player.
    pub buffer: Duration,
    /// Buffer at which playback starts.
    pub startup: Duration,
    /// Buffer at which playback resumes after a stall.
    pub resume: Duration,
}

/// Maximum rate of the Wi-Fi link, in Mbit/s. The paper does not name the Wi-Fi standard.
const WIFI_MAX_MBPS: f64 = 50.0;
/// Bounds of the rates in the good state, except their maximum, and in the bad state, in Mbit/s.
const MIN_GOOD_MBPS: f64 = 1.0;
const MIN_BAD_MBPS: f64 = 0.05;
/// Bounds of the states' mean durations, in seconds.
const DURATIONS_S: [f64; 2] = [0.5, 60.0];
/// Bounds of the spread.
const SPREADS: [f64; 2] = [0.0, 1.0];

static SHAPE: Table = Table {
    name: "a calibration",
    doc: "Parameters of the links and the player that the paper does not print.",
    one_of: &[],
    keys: &KEYS,
};

static KEYS: [Key; 14] = [
    number("wifi_good_mbps", 0.1, 1000.0, "Rate of the Wi-Fi link in its good state."),
    number("wifi_bad_mbps", 0.05, 1000.0, "Rate of the Wi-Fi link in its bad state."),
    number("wifi_good_s", 0.1, 1000.0, "Mean duration of its good state."),
    number("wifi_bad_s", 0.1, 1000.0, "Mean duration of its bad state."),
    number("wifi_spread", 0.0, 2.0, "Spread of its rates between runs."),
    number("lte_good_mbps", 0.1, 1000.0, "Rate of the LTE link in its good state."),
    number("lte_bad_mbps", 0.05, 1000.0, "Rate of the LTE link in its bad state."),
    number("lte_good_s", 0.1, 1000.0, "Mean duration of its good state."),
    number("lte_bad_s", 0.1, 1000.0, "Mean duration of its bad state."),
    number("lte_spread", 0.0, 2.0, "Spread of its rates between runs."),
    number("coupling", 0.0, 1.0, "Coupling of the links' rates of change in a common state."),
    number("buffer_s", 2.0, 1000.0, "Maximum buffer of the player."),
    number("startup_s", 0.0, 100.0, "Buffer at which playback starts."),
    number("resume_s", 0.0, 100.0, "Buffer at which playback resumes after a stall."),
];

const fn number(name: &'static str, min: f64, max: f64, doc: &'static str) -> Key {
    Key { name, shape: Shape::Number { min, max }, need: Need::Required, doc, example: "2.5" }
}

impl Calibration {
    /// The calibration built into the program.
    pub fn shipped() -> Self {
        Self::parse("calibration.toml", SHIPPED).expect("a test parses the shipped file")
    }

    /// The first calibration.
    pub fn first() -> Self {
        Self::parse("calibration.toml", FIRST).expect("a test parses the file")
    }

    /// Rate process of a link.
    pub fn process(&self, access: Access) -> RateProcess {
        if access == Access::Lte { self.lte } else { self.wifi }
    }

    /// Rates of the Wi-Fi and the LTE link in the run with this seed.
    pub fn draw(&self, length: Duration, seed: Seed) -> [Steps; 2] {
        let seeds = ["wifi", "lte"].map(|name| seed.derive(name));
        process::draw_pair([&self.wifi, &self.lte], self.coupling, length, seeds)
    }

    fn values(&self) -> [f64; KEYS.len()] {
        let Self { wifi, lte, coupling, buffer, startup, resume } = self;
        let mut all = [0.0; KEYS.len()];
        all[..5].copy_from_slice(&parameters(wifi));
        all[5..10].copy_from_slice(&parameters(lte));
        all[10] = *coupling;
        all[11..].copy_from_slice(&[buffer, startup, resume].map(|span| span.as_secs_f64()));
        all
    }

    fn of(all: &[f64; KEYS.len()]) -> Self {
        let process = |from: usize, access| process_of(core::array::from_fn(|i| all[from + i]), access);
        let [buffer, startup, resume] = [11, 12, 13].map(|i| Duration::from_secs_f64(all[i]));
        Self {
            wifi: process(0, Access::Wifi),
            lte: process(5, Access::Lte),
            coupling: all[10],
            buffer,
            startup,
            resume,
        }
    }

    /// Keys of the fitted values that are at a bound of the fit, in the order of the file.
    pub fn at_bounds(&self) -> Vec<&'static str> {
        let max = |access| if access == Access::Lte { LTE_MAX_MBPS } else { WIFI_MAX_MBPS };
        let link = |access| {
            let max = max(access);
            [[MIN_GOOD_MBPS, max], [MIN_BAD_MBPS, max], DURATIONS_S, DURATIONS_S, SPREADS]
        };
        let bounds = [link(Access::Wifi), link(Access::Lte)].concat();
        let player = [super::fit::COUPLING_BOUNDS, super::fit::BUFFER_BOUNDS_S];
        let named = KEYS.iter().zip(self.values()).zip(bounds.into_iter().chain(player));
        let mut keys: Vec<&str> = named
            .filter(|((_, value), bounds)| bounds.iter().any(|&bound| is_at(*value, bound)))
            .map(|((key, _), _)| key.name)
            .collect();
        let resume = self.resume.as_secs_f64();
        if super::fit::RESUME_BOUNDS_S.iter().any(|&bound| is_at(resume, bound)) {
            keys.push("resume_s");
        }
        keys
    }

    /// Reads the calibration file `file` with the content `text`: each key of
    /// [`to_toml`](Self::to_toml) once.
    ///
    /// # Errors
    /// Every unknown, missing or invalid key, with its place and the expected value.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        schema::read(file, text, &SHAPE, |fields, _| {
            Self::of(&core::array::from_fn(|i| fields.number(KEYS[i].name).unwrap_or_default()))
        })
    }

    /// The calibration as a file for [`parse`](Self::parse).
    pub fn to_toml(&self) -> String {
        let mut text = "# Fitted by `tandem reproduce lwi --calibrate` to figures of the paper on LTE-Wi-Fi integration: the\n\
                        # links and the player to those for one link, with both videos; the coupling to those for both\n\
                        # links (docs/background/lwi.md).\n"
            .to_owned();
        let comment = |key: &str| match key {
            "wifi_good_mbps" => {
                Some("Each link: rates of its two states, their mean durations, and the spread between runs.")
            }
            "coupling" => Some("Coupling of the links' rates of change while both are in the same state."),
            "buffer_s" => Some(
                "The player: its maximum buffer, and the buffer for the start and for the end of a stall.",
            ),
            _ => None,
        };
        for (Key { name, .. }, value) in KEYS.iter().zip(self.values()) {
            if let Some(comment) = comment(name) {
                let _ = writeln!(text, "\n# {comment}");
            }
            let _ = writeln!(text, "{name} = {value}");
        }
        text
    }
}

/// The value is within 1 % of the bound.
fn is_at(value: f64, bound: f64) -> bool {
    (value - bound).abs() <= 0.01 * bound.abs().max(0.5)
}

/// Parameters of a link in the order of the file.
pub(super) fn parameters(process: &RateProcess) -> [f64; 5] {
    let RateProcess { good_mbps, bad_mbps, good_s, bad_s, spread, .. } = *process;
    [good_mbps, bad_mbps, good_s, bad_s, spread]
}

/// A process with these parameters, clamped to the link's limits. Values are rounded as in the
/// file, so that a calibration equals its file.
pub(super) fn process_of([good, bad, good_s, bad_s, spread]: [f64; 5], access: Access) -> RateProcess {
    let max = if access == Access::Lte { LTE_MAX_MBPS } else { WIFI_MAX_MBPS };
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    let duration = |value: f64| rounded(value.clamp(DURATIONS_S[0], DURATIONS_S[1]));
    RateProcess {
        good_mbps: rounded(good.clamp(MIN_GOOD_MBPS, max)),
        bad_mbps: rounded(bad.clamp(MIN_BAD_MBPS, max)),
        good_s: duration(good_s),
        bad_s: duration(bad_s),
        spread: rounded(spread.clamp(SPREADS[0], SPREADS[1])),
        max_mbps: max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_round_trip() {
        assert_eq!(Calibration::shipped().to_toml(), SHIPPED);
        let first = Calibration::first();
        assert_eq!(Calibration::parse("c.toml", &first.to_toml()), Ok(first));
        assert_eq!(first.coupling, 0.0);
    }

    #[test]
    fn values_at_a_bound_are_named() {
        let first = Calibration::first();
        assert_eq!(first.at_bounds(), ["lte_good_mbps", "lte_spread", "coupling", "buffer_s", "resume_s"]);
        let mut inside = first;
        inside.lte = process_of([12.0, 1.0, 8.0, 8.0, 0.2], Access::Lte);
        (inside.coupling, inside.buffer, inside.resume) =
            (0.3, Duration::from_secs(20), Duration::from_secs(4));
        assert!(inside.at_bounds().is_empty());
    }

    #[test]
    fn parse_errors_name_key_and_place() {
        let with = |from: &str, to: &str| {
            let found = Calibration::parse("c.toml", &SHIPPED.replace(from, to)).unwrap_err();
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert!(with("wifi_bad_s", "wifi_bed_s").contains("unknown key `wifi_bed_s`"));
        assert!(with("buffer_s = ", "buffer_s = -").contains("buffer_s"));
        assert!(with("resume_s", "startup_s").contains("startup_s"));
        assert_eq!(Calibration::parse("c.toml", "").unwrap_err().len(), KEYS.len());
    }
}
