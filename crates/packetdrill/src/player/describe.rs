//! A segment of the endpoint in the notation of scripts, for messages.

use super::Player;
use super::flow::Sent;
use crate::crypto;
use core::fmt::Write;
use wire::Flags;

impl Player {
    /// Flags, relative numbers and options.
    pub(super) fn describe(&self, sent: &Sent) -> String {
        let (connection, segment) = (&self.connections[sent.connection], &sent.segment);
        let flow = &connection.flows[sent.flow];
        let start = segment.seq.wrapping_sub(flow.local_isn);
        let len = segment.payload.len;
        let mut text = format!("{:?} {start}:{}({len})", segment.flags, start.wrapping_add(len));
        if segment.flags.has(Flags::ACK) {
            let _ = write!(text, " ack {}", segment.ack.wrapping_sub(flow.remote_isn));
        }
        if let Some(dss) = segment.dss {
            let (local, remote) = connection.keys().unwrap_or_default();
            let relative =
                |number: u64, key: u64| (number as u32).wrapping_sub(crypto::initial_dsn(key) as u32);
            text += " dss";
            if let Some(ack) = dss.data_ack {
                let _ = write!(text, " dack={}", relative(ack, remote));
            }
            if let Some(map) = dss.mapping {
                let _ = write!(text, " dsn={} ssn={} dll={}", relative(map.dsn, local), map.ssn, map.len);
            }
            if dss.data_fin {
                text += " fin";
            }
        }
        if let Some(signal) = segment.signal {
            let name = format!("{signal:?}");
            let _ = write!(text, " {}", name.split(' ').next().unwrap_or(""));
        }
        text
    }
}
