//! Changes of single keys of a scenario, as given on the command line.

use core::fmt;
use core::str::FromStr;
use toml_edit::{DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

/// A key of a scenario with a new value: `transport.scheduler=blest`.
///
/// The parts of a key are separated by dots. After a list of tables, such as `path`, the next part
/// selects an entry by its `name` or by its index from 0: `path.lte.down.rate`, `traffic.0.kind`.
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
    /// A list of tables has no entry with this name or index.
    NoSuch {
        /// Key of the list.
        key: String,
        /// The name or index.
        part: String,
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
            Self::NoSuch { there, .. } if there.is_empty() => "the list is empty".to_owned(),
            Self::NoSuch { there, .. } => format!("use one of {}, or an index from 0", there.join(", ")),
            Self::Whole { key } => format!("set one of its keys, such as `{key}.name=…`"),
            Self::NoTable { key, .. } => format!("set `{key}=…` instead"),
            Self::File => "docs/reference/scenario.md describes the format".to_owned(),
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
        let (mut depth, mut quote) = (0_usize, None);
        let values = values.split(|c: char| {
            match (quote, c) {
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), _) if open == c => quote = None,
                (None, '[' | '{') => depth += 1,
                (None, ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && quote.is_none() && depth == 0
        });
        values.map(|value| Self::new(key, value).map_err(|_| form())).collect()
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

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key(), self.text)
    }
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
    if at + 2 == parts.len() && (item.is_array_of_tables() || item.is_array()) {
        return Err(SettingError::Whole { key: parts.join(".") });
    }
    let index_of_entry = |names: &[Option<String>]| {
        let by_name = names.iter().position(|name| name.as_ref() == Some(selector));
        let by_number = || selector.parse().ok().filter(|&i: &usize| i < names.len());
        let there = || names.iter().flatten().map(|name| format!("`{name}`")).collect();
        by_name.or_else(by_number).ok_or_else(|| SettingError::NoSuch {
            key: so_far(),
            part: selector.clone(),
            there: there(),
        })
    };
    if let Some(tables) = item.as_array_of_tables_mut() {
        let names: Vec<_> = tables.iter().map(|table| name_of(table)).collect();
        let found = tables.get_mut(index_of_entry(&names)?).ok_or_else(no_table)?;
        return set(found, parts, at + 2, value);
    }
    let array = item.as_array_mut().ok_or_else(no_table)?;
    let names: Vec<_> =
        array.iter().map(|value| value.as_inline_table().and_then(|table| name_of(table))).collect();
    let found = array.get_mut(index_of_entry(&names)?).and_then(Value::as_inline_table_mut);
    set(found.ok_or_else(no_table)?, parts, at + 2, value)
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
        assert_eq!(changed(&["traffic.0.kind=web"]), ["kind = \"web\""]);
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
        assert_eq!(applied(&["path.lte.radio=x"]), applied(&["path.1.radio=x"]));
        let error = applied(&["path.wlan.radio=x"]).unwrap_err();
        assert_eq!(error.to_string(), "`path` has no entry `wlan`");
        assert_eq!(error.hint(), "use one of `wifi`, `lte`, or an index from 0");
        assert!(applied(&["path.2.radio=x"]).is_err());
    }

    #[test]
    fn impossible_keys_are_reported() {
        let message = |text: &str| applied(&[text]).unwrap_err().to_string();
        assert_eq!(
            message("duration.seconds=3"),
            "`duration` is not a table, so `seconds` cannot be set in it"
        );
        assert_eq!(message("path.wifi=3"), "`path.wifi` is a table and cannot be set as a whole");
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
