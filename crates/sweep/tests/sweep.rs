//! Sweeps: designs, batches, merging, directories.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

use bytes::Bytes;
use core::ops::{ControlFlow, Range};
use proptest::prelude::*;
use report::Value;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use tandem_sweep::{
    Axis, Control, Design, Directory, Part, PartSource, PolicyText, Request, Summary, Sweep, SweepError,
    merge, run_local,
};

const SCENARIO: &str = r#"
    duration = "300ms"
    [[path]]
    name = "wifi"
    radio = "huang2012.wifi"
    down = { rate = "2Mbps", delay = "5ms", loss = 0.01 }
    [[path]]
    name = "lte"
    radio = "huang2012.lte"
    down = { trace = "lte.csv", delay = "20ms" }
    [[traffic]]
    kind = "bulk"
"#;

const TRACE: &str = "time_s,rate_mbps\n0,2\n0.2,1\n1,3\n";

fn files(name: &str) -> Result<String, String> {
    if name.starts_with("lte") { Ok(TRACE.to_owned()) } else { Err("no such file".to_owned()) }
}

fn axis(key: &str, values: &[&str]) -> Axis {
    Axis::new(key, &texts(values)).unwrap()
}

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

fn request(axes: Vec<Axis>, design: Design, seeds: u32) -> Request {
    Request {
        name: "tiny.toml".to_owned(),
        text: SCENARIO.to_owned(),
        design,
        axes,
        policies: Vec::new(),
        seeds,
    }
}

fn grid() -> Sweep {
    let axes = vec![
        axis("path.wifi.down.rate", &["1Mbps", "2.5Mbps"]),
        axis("transport.scheduler", &["min-rtt", "round-robin"]),
    ];
    let policies = ["none", "wifi-first"].map(|text| PolicyText { text: text.to_owned(), file: None });
    Sweep::describe(Request { policies: policies.to_vec(), ..request(axes, Design::Grid, 3) }, &files)
        .unwrap()
}

fn part(sweep: &Sweep, runs: Range<u64>) -> PartSource {
    let part = sweep.run_batch(runs.clone(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(part.runs, runs);
    PartSource::Bytes(Bytes::from(part.bytes))
}

fn merged(sweep: &Sweep, parts: &[PartSource]) -> Result<Vec<u8>, SweepError> {
    let mut bytes = Vec::new();
    merge(sweep, parts, &mut bytes)?;
    Ok(bytes)
}

/// The dataset of the grid from one batch.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let sweep = grid();
    merged(&sweep, &[part(&sweep, 0..sweep.runs())]).unwrap()
});

#[test]
fn every_run_of_a_grid_has_its_own_choices() {
    let sweep = grid();
    assert_eq!(sweep.runs(), 2 * 2 * 2 * 3);
    let points: BTreeSet<String> = (0..sweep.runs())
        .map(|index| {
            let point = sweep.point(index);
            let settings: Vec<String> = point.settings.iter().map(ToString::to_string).collect();
            format!("{settings:?} {} {}", point.policy.unwrap(), point.seed.get())
        })
        .collect();
    assert_eq!(points.len(), 24);
    let [first, next] = [0, 1].map(|index| sweep.point(index));
    assert_eq!((first.settings == next.settings, next.seed.get()), (true, first.seed.get() + 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn dataset_does_not_depend_on_order_size_or_overlap_of_parts(
        cuts in proptest::collection::btree_set(1_u64..24, 0..6),
        order in any::<u64>(),
        overlap in 0_u64..4,
    ) {
        // Each part is computed from the JSON, as another machine would.
        let sweep = Sweep::from_json(&grid().spec().to_json()).unwrap();
        let ends: Vec<u64> = cuts.into_iter().chain([sweep.runs()]).collect();
        let mut start = 0_u64;
        let mut parts: Vec<PartSource> = Vec::new();
        for end in ends {
            parts.push(part(&sweep, start.saturating_sub(overlap)..end));
            start = end;
        }
        let mut rng = units::Seed::new(order).rng("order");
        for last in (1..parts.len()).rev() {
            parts.swap(last, rng.below(last as u64 + 1) as usize);
        }
        prop_assert!(merged(&sweep, &parts).unwrap() == *WHOLE);
    }
}

#[test]
fn missing_runs_are_named() {
    let sweep = grid();
    let error = merged(&sweep, &[part(&sweep, 0..4), part(&sweep, 5..24)]).unwrap_err();
    assert!(matches!(error, SweepError::Missing { index: 4 }), "{error}");
    let error = merged(&sweep, &[part(&sweep, 0..20)]).unwrap_err();
    assert!(matches!(error, SweepError::Missing { index: 20 }), "{error}");
}

#[test]
fn part_of_another_sweep_is_refused() {
    let sweep = grid();
    let other =
        Sweep::describe(request(vec![axis("duration", &["200ms", "250ms"])], Design::Grid, 1), &files)
            .unwrap();
    let error = merged(&sweep, &[part(&other, 0..2)]).unwrap_err();
    assert_eq!(error.to_string(), "a part belongs to another sweep");
}

#[test]
fn hypercube_samples_ranges_and_crosses_lists() {
    let axes = vec![
        axis("wifi.down.rate", &["1Mbps..4Mbps"]),
        axis("transport.scheduler", &["min-rtt", "round-robin"]),
        axis("path.wifi.down.loss", &["0..0.05"]),
    ];
    let sweep = Sweep::describe(request(axes, Design::Lhs { points: 10 }, 2), &files).unwrap();
    assert_eq!(sweep.runs(), 10 * 2 * 2);
    let mut parts = BTreeSet::new();
    for index in (0..sweep.runs()).step_by(4) {
        let point = sweep.point(index);
        assert_eq!(point.settings[0].key(), "path.wifi.down.rate");
        let rate = tandem_sweep::si(point.settings[0].text()).unwrap();
        assert!((1e6..=4e6).contains(&rate.number) && rate.unit == "bps");
        parts.insert(((rate.number - 1e6) / 3e5) as u64);
        assert_eq!(sweep.point(index + 2).settings[0], point.settings[0]);
        assert_eq!(sweep.point(index + 2).settings[1].text(), "round-robin");
    }
    assert_eq!(parts.len(), 10, "each tenth of the range has a point");
}

#[test]
fn every_part_of_a_narrow_range_has_a_point() {
    let loss = axis("path.wifi.down.loss", &["0.01..0.010001"]);
    let sweep = Sweep::describe(request(vec![loss], Design::Lhs { points: 50 }, 1), &files).unwrap();
    let part = |index: u64| {
        let loss: f64 = sweep.point(index).settings[0].text().parse().unwrap();
        ((loss - 0.01) / (0.010001 - 0.01) * 50.0) as u64
    };
    let parts: BTreeSet<u64> = (0..50).map(part).collect();
    assert_eq!(parts.len(), 50, "{parts:?}");
}

#[test]
fn whole_numbers_are_sampled_where_fractions_are_invalid() {
    let axes = vec![axis("path.wifi.down.queue", &["10 packets..40 packets"])];
    let sweep = Sweep::describe(request(axes, Design::Lhs { points: 6 }, 1), &files).unwrap();
    for index in 0..6 {
        let text = sweep.point(index).settings[0].text().to_owned();
        let number: u32 = text.strip_suffix(" packets").unwrap().parse().unwrap();
        assert!((10..=40).contains(&number), "{text}");
    }
}

#[test]
fn range_in_exponent_form_is_sampled_between_its_ends() {
    for range in ["0.01..5e-2", "1e-2..0.05", "1E-2..5E-2"] {
        let axes = vec![axis("path.wifi.down.loss", &[range])];
        let sweep = Sweep::describe(request(axes, Design::Lhs { points: 6 }, 1), &files).unwrap();
        for index in 0..6 {
            let text = sweep.point(index).settings[0].text().to_owned();
            let loss: f64 = text.parse().unwrap();
            assert!((0.01..=0.05).contains(&loss), "{range}: {text}");
        }
    }
}

/// The labels `± x` of the heat maps of a grid with these seeds.
fn intervals(seeds: u32, loss: &str) -> Vec<String> {
    let axes = vec![
        axis("path.wifi.down.rate", &["5Mbps", "10Mbps", "20Mbps"]),
        axis("path.wifi.down.delay", &["5ms", "10ms"]),
        axis("transport.recv_buffer", &["32KiB", "4MiB"]),
        axis("path.wifi.down.loss", &[loss]),
    ];
    let sweep = Sweep::describe(request(axes, Design::Grid, seeds), &files).unwrap();
    let bytes = Bytes::from(merged(&sweep, &[part(&sweep, 0..sweep.runs())]).unwrap());
    let summary = Summary::read(&sweep, &PartSource::Bytes(bytes)).unwrap();
    let page = summary.page().to_html();
    page.split("± ").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

#[test]
fn intervals_of_charts_are_over_the_seeds() {
    assert_eq!(intervals(1, "0.01"), [""; 0], "one seed");
    assert_eq!(intervals(3, "0"), [""; 0], "seeds without effect");
    assert!(!intervals(3, "0.01").is_empty());
}

/// First column of the table of an axis, with the number of runs, and the number of each run's value.
fn levels(axis: Axis, points: u32, number: impl Fn(&str) -> u32) -> (Vec<(String, usize)>, Vec<u32>) {
    let key = axis.key.clone();
    let sweep = Sweep::describe(request(vec![axis], Design::Lhs { points }, 1), &files).unwrap();
    let bytes = Bytes::from(merged(&sweep, &[part(&sweep, 0..sweep.runs())]).unwrap());
    let summary = Summary::read(&sweep, &PartSource::Bytes(bytes)).unwrap();
    let tables = summary.tables();
    let table = tables.iter().find(|table| table.title.starts_with(&format!("Means by {key}"))).unwrap();
    let rows = table.rows.iter().map(|row| match (&row.cells[0].value, &row.cells[1].value) {
        (Value::Text(name), Value::Number { value, .. }) => (name.clone(), *value as usize),
        other => panic!("a name and a number, not {other:?}"),
    });
    let values = (0..sweep.runs()).map(|index| number(sweep.point(index).settings[0].text()));
    (rows.collect(), values.collect())
}

#[test]
fn few_whole_numbers_are_a_level_each() {
    let window = axis("transport.initial_window", &["1..4"]);
    let (levels, values) = levels(window, 16, |text| text.parse().unwrap());
    let expected: Vec<(String, usize)> = (1..=4)
        .map(|number| (number.to_string(), values.iter().filter(|value| **value == number).count()))
        .collect();
    assert_eq!(levels, expected);
}

#[test]
fn levels_of_many_whole_numbers_hold_the_runs_between_their_ends() {
    let queue = axis("path.wifi.down.queue", &["10 packets..40 packets"]);
    let (levels, values) = levels(queue, 16, |text| text.strip_suffix(" packets").unwrap().parse().unwrap());
    let mut next = 10;
    for (name, runs) in &levels {
        let (low, high) = name.split_once('–').unwrap();
        let (low, high): (u32, u32) = (low.parse().unwrap(), high.parse().unwrap());
        assert_eq!(low, next, "{levels:?}");
        assert_eq!(values.iter().filter(|value| (low..=high).contains(*value)).count(), *runs, "{name}");
        next = high + 1;
    }
    assert_eq!((levels.len(), next), (8, 41));
}

#[test]
fn impossible_sweeps_are_explained() {
    let lhs = Design::Lhs { points: 5 };
    let rate = || axis("path.wifi.down.rate", &["1Mbps", "2Mbps"]);
    for (axes, design, message) in [
        (
            vec![axis("path.wifi.down.rate", &["1Mbps..2Mbps"])],
            Design::Grid,
            "is a range, which a grid has no points of",
        ),
        (
            vec![axis("transport.scheduler", &["min-rtt"])],
            lhs,
            "needs a range of numbers: `transport.scheduler=min-rtt` is not one",
        ),
        (vec![rate(), rate()], Design::Grid, "varies twice"),
        (vec![rate(), axis("path.1.down.rate", &["3Mbps", "4Mbps"])], Design::Grid, "varies before it"),
        (vec![axis("seed", &["1", "2"])], Design::Grid, "`seed` cannot vary"),
        (vec![axis("path.wifi.down.speed", &["1Mbps"])], Design::Grid, "unknown key `speed`"),
        (vec![axis("path.wifi.down.rate", &["1Mbps", "fast"])], Design::Grid, "fast"),
        (vec![axis("path.wifi.down.trace", &["none.csv"])], Design::Grid, "no such file"),
    ] {
        let error = Sweep::describe(request(axes, design, 1), &files).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(!error.hint().is_empty() || message == "no such file", "{error}");
    }
    let policies = vec![PolicyText { text: "none".to_owned(), file: None }];
    let policy = axis("device.policy", &["none", "wifi-first"]);
    let beside = Request { policies, ..request(vec![policy], Design::Grid, 1) };
    let error = Sweep::describe(beside, &files).unwrap_err();
    assert!(error.to_string().contains("`device.policy` cannot vary beside other policies"), "{error}");
    for (values, message) in [
        (&["5Mbps..1Mbps"][..], "the range is empty"),
        (&["1Mbps..1Mbps"], "the range is empty"),
        (&["slow..fast"], "`slow` is not a number"),
        (&["1kbps..1Mbps"], "its ends have the units `kbps` and `Mbps`"),
        (&["1Mbps", "1Mbps"], "has the value `1Mbps` twice"),
        (&["1..2", "5"], "beside other values"),
        (&[], "has no values"),
    ] {
        let error = Axis::new("path.wifi.down.rate", &texts(values)).unwrap_err();
        assert!(error.to_string().contains(message) && !error.hint().is_empty(), "{error}");
    }
}

#[test]
fn settings_that_do_not_fit_together_fail_in_their_rows_alone() {
    // Each value is valid with the first of the other key; a stop before the start is not.
    let axes = vec![axis("traffic.1.start", &["0s", "200ms"]), axis("traffic.1.stop", &["300ms", "100ms"])];
    let sweep = Sweep::describe(request(axes, Design::Grid, 2), &files).unwrap();
    let bytes = merged(&sweep, &[part(&sweep, 0..8)]).unwrap();
    let summary = Summary::read(&sweep, &PartSource::Bytes(Bytes::from(bytes))).unwrap();
    assert_eq!(summary.failed(), 2);
    let table = summary.tables()[0].to_text(report::TextStyle::PLAIN);
    assert!(table.contains("2 runs failed and have no figures"), "{table}");
}

/// Stations whose number and rate are valid alone, but not together at their highest.
const CROWDED_CELL: &str = r#"
    duration = "50ms"
    [[cell]]
    name = "home"
    kind = "wifi"
    rate = "20Mbps"
    others = [{ count = 1, rate = "1Mbps", packet = "1500B" }]
    [[path]]
    name = "wifi"
    radio = "huang2012.wifi"
    down = { cell = "home", delay = "5ms" }
    up = { cell = "home", delay = "5ms" }
    [[traffic]]
    kind = "bulk"
"#;

#[test]
fn sweep_whose_first_run_fails_has_a_summary() {
    let axes = vec![
        axis("cell.home.others.1.count", &["1..2000"]),
        axis("cell.home.others.1.rate", &["1Mbps..50Mbps"]),
    ];
    let with_seed = |seed: u64| {
        let text = format!("seed = {seed}\n{CROWDED_CELL}");
        Request { text, ..request(axes.clone(), Design::Lhs { points: 4 }, 1) }
    };
    let sweeps = (1..100).map(|seed| Sweep::describe(with_seed(seed), &files).unwrap());
    let fails_first = |sweep: &Sweep| sweep.scenario(&sweep.point(0).settings).is_err();
    let sweep = { sweeps }.find(fails_first).unwrap();
    let bytes = Bytes::from(merged(&sweep, &[part(&sweep, 0..4)]).unwrap());
    let summary = Summary::read(&sweep, &PartSource::Bytes(bytes)).unwrap();
    assert!(summary.failed() >= 1);
}

#[test]
fn summary_has_the_figures_of_every_value() {
    let traffic = axis("traffic", &["[{ kind = \"bulk\" }]", "[{ kind = \"file\", size = \"10kB\" }]"]);
    let sweep = Sweep::describe(request(vec![traffic], Design::Grid, 1), &files).unwrap();
    let bytes = Bytes::from(merged(&sweep, &[part(&sweep, 0..2)]).unwrap());
    let result = Summary::read(&sweep, &PartSource::Bytes(bytes)).unwrap().to_json();
    assert_eq!(result["figures"]["connection1_completion_s"]["runs"], 1, "{result:#}");
}

#[test]
fn varied_key_has_the_column_of_a_quantity_of_its_name() {
    let radio = axis("path.wifi.radio", &["huang2012.wifi", "aro.wifi"]);
    let sweep = Sweep::describe(request(vec![radio], Design::Grid, 1), &files).unwrap();
    let schema = sweep.schema();
    let names: BTreeSet<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names.len(), schema.fields().len(), "no two columns have one name");
    assert!(names.contains("path.wifi.radio") && names.contains("path.lte.radio"), "{names:?}");
}

#[test]
fn key_with_very_many_values_has_no_chart() {
    let has_charts = |count: u32| {
        let delays: Vec<String> = (0..count).map(|us| format!("{us}us")).collect();
        let delay = Axis::new("path.wifi.down.delay", &delays).unwrap();
        let axes = vec![axis("duration", &["1ms", "2ms"]), delay];
        let sweep = Sweep::describe(request(axes, Design::Grid, 1), &files).unwrap();
        let bytes = Bytes::from(merged(&sweep, &[part(&sweep, 0..sweep.runs())]).unwrap());
        let page = Summary::read(&sweep, &PartSource::Bytes(bytes)).unwrap().page();
        ["Two keys", "One key"].map(|title| page.sections.iter().any(|section| section.heading == title))
    };
    assert_eq!(has_charts(400), [true, true]);
    assert_eq!(has_charts(401), [false, false]);
}

#[test]
fn other_version_of_the_program_is_refused() {
    let mut spec = grid().spec().clone();
    spec.tandem = "0.0.1".to_owned();
    let error = Sweep::from_json(&spec.to_json()).unwrap_err();
    assert!(error.to_string().contains("begun by tandem 0.0.1"), "{error}");
    assert!(Sweep::from_json("{}").is_err() && Sweep::from_json("[").is_err());
}

#[test]
fn sweep_of_other_sources_is_not_gone_on_with() {
    let sweep = grid();
    let version = sweep.spec().tandem.clone();
    let (number, sources) = version.split_once('+').expect("tests are built in the workspace");
    assert!(sources.len() == 12 && sources.bytes().all(|byte| byte.is_ascii_hexdigit()), "{version}");
    let folder = tempfile::tempdir().unwrap();
    drop(Directory::open(folder.path(), &sweep).unwrap());
    let file = folder.path().join("sweep.json");
    let description = std::fs::read_to_string(&file).unwrap();
    let other = format!("{number}+000000000000");
    std::fs::write(&file, description.replace(&version, &other)).unwrap();
    let error = Directory::open(folder.path(), &sweep).unwrap_err();
    assert!(error.to_string().ends_with("different version or sources of tandem"), "{error}");
    let hint = error.hint();
    assert!(hint.contains(&other) && hint.contains(&version), "{hint}");
}

fn run(sweep: &Sweep, directory: &Directory, jobs: usize, stop_after: u64) -> bool {
    let stop = AtomicBool::new(false);
    let progress = |done| stop.store(done >= stop_after, Ordering::Relaxed);
    let control = Control { progress: &progress, stop: &stop };
    run_local(sweep, directory, 0..sweep.runs(), NonZeroUsize::new(jobs).unwrap(), control).unwrap()
}

#[test]
fn stopped_sweep_goes_on_and_gives_the_same_bytes() {
    let sweep = grid();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep");
    let mut finished = 0;
    for stop_after in [3, 5] {
        let directory = Directory::open(&path, &sweep).unwrap();
        assert!(!run(&sweep, &directory, 2, stop_after));
        let left: u64 =
            directory.unfinished(0..sweep.runs()).unwrap().iter().map(|runs| runs.end - runs.start).sum();
        assert!(sweep.runs() - left >= finished + stop_after, "finished runs are kept");
        finished = sweep.runs() - left;
    }
    let directory = Directory::open(&path, &sweep).unwrap();
    assert!(run(&sweep, &directory, 1, u64::MAX));
    directory.finish(&sweep).unwrap();
    assert!(std::fs::read(directory.dataset()).unwrap() == *WHOLE);
    assert!(directory.unfinished(0..sweep.runs()).unwrap().is_empty());
}

#[test]
fn shards_share_a_directory_and_cover_every_run_once() {
    let sweep = grid();
    let shards: Vec<Range<u64>> = (1..=5).map(|number| sweep.shard(number, 5)).collect();
    assert_eq!(shards, [0..4, 4..9, 9..14, 14..19, 19..24]);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let control = Control { progress: &|_| {}, stop: &stop };
    for shard in [3, 0, 4, 1, 2] {
        let directory = Directory::open_for_shard(folder.path(), &sweep).unwrap();
        let beside = Directory::open_for_shard(folder.path(), &sweep).unwrap();
        assert!(Directory::open(folder.path(), &sweep).is_err(), "shards are under way");
        assert!(run_local(&sweep, &directory, shards[shard].clone(), NonZeroUsize::MIN, control).unwrap());
        assert!(beside.unfinished(shards[shard].clone()).unwrap().is_empty());
    }
    let directory = Directory::open(folder.path(), &sweep).unwrap();
    directory.finish(&sweep).unwrap();
    assert!(std::fs::read(directory.dataset()).unwrap() == *WHOLE);
}

#[test]
fn part_without_rows_is_refused() {
    let sweep = grid();
    let folder = tempfile::tempdir().unwrap();
    let directory = Directory::open(folder.path(), &sweep).unwrap();
    let error = directory.write_part(&Part { runs: 0..2, bytes: Vec::new() }).unwrap_err();
    assert!(error.to_string().contains("without rows for the runs 0..2"), "{error}");
    assert_eq!(directory.unfinished(0..sweep.runs()).unwrap()[0], 0..sweep.runs());
}

#[test]
fn directory_of_others_is_refused() {
    let sweep = grid();
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &std::path::Path| Directory::open(path, &sweep).unwrap_err().to_string();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    assert!(refused(folder.path()).contains("holds `notes.txt` but no sweep.json"));
    assert!(refused(&folder.path().join("notes.txt")).contains("is a file, not a directory"));
    let path = folder.path().join("sweep");
    let open = Directory::open(&path, &sweep).unwrap();
    assert!(refused(&path).contains("another process runs the sweep"));
    drop(open);
    let other =
        Sweep::describe(request(vec![axis("duration", &["200ms", "250ms"])], Design::Grid, 1), &files)
            .unwrap();
    let error = Directory::open(&path, &other).unwrap_err();
    assert!(error.to_string().contains("another sweep: different varied keys or values"), "{error}");
}

#[test]
fn sweep_of_a_scenario_of_another_name_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| {
        let request = Request { name: name.to_owned(), ..request(Vec::new(), Design::Grid, 1) };
        Sweep::describe(request, &files).unwrap()
    };
    drop(Directory::open(folder.path(), &named("tiny.toml")).unwrap());
    let error = Directory::open(folder.path(), &named("other.toml")).unwrap_err();
    assert!(error.to_string().ends_with("another sweep: different name of the scenario's file"), "{error}");
}

#[test]
fn problem_of_a_varied_file_has_the_name_of_the_scenario() {
    let axes = vec![axis("path.lte.down.trace", &["lte.csv", "absent.csv"])];
    let error = Sweep::describe(request(axes, Design::Grid, 1), &files).unwrap_err();
    let SweepError::Scenario { name, settings, .. } = error else { panic!("{error}") };
    assert_eq!((name.as_str(), settings.len()), ("tiny.toml", 1));
}

#[test]
fn one_of_two_sweeps_that_begin_at_once_gets_the_directory() {
    let sweeps =
        [1, 2].map(|seeds| Sweep::describe(request(Vec::new(), Design::Grid, seeds), &files).unwrap());
    for open in [Directory::open, Directory::open_for_shard] {
        for _ in 0..100 {
            let folder = tempfile::tempdir().unwrap();
            let start = std::sync::Barrier::new(2);
            let begin = &|sweep| {
                start.wait();
                open(folder.path(), sweep).is_ok()
            };
            let opened: Vec<bool> = std::thread::scope(|scope| {
                let threads: Vec<_> = sweeps.iter().map(|sweep| scope.spawn(move || begin(sweep))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(opened.iter().filter(|&&is_open| is_open).count(), 1, "{opened:?}");
        }
    }
}
