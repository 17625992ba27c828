//! The policy `qoe` in whole runs: what the viewer gets, and what LTE carries for it.
#![allow(clippy::disallowed_methods, reason = "these tests read the repository's own files")]

use policy::PolicyConfig;
use std::num::NonZeroUsize;
use std::path::Path;
use tandem_study::lwi::calibration::Calibration;
use tandem_study::lwi::model::{Way, experiment};
use tandem_study::lwi::paper::Clip;
use tandem_study::parallel;
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

/// A video of `mbps` over a measured pair of links, where they are, begun at another time with each seed.
fn on_measured_links(pair: &str, mbps: f64, seed: u64) -> Option<sim::Experiment> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.is_dir() {
        eprintln!("skipped: the measured traces are not here");
        return None;
    }
    let path = |name: &str, trace: &str, delay: u32| {
        format!(
            "[[path]]\nname = '{name}'\nradio = 'huang2012.{name}'\n\
             down = {{ trace = '{pair}_{trace}.csv', delay = '{delay}ms', queue = '100ms' }}\n\
             up = {{ rate = '5Mbps', delay = '{delay}ms' }}\n",
        )
    };
    let text = format!(
        "seed = {seed}\nduration = '200s'\n{}{}[[traffic]]\nkind = 'video'\nstart = '{}s'\n\
         manifest = {{ bitrates = '{mbps}Mbps', duration = '100s' }}\nbuffer = '20s'\n",
        path("wifi", "wifi", 5),
        path("lte", "cellular", 25),
        2 * seed
    );
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string());
    Some(scenario::Scenario::parse("measured.toml", &text, &read).expect("it is right").experiment)
}

#[test]
fn on_measured_links_whose_wifi_carries_the_video_lte_carries_little() {
    // Wi-Fi's means are 33.7 and 30.5 Mbit/s: a fifth more than the video.
    for (pair, mbps) in [("mpwl_12_1", 28.0), ("mpwl_7_1", 25.3)] {
        if on_measured_links(pair, mbps, 1).is_none() {
            return;
        }
        let of = |seed| on_measured_links(pair, mbps, 3 * seed).expect("the traces are here");
        let [plain, qoe] = all(["none", "qoe"], 3, of);
        for (plain, qoe) in plain.iter().zip(&qoe) {
            assert!(qoe.mos >= plain.mos && qoe.stalls <= plain.stalls, "{qoe:?} and {plain:?}");
        }
        let lte = mean(&qoe, |run| run.lte_mb) / mean(&plain, |run| run.lte_mb);
        assert!(lte < 0.3, "{pair}: {lte}");
    }
}
