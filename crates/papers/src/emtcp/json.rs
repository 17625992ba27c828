//! `result.json` of the reproduction; docs/reference/output.md describes it.

use super::calibration::{BASE_SHARE, Calibration};
use super::claims::Claim;
use super::grid::Combination;
use super::paper::Case;
use super::plan::EMTCP_TABLE_ONE;
use super::reproduce::{ActuatorResult, CaseResult, Reproduction, SweepPoint};
use super::sensitivity::Sensitivity;
use report::Estimate;
use serde_json::{Map, Value, json};

fn estimate(estimate: Estimate) -> Value {
    json!({ "mean": number(estimate.mean), "ci95": number(estimate.ci95) })
}

/// A JSON number; null if it is not finite.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn role(case: Case) -> &'static str {
    if case.is_calibrated() { "calibrated" } else { "predicted" }
}

/// A case; `id` is its name among all cases.
fn case(id: &str, result: &CaseResult) -> Value {
    let printed = result.case.printed();
    let paper = json!({
        "throughput_mbps": printed.throughput_mbps,
        "energy_rate_w": printed.energy_rate_w,
        "psnr_db": printed.psnr_db,
        "psnr_sd_db": printed.psnr_sd_db,
        "lifespan_s": printed.lifespan_s,
        "quality": qoe::Level::of(printed.psnr_db).name(),
    });
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("id", id.into());
    put("role", role(result.case).into());
    put("transport", if result.case.is_multipath() { result.stream.id() } else { "tcp" }.into());
    put("throughput_mbps", estimate(result.throughput_mbps));
    put("energy_rate_w", estimate(result.energy_rate_w));
    put("psnr_db", estimate(result.psnr_db));
    put("psnr_sd_db", estimate(result.psnr_sd_db));
    put("lifespan_s", estimate(result.lifespan_s));
    put("wifi_mbps", estimate(result.wifi_mbps));
    put("lte_mbps", estimate(result.lte_mbps));
    put("quality", result.quality.name().into());
    put("paper", paper);
    put("measured_profiles_energy_rate_w", estimate(result.measured_rate_w));
    Value::Object(object)
}

fn sweep_point(point: &SweepPoint) -> Value {
    let (throughput, energy) = (point.result.throughput_mbps.mean, point.result.energy_rate_w.mean);
    json!({
        "share": point.share,
        "throughput_mbps": number(throughput),
        "energy_rate_w": number(energy),
        "efficiency_mbit_per_j": number(throughput / energy),
    })
}

fn actuator(row: &ActuatorResult) -> Value {
    json!({
        "server": row.server,
        "policy": row.policy,
        "throughput_mbps": estimate(row.result.throughput_mbps),
        "energy_rate_w": estimate(row.result.energy_rate_w),
        "wifi_mbps": estimate(row.result.wifi_mbps),
        "lte_mbps": estimate(row.result.lte_mbps),
        "changes": number(row.result.policy_changes),
    })
}

fn sensitivity(row: &Sensitivity) -> Value {
    json!({
        "group": row.group,
        "choice": row.choice,
        "chosen": row.chosen,
        "mptcp": { "throughput_mbps": number(row.mptcp.0), "energy_rate_w": number(row.mptcp.1) },
        "emtcp": { "throughput_mbps": number(row.emtcp.0), "energy_rate_w": number(row.emtcp.1) },
        "best_share": row.best_share,
    })
}

fn calibration(calibration: &Calibration) -> Value {
    json!({
        "other_sink_rate_mbps": calibration.other_sink_rate.as_mbps(),
        "lte_loss": calibration.lte_loss.get(),
        "psnr_interval_s": calibration.psnr_interval_s,
        "psnr_clamp_db": calibration.psnr_clamp_db,
        "wifi_base_w": calibration.wifi.0.as_watts(),
        "wifi_w_per_mbps": calibration.wifi.1.as_watts(),
        "lte_base_w": calibration.lte.0.as_watts(),
        "lte_w_per_mbps": calibration.lte.1.as_watts(),
        "base_share_assumed": BASE_SHARE,
    })
}

fn prediction(case: &str, claim: &Claim) -> Value {
    json!({
        "case": case,
        "prediction": claim.prediction,
        "holds": claim.holds,
        "found": claim.measured,
        "wanted": claim.target,
    })
}

fn combination(combination: &Combination) -> Value {
    let figures = &combination.figures;
    let failed = combination.claims.iter().filter(|claim| claim.holds == Some(false));
    json!({
        "transport": combination.stream.id(),
        "division": combination.stream.actuator().name(),
        "congestion": combination.congestion.name(),
        "base_share": combination.base_share,
        "throughput_mbps": figures.throughput_mbps.map(number),
        "energy_rate_w": figures.energy_rate_w.map(number),
        "psnr_db": figures.psnr_db.map(number),
        "saving_percent": number(figures.saving_percent()),
        "throughput_change_percent": estimate(figures.throughput_change),
        "best_share": number(figures.best_share),
        "fall_percent": estimate(figures.fall),
        "held": combination.held(),
        "not_held": failed.map(|claim| claim.prediction.as_str()).collect::<Vec<_>>(),
    })
}

impl Reproduction {
    fn predictions(&self) -> Vec<Value> {
        let of = |case: &str, claims: Vec<Claim>| {
            claims.iter().map(|claim| prediction(case, claim)).collect::<Vec<_>>()
        };
        let mut all = of(Case::Emtcp.id(), self.figures_of_two_streams().claims());
        all.extend(of(EMTCP_TABLE_ONE, self.figures_of_table_one().claims()));
        all
    }

    /// The whole reproduction as one JSON object.
    pub fn to_json(&self) -> Value {
        let mut cases: Vec<Value> = self.cases.iter().map(|result| case(result.case.id(), result)).collect();
        cases.extend(self.others.iter().map(|(id, result)| case(id, result)));
        json!({
            "paper": "emtcp",
            "seeds": self.seeds,
            "cases": cases,
            "sweep": self.sweep.iter().map(sweep_point).collect::<Vec<_>>(),
            "best_share": self.best_share(),
            "sweep_seeds": self.sweep_seeds,
            "calibration": calibration(&self.calibration),
            "predictions": self.predictions(),
            "combinations": self.combinations.iter().map(combination).collect::<Vec<_>>(),
            "actuators": self.actuators.iter().map(actuator).collect::<Vec<_>>(),
            "sensitivity": self.sensitivity.iter().map(sensitivity).collect::<Vec<_>>(),
        })
    }
}
