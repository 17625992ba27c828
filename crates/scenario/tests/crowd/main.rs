//! Scenarios with several devices: their problems, and the values that devices draw.

mod limits;

use link::StationConfig;
use sim::{Crowd, Hop};
use tandem_scenario::Scenario;
use units::{Instant, Seed};

const VALID: &str = r#"seed = 1
duration = "60s"

[[cell]]
name = "ap1"
kind = "wifi"
rate = "20Mbps"

[[cell]]
name = "ap2"
kind = "wifi"
rate = "20Mbps"
backhaul = { down = { cell = "sector", snr_db = 15 }, up = { rate = "5Mbps" } }

[[cell]]
name = "sector"
kind = "lte"
rate = "40Mbps"

[adoption]
qoe = 0.25

[[device]]
name = "phone"
count = 16

[[device.path]]
name = "wifi"
radio = "huang2012.wifi"
down = { cell = ["ap1", "ap2"], snr_db = { uniform = [5, 25] } }

[[device.path]]
name = "lte"
radio = "huang2012.lte"
down = { cell = "sector", snr_db = [0, 10, 20] }
up = { rate = "5Mbps" }

[[device.traffic]]
kind = "video"
manifest = [{ bitrates = "1Mbps", duration = "60s" }, { bitrates = "2Mbps", duration = "60s" }]
start = { uniform = ["0s", "30s"] }

[[device]]
name = "laptop"
policy = "wifi-only"

[[device.path]]
name = "wifi"
radio = "huang2012.wifi"
down = { cell = "ap1" }

[[device.traffic]]
kind = "bulk"
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    let files = |_: &str| Err("no such file".to_owned());
    Scenario::parse_any("scenarios/crowd.toml", text, &files)
        .map_err(|found| found.iter().map(ToString::to_string).collect())
}

/// The diagnostics of `VALID` with one piece replaced.
fn diagnostics_with(piece: &str, by: &str) -> String {
    assert!(VALID.contains(piece), "`{piece}` is not in the scenario");
    parse(&VALID.replacen(piece, by, 1)).expect_err("the scenario has a problem")
}

fn crowd(text: &str, seed: u64) -> Crowd {
    let scenario = parse(text).unwrap_or_else(|found| panic!("{found}"));
    scenario.crowd.expect("several devices").draw(Seed::new(seed))
}

fn station(hop: &Hop) -> (usize, &StationConfig) {
    match hop {
        Hop::Cell { cell, station } => (*cell, station),
        Hop::Link(_) => panic!("a station of a cell"),
    }
}

/// Names of the phones with the policy `qoe`.
fn adopters(share: &str, seed: u64) -> Vec<String> {
    let text = VALID.replace("qoe = 0.25", &format!("qoe = {share}"));
    let devices = crowd(&text, seed).devices.into_iter();
    let adopters = devices.filter(|d| d.device.policy.to_string() == "qoe").map(|d| d.device.name);
    adopters.filter(|name| name.starts_with("phone")).collect()
}

#[test]
fn devices_draw_their_values_from_streams_of_their_own() {
    let text = VALID.replace("qoe = 0.25", "qoe = 0");
    let (a, b, other) = (crowd(&text, 1), crowd(&text, 1), crowd(&text, 2));
    assert!(a == b && a != other);
    assert_eq!(a.devices.len(), 17);
    let phones = &a.devices[..16];
    for (i, phone) in phones.iter().enumerate() {
        assert_eq!(phone.device.name, format!("phone-{}", i + 1));
        let (cell, down) = station(&phone.paths[0].down);
        assert_eq!(cell, i % 2, "cells are joined in turn");
        assert!((5.0..25.0).contains(&down.snr_db.unwrap()));
        let (up_cell, up) = station(&phone.paths[0].up);
        assert_eq!((up_cell, up.snr_db), (cell, down.snr_db), "one channel for both directions");
        assert!([0.0, 10.0, 20.0].contains(&station(&phone.paths[1].down).1.snr_db.unwrap()));
        assert!(phone.traffic[0].start < Instant::from_secs(30));
    }
    let differ = |value: &dyn Fn(&sim::Experiment) -> String| {
        let mut all: Vec<String> = phones.iter().map(value).collect();
        all.sort();
        all.dedup();
        all.len()
    };
    assert_eq!(differ(&|phone| format!("{:?}", phone.seed)), 16);
    assert_eq!(differ(&|phone| format!("{:?}", phone.traffic[0].start)), 16);
    assert_eq!(differ(&|phone| format!("{:?}", station(&phone.paths[0].down).1.snr_db)), 16);
    assert_eq!(differ(&|phone| format!("{:?}", phone.traffic[0].kind)), 2);
    // A further device leaves the others as they are.
    let more = crowd(&text.replace("count = 16", "count = 17"), 1);
    assert!(more.devices[..16] == *phones);
}

#[test]
fn adoption_is_nested_and_the_same_in_each_cell() {
    for seed in 1..6 {
        let quarter = adopters("0.25", seed);
        let half = adopters("0.5", seed);
        assert_eq!((adopters("0", seed).len(), quarter.len(), half.len()), (0, 4, 8));
        assert_eq!(adopters("1", seed).len(), 16);
        assert!(quarter.iter().all(|name| half.contains(name)), "{quarter:?} {half:?}");
        let at_ap1 = |names: &[String]| {
            names.iter().filter(|name| name["phone-".len()..].parse::<usize>().unwrap() % 2 == 1).count()
        };
        assert_eq!((at_ap1(&quarter), at_ap1(&half)), (2, 4), "seed {seed}");
    }
    assert_ne!(adopters("0.5", 1), adopters("0.5", 2));
}

#[test]
fn one_device_reader_names_the_commands_that_take_several() {
    let found = Scenario::parse("s.toml", VALID, &|_: &str| Err(String::new())).unwrap_err();
    insta::assert_snapshot!(found[0].to_string());
}

#[test]
fn unknown_cell() {
    insta::assert_snapshot!(diagnostics_with("[\"ap1\", \"ap2\"]", "[\"ap1\", \"ap3\"]"));
}

#[test]
fn count_of_zero() {
    insta::assert_snapshot!(diagnostics_with("count = 16", "count = 0"));
}

#[test]
fn adopted_shares_above_one() {
    insta::assert_snapshot!(diagnostics_with("qoe = 0.25", "none = 0.5\nqoe = 0.25\nwifi-first = 0.5"));
}

#[test]
fn adopted_policy_that_a_path_cannot_serve() {
    insta::assert_snapshot!(diagnostics_with("qoe = 0.25", "lte-only = 0.25"));
}

#[test]
fn policy_that_a_path_cannot_serve() {
    insta::assert_snapshot!(diagnostics_with("policy = \"wifi-only\"", "policy = \"lte-only\""));
}

#[test]
fn devices_of_the_same_name() {
    insta::assert_snapshot!(diagnostics_with("name = \"laptop\"", "name = \"phone\""));
}

#[test]
fn cells_of_the_same_name() {
    insta::assert_snapshot!(diagnostics_with("name = \"ap2\"", "name = \"ap1\""));
}

#[test]
fn lte_cell_in_both_directions() {
    insta::assert_snapshot!(diagnostics_with("up = { rate = \"5Mbps\" } }", "up = { cell = \"sector\" } }"));
}

#[test]
fn backhaul_over_a_cell_with_a_backhaul() {
    insta::assert_snapshot!(diagnostics_with("cell = \"sector\", snr_db = 15", "cell = \"ap2\""));
}

#[test]
fn bounds_in_the_wrong_order() {
    insta::assert_snapshot!(diagnostics_with("uniform = [5, 25]", "uniform = [25, 5]"));
}

#[test]
fn path_beside_devices() {
    insta::assert_snapshot!(diagnostics_with("[adoption]", "[[path]]\nname = \"x\"\n\n[adoption]"));
}

#[test]
fn cells_in_another_order_for_up() {
    let down = "down = { cell = [\"ap1\", \"ap2\"], snr_db = { uniform = [5, 25] } }";
    insta::assert_snapshot!(diagnostics_with(down, &format!("{down}\nup = {{ cell = [\"ap2\", \"ap1\"] }}")));
}

#[test]
fn drawn_start_after_the_stop() {
    let start = "start = { uniform = [\"0s\", \"30s\"] }";
    insta::assert_snapshot!(diagnostics_with(start, &format!("{start}\nstop = \"20s\"")));
}

#[test]
fn drawn_start_after_the_run() {
    let start = "start = { uniform = [\"0s\", \"30s\"] }";
    insta::assert_snapshot!(diagnostics_with(start, "start = [\"2h\", \"3h\"]"));
}

#[test]
fn backhauls_of_different_cells_draw_different_channels() {
    let backhaul = "backhaul = { down = { cell = \"sector\", snr_db = 15 }, up = { rate = \"5Mbps\" } }";
    let drawn = backhaul.replace("15", "{ uniform = [0, 20] }");
    let both = VALID.replace(backhaul, &drawn).replacen("[[cell]]", &format!("[[cell]]\n{drawn}"), 1);
    let snr = |seed| {
        let backhauls = crowd(&both, seed).backhauls;
        let [first, second] = &backhauls[..] else { panic!("two backhauls") };
        [first, second].map(|backhaul| station(&backhaul.down).1.snr_db.unwrap())
    };
    let ([a, b], [c, _]) = (snr(1), snr(2));
    assert!(a != b && a != c, "{a} {b} {c}");
    assert!([a, b, c].iter().all(|snr| (0.0..20.0).contains(snr)));
}

#[test]
fn equation_1_counts_the_backhaul() {
    let wide = "backhaul = { down = { rate = \"10Mbps\", delay = \"250ms\" }, up = { rate = \"5Mbps\", delay = \"250ms\" } }";
    let cell = "backhaul = { down = { cell = \"sector\", snr_db = 15 }, up = { rate = \"5Mbps\" } }";
    let laptop = "down = { cell = \"ap1\" }";
    let text = VALID.replacen(cell, wide, 1).replacen(laptop, "down = { cell = \"ap2\" }", 1);
    let text = format!("{text}\n[transport]\nrecv_buffer = \"eq1\"\n");
    let laptop = crowd(&text, 1).devices.pop().expect("the laptop is the last");
    // Twice 10 Mbit/s times 500 ms.
    assert_eq!(laptop.transport.config.recv_buffer, 1_250_000);
}

#[test]
fn shares_that_reach_nobody_and_unused_cells_are_known() {
    let of =
        |text: &str| parse(text).unwrap_or_else(|found| panic!("{found}")).crowd.expect("several devices");
    let counts = |text: &str| of(text).adopters().into_iter().map(|(.., count)| count).collect::<Vec<_>>();
    // The laptop is its kind's only device: below a half it keeps its own policy.
    assert_eq!(counts(VALID), [4]);
    assert_eq!(counts(&VALID.replacen("qoe = 0.25", "qoe = 0.02", 1)), [0]);
    assert!(of(VALID).unused_cells().is_empty());
    let lonely = format!("{VALID}\n[[cell]]\nname = \"spare\"\nkind = \"wifi\"\nrate = \"1Mbps\"\n");
    assert_eq!(of(&lonely).unused_cells(), ["spare"]);
}
