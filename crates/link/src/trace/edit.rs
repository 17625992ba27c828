//! Changes of traces: another start, another scale, a cut, another resolution.

use super::format::Unwritable;
use super::{OPPORTUNITY_BYTES, RatePiece, Trace, TraceKind};
use units::{Bitrate, Duration};

/// Factors of [`Trace::scaled`], the least and the greatest.
pub const SCALE_RANGE: (f64, f64) = (0.001, 1000.0);
/// Most pieces or opportunities of a changed trace.
const MAX_ENTRIES: u64 = 20_000_000;
/// Denominator of a scale.
const SCALE_STEPS: f64 = 1e6;
const NANOS_PER_MILLI: u64 = 1_000_000;

impl Trace {
    /// Returns the trace from `start` on, which counts in a loop; opportunities start at a whole
    /// millisecond.
    pub fn starting_at(&self, start: Duration) -> Self {
        let period = self.period().as_nanos();
        let start = if period == 0 { 0 } else { start.as_nanos() % period };
        match &self.kind {
            TraceKind::Opportunities { millis, .. } => {
                let (start, period) = ((start / NANOS_PER_MILLI) as u32, (period / NANOS_PER_MILLI) as u32);
                if start == 0 {
                    return self.clone();
                }
                let split = millis.partition_point(|&at| at <= start);
                let after = millis[split..].iter().map(|at| at - start);
                let before = millis[..split].iter().map(|at| at + (period - start));
                Self::opportunities_of(after.chain(before).collect(), period)
            }
            TraceKind::Rates(_) => {
                let (before, after) = split(self.pieces(), start);
                Self::from_rates(&[after, before].concat()).unwrap_or_else(|| self.clone())
            }
        }
    }

    /// Returns the trace with its rates multiplied by `factor`, in millionths and within
    /// [`SCALE_RANGE`]; `None` if no capacity or too many opportunities would be left.
    pub fn scaled(&self, factor: f64) -> Option<Self> {
        let factor = (factor.clamp(SCALE_RANGE.0, SCALE_RANGE.1) * SCALE_STEPS + 0.5) as u64;
        let steps = SCALE_STEPS as u64;
        let times = |count: u64| (u128::from(count) * u128::from(factor) / u128::from(steps)) as u64;
        match &self.kind {
            TraceKind::Opportunities { millis, period } => {
                if times(millis.len() as u64) > MAX_ENTRIES {
                    return None;
                }
                let mut scaled = Vec::with_capacity(times(millis.len() as u64) as usize);
                for (i, &at) in (0_u64..).zip(millis.iter()) {
                    scaled.extend((times(i)..times(i + 1)).map(|_| at));
                }
                (!scaled.is_empty()).then(|| Self::opportunities_of(scaled, *period))
            }
            TraceKind::Rates(_) => {
                let rate = |rate: Bitrate| {
                    let bps = u128::from(rate.as_bps()) * u128::from(factor) + u128::from(steps / 2);
                    Bitrate::from_bps((bps / u128::from(steps)) as u64)
                };
                let scale = |piece: RatePiece| RatePiece { rate: rate(piece.rate), ..piece };
                Self::from_rates(&self.pieces().into_iter().map(scale).collect::<Vec<_>>())
            }
        }
    }

    /// Returns `length` of the trace from `from` on; `None` if that has no capacity or lies outside
    /// of one loop. Opportunities are cut at whole milliseconds.
    pub fn cut(&self, from: Duration, length: Duration) -> Option<Self> {
        let (from, to) = (from.as_nanos(), from.as_nanos().checked_add(length.as_nanos())?);
        if from >= to || to > self.period().as_nanos() {
            return None;
        }
        match &self.kind {
            TraceKind::Opportunities { millis, .. } => {
                let (from, to) = ((from / NANOS_PER_MILLI) as u32, (to / NANOS_PER_MILLI) as u32);
                // An opportunity belongs to the millisecond that it ends; one at 0 to the first.
                let start = if from == 0 { 0 } else { millis.partition_point(|&at| at <= from) };
                let end = millis.partition_point(|&at| at <= to);
                let cut: Vec<u32> = millis[start..end.max(start)].iter().map(|at| at - from).collect();
                (!cut.is_empty() && to > from).then(|| Self::opportunities_of(cut, to - from))
            }
            TraceKind::Rates(_) => {
                let (_, after) = split(self.pieces(), from);
                let (kept, _) = split(after, to - from);
                Self::from_rates(&kept)
            }
        }
    }

    /// Returns the trace as mean rates over steps, the last of which may be shorter; latencies are
    /// left out. `None` for no step or more than 20 million.
    pub fn resampled(&self, step: Duration) -> Option<Self> {
        let (period, step) = (self.period().as_nanos(), step.as_nanos());
        if step == 0 || period.div_ceil(step) > MAX_ENTRIES {
            return None;
        }
        let mut rest = Vec::new();
        let whole = period / step * step;
        if whole > 0 {
            let rates = self.window_rates(Duration::from_nanos(step));
            rest.extend(rates.into_iter().map(|rate| piece(step, rate)));
        }
        if whole < period {
            let tail = self.cut(Duration::from_nanos(whole), Duration::from_nanos(period - whole));
            rest.push(piece(period - whole, tail.map_or(Bitrate::ZERO, |tail| tail.mean_rate())));
        }
        Self::from_rates(&rest)
    }

    /// Returns the milliseconds of opportunities of this capacity, and the period in milliseconds,
    /// rounded up.
    pub(super) fn opportunities(&self) -> Result<(Vec<u32>, u32), Unwritable> {
        if let TraceKind::Opportunities { millis, period } = &self.kind {
            return Ok((millis.to_vec(), *period));
        }
        let period = self.period().as_nanos().div_ceil(NANOS_PER_MILLI);
        let bits = u128::from(OPPORTUNITY_BYTES) * 8 * 1_000_000_000;
        let TraceKind::Rates(table) = &self.kind else { return Err(Unwritable::TooSlow) };
        if table.work / bits > u128::from(MAX_ENTRIES) || period > u64::from(u32::MAX) {
            return Err(Unwritable::TooLong);
        }
        let mut all: Vec<u32> = Vec::with_capacity((table.work / bits) as usize);
        let (mut work, mut start) = (0_u128, 0);
        for piece in &table.pieces {
            let whole = u128::from(piece.bps) * u128::from(piece.end - start);
            // The time within the piece at which each further opportunity is full.
            let mut need = bits - work;
            while need <= whole {
                let nanos = u128::from(start) + need.div_ceil(u128::from(piece.bps.max(1)));
                all.push(nanos.div_ceil(u128::from(NANOS_PER_MILLI)) as u32);
                need += bits;
            }
            work = whole + bits - need;
            start = piece.end;
        }
        if all.is_empty() { Err(Unwritable::TooSlow) } else { Ok((all, period as u32)) }
    }
}

fn piece(nanos: u64, rate: Bitrate) -> RatePiece {
    RatePiece { duration: Duration::from_nanos(nanos), rate, latency: Duration::ZERO }
}

/// Splits pieces at a time in nanoseconds.
fn split(pieces: Vec<RatePiece>, at: u64) -> (Vec<RatePiece>, Vec<RatePiece>) {
    let (mut before, mut after, mut start) = (Vec::new(), Vec::new(), 0_u64);
    for piece in pieces {
        let length = piece.duration.as_nanos();
        let first = at.saturating_sub(start).min(length);
        let part = |nanos: u64| RatePiece { duration: Duration::from_nanos(nanos), ..piece };
        if first > 0 {
            before.push(part(first));
        }
        if first < length {
            after.push(part(length - first));
        }
        start += length;
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn rates(pieces: &[(u64, u64)]) -> Trace {
        let all: Vec<RatePiece> = pieces
            .iter()
            .map(|&(millis, bps)| piece(millis * NANOS_PER_MILLI, Bitrate::from_bps(bps)))
            .collect();
        Trace::from_rates(&all).unwrap()
    }

    fn of(trace: &Trace) -> Vec<(u64, u64)> {
        trace.pieces().iter().map(|piece| (piece.duration.as_millis(), piece.rate.as_bps())).collect()
    }

    fn millis(trace: &Trace) -> (Vec<u32>, u32) {
        trace.opportunities().unwrap()
    }

    #[test]
    fn trace_starts_within_its_loop() {
        let trace = rates(&[(10, 1), (20, 2), (30, 3)]);
        assert_eq!(of(&trace.starting_at(ms(15))), [(15, 2), (30, 3), (10, 1), (5, 2)]);
        assert_eq!(of(&trace.starting_at(ms(75))), of(&trace.starting_at(ms(15))));
        assert_eq!(trace.starting_at(ms(60)), trace);
        let trace = Trace::from_opportunities(vec![0, 1, 3, 3, 7]).unwrap();
        assert_eq!(millis(&trace.starting_at(ms(2))), (vec![1, 1, 5, 5, 6], 7));
        assert_eq!(millis(&trace.starting_at(ms(9))), (vec![1, 1, 5, 5, 6], 7));
        assert_eq!(trace.starting_at(ms(2)).period(), ms(7));
        assert_eq!(trace.starting_at(ms(7)), trace);
    }

    #[test]
    fn scale_multiplies_rates_and_opportunities() {
        assert_eq!(of(&rates(&[(10, 1000), (20, 0)]).scaled(2.5).unwrap()), [(10, 2500), (20, 0)]);
        let trace = Trace::from_opportunities(vec![1, 2, 3, 4]).unwrap();
        assert_eq!(millis(&trace.scaled(1.5).unwrap()), (vec![1, 2, 2, 3, 4, 4], 4));
        let half = trace.scaled(0.5).unwrap();
        assert_eq!((millis(&half), half.period()), ((vec![2, 4], 4), ms(4)));
        assert_eq!(trace.scaled(0.001), None);
        assert_eq!(rates(&[(10, 100)]).scaled(0.001), None);
        assert_eq!(trace.scaled(1.0).unwrap(), trace);
    }

    #[test]
    fn cut_keeps_a_part() {
        let trace = rates(&[(10, 1), (20, 2), (30, 3)]);
        assert_eq!(of(&trace.cut(ms(5), ms(10)).unwrap()), [(5, 1), (5, 2)]);
        assert_eq!(trace.cut(ms(0), ms(60)).unwrap(), trace);
        for (from, length) in [(0, 61), (60, 1), (10, 0)] {
            assert_eq!(trace.cut(ms(from), ms(length)), None);
        }
        let trace = Trace::from_opportunities(vec![0, 1, 3, 3, 7]).unwrap();
        assert_eq!(millis(&trace.cut(ms(1), ms(4)).unwrap()), (vec![2, 2], 4));
        assert_eq!(trace.cut(ms(4), ms(2)), None);
        assert_eq!(millis(&trace.cut(ms(0), ms(7)).unwrap()), millis(&trace));
    }

    #[test]
    fn steps_have_the_mean_rate() {
        let trace = rates(&[(10, 1000), (20, 4000), (5, 500)]);
        assert_eq!(of(&trace.resampled(ms(20)).unwrap()), [(20, 2500), (15, 2833)]);
        let trace = Trace::from_opportunities(vec![0, 1, 3, 3, 7]).unwrap();
        assert_eq!(of(&trace.resampled(ms(4)).unwrap()), [(4, 12_000_000), (3, 4_000_000)]);
        assert_eq!(trace.resampled(Duration::ZERO), None);
        assert_eq!(rates(&[(1_000_000, 9)]).resampled(Duration::from_nanos(1)), None);
    }

    #[test]
    fn opportunities_carry_the_capacity_of_rates() {
        // 1500 bytes every 1.5 ms, then nothing.
        let trace = rates(&[(6, 8_000_000), (4, 0)]);
        assert_eq!(millis(&trace), (vec![2, 3, 5, 6], 10));
        assert_eq!(rates(&[(1, 1000)]).opportunities(), Err(Unwritable::TooSlow));
        assert_eq!(rates(&[(100_000, 100_000_000_000)]).opportunities(), Err(Unwritable::TooLong));
    }
}
