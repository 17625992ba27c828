//! Changes of single keys of a scenario, as given on the command line.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;
use toml_edit::{Document, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

/// A key of a scenario with a new value: `transport.scheduler=blest`.
///
/// The parts of a key are separated by dots. After a list of tables, such as `path`, the next part
/// selects an entry by its `name` or by its number from 1: `path.lte.down.rate`, `traffic.1.kind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    parts: Vec<String>,
    text: String,
}

/// The reason why a key cannot be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingError {
    /// The text is not a key and a value.
    Form {
        /// The text.
        text: String,
    },
    /// A list of tables has no entry with this name or number.
    NoSuch {
        /// Key of the list.
        key: String,
        /// The name or number.
        part: String,
        /// Number of entries.
        count: usize,
        /// Names of the entries, in backquotes; entries without a name are left out.
        there: Vec<String>,
    },
    /// The key selects a whole entry of a list.
    Whole {
        /// Key of the entry.
        key: String,
    },
    /// A part of the key before the last is a value, not a table.
    NoTable {
        /// Key of the value.
        key: String,
        /// The rest of the key.
        part: String,
    },
    /// A shortened key that fits several keys of the file.
    Ambiguous {
        /// The shortened key.
        key: String,
        /// The whole keys.
        candidates: Vec<String>,
    },
    /// A key that varies replaces one that varies before it: the same one, or one of its table.
    Replaces {
        /// The key as given.
        key: String,
        /// The key before it as given.
        earlier: String,
    },
    /// A device's policy varies beside policies that take its place.
    PolicyReplaced {
        /// The key as given.
        key: String,
    },
    /// The file is not valid TOML.
    File,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { text } => write!(f, "`{text}` is not KEY=VALUE"),
            Self::NoSuch { key, part, .. } => write!(f, "`{key}` has no entry `{part}`"),
            Self::Whole { key } => write!(f, "`{key}` is a table and cannot be set as a whole"),
            Self::NoTable { key, part } => {
                write!(f, "`{key}` is not a table, so `{part}` cannot be set in it")
            }
            Self::Ambiguous { key, candidates } => {
                write!(f, "`{key}` fits {} keys of the scenario", candidates.len())
            }
            Self::Replaces { key, earlier } if key == earlier => write!(f, "`{key}` varies twice"),
            Self::Replaces { key, earlier } => {
                write!(f, "`{key}` replaces `{earlier}`, which varies before it")
            }
            Self::PolicyReplaced { key } => {
                write!(f, "`{key}` cannot vary beside other policies, which replace it")
            }
            Self::File => write!(f, "the scenario is not valid TOML"),
        }
    }
}

impl core::error::Error for SettingError {}

impl SettingError {
    /// A suggestion for a correction.
    pub fn hint(&self) -> String {
        match self {
            Self::Form { .. } => {
                "for example `transport.scheduler=blest` or `path.lte.down.rate=20Mbps`".to_owned()
            }
            Self::NoSuch { count: 0, .. } => "the list is empty".to_owned(),
            Self::NoSuch { key, part, there, count } => {
                let numbers = match count {
                    1 => format!("`{key}.1`, the only entry"),
                    _ => format!("`{key}.1` to `{key}.{count}`"),
                };
                match there.as_slice() {
                    [] => format!("entries are numbered from 1: {numbers}"),
                    _ if part.parse::<usize>().is_ok() => format!("entries are numbered from 1: {numbers}"),
                    names => format!("use one of {}, or a number from 1 to {count}", names.join(", ")),
                }
            }
            Self::Whole { key } => format!("set one of its keys, such as `{key}.name=…`"),
            Self::NoTable { key, .. } => format!("set `{key}=…` instead"),
            Self::Ambiguous { candidates, .. } => {
                let quoted: Vec<String> = candidates.iter().map(|key| format!("`{key}`")).collect();
                format!("use one of {}", quoted.join(", "))
            }
            Self::Replaces { key, earlier } if key == earlier => {
                "give all values of a key at once".to_owned()
            }
            Self::Replaces { .. } => {
                "give all values of a key at once, and those of a table before those of its keys".to_owned()
            }
            Self::PolicyReplaced { .. } => "give all policies in one of the two".to_owned(),
            Self::File => "`tandem check FILE` shows the mistake".to_owned(),
        }
    }
}

impl FromStr for Setting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let form = || SettingError::Form { text: text.to_owned() };
        let (key, value) = text.split_once('=').ok_or_else(form)?;
        Self::new(key, value).map_err(|_| form())
    }
}

impl Setting {
    /// Setting of `key` to `value`. A value that is not TOML is taken as a string: `20Mbps` is
    /// `"20Mbps"`.
    ///
    /// # Errors
    /// [`SettingError::Form`] for an invalid key or an empty value.
    pub fn new(key: &str, value: &str) -> Result<Self, SettingError> {
        let form = || SettingError::Form { text: format!("{key}={value}") };
        let parts = Key::parse(key.trim()).map_err(|_| form())?;
        let text = value.trim();
        if text.is_empty() {
            return Err(form());
        }
        Ok(Self { parts: parts.iter().map(|part| part.get().to_owned()).collect(), text: text.to_owned() })
    }

    /// One setting for each of several values of a key, separated by commas:
    /// `transport.scheduler=min-rtt,blest`. Commas within brackets, braces and quotes do not
    /// separate.
    ///
    /// # Errors
    /// [`SettingError::Form`] for an invalid key or an empty value.
    pub fn alternatives(text: &str) -> Result<Vec<Self>, SettingError> {
        let form = || SettingError::Form { text: text.to_owned() };
        let (key, values) = text.split_once('=').ok_or_else(form)?;
        split_top_level(values, ',').map(|value| Self::new(key, value).map_err(|_| form())).collect()
    }

    /// Alternatives of several keys: `path.wifi.down.rate=1Mbps,2Mbps,path.lte.down.rate=3Mbps,4Mbps`.
    ///
    /// # Errors
    /// [`SettingError::Form`] for an invalid key or an empty value.
    pub fn several_alternatives(text: &str) -> Result<Vec<Vec<Self>>, SettingError> {
        let form = || SettingError::Form { text: text.to_owned() };
        let mut all: Vec<(&str, Vec<Self>)> = Vec::new();
        for part in split_top_level(text, ',') {
            let (key, value) = match split_top_level(part, '=').next() {
                Some(key) if key.len() < part.len() => (key, &part[key.len() + 1..]),
                _ => (all.last().ok_or_else(form)?.0, part),
            };
            let setting = Self::new(key, value).map_err(|_| form())?;
            match all.last_mut() {
                Some((last, settings)) if *last == key => settings.push(setting),
                _ => all.push((key, vec![setting])),
            }
        }
        Ok(all.into_iter().map(|(_, settings)| settings).collect())
    }

    /// The same value for another key, given by its parts.
    pub(crate) fn with_parts(&self, parts: Vec<String>) -> Self {
        Self { parts, text: self.text.clone() }
    }

    /// The parts of the key.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// The whole key.
    pub fn key(&self) -> String {
        self.parts.join(".")
    }

    /// The last part of the key.
    pub fn name(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    /// The value as given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Applies settings to the text of a scenario; later ones override earlier ones. Values
    /// are not checked here, but when the scenario is parsed.
    ///
    /// # Errors
    /// [`SettingError::File`] for invalid TOML, else the error of the first key that cannot
    /// be set.
    pub fn apply(settings: &[Self], source: &str) -> Result<String, SettingError> {
        let mut document: DocumentMut = source.parse().map_err(|_| SettingError::File)?;
        for setting in settings {
            let value = setting.text.parse().unwrap_or_else(|_| Value::from(&setting.text));
            set(document.as_table_mut(), &setting.parts, 0, value)?;
        }
        Ok(document.to_string())
    }
}

/// Positions of a setting in the text to which it was applied, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingSpans {
    /// Position of each part of the key; entries of lists have none.
    pub parts: Vec<Option<Range<usize>>>,
    /// Position of the value.
    pub value: Range<usize>,
}

impl Setting {
    /// The position of the setting in a text to which it was applied.
    pub fn locate(&self, text: &str) -> Option<SettingSpans> {
        let document = Document::parse(text).ok()?;
        let mut parts = Vec::new();
        let value = find(document.as_table(), &self.parts, &mut parts)?;
        Some(SettingSpans { parts, value: value.span()? })
    }

    /// Key of the innermost value of the setting at a position of the text, part by part, and whether
    /// that value is a table.
    pub fn key_at(&self, text: &str, at: &Range<usize>) -> Option<(Vec<String>, bool)> {
        let document = Document::parse(text).ok()?;
        let value = find(document.as_table(), &self.parts, &mut Vec::new())?;
        let mut key = self.parts.clone();
        let innermost = innermost(value.as_value()?, at, &mut key);
        Some((key, innermost.is_inline_table()))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key(), self.text)
    }
}

/// Splits a text at a separator outside brackets, braces and quotes.
fn split_top_level(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut depth, mut quote) = (0_usize, None);
    text.split(move |c: char| {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == separator && quote.is_none() && depth == 0
    })
}

/// Keys whose value is a string in short and a table in full, with the key of the string in the
/// table: `trace = "a.csv"` is `trace = { file = "a.csv" }`.
const SHORT_FORMS: [(&str, &str); 2] = [("trace", "file"), ("model", "name")];

/// Sets the value at `parts[at..]` within `table`. Creates missing tables, and turns short forms
/// into tables.
///
/// A list is an array of tables (`[[path]]`) or an array of inline tables.
fn set(table: &mut dyn TableLike, parts: &[String], at: usize, value: Value) -> Result<(), SettingError> {
    let Some(part) = parts.get(at) else { return Ok(()) };
    if at + 1 == parts.len() {
        table.insert(part, Item::Value(value));
        return Ok(());
    }
    if table.get(part).is_none() {
        table.insert(part, Item::Table(Table::new()));
    }
    let so_far = || parts[..=at].join(".");
    let no_table = || SettingError::NoTable { key: so_far(), part: parts[at + 1..].join(".") };
    let item = table.get_mut(part).ok_or_else(no_table)?;
    if let (Some((_, key)), Some(short)) = (SHORT_FORMS.iter().find(|(name, _)| name == part), item.as_str())
    {
        let table: InlineTable = [(*key, short)].into_iter().collect();
        *item = Item::Value(table.into());
    }
    if item.is_table_like() {
        let inner = item.as_table_like_mut().ok_or_else(no_table)?;
        return set(inner, parts, at + 1, value);
    }
    let selector = &parts[at + 1];
    let names = entry_names(item).ok_or_else(no_table)?;
    let index = index_of(&names, selector).ok_or_else(|| SettingError::NoSuch {
        key: so_far(),
        part: selector.clone(),
        count: names.len(),
        there: names.iter().flatten().map(|name| format!("`{name}`")).collect(),
    })?;
    if at + 2 == parts.len() {
        return Err(SettingError::Whole { key: parts.join(".") });
    }
    if let Some(tables) = item.as_array_of_tables_mut() {
        return set(tables.get_mut(index).ok_or_else(no_table)?, parts, at + 2, value);
    }
    let entry = item.as_array_mut().and_then(|array| array.get_mut(index));
    set(entry.and_then(Value::as_inline_table_mut).ok_or_else(no_table)?, parts, at + 2, value)
}

/// The value of the key `parts` within `table`. Adds the positions of the parts to `spans`.
fn find<'d>(
    table: &'d dyn TableLike,
    parts: &[String],
    spans: &mut Vec<Option<Range<usize>>>,
) -> Option<&'d Item> {
    let (part, rest) = parts.split_first()?;
    let (key, item) = table.get_key_value(part)?;
    spans.push(key.span());
    match rest {
        [] => Some(item),
        _ if item.is_table_like() => find(item.as_table_like()?, rest, spans),
        [selector, rest @ ..] => {
            spans.push(None);
            let index = index_of(&entry_names(item)?, selector)?;
            let entry: &dyn TableLike = match item.as_array_of_tables() {
                Some(tables) => tables.get(index)?,
                None => item.as_array()?.get(index)?.as_inline_table()?,
            };
            find(entry, rest, spans)
        }
    }
}

/// The innermost value with a key of its own at a position. Adds the parts of that key to `key`.
fn innermost<'v>(value: &'v Value, at: &Range<usize>, key: &mut Vec<String>) -> &'v Value {
    let is_there = |inner: &Value| {
        inner.span().is_some_and(|span| span.start <= at.start && at.end <= span.end && at.start < span.end)
    };
    let inner = match value {
        Value::InlineTable(table) => {
            table.iter().find(|(_, inner)| is_there(inner)).map(|(name, inner)| (name.to_owned(), inner))
        }
        Value::Array(list) => {
            let entries = (1..).zip(list.iter()).filter(|(_, inner)| inner.is_inline_table());
            let mut there = entries.filter(|(_, inner)| is_there(inner));
            there.next().map(|(number, inner): (usize, _)| (number.to_string(), inner))
        }
        _ => None,
    };
    let Some((part, inner)) = inner else { return value };
    key.push(part);
    innermost(inner, at, key)
}

/// Names of the entries of a list of tables; `None` for any other item.
pub(crate) fn entry_names(item: &Item) -> Option<Vec<Option<String>>> {
    if let Some(tables) = item.as_array_of_tables() {
        return Some(tables.iter().map(|table| name_of(table)).collect());
    }
    let names = item.as_array()?.iter().map(|value| value.as_inline_table().and_then(|table| name_of(table)));
    Some(names.collect())
}

/// Index of the entry that a name, or a number from 1, selects.
pub(crate) fn index_of(names: &[Option<String>], selector: &str) -> Option<usize> {
    let by_name = names.iter().position(|name| name.as_deref() == Some(selector));
    let by_number = || selector.parse::<usize>().ok()?.checked_sub(1).filter(|&index| index < names.len());
    by_name.or_else(by_number)
}

fn name_of(table: &dyn TableLike) -> Option<String> {
    Some(table.get("name")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
# Two paths.
duration = \"3s\"
[[path]]
name = \"wifi\"
down = { rate = \"5Mbps\", delay = \"10ms\" } # near
[[path]]
name = \"lte\"
[[traffic]]
kind = \"bulk\"
";

    fn applied(settings: &[&str]) -> Result<String, SettingError> {
        let settings: Result<Vec<Setting>, _> = settings.iter().map(|text| text.parse()).collect();
        Setting::apply(&settings?, SOURCE)
    }

    /// The lines that differ from the source.
    fn changed(settings: &[&str]) -> Vec<String> {
        let text = applied(settings).unwrap();
        let is_new = |line: &&str| !line.is_empty() && !SOURCE.lines().any(|old| old == *line);
        text.lines().filter(is_new).map(str::to_owned).collect()
    }

    #[test]
    fn settings_change_only_their_keys() {
        assert_eq!(applied(&[]).unwrap(), SOURCE);
        assert_eq!(changed(&["duration=5s"]), ["duration = \"5s\""]);
        assert!(applied(&["seed=7"]).unwrap().contains("duration = \"3s\"\nseed = 7\n"));
        assert_eq!(changed(&["traffic.1.kind=web"]), ["kind = \"web\""]);
        let line = "down = { rate = \"5Mbps\", delay = \"10ms\" , loss = 0.02 } # near";
        assert_eq!(changed(&["path.wifi.down.loss=0.02"]).concat().replace(' ', ""), line.replace(' ', ""));
    }

    #[test]
    fn short_form_becomes_a_table() {
        let source = "[[path]]\nname = \"a\"\ndown = { trace = \"x.csv\", delay = \"1ms\" }\n";
        let settings =
            ["path.a.down.trace.scale=2", "path.a.down.trace.start=10s"].map(|text| text.parse().unwrap());
        let line = Setting::apply(&settings, source).unwrap();
        let table = "trace = { file = \"x.csv\", scale = 2, start = \"10s\" }";
        assert!(line.contains(table), "{line}");
    }

    #[test]
    fn missing_table_is_created() {
        assert_eq!(changed(&["transport.scheduler=blest"]), ["[transport]", "scheduler = \"blest\""]);
        assert_eq!(
            changed(&["transport.scheduler = \"ecf\"", "transport.sack=false"]),
            ["[transport]", "scheduler = \"ecf\"", "sack = false"]
        );
    }

    #[test]
    fn list_entries_are_selected_by_name_or_index() {
        assert_eq!(changed(&["path.lte.radio=x"]), ["radio = \"x\""]);
        assert_eq!(applied(&["path.lte.radio=x"]), applied(&["path.2.radio=x"]));
        let error = applied(&["path.wlan.radio=x"]).unwrap_err();
        assert_eq!(error.to_string(), "`path` has no entry `wlan`");
        assert_eq!(error.hint(), "use one of `wifi`, `lte`, or a number from 1 to 2");
        let hint = |setting: &str| applied(&[setting]).unwrap_err().hint();
        assert_eq!(hint("path.0.radio=x"), "entries are numbered from 1: `path.1` to `path.2`");
        assert_eq!(hint("path.3.radio=x"), "entries are numbered from 1: `path.1` to `path.2`");
        assert_eq!(hint("traffic.0.kind=x"), "entries are numbered from 1: `traffic.1`, the only entry");
    }

    #[test]
    fn setting_is_located_in_the_changed_text() {
        for (setting, keys, value) in [
            ("path.lte.radio=x", vec!["path", "radio"], "\"x\""),
            ("path.1.down.loss=0.02", vec!["path", "down", "loss"], "0.02"),
            ("transport.scheduler=blest", vec!["transport", "scheduler"], "\"blest\""),
            ("duration=5", vec!["duration"], "5"),
        ] {
            let text = applied(&[setting]).unwrap();
            let spans = setting.parse::<Setting>().unwrap().locate(&text).unwrap();
            assert_eq!(&text[spans.value], value, "{setting}");
            let found: Vec<&str> = spans.parts.into_iter().flatten().map(|span| &text[span]).collect();
            assert_eq!(found, keys, "{setting}");
        }
    }

    #[test]
    fn keys_within_a_value_are_found() {
        for (setting, at, key, is_table) in [
            ("path.lte.radio=x", "x", "path.lte.radio", false),
            ("path.lte.up={ rate = 5, queue = { max = 7 } }", "5", "path.lte.up.rate", false),
            ("path.lte.up={ rate = 5, queue = { max = 7 } }", "max", "path.lte.up.queue", true),
            ("path.lte.up={ rate = 5, queue = { max = 7 } }", "7", "path.lte.up.queue.max", false),
            ("transport={ sak = true }", "sak", "transport", true),
            ("traffic=[{ kind = 'file' }, { kind = 'x', size = 9 }]", "9", "traffic.2.size", false),
            ("path.lte.loss=[11, 12]", "12", "path.lte.loss", false),
        ] {
            let text = applied(&[setting]).unwrap();
            let setting: Setting = setting.parse().unwrap();
            let value = setting.locate(&text).unwrap().value.start;
            let start = value + text[value..].find(at).unwrap();
            let found = setting.key_at(&text, &(start..start + at.len()));
            assert_eq!(
                found.map(|(key, is_table)| (key.join("."), is_table)),
                Some((key.to_owned(), is_table))
            );
        }
    }

    #[test]
    fn impossible_keys_are_reported() {
        let message = |text: &str| applied(&[text]).unwrap_err().to_string();
        assert_eq!(
            message("duration.seconds=3"),
            "`duration` is not a table, so `seconds` cannot be set in it"
        );
        assert_eq!(message("path.wifi=3"), "`path.wifi` is a table and cannot be set as a whole");
        assert_eq!(message("path.policy=3"), "`path` has no entry `policy`");
        for text in ["", "x", "=x", "a..b=3", "a=", " = "] {
            assert_eq!(message(text), format!("`{text}` is not KEY=VALUE"));
        }
    }

    #[test]
    fn alternatives_split_at_top_level_commas() {
        let values = |text: &str| {
            let all = Setting::alternatives(text);
            all.map(|all| all.iter().map(|one| one.text().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(values("a.b=1, 2 ,x").unwrap(), ["1", "2", "x"]);
        assert_eq!(values("a={ b = 1, c = [2, 3] },'p,q'").unwrap(), ["{ b = 1, c = [2, 3] }", "'p,q'"]);
        for text in ["a", "a=", "a=1,,2", "a=1,", "=1,2"] {
            assert_eq!(values(text), Err(SettingError::Form { text: text.to_owned() }));
        }
    }

    #[test]
    fn value_is_toml_or_text() {
        for (text, value) in
            [("a=1", "1"), ("a=0.5", "0.5"), ("a=[1, 2]", "[1, 2]"), ("a=1.5Mbps", "\"1.5Mbps\"")]
        {
            assert_eq!(changed(&[text]), [format!("a = {value}")], "{text}");
        }
    }
}
