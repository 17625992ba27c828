//! `tandem sweep`: the dataset, kills, bad input.

use crate::support::{Output, Place, output_of, tandem_path};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

const GRID: [&str; 9] = [
    "sweep",
    "tiny.toml",
    "--vary",
    "wifi.down.rate=1Mbps,2Mbps,4Mbps",
    "--vary",
    "transport.scheduler=min-rtt,round-robin",
    "--policies",
    "none,wifi-first",
    "--seeds",
];

fn sweep<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&GRID[..], more].concat()
}

/// The finished runs of a part by its name, with the part's inode and time.
fn parts(place: &Place, folder: &str) -> BTreeMap<String, (u64, i64)> {
    let path = place.path().join(folder).join("parts");
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), (meta.ino(), meta.mtime_nsec())))
        })
        .collect()
}

fn runs_of(parts: &BTreeMap<String, (u64, i64)>) -> Vec<u64> {
    let range = |name: &String| {
        let (first, last) = name.trim_end_matches(".parquet").split_once('-').expect("a range");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        number(first)..=number(last)
    };
    parts.keys().flat_map(range).collect()
}

/// Starts the program, kills it once it has `count` parts, and returns the parts.
fn killed(place: &Place, arguments: &[&str], folder: &str, count: usize) -> BTreeMap<String, (u64, i64)> {
    let mut child = place.command(arguments).spawn().expect("the program starts");
    let begun = Instant::now();
    while parts(place, folder).len() < count {
        assert!(child.try_wait().expect("it is a child").is_none(), "it ended too early");
        assert!(begun.elapsed() < Duration::from_secs(120), "it is too slow");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    parts(place, folder)
}

#[test]
fn sweep_killed_twice_goes_on_and_gives_the_same_bytes() {
    let place = Place::new();
    let whole = place.run(&sweep(&["8", "--out", "whole", "--jobs", "1"]));
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert_eq!(place.list("whole"), ["report.html", "result.json", "sweep.json", "sweep.parquet"]);

    let arguments = sweep(&["8", "--out", "killed", "--jobs", "2"]);
    let first = killed(&place, &arguments, "killed", 3);
    let second = killed(&place, &arguments, "killed", first.len() + 2);
    assert!(
        first.iter().all(|(name, file)| second.get(name) == Some(file)),
        "finished parts are not written again"
    );
    let mut runs = runs_of(&second);
    let finished = runs.len();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), finished, "no run is in two parts");
    assert!(!place.list("killed").contains(&"sweep.parquet".to_owned()));

    let output = place.run(&arguments);
    assert_eq!(output.code, 0, "{}", output.err);
    let note = format!("{finished} of 96 runs are finished; {} are left\n", 96 - finished);
    assert!(output.err.starts_with(&note), "{}", output.err);
    assert_eq!(output.out, whole.out);
    for name in ["sweep.parquet", "sweep.json", "result.json", "report.html"] {
        let bytes = |folder: &str| fs::read(place.path().join(folder).join(name)).unwrap();
        assert!(bytes("killed") == bytes("whole"), "{name}");
    }
    assert_eq!(place.list("killed"), place.list("whole"));

    let again = place.run(&arguments);
    assert!(again.err.starts_with("96 of 96 runs are finished; 0 are left\n"), "{}", again.err);
    assert_eq!(again.out, whole.out);
}

#[test]
fn interrupted_sweep_keeps_finished_runs() {
    let place = Place::new();
    let arguments = sweep(&["40", "--out", "s", "--jobs", "2"]);
    let child = place.command(&arguments).spawn().expect("the program starts");
    while parts(&place, "s").len() < 2 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8(output.stderr).unwrap();
    let finished = runs_of(&parts(&place, "s")).len();
    assert_eq!(output.status.code(), Some(130), "{err}");
    let note =
        format!("interrupted after {finished} of 480 runs; the same command goes on with the others\n");
    assert_eq!(err, note);
}

#[test]
fn tables_of_a_sweep() {
    let place = Place::new();
    let output = place.run(&sweep(&["2", "--out", "s"]));
    assert_eq!(output.err, "\ndataset: s/sweep.parquet\nreport: s/report.html\n");
    insta::assert_snapshot!(output.out);
    let json = place.done(&sweep(&["2", "--out", "s", "--format", "json"]));
    assert_eq!(json, place.read("s/result.json"));
    let result: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&result["kind"], &result["runs"], &result["failed"]),
        (&"sweep".into(), &24.into(), &0.into())
    );
    let columns: Vec<&str> = result["columns"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let first = [
        "index",
        "path.wifi.down.rate_bps",
        "path.wifi.down.rate_text",
        "transport.scheduler",
        "policy",
        "seed",
        "error",
        "goodput_mbps",
    ];
    assert_eq!(columns[..8], first);
    let csv = place.done(&sweep(&["2", "--out", "s", "--format", "csv"]));
    assert!(csv.starts_with("figure,unit,runs,mean,min,median,max,tandem,"), "{csv}");
    let page = place.read("s/report.html");
    assert!(page.contains("Goodput: wifi.down.rate by transport.scheduler"), "a heat map");
    assert!(page.contains("Goodput by wifi.down.rate"), "lines");
}

#[test]
fn a_run_of_a_sweep_equals_tandem_run() {
    let place = Place::new();
    let arguments = ["sweep", "tiny.toml", "--vary", "wifi.down.rate=2Mbps", "--seeds", "1", "--out", "s"];
    let result: Value =
        serde_json::from_str(&place.done(&[&arguments[..], &["--format", "json"]].concat())).unwrap();
    let run = ["run", "tiny.toml", "--set", "wifi.down.rate=2Mbps", "--format", "json"];
    let run: Value = serde_json::from_str(&place.done(&run)).unwrap();
    assert_eq!(result["figures"]["energy_j"]["mean"], run["device"]["energy_j"]);
}

#[test]
fn bad_input_of_a_sweep_is_explained() {
    let place = Place::new();
    place.write("other/notes.txt", "mine");
    place.done(&["sweep", "tiny.toml", "--vary", "wifi.down.rate=2Mbps", "--seeds", "1", "--out", "first"]);
    let mut told = String::new();
    for arguments in [
        &["--vary", "wifi.down.speed=1Mbps"][..],
        &["--vary", "wifi.down.rate=1Mbps,2Mbit"],
        &["--vary", "wifi.down.rate=9Mbps..1Mbps", "--design", "lhs", "--points", "5"],
        &["--vary", "transport.scheduler=min-rtt..ecf", "--design", "lhs", "--points", "5"],
        &["--vary", "transport.scheduler=min-rtt", "--design", "lhs", "--points", "5"],
        &["--vary", "wifi.down.rate=1Mbps..9Mbps"],
        &["--vary", "wifi.down.rate=1Mbps", "--out", "other"],
        &["--vary", "wifi.down.rate=1Mbps", "--out", "first"],
        &["--vary", "wifi.down.rate=1Mbps", "--out", "tiny.toml"],
    ] {
        let Output { code, out, err } =
            place.run(&[&["sweep", "tiny.toml", "--seeds", "1"][..], arguments].concat());
        assert_eq!((code, out.as_str()), (3, ""), "{arguments:?}: {err}");
        assert!(err.contains("hint"), "{arguments:?}: {err}");
        writeln!(told, "{}\n{err}", arguments.join(" ")).unwrap();
    }
    insta::assert_snapshot!(told);
    assert_eq!(place.read("other/notes.txt"), "mine");
    for arguments in [&["--design", "lhs"][..], &["--points", "5"]] {
        let output = place.run(&[&["sweep", "tiny.toml"][..], arguments].concat());
        assert_eq!(output.code, 2, "{}", output.err);
    }
    assert_eq!(place.list("tandem-out"), [] as [&str; 0]);
}

#[test]
fn dataset_that_cannot_be_written_is_reported_and_the_sweep_goes_on_later() {
    let place = Place::new();
    // The limit of a file's size stands for a full disk: a write fails in the middle.
    let program = tandem_path().display();
    let script = format!(
        "trap '' XFSZ; ulimit -f 40; exec {program} {} 2 --out s",
        GRID.map(|word| format!("'{word}'")).join(" ")
    );
    let output = output_of(Command::new("sh").args(["-c", &script]).current_dir(place.path()));
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains("cannot write s/"), "{}", output.err);
    assert!(output.err.contains("finished runs are kept"), "{}", output.err);
    assert!(place.list("s/parts").iter().chain(&place.list("s")).all(|name| !name.starts_with('.')));
    place.done(&sweep(&["2", "--out", "s"]));
    place.done(&sweep(&["2", "--out", "whole"]));
    let bytes = |folder: &str| fs::read(place.path().join(folder).join("sweep.parquet")).unwrap();
    assert!(bytes("s") == bytes("whole"));
}
