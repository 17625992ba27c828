//! `result.json` of a run.

use super::{CapturedSubflow, Kernel, Reaction, Run};
use crate::delay::{self, Measure};
use crate::{describe, traces, warnings};
use serde_json::{Map, Value, json};
use sim::{Outcome, Timeline};
use units::{Duration, Instant};

/// The result as JSON, in a fixed order.
pub(super) fn result(run: &Run) -> Value {
    let mut object = Map::new();
    object.insert("kind".to_owned(), json!("run"));
    object.insert("tandem".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    object.insert("title".to_owned(), json!(run.title));
    object.insert("policy".to_owned(), json!(run.experiment.device.policy.to_string()));
    object.insert("warnings".to_owned(), warnings::to_json(&run.warnings));
    if let Ok(mut outcome) = serde_json::to_value(&run.outcome) {
        add_percentiles(&mut outcome, &run.outcome);
        object.extend(outcome.as_object().cloned().unwrap_or_default());
    }
    let end = Instant::ZERO + run.experiment.duration;
    let states: Vec<Value> = run.outcome.timelines.iter().map(|timeline| states(timeline, end)).collect();
    object.insert("power_states".to_owned(), json!(states));
    object.insert("profiles".to_owned(), profiles(run));
    object.insert("traces".to_owned(), traces::to_json(&run.traces));
    if let Some(measured) = &run.kernel {
        object.insert("kernel".to_owned(), kernel(run, measured));
    }
    Value::Object(object)
}

/// Adds the percentiles of delay, jitter and head-of-line blocking to the first connections, whose
/// distributions are drawn.
fn add_percentiles(value: &mut Value, outcome: &Outcome) {
    for (i, connection) in outcome.connections.iter().enumerate().take(delay::MAX_CONNECTIONS) {
        for measure in Measure::ALL {
            if let Some(distribution) = measure.of(connection) {
                let percentiles = delay::percentiles(&delay::pooled([distribution]));
                value["connections"][i][measure.member()]["percentiles_s"] = json!(percentiles);
            }
        }
    }
}

fn kernel(run: &Run, kernel: &Kernel) -> Value {
    let [median, p99, longest] = kernel.lateness.map(Duration::as_secs_f64);
    let mut object = json!({
        "release": kernel.release,
        "stacks": {"device": kernel.stacks[0], "server": kernel.stacks[1]},
        "packets_late_s": {"median": median, "p99": p99, "longest": longest},
        "priorities_heard": kernel.priorities_heard,
        "reactions": kernel.reactions.iter().map(reaction).collect::<Vec<_>>(),
        "captured": kernel.captured.iter().map(captured).collect::<Vec<_>>(),
        "notes": kernel.notes,
    });
    if let Some(programs) = &kernel.programs {
        let [requested, accepted, joined] = programs.multipath;
        let paths = run.outcome.paths.iter().zip(&programs.delays);
        let delays = paths.map(|(path, delays)| {
            let [down, up] = delays.map(delay);
            json!({"path": path.name, "down": down, "up": up})
        });
        object["multipath"] = json!({"asked": requested, "agreed": accepted, "joined": joined});
        object["delays_s"] = json!(delays.collect::<Vec<_>>());
    }
    object
}

fn reaction(reaction: &Reaction) -> Value {
    json!({
        "path": reaction.path,
        "took_s": reaction.total.as_secs_f64(),
        "order_s": reaction.signalling.as_secs_f64(),
        "sender_s": reaction.sender.as_secs_f64(),
        "link_s": reaction.link.as_secs_f64(),
        "given_bytes": reaction.committed.get(),
        "given_needs_s": reaction.committed_time.as_secs_f64(),
    })
}

fn captured(subflow: &CapturedSubflow) -> Value {
    let [received, acknowledged] = [subflow.received, subflow.acknowledged]
        .map(|[capture, kernel]| json!({"capture": capture, "kernel": kernel}));
    json!({
        "path": subflow.path,
        "client": subflow.client,
        "received_bytes": received,
        "acknowledged_bytes": acknowledged,
        "agrees": subflow.agrees(),
    })
}

/// Mean delay and its queueing part; `None` without packets.
fn delay(delay: Option<(Duration, Duration)>) -> Option<Value> {
    delay.map(|(mean, queued)| json!({"mean": mean.as_secs_f64(), "queued": queued.as_secs_f64()}))
}

/// Time in each power state of an interface, and number of entries into it.
fn states(timeline: &Timeline, end: Instant) -> Value {
    let mut sums: Vec<(&str, f64, u64)> = Vec::new();
    let ends = timeline.states.iter().skip(1).map(|(at, _)| *at).chain([end]);
    for ((from, state), to) in timeline.states.iter().zip(ends) {
        let seconds = to.since(*from).as_secs_f64();
        match sums.iter_mut().find(|(name, ..)| name == state) {
            Some((_, sum, times)) => {
                *sum += seconds;
                *times += 1;
            }
            None => sums.push((state, seconds, 1)),
        }
    }
    let list: Vec<Value> = sums
        .iter()
        .map(|(state, seconds, times)| json!({"state": state, "seconds": seconds, "entered": times}))
        .collect();
    json!({"path": timeline.path, "states": list})
}

/// Sources of the power figures.
fn profiles(run: &Run) -> Value {
    let list: Vec<Value> = describe::profiles(&run.experiment)
        .iter()
        .map(|profile| {
            json!({
                "name": profile.name,
                "source": profile.source,
                "origin": describe::origins(profile),
            })
        })
        .collect();
    json!(list)
}
