//! Chart data and builders. The submodules draw them as SVG.

mod axis;
mod bars;
mod data;
mod downsample;
mod draw;
mod figure;
mod heat;
mod html;
mod lane;
mod plot;
mod svg;

pub use figure::FigureStyle;
pub use heat::{Heat, HeatCell};

use crate::html::slug;
use crate::number::Estimate;
use serde::{Deserialize, Serialize};
use units::Instant;

/// A chart, rendered as two SVG drawings: for a wide page and for a phone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Chart {
    /// Grouped bars with error bars.
    Bars(Bars),
    /// Lines over a common x axis.
    Lines(Lines),
    /// Panels stacked over one time axis.
    Timeline(Timeline),
    /// Coloured cells of rows and columns.
    Heat(Heat),
}

/// Quantity and range of an axis. Unset ends follow from the data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Axis {
    /// Quantity; plain text.
    pub title: String,
    /// Unit; may be empty.
    pub unit: String,
    /// Value at the start of the axis.
    pub from: Option<f64>,
    /// Value at the end of the axis.
    pub to: Option<f64>,
    /// Logarithmic; only for the x axis of [`Lines`].
    pub log: bool,
}

/// Grouped bars with printed values: for each group (a case), one bar of each series (simulation,
/// paper). Bars are vertical if the labels fit, and horizontal otherwise and on a phone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Bars {
    /// Name for [`Page::chart`](crate::Page::chart); derived from the title if empty.
    pub key: String,
    /// Title; plain text.
    pub title: String,
    /// Text below the chart, with inline markup; may be empty.
    pub caption: String,
    /// Axis along the bars.
    pub axis: Axis,
    /// Decimals of the printed values.
    pub decimals: usize,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Series, in the order of the bars within a group.
    pub series: Vec<BarSeries>,
    /// Quantity that distinguishes the series, above the legend; may be empty.
    pub legend_title: String,
}

/// One bar in each group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// Values by group; `None` for no bar.
    pub values: Vec<Option<Estimate>>,
    /// Hatched instead of filled: values for comparison, such as figures of a paper.
    pub reference: bool,
}

/// Lines over a common x axis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lines {
    /// Name for [`Page::chart`](crate::Page::chart); derived from the title if empty.
    pub key: String,
    /// Title; plain text.
    pub title: String,
    /// Text below the chart, with inline markup; may be empty.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Lines, the most important one first.
    pub lines: Vec<Line>,
    /// Annotations.
    pub marks: Vec<Mark>,
    /// Quantity that distinguishes the lines, above the legend; may be empty.
    pub legend_title: String,
}

/// A line through points.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Line {
    /// Name in the legend. Lines of one name have one colour throughout a chart.
    pub name: String,
    /// Coordinates on the x axis, in ascending order.
    pub x: Vec<f64>,
    /// Values; a value that is not finite leaves a gap.
    pub y: Vec<f64>,
    /// Half the height of a band around each value, such as a 95 % interval; empty for no band.
    pub band: Vec<f64>,
    /// Interpolation between points.
    pub shape: Shape,
    /// Draws a dot at each point.
    pub dots: bool,
    /// Thin and dashed: values for comparison, such as figures of a paper.
    pub reference: bool,
}

/// Interpolation between the points of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Shape {
    /// Straight line segments.
    #[default]
    Straight,
    /// The value holds until the next point.
    Step,
}

/// An annotation in a plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Mark {
    /// A vertical line.
    Vertical {
        /// Coordinate on the x axis.
        x: f64,
        /// Label; plain text.
        label: String,
    },
    /// A horizontal line.
    Horizontal {
        /// Value on the y axis.
        y: f64,
        /// Label; plain text.
        label: String,
    },
    /// A ring around a point.
    Point {
        /// Coordinate on the x axis.
        x: f64,
        /// Value on the y axis.
        y: f64,
        /// Label; plain text.
        label: String,
    },
}

/// Panels and lanes stacked over one time axis, with a common zoom.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// Name for [`Page::chart`](crate::Page::chart); derived from the title if empty.
    pub key: String,
    /// Title; plain text.
    pub title: String,
    /// Text below the chart, with inline markup; may be empty.
    pub caption: String,
    /// Common axis; by default time in seconds.
    pub x: Axis,
    /// Tracks, top to bottom.
    pub tracks: Vec<Track>,
}

/// A panel or lane of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Track {
    /// Lines.
    Panel(Panel),
    /// States as blocks.
    Lane(Lane),
}

/// Lines with their own y axis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Panel {
    /// Vertical axis.
    pub y: Axis,
    /// Lines, the most important one first.
    pub lines: Vec<Line>,
    /// Annotations.
    pub marks: Vec<Mark>,
}

/// States over time as blocks; the height of a block ranks the power of its state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lane {
    /// Name of the component, such as a radio.
    pub name: String,
    /// Spans, in ascending order and without overlap.
    pub spans: Vec<Span>,
}

/// A time span in one state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Start, in the unit of the x axis.
    pub from: f64,
    /// End, in the unit of the x axis.
    pub to: f64,
    /// Name of the state.
    pub label: String,
    /// Style of the block.
    pub shade: Shade,
}

/// Style of a state: colour, height and hatching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Shade {
    /// A thin line.
    Idle,
    /// A low hatched block.
    Tail,
    /// A half-high block.
    Promotion,
    /// A full block.
    Active,
    /// Style of unknown states.
    Other,
}

impl Shade {
    /// Returns the shade of a power state by its common names (`Idle`, `PSM`, `Promotion`,
    /// `Active`, `CR`, `Tail 1`, `Short DRX`, …), ignoring case.
    pub fn of(state: &str) -> Self {
        let state = state.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| state.contains(word));
        if has(&["inactive", "idle", "psm", "sleep", "off"]) {
            Self::Idle
        } else if has(&["promo"]) {
            Self::Promotion
        } else if has(&["tail", "drx", "fach"]) {
            Self::Tail
        } else if has(&["active", "cr", "connected", "dch", "cam", "on"]) {
            Self::Active
        } else {
            Self::Other
        }
    }
}

impl Axis {
    /// Creates an axis of the quantity `title`.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
    /// Creates an axis of time in seconds.
    pub fn seconds() -> Self {
        Self::new("time").unit("s")
    }
    /// Sets the unit.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }
    /// Sets the value at the start of the axis.
    pub fn from(mut self, value: f64) -> Self {
        self.from = Some(value);
        self
    }
    /// Sets the value at the end of the axis.
    pub fn to(mut self, value: f64) -> Self {
        self.to = Some(value);
        self
    }
    /// Makes the axis logarithmic. Points at zero and below have no place on it. Only for the x
    /// axis of [`Lines`].
    pub fn log(mut self) -> Self {
        self.log = true;
        self
    }
    /// Label of the form `title, unit`.
    pub(crate) fn label(&self) -> String {
        match (self.title.is_empty(), self.unit.is_empty()) {
            (_, true) => self.title.clone(),
            (true, false) => self.unit.clone(),
            (false, false) => format!("{}, {}", self.title, self.unit),
        }
    }
}

impl Bars {
    /// Creates a chart without bars, with two decimals.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self { title: title.into(), axis, decimals: 2, ..Self::default() }
    }
    /// Sets the name for [`Page::chart`](crate::Page::chart): lower case with hyphens, such as `power`
    /// or `cdf:delay`. What follows a colon names one of several charts of a quantity.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
    /// Sets the quantity that distinguishes the series, shown above the legend. The legend then holds
    /// its values alone.
    pub fn legend_title(mut self, title: impl Into<String>) -> Self {
        self.legend_title = title.into();
        self
    }
    /// Sets the names of the groups.
    pub fn groups<S: Into<String>>(mut self, groups: impl IntoIterator<Item = S>) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }
    /// Sets the decimals of the printed values.
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = decimals;
        self
    }
    /// Appends a series of filled bars.
    pub fn series(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Estimate>) -> Self {
        let values = values.into_iter().map(Some).collect();
        self.series.push(BarSeries { name: name.into(), values, reference: false });
        self
    }
    /// Appends a series of hatched bars for comparison.
    pub fn reference(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Estimate>) -> Self {
        let values = values.into_iter().map(Some).collect();
        self.series.push(BarSeries { name: name.into(), values, reference: true });
        self
    }
    /// Sets the text below the chart.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
}

impl Lines {
    /// Creates a chart without lines.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, ..Self::default() }
    }
    /// Sets the name for [`Page::chart`](crate::Page::chart): lower case with hyphens, such as `power`
    /// or `cdf:delay`. What follows a colon names one of several charts of a quantity.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
    /// Sets the quantity that distinguishes the lines, shown above the legend. The legend then holds
    /// its values alone.
    pub fn legend_title(mut self, title: impl Into<String>) -> Self {
        self.legend_title = title.into();
        self
    }
    /// Appends a line.
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }
    /// Adds an annotation.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
    /// Sets the text below the chart.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
}

impl Line {
    /// Creates a line through the points (x, y), with x in ascending order. Surplus elements of
    /// the longer list are ignored.
    pub fn new(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self { name: name.into(), x, y, ..Self::default() }
    }
    /// Creates a line through values sampled every `step` from `start` on.
    pub fn sampled(name: impl Into<String>, start: f64, step: f64, y: Vec<f64>) -> Self {
        let x = (0..y.len()).map(|i| start + step * i as f64).collect();
        Self::new(name, x, y)
    }
    /// Creates a line through means, with their intervals as a band.
    pub fn estimates(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Estimate)>) -> Self {
        let mut line = Self::new(name, Vec::new(), Vec::new());
        for (x, estimate) in points {
            line.x.push(x);
            line.y.push(estimate.mean);
            line.band.push(estimate.ci95);
        }
        line
    }
    /// Creates the cumulative distribution of samples as steps from 0 to 100 %, for a y axis in
    /// percent. Samples that are not finite are left out.
    pub fn cdf(name: impl Into<String>, samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().filter(|v| v.is_finite()).collect();
        samples.sort_by(f64::total_cmp);
        let count = samples.len() as f64;
        let mut steps: Vec<(f64, f64)> = samples.first().map(|v| (*v, 0.0)).into_iter().collect();
        for (i, value) in samples.iter().enumerate() {
            // One step for equal samples, at the share of samples up to them.
            if samples.get(i + 1) != Some(value) {
                steps.push((*value, 100.0 * (i + 1) as f64 / count));
            }
        }
        let (x, y) = steps.into_iter().unzip();
        Self::new(name, x, y).step()
    }
    /// Creates a cumulative distribution from quantiles: pairs of a share from 0 to 1 and the
    /// value that this share of the samples does not exceed, in ascending order. For a y axis in
    /// percent.
    pub fn cdf_of_quantiles(
        name: impl Into<String>,
        quantiles: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let (x, y) = quantiles.into_iter().map(|(share, value)| (value, 100.0 * share)).unzip();
        Self::new(name, x, y).step()
    }
    /// Sets half the height of the band around each point.
    pub fn band(mut self, half_heights: Vec<f64>) -> Self {
        self.band = half_heights;
        self
    }
    /// Makes each value hold until the next point.
    pub fn step(mut self) -> Self {
        self.shape = Shape::Step;
        self
    }
    /// Draws a dot at each point.
    pub fn dots(mut self) -> Self {
        self.dots = true;
        self
    }
    /// Makes the line thin and dashed, for comparison.
    pub fn reference(mut self) -> Self {
        self.reference = true;
        self
    }
}

impl Mark {
    /// Creates a vertical line.
    pub fn vertical(x: f64, label: impl Into<String>) -> Self {
        Self::Vertical { x, label: label.into() }
    }
    /// Creates a horizontal line.
    pub fn horizontal(y: f64, label: impl Into<String>) -> Self {
        Self::Horizontal { y, label: label.into() }
    }
    /// Creates a ring around a point.
    pub fn point(x: f64, y: f64, label: impl Into<String>) -> Self {
        Self::Point { x, y, label: label.into() }
    }
}

impl Timeline {
    /// Creates an empty timeline over seconds.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), x: Axis::seconds(), ..Self::default() }
    }
    /// Sets the name for [`Page::chart`](crate::Page::chart): lower case with hyphens, such as `power`
    /// or `cdf:delay`. What follows a colon names one of several charts of a quantity.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
    /// Appends a panel.
    pub fn panel(mut self, panel: Panel) -> Self {
        self.tracks.push(Track::Panel(panel));
        self
    }
    /// Appends a lane.
    pub fn lane(mut self, lane: Lane) -> Self {
        self.tracks.push(Track::Lane(lane));
        self
    }
    /// Sets the text below the chart.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
}

impl Panel {
    /// Creates a panel with the vertical axis `y`.
    pub fn new(y: Axis) -> Self {
        Self { y, ..Self::default() }
    }
    /// Appends a line.
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }
    /// Adds an annotation.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

impl Lane {
    /// Creates a lane of spans.
    pub fn new(name: impl Into<String>, spans: Vec<Span>) -> Self {
        Self { name: name.into(), spans }
    }
    /// Creates a lane from the start times of its states, on an axis in seconds. The last state
    /// holds until `end`. [`Shade::of`] derives the shades from the names.
    pub fn from_changes<S: AsRef<str>>(
        name: impl Into<String>,
        changes: &[(Instant, S)],
        end: Instant,
    ) -> Self {
        let ends = changes.iter().skip(1).map(|(time, _)| *time).chain([end]);
        let spans = changes
            .iter()
            .zip(ends)
            .filter(|((from, _), to)| from < to)
            .map(|((from, state), to)| Span {
                from: from.as_secs_f64(),
                to: to.as_secs_f64(),
                label: state.as_ref().to_owned(),
                shade: Shade::of(state.as_ref()),
            })
            .collect();
        Self::new(name, spans)
    }
}

impl Chart {
    /// Name for [`Page::chart`](crate::Page::chart).
    pub fn key(&self) -> String {
        let (key, title) = match self {
            Self::Bars(bars) => (&bars.key, &bars.title),
            Self::Lines(lines) => (&lines.key, &lines.title),
            Self::Timeline(timeline) => (&timeline.key, &timeline.title),
            Self::Heat(heat) => (&heat.key, &heat.title),
        };
        if key.is_empty() { slug(title) } else { key.clone() }
    }
    /// Title; plain text, may be empty.
    pub fn title(&self) -> &str {
        match self {
            Self::Bars(bars) => &bars.title,
            Self::Lines(lines) => &lines.title,
            Self::Timeline(timeline) => &timeline.title,
            Self::Heat(heat) => &heat.title,
        }
    }
    /// Charts of the single panels, for a timeline of several tracks. The key of a panel is its
    /// quantity, followed by the colon and name of the timeline's key if it has one.
    pub(crate) fn panels(&self) -> Vec<Self> {
        let Self::Timeline(timeline) = self else { return Vec::new() };
        if timeline.tracks.len() < 2 {
            return Vec::new();
        }
        let key = self.key();
        let name = key.split_once(':').map_or(String::new(), |(_, name)| format!(":{name}"));
        let panels = timeline.tracks.iter().filter_map(|track| match track {
            Track::Panel(panel) => Some(Self::Lines(Lines {
                key: slug(&panel.y.title) + &name,
                title: timeline.title.clone(),
                x: timeline.x.clone(),
                y: panel.y.clone(),
                lines: panel.lines.clone(),
                marks: panel.marks.clone(),
                ..Lines::default()
            })),
            Track::Lane(_) => None,
        });
        panels.collect()
    }
}

impl From<Bars> for Chart {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}
impl From<Lines> for Chart {
    fn from(lines: Lines) -> Self {
        Self::Lines(lines)
    }
}
impl From<Heat> for Chart {
    fn from(heat: Heat) -> Self {
        Self::Heat(heat)
    }
}
impl From<Timeline> for Chart {
    fn from(timeline: Timeline) -> Self {
        Self::Timeline(timeline)
    }
}
