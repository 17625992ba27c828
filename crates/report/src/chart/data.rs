//! Data of a plot for the page's script, as compact JSON.

use super::axis::Ticks;
use super::downsample::downsample;
use super::lane::SHADES;
use super::plot::Plot;
use super::{Lane, Line, Panel, Shape, Track};
use crate::number::write_trimmed;
use core::fmt::Write as _;

/// Longer lines are downsampled before embedding, so that a page loads quickly on a phone.
const MAX_EMBEDDED_POINTS: usize = 24_000;

impl Plot<'_> {
    /// Data of the plot for a `<script type="application/json">`:
    ///
    /// - `x`: range of the x axis; `u`: its unit; `log`: 1 if x coordinates are logarithms to base 10.
    /// - `g`: x coordinates, shared by lines: `{s, d, n}` (start, distance, count) or a list.
    /// - `t`: tracks. A panel has lines `l`: `g` (index of the x coordinates), `y` (values, null
    ///   for a gap), `b` (half heights of the band), `p` (1 for steps), `d` (decimals shown). A
    ///   lane has states `n` (name, shade) and spans `s` (from, to, state, concatenated).
    pub(crate) fn json(&self) -> String {
        let (lo, hi) = self.x_range();
        let mut encoder = Encoder { lo, hi, grids: Vec::new() };
        let tracks: Vec<String> = self
            .scaled_tracks()
            .iter()
            .map(|scaled| match scaled.track {
                Track::Panel(panel) => encoder.panel(panel, scaled.ticks.as_ref()),
                Track::Lane(lane) => encoder.lane(lane),
            })
            .collect();
        format!(
            "{{\"x\":[{lo},{hi}],{}\"u\":{},\"g\":[{}],\"t\":[{}]}}",
            if self.x.log { "\"log\":1," } else { "" },
            quote(&self.x.unit),
            encoder.grids.join(","),
            tracks.join(",")
        )
    }
}

/// Encodes the tracks of a plot.
struct Encoder {
    /// Range of the x axis.
    lo: f64,
    hi: f64,
    /// Distinct x coordinates of lines.
    grids: Vec<String>,
}

impl Encoder {
    fn panel(&mut self, panel: &Panel, ticks: Option<&Ticks>) -> String {
        let decimals = ticks.map_or(2, |ticks| ticks.decimals + 1);
        let extra_digit = ticks.is_some_and(|ticks| ticks.step < 1.0 || ticks.step > 20.0);
        let shown = if ticks.is_some_and(|ticks| ticks.step >= 100.0) { 0 } else { decimals };
        let lines: Vec<String> = panel
            .lines
            .iter()
            .map(|line| self.line(line, decimals + usize::from(extra_digit), shown))
            .collect();
        format!("{{\"l\":[{}]}}", lines.join(","))
    }

    /// Encodes a line; `shown` is the number of decimals that the script prints.
    fn line(&mut self, line: &Line, decimals: usize, shown: usize) -> String {
        let count = line.x.len().min(line.y.len());
        let (mut x, mut y) = (line.x[..count].to_vec(), line.y[..count].to_vec());
        if count > MAX_EMBEDDED_POINTS && line.band.is_empty() {
            (x, y) = downsample(&x, &y, self.lo, self.hi, MAX_EMBEDDED_POINTS / 4).into_iter().unzip();
        }
        let grid = x_coordinates(&x, self.hi - self.lo);
        let index = self.grids.iter().position(|other| *other == grid).unwrap_or_else(|| {
            self.grids.push(grid);
            self.grids.len() - 1
        });
        let mut out = format!("{{\"g\":{index},\"d\":{shown},\"y\":{}", list(&y, decimals));
        if !line.band.is_empty() {
            let _ = write!(out, ",\"b\":{}", list(&line.band, decimals));
        }
        if line.shape == Shape::Step {
            out.push_str(",\"p\":1");
        }
        out.push('}');
        out
    }

    fn lane(&self, lane: &Lane) -> String {
        let mut states: Vec<(&str, usize)> = Vec::new();
        let mut spans = String::new();
        let decimals = decimals_for(self.hi - self.lo);
        for span in &lane.spans {
            let shade = SHADES.iter().position(|shade| *shade == span.shade).unwrap_or(0);
            let state = (span.label.as_str(), shade);
            let index = states.iter().position(|other| *other == state).unwrap_or_else(|| {
                states.push(state);
                states.len() - 1
            });
            if !spans.is_empty() {
                spans.push(',');
            }
            write_trimmed(&mut spans, span.from, decimals);
            spans.push(',');
            write_trimmed(&mut spans, span.to, decimals);
            let _ = write!(spans, ",{index}");
        }
        let names: Vec<String> = states
            .iter()
            .map(|(label, shade)| format!("[{},\"{}\"]", quote(label), SHADES[*shade].class()))
            .collect();
        format!("{{\"n\":[{}],\"s\":[{spans}]}}", names.join(","))
    }
}

/// Encodes x coordinates: start, distance and count if they are equidistant, else a list.
fn x_coordinates(x: &[f64], width: f64) -> String {
    let distance = if x.len() > 2 { (x[x.len() - 1] - x[0]) / (x.len() - 1) as f64 } else { 0.0 };
    // Remove rounding errors in the last digits.
    let distance: f64 = format!("{distance:.11e}").parse().unwrap_or(distance);
    let equidistant = distance > 0.0
        && x.iter().enumerate().all(|(i, v)| (v - x[0] - distance * i as f64).abs() < distance * 1e-3);
    if equidistant {
        return format!("{{\"s\":{},\"d\":{distance},\"n\":{}}}", x[0], x.len());
    }
    let decimals = decimals_for(width);
    let mut list = String::from("[");
    for (i, value) in x.iter().enumerate() {
        if i > 0 {
            list.push(',');
        }
        write_trimmed(&mut list, *value, decimals);
    }
    list.push(']');
    list
}

/// JSON array of numbers; a number that is not finite is null.
fn list(values: &[f64], decimals: usize) -> String {
    let mut out = String::from("[");
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if value.is_finite() {
            write_trimmed(&mut out, *value, decimals);
        } else {
            out.push_str("null");
        }
    }
    out.push(']');
    out
}

/// Decimals that resolve a millionth of the axis.
fn decimals_for(width: f64) -> usize {
    Ticks::new(0.0, width, 5).decimals.max(1) + 5
}

/// JSON string without characters that could close the enclosing script element.
fn quote(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equidistant_coordinates_are_three_numbers() {
        assert_eq!(x_coordinates(&[0.0, 0.1, 0.2, 0.30000000000000004], 1.0), "{\"s\":0,\"d\":0.1,\"n\":4}");
        assert_eq!(x_coordinates(&[0.0, 1.0, 4.0], 4.0), "[0,1,4]");
    }

    #[test]
    fn quoted_text_cannot_close_the_script_element() {
        assert!(!quote("</script><!--").contains('<'));
    }
}
