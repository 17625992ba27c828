//! A plan: transfers, subflows, conditions of the paths, and the expected results.

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
    /// The client joins, and the server refuses.
    Refused,
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
}

/// Protocol at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expected {
    /// Multipath TCP.
    #[default]
    Mptcp,
    /// Plain TCP, after a fallback. A plan that corrupts data shows it by a failed checksum.
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
    /// Middleboxes of the first path, as in a scenario.
    pub boxes: &'static str,
    /// Data is corrupted in transit.
    pub corrupts: bool,
    /// Send and receive buffer, in bytes.
    pub buffers: Option<u64>,
    /// Counters of Linux that may increase, although they mean trouble in other plans.
    pub tolerates: &'static [&'static str],
}
