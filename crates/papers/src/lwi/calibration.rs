//! Parameters that the paper does not print, fitted to the rows of Table III with one link.

use super::fluid;
use super::model::{self, SESSION_TIMEOUT};
use super::paper::{
    Access, Clip, LTE_MAX_MBPS, PROXY_TO_SERVER_MS, mos_ratio_wifi_to_lte, round_trip_ms, stalls,
};
use super::process::RateProcess;
use abr::Video;
use experiments::parallel;
use schema::Diagnostic;
use schema::shape::{Key, Need, Shape, Table};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use units::{Duration, Instant, Rng, Seed};

/// The calibration file built into the program.
pub const SHIPPED: &str = include_str!("../../../../calibration/lwi.toml");

/// The fitted parameters of the links and the player. All other parameters of the model come from
/// the paper or are choices documented in [`model`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Rate of the Wi-Fi link.
    pub wifi: RateProcess,
    /// Rate of the LTE link.
    pub lte: RateProcess,
    /// Maximum buffer of the player.
    pub buffer: Duration,
    /// Buffer at which playback starts.
    pub startup: Duration,
    /// Buffer at which playback resumes after a stall.
    pub resume: Duration,
}

/// Maximum rate of the Wi-Fi link, in Mbit/s. The paper does not name the Wi-Fi standard.
const WIFI_MAX_MBPS: f64 = 50.0;

static SHAPE: Table = Table {
    name: "a calibration",
    doc: "Parameters of the links and the player that the paper does not print.",
    one_of: &[],
    keys: &KEYS,
};

static KEYS: [Key; 13] = [
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

    /// Rate process of a link.
    pub fn process(&self, access: Access) -> RateProcess {
        if access == Access::Lte { self.lte } else { self.wifi }
    }

    fn values(&self) -> [f64; KEYS.len()] {
        let Self { wifi, lte, buffer, startup, resume } = self;
        let mut all = [0.0; KEYS.len()];
        all[..5].copy_from_slice(&parameters(wifi));
        all[5..10].copy_from_slice(&parameters(lte));
        all[10..].copy_from_slice(&[buffer, startup, resume].map(|span| span.as_secs_f64()));
        all
    }

    fn of(all: &[f64; KEYS.len()]) -> Self {
        let process = |from: usize, access| process_of(core::array::from_fn(|i| all[from + i]), access);
        let [buffer, startup, resume] = [10, 11, 12].map(|i| Duration::from_secs_f64(all[i]));
        Self { wifi: process(0, Access::Wifi), lte: process(5, Access::Lte), buffer, startup, resume }
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
        let mut text = "# Fitted by `tandem reproduce lwi --calibrate` to the figures for one link, with both videos, in\n\
                        # the paper on LTE-Wi-Fi integration, and to nothing else (docs/background/lwi.md). The figures\n\
                        # for both links together are predictions.\n"
            .to_owned();
        let comment = |key: &str| match key {
            "wifi_good_mbps" => {
                Some("Each link: rates of its two states, their mean durations, and the spread between runs.")
            }
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

/// Sessions of each trial.
const SESSIONS: u64 = 200;
/// Trials of each link from each start point.
const TRIALS: usize = 250;
/// Buffers to try, in seconds.
const BUFFERS_S: [u64; 2] = [8, 12];
/// Spreads to try.
const SPREADS: [f64; 5] = [0.0, 0.15, 0.3, 0.45, 0.6];
/// Number of steps that [`fit`] reports.
pub const STEPS: usize = 2 * BUFFERS_S.len() * SPREADS.len();

/// Repeats the fit; `progress` receives the number of finished [`STEPS`].
///
/// For each buffer and spread, a random local search varies the four other parameters of each link.
/// It minimises the squared logarithmic distance to the link's four figures in Table III, over
/// sessions of `fluid` with fixed seeds. The result is the combination of one buffer and a spread
/// for each link with the smallest sum of both distances and that of [`mos_ratio_wifi_to_lte`].
/// Startup and resume are one segment each, the minimum for a player.
pub fn fit(jobs: NonZeroUsize, progress: &(dyn Fn(usize) + Sync)) -> Calibration {
    let links = [Access::Wifi, Access::Lte];
    let each = BUFFERS_S.iter().flat_map(|&buffer| SPREADS.map(|spread| (buffer, spread)));
    let work: Vec<_> =
        each.flat_map(|(buffer, spread)| links.map(|access| (buffer, spread, access))).collect();
    let found = parallel::map(jobs, &work, progress, |&(buffer, spread, access)| {
        let found = search(buffer, spread, access);
        let video = model::video(Clip::FourK, &with_buffer(buffer));
        (found.0, found.1, of_fluid(&found.1, access, &video).mos)
    });
    let mut best = (f64::INFINITY, with_buffer(BUFFERS_S[0]));
    for (&(buffer, _, access), (off, wifi, mos)) in work.iter().zip(&found) {
        let others = work.iter().zip(&found).filter(|((other, _, link), _)| {
            access == Access::Wifi && *other == buffer && *link == Access::Lte
        });
        for (_, (lte_off, lte, lte_mos)) in others {
            let apart = libm::log(mos / lte_mos / mos_ratio_wifi_to_lte());
            let sum = off + lte_off + apart * apart;
            if sum < best.0 {
                best = (sum, Calibration { wifi: *wifi, lte: *lte, ..with_buffer(buffer) });
            }
        }
    }
    best.1
}

/// A calibration with this buffer and initial values for the links.
fn with_buffer(buffer: u64) -> Calibration {
    Calibration {
        wifi: process_of([16.0, 2.0, 8.0, 8.0, 0.0], Access::Wifi),
        lte: process_of([16.0, 2.0, 8.0, 8.0, 0.0], Access::Lte),
        buffer: Duration::from_secs(buffer),
        startup: model::SEGMENT,
        resume: model::SEGMENT,
    }
}

fn search(buffer: u64, spread: f64, access: Access) -> (f64, RateProcess) {
    let videos = Clip::ALL.map(|clip| (clip, model::video(clip, &with_buffer(buffer))));
    let mut rng = Seed::new(1).derive(access.name()).rng("fit");
    // Two start points reduce the risk of a poor local minimum.
    let starts = [[16.0, 2.0, 8.0, 8.0, spread], [30.0, 1.0, 3.0, 6.0, spread]];
    let found = starts.map(|start| local_search(start, access, &videos, &mut rng));
    if found[1].0 < found[0].0 { found[1] } else { found[0] }
}

/// Random local search from `start`: distance and process of the best trial.
fn local_search(
    start: [f64; 5],
    access: Access,
    videos: &[(Clip, Video); 2],
    rng: &mut Rng,
) -> (f64, RateProcess) {
    let mut at = process_of(start, access);
    let mut best = distance(&at, access, videos);
    let mut step = 0.4;
    for _ in 0..TRIALS {
        let [a, b, c, d, spread] = parameters(&at);
        let [a, b, c, d] = [a, b, c, d].map(|value| value * libm::exp(step * rng.normal()));
        let other = process_of([a, b, c, d, spread], access);
        let error = distance(&other, access, videos);
        if error < best {
            (best, at, step) = (error, other, (step * 1.3_f64).min(0.6));
        } else {
            step = (step * 0.97).max(0.02);
        }
    }
    (best, at)
}

fn parameters(process: &RateProcess) -> [f64; 5] {
    let RateProcess { good_mbps, bad_mbps, good_s, bad_s, spread, .. } = *process;
    [good_mbps, bad_mbps, good_s, bad_s, spread]
}

/// A process with these parameters, clamped to the link's limits. Values are rounded as in the
/// file, so that a calibration equals its file.
fn process_of([good, bad, good_s, bad_s, spread]: [f64; 5], access: Access) -> RateProcess {
    let max = if access == Access::Lte { LTE_MAX_MBPS } else { WIFI_MAX_MBPS };
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    RateProcess {
        good_mbps: rounded(good.clamp(1.0, max)),
        bad_mbps: rounded(bad.clamp(0.05, max)),
        good_s: rounded(good_s.clamp(0.5, 60.0)),
        bad_s: rounded(bad_s.clamp(0.5, 60.0)),
        spread: rounded(spread),
        max_mbps: max,
    }
}

/// Distance of a link's stalls from the paper's: the sum of squared logarithms of the ratios.
fn distance(process: &RateProcess, access: Access, videos: &[(Clip, Video); 2]) -> f64 {
    let mut error = 0.0;
    for (clip, video) in videos {
        let (count, mean) = stalls(access, *clip);
        let found = of_fluid(process, access, video);
        let apart = |found: f64, printed: f64| libm::log(found.max(0.01) / printed);
        let (a, b) = (apart(found.stalls, count), apart(found.mean_s, mean));
        error += a * a + b * b;
    }
    error
}

/// Means over the sessions of a trial.
struct Trial {
    /// Stalls per session.
    stalls: f64,
    /// Mean length of a stall, in seconds.
    mean_s: f64,
    mos: f64,
}

fn of_fluid(process: &RateProcess, access: Access, video: &Video) -> Trial {
    let latency = Duration::from_secs_f64((round_trip_ms(access) + PROXY_TO_SERVER_MS) * 1e-3);
    let (mut count, mut length, mut mos) = (0, 0.0, 0.0);
    for seed in 1..=SESSIONS {
        let steps = process.draw(SESSION_TIMEOUT, Seed::new(seed).derive(access.name()));
        let session = fluid::session(video, &steps, latency, Instant::ZERO + SESSION_TIMEOUT);
        count += session.stalls.len();
        length += session.stalls.iter().map(|stall| stall.length().as_secs_f64()).sum::<f64>();
        mos += session.kpis().mos.unwrap_or(f64::NAN);
    }
    let sessions = SESSIONS as f64;
    Trial {
        stalls: count as f64 / sessions,
        mean_s: if count > 0 { length / count as f64 } else { 0.0 },
        mos: mos / sessions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_calibration_round_trips() {
        let shipped = Calibration::shipped();
        assert_eq!(shipped.to_toml(), SHIPPED);
    }

    #[test]
    fn shipped_calibration_matches_the_single_link_rows() {
        let shipped = Calibration::shipped();
        for access in [Access::Wifi, Access::Lte] {
            let videos = Clip::ALL.map(|clip| (clip, model::video(clip, &shipped)));
            let off = distance(&shipped.process(access), access, &videos);
            // Corresponds to four figures with a difference of 10 % each.
            assert!(off < 0.04, "{}: {off}", access.name());
        }
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
