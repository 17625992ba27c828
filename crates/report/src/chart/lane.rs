//! Paths of a lane's blocks.

use super::svg::px;
use super::{Lane, Shade};
use core::fmt::Write as _;

/// All shades, in the order of the legend.
pub(crate) const SHADES: [Shade; 5] =
    [Shade::Active, Shade::Promotion, Shade::Tail, Shade::Idle, Shade::Other];

impl Shade {
    /// Class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Tail => "tail",
            Self::Promotion => "promotion",
            Self::Active => "active",
            Self::Other => "other",
        }
    }
    /// Height of the block as a share of the lane.
    pub(crate) fn height(self) -> f64 {
        match self {
            Self::Idle => 0.1,
            Self::Tail => 0.5,
            Self::Promotion => 0.75,
            Self::Active => 1.0,
            Self::Other => 0.3,
        }
    }
}

/// Paths of a lane's blocks, one per shade. `to_px` maps the x axis to pixels.
pub(crate) fn block_paths(
    lane: &Lane,
    to_px: impl Fn(f64) -> f64,
    top: f64,
    bottom: f64,
) -> Vec<(Shade, String)> {
    let mut paths: Vec<(Shade, String)> = SHADES.iter().map(|shade| (*shade, String::new())).collect();
    for Block { from, to, shade } in blocks(lane, to_px) {
        let height = (bottom - top) * shade.height();
        for (_, path) in paths.iter_mut().filter(|(other, _)| *other == shade) {
            let _ = write!(
                path,
                "M{} {}h{}v{}h-{}z",
                px(from),
                px(bottom - height),
                px(to - from),
                px(height),
                px(to - from)
            );
        }
    }
    paths
}

/// A block in pixels.
struct Block {
    from: f64,
    to: f64,
    shade: Shade,
}

/// Blocks of a lane. A span of less than a pixel is merged with others of the same pixel, which
/// takes the shade with the longest total time.
fn blocks(lane: &Lane, to_px: impl Fn(f64) -> f64) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut add = |from: f64, to: f64, shade: Shade| match blocks.last_mut() {
        Some(last) if last.shade == shade && from - last.to < 0.05 => last.to = to,
        _ => blocks.push(Block { from, to, shade }),
    };
    // Current pixel, and the width of each shade in it.
    let mut pixel: Option<(f64, [f64; 5])> = None;
    let finish_pixel = |pixel: &mut Option<(f64, [f64; 5])>, add: &mut dyn FnMut(f64, f64, Shade)| {
        if let Some((at, widths)) = pixel.take() {
            let widest = widths.iter().enumerate().fold((0, -1.0), |widest, (index, width)| {
                if *width > widest.1 { (index, *width) } else { widest }
            });
            add(at, at + 1.0, SHADES[widest.0]);
        }
    };
    for span in &lane.spans {
        let (from, to) = (to_px(span.from), to_px(span.to));
        if !(from.is_finite() && to.is_finite()) || to <= from {
            continue;
        }
        if to - from >= 1.0 {
            finish_pixel(&mut pixel, &mut add);
            add(from, to, span.shade);
            continue;
        }
        let at = from.floor();
        if pixel.is_some_and(|(open, _)| open != at) {
            finish_pixel(&mut pixel, &mut add);
        }
        let (_, widths) = pixel.get_or_insert((at, [0.0; 5]));
        let index = SHADES.iter().position(|shade| *shade == span.shade).unwrap_or(4);
        widths[index] += to - from;
    }
    finish_pixel(&mut pixel, &mut add);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Span;

    fn span(from: f64, to: f64, shade: Shade) -> Span {
        Span { from, to, label: String::new(), shade }
    }

    #[test]
    fn wide_spans_are_blocks_and_crowded_pixels_take_the_longest_shade() {
        let mut spans = vec![span(0.0, 10.0, Shade::Active)];
        // One pixel with 20 spans of each state: a tenth active, the rest tail.
        for i in 0..20 {
            let at = 10.0 + f64::from(i) * 0.05;
            spans.push(span(at, at + 0.005, Shade::Active));
            spans.push(span(at + 0.005, at + 0.05, Shade::Tail));
        }
        let lane = Lane::new("lte", spans);
        let paths = block_paths(&lane, |x| x, 0.0, 20.0);
        assert_eq!(paths[0], (Shade::Active, "M0 0h10v20h-10z".to_owned()));
        assert_eq!(paths[2], (Shade::Tail, "M10 10h1v10h-1z".to_owned()));
    }
}
