//! Faults during a transfer on the real kernel: outages, interface changes, address changes,
//! server restarts and stalls. No byte is lost or repeated, the policy returns to its target, and
//! the device's settings are unchanged at the end.
//!
//! Each fault has a run of its own. All runs execute concurrently.

use linux::diag::Subflow;
use linux::pm::Endpoint;
use linux::socket::TcpState;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use tandem_testbed::{Error, Fault, KernelRun, Setup, Teardown, run_with};
use units::{Duration, Instant};

const WIFI: usize = 0;
const LTE: usize = 1;
/// Time of the fault in milliseconds.
const FAULT_MILLIS: u64 = 700;
/// Time of the recovery in milliseconds. The time between exceeds the longest policy interval.
const RECOVERY_MILLIS: u64 = 1700;
/// Size of the first connection's file. Until [`FAULT_MILLIS`], Wi-Fi can carry 875,000 bytes, and
/// the server's send buffer can hold 300,000 more. The excess tolerates a delayed fault.
const FILE_BYTES: u64 = 2_000_000;
/// Port of the second connection, which lasts until the end.
const LASTING_PORT: u16 = 5002;

/// A file, and another one that is incomplete at the end. They compete for Wi-Fi, so the run is
/// much longer than the first file needs by itself.
const SCENARIO: &str = "
title = 'faults'
seed = 1
duration = '10s'
sample = '250ms'
[device]
name = 'phone'
policy = 'wifi-first'
[[path]]
name = 'wifi'
radio = 'huang2012.wifi'
down = { rate = '10Mbps', delay = '5ms', outages = [WIFI] }
up = { rate = '10Mbps', delay = '5ms', outages = [WIFI] }
[[path]]
name = 'lte'
radio = 'huang2012.lte'
down = { rate = '5Mbps', delay = '20ms', outages = [LTE] }
up = { rate = '5Mbps', delay = '20ms', outages = [LTE] }
[transport]
protocol = 'mptcp'
send_buffer = '300kB'
[[traffic]]
kind = 'file'
size = '2MB'
[[traffic]]
kind = 'file'
size = '100MB'
";

/// A run with faults.
struct Case {
    name: &'static str,
    scenario: String,
    faults: Vec<(Instant, Fault)>,
}

impl Case {
    fn new(name: &'static str) -> Self {
        Self { name, scenario: SCENARIO.to_owned(), faults: Vec::new() }
    }
    /// Replaces a part of the scenario.
    fn with(mut self, from: &str, to: &str) -> Self {
        assert!(self.scenario.contains(from), "{from}");
        self.scenario = self.scenario.replace(from, to);
        self
    }
    /// Adds a fault.
    fn at(mut self, millis: u64, fault: Fault) -> Self {
        self.faults.push((Instant::ZERO + Duration::from_millis(millis), fault));
        self
    }
    fn run(&self) -> Result<KernelRun, Error> {
        let text = self.scenario.replace("[WIFI]", "[]").replace("[LTE]", "[]");
        let scenario = crate::parse(self.name, &text);
        let setup = Setup { faults: self.faults.clone(), ..Setup::default() };
        run_with(&scenario.experiment, &setup, &Arc::default(), &mut |_| {}, None)
    }
}

fn cases() -> Vec<Case> {
    let outage = "[['700ms', '1700ms']]";
    let down = |path| Fault::InterfaceDown { path };
    let up = |path| Fault::InterfaceUp { path };
    let restart = |name, teardown| {
        Case::new(name).at(FAULT_MILLIS, Fault::ServerDown(teardown)).at(RECOVERY_MILLIS, Fault::ServerUp)
    };
    vec![
        // The emulator starts outages on time, so a shorter file suffices.
        Case::new("Wi-Fi outage").with("[WIFI]", outage).with("size = '2MB'", "size = '1MB'"),
        Case::new("Wi-Fi down").at(FAULT_MILLIS, down(WIFI)).at(RECOVERY_MILLIS, up(WIFI)),
        Case::new("outage of both")
            .with("[WIFI]", outage)
            .with("[LTE]", outage)
            .with("size = '2MB'", "size = '1MB'"),
        Case::new("both down")
            .at(FAULT_MILLIS, down(WIFI))
            .at(FAULT_MILLIS, down(LTE))
            .at(RECOVERY_MILLIS, up(WIFI))
            .at(RECOVERY_MILLIS, up(LTE)),
        Case::new("address changes")
            .at(FAULT_MILLIS, Fault::AddressChange { path: WIFI })
            .at(RECOVERY_MILLIS, Fault::AddressChange { path: LTE }),
        restart("server killed", Teardown::Close),
        restart("server reset", Teardown::Reset),
        restart("server reset during upload", Teardown::Reset)
            .with("size = '2MB'", "size = '3MB'\ndirection = 'up'"),
        Case::new("emulator stall")
            .at(FAULT_MILLIS, Fault::EmulatorStalls)
            .at(RECOVERY_MILLIS, Fault::EmulatorResumes),
        Case::new("Wi-Fi down with eMTCP")
            .with("'wifi-first'", "{ name = 'emtcp', actuator = 'mp-prio' }")
            .with("5Mbps", "10Mbps")
            .at(FAULT_MILLIS, down(WIFI))
            .at(RECOVERY_MILLIS, up(WIFI)),
    ]
}

static RUNS: LazyLock<BTreeMap<&'static str, Result<KernelRun, Error>>> = LazyLock::new(|| {
    let cases = cases();
    std::thread::scope(|scope| {
        let run = |(number, case): (u32, &Case)| {
            // The removal of interfaces and endpoints waits for an RCU grace period, and the
            // kernel serializes it over all namespaces. Offsets between the runs shorten these
            // waits.
            std::thread::sleep(std::time::Duration::from_millis(100) * number);
            case.run()
        };
        let running: Vec<_> =
            (0..).zip(&cases).map(|one| (one.1.name, scope.spawn(move || run(one)))).collect();
        running.into_iter().map(|(name, run)| (name, run.join().expect("no run panics"))).collect()
    })
});

/// Results of a case.
fn result_of(name: &str) -> &'static KernelRun {
    RUNS[name].as_ref().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Checks that the file is complete, and was incomplete at the fault. The run has verified each
/// byte of both connections; a mismatch is [`Error::Corrupted`].
fn assert_complete(ran: &KernelRun, size: u64) {
    let file = &ran.outcome.connections[0];
    assert!(!file.failed);
    assert_eq!(file.delivered_bytes, size, "a byte was lost or repeated");
    let completed = file.completed_s.expect("the file is complete");
    assert!(completed * 1e3 > FAULT_MILLIS as f64, "the file was complete before the fault: {completed} s");
    let lasting = &ran.outcome.connections[1];
    assert!(!lasting.failed);
    assert!(lasting.delivered_bytes > 0);
}

/// Received rate of a path with headers, in Mbit/s, for each row of 250 ms.
fn rates<'a>(ran: &'a KernelRun, path: &str) -> &'a [f64] {
    let column = ran.outcome.series.column(&format!("{path}.rate_down_mbps"));
    &column.expect("the column exists").values
}

/// Checks that the path had an outage, the only cause of lost packets.
fn assert_outage(ran: &KernelRun, path: usize) {
    assert!(ran.outcome.paths[path].lost_packets > 0, "{:#?}", ran.outcome.paths[path]);
}

/// Checks that the lasting connection's subflow over Wi-Fi joined during the run.
fn assert_wifi_rejoined(ran: &KernelRun, host: u8) {
    let [device, _] = subflows(ran, WIFI, host);
    assert!(device.joined, "{device:#?}");
}

/// Share of LTE in the traffic of the last `rows` rows.
fn share_of_lte(ran: &KernelRun, rows: usize) -> f64 {
    let last = |path| rates(ran, path).iter().rev().take(rows).sum::<f64>();
    let (wifi, lte) = (last("wifi"), last("lte"));
    assert!(wifi > 0.0, "Wi-Fi carries traffic again");
    lte / (wifi + lte)
}

/// The lasting connection's subflow from the device's address `10.77.path.host`, as seen by the
/// device and by the server.
fn subflows(ran: &KernelRun, path: usize, host: u8) -> [&Subflow; 2] {
    let address = IpAddr::from([10, 77, path as u8, host]);
    [0, 1].map(|side| {
        let device = |flow: &Subflow| if side == 0 { flow.local } else { flow.remote };
        let server = |flow: &Subflow| if side == 0 { flow.remote } else { flow.local };
        let all: Vec<_> = ran.subflows[side]
            .iter()
            .filter(|flow| flow.tcp.state == TcpState::Established && server(flow).port() == LASTING_PORT)
            .collect();
        assert_eq!(all.len(), 2, "one subflow over each path: {all:#?}");
        let flow = all.into_iter().find(|flow| device(flow).ip() == address);
        flow.unwrap_or_else(|| panic!("no subflow from {address}: {:#?}", ran.subflows[side]))
    })
}

/// Checks the target of `wifi-first`: LTE is a backup at both ends, and carries little.
fn assert_wifi_first(ran: &KernelRun, host: u8) {
    for (path, backup) in [(WIFI, false), (LTE, true)] {
        let [device, server] = subflows(ran, path, host);
        assert_eq!((device.backup, server.remote_backup), (backup, backup), "{device:#?}\n{server:#?}");
        assert!(!device.remote_backup && !server.backup, "the server has set no backup flag");
    }
    let share = share_of_lte(ran, 4);
    assert!(share < 0.05, "share of LTE {share}: {:?}", rates(ran, "lte"));
}

/// Checks that the device's settings are unchanged at the end.
fn assert_settings_unchanged(ran: &KernelRun) {
    let [before, after] = ran.settings.as_ref().expect("the device uses the kernel");
    assert!(before.sysctls.contains_key("net.mptcp.enabled") && before.endpoints.len() == 2);
    assert_eq!(before, after);
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_survives_a_wifi_outage() {
    let ran = result_of("Wi-Fi outage");
    assert_outage(ran, WIFI);
    assert_complete(ran, FILE_BYTES / 2);
    assert_wifi_first(ran, 2);
    assert_settings_unchanged(ran);
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_survives_wifi_going_down() {
    let ran = result_of("Wi-Fi down");
    assert_wifi_rejoined(ran, 2);
    // The device removed its endpoint, so data moved to LTE without a retransmission timeout. LTE
    // can carry 5 Mbit in the second without Wi-Fi.
    let lte = rates(ran, "lte").iter().sum::<f64>() / 4.0;
    assert!(lte > 1.0, "LTE carried {lte} Mbit");
    assert_complete(ran, FILE_BYTES);
    assert_wifi_first(ran, 2);
    assert_settings_unchanged(ran);
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_survives_an_outage_of_both_paths() {
    let ran = result_of("outage of both");
    assert_outage(ran, WIFI);
    assert_complete(ran, FILE_BYTES / 2);
    assert_wifi_first(ran, 2);
    assert_settings_unchanged(ran);
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_survives_both_interfaces_going_down() {
    let ran = result_of("both down");
    assert_wifi_rejoined(ran, 2);
    assert_complete(ran, FILE_BYTES);
    assert_eq!(ran.opened, [1, 1], "the connections survive the loss of all subflows");
    assert_wifi_first(ran, 2);
    assert_settings_unchanged(ran);
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_survives_address_changes() {
    let ran = result_of("address changes");
    assert_wifi_rejoined(ran, 3);
    assert_complete(ran, FILE_BYTES);
    assert_eq!(ran.opened, [1, 1]);
    assert_wifi_first(ran, 3);
    let [before, after] = ran.settings.as_ref().expect("the device uses the kernel");
    assert_eq!((before.limits, &before.sysctls), (after.limits, &after.sysctls));
    let moved = |path: usize| Endpoint {
        address: IpAddr::from([10, 77, path as u8, 3]),
        id: after.endpoints[path].id,
        ..before.endpoints[path]
    };
    assert_eq!(after.endpoints, [moved(WIFI), moved(LTE)], "only addresses and IDs differ");
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_resumes_after_a_server_kill() {
    let ran = result_of("server killed");
    assert_resumed_after_restart(ran, FILE_BYTES);
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_resumes_after_a_server_reset() {
    let ran = result_of("server reset");
    assert_resumed_after_restart(ran, FILE_BYTES);
}

#[test]
#[ignore = "needs root"]
fn needs_root_upload_resumes_after_a_server_reset() {
    let ran = result_of("server reset during upload");
    // Without competition on the uplink, the file is twice as fast.
    assert_resumed_after_restart(ran, FILE_BYTES + FILE_BYTES / 2);
}

/// Checks that the lasting connection was lost, and that both transfers resumed. The file may have
/// been complete before a delayed fault.
fn assert_resumed_after_restart(ran: &KernelRun, size: u64) {
    assert!(ran.opened[1] > 1, "the connection was never lost");
    assert_complete(ran, size);
    assert_wifi_first(ran, 2);
    assert_settings_unchanged(ran);
}

#[test]
#[ignore = "needs root"]
fn needs_root_transfer_survives_an_emulator_stall() {
    let ran = result_of("emulator stall");
    // A delayed wake-up of the run controller shortens the stall.
    let late = ran.lateness.longest();
    assert!(late > Duration::from_millis(500), "the emulator did not stall: {late}");
    assert_complete(ran, FILE_BYTES);
    assert_eq!(ran.opened, [1, 1]);
    assert_wifi_first(ran, 2);
    assert_settings_unchanged(ran);
}

#[test]
#[ignore = "needs root"]
fn needs_root_emtcp_returns_to_its_share_after_wifi_was_down() {
    let ran = result_of("Wi-Fi down with eMTCP");
    assert_wifi_rejoined(ran, 2);
    assert_complete(ran, FILE_BYTES);
    // Both paths have the same rate; the target share of LTE is (1 - 0.24) / 2 = 0.38. The policy
    // alternates between LTE open and closed: the rows from one second after the recovery cover
    // more than two of its periods.
    let share = share_of_lte(ran, 29);
    assert!((0.25..0.46).contains(&share), "share of LTE {share}: {:?}", rates(ran, "lte"));
    let [device, server] = subflows(ran, WIFI, 2);
    assert!(!device.backup && !server.remote_backup);
    subflows(ran, LTE, 2);
    // The policy toggles the backup flag of LTE.
    let [before, after] = ran.settings.clone().expect("the device uses the kernel").map(|mut settings| {
        settings.endpoints[LTE].flags.backup = false;
        settings
    });
    assert_eq!(before, after);
}
