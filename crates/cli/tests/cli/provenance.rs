//! Provenance of results: the member `made_by` and the columns of CSV files.

use crate::support::{Place, TINY};
use serde_json::{Value, json};

const LTE: &str = include_str!("../data/lte.csv");

/// A map of best policies.
const MAP: &str = "[[case]]\npreferred = \"wifi\"\ncostly = \"lte\"\nactivity = 1.0\nrate = \"2Mbps\"\n\
                   costly_share = 0.5\npolicy = \"wifi-first\"\n";

fn made_by(text: &str) -> Value {
    let json: Value = serde_json::from_str(text).expect("JSON");
    json["made_by"].clone()
}

/// SHA-256 of a file, by the system's own program.
fn sha256(place: &Place, name: &str) -> String {
    let output = std::process::Command::new("sha256sum").arg(place.path().join(name)).output();
    let text = String::from_utf8(output.expect("sha256sum runs").stdout).expect("it prints text");
    text.split_whitespace().next().expect("a hash").to_owned()
}

#[test]
fn result_names_all_that_made_it() {
    let place = Place::new();
    let arguments =
        ["run", "tiny.toml", "--seed", "7", "--policy", "none", "--set", "path.wifi.down.loss=0.02"];
    place.done(&arguments);
    let found = made_by(&place.read("tandem-out/tiny/result.json"));
    assert_eq!(found["tandem"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&found["command"], &found["seed"]), (&json!("run"), &json!(7)));
    assert_eq!(found["settings"], json!(["--seed 7", "--policy none", "--set path.wifi.down.loss=0.02"]));
    let scenario = json!({"file": "tiny.toml", "sha256": sha256(&place, "tiny.toml"), "text": TINY});
    assert_eq!(found["scenarios"], json!([scenario]));
    assert_eq!(found["files"], json!([{"file": "lte.csv", "sha256": sha256(&place, "lte.csv")}]));

    // The text and the settings are enough to repeat the run elsewhere.
    let other = Place::new();
    other.write("tiny.toml", found["scenarios"][0]["text"].as_str().unwrap());
    let settings = found["settings"].as_array().unwrap();
    let words = settings.iter().flat_map(|setting| setting.as_str().unwrap().split(' '));
    other.done(&["run", "tiny.toml"].into_iter().chain(words).collect::<Vec<_>>());
    let [one, two] = [&place, &other].map(|place| place.read("tandem-out/tiny/result.json"));
    assert_eq!(one, two);
}

#[test]
fn report_lists_all_that_made_it() {
    let place = Place::new();
    let facts = |report: &str| {
        let report = place.read(report);
        let section = report.split("<h2 id=\"provenance\">").nth(1).expect("a section");
        let list = section.split("<dl>").nth(1).and_then(|rest| rest.split("</dl>").next());
        list.expect("facts").replace("<dt>", "").replace("</dt><dd>", ": ").replace("</dd>", "")
    };
    // The id depends on the version.
    let shown = |folder: &str| {
        let result = place.read(&format!("{folder}/result.json"));
        let id = made_by(&result)["id"].as_str().expect("an id").to_owned();
        let facts = facts(&format!("{folder}/report.html"));
        assert!(facts.contains(&format!("Run id: {id}\n")), "{facts}");
        facts.replace(&id, "[id]").replace(env!("CARGO_PKG_VERSION"), "[version]")
    };
    place.done(&["run", "tiny.toml", "--seed", "7", "--set", "path.wifi.down.loss=0.02"]);
    insta::assert_snapshot!(shown("tandem-out/tiny"));
    place.done(&["compare", "tiny.toml", "--policies", "none,emtcp", "--seeds", "1"]);
    insta::assert_snapshot!(shown("tandem-out/tiny-compare"));
    place.done(&["trace", "lte.csv", "--out", "trace"]);
    assert!(facts("trace/report.html").contains(&sha256(&place, "lte.csv")));
}

#[test]
fn id_changes_with_every_input_and_nothing_else() {
    let place = Place::new();
    let id = |arguments: &[&str]| {
        let all = [&["run", "tiny.toml", "--format", "json"], arguments].concat();
        made_by(&place.done(&all))["id"].as_str().unwrap().to_owned()
    };
    let plain = id(&[]);
    assert!(plain.len() == 12 && plain.bytes().all(|b| b.is_ascii_hexdigit()), "{plain}");
    assert_eq!(id(&["--out", "elsewhere", "-q"]), plain);
    let mut ids = vec![plain, id(&["--seed", "6"]), id(&["--policy", "none"]), id(&["--set", "duration=3s"])];
    place.write("m.toml", MAP);
    ids.push(id(&["--policy", "best-known:map=m.toml"]));
    place.write("m.toml", &MAP.replace("wifi-first", "none"));
    ids.push(id(&["--policy", "best-known:map=m.toml"]));
    place.write("lte.csv", &LTE.replace("250000", "240000"));
    ids.push(id(&[]));
    place.write("tiny.toml", &format!("{TINY}\n"));
    ids.push(id(&[]));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn comparison_and_sweep_name_files_of_policies_and_values() {
    let place = Place::new();
    place.write("other.csv", &LTE.replace("250000", "240000"));
    place.write("m.toml", MAP);
    let files = |command: &str, out: &str| {
        let vary = "path.lte.down.trace=lte.csv,other.csv";
        let policies = "none,best-known:map=m.toml";
        let arguments = ["--vary", vary, "--policies", policies, "--seeds", "1", "--format", "json"];
        let all = [&[command, "tiny.toml", "--set", "duration=1s", "--out", out][..], &arguments].concat();
        made_by(&place.done(&all))["files"].clone()
    };
    for command in ["compare", "sweep"] {
        let file = |name: &str| json!({"file": name, "sha256": sha256(&place, name)});
        assert_eq!(
            files(command, command),
            json!([file("lte.csv"), file("other.csv"), file("m.toml")]),
            "{command}"
        );
    }
}

#[test]
fn csv_files_carry_the_provenance() {
    let place = Place::new();
    let arguments = ["run", "tiny.toml", "--seed", "7", "--format", "csv"];
    let printed = place.done(&arguments);
    let id = made_by(&place.read("tandem-out/tiny/result.json"))["id"].as_str().unwrap().to_owned();
    let (scenario, trace) = (sha256(&place, "tiny.toml"), sha256(&place, "lte.csv"));
    let version = env!("CARGO_PKG_VERSION");
    let end = format!(",{version},{scenario},--seed 7,7,lte.csv={trace},{id}");
    assert!(printed.lines().skip(1).all(|line| line.ends_with(&end)), "{printed}");
    let series = place.read("tandem-out/tiny/series.csv");
    assert!(series.lines().next().unwrap().ends_with(",run_id"));
    assert!(series.lines().skip(1).all(|line| line.ends_with(&format!(",{id}"))), "{series}");

    let compare = [
        "compare",
        "tiny.toml",
        "--vary",
        "path.lte.backup=false,true",
        "--policies",
        "none,emtcp",
        "--seeds",
        "1",
    ];
    place.done(&compare);
    let found = made_by(&place.read("tandem-out/tiny-compare/result.json"));
    assert_eq!(
        found["settings"],
        json!(["--policies none,emtcp", "--vary path.lte.backup=false,true", "--seeds 1"])
    );
    let runs = place.read("tandem-out/tiny-compare/runs.csv");
    assert!(runs.lines().skip(1).all(|line| line.ends_with(found["id"].as_str().unwrap())), "{runs}");
}

#[test]
fn analysis_of_a_capture_has_its_hash() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap", "--out", "run"]);
    let capture = place.done(&["capture", "run/capture.pcapng", "--format", "json"]);
    let file = json!({"file": "capture.pcapng", "sha256": sha256(&place, "run/capture.pcapng")});
    assert_eq!(made_by(&capture)["files"], json!([file]));
}

#[test]
fn scenario_is_read_from_the_standard_input() {
    use std::io::Write as _;
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    let mut child =
        place.command(&["run", "-"]).stdin(std::process::Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().unwrap().write_all(TINY.as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let [stdin, file] = ["stdin", "tiny"].map(|name| place.read(&format!("tandem-out/{name}/report.html")));
    // All but the name of the scenario, and the id that depends on it.
    let results = |report: &str| report.split("<h2 id=\"provenance\">").next().map(str::to_owned);
    assert_eq!(results(&stdin), results(&file));
}
