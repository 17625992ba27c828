//! Captures of an MPTCP connection, decoded by `tshark`.
#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

use core::net::IpAddr;
use std::io::Write;
use std::process::Command;
use tandem_wire::pcapng::{Direction, Interface, Writer};
use tandem_wire::{
    Dss, Flags, Mapping, MptcpSignal, SackBlocks, Segment, Span, TimestampOption, capture, dss_checksum,
};
use units::Instant;

// Tokens and initial data sequence numbers of the keys 1 and 2 (SHA-256).
const CLIENT_IDSN: u64 = 0x19ec_5090_83d0_0a50;
const SERVER_IDSN: u64 = 0x8865_40e5_dce7_7f70;
const SERVER_TOKEN: u32 = 0xcd04_a475;

/// A subflow of the capture.
struct Subflow {
    interface: Interface,
    client: IpAddr,
    server: IpAddr,
    port: u16,
}

/// Capture at the client.
struct Tap {
    writer: Writer,
    now: u64,
}

impl Tap {
    fn send(
        &mut self,
        from_client: bool,
        subflow: &Subflow,
        (seq, ack): (u32, u32),
        flags: Flags,
        with: impl FnOnce(&mut Segment<Span>),
    ) {
        let (source, destination) = if from_client { (subflow.port, 443) } else { (443, subflow.port) };
        let mut segment = Segment::new((source, destination), seq, ack, flags, 0xffff);
        segment.timestamps = Some(TimestampOption { value: self.now as u32, echo: 7 });
        with(&mut segment);
        let (from, to, direction) = if from_client {
            (subflow.client, subflow.server, Direction::Outbound)
        } else {
            (subflow.server, subflow.client, Direction::Inbound)
        };
        let bytes = capture::packet(from, to, &segment, 2000).unwrap();
        self.now += 1;
        let at = Instant::from_nanos(self.now * 1_000_000 + 1);
        self.writer.packet(subflow.interface, at, direction, capture::packet_len(to, &segment), &bytes);
    }
}

fn capable(
    sender_key: Option<u64>,
    receiver_key: Option<u64>,
    data: Option<(u16, Option<u16>)>,
) -> MptcpSignal {
    MptcpSignal::Capable {
        version: 1,
        checksum: true,
        deny_join: false,
        hmac_sha256: true,
        extension: false,
        sender_key,
        receiver_key,
        data,
    }
}

fn syn_options(segment: &mut Segment<Span>) {
    segment.mss = Some(1400);
    segment.sack_permitted = true;
    segment.window_scale = Some(7);
}

/// Mapping of filler at `offset` of the client's stream.
fn mapping(offset: u64, ssn: u32, len: u16) -> Mapping {
    let mut data = Vec::new();
    capture::filler(Span::new(offset, u32::from(len)), &mut data);
    let dsn = CLIENT_IDSN + 1 + offset;
    Mapping { dsn, ssn, len, checksum: Some(dss_checksum(dsn, ssn, len, &data)) }
}

/// Capture of two subflows, IPv4 and IPv6, with every MPTCP option at least once.
fn connection() -> Vec<u8> {
    let mut writer = Writer::new("tandem");
    let wifi = Subflow {
        interface: writer.interface("wifi", "54 Mbit/s", 2000),
        client: "10.0.0.1".parse().unwrap(),
        server: "10.0.1.1".parse().unwrap(),
        port: 40000,
    };
    let lte = Subflow {
        interface: writer.interface("lte", "", 2000),
        client: "fd00::1".parse().unwrap(),
        server: "fd00:1::1".parse().unwrap(),
        port: 40001,
    };
    let mut tap = Tap { writer, now: 0 };
    let (ack_flag, data_flags) = (Flags::ACK, Flags::ACK.with(Flags::PSH));
    let data_ack = |data_ack| Some(Dss { data_ack: Some(data_ack), ..Dss::default() });

    tap.send(true, &wifi, (100, 0), Flags::SYN, |s| {
        syn_options(s);
        s.signal = Some(capable(None, None, None));
    });
    tap.send(false, &wifi, (500, 101), Flags::SYN_ACK, |s| {
        syn_options(s);
        s.signal = Some(capable(Some(2), None, None));
    });
    tap.send(true, &wifi, (101, 501), ack_flag, |s| s.signal = Some(capable(Some(1), Some(2), None)));
    tap.send(true, &wifi, (101, 501), data_flags, |s| {
        let checksum = mapping(0, 1, 1000).checksum;
        s.signal = Some(capable(Some(1), Some(2), Some((1000, checksum))));
        s.payload = Span::new(0, 1000);
    });
    tap.send(false, &wifi, (501, 1101), ack_flag, |s| s.dss = data_ack(CLIENT_IDSN + 1001));
    tap.send(false, &wifi, (501, 1101), ack_flag, |s| {
        s.signal =
            Some(MptcpSignal::AddAddress { address_id: 1, address: lte.server, port: None, hmac: None });
        s.timestamps = None;
    });
    tap.send(false, &wifi, (501, 1101), ack_flag, |s| {
        let (address, hmac) = ("10.0.1.2".parse().unwrap(), Some(77));
        s.signal = Some(MptcpSignal::AddAddress { address_id: 2, address, port: Some(444), hmac });
    });

    tap.send(true, &lte, (9000, 0), Flags::SYN, |s| {
        syn_options(s);
        s.signal =
            Some(MptcpSignal::JoinSyn { backup: true, address_id: 1, token: SERVER_TOKEN, nonce: 0xaa });
    });
    tap.send(false, &lte, (7000, 9001), Flags::SYN_ACK, |s| {
        syn_options(s);
        s.signal = Some(MptcpSignal::JoinSynAck { backup: false, address_id: 1, hmac: 0x1234, nonce: 0xbb });
    });
    tap.send(true, &lte, (9001, 7001), ack_flag, |s| s.signal = Some(MptcpSignal::JoinAck { hmac: [9; 20] }));
    tap.send(false, &lte, (7001, 9001), ack_flag, |s| s.dss = data_ack(CLIENT_IDSN + 1001));
    tap.send(true, &lte, (9001, 7001), data_flags, |s| {
        let map = mapping(1000, 1, 1200);
        s.dss = Some(Dss {
            data_ack: Some((SERVER_IDSN + 1) & 0xffff_ffff),
            ack_is_short: true,
            mapping: Some(map),
            ..Dss::default()
        });
        s.payload = Span::new(1000, 1200);
    });
    tap.send(false, &lte, (7001, 10201), ack_flag, |s| {
        s.dss = data_ack(CLIENT_IDSN + 2201);
        s.signal = Some(MptcpSignal::Priority { backup: false, address_id: None });
    });
    tap.send(false, &lte, (7001, 10201), ack_flag, |s| {
        let mut sack = SackBlocks::default();
        assert!(sack.push(10301, 10401));
        s.sack = sack;
        s.dss = data_ack(CLIENT_IDSN + 2201);
    });
    tap.send(true, &wifi, (1101, 501), ack_flag, |s| {
        s.signal = Some(MptcpSignal::RemoveAddress { ids: [3, 4, 0, 0, 0, 0, 0, 0], count: 2 });
    });
    tap.send(true, &wifi, (1101, 501), ack_flag, |s| {
        s.signal = Some(MptcpSignal::Fail { dsn: CLIENT_IDSN + 1 });
    });
    tap.send(true, &wifi, (1101, 501), ack_flag, |s| {
        // A DATA_FIN without data.
        let dsn = CLIENT_IDSN + 2201;
        let checksum = Some(dss_checksum(dsn, 0, 1, &[]));
        s.dss = Some(Dss {
            mapping: Some(Mapping { dsn, ssn: 0, len: 1, checksum }),
            data_fin: true,
            ..Dss::default()
        });
    });
    tap.send(true, &lte, (10201, 7001), Flags::RST.with(Flags::ACK), |s| {
        s.signal = Some(MptcpSignal::Reset { transient: true, reason: 5 });
    });
    tap.send(true, &wifi, (1101, 501), Flags::RST.with(Flags::ACK), |s| {
        s.signal = Some(MptcpSignal::FastClose { key: 2 });
    });
    tap.writer.into_bytes()
}

/// Runs `tshark` on a capture and returns its standard output.
fn tshark(capture: &[u8], arguments: &[&str]) -> String {
    let mut file = tempfile::Builder::new().suffix(".pcapng").tempfile().unwrap();
    file.write_all(capture).unwrap();
    let output = Command::new("tshark")
        .args(["-n", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-r"])
        .arg(file.path())
        .args(arguments)
        .output()
        .expect("cannot run `tshark` (Debian package: tshark)");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Values of the named fields, by frame.
fn fields(capture: &[u8], names: &[&str]) -> Vec<Vec<String>> {
    let mut arguments = vec!["-T", "fields"];
    for name in names {
        arguments.extend(["-e", name]);
    }
    let lines = tshark(capture, &arguments);
    lines.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_decodes_every_option_without_errors() {
    let capture = connection();
    let text = tshark(&capture, &["-V"]);
    for expected in [
        "Multipath Capable",
        "Join Connection",
        "Data Sequence Signal",
        "Add Address",
        "Remove Address",
        "Change Subflow Priority",
        "TCP Fallback",
        "Fast Close",
        "TCP Reset",
        "Interface name: wifi",
        "Interface description: 54 Mbit/s",
        "Interface name: lte",
    ] {
        assert!(text.contains(expected), "no {expected:?} in {text}");
    }
    for wrong in ["Malformed", "malformed", "[incorrect", "should be", "Bad checksum", "Short segment"] {
        assert!(!text.contains(wrong), "{wrong:?} in {text}");
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_decodes_the_values_of_the_segments() {
    let capture = connection();
    let names = [
        "frame.interface_name",
        "frame.time_epoch",
        "tcp.options.mptcp.subtype",
        "tcp.options.mptcp.recvtok",
        "tcp.options.mptcp.rawdataack",
        "tcp.options.mptcp.rawdataseqno",
        "mptcp.stream",
        "tcp.checksum.status",
    ];
    let frames = fields(&capture, &names);
    let column = |at: usize| frames.iter().map(|frame| frame[at].as_str()).collect::<Vec<_>>();
    assert_eq!(frames.len(), 19);
    assert_eq!(
        column(2),
        ["0", "0", "0", "0", "2", "3", "3", "1", "1", "1", "2", "2", "2,5", "2", "4", "6", "2", "8", "7"]
    );
    assert_eq!((column(0)[0], column(0)[7]), ("wifi", "lte"));
    assert_eq!(column(1)[..2], ["0.001000001", "0.002000001"]);
    assert_eq!(column(3)[7].parse(), Ok(SERVER_TOKEN));
    assert_eq!(column(4)[4].parse(), Ok(CLIENT_IDSN + 1001));
    assert_eq!(column(5)[11].parse(), Ok(CLIENT_IDSN + 1001));
    // The token of MP_JOIN assigns both subflows to one connection (the first SYN does not name it
    // yet). Status 1 is a correct checksum.
    assert!(column(6)[1..].iter().all(|stream| *stream == "0"), "{:?}", column(6));
    assert!(column(7).iter().all(|status| *status == "1"), "{:?}", column(7));
}
