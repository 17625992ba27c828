//! A small, deterministic version of the LTE-Wi-Fi reproduction.

use report::TextStyle;
use std::num::NonZeroUsize;
use tandem_papers::lwi::calibration::Calibration;
use tandem_papers::lwi::paper::{Access, Clip, mos_ratio_wifi_to_lte};
use tandem_papers::lwi::{Metric, Options, Reproduction, reproduce};

fn run(seeds: u64, jobs: usize) -> Reproduction {
    let jobs = NonZeroUsize::new(jobs).expect("at least one");
    let calibration = Calibration::shipped();
    let policies = Vec::new();
    reproduce(&Options { seeds, jobs, calibration, policies, variants: seeds <= 2 }, &|_, _| {})
}

#[test]
fn tables_of_two_seeds_do_not_depend_on_the_number_of_jobs() {
    let (one, two) = (run(2, 1), run(2, 2));
    let tables: Vec<String> = one.tables().iter().map(|table| table.to_text(TextStyle::PLAIN)).collect();
    insta::assert_snapshot!("tables", tables.join("\n"));
    assert_eq!(one.to_json().to_string(), two.to_json().to_string());
    assert_eq!(one.page().to_html(), two.page().to_html());
    assert_eq!(one.runs_table().to_csv(), two.runs_table().to_csv());
}

#[test]
fn both_links_improve_every_metric_as_in_the_paper() {
    let result = run(30, 2);
    let row = |access| result.row(access).expect("the paper prints it");
    let of = |metric: &Metric, access, clip| result.estimate(metric, row(access), clip).mean;
    let mos = |access| of(&Metric::MOS, access, Clip::FourK);
    assert!(mos(Access::Lte) < mos(Access::Wifi) && mos(Access::Wifi) < mos(Access::Both));
    for clip in Clip::ALL {
        let both = row(Access::Both);
        for alone in [Access::Wifi, Access::Lte] {
            assert!(of(&Metric::STALLS, Access::Both, clip) < of(&Metric::STALLS, alone, clip));
            assert!(result.mean_stall(both, clip).mean < result.mean_stall(row(alone), clip).mean);
            assert!(of(&Metric::LOAD_TIME, Access::Both, clip) < of(&Metric::LOAD_TIME, alone, clip));
        }
        assert!(of(&Metric::OVER_WIFI, Access::Both, clip) > 50.0);
    }
    assert!((mos_ratio_wifi_to_lte() - 1.344 / 1.204).abs() < 1e-12);
}

#[test]
fn json_has_the_documented_keys() {
    let json = run(1, 1).to_json();
    assert_eq!(json["paper"], "lwi");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(10));
    let row = &json["rows"][0];
    assert_eq!((&row["way"], &row["video"], &row["role"]), (&"wifi".into(), &"4K".into(), &"fitted".into()));
    assert!(row["stalls"]["mean"].is_number() && row["stalls"]["ci95"].is_null());
    assert_eq!(row["paper"]["stalls"], 5.32);
    assert_eq!(json["rows"][4]["role"], "coupling fitted");
    assert_eq!(json["rows"][6]["role"], "predicted");
    assert_eq!(json["mos_4k"]["over_lte"]["paper_percent"], 34.4);
}

#[test]
fn policies_are_compared_with_no_policy() {
    let options = Options {
        seeds: 2,
        jobs: NonZeroUsize::new(2).expect("at least one"),
        calibration: Calibration::shipped(),
        variants: false,
        policies: ["none", "qoe", "wifi-first"].map(|name| name.parse().expect("a policy")).to_vec(),
    };
    let result = reproduce(&options, &|_, _| {});
    let table = result.tables().pop().expect("there are tables");
    insta::assert_snapshot!("policies", table.to_text(TextStyle::PLAIN));
    let json = result.to_json();
    let rows = json["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 14, "policy none adds no setup");
    let row = |setup: &str| {
        rows.iter().find(|row| row["way"] == setup && row["video"] == "2K").expect("the setup was run")
    };
    let (none, first) = (row("both-min-rtt"), row("both-min-rtt-wifi-first"));
    assert_eq!((&none["policy"], &first["policy"]), (&"none".into(), &"wifi-first".into()));
    assert!(none["paper"].is_object() && first["paper"].is_null(), "the paper has no policies");
    assert!(none["lte_j"]["mean"].as_f64() > first["lte_j"]["mean"].as_f64());
    assert!(result.page().to_html().contains("With policies"));
    assert!(!run(1, 1).page().to_html().contains("With policies"));
}
