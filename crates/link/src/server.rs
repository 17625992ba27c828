//! Transmission: departure times of packets at a fixed or varying rate.
//!
//! A server transmits packets one after another. Future rates are known, so that it computes each
//! departure immediately; no event is needed between the push of a packet and its arrival.

use crate::config::Rate;
use crate::trace::{OPPORTUNITY_BYTES, RateTable, TraceKind};
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration, Instant};

/// Transmission period of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) begin: Instant,
    /// [`Instant::MAX`] if it never ends.
    pub(crate) end: Instant,
    /// Delay in addition to that of the link.
    pub(crate) latency: Duration,
}

#[derive(Debug, Clone)]
pub(crate) enum Server {
    Fixed(Fixed),
    Rates(RateCursor),
    Opportunities(OpportunityCursor),
}

impl Server {
    pub(crate) fn new(rate: &Rate) -> Self {
        match rate {
            Rate::Fixed(rate) => Self::Fixed(Fixed::new(*rate)),
            Rate::Steps(steps) => Self::Rates(RateCursor::new(Arc::new(RateTable::steps(steps)))),
            Rate::Trace(trace) => match &trace.kind {
                TraceKind::Rates(table) => Self::Rates(RateCursor::new(Arc::clone(table))),
                TraceKind::Opportunities { millis, period } => {
                    Self::Opportunities(OpportunityCursor::new(Arc::clone(millis), *period))
                }
            },
        }
    }

    /// Transmits a packet of `size` bytes from `start` at the earliest, which is never before the
    /// end of the previous packet.
    #[inline]
    pub(crate) fn serve(&mut self, start: Instant, size: u32) -> Service {
        match self {
            Self::Fixed(fixed) => {
                Service { begin: start, end: start + fixed.time(size), latency: Duration::ZERO }
            }
            Self::Rates(cursor) => cursor.serve(start, size),
            Self::Opportunities(cursor) => cursor.serve(start, size),
        }
    }

    /// Returns the start of a transmission that is possible from `start` on: on a trace of
    /// opportunities, the next opportunity.
    pub(crate) fn service_start(&self, start: Instant) -> Instant {
        match self {
            Self::Fixed(_) | Self::Rates(_) => start,
            Self::Opportunities(cursor) => cursor.clone().serve(start, 1).begin,
        }
    }
}

/// A fixed rate. Caches the last transmission time, because most packets of a link have the same
/// size.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    rate: Bitrate,
    size: u32,
    time: Duration,
}

impl Fixed {
    pub(crate) fn new(rate: Bitrate) -> Self {
        Self { rate, size: 0, time: rate.time_for(Bytes::ZERO) }
    }

    #[inline]
    pub(crate) fn time(&mut self, size: u32) -> Duration {
        if size != self.size {
            self.size = size;
            self.time = self.rate.time_for(Bytes::new(u64::from(size)));
        }
        self.time
    }
}

/// Returns the work of `size` bytes, in bps times nanoseconds.
pub(crate) fn work(size: u32) -> u64 {
    u64::from(size).saturating_mul(8_000_000_000)
}

/// A position in a table of rates.
#[derive(Debug, Clone)]
pub(crate) struct RateCursor {
    table: Arc<RateTable>,
    index: usize,
    /// Start of the current loop, in nanoseconds.
    base: u64,
}

impl RateCursor {
    fn new(table: Arc<RateTable>) -> Self {
        Self { table, index: 0, base: 0 }
    }

    fn serve(&mut self, start: Instant, size: u32) -> Service {
        self.seek(start.as_nanos());
        let mut now = start.as_nanos();
        let mut work = work(size);
        loop {
            let piece = self.table.pieces[self.index];
            let end = self.base.saturating_add(piece.end);
            if piece.bps > 0 {
                let need = work.div_ceil(piece.bps);
                if need <= end - now {
                    return Service {
                        begin: start,
                        end: Instant::from_nanos(now + need),
                        latency: Duration::from_nanos(piece.latency),
                    };
                }
                // Cannot underflow: the piece did not suffice for `work`.
                work -= piece.bps * (end - now);
            }
            if end == u64::MAX {
                return Service { begin: start, end: Instant::MAX, latency: Duration::ZERO };
            }
            now = end;
            self.index += 1;
            if self.index == self.table.pieces.len() {
                self.index = 0;
                self.base = end;
                let round = self.table.work;
                if u128::from(work) > round {
                    let rounds = ((u128::from(work) - 1) / round) as u64;
                    work -= (u128::from(rounds) * round) as u64;
                    self.base = self.base.saturating_add(rounds.saturating_mul(self.table.period));
                    now = self.base;
                }
            }
        }
    }

    /// Moves to the piece at `now`, which is never before the current piece.
    fn seek(&mut self, now: u64) {
        let table = &*self.table;
        let mut since = now.saturating_sub(self.base);
        if since < table.pieces[self.index].end {
            return;
        }
        if since >= table.period {
            let rounds = since / table.period;
            self.base += rounds * table.period;
            since -= rounds * table.period;
            self.index = 0;
        }
        self.index += table.pieces[self.index..].partition_point(|piece| piece.end <= since);
        // A table without a loop ends at `Instant::MAX`; stay on its last piece then.
        self.index = self.index.min(table.pieces.len() - 1);
    }
}

/// A position in a trace of opportunities.
#[derive(Debug, Clone)]
pub(crate) struct OpportunityCursor {
    millis: Arc<[u32]>,
    /// Length of the loop, in milliseconds.
    period: u32,
    /// Index of the next opportunity.
    index: usize,
    /// Start of the loop of `index`, in milliseconds.
    base: u64,
    /// Time of the current opportunity, in nanoseconds.
    at: u64,
    /// Remaining bytes of the current opportunity.
    left: u32,
}

impl OpportunityCursor {
    fn new(millis: Arc<[u32]>, period: u32) -> Self {
        Self { millis, period, index: 0, base: 0, at: 0, left: 0 }
    }

    fn serve(&mut self, start: Instant, size: u32) -> Service {
        if self.left == 0 || self.at < start.as_nanos() {
            self.seek(start.as_nanos());
            self.take();
        }
        let begin = Instant::from_nanos(self.at);
        let mut need = size;
        while need > self.left {
            need -= self.left;
            self.take();
        }
        self.left -= need;
        Service { begin, end: Instant::from_nanos(self.at), latency: Duration::ZERO }
    }

    fn take(&mut self) {
        self.at = (self.base + u64::from(self.millis[self.index])).saturating_mul(1_000_000);
        self.left = OPPORTUNITY_BYTES;
        self.index += 1;
        if self.index == self.millis.len() {
            self.index = 0;
            self.base += self.period();
        }
    }

    /// Skips the opportunities before `now`.
    fn seek(&mut self, now: u64) {
        let now = now.div_ceil(1_000_000);
        if self.base + u64::from(self.millis[self.index]) >= now {
            return;
        }
        let rounds = (now - self.base - 1) / self.period();
        if rounds > 0 {
            self.base += rounds * self.period();
            self.index = 0;
        }
        let since = now - self.base;
        self.index += self.millis[self.index..].partition_point(|&millis| u64::from(millis) < since);
        if self.index == self.millis.len() {
            self.index = 0;
            self.base += self.period();
        }
    }

    fn period(&self) -> u64 {
        u64::from(self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RatePiece, Trace};

    const fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn piece(millis: u64, mbps: u64) -> RatePiece {
        RatePiece {
            duration: Duration::from_millis(millis),
            rate: Bitrate::from_bps(mbps * 1_000_000),
            latency: Duration::from_millis(mbps),
        }
    }

    fn rates(pieces: &[RatePiece]) -> Server {
        Server::new(&Rate::Trace(Arc::new(Trace::from_rates(pieces).unwrap())))
    }

    fn opportunities(millis: &[u32]) -> Server {
        Server::new(&Rate::Trace(Arc::new(Trace::from_opportunities(millis.to_vec()).unwrap())))
    }

    #[test]
    fn transmission_continues_at_the_next_rate() {
        // 10 ms at 1 Mbps carry 1250 bytes; 250 more take 1 ms at 2 Mbps.
        let mut server = rates(&[piece(10, 1), piece(10, 2)]);
        let first = server.serve(ms(0), 1500);
        assert_eq!((first.end, first.latency), (ms(11), Duration::from_millis(2)));
        // 9 ms remain at 2 Mbps, 2250 bytes; 750 more take 6 ms of the next period.
        let second = server.serve(ms(11), 3000);
        assert_eq!((second.end, second.latency), (ms(26), Duration::from_millis(1)));
    }

    #[test]
    fn zero_rate_stalls_a_transmission_over_many_periods() {
        let mut server = rates(&[piece(1, 8), piece(9, 0)]);
        // 1000 bytes per period: the 4500th byte is halfway through the fifth one.
        assert_eq!(server.serve(ms(0), 4500).end, Instant::from_nanos(40_500_000));
        assert_eq!(server.serve(ms(41), 1000).end, ms(51));
        assert_eq!(server.serve(ms(1000), 1_000_000).end, ms(1000 + 999 * 10 + 1));
    }

    #[test]
    fn transmission_may_end_exactly_with_a_piece() {
        let mut server = rates(&[piece(10, 1), piece(10, 0)]);
        assert_eq!(server.serve(ms(0), 1250).end, ms(10));
        assert_eq!(server.serve(ms(10), 125).end, ms(21));
        assert_eq!(server.serve(ms(100_000_000), 125).end, ms(100_000_001));
    }

    #[test]
    fn step_holds_until_the_next_and_the_last_for_ever() {
        let mbps = |n: u64| Bitrate::from_bps(n * 1_000_000);
        let mut server = Server::new(&Rate::Steps(vec![(ms(0), mbps(1)), (ms(10), mbps(2))]));
        assert_eq!(server.serve(ms(0), 1500).end, ms(11));
        assert_eq!(server.serve(ms(1_000_000), 1500).end, ms(1_000_006));
        // Steps out of order, two at the same time, none at zero.
        let steps = vec![(ms(10), mbps(2)), (ms(5), mbps(9)), (ms(5), mbps(1))];
        let mut server = Server::new(&Rate::Steps(steps));
        assert_eq!(server.serve(ms(6), 500).end, ms(10));
        assert_eq!(Server::new(&Rate::Steps(vec![])).serve(ms(0), 1).end, Instant::MAX);
        let mut ends = Server::new(&Rate::Steps(vec![(ms(0), mbps(1)), (ms(10), Bitrate::ZERO)]));
        assert_eq!(ends.serve(ms(0), 1500).end, Instant::MAX);
        assert_eq!(ends.serve(Instant::MAX, 1500).end, Instant::MAX);
    }

    #[test]
    fn packets_share_opportunities_and_large_packets_span_them() {
        let mut server = opportunities(&[1, 3, 3, 7]);
        // 700 + 700 bytes fit into the first; 100 remain for the head of the third packet.
        assert_eq!(server.serve(ms(0), 700).end, ms(1));
        assert_eq!(server.serve(ms(1), 700).end, ms(1));
        let third = server.serve(ms(1), 1500);
        assert_eq!((third.begin, third.end), (ms(1), ms(3)));
        // 100 bytes remain of the opportunity at 3, then 1500 at 3 and 400 at 7.
        assert_eq!(server.serve(ms(3), 2000).end, ms(7));
        // The rest of 7, then the second period: 8, 10, 10, 14.
        assert_eq!(server.serve(ms(7), 1100).end, ms(7));
        assert_eq!(server.serve(ms(7), 1500).end, ms(8));
    }

    #[test]
    fn unused_opportunities_are_lost() {
        let mut server = opportunities(&[1, 3, 3, 7]);
        assert_eq!(server.serve(ms(0), 100).end, ms(1));
        // The rest of the opportunity at 1 is lost at 2.
        let later = server.serve(ms(2), 1500);
        assert_eq!((later.begin, later.end), (ms(3), ms(3)));
        // Periods begin at 0, 7, 14, ...; 700 is the last opportunity of a period.
        assert_eq!(server.serve(ms(699), 1500).end, ms(700));
        assert_eq!(server.serve(ms(700), 1500).end, ms(701));
        // A nanosecond after an opportunity is too late for it.
        assert_eq!(server.serve(Instant::from_nanos(701_000_001), 1).end, ms(703));
        assert_eq!(server.serve(ms(7_000_001), 1).end, ms(7_000_001));
    }

    #[test]
    fn loop_may_be_longer_than_its_last_opportunity() {
        let trace =
            Trace::from_opportunities(vec![1, 3, 7]).unwrap().starting_at(units::Duration::from_millis(2));
        // 1, 5, 6 of 7.
        let mut server = Server::new(&Rate::Trace(Arc::new(trace)));
        let ends: Vec<Instant> = (0..5).map(|_| server.serve(ms(0), 1500).end).collect();
        assert_eq!(ends, [ms(1), ms(5), ms(6), ms(8), ms(12)]);
        let late = Instant::from_nanos(13_000_001);
        assert_eq!(server.serve(late, 1500).end, ms(15));
        assert_eq!(server.serve(ms(7_000), 1500).end, ms(7_001));
    }

    #[test]
    fn opportunities_at_zero_and_at_the_period_are_distinct() {
        let mut server = opportunities(&[0, 5]);
        let ends: Vec<Instant> = (0..5).map(|_| server.serve(ms(0), 1500).end).collect();
        assert_eq!(ends, [ms(0), ms(5), ms(5), ms(10), ms(10)]);
    }
}
