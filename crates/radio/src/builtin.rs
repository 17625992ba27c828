//! The built-in profiles, one function for each source.
//!
//! All powers are the radio's alone if the source allows it. If a source measured the whole phone,
//! the profile's note gives the power subtracted. Tail times count from the last packet
//! ([`Profile::tail_time`]); tail stages begin after the inactivity time and are shorter by it.
//!
//! There is no WiMAX profile, because no published model was found. [`Profile::from_toml`] reads
//! profiles of users.

use crate::{Idle, InterfaceKind, Origin, Origins, Profile, Pulse, Stage};
use units::{Bitrate, Duration, Power};

/// Inactivity time of profiles from sources that give none: LTE's inactivity timer (Huang et al.
/// 2012). Such sources state the power *during a transfer*, but not the gap between packets that
/// ends one.
const DEFAULT_INACTIVITY: Duration = Duration::from_millis(100);

/// Power of a phone of the 5G measurements without its radio: the middle of 2200 to 2500 mW.
const PHONE_2021_MILLIWATTS: f64 = 2350.0;

/// Returns every built-in profile, in the order of lists.
pub fn profiles() -> Vec<Profile> {
    let mut all = huang2012();
    all.extend(aro());
    all.extend(narayanan2021());
    all.extend(balasubramanian2009());
    all.extend(aau());
    all.push(Profile::ns3_wifi(Bitrate::from_mbps(54.0)));
    all
}

impl Profile {
    /// Creates the radio of the eMTCP paper (Chen et al. 2013), which prints energies but no power
    /// model.
    ///
    /// An interface that carries a subflow draws `base` from its first packet to the end of the
    /// run, and `per_mbps_down` for each Mbit/s that it receives. Sending costs nothing; there is
    /// no promotion, no tail and no idle power. The caller fits both figures to the paper's
    /// single-path cases, so this profile is not among [`profiles`]. Its name is `chen2013.lte`,
    /// `chen2013.wifi` and so on.
    pub fn chen2013(kind: InterfaceKind, base: Power, per_mbps_down: Power) -> Self {
        Self {
            source: "Chen, Yuan, Muntean: An Energy-aware Multipath-TCP-based Content Delivery Scheme in \
                     Heterogeneous Wireless Networks (2013)"
                .into(),
            note:
                "The paper prints no power model: base and cost per Mbit are fitted to the energies of its \
                   single-path cases. The base is drawn from the first packet to the end; there is no \
                   promotion, no tail and no cost of sending. Its watts are far below anything measured."
                    .into(),
            down_per_mbps: per_mbps_down,
            active: base,
            inactivity: Duration::MAX,
            origins: Origins::all(Origin::Fit),
            ..Self::silent(&format!("chen2013.{kind}"), kind)
        }
    }

    /// Creates the Wi-Fi radio energy model of ns-3 with its default currents, at 3 V and a
    /// physical rate of `phy`.
    ///
    /// The model draws the transmit or receive current while a frame is on the air, which takes the
    /// frame's size over `phy` (without preambles and MAC exchanges). The excess over the idle
    /// current is thus a cost per bit. The interface never sleeps. At a `phy` of zero bits cost
    /// nothing.
    pub fn ns3_wifi(phy: Bitrate) -> Self {
        const VOLTS: f64 = 3.0;
        const IDLE: f64 = 0.273;
        const TRANSMIT: f64 = 0.380;
        const RECEIVE: f64 = 0.313;
        let excess = |amperes: f64| {
            let watts = VOLTS * (amperes - IDLE);
            derived(if phy == Bitrate::ZERO { 0.0 } else { watts / phy.as_mbps() })
        };
        let idle = derived(VOLTS * IDLE);
        Self {
            source: "ns-3, WifiRadioEnergyModel: default currents".into(),
            note: format!(
                "3 V; idle and CCA busy 0.273 A, transmit 0.380 A, receive 0.313 A. A frame is on the air for \
                 its size at {phy} (assumed). The sleep state (0.033 A) is not used: ns-3 does not enter it \
                 by itself."
            ),
            up_per_mbps: excess(TRANSMIT),
            down_per_mbps: excess(RECEIVE),
            active: idle,
            inactivity: DEFAULT_INACTIVITY,
            idle: Idle { power: idle, pulse: None },
            origins: Origins {
                rate: Origin::Assumed,
                active: Origin::Read,
                idle: Origin::Read,
                ..Origins::all(Origin::Assumed)
            },
            ..Self::silent("ns3.wifi", InterfaceKind::Wifi)
        }
    }
}

/// Tables 3 and 4 of the paper: an LTE phone of 2011, with the power of its screen subtracted.
fn huang2012() -> Vec<Profile> {
    let source = "Huang et al.: A Close Examination of Performance and Power Characteristics of 4G LTE Networks \
                  (MobiSys 2012)";
    let lte = Profile {
        source: source.into(),
        note: "The tail is 11.576 s from the last packet, at its base power: DRX pulses are in aro.lte. A later \
               tool by the same group has 1200 mW for the base power of a transfer."
            .into(),
        up_per_mbps: milliwatts(438.39),
        down_per_mbps: milliwatts(51.97),
        active: milliwatts(1288.04),
        promotion: Some(stage("promotion", 1210.7, micros(260_100))),
        inactivity: DEFAULT_INACTIVITY,
        tail: vec![stage("tail", 1060.0, micros(11_576_000) - DEFAULT_INACTIVITY)],
        idle: Idle { power: Power::ZERO, pulse: Some(pulse(594.0, 43_000, 1_280_000)) },
        origins: Origins { rate: Origin::Read, ..Origins::all(Origin::Known) },
        ..Profile::silent("huang2012.lte", InterfaceKind::Lte)
    };
    let three_g = Profile {
        source: source.into(),
        note:
            "DCH lasts 8.088 s from the last packet, then FACH. A packet in FACH makes the interface active \
               at once. No paging figure is at hand: idle draws nothing."
                .into(),
        up_per_mbps: milliwatts(868.98),
        down_per_mbps: milliwatts(122.12),
        active: milliwatts(817.88),
        promotion: Some(stage("promotion", 659.4, micros(582_060))),
        inactivity: DEFAULT_INACTIVITY,
        tail: vec![
            stage("DCH", 803.9, micros(8_088_000) - DEFAULT_INACTIVITY),
            stage("FACH", 601.3, micros(824_000)),
        ],
        origins: Origins {
            inactivity: Origin::Assumed,
            idle: Origin::Assumed,
            ..Origins::all(Origin::Known)
        },
        ..Profile::silent("huang2012.3g", InterfaceKind::ThreeG)
    };
    let wifi = Profile {
        source: source.into(),
        note: "Power save mode. The tail is 238.1 ms from the last packet.".into(),
        up_per_mbps: milliwatts(283.17),
        down_per_mbps: milliwatts(137.01),
        active: milliwatts(132.86),
        promotion: Some(stage("promotion", 124.4, micros(79_100))),
        inactivity: DEFAULT_INACTIVITY,
        tail: vec![stage("tail", 119.3, micros(238_100) - DEFAULT_INACTIVITY)],
        idle: Idle { power: Power::ZERO, pulse: Some(pulse(77.2, 7_600, 308_000)) },
        origins: Origins { inactivity: Origin::Assumed, ..Origins::all(Origin::Known) },
        ..Profile::silent("huang2012.wifi", InterfaceKind::Wifi)
    };
    vec![lte, three_g, wifi]
}

/// The device files of AT&T's Application Resource Optimizer (`lte.conf`, `i997.conf`,
/// `WiFi.conf`).
fn aro() -> Vec<Profile> {
    let source = "AT&T Application Resource Optimizer (VideoOptimizer), device file ";
    let read = Origins::all(Origin::Read);
    let lte = Profile {
        source: format!("{source}lte.conf"),
        note: "Timers run one after another: 0.1 s of inactivity, short DRX, long DRX. Pulses of 1.68 W for 2 ms \
               over a base of 1.06 W. The cost per Mbit is that of huang2012.lte."
            .into(),
        up_per_mbps: milliwatts(438.39),
        down_per_mbps: milliwatts(51.97),
        active: milliwatts(1200.0),
        promotion: Some(stage("promotion", 1210.0, micros(260_000))),
        inactivity: micros(100_000),
        tail: vec![
            Stage {
                pulse: Some(pulse(1680.0, 2_000, 20_000)),
                ..stage("short DRX", 1060.0, micros(20_000))
            },
            Stage {
                pulse: Some(pulse(1680.0, 2_000, 40_000)),
                ..stage("long DRX", 1060.0, micros(10_000_000))
            },
        ],
        idle: Idle { power: Power::ZERO, pulse: Some(pulse(594.0, 43_000, 1_280_000)) },
        origins: read,
        ..Profile::silent("aro.lte", InterfaceKind::Lte)
    };
    let three_g = Profile {
        source: format!("{source}i997.conf"),
        note: "DCH draws the same whatever the rate, and its timer of 4 s is the inactivity time; then FACH for \
               10 s. The promotion is the mean, 2 s. A packet in FACH makes the interface active at once: the \
               promotion from FACH (0.80 W, 1.5 s) is left out. Other 3G devices there: DCH 0.7 to 1.3 W, \
               FACH 0.30 to 0.35 W."
            .into(),
        active: milliwatts(1300.0),
        promotion: Some(stage("promotion", 650.0, micros(2_000_000))),
        inactivity: micros(4_000_000),
        tail: vec![stage("FACH", 300.0, micros(10_000_000))],
        origins: read,
        ..Profile::silent("aro.3g", InterfaceKind::ThreeG)
    };
    let wifi = Profile {
        source: format!("{source}WiFi.conf"),
        note: "Active and standby only, whatever the rate.".into(),
        active: milliwatts(403.0),
        inactivity: micros(250_000),
        idle: Idle { power: milliwatts(20.0), pulse: None },
        origins: read,
        ..Profile::silent("aro.wifi", InterfaceKind::Wifi)
    };
    let bluetooth = Profile {
        source: format!("{source}lte.conf"),
        note:
            "Active and standby only, whatever the rate; other devices there draw 0.25 to 0.76 W. The time \
               to standby is assumed to be that of aro.wifi."
                .into(),
        active: milliwatts(761.0),
        inactivity: micros(250_000),
        idle: Idle { power: milliwatts(20.0), pulse: None },
        origins: Origins { inactivity: Origin::Assumed, ..read },
        ..Profile::silent("aro.bluetooth", InterfaceKind::Bluetooth)
    };
    vec![lte, three_g, wifi, bluetooth]
}

/// Fits over the open measurements of the 5G power study.
fn narayanan2021() -> Vec<Profile> {
    struct Fit {
        name: &'static str,
        kind: InterfaceKind,
        down: (f64, f64),
        up: (f64, f64),
        tail: f64,
        note: &'static str,
    }
    let fits = [
        Fit {
            name: "narayanan2021.4g",
            kind: InterfaceKind::Lte,
            down: (15.0, 2719.0),
            up: (79.5, 2893.0),
            tail: 178.0,
            note: " One operator's 4G has a tail of 5.0 s instead.",
        },
        Fit {
            name: "narayanan2021.5g-low",
            kind: InterfaceKind::FiveG,
            down: (15.4, 2883.0),
            up: (32.2, 3197.0),
            tail: 249.0,
            note: " Non-standalone, low band. For standalone only the tail is known (593 mW, 15 s), so it has \
                   no profile.",
        },
        Fit {
            name: "narayanan2021.5g-mmwave",
            kind: InterfaceKind::FiveG,
            down: (1.76, 5221.0),
            up: (9.16, 5637.0),
            tail: 1092.0,
            note: " Non-standalone, millimetre wave.",
        },
    ];
    let profile = |fit: Fit| Profile {
        source: "Narayanan et al.: A Variegated Look at 5G in the Wild (SIGCOMM 2021): fit over its open \
                 measurements"
            .into(),
        note: format!(
            "The whole phone was measured: {PHONE_2021_MILLIWATTS} mW, the middle of the 2200 to 2500 mW that it \
             draws without its radio, are subtracted from the fit's {} mW. The base power is that of \
             receiving; the fit for sending has {} mW more. The tail is 10.2 s from the last packet. No \
             promotion and no paging are given.{}",
            fit.down.1,
            fit.up.1 - fit.down.1,
            fit.note
        ),
        up_per_mbps: milliwatts(fit.up.0),
        down_per_mbps: milliwatts(fit.down.0),
        active: milliwatts(fit.down.1 - PHONE_2021_MILLIWATTS),
        inactivity: DEFAULT_INACTIVITY,
        tail: vec![stage("tail", fit.tail, micros(10_200_000) - DEFAULT_INACTIVITY)],
        origins: Origins {
            rate: Origin::Fit,
            active: Origin::Fit,
            tail: Origin::Known,
            ..Origins::all(Origin::Assumed)
        },
        ..Profile::silent(fit.name, fit.kind)
    };
    fits.into_iter().map(profile).collect()
}

/// TailEnder: energy of a transfer of x kB, slope * x + ramp, and a tail.
fn balasubramanian2009() -> Vec<Profile> {
    let source = "Balasubramanian et al.: Energy Consumption in Mobile Phones (IMC 2009): TailEnder's model"
        .to_owned();
    let origins =
        Origins { inactivity: Origin::Assumed, idle: Origin::Assumed, ..Origins::all(Origin::Known) };
    // 1 kB is 8 kbit: 0.025 J/kB is 3.125 J/Mbit.
    let per_kilobyte = |joules: f64| derived(joules * 125.0);
    // The model gives the energy of the ramp but not its duration, `secs`, which is assumed.
    let ramp = |joules: f64, secs: u64| Stage {
        name: "ramp".into(),
        power: derived(joules / secs as f64),
        duration: Duration::from_secs(secs),
        pulse: None,
    };
    let note = |ramp: &str, rest: &str| {
        format!(
            "An energy per kB (1000 bytes), either way, that holds the power of the transfer itself, and an \
             energy for the ramp: {ramp} (the time is assumed). So the base power of a transfer is nothing. \
             {rest} The energy of maintenance is left out."
        )
    };
    let three_g = Profile {
        source: source.clone(),
        note: note("3.5 J in 2 s", "A transfer costs 7.75 J of tail, whole, after the inactivity time."),
        up_per_mbps: per_kilobyte(0.025),
        down_per_mbps: per_kilobyte(0.025),
        promotion: Some(ramp(3.5, 2)),
        inactivity: DEFAULT_INACTIVITY,
        tail: vec![stage("tail", 620.0, micros(12_500_000))],
        origins,
        ..Profile::silent("balasubramanian2009.3g", InterfaceKind::ThreeG)
    };
    let gsm = Profile {
        source: source.clone(),
        note: note("1.7 J in 1 s", "A transfer costs 1.5 J of tail, whole, after the inactivity time."),
        up_per_mbps: per_kilobyte(0.036),
        down_per_mbps: per_kilobyte(0.036),
        promotion: Some(ramp(1.7, 1)),
        inactivity: DEFAULT_INACTIVITY,
        tail: vec![stage("tail", 250.0, micros(6_000_000))],
        origins,
        ..Profile::silent("balasubramanian2009.gsm", InterfaceKind::ThreeG)
    };
    let wifi = Profile {
        source,
        note: note(
            "5.9 J in 5 s, for scanning and association",
            "It stays associated after the first transfer, so it pays that once.",
        ),
        up_per_mbps: per_kilobyte(0.007),
        down_per_mbps: per_kilobyte(0.007),
        promotion: Some(ramp(5.9, 5)),
        inactivity: DEFAULT_INACTIVITY,
        tail: vec![Stage { duration: Duration::MAX, ..stage("associated", 0.0, Duration::ZERO) }],
        origins: Origins { tail: Origin::Assumed, ..origins },
        ..Profile::silent("balasubramanian2009.wifi", InterfaceKind::Wifi)
    };
    vec![three_g, gsm, wifi]
}

/// Aalborg University: energy per bit, E = A + B (R - C) for a rate of R kbit/s, downloading 500
/// kB.
///
/// The resulting power, E R, bends down as R grows, because the source fits a straight line to a
/// quantity that is about 1/R. The profile is the straight line through that power at both ends of
/// the measured range of rates. This agrees with the source's own remark that the power increases
/// slightly with the rate.
fn aau() -> Vec<Profile> {
    struct Fit {
        name: &'static str,
        kind: InterfaceKind,
        energy_per_bit: [f64; 3],
        range_kbps: [f64; 2],
        idle: f64,
        note: &'static str,
    }
    let standby = " Standby is assumed to draw the 20 mW of the ARO device files.";
    let fits = [
        Fit {
            name: "aau.bluetooth",
            kind: InterfaceKind::Bluetooth,
            energy_per_bit: [5.72e-7, -4.89e-10, 685.0],
            range_kbps: [650.0, 850.0],
            idle: 20.0,
            note: standby,
        },
        Fit {
            name: "aau.wifi",
            kind: InterfaceKind::Wifi,
            energy_per_bit: [6.45e-7, -1.27e-10, 2130.0],
            range_kbps: [2000.0, 5000.0],
            idle: 20.0,
            note: standby,
        },
        Fit {
            name: "aau.hsdpa",
            kind: InterfaceKind::ThreeG,
            energy_per_bit: [1.13e-5, -7.21e-9, 101.0],
            range_kbps: [100.0, 1500.0],
            idle: 0.0,
            note: " Without promotion and tail, which this source does not give, it is a lower bound for \
                   anything but a steady download.",
        },
    ];
    let profile = |fit: Fit| {
        let [a, b, c] = fit.energy_per_bit;
        let [low, high] = fit.range_kbps;
        let watts = |kbps: f64| kbps * 1e3 * (a + b * (kbps - c));
        let per_mbps = (watts(high) - watts(low)) / ((high - low) / 1e3);
        Profile {
            source:
                "Aalborg University, Mobile Devices: energy measurements on mobile phones, data download \
                     for different technologies (Bluetooth 2.0+EDR, HSDPA, IEEE 802.11b/g)"
                    .into(),
            note: format!(
                "E/bit = {a:e} {b:+e} (R - {c}) J with R in kbit/s, read; the line is through the power at {low} \
                 and {high} kbit/s, the range that was measured. Sending is taken to cost what receiving \
                 does.{}",
                fit.note
            ),
            up_per_mbps: derived(per_mbps),
            down_per_mbps: derived(per_mbps),
            active: derived(watts(low) - per_mbps * low / 1e3),
            inactivity: DEFAULT_INACTIVITY,
            idle: Idle { power: milliwatts(fit.idle), pulse: None },
            origins: Origins { rate: Origin::Fit, active: Origin::Fit, ..Origins::all(Origin::Assumed) },
            ..Profile::silent(fit.name, fit.kind)
        }
    };
    fits.into_iter().map(profile).collect()
}

fn milliwatts(value: f64) -> Power {
    Power::from_milliwatts(value)
}

/// Rounds a computed power in watts to a nanowatt; further digits are noise.
fn derived(watts: f64) -> Power {
    milliwatts((watts * 1e9).round() / 1e6)
}

fn micros(value: u64) -> Duration {
    Duration::from_micros(value)
}

fn stage(name: &str, power: f64, duration: Duration) -> Stage {
    Stage { name: name.to_owned(), power: milliwatts(power), duration, pulse: None }
}

fn pulse(power: f64, width: u64, period: u64) -> Pulse {
    Pulse { power: milliwatts(power), width: micros(width), period: micros(period) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use std::collections::BTreeSet;

    fn named(name: &str) -> Profile {
        Profile::named(name).unwrap()
    }

    fn assert_close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 2e-9, "{actual} is not {expected}");
    }

    #[test]
    fn every_profile_is_sane_and_has_a_name_of_its_own() {
        let all = profiles();
        let names: BTreeSet<_> = all.iter().map(|p| p.name.clone()).collect();
        assert_eq!(names.len(), all.len());
        for profile in &all {
            assert_eq!(Profile::named(&profile.name).as_ref(), Some(profile));
            assert!(!profile.source.is_empty() && !profile.note.is_empty(), "{}", profile.name);
            assert_eq!(profile.problem(), None, "{}", profile.name);
            let megabit = profile.energy_per_mbit_in(Direction::Down, Bitrate::from_mbps(1.0));
            assert!(megabit > 0.01 && megabit < 10.0, "{}: {megabit} J/Mbit", profile.name);
            // A transfer never costs less than idling, and a tail never more than a transfer at 1
            // Mbit/s.
            let busy = profile.active_power(Bitrate::ZERO, Bitrate::from_mbps(1.0));
            assert!(profile.idle.power <= busy, "{}", profile.name);
            assert!(profile.tail.iter().all(|stage| stage.power <= busy), "{}", profile.name);
        }
        assert_eq!(Profile::named("huang2012.wimax"), None);
        assert_eq!(Profile::named("chen2013.lte"), None, "its digits are the caller's");
    }

    #[test]
    fn there_is_a_profile_for_each_radio() {
        let without = [InterfaceKind::Ethernet, InterfaceKind::Satellite, InterfaceKind::Other];
        let kinds: BTreeSet<_> = profiles().iter().map(|p| p.kind).collect();
        for kind in InterfaceKind::ALL {
            assert_eq!(kinds.contains(kind), !without.contains(kind), "{kind}");
        }
    }

    #[test]
    fn published_tail_times_count_from_the_last_packet() {
        assert_eq!(named("huang2012.lte").tail_time(), Duration::from_millis(11_576));
        assert_eq!(named("huang2012.3g").tail_time(), Duration::from_millis(8_912));
        assert_eq!(named("huang2012.wifi").tail_time(), Duration::from_micros(238_100));
        assert_eq!(named("aro.lte").tail_time(), Duration::from_millis(10_120));
        assert_eq!(named("narayanan2021.5g-mmwave").tail_time(), Duration::from_millis(10_200));
        assert_eq!(named("balasubramanian2009.wifi").tail_time(), Duration::MAX);
    }

    #[test]
    fn tailender_charges_by_the_kilobyte() {
        let profile = named("balasubramanian2009.3g");
        // 50 kB: 0.4 Mbit and 1.25 J.
        assert_close(profile.marginal(crate::Direction::Down).as_watts() * 0.4, 1.25);
        assert_close((profile.promotion.as_ref().unwrap().power * Duration::from_secs(2)).as_joules(), 3.5);
    }

    #[test]
    fn the_phone_is_subtracted_from_the_5g_fits() {
        assert_close(named("narayanan2021.4g").active.as_milliwatts(), 369.0);
        assert_close(named("narayanan2021.5g-mmwave").active.as_milliwatts(), 2871.0);
        assert!(named("narayanan2021.5g-low").note.contains("2350 mW"));
    }

    #[test]
    fn bluetooth_draws_about_four_tenths_of_a_watt() {
        let profile = named("aau.bluetooth");
        // 650 kbit/s * (5.72e-7 + 4.89e-10 * 35) and 850 kbit/s * (5.72e-7 - 4.89e-10 * 165).
        let at = |kbps: u64| profile.active_power(Bitrate::ZERO, Bitrate::from_bps(kbps * 1000)).as_watts();
        assert_close(at(650), 0.38292475);
        assert_close(at(850), 0.41761775);
    }

    #[test]
    fn ns3_draws_its_current_while_a_frame_is_on_the_air() {
        let profile = Profile::ns3_wifi(Bitrate::from_mbps(10.0));
        let full = Bitrate::from_mbps(10.0);
        assert_close(profile.active_power(full, Bitrate::ZERO).as_watts(), 3.0 * 0.380);
        assert_close(profile.active_power(Bitrate::ZERO, full).as_watts(), 3.0 * 0.313);
        assert_eq!(profile.idle.power, profile.active);
        assert_eq!(Profile::ns3_wifi(Bitrate::ZERO).up_per_mbps, Power::ZERO);
    }

    #[test]
    fn the_papers_radio_draws_its_base_from_the_first_packet_to_the_end() {
        let profile = Profile::chen2013(InterfaceKind::Lte, milliwatts(40.0), milliwatts(500.0));
        assert_eq!(profile.name, "chen2013.lte");
        assert_eq!(profile.origins, Origins::all(Origin::Fit));
        let mut meter = crate::Meter::new(profile);
        meter.on_packet(units::Instant::from_secs(10), crate::Direction::Down, 125_000);
        meter.on_packet(units::Instant::from_secs(11), crate::Direction::Up, 125_000);
        meter.advance(units::Instant::from_secs(150));
        assert_close(meter.energy().as_joules(), 0.5 + 0.040 * 140.0);
    }
}
