//! Other simulators on the same work, in turns with Tandem: ns-3 if it is installed, and htsim if
//! the variable `HTSIM` names a checkout with its library built.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs of each simulator for a row; the median counts.
const ROUNDS: usize = 5;

/// Another simulator. htsim also runs the rows with growing numbers of connections.
pub(crate) struct Peer {
    name: &'static str,
    program: PathBuf,
    /// Simulated seconds of each of the first four rows.
    seconds: [u64; 4],
}

/// Compares segments per second on the rows `names`. `tandem` runs a row and returns its rate.
pub(crate) fn compare(names: [&str; 4], tandem: impl Fn(usize) -> Option<f64>) {
    for peer in [ns3(), htsim()] {
        let peer = match peer {
            Ok(peer) => peer,
            Err(reason) => {
                println!("not compared: {reason}");
                continue;
            }
        };
        println!("{:<52} {:>8} {:>8} {:>8}", "M segments/s, medians in turns", "Tandem", peer.name, "ratio");
        for (row, name) in names.iter().enumerate() {
            let rates: Vec<_> = (0..ROUNDS).filter_map(|_| Some([tandem(row)?, peer.rate(row)?])).collect();
            let [own, other] = [0, 1].map(|i| crate::median(rates.iter().map(|pair| pair[i]).collect()));
            println!("{name:<52} {:>8.3} {:>8.3} {:>8.2}", own / 1e6, other / 1e6, own / other);
        }
        println!();
    }
}

impl Peer {
    /// Segments per second of a row.
    fn rate(&self, row: usize) -> Option<f64> {
        let (segments, wall) = self.run(row, self.seconds[row])?;
        Some(segments / wall)
    }

    /// Segments and wall time of a row of `seconds`.
    pub(crate) fn run(&self, row: usize, seconds: u64) -> Option<(f64, f64)> {
        let arguments = [row.to_string(), seconds.to_string()];
        let large_pages = crate::LARGE_PAGES;
        let program = &mut Command::new(&self.program);
        let output = program.args(arguments).env(large_pages.0, large_pages.1).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        let (segments, wall) = text.trim().split_once(' ')?;
        Some((segments.parse().ok()?, wall.parse().ok()?))
    }
}

/// ns-3, which needs minutes for all rows although it simulates a part of their time.
fn ns3() -> Result<Peer, &'static str> {
    let modules = ["ns3-core", "ns3-network", "ns3-internet", "ns3-point-to-point", "ns3-applications"];
    let flags = Command::new("pkg-config").args(["--cflags", "--libs"]).args(modules).output();
    let flags = flags.ok().filter(|output| output.status.success());
    let flags = flags.ok_or("ns-3 is not installed (Debian: libns3-dev libgsl-dev pkg-config)")?;
    let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
    let program = build("ns3", flags.split_whitespace()).ok_or("ns3.cc does not build with this ns-3")?;
    Ok(Peer { name: "ns-3", program, seconds: [30, 30, 30, 5] })
}

pub(crate) fn htsim() -> Result<Peer, &'static str> {
    let checkout = std::env::var_os("HTSIM");
    let checkout = checkout.ok_or("htsim, as HTSIM does not name a built checkout of Broadcom/csg-htsim")?;
    let sources = Path::new(&checkout).join("sim");
    if !sources.join("libhtsim.a").exists() {
        return Err("htsim has no library: make -C $HTSIM/sim CFLAGS='-O2 -std=c++17 -w' libhtsim.a");
    }
    let sources = sources.to_str().ok_or("htsim, as its path is not UTF-8")?;
    let flags = ["-w", "-I", sources, "-L", sources, "-lhtsim"];
    let program = build("htsim", flags).ok_or("htsim.cc does not build with this htsim")?;
    Ok(Peer { name: "htsim", program, seconds: [150, 150, 150, 20] })
}

/// Compiles a C++ program of this example. Returns the path of the executable.
fn build<'a>(name: &str, flags: impl IntoIterator<Item = &'a str>) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/peers/{name}.cc"));
    let program = std::env::current_exe().ok()?.with_file_name(format!("peers-{name}"));
    let mut command = Command::new("c++");
    command.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(&source).args(flags);
    command.status().ok()?.success().then_some(program)
}
