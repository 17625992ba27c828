//! `tandem run --log`.

use crate::support::Place;

/// Two paths with loss; the interface of the first goes away.
const HANDOVER: &str = r#"
duration = "3s"

[device]
policy = "wifi-first"

[[path]]
name = "wifi"
radio = "huang2012.wifi"
leave_at = "1s"
down = { rate = "2Mbps", delay = "10ms", loss = 0.02 }
up = { rate = "2Mbps", delay = "10ms" }

[[path]]
name = "lte"
radio = "huang2012.lte"
down = { rate = "2Mbps", delay = "30ms", queue = "10 packets" }
up = { rate = "2Mbps", delay = "30ms" }

[[traffic]]
kind = "bulk"
"#;

fn log(filter: &str) -> String {
    let place = Place::new();
    place.write("handover.toml", HANDOVER);
    place.run(&["run", "handover.toml", "--log", filter]).err
}

#[test]
fn log_shows_losses_reinjections_and_decisions_in_simulated_time() {
    let log = log("debug");
    let find =
        |part: &str| log.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}:\n{log}"));
    assert!(find("path=1 name=lte").starts_with("   0.000000000s  INFO"));
    assert!(find("loss detected").contains(" connection{id=0}:server:subflow{path=0}: "));
    assert!(find("packet lost").contains(" link{path=wifi direction=\"down\"}: "));
    assert!(find("packet dropped: queue full").contains(" link{path=lte "));
    assert!(find("interface changed path=0 up=false").starts_with("   1.000000000s"));
    assert!(find(" policy: ").contains("priority set path=1"));
    let reinjection = find("reinjection data=");
    assert!(reinjection.contains("subflow{path=1}"), "{reinjection}");
}

#[test]
fn filter_selects_crates() {
    let log = log("policy=debug,sim=debug");
    assert!(
        log.contains("priority set") && !log.contains("tandem_mptcp") && !log.contains("tandem_link"),
        "{log}"
    );
}

#[test]
fn log_changes_no_result() {
    let place = Place::new();
    place.write("handover.toml", HANDOVER);
    let run = |more: &[&str]| place.done(&[&["run", "handover.toml", "--format", "json"], more].concat());
    assert_eq!(run(&["--log", "debug"]), run(&[]));
}

#[test]
fn unknown_crate_in_a_filter_is_an_error() {
    let place = Place::new();
    let output = place.run(&["run", "tiny.toml", "--log", "mtcp=debug"]);
    assert_eq!(output.code, 2);
    insta::assert_snapshot!(output.err);
}
