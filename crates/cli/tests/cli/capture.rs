//! `tandem capture`, and the captures of `tandem run`, checked against tools of Wireshark.

use crate::support::Place;
use std::process::Command;

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_capture_decodes_as_mptcp() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap"]);
    let file = place.path().join("tandem-out/tiny/capture.pcapng");
    let read = |filter: &str, fields: &[&str]| -> String {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&file).args(["-Y", filter, "-T", "fields"]);
        for field in fields {
            command.args(["-e", field]);
        }
        let output = command.output().expect("tshark is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let kinds = read("tcp.options.mptcp.subtype", &["tcp.options.mptcp.subtype"]);
    let has = |kind: &str| kinds.lines().any(|line| line.split(',').any(|word| word == kind));
    for (kind, name) in [("0", "MP_CAPABLE"), ("1", "MP_JOIN"), ("2", "DSS"), ("5", "MP_PRIO")] {
        assert!(has(kind), "{name} is not in the capture");
    }
    let interfaces = read("frame", &["frame.interface_name"]);
    assert!(interfaces.contains("wifi") && interfaces.contains("lte"), "an interface for each path");
    let malformed = read("_ws.malformed", &["frame.number"]);
    assert_eq!(malformed, "", "malformed frames");
}

/// A run with a capture, and its result.
fn captured() -> (Place, serde_json::Value) {
    let place = Place::new();
    let json = place.done(&["run", "tiny.toml", "--pcap", "--out", "run", "--format", "json"]);
    (place, serde_json::from_str(&json).expect("it is JSON"))
}

#[test]
fn tables_of_a_capture() {
    let (place, _) = captured();
    insta::assert_snapshot!(place.done(&["capture", "run/capture.pcapng"]));
    assert_eq!(place.list(""), ["lte.csv", "run", "tiny.toml"], "nothing is written without --out");
}

#[test]
fn capture_agrees_with_the_result_of_the_run() {
    let (place, run) = captured();
    let output = place.run(&["capture", "run/capture.pcapng", "--format", "json", "--out", "who"]);
    assert_eq!((output.code, output.err.as_str()), (0, "\nreport: who/report.html\n"));
    assert_eq!(place.list("who"), ["report.html", "result.json", "series.csv"]);
    assert_eq!(place.read("who/result.json"), output.out);
    let told: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    for path in run["paths"].as_array().unwrap() {
        let sum = |direction: &str| -> u64 {
            let subflows = told["connections"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|one| one["subflows"].as_array().unwrap());
            let ours = subflows.filter(|subflow| subflow["interface"] == path["name"]);
            ours.map(|subflow| subflow[direction]["payload_bytes"].as_u64().unwrap()).sum()
        };
        assert_eq!(sum("down"), path["payload_down_bytes"].as_u64().unwrap(), "{path}");
        assert_eq!(sum("up"), path["payload_up_bytes"].as_u64().unwrap(), "{path}");
    }
    let series = place.read("who/series.csv");
    let columns: Vec<&str> = series.lines().next().unwrap().split(',').collect();
    let down = columns.iter().position(|name| *name == "connection1.wifi.down.payload_bytes").unwrap();
    let sum: u64 =
        series.lines().skip(1).map(|row| row.split(',').nth(down).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, told["connections"][0]["subflows"][0]["down"]["payload_bytes"].as_u64().unwrap());
    // The CSV has a row for each direction of each subflow.
    let csv = place.done(&["capture", "run/capture.pcapng", "--format", "csv"]);
    let subflows: usize = told["connections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["subflows"].as_array().unwrap().len())
        .sum();
    assert_eq!(csv.lines().count(), 1 + 2 * subflows, "{csv}");
}

#[test]
fn standard_input_is_read() {
    let (place, _) = captured();
    let file = std::fs::File::open(place.path().join("run/capture.pcapng")).unwrap();
    let mut command = place.command(&["capture", "-"]);
    let output = crate::support::output_of(command.stdin(file));
    assert_eq!(
        (output.code, output.out),
        (0, place.done(&["capture", "run/capture.pcapng"])),
        "{}",
        output.err
    );
}

#[test]
fn unreadable_files_are_reported() {
    let place = Place::new();
    let told = ["missing.pcap", "tiny.toml", "."].map(|file| {
        let output = place.run(&["capture", file]);
        assert_eq!((output.code, output.out.as_str()), (3, ""));
        output.err
    });
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_files_of_wireshark_tools_give_the_same_figures() {
    let (place, _) = captured();
    let ours = |file: &str| -> serde_json::Value {
        serde_json::from_str(&place.done(&["capture", file, "--format", "json"])).unwrap()
    };
    let expected = ours("run/capture.pcapng");
    let tool = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(place.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    tool("tshark", &["-r", "run/capture.pcapng", "-w", "by-tshark.pcapng"]);
    let all = |file: &str| {
        let told = ours(file);
        for key in ["packets", "segments", "connections", "events", "options", "notes"] {
            assert_eq!(told[key], expected[key], "{key} of {file}");
        }
        told
    };
    all("by-tshark.pcapng");
    // Split into two halves and merged again.
    tool("editcap", &["-c", "700", "run/capture.pcapng", "part.pcapng"]);
    let mut parts: Vec<String> = place.list("").into_iter().filter(|name| name.starts_with("part")).collect();
    assert!(parts.len() > 1, "{parts:?}");
    parts.splice(0..0, ["-w".to_owned(), "merged.pcapng".to_owned()]);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    tool("mergecap", &parts);
    all("merged.pcapng");
    // pcap has no interfaces and directions; the carried bytes are the same.
    for format in ["pcap", "nsecpcap"] {
        tool("editcap", &["-F", format, "run/capture.pcapng", format]);
        let told = ours(format);
        assert_eq!((&told["format"], &told["options"]), (&"pcap".into(), &expected["options"]));
        for (one, other) in
            told["connections"].as_array().unwrap().iter().zip(expected["connections"].as_array().unwrap())
        {
            assert_eq!(one["down"]["bytes"], other["down"]["bytes"]);
            let subflows = |one: &serde_json::Value| -> Vec<serde_json::Value> {
                one["subflows"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|subflow| serde_json::json!([subflow["down"], subflow["up"]]))
                    .collect()
            };
            assert_eq!(subflows(one), subflows(other));
        }
    }
}
