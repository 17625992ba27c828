//! The capture opens in Wireshark's tshark, with MPTCP decoded and no complaint.

use crate::support::Place;
use std::process::Command;

#[test]
fn tshark_reads_the_capture_as_mptcp() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap"]);
    let file = place.path().join("tandem-out/tiny/capture.pcapng");
    let read = |filter: &str, fields: &[&str]| -> Option<String> {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&file).args(["-Y", filter, "-T", "fields"]);
        for field in fields {
            command.args(["-e", field]);
        }
        let output = command.output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(kinds) = read("tcp.options.mptcp.subtype", &["tcp.options.mptcp.subtype"]) else {
        eprintln!("skipped: no tshark on the path");
        return;
    };
    let has = |kind: &str| kinds.lines().any(|line| line.split(',').any(|word| word == kind));
    for (kind, name) in [("0", "MP_CAPABLE"), ("1", "MP_JOIN"), ("2", "DSS"), ("5", "MP_PRIO")] {
        assert!(has(kind), "{name} is not in the capture");
    }
    let interfaces = read("frame", &["frame.interface_name"]).unwrap();
    assert!(interfaces.contains("wifi") && interfaces.contains("lte"), "an interface for each path");
    let malformed = read("_ws.malformed", &["frame.number"]).unwrap();
    assert_eq!(malformed, "", "malformed frames");
}
