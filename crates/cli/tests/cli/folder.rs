//! Folders of results: written as a whole, and never in place of foreign files.

use crate::support::{Place, TINY};
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

#[test]
fn results_of_the_same_settings_replace_old_ones() {
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    let before = place.read("tandem-out/tiny/result.json");
    let again = place.run(&["run", "tiny.toml"]);
    assert_eq!(again.err, "\nreport: tandem-out/tiny/report.html\n");
    assert_eq!(place.read("tandem-out/tiny/result.json"), before);

    place.write("tiny.toml", &TINY.replace("400kB", "500kB"));
    let edited = place.run(&["run", "tiny.toml"]);
    let note =
        "report: tandem-out/tiny/report.html\nreplaced earlier results: an input file has changed since\n";
    assert_eq!(edited.err.trim_start(), note);
    assert_ne!(place.read("tandem-out/tiny/result.json"), before);
    place.write("lte.csv", &place.read("lte.csv").replace("250000", "240000"));
    assert_eq!(place.run(&["run", "tiny.toml"]).err.trim_start(), note, "a trace is an input file");
    assert_eq!(place.list("tandem-out"), ["tiny"]);
}

#[test]
fn results_of_other_settings_are_kept_under_their_id() {
    let place = Place::new();
    let id = |folder: &str| -> String {
        let json: serde_json::Value =
            serde_json::from_str(&place.read(&format!("{folder}/result.json"))).unwrap();
        json["made_by"]["id"].as_str().unwrap().to_owned()
    };
    place.done(&["run", "tiny.toml", "--pcap"]);
    let kept = format!("tiny-{}", id("tandem-out/tiny"));
    let other = place.run(&["run", "tiny.toml", "--seed", "9"]);
    let expected = format!(
        "\nreport: tandem-out/tiny/report.html\nearlier results of other settings are kept: tandem-out/{kept}\n"
    );
    assert_eq!(other.err, expected);
    assert_eq!(place.list("tandem-out/tiny"), ["report.html", "result.json", "series.csv"]);
    assert_eq!(
        place.list(&format!("tandem-out/{kept}")),
        ["capture.pcapng", "report.html", "result.json", "series.csv"]
    );
    // Back and forth: results with the same id are equal and need one folder.
    let seeded = format!("tiny-{}", id("tandem-out/tiny"));
    place.done(&["run", "tiny.toml", "--pcap"]);
    place.done(&["run", "tiny.toml", "--seed", "9"]);
    let mut all = vec!["tiny".to_owned(), kept.clone(), seeded];
    all.sort();
    assert_eq!(place.list("tandem-out"), all);

    // A user's note in the kept folder is not lost.
    place.write(&format!("tandem-out/{kept}/notes.txt"), "mine");
    place.done(&["run", "tiny.toml", "--pcap"]);
    place.done(&["run", "tiny.toml", "--seed", "9"]);
    assert!(place.list("tandem-out").contains(&format!("{kept}-2")));
    assert_eq!(place.read(&format!("tandem-out/{kept}/notes.txt")), "mine");
}

#[test]
fn comparison_of_an_earlier_text_is_kept() {
    let place = Place::new();
    let compare = ["compare", "tiny.toml", "--policies", "none", "--seeds", "1", "--out", "sweep"];
    place.done(&compare);
    place.write("tiny.toml", &TINY.replace("400kB", "500kB"));
    let edited = place.run(&compare);
    assert!(edited.err.contains("earlier results of other input files are kept: sweep-"), "{}", edited.err);
    assert_eq!(place.list("").iter().filter(|name| name.starts_with("sweep")).count(), 2);
}

#[test]
fn incomplete_results_never_replace_complete_ones() {
    let place = Place::new();
    let compare = |policy| {
        place.done(&["compare", "tiny.toml", "--policies", policy, "--seeds", "1", "--out", "sweep"]);
    };
    compare("none");
    let complete = place.read("sweep/result.json");
    let id = serde_json::from_str::<serde_json::Value>(&complete).unwrap()["made_by"]["id"].clone();
    compare("wifi-only");
    let kept = format!("sweep-{}", id.as_str().unwrap());
    assert_eq!(place.read(&format!("{kept}/result.json")), complete);
    // An interrupted comparison of the first settings has their id.
    place.write("sweep/result.json", &complete.replace("\"complete\": true", "\"complete\": false"));
    compare("wifi-only");
    assert_eq!(place.read(&format!("{kept}/result.json")), complete);
    assert!(place.read(&format!("{kept}-2/result.json")).contains("\"complete\": false"));
}

#[test]
fn foreign_folder_is_not_replaced() {
    let place = Place::new();
    place.write("thesis/chapter1.tex", "years of work");
    place.write("half/report.html", "from somewhere else");
    place.write("file", "text");
    fs::create_dir(place.path().join("empty")).unwrap();
    for (out, why) in [
        ("thesis", "it holds `chapter1.tex`"),
        ("half", "it holds no result.json"),
        ("file", "it is a file"),
        (".", "it is the directory you are in"),
        ("/", "it has no name"),
    ] {
        let output = place.run(&["run", "tiny.toml", "--out", out]);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{out}");
        assert!(output.err.contains(why) && output.err.contains("hint"), "{out}: {}", output.err);
    }
    assert_eq!(place.read("thesis/chapter1.tex"), "years of work");
    place.done(&["run", "tiny.toml", "--out", "empty"]);
    place.done(&["run", "tiny.toml", "--out", "new/and/deep"]);
    assert_eq!(place.list("empty"), place.list("new/and/deep"));
    assert_eq!(place.list(""), ["empty", "file", "half", "lte.csv", "new", "thesis", "tiny.toml"]);
}

#[test]
fn folder_with_a_foreign_file_is_not_replaced() {
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    place.write("tandem-out/tiny/notes.txt", "mine");
    let output = place.run(&["run", "tiny.toml"]);
    assert_eq!(output.code, 1);
    insta::assert_snapshot!(output.err);
    assert_eq!(place.read("tandem-out/tiny/notes.txt"), "mine");
}

#[test]
fn killed_run_leaves_nothing() {
    let place = Place::new();
    let long = TINY.replace("\"4s\"", "\"100h\"").replace("500ms\"\n\n[device]", "1h\"\n\n[device]");
    place.write("long.toml", &long);
    let mut child = place.command(&["run", "long.toml"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the run takes longer");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.list(""), ["long.toml", "lte.csv", "tiny.toml"]);
}

#[test]
fn old_leftovers_of_killed_runs_are_removed() {
    let place = Place::new();
    let age = |name: &str, seconds: u64| {
        let at = SystemTime::now() - Duration::from_secs(seconds);
        File::open(place.path().join(name)).unwrap().set_modified(at).unwrap();
    };
    for name in [".tiny.tandem-part-old", ".tiny.tandem-part-new", ".other.tandem-part-old"] {
        place.write(&format!("tandem-out/{name}/new/series.csv"), "half");
    }
    age("tandem-out/.tiny.tandem-part-old", 7200);
    age("tandem-out/.other.tandem-part-old", 7200);
    place.done(&["run", "tiny.toml"]);
    assert_eq!(
        place.list("tandem-out"),
        [".other.tandem-part-old", ".tiny.tandem-part-new", "tiny"],
        "a recent leftover may belong to another run"
    );
}
