//! Pages: title, lead, sections of blocks, and footer.

mod html;

pub use html::PAGE_SCRIPT;

use crate::chart::Chart;
use crate::table::Table;
use serde::{Deserialize, Serialize};

/// One self-contained HTML file: prose, tables and charts under headings, with a table of
/// contents.
///
/// # Example
///
/// ```
/// # use tandem_report as report;
/// use report::{Cell, Column, Estimate, Page, Row, Section, Table, TextStyle};
///
/// let table = Table::new("Energy")
///     .column(Column::text("case"))
///     .column(Column::number("energy rate").unit("W"))
///     .row(Row::new([Cell::text("mptcp"), Cell::estimate(Estimate::new(0.628, 0.004), 3)]));
/// assert!(table.to_text(TextStyle::PLAIN).contains("0.628 ± 0.004"));
///
/// let html = Page::new("A run").section(Section::new("Energy").table(table)).to_html();
/// assert!(html.starts_with("<!doctype html>"));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Page {
    /// Title; plain text.
    pub title: String,
    /// Introductory paragraphs, set larger, with inline markup.
    pub lead: Vec<String>,
    /// Sections, top to bottom.
    pub sections: Vec<Section>,
    /// Last line, such as the program and its version, with inline markup; may be empty.
    pub footer: String,
    /// Key of the default chart for a plot; may be empty.
    pub main_chart: String,
}

/// A part of a page under a heading.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Section {
    /// Heading; plain text.
    pub heading: String,
    /// Anchor; derived from the heading if empty (`Fig. 4` gives `fig-4`).
    pub anchor: String,
    /// Contents, top to bottom.
    pub blocks: Vec<Block>,
}

/// A block of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Block {
    /// A paragraph with inline markup.
    Prose(String),
    /// A heading within the section; plain text.
    Heading(String),
    /// A bulleted list with inline markup.
    List(Vec<String>),
    /// Names with their values, such as seeds and durations. Names are plain text, values have
    /// inline markup.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Charts, side by side if the page is wide enough.
    Charts(Vec<Chart>),
    /// A collapsed block of preformatted plain text, such as a scenario file.
    Details {
        /// The visible line that opens the block.
        summary: String,
        /// The preformatted text.
        text: String,
    },
    /// A button that posts to a path of the same server.
    Post {
        /// The path, with its query.
        path: String,
        /// Text of the button.
        label: String,
    },
}

impl Page {
    /// Creates a page with a title and no sections.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
    /// Appends an introductory paragraph with inline markup.
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead.push(text.into());
        self
    }
    /// Appends a section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }
    /// Sets the footer, with inline markup.
    pub fn footer(mut self, text: impl Into<String>) -> Self {
        self.footer = text.into();
        self
    }
    /// Makes the chart with this key the default for a plot; otherwise it is the first chart.
    pub fn main_chart(mut self, key: impl Into<String>) -> Self {
        self.main_chart = key.into();
        self
    }
    /// All charts by their keys, the default first. Each panel of a timeline is also a chart of its
    /// own. Of charts with the same key, the second gets the suffix `-2`.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let charts = self.sections.iter().flat_map(|section| &section.blocks).flat_map(|block| match block {
            Block::Charts(charts) => charts.as_slice(),
            _ => [].as_slice(),
        });
        let all: Vec<Chart> =
            charts.flat_map(|chart| [chart.clone()].into_iter().chain(chart.panels())).collect();
        let keys = html::unique(all.iter().map(Chart::key));
        let mut named: Vec<(String, Chart)> = keys.into_iter().zip(all).collect();
        if let Some(main) = named.iter().position(|(key, _)| *key == self.main_chart) {
            named[..=main].rotate_right(1);
        }
        named
    }
    /// The chart with a key of [`charts`](Self::charts).
    pub fn chart(&self, key: &str) -> Option<Chart> {
        self.charts().into_iter().find_map(|(other, chart)| (other == key).then_some(chart))
    }
    /// Renders the page as an HTML file. Equal pages give equal bytes.
    pub fn to_html(&self) -> String {
        html::page(self)
    }
}

impl Section {
    /// Creates an empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), ..Self::default() }
    }
    /// Sets the anchor. Characters other than letters, digits and hyphens are replaced.
    pub fn anchor(mut self, anchor: impl Into<String>) -> Self {
        self.anchor = anchor.into();
        self
    }
    /// Appends a paragraph with inline markup: `*emphasis*`, `**strong**`, `` `code` ``,
    /// `[text](#anchor)`, `[text](https://…)`. A backslash escapes a delimiter. Escape text from
    /// external sources with [`literal`](crate::literal).
    pub fn prose(self, text: impl Into<String>) -> Self {
        self.block(Block::Prose(text.into()))
    }
    /// Appends a heading within the section.
    pub fn heading(self, text: impl Into<String>) -> Self {
        self.block(Block::Heading(text.into()))
    }
    /// Appends a bulleted list with inline markup.
    pub fn list<S: Into<String>>(self, points: impl IntoIterator<Item = S>) -> Self {
        self.block(Block::List(points.into_iter().map(Into::into).collect()))
    }
    /// Appends names with their values.
    pub fn facts<N: Into<String>, V: Into<String>>(self, facts: impl IntoIterator<Item = (N, V)>) -> Self {
        self.block(Block::Facts(facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }
    /// Appends a table.
    pub fn table(self, table: Table) -> Self {
        self.block(Block::Table(table))
    }
    /// Appends a chart.
    pub fn chart(self, chart: impl Into<Chart>) -> Self {
        self.block(Block::Charts(vec![chart.into()]))
    }
    /// Appends charts, side by side if the page is wide enough.
    pub fn charts<C: Into<Chart>>(self, charts: impl IntoIterator<Item = C>) -> Self {
        self.block(Block::Charts(charts.into_iter().map(Into::into).collect()))
    }
    /// Appends a collapsed block of preformatted text.
    pub fn details(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.block(Block::Details { summary: summary.into(), text: text.into() })
    }
    /// Appends a button that posts to a path of the same server. Other targets are ignored.
    pub fn post(self, path: impl Into<String>, label: impl Into<String>) -> Self {
        self.block(Block::Post { path: path.into(), label: label.into() })
    }
    /// Appends a block.
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}
