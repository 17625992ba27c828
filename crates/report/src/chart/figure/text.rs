//! Text metrics of figures: advance widths of Arial, which Helvetica, Arimo and Liberation Sans share.

use crate::html::escape;
use core::fmt::Write as _;

/// Advance widths of the ASCII characters from the space on, in thousandths of the font size.
const ASCII_WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Width of a text in the unit of `size`.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let thousandths: u32 = text
        .chars()
        .map(|c| match c as u32 {
            code @ 0x20..=0x7e => u32::from(ASCII_WIDTHS[code as usize - 0x20]),
            0x2009 => 200,
            0xa0 => 278,
            0x2212 | 0xd7 | 0xb1 => 584,
            0x2026 => 1000,
            0x300..=0x36f => 0,
            code if code < 0x2e80 => 722,
            _ => 1000,
        })
        .sum();
    f64::from(thousandths) * size / 1000.0
}

/// Breaks a text into lines of at most `max` width: at spaces, then after punctuation, and within
/// a word that is longer than a line.
pub(super) fn wrap(text: &str, max: f64, size: f64) -> Vec<String> {
    wrap_by(text, max, |text| width(text, size))
}

/// Like [`wrap`], for a font with other widths.
pub(in crate::chart) fn wrap_by(text: &str, max: f64, width: impl Fn(&str) -> f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for piece in pieces(text, |word| width(word.trim_end()) > max) {
        if !line.is_empty() && width(line.trim_end()) + width(piece.trim_end()) > max {
            lines.push(core::mem::take(&mut line));
        }
        for c in piece.chars() {
            if !line.is_empty() && width(&line) + width(c.encode_utf8(&mut [0; 4])) > max && c != ' ' {
                lines.push(core::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// True if [`wrap`] breaks the text only at spaces and punctuation.
pub(super) fn wraps_between_words(text: &str, max: f64, size: f64) -> bool {
    pieces(text, |_| true).iter().all(|piece| width(piece.trim_end(), size) <= max)
}

/// Pieces of a text that a line break may separate: words, and parts of those that are `long`.
fn pieces(text: &str, long: impl Fn(&str) -> bool) -> Vec<&str> {
    let words = text.split_inclusive(' ');
    words
        .flat_map(|word| {
            let parts = if long(word) { [' ', ',', '=', ':', '/', '-'].as_slice() } else { [' '].as_slice() };
            word.split_inclusive(parts)
        })
        .collect()
}

/// Position of a text relative to its coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Writes a text with its baseline at (x, y).
pub(super) fn write_text(out: &mut String, (x, y): (f64, f64), anchor: Anchor, attributes: &str, text: &str) {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\"{anchor}{attributes}>{}</text>",
        super::pt(x),
        super::pt(y),
        escape(text)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_fit_and_keep_all_characters() {
        let text = "none transport.scheduler=redundant, path.lte.down.delay=40ms";
        for max in [20.0, 60.0, 100.0, 400.0] {
            let lines = wrap(text, max, 7.0);
            assert!(lines.iter().all(|line| width(line, 7.0) <= max + 1e-9), "{max}: {lines:?}");
            let squeezed = |text: &str| text.replace(' ', "");
            assert_eq!(squeezed(&lines.concat()), squeezed(text));
        }
        assert_eq!(wrap("wifi-first", 400.0, 7.0), ["wifi-first"]);
        assert!(wraps_between_words("wifi-first", 30.0, 7.0) && !wraps_between_words("redundant", 20.0, 7.0));
    }
}
