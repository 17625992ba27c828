//! The Offload Controller (Chen et al. 2013, section III and Table I): what is moved, and how much.

/// What Table I says to do, with its S in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Offload S bytes to the Wi-Fi subflow.
    Offload(u64),
    /// Send S bytes via the LTE subflow.
    Keep(u64),
    /// Neither has a window: congestion control has the word.
    CongestionControl,
    /// LTE receives nothing, or Wi-Fi is busy: leave all as it is.
    Nothing,
}

/// Table I, line by line.
///
/// `t_rx`: LTE is about to receive. `wifi_idle`: `ST_WiFi` is idle. `s_b`: what is still in the
/// transport's buffer. `s_wifi`, `s_lte`: congestion windows, 0 where a subflow can take nothing. All
/// sizes are in bytes. LTE stands for the costly paths, Wi-Fi for the cheap ones.
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

/// Which part of the data goes over which path when `share` of the costly paths' data is moved.
///
/// The application offers each of the n paths that are up an equal part (the paper: 1 Mbit/s for
/// each interface), so 1/n is what a path would carry. A costly one keeps (1 - `share`)/n of it, and
/// what it gives is divided evenly among the cheap ones. For Wi-Fi and LTE that is (1 + `share`)/2
/// and (1 - `share`)/2. Where no cheap path is up, nothing is moved.
///
/// `costly` and `up` say for each path what it is. Shares are in [0, 1] for a `share` in [0, 1]; a
/// path that is down has 0; they sum to 1 where any path is up.
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
    fn table_one_decides_as_printed() {
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
    fn shares_are_those_worked_out_by_hand() {
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
        // A path that is down neither gives nor takes.
        near(0.24, &[wifi, lte, wifi], &[true, true, false], &[0.62, 0.38, 0.0]);
        near(0.24, &[wifi, lte], &[false, true], &[0.0, 1.0]);
        near(0.24, &[wifi, lte], &[true, false], &[1.0, 0.0]);
        near(0.24, &[lte, lte], &[true; 2], &[0.5, 0.5]);
        near(0.24, &[wifi, lte], &[false; 2], &[0.0, 0.0]);
        near(0.24, &[], &[], &[]);
    }

    proptest! {
        #[test]
        fn shares_are_a_division_of_the_whole(
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
