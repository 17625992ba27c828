//! A map of few points.

use super::*;

fn measured(jobs: usize) -> BestPolicies {
    let chosen = |points: Vec<Point>| -> Vec<Point> {
        let is_chosen = |point: &Point| {
            point.pair.name == "Bluetooth + LTE" && matches!(point.traffic, Traffic::Stream | Traffic::Video)
        };
        points.into_iter().filter(is_chosen).collect()
    };
    let options = Options {
        points: chosen(points::of_map()),
        held_out: chosen(points::held_out()),
        seeds: 2,
        jobs: NonZeroUsize::new(jobs).unwrap(),
    };
    measure(&options, &|_, _| {})
}

#[test]
fn best_policy_saves_energy_and_loses_nothing() {
    let map = measured(2);
    assert_eq!((map.points.len(), map.held_out.len(), map.map.cases.len()), (6, 8, 6));
    for point in &map.points {
        let (best, plain) = (point.best(), point.reference());
        assert!(plain.policy.is_none() && best.energy().mean <= plain.energy().mean);
        assert!(best.loses_nothing(plain), "{}", best.policy);
    }
    assert!(map.points.iter().any(|point| point.saved() > 0.1), "no policy saves anything anywhere");
    let full = map.points.iter().find(|point| point.point.load > 1.0).unwrap();
    let wifi_first = full.of(&"wifi-first".parse().unwrap()).unwrap();
    assert!(!wifi_first.loses_nothing(full.reference()), "Bluetooth alone cannot carry it");
}

#[test]
fn seed_without_a_picture_is_a_loss() {
    let with_mos = |mos: &[f64]| Measured {
        policy: "none".parse().unwrap(),
        energy_j: vec![1.0; 2],
        goodput_mbps: vec![1.0; 2],
        mos: mos.to_vec(),
    };
    let reference = with_mos(&[3.0, 3.0]);
    assert!(with_mos(&[3.0, 3.0]).loses_nothing(&reference));
    assert!(!with_mos(&[3.0]).loses_nothing(&reference), "one seed without a picture");
    assert!(!with_mos(&[]).loses_nothing(&reference), "no picture");
    assert!(with_mos(&[3.0]).loses_nothing(&with_mos(&[])), "the reference has no picture");
}

#[test]
fn map_is_the_same_for_any_number_of_jobs_and_reads_back() {
    let (one, two) = (measured(1), measured(2));
    assert_eq!(one.to_json(), two.to_json());
    assert_eq!(Map::from_toml("map.toml", &one.map.to_toml()).map(|map| map.cases.len()), Ok(6));
    let judged = one.judgement();
    assert_eq!(judged.last().map(|last| last.policy.name().to_owned()).as_deref(), Some("best-known"));
    assert_eq!(judged[0].energy, 1.0, "plain Multipath TCP is the reference");
    let html = one.page().to_html();
    assert!(html.contains("Held-out points") && html.contains("class=\"heat wide\""));
    assert!(html.contains("sees of it with plain Multipath TCP"), "as the demand of a point is measured");
}

#[test]
fn every_point_is_a_valid_scenario_with_two_paths() {
    let points = [points::of_map(), points::held_out()].concat();
    assert_eq!(points.len(), 105 + 120);
    for point in points {
        let experiment = point.scenario().experiment;
        assert_eq!(experiment.paths.len(), 2);
        let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
        assert_eq!((kinds[0], kinds[1]), point.kinds());
    }
}
