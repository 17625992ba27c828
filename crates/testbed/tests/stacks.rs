//! Every combination of the kernel and Tandem's stack at the two ends of a run.

use scenario::Scenario;
use std::sync::Arc;
use tandem_testbed::{Error, Fault, KernelRun, Setup, StackKind, Stacks, run_with};
use units::Instant;

const LINKS: &str = "title = 'stacks'\nseed = 1\nduration = '6s'\nsample = '500ms'\n[device]\nname = 'phone'\n\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '20Mbps', delay = '5ms' }\n\
    up = { rate = '20Mbps', delay = '5ms' }\n\
    [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '10Mbps', delay = '20ms' }\n\
    up = { rate = '10Mbps', delay = '20ms' }\n";
const FILES: &str = "[[traffic]]\nkind = 'file'\nsize = '2MB'\n\
    [[traffic]]\nkind = 'file'\nsize = '500kB'\ndirection = 'up'\nstart = '300ms'\n";

fn scenario(text: &str) -> Scenario {
    Scenario::parse("stacks", text, &|_: &str| Err("no files".to_owned())).expect("the scenario is valid")
}

fn combinations() -> [Stacks; 4] {
    let (linux, tandem) = (StackKind::Linux, StackKind::Tandem);
    [(linux, linux), (linux, tandem), (tandem, linux), (tandem, tandem)]
        .map(|(device, server)| Stacks { device, server })
}

fn run(text: &str, stacks: Stacks) -> KernelRun {
    let setup = Setup { stacks: Some(stacks), until_done: true, ..Setup::default() };
    let ran = run_with(&scenario(text).experiment, &setup, &Arc::default(), &mut |_| {}, None);
    ran.unwrap_or_else(|error| panic!("{stacks}: {error}"))
}

#[test]
#[ignore = "needs root"]
fn needs_root_files_arrive_over_both_paths_between_all_stacks() {
    for stacks in combinations() {
        let ran = run(&format!("{LINKS}[transport]\nprotocol = 'mptcp'\n{FILES}"), stacks);
        for (connection, size) in ran.outcome.connections.iter().zip([2_000_000, 500_000]) {
            assert_eq!(connection.protocol, "mptcp", "{stacks}");
            assert_eq!(connection.delivered_bytes, size, "{stacks}");
            assert!(connection.completed_s.is_some(), "{stacks}: {connection:?}");
        }
        let down = |path: usize| ran.outcome.paths[path].payload_down_bytes;
        assert!(down(0) > 500_000 && down(1) > 100_000, "{stacks}: {} and {}", down(0), down(1));
        assert_eq!(ran.stacks, stacks);
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_plain_tcp_uses_one_path_between_all_stacks() {
    for stacks in combinations() {
        let ran = run(&format!("{LINKS}[transport]\nprotocol = 'tcp'\npath = 'lte'\n{FILES}"), stacks);
        for connection in &ran.outcome.connections {
            assert_eq!(connection.protocol, "tcp", "{stacks}");
            assert!(connection.completed_s.is_some(), "{stacks}: {connection:?}");
        }
        assert_eq!(ran.outcome.paths[0].payload_down_bytes, 0, "{stacks}");
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_policy_and_video_act_on_all_stacks() {
    for stacks in combinations() {
        let text = LINKS.replace("name = 'phone'\n", "name = 'phone'\npolicy = 'wifi-only'\n");
        let video = "[transport]\nprotocol = 'mptcp'\n[[traffic]]\nkind = 'video'\nmanifest = \
                     { bitrates = '4Mbps', duration = '2s', segment = '500ms' }\n";
        let ran = run(&(text + video), stacks);
        let connection = &ran.outcome.connections[0];
        assert!(connection.completed_s.is_some(), "{stacks}: {connection:?}");
        assert_eq!(connection.video.as_ref().map(|session| session.segments.len()), Some(4), "{stacks}");
        assert_eq!(ran.outcome.paths[1].payload_down_bytes, 0, "{stacks}");
    }
}

#[test]
fn combinations_that_cannot_run_are_refused_before_anything_starts() {
    let refused = |text: &str, setup: Setup| {
        let ran = run_with(&scenario(text).experiment, &setup, &Arc::default(), &mut |_| {}, None);
        match ran {
            Err(Error::Unsupported { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    let tandem = Setup { stacks: Some(Stacks::TANDEM), ..Setup::default() };
    let rec = format!("{LINKS}[transport]\nprotocol = 'mptcp-rec'\n[[traffic]]\nkind = 'bulk'\n");
    let reason = refused(&rec, Setup { stacks: Some(Stacks::default()), ..Setup::default() });
    assert!(reason.contains("MPTCP-rec"), "{reason}");
    let mptcp = format!("{LINKS}[transport]\nprotocol = 'mptcp'\n{FILES}");
    let change = (Instant::from_secs(1), Fault::AddressChange { path: 0 });
    let reason = refused(&mptcp, Setup { faults: vec![change], ..tandem });
    assert!(reason.contains("device=tandem"), "{reason}");
}
