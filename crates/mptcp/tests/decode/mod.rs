//! What `tshark` reads in a trace, held against what the segments meant.
#![allow(unreachable_pub)]

use super::pair::{CLIENT, Pair, Seen};
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use wire::pcapng::{Direction, Writer};
use wire::{Dss, MptcpSignal, Segment, Span, capture, dss_checksum};

/// What a segment says, by the names that tshark has for it. What is not said must not be read.
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
/// What it says beside.
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

/// Expert's severity "error" (Wireshark's `PI_ERROR`).
const ERROR: u32 = 0x0080_0000;

/// A frame as tshark reads it: for each name the values, in the order of the options.
pub type Frame = BTreeMap<&'static str, Vec<String>>;

/// What tshark reads in a trace.
pub struct Reading {
    frames: Vec<Frame>,
}

/// Decodes the trace and holds it against the segments. `None` where there is no tshark.
pub fn read(name: &str, pair: &Pair) -> Option<Reading> {
    let frames = decode(name, &pair.trace)?;
    if let Err(difference) = compare(&frames, &pair.trace) {
        panic!("{name}: {difference}");
    }
    Some(Reading { frames })
}

/// The addresses of a path's ends: every other path has IPv6.
fn addresses(path: u8) -> [IpAddr; 2] {
    // From the address blocks for documentation (RFC 5737, RFC 3849).
    let texts = if path.is_multiple_of(2) {
        [format!("198.51.100.{path}"), "192.0.2.1".into()]
    } else {
        [format!("2001:db8::1:{path}"), "2001:db8::2".into()]
    };
    texts.map(|text| text.parse().unwrap())
}

/// The trace as a capture in which every segment is seen where it is sent.
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

/// tshark's reading of a trace, checked for complaints.
pub fn decode(name: &str, trace: &[Seen]) -> Option<Vec<Frame>> {
    // Tests run side by side and a name may come again.
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
    let Ok(output) = output else {
        eprintln!("skipped: `tshark` is not installed (Debian package: tshark)");
        return None;
    };
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
        let error = severities.iter().any(|severity| severity.parse::<u32>().unwrap() >= ERROR);
        assert!(!error && frame["_ws.malformed"].is_empty(), "{name}: {seen:?}\n{frame:?}");
        assert_eq!(frame["tcp.checksum.status"], ["1"], "{name}: {seen:?}");
        let ip: &[&str] = if seen.path.0.is_multiple_of(2) { &["1"] } else { &[] };
        assert_eq!(frame["ip.checksum.status"], ip, "{name}: {seen:?}");
    }
    Some(frames)
}

/// The bytes that a field has.
fn bytes_of(frame: &Frame, name: &str) -> Vec<u8> {
    let hex = frame[name].first().map_or("", String::as_str).replace(':', "");
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.as_bytes().chunks(2).map(byte).collect()
}

/// The checksum of a DSS, which tshark 4.0 takes for part of the option and does not show.
fn dss_checksum_of(mut options: &[u8]) -> Option<u16> {
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [30, len, subtype, flags, ..] if subtype >> 4 == 2 => {
                // With a mapping and without a checksum the length is 2 beyond a multiple of 4.
                let has = flags & 0x04 != 0 && len.is_multiple_of(4);
                let at = usize::from(len) - 2;
                return has.then(|| u16::from_be_bytes([options[at], options[at + 1]]));
            }
            [_, len, ..] => options = &options[len.into()..],
            _ => return None,
        }
    }
}

/// Numbers as decimal ones whatever their base, truth as 1, bytes without colons.
fn canonical(text: &str) -> String {
    match text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16)) {
        Some(Ok(number)) => number.to_string(),
        _ if text == "True" => "1".into(),
        _ if text == "False" => "0".into(),
        _ => text.into(),
    }
}

/// Every frame says what its segment says, and nothing else.
pub fn compare(frames: &[Frame], trace: &[Seen]) -> Result<(), String> {
    if frames.len() != trace.len() {
        return Err(format!("{} frames of {} segments", frames.len(), trace.len()));
    }
    for (frame, seen) in frames.iter().zip(trace) {
        let said = said(&seen.segment, seen.path.0.is_multiple_of(2));
        for name in FIELDS {
            let meant: Vec<&str> =
                said.iter().filter(|(of, _)| *of == name).map(|(_, value)| value.as_str()).collect();
            if frame[name] != meant {
                return Err(format!("{name}: {:?} is read as {:?}, in {seen:?}", meant, frame[name]));
            }
        }
    }
    Ok(())
}

type Said = Vec<(&'static str, String)>;

/// What a segment says, by tshark's names.
fn said(segment: &Segment<Span>, four: bool) -> Said {
    let mut out: Said = vec![
        ("tcp.srcport", segment.source.to_string()),
        ("tcp.dstport", segment.destination.to_string()),
        ("tcp.seq_raw", segment.seq.to_string()),
        ("tcp.ack_raw", segment.ack.to_string()),
        ("tcp.flags", segment.flags.bits().to_string()),
        ("tcp.window_size_value", segment.window.to_string()),
        ("tcp.len", segment.payload.len.to_string()),
        (if four { "ip.dsfield.ecn" } else { "ipv6.tclass.ecn" }, (segment.ecn as u8).to_string()),
    ];
    let mut say = |name, value: Option<u64>| out.extend(value.map(|value| (name, value.to_string())));
    say("tcp.options.mss_val", segment.mss.map(u64::from));
    say("tcp.options.wscale.shift", segment.window_scale.map(u64::from));
    say("tcp.options.timestamp.tsval", segment.timestamps.map(|t| t.value.into()));
    say("tcp.options.timestamp.tsecr", segment.timestamps.map(|t| t.echo.into()));
    for &(left, right) in segment.sack.as_slice() {
        say("tcp.options.sack_le", Some(left.into()));
        say("tcp.options.sack_re", Some(right.into()));
    }
    if let Some(dss) = &segment.dss {
        say_dss(dss, &mut out);
    }
    if let Some(signal) = &segment.signal {
        say_signal(signal, &mut out);
    }
    out
}

fn say_dss(dss: &Dss, out: &mut Said) {
    let mut say = |name, value: Option<u64>| out.extend(value.map(|value| (name, value.to_string())));
    say("tcp.options.mptcp.subtype", Some(2));
    say("tcp.options.mptcp.datafin.flag", Some(dss.data_fin.into()));
    say("tcp.options.mptcp.dataack8.flag", Some((dss.data_ack.is_some() && !dss.ack_is_short).into()));
    say("tcp.options.mptcp.rawdataack", dss.data_ack);
    say("tcp.options.mptcp.rawdataseqno", dss.mapping.map(|map| map.dsn));
    say("tcp.options.mptcp.subflowseqno", dss.mapping.map(|map| map.ssn.into()));
    say("tcp.options.mptcp.datalvllen", dss.mapping.map(|map| map.len.into()));
    say("tcp.options.mptcp.checksum", dss.mapping.and_then(|map| map.checksum).map(u64::from));
}

fn say_signal(signal: &MptcpSignal, out: &mut Said) {
    let mut say = |name, value: Option<u64>| out.extend(value.map(|value| (name, value.to_string())));
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
            say(subtype, Some(0));
            say("tcp.options.mptcp.version", Some(version.into()));
            say("tcp.options.mptcp.checksumreq.flags", Some(checksum.into()));
            say("tcp.options.mptcp.extensibility.flag", Some(extension.into()));
            say("tcp.options.mptcp.nomoresubflows.flag", Some(deny_join.into()));
            say("tcp.options.mptcp.sha256.flag", Some(hmac_sha256.into()));
            say("tcp.options.mptcp.sendkey", sender_key);
            say("tcp.options.mptcp.recvkey", receiver_key);
            say("tcp.options.mptcp.datalvllen", data.map(|(len, _)| len.into()));
            say("tcp.options.mptcp.checksum", data.and_then(|(_, checksum)| checksum).map(u64::from));
        }
        MptcpSignal::JoinSyn { backup, address_id, token, nonce } => {
            say(subtype, Some(1));
            say(backup_flag, Some(backup.into()));
            say(id, Some(address_id.into()));
            say("tcp.options.mptcp.recvtok", Some(token.into()));
            say("tcp.options.mptcp.sendrand", Some(nonce.into()));
        }
        MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce } => {
            say(subtype, Some(1));
            say(backup_flag, Some(backup.into()));
            say(id, Some(address_id.into()));
            say("tcp.options.mptcp.sendtrunchmac", Some(hmac));
            say("tcp.options.mptcp.sendrand", Some(nonce.into()));
        }
        MptcpSignal::JoinAck { hmac } => {
            say(subtype, Some(1));
            let hex = hmac
                .iter()
                .flat_map(|byte| {
                    [byte >> 4, byte & 0xf].map(|digit| char::from_digit(digit.into(), 16).unwrap())
                })
                .collect();
            out.push(("tcp.options.mptcp.sendhmac", hex));
        }
        MptcpSignal::AddAddress { address_id, address, port, hmac } => {
            say(subtype, Some(3));
            say("tcp.options.mptcp.echo", Some(hmac.is_none().into()));
            say(id, Some(address_id.into()));
            say("tcp.options.mptcp.port", port.map(u64::from));
            say("tcp.options.mptcp.addaddrtrunchmac", hmac);
            let name = if address.is_ipv4() { "tcp.options.mptcp.ipv4" } else { "tcp.options.mptcp.ipv6" };
            out.push((name, address.to_string()));
        }
        MptcpSignal::RemoveAddress { ids, count } => {
            say(subtype, Some(4));
            ids[..count.into()].iter().for_each(|&one| say(id, Some(one.into())));
        }
        MptcpSignal::Priority { backup, address_id } => {
            say(subtype, Some(5));
            say(backup_flag, Some(backup.into()));
            say(id, address_id.map(u64::from));
        }
        MptcpSignal::Fail { dsn } => {
            say(subtype, Some(6));
            say("tcp.options.mptcp.rawdataseqno", Some(dsn));
        }
        MptcpSignal::FastClose { key } => {
            say(subtype, Some(7));
            say("tcp.options.mptcp.recvkey", Some(key));
        }
        MptcpSignal::Reset { transient, reason } => {
            say(subtype, Some(8));
            say("tcp.options.mptcp.flag_T.flag", Some(transient.into()));
            say("tcp.options.mptcp.rst_reason", Some(reason.into()));
        }
    }
}

impl Reading {
    /// Every value of a field.
    pub fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.frames.iter().flat_map(move |frame| &frame[name]).map(String::as_str)
    }
    /// Options of an MPTCP subtype.
    pub fn count(&self, subtype: u8) -> usize {
        let subtype = subtype.to_string();
        self.all("tcp.options.mptcp.subtype").filter(|&read| read == subtype).count()
    }
    /// The MPTCP subtypes that occur.
    pub fn subtypes(&self) -> Vec<u8> {
        let all: BTreeSet<u8> = self.all("tcp.options.mptcp.subtype").map(|s| s.parse().unwrap()).collect();
        all.into_iter().collect()
    }
    /// MPTCP connections, as keys and tokens tell them apart.
    pub fn connections(&self) -> usize {
        self.all("mptcp.stream").collect::<BTreeSet<_>>().len()
    }
    /// TCP streams that belong to an MPTCP connection.
    pub fn subflows(&self) -> usize {
        let of = |frame: &&Frame| !frame["mptcp.stream"].is_empty();
        self.frames.iter().filter(of).map(|frame| &frame["tcp.stream"]).collect::<BTreeSet<_>>().len()
    }
    /// Packets with this ECN field, over either version of IP.
    pub fn ecn(&self, bits: &str) -> usize {
        self.all("ip.dsfield.ecn").chain(self.all("ipv6.tclass.ecn")).filter(|&read| read == bits).count()
    }
    /// Checksums over data that are those of the bytes which tshark has read, and those that are not.
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
