//! The policy `qoe` in whole runs: quality for the viewer, and data and energy over LTE.
#![allow(clippy::disallowed_methods, reason = "these tests read the repository's own files")]

use experiments::parallel;
use policy::PolicyConfig;
use std::num::NonZeroUsize;
use std::path::Path;
use tandem_papers::lwi::calibration::Calibration;
use tandem_papers::lwi::model::{Setup, experiment};
use tandem_papers::lwi::paper::Clip;
use units::Duration;

/// Results of one run.
#[derive(Debug, Clone, Copy)]
struct Session {
    mos: f64,
    stalls: usize,
    lte_mb: f64,
    lte_j: f64,
}

fn run(mut experiment: sim::Experiment, policy: &str) -> Session {
    experiment.device.policy = policy.parse::<PolicyConfig>().expect("a policy");
    experiment.sample = Duration::ZERO;
    let outcome = sim::run(&experiment);
    let session = outcome.connections[0].video.as_ref().expect("the connection carries video");
    Session {
        mos: session.kpis().mos.expect("the video shows a picture"),
        stalls: session.stalls.len(),
        lte_mb: outcome.paths[1].payload_down_bytes as f64 * 1e-6,
        lte_j: outcome.paths[1].energy.total_j,
    }
}

/// Runs the same seeds with each policy.
fn all<const N: usize>(
    policies: [&str; N],
    seeds: u64,
    of: impl Fn(u64) -> sim::Experiment + Sync,
) -> [Vec<Session>; N] {
    let two = NonZeroUsize::new(2).expect("two is not zero");
    let seeds: Vec<u64> = (1..=seeds).collect();
    policies.map(|policy| parallel::map(two, &seeds, &|_| {}, |&seed| run(of(seed), policy)))
}

fn mean(runs: &[Session], of: fn(&Session) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

#[test]
fn qoe_keeps_mos_and_reduces_lte_data_on_the_links_of_the_lwi_paper() {
    let calibration = Calibration::first();
    for (clip, most) in [(Clip::FourK, 0.9), (Clip::TwoK, 0.8)] {
        let [plain, first, qoe] = all(["none", "wifi-first", "qoe"], 10, |seed| {
            experiment(&Setup::all()[2], clip, &calibration, seed)
        });
        let mos = |runs: &[Session]| mean(runs, |run| run.mos);
        assert!(mos(&qoe) >= mos(&plain), "{}: {} and {}", clip.name(), mos(&qoe), mos(&plain));
        assert!(mos(&first) < mos(&plain) - 0.1, "wifi-first must be worse: {}", mos(&first));
        let lte = mean(&qoe, |run| run.lte_mb) / mean(&plain, |run| run.lte_mb);
        assert!(lte < most, "{}: {lte}", clip.name());
        assert!(mean(&qoe, |run| run.lte_j) < mean(&plain, |run| run.lte_j));
    }
}

/// The text of a file of `traces/`.
fn trace_text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A video of `mbps` over a measured pair of links; the seed determines the start time.
fn on_a_walk(walk: &str, mbps: f64, seconds: u64, seed: u64) -> sim::Experiment {
    let path = |name: &str, trace: &str, delay: u32| {
        format!(
            "[[path]]\nname = '{name}'\nradio = 'huang2012.{name}'\n\
             down = {{ trace = '{walk}.{trace}.csv', delay = '{delay}ms', queue = '100ms' }}\n\
             up = {{ rate = '5Mbps', delay = '{delay}ms' }}\n",
        )
    };
    let text = format!(
        "seed = {seed}\nduration = '{}s'\n{}{}[transport]\npreset = 'linux'\nscheduler = 'min-rtt'\n[[traffic]]\nkind = 'video'\n\
         start = '{}s'\nmanifest = {{ bitrates = '{mbps}Mbps', duration = '{seconds}s' }}\nrule = 'throughput'\n\
         buffer = '20s'\n",
        seconds + 100,
        path("wifi", "wifi", 5),
        path("lte", "lte", 25),
        2 * seed
    );
    let read = |name: &str| -> Result<String, String> { Ok(trace_text(name)) };
    scenario::Scenario::parse("walk.toml", &text, &read).expect("the scenario is valid").experiment
}

/// Minimum LTE data in MB of an optimal policy that knows both traces: playback starts as early as
/// both links allow and never stalls. The video gets 0.93 of each link's rate, and round trips take
/// no time.
///
/// A backward pass computes the data required at each step for all later segments. The forward pass
/// uses LTE at the last moment, so that it never fills the buffer of 20 s with data that Wi-Fi
/// would have carried.
fn oracle_mb(walk: &str, mbps: f64, seed: u64) -> f64 {
    const STEP: f64 = 0.05;
    const SEGMENT: f64 = 2.0;
    let read = |name: &str| -> Vec<f64> {
        let text = trace_text(&format!("{walk}.{name}.csv"));
        let rates = text.lines().filter_map(|line| line.split_once(',')?.1.trim().parse::<f64>().ok());
        rates.map(|rate| rate * 0.93 * STEP).collect()
    };
    let (wifi, lte) = (read("wifi"), read("lte"));
    let at = |rates: &[f64], step: usize| rates[(2 * seed as usize + step / 20) % rates.len()];
    let both = |step| at(&wifi, step) + at(&lte, step);
    let (segment, whole) = (mbps * 125_000.0 * SEGMENT, mbps * 125_000.0 * 100.0);
    let (mut start, mut first) = (0, 0.0);
    while first < segment {
        first += both(start);
        start += 1;
    }
    let played = |step: usize| step.saturating_sub(start) as f64 * STEP;
    let segments = |seconds: f64| ((seconds / SEGMENT + 1e-9).floor() + 1.0) * segment;
    let needed = |step: usize| if step < start { 0.0 } else { segments(played(step)).min(whole) };
    let end = start + (100.0 / STEP) as usize;
    let mut least = vec![whole; end + 1];
    for step in (0..end).rev() {
        least[step] = needed(step).max(least[step + 1] - both(step));
    }
    let (mut received, mut over_lte) = (0.0_f64, 0.0);
    for step in 0..end {
        received = (received + at(&wifi, step)).min(segments(played(step) + 20.0 - SEGMENT)).min(whole);
        let more = (least[step + 1] - received).clamp(0.0, at(&lte, step));
        received += more;
        over_lte += more;
    }
    over_lte * 1e-6
}

/// Video at five sixths and at two thirds of the mean rate of Wi-Fi (39.5 and 37.4 Mbit/s).
const WALKS: [(&str, f64); 4] =
    [("walk-towards", 33.0), ("walk-away", 31.2), ("walk-towards", 26.4), ("walk-away", 24.9)];

#[test]
fn qoe_uses_little_lte_on_walks_with_sufficient_wifi() {
    for (walk, mbps) in WALKS {
        let [plain, qoe] = all(["none", "qoe"], 7, |seed| on_a_walk(walk, mbps, 100, 4 * seed));
        for (plain, qoe) in plain.iter().zip(&qoe) {
            assert!(qoe.mos >= plain.mos && qoe.stalls <= plain.stalls, "{walk}: {qoe:?} and {plain:?}");
        }
        let lte = |runs: &[Session]| mean(runs, |run| run.lte_mb);
        let least = (1..=7).map(|seed| oracle_mb(walk, mbps, 4 * seed)).sum::<f64>() / 7.0;
        assert!(lte(&qoe) < 0.24 * lte(&plain), "{walk}: {} of {}", lte(&qoe), lte(&plain));
        assert!(lte(&qoe) > least, "{walk}: LTE carries {} MB, less than the oracle's {least}", lte(&qoe));
        let energy = mean(&qoe, |run| run.lte_j) / mean(&plain, |run| run.lte_j);
        assert!(energy < 0.5, "{walk}: {energy}");
    }
}

/// LTE is needed mostly at the start. Over ten minutes at five sixths of the mean rate of Wi-Fi it
/// carries less than a tenth of its load under plain Multipath TCP.
#[test]
fn qoe_needs_less_than_a_tenth_of_the_lte_data_for_a_long_video() {
    for (walk, mbps) in &WALKS[..2] {
        let [plain, qoe] = all(["none", "qoe"], 4, |seed| on_a_walk(walk, *mbps, 600, 7 * seed));
        for (plain, qoe) in plain.iter().zip(&qoe) {
            assert!(qoe.mos >= plain.mos && qoe.stalls <= plain.stalls, "{walk}: {qoe:?} and {plain:?}");
        }
        let lte = mean(&qoe, |run| run.lte_mb) / mean(&plain, |run| run.lte_mb);
        assert!(lte < 0.1, "{walk}: {lte}");
    }
}
