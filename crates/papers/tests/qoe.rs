//! The policy `qoe` in whole runs: what the viewer gets, and what LTE carries for it.
#![allow(clippy::disallowed_methods, reason = "these tests read the repository's own files")]

use experiments::parallel;
use policy::PolicyConfig;
use std::num::NonZeroUsize;
use std::path::Path;
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
        let [plain, first, qoe] = all(["none", "wifi-first", "qoe"], 10, |seed| {
            experiment(&Way::all()[2], clip, &calibration, seed)
        });
        let mos = |runs: &[Seen]| mean(runs, |run| run.mos);
        assert!(mos(&qoe) >= mos(&plain), "{}: {} and {}", clip.name(), mos(&qoe), mos(&plain));
        assert!(mos(&first) < mos(&plain) - 0.1, "Wi-Fi alone is no choice here: {}", mos(&first));
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

/// A video of `mbps` over a measured pair of links, begun at another time with each seed.
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
    scenario::Scenario::parse("measured.toml", &text, &read).expect("it is right").experiment
}

/// The least that LTE has to carry, in MB, for who knows both traces, so that the picture comes as early as both links
/// can bring it and nothing stalls: of each link 0.93 of the rate are the video's, and nothing is ever late for
/// a round trip.
///
/// What has to be there at a moment for all that follows is known from behind; LTE brings it at the last moment, so that
/// the buffer of 20 s never fills with what Wi-Fi would have brought too.
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
    let (mut there, mut over_lte) = (0.0_f64, 0.0);
    for step in 0..end {
        there = (there + at(&wifi, step)).min(segments(played(step) + 20.0 - SEGMENT)).min(whole);
        let more = (least[step + 1] - there).clamp(0.0, at(&lte, step));
        there += more;
        over_lte += more;
    }
    over_lte * 1e-6
}

/// Video at five sixths and at two thirds of the mean rate of Wi-Fi (39.5 and 37.4 Mbit/s).
const WALKS: [(&str, f64); 4] =
    [("walk-towards", 33.0), ("walk-away", 31.2), ("walk-towards", 26.4), ("walk-away", 24.9)];

#[test]
fn on_walks_whose_wifi_carries_the_video_lte_carries_little() {
    for (walk, mbps) in WALKS {
        let [plain, qoe] = all(["none", "qoe"], 7, |seed| on_a_walk(walk, mbps, 100, 4 * seed));
        for (plain, qoe) in plain.iter().zip(&qoe) {
            assert!(qoe.mos >= plain.mos && qoe.stalls <= plain.stalls, "{walk}: {qoe:?} and {plain:?}");
        }
        let lte = |runs: &[Seen]| mean(runs, |run| run.lte_mb);
        let least = (1..=7).map(|seed| oracle_mb(walk, mbps, 4 * seed)).sum::<f64>() / 7.0;
        println!("{walk} {mbps}: none {:.2}, qoe {:.2}, oracle {least:.2}", lte(&plain), lte(&qoe));
        assert!(lte(&qoe) < 0.24 * lte(&plain), "{walk}: {} of {}", lte(&qoe), lte(&plain));
        assert!(lte(&qoe) > least, "{walk}: LTE carries {} MB, less than the oracle's {least}", lte(&qoe));
        let energy = mean(&qoe, |run| run.lte_j) / mean(&plain, |run| run.lte_j);
        assert!(energy < 0.5, "{walk}: {energy}");
    }
}

/// LTE is needed mostly at the start. Over ten minutes at five sixths of the mean rate of Wi-Fi it carries less than a
/// tenth of its load under plain Multipath TCP.
#[test]
fn of_a_longer_video_lte_carries_less_than_a_tenth() {
    for (walk, mbps) in &WALKS[..2] {
        let [plain, qoe] = all(["none", "qoe"], 4, |seed| on_a_walk(walk, *mbps, 600, 7 * seed));
        for (plain, qoe) in plain.iter().zip(&qoe) {
            assert!(qoe.mos >= plain.mos && qoe.stalls <= plain.stalls, "{walk}: {qoe:?} and {plain:?}");
        }
        let lte = mean(&qoe, |run| run.lte_mb) / mean(&plain, |run| run.lte_mb);
        println!("{walk} {mbps}: {lte:.3}");
        assert!(lte < 0.1, "{walk}: {lte}");
    }
}
