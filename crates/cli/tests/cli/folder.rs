//! Folders of results: written as a whole, and never in place of foreign files.

use crate::support::{Place, TINY};
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

#[test]
fn new_results_replace_old_ones() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap"]);
    let before = place.read("tandem-out/tiny/result.json");
    place.done(&["run", "tiny.toml", "--seed", "9"]);
    assert_ne!(place.read("tandem-out/tiny/result.json"), before);
    assert_eq!(place.list("tandem-out/tiny"), ["report.html", "result.json", "series.csv"], "no old capture");
    assert_eq!(place.list("tandem-out"), ["tiny"]);
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
