//! Scenarios and the files that they name.

use crate::failure::{Failure, reason};
use scenario::Scenario;
use std::fs;
use std::path::Path;

/// Reads a scenario; traces and profiles are looked for beside it.
pub(crate) fn scenario(path: &Path) -> Result<Scenario, Failure> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read the scenario {name}: {}", reason(&error)),
        hint: "`scenarios/` holds examples, docs/scenario.md describes the format".to_owned(),
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = |file: &str| fs::read_to_string(folder.join(file)).map_err(|error| reason(&error));
    Scenario::parse_bytes(&name, &bytes, &read).map_err(Failure::Input)
}

/// The scenario's file name without `.toml`, for a folder of results.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
