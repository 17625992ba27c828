//! Charts as figures for a paper: one self-contained SVG in the width of a column.
//!
//! A figure is drawn in points on white. It has no style sheet, so every program that reads SVG
//! shows it alike. Colours are those of Okabe and Ito (2008), told apart by all common kinds of
//! colour vision; dashes, markers and hatching distinguish series in print without colour. The
//! legend stands above the data. The title and the caption are the SVG's `title` and `desc`: a paper
//! sets its own caption.

mod bars;
mod heat;
mod legend;
mod plot;
mod style;
pub(in crate::chart) mod text;

use super::plot::Plot;
use super::{Chart, Panel, Track};
use crate::html::{escape, slug, strip_markup};
use crate::number::write_trimmed;
use core::fmt::Write as _;

/// Size of text, in points.
const FONT_PT: f64 = 7.5;
/// Size of tick labels and printed values, in points; venues ask for 7 or more.
const SMALL_PT: f64 = 7.0;
/// Families with equal advance widths, so that a layout fits wherever it is shown.
const FONT_FAMILY: &str = "Arial, Helvetica, 'Liberation Sans', Arimo, sans-serif";

/// Size of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureStyle {
    /// Width in millimetres; the height follows from the contents.
    pub width_mm: f64,
}

impl FigureStyle {
    /// Width of one column of most papers, in millimetres.
    pub const COLUMN_MM: f64 = 85.0;
    /// Narrowest and widest figure, in millimetres.
    pub const WIDTHS_MM: core::ops::RangeInclusive<f64> = 60.0..=420.0;

    /// Width in points, limited to [`WIDTHS_MM`](Self::WIDTHS_MM).
    fn width_pt(self) -> f64 {
        let width = if self.width_mm.is_finite() { self.width_mm } else { Self::COLUMN_MM };
        width.clamp(*Self::WIDTHS_MM.start(), *Self::WIDTHS_MM.end()) / MM_PER_PT
    }
}

impl Default for FigureStyle {
    fn default() -> Self {
        Self { width_mm: Self::COLUMN_MM }
    }
}

const MM_PER_PT: f64 = 25.4 / 72.0;

impl Chart {
    /// Renders the chart as a self-contained SVG file on white. Equal charts give equal bytes.
    pub fn to_svg(&self, style: &FigureStyle) -> String {
        let width = style.width_pt();
        let (body, height, caption) = match self {
            Self::Bars(bars) => {
                let (body, height) = bars::draw(bars, width);
                (body, height, &bars.caption)
            }
            Self::Lines(lines) => {
                let lines = super::html::on_plot_axis(lines);
                let panel =
                    Panel { y: lines.y.clone(), lines: lines.lines.clone(), marks: lines.marks.clone() };
                let tracks = [Track::Panel(panel)];
                let plot = Plot {
                    id: &slug(&self.key()),
                    label: "",
                    x: &lines.x,
                    tracks: &tracks,
                    width,
                    panel_height: plot::LINES_HEIGHT_PT.max(width * 0.28),
                    legend_title: &lines.legend_title,
                    include_zero: false,
                };
                let (body, height) = plot::draw(&plot, true);
                return document(self.title(), &lines.caption, (width, height), &body);
            }
            Self::Heat(heat) => {
                let (body, height) = heat::draw(heat, width);
                (body, height, &heat.caption)
            }
            Self::Timeline(timeline) => {
                let plot = Plot {
                    id: &slug(&self.key()),
                    label: "",
                    x: &timeline.x,
                    tracks: &timeline.tracks,
                    width,
                    panel_height: plot::PANEL_HEIGHT_PT,
                    legend_title: "",
                    include_zero: true,
                };
                let (body, height) = plot::draw(&plot, false);
                (body, height, &timeline.caption)
            }
        };
        document(self.title(), caption, (width, height), &body)
    }
}

/// The SVG file around a drawing of a size in points.
fn document(title: &str, caption: &str, (width, height): (f64, f64), body: &str) -> String {
    let mm = |points: f64| {
        let mut out = String::new();
        write_trimmed(&mut out, points * MM_PER_PT, 3);
        out
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"{FONT_FAMILY}\" font-size=\"{FONT_PT}\" fill=\"#000\">\n",
        mm(width),
        mm(height),
        w = pt(width),
        h = pt(height),
    );
    if !title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escape(title));
    }
    if !caption.is_empty() {
        let _ = writeln!(out, "<desc>{}</desc>", escape(&strip_markup(caption)));
    }
    let _ = writeln!(out, "<rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>", pt(width), pt(height));
    out + body + "</svg>\n"
}

/// Formats a coordinate with a precision of 0.01 pt.
fn pt(value: f64) -> String {
    let mut out = String::new();
    write_trimmed(&mut out, value, 2);
    out
}
