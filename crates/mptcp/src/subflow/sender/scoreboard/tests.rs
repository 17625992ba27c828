//! Tests of the scoreboard.

use super::*;
use crate::subflow::Cut;
use proptest::prelude::*;
use wire::Span;

const NOW: Instant = Instant::from_secs(1);

/// `segments` segments of ten bytes in flight.
fn board(segments: u64) -> Scoreboard<Span> {
    let mut board = Scoreboard::new();
    board.on_syn_sent();
    board.on_syn_acked();
    for n in 0..segments {
        let chunk =
            Chunk { data: 1 + 10 * n, payload: Span::new(10 * n, 10), fin: false, cut: Cut::default() };
        assert_eq!(board.push(NOW, &chunk), 1 + 10 * n);
    }
    board
}

#[test]
fn partial_acknowledgement_cuts_the_first_segment() {
    let mut board = board(2);
    let advance = board.acknowledge(15, |_, _, _| {});
    assert_eq!((advance.bytes, advance.segments), (14, 2));
    assert_eq!(board.first().map(|sent| (sent.offset, sent.len)), Some((15, 6)));
    assert_eq!(board.check_invariants(), Ok(()));
}

#[test]
fn each_segment_is_sacked_once() {
    let mut board = board(4);
    let mut sacked = Vec::new();
    board.apply_sack(&[(11, 21)], |i, _| sacked.push(i));
    board.apply_sack(&[(11, 41)], |i, _| sacked.push(i));
    assert_eq!(sacked, [1, 2, 3]);
    assert_eq!((board.sacked(), board.sacked_segments(), board.pipe()), (30, 3, 10));
}

#[test]
fn three_sacked_segments_above_mean_loss() {
    let mut board = board(5);
    board.apply_sack(&[(21, 41)], |_, _| {});
    board.detect_by_sack(1000);
    assert_eq!(board.lost(), 0);
    board.apply_sack(&[(21, 51)], |_, _| {});
    board.detect_by_sack(1000);
    assert_eq!(board.lost(), 20);
    assert_eq!(board.next_lost(), Some(0));
    board.mark_retransmitted(NOW, 0);
    assert_eq!(board.next_lost(), Some(1));
    board.mark_retransmitted(NOW, 1);
    assert_eq!((board.next_lost(), board.has_unrepaired()), (None, false));
    board.mark_lost_again(0);
    assert_eq!(board.next_lost(), Some(0));
    board.clear_losses();
    assert_eq!((board.next_lost(), board.lost(), board.pipe()), (None, 0, 20));
}

proptest! {
    #[test]
    fn counters_match_the_segments(
        steps in prop::collection::vec((0_u8..5, 0_usize..20, 1_u64..6), 1..40),
    ) {
        let mut board = board(20);
        for (step, i, n) in steps {
            let (una, at) = (board.una(), board.get(i).map(|sent| (sent.offset, sent.has(SACKED | LOST))));
            match (step, at) {
                (0, _) => {
                    board.acknowledge((una + 7 * n).min(board.next()), |_, _, _| {});
                }
                (1, Some((from, _))) => {
                    let to = (from + 10 * n).min(board.next());
                    board.apply_sack(&[(from, to)], |_, _| {});
                }
                (2, Some(_)) => board.mark_lost(i),
                (3, _) => {
                    if let Some(lost) = board.next_lost() {
                        board.mark_retransmitted(NOW, lost);
                    }
                }
                (4, Some((_, false))) => board.detect_by_sack(10),
                _ => {}
            }
            prop_assert_eq!(board.check_invariants(), Ok(()));
        }
    }
}
