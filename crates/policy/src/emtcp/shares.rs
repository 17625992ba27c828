//! Division of the data over the paths for a share of the costly paths' data.

/// Share of all data that each path carries when `share` of the costly paths' data is moved.
///
/// The application offers each of the n paths that are up an equal part (the paper: 1 Mbit/s per
/// interface), so each would carry 1/n. A costly path keeps (1 - `share`)/n; the rest is divided
/// evenly among the cheap paths. For Wi-Fi and LTE the result is (1 + `share`)/2 and (1 -
/// `share`)/2. Without a cheap path that is up, no data is moved.
///
/// `costly` and `up` hold one flag per path. The shares are from 0 to 1 for a `share` from 0 to 1;
/// a path that is down has 0; their sum is 1 if any path is up.
pub fn shares(share: f64, costly: &[bool], up: &[bool]) -> Vec<f64> {
    let paths = || up.iter().zip(costly);
    let n = paths().filter(|(up, _)| **up).count() as f64;
    let cheap = paths().filter(|(up, costly)| **up && !**costly).count() as f64;
    let moved = if cheap > 0.0 { share } else { 0.0 };
    paths()
        .map(|(up, costly)| match (up, costly) {
            (false, _) => 0.0,
            (true, true) => (1.0 - moved) / n,
            (true, false) => (1.0 + moved * (n - cheap) / cheap) / n,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_match_hand_computed_values() {
        let near = |share, costly: &[bool], up: &[bool], wanted: &[f64]| {
            let got = shares(share, costly, up);
            assert_eq!(got.len(), wanted.len());
            assert!(got.iter().zip(wanted).all(|(g, w)| (g - w).abs() < 1e-12), "{got:?} is not {wanted:?}");
        };
        let (wifi, lte) = (false, true);
        near(0.0, &[wifi, lte], &[true; 2], &[0.5, 0.5]);
        near(0.24, &[wifi, lte], &[true; 2], &[0.62, 0.38]);
        near(1.0, &[wifi, lte], &[true; 2], &[1.0, 0.0]);
        near(0.3, &[wifi, lte, lte], &[true; 3], &[1.6 / 3.0, 0.7 / 3.0, 0.7 / 3.0]);
        near(0.3, &[wifi, wifi, lte], &[true; 3], &[1.15 / 3.0, 1.15 / 3.0, 0.7 / 3.0]);
        // A path that is down has no share.
        near(0.24, &[wifi, lte, wifi], &[true, true, false], &[0.62, 0.38, 0.0]);
        near(0.24, &[wifi, lte], &[false, true], &[0.0, 1.0]);
        near(0.24, &[wifi, lte], &[true, false], &[1.0, 0.0]);
        near(0.24, &[lte, lte], &[true; 2], &[0.5, 0.5]);
        near(0.24, &[wifi, lte], &[false; 2], &[0.0, 0.0]);
        near(0.24, &[], &[], &[]);
    }

    proptest! {
        #[test]
        fn shares_sum_to_one_over_paths_that_are_up(
            share in 0.0..=1.0f64,
            paths in prop::collection::vec((any::<bool>(), any::<bool>()), 1..8),
        ) {
            let (costly, up): (Vec<bool>, Vec<bool>) = paths.into_iter().unzip();
            let got = shares(share, &costly, &up);
            prop_assert!(got.iter().all(|s| (0.0..=1.0).contains(s)), "{:?}", got);
            let sum: f64 = got.iter().sum();
            let whole = f64::from(u8::from(up.contains(&true)));
            prop_assert!((sum - whole).abs() < 1e-9, "{:?}", got);
            prop_assert!(got.iter().zip(&up).all(|(s, up)| *up || *s == 0.0));
        }
    }
}
