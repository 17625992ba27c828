//! No input makes the reader panic, and every diagnostic points into the file.

use proptest::prelude::*;
use tandem_scenario::{Diagnostic, Scenario};

const VALID: &str = r#"title = "µ"
seed = 1
duration = "60s"
sample = "100ms"
[device]
battery = "300J"
policy = { name = "emtcp", share = 0.24, actuator = "mp-prio" }
[[cell]]
name = "home"
kind = "wifi"
rate = "20Mbps"
others = [{ count = 2, rate = "1Mbps" }]
[[path]]
name = "wifi"
radio = "huang2012.wifi"
down = { cell = "home", delay = { uniform = ["5ms", "9ms"] }, loss = { gilbert = { p = 0.01, r = 0.3 } } }
up = { cell = "home", delay = { normal = { mean = "5ms", sd = "1ms" } }, outages = [["10s", "12s"]] }
[[path]]
name = "lte"
radio = { kind = "lte", up_per_mbps = "400mW", down_per_mbps = "50mW", active = "1W", inactivity = "100ms" }
also_measure = ["huang2012.3g", { file = "mine.toml" }]
join_at = "1s"
leave_at = "50s"
down = { rate = { steps = [["0s", "5Mbps"], ["9s", "2Mbps"]] }, queue = "1MB" }
up = { trace = { file = "x.csv", format = "second-bytes" }, queue = "90ms" }
[[path]]
name = "bt"
radio = "aro.bluetooth"
down = { model = { name = "lte-walking", step = "1s" } }
[transport]
protocol = "mptcp"
recv_buffer = "eq1"
min_rto = "200ms"
[[traffic]]
kind = "on-off"
rate = "2Mbps"
on = "2s"
start = "1s"
stop = "20s"
"#;

const DEVICES: &str = include_str!("../../../scenarios/bus.toml");

const PIECES: [&str; 34] = [
    "",
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "99999999999999999999",
    "\"",
    "\"\"",
    "\"-1s\"",
    "\"1e18s\"",
    "\"5\"",
    "\"0Mbps\"",
    "\"9e9Gbps\"",
    "true",
    "[]",
    "{}",
    "[[path]]",
    "[path]",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    "\n",
    "#",
    "1979-05-27",
    "0x7fffffffffffffff",
    "\u{feff}",
    "µ",
    "\0",
    "\r",
    "''",
];

const PROFILE: &str = "kind = \"3g\"\nup_per_mbps = \"400mW\"\ndown_per_mbps = \"50mW\"\nactive = \"1W\"\ninactivity = \"100ms\"\n";
const TRACE: &str = "1,1000\n2,2000\n";

#[test]
fn base_scenario_is_valid() {
    let files = |path: &str| Ok(if path == "mine.toml" { PROFILE } else { TRACE }.to_owned());
    if let Err(found) = Scenario::parse("s.toml", VALID, &files) {
        panic!("{}", found.iter().map(ToString::to_string).collect::<String>());
    }
}

fn check(name: &str, bytes: &[u8], file: &str) {
    let files = |path: &str| match (file, path) {
        ("", _) => Err("no such file".to_owned()),
        (TRACE, "mine.toml") => Ok(PROFILE.to_owned()),
        _ => Ok(file.to_owned()),
    };
    if let Err(found) = Scenario::parse_bytes(name, bytes, &files) {
        assert!(!found.is_empty(), "refused without a word");
        for d in &found {
            points_into(d);
        }
    }
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Scenario::parse_any(name, text, &files) {
        Ok(scenario) => {
            if let Some(crowd) = scenario.crowd {
                assert_eq!(crowd.draw(units::Seed::new(1)).devices.len(), crowd.count());
            }
        }
        Err(found) => found.iter().for_each(points_into),
    }
}

fn points_into(d: &Diagnostic) {
    assert!(d.line >= 1 && d.column >= 1 && d.span.start <= d.span.end);
    assert!(!d.message.is_empty());
    let shown = d.to_string();
    assert!(shown.contains(&format!(":{}:{}", d.line, d.column)));
    assert!(shown.len() < 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check("s.toml", &bytes, "");
    }

    #[test]
    fn replaced_pieces_do_not_panic(
        edits in proptest::collection::vec((any::<u16>(), 0..20_usize, 0..PIECES.len()), 1..6),
    ) {
        let mut text = VALID.as_bytes().to_vec();
        for (at, length, piece) in edits {
            let at = usize::from(at) % (text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, PIECES[piece].bytes());
        }
        check("a/b.toml", &text, TRACE);
    }

    #[test]
    fn replaced_values_do_not_panic(
        edits in proptest::collection::vec((any::<u16>(), 0..PIECES.len()), 1..4),
    ) {
        let mut lines: Vec<String> = VALID.lines().map(str::to_owned).collect();
        for (at, piece) in edits {
            let line = usize::from(at) % lines.len();
            if let Some((key, _)) = lines[line].split_once('=') {
                lines[line] = format!("{key}= {}", PIECES[piece]);
            } else {
                lines.remove(line);
            }
        }
        check("s.toml", lines.join("\n").as_bytes(), TRACE);
    }

    #[test]
    fn replaced_values_of_several_devices_do_not_panic(
        edits in proptest::collection::vec((any::<u16>(), 0..PIECES.len()), 1..4),
    ) {
        let mut lines: Vec<String> = DEVICES.lines().map(str::to_owned).collect();
        for (at, piece) in edits {
            let line = usize::from(at) % lines.len();
            if let Some((key, _)) = lines[line].split_once('=') {
                lines[line] = format!("{key}= {}", PIECES[piece]);
            } else {
                lines.remove(line);
            }
        }
        check("s.toml", lines.join("\n").as_bytes(), TRACE);
    }

    #[test]
    fn random_referenced_files_do_not_panic(text in "[0-9,. \\[\\]{}a-z\"=\\n-]{0,80}") {
        check("s.toml", VALID.as_bytes(), &text);
    }
}
