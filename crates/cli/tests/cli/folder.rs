//! The folder of results: complete or not there, and never in the place of anything else.

use crate::support::{Place, TINY};
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

#[test]
fn results_take_the_place_of_results() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap"]);
    let before = place.read("tandem-out/tiny/result.json");
    place.done(&["run", "tiny.toml", "--seed", "9"]);
    assert_ne!(place.read("tandem-out/tiny/result.json"), before);
    assert_eq!(place.list("tandem-out/tiny"), ["report.html", "result.json", "series.csv"], "no old capture");
    assert_eq!(place.list("tandem-out"), ["tiny"]);
}

#[test]
fn a_folder_that_is_not_ours_is_left_alone() {
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
        let said = place.run(&["run", "tiny.toml", "--out", out]);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{out}");
        assert!(said.err.contains(why) && said.err.contains("hint"), "{out}: {}", said.err);
    }
    assert_eq!(place.read("thesis/chapter1.tex"), "years of work");
    place.done(&["run", "tiny.toml", "--out", "empty"]);
    place.done(&["run", "tiny.toml", "--out", "new/and/deep"]);
    assert_eq!(place.list("empty"), place.list("new/and/deep"));
    assert_eq!(place.list(""), ["empty", "file", "half", "lte.csv", "new", "thesis", "tiny.toml"]);
}

#[test]
fn a_note_that_somebody_put_beside_the_results_is_not_thrown_away() {
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    place.write("tandem-out/tiny/notes.txt", "mine");
    let said = place.run(&["run", "tiny.toml"]);
    assert_eq!(said.code, 1);
    insta::assert_snapshot!(said.err);
    assert_eq!(place.read("tandem-out/tiny/notes.txt"), "mine");
}

#[test]
fn a_run_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let long = TINY.replace("\"4s\"", "\"100h\"").replace("500ms\"\n\n[device]", "1h\"\n\n[device]");
    place.write("long.toml", &long);
    let mut child = place.command(&["run", "long.toml"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it is still at work");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.list(""), ["long.toml", "lte.csv", "tiny.toml"]);
}

#[test]
fn what_a_killed_run_left_long_ago_is_cleaned_away() {
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
        "one may be another run at work"
    );
}
