//! `result.json` of a run.

use super::Run;
use crate::describe;
use serde_json::{Map, Value, json};
use sim::Timeline;
use units::Instant;

/// The result as JSON, in a fixed order.
pub(super) fn result(run: &Run) -> Value {
    let mut object = Map::new();
    object.insert("kind".to_owned(), json!("run"));
    object.insert("tandem".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    object.insert("title".to_owned(), json!(run.title));
    object.insert("policy".to_owned(), json!(run.experiment.device.policy.to_string()));
    if let Ok(Value::Object(outcome)) = serde_json::to_value(&run.outcome) {
        object.extend(outcome);
    }
    let end = Instant::ZERO + run.experiment.duration;
    let states: Vec<Value> = run.outcome.timelines.iter().map(|timeline| states(timeline, end)).collect();
    object.insert("power_states".to_owned(), json!(states));
    object.insert("profiles".to_owned(), profiles(run));
    if let Some(kernel) = &run.kernel {
        let [median, p99, longest] = kernel.lateness.map(units::Duration::as_secs_f64);
        let late = json!({"median": median, "p99": p99, "longest": longest});
        let reactions = kernel.reactions.iter().map(|reaction| {
            json!({
                "path": reaction.path,
                "took_s": reaction.took.as_secs_f64(),
                "order_s": reaction.order.as_secs_f64(),
                "sender_s": reaction.sender.as_secs_f64(),
                "link_s": reaction.link.as_secs_f64(),
                "given_bytes": reaction.given.get(),
                "given_needs_s": reaction.needed.as_secs_f64(),
            })
        });
        let reactions: Vec<Value> = reactions.collect();
        let captured = kernel.captured.iter().map(|one| {
            let [[received, counted], [acknowledged, heard]] = [one.received, one.acknowledged];
            json!({
                "path": one.path,
                "client": one.client,
                "received_bytes": {"capture": received, "kernel": counted},
                "acknowledged_bytes": {"capture": acknowledged, "kernel": heard},
                "agrees": one.agrees(),
            })
        });
        let captured: Vec<Value> = captured.collect();
        let mut about = json!({
            "release": kernel.release,
            "packets_late_s": late,
            "priorities_heard": kernel.priorities_heard,
            "reactions": reactions,
            "captured": captured,
            "notes": kernel.notes,
        });
        if let Some(programs) = &kernel.programs {
            let [asked, agreed, joined] = programs.multipath;
            let seconds = |delays: &[Option<(units::Duration, units::Duration)>; 2]| {
                delays.map(|delay| {
                    delay.map(
                        |(all, queued)| json!({"mean": all.as_secs_f64(), "queued": queued.as_secs_f64()}),
                    )
                })
            };
            let paths = run.outcome.paths.iter().zip(&programs.delays);
            let delays = paths.map(|(path, delays)| {
                let [down, up] = seconds(delays);
                json!({"path": path.name, "down": down, "up": up})
            });
            about["multipath"] = json!({"asked": asked, "agreed": agreed, "joined": joined});
            about["delays_s"] = json!(delays.collect::<Vec<_>>());
        }
        object.insert("kernel".to_owned(), about);
    }
    Value::Object(object)
}

/// How long the interface was in each state, and how often it went there.
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

/// Where the power figures come from.
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
