//! `tandem agent`.

pub(crate) mod needs_root;

use crate::support::Place;

#[test]
fn agent_without_privileges_names_the_missing_capability() {
    let place = Place::new();
    place.write("agent.toml", "policy = 'none'\n[[interface]]\nmatch = 'wlan0'\nkind = 'wifi'\n");
    let (code, stderr) = if is_root() {
        // Root without any capability; setpriv is a part of util-linux.
        let program = env!("CARGO_BIN_EXE_tandem");
        let mut command = std::process::Command::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all", program, "agent", "--config", "agent.toml"]);
        let output = command.current_dir(place.path()).output().expect("setpriv is installed");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    } else {
        let output = place.run(&["agent", "--config", "agent.toml"]);
        (Some(output.code), output.err)
    };
    if !std::path::Path::new("/proc/sys/net/mptcp/enabled").exists() {
        assert!(code == Some(4) && stderr.contains("this kernel has no Multipath TCP"), "{stderr}");
        return;
    }
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("CAP_NET_ADMIN") || stderr.contains("disabled"), "{stderr}");
}

#[test]
fn printed_unit_and_example_are_usable() {
    let place = Place::new();
    let example = place.run(&["agent", "example-config"]);
    assert_eq!(example.code, 0);
    assert!(example.out.contains("[[interface]]"));
    let unit = place.run(&["agent", "unit", "--config", "/etc/x.toml"]);
    assert!(unit.out.contains("agent --config /etc/x.toml"), "{}", unit.out);
    assert!(!unit.out.contains('@') || unit.out.contains("@system-service"));
    for line in ["ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=CAP_NET_ADMIN"] {
        assert!(unit.out.lines().any(|own| own == line), "{line}");
    }
    place.write("wrong.toml", "policy = 'wifi-frist'\n");
    let output = place.run(&["agent", "--config", "wrong.toml"]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("did you mean `wifi-first`?"), "{}", output.err);
    let unanswered = place.run(&["agent", "status", "--socket", "no.sock"]);
    assert!(
        unanswered.code == 1 && unanswered.err.contains("no agent answers at no.sock"),
        "{}",
        unanswered.err
    );
    assert_eq!(place.run(&["agent"]).code, 2, "without a configuration");
    assert_eq!(place.run(&["agent", "--config", "wrong.toml", "--check"]).code, 3);
}

#[test]
fn units_have_absolute_paths_their_log_level_and_directories_of_their_own() {
    let place = Place::new();
    place.write("plain.toml", "policy = 'none'\n[[interface]]\nmatch = 'wlan0'\nkind = 'wifi'\n");
    let rule = "[[connection]]\nremote = ':22'\nnever = 'wwan*'\n";
    place.write("rules.toml", &(place.read("plain.toml") + rule));
    let folder = place.path().canonicalize().expect("it exists");
    let gateway = ["gateway", "unit", "--upstream", "proxy.example:1080", "--log", "debug", "--config"];
    for (arguments, file, tunables) in [
        (&["agent", "unit", "--config"][..], "plain.toml", "yes"),
        (&["agent", "unit", "--config"], "rules.toml", "no"),
        (&gateway, "plain.toml", "yes"),
        (&gateway, "rules.toml", "no"),
    ] {
        let unit = place.done(&[arguments, &[file]].concat());
        let config = format!("--config {}", folder.join(file).display());
        assert!(unit.contains(&config), "{config} in {unit}");
        let line = format!("ProtectKernelTunables={tunables}");
        assert!(unit.lines().any(|own| own == line), "{line} in {unit}");
        assert!(unit.lines().any(|line| line == "Group=tandem"), "{unit}");
        assert_eq!(unit.contains("--log debug"), arguments[0] == "gateway", "{unit}");
        assert_eq!(unit.contains("RuntimeDirectory=tandem-gateway\n"), arguments[0] == "gateway", "{unit}");
        assert_eq!(unit.contains("gateway down --only-undo"), arguments[0] == "gateway", "{unit}");
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}
