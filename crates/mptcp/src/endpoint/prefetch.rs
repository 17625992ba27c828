//! Memory of an endpoint, asked for before its segments come.

use super::Endpoint;
use prefetch::prefetch;
use wire::Payload;

/// What [`Endpoint::prefetch`] asks for. Where the memory of each stage lies, that of the stage before says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The endpoint itself.
    Endpoint,
    /// Its subflows.
    Subflows,
    /// What the subflows have in flight.
    InFlight,
}

impl<P: Payload> Endpoint<P> {
    /// Asks for the memory that the next segments will look at. Whoever has many connections and knows whose turn
    /// is next goes through the [stages](Stage) in their order, some time apart. `sends` says whether this end
    /// sends data, or only acknowledges them.
    #[inline]
    pub fn prefetch(&self, stage: Stage, sends: bool) {
        match stage {
            Stage::Endpoint => prefetch!(
                self.subflows,
                self.data_una,
                self.buffer.end,
                self.reorder.next,
                self.peer_fin,
                self.probe_tries,
                self.local_idsn,
                self.scheduler,
                self.autotune,
                self.config,
                self.data_fin,
            ),
            Stage::Subflows => self.subflows.iter().for_each(|subflow| subflow.prefetch(sends)),
            Stage::InFlight if sends => {
                self.subflows.iter().for_each(|subflow| subflow.sender.prefetch_in_flight());
            }
            Stage::InFlight => {}
        }
    }
}
