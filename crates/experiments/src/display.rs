//! Decimals and units for displayed values.

/// Number of decimals that shows about four significant digits of the largest of `values`.
pub fn decimals(values: impl IntoIterator<Item = f64>) -> usize {
    let largest = values.into_iter().filter(|v| v.is_finite()).fold(0.0_f64, |max, v| max.max(v.abs()));
    match largest {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 || v == 0.0 => 3,
        _ => 4,
    }
}

/// Unit of time that suits the longest of `seconds`, and its length in seconds.
pub fn time_unit(seconds: impl IntoIterator<Item = f64>) -> (&'static str, f64) {
    let longest = seconds.into_iter().filter(|v| v.is_finite()).fold(0.0_f64, f64::max);
    match longest {
        v if v < 1_000.0 => ("s", 1.0),
        v if v < 20_000.0 => ("min", 60.0),
        v if v < 1_000_000.0 => ("h", 3_600.0),
        _ => ("days", 86_400.0),
    }
}

/// Bytes in megabytes of 10^6.
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_give_four_significant_digits() {
        assert_eq!(decimals([0.25]), 4);
        assert_eq!(decimals([1.0, f64::NAN]), 3);
        assert_eq!(decimals([-12.0, 3.0]), 2);
        assert_eq!(decimals([123_456.0]), 0);
        assert_eq!(decimals([]), 3);
    }

    #[test]
    fn one_day_is_shown_in_hours() {
        assert_eq!(time_unit([300.0]).0, "s");
        assert_eq!(time_unit([86_400.0, 60.0]).0, "h");
        assert_eq!(time_unit([f64::INFINITY]).0, "s");
    }
}
