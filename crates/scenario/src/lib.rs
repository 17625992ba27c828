//! Reads scenario files: TOML descriptions of simulations.
//!
//! [`Scenario::parse`] turns text into a [`sim::Experiment`], or returns a [`Diagnostic`] for every
//! problem, with file, line, column, expectation and hint. The module `format` describes the keys
//! for the crate [`schema`]; reader, messages, [`json_schema`] and [`docs_markdown`] follow from
//! it. The crate opens no file: traces and radio profiles come through [`Files`].

mod build;
mod crowd;
mod docs;
mod files;
mod format;
mod setting;
mod short_key;
mod used_trace;
mod varied;

pub use crowd::{Crowd, Kind};
pub use docs::docs_markdown;
pub use files::{Files, InputFile, KeptFiles};
pub use schema::{Diagnostic, Place};
pub use setting::{Setting, SettingError, SettingSpans};
pub use used_trace::{UsedTrace, trace_diagnostic};

use build::Generated;
use files::Recorder;
use link::Rate;
use sim::{Experiment, Hop};
use units::Seed;

/// A valid scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Title; the name of the file if the scenario has none.
    pub title: String,
    /// Longer description.
    pub description: Option<String>,
    /// The text of the file.
    pub source: String,
    /// The simulation.
    pub experiment: Experiment,
    /// The trace files, in the order of the paths, down before up, as with the scenario's seed.
    pub traces: Vec<UsedTrace>,
    /// Files that the scenario names, in the order of their first use.
    pub files: Vec<InputFile>,
    /// The devices, if there are several; `experiment` is then that of the first kind.
    pub crowd: Option<Crowd>,
    generated: Vec<Generated>,
}

impl Scenario {
    /// Whether channel models generate rates of its paths.
    pub fn has_channel_models(&self) -> bool {
        !self.generated.is_empty()
    }

    /// Reads the text of a scenario of one device; `name` is the name of the file in messages.
    ///
    /// # Errors
    /// Every problem, in the order of the file. A scenario of several devices is a problem.
    pub fn parse(name: &str, text: &str, files: &dyn Files) -> Result<Self, Vec<Diagnostic>> {
        Self::read(name, text, files, false)
    }

    /// Reads the text of a scenario of one or several devices.
    ///
    /// # Errors
    /// Every problem, in the order of the file.
    pub fn parse_any(name: &str, text: &str, files: &dyn Files) -> Result<Self, Vec<Diagnostic>> {
        Self::read(name, text, files, true)
    }

    fn read(name: &str, text: &str, files: &dyn Files, takes_several: bool) -> Result<Self, Vec<Diagnostic>> {
        let recorder = Recorder::new(files);
        let tables = [&format::SCENARIO, &format::CROWD];
        let built = schema::read_one_or_several((name, text), "device", tables, |root, problems| {
            if !takes_several && core::ptr::eq(root.table, &raw const format::CROWD) {
                crowd::refuse(root, problems);
            }
            build::build(root, problems, &recorder)
        })?;
        let title = if built.title.trim().is_empty() { file_stem(name).to_owned() } else { built.title };
        Ok(Self {
            title,
            description: built.description,
            source: text.to_owned(),
            experiment: built.experiment,
            traces: built.traces,
            files: recorder.into_files(),
            generated: built.generated,
            crowd: built.crowd,
        })
    }

    /// Like [`parse`](Self::parse), for the bytes of a file.
    ///
    /// # Errors
    /// As `parse`; also the first byte that is not UTF-8.
    pub fn parse_bytes(name: &str, bytes: &[u8], files: &dyn Files) -> Result<Self, Vec<Diagnostic>> {
        Self::parse(name, schema::utf8(name, bytes)?, files)
    }

    /// The experiment with another seed. Channels and starts of traces that follow the seed are drawn
    /// again.
    pub fn with_seed(&self, seed: Seed) -> Experiment {
        let mut experiment = self.experiment.clone();
        experiment.seed = seed;
        for channel in &self.generated {
            let path = experiment.paths.get_mut(channel.path);
            let hop = path.map(|path| if channel.down { &mut path.down } else { &mut path.up });
            if let Some(Hop::Link(link)) = hop {
                link.rate = Rate::Trace(channel.draw(seed, experiment.duration));
            }
        }
        experiment
    }

    /// The trace files in a run with this seed.
    pub fn traces_with_seed(&self, seed: Seed) -> Vec<UsedTrace> {
        if self.crowd.is_some() {
            return self.traces.clone();
        }
        self.traces.iter().map(|trace| trace.with_seed(seed)).collect()
    }
}

/// The JSON Schema (draft 2020-12) of a scenario file.
///
/// It covers single values. Rules about several keys, such as a path over a cell that does not
/// exist, are left to [`Scenario::parse`].
pub fn json_schema() -> serde_json::Value {
    schema::json_schema_one_or_several("device", [&format::SCENARIO, &format::CROWD], "Tandem scenario")
}

/// The name without folders and extension.
fn file_stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file)
}
