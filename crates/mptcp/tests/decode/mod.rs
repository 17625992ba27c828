//! Decodes traces with `tshark` and compares every field with the segment.
#![allow(unreachable_pub)]

use super::pair::{CLIENT, Pair, Seen};
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use wire::pcapng::{Direction, Writer};
use wire::{Dss, MptcpSignal, Segment, Span, capture, dss_checksum};

/// Fields that are compared. A field that the segment does not have must not be decoded.
const FIELDS: [&str; 43] = [
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.len",
    "ip.dsfield.ecn",
    "ipv6.tclass.ecn",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.options.mptcp.subtype",
    "tcp.options.mptcp.version",
    "tcp.options.mptcp.checksumreq.flags",
    "tcp.options.mptcp.extensibility.flag",
    "tcp.options.mptcp.nomoresubflows.flag",
    "tcp.options.mptcp.sha256.flag",
    "tcp.options.mptcp.sendkey",
    "tcp.options.mptcp.recvkey",
    "tcp.options.mptcp.backup.flag",
    "tcp.options.mptcp.addrid",
    "tcp.options.mptcp.recvtok",
    "tcp.options.mptcp.sendrand",
    "tcp.options.mptcp.sendtrunchmac",
    "tcp.options.mptcp.sendhmac",
    "tcp.options.mptcp.dataack8.flag",
    "tcp.options.mptcp.datafin.flag",
    "tcp.options.mptcp.rawdataack",
    "tcp.options.mptcp.rawdataseqno",
    "tcp.options.mptcp.subflowseqno",
    "tcp.options.mptcp.datalvllen",
    "tcp.options.mptcp.checksum",
    "tcp.options.mptcp.echo",
    "tcp.options.mptcp.ipv4",
    "tcp.options.mptcp.ipv6",
    "tcp.options.mptcp.port",
    "tcp.options.mptcp.addaddrtrunchmac",
    "tcp.options.mptcp.flag_T.flag",
    "tcp.options.mptcp.rst_reason",
];
/// Further fields.
const OTHERS: [&str; 10] = [
    "tcp.stream",
    "mptcp.stream",
    "tcp.options",
    "tcp.payload",
    "mptcp.expected_token",
    "mptcp.expected_idsn",
    "tcp.checksum.status",
    "ip.checksum.status",
    "_ws.malformed",
    "_ws.expert.severity",
];
const PREFERENCES: [&str; 3] =
    ["tcp.check_checksum:TRUE", "ip.check_checksum:TRUE", "tcp.relative_sequence_numbers:FALSE"];

/// Expert severity of an error (Wireshark's `PI_ERROR`).
const SEVERITY_ERROR: u32 = 0x0080_0000;

/// A decoded frame: for each field its values, in the order of the options.
pub type Frame = BTreeMap<&'static str, Vec<String>>;

/// A decoded trace.
pub struct Reading {
    frames: Vec<Frame>,
}

/// Decodes the trace of `pair` and compares it with the segments.
pub fn read(name: &str, pair: &Pair) -> Reading {
    let frames = decode(name, &pair.trace);
    if let Err(difference) = compare(&frames, &pair.trace) {
        panic!("{name}: {difference}");
    }
    Reading { frames }
}

/// Addresses of both ends of a path: IPv4 on even paths, IPv6 on odd ones.
fn addresses(path: u8) -> [IpAddr; 2] {
    // Documentation addresses (RFC 5737, RFC 3849).
    let texts = if path.is_multiple_of(2) {
        [format!("198.51.100.{path}"), "192.0.2.1".into()]
    } else {
        [format!("2001:db8::1:{path}"), "2001:db8::2".into()]
    };
    texts.map(|text| text.parse().unwrap())
}

/// The trace as a capture at the senders.
fn write(trace: &[Seen]) -> Vec<u8> {
    let mut writer = Writer::new("tandem");
    let interface = writer.interface("all", "", 0);
    for seen in trace {
        let [client, server] = addresses(seen.path.0);
        let (source, destination, direction) = if seen.from == CLIENT {
            (client, server, Direction::Outbound)
        } else {
            (server, client, Direction::Inbound)
        };
        let bytes = capture::packet(source, destination, &seen.segment, usize::MAX).unwrap();
        assert_eq!(bytes.len(), capture::packet_len(destination, &seen.segment));
        writer.packet(interface, seen.at, direction, bytes.len(), &bytes);
    }
    writer.into_bytes()
}

/// Decodes a trace, and checks that tshark reports no error.
pub fn decode(name: &str, trace: &[Seen]) -> Vec<Frame> {
    // Tests run in parallel and may use the same name.
    let thread = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "");
    let file = format!("tandem-{}-{thread}-{name}.pcapng", std::process::id());
    let file = std::env::temp_dir().join(file);
    std::fs::write(&file, write(trace)).unwrap();
    let names: Vec<&'static str> = FIELDS.into_iter().chain(OTHERS).collect();
    let mut command = Command::new("tshark");
    command.arg("-n");
    for preference in PREFERENCES {
        command.args(["-o", preference]);
    }
    command.args(["-T", "fields", "-E", "separator=|", "-r"]).arg(&file);
    for name in &names {
        command.args(["-e", name]);
    }
    let output = command.output();
    std::fs::remove_file(&file).unwrap();
    let output = output.expect("run `tshark` (Debian package: tshark)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let values = |text: &str| text.split(',').filter(|v| !v.is_empty()).map(canonical).collect();
    let mut frames: Vec<Frame> =
        text.lines().map(|line| names.iter().copied().zip(line.split('|').map(values)).collect()).collect();
    for (frame, seen) in frames.iter_mut().zip(trace) {
        let shown = dss_checksum_of(&bytes_of(frame, "tcp.options"));
        let checksums = frame.get_mut("tcp.options.mptcp.checksum").unwrap();
        if checksums.is_empty() {
            checksums.extend(shown.map(|checksum| checksum.to_string()));
        }
        let severities = &frame["_ws.expert.severity"];
        let error = severities.iter().any(|severity| severity.parse::<u32>().unwrap() >= SEVERITY_ERROR);
        assert!(!error && frame["_ws.malformed"].is_empty(), "{name}: {seen:?}\n{frame:?}");
        assert_eq!(frame["tcp.checksum.status"], ["1"], "{name}: {seen:?}");
        let ip: &[&str] = if seen.path.0.is_multiple_of(2) { &["1"] } else { &[] };
        assert_eq!(frame["ip.checksum.status"], ip, "{name}: {seen:?}");
    }
    frames
}

/// Bytes of a field in hexadecimal.
fn bytes_of(frame: &Frame, name: &str) -> Vec<u8> {
    let hex = frame[name].first().map_or("", String::as_str).replace(':', "");
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.as_bytes().chunks(2).map(byte).collect()
}

/// The checksum of a DSS, which tshark 4.0 does not show.
fn dss_checksum_of(mut options: &[u8]) -> Option<u16> {
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [30, len, subtype, flags, ..] if subtype >> 4 == 2 => {
                // A DSS with a mapping has a length of 4n + 2 without a checksum, and 4n with one.
                let has = flags & 0x04 != 0 && len.is_multiple_of(4);
                let at = usize::from(len) - 2;
                return has.then(|| u16::from_be_bytes([options[at], options[at + 1]]));
            }
            [_, len, ..] => options = &options[len.into()..],
            _ => return None,
        }
    }
}

/// Normalizes a value: hexadecimal numbers as decimal, booleans as 0 or 1.
fn canonical(text: &str) -> String {
    match text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16)) {
        Some(Ok(number)) => number.to_string(),
        _ if text == "True" => "1".into(),
        _ if text == "False" => "0".into(),
        _ => text.into(),
    }
}

/// Checks that every frame has the fields of its segment and no others.
pub fn compare(frames: &[Frame], trace: &[Seen]) -> Result<(), String> {
    if frames.len() != trace.len() {
        return Err(format!("{} frames of {} segments", frames.len(), trace.len()));
    }
    for (frame, seen) in frames.iter().zip(trace) {
        let fields = fields(&seen.segment, seen.path.0.is_multiple_of(2));
        for name in FIELDS {
            let expected: Vec<&str> =
                fields.iter().filter(|(of, _)| *of == name).map(|(_, value)| value.as_str()).collect();
            if frame[name] != expected {
                return Err(format!("{name}: {:?} decodes as {:?}, in {seen:?}", expected, frame[name]));
            }
        }
    }
    Ok(())
}

type Fields = Vec<(&'static str, String)>;

/// Fields of a segment by tshark's names.
fn fields(segment: &Segment<Span>, four: bool) -> Fields {
    let mut out: Fields = vec![
        ("tcp.srcport", segment.source.to_string()),
        ("tcp.dstport", segment.destination.to_string()),
        ("tcp.seq_raw", segment.seq.to_string()),
        ("tcp.ack_raw", segment.ack.to_string()),
        ("tcp.flags", segment.flags.bits().to_string()),
        ("tcp.window_size_value", segment.window.to_string()),
        ("tcp.len", segment.payload.len.to_string()),
        (if four { "ip.dsfield.ecn" } else { "ipv6.tclass.ecn" }, (segment.ecn as u8).to_string()),
    ];
    let mut push = |name, value: Option<u64>| out.extend(value.map(|value| (name, value.to_string())));
    push("tcp.options.mss_val", segment.mss.map(u64::from));
    push("tcp.options.wscale.shift", segment.window_scale.map(u64::from));
    push("tcp.options.timestamp.tsval", segment.timestamps.map(|t| t.value.into()));
    push("tcp.options.timestamp.tsecr", segment.timestamps.map(|t| t.echo.into()));
    for &(left, right) in segment.sack.as_slice() {
        push("tcp.options.sack_le", Some(left.into()));
        push("tcp.options.sack_re", Some(right.into()));
    }
    if let Some(dss) = &segment.dss {
        push_dss(dss, &mut out);
    }
    if let Some(signal) = &segment.signal {
        push_signal(signal, &mut out);
    }
    out
}

fn push_dss(dss: &Dss, out: &mut Fields) {
    let mut push = |name, value: Option<u64>| out.extend(value.map(|value| (name, value.to_string())));
    push("tcp.options.mptcp.subtype", Some(2));
    push("tcp.options.mptcp.datafin.flag", Some(dss.data_fin.into()));
    push("tcp.options.mptcp.dataack8.flag", Some((dss.data_ack.is_some() && !dss.ack_is_short).into()));
    push("tcp.options.mptcp.rawdataack", dss.data_ack);
    push("tcp.options.mptcp.rawdataseqno", dss.mapping.map(|map| map.dsn));
    push("tcp.options.mptcp.subflowseqno", dss.mapping.map(|map| map.ssn.into()));
    push("tcp.options.mptcp.datalvllen", dss.mapping.map(|map| map.len.into()));
    push("tcp.options.mptcp.checksum", dss.mapping.and_then(|map| map.checksum).map(u64::from));
}

fn push_signal(signal: &MptcpSignal, out: &mut Fields) {
    let mut push = |name, value: Option<u64>| out.extend(value.map(|value| (name, value.to_string())));
    let subtype = "tcp.options.mptcp.subtype";
    let backup_flag = "tcp.options.mptcp.backup.flag";
    let id = "tcp.options.mptcp.addrid";
    match *signal {
        MptcpSignal::Capable {
            version,
            checksum,
            deny_join,
            hmac_sha256,
            extension,
            sender_key,
            receiver_key,
            data,
        } => {
            push(subtype, Some(0));
            push("tcp.options.mptcp.version", Some(version.into()));
            push("tcp.options.mptcp.checksumreq.flags", Some(checksum.into()));
            push("tcp.options.mptcp.extensibility.flag", Some(extension.into()));
            push("tcp.options.mptcp.nomoresubflows.flag", Some(deny_join.into()));
            push("tcp.options.mptcp.sha256.flag", Some(hmac_sha256.into()));
            push("tcp.options.mptcp.sendkey", sender_key);
            push("tcp.options.mptcp.recvkey", receiver_key);
            push("tcp.options.mptcp.datalvllen", data.map(|(len, _)| len.into()));
            push("tcp.options.mptcp.checksum", data.and_then(|(_, checksum)| checksum).map(u64::from));
        }
        MptcpSignal::JoinSyn { backup, address_id, token, nonce } => {
            push(subtype, Some(1));
            push(backup_flag, Some(backup.into()));
            push(id, Some(address_id.into()));
            push("tcp.options.mptcp.recvtok", Some(token.into()));
            push("tcp.options.mptcp.sendrand", Some(nonce.into()));
        }
        MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce } => {
            push(subtype, Some(1));
            push(backup_flag, Some(backup.into()));
            push(id, Some(address_id.into()));
            push("tcp.options.mptcp.sendtrunchmac", Some(hmac));
            push("tcp.options.mptcp.sendrand", Some(nonce.into()));
        }
        MptcpSignal::JoinAck { hmac } => {
            push(subtype, Some(1));
            let hex = hmac
                .iter()
                .flat_map(|byte| {
                    [byte >> 4, byte & 0xf].map(|digit| char::from_digit(digit.into(), 16).unwrap())
                })
                .collect();
            out.push(("tcp.options.mptcp.sendhmac", hex));
        }
        MptcpSignal::AddAddress { address_id, address, port, hmac } => {
            push(subtype, Some(3));
            push("tcp.options.mptcp.echo", Some(hmac.is_none().into()));
            push(id, Some(address_id.into()));
            push("tcp.options.mptcp.port", port.map(u64::from));
            push("tcp.options.mptcp.addaddrtrunchmac", hmac);
            let name = if address.is_ipv4() { "tcp.options.mptcp.ipv4" } else { "tcp.options.mptcp.ipv6" };
            out.push((name, address.to_string()));
        }
        MptcpSignal::RemoveAddress { ids, count } => {
            push(subtype, Some(4));
            ids[..count.into()].iter().for_each(|&one| push(id, Some(one.into())));
        }
        MptcpSignal::Priority { backup, address_id } => {
            push(subtype, Some(5));
            push(backup_flag, Some(backup.into()));
            push(id, address_id.map(u64::from));
        }
        MptcpSignal::Fail { dsn } => {
            push(subtype, Some(6));
            push("tcp.options.mptcp.rawdataseqno", Some(dsn));
        }
        MptcpSignal::FastClose { key } => {
            push(subtype, Some(7));
            push("tcp.options.mptcp.recvkey", Some(key));
        }
        MptcpSignal::Reset { transient, reason } => {
            push(subtype, Some(8));
            push("tcp.options.mptcp.flag_T.flag", Some(transient.into()));
            push("tcp.options.mptcp.rst_reason", Some(reason.into()));
        }
    }
}

impl Reading {
    /// All values of a field.
    pub fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.frames.iter().flat_map(move |frame| &frame[name]).map(String::as_str)
    }
    /// Number of options with an MPTCP subtype.
    pub fn count(&self, subtype: u8) -> usize {
        let subtype = subtype.to_string();
        self.all("tcp.options.mptcp.subtype").filter(|&value| value == subtype).count()
    }
    /// The MPTCP subtypes that occur.
    pub fn subtypes(&self) -> Vec<u8> {
        let all: BTreeSet<u8> = self.all("tcp.options.mptcp.subtype").map(|s| s.parse().unwrap()).collect();
        all.into_iter().collect()
    }
    /// Number of MPTCP connections, identified by keys and tokens.
    pub fn connections(&self) -> usize {
        self.all("mptcp.stream").collect::<BTreeSet<_>>().len()
    }
    /// Number of TCP streams that belong to an MPTCP connection.
    pub fn subflows(&self) -> usize {
        let of = |frame: &&Frame| !frame["mptcp.stream"].is_empty();
        self.frames.iter().filter(of).map(|frame| &frame["tcp.stream"]).collect::<BTreeSet<_>>().len()
    }
    /// Number of packets with this ECN field.
    pub fn ecn(&self, bits: &str) -> usize {
        self.all("ip.dsfield.ecn").chain(self.all("ipv6.tclass.ecn")).filter(|&value| value == bits).count()
    }
    /// Number of right and of wrong data checksums over the decoded bytes.
    pub fn checksums(&self) -> (usize, usize) {
        let (mut right, mut wrong) = (0, 0);
        for frame in &self.frames {
            let number = |name: &str| -> Option<u64> { Some(frame[name].first()?.parse().unwrap()) };
            let Some(checksum) = number("tcp.options.mptcp.checksum") else { continue };
            let len = number("tcp.options.mptcp.datalvllen").unwrap() as u16;
            let (dsn, ssn) = match number("tcp.options.mptcp.rawdataseqno") {
                Some(dsn) => (dsn, number("tcp.options.mptcp.subflowseqno").unwrap() as u32),
                // MP_CAPABLE maps the first data.
                None => (number("mptcp.expected_idsn").unwrap().wrapping_add(1), 1),
            };
            let bytes = bytes_of(frame, "tcp.payload");
            if u64::from(dss_checksum(dsn, ssn, len, &bytes)) == checksum {
                right += 1;
            } else {
                wrong += 1;
            }
        }
        (right, wrong)
    }
}
