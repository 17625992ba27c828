//! States as blocks.

use super::svg::px;
use super::{Lane, Shade};
use core::fmt::Write as _;

/// Every shade, in the order of the legend.
pub(crate) const SHADES: [Shade; 5] =
    [Shade::Active, Shade::Promotion, Shade::Tail, Shade::Idle, Shade::Other];

impl Shade {
    /// Its class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Tail => "tail",
            Self::Promotion => "promotion",
            Self::Active => "active",
            Self::Other => "other",
        }
    }
    /// Its part of the lane's height.
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

/// One path for each shade: blocks of whole spans where they are wide enough to be seen; where many
/// fall into one pixel, that pixel takes the shade that held longest.
pub(crate) fn blocks(lane: &Lane, place: impl Fn(f64) -> f64, top: f64, bottom: f64) -> Vec<(Shade, String)> {
    // (from, to, shade) in pixels.
    let mut runs: Vec<(f64, f64, Shade)> = Vec::new();
    let mut add = |from: f64, to: f64, shade: Shade| match runs.last_mut() {
        Some(last) if last.2 == shade && from - last.1 < 0.05 => last.1 = to,
        _ => runs.push((from, to, shade)),
    };
    // The pixel being filled, and how much of it each shade has.
    let mut pixel: Option<(f64, [f64; 5])> = None;
    let settle = |pixel: &mut Option<(f64, [f64; 5])>, add: &mut dyn FnMut(f64, f64, Shade)| {
        if let Some((at, held)) = pixel.take() {
            let (best, _) =
                held.iter().enumerate().fold((0, -1.0), |b, (i, h)| if *h > b.1 { (i, *h) } else { b });
            add(at, at + 1.0, SHADES[best]);
        }
    };
    for span in &lane.spans {
        let (from, to) = (place(span.from), place(span.to));
        if !(from.is_finite() && to.is_finite()) || to <= from {
            continue;
        }
        if to - from >= 1.0 {
            settle(&mut pixel, &mut add);
            add(from, to, span.shade);
            continue;
        }
        let at = from.floor();
        if pixel.is_some_and(|(open, _)| open != at) {
            settle(&mut pixel, &mut add);
        }
        let (_, held) = pixel.get_or_insert((at, [0.0; 5]));
        let index = SHADES.iter().position(|shade| *shade == span.shade).unwrap_or(4);
        held[index] += to - from;
    }
    settle(&mut pixel, &mut add);

    let mut paths: Vec<(Shade, String)> = SHADES.iter().map(|shade| (*shade, String::new())).collect();
    for (from, to, shade) in runs {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Span;

    fn span(from: f64, to: f64, shade: Shade) -> Span {
        Span { from, to, label: String::new(), shade }
    }

    #[test]
    fn wide_spans_are_blocks_and_crowded_pixels_take_what_held_longest() {
        let mut spans = vec![span(0.0, 10.0, Shade::Active)];
        // One pixel: a tenth active, the rest tail, twenty times over.
        for i in 0..20 {
            let at = 10.0 + f64::from(i) * 0.05;
            spans.push(span(at, at + 0.005, Shade::Active));
            spans.push(span(at + 0.005, at + 0.05, Shade::Tail));
        }
        let lane = Lane::new("lte", spans);
        let paths = blocks(&lane, |x| x, 0.0, 20.0);
        assert_eq!(paths[0], (Shade::Active, "M0 0h10v20h-10z".to_owned()));
        assert_eq!(paths[2], (Shade::Tail, "M10 10h1v10h-1z".to_owned()));
    }
}
