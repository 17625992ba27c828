//! Traces of link rates: units, the table of a run, and `tandem trace`.

use crate::support::Place;
use std::io::Write as _;
use std::process::Stdio;

/// Wi-Fi that weakens, in Mbit/s, and LTE in bytes per second, at the same time.
const WIFI: &str = "timestamp,throughput_mbps,rssi\n1518452042,24,-60\n1518452043,20,-70\n1518452044,4,-80\n\
                    1518452045,0,-90\n1518452046,8,-85\n";
const LTE: &str = "second,bytes_per_second\n0,1250000\n1,1125000\n2,1500000\n3,1750000\n4,1250000\n";

fn place() -> Place {
    let place = Place::new();
    place.write("wifi.csv", WIFI);
    place.write("phone.lte.csv", LTE);
    place
}

/// The figure of a run's only trace.
fn mean_of_run(place: &Place) -> f64 {
    let json = place.done(&["run", "tiny.toml", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("it prints JSON");
    json["traces"][0]["mean_mbps"].as_f64().expect("a number")
}

#[test]
fn header_gives_the_unit_of_a_trace() {
    let place = Place::new();
    for (text, mean) in [
        ("timestamp,throughput_mbps\n0,24\n1,25\n", 24.5),
        ("time;dl_kbps\n0;24000\n1;25000\n", 24.5),
        ("time\tbits_per_second\n0\t24e6\n1\t25e6\n", 24.5),
        ("second,bytes\n0,1000000\n1,2000000\n", 12.0),
    ] {
        place.write("lte.csv", text);
        assert!((mean_of_run(&place) - mean).abs() < 1e-9, "{text}");
    }
}

#[test]
fn run_prints_how_its_traces_are_read() {
    let place = place();
    place.write("lte.csv", WIFI);
    let out = place.done(&["run", "tiny.toml", "--set", "path.lte.down.trace.scale=0.5"]);
    let table = out.split("Traces\n").nth(1).expect("a table of the traces");
    insta::assert_snapshot!(table);
    assert!(place.read("tandem-out/tiny/report.html").contains("throughput_mbps in Mbit/s"));
    let json: serde_json::Value = serde_json::from_str(&place.read("tandem-out/tiny/result.json")).unwrap();
    assert_eq!(json["traces"][0]["sha256"].as_str().unwrap().len(), 64);
    let compared = place.done(&["compare", "tiny.toml", "--policies", "none", "--seeds", "1"]);
    assert!(compared.contains("csv: throughput_mbps in Mbit/s"), "{compared}");
}

#[test]
fn numbers_that_fit_two_formats_need_a_named_one() {
    let place = Place::new();
    place.write("lte.csv", "1,2532630\n2,2471310\n3,2566854\n");
    let output = place.run(&["run", "tiny.toml"]);
    assert_eq!(output.code, 3);
    insta::assert_snapshot!(output.err);
    let format = "path.lte.down.trace.format=second-bytes";
    assert!(place.done(&["run", "tiny.toml", "--set", format]).contains("second-bytes: column 2 in bytes/s"));
    assert_eq!(place.run(&["trace", "lte.csv"]).code, 3);
    assert!(place.done(&["trace", "lte.csv", "--as", "second-bytes"]).contains("20.1"));
}

#[test]
fn doubtful_mean_of_a_trace_is_a_warning() {
    let place = Place::new();
    place.write("lte.csv", "second,bytes_per_second\n0,24\n1,25\n");
    for arguments in [["run", "tiny.toml", "-q"], ["trace", "lte.csv", "-q"]] {
        let output = place.run(&arguments);
        assert_eq!(output.code, 0);
        assert!(
            output.err.contains("warning: the trace of") && output.err.contains("below 10 kbit/s"),
            "{}",
            output.err
        );
    }
}

#[test]
fn random_start_makes_seeds_differ_over_one_trace() {
    let place = Place::new();
    let ramp: String =
        (0..600).map(|i| format!("{i} {}\n", 1.0 + f64::from(i) / 100.0)).collect::<Vec<_>>().concat();
    place.write("ramp", &ramp);
    let down = "down = { trace = \"ramp\" }";
    place.write(
        "ramp.toml",
        &format!("duration = \"2s\"\n[[path]]\nname = \"a\"\nradio = \"huang2012.lte\"\n{down}\nup = {{ rate = \"5Mbps\" }}\n[[traffic]]\nkind = \"bulk\"\n"),
    );
    let starts = |seed: &str| {
        let arguments = [
            "run",
            "ramp.toml",
            "--set",
            "path.a.down.trace.start=random",
            "--format",
            "json",
            "--seed",
            seed,
        ];
        let json: serde_json::Value = serde_json::from_str(&place.done(&arguments)).unwrap();
        (
            json["traces"][0]["start_s"].as_f64().unwrap(),
            json["connections"][0]["goodput_mbps"].as_f64().unwrap(),
        )
    };
    let (a, b) = (starts("1"), starts("2"));
    assert!(a.0 != b.0 && (a.1 < b.1) == (a.0 < b.0), "a later start is faster: {a:?}, {b:?}");
    assert_eq!(a, starts("1"));
}

#[test]
fn traces_are_shown_side_by_side() {
    let place = place();
    insta::assert_snapshot!(place.done(&["trace", "wifi.csv", "phone.lte.csv", "--out", "pair"]));
    assert_eq!(place.list("pair"), ["report.html", "result.json", "series.csv"]);
    let json: serde_json::Value = serde_json::from_str(&place.read("pair/result.json")).unwrap();
    assert_eq!(json["together"]["sum"]["mean_mbps"], 22.2);
    assert_eq!(json["together"]["below_need"], serde_json::json!([0.4, 0.0]));
    assert!(place.read("pair/series.csv").starts_with("time_s,wifi.csv_mbps,phone.lte.csv_mbps,run_id\r\n"));
    assert!(place.read("pair/report.html").contains("<svg"));
    let csv = place.done(&["trace", "wifi.csv", "--format", "csv"]);
    assert!(
        csv.starts_with("file,read as,length (s),mean (Mbit/s)")
            && csv.contains("wifi.csv,csv: throughput_mbps in Mbit/s,5"),
        "{csv}"
    );
    let csv = place.done(&["trace", "wifi.csv", "phone.lte.csv", "--format", "csv"]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|header| *header == name).expect("a column");
    let of = |name: &str| rows[1..].iter().map(|row| row[column(name)]).collect::<Vec<_>>();
    assert_eq!(of("file"), ["wifi.csv", "phone.lte.csv", "sum"]);
    assert_eq!(of("length (s)"), ["5", "5", ""]);
    assert_eq!(of("together mean (Mbit/s)"), ["11.2", "11", "22.2"]);
    assert_eq!(of("together below need (% of time)"), ["40", "0", "0"]);
    assert!(
        of("together correlation")[1].starts_with("-0.") && rows.iter().all(|row| row.len() == rows[0].len())
    );
}

#[test]
fn pair_prints_paths_that_run() {
    let place = place();
    let paths = place.done(&["trace", "wifi.csv", "phone.lte.csv", "--pair", "--from", "1s"]);
    insta::assert_snapshot!(paths);
    place.write("pair.toml", &format!("duration = \"2s\"\n\n{paths}[[traffic]]\nkind = \"bulk\"\n"));
    assert!(place.done(&["run", "pair.toml"]).contains("wifi down"));
    place.write("a.down", "1\n2\n3\n");
    place.write("a.up", "5\n");
    let one = place.done(&["trace", "a.down", "a.up", "--pair"]);
    assert_eq!(one.matches("[[path]]").count(), 1, "{one}");
}

#[test]
fn traces_are_cut_scaled_and_converted() {
    let place = place();
    let arguments =
        ["trace", "wifi.csv", "--from", "1s", "--length", "3s", "--mean", "16Mbps", "--to", "seconds-mbps"];
    assert_eq!(place.done(&arguments), "seconds,mbps\n0,40\n1,8\n2,0\n");
    let before = place.list("");
    assert_eq!(place.done(&[&arguments[..], &["-o", "-"]].concat()), "seconds,mbps\n0,40\n1,8\n2,0\n");
    assert_eq!(place.list(""), before, "`-` is the standard output");
    let mean = |file: &str| {
        let json: serde_json::Value =
            serde_json::from_str(&place.done(&["trace", file, "--format", "json"])).unwrap();
        (json["files"][0]["mean_mbps"].as_f64().unwrap(), json["files"][0]["length_s"].as_f64().unwrap())
    };
    for format in ["mahimahi", "json", "second-bytes", "seconds-mbps"] {
        place.done(&["trace", "phone.lte.csv", "--to", format, "-o", "converted"]);
        let (rate, length) = mean("converted");
        assert!((rate / 11.0 - 1.0).abs() < 0.001 && length == 5.0, "{format}: {rate} Mbit/s, {length} s");
    }
    place.done(&["trace", "phone.lte.csv", "--to", "mahimahi", "-o", "lte.down"]);
    place.done(&["trace", "lte.down", "--step", "500ms", "--to", "json", "-o", "lte.json"]);
    assert_eq!(place.read("lte.json").lines().count(), 12);
    let refused = place.run(&["trace", "wifi.csv", "--to", "json", "-o", "./wifi.csv"]);
    assert_eq!((refused.code, place.read("wifi.csv").as_str()), (2, WIFI));
    let outside = place.run(&["trace", "wifi.csv", "--from", "1h"]);
    assert_eq!(outside.code, 2);
    insta::assert_snapshot!(outside.err);
}

#[test]
fn trace_reads_iperf3_from_the_standard_input() {
    let place = Place::new();
    let report =
        r#"{"intervals": [{"sum": {"start": 0, "end": 1, "bits_per_second": 2.5e7, "omitted": false}}]}"#;
    let mut child = place.command(&["trace", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(report.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && out.contains("iperf3: sum in bit/s") && out.contains("25.00"),
        "{out}"
    );
}

#[test]
fn bad_trace_is_shown_with_its_line() {
    let place = Place::new();
    place.write("twice.csv", "time,mbps\n0,1\n1,2\n0,1\n");
    let output = place.run(&["trace", "twice.csv"]);
    assert_eq!(output.code, 3);
    insta::assert_snapshot!(output.err);
}
