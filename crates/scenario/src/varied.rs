//! Settings that vary in the runs of a comparison or a sweep.

use crate::setting::{Setting, SettingError, entry_names, index_of};
use crate::short_key::entries;
use toml_edit::{DocumentMut, TableLike};

impl Setting {
    /// Checks that each setting leaves the earlier ones in force. A key may be given by the name or
    /// by the number of an entry of a list.
    ///
    /// # Errors
    /// [`SettingError::Replaces`] for the same key again and for a table after one of its keys,
    /// [`SettingError::File`] for invalid TOML.
    pub fn check_varied(settings: &[Self], source: &str) -> Result<(), SettingError> {
        let document: DocumentMut = source.parse().map_err(|_| SettingError::File)?;
        let numbered = |setting: &Self| {
            let mut parts = setting.parts().to_vec();
            number_entries(document.as_table(), &mut parts);
            parts
        };
        let keys: Vec<Vec<String>> = settings.iter().map(numbered).collect();
        for (later, key) in keys.iter().enumerate() {
            if let Some(earlier) = keys[..later].iter().position(|earlier| earlier.starts_with(key)) {
                return Err(SettingError::Replaces {
                    key: settings[later].key(),
                    earlier: settings[earlier].key(),
                });
            }
        }
        Ok(())
    }

    /// Checks that no setting is that of a device's policy, for runs with other policies in its place.
    ///
    /// # Errors
    /// [`SettingError::PolicyReplaced`].
    pub fn check_no_policy(settings: &[Self]) -> Result<(), SettingError> {
        let is_policy = |setting: &&Self| {
            let parts: Vec<&str> = setting.parts().iter().map(String::as_str).collect();
            matches!(parts[..], ["device", "policy", ..] | ["device", _, "policy", ..])
        };
        match settings.iter().find(is_policy) {
            Some(setting) => Err(SettingError::PolicyReplaced { key: setting.key() }),
            None => Ok(()),
        }
    }
}

/// Replaces the names of entries of lists by their numbers.
fn number_entries(table: &dyn TableLike, parts: &mut [String]) {
    let Some((part, rest)) = parts.split_first_mut() else { return };
    let Some(item) = table.get(part) else { return };
    if let Some(inner) = item.as_table_like() {
        return number_entries(inner, rest);
    }
    let (Some(names), Some((selector, rest))) = (entry_names(item), rest.split_first_mut()) else { return };
    let Some(index) = index_of(&names, selector) else { return };
    *selector = (index + 1).to_string();
    if let Some(entry) = entries(item).get(index) {
        number_entries(*entry, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
[[device]]
name = \"phone\"
path = [{ name = \"wifi\", down = { rate = \"5Mbps\" } }, { name = \"lte\" }]
";

    fn checked(keys: [&str; 2]) -> Result<(), String> {
        let settings = keys.map(|key| Setting::new(key, "1").unwrap());
        Setting::check_varied(&settings, SOURCE).map_err(|error| error.to_string())
    }

    #[test]
    fn key_that_replaces_an_earlier_one_is_refused() {
        let wifi = "device.phone.path.wifi.down.rate";
        assert_eq!(checked([wifi, wifi]), Err(format!("`{wifi}` varies twice")));
        for later in ["device.1.path.1.down.rate", "device.phone.path.01.down", "device"] {
            let message = format!("`{later}` replaces `{wifi}`, which varies before it");
            assert_eq!(checked([wifi, later]), Err(message));
        }
    }

    #[test]
    fn policy_of_a_device_is_found_by_its_key() {
        for (key, is_policy) in [
            ("device.policy", true),
            ("device.phone.policy.share", true),
            ("device.name", false),
            ("transport.policy", false),
        ] {
            let setting = Setting::new(key, "1").unwrap();
            assert_eq!(Setting::check_no_policy(&[setting]).is_err(), is_policy, "{key}");
        }
    }

    #[test]
    fn keys_that_leave_earlier_ones_in_force_are_accepted() {
        let wifi = "device.phone.path.wifi.down";
        for later in [
            "device.1.path.2.down",
            "device.1.path.1.down.rate",
            "device.1.path.1.downs",
            "device.9.path.1",
            "seed",
        ] {
            assert_eq!(checked([wifi, later]), Ok(()), "{later}");
        }
    }
}
