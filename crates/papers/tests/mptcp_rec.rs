//! A small, deterministic version of the MPTCP-rec reproduction.

use mptcp::{CongestionKind, SchedulerKind};
use report::TextStyle;
use std::num::NonZeroUsize;
use tandem_papers::mptcp_rec::model::{GridPoint, LossKind};
use tandem_papers::mptcp_rec::schemes::{self, Role, Scheme};
use tandem_papers::mptcp_rec::{Background, Group, Metric, Options, Reproduction, reproduce};
use units::Duration;

/// Reproduction with two buffers, two kinds of loss, runs of 12 s and three seeds.
fn run(schemes: Vec<Scheme>, jobs: usize) -> Reproduction {
    let point =
        |buffer_kb, loss| GridPoint { buffer_kb, loss, average: 0.02, background: Background::Datagrams };
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

/// Standard MPTCP, the paper's scheme with its parts and Tandem's variant, and a scheduler of
/// today.
fn schemes_of_every_role() -> Vec<Scheme> {
    let today = Scheme::of(SchedulerKind::Blest, CongestionKind::Olia, Role::SenderSide);
    [schemes::standard(), schemes::proposed(), vec![today]].concat()
}

fn text(result: &Reproduction) -> String {
    let tables: Vec<String> = result.tables().iter().map(|table| table.to_text(TextStyle::PLAIN)).collect();
    tables.join("\n")
}

#[test]
fn tables_of_a_small_grid() {
    let result = run(schemes_of_every_role(), 2);
    insta::assert_snapshot!("tables", text(&result));
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&result.to_json()).expect("it is JSON"));
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let (one, three) = (run(schemes_of_every_role(), 1), run(schemes_of_every_role(), 3));
    assert_eq!(one.to_json().to_string(), three.to_json().to_string());
    assert_eq!(one.page().to_html(), three.page().to_html());
    assert_eq!(one.runs_table().to_csv(), three.runs_table().to_csv());
}

#[test]
fn json_has_the_documented_keys() {
    let json = run(schemes_of_every_role(), 2).to_json();
    assert_eq!(json["paper"], "mptcp-rec");
    let point = &json["grid"][0];
    assert_eq!((&point["buffer_kb"], &point["loss"]), (&64.into(), &"uniform".into()));
    for scheme in ["mptcp", "mptcp_rec"] {
        for metric in ["goodput_mbps", "delay_ms", "jitter_ms", "peak_out_of_order"] {
            assert!(point[scheme][metric].as_f64().is_some_and(|value| value > 0.0), "{scheme}: {metric}");
        }
    }
    for metric in ["throughput_gain", "delay_reduction", "peak_out_of_order_ratio"] {
        assert!(json["summary"][metric].is_f64(), "{metric}");
    }
    assert_eq!(json["paper_figures"]["throughput_gain"], 0.4093);
    assert_eq!(json["paper_figures"]["peak_out_of_order"]["mptcp_rec"], 1.8e5);
}

#[test]
fn report_without_the_papers_scheme_makes_no_claim() {
    let schemes = [schemes::standard(), schemes::sender_side()].concat();
    let result = run(schemes, 2);
    assert_eq!(result.proposed(), None);
    assert!(result.headline().is_empty() && result.ablation().is_none());
    let json = result.to_json();
    assert!(json["summary"].is_null() && json["grid"][0]["mptcp_rec"].is_null());
    let page = result.page().to_html();
    assert!(page.contains("round-robin") && !page.contains("changes throughput"));
}

/// The premise of the paper: the slow path blocks a small receive buffer but not a large one, so
/// that a scheme against blocking gains most with a small buffer.
#[test]
fn small_buffer_reduces_goodput_and_mptcp_rec_gains_most_there() {
    let result = run(schemes_of_every_role(), 2);
    let goodput = |scheme: usize, point: usize| result.estimate(&Metric::GOODPUT, scheme, point).mean;
    for loss in [0, 1] {
        assert!(goodput(0, loss) < goodput(0, loss + 2), "min-rtt, point {loss}");
    }
    let proposed = result.proposed().expect("the schemes include the proposed one");
    let small = result.grid_summary(&Metric::GOODPUT, proposed, 0, Group::Small);
    let all = result.grid_summary(&Metric::GOODPUT, proposed, 0, Group::All);
    assert!(small.median.mean > all.median.mean && small.median.mean > 0.0, "{small:?}, {all:?}");
}

#[test]
fn only_mptcp_rec_sends_experimental_options() {
    let result = run(schemes_of_every_role(), 2);
    let counted = |scheme: usize| result.common_mean(|run| run.work[0].experimental, scheme).mean;
    let last = result.schemes.len() - 1;
    assert_eq!((counted(0), counted(1), counted(last)), (0.0, 0.0, 0.0));
    assert!(counted(result.proposed().expect("the schemes include the proposed one")) > 0.0);
}
