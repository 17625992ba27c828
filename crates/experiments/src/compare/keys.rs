//! The keys in which the cases of a comparison differ, with their values as numbers or text.

use super::Compared;

/// Maximum number of decimals in tables.
const MAX_DECIMALS: usize = 12;

/// A key in which the cases differ: a key of the scenario, the policy, or the scenario file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    /// The whole key.
    pub(super) whole: String,
    /// The shortest end of the key that no other key has.
    pub(super) short: String,
    /// Unit of all values; empty if they have none or several.
    pub(super) unit: String,
    /// Values by case.
    pub(super) values: Vec<Value>,
}

/// Value of a key in a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    /// The value as given, without quotes; empty if the case does not set the key.
    pub(super) text: String,
    /// The number in the key's unit; `None` unless all cases have one.
    pub(super) number: Option<f64>,
}

impl Key {
    fn new(key: &str, texts: Vec<String>) -> Self {
        let numbers: Option<Vec<(f64, &str)>> = texts.iter().map(|text| number(text)).collect();
        let unit = numbers.as_ref().and_then(|all| Some(all.first()?.1.to_owned())).unwrap_or_default();
        let is_number = numbers.as_ref().is_some_and(|all| all.iter().all(|(_, other)| *other == unit));
        let numbers: Vec<Option<f64>> = match &numbers {
            Some(all) if is_number => all.iter().map(|(value, _)| Some(*value)).collect(),
            _ => vec![None; texts.len()],
        };
        let unit = if is_number { unit } else { String::new() };
        let values = texts.into_iter().zip(numbers).map(|(text, number)| Value { text, number }).collect();
        Self { whole: key.to_owned(), short: key.to_owned(), unit, values }
    }

    /// Whether all values are numbers of one unit.
    pub(super) fn is_number(&self) -> bool {
        self.values.iter().all(|value| value.number.is_some())
    }

    /// Name of a column in data formats: `path.lte.down.rate_mbps`.
    pub(super) fn column(&self) -> String {
        let unit: String = self.unit.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        match (self.unit.as_str(), unit.as_str()) {
            ("", _) => self.whole.clone(),
            ("%", _) => format!("{}_percent", self.whole),
            (_, unit) => format!("{}_{unit}", self.whole),
        }
    }

    /// Decimals of the most precise number, up to [`MAX_DECIMALS`].
    pub(super) fn decimals(&self) -> usize {
        let digits = |value: &Value| {
            let (number, _) = split_number(&value.text)?;
            let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
            let fraction = mantissa.split_once('.').map_or("", |(_, fraction)| fraction);
            (fraction.len() as i64).checked_sub(exponent.parse().ok()?)?.try_into().ok()
        };
        self.values.iter().filter_map(digits).max().unwrap_or(0).min(MAX_DECIMALS)
    }

    /// The distinct values as text, in the order of the cases.
    pub(super) fn distinct(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for value in &self.values {
            if !all.contains(&value.text.as_str()) {
                all.push(&value.text);
            }
        }
        all
    }
}

/// The keys in which cases differ, the slowest to vary first: file, settings, policy.
pub(super) fn keys(cases: &[Compared]) -> Vec<Key> {
    let mut keys = Vec::new();
    let differ = |texts: &[String]| texts.windows(2).any(|pair| pair[0] != pair[1]);
    let files: Vec<String> = cases.iter().map(|case| case.file.clone().unwrap_or_default()).collect();
    if differ(&files) {
        keys.push(Key::new("scenario", files));
    }
    let mut names: Vec<String> = Vec::new();
    for setting in cases.iter().flat_map(|case| &case.settings) {
        if !names.contains(&setting.key()) {
            names.push(setting.key());
        }
    }
    for name in &names {
        let text = |case: &Compared| {
            let setting = case.settings.iter().find(|setting| setting.key() == *name);
            setting.map_or_else(String::new, |setting| setting.text().trim_matches(['"', '\'']).to_owned())
        };
        keys.push(Key::new(name, cases.iter().map(text).collect()));
    }
    let policies: Vec<String> = cases.iter().map(|case| case.experiment.device.policy.to_string()).collect();
    if differ(&policies) {
        keys.push(Key::new("policy", policies));
    }
    shorten(&mut keys);
    keys
}

/// Sets the short names.
fn shorten(keys: &mut [Key]) {
    let parts: Vec<Vec<String>> =
        keys.iter().map(|key| key.whole.split('.').map(str::to_owned).collect()).collect();
    for (i, key) in keys.iter_mut().enumerate() {
        let own = &parts[i];
        let is_unique = |count: usize| {
            let end = &own[own.len() - count..];
            parts.iter().enumerate().all(|(other, parts)| other == i || !parts.ends_with(end))
        };
        let count = (1..=own.len()).find(|&count| is_unique(count)).unwrap_or(own.len());
        key.short = own[own.len() - count..].join(".");
    }
}

/// Splits `20Mbps` into number and unit. The number is as long as possible: `5e-2` has no unit.
pub fn split_number(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let mut splits = (0..=text.len()).rev().filter_map(|at| text.split_at_checked(at));
    let (number, unit) = splits.find(|(number, _)| number.parse::<f64>().is_ok_and(f64::is_finite))?;
    let is_unit = |c: char| c.is_ascii_alphabetic() || matches!(c, '%' | ' ');
    (unit.is_empty() || unit.starts_with(is_unit)).then_some((number, unit))
}

/// The number of a value such as `20Mbps`, and its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = split_number(text)?;
    let unit = unit.trim();
    let is_unit = unit == "%" || unit.chars().all(|c| c.is_ascii_alphabetic());
    Some((number.parse().ok().filter(|_| is_unit)?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, texts: &[&str]) -> Key {
        Key::new(name, texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn numbers_of_one_unit_are_numbers() {
        let rate = key("path.lte.down.rate", &["2Mbps", "10.5Mbps"]);
        assert!(rate.is_number() && rate.unit == "Mbps" && rate.decimals() == 1);
        assert_eq!(rate.column(), "path.lte.down.rate_mbps");
        assert_eq!(rate.values[1].number, Some(10.5));
        let loss = key("path.wifi.down.loss", &["0", "0.05"]);
        assert!(loss.is_number() && loss.column() == "path.wifi.down.loss" && loss.decimals() == 2);
        let exponents = key("path.wifi.down.loss", &["1e-3", "2.5E-3", "0.01"]);
        assert_eq!(
            exponents.values.iter().map(|value| value.number).collect::<Vec<_>>(),
            [0.001, 0.0025, 0.01].map(Some)
        );
        assert!(exponents.unit.is_empty() && exponents.decimals() == 4);
        assert_eq!(key("path.wifi.down.rate", &["1e3kbps", "2e3kbps"]).unit, "kbps");
        assert_eq!(key("path.wifi.down.loss", &["1e-70000", "0.01"]).decimals(), MAX_DECIMALS);
        for texts in [&["300kbps", "1Mbps"][..], &["2Mbps", ""], &["5-2.csv", "5-3.csv"], &["min-rtt"]] {
            let mixed = key("k", texts);
            assert!(!mixed.is_number() && mixed.unit.is_empty() && mixed.column() == "k", "{texts:?}");
        }
    }

    #[test]
    fn short_names_are_unambiguous() {
        let mut keys = ["path.wifi.down.rate", "path.lte.down.rate", "transport.scheduler"]
            .map(|name| key(name, &["1"]));
        shorten(&mut keys);
        assert_eq!(keys.map(|key| key.short), ["wifi.down.rate", "lte.down.rate", "scheduler"]);
    }
}
