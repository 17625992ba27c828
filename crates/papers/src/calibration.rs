//! Files of fitted parameters: `key = value` lines, as TOML has them too.

use thiserror::Error;

/// What was wrong with a calibration file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}")]
pub struct CalibrationError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 where the whole file is meant.
    pub line: usize,
    /// What was found and what was expected.
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
    /// Names file, line, what was found and what was expected.
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

    /// Reads the value of the key in this place; `read` says what is wrong with it.
    ///
    /// # Errors
    /// What `read` says, with the file and the line.
    pub(crate) fn get<T>(
        &self,
        slot: usize,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, CalibrationError> {
        let (line, value) = self.found[slot];
        read(value).map_err(|problem| self.error(line, problem))
    }

    /// The same of a number within bounds.
    ///
    /// # Errors
    /// Where it is none, or beyond them.
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
