//! Figures of the kernel from an earlier comparison (`result.json`).

use super::{Case, Measurements};
use serde::Deserialize;

/// The kernel's side of an earlier comparison.
#[derive(Debug, Clone, Deserialize)]
pub struct Recorded {
    /// Kernel release.
    #[serde(rename = "kernel")]
    pub release: String,
    /// Runs of each scenario.
    #[serde(rename = "kernel_runs")]
    pub runs: u64,
    cases: Vec<RecordedCase>,
}

#[derive(Debug, Clone, Deserialize)]
struct RecordedCase {
    name: String,
    scenario: String,
    /// Files that the scenario names, and the SHA-256 of each.
    #[serde(default)]
    files: Vec<(String, String)>,
    kernel: Measurements,
}

impl Recorded {
    /// Reads the text of a `result.json`.
    ///
    /// # Errors
    /// Names the missing or invalid part, and its place.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Figures of a scenario; `None` unless exactly this scenario ran.
    pub fn figures(&self, case: &Case) -> Option<&Measurements> {
        let same = |each: &&RecordedCase| {
            let files = each.files.iter().map(|(name, sha256)| (&**name, &**sha256));
            each.name == case.name && each.scenario == case.scenario.source && case.files().eq(files)
        };
        self.cases.iter().find(same).map(|each| &each.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CaseResult, Fidelity, cases};
    use super::*;
    use scenario::InputFile;

    fn measured(goodput_mbps: f64, completed_s: f64) -> Measurements {
        Measurements {
            goodput_mbps,
            paths_mbps: vec![goodput_mbps],
            completed_s,
            range_mbps: [goodput_mbps, 1.2 * goodput_mbps],
        }
    }

    #[test]
    fn figures_are_those_of_the_same_scenario() {
        let [first, mut second, ..] = <[Case; 78]>::try_from(cases()).expect("78 scenarios");
        let compared = [(&first, 2.0), (&second, f64::NAN)].map(|(case, completed_s)| CaseResult {
            case: case.clone(),
            simulated: measured(1.0, f64::NAN),
            kernel: measured(3.0, completed_s),
        });
        let fidelity = Fidelity { compared: compared.into(), release: "6.18".to_owned(), runs: [10, 3] };
        let recorded = Recorded::parse(&fidelity.to_json().to_string()).expect("our own JSON");
        assert_eq!((&*recorded.release, recorded.runs), ("6.18", 3));
        assert_eq!(recorded.figures(&first), Some(&measured(3.0, 2.0)));
        assert!(recorded.figures(&second).is_some_and(|figures| figures.completed_s.is_nan()));
        let mut other_trace = second.clone();
        other_trace.scenario.files.push(InputFile::new("wifi.csv", b"1"));
        assert_eq!(recorded.figures(&other_trace), None);
        second.scenario.source.push(' ');
        assert_eq!(recorded.figures(&second), None);
    }

    #[test]
    fn other_json_is_refused_with_the_missing_member() {
        let error = Recorded::parse("{\"kernel\": \"6.18\", \"kernel_runs\": 1}").expect_err("no cases");
        assert!(error.contains("missing field `cases`"), "{error}");
    }
}
