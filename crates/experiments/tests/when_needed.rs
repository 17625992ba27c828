//! The policies `when-needed` and `allowance` in whole runs: data lost by a stream, and data over
//! LTE.
#![allow(clippy::disallowed_methods, reason = "these tests read the repository's own files")]

use policy::PolicyConfig;
use scenario::Scenario;
use sim::{Experiment, Outcome};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use tandem_experiments::parallel;
use units::{Duration, Probability, Rng, Seed};

/// Rate of the stream, in Mbit/s.
const STREAM_MBPS: f64 = 5.0;
/// Downlink rate on the wire, in Mbit/s: 1400 bytes of payload with IP and TCP headers, timestamps,
/// and a DSS with a short acknowledgement.
const WIRE_MBPS: f64 = STREAM_MBPS * (1400.0 + 20.0 + 20.0 + 12.0 + 24.0) / 1400.0;

/// A scenario with a stream of 100 s over Wi-Fi and LTE with these rates. It lasts one second
/// longer, for the data in flight.
fn stream(wifi: &str, lte: &str, transport: &str) -> String {
    format!(
        "duration = '101s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
         down = {{ {wifi}, delay = '5ms', queue = '200 packets' }}\nup = {{ rate = '10Mbps', delay = '5ms' }}\n\
         [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\n\
         down = {{ {lte}, delay = '25ms', queue = '1MB' }}\nup = {{ rate = '10Mbps', delay = '25ms' }}\n\
         [transport]\n{transport}\n\
         [[traffic]]\nkind = 'cbr'\nrate = '{STREAM_MBPS}Mbps'\npacket = '1400B'\non_full = 'drop'\nstop = '100s'\n"
    )
}

/// The walks of `traces/`, each with a file for Wi-Fi and one for LTE.
const WALKS: [&str; 2] = ["walk-away", "walk-towards"];

/// The text of a file of `traces/`.
fn trace_text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Figures of one run.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    delivered_mb: f64,
    dropped_mb: f64,
    /// Data over LTE in both directions, with all headers.
    lte_mb: f64,
    /// Downlink data over LTE, with all headers.
    lte_down_mb: f64,
    /// Maximum of written and unacknowledged data, in seconds of the stream.
    latest_s: f64,
    /// Minimum goodput of a second, after the first second.
    least_mbps: f64,
    energy_j: f64,
    changes: f64,
}

impl Figures {
    fn of(outcome: &Outcome) -> Self {
        let connection = &outcome.connections[0];
        let column = |name: &str| &outcome.series.column(name).expect("a series").values;
        let seconds = column("connection1.goodput_mbps").chunks_exact(10).take(100).skip(1);
        Self {
            delivered_mb: connection.delivered_bytes as f64 * 1e-6,
            dropped_mb: connection.dropped_bytes as f64 * 1e-6,
            lte_mb: (outcome.paths[1].wire_down_bytes + outcome.paths[1].wire_up_bytes) as f64 * 1e-6,
            lte_down_mb: outcome.paths[1].wire_down_bytes as f64 * 1e-6,
            latest_s: column("connection1.unsent_kb").iter().copied().fold(0.0, f64::max) * 8e-3
                / STREAM_MBPS,
            least_mbps: seconds.map(|second| second.iter().sum::<f64>() / 10.0).fold(f64::INFINITY, f64::min),
            energy_j: outcome.device.energy_j,
            changes: outcome.device.policy_changes as f64,
        }
    }

    fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Self {
            delivered_mb: mean(|f| f.delivered_mb),
            dropped_mb: mean(|f| f.dropped_mb),
            lte_mb: mean(|f| f.lte_mb),
            lte_down_mb: mean(|f| f.lte_down_mb),
            latest_s: mean(|f| f.latest_s),
            least_mbps: mean(|f| f.least_mbps),
            energy_j: mean(|f| f.energy_j),
            changes: mean(|f| f.changes),
        }
    }

    fn row(&self, name: &str) -> String {
        format!(
            "{name:14} {:9.2} {:7.2} {:7.2} {:7.2} {:8.2} {:12.2} {:7.1} {:7.1}\n",
            self.delivered_mb,
            self.dropped_mb,
            self.lte_mb,
            self.lte_down_mb,
            self.latest_s,
            self.least_mbps,
            self.energy_j,
            self.changes
        )
    }
}

const HEADER: &str = "               delivered dropped     lte    down   latest least second  energy changes\n                      MB      MB      MB      MB        s       Mbit/s       J\n";

fn run(experiment: &Experiment, policy: &str) -> Figures {
    let mut experiment = experiment.clone();
    experiment.device.policy = policy.parse::<PolicyConfig>().expect("a policy");
    Figures::of(&sim::run(&experiment))
}

/// The rates of a trace of lines `second,bytes_per_second`, in Mbit/s.
fn rates(trace: &str) -> Vec<f64> {
    let rate =
        |line: &str| line.split_once(',').expect("two columns").1.trim().parse::<f64>().expect("a rate");
    trace.lines().skip(1).map(|line| rate(line) * 8e-6).collect()
}

/// The part of the stream that Wi-Fi cannot carry, in MB: the sum over all seconds in which its
/// rate is below the stream's.
fn shortfall_mb(rates: &[f64]) -> f64 {
    rates.iter().map(|rate| (WIRE_MBPS - rate).max(0.0) / 8.0).sum()
}

/// A link with these rates, one for each second; the steps are shifted by `by`.
fn shifted(rates: &[f64], by: Duration) -> String {
    let step = |(second, rate): (usize, &f64)| {
        let from = Duration::from_secs(second as u64) + if second == 0 { Duration::ZERO } else { by };
        format!("['{}ms', '{}Mbps']", from.as_millis(), rate)
    };
    format!("rate = {{ steps = [{}] }}", rates.iter().enumerate().map(step).collect::<Vec<_>>().join(", "))
}

const POLICIES: [&str; 4] = ["none", "wifi-first", "when-needed", "emtcp:mp-prio"];

#[test]
fn when_needed_loses_nothing_and_limits_lte_on_walks() {
    let read = |name: &str| -> Result<String, String> { Ok(trace_text(name)) };
    let mut table = String::new();
    for walk in WALKS {
        let wifi_rates = rates(&trace_text(&format!("{walk}.wifi.csv")));
        for preset in ["rfc", "linux"] {
            let (wifi, lte) = (format!("trace = '{walk}.wifi.csv'"), format!("trace = '{walk}.lte.csv'"));
            let text = stream(&wifi, &lte, &format!("preset = '{preset}'"));
            let scenario = Scenario::parse("walk.toml", &text, &read).expect("the scenario is valid");
            let rows = POLICIES.map(|policy| run(&scenario.experiment, policy));
            let _ =
                write!(table, "{walk}, {preset}: Wi-Fi lacks {:.2} MB\n{HEADER}", shortfall_mb(&wifi_rates));
            for (policy, figures) in POLICIES.iter().zip(&rows) {
                table.push_str(&figures.row(policy));
            }
            let [none, _, when_needed, _] = &rows;
            assert!(when_needed.delivered_mb >= none.delivered_mb, "{table}");
            assert!(when_needed.dropped_mb <= none.dropped_mb, "{table}");
        }
    }
    insta::assert_snapshot!(table);
}

/// The policy decides every 100 ms. The walks are therefore shifted by 20 offsets within that
/// interval, so that the result does not depend on where a decision falls.
#[test]
fn when_needed_limits_lte_for_any_offset_of_its_decisions() {
    let no_files = |_: &str| -> Result<String, String> { Err("the scenario reads no files".to_owned()) };
    let jobs = NonZeroUsize::new(2).expect("two is not zero");
    let shifts: Vec<u64> = (0..20).collect();
    let mut table = String::new();
    for walk in WALKS {
        let paths = ["wifi", "lte"].map(|path| rates(&trace_text(&format!("{walk}.{path}.csv"))));
        for preset in ["rfc", "linux"] {
            let one = |shift: &u64| {
                let [wifi, lte] =
                    paths.each_ref().map(|rates| shifted(rates, Duration::from_millis(5 * shift)));
                let text = stream(&wifi, &lte, &format!("preset = '{preset}'"))
                    + &format!("start = '{}ms'\n", 37 * shift % 100);
                let scenario = Scenario::parse("walk.toml", &text, &no_files);
                let scenario = scenario.unwrap_or_else(|found| panic!("{found:?}"));
                ["none", "when-needed"].map(|policy| run(&scenario.experiment, policy))
            };
            let all = parallel::map(jobs, &shifts, &|_| {}, one);
            let most = |of: fn(&Figures) -> f64| all.iter().map(|[_, f]| of(f)).fold(0.0, f64::max);
            let mean = Figures::mean(&all.iter().map(|[_, f]| *f).collect::<Vec<_>>());
            let lacking = all.iter().map(|[none, f]| none.delivered_mb - f.delivered_mb).fold(0.0, f64::max);
            let _ = writeln!(
                table,
                "{walk}, {preset}: Wi-Fi lacks {:.2} MB; LTE down {:.2} MB, at most {:.2}; late {:.2} s, at most {:.2}; \
                 delivers at most {lacking:.2} MB less than without a policy",
                shortfall_mb(&paths[0]),
                mean.lte_down_mb,
                most(|f| f.lte_down_mb),
                mean.latest_s,
                most(|f| f.latest_s),
            );
            for [none, when_needed] in &all {
                // Data in flight at the end of the run may differ.
                assert!(when_needed.delivered_mb > none.delivered_mb - 0.01, "{table}");
                assert!(when_needed.latest_s <= 1.5, "{table}");
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// Rates of Wi-Fi and a cellular network over 100 s, drawn as pieces of 3 to 8 s of the walks.
/// About one piece in seven is drawn around a time when Wi-Fi is below the stream's rate. Both
/// networks are good at the beginning and at the end.
fn mixture(pairs: &[[Vec<f64>; 2]], rng: &mut Rng) -> [Vec<f64>; 2] {
    const GOOD: [f64; 5] = [40.0; 5];
    let mut mixed = [GOOD.to_vec(), GOOD.to_vec()];
    let drawn = |rng: &mut Rng, n: usize| rng.below(n as u64) as usize;
    while mixed[0].len() < 95 {
        let [wifi, cellular] = &pairs[drawn(rng, pairs.len())];
        let length = (3 + drawn(rng, 6)).min(95 - mixed[0].len());
        let mut first = drawn(rng, wifi.len());
        if rng.chance(Probability::new(0.15).expect("a part of one")) {
            let short: Vec<usize> = (0..wifi.len()).filter(|&i| wifi[i] < WIRE_MBPS).collect();
            first = short[drawn(rng, short.len())].saturating_sub(drawn(rng, length));
        }
        let first = first.min(wifi.len() - length);
        mixed[0].extend_from_slice(&wifi[first..first + length]);
        mixed[1].extend_from_slice(&cellular[first..first + length]);
    }
    mixed.map(|mut rates| {
        rates.extend_from_slice(&GOOD);
        rates
    })
}

#[test]
fn when_needed_limits_lte_on_mixtures_of_the_walks() {
    const MIXTURES: u64 = 60;
    let no_files = |_: &str| -> Result<String, String> { Err("the scenario reads no files".to_owned()) };
    let walks =
        WALKS.map(|walk| ["wifi", "lte"].map(|path| rates(&trace_text(&format!("{walk}.{path}.csv")))));
    let jobs = NonZeroUsize::new(2).expect("two is not zero");
    let mut table = String::new();
    for preset in ["rfc", "linux"] {
        let one = |seed: &u64| {
            let paths = mixture(&walks, &mut Seed::new(*seed).rng("mixture"));
            let [wifi, lte] = paths.each_ref().map(|rates| shifted(rates, Duration::ZERO));
            let scenario = Scenario::parse(
                "mixed.toml",
                &stream(&wifi, &lte, &format!("preset = '{preset}'")),
                &no_files,
            );
            let scenario = scenario.unwrap_or_else(|found| panic!("{found:?}"));
            let [none, when_needed] = ["none", "when-needed"].map(|policy| run(&scenario.experiment, policy));
            let less_mb = none.delivered_mb - when_needed.delivered_mb;
            // Linux's send buffer of 50 kB can overflow before the policy has seen Wi-Fi weaken.
            assert!(preset == "linux" || less_mb <= 0.0, "{seed}: {when_needed:?} {none:?}");
            (shortfall_mb(&paths[0]), when_needed, less_mb)
        };
        let all = parallel::map(jobs, &(0..MIXTURES).collect::<Vec<u64>>(), &|_| {}, one);
        let sum = |of: fn(&(f64, Figures, f64)) -> f64| all.iter().map(of).sum::<f64>();
        let lacks = sum(|(lacks, ..)| *lacks);
        let lte = sum(|(_, figures, _)| figures.lte_down_mb);
        let latest = all.iter().map(|(_, figures, _)| figures.latest_s).fold(0.0, f64::max);
        let least = all.iter().map(|(.., less_mb)| *less_mb).fold(0.0, f64::max);
        let _ = writeln!(
            table,
            "{preset}: means of {MIXTURES}: Wi-Fi lacks {:.2} MB; LTE down {:.2} MB, more than Wi-Fi lacks in {}; late {:.2} s, at most {latest:.2}; delivers at most {least:.2} MB less than without a policy",
            lacks / MIXTURES as f64,
            lte / MIXTURES as f64,
            all.iter().filter(|(lacks, figures, _)| figures.lte_down_mb > *lacks).count(),
            sum(|(_, figures, _)| figures.latest_s) / MIXTURES as f64,
        );
        assert!(lte <= 1.3 * lacks, "{table}");
    }
    insta::assert_snapshot!(table);
}

#[test]
fn policies_on_thirty_generated_channels_of_each_kind() {
    let no_files = |_: &str| -> Result<String, String> { Err("the scenario reads no files".to_owned()) };
    let channels = [
        ("indoors", "model = 'wifi-indoor'", "model = { name = 'lte-walking', snr_db = 12 }"),
        // Shadowed most of the time: Wi-Fi is often below the stream's rate.
        ("indoors, far away", "model = { name = 'wifi-indoor', snr_db = 3 }", "model = 'lte-walking'"),
    ];
    let mut table = String::new();
    for (name, wifi, lte) in channels {
        let scenario =
            Scenario::parse("drawn.toml", &stream(wifi, lte, ""), &no_files).expect("the scenario is valid");
        let _ = write!(table, "{name}: means of 30 seeds\n{HEADER}");
        for policy in POLICIES {
            let seeds: Vec<u64> = (1..=30).collect();
            let jobs = NonZeroUsize::new(2).expect("two is not zero");
            let one = |seed: &u64| run(&scenario.with_seed(Seed::new(*seed)), policy);
            let all = parallel::map(jobs, &seeds, &|_| {}, one);
            table.push_str(&Figures::mean(&all).row(policy));
        }
    }
    insta::assert_snapshot!(table);
}

/// The bulk transfer could use up the allowance in a second.
#[test]
fn allowance_is_exceeded_by_at_most_the_data_of_one_policy_interval() {
    let no_files = |_: &str| -> Result<String, String> { Err("the scenario reads no files".to_owned()) };
    let text = include_str!("../../../scenarios/data-allowance.toml");
    let (before, live) = text.split_once("[[traffic]]\n").expect("one application, at the end");
    let bulk = "kind = \"bulk\"\n";
    for (allowance_mb, traffic, wifi) in [
        (10.0, live, ""),
        (10.0, bulk, ""),
        (2.0, bulk, ""),
        (1e-6, bulk, ""),
        // Wi-Fi disappears, and LTE, until then a backup, carries all data until its path is
        // closed.
        (10.0, bulk, "leave_at = \"20s\"\n"),
        (1.0, bulk, "leave_at = \"20s\"\n"),
    ] {
        let text = before
            .replace("radio = \"huang2012.wifi\"", &format!("radio = \"huang2012.wifi\"\n{wifi}"))
            .replace("allowance = \"10MB\"", &format!("allowance = \"{}B\"", allowance_mb * 1e6));
        for seed in 1..=5 {
            let text = text.replace("seed = 1", &format!("seed = {seed}")) + "[[traffic]]\n" + traffic;
            let scenario = Scenario::parse("data-allowance.toml", &text, &no_files);
            let scenario = scenario.unwrap_or_else(|found| panic!("{found:?}"));
            let figures = run(&scenario.experiment, "allowance");
            // Near the cap the policy interval is 20 ms, and LTE carries 30 Mbit/s down.
            let bound = allowance_mb + 30.0 / 8.0 * Duration::from_millis(20).as_secs_f64();
            assert!(figures.lte_mb <= bound, "{} MB of {allowance_mb}: {traffic} {wifi}", figures.lte_mb);
            if allowance_mb >= 10.0 {
                assert!(figures.lte_mb > 0.8 * allowance_mb, "{} MB: {traffic} {wifi}", figures.lte_mb);
            }
        }
    }
}
