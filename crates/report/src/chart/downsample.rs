//! Long lines, thinned for drawing.

/// At most four points for each of `columns` columns between `lo` and `hi`: the first, the least, the
/// greatest and the last, in their order, so that every peak survives. A y that is not finite is a gap
/// and comes out as NaN. Of what lies outside, the nearest point on each side is kept, for the line
/// leaves the view towards it.
pub(crate) fn thin(x: &[f64], y: &[f64], lo: f64, hi: f64, columns: usize) -> Vec<(f64, f64)> {
    let count = x.len().min(y.len());
    let (x, y) = (&x[..count], &y[..count]);
    let first = x.partition_point(|v| *v < lo).saturating_sub(1);
    let last = (x.partition_point(|v| *v <= hi) + 1).min(count);
    if first >= last {
        return Vec::new();
    }
    let (x, y) = (&x[first..last], &y[first..last]);
    let clean = |i: usize| (x[i], if y[i].is_finite() { y[i] } else { f64::NAN });
    if x.len() <= columns * 4 {
        return (0..x.len()).map(clean).collect();
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
                out.push(clean(i));
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
    fn peaks_and_troughs_survive() {
        let (x, mut y) = noise(50_000);
        y[31_234] = 100.0;
        y[777] = -5.0;
        let thinned = thin(&x, &y, 0.0, 500.0, 800);
        assert!(thinned.len() <= 4 * 801, "{}", thinned.len());
        assert!(thinned.contains(&(x[31_234], 100.0)));
        assert!(thinned.contains(&(x[777], -5.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn each_column_keeps_its_own_extremes() {
        let (x, y) = noise(10_000);
        let thinned = thin(&x, &y, 0.0, 100.0, 50);
        for column in 0..50 {
            let within = |v: f64| (v / 2.0).floor() == f64::from(column);
            let greatest = |points: &mut dyn Iterator<Item = (f64, f64)>| {
                points.filter(|p| within(p.0)).map(|p| p.1).fold(f64::MIN, f64::max)
            };
            let all = greatest(&mut x.iter().copied().zip(y.iter().copied()));
            assert_eq!(greatest(&mut thinned.iter().copied()), all);
        }
    }

    #[test]
    fn a_short_line_is_left_alone_and_a_gap_stays_a_gap() {
        let thinned = thin(&[0.0, 1.0, 2.0], &[1.0, f64::INFINITY, 3.0], 0.0, 2.0, 100);
        assert_eq!(thinned.len(), 3);
        assert!(thinned[1].1.is_nan());
        assert!(thin(&[], &[], 0.0, 1.0, 10).is_empty());
    }

    #[test]
    fn the_view_keeps_a_neighbour_on_each_side() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        let thinned = thin(&x, &x, 3.5, 5.5, 100);
        assert_eq!(thinned.iter().map(|p| p.0).collect::<Vec<_>>(), [3.0, 4.0, 5.0, 6.0]);
    }
}
