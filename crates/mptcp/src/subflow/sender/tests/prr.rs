//! The examples of RFC 9937, section 8.

use super::*;

/// Sends twenty segments with a window of twenty, and sacks those in `arrived` one by one. Returns
/// window and pipe after each, in segments, and the segments sent then: `R` retransmitted, `N` new.
fn run(prr: bool, arrived: core::ops::RangeInclusive<u64>) -> Vec<(u64, u64, String)> {
    let mut s = sender_with(&Config { prr, initial_window: 20, ..config() }, true);
    for _ in 0..20 {
        send(&mut s, T0);
    }
    let first = *arrived.start();
    let mut lines = Vec::new();
    for last in arrived {
        let now = after(100 + last);
        ack(&mut s, now, 0, &[(first, last + 1)]);
        let (cwnd, pipe) = (s.cwnd.cwnd() / MSS, s.pipe() / MSS);
        let mut out = String::new();
        while retransmit(&mut s, now).is_some() {
            out.push('R');
        }
        while send(&mut s, now).is_some() {
            out.push('N');
        }
        lines.push((cwnd, pipe, out));
    }
    lines
}

fn columns(lines: &[(u64, u64, String)]) -> (Vec<u64>, Vec<u64>, Vec<&str>) {
    let sent = lines.iter().map(|l| l.2.as_str()).collect();
    (lines.iter().map(|l| l.0).collect(), lines.iter().map(|l| l.1).collect(), sent)
}

#[test]
fn figure_1_one_loss_with_prr() {
    // At 19 the pipe equals the threshold, and section 6.2 sends nothing; the figure sends one.
    let lines = run(true, 1..=18);
    let (cwnd, pipe, sent) = columns(&lines);
    assert_eq!(cwnd, [20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11]);
    assert_eq!(pipe, [19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11]);
    let expected = ["N", "N", "R", "", "N", "", "N", "", "N", "", "N", "", "N", "", "N", "", "N", ""];
    assert_eq!(sent, expected);
}

#[test]
fn figure_1_one_loss_without_prr() {
    let lines = run(false, 1..=19);
    let (cwnd, pipe, _) = columns(&lines);
    assert_eq!(cwnd[..4], [20, 20, 10, 10]);
    assert_eq!(pipe, [19, 19, 18, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 9, 9, 9, 9, 9, 9]);
}

#[test]
fn figure_2_fifteen_losses_with_prr() {
    let lines = run(true, 15..=19);
    let (cwnd, pipe, sent) = columns(&lines);
    assert_eq!((cwnd, pipe), (vec![20, 20, 5, 5, 5], vec![19, 19, 4, 4, 4]));
    assert_eq!(sent, ["N", "N", "R", "R", "R"]);
}

#[test]
fn figure_2_fifteen_losses_without_prr() {
    let lines = run(false, 15..=19);
    let (cwnd, pipe, sent) = columns(&lines);
    assert_eq!((cwnd, pipe), (vec![20, 20, 10, 10, 10], vec![19, 19, 4, 9, 9]));
    assert_eq!(sent, ["N", "N", "RRRRRR", "R", "R"]);
}

#[test]
fn window_ends_at_the_threshold() {
    let mut s = sender_with(&Config { prr: true, initial_window: 20, ..config() }, true);
    for _ in 0..20 {
        send(&mut s, T0);
    }
    ack(&mut s, after(100), 0, &[(1, 20)]);
    assert_eq!(retransmit(&mut s, after(100)), Some(0));
    ack(&mut s, after(200), 20, &[]);
    assert_eq!(s.cwnd.cwnd(), 10 * MSS);
}
