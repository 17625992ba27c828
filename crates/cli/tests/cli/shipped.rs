//! Every scenario that ships runs, and in seconds.

use crate::support::{Place, repository};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn every_scenario_that_ships_runs_in_seconds() {
    let place = Place::new();
    let traces = repository().join("../shared/traces").is_dir();
    let mut ran = 0;
    for entry in fs::read_dir(repository().join("scenarios")).expect("the scenarios are here") {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if text.contains("shared/traces") && !traces {
            eprintln!("skipped {}: the measured traces are not here", path.display());
            continue;
        }
        let out = path.file_stem().unwrap().to_str().unwrap();
        let start = Instant::now();
        let said = place.run(&["run", path.to_str().unwrap(), "--out", out]);
        assert_eq!(said.code, 0, "{out}: {}", said.err);
        assert!(start.elapsed() < Duration::from_secs(20), "{out} took {:?}", start.elapsed());
        assert_eq!(place.list(out), ["report.html", "result.json", "series.csv"]);
        ran += 1;
    }
    assert!(ran >= 8, "only {ran} scenarios");
}
