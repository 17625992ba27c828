//! Times of the segments of a representation.

use super::NodeError;
use super::element::{Info, children, number};
use crate::segments::MAX_SEGMENTS;
use roxmltree::Node;
use units::Duration;

/// Maximum number of segments of all representations together.
pub(super) const MAX_TOTAL_SEGMENTS: usize = 1_000_000;
const TIME_TOO_LARGE: &str = "expected a presentation time below 2^62 units";

/// Longest rest of a period that is a rounding error of its length, not another segment.
const MAX_ROUNDING_ERROR: Duration = Duration::from_millis(1);

/// Segments of a representation in one period.
pub(super) struct SegmentTimes {
    /// Number of segments of the timeline that end before the period begins.
    pub(super) skipped: u64,
    /// Start of each segment in units of the timescale, and its length.
    pub(super) times: Vec<(u64, Duration)>,
}

/// Reads the times of the segments. Without a timeline, `count` limits the segments unless
/// `endNumber` does. `remaining` is the number of segments left until [`MAX_TOTAL_SEGMENTS`].
pub(super) fn segment_times<'a, 'i>(
    remaining: &mut usize,
    info: &Info<'a, 'i>,
    length: Option<Duration>,
    count: Option<usize>,
) -> Result<SegmentTimes, NodeError<'a, 'i>> {
    let node = info.node();
    let timescale = info.number("timescale")?.unwrap_or(1);
    if !(1..=1_000_000_000).contains(&timescale) {
        return Err((node, "expected a timescale from 1 to 1000000000".to_owned()));
    }
    let timeline = info.child("SegmentTimeline");
    let begin = match timeline {
        Some(_) => info.number("presentationTimeOffset")?.unwrap_or(0),
        None => 0,
    };
    let end = length.map(|length| PeriodEnd::new(begin, length, timescale));
    let mut collector = Collector { timescale, begin, end, remaining, skipped: 0, times: Vec::new() };
    match timeline {
        Some(timeline) => collector.add_timeline(timeline)?,
        None => collector.add_equal_segments(info, count)?,
    }
    Ok(SegmentTimes { skipped: collector.skipped, times: collector.times })
}

/// End of a period, in units of the timescale.
#[derive(Clone, Copy)]
struct PeriodEnd {
    at: u64,
    /// Segments start before this time: the rest is a rounding error.
    starts_below: u64,
}

impl PeriodEnd {
    fn new(begin: u64, length: Duration, timescale: u64) -> Self {
        let after = |length: Duration| {
            let units = (u128::from(length.as_nanos()) * u128::from(timescale)).div_ceil(1_000_000_000);
            begin.saturating_add(units as u64)
        };
        Self { at: after(length), starts_below: after(length.saturating_sub(MAX_ROUNDING_ERROR)) }
    }
}

/// Collects the times of a representation's segments, within the limits on their number.
struct Collector<'r> {
    timescale: u64,
    /// Begin of the period in units of the timescale.
    begin: u64,
    /// End of the period, if known.
    end: Option<PeriodEnd>,
    /// Number of segments left until [`MAX_TOTAL_SEGMENTS`].
    remaining: &'r mut usize,
    skipped: u64,
    times: Vec<(u64, Duration)>,
}

impl Collector<'_> {
    /// Adds a segment of `units`, of which the part in the period is played.
    fn add<'a, 'i>(&mut self, node: Node<'a, 'i>, start: u64, units: u64) -> Result<(), NodeError<'a, 'i>> {
        let below_limit = self.times.len() < MAX_SEGMENTS;
        *self.remaining = self.remaining.checked_sub(1).filter(|_| below_limit).ok_or_else(|| {
            let limits =
                format!("{MAX_SEGMENTS} segments of each bitrate, and {MAX_TOTAL_SEGMENTS} in total");
            (node, format!("expected at most {limits}"))
        })?;
        let end = start.checked_add(units).filter(|end| *end < 1 << 62);
        let end = end.ok_or_else(|| (node, TIME_TOO_LARGE.to_owned()))?;
        let end = self.end.map_or(end, |period| period.at.min(end));
        // Both ends are rounded, not the length: rounding errors do not add up over segments.
        let nanos = |units: u64| (u128::from(units) * 1_000_000_000 / u128::from(self.timescale)) as u64;
        let length = Duration::from_nanos(nanos(end).saturating_sub(nanos(start.max(self.begin))));
        if length.is_zero() {
            return Err((node, "expected segments longer than zero".to_owned()));
        }
        self.times.push((start, length));
        Ok(())
    }

    /// Adds the entries of a SegmentTimeline that overlap the period (ISO/IEC 23009-1, 5.3.9.6).
    fn add_timeline<'a, 'i>(&mut self, timeline: Node<'a, 'i>) -> Result<(), NodeError<'a, 'i>> {
        let entries: Vec<Node<'a, 'i>> = children(timeline, "S").collect();
        let mut at = 0;
        for (index, entry) in entries.iter().enumerate() {
            at = number(*entry, "t")?.unwrap_or(at);
            let Some(units) = number(*entry, "d")?.filter(|units| *units > 0) else {
                return Err((*entry, "expected a length `d` above 0".to_owned()));
            };
            let count = self.count_repeated(*entry, entries.get(index + 1), at, units)?;
            let ended = (self.begin.saturating_sub(at) / units).min(count);
            self.skipped = self.skipped.saturating_add(ended);
            at += ended * units;
            for _ in ended..count {
                if self.end.is_some_and(|end| at >= end.starts_below) {
                    break;
                }
                self.add(*entry, at, units)?;
                at += units;
            }
        }
        if self.times.is_empty() {
            return Err((timeline, "expected at least one `S` of the timeline in the period".to_owned()));
        }
        Ok(())
    }

    /// Number of segments of a timeline's entry, which starts at `start`.
    fn count_repeated<'a, 'i>(
        &self,
        entry: Node<'a, 'i>,
        next: Option<&Node<'a, 'i>>,
        start: u64,
        units: u64,
    ) -> Result<u64, NodeError<'a, 'i>> {
        let repeat = entry.attribute("r").map_or(Ok(0), |text| {
            text.trim().parse::<i64>().map_err(|_| (entry, "expected a whole number `r`".to_owned()))
        })?;
        if repeat >= 0 {
            return Ok(repeat as u64 + 1);
        }
        // A negative count repeats until the next entry, or the end of the period.
        let next = next.map(|next| number(*next, "t")).transpose()?.flatten();
        let Some(end) = next.or(self.end.map(|end| end.starts_below)) else {
            let found = "a negative `r` without a next `t`, in a period of unknown length";
            return Err((entry, format!("expected the end of the repetition, found {found}")));
        };
        Ok(end.saturating_sub(start).div_ceil(units).max(1))
    }

    /// Adds segments of equal `duration`; the last one is cut at the end of the period.
    fn add_equal_segments<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
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
        let Some(segments) = self.end.map(|end| end.starts_below.div_ceil(units)).or(limit) else {
            return Err((node, "expected the length of the period, or the number of segments".to_owned()));
        };
        let segments = limit.map_or(segments, |limit| limit.min(segments));
        if segments == 0 {
            return Err((node, "expected a period longer than 1 ms".to_owned()));
        }
        for index in 0..segments {
            let Some(start) = index.checked_mul(units) else {
                return Err((node, TIME_TOO_LARGE.to_owned()));
            };
            self.add(node, start, units)?;
        }
        Ok(())
    }
}
