//! What a user sees for each way to get a scenario wrong.

use std::fmt::Write;
use tandem_scenario::{Diagnostic, Scenario};

const RIGHT: &str = r#"seed = 1
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

const VIDEO: &str = "{\"segment_duration_ms\": 2000,\n \"bitrates_kbps\": [1000, 2500, 5000],\n \
                     \"segment_sizes_bits\": [[1900000, 5000000, 9900000], [2100000, 4900000, 9800000]]}";

fn files(path: &str) -> Result<String, String> {
    match path {
        "good.csv" => Ok("1,2000000\n2,2500000\n3,1000000\n".to_owned()),
        "bad.csv" => Ok("1,2000000\n2,fast\n3,1000000\n".to_owned()),
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

/// `RIGHT` with one piece replaced, and all that is said about it.
fn wrong(piece: &str, by: &str) -> String {
    assert!(RIGHT.contains(piece), "`{piece}` is not in the scenario");
    told(&RIGHT.replacen(piece, by, 1))
}

fn told(text: &str) -> String {
    let found = parse(text).expect_err("the scenario is wrong");
    assert!(!found.is_empty());
    for d in &found {
        assert!(
            d.expected.is_some() && d.hint.is_some(),
            "neither expectation nor hint may be missing:\n{d}"
        );
    }
    found.iter().fold(String::new(), |mut out, d| {
        let _ = writeln!(out, "{d}");
        out
    })
}

#[test]
fn the_scenario_that_the_others_are_made_from_is_right() {
    if let Err(found) = parse(RIGHT) {
        panic!("{}", found.iter().map(ToString::to_string).collect::<String>());
    }
}

macro_rules! cases {
    ($($name:ident: $piece:expr => $by:expr;)+) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(wrong($piece, $by));
        }
    )+};
}

cases! {
    a_video_without_a_manifest: "kind = \"cbr\"\nrate = \"2Mbps\"" => "kind = \"video\"";
    a_video_upwards: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\ndirection = \"up\"\nmanifest = { bitrates = \"2Mbps\", duration = \"60s\" }";
    a_video_of_half_a_segment: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nmanifest = { bitrates = \"2Mbps\", duration = \"61s\" }";
    bitrates_out_of_order: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nmanifest = { bitrates = [\"2Mbps\", \"1Mbps\"], duration = \"60s\" }";
    a_buffer_for_less_than_a_segment: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nbuffer = \"1s\"\nmanifest = { bitrates = \"2Mbps\", duration = \"60s\" }";
    a_request_of_nearly_nothing: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"video\"\nrequest = \"9B\"\nmanifest = { bitrates = \"2Mbps\", duration = \"60s\" }";
    a_manifest_that_is_none: "kind = \"cbr\"\nrate = \"2Mbps\"" => "kind = \"video\"\nmanifest = \"bad.json\"";
    a_manifest_for_a_bulk_transfer: "kind = \"cbr\"\nrate = \"2Mbps\"" =>
        "kind = \"bulk\"\nmanifest = \"good.json\"";
    unknown_key: "delay = \"50ms\", queue" => "dealy = \"50ms\", queue";
    unknown_key_that_is_near_none: "battery = \"300J\"" => "battery = \"300J\"\ncolour = \"red\"";
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
    empty_trace: "good.csv" => "empty.csv";
    unknown_trace_format: "trace = \"good.csv\"" => "trace = { file = \"good.csv\", format = \"mahi\" }";
    path_without_a_radio: "radio = \"huang2012.lte\"\n" => "";
    unknown_radio: "huang2012.lte" => "huang2012.ltee";
    radio_file_without_the_table: "\"huang2012.lte\"" => "\"mine.toml\"";
    radio_in_a_missing_file: "\"huang2012.lte\"" => "{ file = \"mine.toml\" }";
    radio_in_a_bad_file: "\"huang2012.lte\"" => "{ file = \"bad.toml\" }";
    inline_radio_that_is_wrong: "\"huang2012.lte\"" => "{ kind = \"lte\", actve = \"1W\" }";
    a_key_of_another_middlebox: "name = \"lte\"" => "name = \"lte\"\nmiddlebox = [{ kind = \"split\", hold = \"1ms\" }]";
    an_option_that_is_none: "name = \"lte\"" => "name = \"lte\"\nmiddlebox = [{ kind = \"strip-options\", options = [\"mp_join\"] }]";
    codel_in_a_cell: "queue = \"50 packets\"" => "queue = { codel = {} }";
    late_by_nothing: "delay = \"50ms\", queue" => "delay = \"50ms\", reorder = { chance = 0.1 }, queue";
    datagrams_without_a_path: "kind = \"cbr\"" => "kind = \"vbr\"";
    a_mix_of_no_packets: "kind = \"cbr\"" => "kind = \"vbr\"\npath = \"lte\"\nmix = [[\"20B\", 1]]";
    two_paths_of_one_name: "name = \"lte\"" => "name = \"wifi\"";
    a_name_with_a_space: "name = \"lte\"" => "name = \"my lte\"";
    share_above_one: "share = 0.24" => "share = 1.4";
    share_in_percent: "share = 0.24" => "share = 24";
    share_as_text: "share = 0.24" => "share = \"24%\"";
    share_for_a_policy_without: "name = \"emtcp\"" => "name = \"wifi-first\"";
    late_for_a_policy_without: "name = \"emtcp\", share = 0.24" => "name = \"allowance\", late = \"1s\"";
    allowance_period_without_an_allowance: "radio = \"huang2012.lte\"" => "radio = \"huang2012.lte\"\nallowance_period = \"9s\"";
    unknown_policy: "{ name = \"emtcp\", share = 0.24 }" => "\"emptcp\"";
    unknown_cell: "down = { cell = \"home\"" => "down = { cell = \"hme\"";
    rate_beside_a_cell: "down = { cell = \"home\"" => "down = { rate = \"1Mbps\", cell = \"home\"";
    neither_rate_nor_trace: "rate = \"50Mbps\", " => "";
    link_rate_without_a_cell: "rate = \"50Mbps\"" => "rate = \"50Mbps\", link_rate = \"6Mbps\"";
    lte_cell_for_both_directions: "kind = \"wifi\"" => "kind = \"lte\"";
    tcp_without_a_path: "protocol = \"mptcp\"" => "protocol = \"tcp\"";
    tcp_over_a_path_that_does_not_exist: "protocol = \"mptcp\"" => "protocol = \"tcp\"\npath = \"wfi\"";
    path_for_mptcp: "protocol = \"mptcp\"" => "protocol = \"mptcp\"\npath = \"wifi\"";
    unknown_preset: "scheduler" => "preset = \"linus\"\nscheduler";
    marks_neither_on_nor_off: "scheduler" => "ecn = true\nscheduler";
    a_buffer_that_begins_above_its_bound: "scheduler" => "autotune = \"8MiB\"\nscheduler";
    unknown_scheduler: "\"min-rtt\"" => "\"minrtt\"";
    buffer_that_is_no_size: "scheduler" => "recv_buffer = \"eq2\"\nscheduler";
    traffic_that_stops_before_it_starts: "kind = \"cbr\"" => "kind = \"cbr\"\nstart = \"30s\"\nstop = \"20s\"";
    traffic_after_the_end: "kind = \"cbr\"" => "kind = \"cbr\"\nstart = \"60s\"";
    cbr_without_a_rate: "kind = \"cbr\"\nrate = \"2Mbps\"" => "kind = \"cbr\"";
    rate_for_a_file: "kind = \"cbr\"" => "kind = \"file\"";
    duration_zero: "duration = \"60s\"" => "duration = \"0s\"";
    duration_missing: "duration = \"60s\"" => "";
    too_many_samples: "seed = 1" => "seed = 1\nsample = \"1us\"";
    sample_longer_than_the_run: "seed = 1" => "seed = 1\nsample = \"2min\"";
    seed_negative: "seed = 1" => "seed = -1";
    seed_as_text: "seed = 1" => "seed = \"one\"";
    queue_of_a_bare_number: "queue = \"50 packets\"" => "queue = 50";
    queue_of_nothing: "queue = \"50 packets\"" => "queue = \"0 packets\"";
    outage_that_ends_before_it_begins: "delay = \"50ms\", queue" => "outages = [[\"12s\", \"10s\"], [\"20s\"]], queue";
    steps_out_of_order: "rate = \"50Mbps\"" => "rate = { steps = [[\"1s\", \"5Mbps\"], [\"1s\", \"2Mbps\"]] }";
    uniform_delay_upside_down: "delay = \"50ms\", queue" => "delay = { uniform = [\"20ms\", \"10ms\"] }, queue";
    loss_of_a_gilbert_chain_without_r: "p = 0.01, r = 0.3" => "p = 0.01";
    leaves_before_it_joins: "name = \"lte\"" => "name = \"lte\"\njoin_at = \"20s\"\nleave_at = \"10s\"";
    one_bracket_too_few: "[[traffic]]" => "[traffic]";
    one_bracket_too_many: "[transport]" => "[[transport]]";
    unclosed_string: "name = \"lte\"" => "name = \"lte";
    unclosed_table: "queue = \"1MB\" }" => "queue = \"1MB\"";
    key_twice: "seed = 1" => "seed = 1\nseed = 2";
}

#[test]
fn a_policy_for_a_radio_that_is_not_there() {
    let text = RIGHT.replace("huang2012.lte", "huang2012.3g");
    insta::assert_snapshot!(told(&text.replace("{ name = \"emtcp\", share = 0.24 }", "\"lte-only\"")));
}

#[test]
fn no_path_at_all() {
    insta::assert_snapshot!(told("duration = \"1s\"\n[[traffic]]\nkind = \"bulk\"\n"));
    insta::assert_snapshot!(told("duration = \"1s\"\npath = []\ntraffic = []\n"));
}

#[test]
fn an_empty_file() {
    insta::assert_snapshot!(told(""));
}

#[test]
fn all_problems_are_told_at_once() {
    let text = RIGHT
        .replace("delay = \"5ms\"", "delay = 5")
        .replace("0.24", "1.4")
        .replace("huang2012.lte", "huang2012.lt")
        .replace("good.csv", "bad.csv")
        .replace("kind = \"cbr\"", "kind = \"cbr\"\nstop = \"0s\"");
    insta::assert_snapshot!(told(&text));
}

#[test]
fn bytes_that_are_not_text() {
    let mut bytes = RIGHT.as_bytes().to_vec();
    bytes[20] = 0xff;
    let found = Scenario::parse_bytes("s.toml", &bytes, &files).unwrap_err();
    insta::assert_snapshot!(found.iter().map(ToString::to_string).collect::<String>());
}

#[test]
fn a_problem_inside_a_trace_names_the_trace_and_the_line_that_asked_for_it() {
    let found = parse(&RIGHT.replace("good.csv", "bad.csv")).unwrap_err();
    let [d] = found.as_slice() else { panic!("one problem") };
    assert_eq!((d.file.as_str(), d.line), ("scenarios/bad.csv", 2));
    let asked = d.referenced_at.as_ref().unwrap();
    assert_eq!((asked.file.as_str(), asked.line, asked.column), ("scenarios/first.toml", 23, 16));
}
