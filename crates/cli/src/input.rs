//! Reads scenarios and the files that they name.

use crate::failure::{Failure, reason};
use experiments::files::{read_bytes, read_to_end};
use experiments::setting_place::show_in_settings;
use scenario::{Diagnostic, Scenario, Setting};
use std::io;
use std::path::{Component, Path, PathBuf};
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
    /// Name in a comparison of several scenarios.
    label: String,
    bytes: Vec<u8>,
    /// Whether the command takes scenarios of several devices.
    takes_several: bool,
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
    if is_stdin(path) { read_to_end(io::stdin()) } else { read_bytes(path) }
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

    /// A scenario with the content of `path`.
    pub(crate) fn new(path: &Path, bytes: Vec<u8>) -> Self {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let label = stem(&file).to_owned();
        Self { shown: shown(path), file, folder, label, bytes, takes_several: false }
    }

    /// Accepts scenarios of several devices.
    pub(crate) fn of_several_devices(self) -> Self {
        Self { takes_several: true, ..self }
    }

    /// Reads the scenarios of a comparison. Different files of the same name get labels and names
    /// with as many parent folders as tell them apart.
    pub(crate) fn read_all(paths: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        let mut inputs: Vec<Self> = paths.iter().map(|path| Self::read(path)).collect::<Result<_, _>>()?;
        let names: Vec<Vec<String>> = inputs.iter().map(Self::names_with_folders).collect();
        for (index, input) in inputs.iter_mut().enumerate() {
            let same: Vec<usize> = (0..names.len())
                .filter(|&other| other != index && stem(&names[other][0]) == stem(&names[index][0]))
                .collect();
            let is_longest = |name: &String| names[index].last() == Some(name);
            let differs = |name: &&String| {
                let depth = name.matches('/').count();
                same.iter().all(|&other| {
                    let longest = names[other].last();
                    let is_equal = names[other].get(depth).or(longest) == Some(*name);
                    !is_equal || (is_longest(name) && longest != Some(*name))
                })
            };
            if !same.is_empty()
                && let Some(name) = names[index].iter().find(differs)
            {
                input.label = match name.rsplit_once('/') {
                    Some((folder, file)) => format!("{folder}/{}", stem(file)),
                    None => name.clone(),
                };
                input.file.clone_from(name);
            }
        }
        Ok(inputs)
    }

    /// The name of the file alone, with its folder, and with each further folder.
    fn names_with_folders(&self) -> Vec<String> {
        let mut folders: Vec<String> = self
            .folder
            .components()
            .filter(|one| *one != Component::CurDir)
            .map(|one| one.as_os_str().to_string_lossy().into_owned())
            .collect();
        if folders.is_empty() {
            folders.push(".".to_owned());
        }
        let mut names = vec![self.file.clone()];
        for folder in folders.iter().rev() {
            names.push(format!("{}/{}", folder.trim_end_matches('/'), names[names.len() - 1]));
        }
        names
    }

    /// Name in a comparison of several scenarios.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// File name without extension, for the folder of results.
    pub(crate) fn stem(&self) -> &str {
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        stem(file)
    }

    /// Content of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Parses the scenario with keys overridden by `--set`.
    pub(crate) fn scenario(&self, settings: &[Setting]) -> Result<Scenario, Failure> {
        match schema::utf8(&self.shown, &self.bytes).and_then(|text| self.parse(text)) {
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
        self.parse(&text).ok()
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
        let mut read = self
            .parse(&text)
            .map_err(|found| Failure::Input(show_in_settings(found, option, &self.shown, settings, &text)))?;
        if !settings.iter().any(|setting| setting.key() == "title") {
            // The default title is the name of the file, without the settings.
            read.title.clone_from(&scenario.title);
        }
        Ok(read)
    }

    fn parse(&self, text: &str) -> Result<Scenario, Vec<Diagnostic>> {
        let parse = if self.takes_several { Scenario::parse_any } else { Scenario::parse };
        parse(&self.shown, text, &self.files())
    }

    fn files(&self) -> impl Fn(&str) -> Result<String, String> + use<> {
        files_in(&self.folder)
    }
}

/// Name of a file without its extension.
fn stem(file: &str) -> &str {
    match file {
        "-" => "stdin",
        file => file.rsplit_once('.').map_or(file, |(stem, _)| stem),
    }
}

/// Reads files that a scenario in `folder` names.
pub(crate) fn files_in(folder: &Path) -> impl Fn(&str) -> Result<String, String> + use<> {
    let folder = folder.to_owned();
    move |file: &str| experiments::files::read(&folder.join(file))
}
