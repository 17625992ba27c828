//! Background traffic: flows of datagrams that share links and radios with the connections.

use crate::delay::DelayRecorder;
use crate::experiment::{BackgroundSpec, Experiment};
use crate::network::IP_HEADER_BYTES;
use crate::packet::PacketLabel;
use traffic::{Direction, Packets};
use units::{Instant, Seed};
use wire::{Segment, Span};

/// Sender and receiver of one flow of datagrams, with its counters.
#[derive(Debug)]
pub struct Background {
    pub(crate) spec: BackgroundSpec,
    /// Index in the network of the device's first path.
    pub(crate) first_path: usize,
    packets: Packets,
    pub(crate) offered: u64,
    pub(crate) offered_bytes: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) delays: DelayRecorder,
}

impl Background {
    /// All background flows of an experiment, until `end`. The same seed gives the same datagrams.
    pub fn all(experiment: &Experiment, end: Instant) -> Vec<Self> {
        let seed = experiment.seed.derive("background");
        let flows = experiment.background.iter().enumerate();
        flows.map(|(i, spec)| Self::new(spec, end, seed.derive(&i.to_string()))).collect()
    }

    fn new(spec: &BackgroundSpec, end: Instant, seed: Seed) -> Self {
        let until = spec.stop.map_or(end, |stop| stop.min(end));
        Self {
            spec: *spec,
            first_path: 0,
            packets: Packets::new(spec.packets, spec.start..until, seed),
            offered: 0,
            offered_bytes: 0,
            delivered: 0,
            delivered_bytes: 0,
            delays: DelayRecorder::default(),
        }
    }

    /// Time at which the next datagram is due.
    pub fn next(&self) -> Option<Instant> {
        self.packets.due().map(|(at, _)| at)
    }

    /// Configuration of the flow.
    pub fn spec(&self) -> &BackgroundSpec {
        &self.spec
    }

    /// Takes the datagram that is due at `now` and counts it as sent. Returns its size in bytes
    /// with all headers.
    pub fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (_, size) = self.packets.due().filter(|&(at, _)| at <= now)?;
        self.packets.advance();
        let size = u32::from(size);
        self.offered += 1;
        self.offered_bytes += u64::from(size);
        Some(size)
    }

    /// Counts the arrival at `now` of a datagram of `size` bytes that was sent at `sent`.
    pub fn on_arrival(&mut self, now: Instant, sent: Instant, size: u32) {
        self.delivered += 1;
        self.delivered_bytes += u64::from(size);
        self.delays.add(now.since(sent).as_nanos());
    }

    /// Sends the datagram that is due at `now`: its size, its label with flow number `number`
    /// (flows follow the connections), and a segment whose payload offset holds the time of
    /// sending.
    pub(crate) fn send(&mut self, now: Instant, number: usize) -> Option<(u32, PacketLabel, Segment<Span>)> {
        let size = self.take_due(now)?;
        let mut segment = Segment::new((0, 0), 0, 0, wire::Flags::default(), 0);
        let headers = Segment::<Span>::HEADER_LEN as u32 + IP_HEADER_BYTES;
        segment.payload = Span::new(now.as_nanos(), size.saturating_sub(headers));
        let down = self.spec.direction == Direction::Down;
        let label = PacketLabel::new(number, self.first_path + self.spec.path, down);
        Some((size, label, segment))
    }

    /// Receives a datagram made by [`send`](Self::send).
    pub(crate) fn receive(&mut self, now: Instant, size: u32, segment: &Segment<Span>) {
        self.on_arrival(now, Instant::from_nanos(segment.payload.offset), size);
    }
}
