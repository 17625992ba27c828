//! Parameters of the connections of a run.

use crate::faults::ServerState;
use crate::stream::{Listener, SocketSettings};
use linux::Error;
use linux::clock::Clock;
use std::net::SocketAddr;
use std::sync::Arc;
use traffic::{Kind, TrafficConfig};
use units::{Bytes, Instant, Seed};

/// Parameters that all connections of a run share.
#[derive(Debug, Clone)]
pub(crate) struct RunContext {
    pub(crate) clock: Clock,
    /// End of the run, if no fault may postpone it.
    pub(crate) end: Instant,
    /// End of traffic that is drawn at random: twice the duration, as faults may postpone the end.
    pub(crate) drawn_until: Instant,
    /// Proxy between the device and the server. The server then uses TCP.
    pub(crate) proxy: Option<SocketAddr>,
    pub(crate) server_state: Arc<ServerState>,
    /// The server's program restarts during the run.
    pub(crate) server_restarts: bool,
}

/// Parameters of one connection.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionPlan {
    pub(crate) context: RunContext,
    pub(crate) traffic: TrafficConfig,
    pub(crate) server: SocketAddr,
    /// Settings of the sockets of the device and of the server.
    pub(crate) sockets: [SocketSettings; 2],
    /// Maximum of unacknowledged bytes that an application may write.
    pub(crate) send_buffer: u64,
    pub(crate) seed: Seed,
}

impl ConnectionPlan {
    /// True for a file that is transferred with offsets; see [`crate::traffic`].
    pub(crate) fn can_resume(&self) -> bool {
        self.context.server_restarts && matches!(self.traffic.kind, Kind::File { .. })
    }

    pub(crate) fn listen(&self) -> Result<Listener, Error> {
        self.sockets[1].listen(self.server.port())
    }

    /// The traffic from stream offset `offset` on; `None` beyond the end of a file.
    pub(crate) fn traffic_from(&self, offset: u64) -> Option<TrafficConfig> {
        let mut traffic = self.traffic.clone();
        if let Kind::File { size } = &mut traffic.kind {
            *size = Bytes::new(size.get().checked_sub(offset)?);
        }
        Some(traffic)
    }

    /// True if a stream that ends at `offset` is complete.
    pub(crate) fn is_complete_at(&self, offset: u64) -> bool {
        let is_empty = |traffic: TrafficConfig| traffic.kind == Kind::File { size: Bytes::ZERO };
        !self.can_resume() || self.traffic_from(offset).is_some_and(is_empty)
    }
}
