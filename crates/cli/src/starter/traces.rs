//! A new scenario from traces.

use super::{TRANSPORT, Technology, head, unique_names};
use crate::command::init::parse;
use crate::failure::{Failure, reason};
use link::TraceSummary;
use scenario::{Scenario, UsedTrace};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use units::{Bitrate, Duration};

/// Longest run of a new scenario.
const MAX_DURATION: Duration = Duration::from_secs(600);

/// The traces of one path.
struct Group {
    /// Name of the path.
    stem: String,
    /// The whole name of the files, which may tell the technology.
    whole: String,
    down: Option<String>,
    up: Option<String>,
}

/// The text of a scenario `file` with one path for each trace, or pair of traces.
///
/// # Errors
/// If a trace cannot be read, or `file` would not be a valid scenario.
pub(crate) fn from_traces(traces: &[PathBuf], file: &Path) -> Result<String, Failure> {
    for trace in traces {
        File::open(trace).map_err(|error| Failure::Unreadable {
            message: format!("cannot read the trace {}: {}", trace.display(), reason(&error)),
            hint: "paths after --traces are relative to the current directory".to_owned(),
        })?;
    }
    let groups = groups(traces, file.parent().unwrap_or(Path::new("")));
    // A first version finds problems of the traces, and their lengths and rates.
    let draft = parse(file, &text(&groups, None))?;
    let text = text(&groups, Some(&draft));
    parse(file, &text)?;
    Ok(text)
}

/// Groups traces to paths. Files with names that differ in a direction only are one path.
fn groups(traces: &[PathBuf], folder: &Path) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for trace in traces {
        let name = trace.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut words: Vec<&str> = name.split(['.', '-', '_', ' ']).filter(|word| !word.is_empty()).collect();
        let direction = |word: &str| match word.to_lowercase().as_str() {
            "down" | "dl" | "downlink" => Some(true),
            "up" | "ul" | "uplink" => Some(false),
            _ => None,
        };
        let down = words.iter().find_map(|word| direction(word));
        if trace.extension().is_some_and(|extension| direction(&extension.to_string_lossy()).is_none()) {
            words.pop();
        }
        words.retain(|word| direction(word).is_none());
        let stem = words.join("-");
        let path = relative(trace, folder);
        let is_down = down.unwrap_or(true);
        let slot = |group: &Group| if is_down { group.down.is_none() } else { group.up.is_none() };
        let known = groups.iter_mut().find(|group| down.is_some() && group.stem == stem && slot(group));
        match known {
            Some(group) if is_down => group.down = Some(path),
            Some(group) => group.up = Some(path),
            None if is_down => groups.push(Group { whole: stem.clone(), stem, down: Some(path), up: None }),
            None => groups.push(Group { whole: stem.clone(), stem, down: None, up: Some(path) }),
        }
    }
    remove_common_words(&mut groups);
    groups
}

/// Removes the first words of the names that all share: `walk-wifi`, `walk-lte` become `wifi`, `lte`.
fn remove_common_words(groups: &mut [Group]) {
    while groups.len() > 1 {
        let Some((first, _)) = groups[0].stem.split_once('-') else { return };
        let prefix = format!("{first}-");
        if !groups.iter().all(|group| group.stem.len() > prefix.len() && group.stem.starts_with(&prefix)) {
            return;
        }
        for group in groups.iter_mut() {
            group.stem.drain(..prefix.len());
        }
    }
}

/// The path of `file` as seen from `folder`.
fn relative(file: &Path, folder: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if file.is_absolute() {
        return file.display().to_string();
    }
    let here = absolute(Path::new("."));
    let folder = if folder.as_os_str().is_empty() { here } else { absolute(folder) };
    let target = absolute(file);
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (folder.components().collect(), target.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut path = PathBuf::new();
    path.extend(from[common..].iter().map(|_| ".."));
    path.extend(&to[common..]);
    path.display().to_string()
}

/// The scenario; `draft` is an earlier version of it with the figures of the traces.
fn text(groups: &[Group], draft: Option<&Scenario>) -> String {
    let used = |name: &str, down: bool| -> Option<&UsedTrace> {
        draft?.traces.iter().find(|trace| trace.path == name && trace.down == down)
    };
    let names = unique_names(&groups.iter().map(|group| group.stem.clone()).collect::<Vec<_>>());
    let length = draft.and_then(|draft| draft.traces.iter().map(|trace| trace.summary.length).min());
    let length = length.unwrap_or(Duration::from_secs(10));
    let seconds = length.min(MAX_DURATION).as_secs_f64().floor().max(1.0);
    let mut text = String::new();
    let duration = if length > MAX_DURATION {
        format!("duration = \"{seconds}s\"          # the traces are longer")
    } else {
        format!("duration = \"{seconds}s\"          # as long as the shortest trace")
    };
    head(&mut text, "Written by `tandem init --traces`.", &duration);
    for (index, (group, name)) in groups.iter().zip(&names).enumerate() {
        let technology = Technology::of(&group.whole, index);
        let _ = write!(
            text,
            "\n[[path]]\nname = \"{name}\"\nradio = \"{}\"   # assumed; `tandem profiles` lists others\n",
            technology.radio
        );
        text.push_str("# delay assumed: half of the round-trip time that `ping` shows\n");
        let figures = |down: bool| used(name, down).map(|trace| &trace.summary);
        write_direction(
            &mut text,
            "down",
            group.down.as_deref(),
            technology.delay,
            [figures(true), figures(false)],
        );
        write_direction(
            &mut text,
            "up",
            group.up.as_deref(),
            technology.delay,
            [figures(false), figures(true)],
        );
    }
    text.push_str(TRANSPORT);
    text.push_str(
        "\n[[traffic]]\nkind = \"bulk\"               # assumed; also file, cbr, on-off, vbr, video\ndirection = \"down\"\n",
    );
    text
}

/// One direction of a path, with the figures of its trace, and of the trace in the other direction.
fn write_direction(
    text: &mut String,
    key: &str,
    trace: Option<&str>,
    delay: &str,
    [own, other]: [Option<&TraceSummary>; 2],
) {
    let Some(trace) = trace else {
        let (share, of) =
            if key == "up" { (0.5, "half of the mean down") } else { (2.0, "twice the mean up") };
        let rate = other.map_or(5.0, |other| (other.mean.as_mbps() * share).max(0.1));
        let rate = tidy(rate);
        let _ = writeln!(text, "{key} = {{ rate = \"{rate}Mbps\", delay = \"{delay}\" }}   # assumed: {of}");
        return;
    };
    if let Some(own) = own {
        let (mean, p5, p95) = (mbps(own.mean), mbps(own.p5), mbps(own.p95));
        let _ = writeln!(
            text,
            "# trace of {}: mean {mean}, 5 % of the time below {p5}, 5 % above {p95}",
            own.length
        );
    }
    let _ = writeln!(text, "{key} = {{ trace = {}, delay = \"{delay}\" }}", toml_string(trace));
}

fn mbps(rate: Bitrate) -> String {
    format!("{} Mbit/s", tidy(rate.as_mbps()))
}

/// A number with two significant digits below ten, one decimal above.
fn tidy(value: f64) -> String {
    let text = if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A TOML string, in the quotes that need no escapes if possible.
fn toml_string(text: &str) -> String {
    let needs_escapes = |c: char| c.is_control() && c != '\t';
    if !text.contains(['"', '\\']) && !text.contains(needs_escapes) {
        format!("\"{text}\"")
    } else if !text.contains('\'') && !text.contains(needs_escapes) {
        format!("'{text}'")
    } else {
        let escaped = |c: char| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        };
        format!("\"{}\"", text.chars().map(escaped).collect::<String>())
    }
}
