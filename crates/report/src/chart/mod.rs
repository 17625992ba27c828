//! Charts: what they show. How they are drawn is in the files beside this one.

mod axis;
mod bars;
mod data;
mod draw;
mod figure;
mod lane;
mod plot;
mod svg;
mod thin;

use crate::number::Estimate;
use units::Instant;

/// A chart, drawn as SVG twice: for a wide page and for a phone.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Grouped bars with error bars.
    Bars(Bars),
    /// Lines over a common x axis.
    Lines(Lines),
    /// Panels stacked over one time axis.
    Timeline(Timeline),
}

/// What an axis measures. An end that is not set is found from the data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// What is measured; plain text.
    pub title: String,
    /// In what unit; empty for none.
    pub unit: String,
    /// The value at the axis' start.
    pub from: Option<f64>,
    /// The value at the axis' end.
    pub to: Option<f64>,
}

/// Grouped bars: for each group (a case) one bar of each series (ours, the paper's), the value printed
/// at the bar. Upright where the labels fit, lying on a phone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// What the chart shows; plain text.
    pub title: String,
    /// A sentence or two under the chart, with inline markup; may be empty.
    pub caption: String,
    /// What the bars' length means.
    pub axis: Axis,
    /// Decimals of the printed values.
    pub decimals: usize,
    /// The groups' names.
    pub groups: Vec<String>,
    /// The series, in the order of the bars within a group.
    pub series: Vec<BarSeries>,
}

/// One bar in each group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarSeries {
    /// Its name in the legend.
    pub name: String,
    /// A value for each group; `None` for no bar.
    pub values: Vec<Option<Estimate>>,
    /// Drawn hatched instead of filled: a printed figure that ours is held against.
    pub reference: bool,
}

/// Lines over a common x axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// What the chart shows; plain text.
    pub title: String,
    /// A sentence or two under the chart, with inline markup; may be empty.
    pub caption: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// What is pointed out.
    pub marks: Vec<Mark>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    /// Its name in the legend. Lines of one name have one colour throughout a chart.
    pub name: String,
    /// Where, in ascending order.
    pub x: Vec<f64>,
    /// How high; a value that is not finite leaves a gap.
    pub y: Vec<f64>,
    /// Half the height of a band around each y, such as a 95 % interval; empty for no band.
    pub band: Vec<f64>,
    /// How two points are joined.
    pub shape: Shape,
    /// Whether each point has a dot.
    pub dots: bool,
    /// Drawn thin and dashed: a figure that ours is held against.
    pub reference: bool,
}

/// How two points of a line are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Straight.
    #[default]
    Straight,
    /// The value holds until the next point.
    Step,
}

/// Something pointed out in a plot.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line upwards at x.
    Vertical {
        /// Where.
        x: f64,
        /// What is there; plain text.
        label: String,
    },
    /// A line across at y.
    Horizontal {
        /// How high.
        y: f64,
        /// What is there; plain text.
        label: String,
    },
    /// A ring around a point.
    Point {
        /// Where.
        x: f64,
        /// How high.
        y: f64,
        /// What is there; plain text.
        label: String,
    },
}

/// Panels and lanes stacked over one time axis; they zoom together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// What the chart shows; plain text.
    pub title: String,
    /// A sentence or two under the chart, with inline markup; may be empty.
    pub caption: String,
    /// The common axis; by default time in seconds.
    pub x: Axis,
    /// Top to bottom.
    pub tracks: Vec<Track>,
}

/// One storey of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub enum Track {
    /// Lines.
    Panel(Panel),
    /// States as blocks.
    Lane(Lane),
}

/// Lines with a y axis of their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// What is measured.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// What is pointed out.
    pub marks: Vec<Mark>,
}

/// What state something was in, as blocks: the higher the block, the more the state draws.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lane {
    /// Whose state.
    pub name: String,
    /// One after the other, in ascending order.
    pub spans: Vec<Span>,
}

/// A state and how long it held.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Since when, in the unit of the x axis.
    pub from: f64,
    /// Until when.
    pub to: f64,
    /// The state's name.
    pub label: String,
    /// How it looks.
    pub shade: Shade,
}

/// How a state looks: colour, height and hatching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shade {
    /// A thin line.
    Idle,
    /// A low hatched block.
    Tail,
    /// A half-high block.
    Promotion,
    /// A full block.
    Active,
    /// None of these.
    Other,
}

impl Shade {
    /// The shade of a power state by its usual names (`Idle`, `PSM`, `Promotion`, `Active`, `CR`,
    /// `Tail 1`, `Short DRX`, …), whatever their case.
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
    /// An axis that measures `title`.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
    /// Time in seconds.
    pub fn seconds() -> Self {
        Self::new("time").unit("s")
    }
    /// Sets the unit.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }
    /// Sets where the axis starts.
    pub fn from(mut self, value: f64) -> Self {
        self.from = Some(value);
        self
    }
    /// Sets where the axis ends.
    pub fn to(mut self, value: f64) -> Self {
        self.to = Some(value);
        self
    }
    /// `title, unit`.
    pub(crate) fn label(&self) -> String {
        match (self.title.is_empty(), self.unit.is_empty()) {
            (_, true) => self.title.clone(),
            (true, false) => self.unit.clone(),
            (false, false) => format!("{}, {}", self.title, self.unit),
        }
    }
}

impl Bars {
    /// Bars of nothing yet, with two decimals.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self { title: title.into(), axis, decimals: 2, ..Self::default() }
    }
    /// Sets the groups' names.
    pub fn groups<S: Into<String>>(mut self, groups: impl IntoIterator<Item = S>) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }
    /// Sets the decimals of the printed values.
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = decimals;
        self
    }
    /// Adds a filled bar to each group.
    pub fn series(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Estimate>) -> Self {
        let values = values.into_iter().map(Some).collect();
        self.series.push(BarSeries { name: name.into(), values, reference: false });
        self
    }
    /// Adds a hatched bar to each group, such as the paper's.
    pub fn reference(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Estimate>) -> Self {
        let values = values.into_iter().map(Some).collect();
        self.series.push(BarSeries { name: name.into(), values, reference: true });
        self
    }
    /// Sets the sentence under the chart.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
}

impl Lines {
    /// Two axes without lines.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, ..Self::default() }
    }
    /// Adds a line.
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }
    /// Points something out.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
    /// Sets the sentence under the chart.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
}

impl Line {
    /// A line through the points (x, y), x ascending. The longer of the two lists is cut.
    pub fn new(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self { name: name.into(), x, y, ..Self::default() }
    }
    /// A line through values sampled every `step` from `start` on.
    pub fn sampled(name: impl Into<String>, start: f64, step: f64, y: Vec<f64>) -> Self {
        let x = (0..y.len()).map(|i| start + step * i as f64).collect();
        Self::new(name, x, y)
    }
    /// A line through means, with their intervals as a band.
    pub fn estimates(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Estimate)>) -> Self {
        let mut line = Self::new(name, Vec::new(), Vec::new());
        for (x, estimate) in points {
            line.x.push(x);
            line.y.push(estimate.mean);
            line.band.push(estimate.ci95);
        }
        line
    }
    /// Sets half the height of the band around each point.
    pub fn band(mut self, half_heights: Vec<f64>) -> Self {
        self.band = half_heights;
        self
    }
    /// Each value holds until the next point.
    pub fn step(mut self) -> Self {
        self.shape = Shape::Step;
        self
    }
    /// Draws a dot at each point.
    pub fn dots(mut self) -> Self {
        self.dots = true;
        self
    }
    /// Draws it thin and dashed.
    pub fn reference(mut self) -> Self {
        self.reference = true;
        self
    }
}

impl Mark {
    /// A line upwards at x.
    pub fn vertical(x: f64, label: impl Into<String>) -> Self {
        Self::Vertical { x, label: label.into() }
    }
    /// A line across at y.
    pub fn horizontal(y: f64, label: impl Into<String>) -> Self {
        Self::Horizontal { y, label: label.into() }
    }
    /// A ring around a point.
    pub fn point(x: f64, y: f64, label: impl Into<String>) -> Self {
        Self::Point { x, y, label: label.into() }
    }
}

impl Timeline {
    /// An empty timeline over seconds.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), x: Axis::seconds(), ..Self::default() }
    }
    /// Adds a panel below.
    pub fn panel(mut self, panel: Panel) -> Self {
        self.tracks.push(Track::Panel(panel));
        self
    }
    /// Adds a lane below.
    pub fn lane(mut self, lane: Lane) -> Self {
        self.tracks.push(Track::Lane(lane));
        self
    }
    /// Sets the sentence under the chart.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
}

impl Panel {
    /// A panel that measures `y`.
    pub fn new(y: Axis) -> Self {
        Self { y, ..Self::default() }
    }
    /// Adds a line.
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }
    /// Points something out.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

impl Lane {
    /// A lane of given spans.
    pub fn new(name: impl Into<String>, spans: Vec<Span>) -> Self {
        Self { name: name.into(), spans }
    }
    /// A lane from the times (in seconds on the axis) at which each state began; the last holds until
    /// `end`. The shade is read from the state's name by [`Shade::of`].
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
impl From<Timeline> for Chart {
    fn from(timeline: Timeline) -> Self {
        Self::Timeline(timeline)
    }
}
