//! `tandem check`.

mod report;

use super::{agent, proxy};
use crate::arguments::{Check, FileKind, Format};
use crate::failure::{Failure, reason};
use crate::input::{self, Input};
use crate::output::{self, Terminal};
use experiments::warnings::{self, Warning, World};
use link::{TraceReading, TraceText};
use report::CheckedFile;
use scenario::Scenario;
use schema::Source;
use std::fmt::Write as _;
use std::path::Path;

pub(crate) fn run(arguments: &Check, terminal: Terminal) -> Result<(), Failure> {
    let mut files = Vec::new();
    for path in &arguments.files {
        let file = check(path, arguments.kind);
        if arguments.format == Format::Table {
            print(&file, terminal)?;
        }
        files.push(file);
    }
    match arguments.format {
        Format::Table => {}
        Format::Json => output::write(&output::pretty(&report::to_json(&files)))?,
        Format::Csv => output::write(&report::to_csv(&files))?,
    }
    let invalid = files.iter().filter(|file| file.result.is_err()).count();
    if invalid == 0 {
        return Ok(());
    }
    if files.len() > 1 && arguments.format == Format::Table {
        terminal.note(&format!("{invalid} of {} files are invalid", files.len()));
    }
    Err(Failure::Reported { code: 3 })
}

/// Prints the result for people: a line on stdout, or the problems on stderr.
fn print(file: &CheckedFile, terminal: Terminal) -> Result<(), Failure> {
    terminal.warn(&file.warnings);
    match &file.result {
        Ok(facts) => output::write(&format!("{}: {facts}\n", file.name)),
        Err(failure) => {
            terminal.report(failure);
            Ok(())
        }
    }
}

/// Reads a file once, because it may be a pipe, and checks it.
fn check(path: &Path, kind: Option<FileKind>) -> CheckedFile {
    let name = input::shown(path);
    let mut file =
        CheckedFile { name, kind, text: String::new(), result: Ok(String::new()), warnings: Vec::new() };
    file.result = read(path, &file.name).and_then(|bytes| {
        file.text = String::from_utf8_lossy(&bytes).into_owned();
        let text = schema::utf8(&file.name, &bytes).map_err(Failure::Input)?;
        let kind = kind.unwrap_or_else(|| kind_of(&file.name, text));
        file.kind = Some(kind);
        check_text(path, text, kind, &mut file.warnings)
    });
    file
}

fn read(path: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    let bytes = input::read(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read {name}: {}", reason(&error)),
        hint: "name a file; `tandem init` writes a scenario".to_owned(),
    })?;
    if capture::is_capture(&bytes) {
        return Err(Failure::Unreadable {
            message: format!("{name} is a capture"),
            hint: format!("`tandem capture {}` analyses it", path.display()),
        });
    }
    Ok(bytes)
}

/// Checks the content of one file and describes it in a line.
fn check_text(
    path: &Path,
    text: &str,
    kind: FileKind,
    warnings: &mut Vec<Warning>,
) -> Result<String, Failure> {
    let name = &input::shown(path);
    match kind {
        FileKind::Scenario => {
            let scenario = Input::new(path, text.as_bytes().to_vec()).of_several_devices().scenario(&[])?;
            *warnings = match &scenario.crowd {
                Some(crowd) => warnings::of_crowd(crowd, &crowd.draw(scenario.experiment.seed)),
                None => warnings::of(&scenario.experiment, World::Simulation),
            };
            Ok(format!("valid scenario: {}", facts(&scenario)))
        }
        FileKind::Agent => {
            let config = agent::parse(path, text.as_bytes())?;
            Ok(format!("valid configuration of the agent: {}", counted(config.interfaces.len(), "interface")))
        }
        FileKind::Proxy => check_proxy(path, text),
        FileKind::Profile => {
            let profile = radio::Profile::from_toml(name, text).map_err(Failure::Input)?;
            let stages = counted(profile.tail.len(), "tail stage");
            Ok(format!("valid radio profile: {}, {} active, {stages}", profile.kind, profile.active))
        }
        FileKind::Manifest => check_mpd(name, text),
        FileKind::Sizes => check_sizes(name, text),
        FileKind::Trace => check_trace(name, text),
    }
}

fn check_proxy(path: &Path, text: &str) -> Result<String, Failure> {
    let config = proxy::parse(path, text.as_bytes(), &|_| {})?;
    config.check().map_err(|error| Failure::Unreadable {
        message: format!("{}: {error}", input::shown(path)),
        hint: error.hint().to_owned(),
    })?;
    Ok(format!("valid configuration of the proxy: {}", counted(config.listen.len(), "listening address")))
}

/// A scenario in one line.
pub(crate) fn facts(scenario: &Scenario) -> String {
    if let Some(crowd) = &scenario.crowd {
        return facts_of_crowd(scenario, crowd);
    }
    let experiment = &scenario.experiment;
    let paths: Vec<&str> = experiment.paths.iter().map(|path| path.name.as_str()).collect();
    let connections = counted(experiment.traffic.len(), "connection");
    let mut text = format!("{} ({}), {connections}", counted(paths.len(), "path"), paths.join(", "));
    if !experiment.background.is_empty() {
        let _ = write!(text, ", {} of datagrams", counted(experiment.background.len(), "flow"));
    }
    if !scenario.traces.is_empty() {
        let _ = write!(text, ", {}", counted(scenario.traces.len(), "trace"));
    }
    text + &format!(", {}, policy {}", experiment.duration, experiment.device.policy)
}

/// A scenario of several devices in one line.
fn facts_of_crowd(scenario: &Scenario, crowd: &scenario::Crowd) -> String {
    let kind = |kind: &scenario::Kind| format!("{} {}", kind.count, kind.name);
    let kinds: Vec<String> = crowd.kinds.iter().map(kind).collect();
    let (devices, cells) =
        (counted(crowd.count(), "device"), counted(scenario.experiment.cells.len(), "cell"));
    format!("{devices} ({}), {cells}, {}", kinds.join(", "), scenario.experiment.duration)
}

fn check_mpd(name: &str, text: &str) -> Result<String, Failure> {
    // Relative addresses need a base; the segments themselves are not requested.
    let base = url::Url::parse("http://localhost/").ok();
    let presentation =
        dash::Presentation::parse(name, text, base.as_ref()).map_err(|error| Failure::Unreadable {
            message: format!("invalid manifest: {error}"),
            hint: "static MPDs with on-demand segments are supported (docs/reference/dash.md)".to_owned(),
        })?;
    Ok(format!("valid DASH manifest: {}", counted(presentation.representations.len(), "representation")))
}

fn check_sizes(name: &str, text: &str) -> Result<String, Failure> {
    let sizes = abr::Manifest::from_json(name, text).map_err(|error| {
        let span = match error.place {
            Some((line, _)) => Source::new(name, text).line_span(line),
            None => 0..0,
        };
        let mut problem = Source::new(name, text).diagnostic(span, error.message);
        problem.hint("`tandem examples film.json` prints an example");
        Failure::Input(vec![problem])
    })?;
    let (bitrates, segments) =
        (counted(sizes.bitrates().len(), "bitrate"), counted(sizes.segments(), "segment"));
    Ok(format!("valid list of segment sizes: {segments}, {bitrates}, {}", sizes.duration()))
}

fn check_trace(name: &str, text: &str) -> Result<String, Failure> {
    let reading = TraceReading::of(&TraceText::new(name, text), None).map_err(|error| {
        let source = Source::new(name, text);
        let mut problem = source.diagnostic(
            source.line_span(error.line.unwrap_or(1)),
            format!("malformed trace: found {}", error.found),
        );
        problem.expected(error.expected).hint(error.hint);
        Failure::Input(vec![problem])
    })?;
    let summary = reading.trace.summary();
    Ok(format!("valid trace: {}, {}, mean {}", reading.format, summary.length, summary.mean))
}

/// The kind that the content of a file looks like.
fn kind_of(name: &str, text: &str) -> FileKind {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('<') {
        return FileKind::Manifest;
    }
    if start.starts_with('{') && text.contains("segment_") {
        return FileKind::Sizes;
    }
    let keys: Vec<&str> = text.lines().filter_map(top_key).collect();
    let has = |names: &[&str]| keys.iter().any(|key| names.contains(key));
    if has(&["path", "traffic", "transport", "cell", "adoption"]) {
        FileKind::Scenario
    } else if has(&["interface", "connection", "interval"]) {
        FileKind::Agent
    } else if has(&["listen", "clients", "destinations", "upstream", "limits", "timeouts"]) {
        FileKind::Proxy
    } else if has(&["up_per_mbps", "down_per_mbps", "inactivity", "tail", "promotion"]) {
        FileKind::Profile
    } else if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        FileKind::Scenario
    } else {
        FileKind::Trace
    }
}

/// The key of a line that begins a table or sets a key: `path` for `[[path]]`.
fn top_key(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(header) = line.strip_prefix('[') {
        return header.trim_matches(['[', ' ']).split(['.', ']', ' ']).next();
    }
    line.split_once('=').map(|(key, _)| key.trim())
}

/// "1 path", "2 paths".
fn counted(count: usize, noun: &str) -> String {
    match (count, noun.ends_with('s')) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{count} {noun}es"),
        (_, false) => format!("{count} {noun}s"),
    }
}
