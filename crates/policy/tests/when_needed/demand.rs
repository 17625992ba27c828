//! The demand that the policy learns, and alarms without a shortage.

use crate::model::{MBPS, Model};
use units::Duration;

/// After a timeout no segment may be timed (Karn's algorithm), and the last value stays.
#[test]
fn round_trip_time_that_is_not_measured_again_shows_no_queue() {
    let mut model = Model::new("when-needed");
    model.state.paths[0].srtt = Some(Duration::from_millis(20));
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].srtt = Some(Duration::from_millis(3182));
    model.run(30.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, []);
}

/// After the shortage the data in Wi-Fi's queue arrives faster than the demand, although LTE
/// carried it too.
#[test]
fn draining_backlog_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(2.0, 5.0, 0.5, 40.0);
    while !model.state.paths[1].backup {
        model.run(0.1, 5.0, 40.0, 40.0);
    }
    for _ in 0..6 {
        model.state.paths[0].bytes_down += (16.0 * MBPS) as u64;
        model.run(0.1, 5.0, 40.0, 40.0);
    }
    let switches = model.switches.len();
    model.run(20.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches.len(), switches, "{:?}", model.switches);
}

#[test]
fn duplicate_data_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.6, 5.0, 0.0, 14.0);
    assert_eq!(model.resets.len(), 1);
    // Because of the reset, two megabytes arrive a second time.
    model.backlog += 2e6;
    model.run(1.9, 5.0, 0.0, 14.0);
    let alarms = model.switches.len();
    model.run(20.0, 5.0, 7.0, 40.0);
    assert_eq!(model.switches[alarms..].iter().filter(|(_, on)| *on).count(), 0, "{:?}", model.switches);
}

/// The queue of a recovered path drains slowly, with data that others have carried before.
#[test]
fn late_stuck_data_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(4.0, 5.0, 0.0, 40.0);
    assert_eq!(model.resets.len(), 1);
    for _ in 0..15 {
        model.state.paths[0].bytes_down += (6.0 * MBPS) as u64;
        model.run(0.1, 5.0, 0.0, 40.0);
    }
    let before = model.switches.len();
    model.run(20.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches[before..].iter().filter(|(_, on)| *on).count(), 0, "{:?}", model.switches);
}

/// Wi-Fi lacks less than the slack, and later carries what it lacked.
#[test]
fn backlog_within_the_slack_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(6.0, 5.0, 4.8, 40.0);
    model.run(2.0, 5.0, 7.0, 40.0);
    assert_eq!(model.backlog, 0.0, "carried in 0.6 s");
    model.run(20.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, []);
}

/// A queue of known demand raises the round-trip time too; the virtual queue knows its length.
#[test]
fn standing_queue_of_known_demand_is_no_second_alarm() {
    let mut model = Model::new("when-needed");
    model.state.paths[0].srtt = Some(Duration::from_millis(20));
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.6, 5.0, 4.0, 40.0);
    assert!(model.backlog > 0.0);
    for milliseconds in 150..190 {
        model.state.paths[0].srtt = Some(Duration::from_millis(milliseconds));
        model.run(0.05, 5.0, 5.0, 40.0);
    }
    assert_eq!(model.switches, []);
}

/// While LTE is regular, a higher demand shows in the total rate.
#[test]
fn demand_that_rises_during_a_shortage_is_learned() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(5.0, 5.0, 3.0, 40.0);
    model.run(30.0, 10.0, 3.0, 40.0);
    assert!(model.max_lateness < 1.0, "{} s late", model.max_lateness);
}

#[test]
fn pausing_application_raises_few_alarms() {
    let mut model = Model::new("when-needed");
    for _ in 0..20 {
        model.run(2.0, 5.0, 40.0, 40.0);
        model.run(1.0, 0.0, 40.0, 40.0);
    }
    let alarms: Vec<f64> = model.switches.iter().filter(|(_, on)| *on).map(|(at, _)| *at).collect();
    assert!(alarms.len() < 20, "some pauses are shorter than the deadline: {alarms:?}");
    let carried = model.state.paths[0].bytes_down as f64;
    assert!(model.lte < 0.02 * carried, "{} of {carried}", model.lte);
}

#[test]
fn lower_demand_is_learned_after_one_alarm() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(60.0, 2.0, 40.0, 40.0);
    assert_eq!(model.switches.len(), 2, "{:?}", model.switches);
}

#[test]
fn standing_queue_shows_a_demand_that_was_never_met() {
    let mut model = Model::new("when-needed");
    let seen = |model: &mut Model, milliseconds| {
        model.state.paths[0].srtt = Some(Duration::from_millis(milliseconds));
    };
    seen(&mut model, 20);
    model.run(1.0, 5.0, 3.0, 40.0);
    for milliseconds in 150..158 {
        seen(&mut model, milliseconds);
        model.run(0.05, 5.0, 3.0, 40.0);
    }
    assert_eq!(model.switches, [(1.2, true)]);
    // Without round-trip times the policy cannot see it.
    let mut without = Model::new("when-needed");
    without.run(30.0, 5.0, 3.0, 40.0);
    assert_eq!(without.switches, []);
}

#[test]
fn demand_is_limited_to_enough() {
    // A download takes any rate: 40 Mbit/s, then 20.
    let mut model = Model::new("when-needed");
    model.run(5.0, 1000.0, 40.0, 40.0);
    model.run(5.0, 1000.0, 20.0, 40.0);
    assert!(!model.switches.is_empty());
    let mut model = Model::new("when-needed:enough=10Mbps");
    model.run(5.0, 1000.0, 40.0, 40.0);
    model.run(5.0, 1000.0, 20.0, 40.0);
    assert_eq!(model.switches, []);
    model.run(1.0, 1000.0, 5.0, 40.0);
    assert_eq!(model.switches.len(), 2, "the backlog is paid at once: {:?}", model.switches);
}

/// The stream needs a little less than before, and trials begin as LTE carries the backlog.
#[test]
fn trial_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.2, 4.9, 0.2, 0.0);
    model.run(3.7, 4.9, 0.2, 40.0);
    let lte = model.lte;
    model.run(10.0, 4.9, 40.0, 40.0);
    assert_eq!(model.lte, lte, "{:?}", model.switches);
}
