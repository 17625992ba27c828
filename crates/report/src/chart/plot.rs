//! Storeys of lines and lanes over one x axis, as SVG. Lines and timelines are both drawn here.
//!
//! What the script needs to draw the same again for another stretch of the x axis is written on the
//! elements: `data-x` on the svg (left, right, in pixels), `data-y` on each track (top, bottom in
//! pixels; lowest, highest value), `data-at` on what stands at an x.

use super::axis::{Scale, Ticks, ends, extent, heights};
use super::draw::{Drawing, LANE};
use super::lane::SHADES;
use super::svg::{FONT, NARROW, Size, open, px, text, text_width};
use super::{Axis, Line, Mark, Shade, Track};
use crate::html::escape;
use core::fmt::Write as _;

/// Storeys over one axis.
pub(crate) struct Plot<'a> {
    /// Tells this chart's ids from another's.
    pub id: &'a str,
    /// What a screen reader says.
    pub label: &'a str,
    pub x: &'a Axis,
    pub tracks: &'a [Track],
    /// The width on a wide page.
    pub width: f64,
    /// The height of a panel.
    pub height: f64,
    /// Whether heights start at zero wherever nothing is below.
    pub zero: bool,
}

/// A panel with its range and ticks; a lane has none.
pub(crate) struct Storey<'a> {
    pub track: &'a Track,
    pub lo: f64,
    pub hi: f64,
    pub ticks: Option<Ticks>,
}

impl<'a> Plot<'a> {
    /// The ends of the common axis.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let values = self.tracks.iter().flat_map(|track| -> Box<dyn Iterator<Item = f64>> {
            match track {
                Track::Panel(panel) => Box::new(panel.lines.iter().flat_map(|line| line.x.iter().copied())),
                Track::Lane(lane) => Box::new(lane.spans.iter().flat_map(|span| [span.from, span.to])),
            }
        });
        ends(extent(values), self.x.from, self.x.to)
    }

    pub(crate) fn storeys(&self) -> Vec<Storey<'a>> {
        let storey = |track: &'a Track| match track {
            Track::Lane(_) => Storey { track, lo: 0.0, hi: 1.0, ticks: None },
            Track::Panel(panel) => {
                let range = extent(panel.lines.iter().flat_map(heights_of).chain(
                    panel.marks.iter().filter_map(|mark| match mark {
                        Mark::Vertical { .. } => None,
                        Mark::Horizontal { y, .. } | Mark::Point { y, .. } => Some(*y),
                    }),
                ));
                let wish = if self.height < 150.0 { 3 } else { 4 };
                let (lo, hi, ticks) = heights(range, panel.y.from, panel.y.to, self.zero, wish);
                Storey { track, lo, hi, ticks: Some(ticks) }
            }
        };
        self.tracks.iter().map(storey).collect()
    }

    /// The names of lines in order of appearance: a name's place is its look.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for track in self.tracks {
            let Track::Panel(panel) = track else { continue };
            for line in panel.lines.iter().filter(|line| !line.reference) {
                if !names.contains(&line.name.as_str()) {
                    names.push(&line.name);
                }
            }
        }
        names
    }

    /// The shades in use, in the order of a legend, each with the names of its states.
    pub(crate) fn shades(&self) -> Vec<(Shade, Vec<&str>)> {
        let mut shades: Vec<(Shade, Vec<&str>)> = Vec::new();
        for shade in SHADES {
            let mut labels: Vec<&str> = Vec::new();
            for track in self.tracks {
                let Track::Lane(lane) = track else { continue };
                for span in lane.spans.iter().filter(|span| span.shade == shade) {
                    if !labels.contains(&span.label.as_str()) {
                        labels.push(&span.label);
                    }
                }
            }
            if !labels.is_empty() {
                shades.push((shade, labels));
            }
        }
        shades
    }

    pub(crate) fn svg(&self, size: Size) -> String {
        let font = FONT;
        let storeys = self.storeys();
        let names = self.names();
        let (lo, hi) = self.ends();
        let labels =
            storeys.iter().filter_map(|s| s.ticks.as_ref()).flat_map(|t| t.values.iter().map(|v| t.text(*v)));
        let left = labels.map(|label| text_width(&label, font)).fold(18.0, f64::max).ceil() + 8.0;
        // A wide chart names its lines beside them, a narrow one above.
        let named = storeys.iter().any(|s| match s.track {
            Track::Lane(_) => true,
            Track::Panel(panel) => panel.lines.len() > 1,
        });
        let (width, gutter) = match size {
            Size::Wide if named => (self.width, self.gutter(font)),
            Size::Wide => (self.width, 14.0),
            Size::Narrow => (NARROW, 10.0),
        };
        let right = width - gutter;
        let x = Scale { lo, hi, from_px: left, to_px: right };
        let panel_height = if size == Size::Narrow { self.height.min(230.0) } else { self.height };

        let mut drawing = Drawing { id: self.id, size, names: &names, x, width, out: String::new() };
        let mut y = 0.0;
        let mut bottoms = (0.0, 0.0);
        for (index, storey) in storeys.iter().enumerate() {
            let top = y + drawing.head(storey, index, y);
            let bottom = match (storey.track, &storey.ticks) {
                (Track::Panel(panel), Some(ticks)) => {
                    let bottom = top + panel_height;
                    let scale = Scale { lo: storey.lo, hi: storey.hi, from_px: bottom, to_px: top };
                    drawing.panel(panel, ticks, scale, index);
                    y = bottom + 16.0;
                    bottom
                }
                (Track::Lane(lane), _) => {
                    let bottom = top + LANE;
                    drawing.lane(lane, top, bottom, index);
                    y = bottom + 10.0;
                    bottom
                }
                (Track::Panel(_), None) => top,
            };
            bottoms = (if index == 0 { top } else { bottoms.0 }, bottom);
        }
        let axis = bottoms.1 + 6.0;
        let title = self.x.label();
        let height = axis + 14.0 + if title.is_empty() { 4.0 } else { 18.0 };

        let more = format!(
            " tabindex=\"0\" data-x=\"{} {}\" data-y=\"{} {}\"",
            px(left),
            px(right),
            px(bottoms.0),
            px(bottoms.1)
        );
        let mut out = open("plot", size, width, height, self.label, &more);
        let ticks = Ticks::new(lo, hi, if size == Size::Wide { 9 } else { 5 });
        out.push_str("<g class=\"grid x\">");
        for value in &ticks.values {
            let _ = write!(
                out,
                "<g transform=\"translate({},0)\"><path d=\"M0 {}V{}\"/>{}</g>",
                px(x.px(*value)),
                px(bottoms.0),
                px(bottoms.1),
                text(0.0, axis + 10.0, "", &ticks.text(*value))
            );
        }
        out.push_str("</g>\n");
        out.push_str(&drawing.out);
        if !title.is_empty() {
            out.push_str(&text(right, axis + 28.0, "end", &title));
        }
        let _ = writeln!(
            out,
            "<g class=\"cursor\" visibility=\"hidden\"><path d=\"M0 {}V{}\"/>{}</g><rect class=\"brush\" y=\"{}\" height=\"{}\" width=\"0\"/></svg>",
            px(bottoms.0 - 4.0),
            px(bottoms.1),
            text(0.0, axis + 10.0, "", ""),
            px(bottoms.0),
            px(bottoms.1 - bottoms.0),
        );
        out
    }

    fn gutter(&self, font: f64) -> f64 {
        let widest = self
            .tracks
            .iter()
            .flat_map(|track| -> Vec<&str> {
                match track {
                    Track::Panel(panel) => panel.lines.iter().map(|line| line.name.as_str()).collect(),
                    Track::Lane(lane) => {
                        lane.spans.iter().take(1000).map(|span| span.label.as_str()).collect()
                    }
                }
            })
            .map(|name| text_width(name, font))
            .fold(30.0, f64::max);
        // The key, the name, and room for the value under the cursor.
        (widest + 24.0 + 48.0 + 12.0).min(self.width * 0.26)
    }
}

fn heights_of(line: &Line) -> impl Iterator<Item = f64> + '_ {
    line.y.iter().enumerate().flat_map(|(i, y)| {
        let half = line.band.get(i).copied().filter(|half| half.is_finite()).unwrap_or(0.0);
        [y - half, y + half]
    })
}

/// The legend of a timeline's states.
pub(crate) fn state_legend(shades: &[(Shade, Vec<&str>)]) -> String {
    if shades.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul class=\"legend\">");
    for (shade, labels) in shades {
        let height = 14.0 * shade.height();
        let _ = write!(
            out,
            "<li><svg width=\"18\" height=\"14\" aria-hidden=\"true\"><path class=\"state {}\" d=\"M0 {}h18v{}h-18z\"/></svg>{}</li>",
            shade.class(),
            px(14.0 - height),
            px(height),
            escape(&labels.join(", "))
        );
    }
    out.push_str("</ul>\n");
    out
}
