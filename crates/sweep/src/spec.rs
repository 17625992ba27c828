//! The description of a sweep: a value that any machine can read and run.

use crate::{Axis, SweepError};
use scenario::{Files, InputFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of Tandem. After a `+` follows a hash of the simulator's sources, if they were built from
/// the workspace: builds between two releases may simulate differently.
pub(crate) const VERSION: &str = env!("TANDEM_VERSION");

/// Number of hexadecimal digits of a sweep's id.
const ID_DIGITS: usize = 12;

/// Everything that determines the dataset of a sweep. Files are part of it, so that a worker needs
/// no file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Version of Tandem, with a hash of its sources: another one may simulate differently.
    pub tandem: String,
    /// The scenario.
    pub scenario: ScenarioText,
    /// How the points are chosen.
    pub design: Design,
    /// The keys that vary; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// Policies in place of the scenario's; empty for that one alone.
    pub policies: Vec<PolicyText>,
    /// The first seed.
    pub first_seed: u64,
    /// Number of seeds of each point.
    pub seeds: u32,
    /// Columns of the dataset after the columns of the design.
    pub outcomes: Vec<Outcome>,
}

/// A scenario with the files that it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioText {
    /// Name of the file in messages.
    pub name: String,
    /// Content of the file, with all settings that do not vary.
    pub text: String,
    /// Contents of the files that the scenario and the varied values name, by their names.
    pub files: BTreeMap<String, String>,
}

impl Files for ScenarioText {
    fn read(&self, name: &str) -> Result<String, String> {
        self.files.get(name).cloned().ok_or_else(|| "it is not part of the sweep".to_owned())
    }
}

/// Choice of the points of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Design {
    /// Every combination of the values.
    Grid,
    /// A Latin hypercube over the ranges: each of `points` equal parts of a range has one point.
    /// Every combination of the lists applies to every point.
    Lhs {
        /// Number of points.
        points: u32,
    },
}

/// A policy with the content of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyText {
    /// Name and parameters: `emtcp:mp-prio:0.4`.
    pub text: String,
    /// Content of the file that the policy names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A column of outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Name, with its unit.
    pub name: String,
    /// Type of its values.
    pub kind: Kind,
}

/// Type of a column of outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A double.
    Number,
    /// UTF-8.
    Text,
    /// True or false.
    Flag,
}

impl Spec {
    /// The description as JSON. Equal sweeps have equal bytes.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a description.
    ///
    /// # Errors
    /// Text that is not the JSON of a sweep.
    pub fn from_json(json: &str) -> Result<Self, SweepError> {
        serde_json::from_str(json).map_err(|error| {
            SweepError::invalid(
                format!("not the description of a sweep: {error}"),
                "`tandem sweep` writes it to sweep.json",
            )
        })
    }

    /// First digits of the SHA-256 of the description.
    pub fn id(&self) -> String {
        let mut digits = InputFile::new("", self.to_json().as_bytes()).sha256;
        digits.truncate(ID_DIGITS);
        digits
    }

    /// Names of the members in which another sweep differs, for messages.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let differs = [
            (self.tandem != other.tandem, "version or sources of tandem"),
            (self.scenario.name != other.scenario.name, "name of the scenario's file"),
            (self.scenario.text != other.scenario.text, "scenario"),
            (self.scenario.files != other.scenario.files, "files of the scenario"),
            (self.design != other.design, "design"),
            (self.axes != other.axes, "varied keys or values"),
            (self.policies != other.policies, "policies"),
            (self.first_seed != other.first_seed || self.seeds != other.seeds, "seeds"),
        ];
        differs.into_iter().filter_map(|(differs, name)| differs.then_some(name)).collect()
    }
}
