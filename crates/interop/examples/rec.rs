//! MPTCP-rec between two stacks, over the paper's three paths at real packets and clock, beside the
//! simulation of the same seed. Usage: `rec [SEEDS [SECONDS]]`; as root its threads are real-time.

use scenario::Scenario;
use tandem_interop::measure_download;
use units::{Duration, Seed};

const SCENARIO: &str = include_str!("../../../scenarios/mptcp-rec.toml");

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().map_err(|e| e.to_string()));
    let seeds = arguments.next().unwrap_or(Ok(8))?;
    let seconds = arguments.next().unwrap_or(Ok(20))?;
    if seeds == 0 || seconds == 0 {
        return Err("SEEDS and SECONDS must be at least 1".to_owned());
    }
    let scenario = Scenario::parse("mptcp-rec", SCENARIO, &|_: &str| Err("no files".to_owned()))
        .map_err(|found| format!("{found:?}"))?;
    println!(
        "| Seed | Goodput, simulated | real | Delay, simulated | real | Peak out of order, simulated | real |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
    for seed in 1..=seeds {
        let mut experiment = scenario.with_seed(Seed::new(seed));
        experiment.duration = Duration::from_secs(seconds);
        let outcome = sim::run(&experiment);
        let Some(connection) = outcome.connections.first() else { return Err("no connection".to_owned()) };
        let simulated = [
            connection.goodput_mbps,
            connection.delay.mean_s.unwrap_or(0.0) * 1e3,
            connection.peak_out_of_order_bytes.unwrap_or(0) as f64 / 1e3,
        ];
        let found = measure_download(&experiment)?;
        let real =
            [found.goodput_mbps, found.mean_delay.as_secs_f64() * 1e3, found.peak_out_of_order as f64 / 1e3];
        for ((ratios, real), simulated) in ratios.iter_mut().zip(real).zip(simulated) {
            ratios.push(real / simulated);
        }
        println!(
            "| {seed} | {:.2} Mbit/s | {:.2} | {:.0} ms | {:.0} | {:.0} kB | {:.0} |",
            simulated[0], real[0], simulated[1], real[1], simulated[2], real[2]
        );
    }
    let median = ratios.map(|mut ratios| {
        ratios.sort_by(f64::total_cmp);
        let (low, high) = ((ratios.len() - 1) / 2, ratios.len() / 2);
        f64::midpoint(ratios[low], ratios[high])
    });
    println!(
        "\nmedian of real over simulated: goodput {:.3}, delay {:.3}, peak {:.3}",
        median[0], median[1], median[2]
    );
    Ok(())
}
