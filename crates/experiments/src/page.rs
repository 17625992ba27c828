//! Parts that the reports have in common.

/// The last line of a page.
pub fn footer() -> String {
    format!("Made by `tandem` {}. The same scenario and seed give the same page.", env!("CARGO_PKG_VERSION"))
}

/// A title that does not break within `Wi-Fi`: large letters on a phone soon come to the end of a line.
pub fn unbroken(title: &str) -> String {
    title.replace("Wi-Fi", "Wi\u{2011}Fi")
}

/// The lines of a description as one paragraph.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
