//! A plan: transfers, subflows, conditions of the paths, and the expected results.

/// Counter of Linux's fallbacks for want of the third ACK's keys.
pub(crate) const LOST_KEYS: &str = "MPTcpExtMPCapableFallbackACK";

/// How a connection gets its second subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// It has only one.
    #[default]
    None,
    /// The client joins from its second address.
    Client,
    /// The same, as a backup.
    ClientBackup,
    /// The server announces a second address.
    Announced,
    /// The server announces a second address and a port.
    AnnouncedPort,
    /// The client announces an address and a port, and the server joins there.
    Server,
    /// The client joins, and the server refuses.
    Refused,
    /// The client joins, and a middlebox removes MP_JOIN.
    Stripped,
    /// The client joins, and the subflow fails with its first data.
    Failing,
}

impl Join {
    /// No second subflow is established.
    pub(crate) fn is_futile(self) -> bool {
        matches!(self, Self::Refused | Self::Stripped)
    }
}

/// Reset of the second subflow with a reason (MP_TCPRST; RFC 8684, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// The client resets, else the server.
    pub by_client: bool,
    /// Reason that Linux sends.
    pub linux: u8,
    /// Reason that Tandem sends.
    pub tandem: u8,
    /// MP_FAIL comes in its place, as for a failed checksum.
    pub fails: bool,
    /// Counter of Linux as the sender.
    pub sent: Option<&'static str>,
    /// Counter of Linux as the receiver. It does not look at the reason while a join is half-open.
    pub received: Option<&'static str>,
    /// Tandem as the receiver sees the reset: it belongs to the connection.
    pub seen: bool,
}

/// Action between the two halves of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Action {
    /// Nothing.
    #[default]
    None,
    /// The client, or the server, makes its second subflow a backup.
    SetBackup {
        /// The client does.
        client: bool,
    },
    /// The client, or the server, removes its second address.
    Remove {
        /// The client does.
        client: bool,
    },
    /// The client, or the server, aborts the connection.
    Abort {
        /// The client does.
        client: bool,
    },
    /// A path carries nothing for a while, during the second half of the data.
    Cut(usize),
    /// The second half of the data waits until the receive windows are full.
    FillWindows,
    /// The same, until the windows have been probed.
    ProbeWindows,
    /// The first path carries nothing while both ends close.
    CutClose,
    /// Nothing is sent for longer than the idle timeout of a translator.
    Idle,
}

/// Protocol at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expected {
    /// Multipath TCP.
    #[default]
    Mptcp,
    /// Plain TCP, after a fallback. A plan that corrupts data falls back in the end,
    /// by a failed checksum.
    Tcp,
    /// Multipath TCP or plain TCP, without the kernel's counters of fallbacks.
    Any,
}

/// Tasks of the hosts of a case.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Plan {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// Number of paths.
    pub paths: u8,
    /// Both ends use DSS checksums.
    pub checksum: bool,
    /// Bytes from the client to the server.
    pub up: u64,
    /// Bytes from the server to the client.
    pub down: u64,
    /// The server closes after the client has closed.
    pub client_closes_first: bool,
    /// The client closes after the server has closed.
    pub server_closes_first: bool,
    /// The end that closes last sends its second half only after the other has closed.
    pub half_close: bool,
    /// The applications begin to read with the second half of the data.
    pub reads_late: bool,
    /// The second subflow.
    pub join: Join,
    /// Between the halves of the data.
    pub action: Action,
    /// Protocol at the end.
    pub expected: Expected,
    /// Settings of each direction of the paths, as in a scenario.
    pub link: &'static str,
    /// Middleboxes of one path, as in a scenario.
    pub boxes: &'static str,
    /// Index of that path.
    pub box_path: u8,
    /// The expected reset of the second subflow.
    pub reset: Option<Reset>,
    /// Data is corrupted in transit.
    pub corrupts: bool,
    /// Send and receive buffer, in bytes.
    pub buffers: Option<u64>,
    /// Counters of Linux that may increase, although they mean trouble in other plans.
    pub tolerates: &'static [&'static str],
}

impl Plan {
    /// Part of `total` bytes that is sent at once. The rest follows the action.
    pub(crate) fn first_part(&self, total: u64) -> u64 {
        // A subflow that fails with its first data has to be established before.
        if self.join == Join::Failing { total / 1000 } else { total / 2 }
    }
}
