//! Text that several reports share.

use crate::warnings::Warning;
use report::Section;

/// Footer of a simulated report.
pub fn footer() -> String {
    format!("Made by `tandem` {}. The same scenario and seed give the same page.", env!("CARGO_PKG_VERSION"))
}

/// Footer of a report on a kernel run, which is not reproducible to the byte.
pub fn kernel_footer() -> String {
    format!("Made by `tandem` {} on a real kernel.", env!("CARGO_PKG_VERSION"))
}

/// A title with a non-breaking hyphen in `Wi-Fi`, for large letters on a narrow phone.
pub fn unbroken(title: &str) -> String {
    title.replace("Wi-Fi", "Wi\u{2011}Fi")
}

/// Appends the warnings of a result, if there are any.
pub fn warnings(section: Section, warnings: &[Warning]) -> Section {
    if warnings.is_empty() {
        return section;
    }
    section.list(warnings.iter().map(|warning| match warning.hint.as_str() {
        "" => format!("**Warning**: {}.", warning.message),
        hint => format!("**Warning**: {}. Hint: {hint}.", warning.message),
    }))
}

/// Joins the lines of a description to one paragraph.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
