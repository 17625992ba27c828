//! Other simulators on the same work: recorded figures, and ns-3 if it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Segments per second of the first four rows, recorded on one core of a machine with
/// [`RECORDED_YARDSTICK`]: ns-3 3.37, htsim, and htsim with data-level MPTCP.
const RECORDED: [(&str, f64, Option<f64>, Option<f64>); 4] = [
    ("one TCP, 100 Mbit/s, 50 ms, 150 s", 24e3, Some(8.0e6), None),
    ("two paths, 2 Mbit/s 5 ms + 100 Mbit/s 50 ms, 150 s", 24e3, Some(6.8e6), Some(4.3e6)),
    ("two paths of 100 Mbit/s, 50 ms, 150 s", 24e3, Some(5.7e6), None),
    ("1000 TCP over 1 Gbit/s, 50 ms, 20 s", 11.6e3, Some(5.3e6), None),
];
/// Complete runs of ns-3: row, simulated seconds, and recorded wall time in seconds.
const RECORDED_NS3: [(usize, &str, f64); 3] = [(0, "150", 50.9), (1, "150", 54.4), (3, "20", 140.0)];
/// Runs of Tandem before and after each run of ns-3.
const ROUNDS: usize = 4;
/// Yardstick of the machine of [`RECORDED`]: million events per second of an ordered map with 1000
/// pending events.
const RECORDED_YARDSTICK: f64 = 13.7;

/// Prints the speed of this machine relative to the machine of the recorded figures.
pub(crate) fn machine() {
    let Some(program) = build("yardstick", &[]) else {
        println!("no C++ compiler: the relative speed of this machine is unknown\n");
        return;
    };
    if let Some(rate) = output(&program, &[]).and_then(|line| line.trim().parse::<f64>().ok()) {
        println!(
            "this machine: {rate:.1} M events/s of an ordered map with 1000 pending; recorded machine: \
             {RECORDED_YARDSTICK} M, or {:.1} times as many\n",
            RECORDED_YARDSTICK / rate
        );
    }
}

/// Prints the recorded figures.
pub(crate) fn recorded() {
    println!("recorded on a machine of {RECORDED_YARDSTICK} M events/s, in M segments/s:");
    println!("{:<52} {:>8} {:>8} {:>18}", "work", "ns-3", "htsim", "htsim, data level");
    let millions = |rate: Option<f64>| rate.map_or("-".into(), |rate| format!("{:.1}", rate / 1e6));
    for (name, ns3, htsim, data_level) in RECORDED {
        println!("{name:<52} {:>8.3} {:>8} {:>18}", ns3 / 1e6, millions(htsim), millions(data_level));
    }
    println!();
}

/// Repeats the recorded runs of ns-3 if it is installed, and scales `tandem`, the rate of a row, to
/// the recorded machine. The ratio of the wall times of ns-3 is more accurate than the yardstick.
/// `tandem` is called before and after each run of ns-3, and its median counts, because other load
/// affects both.
pub(crate) fn ns3(tandem: impl Fn(usize) -> Option<f64>) {
    let modules = ["ns3-core", "ns3-network", "ns3-internet", "ns3-point-to-point", "ns3-applications"];
    let flags = Command::new("pkg-config").args(["--cflags", "--libs"]).args(modules).output();
    let Some(flags) = flags.ok().filter(|output| output.status.success()) else {
        println!("ns-3 is not installed (Debian: libns3-dev libgsl-dev pkg-config): no comparison");
        return;
    };
    let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let Some(program) = build("ns3", &flags) else {
        println!("the comparison does not build with the installed ns-3: no comparison");
        return;
    };
    println!(
        "{:<52} {:>8} {:>10} {:>8} {:>13} {:>10}",
        "ns-3 on this machine, minutes a row", "wall s", "recorded s", "slower", "Tandem M/s", "there M/s"
    );
    for (row, seconds, recorded) in RECORDED_NS3 {
        let mut rates: Vec<f64> = (0..ROUNDS).filter_map(|_| tandem(row)).collect();
        let line = output(&program, &[&row.to_string(), seconds]).unwrap_or_default();
        rates.extend((0..ROUNDS).filter_map(|_| tandem(row)));
        rates.sort_by(f64::total_cmp);
        let wall = line.split_whitespace().nth(1).and_then(|wall| wall.parse::<f64>().ok());
        let (Some(wall), Some(rate)) = (wall, rates.get(rates.len() / 2)) else { continue };
        let slower = wall / recorded;
        let name = RECORDED[row].0;
        let (here, there) = (rate / 1e6, rate * slower / 1e6);
        println!("{name:<52} {wall:>8.1} {recorded:>10.1} {slower:>8.2} {here:>13.2} {there:>10.2}");
    }
}

fn output(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Compiles a C++ program of this example. Returns the path of the executable.
fn build(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/peers/{name}.cc"));
    let program = std::env::current_exe().ok()?.with_file_name(format!("peers-{name}"));
    let mut command = Command::new("c++");
    command.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(&source).args(flags);
    command.output().ok()?.status.success().then_some(program)
}
