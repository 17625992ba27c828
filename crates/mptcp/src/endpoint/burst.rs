//! Bursts: back-to-back segments of new data on one subflow. All but the first follow from the
//! segment before: only sequence number, payload and mapping differ.

use super::Endpoint;
use crate::PathId;
use crate::subflow::Subflow;
use units::Instant;
use wire::{Payload, Segment};

/// A burst that has begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    /// Index of the subflow.
    pub(super) subflow: usize,
    /// Payload of each segment, in bytes.
    pub(super) len: u64,
}

impl<P: Payload> Endpoint<P> {
    /// Calls `send` for each segment that is to be sent now. The segments equal those of
    /// [`transmit_into`](Self::transmit_into), called until it returns `None`; `segment` is a
    /// buffer, whose content is overwritten.
    #[inline]
    pub fn transmit_all(
        &mut self,
        now: Instant,
        segment: &mut Segment<P>,
        mut send: impl FnMut(PathId, &Segment<P>),
    ) {
        while let Some((path, burst)) = self.transmit(now, segment) {
            let burst = burst.filter(|burst| self.is_burst_template(burst.subflow, segment));
            loop {
                send(path, segment);
                if !burst.is_some_and(|burst| self.extend_burst(now, burst, segment)) {
                    break;
                }
            }
            if burst.is_some_and(|burst| self.is_stopped_by_windows(burst.len)) {
                self.await_windows();
                return;
            }
        }
    }

    /// After a burst: new data waits for the congestion windows, and nothing else is to be sent.
    fn is_stopped_by_windows(&self, len: u64) -> bool {
        let is_stopped = |subflow: &Subflow<P>| {
            let sender = subflow.sender();
            let has_other = subflow.has_control()
                || sender.has_retransmission()
                || sender.may_need_rescue()
                || subflow.receiver().ack_due();
            !has_other && (!subflow.carries_data() || sender.available_window() < len)
        };
        self.data_sender.may_send(len)
            && !self.data_sender.is_closed()
            && !self.data_sender.has_pending_control()
            && !self.subflow_fins
            && self.subflows.iter().all(is_stopped)
    }

    fn await_windows(&mut self) {
        for subflow in self.subflows.iter_mut().filter(|s| s.carries_data()) {
            subflow.sender_mut().set_cwnd_limited();
        }
        self.transmit_pending = false;
    }

    /// The next segment of a burst equals `segment`, apart from its data.
    #[inline]
    fn is_burst_template(&self, i: usize, segment: &Segment<P>) -> bool {
        let has_own_mapping = match &segment.dss {
            Some(dss) => dss.mapping.is_some_and(|map| map.len > 0 && map.checksum.is_none()),
            None => true,
        };
        has_own_mapping && segment.signal.is_none() && segment.sack.is_empty() && !self.subflows[i].uses_ecn()
    }

    /// Turns a segment of a burst into the next one. Returns false at the end of the burst.
    #[inline]
    fn extend_burst(&mut self, now: Instant, burst: Burst, segment: &mut Segment<P>) -> bool {
        let subflow = &mut self.subflows[burst.subflow];
        let Some((offset, chunk)) = self.data_sender.extend_burst(now, burst.len, subflow) else {
            return false;
        };
        segment.seq = subflow.seq_at(offset);
        if let Some(map) = segment.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
            map.dsn = self.handshake.local_dsn(chunk.data);
            (map.ssn, map.len) = (offset as u32, chunk.payload.len() as u16);
        }
        segment.payload = chunk.payload;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use units::{Duration, Seed};
    use wire::{Flags, Span};

    /// Sends all that `endpoint` has to send. Checks that one call at a time sends the same, and has
    /// the same effect on the endpoint.
    fn drain(now: Instant, endpoint: &mut Endpoint<Span>) -> Vec<(PathId, Segment<Span>)> {
        let mut other = endpoint.clone();
        let one_by_one: Vec<_> = core::iter::from_fn(|| other.poll_transmit(now)).collect();
        let mut all = Vec::new();
        let mut buffer = Segment::new((0, 0), 0, 0, Flags::default(), 0);
        endpoint.transmit_all(now, &mut buffer, |path, segment| all.push((path, segment.clone())));
        assert_eq!(all, one_by_one);
        assert_eq!(format!("{endpoint:?}"), format!("{other:?}"));
        all
    }

    #[test]
    fn bursts_equal_segments_sent_one_by_one() {
        for (mptcp, checksum) in [(false, false), (true, false), (true, true)] {
            let config = Config { mptcp, checksum, ..Config::default() };
            let mut client = Endpoint::client(config.clone(), Seed::new(1));
            let mut server = Endpoint::server(config, Seed::new(2));
            client.open(Instant::ZERO, PathId(0), false);
            // Two pieces of the send buffer, and a short segment at the end.
            client.write(&Span::new(0, 200_000));
            client.write(&Span::new(1 << 40, 100_100));
            let (mut now, mut received, mut segments) = (Instant::ZERO, 0, 0);
            for round in 0_u32..200 {
                now += Duration::from_millis(10);
                if round == 5 && mptcp {
                    client.open(now, PathId(1), false);
                }
                for (path, segment) in drain(now, &mut client) {
                    segments += u32::from(!segment.payload.is_empty());
                    // Some losses, for retransmissions between bursts.
                    if segments % 50 != 20 || segment.payload.is_empty() {
                        server.handle_segment(now, path, segment);
                    }
                }
                while let Some(data) = server.read(usize::MAX) {
                    received += data.len;
                }
                for (path, segment) in drain(now, &mut server) {
                    client.handle_segment(now, path, segment);
                }
                client.handle_timeout(now);
                server.handle_timeout(now);
            }
            assert_eq!(received, 300_100);
        }
    }
}
