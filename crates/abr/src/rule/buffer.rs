//! `buffer`: by a map from the level of the buffer to a bitrate (BBA-0).

use super::{AbrRule, Choice, RuleEntry, View};

/// BBA-0.
pub const BUFFER: RuleEntry = RuleEntry {
    name: "buffer",
    doc: "BBA-0, a map from buffer level to bitrate",
    build: |_, _| Box::new(Buffer),
};

/// Part of the buffer that is the reservoir, with the lowest level: 90 s of 240 s.
const RESERVOIR: f64 = 90.0 / 240.0;
/// Part of the buffer at which the cushion ends, with the highest level above: 216 s of 240 s.
const CUSHION_END: f64 = 216.0 / 240.0;

/// BBA-0: between the reservoir and the end of the cushion a linear function f rises from the
/// lowest to the highest bitrate. The level changes when f passes a neighbouring bitrate.
///
/// Huang, Johari, McKeown, Trunnell, Watson: A Buffer-Based Approach to Rate Adaptation: Evidence
/// from a Large Video Streaming Service, SIGCOMM 2014, Algorithm 1. Its buffer of 240 s is scaled
/// to the highest level at which this player requests: its capacity less one segment.
#[derive(Debug, Clone)]
struct Buffer;

impl AbrRule for Buffer {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let manifest = view.manifest;
        let highest = manifest.highest();
        let rate = |level: usize| manifest.bitrate(level).as_bps() as f64;
        let room = view.max_buffer.saturating_sub(manifest.segment_duration()).as_secs_f64();
        let (reservoir, end) = (RESERVOIR * room, CUSHION_END * room);
        let level = view.buffer.as_secs_f64();
        let last = view.last.unwrap_or(0);
        if level <= reservoir {
            return Choice::now(0);
        }
        if level >= end {
            return Choice::now(highest);
        }
        let f = rate(0) + (rate(highest) - rate(0)) * (level - reservoir) / (end - reservoir);
        let level = if f >= rate((last + 1).min(highest)) {
            (0..=highest).rev().find(|&level| rate(level) < f).unwrap_or(0)
        } else if f <= rate(last.saturating_sub(1)) {
            (0..=highest).find(|&level| rate(level) > f).unwrap_or(highest)
        } else {
            last
        };
        Choice::now(level)
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{ladder, view};
    use super::*;

    #[test]
    fn map_and_hysteresis_match_hand_computed_values() {
        let manifest = ladder();
        let at = |buffer, last| Buffer.choose(&view(&manifest, buffer, last, 1.0)).level;
        // Of 22 s: the reservoir is 8.25 s, the cushion ends at 19.8 s, f = 1 + 34 (Q - 8.25) /
        // 11.55.
        assert_eq!((at(8.25, 5), at(19.8, 0)), (0, 5));
        // f passes 2.5 at 8.7596, 5 at 9.6088, 8 at 10.6279, 16 at 13.3456.
        assert_eq!((at(8.75, 0), at(8.77, 0)), (0, 1));
        assert_eq!((at(13.34, 0), at(13.35, 0)), (3, 4));
        // From 8 Mbit/s the level falls at f = 5, from 16 at f = 8.
        assert_eq!((at(9.62, 3), at(9.60, 3)), (3, 2));
        assert_eq!((at(10.64, 4), at(10.62, 4)), (4, 3));
        assert_eq!((at(19.7, 4), at(19.7, 5)), (4, 5));
    }
}
