//! Folders of results: written as a whole, and never in place of foreign files.

use crate::support::{Place, TINY, output_of, tandem_path};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::Write;
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
fn leftovers_of_killed_runs_are_removed_and_those_of_writers_stay() {
    let place = Place::new();
    for name in [".tiny.tandem-part-old", ".tiny.tandem-part-busy", ".other.tandem-part-old"] {
        place.write(&format!("tandem-out/{name}/new/series.csv"), "half");
    }
    // Without `lost`, this is the only copy of its results.
    place.write("tandem-out/.lost.tandem-part-x/old/result.json", "{}");
    place.write("tandem-out/.file.tandem-part-x", "a user's file");
    let busy = File::open(place.path().join("tandem-out/.tiny.tandem-part-busy")).unwrap();
    flock(&busy, FlockOperation::LockExclusive).unwrap();
    // The age does not matter: a capture may take an hour to write.
    busy.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    place.done(&["run", "tiny.toml"]);
    let kept = [".file.tandem-part-x", ".lost.tandem-part-x"];
    assert_eq!(
        place.list("tandem-out"),
        [kept[0], kept[1], ".other.tandem-part-old", ".tiny.tandem-part-busy", "tiny"]
    );
    let clean = place.run(&["testbed", "--clean"]);
    assert_eq!(clean.err, "removed a partial folder of results in tandem-out\n");
    assert_eq!(place.list("tandem-out"), [kept[0], kept[1], ".tiny.tandem-part-busy", "tiny"]);
    drop(busy);
    assert_eq!(place.run(&["testbed", "--clean"]).code, 0);
    assert_eq!(place.list("tandem-out"), [kept[0], kept[1], "tiny"]);
}

#[test]
fn links_that_lead_nowhere_are_refused_before_the_run() {
    let place = Place::new();
    std::os::unix::fs::symlink("nowhere", place.path().join("dangling")).unwrap();
    // A run of 100 hours would not end here.
    place.write("long.toml", &TINY.replace("\"4s\"", "\"100h\"").replace("\"500ms\"", "\"1h\""));
    for out in ["dangling", "dangling/below"] {
        let output = place.run(&["run", "long.toml", "--out", out]);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{out}");
        let why = "dangling is a symbolic link to a directory that does not exist";
        assert!(output.err.contains(why) && output.err.contains("hint"), "{out}: {}", output.err);
    }
    fs::create_dir(place.path().join("nowhere")).unwrap();
    place.done(&["run", "tiny.toml", "--out", "dangling"]);
    assert!(place.list("nowhere").contains(&"result.json".to_owned()));
}

#[test]
fn note_on_kept_results_names_their_place_behind_a_link() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("disk/results")).unwrap();
    std::os::unix::fs::symlink("disk/results", place.path().join("link")).unwrap();
    place.done(&["run", "tiny.toml", "--out", "link"]);
    let other = place.run(&["run", "tiny.toml", "--seed", "9", "--out", "link"]);
    let kept = other.err.trim_end().rsplit(": ").next().unwrap();
    assert!(fs::exists(place.path().join(kept).join("result.json")).unwrap(), "{}", other.err);
    assert!(kept.contains("/disk/results-"), "{}", other.err);
}

#[test]
#[ignore = "needs root"]
fn needs_root_mount_point_is_refused_before_the_run() {
    let place = Place::new();
    place.write("long.toml", &TINY.replace("\"4s\"", "\"100h\"").replace("\"500ms\"", "\"1h\""));
    for mount in ["mount -t tmpfs none out", "mount --bind src out"] {
        fs::create_dir_all(place.path().join("out")).unwrap();
        fs::create_dir_all(place.path().join("src")).unwrap();
        let script = format!("{mount} && exec {} run long.toml --out out", tandem_path().display());
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).current_dir(place.path());
        let output = output_of(&mut command);
        assert_eq!(output.code, 1, "{mount}: {}", output.err);
        assert!(output.err.contains("will not replace out: it is a mount point"), "{}", output.err);
    }
}

#[test]
fn results_that_cannot_take_their_place_are_not_lost() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap", "--out", "run", "-q"]);
    let capture = fs::read(place.path().join("run/capture.pcapng")).unwrap();
    let mut command = place.command(&["capture", "-", "--out", "out"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // More than a pipe holds: when it is written, the program has planned its directory and reads.
    let (first, rest) = capture.split_at(150_000);
    pipe.write_all(first).unwrap();
    place.write("out/notes.txt", "written during the run");
    pipe.write_all(rest).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(out, place.done(&["capture", "-q", "run/capture.pcapng"]), "the figures are printed");
    assert!(err.contains("it holds `notes.txt`") && err.contains("the results are in "), "{err}");
    assert_eq!(place.list("out-new"), ["report.html", "result.json", "series.csv"]);
    assert_eq!(place.list("out"), ["notes.txt"]);
}

#[test]
#[ignore = "needs root"]
fn needs_root_full_disk_loses_no_figure() {
    let place = Place::new();
    fs::create_dir(place.path().join("small")).unwrap();
    let run = format!("exec {} run tiny.toml --out small/out", tandem_path().display());
    let script = format!("mount -t tmpfs -o size=64k none small && {run}");
    let mut command = std::process::Command::new("unshare");
    let output = output_of(command.args(["--mount", "sh", "-c", &script]).current_dir(place.path()));
    assert_eq!(output.code, 1);
    assert!(output.err.contains("cannot write small/out: the disk is full"), "{}", output.err);
    assert_eq!(output.out, place.done(&["run", "tiny.toml"]), "the figures are printed");
}
