//! `tandem examples`.

use crate::arguments::{Examples, Format};
use crate::examples::{EXAMPLES, Example, ExampleFile, FILES, file_names, names};
use crate::failure::Failure;
use crate::new_file::{NewFile, write_new};
use crate::output::{self, Terminal};
use report::{Cell, Column, Row, Table};
use serde_json::json;
use std::path::Path;

pub(crate) fn run(arguments: &Examples, terminal: Terminal) -> Result<(), Failure> {
    match arguments.names.as_slice() {
        [] => list(arguments.format, terminal),
        names if arguments.copy => copy(names, arguments.to.as_deref().unwrap_or(Path::new(""))),
        [name] => match find(name)? {
            Found::Example(example) => output::write(&example.copy_text(&format!("{}.toml", example.name))),
            Found::File(file) => output::write(file.text),
        },
        _ => Err(Failure::Usage {
            message: "one example is shown at a time".to_owned(),
            hint: format!("`tandem examples --copy {}` copies several", arguments.names.join(" ")),
        }),
    }
}

enum Found {
    Example(&'static Example),
    File(&'static ExampleFile),
}

fn find(name: &str) -> Result<Found, Failure> {
    if let Some(example) = Example::named(name) {
        return Ok(Found::Example(example));
    }
    ExampleFile::named(name).map(Found::File).ok_or_else(|| unknown(name))
}

/// The failure for a name that no example has.
pub(crate) fn unknown(name: &str) -> Failure {
    let hint = match schema::suggest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`tandem examples` lists them".to_owned(),
    };
    Failure::Usage { message: format!("no example is called `{name}`"), hint }
}

fn list(format: Format, terminal: Terminal) -> Result<(), Failure> {
    let mut scenarios = Table::new("Scenarios")
        .column(Column::text("name"))
        .column(Column::text("title"))
        .column(Column::text("files"));
    for example in EXAMPLES {
        let files = file_names(example);
        let files = if files.is_empty() { Cell::empty() } else { Cell::text(files) };
        scenarios = scenarios.row(Row::new([Cell::text(example.name), Cell::text(example.title()), files]));
    }
    let mut files = Table::new("Files").column(Column::text("name")).column(Column::text("content"));
    for file in FILES {
        files = files.row(Row::new([Cell::text(file.path), Cell::text(file.about)]));
    }
    let files = files.note(
        "`tandem examples NAME` shows one, `tandem examples --copy NAME…` copies it with its files; \
         `tandem init` writes a new scenario.",
    );
    let example = |example: &Example| {
        let files: Vec<&str> = example.files().map(|file| file.path).collect();
        json!({"name": example.name, "title": example.title(), "files": files})
    };
    let json = json!({
        "kind": "examples",
        "scenarios": EXAMPLES.iter().map(example).collect::<Vec<_>>(),
        "files": FILES.iter().map(|file| json!({"name": file.path, "content": file.about})).collect::<Vec<_>>(),
    });
    output::print(terminal, format, &[scenarios.clone(), files], &json, || scenarios.to_csv())
}

fn copy(names: &[String], to: &Path) -> Result<(), Failure> {
    let mut files: Vec<NewFile> = Vec::new();
    for name in names {
        match find(name)? {
            Found::Example(example) => {
                files.extend(with_files(example, &to.join(format!("{}.toml", example.name))));
            }
            Found::File(file) => files.push(NewFile::new(to.join(file.path), file.text)),
        }
    }
    let written = write_new(&files)?;
    written.iter().try_for_each(|path| output::write(&format!("{}\n", path.display())))
}

/// A scenario as the file `path`, and the files that it names, beside it.
pub(crate) fn with_files(example: &Example, path: &Path) -> Vec<NewFile> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut files = vec![NewFile::new(path.to_owned(), example.copy_text(&name))];
    files.extend(example.files().map(|file| NewFile::new(folder.join(file.path), file.text)));
    files
}
