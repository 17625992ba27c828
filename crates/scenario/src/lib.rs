//! The scenario file: what is to be simulated, as TOML that a person writes.
//!
//! [`Scenario::parse`] turns text into a [`sim::Experiment`], or says everything that is wrong with
//! it, each [`Diagnostic`] with file, line and column, what was expected and a hint. The file's shape
//! is described once, in `format/`; reading, messages, [`schema`] and [`docs_markdown`] all come
//! from that description.
//!
//! The crate reads no file: traces and radio profiles that a scenario names come through [`Files`].

mod build;
mod diagnostic;
mod docs;
mod format;
mod node;
mod read;
mod schema;
mod shape;

pub use diagnostic::{Diagnostic, Place};
pub use docs::docs_markdown;
pub use schema::schema;

use build::Generated;
use diagnostic::{Problems, Source};
use link::Rate;
use sim::{Experiment, Hop};
use toml::de::DeTable;
use units::Seed;

/// Where a scenario's traces and profiles come from.
pub trait Files {
    /// The text of the file at `path`, as the scenario writes it: relative to the scenario's folder.
    ///
    /// # Errors
    /// Says in a few words why it cannot be read, such as "no such file".
    fn read(&self, path: &str) -> Result<String, String>;
}

impl<F: Fn(&str) -> Result<String, String>> Files for F {
    fn read(&self, path: &str) -> Result<String, String> {
        self(path)
    }
}

/// A scenario that is right.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// One line that says what it shows; the file's name where it says nothing.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// The text that it was read from.
    pub source: String,
    /// What is to be simulated.
    pub experiment: Experiment,
    generated: Vec<Generated>,
}

impl Scenario {
    /// Reads the text of a scenario; `name` is what messages call the file.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the file.
    pub fn parse(name: &str, text: &str, files: &dyn Files) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Problems::new(Source::new(name, text));
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            // A bracket that is not closed makes nonsense of all that follows it; a bad value does not.
            for error in errors {
                let local = ["must be quoted", "duplicate key", "invalid"];
                let goes_on = local.iter().any(|word| error.message().contains(word));
                syntax(&mut problems, error.span().unwrap_or(0..0), error.message());
                if !goes_on {
                    break;
                }
            }
            let mut found = problems.into_sorted();
            // One slip confuses the rest of its line, so only what comes first there is worth saying.
            found.dedup_by_key(|d| d.line);
            return Err(found);
        }
        let root = read::read_table(&format::SCENARIO, table.get_ref(), 0..0, &mut problems);
        let built = build::build(&root, &mut problems, files);
        if !problems.found.is_empty() {
            return Err(problems.into_sorted());
        }
        let title = if built.title.trim().is_empty() { file_stem(name).to_owned() } else { built.title };
        Ok(Self {
            title,
            description: built.description,
            source: text.to_owned(),
            experiment: built.experiment,
            generated: built.generated,
        })
    }

    /// Like [`parse`](Self::parse), for what a file holds before anybody knows that it is text.
    ///
    /// # Errors
    /// As `parse`; and where the bytes are not UTF-8, the first place where they are not.
    pub fn parse_bytes(name: &str, bytes: &[u8], files: &dyn Files) -> Result<Self, Vec<Diagnostic>> {
        match core::str::from_utf8(bytes) {
            Ok(text) => Self::parse(name, text, files),
            Err(error) => {
                let text = String::from_utf8_lossy(bytes);
                let mut problems = Problems::new(Source::new(name, &text));
                let at = error.valid_up_to();
                problems
                    .add(at..at + 1, format!("byte {at} of the file is not UTF-8 text"))
                    .expected("a TOML file, which is UTF-8")
                    .hint("save the file as UTF-8");
                Err(problems.into_sorted())
            }
        }
    }

    /// The experiment with another seed; channels that follow the seed are drawn anew.
    pub fn with_seed(&self, seed: Seed) -> Experiment {
        let mut experiment = self.experiment.clone();
        experiment.seed = seed;
        for drawn in &self.generated {
            let path = experiment.paths.get_mut(drawn.path);
            let hop = path.map(|path| if drawn.down { &mut path.down } else { &mut path.up });
            if let Some(Hop::Link(link)) = hop {
                link.rate = Rate::Trace(drawn.draw(seed, experiment.duration));
            }
        }
        experiment
    }
}

fn syntax(problems: &mut Problems<'_>, span: core::ops::Range<usize>, message: &str) {
    let unquoted = message.contains("string values must be quoted");
    let (message, expected) = match message.split_once(", expected ") {
        Some((message, expected)) if expected != "nothing" => (message, Some(expected)),
        Some((message, _)) => (message, None),
        None => (message, None),
    };
    let text = problems.source.text;
    let written = text.get(span.clone()).unwrap_or_default();
    let problem = problems.add(span, format!("TOML: {message}"));
    if unquoted {
        problem.message = format!("`{}` is not in quotes", read::clip(written));
        problem.expected("numbers with a unit, and all other text, in quotes");
        problem.hint(format!("write `\"{}\"`", read::clip(written)));
    } else {
        problem.expected(expected.unwrap_or("TOML")).hint("https://toml.io describes the syntax");
        if message.contains("duplicate key") {
            problem
                .expected("each key once")
                .hint("remove one of the two; a list of tables has two brackets, `[[path]]`");
        } else if message.contains("missing comma") {
            problem.hint("or the `}` of the table before is missing");
        } else if message.contains("string") {
            problem.hint("text ends on its line, with the quote that it began with");
        }
    }
}

/// The name without folders and without `.toml`.
fn file_stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file)
}
