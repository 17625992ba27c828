//! Chart as an HTML figure: title, legend, two drawings, caption and data.

use super::axis::{Ticks, extent};
use super::plot::{Plot, state_legend};
use super::svg::Size;
use super::{Bars, Chart, FigureStyle, Lines, Mark, Panel, Track};
use crate::html::{escape, render_inline};
use crate::number::fixed;
use core::fmt::Write as _;
use std::borrow::Cow;

impl Chart {
    /// Renders the chart as an HTML fragment; `id` is unique within the page. The fragment holds the
    /// chart also as a figure for a paper, which the page's script saves.
    pub(crate) fn to_html(&self, id: &str) -> String {
        let svg = self.to_svg(&FigureStyle::default());
        let save =
            format!("<script type=\"image/svg+xml\" data-name=\"{}\">{svg}</script>\n", escape(&self.key()));
        self.figure_html(id).replace("</figure>\n", &(save + "</figure>\n"))
    }

    fn figure_html(&self, id: &str) -> String {
        match self {
            Self::Bars(bars) => {
                let label = bars.aria_label();
                let drawings = bars.svg(Size::Wide, &label) + &bars.svg(Size::Narrow, &label);
                let figure = Figure { class: "bars", title: &bars.title, caption: &bars.caption, drawings };
                figure.to_html(&bars.legend(), "")
            }
            Self::Lines(lines) => {
                let lines = on_plot_axis(lines);
                let panel =
                    Panel { y: lines.y.clone(), lines: lines.lines.clone(), marks: lines.marks.clone() };
                let label = aria_label("Line chart", &lines.title, &[panel.aria_label()]);
                let plot = Plot {
                    id,
                    label: &label,
                    x: &lines.x,
                    tracks: &[Track::Panel(panel)],
                    width: 720.0,
                    panel_height: 270.0,
                    legend_title: &lines.legend_title,
                    include_zero: false,
                };
                let drawings = plot.drawings();
                let figure =
                    Figure { class: "lines", title: &lines.title, caption: &lines.caption, drawings };
                figure.to_html("", &plot.json())
            }
            Self::Heat(heat) => {
                let drawings = format!("<div class=\"scroll\">{}</div>", heat.svg());
                let figure = Figure { class: "heat", title: &heat.title, caption: &heat.caption, drawings };
                figure.to_html("", "")
            }
            Self::Timeline(timeline) => {
                let parts: Vec<String> = timeline
                    .tracks
                    .iter()
                    .map(|track| match track {
                        Track::Panel(panel) => panel.aria_label(),
                        Track::Lane(lane) => lane.name.clone(),
                    })
                    .collect();
                let label = aria_label("Timeline", &timeline.title, &parts);
                let plot = Plot {
                    id,
                    label: &label,
                    x: &timeline.x,
                    tracks: &timeline.tracks,
                    width: 960.0,
                    panel_height: 96.0,
                    legend_title: "",
                    include_zero: true,
                };
                let drawings = plot.drawings();
                let (title, caption) = (&timeline.title, &timeline.caption);
                let figure = Figure { class: "timeline", title, caption, drawings };
                figure.to_html(&state_legend(&plot.shades()), &plot.json())
            }
        }
    }
}

/// The chart with its x coordinates as they are drawn: logarithms on a logarithmic axis.
pub(crate) fn on_plot_axis(lines: &Lines) -> Cow<'_, Lines> {
    if !lines.x.log {
        return Cow::Borrowed(lines);
    }
    let mut drawn = lines.clone();
    let log = |value: f64| if value > 0.0 { libm::log10(value) } else { f64::NAN };
    for line in &mut drawn.lines {
        let kept = |i: usize| line.x[i] > 0.0;
        let count = line.x.len().min(line.y.len());
        line.y = (0..count).filter(|&i| kept(i)).map(|i| line.y[i]).collect();
        line.band = (0..line.band.len().min(count)).filter(|&i| kept(i)).map(|i| line.band[i]).collect();
        line.x = (0..count).filter(|&i| kept(i)).map(|i| log(line.x[i])).collect();
    }
    for mark in &mut drawn.marks {
        if let Mark::Vertical { x, .. } | Mark::Point { x, .. } = mark {
            *x = log(*x);
        }
    }
    drawn.x.from = drawn.x.from.map(log);
    drawn.x.to = drawn.x.to.map(log);
    Cow::Owned(drawn)
}

impl Plot<'_> {
    fn drawings(&self) -> String {
        self.svg(Size::Wide) + &self.svg(Size::Narrow)
    }
}

struct Figure<'a> {
    /// Class in the style sheet.
    class: &'a str,
    title: &'a str,
    caption: &'a str,
    /// SVG drawings for a wide page and for a phone.
    drawings: String,
}

impl Figure<'_> {
    fn to_html(&self, legend: &str, data: &str) -> String {
        let mut out = format!("<figure class=\"chart {}\">\n", self.class);
        if !self.title.is_empty() {
            let _ = writeln!(out, "<p class=\"title\">{}</p>", escape(self.title));
        }
        out.push_str(legend);
        out.push_str(&self.drawings);
        if !self.caption.is_empty() {
            let _ = writeln!(out, "<figcaption>{}</figcaption>", render_inline(self.caption));
        }
        if !data.is_empty() {
            let _ = writeln!(out, "<script type=\"application/json\">{data}</script>");
        }
        out.push_str("</figure>\n");
        out
    }
}

/// Description of a chart for screen readers.
fn aria_label(kind: &str, title: &str, parts: &[String]) -> String {
    let title = if title.is_empty() { String::new() } else { format!(": {title}") };
    format!("{kind}{title}. {}.", parts.join("; "))
}

impl Panel {
    fn aria_label(&self) -> String {
        let lines: Vec<String> = self
            .lines
            .iter()
            .map(|line| match extent(line.y.iter().copied()) {
                Some((lo, hi)) => {
                    let decimals = Ticks::new(0.0, hi.abs().max(lo.abs()), 4).decimals + 1;
                    format!("{} from {} to {}", line.name, fixed(lo, decimals), fixed(hi, decimals))
                }
                None => format!("{} without values", line.name),
            })
            .collect();
        format!("{}: {}", self.y.label(), lines.join(", "))
    }
}

impl Bars {
    fn aria_label(&self) -> String {
        let groups: Vec<String> = self
            .groups
            .iter()
            .enumerate()
            .map(|(g, group)| {
                let values: Vec<String> = self
                    .series
                    .iter()
                    .filter_map(|s| s.values.get(g).copied().flatten().map(|e| (s, e)))
                    .map(|(s, e)| format!("{} {}", s.name, fixed(e.mean, self.decimals)))
                    .collect();
                format!("{}: {}", group.replace('\n', " "), values.join(", "))
            })
            .collect();
        aria_label("Bar chart", &format!("{}, {}", self.title, self.axis.label()), &groups)
    }
}
