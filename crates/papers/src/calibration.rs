//! Reads calibration files: `key = value` lines, a subset of TOML.

use thiserror::Error;

/// An error in a calibration file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}")]
pub struct CalibrationError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The problem, with found and expected values.
    pub problem: String,
}

/// The values of a file, in the order of its keys.
#[derive(Debug)]
pub(crate) struct Values<'a, const N: usize> {
    file: &'a str,
    keys: [&'static str; N],
    found: [(usize, &'a str); N],
}

impl<'a, const N: usize> Values<'a, N> {
    /// Reads a file with each of `keys` once; comments begin with `#`.
    ///
    /// # Errors
    /// A line that is not `key = value`, or an unknown, repeated or missing key.
    pub(crate) fn read(
        file: &'a str,
        text: &'a str,
        keys: [&'static str; N],
    ) -> Result<Self, CalibrationError> {
        let mut values = Self { file, keys, found: [(0, ""); N] };
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                return Err(values.error(number, format!("`{line}` is not `key = value`")));
            };
            let key = key.trim();
            let Some(slot) = keys.iter().position(|known| *known == key) else {
                let known = keys.join(", ");
                return Err(values.error(number, format!("unknown key `{key}`, expected one of {known}")));
            };
            if values.found[slot].0 > 0 {
                return Err(values.error(number, format!("`{key}` is there twice")));
            }
            values.found[slot] = (number, value.trim().trim_matches('"'));
        }
        match values.found.iter().position(|(line, _)| *line == 0) {
            Some(slot) => {
                let key = keys[slot];
                Err(values.error(0, format!("`{key}` is missing; `--calibrate` writes the whole file")))
            }
            None => Ok(values),
        }
    }

    /// Parses the value of the key at this index with `read`.
    ///
    /// # Errors
    /// The error of `read`, with file and line.
    pub(crate) fn get<T>(
        &self,
        slot: usize,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, CalibrationError> {
        let (line, value) = self.found[slot];
        read(value).map_err(|problem| self.error(line, problem))
    }

    /// Parses a number between `least` and `most`.
    ///
    /// # Errors
    /// The value is not a number or is out of bounds.
    pub(crate) fn number(&self, slot: usize, least: f64, most: f64) -> Result<f64, CalibrationError> {
        let key = self.keys[slot];
        self.get(slot, |value| {
            let number = value.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("`{key}` is a number from {least} to {most}"))
        })
    }

    fn error(&self, line: usize, problem: String) -> CalibrationError {
        CalibrationError { file: self.file.to_owned(), line, problem }
    }
}
