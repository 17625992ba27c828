//! Datagrams beside the connections: no endpoint, only packets that take their part.

use crate::network::IP_HEADER;
use crate::packet::Label;
use crate::{BackgroundSpec, Experiment};
use traffic::{Direction, Packets};
use units::{Duration, Instant, Seed};
use wire::{Segment, Span};

/// One flow of datagrams and what became of it.
#[derive(Debug)]
pub struct Background {
    pub(crate) spec: BackgroundSpec,
    packets: Packets,
    pub(crate) offered: u64,
    pub(crate) offered_bytes: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    /// Of all that were delivered, in nanoseconds.
    pub(crate) delays: u128,
    pub(crate) longest: Duration,
}

impl Background {
    /// All that an experiment has. The same seed draws the same datagrams.
    pub fn all(experiment: &Experiment) -> Vec<Self> {
        let seed = experiment.seed.derive("background");
        let flows = experiment.background.iter().enumerate();
        flows.map(|(i, spec)| Self::new(spec, seed.derive(&i.to_string()))).collect()
    }

    fn new(spec: &BackgroundSpec, seed: Seed) -> Self {
        Self {
            spec: *spec,
            packets: Packets::new(spec.packets, spec.start..spec.stop.unwrap_or(Instant::MAX), seed),
            offered: 0,
            offered_bytes: 0,
            delivered: 0,
            delivered_bytes: 0,
            delays: 0,
            longest: Duration::ZERO,
        }
    }

    /// When the next datagram is due.
    pub fn next(&self) -> Option<Instant> {
        self.packets.due().map(|(at, _)| at)
    }

    /// Which path it takes, and which way.
    pub fn spec(&self) -> &BackgroundSpec {
        &self.spec
    }

    /// The size of the datagram that is due at `now`, in bytes with all headers. It counts as sent.
    pub fn due(&mut self, now: Instant) -> Option<u32> {
        let (_, size) = self.packets.due().filter(|&(at, _)| at <= now)?;
        self.packets.advance();
        let size = u32::from(size);
        self.offered += 1;
        self.offered_bytes += u64::from(size);
        Some(size)
    }

    /// A datagram of `size` bytes that was sent at `sent` has arrived.
    pub fn arrived(&mut self, now: Instant, sent: Instant, size: u32) {
        let delay = now.since(sent);
        self.delivered += 1;
        self.delivered_bytes += u64::from(size);
        self.delays += u128::from(delay.as_nanos());
        self.longest = self.longest.max(delay);
    }

    /// The datagram that is due at `now` and its size. Its number follows those of the connections, and
    /// what it carries lies where in time it was sent.
    pub(crate) fn send(&mut self, now: Instant, number: usize) -> Option<(u32, Label, Segment<Span>)> {
        let size = self.due(now)?;
        let mut segment = Segment::new(0, 0, 0, 0, wire::Flags::default(), 0);
        let headers = Segment::<Span>::HEADER_LEN as u32 + IP_HEADER;
        segment.payload = Span::new(now.as_nanos(), size.saturating_sub(headers));
        let down = self.spec.direction == Direction::Down;
        Some((size, Label { connection: number as u16, path: self.spec.path as u8, down }, segment))
    }

    pub(crate) fn receive(&mut self, now: Instant, size: u32, segment: &Segment<Span>) {
        self.arrived(now, Instant::from_nanos(segment.payload.offset), size);
    }
}
