//! Faults on the real kernel: whatever is cut, changed, restarted or stalled in mid-transfer, no byte is
//! lost or repeated, the policy comes back to its target, and the device is left set as it was.
//!
//! Every fault has a test bed of its own, and all of them run at once.

use linux::diag::Subflow;
use linux::pm::Endpoint;
use linux::socket::TcpState;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use tandem_testbed::{Ending, Error, Fault, Ran, Setup, run_with};
use units::{Duration, Instant};

const WIFI: usize = 0;
const LTE: usize = 1;
/// When things go wrong, in milliseconds.
const WRONG: u64 = 700;
/// When they are well again. Between the two lies more than the policies' longest interval.
const WELL: u64 = 1700;
/// The first connection's file, in bytes. Until [`WRONG`], Wi-Fi can carry 875,000, and the server's socket
/// may hold 300,000 more. That it is far longer leaves time to come too late.
const FILE: u64 = 2_000_000;
/// The port of the second connection, which lasts until the end.
const LASTING: u16 = 5002;

/// A file, and another that is far from its end when the run ends. Both share Wi-Fi as they like: in seven seconds
/// the file had 1.95 of its 2 MB now and then.
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

/// One run with a fault in it.
struct Case {
    name: &'static str,
    scenario: String,
    faults: Vec<(Instant, Fault)>,
}

impl Case {
    fn new(name: &'static str) -> Self {
        Self { name, scenario: SCENARIO.to_owned(), faults: Vec::new() }
    }
    fn with(mut self, from: &str, to: &str) -> Self {
        assert!(self.scenario.contains(from), "{from}");
        self.scenario = self.scenario.replace(from, to);
        self
    }
    fn at(mut self, millis: u64, fault: Fault) -> Self {
        self.faults.push((Instant::ZERO + Duration::from_millis(millis), fault));
        self
    }
    fn run(&self) -> Result<Ran, Error> {
        let text = self.scenario.replace("[WIFI]", "[]").replace("[LTE]", "[]");
        let nothing = |_: &str| Err("no such file".to_owned());
        let scenario = scenario::Scenario::parse(self.name, &text, &nothing).expect("it is valid");
        let setup = Setup { faults: self.faults.clone(), ..Setup::default() };
        run_with(&scenario.experiment, &setup, &Arc::default(), &mut |_| {}, None)
    }
}

fn cases() -> Vec<Case> {
    let silent = "[['700ms', '1700ms']]";
    let down = |path| Fault::InterfaceDown { path };
    let up = |path| Fault::InterfaceUp { path };
    let restart =
        |name, ending| Case::new(name).at(WRONG, Fault::ServerDown(ending)).at(WELL, Fault::ServerUp);
    vec![
        // Links fall silent when they should, however busy the machine.
        Case::new("Wi-Fi falls silent").with("[WIFI]", silent).with("size = '2MB'", "size = '1MB'"),
        Case::new("Wi-Fi goes down").at(WRONG, down(WIFI)).at(WELL, up(WIFI)),
        Case::new("both fall silent")
            .with("[WIFI]", silent)
            .with("[LTE]", silent)
            .with("size = '2MB'", "size = '1MB'"),
        Case::new("both go down")
            .at(WRONG, down(WIFI))
            .at(WRONG, down(LTE))
            .at(WELL, up(WIFI))
            .at(WELL, up(LTE)),
        Case::new("addresses change")
            .at(WRONG, Fault::AddressChange { path: WIFI })
            .at(WELL, Fault::AddressChange { path: LTE }),
        restart("the server is killed", Ending::Close),
        restart("the server resets", Ending::Reset),
        restart("the server resets an upload", Ending::Reset)
            .with("size = '2MB'", "size = '3MB'\ndirection = 'up'"),
        Case::new("the emulator stalls").at(WRONG, Fault::EmulatorStalls).at(WELL, Fault::EmulatorResumes),
        Case::new("Wi-Fi goes down under eMTCP")
            .with("'wifi-first'", "{ name = 'emtcp', actuator = 'mp-prio' }")
            .with("5Mbps", "10Mbps")
            .at(WRONG, down(WIFI))
            .at(WELL, up(WIFI)),
    ]
}

static RUNS: LazyLock<BTreeMap<&'static str, Result<Ran, Error>>> = LazyLock::new(|| {
    let cases = cases();
    std::thread::scope(|scope| {
        let run = |(number, case): (u32, &Case)| {
            // Taking interfaces and endpoints away waits for a grace period of the kernel's RCU, one after
            // the other in all namespaces: on a busy machine, better not all at once.
            std::thread::sleep(std::time::Duration::from_millis(100) * number);
            case.run()
        };
        let running: Vec<_> =
            (0..).zip(&cases).map(|one| (one.1.name, scope.spawn(move || run(one)))).collect();
        running.into_iter().map(|(name, run)| (name, run.join().expect("no run panics"))).collect()
    })
});

/// What came of a case; `None`, after saying why, where this machine cannot.
fn ran(name: &str) -> Option<&'static Ran> {
    match &RUNS[name] {
        Ok(ran) => Some(ran),
        Err(Error::System(linux::Error::Lacks { what, hint })) => {
            println!("skipped: {what}; {hint}");
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// The file is there, whole, and was not before something went wrong. Every byte of it, and of the second
/// connection, was compared on its way: [`Error::Differs`] would have been the answer.
fn arrived(ran: &Ran, size: u64) {
    let file = &ran.outcome.connections[0];
    assert!(!file.failed);
    assert_eq!(file.delivered_bytes, size, "a byte is lost, or came twice");
    let completed = file.completed_s.expect("its end was seen");
    assert!(completed * 1e3 > WRONG as f64, "nothing went wrong while it was under way: {completed} s");
    let lasting = &ran.outcome.connections[1];
    assert!(!lasting.failed);
    assert!(lasting.delivered_bytes > 0);
}

/// What came over a path, headers and all, in Mbit/s; a value for each row of 250 ms.
fn rates<'a>(ran: &'a Ran, path: &str) -> &'a [f64] {
    let column = ran.outcome.series.column(&format!("{path}.rate_down_mbps"));
    &column.expect("every path has it").values
}

/// The path swallowed packets: its links lose none but in outages.
fn fell_silent(ran: &Ran, path: usize) {
    assert!(ran.outcome.paths[path].lost_packets > 0, "{:#?}", ran.outcome.paths[path]);
}

/// The lasting connection's subflow over Wi-Fi is not the one with which it began.
fn joined_anew(ran: &Ran, host: u8) {
    let [device, _] = subflows(ran, WIFI, host);
    assert!(device.joined, "{device:#?}");
}

/// LTE's part of what both paths carried in the last `rows` rows.
fn share_of_lte(ran: &Ran, rows: usize) -> f64 {
    let last = |path| rates(ran, path).iter().rev().take(rows).sum::<f64>();
    let (wifi, lte) = (last("wifi"), last("lte"));
    assert!(wifi > 0.0, "Wi-Fi carries again");
    lte / (wifi + lte)
}

/// The established subflow of the lasting connection that starts at the device's address `10.77.path.host`,
/// as the device and as the server see it.
fn subflows(ran: &Ran, path: usize, host: u8) -> [&Subflow; 2] {
    let address = IpAddr::from([10, 77, path as u8, host]);
    [0, 1].map(|side| {
        let device = |flow: &Subflow| if side == 0 { flow.local } else { flow.remote };
        let server = |flow: &Subflow| if side == 0 { flow.remote } else { flow.local };
        let all: Vec<_> = ran.subflows[side]
            .iter()
            .filter(|flow| flow.tcp.state == TcpState::Established && server(flow).port() == LASTING)
            .collect();
        assert_eq!(all.len(), 2, "one over each path: {all:#?}");
        let flow = all.into_iter().find(|flow| device(flow).ip() == address);
        flow.unwrap_or_else(|| panic!("none from {address}: {:#?}", ran.subflows[side]))
    })
}

/// `wifi-first` has what it wants: LTE is a backup, which both ends know, and rests.
fn wifi_is_first(ran: &Ran, host: u8) {
    for (path, backup) in [(WIFI, false), (LTE, true)] {
        let [device, server] = subflows(ran, path, host);
        assert_eq!((device.backup, server.remote_backup), (backup, backup), "{device:#?}\n{server:#?}");
        assert!(!device.remote_backup && !server.backup, "the server wants no backup");
    }
    let share = share_of_lte(ran, 4);
    assert!(share < 0.05, "LTE carries {share} of it: {:?}", rates(ran, "lte"));
}

/// The device is set as it was before.
fn set_as_it_was(ran: &Ran) {
    let [before, after] = &ran.settings;
    assert!(before.sysctls.contains_key("net.mptcp.enabled") && before.endpoints.len() == 2);
    assert_eq!(before, after);
}

#[test]
fn wifi_falls_silent_and_returns() {
    let Some(ran) = ran("Wi-Fi falls silent") else { return };
    fell_silent(ran, WIFI);
    arrived(ran, FILE / 2);
    wifi_is_first(ran, 2);
    set_as_it_was(ran);
}

#[test]
fn wifi_goes_down_and_comes_up() {
    let Some(ran) = ran("Wi-Fi goes down") else { return };
    joined_anew(ran, 2);
    // The device knew: LTE did not wait for the sender's timeouts. In a second it can carry 5 Mbit.
    let lte = rates(ran, "lte").iter().sum::<f64>() / 4.0;
    assert!(lte > 1.0, "LTE carried {lte} Mbit");
    arrived(ran, FILE);
    wifi_is_first(ran, 2);
    set_as_it_was(ran);
}

#[test]
fn both_fall_silent_and_return() {
    let Some(ran) = ran("both fall silent") else { return };
    fell_silent(ran, WIFI);
    arrived(ran, FILE / 2);
    wifi_is_first(ran, 2);
    set_as_it_was(ran);
}

#[test]
fn both_go_down_and_come_up() {
    let Some(ran) = ran("both go down") else { return };
    joined_anew(ran, 2);
    arrived(ran, FILE);
    assert_eq!(ran.opened, [1, 1], "the connections outlive all their subflows");
    wifi_is_first(ran, 2);
    set_as_it_was(ran);
}

#[test]
fn both_addresses_change() {
    let Some(ran) = ran("addresses change") else { return };
    joined_anew(ran, 3);
    arrived(ran, FILE);
    assert_eq!(ran.opened, [1, 1]);
    wifi_is_first(ran, 3);
    let [before, after] = &ran.settings;
    assert_eq!((before.limits, &before.sysctls), (after.limits, &after.sysctls));
    let moved = |path: usize| Endpoint {
        address: IpAddr::from([10, 77, path as u8, 3]),
        id: after.endpoints[path].id,
        ..before.endpoints[path]
    };
    assert_eq!(after.endpoints, [moved(WIFI), moved(LTE)], "nothing but their addresses and numbers");
}

#[test]
fn the_server_is_killed_and_started_again() {
    let Some(ran) = ran("the server is killed") else { return };
    restarted(ran, FILE);
}

#[test]
fn the_server_resets_and_is_started_again() {
    let Some(ran) = ran("the server resets") else { return };
    restarted(ran, FILE);
}

#[test]
fn the_server_resets_an_upload_and_is_started_again() {
    let Some(ran) = ran("the server resets an upload") else { return };
    // With the uplink to itself it is twice as fast.
    restarted(ran, FILE + FILE / 2);
}

fn restarted(ran: &Ran, size: u64) {
    // The lasting one, of which every byte so far came in its place; of the file it is not asked, since a
    // director who was held up may come after its end.
    assert!(ran.opened[1] > 1, "it was never lost");
    arrived(ran, size);
    wifi_is_first(ran, 2);
    set_as_it_was(ran);
}

#[test]
fn the_emulator_stalls_for_a_second() {
    let Some(ran) = ran("the emulator stalls") else { return };
    // What arrived last before it came so late; a director that overslept makes it shorter.
    let late = ran.lateness.longest();
    assert!(late > Duration::from_millis(500), "it never stalled: {late}");
    arrived(ran, FILE);
    assert_eq!(ran.opened, [1, 1]);
    wifi_is_first(ran, 2);
    set_as_it_was(ran);
}

#[test]
fn emtcp_holds_its_share_again_after_wifi_was_down() {
    let Some(ran) = ran("Wi-Fi goes down under eMTCP") else { return };
    joined_anew(ran, 2);
    arrived(ran, FILE);
    // Both paths could carry as much; LTE's part of the total is to be (1 - 0.24) / 2 = 0.38.
    // Since a second after it was well: more than two periods of the policy, which opens LTE and closes it again.
    let share = share_of_lte(ran, 29);
    assert!((0.25..0.46).contains(&share), "LTE carries {share}: {:?}", rates(ran, "lte"));
    let [device, server] = subflows(ran, WIFI, 2);
    assert!(!device.backup && !server.remote_backup);
    subflows(ran, LTE, 2);
    // LTE is a backup at times: that is the policy's means.
    let [before, after] = ran.settings.clone().map(|mut settings| {
        settings.endpoints[LTE].flags.backup = false;
        settings
    });
    assert_eq!(before, after);
}
