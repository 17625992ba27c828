//! Scenarios: TOML text with the files that it names, and single keys set.

use crate::errors;
use crate::interrupt::Watch;
use crate::policies;
use crate::run::Run;
use crate::steer::{Factory, Failure};
use ::scenario::{KeptFiles, Setting};
use experiments::run::{Settings, simulate};
use policy::PolicyConfig;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use units::Seed;

/// A policy by its written form, or a `tandem_mptcp._factories.Factory`.
#[derive(FromPyObject)]
enum PolicyArgument {
    Name(String),
    Factory(Py<PyAny>),
}

/// A valid scenario, which never changes.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct Scenario {
    name: String,
    folder: PathBuf,
    files: BTreeMap<String, String>,
    /// Keys that were set, in their order.
    settings: Vec<Setting>,
    inner: ::scenario::Scenario,
}

#[pymethods]
impl Scenario {
    /// Reads the bytes of a scenario. `name` is its name in messages, `files` has the contents of
    /// files that it names; others are read from `folder`. `title` replaces the scenario's. `settings`
    /// are the keys and values that were set in it.
    #[new]
    #[pyo3(signature = (name, toml, folder, files, title=None, settings=Vec::new()))]
    fn new(
        name: String,
        toml: &[u8],
        folder: PathBuf,
        files: BTreeMap<String, String>,
        title: Option<String>,
        settings: Vec<(String, String)>,
    ) -> PyResult<Self> {
        // They only say where a problem comes from.
        let parsed = settings.into_iter().filter_map(|(key, value)| Setting::new(&key, &value).ok());
        Self::read(name, toml, folder, files, title, parsed.collect())
    }

    /// The scenario with a key set to a value, as TOML or as text without quotes.
    fn set(&self, key: &str, value: &str) -> PyResult<Self> {
        let fail = |error| errors::setting(errors::SET, &self.name, key, value, &error);
        let setting =
            Setting::new(key, value).and_then(|setting| setting.resolve(&self.inner.source)).map_err(fail)?;
        let title = (setting.key() != "title").then(|| self.inner.title.clone());
        let text = Setting::apply(core::slice::from_ref(&setting), &self.inner.source).map_err(fail)?;
        let settings = self.settings.iter().cloned().chain([setting]).collect();
        let (name, folder) = (self.name.clone(), self.folder.clone());
        Self::read(name, text.as_bytes(), folder, self.files.clone(), title, settings)
    }

    /// Simulates the scenario without holding the GIL. Scheduler and congestion control are each a
    /// `tandem_mptcp._factories.Factory`.
    #[allow(clippy::too_many_arguments, reason = "the arguments of `tandem_mptcp.Scenario.run`")]
    fn run(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        policy: Option<PolicyArgument>,
        progress: Option<Py<PyAny>>,
        scheduler: Option<&Bound<'_, PyAny>>,
        congestion: Option<&Bound<'_, PyAny>>,
        capture: bool,
    ) -> PyResult<Run> {
        let failure = Failure::default();
        let factory = |make: &Bound<'_, PyAny>| {
            Factory::new(make, self.inner.experiment.paths.iter().map(|path| &*path.name), &failure)
        };
        let policy: Option<PolicyConfig> = match policy {
            None => None,
            Some(PolicyArgument::Name(text)) => Some(policies::read(&text)?),
            Some(PolicyArgument::Factory(make)) => Some(factory(make.bind(py))?.into()),
        };
        let settings = Settings {
            seed: seed.map(Seed::new),
            policy,
            scheduler: scheduler.map(&factory).transpose()?.map(|one| Arc::new(one).into()),
            congestion: congestion.map(&factory).transpose()?.map(|one| Arc::new(one).into()),
            capture,
        };
        let mut watch = Watch::new(progress, failure);
        let run = py.detach(|| simulate(&self.inner, &settings, &mut |share| watch.report(share)));
        let run = run.map_err(|error| errors::policy(&error))?;
        watch.finish(py)?;
        Ok(Run::new(run.expect("a run without a failure ends")))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.inner.title
    }

    #[getter]
    fn description(&self) -> Option<&str> {
        self.inner.description.as_deref()
    }

    /// The text of the scenario, with the keys that were set.
    #[getter]
    fn toml(&self) -> &str {
        &self.inner.source
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Keys and values that were set, in their order.
    #[getter]
    fn settings(&self) -> Vec<(String, String)> {
        self.settings.iter().map(|setting| (setting.key(), setting.text().to_owned())).collect()
    }

    /// Simulated time, in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.experiment.duration.as_secs_f64()
    }

    /// Name and kind of radio of each path.
    #[getter]
    fn paths(&self) -> Vec<(&str, &'static str)> {
        let paths = self.inner.experiment.paths.iter();
        paths.map(|path| (&*path.name, path.profile.kind.as_str())).collect()
    }

    /// Contents of the files that the scenario names.
    #[getter]
    fn files(&self) -> BTreeMap<String, String> {
        self.files.clone()
    }
}

impl Scenario {
    fn read(
        name: String,
        toml: &[u8],
        folder: PathBuf,
        files: BTreeMap<String, String>,
        title: Option<String>,
        settings: Vec<Setting>,
    ) -> PyResult<Self> {
        let files = KeptFiles::new(|file: &str| experiments::files::read(&folder.join(file)), files);
        let mut inner = ::scenario::Scenario::parse_bytes(&name, toml, &files).map_err(|found| {
            errors::scenario_with(found, errors::SET, &name, &settings, &String::from_utf8_lossy(toml))
        })?;
        if let Some(title) = title {
            inner.title = title;
        }
        let files = files.into_contents();
        Ok(Self { name, folder, files, settings, inner })
    }

    /// Name of the file without folders.
    pub(crate) fn file_name(&self) -> String {
        let name = std::path::Path::new(&self.name).file_name();
        name.map_or_else(|| self.name.clone(), |name| name.to_string_lossy().into_owned())
    }

    /// Text of the scenario.
    pub(crate) fn source(&self) -> &str {
        &self.inner.source
    }

    /// Folder of the files that the scenario names.
    pub(crate) fn folder_of_files(&self) -> &std::path::Path {
        &self.folder
    }

    /// Contents of the files that the scenario names.
    pub(crate) const fn contents(&self) -> &BTreeMap<String, String> {
        &self.files
    }
}
