//! Segments whose data the host has no memory for.

use super::Endpoint;
use crate::PathId;
use units::Instant;
use wire::{Dss, Flags, MptcpSignal, Payload, Segment};

impl<P: Payload> Endpoint<P> {
    /// Handles a segment and drops its data: the acknowledgement in it may release memory. The peer is
    /// told by an acknowledgement that the data is still missing. The first data of a connection, which
    /// has the keys, is ignored.
    pub fn handle_without_data(&mut self, now: Instant, path: PathId, segment: &Segment<P>) {
        if matches!(segment.signal, Some(MptcpSignal::Capable { .. })) {
            return;
        }
        let mut ack = segment.clone();
        ack.payload = P::empty();
        // A FIN comes after the data, and a mapping belongs to it.
        ack.flags = Flags::from_bits(ack.flags.bits() & !Flags::FIN.with(Flags::PSH).bits());
        ack.dss = ack.dss.map(|dss| Dss { mapping: None, data_fin: false, ..dss });
        self.data_dropped = true;
        self.handle_segment(now, path, ack);
        self.data_dropped = false;
    }
}
