//! Heat maps as figures.

use super::text::{Anchor, width, wrap, write_text};
use super::{FONT_PT, SMALL_PT, pt};
use crate::chart::Heat;
use core::fmt::Write as _;

const ROW_PT: f64 = 17.0;

/// Draws the chart; returns the elements and the height.
pub(super) fn draw(heat: &Heat, total: f64) -> (String, f64) {
    let left = heat.rows.iter().map(|(name, _)| width(name, SMALL_PT)).fold(20.0, f64::max) + 4.0;
    let slot = (total - left) / heat.columns.len().max(1) as f64;
    let heads: Vec<Vec<String>> = heat.columns.iter().map(|name| wrap(name, slot - 2.0, SMALL_PT)).collect();
    let lines = heads.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let top = FONT_PT + 6.0 + (SMALL_PT + 1.0) * lines + 3.0;
    let mut out = String::new();
    write_text(&mut out, (1.0, FONT_PT), Anchor::Start, "", &heat.quantity);
    let small = format!(" font-size=\"{SMALL_PT}\"");
    for (c, head) in heads.iter().enumerate() {
        for (line, words) in head.iter().enumerate() {
            let at = (left + slot * (c as f64 + 0.5), FONT_PT + 6.0 + (SMALL_PT + 1.0) * (line as f64 + 0.8));
            write_text(&mut out, at, Anchor::Middle, &small, words);
        }
    }
    for (r, (name, cells)) in heat.rows.iter().enumerate() {
        let y = top + ROW_PT * r as f64;
        write_text(&mut out, (1.0, y + ROW_PT * 0.6), Anchor::Start, &small, name);
        for (c, cell) in cells.iter().enumerate() {
            let Some((value, label)) = cell else { continue };
            let (x, middle) = (left + slot * c as f64, left + slot * (c as f64 + 0.5));
            let _ = writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#0072b2\" fill-opacity=\"{:.3}\"/>",
                pt(x + 0.4),
                pt(y + 0.4),
                pt(slot - 0.8),
                pt(ROW_PT - 0.8),
                heat.opacity(*value)
            );
            write_text(&mut out, (middle, y + 7.2), Anchor::Middle, &small, &heat.shown(*value));
            let label = if width(label, SMALL_PT) <= slot - 1.0 { label.as_str() } else { "" };
            write_text(&mut out, (middle, y + 14.6), Anchor::Middle, &small, label);
        }
    }
    (out, top + ROW_PT * heat.rows.len() as f64 + 2.0)
}
