//! Grouped bars as SVG: upright on a wide page, lying on a phone or where their values would collide.

use super::axis::{Scale, extent, heights};
use super::svg::{FONT, NARROW, Size, fit, open, px, text, text_width};
use super::{BarSeries, Bars};
use crate::html::escape;
use crate::number::{Estimate, fixed, minus};
use core::fmt::Write as _;

const WIDE: f64 = 500.0;
const HEIGHT: f64 = 190.0;
/// A lying bar.
const ROW: f64 = 19.0;

impl Bars {
    pub(crate) fn svg(&self, size: Size, label: &str) -> String {
        let slot = (WIDE - 60.0) / self.groups.len().max(1) as f64;
        let bar = (slot - 14.0) / self.series.len().max(1) as f64;
        let widest = self.values().map(|(_, e)| text_width(&self.value(e.mean), FONT)).fold(0.0, f64::max);
        let names =
            self.groups.iter().flat_map(|g| g.lines()).map(|g| text_width(g, FONT)).fold(0.0, f64::max);
        if size == Size::Wide && widest + 4.0 <= bar && names + 6.0 <= slot {
            self.upright(label)
        } else {
            self.lying(size, label)
        }
    }

    /// What the colours mean.
    pub(crate) fn legend(&self) -> String {
        let mut out = String::from("<ul class=\"legend\">");
        for (index, series) in self.series.iter().enumerate() {
            let _ = write!(
                out,
                "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect class=\"bar {}\" x=\"1\" y=\"1\" width=\"12\" height=\"12\"/></svg>{}</li>",
                self.look(index),
                escape(&series.name)
            );
        }
        out.push_str("</ul>\n");
        out
    }

    fn values(&self) -> impl Iterator<Item = (&BarSeries, Estimate)> {
        let count = self.groups.len();
        self.series.iter().flat_map(move |s| s.values.iter().take(count).flatten().map(move |e| (s, *e)))
    }

    fn value(&self, value: f64) -> String {
        minus(&fixed(value, self.decimals))
    }

    fn look(&self, index: usize) -> String {
        if self.series[index].reference {
            return "ref".to_owned();
        }
        let before = self.series[..index].iter().filter(|s| !s.reference).count();
        format!("s{}", before % 6)
    }

    fn scale(&self, from_px: f64, to_px: f64) -> (Scale, super::axis::Ticks) {
        let range = extent(self.values().flat_map(|(_, e)| {
            let half = if e.ci95.is_finite() { e.ci95 } else { 0.0 };
            [e.mean - half, e.mean + half, 0.0]
        }));
        let (lo, hi, ticks) = heights(range, self.axis.from, self.axis.to, true, 4);
        (Scale { lo, hi, from_px, to_px }, ticks)
    }

    fn upright(&self, label: &str) -> String {
        let (top, bottom) = (34.0, 34.0 + HEIGHT);
        let (y, ticks) = self.scale(bottom, top);
        let left = ticks.values.iter().map(|v| text_width(&ticks.text(*v), FONT)).fold(10.0, f64::max) + 8.0;
        let right = WIDE - 4.0;
        let lines = self.groups.iter().map(|g| g.lines().count()).max().unwrap_or(1);
        let mut out = open("bars", Size::Wide, WIDE, bottom + 8.0 + 15.0 * lines as f64, label, "");
        out.push_str(&text(0.0, 12.0, "axis", &fit(&self.axis.label(), FONT, WIDE)));
        out.push_str("<g class=\"grid y\">");
        for value in &ticks.values {
            let at = y.px(*value);
            let base = if *value == 0.0 { " class=\"base\"" } else { "" };
            let _ = write!(out, "<path{base} d=\"M{} {}H{}\"/>", px(left), px(at), px(right));
            out.push_str(&text(left - 6.0, at + 4.0, "end", &ticks.text(*value)));
        }
        out.push_str("</g>\n");
        let slot = (right - left) / self.groups.len().max(1) as f64;
        let count = self.series.len().max(1) as f64;
        let bar = ((slot - 14.0) / count).min(46.0);
        for (g, group) in self.groups.iter().enumerate() {
            let middle = left + slot * (g as f64 + 0.5);
            for (i, part) in group.lines().enumerate() {
                let class = if i == 0 { "mid" } else { "mid axis" };
                out.push_str(&text(middle, bottom + 17.0 + 15.0 * i as f64, class, part));
            }
            for (s, series) in self.series.iter().enumerate() {
                let Some(estimate) = series.values.get(g).copied().flatten() else { continue };
                let x = middle + bar * (s as f64 - count / 2.0);
                let centre = x + bar / 2.0;
                if !estimate.mean.is_finite() {
                    out.push_str(&text(centre, y.px(0.0) - 5.0, "mid value", "–"));
                    continue;
                }
                let (zero, end) = (y.px(0.0_f64.clamp(y.lo, y.hi)), y.px(estimate.mean));
                let _ = write!(
                    out,
                    "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                    self.look(s),
                    px(x + 1.5),
                    px(zero.min(end)),
                    px(bar - 3.0),
                    px((zero - end).abs())
                );
                let mut over = end;
                if estimate.ci95.is_finite() {
                    let (high, low) =
                        (y.px(estimate.mean + estimate.ci95), y.px(estimate.mean - estimate.ci95));
                    let _ = write!(
                        out,
                        "<path class=\"whisker\" d=\"M{c} {l}V{h}M{a} {h}h8M{a} {l}h8\"/>",
                        c = px(centre),
                        a = px(centre - 4.0),
                        h = px(high),
                        l = px(low)
                    );
                    over = if estimate.mean < 0.0 { low } else { high };
                }
                let at = if estimate.mean < 0.0 { over + 14.0 } else { over - 5.0 };
                out.push_str(&text(centre, at, "mid value", &self.value(estimate.mean)));
                out.push('\n');
            }
        }
        out.push_str("</svg>\n");
        out
    }

    fn lying(&self, size: Size, label: &str) -> String {
        let width = if size == Size::Wide { WIDE } else { NARROW };
        let widest = self.values().map(|(_, e)| text_width(&self.value(e.mean), FONT)).fold(20.0, f64::max);
        let left = self
            .series
            .iter()
            .map(|s| text_width(&s.name, FONT))
            .fold(0.0, f64::max)
            .min(width * 0.32)
            .ceil()
            + 8.0;
        let (x, _) = self.scale(left, width - widest - 14.0);
        let each = 18.0 + ROW * self.series.len() as f64 + 12.0;
        let mut out = open("bars", size, width, 24.0 + each * self.groups.len() as f64, label, "");
        out.push_str(&text(0.0, 12.0, "axis", &fit(&self.axis.label(), FONT, width)));
        out.push('\n');
        let zero = x.px(0.0_f64.clamp(x.lo, x.hi));
        for (g, group) in self.groups.iter().enumerate() {
            let top = 24.0 + each * g as f64;
            let mut parts = group.lines();
            let name = fit(parts.next().unwrap_or_default(), FONT, width);
            let rest: Vec<&str> = parts.collect();
            let _ = write!(
                out,
                "<text y=\"{}\" class=\"strong\">{} <tspan class=\"axis\">{}</tspan></text>",
                px(top + 13.0),
                escape(&name),
                escape(&rest.join(" "))
            );
            for (s, series) in self.series.iter().enumerate() {
                let y = top + 18.0 + ROW * s as f64;
                out.push_str(&text(left - 8.0, y + 13.0, "end axis", &fit(&series.name, FONT, left - 8.0)));
                let Some(estimate) = series.values.get(g).copied().flatten() else { continue };
                if !estimate.mean.is_finite() {
                    out.push_str(&text(zero + 5.0, y + 13.0, "value", "–"));
                    continue;
                }
                let end = x.px(estimate.mean);
                let _ = write!(
                    out,
                    "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                    self.look(s),
                    px(zero.min(end)),
                    px(y + 1.5),
                    px((end - zero).abs()),
                    px(ROW - 3.0)
                );
                let mut over = end;
                if estimate.ci95.is_finite() {
                    let (high, low) =
                        (x.px(estimate.mean + estimate.ci95), x.px(estimate.mean - estimate.ci95));
                    let _ = write!(
                        out,
                        "<path class=\"whisker\" d=\"M{l} {m}H{h}M{h} {a}v6M{l} {a}v6\"/>",
                        m = px(y + ROW / 2.0),
                        a = px(y + ROW / 2.0 - 3.0),
                        h = px(high),
                        l = px(low)
                    );
                    over = high;
                }
                out.push_str(&text(over.max(zero) + 5.0, y + 13.0, "value", &self.value(estimate.mean)));
            }
            let _ = writeln!(
                out,
                "<path class=\"floor\" d=\"M{} {}V{}\"/>",
                px(zero),
                px(top + 18.0),
                px(top + 18.0 + ROW * self.series.len() as f64)
            );
        }
        out.push_str("</svg>\n");
        out
    }
}
