//! Offload Controller (Chen et al. 2013, section III and Table I): whether to move data, and how
//! much.

/// Decision of Table I, with its S in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Offload S bytes to the Wi-Fi subflow.
    Offload(u64),
    /// Send S bytes via the LTE subflow.
    Keep(u64),
    /// Neither path has a window: congestion control decides.
    CongestionControl,
    /// LTE receives nothing, or Wi-Fi is busy: change nothing.
    Nothing,
}

/// Table I, line by line.
///
/// `t_rx`: LTE is about to receive. `wifi_idle`: `ST_WiFi` is idle. `s_b`: bytes in the transport's
/// buffer. `s_wifi`, `s_lte`: congestion windows in bytes, 0 for a subflow that can send nothing.
/// LTE stands for the costly paths, Wi-Fi for the cheap ones.
pub fn table_one(t_rx: bool, wifi_idle: bool, s_b: u64, s_wifi: u64, s_lte: u64) -> Verdict {
    if t_rx && wifi_idle {
        if s_wifi > 0 {
            Verdict::Offload(s_b.min(s_wifi))
        } else if s_lte > 0 {
            Verdict::Keep(s_b.min(s_lte))
        } else {
            Verdict::CongestionControl
        }
    } else {
        Verdict::Nothing
    }
}

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
    fn table_one_matches_the_paper() {
        use Verdict::{CongestionControl, Keep, Nothing, Offload};
        // T_RX, Wi-Fi idle, S_B, S_WiFi, S_LTE
        let table = [
            (true, true, 5000, 3000, 9000, Offload(3000)),
            (true, true, 2000, 3000, 9000, Offload(2000)),
            (true, true, 2000, 3000, 0, Offload(2000)),
            (true, true, 5000, 0, 9000, Keep(5000)),
            (true, true, 5000, 0, 4000, Keep(4000)),
            (true, true, 5000, 0, 0, CongestionControl),
            (true, false, 5000, 3000, 9000, Nothing),
            (false, true, 5000, 3000, 9000, Nothing),
            (false, false, 5000, 0, 0, Nothing),
        ];
        for (t_rx, idle, s_b, s_wifi, s_lte, wanted) in table {
            assert_eq!(table_one(t_rx, idle, s_b, s_wifi, s_lte), wanted);
        }
    }

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
