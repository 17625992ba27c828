//! The diagnostics of scenarios with problems.

use std::fmt::Write;
use tandem_scenario::{Diagnostic, Scenario};

const VALID: &str = r#"seed = 1
duration = "60s"

[device]
battery = "300J"
policy = { name = "emtcp", share = 0.24 }

[[cell]]
name = "home"
kind = "wifi"
rate = "20Mbps"

[[path]]
name = "wifi"
radio = "huang2012.wifi"
down = { cell = "home", delay = "5ms", queue = "50 packets", loss = { gilbert = { p = 0.01, r = 0.3 } } }
up = { cell = "home", delay = "5ms" }

[[path]]
name = "lte"
radio = "huang2012.lte"
down = { rate = "50Mbps", delay = "50ms", queue = "1MB" }
up = { trace = "good.csv", delay = "50ms" }

[transport]
protocol = "mptcp"
scheduler = "min-rtt"

[[traffic]]
kind = "cbr"
rate = "2Mbps"
"#;

/// The directions of the path `lte` of `VALID`.
const LTE_DIRECTIONS: &str = "down = { rate = \"50Mbps\", delay = \"50ms\", queue = \"1MB\" }\nup = { trace = \"good.csv\", delay = \"50ms\" }";

const VIDEO: &str = "{\"segment_duration_ms\": 2000,\n \"bitrates_kbps\": [1000, 2500, 5000],\n \
                     \"segment_sizes_bits\": [[1900000, 5000000, 9900000], [2100000, 4900000, 9800000]]}";

fn files(path: &str) -> Result<String, String> {
    match path {
        "good.csv" => Ok("second,bytes_per_second\n1,2000000\n2,2500000\n3,1000000\n".to_owned()),
        "pairs.csv" => Ok("1,2532630\n2,2471310\n".to_owned()),
        "rate.csv" => Ok("time,throughput\n1,25\n2,24\n".to_owned()),
        "twice.csv" => Ok("time,mbps\n1,25\n2,24\n1,23\n".to_owned()),
        "bad.csv" => Ok("second,bytes\n2,fast\n3,1000000\n".to_owned()),
        "sums.csv" => Ok("time_s,down_mbps,sum_mbps\n0,8,9\n1,9,10\n".to_owned()),
        "no_upload.csv" => Ok("time_s,dl_mbps,ul_mbps\n0,8,0\n1,9,0\n".to_owned()),
        "good.json" => Ok(VIDEO.to_owned()),
        "bad.json" => Ok(VIDEO.replace("2500,", "900,")),
        "empty.csv" => Ok(String::new()),
        "bad.toml" => Ok("name = \"mine\"\nkind = \"wifi\"\nactive = 132\n".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

fn parse(text: &str) -> Result<Scenario, Vec<Diagnostic>> {
    Scenario::parse("scenarios/first.toml", text, &files)
}

/// The diagnostics of `VALID` with one piece replaced.
fn diagnostics_with(piece: &str, by: &str) -> String {
    assert!(VALID.contains(piece), "`{piece}` is not in the scenario");
    diagnostics(&VALID.replacen(piece, by, 1))
}

fn diagnostics(text: &str) -> String {
    let found = parse(text).expect_err("the scenario has a problem");
    assert!(!found.is_empty());
    for d in &found {
        assert!(
            d.expected.is_some() && d.hint.is_some(),
            "every diagnostic has an expectation and a hint:\n{d}"
        );
    }
    found.iter().fold(String::new(), |mut out, d| {
        let _ = writeln!(out, "{d}");
        out
    })
}

#[test]
fn base_scenario_is_valid() {
    if let Err(found) = parse(VALID) {
        panic!("{}", found.iter().map(ToString::to_string).collect::<String>());
    }
}

macro_rules! cases {
    ($($name:ident: $piece:expr => $by:expr;)+) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(diagnostics_with($piece, $by));
        }
    )+};
}

cases! {
    video_without_manifest: "kind = \"cbr\"\nrate = \"2Mbps\"" => "kind = \"video\"";
    video_from_the_device: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\ndirection = \"up\"\nmanifest = { bitrates = \"2Mbps\", duration = \"60s\" }";
    video_with_a_partial_segment: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nmanifest = { bitrates = \"2Mbps\", duration = \"61s\" }";
    bitrates_out_of_order: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nmanifest = { bitrates = [\"2Mbps\", \"1Mbps\"], duration = \"60s\" }";
    video_buffer_below_a_segment: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nbuffer = \"1s\"\nmanifest = { bitrates = \"2Mbps\", duration = \"60s\" }";
    video_request_too_small: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nrequest = \"9B\"\nmanifest = { bitrates = \"2Mbps\", duration = \"60s\" }";
    malformed_manifest: "kind = \"cbr\"\nrate = \"2Mbps\"" => "kind = \"video\"\nmanifest = \"bad.json\"";
    manifest_for_bulk_traffic: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"bulk\"\nmanifest = \"good.json\"";
    unknown_key: "delay = \"50ms\", queue" => "dealy = \"50ms\", queue";
    unknown_key_without_similar_name: "battery = \"300J\"" => "battery = \"300J\"\ncolour = \"red\"";
    unknown_table: "[transport]" => "[transprot]";
    missing_unit_of_a_number: "delay = \"5ms\", queue" => "delay = 5, queue";
    missing_unit_in_quotes: "rate = \"50Mbps\"" => "rate = \"50\"";
    unknown_unit: "rate = \"50Mbps\"" => "rate = \"50mbps\"";
    unit_of_another_quantity: "battery = \"300J\"" => "battery = \"300ms\"";
    unquoted_quantity: "duration = \"60s\"" => "duration = 60s";
    negative_rate: "rate = \"50Mbps\"" => "rate = \"-50Mbps\"";
    zero_rate: "rate = \"50Mbps\"" => "rate = \"0Mbps\"";
    absurd_rate: "rate = \"50Mbps\"" => "rate = \"1e12Gbps\"";
    missing_trace: "good.csv" => "absent.csv";
    malformed_trace: "good.csv" => "bad.csv";
    trace_with_two_readings: "good.csv" => "pairs.csv";
    trace_without_unit: "good.csv" => "rate.csv";
    trace_that_begins_anew: "good.csv" => "twice.csv";
    column_of_a_trace_without_columns: "trace = \"good.csv\"" => "trace = { file = \"good.csv\", format = \"mahimahi\", column = 2 }";
    trace_of_another_unit: "trace = \"good.csv\"" => "trace = { file = \"good.csv\", format = \"seconds-mbps\" }";
    trace_scale_of_zero: "trace = \"good.csv\"" => "trace = { file = \"good.csv\", scale = 0 }";
    trace_start_without_unit: "trace = \"good.csv\"" => "trace = { file = \"good.csv\", start = \"ten\" }";
    empty_trace: "good.csv" => "empty.csv";
    unknown_trace_format: "trace = \"good.csv\"" => "trace = { file = \"good.csv\", format = \"mahi\" }";
    path_without_radio: "radio = \"huang2012.lte\"\n" => "";
    unknown_radio: "huang2012.lte" => "huang2012.ltee";
    radio_file_without_table: "\"huang2012.lte\"" => "\"mine.toml\"";
    radio_in_a_missing_file: "\"huang2012.lte\"" => "{ file = \"mine.toml\" }";
    radio_in_a_bad_file: "\"huang2012.lte\"" => "{ file = \"bad.toml\" }";
    inline_radio_with_problems: "\"huang2012.lte\"" => "{ kind = \"lte\", actve = \"1W\" }";
    key_of_another_middlebox: "name = \"lte\"" => "name = \"lte\"\nmiddlebox = [{ kind = \"split\", hold = \"1ms\" }]";
    unknown_tcp_option: "name = \"lte\"" => "name = \"lte\"\nmiddlebox = [{ kind = \"strip-options\", options = [\"mp_join\"] }]";
    codel_in_cell: "queue = \"50 packets\"" => "queue = { codel = {} }";
    reorder_without_delay: "delay = \"50ms\", queue" => "delay = \"50ms\", reorder = { chance = 0.1 }, queue";
    datagrams_without_path: "kind = \"cbr\"" => "kind = \"vbr\"";
    mix_with_impossible_packet_size: "kind = \"cbr\"" => "kind = \"vbr\"\npath = \"lte\"\nmix = [[\"20B\", 1]]";
    duplicate_path_name: "name = \"lte\"" => "name = \"wifi\"";
    name_with_a_space: "name = \"lte\"" => "name = \"my lte\"";
    share_above_one: "share = 0.24" => "share = 1.4";
    share_in_percent: "share = 0.24" => "share = 24";
    share_as_text: "share = 0.24" => "share = \"24%\"";
    share_for_another_policy: "name = \"emtcp\"" => "name = \"wifi-first\"";
    deadline_for_another_policy: "name = \"emtcp\", share = 0.24" => "name = \"allowance\", deadline = \"1s\"";
    removed_policy_parameter: "name = \"emtcp\", share = 0.24" => "name = \"when-needed\", late = \"1s\"";
    allowance_period_without_allowance: "radio = \"huang2012.lte\"" => "radio = \"huang2012.lte\"\nallowance_period = \"9s\"";
    unknown_policy: "{ name = \"emtcp\", share = 0.24 }" => "\"emptcp\"";
    unknown_cell: "down = { cell = \"home\"" => "down = { cell = \"hme\"";
    rate_beside_cell: "down = { cell = \"home\"" => "down = { rate = \"1Mbps\", cell = \"home\"";
    direction_without_rate: "rate = \"50Mbps\", " => "";
    link_rate_without_cell: "rate = \"50Mbps\"" => "rate = \"50Mbps\", link_rate = \"6Mbps\"";
    link_rate_above_that_of_the_cell: "down = { cell = \"home\"" => "down = { link_rate = \"300Mbps\", cell = \"home\"";
    link_rate_of_others_above_that_of_the_cell: "kind = \"wifi\"" =>
        "kind = \"wifi\"\nothers = [{ rate = \"1Mbps\", link_rate = \"300Mbps\" }]";
    lte_cell_for_both_directions: "kind = \"wifi\"" => "kind = \"lte\"";
    tcp_without_path: "protocol = \"mptcp\"" => "protocol = \"tcp\"";
    tcp_over_unknown_path: "protocol = \"mptcp\"" => "protocol = \"tcp\"\npath = \"wfi\"";
    path_for_mptcp: "protocol = \"mptcp\"" => "protocol = \"mptcp\"\npath = \"wifi\"";
    unknown_preset: "scheduler" => "preset = \"linus\"\nscheduler";
    ecn_as_flag: "scheduler" => "ecn = true\nscheduler";
    autotune_above_recv_buffer: "scheduler" => "autotune = \"8MiB\"\nscheduler";
    unknown_scheduler: "\"min-rtt\"" => "\"minrtt\"";
    buffer_above_the_largest_window: "scheduler" => "recv_buffer = \"10GiB\"\nscheduler";
    keepalive_of_a_nanosecond: "scheduler" => "keepalive = { idle = \"1ns\", interval = \"1ns\" }\nscheduler";
    packets_of_one_byte: "kind = \"cbr\"\nrate = \"2Mbps\"" => "kind = \"cbr\"\nrate = \"80Mbps\"\npacket = \"1B\"";
    drawn_periods_of_a_microsecond: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"on-off\"\nrate = \"2Mbps\"\nexponential = true\non = \"1us\"\noff = \"1us\"";
    rate_drawn_every_nanosecond: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"vbr\"\nprotocol = \"tcp\"\nrate = \"2Mbps\"\nevery = \"1ns\"";
    mixed_packets_at_100_gbps: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"vbr\"\npath = \"wifi\"\nrate = \"100Gbps\"";
    buffer_that_is_not_a_size: "scheduler" => "recv_buffer = \"eq2\"\nscheduler";
    traffic_stopping_before_start: "kind = \"cbr\"" => "kind = \"cbr\"\nstart = \"30s\"\nstop = \"20s\"";
    traffic_after_the_end: "kind = \"cbr\"" => "kind = \"cbr\"\nstart = \"60s\"";
    cbr_without_rate: "kind = \"cbr\"\nrate = \"2Mbps\"" => "kind = \"cbr\"";
    rate_for_a_file: "kind = \"cbr\"" => "kind = \"file\"";
    duration_zero: "duration = \"60s\"" => "duration = \"0s\"";
    duration_missing: "duration = \"60s\"" => "";
    too_many_samples: "seed = 1" => "seed = 1\nsample = \"1us\"";
    sample_longer_than_run: "seed = 1" => "seed = 1\nsample = \"2min\"";
    seed_negative: "seed = 1" => "seed = -1";
    seed_as_text: "seed = 1" => "seed = \"one\"";
    queue_without_unit: "queue = \"50 packets\"" => "queue = 50";
    queue_of_zero: "queue = \"50 packets\"" => "queue = \"0 packets\"";
    outage_ending_before_start: "delay = \"50ms\", queue" => "outages = [[\"12s\", \"10s\"], [\"20s\"]], queue";
    steps_out_of_order: "rate = \"50Mbps\"" => "rate = { steps = [[\"1s\", \"5Mbps\"], [\"1s\", \"2Mbps\"]] }";
    uniform_delay_with_min_above_max: "delay = \"50ms\", queue" => "delay = { uniform = [\"20ms\", \"10ms\"] }, queue";
    gilbert_loss_without_r: "p = 0.01, r = 0.3" => "p = 0.01";
    leave_before_join: "name = \"lte\"" => "name = \"lte\"\njoin_at = \"20s\"\nleave_at = \"10s\"";
    single_brackets_for_list: "[[traffic]]" => "[traffic]";
    double_brackets_for_table: "[transport]" => "[[transport]]";
    unclosed_string: "name = \"lte\"" => "name = \"lte";
    unclosed_table: "queue = \"1MB\" }" => "queue = \"1MB\"";
    duplicate_key: "seed = 1" => "seed = 1\nseed = 2";
}

#[test]
fn policy_without_required_radio() {
    let text = VALID.replace("huang2012.lte", "huang2012.3g");
    insta::assert_snapshot!(diagnostics(&text.replace("{ name = \"emtcp\", share = 0.24 }", "\"lte-only\"")));
}

#[test]
fn videos_that_are_too_long_in_sum() {
    let video = "kind = \"video\"\nmanifest = { bitrates = \"2Mbps\", duration = \"1200000s\" }";
    let two = format!("{video}\n\n[[traffic]]\n{video}");
    insta::assert_snapshot!(diagnostics_with("kind = \"cbr\"\nrate = \"2Mbps\"", &two));
    parse(&VALID.replacen("kind = \"cbr\"\nrate = \"2Mbps\"", video, 1)).expect("one of them is not");
}

#[test]
fn missing_tables() {
    insta::assert_snapshot!(diagnostics("duration = \"1s\"\n[[traffic]]\nkind = \"bulk\"\n"));
    insta::assert_snapshot!(diagnostics("duration = \"1s\"\npath = []\ntraffic = []\n"));
}

#[test]
fn empty_file() {
    insta::assert_snapshot!(diagnostics(""));
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = VALID
        .replace("delay = \"5ms\"", "delay = 5")
        .replace("0.24", "1.4")
        .replace("huang2012.lte", "huang2012.lt")
        .replace("good.csv", "bad.csv")
        .replace("kind = \"cbr\"", "kind = \"cbr\"\nstop = \"0s\"");
    insta::assert_snapshot!(diagnostics(&text));
}

#[test]
fn invalid_utf8() {
    let mut bytes = VALID.as_bytes().to_vec();
    bytes[20] = 0xff;
    let found = Scenario::parse_bytes("s.toml", &bytes, &files).unwrap_err();
    insta::assert_snapshot!(found.iter().map(ToString::to_string).collect::<String>());
}

#[test]
fn problem_in_trace_names_trace_and_reference() {
    let found = parse(&VALID.replace("good.csv", "bad.csv")).unwrap_err();
    let [d] = found.as_slice() else { panic!("one problem") };
    assert_eq!((d.file.as_str(), d.line), ("scenarios/bad.csv", 2));
    let reference = d.referenced_at.as_ref().unwrap();
    assert_eq!((reference.file.as_str(), reference.line, reference.column), ("scenarios/first.toml", 23, 16));
}

#[test]
fn problem_of_the_upload_column_is_reported_without_up() {
    for file in ["sums.csv", "no_upload.csv"] {
        let path = |directions: &str| VALID.replace(LTE_DIRECTIONS, directions);
        let found = parse(&path(&format!("down = {{ trace = \"{file}\" }}"))).unwrap_err();
        let [d] = found.as_slice() else { panic!("one problem: {found:?}") };
        assert_eq!(d.file, format!("scenarios/{file}"));
        let hint = d.hint.as_deref().unwrap();
        assert!(hint.contains("give the path an `up`, or the trace a `column`"), "{hint}");
        for valid in [
            format!("down = {{ trace = \"{file}\" }}\nup = {{ rate = \"1Mbps\" }}"),
            format!("down = {{ trace = {{ file = \"{file}\", column = 2 }} }}"),
        ] {
            parse(&path(&valid)).unwrap_or_else(|found| panic!("{found:?}"));
        }
    }
}

#[test]
fn problem_of_both_columns_is_reported_once() {
    for file in ["bad.csv", "absent.csv", "pairs.csv"] {
        let found =
            parse(&VALID.replace(LTE_DIRECTIONS, &format!("down = {{ trace = \"{file}\" }}"))).unwrap_err();
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn retransmission_timeouts_are_within_their_maximum() {
    let messages = |keys: &str| -> Vec<String> {
        let text = VALID.replace("protocol = \"mptcp\"", keys);
        let found = parse(&text).err().unwrap_or_default();
        found.into_iter().map(|problem| format!("{}: {}", problem.line_text, problem.message)).collect()
    };
    let max = "max_rto = \"500ms\"";
    assert!(messages(max).is_empty(), "the default of `initial_rto` gives way");
    assert_eq!(
        messages(&format!("preset = \"ns3-mptcp-2012\"\n{max}")),
        [format!("{max}: `min_rto` of 1s is above `max_rto` of 500ms")]
    );
    for key in ["min_rto", "min_rto_margin", "initial_rto"] {
        let line = format!("{key} = \"80s\"");
        assert_eq!(messages(&line), [format!("{line}: `{key}` of 80s is above `max_rto` of 60s")]);
    }
}
