//! A new scenario from a capture.

use super::{TRANSPORT, Technology, comment_text, head, unique_names};
use crate::command::init::parse;
use crate::failure::{Failure, reason};
use capture::{ConnectionSummary, ReadError, SubflowSummary, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::net::IpAddr;
use std::path::Path;

/// Maximum number of connections in the scenario, those with the most bytes.
const MAX_CONNECTIONS: usize = 20;
/// Longest run of a new scenario, a day. A capture whose clock jumped seems to last for years.
const MAX_SECONDS: f64 = 86_400.0;
/// Connections with fewer bytes are left out.
const MIN_BYTES: u64 = 1000;
/// A direction with a smaller share of a path's payload carries acknowledgements only, so that its
/// rate is unknown.
const ACKNOWLEDGEMENTS: f64 = 0.02;
/// A path that is seen for so much less than its connections, in seconds, began late or ended early.
const MIN_ABSENCE: f64 = 1.0;
/// Shortest presence of a path that leaves, in seconds: times of a scenario are written in ms.
const MIN_PRESENCE: f64 = 0.002;

/// Observations of one address of the client.
#[derive(Debug, Default)]
struct Seen {
    interface: String,
    down_bytes: u64,
    up_bytes: u64,
    /// Down and up, with the headers of subflows.
    wire_bytes: [u64; 2],
    from_s: f64,
    to_s: f64,
    /// Start and end of the connections that use it.
    connections_s: Option<[f64; 2]>,
    /// Whether its last subflow was closed, or the client removed its address.
    is_closed: bool,
    /// Shortest round-trip time in ms.
    rtt_ms: Option<f64>,
}

impl Seen {
    fn add(&mut self, interface: &str, [down, up]: [u64; 2], wire: [u64; 2], [from_s, to_s]: [f64; 2]) {
        let is_first = self.to_s <= 0.0 && self.down_bytes + self.up_bytes == 0;
        interface.clone_into(&mut self.interface);
        self.down_bytes += down;
        self.up_bytes += up;
        self.wire_bytes = [self.wire_bytes[0] + wire[0], self.wire_bytes[1] + wire[1]];
        self.from_s = if is_first { from_s } else { self.from_s.min(from_s) };
        self.to_s = self.to_s.max(to_s);
    }

    /// Adds the time of a connection over this path.
    fn add_connection(&mut self, [from_s, to_s]: [f64; 2]) {
        let [start, end] = self.connections_s.unwrap_or([from_s, to_s]);
        self.connections_s = Some([start.min(from_s), end.max(to_s)]);
    }

    /// Time at which the path joined its connections, if they began without it.
    fn join_s(&self) -> Option<f64> {
        let [start, _] = self.connections_s?;
        Some(self.from_s).filter(|&from| from - start > MIN_ABSENCE && from < MAX_SECONDS)
    }

    /// Time at which the path left its connections, if they went on without it. A silent path may be
    /// idle.
    fn leave_s(&self) -> Option<f64> {
        let [_, end] = self.connections_s?;
        let lasts = self.to_s - self.from_s > MIN_PRESENCE;
        Some(self.to_s).filter(|&to| self.is_closed && lasts && end - to > MIN_ABSENCE && to < MAX_SECONDS)
    }

    /// Mean rate in Mbit/s.
    fn mbps(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e-6 / (self.to_s - self.from_s).max(0.1)
    }
}

/// One transfer of the scenario.
struct Transfer {
    down_bytes: u64,
    up_bytes: u64,
    from_s: f64,
}

/// The text of a scenario for `file` with the paths and transfers of a capture.
///
/// # Errors
/// If the capture cannot be read, or has no connection with data.
pub(crate) fn from_capture(path: &Path, file: &Path) -> Result<String, Failure> {
    let summary = read(path)?;
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let seen = paths(&summary);
    let transfers = transfers(&summary);
    if seen.is_empty() || transfers.is_empty() {
        return Err(Failure::Unreadable {
            message: format!("{} has no TCP connection with data", path.display()),
            hint: "`tandem capture FILE` shows what it holds".to_owned(),
        });
    }
    let text = text(&name, &summary, &seen, &transfers);
    parse(file, &text)?;
    Ok(text)
}

fn read(path: &Path) -> Result<Summary, Failure> {
    let unreadable = |why: String| Failure::Unreadable {
        message: format!("cannot read {}: {why}", path.display()),
        hint: "`tcpdump -w`, Wireshark and `tandem run --pcap` write readable captures".to_owned(),
    };
    let file = File::open(path).map_err(|error| unreadable(reason(&error)))?;
    capture::analyse(file, &mut |_| {}).map_err(|error| match error {
        ReadError::Io(error) => unreadable(reason(&error)),
        other => unreadable(other.to_string()),
    })
}

fn paths(summary: &Summary) -> BTreeMap<IpAddr, Seen> {
    let mut seen: BTreeMap<IpAddr, Seen> = BTreeMap::new();
    for connection in &summary.connections {
        for subflow in &connection.subflows {
            let one = seen.entry(subflow.client.ip()).or_default();
            if subflow.to_s >= one.to_s {
                one.is_closed = subflow.closed.is_some() || is_removed(summary, connection, subflow);
            }
            let bytes = [subflow.down.payload_bytes, subflow.up.payload_bytes];
            let wire = [subflow.down.wire_bytes, subflow.up.wire_bytes];
            one.add(&subflow.interface, bytes, wire, [subflow.from_s, subflow.to_s]);
            one.add_connection([connection.from_s, connection.to_s]);
            if let Some(rtt) = round_trip(subflow, far_end(connection)) {
                one.rtt_ms = Some(one.rtt_ms.map_or(rtt, |known| known.min(rtt)));
            }
        }
    }
    for plain in summary.tcp.iter().filter(|plain| plain.down_bytes + plain.up_bytes >= MIN_BYTES) {
        let one = seen.entry(plain.client.ip()).or_default();
        let bytes = [plain.down_bytes, plain.up_bytes];
        one.add(&plain.interface, bytes, bytes, [plain.from_s, plain.to_s]);
        one.add_connection([plain.from_s, plain.to_s]);
    }
    seen.retain(|_, one| one.down_bytes + one.up_bytes > 0);
    seen
}

/// Whether the client removed an address of the connection at about the end of this subflow. The
/// signal is repeated until an acknowledgement, perhaps for seconds: the first one counts.
fn is_removed(summary: &Summary, connection: &ConnectionSummary, subflow: &SubflowSummary) -> bool {
    let mut addresses = BTreeSet::new();
    summary
        .events
        .iter()
        .filter(|event| event.connection == connection.number && event.from == "client")
        .filter(|event| event.option == "REMOVE_ADDR" && addresses.insert(&event.detail))
        .any(|event| (event.at_s - subflow.to_s).abs() < MIN_ABSENCE)
}

/// The end that is not near the place of capture, if the place is known.
fn far_end(connection: &ConnectionSummary) -> Option<&'static str> {
    match connection.down.seen_near {
        Some("receiver") => Some("server"),
        Some("sender") => Some("client"),
        _ => None,
    }
}

/// The shortest round-trip time of a subflow. A handshake of several SYNs contains a timeout, and a
/// round trip from the place of capture to its near end is a part of the way.
fn round_trip(subflow: &SubflowSummary, far_end: Option<&str>) -> Option<f64> {
    let handshake = subflow.handshake.filter(|handshake| handshake.syns == 1);
    let handshake = handshake.and_then(|handshake| handshake.total_ms.or(handshake.answer_ms));
    let shortest = match (handshake, subflow.rtt) {
        (Some(handshake), Some(rtt)) if Some(rtt.to) == far_end => Some(handshake.min(rtt.min_ms)),
        (handshake, rtt) => handshake.or(rtt.map(|rtt| rtt.min_ms)),
    };
    shortest.filter(|rtt| *rtt > 0.0)
}

/// The connections with the most bytes, in order of their start.
fn transfers(summary: &Summary) -> Vec<Transfer> {
    let multipath = summary.connections.iter().map(|one| Transfer {
        down_bytes: one.down.bytes,
        up_bytes: one.up.bytes,
        from_s: one.from_s,
    });
    let plain = summary.tcp.iter().map(|one| Transfer {
        down_bytes: one.down_bytes,
        up_bytes: one.up_bytes,
        from_s: one.from_s,
    });
    let is_usable = |one: &Transfer| one.down_bytes + one.up_bytes >= MIN_BYTES && one.from_s < MAX_SECONDS;
    let mut all: Vec<Transfer> = multipath.chain(plain).filter(is_usable).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.down_bytes + one.up_bytes));
    all.truncate(MAX_CONNECTIONS);
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    all
}

fn text(name: &str, summary: &Summary, seen: &BTreeMap<IpAddr, Seen>, transfers: &[Transfer]) -> String {
    let last = transfers.last().map_or(0.0, |last| last.from_s);
    // At their mean rates the transfers take about as long as in the capture, and may end later.
    let seconds = (summary.duration_s * 1.5).max(last + 1.0).ceil().clamp(1.0, MAX_SECONDS);
    let mut text = String::new();
    let duration =
        format!("duration = \"{seconds}s\"          # the capture lasts {:.1} s", summary.duration_s);
    head(&mut text, &format!("Written by `tandem init --capture {}`.", comment_text(name)), &duration);
    let words = |(address, one): (&IpAddr, &Seen)| match one.interface.as_str() {
        "" => address.to_string(),
        interface if seen.values().filter(|other| other.interface == interface).count() == 1 => {
            interface.to_owned()
        }
        _ => address.to_string(),
    };
    let names = unique_names(&seen.iter().map(words).collect::<Vec<_>>());
    for (index, ((address, one), name)) in seen.iter().zip(&names).enumerate() {
        write_path(&mut text, index, name, *address, one);
    }
    let protocol = if summary.connections.is_empty() && seen.len() > 1 {
        "# The capture has plain TCP only; over `mptcp` each transfer uses all paths.\n"
    } else {
        ""
    };
    text.push_str(&TRANSPORT.replacen("[transport]", &format!("{protocol}[transport]"), 1));
    for transfer in transfers {
        let down = transfer.down_bytes >= transfer.up_bytes;
        let (direction, bytes, other) = if down {
            ("down", transfer.down_bytes, transfer.up_bytes)
        } else {
            ("up", transfer.up_bytes, transfer.down_bytes)
        };
        let remark = match other {
            0 => String::new(),
            _ => format!("               # {other} bytes in the other direction are left out"),
        };
        let _ = write!(
            text,
            "\n[[traffic]]\nkind = \"file\"{remark}\n\
             direction = \"{direction}\"\nsize = \"{bytes}B\"\nstart = \"{:.3}s\"\n",
            transfer.from_s
        );
    }
    text
}

fn write_path(text: &mut String, index: usize, name: &str, address: IpAddr, one: &Seen) {
    let technology = Technology::of(name, index);
    let _ = write!(
        text,
        "\n# Client {address}: {:.1} MB down, {:.1} MB up.\n[[path]]\nname = \"{name}\"\n\
         radio = \"{}\"   # assumed; `tandem profiles` lists others\n",
        one.down_bytes as f64 / 1e6,
        one.up_bytes as f64 / 1e6,
        technology.radio
    );
    if let Some(at) = one.join_s() {
        let _ = writeln!(text, "join_at = \"{at:.3}s\"   # its first packet");
    }
    if let Some(at) = one.leave_s() {
        let _ = writeln!(text, "leave_at = \"{at:.3}s\"   # its last packet");
    }
    let delay = if let Some(rtt) = one.rtt_ms {
        let _ = writeln!(text, "# delay: half of the shortest round-trip time seen, {rtt:.1} ms");
        format!("{:.3}ms", rtt / 2.0)
    } else {
        text.push_str("# delay assumed: the capture shows no round-trip time\n");
        technology.delay.to_owned()
    };
    text.push_str("# rate: the mean seen; the link itself may be faster\n");
    let bytes = [one.down_bytes, one.up_bytes];
    for (this, other, key) in [(0, 1, "down"), (1, 0, "up")] {
        let is_idle = (bytes[this] as f64) < ACKNOWLEDGEMENTS * bytes[other] as f64;
        let (rate, remark) = if is_idle {
            let assumed = (one.mbps(one.wire_bytes[other]) / 2.0).max(1.0);
            (assumed, "   # assumed: the capture has acknowledgements only")
        } else {
            (one.mbps(one.wire_bytes[this]).max(0.01), "")
        };
        let _ = writeln!(text, "{key} = {{ rate = \"{rate:.3}Mbps\", delay = \"{delay}\" }}{remark}");
    }
}
