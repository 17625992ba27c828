//! Application delay, jitter and head-of-line blocking: tables, files, comparison and report.

use crate::support::Place;
use serde_json::Value;

/// A call over two paths that differ by 60 ms.
const CALL: &str = r#"
seed = 1
duration = "5s"

[[path]]
name = "wifi"
radio = "huang2012.wifi"
down = { rate = "4Mbps", delay = "10ms" }
up = { rate = "4Mbps", delay = "10ms" }

[[path]]
name = "lte"
radio = "huang2012.lte"
down = { rate = "4Mbps", delay = "70ms" }
up = { rate = "4Mbps", delay = "70ms" }

[transport]
protocol = "mptcp"
scheduler = "round-robin"

[[traffic]]
kind = "cbr"
rate = "2Mbps"
packet = "1kB"
"#;

fn json(place: &Place, name: &str) -> Value {
    serde_json::from_str(&place.read(&format!("tandem-out/{name}/result.json"))).expect("result.json is JSON")
}

#[test]
fn run_shows_delay_jitter_and_the_path_waited_for() {
    let place = Place::new();
    place.write("call.toml", CALL);
    let printed = place.done(&["run", "call.toml"]);
    let from = printed.find("Delay of the applications").expect("a table of delays");
    insta::assert_snapshot!(&printed[from..]);
    let connection = &json(&place, "call")["connections"][0];
    assert_eq!(connection["message"], "packet");
    for (name, longest) in [("delay", 0.2), ("jitter", 0.1), ("head_of_line", 0.07)] {
        let percentiles: Vec<f64> =
            serde_json::from_value(connection[name]["percentiles_s"].clone()).expect("a list of numbers");
        assert_eq!(percentiles.len(), 101);
        assert!(percentiles.is_sorted() && percentiles[100] <= longest, "{name}: {percentiles:?}");
        assert_eq!(connection[name]["max_s"], percentiles[100]);
    }
    let series = place.read("tandem-out/call/series.csv");
    assert!(series.lines().next().unwrap().contains(",connection1.delay_ms,"), "{series}");
    let csv = place.done(&["run", "call.toml", "--format", "csv"]);
    for row in [
        "connection.1.delay,p95_s,",
        "connection.1.jitter,mean_s,",
        "connection.1.head_of_line,waited_share,",
    ] {
        assert!(csv.contains(row), "no {row} in {csv}");
    }
}

#[test]
fn report_has_the_distributions() {
    let place = Place::new();
    place.write("call.toml", CALL);
    place.done(&["run", "call.toml"]);
    place.done(&[
        "compare",
        "call.toml",
        "--vary",
        "transport.scheduler=min-rtt,round-robin",
        "--seeds",
        "2",
    ]);
    for name in ["call", "call-compare"] {
        let page = place.read(&format!("tandem-out/{name}/report.html"));
        for title in ["Application delay", "Jitter", "Head-of-line blocking"] {
            assert!(page.contains(title), "{name}: {title}");
        }
    }
}

#[test]
fn comparison_has_percentiles_of_the_delay() {
    let place = Place::new();
    place.write("call.toml", CALL);
    let printed = place.done(&[
        "compare",
        "call.toml",
        "--vary",
        "transport.scheduler=min-rtt,round-robin",
        "--seeds",
        "2",
    ]);
    for shown in ["mean delay", "delay p50", "delay p95", "delay p99", "jitter", "head-of-line wait"] {
        assert!(printed.contains(shown), "{shown} in {printed}");
    }
    assert!(!printed.contains("jitter p99"), "{printed}");
    let result = json(&place, "call-compare");
    let mean = |case: usize, figure: &str| result["cases"][case]["figures"][figure]["mean"].as_f64().unwrap();
    // The fast path alone would do: every second packet takes the detour of 60 ms.
    assert!((mean(1, "connection1_delay_p95_ms") - mean(0, "connection1_delay_p95_ms") - 60.0).abs() < 2.0);
    assert!(mean(1, "connection1_hol_waited_percent") > 40.0);
    let percentiles = result["cases"][0]["percentiles"]["connection1_delay_s"].as_array().unwrap();
    assert_eq!(percentiles.len(), 101);
    let runs = place.read("tandem-out/call-compare/runs.csv");
    assert!(runs.lines().next().unwrap().contains(",connection1_jitter_p99_ms,"), "{runs}");
}
