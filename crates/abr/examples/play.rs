//! The adaptive player over a trace of throughput, without a transport: a segment takes the latency and
//! then as long as the trace needs for its size. All rules, a line each, and one more where giving up what
//! is on its way makes a difference.
//!
//! ```text
//! cargo run --release -p tandem-abr --example play -- MANIFEST TRACE [RULE]
//! ```
//!
//! MANIFEST is a JSON document as `Manifest::from_json` reads it, TRACE a JSON list such as
//! `[{"duration_ms": 1000, "bandwidth_kbps": 4500, "latency_ms": 20}]`, which begins again at its end. With
//! a RULE its whole session is printed as JSON. What the figures are beside the simulator Sabre's:
//! docs/player.md.

#![allow(clippy::disallowed_methods, reason = "an example reads the files that it is told")]

use serde::Deserialize;
use std::error::Error;
use tandem_abr::{Manifest, Player, PlayerConfig, Rule, Session};
use units::{Bitrate, Bytes, Duration, Instant};

#[derive(Deserialize)]
struct Piece {
    duration_ms: f64,
    bandwidth_kbps: f64,
    #[serde(default)]
    latency_ms: f64,
}

/// A network that carries what its trace says, to one segment at a time.
struct Network {
    pieces: Vec<(Duration, Bitrate, Duration)>,
    /// How long all of them last.
    round: Duration,
}

impl Network {
    fn read(text: &str) -> Result<Self, Box<dyn Error>> {
        let pieces: Vec<Piece> = serde_json::from_str(text)?;
        let pieces: Vec<(Duration, Bitrate, Duration)> = pieces
            .iter()
            .map(|piece| {
                (
                    Duration::from_secs_f64(piece.duration_ms * 1e-3),
                    Bitrate::from_mbps(piece.bandwidth_kbps * 1e-3),
                    Duration::from_secs_f64(piece.latency_ms * 1e-3),
                )
            })
            .collect();
        if !pieces.iter().any(|(span, rate, _)| rate.over(*span) > Bytes::ZERO) {
            return Err("the trace carries nothing".into());
        }
        let round = pieces.iter().fold(Duration::ZERO, |sum, (span, _, _)| sum + *span);
        Ok(Self { pieces, round })
    }

    /// Which piece holds at `time`, and how long it still does.
    fn at(&self, time: Instant) -> (usize, Duration) {
        let mut into = Duration::from_nanos(time.as_nanos() % self.round.as_nanos());
        for (index, (span, _, _)) in self.pieces.iter().enumerate() {
            if into < *span {
                return (index, *span - into);
            }
            into -= *span;
        }
        (0, self.pieces[0].0)
    }

    /// When the first byte comes of what is asked for at `asked`.
    fn first(&self, asked: Instant) -> Instant {
        asked + self.pieces[self.at(asked).0].2
    }

    /// What comes of `most` bytes from `now` until `until`, and when: all of it maybe before that.
    fn carry(&self, mut now: Instant, until: Instant, most: Bytes) -> (Bytes, Instant) {
        let mut left = most;
        while now < until {
            let (index, rest) = self.at(now);
            let (rate, rest) = (self.pieces[index].1, rest.min(until.since(now)));
            let needed = rate.time_for(left);
            if needed <= rest {
                return (most, now + needed);
            }
            left = left - rate.over(rest);
            now += rest;
        }
        (most - left, until)
    }
}

/// How often the player hears what came.
const LOOK: Duration = Duration::from_millis(50);

fn play(manifest: &Manifest, network: &Network, rule: Rule, abandon: bool) -> Session {
    let mut player =
        Player::new(manifest.clone(), PlayerConfig { abandon, ..PlayerConfig::new(rule) }, Instant::ZERO);
    let (mut now, mut look, mut on_its_way) = (Instant::ZERO, Instant::ZERO, Bytes::ZERO);
    loop {
        if let Some(request) = player.poll_request(now) {
            (on_its_way, look) = (request.size, now + LOOK);
            now = network.first(now);
            player.receive(now, Bytes::ZERO);
        } else if on_its_way > Bytes::ZERO {
            let (came, at) = network.carry(now, look, on_its_way);
            (on_its_way, now, look) = (on_its_way - came, at, look + LOOK);
            player.receive(now, came);
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
        println!("{:#}", play(&manifest, &network, rule.parse()?, true).to_json());
        return Ok(());
    }
    println!(
        "{:<11}{:>9}{:>10}{:>10}{:>8}{:>8}{:>8}{:>9}{:>8}{:>10}",
        "rule", "given up", "mean", "session", "T_init", "stalls", "stalled", "changes", "MOS", "Yin"
    );
    println!(
        "{:<11}{:>9}{:>10}{:>10}{:>8}{:>8}{:>8}{:>9}{:>8}{:>10}",
        "", "", "kbit/s", "kbit/s", "s", "", "s", "", "", "Mbit/s"
    );
    for (rule, abandon) in Rule::ALL.into_iter().flat_map(|rule| [(rule, false), (rule, true)]) {
        let session = play(&manifest, &network, rule, abandon);
        if abandon && session.abandoned.is_empty() {
            // The same session again.
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
            kpis.mos,
            kpis.linear
        );
    }
    Ok(())
}
