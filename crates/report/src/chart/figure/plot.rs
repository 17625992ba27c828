//! Line charts and timelines as figures.

use super::legend::{Sample, write_legend};
use super::style::{FAINT, GREY, LineStyle, shade_colour};
use super::text::{Anchor, width, wrap, write_text};
use super::{FONT_PT, SMALL_PT, pt};
use crate::chart::axis::{Scale, Ticks};
use crate::chart::downsample::downsample;
use crate::chart::draw::{band_path, line_path};
use crate::chart::lane::block_paths;
use crate::chart::plot::{Plot, ScaledTrack};
use crate::chart::{Axis, Lane, Line, Mark, Panel, Shape, Track};
use core::fmt::Write as _;

/// Height of the panel of a line chart, at 85 mm.
pub(super) const LINES_HEIGHT_PT: f64 = 108.0;
/// Height of a panel of a timeline.
pub(super) const PANEL_HEIGHT_PT: f64 = 46.0;
/// Height of a lane.
const LANE_PT: f64 = 9.0;
/// Space below a panel and below a lane, before the title of the next.
const PANEL_GAP_PT: f64 = 8.0;
const LANE_GAP_PT: f64 = 4.0;
/// Points of a line per point of width, before downsampling.
const COLUMNS_PER_PT: f64 = 1.5;
/// Markers along a line with many points.
const SPACED_MARKERS: usize = 6;
/// Space between a tick label and its axis.
pub(super) const LABEL_GAP_PT: f64 = 3.0;
/// Space between two labels of the x axis.
const X_LABEL_SPACE_PT: f64 = 6.0;

/// Draws the tracks; returns the elements and the height. `single` is a line chart: its y title
/// stands beside the axis.
pub(super) fn draw(plot: &Plot<'_>, single: bool) -> (String, f64) {
    let tracks = plot.scaled_tracks();
    let mut figure = Figure::new(plot, &tracks, single);
    let legend = figure.legend(plot);
    let mut y = write_legend(&mut figure.out, &legend, (1.0, plot.width - 1.0), 1.0);
    let mut bottom = y;
    for (index, scaled) in tracks.iter().enumerate() {
        bottom = figure.track(scaled, index, y);
        y = bottom + if scaled.ticks.is_some() { PANEL_GAP_PT } else { LANE_GAP_PT };
    }
    let height = figure.x_axis(plot.x, bottom);
    (figure.out, height)
}

/// Ticks of an x axis whose labels do not overlap and lie within the width of the figure.
pub(super) fn x_ticks(x: Scale, axis: &Axis, limit: f64) -> Ticks {
    Ticks::fitting((axis, x), 8, (X_LABEL_SPACE_PT, limit), |text| width(text, SMALL_PT))
}

struct Figure<'a> {
    id: &'a str,
    /// Names with a style of their own, by index.
    names: Vec<&'a str>,
    x: Scale,
    ticks: Ticks,
    width: f64,
    panel_height: f64,
    /// The y title of the only panel beside the axis, if there is room.
    beside: bool,
    /// A line chart, with stronger lines and markers at points.
    single: bool,
    out: String,
}

impl<'a> Figure<'a> {
    fn new(plot: &'a Plot<'a>, tracks: &[ScaledTrack<'_>], single: bool) -> Self {
        let labels = tracks
            .iter()
            .filter_map(|scaled| scaled.ticks.as_ref())
            .flat_map(|ticks| ticks.values.iter().map(|value| width(&ticks.text(*value), SMALL_PT)));
        let widest = labels.fold(4.0, f64::max);
        let title = tracks.iter().find_map(|scaled| match scaled.track {
            Track::Panel(panel) => Some(panel.y.figure_label()),
            Track::Lane(_) => None,
        });
        let beside = single
            && title
                .is_some_and(|title| !title.is_empty() && width(&title, FONT_PT) <= plot.panel_height + 8.0);
        let left = widest + LABEL_GAP_PT + 1.0 + if beside { FONT_PT + 3.0 } else { 0.0 };
        let (lo, hi) = plot.x_range();
        // The last label may extend beyond the axis by the margin.
        let scale =
            |margin: f64| Scale { lo, hi, from_px: left, to_px: (plot.width - margin).max(left + 20.0) };
        let most = Ticks::of(plot.x, lo, hi, 8).values.iter().fold(0.0, |most: f64, value| {
            most.max(width(&Ticks::of(plot.x, lo, hi, 8).text(*value), SMALL_PT) / 2.0)
        });
        let x = scale((most + 1.5).clamp(5.0, 16.0));
        let names = plot.names();
        let several = |name: &str| {
            tracks.iter().any(|scaled| match scaled.track {
                Track::Panel(panel) => {
                    panel.lines.len() > 1 && panel.lines.iter().any(|line| line.name == name)
                }
                Track::Lane(_) => false,
            })
        };
        Self {
            id: plot.id,
            names: names.into_iter().filter(|name| several(name)).collect(),
            ticks: x_ticks(x, plot.x, plot.width - 1.0),
            x,
            width: plot.width,
            panel_height: plot.panel_height,
            beside,
            single,
            out: String::new(),
        }
    }

    /// Entries of the legend: lines of panels with several, states, and marks without a place of
    /// their own.
    fn legend(&self, plot: &Plot<'a>) -> Vec<(Sample, String)> {
        let mut entries: Vec<(Sample, String)> = Vec::new();
        let mut add = |sample: Sample, name: &str| {
            if !name.is_empty() && !entries.iter().any(|(other, text)| *other == sample && text == name) {
                entries.push((sample, name.to_owned()));
            }
        };
        if !self.names.is_empty() {
            add(Sample::Title, plot.legend_title);
        }
        let panels = || {
            plot.tracks.iter().filter_map(|track| match track {
                Track::Panel(panel) => Some(panel),
                Track::Lane(_) => None,
            })
        };
        for line in panels().filter(|panel| panel.lines.len() > 1).flat_map(|panel| &panel.lines) {
            add(Sample::Line(self.style(line, 2), true), &line.name);
        }
        for mark in panels().flat_map(|panel| &panel.marks) {
            match mark {
                Mark::Point { label, .. } => add(Sample::Ring, label),
                Mark::Horizontal { label, .. } => add(Sample::Level, label),
                Mark::Vertical { .. } => {}
            }
        }
        for (shade, labels) in plot.shades() {
            add(Sample::State(shade), &labels.join(", "));
        }
        entries
    }

    /// Style of a line in a panel of `count` lines.
    fn style(&self, line: &Line, count: usize) -> LineStyle {
        match self.names.iter().position(|name| *name == line.name) {
            _ if line.reference => LineStyle::Reference,
            Some(index) => LineStyle::Series(index),
            None if self.single || count > 1 => LineStyle::Series(0),
            None => LineStyle::Lone,
        }
    }

    /// Draws a track from `y` on; returns its lower edge.
    fn track(&mut self, scaled: &ScaledTrack<'_>, index: usize, y: f64) -> f64 {
        match (scaled.track, &scaled.ticks) {
            (Track::Panel(panel), Some(ticks)) => {
                let top = self.panel_head(panel, y);
                let bottom = top + self.panel_height;
                let scale = Scale { lo: scaled.lo, hi: scaled.hi, from_px: bottom, to_px: top };
                self.panel(panel, ticks, scale, index);
                bottom
            }
            (Track::Lane(lane), _) => self.lane(lane, index, y),
            (Track::Panel(_), None) => y,
        }
    }

    /// Draws the title above a panel and the labels of its vertical marks; returns the upper edge
    /// of the panel.
    fn panel_head(&mut self, panel: &Panel, y: f64) -> f64 {
        let mut y = y;
        let title = panel.y.figure_label();
        if !self.beside && !title.is_empty() {
            for line in wrap(&title, self.width - 2.0, FONT_PT) {
                y += FONT_PT + 1.0;
                write_text(&mut self.out, (1.0, y), Anchor::Start, "", &line);
            }
            y += 2.0;
        }
        // Each label in the first row in which it overlaps no other.
        let mut rows: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut labels: Vec<(f64, f64, usize, &str)> = Vec::new();
        for mark in &panel.marks {
            let Mark::Vertical { x, label } = mark else { continue };
            if label.is_empty() || !(*x >= self.x.lo && *x <= self.x.hi) {
                continue;
            }
            let half = width(label, SMALL_PT) / 2.0;
            let centre = self.x.px(*x).min(self.width - half - 1.0).max(half + 1.0);
            let free = |row: &Vec<(f64, f64)>| {
                row.iter().all(|(a, b)| centre + half + 3.0 < *a || centre - half - 3.0 > *b)
            };
            let row = rows.iter().position(free).unwrap_or_else(|| {
                rows.push(Vec::new());
                rows.len() - 1
            });
            rows[row].push((centre - half, centre + half));
            labels.push((centre, self.x.px(*x), row, label));
        }
        let bottom = y + (SMALL_PT + 1.5) * rows.len() as f64;
        for (centre, _, row, label) in labels {
            let baseline = bottom - 1.0 - (SMALL_PT + 1.5) * row as f64;
            write_text(&mut self.out, (centre, baseline), Anchor::Middle, &small(""), label);
        }
        bottom + 4.0
    }

    fn panel(&mut self, panel: &Panel, ticks: &Ticks, y: Scale, index: usize) {
        let (left, right, top, bottom) = (self.x.from_px, self.x.to_px, y.to_px, y.from_px);
        write_y_grid(&mut self.out, ticks, y, (self.x.from_px, self.x.to_px));
        if self.beside {
            let (x, middle) = (FONT_PT, f64::midpoint(top, bottom));
            let turned = format!(" transform=\"rotate(-90 {} {})\"", pt(x), pt(middle));
            write_text(&mut self.out, (x, middle), Anchor::Middle, &turned, &panel.y.figure_label());
        }
        let _ = writeln!(
            self.out,
            "<clipPath id=\"{id}-{index}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
             <g clip-path=\"url(#{id}-{index})\">",
            pt(left - 2.5),
            pt(top - 2.5),
            pt(right - left + 5.0),
            pt(bottom - top + 5.0),
            id = self.id,
        );
        self.lines(&panel.lines, y);
        self.out.push_str("</g>\n");
        self.marks(&panel.marks, y);
        let _ = writeln!(
            self.out,
            "<path d=\"M{l} {}V{b}H{}\" fill=\"none\" stroke=\"{GREY}\" stroke-width=\"0.6\"/>",
            pt(top),
            pt(right),
            l = pt(left),
            b = pt(bottom)
        );
    }

    fn lines(&mut self, lines: &[Line], y: Scale) {
        let columns = ((self.x.to_px - self.x.from_px) * COLUMNS_PER_PT).max(1.0) as usize;
        for line in lines.iter().filter(|line| !line.band.is_empty()) {
            let d = band_path(line, self.x, y, columns, pt);
            let colour = self.style(line, lines.len()).colour();
            let _ = writeln!(self.out, "<path d=\"{d}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>");
        }
        let strength = if self.single { 1.1 } else { 0.8 };
        // The first line is the most important one: it is drawn last, on top.
        for (i, line) in lines.iter().enumerate().rev() {
            let points = downsample(&line.x, &line.y, self.x.lo, self.x.hi, columns);
            let style = self.style(line, lines.len());
            let d = line_path(&points, self.x, y, line.shape, pt);
            let _ = writeln!(self.out, "<path d=\"{d}\"{}/>", style.stroke(strength));
            let within = |p: &&(f64, f64)| {
                p.1.is_finite() && p.0 >= self.x.lo && p.0 <= self.x.hi && p.1 >= y.lo && p.1 <= y.hi
            };
            let visible: Vec<(f64, f64)> = points.iter().filter(within).copied().collect();
            let all = line.dots && visible.len() <= 40;
            if lines.len() < 2 && !all {
                continue;
            }
            let place = |(at, value): (f64, f64)| (self.x.px(at), y.px(value));
            let places: Vec<(f64, f64)> = if all {
                visible.into_iter().map(place).collect()
            } else if line.shape == Shape::Step {
                spaced_along_steps(&visible.into_iter().map(place).collect::<Vec<_>>(), i, lines.len())
            } else {
                spaced(&visible, i, lines.len(), self.x).into_iter().map(place).collect()
            };
            for (x, y) in places {
                style.write_marker(&mut self.out, x, y);
            }
        }
    }

    fn marks(&mut self, marks: &[Mark], y: Scale) {
        let x = self.x;
        for mark in marks {
            let dashed =
                format!("fill=\"none\" stroke=\"{GREY}\" stroke-width=\"0.6\" stroke-dasharray=\"1.5 1.5\"");
            let _ = match mark {
                Mark::Vertical { x: at, .. } if *at >= x.lo && *at <= x.hi => {
                    writeln!(
                        self.out,
                        "<path d=\"M{} {}V{}\" {dashed}/>",
                        pt(x.px(*at)),
                        pt(y.to_px),
                        pt(y.from_px)
                    )
                }
                Mark::Point { x: at, y: value, .. } if *at >= x.lo && *at <= x.hi && value.is_finite() => {
                    writeln!(
                        self.out,
                        "<circle cx=\"{}\" cy=\"{}\" r=\"3.2\" fill=\"none\" stroke=\"#000\" stroke-width=\"0.7\"/>",
                        pt(x.px(*at)),
                        pt(y.px(*value))
                    )
                }
                Mark::Horizontal { y: value, .. } if value.is_finite() => {
                    writeln!(
                        self.out,
                        "<path d=\"M{} {}H{}\" {dashed}/>",
                        pt(x.from_px),
                        pt(y.px(*value)),
                        pt(x.to_px)
                    )
                }
                _ => Ok(()),
            };
        }
    }

    /// Draws a lane with its name above; returns its lower edge.
    fn lane(&mut self, lane: &Lane, index: usize, y: f64) -> f64 {
        let (left, right) = (self.x.from_px, self.x.to_px);
        write_text(&mut self.out, (1.0, y + FONT_PT), Anchor::Start, "", &lane.name);
        let top = y + FONT_PT + 3.0;
        let bottom = top + LANE_PT;
        let _ = writeln!(
            self.out,
            "<clipPath id=\"{id}-{index}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
             <g clip-path=\"url(#{id}-{index})\">",
            pt(left),
            pt(top),
            pt(right - left),
            pt(bottom - top),
            id = self.id,
        );
        // A span is a block of its own from a quarter of a point on.
        let (detail, x) = (4.0, self.x);
        for (shade, d) in block_paths(lane, |at| x.px(at) * detail, top, bottom) {
            if !d.is_empty() {
                let _ = writeln!(
                    self.out,
                    "<path transform=\"scale({} 1)\" d=\"{d}\" fill=\"{}\"/>",
                    pt(1.0 / detail),
                    shade_colour(shade)
                );
            }
        }
        let _ = writeln!(
            self.out,
            "</g>\n<path d=\"M{} {}H{}\" stroke=\"{GREY}\" stroke-width=\"0.6\"/>",
            pt(left),
            pt(bottom),
            pt(right)
        );
        bottom
    }

    /// Draws ticks, labels and title of the x axis below the last track, which ends at `bottom`;
    /// returns the height of the figure.
    fn x_axis(&mut self, axis: &Axis, bottom: f64) -> f64 {
        let baseline = bottom + 3.5 + SMALL_PT;
        let ticks = self.ticks.clone();
        for value in &ticks.values {
            let at = self.x.px(*value);
            let _ = writeln!(
                self.out,
                "<path d=\"M{} {}v2\" stroke=\"{GREY}\" stroke-width=\"0.6\"/>",
                pt(at),
                pt(bottom)
            );
            write_text(&mut self.out, (at, baseline), Anchor::Middle, &small(""), &ticks.text(*value));
        }
        let mut y = baseline + 1.5;
        for line in wrap(&axis.figure_label(), self.width - 2.0, FONT_PT) {
            y += FONT_PT + 1.0;
            let half = width(&line, FONT_PT) / 2.0;
            let middle = f64::midpoint(self.x.from_px, self.x.to_px);
            let centre = middle.min(self.width - half - 1.0).max(half + 1.0);
            write_text(&mut self.out, (centre, y), Anchor::Middle, "", &line);
        }
        y + 2.5
    }
}

/// Horizontal grid lines from `left` to `right`, with their labels on the left.
pub(super) fn write_y_grid(out: &mut String, ticks: &Ticks, y: Scale, (left, right): (f64, f64)) {
    for value in &ticks.values {
        let at = y.px(*value);
        let _ = writeln!(
            out,
            "<path d=\"M{} {}H{}\" stroke=\"{FAINT}\" stroke-width=\"0.5\"/>",
            pt(left),
            pt(at),
            pt(right)
        );
        let place = (left - LABEL_GAP_PT, at + SMALL_PT * 0.36);
        write_text(out, place, Anchor::End, &small(""), &ticks.text(*value));
    }
}

/// Attributes of small text.
pub(super) fn small(more: &str) -> String {
    format!(" font-size=\"{SMALL_PT}\"{more}")
}

/// A few places along a line of steps, in points: also within the rise of a distribution.
fn spaced_along_steps(corners: &[(f64, f64)], index: usize, count: usize) -> Vec<(f64, f64)> {
    let moves = corners.windows(2).flat_map(|pair| {
        let [(x, y), (to_x, to_y)] = [pair[0], pair[1]];
        [((x, y), (to_x, y)), ((to_x, y), (to_x, to_y))]
    });
    let moves: Vec<_> =
        moves.map(|(from, to)| (from, to, (to.0 - from.0).abs() + (to.1 - from.1).abs())).collect();
    let total: f64 = moves.iter().map(|(_, _, length)| length).sum();
    let mut places = Vec::new();
    for i in 0..SPACED_MARKERS {
        let mut rest = total * (i as f64 + (index as f64 + 0.5) / count as f64) / SPACED_MARKERS as f64;
        for ((x, y), to, length) in &moves {
            if *length > 0.0 && rest <= *length {
                let share = rest / length;
                places.push((x + (to.0 - x) * share, y + (to.1 - y) * share));
                break;
            }
            rest -= length;
        }
    }
    places
}

/// A few points along a line, at other places for each line of a panel.
fn spaced(points: &[(f64, f64)], index: usize, count: usize, x: Scale) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for i in 0..SPACED_MARKERS {
        let share = (i as f64 + (index as f64 + 0.5) / count as f64) / SPACED_MARKERS as f64;
        let at = x.lo + share * (x.hi - x.lo);
        // The first point from there on, unless the line has a gap until the next marker.
        let end = at + (x.hi - x.lo) / SPACED_MARKERS as f64;
        if let Some(point) = points.iter().find(|point| point.0 >= at && point.0 < end)
            && kept.last() != Some(point)
        {
            kept.push(*point);
        }
    }
    kept
}

impl Axis {
    /// Label of the form `title (unit)`, as papers write it.
    pub(super) fn figure_label(&self) -> String {
        match (self.title.is_empty(), self.unit.is_empty()) {
            (_, true) => self.title.clone(),
            (true, false) => self.unit.clone(),
            (false, false) => format!("{} ({})", self.title, self.unit),
        }
    }
}
