//! Scenarios on the real kernel. Everything happens in namespaces that the program makes.

use crate::support::{Place, Said, repository, said, tandem};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::time::Duration;

/// Whether this machine can, and why not.
pub(crate) fn can() -> bool {
    let why = if !linux_is_ours() {
        "this needs root"
    } else if !fs::exists("/dev/net/tun").unwrap_or(false) {
        "there is no /dev/net/tun"
    } else if !fs::exists("/proc/sys/net/mptcp/enabled").unwrap_or(false) {
        "this kernel has no Multipath TCP"
    } else {
        return true;
    };
    eprintln!("skipped: {why}");
    false
}

fn linux_is_ours() -> bool {
    // The files of root in /proc are its own alone.
    fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
        && said_ok(&mut unshare())
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "true"]);
    command
}

pub(crate) fn said_ok(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// What a run could leave behind or change on the host.
pub(crate) fn host() -> Vec<String> {
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

fn json(said: &Said) -> serde_json::Value {
    assert_eq!(said.code, 0, "{}", said.err);
    serde_json::from_str(&said.out).expect("JSON")
}

#[test]
fn every_scenario_that_ships_runs_on_the_kernel_with_the_rows_of_a_simulation() {
    if !can() {
        return;
    }
    let place = Place::new();
    let before = host();
    let mut running = Vec::new();
    for entry in fs::read_dir(repository().join("scenarios")).expect("the scenarios are here") {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let file = path.to_str().unwrap().to_owned();
        let out = format!("{name}-kernel");
        let arguments = ["testbed", &file, "--duration", "4s", "--out", &out, "--format", "json"];
        // All at once: several can run on one machine.
        let child = place.command(&arguments).spawn().expect("the program starts");
        running.push((name, file, child));
    }
    assert!(running.len() >= 10, "only {} scenarios", running.len());
    for (name, file, child) in running {
        let kernel = json(&ended(child));
        let simulated = json(&place.run(&["run", &file, "--out", &name, "--format", "json"]));
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
        let header =
            |folder: &str| place.read(&format!("{folder}/series.csv")).lines().next().map(str::to_owned);
        assert_eq!(header(&format!("{name}-kernel")), header(&name));
    }
    assert_eq!(host(), before);
}

fn ended(child: Child) -> Said {
    let output = child.wait_with_output().expect("it was started");
    Said {
        code: output.status.code().expect("no signal ended it"),
        out: String::from_utf8(output.stdout).expect("it prints text"),
        err: String::from_utf8(output.stderr).expect("it prints text"),
    }
}

#[test]
fn a_file_goes_over_both_paths_and_every_byte_is_looked_at() {
    if !can() {
        return;
    }
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
fn an_interface_that_goes_hands_over_and_one_that_comes_is_joined() {
    if !can() {
        return;
    }
    let place = Place::new();
    let text = SMALL.replace("name = 'wifi'\n", "name = 'wifi'\nleave_at = '1s'\n")
        + "[[path]]\nname = 'again'\nradio = 'huang2012.wifi'\njoin_at = '2s'\ndown = { rate = '20Mbps', delay = '5ms' }\n\
           up = { rate = '20Mbps', delay = '5ms' }\n[[traffic]]\nkind = 'bulk'\n";
    place.write("small.toml", &text);
    let result = json(&place.run(&["testbed", "small.toml", "--out", "out", "--format", "json"]));
    assert_eq!(result["connections"][0]["failed"], false);
    let down = |path: usize| result["paths"][path]["payload_down_bytes"].as_u64().unwrap() as f64 * 8e-6;
    // At most 20 Mbit/s for one second, 10 for three and 20 for one; how much less depends on what else
    // this machine does.
    assert!((4.0..20.5).contains(&down(0)), "{} Mbit before the handover", down(0));
    assert!((5.0..30.5).contains(&down(1)), "{} Mbit over LTE", down(1));
    assert!((1.0..20.5).contains(&down(2)), "{} Mbit after", down(2));
}

#[test]
fn however_it_ends_nothing_is_left() {
    if !can() {
        return;
    }
    let place = Place::new();
    place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'bulk'\n").replace("'3s'", "'60s'"));
    let before = host();
    for (signal, code) in [("-INT", Some(1)), ("-TERM", Some(1)), ("-HUP", Some(1)), ("-KILL", None)] {
        let mut child = place
            .command(&["testbed", "small.toml", "--pcap", "--out", "out"])
            .spawn()
            .expect("the program starts");
        std::thread::sleep(Duration::from_millis(800));
        assert!(child.try_wait().unwrap().is_none(), "it runs for a minute");
        assert!(said_ok(Command::new("kill").arg(signal).arg(child.id().to_string())));
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code, "{signal}");
        if code.is_none() {
            assert_eq!(status.signal(), Some(9));
        }
        assert!(!place.path().join("out").exists(), "{signal}: no half a result");
        assert_eq!(host(), before, "{signal}");
    }
    assert_eq!(place.list("."), ["lte.csv", "small.toml", "tiny.toml"]);
    let said = place.run(&["testbed", "--clean"]);
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.starts_with("nothing was left"), "{}", said.err);
}

/// Runs the program as a user who may nothing, with the small scenario beside it.
pub(crate) fn as_nobody(arguments: &[&str]) -> Said {
    let place = Place::new();
    place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'bulk'\n"));
    // Somewhere everybody may read and write.
    let shared = tempfile::Builder::new()
        .prefix("tandem-test-")
        .tempdir_in("/tmp")
        .expect("the folder is everybody's");
    let open = |path: &std::path::Path| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .expect("the folder is everybody's");
    };
    open(shared.path());
    let (program, file) = (shared.path().join("tandem"), shared.path().join("small.toml"));
    fs::copy(env!("CARGO_BIN_EXE_tandem"), &program).expect("the folder is everybody's");
    fs::copy(place.path().join("small.toml"), &file).expect("the folder is everybody's");
    open(&program);
    open(&file);
    let inner: Vec<_> = tandem().get_envs().map(|(name, _)| name.to_owned()).collect();
    let mut command = Command::new(&program);
    for name in inner {
        command.env_remove(name);
    }
    command.args(arguments).current_dir(shared.path()).uid(65534).gid(65534);
    said(&mut command)
}

#[test]
fn without_the_privilege_it_says_what_is_missing() {
    if !can() {
        return;
    }
    let said = as_nobody(&["testbed", "small.toml"]);
    assert_eq!((said.code, said.out.as_str()), (4, ""), "{}", said.err);
    assert_eq!(
        said.err,
        "error: cannot create a network namespace: permission denied\n hint: this needs root, or CAP_NET_ADMIN \
         (and CAP_SYS_ADMIN for namespaces)\n"
    );
}

#[test]
fn lte_takes_over_when_wifi_falls_silent_and_rests_when_it_is_back() {
    if !can() {
        return;
    }
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
fn an_allowance_is_kept_where_lte_alone_could_carry_on() {
    if !can() {
        return;
    }
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
    // 10 Mbit/s are 25 kB in a look of 20 ms. One that comes late, on a busy machine, lets more through.
    assert!((1_000_000..2_500_000).contains(&carried), "{carried} of 2 MB, where 5 MB could go");
}

#[test]
fn a_share_is_held_against_a_server_that_knows_of_nothing() {
    if !can() {
        return;
    }
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
        // LTE's part without the policy is taken to be a half, as in the paper.
        let moved = 1.0 - 2.0 * down(1) / (down(0) + down(1));
        println!("{share} wanted, {moved:.3} moved, MP_PRIO heard {}", result["kernel"]["priorities_heard"]);
        assert!((moved - share).abs() < 0.05, "{share} wanted, {moved} moved");
        let heard = result["kernel"]["priorities_heard"].as_u64().unwrap();
        // With everything moved LTE is a backup from its first segment on.
        assert!(heard >= 3 || *share == 1.0, "{share}: MP_PRIO reached the server {heard} times");
    }
}
