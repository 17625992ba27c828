//! `tandem init`.

use super::check::facts;
use super::examples::{unknown, with_files};
use crate::arguments::Init;
use crate::examples::Example;
use crate::failure::Failure;
use crate::new_file::{NewFile, write_new};
use crate::output::{self, Terminal};
use crate::starter;
use scenario::Scenario;
use std::path::{Component, Path, PathBuf};

pub(crate) fn run(arguments: &Init, terminal: Terminal) -> Result<(), Failure> {
    let file = &arguments.file;
    let files = if let Some(capture) = &arguments.capture {
        vec![NewFile::new(file.clone(), starter::from_capture(capture, file)?)]
    } else if arguments.traces.is_empty() {
        let example = Example::named(&arguments.from).ok_or_else(|| unknown(&arguments.from))?;
        with_files(example, file)
    } else {
        vec![NewFile::new(file.clone(), starter::from_traces(&arguments.traces, file)?)]
    };
    let written = write_new(&files)?;
    if written.is_empty() {
        terminal.note(&format!("{} has this content already", file.display()));
    }
    let scenario = check(file)?;
    for path in written {
        output::write(&format!("wrote {}\n", path.display()))?;
    }
    output::write(&format!("{}: {}\n", file.display(), facts(&scenario)))?;
    terminal.note(&format!("next: edit it, then `tandem check {0}` and `tandem run {0}`", file.display()));
    Ok(())
}

/// Reads the written scenario as `tandem run` will.
fn check(file: &Path) -> Result<Scenario, Failure> {
    crate::input::Input::read(file)?.scenario(&[])
}

/// Parses a new scenario before it is written to `file`.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Scenario, Failure> {
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let files = move |named: &str| {
        // The folder may not exist yet, so that `folder/..` cannot be opened.
        let path = without_parents(&folder.join(named));
        experiments::files::read(&path)
    };
    Scenario::parse(&file.display().to_string(), text, &files).map_err(Failure::Input)
}

/// The path with `folder/..` left out.
fn without_parents(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for component in path.components() {
        let is_in_folder = matches!(short.components().next_back(), Some(Component::Normal(_)));
        if component == Component::ParentDir && is_in_folder {
            short.pop();
        } else {
            short.push(component);
        }
    }
    short
}
