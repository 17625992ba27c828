//! Scenarios and the files that they name.

use crate::failure::{Failure, reason};
use scenario::{Scenario, Setting};
use std::fs;
use std::path::Path;

/// Reads a scenario with some keys [set](Setting) by `--set`; traces and profiles are looked for beside it.
pub(crate) fn scenario(path: &Path, settings: &[Setting]) -> Result<Scenario, Failure> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read the scenario {name}: {}", reason(&error)),
        hint: "`scenarios/` holds examples, docs/reference/scenario.md describes the format".to_owned(),
    })?;
    let scenario = Scenario::parse_bytes(&name, &bytes, &beside(path)).map_err(Failure::Input)?;
    if settings.is_empty() { Ok(scenario) } else { with(path, &scenario, "--set", settings) }
}

/// A scenario that was read, with some keys set by `option`.
pub(crate) fn with(
    path: &Path,
    scenario: &Scenario,
    option: &str,
    settings: &[Setting],
) -> Result<Scenario, Failure> {
    let text = Setting::apply(settings, &scenario.source)
        .map_err(|error| Failure::Usage { message: format!("{option}: {error}"), hint: error.hint() })?;
    let given: Vec<String> = settings.iter().map(Setting::to_string).collect();
    // Lines are those of the file after the change, which mostly is within one of them.
    let name = format!("{} with {}", path.display(), given.join(" "));
    let mut read = Scenario::parse(&name, &text, &beside(path)).map_err(Failure::Input)?;
    if !settings.iter().any(|setting| setting.key() == "title") {
        // Without one it goes by its file.
        read.title.clone_from(&scenario.title);
    }
    Ok(read)
}

fn beside(path: &Path) -> impl Fn(&str) -> Result<String, String> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    move |file: &str| fs::read_to_string(folder.join(file)).map_err(|error| reason(&error))
}

/// The scenario's file name without `.toml`, for a folder of results.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
