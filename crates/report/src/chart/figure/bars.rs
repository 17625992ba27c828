//! Bar charts as figures: vertical if the names of the groups fit below them, else horizontal.

use super::legend::{Sample, write_legend};
use super::plot::{LABEL_GAP_PT, small, write_y_grid, x_ticks};
use super::style::{BarStyle, FAINT, GREY};
use super::text::{Anchor, width, wrap, wraps_between_words, write_text};
use super::{FONT_PT, SMALL_PT, pt};
use crate::chart::Bars;
use crate::chart::axis::Scale;
use crate::number::{DASH, Estimate};
use core::fmt::Write as _;

/// Height of the plot area of vertical bars, at 85 mm.
const PLOT_HEIGHT_PT: f64 = 100.0;
/// Distance between two lines of a group's name.
const LABEL_LINE_PT: f64 = 8.2;
/// Narrowest and widest vertical bar.
const MIN_BAR_PT: f64 = 5.0;
const MAX_BAR_PT: f64 = 34.0;
/// Space between two groups of vertical bars.
const GROUP_GAP_PT: f64 = 6.0;
/// Distance between two horizontal bars.
const ROW_PT: f64 = 9.0;

/// Draws the chart; returns the elements and the height.
pub(super) fn draw(bars: &Bars, width: f64) -> (String, f64) {
    let mut figure = Figure { bars, width, out: String::new() };
    let top = figure.legend();
    let slot = (width - 34.0) / bars.groups.len().max(1) as f64;
    let bar = (slot - GROUP_GAP_PT) / bars.series.len().max(1) as f64;
    let fits = |group: &String| {
        group.lines().all(|line| wraps_between_words(line, slot - 3.0, SMALL_PT))
            && group.lines().map(|line| wrap(line, slot - 3.0, SMALL_PT).len()).sum::<usize>() <= 3
    };
    let height = if bar >= MIN_BAR_PT && bars.groups.iter().all(fits) {
        figure.vertical(top)
    } else {
        figure.horizontal(top)
    };
    (figure.out, height)
}

struct Figure<'a> {
    bars: &'a Bars,
    width: f64,
    out: String,
}

impl Figure<'_> {
    /// Draws the legend of several series; returns its lower edge.
    fn legend(&mut self) -> f64 {
        let bars = self.bars;
        if bars.series.len() < 2 {
            return 1.0;
        }
        let mut entries = Vec::new();
        if !bars.legend_title.is_empty() {
            entries.push((Sample::Title, bars.legend_title.clone()));
        }
        entries.extend(
            (0..bars.series.len()).map(|s| (Sample::Bar(self.style(s)), bars.series[s].name.clone())),
        );
        write_legend(&mut self.out, &entries, (1.0, self.width - 1.0), 1.0)
    }

    fn style(&self, series: usize) -> BarStyle {
        let all = &self.bars.series;
        if all[series].reference {
            return BarStyle::Reference;
        }
        BarStyle::Series(all[..series].iter().filter(|s| !s.reference).count())
    }

    /// Width of the longest printed value.
    fn value_width(&self) -> f64 {
        self.bars.values().map(|(_, e)| width(&self.bars.value(e.mean), SMALL_PT)).fold(0.0, f64::max)
    }

    fn vertical(&mut self, top: f64) -> f64 {
        let bars = self.bars;
        let plot_height = PLOT_HEIGHT_PT.max(self.width * 0.26);
        let title = bars.axis.figure_label();
        let beside = !title.is_empty() && width(&title, FONT_PT) <= plot_height + 14.0;
        let mut top = top;
        if !beside {
            for line in wrap(&title, self.width - 2.0, FONT_PT) {
                top += FONT_PT + 1.0;
                write_text(&mut self.out, (1.0, top), Anchor::Start, "", &line);
            }
        }
        let slot = (self.width - 34.0) / bars.groups.len().max(1) as f64;
        let count = bars.series.len().max(1) as f64;
        let room = if bars.series.len() > 1 { ((slot - GROUP_GAP_PT) / count).min(MAX_BAR_PT) } else { slot };
        let print = self.value_width() + 2.0 <= room;
        // Room for the value above the highest bar.
        let top = top + if print { SMALL_PT + 4.0 } else { 4.0 };
        let bottom = top + plot_height;
        let (y, ticks) = bars.scale(bottom, top);
        let labels = ticks.values.iter().map(|v| width(&ticks.text(*v), SMALL_PT)).fold(4.0, f64::max);
        let left = labels + LABEL_GAP_PT + 1.0 + if beside { FONT_PT + 3.0 } else { 0.0 };
        let right = self.width - 2.0;
        if beside {
            let (x, middle) = (FONT_PT, f64::midpoint(top, bottom));
            let turned = format!(" transform=\"rotate(-90 {} {})\"", pt(x), pt(middle));
            write_text(&mut self.out, (x, middle), Anchor::Middle, &turned, &title);
        }
        write_y_grid(&mut self.out, &ticks, y, (left, right));
        let slot = (right - left) / bars.groups.len().max(1) as f64;
        let bar = ((slot - GROUP_GAP_PT) / count).clamp(1.0, MAX_BAR_PT);
        for (g, group) in bars.groups.iter().enumerate() {
            let middle = left + slot * (g as f64 + 0.5);
            self.group_label(group, (middle, bottom + 3.0 + SMALL_PT), slot - 3.0);
            for (s, series) in bars.series.iter().enumerate() {
                let Some(estimate) = series.values.get(g).copied().flatten() else { continue };
                let x = middle + bar * (s as f64 - count / 2.0);
                self.vertical_bar(s, estimate, (x, bar), (y, print));
            }
        }
        let zero = y.px(0.0_f64.clamp(y.lo, y.hi));
        self.axes(&format!(
            "M{l} {}V{}M{l} {z}H{}",
            pt(top),
            pt(bottom),
            pt(right),
            l = pt(left),
            z = pt(zero)
        ));
        let lines = |group: &String| group.lines().map(|line| wrap(line, slot - 3.0, SMALL_PT).len()).sum();
        let rows = bars.groups.iter().map(lines).max().unwrap_or(0);
        bottom + 5.0 + LABEL_LINE_PT * rows as f64
    }

    /// Writes the name of a group in lines; further lines of the name itself are grey.
    fn group_label(&mut self, group: &str, (x, baseline): (f64, f64), max: f64) {
        let mut y = baseline;
        for (i, part) in group.lines().enumerate() {
            let fill = if i == 0 { String::new() } else { format!(" fill=\"{GREY}\"") };
            for line in wrap(part, max, SMALL_PT) {
                write_text(&mut self.out, (x, y), Anchor::Middle, &small(&fill), &line);
                y += LABEL_LINE_PT;
            }
        }
    }

    fn axes(&mut self, d: &str) {
        let _ = writeln!(self.out, "<path d=\"{d}\" fill=\"none\" stroke=\"{GREY}\" stroke-width=\"0.6\"/>");
    }

    /// Draws a bar with its interval, and its value if `print`.
    fn vertical_bar(
        &mut self,
        series: usize,
        estimate: Estimate,
        (x, bar): (f64, f64),
        (y, print): (Scale, bool),
    ) {
        let centre = x + bar / 2.0;
        let zero = y.px(0.0_f64.clamp(y.lo, y.hi));
        if !estimate.mean.is_finite() {
            write_text(&mut self.out, (centre, zero - 2.5), Anchor::Middle, &small(""), DASH);
            return;
        }
        let end = y.px(estimate.mean);
        let style = self.style(series);
        style.write_bar(&mut self.out, (x + 0.6, zero.min(end)), (bar - 1.2, (zero - end).abs()));
        let mut outer = end;
        if estimate.ci95.is_finite() && estimate.ci95 > 0.0 {
            let (low, high, capped) = Bars::interval(estimate, y);
            let cap = (bar * 0.22).min(2.5);
            let lower = if capped {
                format!("M{} {}h{}", pt(centre - cap), pt(low), pt(2.0 * cap))
            } else {
                String::new()
            };
            self.whisker(&format!(
                "M{c} {l}V{h}M{a} {h}h{w}{lower}",
                c = pt(centre),
                a = pt(centre - cap),
                w = pt(2.0 * cap),
                h = pt(high),
                l = pt(low)
            ));
            outer = if estimate.mean < 0.0 { low } else { high };
        }
        if print {
            let baseline = if estimate.mean < 0.0 { outer + SMALL_PT + 1.0 } else { outer - 2.0 };
            let value = self.bars.value(estimate.mean);
            write_text(&mut self.out, (centre, baseline), Anchor::Middle, &small(""), &value);
        }
    }

    /// Draws an interval, with a white edge on dark bars.
    fn whisker(&mut self, d: &str) {
        let _ = writeln!(
            self.out,
            "<path d=\"{d}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"1.6\"/>\n\
             <path d=\"{d}\" fill=\"none\" stroke=\"#000\" stroke-width=\"0.7\"/>"
        );
    }

    fn horizontal(&mut self, top: f64) -> f64 {
        let bars = self.bars;
        let widest = |max: f64| {
            let lines = bars.groups.iter().flat_map(|g| g.lines()).flat_map(|l| wrap(l, max, SMALL_PT));
            lines.map(|line| width(&line, SMALL_PT)).fold(8.0, f64::max)
        };
        let left = widest(self.width * 0.4) + LABEL_GAP_PT + 2.0;
        let right = self.width - self.value_width().max(8.0) - 5.0;
        let (x, _) = bars.scale(left, right);
        let ticks = x_ticks(x, &bars.axis, self.width - 1.0);
        let height = ROW_PT * bars.series.len() as f64;
        let mut y = top + 3.0;
        let labels: Vec<Vec<(String, bool)>> = bars
            .groups
            .iter()
            .map(|group| {
                let part = |(i, line): (usize, &str)| {
                    wrap(line, self.width * 0.4, SMALL_PT)
                        .into_iter()
                        .map(move |text| (text, i > 0))
                        .collect::<Vec<_>>()
                };
                group.lines().enumerate().flat_map(part).collect()
            })
            .collect();
        let slot = |lines: &[(String, bool)]| height.max(LABEL_LINE_PT * lines.len() as f64) + 5.0;
        let bottom = y + labels.iter().map(|lines| slot(lines)).sum::<f64>();
        for value in &ticks.values {
            let at = pt(x.px(*value));
            let _ = writeln!(
                self.out,
                "<path d=\"M{at} {}V{}\" stroke=\"{FAINT}\" stroke-width=\"0.5\"/>",
                pt(y),
                pt(bottom)
            );
        }
        for (g, lines) in labels.iter().enumerate() {
            let middle = y + slot(lines) / 2.0;
            for (i, (line, quiet)) in lines.iter().enumerate() {
                let baseline =
                    middle + LABEL_LINE_PT * (i as f64 - (lines.len() as f64 - 1.0) / 2.0) + SMALL_PT * 0.36;
                let fill = if *quiet { format!(" fill=\"{GREY}\"") } else { String::new() };
                write_text(&mut self.out, (left - LABEL_GAP_PT, baseline), Anchor::End, &small(&fill), line);
            }
            for (s, series) in bars.series.iter().enumerate() {
                if let Some(estimate) = series.values.get(g).copied().flatten() {
                    self.horizontal_bar(s, estimate, middle - height / 2.0 + ROW_PT * s as f64, x);
                }
            }
            y += slot(lines);
        }
        let zero = x.px(0.0_f64.clamp(x.lo, x.hi));
        self.axes(&format!(
            "M{z} {}V{b}M{} {b}H{}",
            pt(top + 3.0),
            pt(left),
            pt(right),
            z = pt(zero),
            b = pt(bottom)
        ));
        let mut y = bottom + 3.5 + SMALL_PT;
        for value in &ticks.values {
            write_text(&mut self.out, (x.px(*value), y), Anchor::Middle, &small(""), &ticks.text(*value));
        }
        y += 1.5;
        for line in wrap(&bars.axis.figure_label(), self.width - 2.0, FONT_PT) {
            y += FONT_PT + 1.0;
            let half = width(&line, FONT_PT) / 2.0;
            let centre = f64::midpoint(left, right).min(self.width - half - 1.0).max(half + 1.0);
            write_text(&mut self.out, (centre, y), Anchor::Middle, "", &line);
        }
        y + 2.5
    }

    /// Draws a bar with its interval and value; `y` is the upper edge of its row.
    fn horizontal_bar(&mut self, series: usize, estimate: Estimate, y: f64, x: Scale) {
        let zero = x.px(0.0_f64.clamp(x.lo, x.hi));
        let baseline = y + ROW_PT / 2.0 + SMALL_PT * 0.36;
        if !estimate.mean.is_finite() {
            write_text(&mut self.out, (zero + 2.5, baseline), Anchor::Start, &small(""), DASH);
            return;
        }
        let end = x.px(estimate.mean);
        let style = self.style(series);
        style.write_bar(&mut self.out, (zero.min(end), y + 0.6), ((end - zero).abs(), ROW_PT - 1.2));
        let mut outer = end;
        if estimate.ci95.is_finite() && estimate.ci95 > 0.0 {
            let (low, high, capped) = Bars::interval(estimate, x);
            let lower =
                if capped { format!("M{} {}v4", pt(low), pt(y + ROW_PT / 2.0 - 2.0)) } else { String::new() };
            self.whisker(&format!(
                "M{l} {m}H{h}M{h} {a}v4{lower}",
                m = pt(y + ROW_PT / 2.0),
                a = pt(y + ROW_PT / 2.0 - 2.0),
                h = pt(high),
                l = pt(low)
            ));
            outer = high;
        }
        let value = self.bars.value(estimate.mean);
        write_text(&mut self.out, (outer.max(zero) + 2.5, baseline), Anchor::Start, &small(""), &value);
    }
}
