//! `result.json` of the map; docs/reference/output.md describes it.

use super::{BestPolicies, Measured, MeasuredPoint};
use report::Estimate;
use serde_json::{Value, json};

fn estimate(estimate: Estimate) -> Value {
    json!({ "mean": estimate.mean, "ci95": estimate.ci95.is_finite().then_some(estimate.ci95) })
}

fn measured(one: &Measured) -> Value {
    json!({
        "policy": one.policy.to_string(),
        "energy_j": estimate(one.energy()),
        "goodput_mbps": estimate(one.goodput()),
        "mos": one.mean_mos().map(estimate),
    })
}

fn point(point: &MeasuredPoint) -> Value {
    let (preferred, costly) = point.point.kinds();
    json!({
        "radios": point.point.pair.name,
        "preferred": preferred.as_str(),
        "costly": costly.as_str(),
        "traffic": point.point.traffic.name(),
        "load": point.point.load,
        "rate_mbps": point.point.mbps(),
        "best": point.best().policy.to_string(),
        "saved": point.saved(),
        "policies": point.policies.iter().map(measured).collect::<Vec<_>>(),
    })
}

impl BestPolicies {
    /// Contents of `result.json`.
    pub fn to_json(&self) -> Value {
        let judged = self.judgement();
        let judged = judged.iter().map(|one| {
            json!({
                "policy": one.policy.to_string(),
                "energy": one.energy,
                "goodput": one.goodput,
                "mos_difference": one.mos.is_finite().then_some(one.mos),
                "losses": one.losses,
                "saved_without_loss": one.saved,
                "points": one.points,
            })
        });
        json!({
            "seeds": self.seeds,
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
            "held_out": self.held_out.iter().map(point).collect::<Vec<_>>(),
            "judgement": judged.collect::<Vec<_>>(),
            "best_known_beats_every_fixed_policy": self.as_good_as_best_known().is_empty(),
        })
    }
}
