//! `tandem testbed`: scenarios on the real kernel, in network namespaces.

use crate::support::{Output, Place, output_of, repository, tandem, tandem_path};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// State of the host that a run must not change: interfaces, namespaces, sysctls, routes.
pub(crate) fn host_state() -> Vec<String> {
    let list = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| format!("{folder}/{}", entry.file_name().display())).collect();
        names.sort();
        names
    };
    let mut all = [list("/sys/class/net"), list("/run/netns"), list("/var/run/netns")].concat();
    for file in [
        "net/ipv4/tcp_allowed_congestion_control",
        "net/ipv4/tcp_congestion_control",
        "net/ipv4/tcp_rmem",
        "net/ipv4/tcp_wmem",
        "net/ipv4/tcp_ecn",
        "net/ipv4/conf/all/rp_filter",
        "net/ipv6/conf/all/disable_ipv6",
        "net/mptcp/enabled",
        "net/mptcp/checksum_enabled",
        "net/mptcp/path_manager",
    ] {
        all.push(format!("{file}: {:?}", fs::read_to_string(format!("/proc/sys/{file}")).ok()));
    }
    all.push(fs::read_to_string("/proc/net/route").unwrap_or_default());
    all
}

pub(crate) const SMALL: &str = "title = 'small'\nseed = 1\nduration = '3s'\nsample = '500ms'\n[device]\nname = 'phone'\n\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '20Mbps', delay = '5ms' }\n\
    up = { rate = '20Mbps', delay = '5ms' }\n\
    [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '10Mbps', delay = '20ms' }\n\
    up = { rate = '10Mbps', delay = '20ms' }\n[transport]\nprotocol = 'mptcp'\n";

#[test]
fn duration_of_a_testbed_is_one_of_the_scenario() {
    let place = Place::new();
    // Generated traces have the length of the scenario, so that the duration has to be a part of it.
    let output = place.run(&["testbed", "tiny.toml", "--duration", "600000s"]);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("has 1200000 rows"), "{}", output.err);
}

fn json(output: &Output) -> serde_json::Value {
    assert_eq!(output.code, 0, "{}", output.err);
    serde_json::from_str(&output.out).expect("JSON")
}

#[test]
#[ignore = "needs root"]
fn needs_root_shipped_scenarios_give_the_same_keys_on_kernel_and_in_simulation() {
    let place = Place::new();
    let before = host_state();
    let mut running = Vec::new();
    for entry in fs::read_dir(repository().join("scenarios")).expect("the scenarios are here") {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let file = path.to_str().unwrap().to_owned();
        if fs::read_to_string(&path).expect("a scenario can be read").contains("[[device]]") {
            continue;
        }
        let simulated = place.run(&["run", &file, "--duration", "4s", "--out", &name, "--format", "json"]);
        if simulated.code == 3 && simulated.err.contains("after the end of the run") {
            continue;
        }
        let simulated = json(&simulated);
        let out = format!("{name}-kernel");
        let arguments = ["testbed", &file, "--duration", "4s", "--out", &out, "--format", "json"];
        // Several test beds can run on one machine at once.
        let child = place.command(&arguments).spawn().expect("the program starts");
        running.push((name, simulated, child));
    }
    assert!(running.len() >= 10, "only {} scenarios", running.len());
    for (name, simulated, child) in running {
        let kernel = json(&ended(child));
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().filter(|key| *key != "kernel").cloned().collect::<Vec<_>>()
        };
        assert_eq!(keys(&kernel), keys(&simulated), "{name}");
        for list in ["paths", "connections", "background"] {
            let (kernel, simulated) = (kernel[list].as_array().unwrap(), simulated[list].as_array().unwrap());
            assert_eq!(kernel.len(), simulated.len(), "{name}: {list}");
            for (kernel, simulated) in kernel.iter().zip(simulated) {
                assert_eq!(keys(kernel), keys(simulated), "{name}: {list}");
            }
        }
        let delivered =
            |value: &serde_json::Value| value["connections"][0]["delivered_bytes"].as_u64().unwrap();
        assert!(delivered(&kernel) > 0, "{name}: {kernel:#}");
        assert_eq!(kernel["connections"][0]["failed"], false, "{name}");
        assert_eq!(place.list(&format!("{name}-kernel")), ["report.html", "result.json", "series.csv"]);
        let header_and_length = |folder: &str| {
            let series = place.read(&format!("{folder}/series.csv"));
            (series.lines().next().map(str::to_owned), series.lines().count())
        };
        assert_eq!(header_and_length(&format!("{name}-kernel")), header_and_length(&name));
    }
    assert_eq!(host_state(), before);
}

fn ended(child: Child) -> Output {
    let output = child.wait_with_output().expect("it was started");
    Output {
        code: output.status.code().expect("no signal ended it"),
        out: String::from_utf8(output.stdout).expect("it prints text"),
        err: String::from_utf8(output.stderr).expect("it prints text"),
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_files_are_delivered_over_both_paths_and_capture_agrees_with_kernel() {
    let place = Place::new();
    place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'file'\nsize = '2MB'\n[[traffic]]\nkind = 'file'\nsize = '500kB'\ndirection = 'up'\nstart = '500ms'\n"));
    let result = json(&place.run(&["testbed", "small.toml", "--pcap", "--out", "out", "--format", "json"]));
    for (connection, size) in [(0, 2_000_000), (1, 500_000)] {
        let connection = &result["connections"][connection];
        assert_eq!(connection["protocol"], "mptcp");
        assert_eq!(connection["delivered_bytes"], size);
        assert!(connection["completed_s"].is_number(), "{connection}");
    }
    let down = |path: usize| result["paths"][path]["payload_down_bytes"].as_u64().unwrap();
    assert!(down(0) > 500_000 && down(1) > 100_000, "{} and {}", down(0), down(1));
    assert!(down(0) + down(1) >= 2_000_000);
    assert!(place.path().join("out/capture.pcapng").metadata().unwrap().len() > 100_000);
    for captured in result["kernel"]["captured"].as_array().unwrap() {
        assert_eq!(captured["agrees"], true, "{captured}");
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_low_limit_of_open_files_does_not_limit_connections() {
    let place = Place::new();
    let connections = "[[traffic]]\nkind = 'cbr'\nrate = '10kbps'\n".repeat(60);
    place.write("small.toml", &format!("{SMALL}{connections}").replace("'3s'", "'1s'"));
    let tandem = tandem_path().display();
    let script = format!("ulimit -Sn 150; exec {tandem} testbed small.toml --out out --format json");
    let result = json(&output_of(Command::new("sh").args(["-c", &script]).current_dir(place.path())));
    let connections = result["connections"].as_array().unwrap();
    assert!(connections.iter().all(|connection| connection["failed"] == false), "{result}");
}

#[test]
#[ignore = "needs root"]
fn needs_root_failed_connection_is_a_warning_with_its_reason() {
    let place = Place::new();
    let late = SMALL.replace("name = 'wifi'\n", "name = 'wifi'\njoin_at = '1s'\n");
    let late = late.replace("name = 'lte'\n", "name = 'lte'\njoin_at = '1s'\n");
    place.write("small.toml", &format!("{late}[[traffic]]\nkind = 'bulk'\n"));
    let output = place.run(&["testbed", "small.toml", "--out", "out"]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.err.contains("connection 1 failed: cannot connect to 10.77.255.1:5001"), "{}", output.err);
    assert!(place.read("out/result.json").contains("Network is unreachable"));
}

#[test]
#[ignore = "needs root"]
fn needs_root_traffic_moves_when_interfaces_leave_and_join() {
    let place = Place::new();
    let text = SMALL.replace("name = 'wifi'\n", "name = 'wifi'\nleave_at = '1s'\n")
        + "[[path]]\nname = 'again'\nradio = 'huang2012.wifi'\njoin_at = '2s'\ndown = { rate = '20Mbps', delay = '5ms' }\n\
           up = { rate = '20Mbps', delay = '5ms' }\n[[traffic]]\nkind = 'bulk'\n";
    place.write("small.toml", &text);
    let result = json(&place.run(&["testbed", "small.toml", "--out", "out", "--format", "json"]));
    assert_eq!(result["connections"][0]["failed"], false);
    let down = |path: usize| result["paths"][path]["payload_down_bytes"].as_u64().unwrap() as f64 * 8e-6;
    // Upper bounds: 20 Mbit/s for one second, 10 for three and 20 for one. A busy machine gives
    // less.
    assert!((4.0..20.5).contains(&down(0)), "{} Mbit before the handover", down(0));
    assert!((5.0..30.5).contains(&down(1)), "{} Mbit over LTE", down(1));
    assert!((1.0..20.5).contains(&down(2)), "{} Mbit after", down(2));
}

#[test]
#[ignore = "needs root"]
fn needs_root_nothing_is_left_after_signals() {
    let place = Place::new();
    place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'bulk'\n").replace("'3s'", "'60s'"));
    let before = host_state();
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(143)), ("-HUP", Some(129)), ("-KILL", None)] {
        let mut child = place
            .command(&["testbed", "small.toml", "--pcap", "--out", "out"])
            .spawn()
            .expect("the program starts");
        std::thread::sleep(Duration::from_millis(800));
        assert!(child.try_wait().unwrap().is_none(), "it runs for a minute");
        assert!(succeeds(Command::new("kill").arg(signal).arg(child.id().to_string())));
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code, "{signal}");
        if code.is_none() {
            assert_eq!(status.signal(), Some(9));
        }
        assert!(!place.path().join("out").exists(), "{signal}: no partial results");
        assert_eq!(host_state(), before, "{signal}");
    }
    assert_eq!(place.list("."), ["lte.csv", "small.toml", "tiny.toml"]);
    let output = place.run(&["testbed", "--clean"]);
    assert_eq!((output.code, output.out.as_str()), (0, ""));
    assert!(output.err.starts_with("nothing was left"), "{}", output.err);
}

/// Runs the program as an unprivileged user, with the small scenario in its folder.
#[test]
#[ignore = "needs root"]
fn needs_root_run_ends_in_time_while_the_first_path_is_silent() {
    let place = Place::new();
    let silent = SMALL.replace("delay = '5ms'", "delay = '5ms', outages = [['0s', '300s']]");
    place.write("silent.toml", &(silent + "[[traffic]]\nkind = 'bulk'\n"));
    let start = Instant::now();
    let ran = place.run(&["testbed", "silent.toml", "--duration", "2s"]);
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}: {}", start.elapsed(), ran.err);
    let running = place.command(&["testbed", "silent.toml", "--duration", "60s"]).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(3));
    let stop = Instant::now();
    assert!(succeeds(Command::new("kill").arg("-INT").arg(running.id().to_string())));
    let ended = ended(running);
    assert!(stop.elapsed() < Duration::from_secs(10), "{:?}", stop.elapsed());
    assert_eq!(ended.code, 130, "{}", ended.err);
}

pub(crate) fn as_nobody(arguments: &[&str]) -> Output {
    let place = Place::new();
    place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'bulk'\n"));
    // A folder with access for everybody.
    let shared =
        tempfile::Builder::new().prefix("tandem-test-").tempdir_in("/tmp").expect("the folder is writable");
    let open = |path: &std::path::Path| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .expect("the folder is writable");
    };
    open(shared.path());
    let (program, file) = (shared.path().join("tandem"), shared.path().join("small.toml"));
    fs::copy(env!("CARGO_BIN_EXE_tandem"), &program).expect("the folder is writable");
    fs::copy(place.path().join("small.toml"), &file).expect("the folder is writable");
    open(&program);
    open(&file);
    let inner: Vec<_> = tandem().get_envs().map(|(name, _)| name.to_owned()).collect();
    let mut command = Command::new(&program);
    for name in inner {
        command.env_remove(name);
    }
    command.args(arguments).current_dir(shared.path()).uid(65534).gid(65534);
    output_of(&mut command)
}

#[test]
#[ignore = "needs root"]
fn needs_root_testbed_without_privileges_names_the_requirement() {
    let output = as_nobody(&["testbed", "small.toml"]);
    assert_eq!((output.code, output.out.as_str()), (4, ""), "{}", output.err);
    assert_eq!(
        output.err,
        "error: cannot create a network namespace: permission denied\n hint: this needs root, or CAP_NET_ADMIN \
         (and CAP_SYS_ADMIN for namespaces)\n"
    );
}

#[test]
#[ignore = "needs root"]
fn needs_root_when_needed_uses_lte_during_a_silent_outage_only() {
    let place = Place::new();
    let text = SMALL
        .replace("'3s'", "'7s'")
        .replace("name = 'phone'", "name = 'phone'\npolicy = 'when-needed'")
        .replace(
            "down = { rate = '20Mbps', delay = '5ms' }",
            "down = { rate = { steps = [['0s', '20Mbps'], ['2s', '0bps'], ['4s', '20Mbps']] }, delay = '5ms' }",
        );
    place.write("small.toml", &(text + "[[traffic]]\nkind = 'cbr'\nrate = '4Mbps'\npacket = '1400B'\n"));
    let result = json(&place.run(&["testbed", "small.toml", "--out", "out", "--format", "json"]));
    let delivered = result["connections"][0]["delivered_bytes"].as_u64().unwrap();
    assert!(delivered > 2_500_000, "{delivered} of 3.5 MB");
    // Two seconds of the stream are 1 MB.
    let lte = result["paths"][1]["payload_down_bytes"].as_u64().unwrap();
    assert!((400_000..2_500_000).contains(&lte), "{lte} bytes over LTE");
    assert!(result["device"]["policy_changes"].as_u64().unwrap() >= 3, "{}", result["device"]);
    assert_eq!(result["device"]["policy"], "when-needed");
}

#[test]
#[ignore = "needs root"]
fn needs_root_allowance_limits_lte_when_wifi_is_gone() {
    let place = Place::new();
    let text = SMALL
        .replace("'3s'", "'5s'")
        .replace("name = 'phone'", "name = 'phone'\npolicy = 'allowance'")
        .replace("name = 'wifi'\n", "name = 'wifi'\nleave_at = '1s'\n")
        .replace("name = 'lte'\n", "name = 'lte'\nallowance = '2MB'\n");
    place.write("small.toml", &(text + "[[traffic]]\nkind = 'bulk'\n"));
    let result = json(&place.run(&["testbed", "small.toml", "--out", "out", "--format", "json"]));
    let bytes = |key: &str| result["paths"][1][key].as_u64().unwrap();
    let carried = bytes("wire_down_bytes") + bytes("wire_up_bytes");
    // 10 Mbit/s are 25 kB in a sample of 20 ms. A late sample on a busy machine lets more through.
    assert!((1_000_000..2_500_000).contains(&carried), "{carried} of 2 MB, where 5 MB could go");
}

#[test]
#[ignore = "needs root"]
fn needs_root_emtcp_holds_its_share_with_an_unmodified_server() {
    let place = Place::new();
    let text = SMALL.replace("'3s'", "'25s'").replace("20Mbps", "8Mbps").replace("10Mbps", "20Mbps");
    place.write("small.toml", &(text + "preset = 'linux'\n[[traffic]]\nkind = 'bulk'\n"));
    let shares = [0.3, 0.6, 1.0];
    let running = shares.map(|share| {
        let (policy, out) = (format!("emtcp:mp-prio:{share}"), format!("out-{share}"));
        let arguments = ["testbed", "small.toml", "--policy", &policy, "--out", &out, "--format", "json"];
        place.command(&arguments).spawn().expect("the program starts")
    });
    for (share, child) in shares.iter().zip(running) {
        let result = json(&ended(child));
        let down = |path: usize| result["paths"][path]["payload_down_bytes"].as_u64().unwrap() as f64;
        // Without the policy LTE is assumed to carry one half, as in the paper.
        let moved = 1.0 - 2.0 * down(1) / (down(0) + down(1));
        println!(
            "share {share}: {moved:.3} moved, MP_PRIO received {}",
            result["kernel"]["priorities_heard"]
        );
        assert!((moved - share).abs() < 0.05, "share {share}: {moved} moved");
        let received = result["kernel"]["priorities_heard"].as_u64().unwrap();
        // At a share of 1 LTE is a backup from its first segment on.
        assert!(
            received >= 3 || *share == 1.0,
            "share {share}: the server received MP_PRIO {received} times"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_fidelity_names_what_made_it_and_keeps_results_of_other_settings() {
    let place = Place::new();
    let compare = |seeds: &str| {
        let only = ["fidelity", "--only", "reno, 10Mbps, 10 ms", "--runs", "1", "--jobs", "1"];
        let arguments = [&only[..], &["--seeds", seeds, "--out", "out"]].concat();
        let output = place.run(&arguments);
        assert_eq!(output.code, 0, "{}", output.err);
        let result: serde_json::Value = serde_json::from_str(&place.read("out/result.json")).unwrap();
        (output.err, result["made_by"].clone())
    };
    let (_, made_by) = compare("1");
    assert_eq!(made_by["command"], "fidelity");
    assert_eq!(
        made_by["settings"],
        serde_json::json!(["--only reno, 10Mbps, 10 ms", "--runs 1", "--seeds 1", "--jobs 1"])
    );
    let (note, _) = compare("2");
    let kept = format!("out-{}", made_by["id"].as_str().unwrap());
    assert!(note.contains(&format!("earlier results of other settings are kept: {kept}")), "{note}");
    assert_eq!(place.list(&kept), ["report.html", "result.json"]);
}
