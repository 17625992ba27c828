//! Output and files of `tandem run`.

use crate::support::{Place, TINY, repository};
use serde_json::Value;
use std::fs;

#[test]
fn tables_of_a_run() {
    let place = Place::new();
    let output = place.run(&["run", "tiny.toml"]);
    assert_eq!(output.err, "\nreport: tandem-out/tiny/report.html\n");
    insta::assert_snapshot!(output.out);
    assert_eq!(place.list("tandem-out/tiny"), ["report.html", "result.json", "series.csv"]);
}

#[test]
fn result_as_json() {
    let place = Place::new();
    let printed = place.done(&["run", "tiny.toml", "--format", "json"]);
    assert_eq!(printed, place.read("tandem-out/tiny/result.json"), "printed and written result are equal");
    let json: Value = serde_json::from_str(&printed).unwrap();
    insta::assert_snapshot!(shape(&json, ""));
}

/// Keys and types of a JSON document in order; of a list only the first element.
fn shape(value: &Value, name: &str) -> String {
    match value {
        Value::Object(object) => {
            object.iter().map(|(key, value)| shape(value, &format!("{name}.{key}"))).collect()
        }
        Value::Array(list) => match list.first() {
            Some(first) => shape(first, &format!("{name}[]")),
            None => format!("{name}[]: empty\n"),
        },
        Value::String(_) => format!("{name}: text\n"),
        Value::Number(_) => format!("{name}: number\n"),
        Value::Bool(_) => format!("{name}: true or false\n"),
        Value::Null => format!("{name}: null\n"),
    }
}

#[test]
fn csv_has_a_row_for_each_figure() {
    let place = Place::new();
    let printed = place.done(&["run", "tiny.toml", "--format", "csv"]);
    let mut lines = printed.lines();
    let header = "owner,quantity,value,tandem,scenario_sha256,settings,seed,files,run_id";
    assert_eq!(lines.next(), Some(header));
    assert!(lines.clone().all(|line| line.split(',').count() == 9), "{printed}");
    let json: Value = serde_json::from_str(&place.read("tandem-out/tiny/result.json")).unwrap();
    let energy = format!("device,energy_j,{},", json["device"]["energy_j"]);
    assert!(lines.any(|line| line.starts_with(&energy)), "{energy}");
}

#[test]
fn series_has_a_row_for_each_sample() {
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    let series = place.read("tandem-out/tiny/series.csv");
    let rows: Vec<Vec<&str>> = series.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][0], "time_s");
    assert!(rows[0].contains(&"lte.srtt_ms") && rows[0].contains(&"connection2.goodput_mbps"));
    let times: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(times, ["0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4"]);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
}

#[test]
fn report_is_self_contained_and_names_sources() {
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    let page = place.read("tandem-out/tiny/report.html");
    for text in
        ["A tiny scenario", "emtcp:mp-prio", "MobiSys 2012", "fitted", "assumed", "Energy by component"]
    {
        assert!(page.contains(text), "{text}");
    }
    for word in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(word), "the page loads something: {word}");
    }
    assert!(!page.contains(&place.path().display().to_string()), "a path of this machine");
}

#[test]
fn files_depend_on_the_seed_only() {
    let (one, two) = (Place::new(), Place::new());
    let arguments = ["run", "tiny.toml", "--pcap", "--seed", "7"];
    assert_eq!(one.run(&arguments), two.run(&arguments));
    let files = one.list("tandem-out/tiny");
    assert_eq!(files, ["capture.pcapng", "report.html", "result.json", "series.csv"]);
    let read = |place: &Place, name: &str| fs::read(place.path().join("tandem-out/tiny").join(name)).unwrap();
    for name in &files {
        assert!(read(&one, name) == read(&two, name), "{name}");
    }
    two.done(&["run", "tiny.toml", "--pcap", "--seed", "8"]);
    for name in &files {
        assert!(read(&one, name) != read(&two, name), "{name}");
    }
}

#[test]
fn capture_key_of_a_scenario_writes_a_capture() {
    let place = Place::new();
    place.write("captured.toml", &TINY.replacen("seed = 5", "seed = 5\ncapture = true", 1));
    place.done(&["run", "captured.toml"]);
    place.done(&["run", "tiny.toml", "--pcap"]);
    let capture = |name: &str| {
        fs::read(place.path().join("tandem-out").join(name).join("capture.pcapng")).expect("a capture")
    };
    assert!(capture("captured") == capture("tiny"));
    let compared = place.run(&["compare", "captured.toml", "--policies", "none", "--seeds", "1"]);
    assert_eq!(
        (compared.code, place.list("tandem-out/captured-compare").contains(&"capture.pcapng".into())),
        (0, false)
    );
}

#[test]
fn command_line_overrides_seed_and_policy() {
    let place = Place::new();
    let result = |arguments: &[&str]| -> Value {
        let all = [&["run", "tiny.toml", "--format", "json"], arguments].concat();
        let mut result: Value = serde_json::from_str(&place.done(&all)).unwrap();
        result.as_object_mut().unwrap().remove("made_by").expect("the provenance");
        result
    };
    let own = result(&[]);
    assert_eq!((&own["seed"], &own["policy"]), (&5.into(), &"emtcp:mp-prio".into()));
    assert_eq!(result(&["--seed", "5", "--policy", "emtcp:mp-prio"]), own);
    let other = result(&["--seed", "6", "--policy", "wifi-only"]);
    assert_eq!((&other["seed"], &other["policy"]), (&6.into(), &"wifi-only".into()));
    assert_eq!(other["paths"][1]["payload_down_bytes"], 0);
}

#[test]
fn quiet_prints_only_the_result() {
    let place = Place::new();
    let output = place.run(&["run", "-q", "tiny.toml"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    assert!(output.out.starts_with("Device\n"));
}

#[test]
fn run_without_samples_has_no_timelines() {
    let place = Place::new();
    place.write("blind.toml", &TINY.replace("sample = \"500ms\"", "sample = \"0s\""));
    let output = place.run(&["run", "blind.toml"]);
    if output.code == 0 {
        assert_eq!(place.read("tandem-out/blind/series.csv"), "time_s,run_id\n");
        assert!(place.read("tandem-out/blind/report.html").contains("No series was taken"));
    } else {
        assert_eq!(output.code, 3, "{}", output.err);
    }
}

#[test]
fn memory_pages_do_not_change_the_result() {
    let place = Place::new();
    let result = |tunables: Option<&str>| {
        let mut command = place.command(&["run", "tiny.toml", "--format", "json"]);
        match tunables {
            Some(value) => command.env("GLIBC_TUNABLES", value),
            None => command.env_remove("GLIBC_TUNABLES"),
        };
        let output = crate::support::output_of(&mut command);
        assert_eq!(output.code, 0, "{}", output.err);
        output.out
    };
    let own = result(None);
    assert_eq!(result(Some("")), own);
    assert_eq!(result(Some("glibc.malloc.hugetlb=1")), own);
}

#[test]
fn columns_and_figures_of_a_video_are_in_the_documentation() {
    let place = Place::new();
    let video = "[[traffic]]\nkind = \"video\"\nmanifest = { bitrates = [\"1Mbps\", \"3Mbps\"], duration = \"4s\" }\n";
    place.write("video.toml", &(TINY.split("[[traffic]]").next().expect("the paths").to_owned() + video));
    place.done(&["run", "video.toml"]);
    let compare = ["compare", "video.toml", "--policies", "none", "--seeds", "1", "--format", "json"];
    let compared: Value = serde_json::from_str(&place.done(&compare)).unwrap();
    let page = fs::read_to_string(repository().join("docs/reference/output.md")).expect("the page");
    let series = place.read("tandem-out/video/series.csv");
    let columns =
        series.lines().next().expect("a header").split(',').filter(|name| name.contains("connection1."));
    let figures = compared["cases"][0]["figures"].as_object().expect("an object").keys();
    let figures = figures
        .filter(|name| name.starts_with("connection1_") && !name.contains("_ms") && !name.contains("hol_"));
    let names: Vec<String> = columns.chain(figures.map(String::as_str)).map(str::to_owned).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let documented = name.replace("connection1", "connectionN");
        assert!(page.contains(&format!("`{documented}`")), "{documented} is not documented");
    }
}
