//! Downsampling of long lines for drawing.

/// Reduces a line to at most four points in each of `columns` columns between `lo` and `hi`: the
/// first, the lowest, the highest and the last, so that all peaks remain.
///
/// A value that is not finite becomes NaN, which is a gap. The nearest point beyond each end is
/// kept, because the line continues towards it.
pub(crate) fn downsample(x: &[f64], y: &[f64], lo: f64, hi: f64, columns: usize) -> Vec<(f64, f64)> {
    let count = x.len().min(y.len());
    let (x, y) = (&x[..count], &y[..count]);
    let first = x.partition_point(|v| *v < lo).saturating_sub(1);
    let last = (x.partition_point(|v| *v <= hi) + 1).min(count);
    if first >= last {
        return Vec::new();
    }
    let (x, y) = (&x[first..last], &y[first..last]);
    let point = |i: usize| (x[i], if y[i].is_finite() { y[i] } else { f64::NAN });
    if x.len() <= columns * 4 {
        return (0..x.len()).map(point).collect();
    }

    let column = |v: f64| ((v - lo) / (hi - lo) * columns as f64).floor();
    let mut out = Vec::with_capacity(columns * 4 + 8);
    let mut start = 0;
    while start < x.len() {
        let end = start + x[start..].iter().take_while(|v| column(**v) == column(x[start])).count().max(1);
        let mut kept = [start, start, start, end - 1];
        for i in start..end {
            if y[i].is_finite() && (!y[kept[1]].is_finite() || y[i] < y[kept[1]]) {
                kept[1] = i;
            }
            if y[i].is_finite() && (!y[kept[2]].is_finite() || y[i] > y[kept[2]]) {
                kept[2] = i;
            }
        }
        kept.sort_unstable();
        let mut previous = None;
        for i in kept {
            if previous != Some(i) {
                out.push(point(i));
            }
            previous = Some(i);
        }
        start = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = units::Seed::new(7).rng("noise");
        let x = (0..count).map(|i| i as f64 * 0.01).collect();
        let y = (0..count).map(|_| rng.unit()).collect();
        (x, y)
    }

    #[test]
    fn downsampling_keeps_peaks_and_troughs() {
        let (x, mut y) = noise(50_000);
        y[31_234] = 100.0;
        y[777] = -5.0;
        let points = downsample(&x, &y, 0.0, 500.0, 800);
        assert!(points.len() <= 4 * 801, "{}", points.len());
        assert!(points.contains(&(x[31_234], 100.0)));
        assert!(points.contains(&(x[777], -5.0)));
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn each_column_keeps_its_own_extremes() {
        let (x, y) = noise(10_000);
        let points = downsample(&x, &y, 0.0, 100.0, 50);
        for column in 0..50 {
            let within = |v: f64| (v / 2.0).floor() == f64::from(column);
            let highest = |points: &mut dyn Iterator<Item = (f64, f64)>| {
                points.filter(|p| within(p.0)).map(|p| p.1).fold(f64::MIN, f64::max)
            };
            let all = highest(&mut x.iter().copied().zip(y.iter().copied()));
            assert_eq!(highest(&mut points.iter().copied()), all);
        }
    }

    #[test]
    fn short_line_keeps_all_points_and_gaps() {
        let points = downsample(&[0.0, 1.0, 2.0], &[1.0, f64::INFINITY, 3.0], 0.0, 2.0, 100);
        assert_eq!(points.len(), 3);
        assert!(points[1].1.is_nan());
        assert!(downsample(&[], &[], 0.0, 1.0, 10).is_empty());
    }

    #[test]
    fn one_point_beyond_each_end_is_kept() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        let points = downsample(&x, &x, 3.5, 5.5, 100);
        assert_eq!(points.iter().map(|p| p.0).collect::<Vec<_>>(), [3.0, 4.0, 5.0, 6.0]);
    }
}
