//! Every way to get a scenario wrong: told with its place, exit code 3, and no folder is left.

use crate::support::{Place, TINY};

/// The tiny scenario with one piece replaced, and what is said about it.
fn wrong(piece: &str, by: &str) -> String {
    assert!(TINY.contains(piece), "`{piece}` is not in the scenario");
    told(&Place::new(), &TINY.replacen(piece, by, 1))
}

fn told(place: &Place, text: &str) -> String {
    place.write("bad.toml", text);
    let before = place.list("");
    let said = place.run(&["run", "bad.toml"]);
    assert_eq!(said.code, 3, "{}", said.err);
    assert_eq!(said.out, "", "nothing is printed as data");
    assert_eq!(place.list(""), before, "nothing is left behind");
    let compared = place.run(&["compare", "bad.toml", "--policies", "none"]);
    assert_eq!((compared.code, &compared.err), (3, &said.err), "every command says the same");
    assert_eq!(place.list(""), before);
    said.err
}

#[test]
fn an_unknown_key() {
    insta::assert_snapshot!(wrong("battery", "batery"));
}

#[test]
fn a_missing_unit() {
    insta::assert_snapshot!(wrong("\"4Mbps\"", "4"));
}

#[test]
fn a_negative_rate() {
    insta::assert_snapshot!(wrong("\"4Mbps\"", "\"-4Mbps\""));
}

#[test]
fn a_missing_trace() {
    insta::assert_snapshot!(wrong("lte.csv", "none.csv"));
}

#[test]
fn a_malformed_trace() {
    let place = Place::new();
    place.write("lte.csv", "1,500000\n2,fast\n3,750000\n");
    insta::assert_snapshot!(told(&place, TINY));
}

#[test]
fn a_path_without_a_radio() {
    insta::assert_snapshot!(wrong("radio = \"huang2012.lte\"\n", ""));
}

#[test]
fn two_paths_of_one_name() {
    insta::assert_snapshot!(wrong("name = \"lte\"", "name = \"wifi\""));
}

#[test]
fn a_share_of_1_4() {
    insta::assert_snapshot!(wrong("0.24", "1.4"));
}

#[test]
fn all_problems_are_told_at_once_and_counted() {
    let text = TINY.replace("battery", "batery").replace("0.24", "1.4");
    insta::assert_snapshot!(told(&Place::new(), &text));
}

#[test]
fn a_scenario_that_is_not_there() {
    let place = Place::new();
    let said = place.run(&["run", "nowhere.toml"]);
    assert_eq!((said.code, said.out.as_str()), (3, ""));
    insta::assert_snapshot!(said.err);
}

#[test]
fn a_file_that_is_no_text() {
    let place = Place::new();
    std::fs::write(place.path().join("bad.toml"), b"seed = 1\nduration = \"\xff\xfe\"\n").unwrap();
    let said = place.run(&["run", "bad.toml"]);
    assert_eq!(said.code, 3);
    insta::assert_snapshot!(said.err);
}

#[test]
fn a_line_of_a_megabyte_is_told_in_a_few_lines() {
    let place = Place::new();
    let text = format!("1,{}\n", "x".repeat(1_000_000));
    place.write("lte.csv", &text);
    let err = told(&place, TINY);
    assert!(err.contains("lte.csv:1:1") && err.len() < 2_000, "{} bytes", err.len());
}

#[test]
fn results_from_before_stay_when_the_scenario_becomes_bad() {
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    let before = place.read("tandem-out/tiny/result.json");
    place.write("tiny.toml", &TINY.replace("4Mbps", "4"));
    assert_eq!(place.run(&["run", "tiny.toml"]).code, 3);
    assert_eq!(place.read("tandem-out/tiny/result.json"), before);
    assert_eq!(place.list("tandem-out"), ["tiny"]);
}

#[test]
fn colour_marks_the_place_when_asked() {
    let place = Place::new();
    place.write("bad.toml", &TINY.replace("0.24", "1.4"));
    let coloured = place.run(&["run", "bad.toml", "--color", "always"]).err;
    assert!(coloured.contains("\u{1b}["));
    let plain = place.run(&["--color", "never", "run", "bad.toml"]).err;
    assert!(!plain.contains('\u{1b}'));
    assert!(!place.run(&["run", "bad.toml"]).err.contains('\u{1b}'), "a pipe is no terminal");
}
