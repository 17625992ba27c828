//! `result.json` of the reproduction; docs/reference/output.md describes it.

use super::grid_summary::Group;
use super::measure::Metric;
use super::paper;
use super::readings;
use super::reproduce::Reproduction;
use super::schemes::Role;
use report::Estimate;
use serde_json::{Map, Value, json};

/// A JSON number; null if it is not finite.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn estimate(estimate: Estimate) -> Value {
    json!({ "mean": number(estimate.mean), "ci95": number(estimate.ci95) })
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Standard => "standard",
        Role::Proposed => "proposed",
        Role::Reading => "reading",
        Role::Sweep => "sweep",
        Role::Part => "part",
        Role::Variant => "variant",
        Role::SenderSide => "sender-side",
    }
}

impl Reproduction {
    /// The whole reproduction as one JSON object.
    pub fn to_json(&self) -> Value {
        let seconds = self.duration.as_secs_f64();
        json!({
            "paper": "mptcp-rec",
            "seeds": self.seeds,
            "fewer_seeds": self.reduced_seeds,
            "duration_s": seconds,
            "grid": (0..self.grid.len()).map(|i| self.point_json(i)).collect::<Vec<_>>(),
            "background": self.background().name(),
            "summary": self.summary_json(Group::All),
            "summary_printed_buffers": self.summary_json(Group::Printed),
            "summary_small_buffers": self.summary_json(Group::Small),
            "summary_both_losses": self.summary_json(Group::BothLosses),
            "summary_other_background": self.summary_json(Group::OtherBackground),
            "readings": self.ablation_schemes().into_iter().map(|i| self.reading_json(i)).collect::<Vec<_>>(),
            "paper_figures": {
                "throughput_gain": paper::THROUGHPUT_GAIN,
                "delay_reduction": paper::DELAY_REDUCTION,
                "peak_out_of_order": {
                    "mptcp": paper::PEAK_OUT_OF_ORDER.0,
                    "mptcp_rec": paper::PEAK_OUT_OF_ORDER.1,
                },
            },
            "schemes": (0..self.schemes.len()).map(|i| self.scheme_json(i)).collect::<Vec<_>>(),
        })
    }

    /// Means of the standard schemes and the proposed one at a grid point; null for a scheme not
    /// run.
    fn point_json(&self, i: usize) -> Value {
        let point = &self.grid[i];
        let metrics = |scheme: usize| {
            let mut object = Map::new();
            for metric in &Metric::ALL {
                object.insert(metric.key.into(), number(self.estimate(metric, scheme, i).mean));
            }
            Value::Object(object)
        };
        let mut object = Map::new();
        object.insert("buffer_kb".into(), point.buffer_kb.into());
        object.insert("loss".into(), point.loss.name().into());
        object.insert("average_loss".into(), number(point.average));
        object.insert("background".into(), point.background.name().into());
        for scheme in self.standards() {
            object.insert(self.schemes[scheme].key.replace('-', "_"), metrics(scheme));
        }
        object.insert("mptcp_rec".into(), self.proposed().map_or(Value::Null, metrics));
        let changes = self.proposed().map(|proposed| {
            let mut changes = Map::new();
            for metric in &Metric::ALL {
                changes.insert(metric.key.into(), estimate(self.change(metric, proposed, 0, i)));
            }
            Value::Object(changes)
        });
        object.insert("change_percent".into(), changes.unwrap_or(Value::Null));
        Value::Object(object)
    }

    /// Medians over the grid as ratios, and the number of points that reach the paper's figure.
    fn summary_json(&self, group: Group) -> Value {
        let Some(proposed) = self.proposed() else { return Value::Null };
        if self.points_of(group).next().is_none() {
            return Value::Null;
        }
        let of = |metric: &Metric| self.grid_summary(metric, proposed, 0, group);
        let (goodput, delay) = (of(&Metric::GOODPUT), of(&Metric::DELAY));
        let (jitter, peak) = (of(&Metric::JITTER), of(&Metric::PEAK));
        json!({
            "throughput_gain": number(goodput.median.mean / 100.0),
            "delay_reduction": number(-delay.median.mean / 100.0),
            "jitter_reduction": number(-jitter.median.mean / 100.0),
            "peak_out_of_order_ratio": number(1.0 + peak.median.mean / 100.0),
            "points": goodput.points,
            "paper_reached": {
                "throughput_gain": goodput.reached,
                "delay_reduction": delay.reached,
                "peak_out_of_order_ratio": peak.reached,
            },
        })
    }

    /// Changes of a reading from standard MPTCP in percent, by group of buffers.
    fn reading_json(&self, scheme: usize) -> Value {
        let mut object = Map::new();
        object.insert("scheme".into(), self.schemes[scheme].key.as_str().into());
        for group in readings::GROUPS {
            let mut changes = Map::new();
            for metric in &readings::METRICS {
                changes.insert(metric.key.into(), estimate(self.common_change(metric, scheme, group).0));
            }
            object.insert(group.key().into(), Value::Object(changes));
        }
        Value::Object(object)
    }

    /// Means of a scheme over the points where every scheme runs.
    fn scheme_json(&self, scheme: usize) -> Value {
        let mut object = Map::new();
        object.insert("scheme".into(), self.schemes[scheme].key.as_str().into());
        object.insert("role".into(), role(self.schemes[scheme].role).into());
        for metric in &Metric::ALL {
            object.insert(metric.key.into(), estimate(self.common_mean(metric.of, scheme)));
        }
        for (end, name) in ["sender", "receiver"].into_iter().enumerate() {
            let segments = self.common_mean(|run| run.work[end].segments, scheme).mean;
            let options = self.common_mean(|run| run.work[end].options, scheme).mean;
            let work = json!({ "segments_per_mb": number(segments), "options_per_mb": number(options) });
            object.insert(name.into(), work);
        }
        Value::Object(object)
    }
}
