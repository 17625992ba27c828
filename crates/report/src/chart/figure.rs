//! A chart as a figure: title, legend, both drawings, caption and numbers.

use super::axis::{Ticks, extent};
use super::plot::{Plot, state_legend};
use super::svg::Size;
use super::{Bars, Chart, Panel, Track};
use crate::html::{escape, inline};
use crate::number::fixed;
use core::fmt::Write as _;

impl Chart {
    /// The chart as an HTML fragment; `id` tells it from the page's other charts.
    pub(crate) fn to_html(&self, id: &str) -> String {
        match self {
            Self::Bars(bars) => {
                let label = bars.spoken();
                let drawn = bars.svg(Size::Wide, &label) + &bars.svg(Size::Narrow, &label);
                figure("bars", &bars.title, &bars.legend(), &drawn, &bars.caption, "")
            }
            Self::Lines(lines) => {
                let panel =
                    Panel { y: lines.y.clone(), lines: lines.lines.clone(), marks: lines.marks.clone() };
                let label = spoken("Line chart", &lines.title, &[panel.spoken()]);
                let plot = Plot {
                    id,
                    label: &label,
                    x: &lines.x,
                    tracks: &[Track::Panel(panel)],
                    width: 720.0,
                    height: 270.0,
                    zero: false,
                };
                figure("lines", &lines.title, "", &plot.both(), &lines.caption, &plot.json())
            }
            Self::Timeline(timeline) => {
                let parts: Vec<String> = timeline
                    .tracks
                    .iter()
                    .map(|track| match track {
                        Track::Panel(panel) => panel.spoken(),
                        Track::Lane(lane) => lane.name.clone(),
                    })
                    .collect();
                let label = spoken("Timeline", &timeline.title, &parts);
                let plot = Plot {
                    id,
                    label: &label,
                    x: &timeline.x,
                    tracks: &timeline.tracks,
                    width: 960.0,
                    height: 96.0,
                    zero: true,
                };
                let legend = state_legend(&plot.shades());
                figure("timeline", &timeline.title, &legend, &plot.both(), &timeline.caption, &plot.json())
            }
        }
    }
}

impl Plot<'_> {
    fn both(&self) -> String {
        self.svg(Size::Wide) + &self.svg(Size::Narrow)
    }
}

fn figure(class: &str, title: &str, legend: &str, drawn: &str, caption: &str, data: &str) -> String {
    let mut out = format!("<figure class=\"chart {class}\">\n");
    if !title.is_empty() {
        let _ = writeln!(out, "<p class=\"title\">{}</p>", escape(title));
    }
    out.push_str(legend);
    out.push_str(drawn);
    if !caption.is_empty() {
        let _ = writeln!(out, "<figcaption>{}</figcaption>", inline(caption));
    }
    if !data.is_empty() {
        let _ = writeln!(out, "<script type=\"application/json\">{data}</script>");
    }
    out.push_str("</figure>\n");
    out
}

/// What a screen reader says of a chart.
fn spoken(kind: &str, title: &str, parts: &[String]) -> String {
    let title = if title.is_empty() { String::new() } else { format!(": {title}") };
    format!("{kind}{title}. {}.", parts.join("; "))
}

impl Panel {
    fn spoken(&self) -> String {
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
    fn spoken(&self) -> String {
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
        spoken("Bar chart", &format!("{}, {}", self.title, self.axis.label()), &groups)
    }
}
