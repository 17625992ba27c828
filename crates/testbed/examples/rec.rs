//! MPTCP-rec between two stacks of Tandem, over the paper's three paths at real packets and clock,
//! beside the simulation of the same seed. Usage, as root: `rec [SEEDS [SECONDS]]`.
//!
//! An out-of-order offset is the distance in the data stream between two segments that arrive one
//! after the other. Both worlds have it from a capture at the device.

use capture::Reader;
use intervals::IntervalSet;
use scenario::Scenario;
use sim::{Experiment, Outcome};
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;
use tandem_testbed::{Setup, run_with};
use units::{Duration, Seed};
use wire::Mapping;
use wire::pcapng::Direction;
use wire::tcp::{Packet, TcpOption};

const SCENARIO: &str = include_str!("../../../scenarios/mptcp-rec.toml");
const IP_HEADER_BYTES: usize = 20;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let seeds = arguments.next().unwrap_or(Ok(8))?;
    let seconds = arguments.next().unwrap_or(Ok(20))?;
    if seeds == 0 || seconds == 0 {
        return Err("SEEDS and SECONDS must be at least 1".into());
    }
    let scenario = Scenario::parse("mptcp-rec", SCENARIO, &|_: &str| Err("no files".to_owned()))
        .map_err(|found| format!("{found:?}"))?;
    println!(
        "| Seed | Goodput, simulated | real | Delay, simulated | real | Offsets, simulated | real |\n\
         |---|---|---|---|---|---|---|"
    );
    let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
    for seed in 1..=seeds {
        let mut experiment = scenario.with_seed(Seed::new(seed));
        experiment.duration = Duration::from_secs(seconds);
        experiment.capture = true;
        let simulated = simulate(&experiment)?;
        let real = measure(&experiment)?;
        for ((ratios, real), simulated) in ratios.iter_mut().zip(real).zip(simulated) {
            ratios.push(real / simulated);
        }
        println!(
            "| {seed} | {:.2} Mbit/s | {:.2} | {:.0} ms | {:.0} | {:.1} kB | {:.1} |",
            simulated[0], real[0], simulated[1], real[1], simulated[2], real[2]
        );
    }
    println!("\nreal over simulated: median, half of the seeds, all seeds");
    for (name, mut values) in ["goodput", "delay", "offsets"].into_iter().zip(ratios) {
        values.sort_by(f64::total_cmp);
        let [lowest, low, high, highest] = [0.0, 0.25, 0.75, 1.0].map(|part| {
            let last = (values.len() - 1) as f64;
            values[(part * last).round() as usize]
        });
        let median = median(&values);
        println!("{name:<8} {median:.3}  {low:.2} to {high:.2}  {lowest:.2} to {highest:.2}");
    }
    Ok(())
}

fn simulate(experiment: &Experiment) -> Result<[f64; 3], Failure> {
    let mut outcome = sim::run(experiment);
    let packets = outcome.capture.take().ok_or("no capture")?;
    results(&outcome, &packets[..])
}

fn measure(experiment: &Experiment) -> Result<[f64; 3], Failure> {
    let mut file: File = tempfile::tempfile()?;
    let ran = run_with(experiment, &Setup::default(), &Arc::default(), &mut |_| {}, Some(&file))?;
    file.rewind()?;
    results(&ran.outcome, &file)
}

/// Goodput in Mbit/s, mean delay of the blocks in ms, 95th percentile of the offsets in kB.
fn results(outcome: &Outcome, packets: impl Read) -> Result<[f64; 3], Failure> {
    let connection = outcome.connections.first().ok_or("no connection")?;
    let delay = connection.delay.mean_s.unwrap_or(0.0) * 1e3;
    Ok([connection.goodput_mbps, delay, offset_percentile(packets)? / 1e3])
}

/// 95th percentile of the out-of-order offsets of the data that was not delivered before, in bytes.
fn offset_percentile(packets: impl Read) -> Result<f64, Failure> {
    let arrivals = arrivals(packets)?;
    let first = arrivals.first().map_or(0, |mapping| mapping.dsn as u32);
    let distance = |mapping: &Mapping| i64::from((mapping.dsn as u32).wrapping_sub(first) as i32);
    let start = arrivals.iter().map(distance).min().unwrap_or(0);
    let (mut received, mut last, mut offsets) = (IntervalSet::default(), None, Vec::new());
    for mapping in &arrivals {
        let from = (distance(mapping) - start) as u64;
        let to = from + u64::from(mapping.len);
        let delivered = received.end_of(0).unwrap_or(0);
        received.insert(from, to);
        if to > delivered
            && let Some(last) = last.replace(from)
        {
            offsets.push(from.abs_diff(last));
        }
    }
    offsets.sort_unstable();
    let index = (offsets.len().saturating_sub(1) as f64 * 0.95).round() as usize;
    Ok(offsets.get(index).copied().unwrap_or(0) as f64)
}

/// Mappings of the data that arrived at the device, in order of arrival.
fn arrivals(packets: impl Read) -> Result<Vec<Mapping>, Failure> {
    let mut reader = Reader::new(packets)?;
    let mut arrivals = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        let is_inbound = frame.direction == Some(Direction::Inbound);
        let Some(segment) = frame.bytes.get(IP_HEADER_BYTES..).filter(|_| is_inbound) else { continue };
        let dss = Packet::new(segment)?.options().filter_map(Result::ok).find_map(|option| match option {
            TcpOption::Dss(dss) => Some(dss),
            _ => None,
        });
        // A mapping at 0 is that of a DATA_FIN.
        arrivals.extend(dss.and_then(|dss| dss.mapping).filter(|mapping| mapping.ssn > 0));
    }
    Ok(arrivals)
}

/// Median of sorted values.
fn median(values: &[f64]) -> f64 {
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    f64::midpoint(values[low], values[high])
}
