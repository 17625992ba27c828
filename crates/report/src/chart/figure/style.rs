//! Styles of series: colours, dashes, markers and hatching.

use super::pt;
use crate::chart::Shade;
use core::fmt::Write as _;

/// Colours of Okabe and Ito, "Color Universal Design", 2008, without the yellow, which is too light
/// for a line on white.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9"];
/// Dashes; their number has no common factor with that of the colours, so that pairs do not recur
/// before the 35th line.
const DASHES: [&str; 5] = ["", "4.5 1.6", "1.4 1.4", "6 1.5 1.4 1.5", "2.8 1.4"];
/// Colour of axes and of values for comparison.
pub(super) const GREY: &str = "#595959";
/// Colour of grid lines.
pub(super) const FAINT: &str = "#dcdcdc";

/// Style of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineStyle {
    /// The series of this index.
    Series(usize),
    /// A line for comparison.
    Reference,
    /// The only line of a panel of a timeline, which the panel's title names.
    Lone,
}

impl LineStyle {
    pub(super) fn colour(self) -> &'static str {
        match self {
            Self::Series(index) => COLOURS[index % COLOURS.len()],
            Self::Reference => GREY,
            Self::Lone => "#000000",
        }
    }

    /// Presentation attributes of a line.
    pub(super) fn stroke(self, width: f64) -> String {
        let (dash, width) = match self {
            Self::Series(index) => (DASHES[index % DASHES.len()], width),
            Self::Reference => ("2.5 1.8", width * 0.8),
            Self::Lone => ("", width),
        };
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        format!(
            " fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}",
            self.colour(),
            pt(width)
        )
    }

    /// Writes the marker of the line at a point.
    pub(super) fn write_marker(self, out: &mut String, x: f64, y: f64) {
        let shape = match self {
            Self::Series(index) => index % 6,
            Self::Reference => 6,
            Self::Lone => return,
        };
        // Half the size.
        let r = 1.7;
        let path = match shape {
            0 => {
                let _ = writeln!(
                    out,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
                    pt(x),
                    pt(y),
                    pt(r),
                    self.colour()
                );
                return;
            }
            1 => format!("M{} {}h{d}v{d}h-{d}z", pt(x - r), pt(y - r), d = pt(2.0 * r)),
            2 => format!("M{} {}l{} {}h-{}z", pt(x), pt(y - 2.0), pt(2.0), pt(3.6), pt(4.0)),
            3 => format!("M{} {}l{r} {r}l-{r} {r}l-{r} -{r}z", pt(x), pt(y - 2.2), r = pt(2.2)),
            4 => format!("M{} {}l{} -{}h-{}z", pt(x), pt(y + 2.0), pt(2.0), pt(3.6), pt(4.0)),
            5 => format!("M{} {}h{d}M{} {}v{d}", pt(x - 2.0), pt(y), pt(x), pt(y - 2.0), d = pt(4.0)),
            _ => format!("M{} {}l{d} {d}m0 -{d}l-{d} {d}", pt(x - r), pt(y - r), d = pt(2.0 * r)),
        };
        let paint = if shape >= 5 {
            format!("fill=\"none\" stroke=\"{}\" stroke-width=\"0.9\"", self.colour())
        } else {
            format!("fill=\"{}\"", self.colour())
        };
        let _ = writeln!(out, "<path d=\"{path}\" {paint}/>");
    }
}

/// Style of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarStyle {
    /// The series of this index.
    Series(usize),
    /// Values for comparison.
    Reference,
}

impl BarStyle {
    /// Writes a bar: a filled rectangle, with white hatching from the second series on.
    pub(super) fn write_bar(self, out: &mut String, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let (fill, hatch, ink) = match self {
            Self::Series(index) => (COLOURS[index % COLOURS.len()], index % 6, "#fff"),
            Self::Reference => ("#fff", 1, GREY),
        };
        let (width, height) = (width.max(0.0), height.max(0.0));
        let outline = if self == Self::Reference {
            format!(" stroke=\"{GREY}\" stroke-width=\"0.5\"")
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"{outline}/>",
            pt(x),
            pt(y),
            pt(width),
            pt(height)
        );
        let mut path = String::new();
        let (slopes, gap): (&[i8], f64) = match hatch {
            0 => (&[], 1.0),
            1 => (&[1], 3.0),
            2 => (&[-1], 3.0),
            3 => (&[1, -1], 4.0),
            4 => (&[0], 2.6),
            _ => (&[2], 2.6),
        };
        for slope in slopes {
            hatching(&mut path, (x, y), (width, height), *slope, gap);
        }
        if !path.is_empty() {
            let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"0.6\"/>");
        }
    }
}

/// Writes parallel lines within a rectangle: rising (1), falling (-1), level (0) or upright (2).
fn hatching(path: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), slope: i8, gap: f64) {
    // Very long bars have fewer lines, so that a figure stays small.
    let gap = gap.max((width + height) / 400.0);
    let count = |length: f64| (length / gap).ceil() as usize;
    match slope {
        0 => (1..count(height)).for_each(|i| {
            let _ = write!(path, "M{} {}h{}", pt(x), pt(y + gap * i as f64), pt(width));
        }),
        2 => (1..count(width)).for_each(|i| {
            let _ = write!(path, "M{} {}v{}", pt(x + gap * i as f64), pt(y), pt(height));
        }),
        _ => (1..count(width + height)).for_each(|i| {
            // The line on which the distances from the left and from one end of the bar add up to `sum`.
            let sum = gap * i as f64;
            let (from, to) = ((sum - height).max(0.0), sum.min(width));
            let place = |along: f64| {
                let up = sum - along;
                if slope > 0 { y + up } else { y + height - up }
            };
            let _ = write!(path, "M{} {}L{} {}", pt(x + from), pt(place(from)), pt(x + to), pt(place(to)));
        }),
    }
}

/// Colour of a state. The height of its block distinguishes it as well.
pub(super) fn shade_colour(shade: Shade) -> &'static str {
    match shade {
        Shade::Active => "#0072b2",
        Shade::Promotion => "#cc79a7",
        Shade::Tail => "#e69f00",
        Shade::Idle => "#7f7f7f",
        Shade::Other => "#595959",
    }
}
