//! Shortened keys of settings: `wifi.trace` for `path.wifi.down.trace`.

use crate::format::{CROWD, SCENARIO};
use crate::setting::{Setting, SettingError};
use toml_edit::{DocumentMut, Item, TableLike, Value};

impl Setting {
    /// The setting with the whole key, if its key is a shortened one: the parts appear in this order
    /// in exactly one key of the scenario, the last one at the end. The key may also be a new one
    /// under a key that fits in this way. Other keys stay.
    ///
    /// # Errors
    /// [`SettingError::Ambiguous`] if several keys fit.
    pub fn resolve(&self, source: &str) -> Result<Self, SettingError> {
        let Some((last, parents)) = self.parts().split_last() else { return Ok(self.clone()) };
        let Ok(document) = source.parse::<DocumentMut>() else { return Ok(self.clone()) };
        let has_several_devices =
            document.get("device").is_some_and(|item| item.is_array_of_tables() || is_list_of_tables(item));
        let table = if has_several_devices { &CROWD } else { &SCENARIO };
        if table.keys.iter().any(|key| self.parts().first().is_some_and(|part| part == key.name)) {
            return Ok(self.clone());
        }
        let mut keys: Vec<Vec<String>> = Vec::new();
        collect(document.as_table(), &[], &mut keys);
        let mut fitting: Vec<Vec<String>> =
            keys.iter().filter(|key| fits(self.parts(), key)).cloned().collect();
        if fitting.is_empty() && !parents.is_empty() {
            let tables = keys.iter().filter(|key| fits(parents, key));
            fitting = tables.map(|key| key.iter().chain([last]).cloned().collect()).collect();
        }
        match fitting.as_slice() {
            [] => Ok(self.clone()),
            [one] => Ok(self.with_parts(one.clone())),
            several => Err(SettingError::Ambiguous {
                key: self.key(),
                candidates: several.iter().map(|key| key.join(".")).collect(),
            }),
        }
    }
}

/// Whether the parts of a short key appear in order in a whole key, the last one at its end.
fn fits(short: &[String], whole: &[String]) -> bool {
    let mut parts = whole.iter();
    short.last() == whole.last() && short.iter().all(|part| parts.any(|other| other == part))
}

/// Appends all keys of a table. Entries of lists are named, or have no key.
fn collect(table: &dyn TableLike, prefix: &[String], keys: &mut Vec<Vec<String>>) {
    for (name, item) in table.iter() {
        let key: Vec<String> = prefix.iter().cloned().chain([name.to_owned()]).collect();
        if let Some(inner) = item.as_table_like() {
            keys.push(key.clone());
            collect(inner, &key, keys);
        } else if item.is_array_of_tables() || is_list_of_tables(item) {
            for entry in entries(item) {
                if let Some(name) = entry.get("name").and_then(Item::as_str) {
                    let key: Vec<String> = key.iter().cloned().chain([name.to_owned()]).collect();
                    keys.push(key.clone());
                    collect(entry, &key, keys);
                }
            }
        } else {
            keys.push(key);
        }
    }
}

fn is_list_of_tables(item: &Item) -> bool {
    item.as_array().is_some_and(|array| array.iter().any(Value::is_inline_table))
}

/// The tables of a list of tables.
pub(crate) fn entries(item: &Item) -> Vec<&dyn TableLike> {
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| -> &dyn TableLike { table }).collect();
    }
    let array = item.as_array().into_iter().flatten();
    array.filter_map(|value| value.as_inline_table().map(|table| -> &dyn TableLike { table })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
duration = \"3s\"
[transport]
scheduler = \"blest\"
[[path]]
name = \"wifi\"
down = { trace = \"a.csv\", delay = \"10ms\" }
up = { rate = \"5Mbps\", delay = \"10ms\" }
[[path]]
name = \"lte\"
down = { trace = \"b.csv\" }
";

    fn resolved(key: &str) -> Result<String, SettingError> {
        Ok(Setting::new(key, "1").unwrap().resolve(SOURCE)?.key())
    }

    #[test]
    fn unambiguous_short_key_is_completed() {
        for (short, whole) in [
            ("wifi.trace", "path.wifi.down.trace"),
            ("lte.trace", "path.lte.down.trace"),
            ("wifi.rate", "path.wifi.up.rate"),
            ("scheduler", "transport.scheduler"),
            // A new key in an existing table.
            ("wifi.down.loss", "path.wifi.down.loss"),
            ("lte.trace.start", "path.lte.down.trace.start"),
            // Whole keys stay, also new ones.
            ("seed", "seed"),
            ("transport.congestion", "transport.congestion"),
            ("path.lte.up.rate", "path.lte.up.rate"),
            ("wlan.trace", "wlan.trace"),
        ] {
            assert_eq!(resolved(short).as_deref(), Ok(whole), "{short}");
        }
    }

    #[test]
    fn keys_of_several_devices_are_completed() {
        let source =
            "[[device]]\nname = \"phone\"\n[[device.path]]\nname = \"wifi\"\ndown = { delay = \"1ms\" }\n";
        let whole = |key: &str| Setting::new(key, "1").unwrap().resolve(source).unwrap().key();
        assert_eq!(whole("path.wifi.down.delay"), "device.phone.path.wifi.down.delay");
        assert_eq!(whole("wifi.down.delay"), "device.phone.path.wifi.down.delay");
        assert_eq!(whole("adoption.qoe"), "adoption.qoe");
    }

    #[test]
    fn ambiguous_short_key_lists_the_candidates() {
        let error = resolved("wifi.delay").unwrap_err();
        assert_eq!(error.to_string(), "`wifi.delay` fits 2 keys of the scenario");
        assert_eq!(error.hint(), "use one of `path.wifi.down.delay`, `path.wifi.up.delay`");
        assert!(resolved("trace").is_err());
    }

    #[test]
    fn several_keys_have_their_own_alternatives() {
        let all =
            Setting::several_alternatives("wifi.trace=a.csv,'x=1.csv', lte.trace={ file = \"b\", n = 1 },c")
                .unwrap();
        let shown: Vec<Vec<String>> =
            all.iter().map(|list| list.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(
            shown,
            [
                ["wifi.trace=a.csv", "wifi.trace='x=1.csv'"],
                ["lte.trace={ file = \"b\", n = 1 }", "lte.trace=c"]
            ]
        );
        for text in ["a", "a=1,,b=2", "=1", "1,a=2"] {
            assert!(Setting::several_alternatives(text).is_err(), "{text}");
        }
    }
}
