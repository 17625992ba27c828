//! Text that several reports share.

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

/// Joins the lines of a description to one paragraph.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
