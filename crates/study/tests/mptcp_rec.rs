//! The MPTCP-rec paper, reproduced: a small version of it, always the same.

use mptcp::{Config, CongestionKind, SchedulerKind};
use report::TextStyle;
use std::num::NonZeroUsize;
use tandem_study::mptcp_rec::model::{GridPoint, LossKind};
use tandem_study::mptcp_rec::schemes::{self, Role, Scheme};
use tandem_study::mptcp_rec::{Figure, Group, Options, Reproduction, reproduce};
use units::Duration;

/// Two buffers, two kinds of loss, 12 s, three seeds.
fn run(schemes: Vec<Scheme>, jobs: usize) -> Reproduction {
    let point = |buffer_kb, loss| GridPoint { buffer_kb, loss, average: 0.02 };
    let options = Options {
        seeds: 3,
        duration: Duration::from_secs(12),
        jobs: NonZeroUsize::new(jobs).expect("at least one"),
        grid: vec![
            point(64, LossKind::Uniform),
            point(64, LossKind::Both),
            point(512, LossKind::Uniform),
            point(512, LossKind::Both),
        ],
        schemes,
    };
    reproduce(&options, &|_, _| {})
}

/// A scheduler of today in the place of the paper's scheme, under its own name.
fn with_a_stand_in() -> Vec<Scheme> {
    let config =
        Config { scheduler: SchedulerKind::Blest, congestion: CongestionKind::Olia, ..Config::default() };
    let stand_in = Scheme::new("stand-in", "blest, olia as stand-in", Role::Proposed, config);
    let mut schemes = schemes::standard();
    schemes.push(stand_in);
    schemes.push(Scheme::of(SchedulerKind::Linux, CongestionKind::Lia, Role::SenderSide));
    schemes
}

fn text(result: &Reproduction) -> String {
    let tables: Vec<String> = result.tables().iter().map(|table| table.to_text(TextStyle::PLAIN)).collect();
    tables.join("\n")
}

#[test]
fn the_tables_of_a_small_grid() {
    let result = run(with_a_stand_in(), 2);
    insta::assert_snapshot!("tables", text(&result));
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&result.to_json()).expect("it is JSON"));
}

#[test]
fn nothing_depends_on_the_jobs() {
    let (one, three) = (run(with_a_stand_in(), 1), run(with_a_stand_in(), 3));
    assert_eq!(one.to_json().to_string(), three.to_json().to_string());
    assert_eq!(one.page().to_html(), three.page().to_html());
    assert_eq!(one.runs_table().to_csv(), three.runs_table().to_csv());
}

#[test]
fn the_object_has_the_promised_keys() {
    let json = run(with_a_stand_in(), 2).to_json();
    assert_eq!(json["paper"], "mptcp-rec");
    let point = &json["grid"][0];
    assert_eq!((&point["buffer_kb"], &point["loss"]), (&64.into(), &"uniform".into()));
    for scheme in ["mptcp", "mptcp_rec"] {
        for figure in ["goodput_mbps", "delay_ms", "jitter_ms", "peak_out_of_order"] {
            assert!(point[scheme][figure].as_f64().is_some_and(|value| value > 0.0), "{scheme}: {figure}");
        }
    }
    for figure in ["throughput_gain", "delay_reduction", "peak_out_of_order_ratio"] {
        assert!(json["summary"][figure].is_f64(), "{figure}");
    }
    assert_eq!(json["paper_figures"]["throughput_gain"], 0.4093);
    assert_eq!(json["paper_figures"]["peak_out_of_order"]["mptcp_rec"], 1.8e5);
}

#[test]
fn without_the_paper_s_scheme_there_are_the_others_and_no_claim() {
    let schemes = [schemes::standard(), schemes::sender_side()].concat();
    let result = run(schemes, 2);
    assert_eq!(result.proposed(), None);
    assert!(result.headline().is_none());
    let json = result.to_json();
    assert!(json["summary"].is_null() && json["grid"][0]["mptcp_rec"].is_null());
    let page = result.page().to_html();
    assert!(page.contains("round-robin") && !page.contains("blest, olia changes"));
}

/// What all of this is about: a small buffer is blocked by the slow path, and a large one is not.
#[test]
fn a_small_buffer_costs_goodput_and_a_scheduler_that_avoids_blocking_costs_less() {
    let result = run(with_a_stand_in(), 2);
    let goodput = |scheme: usize, point: usize| result.estimate(&Figure::GOODPUT, scheme, point).mean;
    for loss in [0, 1] {
        assert!(goodput(0, loss) < goodput(0, loss + 2), "min-rtt, point {loss}");
    }
    let small = result.over_grid(&Figure::GOODPUT, 2, 0, Group::Small);
    let all = result.over_grid(&Figure::GOODPUT, 2, 0, Group::All);
    assert!(small.median.mean > all.median.mean && all.median.mean > 0.0, "{small:?}, {all:?}");
}
