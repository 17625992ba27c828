//! The reproduction as one JSON object; docs/reference/output.md describes it.

use super::measure::Figure;
use super::over_grid::Group;
use super::paper;
use super::reproduce::Reproduction;
use super::schemes::Role;
use report::Estimate;
use serde_json::{Map, Value, json};

/// A number that is not finite is null.
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
        Role::Part => "part",
        Role::Variant => "variant",
        Role::SenderSide => "sender-side",
    }
}

impl Reproduction {
    /// Everything, as one object.
    pub fn to_json(&self) -> Value {
        let seconds = self.duration.as_secs_f64();
        json!({
            "paper": "mptcp-rec",
            "seeds": self.seeds,
            "fewer_seeds": self.fewer_seeds,
            "duration_s": seconds,
            "grid": (0..self.grid.len()).map(|i| self.point_json(i)).collect::<Vec<_>>(),
            "summary": self.summary_json(Group::All),
            "summary_small_buffers": self.summary_json(Group::Small),
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

    /// Of the paper's two schemes and the other standards, the means; what is not there is null.
    fn point_json(&self, i: usize) -> Value {
        let point = &self.grid[i];
        let figures = |scheme: usize| {
            let mut object = Map::new();
            for figure in &Figure::ALL {
                object.insert(figure.key.into(), number(self.estimate(figure, scheme, i).mean));
            }
            Value::Object(object)
        };
        let mut object = Map::new();
        object.insert("buffer_kb".into(), point.buffer_kb.into());
        object.insert("loss".into(), point.loss.name().into());
        object.insert("average_loss".into(), number(point.average));
        for scheme in self.standards() {
            object.insert(self.schemes[scheme].key.replace('-', "_"), figures(scheme));
        }
        object.insert("mptcp_rec".into(), self.proposed().map_or(Value::Null, figures));
        let changes = self.proposed().map(|proposed| {
            let mut changes = Map::new();
            for figure in &Figure::ALL {
                changes.insert(figure.key.into(), estimate(self.change(figure, proposed, 0, i)));
            }
            Value::Object(changes)
        });
        object.insert("change_percent".into(), changes.unwrap_or(Value::Null));
        Value::Object(object)
    }

    /// Over the grid, as shares: medians, and at how many points the paper's figure is reached.
    fn summary_json(&self, group: Group) -> Value {
        let Some(proposed) = self.proposed() else { return Value::Null };
        let of = |figure: &Figure| self.over_grid(figure, proposed, 0, group);
        let (goodput, delay) = (of(&Figure::GOODPUT), of(&Figure::DELAY));
        let (jitter, peak) = (of(&Figure::JITTER), of(&Figure::PEAK));
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

    /// A scheme at the points at which all run.
    fn scheme_json(&self, scheme: usize) -> Value {
        let mut object = Map::new();
        object.insert("scheme".into(), self.schemes[scheme].key.as_str().into());
        object.insert("role".into(), role(self.schemes[scheme].role).into());
        for figure in &Figure::ALL {
            object.insert(figure.key.into(), estimate(self.over_common(figure.of, scheme)));
        }
        for (end, name) in ["sender", "receiver"].into_iter().enumerate() {
            let segments = self.over_common(|run| run.work[end].segments, scheme).mean;
            let options = self.over_common(|run| run.work[end].options, scheme).mean;
            let work = json!({ "segments_per_mb": number(segments), "options_per_mb": number(options) });
            object.insert(name.into(), work);
        }
        Value::Object(object)
    }
}
