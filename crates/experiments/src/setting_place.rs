//! Diagnostics of a scenario with settings, as seen by the user: a problem in the value or the key
//! of a setting is shown in `KEY=VALUE`, and its hints name the whole key.

use scenario::{Diagnostic, Setting, SettingSpans};
use schema::Source;
use std::ops::Range;
use std::path::Path;

/// Replaces positions in the changed text by positions in the settings. `option`, such as `--set`,
/// becomes the file of a problem in a setting; `name` is the scenario's in the diagnostics.
pub fn show_in_settings(
    found: Vec<Diagnostic>,
    option: &str,
    name: &str,
    settings: &[Setting],
    text: &str,
) -> Vec<Diagnostic> {
    let located: Vec<(&Setting, SettingSpans)> =
        settings.iter().filter_map(|setting| Some((setting, setting.locate(text)?))).collect();
    let source = Source::new(name, text);
    let given: Vec<String> = settings.iter().map(Setting::to_string).collect();
    let changed = format!("{name} with {option} {}", given.join(" "));
    let show = |mut problem: Diagnostic| {
        if problem.file == name {
            match located.iter().rev().find_map(|(setting, spans)| place(setting, spans, &problem)) {
                Some((setting, span)) => move_to(&mut problem, option, setting, span),
                None => problem.file.clone_from(&changed),
            }
        }
        if let Some(place) = problem.referenced_at.as_mut().filter(|place| place.file == name) {
            let is_in = |spans: &SettingSpans| {
                let (line, column) = source.locate(spans.value.start);
                let (last, end) = source.locate(spans.value.end);
                (line, column) <= (place.line, place.column) && (place.line, place.column) < (last, end)
            };
            match located.iter().rev().find(|(_, spans)| is_in(spans)) {
                Some((setting, _)) => {
                    place.file = format!("{option} {setting}");
                    (place.line, place.column) = (1, setting.key().chars().count() + 2);
                }
                None => place.file.clone_from(&changed),
            }
        }
        problem
    };
    found.into_iter().map(show).collect()
}

/// The bytes of `KEY=VALUE` at which a problem is, if it is in this setting.
fn place<'s>(
    setting: &'s Setting,
    spans: &SettingSpans,
    problem: &Diagnostic,
) -> Option<(&'s Setting, Range<usize>)> {
    let key = setting.key();
    let at = &problem.span;
    let value = &spans.value;
    if value.start <= at.start && at.start < value.end.max(value.start + 1) {
        // The value of a setting has no quotes that TOML needs.
        let quote = usize::from(problem.line_text.len() >= at.len() && is_quoted(setting, value));
        let from = key.len() + 1 + (at.start - value.start).saturating_sub(quote);
        let whole = at.len() >= value.len();
        let to = if whole { usize::MAX } else { from + at.len() };
        return Some((setting, from..to));
    }
    let is_unknown = problem.message.starts_with("unknown key");
    let index = spans.keys.iter().position(|span| span.start <= at.start && at.start < span.end)?;
    let is_last = index + 1 == spans.keys.len();
    if !(is_last || is_unknown) {
        return None;
    }
    let end = if is_last { key.len() } else { key.find('.').unwrap_or(key.len()) };
    let start = if is_last { key.rfind('.').map_or(0, |dot| dot + 1) } else { 0 };
    Some((setting, start..end))
}

/// True if the value got quotes when it was put into the text.
fn is_quoted(setting: &Setting, value: &Range<usize>) -> bool {
    value.len() == setting.text().len() + 2
}

fn move_to(problem: &mut Diagnostic, option: &str, setting: &Setting, span: Range<usize>) {
    let text = setting.to_string();
    let (start, end) = (span.start.min(text.len()), span.end.min(text.len()));
    problem.hint = problem.hint.take().map(|hint| whole_keys(&hint, setting, problem, option));
    option.clone_into(&mut problem.file);
    problem.line = 1;
    problem.column = text.get(..start).map_or(1, |before| before.chars().count() + 1);
    problem.span = start..end.max(start);
    problem.line_text = text;
}

/// The hint with `key = "value"` written as `path.to.key=value`.
fn whole_keys(hint: &str, setting: &Setting, problem: &Diagnostic, option: &str) -> String {
    if problem.message.starts_with("cannot read `")
        && let Some(path) = problem.message.split('`').nth(1)
        && Path::new(path).exists()
        && let Ok(path) = std::path::absolute(path)
    {
        let key = setting.key();
        return format!(
            "paths are relative to the folder of the scenario: `{option} {key}={}`",
            path.display()
        );
    }
    let key = setting.key();
    if problem.message.starts_with("unknown key") {
        // The unknown key is the last part, or the first of a table that does not exist.
        let (before, after) = if problem.message.contains(&format!("`{}`", setting.name())) {
            (key.rfind('.').map_or("", |dot| &key[..=dot]), "")
        } else {
            ("", key.find('.').map_or("", |dot| &key[dot..]))
        };
        let part = |(i, part): (usize, &str)| match i % 2 {
            1 => format!("`{before}{part}{after}`"),
            _ => part.to_owned(),
        };
        return hint.split('`').enumerate().map(part).collect();
    }
    let parent = key.rfind('.').map_or("", |dot| &key[..=dot]);
    let part = |(i, part): (usize, &str)| match (i % 2, part.split_once(" = ")) {
        (1, Some((name, value))) => {
            let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            format!("`{parent}{name}={}`", bare.unwrap_or(value))
        }
        (1, None) => format!("`{part}`"),
        _ => part.replace(", in quotes", ""),
    };
    hint.split('`').enumerate().map(part).collect()
}
