//! Common mistakes on the command line: each answer states the expected form and a correction.

use crate::support::{Output, Place};
use std::fmt::Write as _;

/// The program's answers to several command lines, as a terminal shows them.
fn answers(place: &Place, code: i32, lines: &[&[&str]]) -> String {
    let mut shown = String::new();
    for arguments in lines {
        let Output { code: found, out, err } = place.run(arguments);
        assert_eq!((found, out.as_str()), (code, ""), "{arguments:?}: {err}");
        let err = err.replace("\n\nFor more information, try '--help'.", "");
        let _ = writeln!(shown, "$ tandem {}\n{err}", arguments.join(" "));
    }
    shown
}

/// The answers to `tandem run tiny.toml --set SETTING`.
fn settings(place: &Place, code: i32, settings: &[&str]) -> String {
    let lines: Vec<Vec<&str>> = settings.iter().map(|one| vec!["run", "tiny.toml", "--set", one]).collect();
    answers(place, code, &lines.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn options_with_invalid_values() {
    let place = Place::new();
    insta::assert_snapshot!(answers(
        &place,
        2,
        &[
            &["run", "tiny.toml", "--seed", "-1"],
            &["run", "tiny.toml", "--seed", "1.5"],
            &["compare", "tiny.toml", "--policies", "none,"],
            &["testbed", "tiny.toml", "--duration", "0s"],
            &["testbed", "tiny.toml", "--duration", "5"],
            &["emulate", "tiny.toml", "--duration", "5 sec", "--", "true"],
        ],
    ));
}

#[test]
fn addresses_and_networks() {
    let place = Place::new();
    insta::assert_snapshot!(answers(
        &place,
        2,
        &[
            &["proxy", "--listen", "1080"],
            &["proxy", "--listen", ":1080"],
            &["proxy", "--listen", "127.0.0.1"],
            &["serve", "--listen", "localhost:8090"],
            &["proxy", "--allow", "10.0.0.1/8"],
            &["proxy", "--allow", "10.0.0.0/33"],
            &["proxy", "--allow", "everyone"],
        ],
    ));
}

#[test]
fn units_of_settings() {
    let place = Place::new();
    insta::assert_snapshot!(settings(
        &place,
        3,
        &[
            "duration=5",
            "duration=0s",
            "duration=2 minutes",
            "path.lte.up.rate=10MBps",
            "path.lte.up.rate=10mbps",
            "path.lte.up.rate=10 MBit/s",
            "path.lte.up.rate=4",
            "path.lte.up.loss=5%",
            "path.lte.up.loss=5",
            "traffic.1.size=1Gb",
            "traffic.1.size=10Mbps",
            "device.battery=4000mAh",
        ],
    ));
}

#[test]
fn keys_of_settings() {
    let place = Place::new();
    insta::assert_snapshot!(settings(
        &place,
        3,
        &[
            "path.lte.delay=5ms",
            "scheduler=blest",
            "path.lte.down.dealy=5ms",
            "trafic.1.kind=bulk",
            "traffic.1.kind=bulkk",
            "traffic.2.size=5MB",
            "transport.protocol=tcp",
        ],
    ));
}

#[test]
fn numbers_of_list_entries_begin_with_1() {
    let place = Place::new();
    let output = place.run(&["run", "tiny.toml", "-q", "--set", "traffic.1.size=1kB"]);
    assert_eq!(output.code, 0, "{}", output.err);
    insta::assert_snapshot!(settings(
        &place,
        2,
        &["traffic.0.kind=bulk", "traffic.3.kind=bulk", "path.0.backup=true", "path.wlan.backup=true"],
    ));
}

#[test]
fn files_named_by_settings() {
    let place = Place::new();
    place.write("scenarios/tiny.toml", &crate::support::TINY.replace("lte.csv", "../lte.csv"));
    let run = |setting: &str| {
        let arguments = ["run", "scenarios/tiny.toml", "--set", setting];
        let text = answers(&place, 3, &[&arguments]);
        text.replace(&place.path().canonicalize().unwrap().display().to_string(), "/home")
            .replace(&place.path().display().to_string(), "/home")
    };
    let missing = run("path.lte.down={ trace = \"../traces/none.csv\" }");
    let beside_the_user = run("path.lte.down.trace=lte.csv");
    place.write("scenarios/bad.csv", "1,500000\n2,fast\n3,750000\n");
    let malformed = run("path.lte.down.trace=bad.csv");
    insta::assert_snapshot!(format!("{missing}{beside_the_user}{malformed}"));
}

#[test]
fn percentage_in_a_file() {
    let place = Place::new();
    for (written, name) in [("5%", "bare"), ("\"5%\"", "quoted")] {
        place.write("bad.toml", &crate::support::TINY.replace("loss = 0.01", &format!("loss = {written}")));
        insta::assert_snapshot!(format!("percentage_{name}"), answers(&place, 3, &[&["run", "bad.toml"]]));
    }
}

#[test]
fn file_that_two_videos_name_is_reported_once() {
    let place = Place::new();
    let video = "[[traffic]]\nkind = \"video\"\nmanifest = \"sizes.json\"\n";
    place.write("bad.toml", &format!("{}{video}{video}", crate::support::TINY));
    let missing = answers(&place, 3, &[&["run", "bad.toml"]]);
    place.write("sizes.json", "{\"segments\": 3}");
    let malformed = answers(&place, 3, &[&["run", "bad.toml"]]);
    insta::assert_snapshot!(format!("{missing}{malformed}"));
}

#[test]
fn unreachable_server_is_named_once() {
    let place = Place::new();
    let output = place.run(&["play", "http://127.0.0.1:1/film.mpd", "--retries", "0"]);
    assert_eq!(output.code, 1);
    insta::assert_snapshot!(output.err);
}
