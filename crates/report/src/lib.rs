//! Tables, charts and one self-contained HTML file.
//!
//! The two types to know are [`Table`], which renders as text for a terminal, CSV, JSON and HTML, and
//! [`Page`], which gathers prose, tables and [`Chart`]s into one HTML file that loads nothing from
//! anywhere. Charts are drawn as SVG here, so that a page reads without a script and in print; a small
//! script of the page's own adds zooming and a cursor that reads values.
//!
//! ```
//! # use tandem_report as report;
//! use report::{Cell, Column, Estimate, Page, Row, Section, Table, TextStyle};
//!
//! let table = Table::new("Energy")
//!     .column(Column::text("case"))
//!     .column(Column::number("energy rate").unit("W"))
//!     .row(Row::new([Cell::text("mptcp"), Cell::estimate(Estimate::new(0.628, 0.004), 3)]));
//! assert!(table.to_text(TextStyle::PLAIN).contains("0.628 ± 0.004"));
//!
//! let html = Page::new("A run").section(Section::new("Energy").table(table)).to_html();
//! assert!(html.starts_with("<!doctype html>"));
//! ```
//!
//! Everything is a function of its input: no date, no random id; the same page gives the same bytes.
//! Every text is escaped. A number that is not finite is shown as an en dash, is empty in CSV and null
//! in JSON.

mod chart;
mod html;
mod number;
mod page;
mod table;

pub use chart::{
    Axis, BarSeries, Bars, Chart, Lane, Line, Lines, Mark, Panel, Shade, Shape, Span, Timeline, Track,
};
pub use html::literal;
pub use number::Estimate;
pub use page::{Block, Page, Section};
pub use table::{Align, Badge, Cell, Column, Row, Table, TextStyle, Tone, Value};
