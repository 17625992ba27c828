//! A page and its parts.

mod html;

use crate::chart::Chart;
use crate::table::Table;

/// One self-contained HTML file: prose, tables and charts under headings, with a table of contents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The title; plain text.
    pub title: String,
    /// The first paragraphs, set larger; with inline markup.
    pub lead: Vec<String>,
    /// The sections.
    pub sections: Vec<Section>,
    /// A last line, such as the program and its version; with inline markup.
    pub footer: String,
}

/// A part of a page under a heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// The heading; plain text.
    pub heading: String,
    /// Its anchor; empty for one made from the heading (`Fig. 4` gives `fig-4`).
    pub anchor: String,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// A block of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph, with inline markup.
    Prose(String),
    /// A heading within the section; plain text.
    Heading(String),
    /// A list of points, with inline markup.
    List(Vec<String>),
    /// Names and what they stand for, such as seeds and durations; plain names, values with inline
    /// markup.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Charts; several stand beside each other where there is room.
    Charts(Vec<Chart>),
    /// Preformatted text behind a line that opens it, such as a scenario file; plain text.
    Details {
        /// The line.
        summary: String,
        /// The text.
        text: String,
    },
}

impl Page {
    /// A page with nothing but a title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
    /// Adds a paragraph to the lead, with inline markup.
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead.push(text.into());
        self
    }
    /// Adds a section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }
    /// Sets the last line, with inline markup.
    pub fn footer(mut self, text: impl Into<String>) -> Self {
        self.footer = text.into();
        self
    }
    /// The whole file. The same page gives the same bytes.
    pub fn to_html(&self) -> String {
        html::page(self)
    }
}

impl Section {
    /// An empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), ..Self::default() }
    }
    /// Sets the anchor: letters, digits and hyphens; anything else is replaced.
    pub fn anchor(mut self, anchor: impl Into<String>) -> Self {
        self.anchor = anchor.into();
        self
    }
    /// Adds a paragraph with inline markup: `*emphasis*`, `**strong**`, `` `code` ``,
    /// `[text](#anchor)`, `[text](https://…)`, and a backslash before a sign that is meant as itself.
    /// What comes from elsewhere goes through [`literal`](crate::literal) first.
    pub fn prose(self, text: impl Into<String>) -> Self {
        self.block(Block::Prose(text.into()))
    }
    /// Adds a heading within the section.
    pub fn heading(self, text: impl Into<String>) -> Self {
        self.block(Block::Heading(text.into()))
    }
    /// Adds a list of points, with inline markup.
    pub fn list<S: Into<String>>(self, points: impl IntoIterator<Item = S>) -> Self {
        self.block(Block::List(points.into_iter().map(Into::into).collect()))
    }
    /// Adds names and what they stand for.
    pub fn facts<N: Into<String>, V: Into<String>>(self, facts: impl IntoIterator<Item = (N, V)>) -> Self {
        self.block(Block::Facts(facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }
    /// Adds a table.
    pub fn table(self, table: Table) -> Self {
        self.block(Block::Table(table))
    }
    /// Adds a chart.
    pub fn chart(self, chart: impl Into<Chart>) -> Self {
        self.block(Block::Charts(vec![chart.into()]))
    }
    /// Adds charts that stand beside each other where there is room.
    pub fn charts<C: Into<Chart>>(self, charts: impl IntoIterator<Item = C>) -> Self {
        self.block(Block::Charts(charts.into_iter().map(Into::into).collect()))
    }
    /// Adds preformatted text behind a line that opens it.
    pub fn details(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.block(Block::Details { summary: summary.into(), text: text.into() })
    }
    /// Adds a block.
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}
