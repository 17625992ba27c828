//! Times of the segments of a representation.

use super::NodeError;
use super::element::{Info, children, number};
use crate::segments::MAX_SEGMENTS;
use roxmltree::Node;
use units::Duration;

/// Maximum number of segments of all representations together.
pub(super) const MAX_TOTAL_SEGMENTS: usize = 1_000_000;
const TIME_TOO_LARGE: &str = "expected a presentation time below 2^62 units";

/// Start of each segment in units of the timescale, and its length. Without a timeline,
/// `count` limits the segments unless `endNumber` does. `remaining` is the number of segments left
/// until [`MAX_TOTAL_SEGMENTS`].
pub(super) fn segment_times<'a, 'i>(
    remaining: &mut usize,
    info: &Info<'a, 'i>,
    length: Option<Duration>,
    count: Option<usize>,
) -> Result<Vec<(u64, Duration)>, NodeError<'a, 'i>> {
    let node = info.node();
    let timescale = info.number("timescale")?.unwrap_or(1);
    if !(1..=1_000_000_000).contains(&timescale) {
        return Err((node, "expected a timescale from 1 to 1000000000".to_owned()));
    }
    let period_units = length
        .map(|length| (u128::from(length.as_nanos()) * u128::from(timescale)).div_ceil(1_000_000_000) as u64);
    let mut times = SegmentTimes { timescale, remaining, times: Vec::new() };
    match info.child("SegmentTimeline") {
        Some(timeline) => {
            let offset = info.number("presentationTimeOffset")?.unwrap_or(0);
            times.add_timeline(timeline, offset, period_units)?;
        }
        None => times.add_equal_segments(info, period_units, count)?,
    }
    Ok(times.times)
}

/// Collects the times of a representation's segments, within the limits on their number.
struct SegmentTimes<'r> {
    timescale: u64,
    /// Number of segments left until [`MAX_TOTAL_SEGMENTS`].
    remaining: &'r mut usize,
    times: Vec<(u64, Duration)>,
}

impl SegmentTimes<'_> {
    fn add<'a, 'i>(&mut self, node: Node<'a, 'i>, start: u64, units: u64) -> Result<(), NodeError<'a, 'i>> {
        let below_limit = self.times.len() < MAX_SEGMENTS;
        *self.remaining = self.remaining.checked_sub(1).filter(|_| below_limit).ok_or_else(|| {
            let limits =
                format!("{MAX_SEGMENTS} segments of each bitrate, and {MAX_TOTAL_SEGMENTS} in total");
            (node, format!("expected at most {limits}"))
        })?;
        let end = start.checked_add(units).filter(|end| *end < 1 << 62);
        let end = end.ok_or_else(|| (node, TIME_TOO_LARGE.to_owned()))?;
        // Both ends are rounded, not the length: rounding errors do not add up over segments.
        let nanos = |units: u64| (u128::from(units) * 1_000_000_000 / u128::from(self.timescale)) as u64;
        let length = Duration::from_nanos(nanos(end).saturating_sub(nanos(start)));
        if length.is_zero() {
            return Err((node, "expected segments longer than zero".to_owned()));
        }
        self.times.push((start, length));
        Ok(())
    }

    /// Adds the entries of a SegmentTimeline (ISO/IEC 23009-1, 5.3.9.6).
    fn add_timeline<'a, 'i>(
        &mut self,
        timeline: Node<'a, 'i>,
        offset: u64,
        period_units: Option<u64>,
    ) -> Result<(), NodeError<'a, 'i>> {
        let entries: Vec<Node<'a, 'i>> = children(timeline, "S").collect();
        let mut previous_end = None;
        for (index, entry) in entries.iter().enumerate() {
            let start = number(*entry, "t")?.or(previous_end).unwrap_or(offset);
            let Some(units) = number(*entry, "d")?.filter(|units| *units > 0) else {
                return Err((*entry, "expected a length `d` above 0".to_owned()));
            };
            let repeat = entry.attribute("r").map_or(Ok(0), |text| {
                text.trim().parse::<i64>().map_err(|_| (*entry, "expected a whole number `r`".to_owned()))
            })?;
            let repeat = if repeat >= 0 {
                repeat as u64
            } else {
                // A negative count repeats until the next entry, or the end of the period.
                let next = entries.get(index + 1).map(|next| number(*next, "t")).transpose()?.flatten();
                let Some(end) = next.or(period_units.map(|units| offset.saturating_add(units))) else {
                    let found = "a negative `r` without a next `t`, in a period of unknown length";
                    return Err((*entry, format!("expected the end of the repetition, found {found}")));
                };
                end.saturating_sub(start).div_ceil(units).saturating_sub(1)
            };
            let mut at = start;
            for _ in 0..=repeat {
                self.add(*entry, at, units)?;
                at += units;
            }
            previous_end = Some(at);
        }
        if self.times.is_empty() {
            return Err((timeline, "expected at least one `S` in the timeline".to_owned()));
        }
        Ok(())
    }

    /// Adds segments of equal `duration`; the last one is cut at the end of the period.
    fn add_equal_segments<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        period_units: Option<u64>,
        count: Option<usize>,
    ) -> Result<(), NodeError<'a, 'i>> {
        let node = info.node();
        let Some(units) = info.number("duration")?.filter(|units| *units > 0) else {
            return Err((node, "expected a `duration` above 0, or a timeline".to_owned()));
        };
        let limit = match info.number("endNumber")? {
            Some(last) => {
                Some(last.saturating_sub(info.number("startNumber")?.unwrap_or(1)).saturating_add(1))
            }
            None => count.map(|count| count as u64),
        };
        let Some(segments) = period_units.map(|total| total.div_ceil(units)).or(limit) else {
            return Err((node, "expected the length of the period, or the number of segments".to_owned()));
        };
        let segments = limit.map_or(segments, |limit| limit.min(segments));
        if segments == 0 {
            return Err((node, "expected a period longer than zero".to_owned()));
        }
        for index in 0..segments {
            let Some(start) = index.checked_mul(units) else {
                return Err((node, TIME_TOO_LARGE.to_owned()));
            };
            let rest = period_units.map_or(units, |total| total.saturating_sub(start).min(units));
            self.add(node, start, if index + 1 == segments { rest } else { units })?;
        }
        Ok(())
    }
}
