//! `tandem testbed --stack`: Tandem's endpoint at one end or at both.

use crate::support::Place;
use crate::testbed::SMALL;

#[test]
fn unknown_stack_is_refused_with_the_known_ones() {
    let place = Place::new();
    for (value, expected) in [
        ("device=bsd", "unknown stack `bsd`"),
        ("proxy=tandem", "unknown end `proxy`"),
        ("tandem", "is not of the form"),
        ("device=linux,device=linux", "given twice"),
    ] {
        let output = place.run(&["testbed", "small.toml", "--stack", value]);
        assert_eq!(output.code, 2, "{value}: {}", output.err);
        assert!(output.err.contains(expected), "{value}: {}", output.err);
        assert!(output.err.contains("device=linux,server=tandem"), "{value}: {}", output.err);
    }
}

#[test]
fn kernel_is_refused_for_mptcp_rec() {
    let place = Place::new();
    let text = SMALL.replace("'mptcp'", "'mptcp-rec'") + "[[traffic]]\nkind = 'bulk'\n";
    place.write("small.toml", &text);
    for stack in ["device=linux", "device=tandem,server=linux", "server=tandem"] {
        let output = place.run(&["testbed", "small.toml", "--stack", stack]);
        assert_eq!(output.code, 3, "{stack}: {}", output.err);
        assert!(output.err.contains("Linux lacks MPTCP-rec"), "{stack}: {}", output.err);
        assert!(output.err.contains("device=tandem,server=tandem"), "{stack}: {}", output.err);
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_results_name_the_stacks_of_both_ends() {
    let place = Place::new();
    place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'file'\nsize = '1MB'\n"));
    for (device, server) in [("linux", "tandem"), ("tandem", "linux"), ("tandem", "tandem")] {
        let stack = format!("device={device},server={server}");
        let arguments = ["testbed", "small.toml", "--stack", &stack, "--pcap", "--format", "json"];
        let output = place.run(&arguments);
        assert_eq!(output.code, 0, "{stack}: {}", output.err);
        let result: serde_json::Value = serde_json::from_str(&output.out).expect("JSON");
        assert_eq!(result["kernel"]["stacks"]["device"], device);
        assert_eq!(result["kernel"]["stacks"]["server"], server);
        let connection = &result["connections"][0];
        assert_eq!(connection["delivered_bytes"], 1_000_000, "{stack}");
        assert_eq!(connection["protocol"], "mptcp", "{stack}");
        assert_eq!(connection["peak_out_of_order_bytes"].is_number(), device == "tandem", "{connection}");
        assert!(result["paths"][0]["energy_j"].as_f64().is_none_or(|joules| joules > 0.0));
        let table = place.read("tandem-out/small-kernel/report.html");
        assert!(table.contains("stack of the device"), "{stack}");
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_mptcp_rec_runs_between_two_stacks_of_tandem() {
    let place = Place::new();
    let text = SMALL.replace("'mptcp'", "'mptcp-rec'") + "[[traffic]]\nkind = 'bulk'\n";
    place.write("small.toml", &text);
    let output = place.run(&["testbed", "small.toml", "--out", "out", "--format", "json"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let result: serde_json::Value = serde_json::from_str(&output.out).expect("JSON");
    assert_eq!(result["kernel"]["stacks"]["device"], "tandem");
    assert_eq!(result["connections"][0]["protocol"], "mptcp-rec");
    assert!(result["connections"][0]["goodput_mbps"].as_f64().is_some_and(|mbps| mbps > 2.0), "{result}");
}
