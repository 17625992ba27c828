//! Arguments of `tandem package-files`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Write the files that a package installs beside the program.
///
/// Manual pages, completions for shells, systemd units and configurations, below DIR as below the
/// root of the file system. No file is replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem package-files ./root
  tandem package-files ./root --date 2026-11-25")]
pub(crate) struct PackageFiles {
    /// Directory that stands for the root of the file system
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: PathBuf,
    /// Date of the manual pages [default: none]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date, default_value = "", hide_default_value = true)]
    pub(crate) date: String,
}

/// A date in the form of ISO 8601, or nothing.
fn date(text: &str) -> Result<String, String> {
    let is_digits = |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    match parts[..] {
        [""] => Ok(String::new()),
        [year, month, day] if is_digits(year, 4) && is_digits(month, 2) && is_digits(day, 2) => {
            Ok(text.to_owned())
        }
        _ => Err("expected a date such as 2026-11-25".to_owned()),
    }
}
