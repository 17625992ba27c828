//! Every shipped scenario runs.

use crate::support::{Place, repository};
use std::fs;

#[test]
fn every_shipped_scenario_runs() {
    let place = Place::new();
    let mut ran = 0;
    for entry in fs::read_dir(repository().join("scenarios")).expect("the scenarios are here") {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let out = path.file_stem().unwrap().to_str().unwrap();
        let said = place.run(&["run", path.to_str().unwrap(), "--out", out]);
        assert_eq!(said.code, 0, "{out}: {}", said.err);
        assert_eq!(place.list(out), ["report.html", "result.json", "series.csv"]);
        ran += 1;
    }
    assert!(ran >= 8, "only {ran} scenarios");
}
