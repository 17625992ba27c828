//! `tandem run` with the shipped scenarios.

use crate::support::{Place, repository};
use std::fs;

#[test]
fn shipped_scenarios_run() {
    let place = Place::new();
    let mut ran = 0;
    for entry in fs::read_dir(repository().join("scenarios")).expect("the scenarios are here") {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let out = path.file_stem().unwrap().to_str().unwrap();
        let mut arguments = vec!["run", path.to_str().unwrap(), "--out", out];
        if ["bus", "cafe", "stadium"].contains(&out) {
            arguments.extend(["--duration", "4s"]);
        }
        let output = place.run(&arguments);
        assert_eq!(output.code, 0, "{out}: {}", output.err);
        assert!(!output.err.contains("warning:"), "{out}: {}", output.err);
        assert_eq!(place.list(out), ["report.html", "result.json", "series.csv"]);
        ran += 1;
    }
    assert!(ran >= 8, "only {ran} scenarios");
}
