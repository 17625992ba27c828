//! Legend above the data: samples with their names, in rows of the figure's width.

use super::style::{BarStyle, GREY, LineStyle, shade_colour};
use super::text::{Anchor, width, wrap, write_text};
use super::{FONT_PT, pt};
use crate::chart::Shade;
use core::fmt::Write as _;

/// Distance between two rows.
const ROW_PT: f64 = 9.6;
/// Space between a sample and its name.
const SAMPLE_GAP_PT: f64 = 3.0;
/// Space between two entries of a row.
const ENTRY_GAP_PT: f64 = 10.0;

/// The sample of a legend entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// A line, with its marker if the lines of the chart have markers.
    Line(LineStyle, bool),
    Bar(BarStyle),
    State(Shade),
    /// A ring around a point.
    Ring,
    /// A horizontal annotation.
    Level,
    /// No sample: the title of the legend.
    Title,
}

impl Sample {
    fn width(self) -> f64 {
        match self {
            Self::Line(..) | Self::Level => 17.0,
            Self::Bar(_) | Self::State(_) => 11.0,
            Self::Ring => 6.0,
            Self::Title => -SAMPLE_GAP_PT,
        }
    }

    /// Writes the sample with its left edge at `x`, beside text with the given baseline.
    fn write(self, out: &mut String, x: f64, baseline: f64) {
        let middle = baseline - FONT_PT * 0.36;
        match self {
            Self::Line(style, marker) => {
                let (from, attributes) = (pt(x), style.stroke(1.1));
                let _ = writeln!(out, "<path d=\"M{from} {}h17\"{attributes}/>", pt(middle));
                if marker {
                    style.write_marker(out, x + 8.5, middle);
                }
            }
            Self::Bar(style) => style.write_bar(out, (x, middle - 3.0), (11.0, 6.0)),
            Self::State(shade) => {
                let height = 6.5 * shade.height();
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"11\" height=\"{}\" fill=\"{}\"/>",
                    pt(x),
                    pt(baseline - height + 0.3),
                    pt(height),
                    shade_colour(shade)
                );
            }
            Self::Ring => {
                let _ = writeln!(
                    out,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"2.6\" fill=\"none\" stroke=\"#000\" stroke-width=\"0.7\"/>",
                    pt(x + 3.0),
                    pt(middle)
                );
            }
            Self::Level => {
                let _ = writeln!(
                    out,
                    "<path d=\"M{} {}h17\" stroke=\"{GREY}\" stroke-width=\"0.6\" stroke-dasharray=\"1.5 1.5\"/>",
                    pt(x),
                    pt(middle)
                );
            }
            Self::Title => {}
        }
    }
}

/// Writes a legend from `top` on; returns its lower edge. A name that is too long for a row is
/// wrapped.
pub(super) fn write_legend(
    out: &mut String,
    entries: &[(Sample, String)],
    (left, right): (f64, f64),
    top: f64,
) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let (mut x, mut baseline) = (left, top + FONT_PT);
    for (sample, name) in entries {
        let start = sample.width() + SAMPLE_GAP_PT;
        let lines = wrap(name, right - left - start, FONT_PT);
        let widest = lines.iter().map(|line| width(line, FONT_PT)).fold(0.0, f64::max);
        if x > left && x + start + widest > right {
            x = left;
            baseline += ROW_PT;
        }
        sample.write(out, x, baseline);
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                baseline += ROW_PT;
            }
            let fill = if *sample == Sample::Title { format!(" fill=\"{GREY}\"") } else { String::new() };
            write_text(out, (x + start, baseline), Anchor::Start, &fill, line);
        }
        x += start + widest + if *sample == Sample::Title { 6.0 } else { ENTRY_GAP_PT };
    }
    baseline + 4.0
}
