//! Reads scenarios and the files that they name.

use crate::failure::{Failure, reason};
use crate::setting_place::show_in_settings;
use scenario::{Scenario, Setting};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use units::Duration;

/// The setting with its whole key.
pub(crate) fn resolve(setting: &Setting, scenario: &Scenario, option: &str) -> Result<Setting, Failure> {
    setting
        .resolve(&scenario.source)
        .map_err(|error| Failure::Usage { message: format!("{option}: {error}"), hint: error.hint() })
}

/// A scenario file as it was read, before settings are applied.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// Path as given, for messages.
    shown: String,
    /// File name without folders.
    pub(crate) file: String,
    /// Folder of the files that the scenario names.
    folder: PathBuf,
    bytes: Vec<u8>,
}

/// Whether a path stands for the standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Name of an input for messages.
pub(crate) fn shown(path: &Path) -> String {
    if is_stdin(path) { "the standard input".to_owned() } else { path.display().to_string() }
}

/// Content of a file, or of the standard input for `-`.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !is_stdin(path) {
        return fs::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Input {
    /// Reads a scenario file; `-` is the standard input, with files named from the current folder.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = shown(path);
        let bytes = read(path).map_err(|error| Failure::Unreadable {
            message: format!("cannot read the scenario {shown}: {}", reason(&error)),
            hint: "`tandem examples` lists scenarios to start from, `tandem init` writes one".to_owned(),
        })?;
        Ok(Self::new(path, bytes))
    }

    /// A scenario whose content was read from `path`.
    pub(crate) fn new(path: &Path, bytes: Vec<u8>) -> Self {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self { shown: shown(path), file, folder, bytes }
    }

    /// File name without extension, for the folder of results.
    pub(crate) fn stem(&self) -> &str {
        match self.file.as_str() {
            "-" => "stdin",
            file => file.rsplit_once('.').map_or(file, |(stem, _)| stem),
        }
    }

    /// Content of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Parses the scenario with keys overridden by `--set`.
    pub(crate) fn scenario(&self, settings: &[Setting]) -> Result<Scenario, Failure> {
        match Scenario::parse_bytes(&self.shown, &self.bytes, &self.files()) {
            Ok(scenario) if settings.is_empty() => Ok(scenario),
            Ok(scenario) => {
                let whole = settings.iter().map(|setting| resolve(setting, &scenario, "--set"));
                self.apply(&scenario, "--set", &whole.collect::<Result<Vec<_>, _>>()?)
            }
            // Settings may add a missing key, such as the format of a trace.
            Err(problems) => self.corrected(settings).ok_or(Failure::Input(problems)),
        }
    }

    /// Like [`scenario`](Self::scenario), also with the duration overridden by `--duration`.
    pub(crate) fn scenario_of(
        &self,
        settings: &[Setting],
        duration: Option<Duration>,
    ) -> Result<Scenario, Failure> {
        let scenario = self.scenario(settings)?;
        let Some(duration) = duration else { return Ok(scenario) };
        let setting = Setting::new("duration", &duration.to_string()).map_err(|error| Failure::Usage {
            message: format!("--duration: {error}"),
            hint: error.hint(),
        })?;
        self.apply(&scenario, "--duration", &[setting])
    }

    /// Folder of the files that the scenario names.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The scenario of a file with problems, if the settings correct them.
    fn corrected(&self, settings: &[Setting]) -> Option<Scenario> {
        let text = Setting::apply(settings, std::str::from_utf8(&self.bytes).ok()?).ok()?;
        Scenario::parse(&self.shown, &text, &self.files()).ok()
    }

    /// Applies settings, given by `option`, to a scenario.
    pub(crate) fn apply(
        &self,
        scenario: &Scenario,
        option: &str,
        settings: &[Setting],
    ) -> Result<Scenario, Failure> {
        let text = Setting::apply(settings, &scenario.source)
            .map_err(|error| Failure::Usage { message: format!("{option}: {error}"), hint: error.hint() })?;
        let mut read = Scenario::parse(&self.shown, &text, &self.files())
            .map_err(|found| Failure::Input(show_in_settings(found, option, &self.shown, settings, &text)))?;
        if !settings.iter().any(|setting| setting.key() == "title") {
            // The default title is the name of the file, without the settings.
            read.title.clone_from(&scenario.title);
        }
        Ok(read)
    }

    fn files(&self) -> impl Fn(&str) -> Result<String, String> + use<> {
        files_in(&self.folder)
    }
}

/// Reads files that a scenario in `folder` names.
pub(crate) fn files_in(folder: &Path) -> impl Fn(&str) -> Result<String, String> + use<> {
    let folder = folder.to_owned();
    move |file: &str| fs::read_to_string(folder.join(file)).map_err(|error| reason(&error))
}
