//! The scenarios that both worlds run: one TCP connection, then Multipath TCP, over what real paths are
//! like and a little beyond.

use scenario::{Files, Scenario};
use std::fmt::Write as _;

/// One scenario of the matrix.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it is, in a few words.
    pub name: String,
    /// Which part of the matrix it belongs to.
    pub group: &'static str,
    /// The scenario, ready to run.
    pub scenario: Scenario,
}

/// One direction of a path, as the matrix varies it.
#[derive(Debug, Clone, Copy)]
struct Way<'a> {
    /// A rate such as `20Mbps`, or a file of measured data.
    rate: &'a str,
    /// Round trip, in milliseconds.
    rtt: u32,
    /// Loss in per cent, towards the device.
    loss: f64,
    /// When nothing goes through, in seconds.
    outage: Option<(u32, u32)>,
}

const fn way(rate: &str, rtt: u32) -> Way<'_> {
    Way { rate, rtt, loss: 0.0, outage: None }
}

/// What a case does besides.
#[derive(Debug, Clone, Copy)]
struct Made<'a> {
    congestion: &'a str,
    /// Receive buffer; the default grows with what is read, as Linux's does.
    buffer: Option<&'a str>,
    traffic: &'a str,
    seconds: u32,
}

const BULK: &str = "kind = \"bulk\"";
const PLAIN: Made<'_> = Made { congestion: "cubic", buffer: None, traffic: BULK, seconds: 10 };

/// The matrix: 1 to 100 Mbit/s, 10 to 200 ms, 0 to 2 % loss, equal and very unequal paths, small buffers and
/// large ones, a path that dies and returns, a file, the other direction.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let reno = Made { congestion: "reno", ..PLAIN };
    for (rate, rtt) in
        [("1Mbps", 40), ("10Mbps", 10), ("10Mbps", 40), ("20Mbps", 200), ("50Mbps", 20), ("100Mbps", 40)]
    {
        for made in [reno, PLAIN] {
            let name = format!("{}, {rate}, {rtt} ms", made.congestion);
            // The slowest need their time for one window after another.
            let seconds = if rtt >= 200 || rate == "1Mbps" { 20 } else { made.seconds };
            all.push(single(&name, way(rate, rtt), Made { seconds, ..made }));
        }
    }
    for (rate, rtt, loss, made) in [
        ("10Mbps", 20, 2.0, PLAIN),
        ("10Mbps", 20, 2.0, reno),
        ("20Mbps", 40, 0.5, PLAIN),
        ("50Mbps", 10, 0.1, reno),
    ] {
        let name = format!("{}, {rate}, {rtt} ms, {loss} % lost", made.congestion);
        all.push(single(&name, Way { loss, ..way(rate, rtt) }, Made { seconds: 20, ..made }));
    }
    let file = Made { traffic: "kind = \"file\"\nsize = \"2MB\"", seconds: 8, ..PLAIN };
    all.push(single("2 MB file, 20Mbps, 40 ms", way("20Mbps", 40), file));
    let up = Made { traffic: "kind = \"bulk\"\ndirection = \"up\"", ..PLAIN };
    all.push(single("upload, 10Mbps, 40 ms", way("10Mbps", 40), up));

    let (wifi, lte) = (way("20Mbps", 20), way("30Mbps", 60));
    let two = [
        ("equal, 20 and 20 Mbit/s", [way("20Mbps", 30), way("20Mbps", 30)], PLAIN),
        ("equal, reno", [way("20Mbps", 30), way("20Mbps", 30)], reno),
        ("Wi-Fi and LTE, 20 and 30 Mbit/s", [wifi, lte], PLAIN),
        ("Wi-Fi and LTE, reno", [wifi, lte], reno),
        ("unequal, 2 and 50 Mbit/s", [way("2Mbps", 10), way("50Mbps", 50)], PLAIN),
        (
            "very unequal round trips, 10 and 200 ms",
            [way("10Mbps", 10), way("10Mbps", 200)],
            Made { seconds: 20, ..PLAIN },
        ),
        ("Wi-Fi loses 1 %", [Way { loss: 1.0, ..wifi }, lte], Made { seconds: 20, ..PLAIN }),
        ("buffer of 256 KiB", [wifi, lte], Made { buffer: Some("256KiB"), ..PLAIN }),
        ("buffer of 1 MiB", [wifi, lte], Made { buffer: Some("1MiB"), ..PLAIN }),
        (
            "Wi-Fi dies at 4 s and returns at 8 s",
            [Way { outage: Some((4, 8)), ..wifi }, lte],
            Made { seconds: 14, ..PLAIN },
        ),
        ("10 MB file", [wifi, lte], Made { traffic: "kind = \"file\"\nsize = \"10MB\"", ..PLAIN }),
        (
            "stream of 8 Mbit/s",
            [wifi, lte],
            Made { traffic: "kind = \"cbr\"\nrate = \"8Mbps\"\npacket = \"1400B\"", ..PLAIN },
        ),
    ];
    for (name, ways, made) in two {
        all.push(double(name, ways, made));
    }
    all
}

/// The same over measured Wi-Fi and cellular, for those that `files` has.
pub fn measured(files: &dyn Files) -> Vec<Case> {
    let pairs = [
        ("measured Wi-Fi and cellular, 7", "mpwl_7_1_wifi.csv", "mpwl_7_1_cellular.csv"),
        ("measured Wi-Fi and cellular, 12", "mpwl_12_1_wifi.csv", "mpwl_12_1_cellular.csv"),
    ];
    let pairs = pairs.iter().filter_map(|(name, wifi, lte)| {
        let text = text(&[way(wifi, 30), way(lte, 70)], Made { seconds: 20, ..PLAIN });
        let scenario = Scenario::parse(name, &text, files).ok()?;
        Some(Case { name: (*name).to_owned(), group: TWO, scenario })
    });
    pairs.collect()
}

const ONE: &str = "One TCP connection";
const TWO: &str = "Multipath TCP over two paths";

fn single(name: &str, way: Way<'_>, made: Made<'_>) -> Case {
    build(ONE, name, &[way], made)
}

fn double(name: &str, ways: [Way<'_>; 2], made: Made<'_>) -> Case {
    build(TWO, name, &ways, made)
}

fn build(group: &'static str, name: &str, ways: &[Way<'_>], made: Made<'_>) -> Case {
    let text = text(ways, made);
    let none = |_: &str| Err("these scenarios read no files".to_owned());
    let scenario = Scenario::parse(name, &text, &none).expect("a test parses every one of them");
    Case { name: name.to_owned(), group, scenario }
}

fn text(ways: &[Way<'_>], made: Made<'_>) -> String {
    let mut text = format!(
        "title = \"fidelity\"\nseed = 1\nduration = \"{}s\"\nsample = \"1s\"\n\n[device]\nname = \"phone\"\n\n",
        made.seconds
    );
    for (way, (name, radio)) in ways.iter().zip([("wifi", "huang2012.wifi"), ("lte", "huang2012.lte")]) {
        let trace = way.rate.contains(".csv");
        let key = if trace { "trace" } else { "rate" };
        let back = if trace { "10Mbps" } else { way.rate };
        let half = format!("{}us", way.rtt * 500);
        let outage =
            way.outage.map_or(String::new(), |(from, to)| format!(", outages = [[\"{from}s\", \"{to}s\"]]"));
        let loss = if way.loss > 0.0 { format!(", loss = {}", way.loss / 100.0) } else { String::new() };
        let _ = write!(
            text,
            "[[path]]\nname = \"{name}\"\nradio = \"{radio}\"\n\
             down = {{ {key} = \"{}\", delay = \"{half}\", queue = \"100ms\"{loss}{outage} }}\n\
             up = {{ rate = \"{back}\", delay = \"{half}\", queue = \"100ms\"{outage} }}\n\n",
            way.rate
        );
    }
    let protocol =
        if ways.len() == 1 { "protocol = \"tcp\"\npath = \"wifi\"\n" } else { "protocol = \"mptcp\"\n" };
    let _ = write!(text, "[transport]\npreset = \"linux\"\n{protocol}congestion = \"{}\"\n", made.congestion);
    if let Some(buffer) = made.buffer {
        let _ = writeln!(text, "recv_buffer = \"{buffer}\"");
    }
    let _ = write!(text, "\n[[traffic]]\n{}\n", made.traffic);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_has_more_than_two_dozen_scenarios_with_names_of_their_own() {
        let cases = cases();
        assert!(cases.len() >= 24, "{}", cases.len());
        let mut names: Vec<_> = cases.iter().map(|case| &case.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
    }
}
