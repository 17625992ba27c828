//! Simulates the player over a throughput trace without a transport: a segment takes the trace's
//! latency, then its size over the trace's rate. Prints one line per rule, and another if the rule
//! abandons segments; with RULE, the whole session as JSON. Results: docs/background/player.md.
//!
//! ```text
//! cargo run --release -p tandem-abr --example play -- MANIFEST TRACE [RULE]
//! ```
//!
//! MANIFEST is the JSON of `Manifest::from_json`; TRACE is a JSON list, repeated at its end, of
//! `{"duration_ms": 1000, "bandwidth_kbps": 4500, "latency_ms": 20}`.

#![allow(clippy::disallowed_methods, reason = "an example reads the files it is given")]

use serde::Deserialize;
use std::error::Error;
use tandem_abr::{Manifest, Player, PlayerConfig, RULES, Rule, Session};
use units::{Bitrate, Bytes, Duration, Instant};

#[derive(Deserialize)]
struct Step {
    duration_ms: f64,
    bandwidth_kbps: f64,
    #[serde(default)]
    latency_ms: f64,
}

/// A network with the rates and latencies of a trace, for one segment at a time.
struct Network {
    steps: Vec<(Duration, Bitrate, Duration)>,
    /// Duration of the trace.
    period: Duration,
}

impl Network {
    fn read(text: &str) -> Result<Self, Box<dyn Error>> {
        let steps: Vec<Step> = serde_json::from_str(text)?;
        let steps: Vec<(Duration, Bitrate, Duration)> = steps
            .iter()
            .map(|step| {
                (
                    Duration::from_secs_f64(step.duration_ms * 1e-3),
                    Bitrate::from_mbps(step.bandwidth_kbps * 1e-3),
                    Duration::from_secs_f64(step.latency_ms * 1e-3),
                )
            })
            .collect();
        if !steps.iter().any(|(span, rate, _)| rate.over(*span) > Bytes::ZERO) {
            return Err("the trace has no throughput".into());
        }
        let period = steps.iter().fold(Duration::ZERO, |sum, (span, _, _)| sum + *span);
        Ok(Self { steps, period })
    }

    /// Index of the step at `time`, and the rest of its duration.
    fn at(&self, time: Instant) -> (usize, Duration) {
        let mut into = Duration::from_nanos(time.as_nanos() % self.period.as_nanos());
        for (index, (span, _, _)) in self.steps.iter().enumerate() {
            if into < *span {
                return (index, *span - into);
            }
            into -= *span;
        }
        (0, self.steps[0].0)
    }

    /// Time of the first byte of a request at `asked`.
    fn first(&self, asked: Instant) -> Instant {
        asked + self.steps[self.at(asked).0].2
    }

    /// Bytes, of at most `max`, that arrive from `now` until `until`, and the time at which they
    /// have.
    fn carry(&self, mut now: Instant, until: Instant, max: Bytes) -> (Bytes, Instant) {
        let mut left = max;
        while now < until {
            let (index, rest) = self.at(now);
            let (rate, rest) = (self.steps[index].1, rest.min(until.since(now)));
            let needed = rate.time_for(left);
            if needed <= rest {
                return (max, now + needed);
            }
            left = left - rate.over(rest);
            now += rest;
        }
        (max - left, until)
    }
}

/// Time between calls of the player during a download.
const CALL_INTERVAL: Duration = Duration::from_millis(50);

fn play(manifest: &Manifest, network: &Network, rule: &Rule, abandon: bool) -> Session {
    let mut player = Player::new(
        manifest.clone(),
        PlayerConfig { abandon, ..PlayerConfig::new(rule.clone()) },
        Instant::ZERO,
    );
    let (mut now, mut next_call, mut pending) = (Instant::ZERO, Instant::ZERO, Bytes::ZERO);
    loop {
        if let Some(request) = player.poll_request(now) {
            (pending, next_call) = (request.size, now + CALL_INTERVAL);
            now = network.first(now);
            player.receive(now, Bytes::ZERO);
        } else if pending > Bytes::ZERO {
            let (received, at) = network.carry(now, next_call, pending);
            (pending, now, next_call) = (pending - received, at, next_call + CALL_INTERVAL);
            player.receive(now, received);
        } else if let Some(next) = player.next() {
            now = next;
        } else {
            return player.finish(now);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [manifest, trace, rule @ ..] = arguments.as_slice() else {
        return Err("expected MANIFEST TRACE [RULE]".into());
    };
    let manifest = Manifest::from_json(manifest, &std::fs::read_to_string(manifest)?)?;
    let network = Network::read(&std::fs::read_to_string(trace)?)?;
    if let [rule, ..] = rule {
        println!("{:#}", play(&manifest, &network, &rule.parse()?, true).to_json());
        return Ok(());
    }
    println!(
        "{:<11}{:>9}{:>10}{:>10}{:>8}{:>8}{:>8}{:>9}{:>8}{:>10}",
        "rule", "abandoned", "mean", "session", "T_init", "stalls", "stalled", "changes", "MOS", "Yin"
    );
    println!(
        "{:<11}{:>9}{:>10}{:>10}{:>8}{:>8}{:>8}{:>9}{:>8}{:>10}",
        "", "", "kbit/s", "kbit/s", "s", "", "s", "", "", "Mbit/s"
    );
    for (rule, abandon) in
        RULES.iter().flat_map(|entry| [(Rule::from(*entry), false), (Rule::from(*entry), true)])
    {
        let session = play(&manifest, &network, &rule, abandon);
        if abandon && session.abandoned.is_empty() {
            // Nothing was replaced: the same session.
            continue;
        }
        let kpis = session.kpis();
        let mean = kpis.mean_bitrate.as_mbps() * 1e3;
        let share = session.played.as_secs_f64() / session.end.since(session.start).as_secs_f64();
        println!(
            "{:<11}{:>9}{:>10.2}{:>10.2}{:>8.3}{:>8}{:>8.2}{:>9}{:>8.4}{:>10.1}",
            rule.name(),
            if abandon { session.abandoned.len().to_string() } else { "-".into() },
            mean,
            mean * share,
            kpis.initial.as_secs_f64(),
            session.stalls.len(),
            kpis.stalled.as_secs_f64(),
            kpis.switches,
            kpis.mos.unwrap_or(f64::NAN),
            kpis.linear.unwrap_or(f64::NAN)
        );
    }
    Ok(())
}
