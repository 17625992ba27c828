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
            let place =
                |(setting, spans): &(&Setting, SettingSpans)| Place::of(&problem, setting, spans, text);
            match located.iter().rev().find_map(|one| Some((one.0, place(one)?))) {
                Some((setting, place)) => move_to(&mut problem, option, setting, &place),
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

/// Place of a problem in a setting.
struct Place {
    /// Bytes of `KEY=VALUE`.
    span: Range<usize>,
    /// Parts of the key of the value at this place; of the unknown key, if it is a part of the key.
    key: Vec<String>,
    /// Parts of the key of the setting after them.
    after: Vec<String>,
    /// The value is a table, so that hints name keys in it.
    is_table: bool,
}

impl Place {
    /// The place of a problem in the changed text; `None` if it is not in this setting.
    fn of(problem: &Diagnostic, setting: &Setting, spans: &SettingSpans, text: &str) -> Option<Self> {
        let at = &problem.span;
        let value = &spans.value;
        if value.start <= at.start && at.start < value.end.max(value.start + 1) {
            let (key, is_table) = setting.key_at(text, at)?;
            // The value of a setting has no quotes that TOML needs.
            let quote = usize::from(problem.line_text.len() >= at.len() && is_quoted(setting, value));
            let from = setting.key().len() + 1 + (at.start - value.start).saturating_sub(quote);
            let whole = at.len() >= value.len();
            let to = if whole { usize::MAX } else { from + at.len() };
            return Some(Self { span: from..to, key, after: Vec::new(), is_table });
        }
        let is_there = |span: &Range<usize>| span.start <= at.start && at.start < span.end;
        let index = spans.parts.iter().position(|span| span.as_ref().is_some_and(is_there))?;
        let is_last = index + 1 == spans.parts.len();
        if !is_last && !is_unknown_key(problem) {
            return None;
        }
        let (key, after) = setting.parts().split_at(index + 1);
        let end = key.join(".").len();
        let span = end - key[index].len()..end;
        Some(Self { span, key: key.to_vec(), after: after.to_vec(), is_table: false })
    }

    /// The whole key for a key that a hint names.
    fn whole_key(&self, name: &str) -> String {
        // A hint for a table in place of another value names its own key.
        let is_inside = self.is_table && self.key.last().is_none_or(|last| last != name);
        let table_parts = self.key.len().saturating_sub(usize::from(!is_inside));
        let table = self.key[..table_parts].iter().map(String::as_str);
        table.chain([name]).chain(self.after.iter().map(String::as_str)).collect::<Vec<_>>().join(".")
    }
}

fn is_unknown_key(problem: &Diagnostic) -> bool {
    problem.message.starts_with("unknown key")
}

/// True if the value got quotes when it was put into the text.
fn is_quoted(setting: &Setting, value: &Range<usize>) -> bool {
    value.len() == setting.text().len() + 2
}

fn move_to(problem: &mut Diagnostic, option: &str, setting: &Setting, place: &Place) {
    let text = setting.to_string();
    let (start, end) = (place.span.start.min(text.len()), place.span.end.min(text.len()));
    problem.hint = problem.hint.take().map(|hint| whole_keys(&hint, place, problem, option));
    option.clone_into(&mut problem.file);
    problem.line = 1;
    problem.column = text.get(..start).map_or(1, |before| before.chars().count() + 1);
    problem.span = start..end.max(start);
    problem.line_text = text;
}

/// The hint with `key = "value"` written as `path.to.key=value`.
fn whole_keys(hint: &str, place: &Place, problem: &Diagnostic, option: &str) -> String {
    if problem.message.starts_with("cannot read `")
        && let Some(path) = problem.message.split('`').nth(1)
        && Path::new(path).exists()
        && let Ok(path) = std::path::absolute(path)
    {
        let key = place.key.join(".");
        return format!(
            "paths are relative to the folder of the scenario: `{option} {key}={}`",
            path.display()
        );
    }
    let is_unknown = is_unknown_key(problem);
    let quoted = |part: &str| match part.split_once(" = ") {
        _ if is_unknown => place.whole_key(part),
        Some((name, value)) => {
            let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            format!("{}={}", place.whole_key(name), bare.unwrap_or(value))
        }
        None => part.to_owned(),
    };
    let part = |(i, part): (usize, &str)| match i % 2 {
        1 => format!("`{}`", quoted(part)),
        _ if is_unknown => part.to_owned(),
        _ => part.replace(", in quotes", ""),
    };
    hint.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Scenario;

    const SOURCE: &str = include_str!("../../../scenarios/wifi-lte.toml");

    /// Place and hint of the problem with a setting.
    fn hint(setting: &str) -> String {
        let settings: [Setting; 1] = [setting.parse().unwrap()];
        let text = Setting::apply(&settings, SOURCE).unwrap();
        let found =
            Scenario::parse("a.toml", &text, &|_: &str| Err("no file".to_owned())).map(|_| ()).unwrap_err();
        let shown = show_in_settings(found, "--set", "a.toml", &settings, &text);
        let problem = &shown[0];
        let place = problem.line_text.get(problem.span.clone()).unwrap_or_default();
        format!("{place}: {}", problem.hint.as_deref().unwrap_or_default())
    }

    #[test]
    fn hints_name_whole_keys() {
        for (setting, expected) in [
            ("path.lte.dwn.rate=5Mbps", "dwn: did you mean `path.lte.down.rate`?"),
            ("path.lte.delay=5ms", "delay: did you mean `path.lte.down.delay` or `path.lte.up.delay`?"),
            ("trafic.1.kind=bulk", "trafic: did you mean `traffic.1.kind`?"),
            ("path.lte.down={rate=\"5\"}", "\"5\": `path.lte.down.rate=5Mbps`"),
            ("path.lte.down.rate=5", "5: add the unit: `path.lte.down.rate=5Mbps`"),
            (
                "device.policy={name=\"emtcp\",share=\"30%\"}",
                "\"30%\": `device.policy.share=0.3` stands for 30 %",
            ),
            ("device.policy={name=\"emtcp\",shre=0.3}", "shre: did you mean `device.policy.share`?"),
            ("transport.keepalive={idle=60}", "60: add the unit: `transport.keepalive.idle=60s`"),
            (
                "path.wifi.down.reorder={chance=0.1}",
                "{chance=0.1}: add `path.wifi.down.reorder.by=20ms`: Extra delay of such a packet.",
            ),
            ("traffic=[{ kind = \"file\", size = 9 }]", "9: add the unit: `traffic.1.size=9MB`"),
            ("duration={ a = 3 }", "{ a = 3 }: for example `duration=60s`"),
        ] {
            assert_eq!(hint(setting), expected, "{setting}");
        }
    }
}
