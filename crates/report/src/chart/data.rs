//! What the page's script draws from: the numbers of a plot as compact JSON.

use super::lane::SHADES;
use super::plot::Plot;
use super::thin::thin;
use super::{Line, Shape, Track};
use crate::number::short;
use core::fmt::Write as _;

/// A line longer than this is thinned before it is embedded, peaks kept: a page has to load on a phone.
const MOST: usize = 24_000;

impl Plot<'_> {
    /// The numbers, as the text of a `<script type="application/json">`.
    ///
    /// `x`: the ends of the axis. `u`: its unit. `g`: the places of samples, shared by the lines: either `{s, d, n}` (start,
    /// distance, count) or a list. `t`: the tracks; a panel has lines `l` (`g` which places, `y` heights
    /// with null for a gap, `b` half heights of the band, `p` 1 for steps, `d` decimals to show, `u`
    /// unit), a lane has the names and shades of its states `n` and its spans `s` as from, to, state,
    /// one after the other.
    pub(crate) fn json(&self) -> String {
        let (lo, hi) = self.ends();
        let mut grids: Vec<String> = Vec::new();
        let mut tracks = String::new();
        for (index, storey) in self.storeys().iter().enumerate() {
            if index > 0 {
                tracks.push(',');
            }
            match storey.track {
                Track::Panel(panel) => {
                    let decimals = storey.ticks.as_ref().map_or(2, |ticks| ticks.decimals + 1);
                    let fraction =
                        storey.ticks.as_ref().is_some_and(|ticks| ticks.step < 1.0 || ticks.step > 20.0);
                    let shown =
                        if storey.ticks.as_ref().is_some_and(|t| t.step >= 100.0) { 0 } else { decimals };
                    tracks.push_str("{\"l\":[");
                    for (i, line) in panel.lines.iter().enumerate() {
                        if i > 0 {
                            tracks.push(',');
                        }
                        write_line(
                            &mut tracks,
                            &mut grids,
                            line,
                            lo,
                            hi,
                            decimals + usize::from(fraction),
                            shown,
                        );
                    }
                    tracks.push_str("]}");
                }
                Track::Lane(lane) => {
                    let mut states: Vec<(&str, usize)> = Vec::new();
                    let mut spans = String::new();
                    let places = decimals_for(hi - lo);
                    for span in &lane.spans {
                        let shade = SHADES.iter().position(|shade| *shade == span.shade).unwrap_or(0);
                        let state = (span.label.as_str(), shade);
                        let place = states.iter().position(|other| *other == state).unwrap_or_else(|| {
                            states.push(state);
                            states.len() - 1
                        });
                        if !spans.is_empty() {
                            spans.push(',');
                        }
                        short(&mut spans, span.from, places);
                        spans.push(',');
                        short(&mut spans, span.to, places);
                        let _ = write!(spans, ",{place}");
                    }
                    let names: Vec<String> = states
                        .iter()
                        .map(|(label, shade)| format!("[{},\"{}\"]", quote(label), SHADES[*shade].class()))
                        .collect();
                    let _ = write!(tracks, "{{\"n\":[{}],\"s\":[{spans}]}}", names.join(","));
                }
            }
        }
        format!(
            "{{\"x\":[{lo},{hi}],\"u\":{},\"g\":[{}],\"t\":[{tracks}]}}",
            quote(&self.x.unit),
            grids.join(",")
        )
    }
}

fn write_line(
    out: &mut String,
    grids: &mut Vec<String>,
    line: &Line,
    lo: f64,
    hi: f64,
    decimals: usize,
    shown: usize,
) {
    let count = line.x.len().min(line.y.len());
    let (mut x, mut y) = (line.x[..count].to_vec(), line.y[..count].to_vec());
    if count > MOST && line.band.is_empty() {
        (x, y) = thin(&x, &y, lo, hi, MOST / 4).into_iter().unzip();
    }
    let grid = places(&x, hi - lo);
    let place = grids.iter().position(|other| *other == grid).unwrap_or_else(|| {
        grids.push(grid);
        grids.len() - 1
    });
    let list = |values: &[f64]| {
        let mut list = String::new();
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                list.push(',');
            }
            if value.is_finite() {
                short(&mut list, *value, decimals);
            } else {
                list.push_str("null");
            }
        }
        list
    };
    let _ = write!(out, "{{\"g\":{place},\"d\":{shown},\"y\":[{}]", list(&y));
    if !line.band.is_empty() {
        let _ = write!(out, ",\"b\":[{}]", list(&line.band));
    }
    if line.shape == Shape::Step {
        out.push_str(",\"p\":1");
    }
    out.push('}');
}

/// Places of samples: as start, distance and count where they are regular.
fn places(x: &[f64], width: f64) -> String {
    let distance = if x.len() > 2 { (x[x.len() - 1] - x[0]) / (x.len() - 1) as f64 } else { 0.0 };
    // What a sum of tenths leaves in the last digits is not worth embedding.
    let distance: f64 = format!("{distance:.11e}").parse().unwrap_or(distance);
    let regular = distance > 0.0
        && x.iter().enumerate().all(|(i, v)| (v - x[0] - distance * i as f64).abs() < distance * 1e-3);
    if regular {
        return format!("{{\"s\":{},\"d\":{distance},\"n\":{}}}", x[0], x.len());
    }
    let places = decimals_for(width);
    let mut list = String::from("[");
    for (i, value) in x.iter().enumerate() {
        if i > 0 {
            list.push(',');
        }
        short(&mut list, *value, places);
    }
    list.push(']');
    list
}

/// Decimals that tell a millionth of the axis.
fn decimals_for(width: f64) -> usize {
    super::axis::Ticks::new(0.0, width, 5).decimals.max(1) + 5
}

/// A JSON string that cannot close the script element it stands in.
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
    fn regular_places_are_three_numbers() {
        assert_eq!(places(&[0.0, 0.1, 0.2, 0.30000000000000004], 1.0), "{\"s\":0,\"d\":0.1,\"n\":4}");
        assert_eq!(places(&[0.0, 1.0, 4.0], 4.0), "[0,1,4]");
    }

    #[test]
    fn no_name_closes_the_script() {
        assert!(!quote("</script><!--").contains('<'));
    }
}
