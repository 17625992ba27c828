//! The experiments built from valid scenarios.

use link::{CellKind, Delay, Loss, QueueLimit, Rate};
use sim::{Hop, Protocol};
use tandem_scenario::Scenario;
use units::{Bitrate, Bytes, Duration, Energy, Instant, Probability};

const LEAST: &str = "duration = \"10s\"\n[[path]]\nname = \"wifi\"\nradio = \"huang2012.wifi\"\n\
                     down = { rate = \"2Mbps\" }\n[[traffic]]\nkind = \"bulk\"\n";

fn files(path: &str) -> Result<String, String> {
    match path {
        "lte.csv" => Ok("second,bytes_per_second\n1,1250000\n2,1250000\n".to_owned()),
        "ten" => Ok("0 10\n".to_owned()),
        "ramp" => Ok((1..=100).map(|i| format!("{i} {i}")).collect::<Vec<_>>().join("\n")),
        "ucc.csv" => Ok("Timestamp,CellID,NetworkMode,DL_bitrate,UL_bitrate,State\n\
                         2018.02.12_16.14.02,2,LTE,5000,500,D\n2018.02.12_16.14.03,2,LTE,7000,700,D\n"
            .to_owned()),
        "mine.toml" => {
            Ok("kind = \"lte\"\nup_per_mbps = \"400mW\"\ndown_per_mbps = \"50mW\"\nactive = \"1W\"\n\
                           inactivity = \"100ms\"\n"
                .to_owned())
        }
        _ => Err("no such file".to_owned()),
    }
}

fn parse(text: &str) -> Scenario {
    Scenario::parse("a/least.toml", text, &files)
        .unwrap_or_else(|found| panic!("{}", found.iter().map(ToString::to_string).collect::<String>()))
}

fn link(hop: &Hop) -> &link::LinkConfig {
    match hop {
        Hop::Link(link) => link,
        Hop::Cell { .. } => panic!("a link"),
    }
}

#[test]
fn absent_keys_have_their_defaults() {
    let scenario = parse(LEAST);
    assert_eq!(scenario.title, "least", "the file's name");
    let e = &scenario.experiment;
    assert_eq!((e.seed.get(), e.sample, e.capture), (1, Duration::from_millis(100), false));
    assert_eq!(e.device.battery, Energy::from_joules(54_000.0));
    assert_eq!(e.device.policy, policy::NoPolicy.into());
    assert_eq!(e.transport.protocol, Protocol::Mptcp);
    assert_eq!(e.transport.config, mptcp::Config::default());
    let path = &e.paths[0];
    assert_eq!(path.down, path.up, "`up` is like `down`");
    assert_eq!((path.join_at, path.leave_at, path.backup), (Instant::ZERO, None, false));
    let down = link(&path.down);
    assert_eq!(
        *down,
        link::LinkConfig { rate: Rate::Fixed(Bitrate::from_mbps(2.0)), ..link::LinkConfig::default() }
    );
    assert_eq!(e.traffic, [traffic::TrafficConfig::new(traffic::Kind::Bulk)]);
}

fn transport(keys: &str) -> mptcp::Config {
    parse(&format!("{LEAST}[transport]\n{keys}\n")).experiment.transport.config
}

#[test]
fn preset_fills_absent_keys_and_given_keys_override_it() {
    assert_eq!(transport(""), mptcp::Config::default());
    assert_eq!(transport("preset = \"linux\""), mptcp::Config::linux());
    assert_eq!(transport("preset = \"ns3-mptcp-2012\""), mptcp::Config::ns3_mptcp_2012());
    let keys = "preset = \"linux\"\nrack = false\ncongestion = \"reno\"\nautotune = \"off\"\n\
                recv_buffer = \"1MiB\"\necn = \"request\"\npacing = true";
    let expected = mptcp::Config {
        rack: false,
        congestion: mptcp::CongestionKind::Reno.into(),
        // Linux leaves slow start early with CUBIC alone.
        hystart: mptcp::HyStartMode::Off,
        autotune: None,
        recv_buffer: 1 << 20,
        ecn: mptcp::EcnMode::Request,
        pacing: true,
        ..mptcp::Config::linux()
    };
    assert_eq!(transport(keys), expected);
}

#[test]
fn multipath_checksum_and_limits_are_read() {
    let base = mptcp::Config::default();
    for preset in ["rfc", "linux"] {
        let config = transport(&format!("preset = \"{preset}\""));
        let read = (config.checksum, config.max_subflows, config.max_addresses);
        assert_eq!(read, (base.checksum, base.max_subflows, base.max_addresses));
    }
    let config = transport("checksum = true\nmax_subflows = 2\nmax_addresses = 0");
    assert_eq!((config.checksum, config.max_subflows, config.max_addresses), (true, 2, 0));
}

#[test]
fn each_transport_flag_sets_its_field() {
    let flags =
        ["rack", "dsack", "prr", "frto", "undo", "hystart", "pacing", "paws", "challenge_acks", "quickack"];
    let on = |c: &mptcp::Config| {
        let hystart = c.hystart == mptcp::HyStartMode::Rfc9406;
        [c.rack, c.dsack, c.prr, c.frto, c.undo, hystart, c.pacing, c.paws, c.challenge_acks, c.quickack]
    };
    let original = transport("hystart = \"original\"").hystart;
    assert_eq!(original, mptcp::HyStartMode::Original);
    assert_eq!(transport("preset = \"linux\"\nhystart = \"off\"").hystart, mptcp::HyStartMode::Off);
    for (i, key) in flags.iter().enumerate() {
        let config = transport(&format!("{key} = true"));
        let expected: Vec<bool> = (0..flags.len()).map(|j| i == j).collect();
        assert_eq!(on(&config).to_vec(), expected, "{key}");
    }
    assert_eq!(transport("autotune = \"64KiB\"").autotune, Some(65_536));
    let keepalive = mptcp::Keepalive { idle: Duration::from_secs(60), probes: 5, ..Default::default() };
    assert_eq!(transport("keepalive = { idle = \"60s\", probes = 5 }").keepalive, Some(keepalive));
}

#[test]
fn policy_name_alone_gives_its_defaults() {
    for policy in ["\"emtcp\"", "{ name = \"emtcp\" }"] {
        let scenario = parse(&LEAST.replace("[[path]]", &format!("[device]\npolicy = {policy}\n[[path]]")));
        assert_eq!(scenario.experiment.device.policy, policy::Emtcp::PAPER.into());
    }
}

#[test]
fn policy_parameters_are_read() {
    use policy::{Allowance, CapAction, PolicyConfig, Qoe, WhenNeeded};
    let policy = |text: &str| {
        let scenario = parse(&LEAST.replace("[[path]]", &format!("[device]\npolicy = {text}\n[[path]]")));
        scenario.experiment.device.policy
    };
    let named = PolicyConfig::from(WhenNeeded::DEFAULT);
    assert_eq!(policy("\"when-needed\""), named);
    assert_eq!(policy("{ name = \"when-needed\" }"), named, "the defaults of the format are the policy's");
    let keys = "deadline = \"1s\", hold = \"2s\", memory = \"4s\", queueing = \"5s\", slack = 0.1, enough = \"6Mbps\"";
    let expected = WhenNeeded {
        deadline: Duration::from_secs(1),
        hold: Duration::from_secs(2),
        memory: Duration::from_secs(4),
        queueing: Duration::from_secs(5),
        slack: 0.1,
        enough: Some(Bitrate::from_mbps(6.0)),
    };
    assert_eq!(policy(&format!("{{ name = \"when-needed\", {keys} }}")), expected.into());
    let qoe = PolicyConfig::from(Qoe { margin: Duration::from_secs(8), rescue: Duration::from_secs(3) });
    assert_eq!(policy("\"qoe\""), qoe);
    assert_eq!(policy("{ name = \"qoe\" }"), qoe, "the default of the format is the policy's");
    let seconds = Duration::from_secs;
    let expected = Qoe { margin: seconds(9), rescue: seconds(2) };
    assert_eq!(policy("{ name = \"qoe\", margin = \"9s\", rescue = \"2s\" }"), expected.into());
    assert_eq!(policy("\"allowance\""), Allowance { at_cap: CapAction::Close }.into());
    assert_eq!(
        policy("{ name = \"allowance\", at_cap = \"backup\" }"),
        Allowance { at_cap: CapAction::Backup }.into()
    );
}

#[test]
fn allowance_covers_the_run_or_a_period() {
    let plan = |keys: &str| {
        let scenario = parse(&LEAST.replace("down =", &format!("{keys}\ndown =")));
        scenario.experiment.paths[0].allowance
    };
    let allowance = units::Bytes::new(2_000_000_000);
    assert_eq!(plan(""), None);
    assert_eq!(plan("allowance = \"2GB\""), Some(policy::DataPlan { allowance, period: None }));
    let period = Some(Duration::from_secs(30));
    assert_eq!(
        plan("allowance = \"2GB\"\nallowance_period = \"30s\""),
        Some(policy::DataPlan { allowance, period })
    );
}

#[test]
fn every_form_of_a_direction_is_read() {
    let down = |text: &str| {
        let scenario = parse(&LEAST.replace("{ rate = \"2Mbps\" }", text));
        link(&scenario.experiment.paths[0].down).clone()
    };
    let at = Instant::from_secs;
    let steps = down("{ rate = { steps = [[\"0s\", \"5Mbps\"], [\"9s\", \"0bps\"]] } }");
    assert_eq!(steps.rate, Rate::Steps(vec![(at(0), Bitrate::from_mbps(5.0)), (at(9), Bitrate::ZERO)]));
    let traced = down("{ trace = \"lte.csv\", queue = \"90ms\" }");
    let Rate::Trace(trace) = &traced.rate else { panic!("a trace") };
    assert_eq!(trace.mean_rate(), Bitrate::from_mbps(10.0));
    assert_eq!(traced.queue, QueueLimit::Time(Duration::from_millis(90)));
    assert!(matches!(down("{ model = \"wifi-indoor\" }").rate, Rate::Trace(_)));
    let rest = down(
        "{ rate = \"1Mbps\", queue = \"1MB\", delay = { uniform = [\"20ms\", \"50ms\"] }, reorder = true, \
         loss = { gilbert = { p = 0.01, r = 0.3 } }, outages = [[\"8s\", \"9s\"], [\"1s\", \"3s\"], [\"2s\", \"4s\"]] }",
    );
    assert_eq!(rest.queue, QueueLimit::Bytes(Bytes::new(1_000_000)));
    assert_eq!(rest.delay, Delay::Uniform { min: Duration::from_millis(20), max: Duration::from_millis(50) });
    let p = |p| Probability::new(p).unwrap();
    assert_eq!(rest.loss, Loss::gilbert(p(0.01), p(0.3)));
    assert_eq!(rest.outages, [(at(1), at(4)), (at(8), at(9))], "in order and apart");
    assert!(rest.reorder);
    let more = down(
        "{ rate = \"1Mbps\", queue = \"unlimited\", loss = 0.5, delay = { normal = { mean = \"9ms\", sd = \"1ms\" } } }",
    );
    assert_eq!(more.queue, QueueLimit::Unlimited);
    assert_eq!(more.loss, Loss::Uniform(p(0.5)));
    assert_eq!(more.delay, Delay::Normal { mean: Duration::from_millis(9), sd: Duration::from_millis(1) });
}

#[test]
fn path_joins_a_cell_in_both_directions() {
    let text = LEAST
        .replace("{ rate = \"2Mbps\" }", "{ cell = \"home\", delay = \"5ms\", link_rate = \"6Mbps\" }")
        .replace(
            "[[path]]",
            "[[cell]]\nname = \"home\"\nkind = \"wifi\"\nrate = \"20Mbps\"\noverhead = \"150us\"\n\
             others = [{ count = 3, rate = \"1Mbps\" }]\n[[path]]",
        );
    let e = parse(&text).experiment;
    assert_eq!(e.cells[0].config.kind, CellKind::Wifi);
    assert_eq!(e.cells[0].config.others[0].count, 3);
    assert_eq!(e.cells[0].config.overhead, Duration::from_micros(150));
    for hop in [&e.paths[0].down, &e.paths[0].up] {
        let Hop::Cell { cell: 0, station } = hop else { panic!("a cell") };
        assert_eq!(station.delay, Delay::Fixed(Duration::from_millis(5)));
        assert_eq!(station.link_rate, Some(Bitrate::from_mbps(6.0)));
    }
}

#[test]
fn profile_is_read_from_file_or_inline_table() {
    let radio = |text: &str| {
        let scenario = parse(&LEAST.replace("\"huang2012.wifi\"", text));
        scenario.experiment.paths[0].profile.clone()
    };
    let file = radio("{ file = \"mine.toml\" }");
    assert_eq!(file.kind, radio::InterfaceKind::Lte);
    let inline = radio(
        "{ kind = \"lte\", up_per_mbps = \"400mW\", down_per_mbps = \"50mW\", active = \"1W\", inactivity = \"100ms\" }",
    );
    assert_eq!(inline.active, file.active);
    assert_eq!(inline.name, "wifi", "an inline profile has the path's name");
}

#[test]
fn unnamed_profiles_of_one_path_have_names_of_their_own() {
    let inline = |power: &str| {
        format!(
            "{{ kind = \"wifi\", up_per_mbps = \"0mW\", down_per_mbps = \"0mW\", active = \"{power}\", inactivity = \"1s\" }}"
        )
    };
    let also = format!("\nalso_measure = [\"huang2012.lte\", {}, {}]", inline("2W"), inline("3W"));
    let scenario = parse(&LEAST.replace("\"huang2012.wifi\"", &(inline("1W") + &also)));
    let path = &scenario.experiment.paths[0];
    let names: Vec<&str> = path.also_measure.iter().map(|profile| &*profile.name).collect();
    assert_eq!((&*path.profile.name, names), ("wifi", vec!["huang2012.lte", "wifi.2", "wifi.3"]));
}

#[test]
fn equation_1_gives_the_buffer_of_the_paper() {
    // 2 Mbit/s at 10 ms and 100 Mbit/s at 100 ms: 2 * 102 Mbit/s * 100 ms = 2.55 MB.
    let text = "duration = \"1s\"\n[[path]]\nname = \"wifi\"\nradio = \"huang2012.wifi\"\ndown = { rate = \"2Mbps\", delay = \"5ms\" }\n\
                [[path]]\nname = \"lte\"\nradio = \"huang2012.lte\"\ndown = { rate = \"100Mbps\", delay = \"50ms\" }\n\
                [transport]\nrecv_buffer = \"eq1\"\nsend_buffer = \"1MB\"\n[[traffic]]\nkind = \"bulk\"\n";
    let config = parse(text).experiment.transport.config;
    assert_eq!((config.recv_buffer, config.send_buffer), (2_550_000, 1_000_000));
    // Plain TCP over Wi-Fi alone: 2 * 2 Mbit/s * 10 ms is less than the least.
    let tcp = text.replace("[transport]", "[transport]\nprotocol = \"tcp\"\npath = \"wifi\"");
    let transport = parse(&tcp).experiment.transport;
    assert_eq!(transport.protocol, Protocol::Tcp { path: 0 });
    assert_eq!((transport.config.mptcp, transport.config.recv_buffer), (false, 65_536));
}

#[test]
fn video_is_read_from_json_or_has_constant_bitrate() {
    let one = |text: &str| {
        let json = |path: &str| match path {
            "two.json" => Ok("{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [100], \
                              \"segment_sizes_bits\": [[800], [1600]]}"
                .to_owned()),
            _ => Err("no such file".to_owned()),
        };
        let text = LEAST.replace("kind = \"bulk\"", &format!("kind = \"video\"\n{text}"));
        let scenario = Scenario::parse("s.toml", &text, &json).unwrap();
        match &scenario.experiment.traffic[0].kind {
            traffic::Kind::Video(video) => (**video).clone(),
            other => panic!("{other:?}"),
        }
    };
    let read = one("manifest = \"two.json\"");
    assert_eq!(read.manifest.duration(), Duration::from_secs(6));
    assert_eq!(read.manifest.size(1, 0), Some(Bytes::new(200)));
    let standard = abr::PlayerConfig { abandon: false, ..abr::PlayerConfig::new(abr::BOLA) };
    assert_eq!(read, abr::Video::new(read.manifest.clone(), standard));

    let even = one(
        "manifest = { bitrates = [\"1Mbps\", \"4Mbps\"], duration = \"12s\", segment = \"4s\" }\n\
                    rule = \"buffer\"\nbuffer = \"30s\"\nstartup = \"8s\"\nresume = \"5s\"\nrequest = \"800B\"\n\
                    wait = \"25ms\"",
    );
    assert_eq!((even.manifest.segments(), even.manifest.highest()), (3, 1));
    assert_eq!(even.manifest.size(2, 1), Some(Bytes::new(2_000_000)));
    assert_eq!((even.request, even.wait), (Bytes::new(800), Duration::from_millis(25)));
    assert_eq!(
        even.player,
        abr::PlayerConfig {
            rule: abr::BUFFER.into(),
            max_buffer: Duration::from_secs(30),
            startup: Duration::from_secs(8),
            resume: Duration::from_secs(5),
            abandon: false,
        }
    );
}

#[test]
fn traces_are_listed_with_hash_and_figures() {
    let traces = parse(&LEAST.replace("rate = \"2Mbps\"", "trace = \"ten\"")).traces;
    // A path without `up` has the trace in both directions.
    let [down, up] = traces.as_slice() else { panic!("two traces: {traces:?}") };
    assert_eq!((down.path.as_str(), down.file.as_str(), down.down, up.down), ("wifi", "ten", true, false));
    assert_eq!(down.format, "seconds-mbps");
    assert_eq!(down.sha256, "76c7f7c282bb3633aca25e5339b005ff007727b190a53c7ed65f6270003f65c4");
    assert_eq!(down.summary.mean, Bitrate::from_mbps(10.0));
    assert!(parse(LEAST).traces.is_empty());
}

/// Rates of the first piece of both directions of the first path, in Mbit/s.
fn first_rates(experiment: &sim::Experiment) -> [f64; 2] {
    let path = &experiment.paths[0];
    [&path.down, &path.up].map(|hop| match hop {
        Hop::Link(link::LinkConfig { rate: Rate::Trace(trace), .. }) => trace.pieces()[0].rate.as_mbps(),
        _ => panic!("a trace"),
    })
}

#[test]
fn trace_has_column_start_and_scale() {
    let with = |table: &str| parse(&LEAST.replace("rate = \"2Mbps\"", &format!("trace = {{ {table} }}")));
    let scenario = with("file = \"ramp\", start = \"110s\", scale = 0.5");
    assert_eq!(first_rates(&scenario.experiment), [5.5, 5.5]);
    let used = &scenario.traces[0];
    assert_eq!((used.start, used.scale), (Some(Duration::from_secs(10)), 0.5));
    assert_eq!(used.summary.mean, Bitrate::from_mbps(25.25));
    // Each direction has its column.
    let ucc = with("file = \"ucc.csv\"");
    let column = |i: usize| ucc.traces[i].column.clone().map(|column| (column.name, column.unit));
    assert_eq!(first_rates(&ucc.experiment), [5.0, 0.5]);
    assert_eq!(column(1), Some(("UL_bitrate".to_owned(), "kbit/s")));
    assert_eq!(first_rates(&with("file = \"ucc.csv\", column = 5").experiment), [0.5, 0.5]);
}

#[test]
fn random_start_follows_the_seed_and_is_common_to_both_directions() {
    let text = LEAST.replace("rate = \"2Mbps\"", "trace = { file = \"ramp\", start = \"random\" }");
    let scenario = parse(&text);
    assert_eq!(scenario, parse(&text));
    let mut starts = Vec::new();
    for seed in 1..=20 {
        let seed = units::Seed::new(seed);
        let [down, up] = first_rates(&scenario.with_seed(seed));
        let traces = scenario.traces_with_seed(seed);
        assert_eq!((down, traces[0].start), (up, traces[1].start));
        let start = traces[0].start.expect("one device");
        assert_eq!(down, 1.0 + start.as_secs_f64().floor(), "the list has the start of the run");
        starts.push(start.as_millis());
    }
    assert_eq!(first_rates(&scenario.experiment), first_rates(&scenario.with_seed(scenario.experiment.seed)));
    starts.sort_unstable();
    starts.dedup();
    assert!(starts.len() > 15 && starts[0] < 30_000 && starts[starts.len() - 1] > 70_000, "{starts:?}");
    let other = parse(&text.replace("\"wifi\"\nradio", "\"other\"\nradio"));
    assert_ne!(other.traces[0].start, scenario.traces[0].start, "paths differ");
}

#[test]
fn every_traffic_kind_is_read() {
    use traffic::{Direction, Kind, OnFull};
    let one = |text: &str| parse(&LEAST.replace("kind = \"bulk\"", text)).experiment.traffic[0].clone();
    let cbr = one(
        "kind = \"cbr\"\nrate = \"2Mbps\"\npacket = \"1040B\"\non_full = \"drop\"\nstart = \"1s\"\nstop = \"9s\"",
    );
    assert_eq!(cbr.kind, Kind::Cbr { rate: Bitrate::from_mbps(2.0), packet: Bytes::new(1040) });
    assert_eq!(
        (cbr.on_full, cbr.start, cbr.stop),
        (OnFull::Drop, Instant::from_secs(1), Some(Instant::from_secs(9)))
    );
    let on_off = one("kind = \"on-off\"\nrate = \"1Mbps\"\non = \"2s\"\noff = \"5s\"\nexponential = true");
    assert!(
        matches!(on_off.kind, Kind::OnOff { exponential: true, off, .. } if off == Duration::from_secs(5))
    );
    let file = one("kind = \"file\"\nsize = \"5MB\"\ndirection = \"up\"");
    assert_eq!(file.kind, Kind::File { size: Bytes::new(5_000_000) });
    assert_eq!(file.direction, Direction::Up);
}

#[test]
fn queues_impairments_and_middleboxes_are_read() {
    let down = "down = { rate = \"2Mbps\", queue = { codel = { ecn = true }, limit = \"20KB\" }, duplicate = 0.1, \
                corrupt = 0.2, reorder = { chance = 0.3, by = \"4ms\" } }\n\
                middlebox = [{ kind = \"strip-options\", options = [\"mp-join\", \"sack\"], on = \"syn\", drop = true }, \
                { kind = \"forget-nat\", idle = \"9s\", forgotten = \"new-port\", from = \"1s\" }, \
                { kind = \"split\", direction = \"up\" }]\nup = { rate = \"1Mbps\" }";
    let scenario = parse(&LEAST.replace("down = { rate = \"2Mbps\" }", down));
    let path = &scenario.experiment.paths[0];
    let p = |p| Probability::new(p).unwrap();
    let got = link(&path.down);
    assert_eq!(got.codel, Some(link::Codel { ecn: true, ..link::Codel::default() }));
    assert_eq!(got.queue, QueueLimit::Bytes(Bytes::new(20_000)));
    let reorder = Some(link::Reorder { probability: p(0.3), extra_delay: Duration::from_millis(4) });
    assert_eq!(got.impairments, link::Impairments { duplicate: p(0.1), corrupt: p(0.2), reorder });
    assert_eq!((link(&path.up).codel, link(&path.up).impairments), (None, link::Impairments::default()));
    let options = middlebox::OptionSet::JOIN | middlebox::OptionSet::SACK;
    let strip = middlebox::MiddleboxKind::StripOptions {
        options,
        filter: middlebox::SegmentFilter::Syn,
        action: middlebox::OptionAction::Drop,
        chance: Probability::ALWAYS,
    };
    let on_expiry = middlebox::ExpiryAction::NewPort;
    let nat = middlebox::MiddleboxKind::Nat { idle: Duration::from_secs(9), on_expiry };
    let new = middlebox::MiddleboxConfig::new;
    let expected = [
        new(strip),
        middlebox::MiddleboxConfig { from: Instant::from_secs(1), ..new(nat) },
        middlebox::MiddleboxConfig {
            directions: middlebox::Directions::Up,
            ..new(middlebox::MiddleboxKind::Split { mss: 536 })
        },
    ];
    assert_eq!(path.middleboxes, expected);
}

#[test]
fn vbr_is_a_datagram_flow_or_a_connection() {
    let traffic = "kind = \"bulk\"\n[[traffic]]\nkind = \"vbr\"\nrate = \"4Mbps\"\nspread = 0.5\nmix = [[\"100B\", 1]]\n\
                   direction = \"up\"\n[[traffic]]\nkind = \"vbr\"\nprotocol = \"tcp\"\nrate = \"1Mbps\"\nbursts = true\noff = \"3s\"\n";
    let e = parse(&LEAST.replace("kind = \"bulk\"\n", traffic)).experiment;
    let vbr = |low: u64, high: u64| traffic::Vbr {
        low: Bitrate::from_bps(low),
        high: Bitrate::from_bps(high),
        every: Duration::from_secs(1),
        mix: traffic::Mix::IMIX,
        bursts: None,
    };
    let mix = traffic::Mix::new(&[(100, 1)]).unwrap();
    let direction = traffic::Direction::Up;
    let packets = traffic::Vbr { mix, ..vbr(2_000_000, 6_000_000) };
    let datagrams = sim::BackgroundSpec { path: 0, direction, start: Instant::ZERO, stop: None, packets };
    assert_eq!(e.background, [datagrams]);
    let bursts = Some(traffic::Bursts { on: Duration::from_secs(1), off: Duration::from_secs(3) });
    let kinds: Vec<traffic::Kind> = e.traffic.iter().map(|t| t.kind.clone()).collect();
    let written = traffic::Kind::Vbr(traffic::Vbr { bursts, ..vbr(1_000_000, 1_000_000) });
    assert_eq!(kinds, [traffic::Kind::Bulk, written]);
}
