//! The parts of a plot as SVG: a storey's head, its lines, its blocks, its marks.

use super::axis::{Scale, Ticks};
use super::lane::blocks;
use super::plot::Storey;
use super::svg::{FONT, Size, fit, px, text, text_width};
use super::thin::thin;
use super::{Lane, Line, Mark, Panel, Shape, Track};
use core::fmt::Write as _;

/// The height of a row of text.
pub(crate) const ROW: f64 = 17.0;
/// The height of a lane.
pub(crate) const LANE: f64 = 18.0;
/// How many looks lines have; the next line begins again.
const LOOKS: usize = 6;

/// A drawing that grows storey by storey.
pub(crate) struct Drawing<'a> {
    /// Tells this chart's ids from another's.
    pub id: &'a str,
    pub size: Size,
    /// The names of lines: a name's place is its look.
    pub names: &'a [&'a str],
    /// The common axis.
    pub x: Scale,
    /// The width of the whole.
    pub width: f64,
    /// What is drawn so far.
    pub out: String,
}

impl Drawing<'_> {
    /// The storey's title and the legend; returns how high they are.
    pub(crate) fn head(&mut self, storey: &Storey<'_>, index: usize, y: f64) -> f64 {
        let (size, names, width, out) = (self.size, self.names, self.width, &mut self.out);
        let (left, right) = (self.x.from_px, self.x.to_px);
        let font = FONT;
        let (title, lines) = match storey.track {
            Track::Panel(panel) => (panel.y.label(), panel.lines.as_slice()),
            Track::Lane(lane) => (lane.name.clone(), [].as_slice()),
        };
        let _ = write!(out, "{}", text(0.0, y + 12.0, "axis", &fit(&title, font, width - 60.0)));
        let value = |line: usize, x: f64, y: f64| {
            format!(
                "<text x=\"{}\" y=\"{}\" class=\"value end\" data-v=\"{index} {line}\"></text>",
                px(x),
                px(y)
            )
        };
        // A single line is the panel's own: its value stands beside the title.
        if lines.len() < 2 {
            // In the gutter, where there is one, as the values of other storeys.
            let at = if width - right > 40.0 {
                (width - 2.0, y + ROW + if storey.ticks.is_some() { 16.0 } else { LANE - 5.0 })
            } else {
                (right, y + 12.0)
            };
            out.push_str(&value(0, at.0, at.1));
            out.push('\n');
            return ROW + if storey.ticks.is_some() { 7.0 } else { 2.0 };
        }
        let key = |line: &Line, x: f64, y: f64| {
            format!("<path class=\"line {}\" d=\"M{} {}h16\"/>", look(line, names), px(x), px(y - 4.0))
        };
        let mut rows = ROW + 7.0;
        match size {
            Size::Wide => {
                for (i, line) in lines.iter().enumerate() {
                    let (x, y) = (right + 12.0, y + ROW + 16.0 + ROW * i as f64);
                    let name = fit(&line.name, font, width - x - 22.0 - 46.0);
                    let _ = write!(
                        out,
                        "{}{}{}",
                        key(line, x, y),
                        text(x + 22.0, y, "", &name),
                        value(i, width - 2.0, y)
                    );
                }
            }
            Size::Narrow => {
                let (mut x, mut row) = (left, y + 12.0 + ROW);
                for (i, line) in lines.iter().enumerate() {
                    let name = fit(&line.name, font, 170.0);
                    let room = 22.0 + text_width(&name, font) + 50.0;
                    if x + room > right && x > left {
                        x = left;
                        row += ROW;
                    }
                    let _ = write!(
                        out,
                        "{}{}{}",
                        key(line, x, row),
                        text(x + 21.0, row, "", &name),
                        value(i, x + room - 4.0, row)
                    );
                    x += room + 8.0;
                }
                rows = row - y + 12.0;
            }
        }
        out.push('\n');
        rows
    }

    pub(crate) fn panel(&mut self, panel: &Panel, ticks: &Ticks, y: Scale, index: usize) {
        let (x, names) = (self.x, self.names);
        let clip = self.clip(index);
        let out = &mut self.out;
        let (left, right, top, bottom) = (x.from_px, x.to_px, y.to_px, y.from_px);
        out.push_str("<g class=\"grid y\">");
        for value in &ticks.values {
            let at = y.px(*value);
            let base = if *value == 0.0 { " class=\"base\"" } else { "" };
            let _ = write!(out, "<path{base} d=\"M{} {}H{}\"/>", px(left), px(at), px(right));
            out.push_str(&text(left - 6.0, at + 4.0, "end", &ticks.text(*value)));
        }
        out.push_str("</g>\n");
        // Dots at the very ends are let out.
        let slack = if panel.lines.iter().any(|line| line.dots) { 5.0 } else { 1.0 };
        let _ = writeln!(
            out,
            "<clipPath id=\"{clip}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            px(left - slack),
            px(top - slack),
            px(right - left + 2.0 * slack),
            px(bottom - top + 2.0 * slack)
        );
        let _ = writeln!(
            out,
            "<g class=\"track\" clip-path=\"url(#{clip})\" data-t=\"{index}\" data-y=\"{} {} {} {}\">",
            px(top),
            px(bottom),
            y.lo,
            y.hi
        );
        let columns = (right - left).max(1.0) as usize;
        for (i, line) in panel.lines.iter().enumerate() {
            if !line.band.is_empty() {
                let d = band_path(line, x, y, columns);
                let _ =
                    writeln!(out, "<path class=\"band {}\" data-b=\"{i}\" d=\"{d}\"/>", look(line, names));
            }
        }
        // The first line is the one that matters: it is drawn last.
        for (i, line) in panel.lines.iter().enumerate().rev() {
            let points = thin(&line.x, &line.y, x.lo, x.hi, columns);
            // A line that is alone needs no dashes to be known by.
            let class = look(line, names) + if panel.lines.len() == 1 { " lone" } else { "" };
            let d = line_path(&points, x, y, line.shape);
            let _ = writeln!(out, "<path class=\"line {class}\" data-l=\"{i}\" d=\"{d}\"/>");
            if line.dots {
                let mut d = String::new();
                for (at, value) in points.iter().filter(|(_, value)| value.is_finite()) {
                    let _ = write!(d, "M{} {}h0", px(x.px(*at)), px(y.px(*value)));
                }
                let _ = writeln!(out, "<path class=\"dots {class}\" data-d=\"{i}\" d=\"{d}\"/>");
            }
        }
        out.push_str("</g>\n");
        self.marks(&panel.marks, y);
    }

    /// Draws a lane between two heights.
    pub(crate) fn lane(&mut self, lane: &Lane, top: f64, bottom: f64, index: usize) {
        let x = self.x;
        let clip = self.clip(index);
        let out = &mut self.out;
        let _ = writeln!(
            out,
            "<clipPath id=\"{clip}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            px(x.from_px),
            px(top),
            px(x.to_px - x.from_px),
            px(bottom - top)
        );
        let _ = writeln!(
            out,
            "<path class=\"floor\" d=\"M{} {}H{}\"/><g class=\"track\" clip-path=\"url(#{clip})\" data-t=\"{index}\" data-y=\"{} {} 0 1\">",
            px(x.from_px),
            px(bottom),
            px(x.to_px),
            px(top),
            px(bottom)
        );
        for (shade, d) in blocks(lane, |at| x.px(at), top, bottom) {
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
        let out = &mut self.out;
        let font = FONT;
        let (left, right, top, bottom) = (x.from_px, x.to_px, y.to_px, y.from_px);
        let inside = |value: f64| value.is_finite() && value >= x.lo && value <= x.hi;
        // A label stands right of its place, or left where it would not fit.
        let side = |at: f64, label: &str, gap: f64| {
            if at + gap + text_width(label, font) > right + 4.0 { (-gap, "end") } else { (gap, "") }
        };
        let mut row = 0;
        for mark in marks {
            match mark {
                Mark::Vertical { x: at, label } if inside(*at) => {
                    let place = x.px(*at);
                    let (gap, class) = side(place, label, 6.0);
                    let _ = write!(
                        out,
                        "<g class=\"mark\" data-at=\"{at}\" transform=\"translate({},0)\"><path d=\"M0 {}V{}\"/>{}</g>",
                        px(place),
                        px(top),
                        px(bottom),
                        text(gap, top + 10.0 + 15.0 * f64::from(row), class, label)
                    );
                    row += 1;
                }
                Mark::Point { x: at, y: value, label } if inside(*at) && value.is_finite() => {
                    let (place, height) = (x.px(*at), y.px(*value));
                    let (gap, class) = side(place, label, 9.0);
                    // Above the point, unless that leaves the panel.
                    let up = if height - 12.0 < top { 18.0 } else { -8.0 };
                    let _ = write!(
                        out,
                        "<g class=\"mark\" data-at=\"{at}\" transform=\"translate({},0)\"><circle cy=\"{}\" r=\"5\"/>{}</g>",
                        px(place),
                        px(height),
                        text(gap, height + up, class, label)
                    );
                }
                Mark::Horizontal { y: value, label } if value.is_finite() => {
                    let height = y.px(*value);
                    let _ = write!(
                        out,
                        "<g class=\"mark\"><path d=\"M{} {h}H{}\"/>{}</g>",
                        px(left),
                        px(right),
                        text(right - 2.0, height - 5.0, "end", label),
                        h = px(height)
                    );
                }
                _ => {}
            }
        }
        if !marks.is_empty() {
            out.push('\n');
        }
    }

    fn clip(&self, index: usize) -> String {
        format!("{}{}{index}", self.id, &self.size.class()[..1])
    }
}

/// The class that says how a line looks.
fn look(line: &Line, names: &[&str]) -> String {
    if line.reference {
        return "ref".to_owned();
    }
    format!("s{}", names.iter().position(|name| *name == line.name).unwrap_or(0) % LOOKS)
}

fn line_path(points: &[(f64, f64)], x: Scale, y: Scale, shape: Shape) -> String {
    let mut d = String::new();
    let mut down = false;
    for (at, value) in points {
        if !value.is_finite() {
            down = false;
            continue;
        }
        let (at, value) = (px(x.px(*at)), px(y.px(*value)));
        let _ = match (down, shape) {
            (false, _) => write!(d, "M{at} {value}"),
            (true, Shape::Straight) => write!(d, "L{at} {value}"),
            (true, Shape::Step) => write!(d, "H{at}V{value}"),
        };
        down = true;
    }
    d
}

fn band_path(line: &Line, x: Scale, y: Scale, columns: usize) -> String {
    let edge = |sign: f64| -> Vec<f64> {
        line.y
            .iter()
            .enumerate()
            .map(|(i, v)| v + sign * line.band.get(i).copied().filter(|b| b.is_finite()).unwrap_or(0.0))
            .collect()
    };
    let upper = thin(&line.x, &edge(1.0), x.lo, x.hi, columns);
    let lower = thin(&line.x, &edge(-1.0), x.lo, x.hi, columns);
    let mut d = String::new();
    // Gaps are in both edges at the same places, so their runs correspond.
    let runs = |edge: Vec<(f64, f64)>| -> Vec<Vec<(f64, f64)>> {
        edge.split(|p| !p.1.is_finite()).filter(|run| !run.is_empty()).map(<[_]>::to_vec).collect()
    };
    for (upper, lower) in runs(upper).iter().zip(runs(lower)) {
        let place = |(at, value): &(f64, f64)| format!("{} {}", px(x.px(*at)), px(y.px(*value)));
        let around: Vec<String> = upper.iter().map(place).chain(lower.iter().rev().map(place)).collect();
        let _ = write!(d, "M{}z", around.join("L"));
    }
    d
}
