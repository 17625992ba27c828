//! Hand-encoded examples from the specifications, and errors of malformed input.
#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tandem_wire::tcp::{self, TcpOption};
use tandem_wire::{
    Blocks, Dss, Flags, Mapping, MptcpSignal, RecOption, Report, SackBlocks, Segment, Span, TimestampOption,
    WireError, ip, ipv4, ipv6,
};

const KEY: u64 = 0x0102_0304_0506_0708;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&String::from_iter(pair), 16).unwrap()).collect()
}

/// A TCP header with the given options.
fn header(options: &[u8]) -> Vec<u8> {
    assert_eq!(options.len() % 4, 0);
    let mut bytes = vec![0; 20];
    bytes[12] = (((20 + options.len()) / 4) << 4) as u8;
    bytes.extend(options);
    bytes
}

fn emitted_options(segment: &Segment<Span>) -> Vec<u8> {
    let mut out = Vec::new();
    tcp::emit(segment, Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into(), &[], &mut out).unwrap();
    out.split_off(20)
}

fn segment_without_options() -> Segment<Span> {
    Segment::new((0, 0), 0, 0, Flags::default(), 0)
}

/// Checks that a signal encodes to these bytes, and that they decode to the signal.
fn check_signal(signal: MptcpSignal, bytes: &str) {
    let bytes = hex(bytes);
    let mut segment = segment_without_options();
    segment.signal = Some(signal);
    assert_eq!(emitted_options(&segment), bytes, "{signal:?}");
    assert_eq!(tcp::parse(&header(&bytes)).unwrap().signal, Some(signal));
}

fn check_rec(option: RecOption, bytes: &str) {
    let bytes = hex(bytes);
    let mut segment = segment_without_options();
    segment.rec = Some(option);
    assert_eq!(emitted_options(&segment), bytes, "{option:?}");
    assert_eq!(tcp::parse(&header(&bytes)).unwrap().rec, Some(option));
}

fn check_dss(dss: Dss, bytes: &str) {
    let bytes = hex(bytes);
    let mut segment = segment_without_options();
    segment.dss = Some(dss);
    assert_eq!(emitted_options(&segment), bytes, "{dss:?}");
    assert_eq!(tcp::parse(&header(&bytes)).unwrap().dss, Some(dss));
}

fn capable(
    sender_key: Option<u64>,
    receiver_key: Option<u64>,
    data: Option<(u16, Option<u16>)>,
) -> MptcpSignal {
    MptcpSignal::Capable {
        version: 1,
        checksum: false,
        deny_join: false,
        hmac_sha256: true,
        extension: false,
        sender_key,
        receiver_key,
        data,
    }
}

fn decode_error(options: &str) -> WireError {
    tcp::parse(&header(&hex(options))).unwrap_err()
}

#[test]
fn encodes_the_mp_capable_syn_of_linux() {
    // 10.0.0.1:49152 -> 10.0.0.2:80, seq 0x11223344, window 64240, in the layout of Linux: MSS
    // 1460, SACK permitted, timestamps 1/0, window scale 7, MP_CAPABLE v1 with flag H. The
    // checksums were computed by another program.
    let bytes = hex("4500 0040 0000 4000 4006 26b6 0a000001 0a000002
         c000 0050 11223344 00000000 b002 faf0 054c 0000
         0204 05b4 0402 080a 00000001 00000000 0103 0307 1e04 0101");
    let mut segment = Segment::new((49152, 80), 0x1122_3344, 0, Flags::SYN, 64240);
    segment.mss = Some(1460);
    segment.sack_permitted = true;
    segment.timestamps = Some(TimestampOption { value: 1, echo: 0 });
    segment.window_scale = Some(7);
    segment.signal = Some(capable(None, None, None));
    segment.payload = Span::default();
    let (source, destination) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let written = tandem_wire::capture::packet(source, destination, &segment, 2000).unwrap();
    assert_eq!(written, bytes);
    let datagram = ip::parse(&bytes).unwrap();
    assert_eq!((datagram.source, datagram.destination, datagram.protocol), (source, destination, ip::TCP));
    let read = tcp::parse(datagram.payload).unwrap();
    assert_eq!(read.signal, segment.signal);
    assert_eq!((read.mss, read.window_scale, read.sack_permitted), (Some(1460), Some(7), true));
    assert_eq!(read.timestamps, segment.timestamps);
    assert_eq!((read.source, read.destination, read.seq, read.flags), (49152, 80, 0x1122_3344, Flags::SYN));
}

#[test]
fn mp_capable_has_five_lengths() {
    check_signal(capable(None, None, None), "1e04 0101");
    check_signal(capable(Some(KEY), None, None), "1e0c 0101 0102030405060708");
    check_signal(capable(Some(KEY), Some(2), None), "1e14 0101 0102030405060708 0000000000000002");
    check_signal(
        capable(Some(KEY), Some(2), Some((1000, None))),
        "1e16 0101 0102030405060708 0000000000000002 03e8 0101",
    );
    check_signal(
        capable(Some(KEY), Some(2), Some((1000, Some(0xbeef)))),
        "1e18 0101 0102030405060708 0000000000000002 03e8 beef",
    );
}

#[test]
fn mp_capable_flags_and_version() {
    for (flags, expected) in [
        (0x81, (true, false, true, false)),
        (0x40, (false, false, false, true)),
        (0x20, (false, true, false, false)),
    ] {
        let (checksum, deny_join, hmac_sha256, extension) = expected;
        let signal = MptcpSignal::Capable {
            version: 2,
            checksum,
            deny_join,
            hmac_sha256,
            extension,
            sender_key: None,
            receiver_key: None,
            data: None,
        };
        check_signal(signal, &format!("1e04 02{flags:02x}"));
    }
}

#[test]
fn mp_join_has_three_forms() {
    check_signal(
        MptcpSignal::JoinSyn { backup: true, address_id: 2, token: 0xcd26_6215, nonce: 0x0a0b_0c0d },
        "1e0c 1102 cd266215 0a0b0c0d",
    );
    check_signal(
        MptcpSignal::JoinSynAck { backup: false, address_id: 3, hmac: KEY, nonce: 0x0a0b_0c0d },
        "1e10 1003 0102030405060708 0a0b0c0d",
    );
    check_signal(
        MptcpSignal::JoinAck { hmac: core::array::from_fn(|i| i as u8) },
        "1e18 1000 000102030405060708090a0b0c0d0e0f10111213",
    );
}

#[test]
fn dss_has_all_combinations_of_fields() {
    let ack = |data_ack, ack_is_short| Dss { data_ack: Some(data_ack), ack_is_short, ..Dss::default() };
    let map = |dsn, checksum| Mapping { dsn, ssn: 1, len: 1400, checksum };
    check_dss(Dss { data_fin: true, ..Dss::default() }, "1e04 2010");
    check_dss(ack(0x1122_3344, true), "1e08 2001 11223344");
    check_dss(ack(KEY, false), "1e0c 2003 0102030405060708");
    check_dss(
        Dss { mapping: Some(map(0x99, None)), dsn_is_short: true, ..Dss::default() },
        "1e0e 2004 00000099 00000001 0578 0101",
    );
    check_dss(
        Dss { mapping: Some(map(0x99, Some(0xabcd))), dsn_is_short: true, ..Dss::default() },
        "1e10 2004 00000099 00000001 0578 abcd",
    );
    check_dss(
        Dss { mapping: Some(map(KEY, None)), ..Dss::default() },
        "1e12 200c 0102030405060708 00000001 0578 0101",
    );
    check_dss(
        Dss { mapping: Some(map(KEY, Some(0xabcd))), data_fin: true, ..ack(KEY, false) },
        "1e1c 201f 0102030405060708 0102030405060708 00000001 0578 abcd",
    );
    check_dss(
        Dss { mapping: Some(map(KEY, None)), ..ack(5, true) },
        "1e16 200d 00000005 0102030405060708 00000001 0578 0101",
    );
}

#[test]
fn short_dss_numbers_are_the_lower_32_bits() {
    let mut segment = segment_without_options();
    segment.dss = Some(Dss { data_ack: Some(0xaaaa_bbbb_cccc_dddd), ack_is_short: true, ..Dss::default() });
    assert_eq!(emitted_options(&segment), hex("1e08 2001 ccccdddd"));
}

#[test]
fn add_addr_has_eight_lengths() {
    let v4: IpAddr = Ipv4Addr::new(10, 0, 0, 7).into();
    let v6: IpAddr = "fd00::7".parse::<Ipv6Addr>().unwrap().into();
    let signal = |address, port, hmac| MptcpSignal::AddAddress { address_id: 9, address, port, hmac };
    let v6_hex = "fd000000000000000000000000000007";
    check_signal(signal(v4, None, None), "1e08 3109 0a000007");
    check_signal(signal(v4, Some(8080), None), "1e0a 3109 0a000007 1f90 0101");
    check_signal(signal(v4, None, Some(KEY)), "1e10 3009 0a000007 0102030405060708");
    check_signal(signal(v4, Some(8080), Some(KEY)), "1e12 3009 0a000007 1f90 0102030405060708 0101");
    check_signal(signal(v6, None, None), &format!("1e14 3109 {v6_hex}"));
    check_signal(signal(v6, Some(8080), None), &format!("1e16 3109 {v6_hex} 1f90 0101"));
    check_signal(signal(v6, None, Some(KEY)), &format!("1e1c 3009 {v6_hex} 0102030405060708"));
    check_signal(
        signal(v6, Some(8080), Some(KEY)),
        &format!("1e1e 3009 {v6_hex} 1f90 0102030405060708 0101"),
    );
}

#[test]
fn other_mptcp_options_match_their_encoding() {
    check_signal(MptcpSignal::RemoveAddress { ids: [7, 0, 0, 0, 0, 0, 0, 0], count: 1 }, "1e04 4007");
    check_signal(
        MptcpSignal::RemoveAddress { ids: [7, 8, 0, 0, 0, 0, 0, 0], count: 2 },
        "1e05 4007 08 010101",
    );
    check_signal(
        MptcpSignal::RemoveAddress { ids: [1, 2, 3, 4, 5, 6, 7, 8], count: 8 },
        "1e0b 4001 0203040506070801",
    );
    check_signal(MptcpSignal::Priority { backup: true, address_id: None }, "1e03 5101");
    check_signal(MptcpSignal::Priority { backup: false, address_id: Some(4) }, "1e04 5004");
    check_signal(MptcpSignal::Fail { dsn: KEY }, "1e0c 6000 0102030405060708");
    check_signal(MptcpSignal::FastClose { key: KEY }, "1e0c 7000 0102030405060708");
    check_signal(MptcpSignal::Reset { transient: true, reason: 6 }, "1e04 8106");
}

#[test]
fn mptcp_rec_options_match_their_encoding() {
    check_rec(RecOption::Offer { version: 1 }, "1e04 f001");
    let mut report = Report { path: 3, clock: 0x01020304, rate: 1_375_000, blocks: Blocks::default() };
    check_rec(RecOption::Report(report), "1e0c f103 01020304 0014fb18");
    assert!(report.blocks.push(1428, 2856) && report.blocks.push(0xffff_ffff, 0));
    check_rec(RecOption::Report(report), "1e1c f103 01020304 0014fb18 00000594 00000b28 ffffffff 00000000");
    // Other forms of the private subtype are ignored: half a block, and a missing version.
    for bytes in ["1e04 f201", "1e10 f103 01020304 0014fb18 00000594", "1e03 f0 01"] {
        assert_eq!(tcp::parse(&header(&hex(bytes))).unwrap().rec, None, "{bytes}");
    }
}

#[test]
fn sack_blocks_keep_their_order() {
    let mut segment = segment_without_options();
    let mut sack = SackBlocks::default();
    assert!(sack.push(30, 40) && sack.push(10, 20));
    segment.sack = sack;
    segment.timestamps = Some(TimestampOption { value: 1, echo: 2 });
    let bytes = hex("0101 080a 00000001 00000002 0101 0512 0000001e 00000028 0000000a 00000014");
    assert_eq!(emitted_options(&segment), bytes);
    assert_eq!(tcp::parse(&header(&bytes)).unwrap().sack, sack);
}

#[test]
fn unknown_options_are_skipped_up_to_the_end_marker() {
    // Kind 34 (TCP Fast Open) with two bytes, MPTCP subtype 15, MSS, end marker, random bytes.
    let bytes = header(&hex("2204 abcd 1e03 f0 01 0204 05b4 00 02ff ff"));
    assert_eq!(tcp::parse(&bytes).unwrap().mss, Some(1460));
    let options: Vec<_> = tcp::Packet::new(&bytes).unwrap().options().map(Result::unwrap).collect();
    assert_eq!(
        options,
        [
            TcpOption::Unknown { kind: 34, len: 4 },
            TcpOption::Unknown { kind: 30, len: 3 },
            TcpOption::Mss(1460)
        ]
    );
}

#[test]
fn the_first_of_two_mptcp_options_is_kept() {
    // Linux sends MP_FASTCLOSE and MP_TCPRST on one RST.
    let bytes = header(&hex("1e0c 7000 0102030405060708 1e04 8001"));
    assert_eq!(tcp::parse(&bytes).unwrap().signal, Some(MptcpSignal::FastClose { key: KEY }));
    assert_eq!(tcp::Packet::new(&bytes).unwrap().options().count(), 2);
}

#[test]
fn window_scale_above_14_counts_as_14() {
    assert_eq!(tcp::parse(&header(&hex("0103 03ff"))).unwrap().window_scale, Some(14));
}

#[test]
fn option_of_a_wrong_length_is_ignored() {
    let malformed = [
        ("0203 05", 2),
        ("0302", 3),
        ("0403 01", 4),
        ("0502", 5),
        ("0804 0000", 8),
        ("1e02", 30),
        ("1e05 0101 01", 30),
        ("1e04 2001", 30),
        // An ADD_ADDR without the echo flag must have an HMAC.
        ("1e08 3009 0a000007", 30),
        ("1e03 40", 30),
    ];
    for (option, kind) in malformed {
        let mut options = hex(option);
        let len = options.len() as u8;
        options.extend(hex("1e04 8106 0204 05b4"));
        options.resize(options.len().next_multiple_of(4), 0);
        let bytes = header(&options);
        let signal = MptcpSignal::Reset { transient: true, reason: 6 };
        let seen: Vec<_> = tcp::Packet::new(&bytes).unwrap().options().map(Result::unwrap).collect();
        let expected = [TcpOption::Malformed { kind, len }, TcpOption::Signal(signal), TcpOption::Mss(1460)];
        assert_eq!(seen, expected, "{option}");
        let parsed = tcp::parse(&bytes).unwrap();
        assert_eq!((parsed.signal, parsed.mss), (Some(signal), Some(1460)), "{option}");
        assert!(!parsed.sack_permitted && parsed.dss.is_none(), "{option}");
    }
}

#[test]
fn error_names_the_option_that_overruns_the_header_and_its_offset() {
    assert_eq!(
        decode_error("0101 0203").to_string(),
        "TCP option at byte 22 is truncated: needs 3 bytes, has 2"
    );
    assert_eq!(
        decode_error("0101 0200").to_string(),
        "TCP option at byte 22 has length 0, expected at least 2"
    );
    assert_eq!(
        decode_error("0101 0102").to_string(),
        "TCP option at byte 23 is truncated: needs 2 bytes, has 1"
    );
    assert_eq!(
        tcp::parse(&[0; 20]).unwrap_err().to_string(),
        "TCP header at byte 12 has length 0, expected 20 to 60"
    );
    assert_eq!(
        tcp::parse(&[0; 7]).unwrap_err().to_string(),
        "TCP header at byte 0 is truncated: needs 20 bytes, has 7"
    );
}

#[test]
fn every_length_of_every_mptcp_option_is_decoded_or_ignored() {
    let good: [&[usize]; 9] = [
        &[4, 12, 20, 22, 24],
        &[12, 16, 24],
        &[4],
        &[16, 18, 28, 30],
        &[4, 5, 6, 7, 8, 9, 10, 11],
        &[3, 4],
        &[12],
        &[12],
        &[4],
    ];
    for (subtype, good) in good.into_iter().enumerate() {
        for len in 3usize..=40 {
            let mut option = vec![0; len.next_multiple_of(4)];
            option[..3].copy_from_slice(&[30, len as u8, (subtype as u8) << 4]);
            let parsed = tcp::parse(&header(&option)).unwrap();
            let decoded = parsed.signal.is_some() || parsed.dss.is_some();
            assert_eq!(decoded, good.contains(&len), "subtype {subtype}, length {len}: {parsed:?}");
        }
    }
}

#[test]
fn values_without_encoding_are_rejected() {
    let encode_error = |change: &dyn Fn(&mut Segment<Span>)| {
        let mut segment = segment_without_options();
        change(&mut segment);
        let mut out = vec![7];
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        let error = tcp::emit(&segment, local, local, &[], &mut out).unwrap_err();
        assert_eq!(out, [7]);
        error.to_string()
    };
    assert_eq!(
        encode_error(&|segment| segment.signal = Some(capable(None, Some(1), None))),
        "MP_CAPABLE cannot be encoded: expected no key, the sender's key, or both keys with or without a data length"
    );
    assert_eq!(
        encode_error(&|segment| segment.signal = Some(MptcpSignal::RemoveAddress { ids: [0; 8], count: 0 })),
        "REMOVE_ADDR cannot be encoded: expected 1 to 8 identifiers"
    );
    assert_eq!(
        encode_error(&|segment| segment.signal = Some(MptcpSignal::RemoveAddress { ids: [0; 8], count: 200 })),
        "REMOVE_ADDR cannot be encoded: expected 1 to 8 identifiers"
    );
    assert_eq!(
        encode_error(&|segment| segment.window_scale = Some(15)),
        "window scale cannot be encoded: expected a shift of 0 to 14"
    );
    assert_eq!(
        encode_error(&|segment| segment.payload = Span::new(0, 1)),
        "TCP payload cannot be encoded: expected as many bytes as the payload of the segment"
    );
}

#[test]
fn wire_len_includes_header_options_and_payload() {
    let mut segment = segment_without_options();
    assert_eq!((segment.options_len(), segment.wire_len()), (0, 20));
    segment.timestamps = Some(TimestampOption { value: 0, echo: 0 });
    segment.dss = Some(Dss {
        data_ack: Some(0),
        mapping: Some(Mapping { dsn: 0, ssn: 0, len: 0, checksum: None }),
        ..Dss::default()
    });
    segment.payload = Span::new(0, 1400);
    // Timestamps: 12 bytes. DSS: 26 bytes, padded to 28.
    assert_eq!((segment.options_len(), segment.wire_len()), (40, 1460));
}

#[test]
fn error_names_the_invalid_ipv4_field() {
    let good = hex("4500 0018 0000 4000 4006 26de 0a000001 0a000002 01020304");
    let damaged_error = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        ip::parse(&bytes).unwrap_err().to_string()
    };
    assert_eq!(ip::parse(&good).unwrap().payload, [1, 2, 3, 4]);
    assert_eq!(damaged_error(0, 0x55), "IP version at byte 0 is 5, expected 4 or 6");
    assert_eq!(damaged_error(0, 0x44), "IPv4 header at byte 0 has length 16, expected 20 to 60");
    assert_eq!(
        damaged_error(3, 19),
        "IPv4 packet at byte 2 has length 19, expected at least that of its header"
    );
    assert_eq!(damaged_error(3, 25), "IPv4 packet at byte 0 is truncated: needs 25 bytes, has 24");
    assert_eq!(
        damaged_error(8, 63),
        "IPv4 header checksum at byte 10 is 0x26de, which does not match the bytes it covers"
    );
    let mut fragment = good.clone();
    fragment[6] = 0x20;
    fragment[10..12].copy_from_slice(&0x46deu16.to_be_bytes());
    assert!(matches!(ip::parse(&fragment), Err(WireError::Value { what: "IPv4 fragment field", .. })));
    assert_eq!(
        ip::parse(&[]).unwrap_err().to_string(),
        "IP header at byte 0 is truncated: needs 1 bytes, has 0"
    );
}

#[test]
fn ipv4_options_are_skipped() {
    let mut bytes = hex("4600 0019 0000 4000 4006 0000 0a000001 0a000002 01010101 aa");
    let checksum = tandem_wire::checksum::checksum(&bytes[..24]);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    let packet = ipv4::Packet::new(&bytes).unwrap();
    assert_eq!((packet.header_len(), packet.payload()), (24, &[0xaa][..]));
    assert!(ipv4::Repr::parse(&packet).is_ok());
}

#[test]
fn ipv6_skips_options_headers_and_rejects_other_extensions() {
    let addresses = "20010db8000000000000000000000001 20010db8000000000000000000000002";
    // Hop-by-hop of 8 bytes, destination options of 16, then one byte of TCP.
    let mut bytes = hex(&format!(
        "6a512345 0019 00 40 {addresses} 3c00 000000000000 0601 0000000000000000000000000000 ff"
    ));
    let packet = ipv6::Packet::new(&bytes).unwrap();
    let repr = ipv6::Repr::parse(&packet).unwrap();
    assert_eq!(packet.upper_layer(), Ok((6, &[0xff][..])));
    assert_eq!((repr.protocol, repr.payload_len, repr.hop_limit), (6, 1, 64));
    assert_eq!((repr.traffic_class, repr.flow_label), (0xa5, 0x12345));
    assert_eq!(repr.source, "2001:db8::1".parse::<Ipv6Addr>().unwrap());
    bytes[40] = 44;
    assert_eq!(
        ip::parse(&bytes).unwrap_err().to_string(),
        "IPv6 next header at byte 40 is 44, expected no extension but hop-by-hop (0) and destination options (60)"
    );
    bytes[40] = 60;
    bytes[49] = 2;
    assert_eq!(
        ip::parse(&bytes).unwrap_err().to_string(),
        "IPv6 extension header at byte 48 is truncated: needs 24 bytes, has 17"
    );
}

#[test]
fn payloads_too_long_for_ip_are_rejected() {
    let v4 = ipv4::Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 6, 65_516);
    assert_eq!(
        v4.emit(&mut Vec::new()).unwrap_err().to_string(),
        "IPv4 payload of 65516 bytes is too long, the maximum is 65515"
    );
    let v6 = ipv6::Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, 6, 65_536);
    assert_eq!(
        v6.emit(&mut Vec::new()).unwrap_err().to_string(),
        "IPv6 payload of 65536 bytes is too long, the maximum is 65535"
    );
}
