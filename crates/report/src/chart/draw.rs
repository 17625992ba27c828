//! SVG of a plot's tracks: titles, legends, lines, blocks and marks.

use super::axis::{Scale, Ticks};
use super::downsample::downsample;
use super::lane::block_paths;
use super::plot::ScaledTrack;
use super::svg::{Size, ellipsize, px, series_class, text, text_width, wrap, y_grid};
use super::{Lane, Line, Mark, Panel, Shape, Track};
use core::fmt::Write as _;

/// Height of a line of text.
pub(crate) const TEXT_ROW_PX: f64 = 17.0;
/// Height of a lane.
pub(crate) const LANE_PX: f64 = 18.0;
/// Width reserved for the value at the cursor.
const VALUE_PX: f64 = 46.0;

/// A drawing of stacked tracks, written from top to bottom.
pub(crate) struct Drawing<'a> {
    /// Prefix of element ids, unique within the page.
    pub id: &'a str,
    pub size: Size,
    /// Names of lines; the index of a name is its style.
    pub names: &'a [&'a str],
    /// Quantity that distinguishes the lines; may be empty.
    pub legend_title: &'a str,
    /// The legend stands in rows above a panel instead of in the right margin.
    pub legend_above: bool,
    /// Common x axis.
    pub x: Scale,
    /// Width of the drawing.
    pub width: f64,
    /// Elements written so far.
    pub out: String,
}

impl Drawing<'_> {
    /// Draws the title and the legend of a track; returns their height.
    pub(crate) fn head(&mut self, scaled: &ScaledTrack<'_>, index: usize, y: f64) -> f64 {
        let (title, lines) = match scaled.track {
            Track::Panel(panel) => (panel.y.label(), panel.lines.as_slice()),
            Track::Lane(lane) => (lane.name.clone(), [].as_slice()),
        };
        self.out.push_str(&text(0.0, y + 12.0, "axis", &ellipsize(&title, self.width - 60.0)));
        let height = match lines.len() {
            0 | 1 => self.single_value(scaled.ticks.is_some(), index, y),
            _ if self.legend_above => self.legend_above(lines, index, y),
            _ => self.legend_beside(lines, index, y),
        };
        self.out.push('\n');
        height
    }

    /// Places the cursor's value of a track with one line or of a lane, which need no legend: in
    /// the right margin like the values of other tracks, or beside the title if there is no
    /// margin.
    fn single_value(&mut self, panel: bool, index: usize, y: f64) -> f64 {
        let right = self.x.to_px;
        let (x, y) = if self.width - right > 40.0 {
            (self.width - 2.0, y + TEXT_ROW_PX + if panel { 16.0 } else { LANE_PX - 5.0 })
        } else {
            (right, y + 12.0)
        };
        self.out.push_str(&cursor_value((index, 0), x, y));
        TEXT_ROW_PX + if panel { 7.0 } else { 2.0 }
    }

    /// Draws the legend in the right margin.
    fn legend_beside(&mut self, lines: &[Line], index: usize, y: f64) -> f64 {
        let x = self.x.to_px + 12.0;
        let mut first = y + TEXT_ROW_PX + 16.0;
        if !self.legend_title.is_empty() {
            let title = ellipsize(self.legend_title, self.width - x);
            self.out.push_str(&text(x, first, "axis", &title));
            first += TEXT_ROW_PX;
        }
        for (i, line) in lines.iter().enumerate() {
            let y = first + TEXT_ROW_PX * i as f64;
            self.out.push_str(&legend_key(line, self.names, x, y));
            self.out.push_str(&text(x + 22.0, y, "", &line.name));
            self.out.push_str(&cursor_value((index, i), self.width - 2.0, y));
        }
        TEXT_ROW_PX + 7.0
    }

    /// Draws the legend in rows between the title and the panel.
    fn legend_above(&mut self, lines: &[Line], index: usize, y: f64) -> f64 {
        let (left, right) = (self.x.from_px, self.x.to_px);
        let (mut x, mut row) = (left, y + 12.0 + TEXT_ROW_PX);
        if !self.legend_title.is_empty() {
            self.out.push_str(&text(x, row, "axis", &ellipsize(self.legend_title, right - left)));
            row += TEXT_ROW_PX;
        }
        for (i, line) in lines.iter().enumerate() {
            let names = wrap(&line.name, right - left - 22.0 - VALUE_PX - 4.0);
            let widest = names.iter().map(|name| text_width(name)).fold(0.0, f64::max);
            let width = 22.0 + widest + VALUE_PX + 4.0;
            if x + width > right && x > left {
                x = left;
                row += TEXT_ROW_PX;
            }
            self.out.push_str(&legend_key(line, self.names, x, row));
            self.out.push_str(&cursor_value((index, i), x + width - 4.0, row));
            for (j, name) in names.iter().enumerate() {
                row += if j > 0 { TEXT_ROW_PX } else { 0.0 };
                self.out.push_str(&text(x + 21.0, row, "", name));
            }
            x += width + 8.0;
        }
        row - y + 12.0
    }

    /// Draws a panel with its grid, lines and marks.
    pub(crate) fn panel(&mut self, panel: &Panel, ticks: &Ticks, y: Scale, index: usize) {
        let (left, right, top, bottom) = (self.x.from_px, self.x.to_px, y.to_px, y.from_px);
        self.out.push_str(&y_grid(ticks, y, left, right));
        // Dots at the ends of the axis are drawn completely.
        let slack = if panel.lines.iter().any(|line| line.dots) { 5.0 } else { 1.0 };
        let clip = self.clip_path(index, (left - slack, right + slack), (top - slack, bottom + slack));
        let _ = writeln!(
            self.out,
            "<g class=\"track\" clip-path=\"url(#{clip})\" data-t=\"{index}\" data-y=\"{} {} {} {}\">",
            px(top),
            px(bottom),
            y.lo,
            y.hi
        );
        self.lines(&panel.lines, y);
        self.out.push_str("</g>\n");
        self.marks(&panel.marks, y);
    }

    /// Draws lines with their bands and dots.
    fn lines(&mut self, lines: &[Line], y: Scale) {
        let (x, names, out) = (self.x, self.names, &mut self.out);
        let columns = (x.to_px - x.from_px).max(1.0) as usize;
        for (i, line) in lines.iter().enumerate() {
            if !line.band.is_empty() {
                let d = band_path(line, x, y, columns, px);
                let class = line_class(line, names);
                let _ = writeln!(out, "<path class=\"band {class}\" data-b=\"{i}\" d=\"{d}\"/>");
            }
        }
        // The first line is the most important one: it is drawn last, on top.
        for (i, line) in lines.iter().enumerate().rev() {
            let points = downsample(&line.x, &line.y, x.lo, x.hi, columns);
            // A single line is solid: no dashes are needed to identify it.
            let class = line_class(line, names) + if lines.len() == 1 { " lone" } else { "" };
            let d = line_path(&points, x, y, line.shape, px);
            let _ = writeln!(out, "<path class=\"line {class}\" data-l=\"{i}\" d=\"{d}\"/>");
            if line.dots {
                let mut d = String::new();
                for (at, value) in points.iter().filter(|(_, value)| value.is_finite()) {
                    let _ = write!(d, "M{} {}h0", px(x.px(*at)), px(y.px(*value)));
                }
                let _ = writeln!(out, "<path class=\"dots {class}\" data-d=\"{i}\" d=\"{d}\"/>");
            }
        }
    }

    /// Writes the clip path of a track; returns its id.
    fn clip_path(&mut self, index: usize, (left, right): (f64, f64), (top, bottom): (f64, f64)) -> String {
        let id = format!("{}{}{index}", self.id, &self.size.class()[..1]);
        let _ = writeln!(
            self.out,
            "<clipPath id=\"{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            px(left),
            px(top),
            px(right - left),
            px(bottom - top)
        );
        id
    }

    /// Draws a lane between two y coordinates.
    pub(crate) fn lane(&mut self, lane: &Lane, top: f64, bottom: f64, index: usize) {
        let x = self.x;
        let clip = self.clip_path(index, (x.from_px, x.to_px), (top, bottom));
        let out = &mut self.out;
        let _ = writeln!(
            out,
            "<path class=\"floor\" d=\"M{} {}H{}\"/><g class=\"track\" clip-path=\"url(#{clip})\" data-t=\"{index}\" data-y=\"{} {} 0 1\">",
            px(x.from_px),
            px(bottom),
            px(x.to_px),
            px(top),
            px(bottom)
        );
        for (shade, d) in block_paths(lane, |at| x.px(at), top, bottom) {
            if lane.spans.iter().any(|span| span.shade == shade) {
                let _ = writeln!(
                    out,
                    "<path class=\"state {}\" data-s=\"{}\" d=\"{d}\"/>",
                    shade.class(),
                    shade.class()
                );
            }
        }
        out.push_str("</g>\n");
    }

    fn marks(&mut self, marks: &[Mark], y: Scale) {
        let x = self.x;
        let inside = |value: f64| value.is_finite() && value >= x.lo && value <= x.hi;
        let mut row = 0;
        for mark in marks {
            match mark {
                Mark::Vertical { x: at, label } if inside(*at) => {
                    self.out.push_str(&vertical_mark(*at, label, row, (x, y)));
                    row += 1;
                }
                Mark::Point { x: at, y: value, label } if inside(*at) && value.is_finite() => {
                    self.out.push_str(&point_mark((*at, *value), label, x, y));
                }
                Mark::Horizontal { y: value, label } if value.is_finite() => {
                    self.out.push_str(&horizontal_mark(*value, label, x, y));
                }
                _ => {}
            }
        }
        if !marks.is_empty() {
            self.out.push('\n');
        }
    }
}

/// Draws a vertical line; labels of several marks are stacked in rows.
fn vertical_mark(at: f64, label: &str, row: u32, (x, y): (Scale, Scale)) -> String {
    let place = x.px(at);
    let (offset, class) = label_side(place, label, 6.0, x.to_px);
    format!(
        "<g class=\"mark\" data-at=\"{at}\" transform=\"translate({},0)\"><path d=\"M0 {}V{}\"/>{}</g>",
        px(place),
        px(y.to_px),
        px(y.from_px),
        text(offset, y.to_px + 10.0 + 15.0 * f64::from(row), class, label)
    )
}

/// Draws a ring around a point.
fn point_mark((at, value): (f64, f64), label: &str, x: Scale, y: Scale) -> String {
    let (place, height) = (x.px(at), y.px(value));
    let (offset, class) = label_side(place, label, 9.0, x.to_px);
    // Above the point, or below it at the upper edge of the panel.
    let rise = if height - 12.0 < y.to_px { 18.0 } else { -8.0 };
    format!(
        "<g class=\"mark\" data-at=\"{at}\" transform=\"translate({},0)\"><circle cy=\"{}\" r=\"5\"/>{}</g>",
        px(place),
        px(height),
        text(offset, height + rise, class, label)
    )
}

/// Draws a horizontal line with its label at the right end.
fn horizontal_mark(value: f64, label: &str, x: Scale, y: Scale) -> String {
    let height = y.px(value);
    format!(
        "<g class=\"mark\"><path d=\"M{} {h}H{}\"/>{}</g>",
        px(x.from_px),
        px(x.to_px),
        text(x.to_px - 2.0, height - 5.0, "end", label),
        h = px(height)
    )
}

/// Offset and class of a label: right of its place, or left of it at the right edge.
fn label_side(place: f64, label: &str, gap: f64, right: f64) -> (f64, &'static str) {
    if place + gap + text_width(label) > right + 4.0 { (-gap, "end") } else { (gap, "") }
}

/// Empty element for the value at the cursor, of a line by the indices of its track and itself.
fn cursor_value((track, line): (usize, usize), x: f64, y: f64) -> String {
    format!("<text x=\"{}\" y=\"{}\" class=\"value end\" data-v=\"{track} {line}\"></text>", px(x), px(y))
}

/// Sample of a line's style.
fn legend_key(line: &Line, names: &[&str], x: f64, y: f64) -> String {
    format!("<path class=\"line {}\" d=\"M{} {}h16\"/>", line_class(line, names), px(x), px(y - 4.0))
}

/// Class of a line's style.
fn line_class(line: &Line, names: &[&str]) -> String {
    if line.reference {
        return "ref".to_owned();
    }
    series_class(names.iter().position(|name| *name == line.name).unwrap_or(0))
}

/// Path of a line; `place` formats coordinates.
pub(crate) fn line_path(
    points: &[(f64, f64)],
    x: Scale,
    y: Scale,
    shape: Shape,
    place: impl Fn(f64) -> String,
) -> String {
    let mut d = String::new();
    // Whether the previous point was drawn: a gap starts a new subpath.
    let mut joined = false;
    for (at, value) in points {
        if !value.is_finite() {
            joined = false;
            continue;
        }
        let (at, value) = (place(x.px(*at)), place(y.px(*value)));
        let _ = match (joined, shape) {
            (false, _) => write!(d, "M{at} {value}"),
            (true, Shape::Straight) => write!(d, "L{at} {value}"),
            (true, Shape::Step) => write!(d, "H{at}V{value}"),
        };
        joined = true;
    }
    d
}

/// Path of a line's band; `format` formats coordinates.
pub(crate) fn band_path(
    line: &Line,
    x: Scale,
    y: Scale,
    columns: usize,
    format: impl Fn(f64) -> String,
) -> String {
    let edge = |sign: f64| -> Vec<f64> {
        line.y
            .iter()
            .enumerate()
            .map(|(i, v)| v + sign * line.band.get(i).copied().filter(|b| b.is_finite()).unwrap_or(0.0))
            .collect()
    };
    let upper = downsample(&line.x, &edge(1.0), x.lo, x.hi, columns);
    let lower = downsample(&line.x, &edge(-1.0), x.lo, x.hi, columns);
    let mut d = String::new();
    // Both edges have gaps at the same points, so their runs correspond.
    let runs = |edge: Vec<(f64, f64)>| -> Vec<Vec<(f64, f64)>> {
        edge.split(|p| !p.1.is_finite()).filter(|run| !run.is_empty()).map(<[_]>::to_vec).collect()
    };
    for (upper, lower) in runs(upper).iter().zip(runs(lower)) {
        let place = |(at, value): &(f64, f64)| {
            format!("{} {}", format(x.px(*at)), format(y.px(value.clamp(y.lo, y.hi))))
        };
        let around: Vec<String> = upper.iter().map(place).chain(lower.iter().rev().map(place)).collect();
        let _ = write!(d, "M{}z", around.join("L"));
    }
    d
}
