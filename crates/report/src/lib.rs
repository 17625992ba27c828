//! Tables, charts and one self-contained HTML file.
//!
//! A [`Table`] renders as terminal text, CSV, JSON and HTML. A [`Page`] combines prose, tables and
//! [`Chart`]s in one HTML file without external resources. Charts are SVG, so a page is complete
//! without scripts and in print; an embedded script adds zoom and a cursor with values. A chart is
//! also a [figure](Chart::to_svg) for a paper: one SVG file in the width of a column.
//!
//! Output depends on the input only: equal pages give equal bytes. All text is escaped. A number
//! that is not finite is an en dash in text and HTML, empty in CSV and null in JSON.

mod chart;
mod html;
mod number;
mod page;
mod table;
mod terminal;

pub use chart::{
    Axis, BarSeries, Bars, Chart, FigureStyle, Heat, HeatCell, Lane, Line, Lines, Mark, Panel, Shade, Shape,
    Span, Timeline, Track,
};
pub use html::literal;
pub use number::Estimate;
pub use page::{Block, PAGE_SCRIPT, Page, Section};
pub use table::{Align, Badge, Cell, Column, Row, Table, TextStyle, Tone, Value};
pub use terminal::printable;
