//! A key of a scenario that is to have another value than the file gives it.

use core::fmt;
use core::str::FromStr;
use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};

/// One key of a scenario, and the value that it is to have: `transport.scheduler=blest`.
///
/// A key names tables from the outside in, with dots between. Of several tables, such as paths, the next
/// part names one by its `name` or counts from 0: `path.lte.down.rate`, `traffic.0.kind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    parts: Vec<String>,
    text: String,
}

/// Why a key cannot be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingError {
    /// It is no key and value.
    Form {
        /// What was given.
        text: String,
    },
    /// Of several tables none has this name or number.
    NoSuch {
        /// The key of the tables.
        key: String,
        /// What was asked for.
        part: String,
        /// What there is.
        there: Vec<String>,
    },
    /// It is one of several tables as a whole.
    Whole {
        /// The key of the table.
        key: String,
    },
    /// What the key goes through is a value, and no table.
    NoTable {
        /// The key that has the value.
        key: String,
        /// What was to be set in it.
        part: String,
    },
    /// The file itself is no TOML.
    File,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { text } => write!(f, "`{text}` is no key and value"),
            Self::NoSuch { key, part, .. } => write!(f, "there is no `{part}` among `{key}`"),
            Self::Whole { key } => write!(f, "`{key}` is a table, and cannot be set as a whole"),
            Self::NoTable { key, part } => {
                write!(f, "`{key}` has a value, so that `{part}` cannot be set in it")
            }
            Self::File => write!(f, "the scenario is no TOML"),
        }
    }
}

impl core::error::Error for SettingError {}

impl SettingError {
    /// What would be right.
    pub fn hint(&self) -> String {
        match self {
            Self::Form { .. } => {
                "a key and its value have `=` between them, such as `transport.scheduler=blest` or \
                 `path.lte.down.rate=20Mbps`"
                    .to_owned()
            }
            Self::NoSuch { there, .. } if there.is_empty() => "the scenario has none of them".to_owned(),
            Self::NoSuch { there, .. } => format!("there are {}; or count them from 0", there.join(", ")),
            Self::Whole { key } => format!("set a key of it, such as `{key}.name=…`"),
            Self::NoTable { key, .. } => format!("what can be set is `{key}=…` as a whole"),
            Self::File => "docs/scenario.md describes the format".to_owned(),
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
    /// Sets `key`. A value that is no TOML is a text: `blest` is `"blest"`, `20Mbps` is `"20Mbps"`.
    ///
    /// # Errors
    /// Where the key is none.
    pub fn new(key: &str, value: &str) -> Result<Self, SettingError> {
        let form = || SettingError::Form { text: format!("{key}={value}") };
        let parts = Key::parse(key.trim()).map_err(|_| form())?;
        let text = value.trim();
        if text.is_empty() {
            return Err(form());
        }
        Ok(Self { parts: parts.iter().map(|part| part.get().to_owned()).collect(), text: text.to_owned() })
    }

    /// Several values for one key, with commas between: `transport.scheduler=min-rtt,blest`. Commas within
    /// brackets, braces and quotes are a value's own.
    ///
    /// # Errors
    /// Where the key is none, or a value is empty.
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

    /// The value as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a scenario with these settings, the later ones over the earlier. Whether the scenario
    /// takes them, its reader says.
    ///
    /// # Errors
    /// Where a key leads nowhere.
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

/// Sets what the parts from `at` on lead to, from `table`.
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
    if item.is_table_like() {
        let inner = item.as_table_like_mut().ok_or_else(no_table)?;
        return set(inner, parts, at + 1, value);
    }
    let asked = &parts[at + 1];
    if at + 2 == parts.len() && (item.is_array_of_tables() || item.is_array()) {
        return Err(SettingError::Whole { key: parts.join(".") });
    }
    let which = |names: &[Option<String>]| {
        let by_name = names.iter().position(|name| name.as_ref() == Some(asked));
        let by_number = || asked.parse().ok().filter(|&i: &usize| i < names.len());
        let there = || names.iter().flatten().map(|name| format!("`{name}`")).collect();
        by_name.or_else(by_number).ok_or_else(|| SettingError::NoSuch {
            key: so_far(),
            part: asked.clone(),
            there: there(),
        })
    };
    if let Some(tables) = item.as_array_of_tables_mut() {
        let names: Vec<_> = tables.iter().map(|table| name_of(table)).collect();
        let found = tables.get_mut(which(&names)?).ok_or_else(no_table)?;
        return set(found, parts, at + 2, value);
    }
    let array = item.as_array_mut().ok_or_else(no_table)?;
    let names: Vec<_> =
        array.iter().map(|value| value.as_inline_table().and_then(|table| name_of(table))).collect();
    let found = array.get_mut(which(&names)?).and_then(Value::as_inline_table_mut);
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

    /// The lines that are not in the source.
    fn changed(settings: &[&str]) -> Vec<String> {
        let text = applied(settings).unwrap();
        let is_new = |line: &&str| !line.is_empty() && !SOURCE.lines().any(|old| old == *line);
        text.lines().filter(is_new).map(str::to_owned).collect()
    }

    #[test]
    fn only_what_is_set_changes() {
        assert_eq!(applied(&[]).unwrap(), SOURCE);
        assert_eq!(changed(&["duration=5s"]), ["duration = \"5s\""]);
        assert!(applied(&["seed=7"]).unwrap().contains("duration = \"3s\"\nseed = 7\n"));
        assert_eq!(changed(&["traffic.0.kind=web"]), ["kind = \"web\""]);
        let line = "down = { rate = \"5Mbps\", delay = \"10ms\" , loss = 0.02 } # near";
        assert_eq!(changed(&["path.wifi.down.loss=0.02"]).concat().replace(' ', ""), line.replace(' ', ""));
    }

    #[test]
    fn a_table_that_is_not_there_is_made() {
        assert_eq!(changed(&["transport.scheduler=blest"]), ["[transport]", "scheduler = \"blest\""]);
        assert_eq!(
            changed(&["transport.scheduler = \"ecf\"", "transport.sack=false"]),
            ["[transport]", "scheduler = \"ecf\"", "sack = false"]
        );
    }

    #[test]
    fn of_several_tables_one_is_named_or_counted() {
        assert_eq!(changed(&["path.lte.radio=x"]), ["radio = \"x\""]);
        assert_eq!(applied(&["path.lte.radio=x"]), applied(&["path.1.radio=x"]));
        let error = applied(&["path.wlan.radio=x"]).unwrap_err();
        assert_eq!(error.to_string(), "there is no `wlan` among `path`");
        assert_eq!(error.hint(), "there are `wifi`, `lte`; or count them from 0");
        assert!(applied(&["path.2.radio=x"]).is_err());
    }

    #[test]
    fn what_leads_nowhere_is_told() {
        let told = |text: &str| applied(&[text]).unwrap_err().to_string();
        assert_eq!(
            told("duration.seconds=3"),
            "`duration` has a value, so that `seconds` cannot be set in it"
        );
        assert_eq!(told("path.wifi=3"), "`path.wifi` is a table, and cannot be set as a whole");
        for text in ["", "x", "=x", "a..b=3", "a=", " = "] {
            assert_eq!(told(text), format!("`{text}` is no key and value"));
        }
    }

    #[test]
    fn several_values_have_commas_between_and_keep_their_own() {
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
    fn a_value_is_toml_or_a_text() {
        for (text, value) in
            [("a=1", "1"), ("a=0.5", "0.5"), ("a=[1, 2]", "[1, 2]"), ("a=1.5Mbps", "\"1.5Mbps\"")]
        {
            assert_eq!(changed(&[text]), [format!("a = {value}")], "{text}");
        }
    }
}
