//! `tandem init`, `tandem examples` and `tandem check`, without a checkout.

use crate::support::{Output, Place, output_of, tandem_path};
use std::fmt::Write as _;
use std::process::Command;

const WIFI: &str = include_str!("../../../../traces/walk-away.wifi.csv");
const LTE: &str = include_str!("../../../../traces/walk-away.lte.csv");

/// Output of several commands, as a terminal shows it.
fn session(place: &Place, lines: &[&[&str]]) -> String {
    let mut shown = String::new();
    for arguments in lines {
        let Output { code, out, err } = place.run(arguments);
        let _ = write!(shown, "$ tandem {}\n{out}{err}", arguments.join(" "));
        if code != 0 {
            let _ = writeln!(shown, "[exit code {code}]");
        }
        shown.push('\n');
    }
    shown
}

/// A scenario that `tandem init` wrote is accepted by `check` and `run`.
fn assert_usable(place: &Place, file: &str) {
    let checked = place.run(&["check", file]);
    assert_eq!((checked.code, checked.err.as_str()), (0, ""), "{file}");
    let ran = place.run(&["run", file, "-q"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{file}");
}

#[test]
fn examples_are_listed_shown_and_copied() {
    let place = Place::new();
    insta::assert_snapshot!(place.done(&["examples"]));
    assert!(place.done(&["examples", "wifi-lte"]).contains("[[path]]"));
    assert!(place.done(&["examples", "film.json"]).contains("segment_sizes_bits"));
    let copied = place.done(&["examples", "--copy", "wifi-weakens", "film", "--to", "copies"]);
    assert_eq!(
        copied,
        "copies/wifi-weakens.toml\ncopies/traces/walk-away.lte.csv\ncopies/traces/walk-away.wifi.csv\n\
         copies/film.toml\ncopies/film.json\n"
    );
    assert_usable(&place, "copies/wifi-weakens.toml");
    assert_usable(&place, "copies/film.toml");
}

#[test]
fn every_example_is_usable_as_a_copy() {
    let place = Place::new();
    let list: serde_json::Value =
        serde_json::from_str(&place.done(&["examples", "--format", "json"])).unwrap();
    for scenario in list["scenarios"].as_array().unwrap() {
        let name = scenario["name"].as_str().unwrap();
        place.done(&["examples", "--copy", name]);
        let checked = place.run(&["check", &format!("{name}.toml")]);
        assert_eq!((checked.code, checked.err.as_str()), (0, ""), "{name}");
    }
}

#[test]
fn init_writes_a_usable_scenario_and_replaces_nothing() {
    let place = Place::new();
    insta::assert_snapshot!(session(
        &place,
        &[
            &["init"],
            &["check", "scenario.toml"],
            &["init", "--from", "handover"],
            &["init", "walk.toml", "--from", "wifi-weakens"],
            &["init", "x.toml", "--from", "handoverr"],
            &["init", "tiny.toml"],
        ],
    ));
    assert_usable(&place, "scenario.toml");
    assert_usable(&place, "walk.toml");
    assert_eq!(place.read("tiny.toml"), crate::support::TINY);
}

#[test]
fn files_that_cannot_be_written_leave_nothing() {
    // The scenario `film` is smaller than its second file, with which the limit is reached.
    for (arguments, blocks) in [("init", 1), ("examples --copy film", 3)] {
        let place = Place::new();
        let before = place.list("");
        // The limit of a file's size stands for a full disk: a write fails in the middle.
        let script =
            format!("trap '' XFSZ; ulimit -f {blocks}; exec {} {arguments}", tandem_path().display());
        let output = output_of(Command::new("sh").args(["-c", &script]).current_dir(place.path()));
        assert_eq!(output.code, 1, "{arguments}: {}", output.err);
        assert!(output.err.contains("cannot write "), "{arguments}: {}", output.err);
        assert_eq!(place.list(""), before, "{arguments}");
        place.done(&arguments.split(' ').collect::<Vec<_>>());
    }
}

#[test]
fn init_makes_paths_of_traces() {
    let place = Place::new();
    place.write("walk.wifi.csv", WIFI);
    place.write("traces/walk.lte.down.csv", LTE);
    place.write("traces/walk.lte.up.csv", LTE);
    let traces = ["walk.wifi.csv", "traces/walk.lte.down.csv", "traces/walk.lte.up.csv"];
    let shown = session(&place, &[&[&["init", "new/walk.toml", "--traces"][..], &traces].concat()]);
    insta::assert_snapshot!(format!("{shown}{}", place.read("new/walk.toml")));
    assert_usable(&place, "new/walk.toml");
    let missing = place.run(&["init", "x.toml", "--traces", "nowhere.csv"]);
    assert_eq!(missing.code, 3);
    insta::assert_snapshot!("init_without_a_trace", missing.err);
    assert!(!place.list("").contains(&"x.toml".to_owned()));
}

#[test]
fn init_takes_paths_and_traffic_of_a_capture() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap", "--out", "out"]);
    place.done(&["init", "seen.toml", "--capture", "out/capture.pcapng"]);
    insta::assert_snapshot!(place.read("seen.toml"));
    assert_usable(&place, "seen.toml");
    let wrong = place.run(&["init", "x.toml", "--capture", "tiny.toml"]);
    assert_eq!(wrong.code, 3, "{}", wrong.err);
}

#[test]
fn init_takes_no_delay_from_a_handshake_with_a_lost_syn() {
    let place = Place::new();
    let (one_file, _) = crate::support::TINY.rsplit_once("[[traffic]]").unwrap();
    place.write("one.toml", one_file);
    let outage = ["--set", r#"path.wifi.up.outages=[["0s", "100ms"]]"#];
    place.done(&[&["run", "one.toml", "--pcap", "--out", "out"][..], &outage].concat());
    place.done(&["init", "seen.toml", "--capture", "out/capture.pcapng"]);
    let scenario = place.read("seen.toml");
    let delays = scenario.lines().filter_map(|line| line.split_once(r#"delay = ""#));
    let delays: Vec<f64> =
        delays.map(|(_, delay)| delay.split_once("ms").unwrap().0.parse().unwrap()).collect();
    assert!((5.0..10.0).contains(&delays[0]), "Wi-Fi has 5 ms: {delays:?}");
}

#[test]
fn init_takes_the_times_of_paths_that_come_and_go() {
    let place = Place::new();
    place.done(&["examples", "--copy", "handover"]);
    let times = ["path.wifi.leave_at=2s", "path.wifi-again.join_at=4s"].map(|time| ["--set", time]);
    let run = ["run", "handover.toml", "--duration", "6s", "--pcap", "--out", "out"];
    place.done(&[&run[..], &times.concat()].concat());
    place.done(&["init", "seen.toml", "--capture", "out/capture.pcapng"]);
    let seen = place.read("seen.toml");
    let [_, wifi, lte, again] = seen.split("[[path]]").collect::<Vec<_>>()[..] else { panic!("{seen}") };
    let time = |path: &str, key: &str| -> Option<f64> {
        let (_, value) = path.split_once(&format!("{key} = \""))?;
        value.split_once("s\"")?.0.parse().ok()
    };
    assert_eq!((time(wifi, "join_at"), time(lte, "join_at"), time(lte, "leave_at")), (None, None, None));
    assert!(time(wifi, "leave_at").is_some_and(|at| (1.9..2.1).contains(&at)), "{wifi}");
    assert!(time(again, "join_at").is_some_and(|at| (4.0..4.1).contains(&at)), "{again}");
    assert_eq!(time(again, "leave_at"), None);
    assert_usable(&place, "seen.toml");
}

/// Sets the clock of a capture ahead by years at its last packet.
fn clock_jumps(capture: &mut [u8]) {
    let word =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut last) = (0, 0);
    while at < capture.len() {
        // An enhanced packet block: type, length, interface, and the time in two words.
        if word(capture, at) == 6 {
            last = at;
        }
        at += word(capture, at + 4) as usize;
    }
    let upper_half = word(capture, last + 12) + (1 << 28);
    capture[last + 12..last + 16].copy_from_slice(&upper_half.to_le_bytes());
}

#[test]
fn init_survives_a_jump_of_the_clock() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap", "--out", "out"]);
    let file = place.path().join("out/capture.pcapng");
    let mut capture = std::fs::read(&file).unwrap();
    clock_jumps(&mut capture);
    std::fs::write(&file, capture).unwrap();
    place.done(&["init", "seen.toml", "--capture", "out/capture.pcapng"]);
    assert!(place.read("seen.toml").contains(r#"duration = "86400s""#), "{}", place.read("seen.toml"));
    place.done(&["check", "seen.toml"]);
}

#[test]
fn check_finds_the_kind_of_a_file() {
    let place = Place::new();
    for (file, arguments) in [
        ("agent.toml", &["agent", "example-config"][..]),
        ("proxy.toml", &["proxy", "example-config"]),
        ("radio.toml", &["profiles", "huang2012.lte"]),
        ("film.json", &["examples", "film.json"]),
        ("bus.json", &["examples", "lte-bus.json"]),
        ("walk.csv", &["examples", "walk-away.wifi.csv"]),
    ] {
        place.write(file, &place.done(arguments));
    }
    place.write("users", "alice:secret\n");
    place.write("film.mpd", MPD);
    place.done(&["run", "tiny.toml", "--pcap", "--out", "out"]);
    insta::assert_snapshot!(session(
        &place,
        &[
            &[
                "check",
                "tiny.toml",
                "agent.toml",
                "radio.toml",
                "film.mpd",
                "film.json",
                "bus.json",
                "walk.csv"
            ],
            &["check", "out/capture.pcapng"],
            &["check", "nowhere.toml"],
        ],
    ));
}

#[test]
fn check_reports_problems_and_warnings_of_every_file() {
    let place = Place::new();
    place.write("bad.toml", &crate::support::TINY.replace("4Mbps", "4MBps"));
    place.write(
        "useless.toml",
        &crate::support::TINY.replace("[device]", "[device]\njoint_power = \"1W\"").replacen(
            "actuator = \"mp-prio\" }",
            "actuator = \"mp-prio\" }\n[transport]\nmax_addresses = 2",
            1,
        ),
    );
    place.write("agent.toml", "[[interface]]\nnam = \"wlan0\"\n");
    place.write("radio.toml", "kind = \"lte\"\nup_per_mbps = \"438\"\n");
    place.write(
        "sizes.json",
        "{\"segment_duration_ms\": 2000, \"bitrates_kbps\": [], \"segment_sizes_bits\": []}",
    );
    place.write("film.mpd", "<MPD></MPD>");
    place.write("trace.csv", "1,500000\n2,fast\n");
    let files =
        ["bad.toml", "useless.toml", "agent.toml", "radio.toml", "sizes.json", "film.mpd", "trace.csv"];
    insta::assert_snapshot!(session(&place, &[&[&["check"][..], &files].concat()]));
    let forced = place.run(&["check", "--as", "agent", "tiny.toml"]);
    assert_eq!(forced.code, 3);
    assert!(forced.err.contains("unknown key `path`"), "{}", forced.err);
}

const MPD: &str = r#"<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S">
  <Period><AdaptationSet mimeType="video/mp4">
    <SegmentTemplate media="$RepresentationID$/$Number$.m4s" duration="2" startNumber="1"/>
    <Representation id="low" bandwidth="500000"/><Representation id="high" bandwidth="2000000"/>
  </AdaptationSet></Period>
</MPD>
"#;
