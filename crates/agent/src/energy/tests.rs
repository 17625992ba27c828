use super::*;

fn radio(name: &str) -> Radio {
    Radio::new(Arc::new(Profile::named(name).unwrap()))
}

/// Balance after `seconds` in which the device carries `total` bytes per 50 ms over two interfaces.
/// This one is a backup for the first `closed` of every `period` samples.
fn switched(name: &str, seconds: u64, total: u64, closed: u64, period: u64) -> Balance {
    let mut radio = radio(name);
    for look in 1..=seconds * 20 {
        let backup = look % period < closed;
        let down = if backup { 0 } else { total / 2 };
        let carried = Carried { bytes: [down, 0], total: [total, 0], paths: 2, backup };
        radio.update(Instant::from_millis(look * 50), &carried, [0.0; 2]);
    }
    radio.balance()
}

#[test]
fn idle_backup_saves_more_than_one_kept_in_tail() {
    // LTE as a permanent backup draws one tail and saves about 1.3 W.
    let resting = switched("huang2012.lte", 60, 100_000, 1_200, 1_200);
    let tailing = switched("huang2012.lte", 60, 100_000, 10, 20);
    assert!(resting.saved_j > 60.0, "{resting:?}");
    assert!(tailing.switches >= 50 && tailing.tail_j > 20.0, "{tailing:?}");
    assert!(tailing.saved_j < resting.saved_j / 2.0, "{resting:?} {tailing:?}");
}

#[test]
fn cost_on_other_interface_is_counted() {
    let mut cheap = radio("huang2012.lte");
    let mut dear = radio("huang2012.lte");
    for look in 1..=1_000 {
        let carried = Carried { total: [100_000, 0], paths: 2, backup: look % 20 < 10, ..Carried::default() };
        cheap.update(Instant::from_millis(look * 50), &carried, [0.0; 2]);
        dear.update(Instant::from_millis(look * 50), &carried, [1.0; 2]);
    }
    // Half of 0.4 Mbit in every other sample, at 1 J/Mbit.
    let difference = cheap.balance().saved_j - dear.balance().saved_j;
    assert!((difference - 200.0).abs() < 1.0, "{difference}");
}

#[test]
fn uploads_have_the_price_of_uploads() {
    let saved = |total| {
        let mut radio = radio("huang2012.lte");
        let carried = Carried { total, paths: 2, backup: true, ..Carried::default() };
        radio.update(Instant::from_millis(50), &carried, [0.0; 2]);
        radio.balance().saved_j
    };
    // Half of 8 Mbit at 0.438 W per Mbit/s sending, 0.052 receiving (Huang et al. 2012).
    let more = saved([0, 1_000_000]) - saved([1_000_000, 0]);
    assert!((more - 4.0 * (0.438_39 - 0.051_97)).abs() < 1e-9, "{more}");
}

#[test]
fn no_traffic_saves_nothing_and_balance_expires() {
    let mut radio = radio("huang2012.lte");
    let one = Carried { bytes: [1_000, 0], total: [1_000, 0], paths: 2, ..Carried::default() };
    radio.update(Instant::from_secs(1), &one, [0.0; 2]);
    assert!(radio.is_awake());
    for second in 2..20 {
        radio.update(
            Instant::from_secs(second),
            &Carried { backup: true, paths: 2, ..Carried::default() },
            [0.0; 2],
        );
    }
    let balance = radio.balance();
    assert_eq!(balance.switches, 1);
    assert!(balance.saved_j < 0.0 && balance.tail_j > 10.0, "{balance:?}");
    assert!(!radio.is_awake());
    for second in 20..100 {
        radio.update(
            Instant::from_secs(second),
            &Carried { backup: true, paths: 2, ..Carried::default() },
            [0.0; 2],
        );
    }
    assert_eq!(radio.balance(), Balance::default());
    assert_eq!(radio.per_mbit(Bitrate::ZERO, Bitrate::ZERO), None);
    assert!(radio.per_mbit(Bitrate::ZERO, Bitrate::from_mbps(1.0)).unwrap() > radio.marginal()[0]);
}
