//! Every fuzz target with thousands of seeded inputs: mutations of valid ones, and random bytes.

use mptcp::{Config, Endpoint, PathId};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tandem_fuzzing::{Dice, TARGETS, mutate, sequence_of};
use units::{Instant, Rng, Seed};
use wire::{Span, ipv4, ipv6, tcp};

/// Value of an environment variable, or a default.
fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// Texts, mostly valid, from which mutations start.
const TEXTS: [&str; 26] = [
    include_str!("../../../scenarios/emtcp-paper.toml"),
    include_str!("../../../scenarios/shared-cells.toml"),
    include_str!("../../../scenarios/generated-channel.toml"),
    include_str!("../../../scenarios/silent-outage.toml"),
    include_str!("../../../scenarios/cafe.toml"),
    include_str!("../../../scenarios/handover.toml"),
    include_str!("../../../crates/cli/tests/data/lte.csv"),
    "1\n2\n2\n5\n",
    "0,1500\n1,3000\n2.5,0\n",
    "0 1.5\n1 2\n2 0\n",
    "timestamp;throughput_mbps;rssi\n1518452042,25;24,0;-80\n1518452043;3;-\n1518452044;5;-70\n",
    "time_ms\tdl_kbps\tul_kbps\n0\t24\t2\n500\t3\t-\n1000\t5\t4\n",
    "Timestamp,CellID,NetworkMode,DL_bitrate,UL_bitrate\n2018.02.12_16.14.02,2,LTE,5000,194\n2018.02.12_16.14.03,2,LTE,6000,-\n",
    "2018-02-12T16:14:02Z 5\n2018-02-12T16:14:03.5Z 7\n",
    r#"{"intervals": [{"sum": {"start": 0, "end": 1.0, "bits_per_second": 9e6, "omitted": true}}, {"sum": {"start": 0, "end": 1.5, "bits_per_second": 2e6}}]}"#,
    r#"[{"duration_ms": 1000, "bandwidth_kbps": 4500, "latency_ms": 20}, {"duration_ms": 5, "bandwidth_kbps": 0}]"#,
    "5ms",
    "1.5Mbps",
    "4MiB",
    "59.9mW",
    "12kJ",
    "emtcp:0.24",
    agent::config::EXAMPLE,
    r#"{"version":1,"place":{"boot":"b","namespace":7},"added":["10.1.0.2"],"before":[{"id":1,"address":"fd00::1","port":0,"device":2,"flags":6,"removed":true}],"limits":[[2,0],[3,0]]}"#,
    r#"{"wwan*":{"period":1793491200,"used":12,"boot":"b","seen":{"wwan0":{"index":3,"bytes":15}}}}"#,
    r#"{"boot":"b","clock":[1795824000,50],"counters":{"wwan0":{"index":3,"bytes":[15,7]}},"usages":{"wwan*":{"period":1793491200,"used":12,"by_jump":true,"at_jump":5,"others":{"1790812800":{"used":3,"by_jump":false,"at_jump":0}},"interfaces":["wwan0"]}}}"#,
];

fn corpus() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
    all.extend(radio::profiles().iter().map(|profile| profile.to_toml().into_bytes()));
    all.push(policy::Map::built_in().to_toml().into_bytes());
    all.push(papers::emtcp::calibration::Calibration::shipped().to_toml().into_bytes());
    all
}

/// Packets of a connection: TCP segments, and the same in IPv4 and IPv6.
fn packets() -> Vec<Vec<u8>> {
    let mut ends = [
        Endpoint::client(Config::default(), Seed::new(1)),
        Endpoint::server(Config::default(), Seed::new(2)),
    ];
    let (old, new) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let mut all = Vec::new();
    ends[0].open(Instant::ZERO, PathId(0), false);
    for step in 0..40 {
        let now = Instant::from_millis(step * 10);
        ends[0].open(now, PathId(1), true);
        ends[(step % 2) as usize].write(&Span::new(0, 3000));
        for from in 0..2 {
            while let Some((path, segment)) = ends[from].poll_transmit(now) {
                let mut bytes = Vec::new();
                let payload = vec![7; segment.payload.len as usize];
                tcp::emit(&segment, IpAddr::V4(old), IpAddr::V4(old), &payload, &mut bytes).expect("it fits");
                let mut packet = Vec::new();
                ipv4::Repr::new(old, old, 6, bytes.len()).emit(&mut packet).expect("it fits");
                packet.extend_from_slice(&bytes);
                all.push(packet);
                let mut packet = Vec::new();
                ipv6::Repr::new(new, new, 6, bytes.len()).emit(&mut packet).expect("it fits");
                packet.extend_from_slice(&bytes);
                all.push(packet);
                all.push(bytes);
                ends[1 - from].handle_segment(now, path, segment);
            }
        }
    }
    all
}

/// Runs a target on the inputs, then on `count` mutations of them.
fn run_target(name: &str, inputs: &[Vec<u8>], count: u64) {
    let (_, target) = TARGETS.into_iter().find(|(known, _)| *known == name).expect("a target");
    for input in inputs {
        target(input);
    }
    for seed in 0..count {
        let mut rng = Seed::new(seed).rng(name);
        let pick = |rng: &mut Rng| &inputs[rng.below(inputs.len() as u64) as usize];
        let mut input = if rng.below(10) == 0 {
            (0..rng.below(200)).map(|_| rng.bits() as u8).collect()
        } else {
            pick(&mut rng).clone()
        };
        let other = pick(&mut rng);
        mutate(&mut rng, &mut input, other);
        let result = std::panic::catch_unwind(|| target(&input));
        assert!(result.is_ok(), "{name} fails at seed {seed}: {:?}", String::from_utf8_lossy(&input));
    }
}

#[test]
fn packet_targets_do_not_panic() {
    let inputs = packets();
    assert!(inputs.len() > 100);
    for name in ["tcp", "ipv4", "ipv6"] {
        run_target(name, &inputs, env_number("TANDEM_SEEDS", 20_000));
    }
}

/// Captures of these packets: pcapng with two interfaces, and pcap of raw IP.
fn captures() -> Vec<Vec<u8>> {
    use wire::pcapng::{Direction, Writer};
    let packets: Vec<Vec<u8>> = packets().into_iter().filter(|bytes| bytes[0] >> 4 == 4).take(60).collect();
    let mut writer = Writer::new("test");
    let interfaces = [writer.interface("wifi", "", 100), writer.interface("lte", "", 0)];
    let mut pcap = [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 12], &[101, 0, 0, 0]].concat();
    for (i, packet) in packets.iter().enumerate() {
        let kept = &packet[..packet.len().min(100)];
        let at = Instant::from_millis(i as u64);
        writer.packet(interfaces[i % 2], at, Direction::Outbound, packet.len(), kept);
        let numbers = [i as u32, 0, kept.len() as u32, packet.len() as u32];
        pcap.extend(numbers.into_iter().flat_map(u32::to_le_bytes).chain(kept.iter().copied()));
    }
    vec![writer.into_bytes(), pcap]
}

#[test]
fn capture_target_does_not_panic() {
    let inputs = captures();
    assert!(inputs.iter().all(|input| input.len() > 5000));
    run_target("capture", &inputs, env_number("TANDEM_SEEDS", 3000));
}

/// Netlink datagrams recorded on Linux.
fn datagrams() -> Vec<Vec<u8>> {
    [
        include_str!("../../linux/tests/captured/link.hex"),
        include_str!("../../linux/tests/captured/addresses.hex"),
        include_str!("../../linux/tests/captured/routes.hex"),
        include_str!("../../linux/tests/captured/refused.hex"),
        include_str!("../../linux/tests/captured/family.hex"),
        include_str!("../../linux/tests/captured/endpoints.hex"),
        include_str!("../../linux/tests/captured/events.hex"),
        include_str!("../../linux/tests/captured/subflows.hex"),
        include_str!("../../linux/tests/captured/connection.hex"),
    ]
    .into_iter()
    .map(|text| {
        let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    })
    .collect()
}

#[test]
fn kernel_targets_do_not_panic() {
    let mut inputs = datagrams();
    // Also single messages without header, so that mutations reach the fields.
    for datagram in inputs.clone() {
        inputs.extend(linux::netlink::Messages::new(&datagram).flatten().map(|one| one.payload.to_vec()));
    }
    assert!(inputs.len() > 30);
    for name in ["netlink", "route", "pm", "diag"] {
        run_target(name, &inputs, env_number("TANDEM_SEEDS", 20_000));
    }
    let counters = ["Tcp: RtoMin MaxConn\nTcp: 200 -1\nMPTcpExt: MPPrioTx MPPrioRx\nMPTcpExt: 3 4\n"];
    let counters = counters.map(|text| text.as_bytes().to_vec());
    run_target("mib", &counters, env_number("TANDEM_SEEDS", 5000));
}

#[test]
fn text_targets_do_not_panic() {
    let inputs = corpus();
    for name in ["trace", "profile", "policy_map", "calibration", "units", "names"] {
        run_target(name, &inputs, env_number("TANDEM_SEEDS", 5000));
    }
    // Scenarios take longer.
    run_target("scenario", &inputs, env_number("TANDEM_SEEDS", 5000) / 5);
}

#[test]
fn quantities_survive_a_round_trip() {
    let mut rng = Seed::new(1).rng("quantities");
    let units = [
        "B", "kB", "MiB", "bps", "kbps", "Mbps", "Gbps", "ns", "us", "ms", "s", "min", "mW", "W", "mJ", "J",
        "kJ",
    ];
    let inputs: Vec<Vec<u8>> = (0..env_number("TANDEM_SEEDS", 20_000))
        .map(|_| {
            let unit = units[rng.below(units.len() as u64) as usize];
            let number = match rng.below(4) {
                0 => format!("{}", rng.bits() >> rng.below(64)),
                1 => format!("{}", rng.unit() * 1000.0),
                2 => format!("{:.3}", rng.unit() * 1e6),
                _ => format!("{:e}", rng.unit()),
            };
            format!("{number}{unit}").into_bytes()
        })
        .collect();
    run_target("units", &inputs, 0);
}

#[test]
fn scores_stay_on_their_scales() {
    let mut rng = Seed::new(1).rng("viewings");
    let noise = |_| (0..rng.below(300)).map(|_| rng.bits() as u8).collect();
    let inputs: Vec<Vec<u8>> = (0..5000).map(noise).collect();
    run_target("score", &inputs, 0);
}

fn one_sequence(seed: u64, steps: u64) -> u64 {
    std::panic::catch_unwind(|| sequence_of(Dice::from_seed(seed, "hostile"), steps))
        .unwrap_or_else(|_| panic!("seed {seed} fails within {steps} steps"))
}

#[test]
fn endpoints_survive_random_operations() {
    let seeds = env_number("TANDEM_SEEDS", 6000);
    let handled: u64 = (0..seeds).map(|seed| one_sequence(seed, 200)).sum();
    assert!(handled > seeds * 40, "{handled}");
    // Long sequences, in which state accumulates.
    for seed in 0..seeds / 200 {
        one_sequence(!seed, 5000);
    }
    // Operations from input bytes, as in libFuzzer.
    let mut rng = Seed::new(1).rng("noise");
    let inputs: Vec<Vec<u8>> = (0..200).map(|_| (0..3000).map(|_| rng.bits() as u8).collect()).collect();
    run_target("sequence", &inputs, 500);
}

#[test]
fn reports_of_players_do_not_panic() {
    let text = "bl=2100,br=3200,d=4004,mtp=25400,ot=v,sf=d,sid=\"6e2fb550-c457-11e9-bb97\",tb=6000\n\
                bs,bl=0,ot=a,pr=1.08,su,tandem-missing=120000\nsid=\"a,b\\\"c\",bl=4000,tandem-done\n";
    run_target("agent_players", &[text.as_bytes().to_vec()], env_number("TANDEM_SEEDS", 20_000));
}

#[test]
fn requests_at_the_port_of_players_do_not_panic() {
    let token = "Authorization: Bearer 0123456789abcdef0123456789abcdef";
    let texts = [
        format!(
            "POST /player\nHost: 127.0.0.1:9465\nOrigin: https://player.example\n{token}\n\nbl=2100,br=3200,ot=av"
        ),
        format!("POST /player\nHost: localhost:9465\n{token}\n\nsu,bl=0,sid=\"a\""),
        "OPTIONS /player\nHost: 127.0.0.1:9465\nOrigin: https://player.example\n\n".to_owned(),
        "https://player.example:443/".to_owned(),
        "0123456789abcdef0123456789abcdef".to_owned(),
    ];
    let inputs: Vec<Vec<u8>> = texts.map(String::into_bytes).into();
    run_target("agent_port", &inputs, env_number("TANDEM_SEEDS", 20_000));
}

/// Messages of clients and servers to a proxy, for every front end.
fn proxy_messages() -> Vec<Vec<u8>> {
    let texts = [
        "GET http://example.org:8080/a?b HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\nConnection: close, X\r\nX: y\r\n\r\n",
        "POST http://[2001:db8::1]/ HTTP/1.1\r\nHost: [2001:db8::1]\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
        "POST http://a/ HTTP/1.0\r\nContent-Length: 5\r\nProxy-Authorization: Basic YW5uOng=\r\n\r\nhello",
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\nProxy-Connection: keep-alive\r\n\r\n",
        "OPTIONS http://a HTTP/1.1\r\nHost: a:80\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=5\r\n\r\nhello",
        "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.0 304 \r\nContent-Length: 7\r\n\r\n",
        "5\r\nhello\r\nA;x\r\n0123456789\r\n000\r\nName: value\r\n\r\nGET /",
    ];
    let mut all: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    all.push(b"\x05\x02\x00\x02".to_vec());
    all.push(b"\x01\x03ann\x06secret".to_vec());
    all.push(b"\x05\x01\x00\x03\x0bexample.org\x01\xbb".to_vec());
    all.push(b"\x05\x01\x00\x01\xc6\x33\x64\x07\x00\x50".to_vec());
    for (peer, cookie) in [("198.51.100.7:443", None), ("[2001:db8::7]:80", Some(&[7; 16][..]))] {
        all.push(proxy::front::convert::encode_request(peer.parse().expect("an address"), cookie));
    }
    all.push(vec![1, 2, 0x22, 0x63, 1, 1, 0, 0]);
    all.push(proxy::front::convert::encode_error(proxy::front::convert::Code::MissingCookie, &[0, 1, 2, 3]));
    all
}

#[test]
fn proxy_targets_do_not_panic() {
    let inputs = proxy_messages();
    for name in ["proxy_http", "proxy_upstream", "proxy_chunks", "proxy_socks5", "proxy_convert"] {
        run_target(name, &inputs, env_number("TANDEM_SEEDS", 20_000));
    }
    run_target(
        "proxy_config",
        &[proxy::config::EXAMPLE.as_bytes().to_vec()],
        env_number("TANDEM_SEEDS", 3000),
    );
}

#[test]
fn proxy_file_targets_do_not_panic() {
    let users = [
        include_bytes!("../../../fuzz/seeds/proxy_users/valid").to_vec(),
        include_bytes!("../../../fuzz/seeds/proxy_users/costly").to_vec(),
        include_bytes!("../../../fuzz/seeds/proxy_users/twice").to_vec(),
    ];
    let text = core::str::from_utf8(&users[0]).expect("a text");
    assert!(proxy::users::Users::parse(text).is_ok_and(|users| !users.is_empty()));
    run_target("proxy_users", &users, env_number("TANDEM_SEEDS", 20_000));
    let credentials = include_bytes!("../../../fuzz/seeds/proxy_credentials/both").to_vec();
    run_target("proxy_credentials", &[credentials], env_number("TANDEM_SEEDS", 20_000));
    let [files, revoking] = [
        include_str!("../../../fuzz/seeds/proxy_tls/valid"),
        include_str!("../../../fuzz/seeds/proxy_tls/revoking"),
    ];
    for files in [files, revoking] {
        let parts: Vec<&str> = files.split('\0').collect();
        let identity = tls::Identity { certificate: parts[0], key: parts[1] };
        let clients = tls::ClientAuthority { ca: parts[2], crl: parts.get(4).copied() };
        assert!(tls::ServerTls::new(identity, Some(clients)).is_ok());
    }
    let files = [files, revoking].map(|files| files.as_bytes().to_vec());
    // Keys are expensive to read.
    run_target("proxy_tls", &files, env_number("TANDEM_SEEDS", 5000) / 5);
}

/// Manifests of every form of segment addressing.
fn manifests() -> Vec<Vec<u8>> {
    let mpd = |inner: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" \
             mediaPresentationDuration=\"PT1M30.5S\">\n<ProgramInformation><Title>A film</Title></ProgramInformation>\n\
             <BaseURL>video/</BaseURL>\n<Period id=\"1\" start=\"PT0S\">\n<AdaptationSet contentType=\"video\" \
             frameRate=\"30000/1001\">\n{inner}\n</AdaptationSet>\n</Period>\n</MPD>\n"
        )
    };
    let representations = "<Representation id=\"a\" bandwidth=\"1000000\" width=\"640\" height=\"360\" \
         codecs=\"avc1.42c01e\"/>\n<Representation id=\"b\" bandwidth=\"2500000\"/>";
    let texts = [
        mpd(&format!(
            "<SegmentTemplate timescale=\"1000\" duration=\"4000\" startNumber=\"1\" endNumber=\"20\" \
             media=\"$RepresentationID$/$Number%05d$.m4s\" initialization=\"$RepresentationID$/init.mp4\"/>\n{representations}"
        )),
        mpd(&format!(
            "<SegmentTemplate timescale=\"90000\" presentationTimeOffset=\"180000\" media=\"$Bandwidth$/$Time$.m4s\">\n\
             <SegmentTimeline>\n<S t=\"180000\" d=\"180000\" r=\"9\"/>\n<S d=\"90000\" r=\"-1\"/>\n</SegmentTimeline>\n\
             </SegmentTemplate>\n{representations}"
        )),
        mpd(
            "<Representation id=\"c\" bandwidth=\"900\"><BaseURL>c.mp4</BaseURL>\n<SegmentList duration=\"5\">\
             <Initialization range=\"0-99\"/>\n<SegmentURL mediaRange=\"100-199\"/>\n<SegmentURL media=\"two.mp4\"/>\n\
             </SegmentList></Representation>",
        ),
        mpd("<Representation id=\"d\" bandwidth=\"900\"><BaseURL>d.mp4</BaseURL>\n<SegmentBase \
             indexRange=\"700-767\"><Initialization range=\"0-699\"/></SegmentBase></Representation>"),
        mpd(
            "<Representation id=\"e\" bandwidth=\"900\"><BaseURL>https://example.org/e.mp4?k=1</BaseURL></Representation>",
        ),
    ];
    texts.into_iter().map(String::into_bytes).collect()
}

#[test]
fn cmcd_target_does_not_panic() {
    let texts = [
        "bl=21300,br=3200,bs,d=4004,mtp=25400,nor=\"..%2F3\",ot=v,pr=1.08,sid=\"a \\\"b\\\"\",su,tandem-missing=7",
        "GET /x?CMCD=bl%3D21300%2Csid%3D%22s%22 HTTP/1.1\r\nHost: h\r\nCMCD-Object: br=3200,d=4004,ot=av\r\n\r\n",
    ];
    let inputs = texts.map(|text| text.as_bytes().to_vec());
    run_target("cmcd", &inputs, env_number("TANDEM_SEEDS", 20_000));
}

#[test]
fn manifest_targets_do_not_panic() {
    let inputs = manifests();
    for input in &inputs {
        let text = core::str::from_utf8(input).expect("a text");
        let base = url::Url::parse("http://example.org/").expect("an address");
        dash::Presentation::parse("m", text, Some(&base)).expect("a valid input");
    }
    run_target("mpd", &inputs, env_number("TANDEM_SEEDS", 5_000));
    let sizes = r#"{"segment_duration_ms": 3000, "bitrates_kbps": [1000, 2500.5],
        "segment_sizes_bits": [[2785344, 6937312], [16, 24], [1e9, 2e9]]}"#;
    run_target("sizes", &[sizes.as_bytes().to_vec()], env_number("TANDEM_SEEDS", 5_000));
    let mut sidx = b"\0\0\0\x0cstyp\0\0\0\0\0\0\0\x38sidx\0\0\0\0\0\0\0\x01\0\0\0\x01".to_vec();
    sidx.extend(b"\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\x01\x2c\0\0\0\x06\x90\0\0\0\0\0\0\xc8\0\0\0\x04\x90\0\0\0");
    run_target("sidx", &[sidx], env_number("TANDEM_SEEDS", 20_000));
}

#[test]
fn record_target_does_not_panic() {
    let text = include_str!("../../../docs/reference/session.md");
    let example =
        text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    playback::Record::parse(example.as_bytes()).expect("a valid input");
    run_target("record", &[example.as_bytes().to_vec()], env_number("TANDEM_SEEDS", 5_000));
    // Extreme numbers in a valid record, which mutations rarely produce.
    let extremes = ["9e15", "1e-308", "0"];
    let places = [
        "\"duration_s\": 7.25",
        "\"bitrate_kbps\": 5000.0",
        "\"segment_duration_s\": 3.0",
        "\"max_buffer_s\": 25.0",
        "\"throughput_kbps\": 15000.0",
        "\"position_s\": 3.0, \"open\"",
        "\"duration_s\": 6.0",
    ];
    let inputs: Vec<Vec<u8>> = places
        .iter()
        .flat_map(|place| {
            let (key, rest) = place.split_once(": ").expect("a member");
            let (_, rest) =
                rest.split_once(',').map_or(("", String::new()), |(_, rest)| ("", format!(",{rest}")));
            extremes.map(|number| example.replace(place, &format!("{key}: {number}{rest}")).into_bytes())
        })
        .collect();
    assert!(inputs.iter().any(|input| playback::Record::parse(input).is_ok()));
    run_target("record", &inputs, 0);
}

#[test]
fn packetdrill_target_does_not_panic() {
    let scripts = [
        include_str!("../../packetdrill/tests/scripts/server.pkt"),
        include_str!("../../packetdrill/tests/scripts/join.pkt"),
        include_str!("../../packetdrill/tests/scripts/fallback.pkt"),
        include_str!("../../packetdrill/tests/scripts/addresses.pkt"),
        include_str!("../../packetdrill/tests/scripts/fast_close.pkt"),
    ];
    let inputs = scripts.map(|script| script.as_bytes().to_vec());
    run_target("packetdrill", &inputs, env_number("TANDEM_SEEDS", 5000));
}

/// Inputs that libFuzzer found, in `fuzz/seeds/TARGET/`: small ones for coverage, and former findings.
#[test]
#[allow(clippy::disallowed_methods, reason = "the kept inputs are files")]
fn kept_inputs_do_not_panic() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut run = 0;
    for (name, target) in TARGETS {
        for entry in std::fs::read_dir(folder.join(name)).into_iter().flatten() {
            let path = entry.expect("it can be read").path();
            let input = std::fs::read(&path).expect("it can be read");
            let result = std::panic::catch_unwind(|| target(&input));
            assert!(result.is_ok(), "{name} fails with {}", path.display());
            run += 1;
        }
    }
    assert!(run >= TARGETS.len(), "only {run} inputs were found");
}

#[test]
fn stack_target_keeps_its_limits_and_does_not_panic() {
    for seed in 0..env_number("TANDEM_SEEDS", 2000) {
        let mut rng = Seed::new(seed).rng("stack");
        let input: Vec<u8> = (0..200 + rng.below(3000)).map(|_| rng.bits() as u8).collect();
        let result = std::panic::catch_unwind(|| tandem_fuzzing::stack(&input));
        assert!(result.is_ok(), "fails at seed {seed}");
    }
}
