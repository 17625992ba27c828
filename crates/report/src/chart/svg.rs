//! Small things that every drawing needs.

use crate::html::escape;
use crate::number::short;

/// For which page a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// A desk or a sheet of paper.
    Wide,
    /// A phone.
    Narrow,
}

impl Size {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }
}

/// The height of the text, as in the style sheet.
pub(crate) const FONT: f64 = 12.0;
/// The width of a narrow chart: a phone of 390 px without its margins.
pub(crate) const NARROW: f64 = 354.0;

/// A coordinate, to a tenth of a pixel.
pub(crate) fn px(value: f64) -> String {
    let mut out = String::new();
    short(&mut out, value, 1);
    out
}

/// Opens an SVG of that class and size. `label` is what a screen reader says.
pub(crate) fn open(class: &str, size: Size, width: f64, height: f64, label: &str, more: &str) -> String {
    format!(
        "<svg class=\"{class} {}\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{}\"{more}>\n",
        size.class(),
        escape(label),
        w = px(width),
        h = px(height),
    )
}

/// A text at (x, y).
pub(crate) fn text(x: f64, y: f64, class: &str, text: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text x=\"{}\" y=\"{}\"{class}>{}</text>", px(x), px(y), escape(text))
}

/// About how wide a text will be in a sans-serif face; on the large side.
pub(crate) fn text_width(text: &str, font: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '\u{2009}' => 0.29,
            'f' | 't' | 'r' | 'I' | '(' | ')' | '/' | '-' => 0.38,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.9,
            'A'..='Z' | '±' | '\u{2212}' | '+' | '=' => 0.7,
            c if (c as u32) < 0x2e80 => 0.58,
            _ => 1.0,
        })
        .sum();
    ems * font
}

/// The text, cut with an ellipsis where it would be wider than `room`.
pub(crate) fn fit(text: &str, font: f64, room: f64) -> String {
    if text_width(text, font) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if text_width(&cut, font) + font > room {
            cut.pop();
            break;
        }
    }
    format!("{}…", cut.trim_end())
}
