//! The scenarios of the fidelity matrix: one TCP connection, then Multipath TCP, over realistic and
//! some extreme paths.

use super::generated::generated;
use scenario::{Diagnostic, Files, Scenario};
use std::fmt::Write as _;

/// One scenario of the matrix.
#[derive(Debug, Clone)]
pub struct Case {
    /// Short description.
    pub name: String,
    /// Part of the matrix.
    pub group: &'static str,
    /// The parsed scenario.
    pub scenario: Scenario,
}

impl Case {
    /// Name and SHA-256 of each file that the scenario names.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.scenario.files.iter().map(|file| (&*file.name, &*file.sha256))
    }
}

/// A path of a case.
#[derive(Debug, Clone, Copy)]
struct PathText<'a> {
    /// A rate such as `20Mbps`, or a file with a measured trace.
    rate: &'a str,
    /// Round-trip time, in milliseconds.
    rtt: u32,
    /// Loss towards the device, in percent.
    loss: f64,
    /// Start and end of an outage, in seconds.
    outage: Option<(u32, u32)>,
}

const fn path(rate: &str, rtt: u32) -> PathText<'_> {
    PathText { rate, rtt, loss: 0.0, outage: None }
}

/// Transport, traffic and duration of a case.
#[derive(Debug, Clone, Copy)]
struct Settings<'a> {
    congestion: &'a str,
    /// Receive buffer; `None` for automatic growth as in Linux.
    buffer: Option<&'a str>,
    traffic: &'a str,
    seconds: u32,
}

const BULK: &str = "kind = \"bulk\"";
const PLAIN: Settings<'_> = Settings { congestion: "cubic", buffer: None, traffic: BULK, seconds: 10 };

/// The matrix: 1 to 100 Mbit/s, 10 to 200 ms, 0 to 2 % loss, equal and very unequal paths, small
/// and large buffers, an outage, file transfers, an upload; then 48 generated links.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let reno = Settings { congestion: "reno", ..PLAIN };
    for (rate, rtt) in
        [("1Mbps", 40), ("10Mbps", 10), ("10Mbps", 40), ("20Mbps", 200), ("50Mbps", 20), ("100Mbps", 40)]
    {
        for settings in [reno, PLAIN] {
            let name = format!("{}, {rate}, {rtt} ms", settings.congestion);
            // Slow paths need more time for several congestion epochs.
            let seconds = if rtt >= 200 || rate == "1Mbps" { 20 } else { settings.seconds };
            all.push(single(&name, path(rate, rtt), Settings { seconds, ..settings }));
        }
    }
    for (rate, rtt, loss, settings) in [
        ("10Mbps", 20, 2.0, PLAIN),
        ("10Mbps", 20, 2.0, reno),
        ("20Mbps", 40, 0.5, PLAIN),
        ("50Mbps", 10, 0.1, reno),
    ] {
        let name = format!("{}, {rate}, {rtt} ms, {loss} % lost", settings.congestion);
        all.push(single(&name, PathText { loss, ..path(rate, rtt) }, Settings { seconds: 20, ..settings }));
    }
    let file = Settings { traffic: "kind = \"file\"\nsize = \"2MB\"", seconds: 8, ..PLAIN };
    all.push(single("2 MB file, 20Mbps, 40 ms", path("20Mbps", 40), file));
    let up = Settings { traffic: "kind = \"bulk\"\ndirection = \"up\"", ..PLAIN };
    all.push(single("upload, 10Mbps, 40 ms", path("10Mbps", 40), up));

    let (wifi, lte) = (path("20Mbps", 20), path("30Mbps", 60));
    let two = [
        ("equal, 20 and 20 Mbit/s", [path("20Mbps", 30), path("20Mbps", 30)], PLAIN),
        ("equal, reno", [path("20Mbps", 30), path("20Mbps", 30)], reno),
        ("Wi-Fi and LTE, 20 and 30 Mbit/s", [wifi, lte], PLAIN),
        ("Wi-Fi and LTE, reno", [wifi, lte], reno),
        ("unequal, 2 and 50 Mbit/s", [path("2Mbps", 10), path("50Mbps", 50)], PLAIN),
        (
            "very unequal round trips, 10 and 200 ms",
            [path("10Mbps", 10), path("10Mbps", 200)],
            Settings { seconds: 20, ..PLAIN },
        ),
        ("Wi-Fi loses 1 %", [PathText { loss: 1.0, ..wifi }, lte], Settings { seconds: 20, ..PLAIN }),
        ("buffer of 256 KiB", [wifi, lte], Settings { buffer: Some("256KiB"), ..PLAIN }),
        ("buffer of 1 MiB", [wifi, lte], Settings { buffer: Some("1MiB"), ..PLAIN }),
        (
            "Wi-Fi dies at 4 s and returns at 8 s",
            [PathText { outage: Some((4, 8)), ..wifi }, lte],
            Settings { seconds: 14, ..PLAIN },
        ),
        ("10 MB file", [wifi, lte], Settings { traffic: "kind = \"file\"\nsize = \"10MB\"", ..PLAIN }),
        (
            "stream of 8 Mbit/s",
            [wifi, lte],
            Settings { traffic: "kind = \"cbr\"\nrate = \"8Mbps\"\npacket = \"1400B\"", ..PLAIN },
        ),
    ];
    for (name, paths, settings) in two {
        all.push(double(name, paths, settings));
    }
    all.extend(generated());
    all
}

/// Cases over pairs of measured Wi-Fi and cellular traces. A pair is left out if `files` has
/// neither trace, as told by `has`.
///
/// # Errors
/// The problems of the first pair that cannot be used.
pub fn measured(files: &dyn Files, has: impl Fn(&str) -> bool) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let pairs = [
        ("measured Wi-Fi and cellular, 7", "mpwl_7_1_wifi.csv", "mpwl_7_1_cellular.csv"),
        ("measured Wi-Fi and cellular, 12", "mpwl_12_1_wifi.csv", "mpwl_12_1_cellular.csv"),
    ];
    let present = pairs.into_iter().filter(|&(_, wifi, lte)| has(wifi) || has(lte));
    let cases = present.map(|(name, wifi, lte)| {
        let text = text(&[path(wifi, 30), path(lte, 70)], Settings { seconds: 20, ..PLAIN });
        let scenario = Scenario::parse(name, &text, files)?;
        Ok(Case { name: name.to_owned(), group: TWO, scenario })
    });
    cases.collect()
}

const ONE: &str = "One TCP connection";
const TWO: &str = "Multipath TCP over two paths";

fn single(name: &str, path: PathText<'_>, settings: Settings<'_>) -> Case {
    build(ONE, name, &[path], settings)
}

fn double(name: &str, paths: [PathText<'_>; 2], settings: Settings<'_>) -> Case {
    build(TWO, name, &paths, settings)
}

fn build(group: &'static str, name: &str, paths: &[PathText<'_>], settings: Settings<'_>) -> Case {
    parse(group, name, &text(paths, settings))
}

pub(super) fn parse(group: &'static str, name: &str, text: &str) -> Case {
    let no_files = |_: &str| Err("these scenarios read no files".to_owned());
    let scenario = Scenario::parse(name, text, &no_files).expect("a test parses every case");
    Case { name: name.to_owned(), group, scenario }
}

fn text(paths: &[PathText<'_>], settings: Settings<'_>) -> String {
    let mut text = format!(
        "title = \"fidelity\"\nseed = 1\nduration = \"{}s\"\nsample = \"1s\"\n\n[device]\nname = \"phone\"\n\n",
        settings.seconds
    );
    for (path, (name, radio)) in paths.iter().zip([("wifi", "huang2012.wifi"), ("lte", "huang2012.lte")]) {
        let trace = path.rate.contains(".csv");
        // The measured traces have no header.
        let rate = if trace {
            format!("trace = {{ file = \"{}\", format = \"second-bytes\" }}", path.rate)
        } else {
            format!("rate = \"{}\"", path.rate)
        };
        let back = if trace { "10Mbps" } else { path.rate };
        let half = format!("{}us", path.rtt * 500);
        let outage =
            path.outage.map_or(String::new(), |(from, to)| format!(", outages = [[\"{from}s\", \"{to}s\"]]"));
        let loss = if path.loss > 0.0 { format!(", loss = {}", path.loss / 100.0) } else { String::new() };
        let _ = write!(
            text,
            "[[path]]\nname = \"{name}\"\nradio = \"{radio}\"\n\
             down = {{ {rate}, delay = \"{half}\", queue = \"100ms\"{loss}{outage} }}\n\
             up = {{ rate = \"{back}\", delay = \"{half}\", queue = \"100ms\"{outage} }}\n\n"
        );
    }
    let protocol =
        if paths.len() == 1 { "protocol = \"tcp\"\npath = \"wifi\"\n" } else { "protocol = \"mptcp\"\n" };
    let _ =
        write!(text, "[transport]\npreset = \"linux\"\n{protocol}congestion = \"{}\"\n", settings.congestion);
    if let Some(buffer) = settings.buffer {
        let _ = writeln!(text, "recv_buffer = \"{buffer}\"");
    }
    let _ = write!(text, "\n[[traffic]]\n{}\n", settings.traffic);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_has_78_cases_with_distinct_names() {
        let cases = cases();
        assert_eq!(cases.len(), 78);
        let mut names: Vec<_> = cases.iter().map(|case| &case.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
    }
}
