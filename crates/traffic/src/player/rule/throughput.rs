//! By throughput, as in dash.js.

use super::{Choice, Chooser, Insufficient, View};

/// Of the estimated throughput, what is trusted.
const SAFETY: f64 = 0.9;

/// The highest bitrate that 0.9 of the estimated throughput carries, unless the buffer is too small for it.
///
/// Spiteri, Sitaraman, Sparacio: From Theory to Practice, MMSys 2018 (THROUGHPUT of dash.js
/// with its insufficient buffer rule). What it leaves out: a download that turns out too slow is not
/// given up.
#[derive(Debug, Clone, Default)]
pub(super) struct Throughput {
    insufficient: Insufficient,
}

impl Chooser for Throughput {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        Choice::now(view.sustainable(SAFETY).min(self.insufficient.highest(view)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ladder, view};
    use super::*;

    #[test]
    fn a_tenth_of_the_throughput_is_kept_back() {
        let manifest = ladder();
        let at = |buffer, mbps| Throughput::default().choose(&view(&manifest, buffer, 0, mbps)).level;
        assert_eq!([at(20.0, 8.8), at(20.0, 8.9), at(20.0, 38.8), at(20.0, 38.9)], [2, 3, 4, 5]);
        // 0.9 of 2 s at 38.9 Mbit/s are 70 Mbit, not the 105 of a segment at 35 Mbit/s.
        assert_eq!(at(2.0, 38.9), 4);
    }
}
