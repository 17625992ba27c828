//! Grouped bars as SVG: vertical on a wide page if the labels fit, else horizontal.

use super::axis::{Scale, Ticks, extent, y_axis};
use super::svg::{
    NARROW_WIDTH_PX, Size, ellipsize, open_svg, px, series_class, text, text_width, wrap, y_grid,
};
use super::{BarSeries, Bars};
use crate::html::escape;
use crate::number::{DASH, Estimate, fixed, with_minus_sign};
use core::fmt::Write as _;

const WIDE_WIDTH_PX: f64 = 500.0;
/// Height of the plot area of vertical bars.
const PLOT_HEIGHT_PX: f64 = 190.0;
/// Space between two groups of vertical bars.
const GROUP_GAP_PX: f64 = 14.0;
/// Distance between two lines of a group label.
const LABEL_LINE_PX: f64 = 15.0;
/// Distance between two horizontal bars.
const ROW_PX: f64 = 19.0;
/// Height of the group label above horizontal bars.
const GROUP_LABEL_PX: f64 = 18.0;

impl Bars {
    pub(crate) fn svg(&self, size: Size, label: &str) -> String {
        let slot = (WIDE_WIDTH_PX - 60.0) / self.groups.len().max(1) as f64;
        let bar = (slot - GROUP_GAP_PX) / self.series.len().max(1) as f64;
        let names = self.groups.iter().flat_map(|g| g.lines()).map(text_width).fold(0.0, f64::max);
        if size == Size::Wide && self.value_width(0.0) + 4.0 <= bar && names + 6.0 <= slot {
            self.vertical(label)
        } else {
            self.horizontal(size, label)
        }
    }

    /// Legend of the series.
    pub(crate) fn legend(&self) -> String {
        let mut out = String::from("<ul class=\"legend\">");
        if !self.legend_title.is_empty() {
            let _ = write!(out, "<li class=\"quiet\">{}</li>", escape(&self.legend_title));
        }
        for (index, series) in self.series.iter().enumerate() {
            let _ = write!(
                out,
                "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect class=\"bar {}\" x=\"1\" y=\"1\" width=\"12\" height=\"12\"/></svg>{}</li>",
                self.class(index),
                escape(&series.name)
            );
        }
        out.push_str("</ul>\n");
        out
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = (&BarSeries, Estimate)> {
        let count = self.groups.len();
        self.series.iter().flat_map(move |s| s.values.iter().take(count).flatten().map(move |e| (s, *e)))
    }

    /// Text of a value. The largest value has two significant digits or more.
    pub(crate) fn value(&self, value: f64) -> String {
        let largest = self.values().map(|(_, e)| e.mean.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
        let least =
            if largest > 0.0 { (1.0 - libm::log10(largest).floor()).clamp(0.0, 9.0) as usize } else { 0 };
        with_minus_sign(&fixed(value, self.decimals.max(least)))
    }

    /// Width of the longest value, at least `min`.
    fn value_width(&self, min: f64) -> f64 {
        self.values().map(|(_, e)| text_width(&self.value(e.mean))).fold(min, f64::max)
    }

    /// Class of the bars of a series.
    fn class(&self, series: usize) -> String {
        if self.series[series].reference {
            return "ref".to_owned();
        }
        series_class(self.series[..series].iter().filter(|s| !s.reference).count())
    }

    /// Scale and ticks of the value axis between two coordinates.
    pub(crate) fn scale(&self, from_px: f64, to_px: f64) -> (Scale, Ticks) {
        let range = extent(self.values().flat_map(|(_, e)| {
            let half = if e.ci95.is_finite() { e.ci95 } else { 0.0 };
            [e.mean - half, e.mean + half, 0.0]
        }));
        let (lo, hi, ticks) = y_axis(range, self.axis.from, self.axis.to, true, 4);
        (Scale { lo, hi, from_px, to_px }, ticks)
    }

    /// Ends of an interval within the axis: the lower and the upper one, and whether the axis holds
    /// the lower one.
    pub(crate) fn interval(estimate: Estimate, scale: Scale) -> (f64, f64, bool) {
        let low = estimate.mean - estimate.ci95;
        let within = |value: f64| scale.px(value.clamp(scale.lo, scale.hi));
        (within(low), within(estimate.mean + estimate.ci95), low >= scale.lo)
    }

    fn vertical(&self, label: &str) -> String {
        let (top, bottom) = (34.0, 34.0 + PLOT_HEIGHT_PX);
        let (y, ticks) = self.scale(bottom, top);
        let left = ticks.values.iter().map(|v| text_width(&ticks.text(*v))).fold(10.0, f64::max) + 8.0;
        let right = WIDE_WIDTH_PX - 4.0;
        let lines = self.groups.iter().map(|g| g.lines().count()).max().unwrap_or(1);
        let height = bottom + 8.0 + LABEL_LINE_PX * lines as f64;
        let mut out = open_svg("bars", Size::Wide, (WIDE_WIDTH_PX, height), label, "");
        out.push_str(&text(0.0, 12.0, "axis", &ellipsize(&self.axis.label(), WIDE_WIDTH_PX)));
        out.push_str(&y_grid(&ticks, y, left, right));
        let slot = (right - left) / self.groups.len().max(1) as f64;
        let count = self.series.len().max(1) as f64;
        let width = ((slot - GROUP_GAP_PX) / count).min(46.0);
        for (g, group) in self.groups.iter().enumerate() {
            let middle = left + slot * (g as f64 + 0.5);
            for (i, line) in group.lines().enumerate() {
                let class = if i == 0 { "mid" } else { "mid axis" };
                out.push_str(&text(middle, bottom + 17.0 + LABEL_LINE_PX * i as f64, class, line));
            }
            for (s, series) in self.series.iter().enumerate() {
                let Some(estimate) = series.values.get(g).copied().flatten() else { continue };
                let x = middle + width * (s as f64 - count / 2.0);
                out.push_str(&self.vertical_bar(s, estimate, (x, width), y));
            }
        }
        out.push_str("</svg>\n");
        out
    }

    /// Draws a bar with interval and value; `x` is its left edge including the gap to the next
    /// bar.
    fn vertical_bar(&self, series: usize, estimate: Estimate, (x, width): (f64, f64), y: Scale) -> String {
        let centre = x + width / 2.0;
        if !estimate.mean.is_finite() {
            return text(centre, y.px(0.0) - 5.0, "mid value", DASH);
        }
        let (zero, end) = (y.px(0.0_f64.clamp(y.lo, y.hi)), y.px(estimate.mean));
        let mut out = format!(
            "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            self.class(series),
            px(x + 1.5),
            px(zero.min(end)),
            px(width - 3.0),
            px((zero - end).abs())
        );
        let mut outer_end = end;
        if estimate.ci95.is_finite() {
            let (low, high, capped) = Self::interval(estimate, y);
            let _ = write!(
                out,
                "<path class=\"whisker\" d=\"M{c} {l}V{h}M{a} {h}h8{}\"/>",
                if capped { format!("M{} {}h8", px(centre - 4.0), px(low)) } else { String::new() },
                c = px(centre),
                a = px(centre - 4.0),
                h = px(high),
                l = px(low)
            );
            outer_end = if estimate.mean < 0.0 { low } else { high };
        }
        let baseline = if estimate.mean < 0.0 { outer_end + 14.0 } else { outer_end - 5.0 };
        out.push_str(&text(centre, baseline, "mid value", &self.value(estimate.mean)));
        out.push('\n');
        out
    }

    fn horizontal(&self, size: Size, label: &str) -> String {
        let width = if size == Size::Wide { WIDE_WIDTH_PX } else { NARROW_WIDTH_PX };
        let names = self.series.iter().map(|s| text_width(&s.name)).fold(0.0, f64::max);
        // The legend has the names as well.
        let named = names <= width * 0.32;
        let left = if named { names.ceil() + 8.0 } else { 8.0 };
        let (x, _) = self.scale(left, width - self.value_width(20.0) - 14.0);
        let group_height = GROUP_LABEL_PX + ROW_PX * self.series.len() as f64 + 12.0;
        let labels: Vec<(Vec<String>, String)> = self
            .groups
            .iter()
            .map(|group| {
                let (name, rest) = group.split_once('\n').unwrap_or((group, ""));
                let rest = rest.lines().collect::<Vec<_>>().join(" ");
                // The rest follows the last line of the name.
                (wrap(name, (width - text_width(&rest) - 8.0).max(width / 2.0)), rest)
            })
            .collect();
        let surplus: usize = labels.iter().map(|(name, _)| name.len().saturating_sub(1)).sum();
        let height = 24.0 + group_height * self.groups.len() as f64 + GROUP_LABEL_PX * surplus as f64;
        let mut out = open_svg("bars", size, (width, height), label, "");
        out.push_str(&text(0.0, 12.0, "axis", &ellipsize(&self.axis.label(), width)));
        out.push('\n');
        let zero = x.px(0.0_f64.clamp(x.lo, x.hi));
        let mut top = 24.0;
        for (g, (name, rest)) in labels.iter().enumerate() {
            for (i, line) in name.iter().enumerate() {
                top += if i > 0 { GROUP_LABEL_PX } else { 0.0 };
                let rest = if i + 1 == name.len() { rest.as_str() } else { "" };
                let _ = write!(
                    out,
                    "<text y=\"{}\" class=\"strong\">{} <tspan class=\"axis\">{}</tspan></text>",
                    px(top + 13.0),
                    escape(line),
                    escape(rest)
                );
            }
            for (s, series) in self.series.iter().enumerate() {
                let y = top + GROUP_LABEL_PX + ROW_PX * s as f64;
                if named {
                    out.push_str(&text(left - 8.0, y + 13.0, "end axis", &series.name));
                }
                if let Some(estimate) = series.values.get(g).copied().flatten() {
                    out.push_str(&self.horizontal_bar(s, estimate, y, x));
                }
            }
            let _ = writeln!(
                out,
                "<path class=\"floor\" d=\"M{} {}V{}\"/>",
                px(zero),
                px(top + GROUP_LABEL_PX),
                px(top + GROUP_LABEL_PX + ROW_PX * self.series.len() as f64)
            );
            top += group_height;
        }
        out.push_str("</svg>\n");
        out
    }

    /// Draws a bar with interval and value; `y` is its upper edge including the gap to the bar
    /// above.
    fn horizontal_bar(&self, series: usize, estimate: Estimate, y: f64, x: Scale) -> String {
        let zero = x.px(0.0_f64.clamp(x.lo, x.hi));
        if !estimate.mean.is_finite() {
            return text(zero + 5.0, y + 13.0, "value", DASH);
        }
        let end = x.px(estimate.mean);
        let mut out = format!(
            "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            self.class(series),
            px(zero.min(end)),
            px(y + 1.5),
            px((end - zero).abs()),
            px(ROW_PX - 3.0)
        );
        let mut outer_end = end;
        if estimate.ci95.is_finite() {
            let (low, high, capped) = Self::interval(estimate, x);
            let _ = write!(
                out,
                "<path class=\"whisker\" d=\"M{l} {m}H{h}M{h} {a}v6{}\"/>",
                if capped { format!("M{} {}v6", px(low), px(y + ROW_PX / 2.0 - 3.0)) } else { String::new() },
                m = px(y + ROW_PX / 2.0),
                a = px(y + ROW_PX / 2.0 - 3.0),
                h = px(high),
                l = px(low)
            );
            outer_end = high;
        }
        let value = self.value(estimate.mean);
        out.push_str(&text(outer_end.max(zero) + 5.0, y + 13.0, "value", &value));
        out
    }
}
