//! `result.json` of the reproduction; docs/reference/output.md describes it.

use super::paper::{
    Access, Clip, LOAD_TIME_REDUCTION_IN_CONCLUSION, load_time_reduction, mos_gain_4k, stalls,
};
use super::reproduce::{Metric, Reproduction};
use report::Estimate;
use serde_json::{Map, Value, json};

/// A JSON number; null if it is not finite.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn estimate(estimate: Estimate) -> Value {
    json!({ "mean": number(estimate.mean), "ci95": number(estimate.ci95) })
}

impl Reproduction {
    /// The whole reproduction as one JSON object.
    pub fn to_json(&self) -> Value {
        let rows: Vec<Value> = (0..self.setups.len())
            .flat_map(|setup| Clip::ALL.map(|clip| self.row_json(setup, clip)))
            .collect();
        let change = |metric: &Metric, paper: fn(Access) -> f64| {
            let over = |access| {
                let ours = self.change_percent(metric, access, Clip::FourK);
                json!({ "percent": estimate(ours), "paper_percent": number(100.0 * paper(access)) })
            };
            json!({ "over_wifi": over(Access::Wifi), "over_lte": over(Access::Lte) })
        };
        let links = [Access::Wifi, Access::Lte].map(|access| {
            let process = self.calibration.process(access);
            let (mean, variation) = self.rate(access);
            json!({
                "link": access.name(),
                "role": "fitted",
                "good_mbps": process.good_mbps,
                "bad_mbps": process.bad_mbps,
                "good_s": process.good_s,
                "bad_s": process.bad_s,
                "spread": process.spread,
                "mean_mbps": number(mean),
                "variation": number(variation),
            })
        });
        json!({
            "paper": "lwi",
            "seeds": self.seeds,
            "rows": rows,
            "mos_4k": change(&Metric::MOS, mos_gain_4k),
            "initial_load_4k": change(&Metric::LOAD_TIME, |over| -load_time_reduction(over)),
            "paper_load_time_reduction_in_conclusion": LOAD_TIME_REDUCTION_IN_CONCLUSION,
            "both_links": self.claims_json(),
            "whole_video": self.variants.whole_video.as_ref().map(|whole| {
                let rows = (0..whole.setups.len()).flat_map(|setup| Clip::ALL.map(|clip| whole.row_json(setup, clip)));
                rows.collect::<Vec<_>>()
            }),
            "links": links,
            "coupling": self.calibration.coupling,
            "at_bounds": self.calibration.at_bounds(),
            "player": {
                "role": "fitted",
                "buffer_s": self.calibration.buffer.as_secs_f64(),
                "startup_s": self.calibration.startup.as_secs_f64(),
                "resume_s": self.calibration.resume.as_secs_f64(),
            },
        })
    }

    fn row_json(&self, i: usize, clip: Clip) -> Value {
        let setup = &self.setups[i];
        let mut object = Map::new();
        object.insert("way".into(), setup.key().into());
        object.insert("video".into(), clip.name().into());
        object.insert("role".into(), setup.role().into());
        object.insert("policy".into(), setup.policy.to_string().into());
        for metric in [
            Metric::STALLS,
            Metric::MOS,
            Metric::LOAD_TIME,
            Metric::FETCH_TIME,
            Metric::OVER_WIFI,
            Metric::OVER_LTE,
            Metric::LTE_ENERGY,
            Metric::ENERGY,
        ] {
            object.insert(metric.key.into(), estimate(self.estimate(&metric, i, clip)));
        }
        object.insert("mean_stall_s".into(), estimate(self.mean_stall(i, clip)));
        let levels = [1, 2, 3].map(|level| number(self.at_level_percent(i, clip, level)));
        object.insert("runs_at_level_percent".into(), json!(levels));
        let printed = setup.printed().map(|access| stalls(access, clip));
        let printed = printed.map(|(count, mean)| json!({ "stalls": count, "mean_stall_s": mean }));
        object.insert("paper".into(), printed.unwrap_or(Value::Null));
        Value::Object(object)
    }
}
