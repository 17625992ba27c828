//! Generated links of the fidelity matrix: rates that change within seconds, fast links with thin
//! uplinks, and pairs of Wi-Fi and cellular rates drawn from a fixed seed.

use super::cases::{Case, parse};
use std::fmt::Write as _;
use units::Seed;

const RAMPS: &str = "Generated: rates that rise or fall";
const FAST: &str = "Generated: fast links with thin uplinks";
const PAIRS: &str = "Generated: Wi-Fi and cellular pairs";
/// Interval between two steps of a ramp, in milliseconds.
const RAMP_STEP_MS: u32 = 100;
/// Start of every ramp, in milliseconds.
const RAMP_START_MS: u32 = 3000;
const RAMP_RUN_SECONDS: u32 = 10;
/// Highest rate of every ramp, in kbit/s.
const RAMP_TOP_KBPS: f64 = 60_000.0;
/// Interval between two rates of a pair's path, in milliseconds.
const PAIR_STEP_MS: u32 = 1000;
const PAIR_RUN_SECONDS: u32 = 10;
/// Number of pairs with both rates drawn.
const DRAWN_PAIRS: u64 = 12;

/// A path. Its rate downwards is a value of the scenario's syntax.
struct Link<'a> {
    down: String,
    up: &'a str,
    rtt_ms: u32,
    queue: &'a str,
}

/// The generated scenarios: the same ones on every machine.
pub(super) fn generated() -> Vec<Case> {
    let mut all = ramps();
    all.extend(fast_links());
    all.extend(ramped_pairs());
    all.extend((1..=DRAWN_PAIRS).map(drawn_pair));
    all
}

/// One TCP connection over a rate that rises or falls by 3, 10 or 30 within 1, 2 or 5 s.
fn ramps() -> Vec<Case> {
    let mut all = Vec::new();
    for rises in [false, true] {
        for factor in [3.0, 10.0, 30.0] {
            for seconds in [1, 2, 5] {
                let down = ramp(factor, seconds, rises);
                let name = format!("{} in {seconds} s", change(factor, rises));
                let link = Link { down, up: "20Mbps", rtt_ms: 40, queue: "200 packets" };
                all.push(case(RAMPS, &name, &[link], RAMP_RUN_SECONDS));
            }
        }
    }
    all
}

/// One TCP connection over 300 Mbit/s to 2 Gbit/s with 2 to 20 Mbit/s for the acknowledgements.
fn fast_links() -> Vec<Case> {
    let mut all = Vec::new();
    for down in ["300Mbps", "500Mbps", "1Gbps", "2Gbps"] {
        for up in ["2Mbps", "10Mbps", "20Mbps"] {
            let name = format!("{down} down, {up} up");
            let link = Link { down: format!("\"{down}\""), up, rtt_ms: 20, queue: "20ms" };
            all.push(case(FAST, &name, &[link], 6));
        }
    }
    all
}

/// Multipath TCP over a Wi-Fi path that falls or rises within 2 s, and a steady cellular path.
fn ramped_pairs() -> Vec<Case> {
    let mut all = Vec::new();
    for rises in [false, true] {
        for factor in [3.0, 10.0, 30.0] {
            let name = format!("Wi-Fi {} in 2 s, LTE 20 Mbit/s", change(factor, rises));
            let wifi = Link { down: ramp(factor, 2, rises), up: "20Mbps", rtt_ms: 20, queue: "150 packets" };
            let lte = Link { down: "\"20Mbps\"".to_owned(), up: "10Mbps", rtt_ms: 60, queue: "300 packets" };
            all.push(case(PAIRS, &name, &[wifi, lte], RAMP_RUN_SECONDS));
        }
    }
    all
}

/// Multipath TCP over two paths whose rates walk between bounds, once a second.
fn drawn_pair(number: u64) -> Case {
    let seed = Seed::new(number);
    let wifi = Link { down: walk(seed, "wifi", 2.0, 80.0), up: "20Mbps", rtt_ms: 20, queue: "150 packets" };
    let lte = Link { down: walk(seed, "lte", 1.0, 40.0), up: "10Mbps", rtt_ms: 60, queue: "300 packets" };
    case(PAIRS, &format!("drawn pair {number}"), &[wifi, lte], PAIR_RUN_SECONDS)
}

fn change(factor: f64, rises: bool) -> String {
    let (high, low) = (RAMP_TOP_KBPS / 1000.0, RAMP_TOP_KBPS / factor / 1000.0);
    let (from, to) = if rises { (low, high) } else { (high, low) };
    format!("{from} to {to} Mbit/s")
}

/// Rate that changes by `factor` in equal ratios, from the start of the ramp for `seconds`.
fn ramp(factor: f64, seconds: u32, rises: bool) -> String {
    let count = seconds * 1000 / RAMP_STEP_MS;
    let rates = (0..=count).map(|step| {
        let part = f64::from(step) / f64::from(count);
        let part = if rises { 1.0 - part } else { part };
        let at = if step == 0 { 0 } else { RAMP_START_MS + step * RAMP_STEP_MS };
        (at, RAMP_TOP_KBPS / libm::pow(factor, part))
    });
    steps(rates)
}

/// Rate that is multiplied each second by a factor of at most 4 either way, within bounds in
/// Mbit/s.
fn walk(seed: Seed, name: &str, low: f64, high: f64) -> String {
    let mut rng = seed.rng(name);
    let (low, high) = (libm::log(low * 1000.0), libm::log(high * 1000.0));
    let mut level = rng.between(low, high);
    let largest = libm::log(4.0);
    let rates = (0..PAIR_RUN_SECONDS * 1000 / PAIR_STEP_MS).map(|step| {
        if step > 0 {
            level = (level + rng.between(-largest, largest)).clamp(low, high);
        }
        (step * PAIR_STEP_MS, libm::exp(level))
    });
    steps(rates)
}

/// A stepped rate as a scenario's value, from times in milliseconds and rates in kbit/s.
fn steps(rates: impl Iterator<Item = (u32, f64)>) -> String {
    let list: Vec<String> =
        rates.map(|(at, kbps)| format!("[\"{at}ms\", \"{}kbps\"]", kbps as u32)).collect();
    format!("{{ steps = [{}] }}", list.join(", "))
}

fn case(group: &'static str, name: &str, links: &[Link<'_>], seconds: u32) -> Case {
    let mut text = format!(
        "title = \"fidelity\"\nseed = 1\nduration = \"{seconds}s\"\nsample = \"100ms\"\n\n[device]\nname = \
         \"phone\"\n\n"
    );
    for (link, (name, radio)) in links.iter().zip([("wifi", "huang2012.wifi"), ("lte", "huang2012.lte")]) {
        let Link { down, up, rtt_ms, queue } = link;
        let half = format!("{}us", rtt_ms * 500);
        let _ = write!(
            text,
            "[[path]]\nname = \"{name}\"\nradio = \"{radio}\"\ndown = {{ rate = {down}, delay = \"{half}\", queue = \
             \"{queue}\" }}\nup = {{ rate = \"{up}\", delay = \"{half}\", queue = \"{queue}\" }}\n\n"
        );
    }
    let protocol =
        if links.len() == 1 { "protocol = \"tcp\"\npath = \"wifi\"" } else { "protocol = \"mptcp\"" };
    let _ = write!(
        text,
        "[transport]\npreset = \"linux\"\n{protocol}\ncongestion = \"cubic\"\n\n[[traffic]]\nkind = \"bulk\"\n"
    );
    parse(group, name, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_has_48_generated_cases() {
        assert_eq!(generated().len(), 48);
    }

    #[test]
    fn ramp_ends_at_the_rate_divided_by_its_factor() {
        let fall = ramp(30.0, 1, false);
        assert!(fall.starts_with("{ steps = [[\"0ms\", \"60000kbps\"]"), "{fall}");
        assert!(fall.ends_with("[\"4000ms\", \"2000kbps\"]] }"), "{fall}");
        assert!(ramp(30.0, 1, true).starts_with("{ steps = [[\"0ms\", \"2000kbps\"]"));
    }

    #[test]
    fn drawn_rates_stay_within_their_bounds() {
        let rates = walk(Seed::new(1), "wifi", 2.0, 80.0);
        let rates = rates.split("kbps").filter_map(|part| part.rsplit('"').next()?.parse::<u32>().ok());
        assert!(rates.clone().count() == 10 && rates.into_iter().all(|kbps| (1999..=80_000).contains(&kbps)));
    }
}
