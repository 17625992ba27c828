//! `tandem check`: forms of its output, pipes and captures.

use crate::support::{Place, TINY, output_of};
use std::fs;

#[test]
fn check_reports_problems_as_json_and_csv() {
    let place = Place::new();
    place.write(
        "bad.toml",
        &TINY
            .replace("4Mbps", "4MBps")
            .replace("lte.csv", "bad.csv")
            .replace("[device]", "[device]\nbatery = 1"),
    );
    place.write("bad.csv", "1,500000\n2,fast\n");
    place.write(
        "warned.toml",
        &TINY.replace(
            "[[path]]\nname = \"wifi\"",
            "[transport]\nmax_addresses = 2\n[[path]]\nname = \"wifi\"",
        ),
    );
    let files = ["tiny.toml", "bad.toml", "warned.toml", "bad.csv", "missing.toml"];
    let json = place.run(&[&["check", "--format", "json"][..], &files].concat());
    assert_eq!((json.code, json.err.as_str()), (3, ""));
    insta::assert_snapshot!("check_as_json", json.out);
    let csv = place.run(&[&["check", "--format", "csv"][..], &files].concat());
    assert_eq!((csv.code, csv.err.as_str()), (3, ""));
    insta::assert_snapshot!("check_as_csv", csv.out.replace("\r\n", "\n"));
    // A key of the document is a key for `--set`.
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let problem = &document["files"][1]["problems"][1];
    let setting = format!("{}=4Mbps", problem["key"].as_str().unwrap());
    assert_eq!(place.run(&["run", "tiny.toml", "-q", "--set", &setting]).code, 0, "{setting}");
    assert_eq!(place.run(&["check", "--format", "json", "tiny.toml"]).code, 0);
}

#[test]
fn check_reads_a_pipe_once() {
    let place = Place::new();
    for (from, expected) in [
        (&["examples", "wifi-lte"][..], "valid scenario"),
        (&["agent", "example-config"], "valid configuration of the agent"),
    ] {
        for file in ["-", "/dev/stdin"] {
            let mut writer = place.command(from).spawn().expect("the program starts");
            let pipe = writer.stdout.take().expect("it is piped");
            let output = output_of(place.command(&["check", file]).stdin(pipe));
            writer.wait().expect("the program ends");
            assert!(output.code == 0 && output.out.contains(expected), "{file}: {output:?}");
        }
    }
}

#[test]
fn check_recognizes_captures_of_every_form() {
    let place = Place::new();
    for magic in [
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0x0a, 0x0d, 0x0d, 0x0a],
        [0xa1, 0xb2, 0xcd, 0x34],
        [0x34, 0xcd, 0xb2, 0xa1],
    ] {
        fs::write(place.path().join("file"), [&magic[..], &[0; 40]].concat()).unwrap();
        let output = place.run(&["check", "file"]);
        let expected = "error: file is a capture\n hint: `tandem capture file` analyses it\n";
        assert_eq!((output.code, output.err.as_str()), (3, expected), "{magic:x?}");
    }
}

#[test]
fn init_writes_valid_files_from_inputs_with_odd_names() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap", "--out", "run", "-q"]);
    for (index, name) in
        ["line\nend", "quote\"s'", "back\\slash", "tab\tbell\u{7}", "]]\u{2028}\u{202e}#`"].iter().enumerate()
    {
        let capture = format!("{name}.pcapng");
        fs::copy(place.path().join("run/capture.pcapng"), place.path().join(&capture)).unwrap();
        let scenario = format!("capture{index}.toml");
        let output = place.run(&["init", &scenario, "--capture", &capture]);
        assert_eq!(output.code, 0, "{name:?}: {}", output.err);
        let text = place.read(&scenario);
        let first = text.lines().next().unwrap();
        assert!(first.ends_with(".pcapng`.") && !first.contains(char::is_control), "{first:?}");

        let trace = format!("{name}.csv");
        place.write(&trace, &place.read("lte.csv"));
        let output = place.run(&["init", &format!("trace{index}.toml"), "--traces", &trace]);
        assert_eq!(output.code, 0, "{name:?}: {}", output.err);
        assert_eq!(place.run(&["check", &format!("trace{index}.toml"), &scenario]).code, 0, "{name:?}");

        // The name of the new file stands in an example's comments.
        let file = format!("{name}.toml");
        let output = place.run(&["init", &file]);
        assert_eq!(output.code, 0, "{name:?}: {}", output.err);
    }
}
