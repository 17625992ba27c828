//! Short scenarios of several devices that would need much memory or time.

use super::{VALID, diagnostics_with, parse};

#[test]
fn more_devices_than_fit_a_packet() {
    insta::assert_snapshot!(diagnostics_with("count = 16", "count = 10000"));
}

#[test]
fn devices_that_draw_more_trace_than_memory_are_refused() {
    let text = VALID
        .replacen(
            "down = { cell = \"sector\", snr_db = [0, 10, 20] }",
            "down = { model = \"lte-driving\" }",
            1,
        )
        .replacen("count = 16", "count = 9999", 1)
        .replacen("duration = \"60s\"\n\n", "duration = \"1h\"\n\n", 1);
    let found = parse(&text).expect_err("ten thousand traces of an hour");
    assert!(found.contains("steps of drawn traces in all"), "{found}");
    assert!(parse(&text.replacen("\"1h\"", "\"60s\"", 1)).is_ok());
}

#[test]
fn more_cells_than_a_scenario_may_have_are_refused() {
    let cell = |i: usize| format!("\n[[cell]]\nname = \"c{i}\"\nkind = \"wifi\"\nrate = \"20Mbps\"\n");
    let more: String = (0..1000).map(cell).collect();
    let found = parse(&format!("{VALID}{more}")).expect_err("1003 cells");
    assert!(found.contains("1003 cells in all"), "{found}");
    assert_eq!(found.matches("error").count(), 1, "{found}");
}

#[test]
fn samples_of_all_cells_are_limited() {
    let text = VALID.replacen("duration = \"60s\"\n\n", "duration = \"400s\"\nsample = \"1ms\"\n\n", 1);
    let found = parse(&text).expect_err("1.2 million samples");
    assert!(found.contains("has 400000 rows for each of 3 cells"), "{found}");
    assert!(parse(&text.replacen("400s", "300s", 1)).is_ok());
}

#[test]
fn background_stations_are_limited_in_sum() {
    let with = |others: &str| {
        parse(&VALID.replacen("rate = \"40Mbps\"", &format!("rate = \"40Mbps\"\nothers = [{others}]"), 1))
    };
    let many = "{ count = 9000, rate = \"1kbps\" }";
    let found = with(&[many; 2].join(", ")).expect_err("18000 stations");
    assert!(found.contains("18000 background stations in a cell"), "{found}");
    let fast = "{ rate = \"6Gbps\", packet = \"1000B\" }";
    let found = with(&[fast; 2].join(", ")).expect_err("1.5 million packets per second");
    assert!(found.contains("send 1500000 packets per second"), "{found}");
    assert!(with(fast).is_ok() && with(many).is_ok());
}

#[test]
fn writes_of_all_devices_are_limited() {
    let bulk = "kind = \"bulk\"";
    let cbr = "kind = \"cbr\"\nrate = \"800Mbps\"\npacket = \"1000B\"";
    let text = VALID.replacen(bulk, cbr, 1).replacen("name = \"laptop\"", "name = \"laptop\"\ncount = 11", 1);
    let found = parse(&text).expect_err("1.1 million writes per second");
    assert!(found.contains("1100000 writes per second in all"), "{found}");
    assert!(parse(&text.replacen("count = 11", "count = 9", 1)).is_ok());
    // Packets of 340 bytes on average, at up to twice the mean rate.
    let vbr = "kind = \"vbr\"\nprotocol = \"tcp\"\nrate = \"136Mbps\"\nspread = 1.0";
    let found = parse(&text.replacen(cbr, vbr, 1)).expect_err("1.1 million packets per second");
    assert!(found.contains("writes per second in all"), "{found}");
}
