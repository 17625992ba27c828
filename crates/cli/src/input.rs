//! Reads scenarios and the files that they name.

use crate::failure::{Failure, reason};
use scenario::{Scenario, Setting};
use std::fs;
use std::path::Path;

/// Reads a scenario with keys overridden by `--set`. Files that it names are read from its folder.
pub(crate) fn scenario(path: &Path, settings: &[Setting]) -> Result<Scenario, Failure> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read the scenario {name}: {}", reason(&error)),
        hint: "`scenarios/` holds examples, docs/reference/scenario.md describes the format".to_owned(),
    })?;
    let scenario = Scenario::parse_bytes(&name, &bytes, &files_beside(path)).map_err(Failure::Input)?;
    if settings.is_empty() { Ok(scenario) } else { apply(path, &scenario, "--set", settings) }
}

/// Applies settings, given by `option`, to a scenario.
pub(crate) fn apply(
    path: &Path,
    scenario: &Scenario,
    option: &str,
    settings: &[Setting],
) -> Result<Scenario, Failure> {
    let text = Setting::apply(settings, &scenario.source)
        .map_err(|error| Failure::Usage { message: format!("{option}: {error}"), hint: error.hint() })?;
    let given: Vec<String> = settings.iter().map(Setting::to_string).collect();
    // Diagnostics quote lines of the changed text, so its name tells it from the file.
    let name = format!("{} with {}", path.display(), given.join(" "));
    let mut read = Scenario::parse(&name, &text, &files_beside(path)).map_err(Failure::Input)?;
    if !settings.iter().any(|setting| setting.key() == "title") {
        // The default title is the name of the file, without the settings.
        read.title.clone_from(&scenario.title);
    }
    Ok(read)
}

fn files_beside(path: &Path) -> impl Fn(&str) -> Result<String, String> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    move |file: &str| fs::read_to_string(folder.join(file)).map_err(|error| reason(&error))
}

/// File name of the scenario without extension, for the folder of results.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
