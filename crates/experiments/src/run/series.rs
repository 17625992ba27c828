//! `series.csv` of a run.

use sim::Series;
use std::fmt::Write as _;

/// A header line, then a row for each sample. Lines end with a line feed; numbers have at most six
/// decimals.
pub(super) fn csv(series: &Series) -> String {
    let mut out = String::from("time_s");
    for column in &series.columns {
        out.push(',');
        out.push_str(&column.name);
    }
    out.push('\n');
    for row in 0..series.rows() {
        number(&mut out, series.interval_s * (row + 1) as f64);
        for column in &series.columns {
            out.push(',');
            number(&mut out, column.values.get(row).copied().unwrap_or(f64::NAN));
        }
        out.push('\n');
    }
    out
}

/// Writes a number; an empty field if it is not finite.
pub(crate) fn number(out: &mut String, value: f64) {
    if value.is_finite() {
        let start = out.len();
        let _ = write!(out, "{value:.6}");
        let kept = out[start..].trim_end_matches('0').trim_end_matches('.').len();
        out.truncate(start + kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::SeriesColumn;

    #[test]
    fn csv_has_a_row_for_each_sample() {
        let column = |name: &str, values: &[f64]| SeriesColumn {
            name: name.to_owned(),
            unit: "W",
            values: values.to_vec(),
        };
        let series = Series {
            interval_s: 0.1,
            columns: vec![
                column("a.power_w", &[0.0, 1.5, 10.0]),
                column("b.power_w", &[f64::NAN, 100.0, -0.25]),
            ],
        };
        assert_eq!(csv(&series), "time_s,a.power_w,b.power_w\n0.1,0,\n0.2,1.5,100\n0.3,10,-0.25\n");
        assert_eq!(csv(&Series::default()), "time_s\n");
    }
}
