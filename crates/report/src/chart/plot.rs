//! Plots of panels and lanes over one x axis, as SVG, for line charts and timelines.
//!
//! Attributes carry the geometry that the page's script needs to redraw another range of the x
//! axis: `data-x` of the svg (left, right in pixels), `data-y` of a track (top, bottom in pixels;
//! lowest, highest value), `data-at` of an element at an x coordinate.

use super::axis::{Scale, Ticks, axis_range, extent, y_axis};
use super::draw::{Drawing, LANE_PX};
use super::lane::SHADES;
use super::svg::{NARROW_WIDTH_PX, Size, open_svg, px, text, text_width};
use super::{Axis, Line, Mark, Shade, Track};
use crate::html::escape;
use core::fmt::Write as _;

/// Tracks over one x axis.
pub(crate) struct Plot<'a> {
    /// Prefix of element ids, unique within the page.
    pub id: &'a str,
    /// Description for screen readers.
    pub label: &'a str,
    pub x: &'a Axis,
    pub tracks: &'a [Track],
    /// Width on a wide page.
    pub width: f64,
    /// Height of a panel.
    pub panel_height: f64,
    /// Quantity that distinguishes the lines; may be empty.
    pub legend_title: &'a str,
    /// Y axes of non-negative values start at zero.
    pub include_zero: bool,
}

/// A track with the range and ticks of its y axis; a lane has no ticks.
pub(crate) struct ScaledTrack<'a> {
    pub track: &'a Track,
    pub lo: f64,
    pub hi: f64,
    pub ticks: Option<Ticks>,
}

impl<'a> Plot<'a> {
    /// Range of the x axis.
    pub(crate) fn x_range(&self) -> (f64, f64) {
        let values = self.tracks.iter().flat_map(|track| -> Box<dyn Iterator<Item = f64>> {
            match track {
                Track::Panel(panel) => Box::new(panel.lines.iter().flat_map(|line| line.x.iter().copied())),
                Track::Lane(lane) => Box::new(lane.spans.iter().flat_map(|span| [span.from, span.to])),
            }
        });
        axis_range(extent(values), self.x.from, self.x.to)
    }

    pub(crate) fn scaled_tracks(&self) -> Vec<ScaledTrack<'a>> {
        let scaled = |track: &'a Track| match track {
            Track::Lane(_) => ScaledTrack { track, lo: 0.0, hi: 1.0, ticks: None },
            Track::Panel(panel) => {
                let range = extent(panel.lines.iter().flat_map(band_limits).chain(
                    panel.marks.iter().filter_map(|mark| match mark {
                        Mark::Vertical { .. } => None,
                        Mark::Horizontal { y, .. } | Mark::Point { y, .. } => Some(*y),
                    }),
                ));
                let tick_count = if self.panel_height < 150.0 { 3 } else { 4 };
                let (lo, hi, ticks) = y_axis(range, panel.y.from, panel.y.to, self.include_zero, tick_count);
                ScaledTrack { track, lo, hi, ticks: Some(ticks) }
            }
        };
        self.tracks.iter().map(scaled).collect()
    }

    /// Names of lines in order of appearance; the index of a name is its style.
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

    /// Shades in use with the names of their states, in the order of the legend.
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
        let tracks = self.scaled_tracks();
        let names = self.names();
        let (width, x) = self.layout(size, &tracks);
        let mut drawing = Drawing {
            id: self.id,
            size,
            names: &names,
            legend_title: self.legend_title,
            legend_above: size == Size::Narrow || !self.legend_fits_beside(),
            x,
            width,
            out: String::new(),
        };
        let (top, bottom) = self.draw_tracks(&tracks, &mut drawing);
        let axis = bottom + 6.0;
        let title = self.x.label();
        let height = axis + 14.0 + if title.is_empty() { 4.0 } else { 18.0 };

        let geometry = format!(
            " tabindex=\"0\" data-x=\"{} {}\" data-y=\"{} {}\"",
            px(x.from_px),
            px(x.to_px),
            px(top),
            px(bottom)
        );
        let mut out = open_svg("plot", size, (width, height), self.label, &geometry);
        let ticks = Ticks::fitting(
            (self.x, x),
            if size == Size::Wide { 9 } else { 5 },
            (10.0, width + 6.0),
            text_width,
        );
        out.push_str("<g class=\"grid x\">");
        for value in &ticks.values {
            let _ = write!(
                out,
                "<g transform=\"translate({},0)\"><path d=\"M0 {}V{}\"/>{}</g>",
                px(x.px(*value)),
                px(top),
                px(bottom),
                text(0.0, axis + 10.0, "", &ticks.text(*value))
            );
        }
        out.push_str("</g>\n");
        out.push_str(&drawing.out);
        if !title.is_empty() {
            out.push_str(&text(x.to_px, axis + 28.0, "end", &title));
        }
        let _ = writeln!(
            out,
            "<g class=\"cursor\" visibility=\"hidden\"><path d=\"M0 {}V{}\"/>{}</g><rect class=\"brush\" y=\"{}\" height=\"{}\" width=\"0\"/></svg>",
            px(top - 4.0),
            px(bottom),
            text(0.0, axis + 10.0, "", ""),
            px(top),
            px(bottom - top),
        );
        out
    }

    /// Width of the drawing and scale of the x axis.
    fn layout(&self, size: Size, tracks: &[ScaledTrack<'_>]) -> (f64, Scale) {
        let labels =
            tracks.iter().filter_map(|t| t.ticks.as_ref()).flat_map(|t| t.values.iter().map(|v| t.text(*v)));
        let left = labels.map(|label| text_width(&label)).fold(18.0, f64::max).ceil() + 8.0;
        // A wide drawing has its legend beside the panels, a narrow one above them.
        let legend = tracks.iter().any(|scaled| match scaled.track {
            Track::Lane(_) => true,
            Track::Panel(panel) => panel.lines.len() > 1,
        });
        let (width, margin) = match size {
            Size::Wide if legend && self.legend_fits_beside() => (self.width, self.legend_margin()),
            // The values of lanes at the cursor stand in the margin.
            Size::Wide if self.tracks.iter().any(|track| matches!(track, Track::Lane(_))) => {
                (self.width, 120.0)
            }
            Size::Wide => (self.width, 14.0),
            Size::Narrow => (NARROW_WIDTH_PX, 10.0),
        };
        let (lo, hi) = self.x_range();
        (width, Scale { lo, hi, from_px: left, to_px: width - margin })
    }

    /// Draws all tracks; returns the top of the first and the bottom of the last.
    fn draw_tracks(&self, tracks: &[ScaledTrack<'_>], drawing: &mut Drawing<'_>) -> (f64, f64) {
        let panel_height = match drawing.size {
            Size::Narrow => self.panel_height.min(230.0),
            Size::Wide => self.panel_height,
        };
        let mut y = 0.0;
        let mut ends = (0.0, 0.0);
        for (index, scaled) in tracks.iter().enumerate() {
            let top = y + drawing.head(scaled, index, y);
            let bottom = match (scaled.track, &scaled.ticks) {
                (Track::Panel(panel), Some(ticks)) => {
                    let bottom = top + panel_height;
                    let scale = Scale { lo: scaled.lo, hi: scaled.hi, from_px: bottom, to_px: top };
                    drawing.panel(panel, ticks, scale, index);
                    y = bottom + 16.0;
                    bottom
                }
                (Track::Lane(lane), _) => {
                    let bottom = top + LANE_PX;
                    drawing.lane(lane, top, bottom, index);
                    y = bottom + 10.0;
                    bottom
                }
                (Track::Panel(_), None) => top,
            };
            ends = (if index == 0 { top } else { ends.0 }, bottom);
        }
        ends
    }

    /// Width of the right margin with legend and values.
    fn legend_margin(&self) -> f64 {
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
            .map(text_width)
            .fold((text_width(self.legend_title) - 24.0).max(30.0), f64::max);
        // Key, name and value at the cursor.
        widest + 24.0 + 48.0 + 12.0
    }

    /// Whether the right margin has room for the longest name.
    fn legend_fits_beside(&self) -> bool {
        self.legend_margin() <= self.width * 0.26
    }
}

/// Limits of a line's band at each point.
fn band_limits(line: &Line) -> impl Iterator<Item = f64> + '_ {
    line.y.iter().enumerate().flat_map(|(i, y)| {
        let half = line.band.get(i).copied().filter(|half| half.is_finite()).unwrap_or(0.0);
        [y - half, y + half]
    })
}

/// Legend of a timeline's states.
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
