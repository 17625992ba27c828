//! Signals with a row of their own, and counts of all options.

use core::net::IpAddr;
use serde::Serialize;
use wire::{MptcpSignal, RecOption, tcp::TcpOption};

/// A signal on a subflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Seconds since the beginning of the capture.
    pub at_s: f64,
    /// Number of the connection, from 1.
    pub connection: usize,
    /// Number of the subflow in it, from 1.
    pub subflow: usize,
    /// Sender: `client` or `server`.
    pub from: &'static str,
    /// Name of the option.
    pub option: &'static str,
    /// Content.
    pub detail: String,
}

/// Names of the counters, in display order.
const NAMES: [&str; 17] = [
    "MP_CAPABLE",
    "MP_JOIN",
    "DSS with a mapping",
    "DSS with a DATA_ACK",
    "DSS with DATA_FIN",
    "ADD_ADDR",
    "ADD_ADDR echo",
    "REMOVE_ADDR",
    "MP_PRIO",
    "MP_FAIL",
    "MP_FASTCLOSE",
    "MP_TCPRST",
    "MPTCP-rec offer",
    "MPTCP-rec report",
    "MPTCP of another kind",
    "SACK",
    "Timestamps",
];

/// Option kind of MPTCP (RFC 8684, section 7.1).
const MPTCP: u8 = 30;

/// Number of segments with each option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    counts: [u64; NAMES.len()],
    /// Invalid options, or rests of options.
    pub malformed: u64,
}

impl Options {
    /// Names and counts of the options seen.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        NAMES.into_iter().zip(self.counts).filter(|(_, count)| *count > 0)
    }

    pub(crate) fn count(&mut self, option: &TcpOption) {
        let mut one = |i: usize| self.counts[i] += 1;
        match option {
            TcpOption::Dss(dss) => {
                for (i, has) in [(2, dss.mapping.is_some()), (3, dss.data_ack.is_some()), (4, dss.data_fin)] {
                    if has {
                        one(i);
                    }
                }
            }
            TcpOption::Signal(signal) => one(match signal {
                MptcpSignal::Capable { .. } => 0,
                MptcpSignal::JoinSyn { .. }
                | MptcpSignal::JoinSynAck { .. }
                | MptcpSignal::JoinAck { .. } => 1,
                MptcpSignal::AddAddress { hmac: Some(_), .. } => 5,
                MptcpSignal::AddAddress { hmac: None, .. } => 6,
                MptcpSignal::RemoveAddress { .. } => 7,
                MptcpSignal::Priority { .. } => 8,
                MptcpSignal::Fail { .. } => 9,
                MptcpSignal::FastClose { .. } => 10,
                MptcpSignal::Reset { .. } => 11,
            }),
            TcpOption::Rec(RecOption::Offer { .. }) => one(12),
            TcpOption::Rec(RecOption::Report(_)) => one(13),
            TcpOption::Unknown { kind: MPTCP, .. } => one(14),
            TcpOption::Sack(_) => one(15),
            TcpOption::Timestamps(_) => one(16),
            TcpOption::Malformed { .. } => self.malformed += 1,
            _ => {}
        }
    }
}

/// True for options of Multipath TCP.
pub(crate) fn is_mptcp(option: &TcpOption) -> bool {
    matches!(
        option,
        TcpOption::Dss(_) | TcpOption::Signal(_) | TcpOption::Rec(_) | TcpOption::Unknown { kind: MPTCP, .. }
    )
}

/// Returns name and content of a signal; `None` for other options.
pub(crate) fn describe(option: &TcpOption) -> Option<(&'static str, String)> {
    Some(match option {
        TcpOption::Signal(signal) => match *signal {
            MptcpSignal::AddAddress { address_id, address, port, hmac } => {
                let at = match (port, address) {
                    (None, _) => address.to_string(),
                    (Some(port), IpAddr::V4(address)) => format!("{address}:{port}"),
                    (Some(port), IpAddr::V6(address)) => format!("[{address}]:{port}"),
                };
                let name = if hmac.is_some() { "ADD_ADDR" } else { "ADD_ADDR echo" };
                (name, format!("address {address_id} is {at}"))
            }
            MptcpSignal::RemoveAddress { ids, count } => {
                let ids: Vec<String> = ids.iter().take(usize::from(count)).map(u8::to_string).collect();
                ("REMOVE_ADDR", format!("address {}", ids.join(", ")))
            }
            MptcpSignal::Priority { backup, address_id } => {
                let what = if backup { "backup" } else { "not a backup" };
                let of = address_id.map_or_else(String::new, |id| format!(", address {id}"));
                ("MP_PRIO", format!("{what}{of}"))
            }
            MptcpSignal::Fail { dsn } => ("MP_FAIL", format!("at DSN {dsn}")),
            MptcpSignal::FastClose { .. } => ("MP_FASTCLOSE", String::new()),
            MptcpSignal::Reset { transient, reason } => {
                let why = match reason {
                    0 => "unspecified",
                    1 => "MPTCP-specific",
                    2 => "no resources",
                    3 => "prohibited",
                    4 => "too much outstanding data",
                    5 => "unacceptable performance",
                    6 => "a middlebox",
                    _ => "an unknown reason",
                };
                let passing = if transient { ", transient" } else { "" };
                ("MP_TCPRST", format!("{why} ({reason}){passing}"))
            }
            MptcpSignal::Capable { .. }
            | MptcpSignal::JoinSyn { .. }
            | MptcpSignal::JoinSynAck { .. }
            | MptcpSignal::JoinAck { .. } => return None,
        },
        TcpOption::Rec(RecOption::Offer { version }) => ("MPTCP-rec offer", format!("version {version}")),
        _ => return None,
    })
}
