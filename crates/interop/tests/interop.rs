//! Plays the cases of two stacks without privileges, and all cases as root.

use std::path::Path;
use std::process::Command;
use tandem_interop::{Case, Kind, Outcome, cases, matrix, page, play_captured, run_all};

/// Cases at once: their transfers mostly wait for the links.
const JOBS: usize = 4;

fn expect_success(cases: &[Case]) -> Vec<Outcome> {
    let outcomes = run_all(cases, JOBS, |_| {});
    let failed: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| Some(format!("{}: {}", outcome.case, outcome.error.as_ref()?)))
        .collect();
    assert!(failed.is_empty(), "{}\n{}", failed.join("\n"), matrix(&outcomes));
    outcomes
}

#[test]
fn two_stacks_interoperate() {
    let both = |case: &Case| case.client == Kind::Tandem && case.server == Kind::Tandem;
    let cases: Vec<Case> = cases().into_iter().filter(both).collect();
    let outcomes = expect_success(&cases);
    assert!(outcomes.len() > 70);
}

#[test]
#[ignore = "needs root"]
fn needs_root_stack_and_kernel_interoperate() {
    let mixed = |case: &Case| case.client != case.server;
    let cases: Vec<Case> = cases().into_iter().filter(mixed).collect();
    let outcomes = expect_success(&cases);
    assert!(outcomes.len() > 150);
}

/// Packets that Wireshark finds malformed, or that carry a wrong checksum, in a capture.
///
/// Linux writes a checksum of zero as 0xFFFF, its equal in ones' complement (`CSUM_MANGLED_0`).
/// Wireshark calls that bad, but no receiver does.
fn wrong_packets(capture: &[u8], case: &Case) -> String {
    let path = std::env::temp_dir().join(format!("interop-{}.pcapng", std::process::id()));
    std::fs::write(&path, capture).expect("a temporary file");
    let filter = "_ws.malformed || (tcp.checksum.status == \"Bad\" && !tcp.checksum.ffff) \
                  || ip.checksum.status == \"Bad\" \
                  || (_ws.expert.severity == \"Error\" && !tcp.analysis.flags)";
    let output = Command::new("tshark")
        .args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-r"])
        .arg(&path)
        .args(["-Y", filter])
        .output()
        .expect("tshark runs");
    _ = std::fs::remove_file(&path);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{case}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "needs root and tshark"]
fn needs_root_needs_tshark_packets_of_both_are_well_formed() {
    let names = [
        "both-ways",
        "checksum",
        "join",
        "add-addr",
        "remove-addr-client",
        "mp-prio-client",
        "fastclose-client",
    ];
    let wanted = |case: &Case| names.contains(&case.plan.name) && case.client != case.server;
    let mut packets = 0;
    for case in cases().into_iter().filter(wanted) {
        let capture = play_captured(&case).expect("the case passes");
        packets += capture.len();
        let wrong = wrong_packets(&capture, &case);
        assert!(wrong.is_empty(), "{case}:\n{wrong}");
    }
    assert!(packets > 1_000_000);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "this test reads and writes a page of the documentation")]
fn page_lists_all_cases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/background/interoperation.md");
    let committed = std::fs::read_to_string(&path).expect("the page exists");
    let (begin, end) = ("<!-- cases -->\n", "<!-- end of cases -->");
    let (before, rest) = committed.split_once(begin).expect("the page has a list");
    let (_, after) = rest.split_once(end).expect("the list has an end");
    let current = format!("{before}{begin}\n{}\n{end}{after}", page());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &current).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(&path).expect("the page exists");
    assert!(committed == current, "{} is out of date: run the test with UPDATE_DOCS=1", path.display());
}
