//! Elements and text metrics common to all drawings.

use super::axis::{Scale, Ticks};
use super::figure::text::wrap_by;
use crate::html::escape;
use crate::number::write_trimmed;
use core::fmt::Write as _;

/// Page width for which a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// A desktop screen or a sheet of paper.
    Wide,
    /// A phone.
    Narrow,
}

impl Size {
    /// Class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }
}

/// Font size, as in the style sheet.
pub(crate) const FONT_PX: f64 = 12.0;
/// Width of a narrow chart: a phone of 390 px less the margins.
pub(crate) const NARROW_WIDTH_PX: f64 = 354.0;

/// Number of styles of lines and bars; further series reuse them.
const SERIES_STYLES: usize = 6;

/// Class of a line or bar by the index of its series.
pub(crate) fn series_class(index: usize) -> String {
    format!("s{}", index % SERIES_STYLES)
}

/// Formats a coordinate with a precision of 0.1 px.
pub(crate) fn px(value: f64) -> String {
    let mut out = String::new();
    write_trimmed(&mut out, value, 1);
    out
}

/// Opening tag of a drawing. `label` is for screen readers, `attributes` are appended.
pub(crate) fn open_svg(
    class: &str,
    size: Size,
    (width, height): (f64, f64),
    label: &str,
    attributes: &str,
) -> String {
    format!(
        "<svg class=\"{class} {}\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{}\"{attributes}>\n",
        size.class(),
        escape(label),
        w = px(width),
        h = px(height),
    )
}

/// Text element at (x, y).
pub(crate) fn text(x: f64, y: f64, class: &str, text: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text x=\"{}\" y=\"{}\"{class}>{}</text>", px(x), px(y), escape(text))
}

/// Horizontal grid lines with their labels on the left.
pub(crate) fn y_grid(ticks: &Ticks, y: Scale, left: f64, right: f64) -> String {
    let mut out = String::from("<g class=\"grid y\">");
    for value in &ticks.values {
        let at = y.px(*value);
        let base = if *value == 0.0 { " class=\"base\"" } else { "" };
        let _ = write!(out, "<path{base} d=\"M{} {}H{}\"/>", px(left), px(at), px(right));
        out.push_str(&text(left - 6.0, at + 4.0, "end", &ticks.text(*value)));
    }
    out.push_str("</g>\n");
    out
}

/// Upper estimate of the width of a text in a sans-serif font.
pub(crate) fn text_width(text: &str) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '\u{2009}' => 0.29,
            'f' | 't' | 'r' | 'I' | '(' | ')' | '/' | '-' => 0.38,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.9,
            // The digits of the widest common font.
            '0'..='9' => 0.64,
            'A'..='Z' | '±' | '\u{2212}' | '+' | '=' => 0.7,
            c if (c as u32) < 0x2e80 => 0.58,
            _ => 1.0,
        })
        .sum();
    ems * FONT_PX
}

/// Breaks a text into lines of at most `width`.
pub(crate) fn wrap(text: &str, width: f64) -> Vec<String> {
    wrap_by(text, width, text_width)
}

/// Shortens a text to `width` with an ellipsis.
pub(crate) fn ellipsize(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if text_width(&cut) + FONT_PX > width {
            cut.pop();
            break;
        }
    }
    format!("{}…", cut.trim_end())
}
