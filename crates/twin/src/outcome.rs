//! Behaviour of a host in an exchange, seen by its application and by the peer.

use std::fmt;

/// How the connection ended for the server's application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum End {
    /// The application was never given a connection.
    #[default]
    NotAccepted,
    /// The connection is open.
    Open,
    /// The peer sends no more data.
    Eof,
    /// The connection failed.
    Failed,
}

/// Behaviour of one server in an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Bytes that the application read.
    pub read: Vec<u8>,
    /// How the connection ended for the application.
    pub end: End,
    /// The SYN/ACK had MP_CAPABLE.
    pub offers_mptcp: bool,
    /// Bytes that the server acknowledged on the first subflow, the SYN and a FIN among them.
    pub acknowledged: u32,
    /// Highest DATA_ACK, relative to the client's initial data sequence number.
    pub data_acknowledged: u32,
    /// The server reset the first subflow.
    pub reset: bool,
    /// The server sent a FIN on the first subflow.
    pub fin: bool,
    /// The server sent MP_FAIL.
    pub mp_fail: bool,
    /// The server sent MP_FASTCLOSE.
    pub fast_close: bool,
    /// Number of joins answered by SYN/ACK, and of joins reset.
    pub joins: [u32; 2],
    /// Joins of the host to an announced address: SYNs, resets, and third ACKs with MP_JOIN.
    pub own_joins: [u32; 3],
    /// Packets that cannot be decoded, or have a wrong checksum.
    pub invalid: u32,
}

impl Outcome {
    /// Whether a member depends on the delay of an acknowledgement.
    pub(crate) fn is_delayed(member: &str) -> bool {
        matches!(member, "acknowledged" | "data_acknowledged")
    }

    /// Names of the members that differ, in a fixed order.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let members = [
            ("read", self.read != other.read),
            ("end", self.end != other.end),
            ("offers_mptcp", self.offers_mptcp != other.offers_mptcp),
            ("acknowledged", self.acknowledged != other.acknowledged),
            ("data_acknowledged", self.data_acknowledged != other.data_acknowledged),
            ("reset", self.reset != other.reset),
            ("fin", self.fin != other.fin),
            ("mp_fail", self.mp_fail != other.mp_fail),
            ("fast_close", self.fast_close != other.fast_close),
            ("joins", self.joins != other.joins),
            ("own_joins", self.own_joins != other.own_joins),
            ("invalid", self.invalid != other.invalid),
        ];
        members.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, end, acknowledged, data_acknowledged, joins, .. } = self;
        write!(f, "{} B read, {end:?}, ack {acknowledged}, data ack {data_acknowledged}", read.len())?;
        for (name, is_set) in [
            ("MPTCP", self.offers_mptcp),
            ("RST", self.reset),
            ("FIN", self.fin),
            ("MP_FAIL", self.mp_fail),
            ("MP_FASTCLOSE", self.fast_close),
        ] {
            if is_set {
                write!(f, ", {name}")?;
            }
        }
        if *joins != [0, 0] {
            write!(f, ", joins {} accepted {} reset", joins[0], joins[1])?;
        }
        let [syns, resets, acks] = self.own_joins;
        if syns > 0 {
            write!(f, ", own joins {syns}, of which {resets} reset, {acks} third ACKs")?;
        }
        if self.invalid > 0 {
            write!(f, ", {} invalid packets", self.invalid)?;
        }
        Ok(())
    }
}
