//! Heat maps: a cell for each row and column, coloured by its value.
//!
//! The colour goes from white to one hue, so that it can be told apart in print. A cell shows its
//! value and a short text. On a phone a drawing keeps its size and scrolls.

use super::svg::{FONT_PX, Size, ellipsize, open_svg, px, text, text_width, wrap};
use crate::number::{DASH, fixed, with_minus_sign};
use core::fmt::Write as _;
use serde::{Deserialize, Serialize};

const ROW_PX: f64 = 34.0;
const WIDTH_PX: f64 = 900.0;
/// Distance between two lines of a column's name.
const LINE_PX: f64 = 15.0;
/// Opacity of the largest value: text on it stays readable.
const MAX_OPACITY: f64 = 0.6;

/// Cells of rows and columns, each with a value and a short text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Heat {
    /// Name for [`Page::chart`](crate::Page::chart); derived from the title if empty.
    pub key: String,
    /// Title; plain text.
    pub title: String,
    /// Text below the chart, with inline markup; may be empty.
    pub caption: String,
    /// Quantity of the values, with its unit; plain text.
    pub quantity: String,
    /// Decimals of the printed values.
    pub decimals: usize,
    /// Value that is drawn white.
    pub white: f64,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Name of each row, and its cells by column.
    pub rows: Vec<(String, Vec<HeatCell>)>,
}

/// Value and text of a cell; `None` for no cell.
pub type HeatCell = Option<(f64, String)>;

impl Heat {
    /// Creates a chart without cells.
    pub fn new(title: impl Into<String>, quantity: impl Into<String>) -> Self {
        Self { title: title.into(), quantity: quantity.into(), ..Self::default() }
    }
    /// Sets the name for [`Page::chart`](crate::Page::chart).
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
    /// Sets the text below the chart.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
    /// Sets the decimals of the printed values.
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = decimals;
        self
    }
    /// Sets the value that is drawn white, instead of zero.
    pub fn white(mut self, value: f64) -> Self {
        self.white = value;
        self
    }
    /// Sets the names of the columns.
    pub fn columns(mut self, names: Vec<String>) -> Self {
        self.columns = names;
        self
    }
    /// Appends a row.
    pub fn row(mut self, name: impl Into<String>, cells: Vec<HeatCell>) -> Self {
        self.rows.push((name.into(), cells));
        self
    }

    /// Opacity of a value: 0 for [`white`](Self::white) and below, [`MAX_OPACITY`] for the largest.
    pub(super) fn opacity(&self, value: f64) -> f64 {
        let values = self.rows.iter().flat_map(|(_, cells)| cells.iter().flatten().map(|cell| cell.0));
        let largest = values.filter(|value| value.is_finite()).fold(self.white, f64::max);
        let range = largest - self.white;
        if range > 0.0 && value.is_finite() {
            MAX_OPACITY * ((value - self.white) / range).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    pub(super) fn aria_label(&self) -> String {
        let rows = self.rows.iter().map(|(name, cells)| {
            let cells = cells.iter().zip(&self.columns).filter_map(|(cell, column)| {
                let (value, label) = cell.as_ref()?;
                Some(format!("{column} {} {label}", self.shown(*value)))
            });
            format!("{name}: {}", cells.collect::<Vec<_>>().join(", "))
        });
        format!("Heat map: {}, {}. {}.", self.title, self.quantity, rows.collect::<Vec<_>>().join("; "))
    }

    /// The drawing for a page.
    pub(super) fn svg(&self) -> String {
        let left = self.rows.iter().map(|(name, _)| text_width(name)).fold(60.0, f64::max) + 10.0;
        let slot = (WIDTH_PX - left) / self.columns.len().max(1) as f64;
        let heads: Vec<Vec<String>> = self.columns.iter().map(|name| wrap(name, slot - 4.0)).collect();
        let lines = heads.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let top = FONT_PX * 2.0 + LINE_PX * lines;
        let height = top + ROW_PX * self.rows.len() as f64;
        let mut out = open_svg("heat", Size::Wide, (WIDTH_PX, height), &self.aria_label(), "");
        out.push_str(&text(0.0, FONT_PX, "axis", &self.quantity));
        for (c, head) in heads.iter().enumerate() {
            for (line, words) in head.iter().rev().enumerate() {
                let y = top - 6.0 - LINE_PX * line as f64;
                out.push_str(&text(left + slot * (c as f64 + 0.5), y, "mid", words));
            }
        }
        for (r, (name, cells)) in self.rows.iter().enumerate() {
            let y = top + ROW_PX * r as f64;
            out.push_str(&text(0.0, y + ROW_PX * 0.6, "", name));
            for (c, cell) in cells.iter().enumerate() {
                let Some((value, label)) = cell else { continue };
                let (x, middle) = (left + slot * c as f64, left + slot * (c as f64 + 0.5));
                let _ = write!(
                    out,
                    "<rect class=\"bar s0\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.3}\"/>",
                    px(x + 1.0),
                    px(y + 1.0),
                    px(slot - 2.0),
                    px(ROW_PX - 2.0),
                    self.opacity(*value)
                );
                out.push_str(&text(middle, y + 14.0, "mid", &self.shown(*value)));
                out.push_str(&text(middle, y + 28.0, "mid axis", &ellipsize(label, slot - 4.0)));
            }
        }
        out + "</svg>\n"
    }

    /// A value as cells show it.
    pub(super) fn shown(&self, value: f64) -> String {
        if value.is_finite() { with_minus_sign(&fixed(value, self.decimals)) } else { DASH.to_owned() }
    }
}
