//! What others take for the same work: recorded figures, and ns-3 where it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Segments per second of the first four rows, recorded on one core of another machine, which did
/// [`RECORDED_YARDSTICK`]: ns-3 3.37, htsim, and htsim with data-level MPTCP.
const RECORDED: [(&str, f64, Option<f64>, Option<f64>); 4] = [
    ("one TCP, 100 Mbit/s, 50 ms, 150 s", 24e3, Some(8.0e6), None),
    ("two paths, 2 Mbit/s 5 ms + 100 Mbit/s 50 ms, 150 s", 24e3, Some(6.8e6), Some(4.3e6)),
    ("two paths of 100 Mbit/s, 50 ms, 150 s", 24e3, Some(5.7e6), None),
    ("1000 TCP over 1 Gbit/s, 50 ms, 20 s", 11.6e3, Some(5.3e6), None),
];
/// Million events a second of an ordered map with 1000 pending, on the machine of [`RECORDED`].
const RECORDED_YARDSTICK: f64 = 13.7;

/// Says how fast this machine is beside the one on which others were measured.
pub(crate) fn machine() {
    let Some(program) = build("yardstick", &[]) else {
        println!("no C++ compiler: how fast this machine is beside others is not known\n");
        return;
    };
    if let Some(rate) = output(&program, &[]).and_then(|line| line.trim().parse::<f64>().ok()) {
        println!(
            "this machine: {rate:.1} M events/s of an ordered map with 1000 pending; where the others were \
             measured: {RECORDED_YARDSTICK} M, so figures there are {:.1} times those here\n",
            RECORDED_YARDSTICK / rate
        );
    }
}

/// Prints the figures that were recorded elsewhere.
pub(crate) fn recorded() {
    println!("recorded on a machine of {RECORDED_YARDSTICK} M events/s, in M segments/s:");
    println!("{:<52} {:>8} {:>8} {:>18}", "work", "ns-3", "htsim", "htsim, data level");
    let millions = |rate: Option<f64>| rate.map_or("-".into(), |rate| format!("{:.1}", rate / 1e6));
    for (name, ns3, htsim, data_level) in RECORDED {
        println!("{name:<52} {:>8.3} {:>8} {:>18}", ns3 / 1e6, millions(htsim), millions(data_level));
    }
    println!();
}

/// Runs the same rows in ns-3, for a tenth of the time or less: it takes minutes for the whole.
pub(crate) fn ns3() {
    let modules = ["ns3-core", "ns3-network", "ns3-internet", "ns3-point-to-point", "ns3-applications"];
    let flags = Command::new("pkg-config").args(["--cflags", "--libs"]).args(modules).output();
    let Some(flags) = flags.ok().filter(|output| output.status.success()) else {
        println!("ns-3 is not installed (Debian: libns3-dev libgsl-dev pkg-config): not run beside");
        return;
    };
    let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let Some(program) = build("ns3", &flags) else {
        println!("ns-3 is installed, and the comparison does not build with it: not run beside");
        return;
    };
    println!("{:<52} {:>10} {:>8} {:>8}", "ns-3 on this machine", "segments", "wall s", "M seg/s");
    for (row, (name, ..)) in RECORDED.iter().enumerate() {
        let seconds = if row == 3 { "2" } else { "10" };
        let told = output(&program, &[&row.to_string(), seconds]).unwrap_or_default();
        let mut numbers = told.split_whitespace().map(str::parse::<f64>);
        if let (Some(Ok(segments)), Some(Ok(wall))) = (numbers.next(), numbers.next()) {
            let name = format!("{name}: first {seconds} s");
            println!("{name:<52} {segments:>10.0} {wall:>8.2} {:>8.3}", segments / wall / 1e6);
        }
    }
}

fn output(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Compiles one of the C++ programs beside this file, next to this program.
fn build(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/peers/{name}.cc"));
    let program = std::env::current_exe().ok()?.with_file_name(format!("peers-{name}"));
    let mut command = Command::new("c++");
    command.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(&source).args(flags);
    command.output().ok()?.status.success().then_some(program)
}
