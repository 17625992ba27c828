//! Offload Controller of eMTCP (Chen, Yuan, Muntean 2013, section III and Table I): decides for each
//! piece of data that a scheduler would give to a costly path.

use super::{Candidate, SchedulerContext};
use crate::PathId;

/// Rule that moves data from costly paths to the others, piece by piece, by Table I of the paper.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Offload {
    /// One flag per path; a path beyond the end is not costly.
    pub costly: Vec<bool>,
    /// Largest share of the costly paths' data to move, from 0 to 1.
    pub share: f64,
}

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
/// buffer. `s_wifi`, `s_lte`: available windows in bytes, each the congestion window less the bytes
/// in flight.
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

/// Table I at work for one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableOne {
    rule: Offload,
    /// Costly path whose turn the next piece was.
    turn: Option<PathId>,
    /// Bytes whose turn was that of a costly path.
    due: u64,
    /// Bytes of these that were moved.
    moved: u64,
}

impl TableOne {
    pub(crate) fn set_rule(&mut self, rule: Offload) {
        if self.rule != rule {
            *self = Self { rule, ..Self::default() };
        }
    }

    fn is_costly(&self, path: PathId) -> bool {
        self.rule.costly.get(path.index()).copied().unwrap_or(false)
    }

    /// Bytes that may still be moved if `len` more are due.
    fn allowance(&self, len: u64) -> u64 {
        let most = (self.due + len) as f64 * self.rule.share.clamp(0.0, 1.0);
        (most as u64).saturating_sub(self.moved)
    }

    /// Replaces the pick of a costly path if Table I moves its data. Windows count in whole pieces.
    pub(crate) fn redirect(
        &mut self,
        pick: usize,
        candidates: &[Candidate],
        context: &SchedulerContext,
    ) -> usize {
        let chosen = candidates[pick];
        self.turn = self.is_costly(chosen.path).then_some(chosen.path);
        let whole = |room: u64| if room >= context.len { room } else { 0 };
        // Of several cheap paths the one with the largest window is Wi-Fi. Between two of its
        // segments it is idle.
        let cheap = candidates.iter().enumerate().filter(|(_, c)| !self.is_costly(c.path));
        let widest = cheap.max_by_key(|(_, c)| c.room);
        let verdict = table_one(
            self.turn.is_some(),
            widest.is_some(),
            context.unsent.min(self.allowance(context.len)),
            widest.map_or(0, |(_, c)| whole(c.room)),
            whole(chosen.room),
        );
        match (verdict, widest) {
            (Verdict::Offload(s), Some((wifi, _))) if s >= context.len => wifi,
            _ => pick,
        }
    }

    /// Notes `len` bytes assigned to `path`; returns the path whose turn they were.
    pub(crate) fn on_scheduled(&mut self, path: PathId, len: u64) -> PathId {
        let Some(turn) = self.turn.take() else { return path };
        self.due += len;
        if turn != path {
            self.moved += len;
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{candidate, context};
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

    fn offloading(share: f64) -> TableOne {
        let mut table_one = TableOne::default();
        table_one.set_rule(Offload { costly: vec![false, true], share });
        table_one
    }

    #[test]
    fn every_piece_of_a_costly_path_is_judged() {
        let (wifi, lte) = (candidate(0, 10, 4000, 1000), candidate(1, 100, 9000, 0));
        let full = candidate(0, 10, 4000, 3500);
        let mut table_one = offloading(1.0);
        assert_eq!(table_one.redirect(1, &[wifi, lte], &context(80_000, 9000)), 0, "Wi-Fi has a window");
        assert_eq!(table_one.redirect(1, &[full, lte], &context(80_000, 9000)), 1, "less than a piece");
        assert_eq!(table_one.redirect(0, &[wifi, lte], &context(80_000, 9000)), 0, "Wi-Fi's own turn");
        assert_eq!(table_one.redirect(0, &[lte], &context(80_000, 9000)), 0, "no Wi-Fi");
    }

    proptest! {
        /// Moved data never exceeds the share of the due data; with a window it reaches the share.
        #[test]
        fn moved_data_stays_within_the_share(
            share in 0.0..=1.0f64,
            rooms in prop::collection::vec(0_u64..3000, 1..300),
            always in any::<bool>(),
        ) {
            let mut table_one = offloading(share);
            for room in &rooms {
                let wifi = Candidate { room: if always { 1000 } else { *room }, ..candidate(0, 10, 4000, 0) };
                let list = [wifi, candidate(1, 100, 9000, 0)];
                let to = table_one.redirect(1, &list, &context(80_000, 9000));
                prop_assert_eq!(table_one.on_scheduled(list[to].path, 1000), PathId(1));
                prop_assert!(table_one.moved as f64 <= share * table_one.due as f64 + 1.0);
            }
            if always {
                prop_assert!(table_one.moved as f64 >= share * table_one.due as f64 - 1001.0);
            }
        }
    }
}
