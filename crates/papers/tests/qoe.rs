//! The policy `qoe` in whole runs: what the viewer gets, and what LTE carries for it.
#![allow(clippy::disallowed_methods, reason = "these tests read the repository's own files")]

use experiments::parallel;
use policy::PolicyConfig;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tandem_papers::lwi::calibration::Calibration;
use tandem_papers::lwi::model::{Way, experiment};
use tandem_papers::lwi::paper::Clip;
use units::Duration;

/// One run.
#[derive(Debug, Clone, Copy)]
struct Seen {
    mos: f64,
    stalls: usize,
    lte_mb: f64,
    lte_j: f64,
}

fn run(mut experiment: sim::Experiment, policy: &str) -> Seen {
    experiment.device.policy = policy.parse::<PolicyConfig>().expect("a policy");
    experiment.sample = Duration::ZERO;
    let outcome = sim::run(&experiment);
    let session = outcome.connections[0].video.as_ref().expect("the connection carries video");
    Seen {
        mos: session.kpis().mos,
        stalls: session.stalls.len(),
        lte_mb: outcome.paths[1].payload_down_bytes as f64 * 1e-6,
        lte_j: outcome.paths[1].energy.total_j,
    }
}

/// The same seeds under each of some policies.
fn all<const N: usize>(
    policies: [&str; N],
    seeds: u64,
    of: impl Fn(u64) -> sim::Experiment + Sync,
) -> [Vec<Seen>; N] {
    let two = NonZeroUsize::new(2).expect("it is not zero");
    let seeds: Vec<u64> = (1..=seeds).collect();
    policies.map(|policy| parallel::map(two, &seeds, &|_| {}, |&seed| run(of(seed), policy)))
}

fn mean(runs: &[Seen], of: fn(&Seen) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

#[test]
fn on_the_links_of_the_lwi_paper_the_viewer_loses_nothing_and_lte_carries_less() {
    let calibration = Calibration::shipped();
    for (clip, most) in [(Clip::FourK, 0.9), (Clip::TwoK, 0.8)] {
        let [plain, first, qoe] =
            all(["none", "wifi-first", "qoe"], 10, |seed| experiment(Way::ALL[2], clip, &calibration, seed));
        let mos = |runs: &[Seen]| mean(runs, |run| run.mos);
        assert!(mos(&qoe) >= mos(&plain), "{}: {} and {}", clip.name(), mos(&qoe), mos(&plain));
        assert!(mos(&first) < mos(&plain) - 0.1, "Wi-Fi alone is no choice here: {}", mos(&first));
        let lte = mean(&qoe, |run| run.lte_mb) / mean(&plain, |run| run.lte_mb);
        assert!(lte < most, "{}: {lte}", clip.name());
        assert!(mean(&qoe, |run| run.lte_j) < mean(&plain, |run| run.lte_j));
    }
}

/// Where the measured traces are, if they are here.
fn traces() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let there = folder.is_dir();
    if !there {
        eprintln!("skipped: the measured traces are not here");
    }
    there.then_some(folder)
}

/// A video of `mbps` over a measured pair of links, begun at another time with each seed.
fn on_measured_links(folder: &Path, pair: &str, mbps: f64, seconds: u64, seed: u64) -> sim::Experiment {
    let path = |name: &str, trace: &str, delay: u32| {
        format!(
            "[[path]]\nname = '{name}'\nradio = 'huang2012.{name}'\n\
             down = {{ trace = '{pair}_{trace}.csv', delay = '{delay}ms', queue = '100ms' }}\n\
             up = {{ rate = '5Mbps', delay = '{delay}ms' }}\n",
        )
    };
    let text = format!(
        "seed = {seed}\nduration = '{}s'\n{}{}[transport]\npreset = 'linux'\nscheduler = 'min-rtt'\n[[traffic]]\nkind = 'video'\n\
         start = '{}s'\nmanifest = {{ bitrates = '{mbps}Mbps', duration = '{seconds}s' }}\nrule = 'throughput'\n\
         buffer = '20s'\n",
        seconds + 100,
        path("wifi", "wifi", 5),
        path("lte", "cellular", 25),
        2 * seed
    );
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string());
    scenario::Scenario::parse("measured.toml", &text, &read).expect("it is right").experiment
}

/// The least that LTE has to carry, in MB, for who knows both traces, so that the picture comes as early as both links
/// can bring it and nothing stalls: of each link 0.93 of the rate are the video's, and nothing is ever late for
/// a round trip.
///
/// What has to be there at a moment for all that follows is known from behind; LTE brings it at the last moment, so that
/// the buffer of 20 s never fills with what Wi-Fi would have brought too.
fn oracle_mb(folder: &Path, pair: &str, mbps: f64, seed: u64) -> f64 {
    const STEP: f64 = 0.05;
    const SEGMENT: f64 = 2.0;
    let read = |name: &str| -> Vec<f64> {
        let text = std::fs::read_to_string(folder.join(format!("{pair}_{name}.csv"))).expect("it is there");
        let rates = text.lines().filter_map(|line| line.split_once(',')?.1.trim().parse::<f64>().ok());
        rates.map(|rate| rate * 0.93 * STEP).collect()
    };
    let (wifi, lte) = (read("wifi"), read("cellular"));
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
    let (mut there, mut over_lte) = (0.0_f64, 0.0);
    for step in 0..end {
        there = (there + at(&wifi, step)).min(segments(played(step) + 20.0 - SEGMENT)).min(whole);
        let more = (least[step + 1] - there).clamp(0.0, at(&lte, step));
        there += more;
        over_lte += more;
    }
    over_lte * 1e-6
}

#[test]
fn on_measured_links_whose_wifi_carries_the_video_lte_carries_little() {
    let Some(folder) = traces() else { return };
    // Wi-Fi's means are 33.7 and 30.5 Mbit/s: a fifth more than the video, and half as much again.
    let cases = [
        ("mpwl_12_1", 28.0, 0.18),
        ("mpwl_7_1", 25.3, 0.24),
        ("mpwl_12_1", 22.0, 0.16),
        ("mpwl_7_1", 20.0, 0.16),
    ];
    for (pair, mbps, most) in cases {
        let of = |seed| on_measured_links(&folder, pair, mbps, 100, 4 * seed);
        let [plain, qoe] = all(["none", "qoe"], 7, of);
        for (plain, qoe) in plain.iter().zip(&qoe) {
            assert!(qoe.mos >= plain.mos && qoe.stalls <= plain.stalls, "{pair}: {qoe:?} and {plain:?}");
        }
        let lte = |runs: &[Seen]| mean(runs, |run| run.lte_mb);
        let least = (1..=7).map(|seed| oracle_mb(&folder, pair, mbps, 4 * seed)).sum::<f64>() / 7.0;
        assert!(lte(&qoe) < most * lte(&plain), "{pair}: {} of {}", lte(&qoe), lte(&plain));
        assert!(lte(&qoe) > least, "{pair}: {} and {least}: the bound is none", lte(&qoe));
        let energy = mean(&qoe, |run| run.lte_j) / mean(&plain, |run| run.lte_j);
        assert!(energy < 0.5, "{pair}: {energy}");
    }
}

/// Most of what LTE has to carry is for the start: of ten minutes at a rate that Wi-Fi exceeds by a fifth it is less than a
/// tenth of what plain Multipath TCP has it carry.
#[test]
fn of_a_longer_video_lte_carries_less_than_a_tenth() {
    let Some(folder) = traces() else { return };
    for (pair, mbps) in [("mpwl_12_1", 28.0), ("mpwl_7_1", 25.3)] {
        let [plain, qoe] =
            all(["none", "qoe"], 4, |seed| on_measured_links(&folder, pair, mbps, 600, 7 * seed));
        for (plain, qoe) in plain.iter().zip(&qoe) {
            assert!(qoe.mos >= plain.mos && qoe.stalls <= plain.stalls, "{pair}: {qoe:?} and {plain:?}");
        }
        let lte = mean(&qoe, |run| run.lte_mb) / mean(&plain, |run| run.lte_mb);
        assert!(lte < 0.1, "{pair}: {lte}");
    }
}

/// The figures of docs/lwi.md: what LTE has to carry at least, for the seeds 1 to 30.
#[test]
fn no_policy_does_with_less_than_this() {
    let Some(folder) = traces() else { return };
    let cases = [
        ("mpwl_12_1", 28.0, 12.5),
        ("mpwl_7_1", 25.3, 25.7),
        ("mpwl_12_1", 22.0, 7.2),
        ("mpwl_7_1", 20.0, 7.1),
    ];
    for (pair, mbps, printed) in cases {
        let least = (1..=30).map(|seed| oracle_mb(&folder, pair, mbps, seed)).sum::<f64>() / 30.0;
        assert!((least - printed).abs() < 0.15, "{pair}: {least}, printed {printed}");
    }
}
