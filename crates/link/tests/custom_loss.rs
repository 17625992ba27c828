//! Loss model and trace format defined outside the crate.

use tandem_link::{
    Cell, CellConfig, CellStation, Link, LinkConfig, Loss, LossModel, LossModelFactory, ParsedTrace,
    QueueLimit, Rate, Sender, StationConfig, Trace, TraceError, TraceFormat, Transmission,
};
use units::{Bitrate, Duration, Instant, Probability, Rng, Seed};

/// Loses packets above 100 bytes with a probability in the second half of each second.
#[derive(Debug)]
struct Interference {
    probability: Probability,
}

#[derive(Debug, Clone)]
struct InterferenceModel {
    probability: Probability,
    rng: Rng,
}

impl LossModelFactory for Interference {
    fn pattern(&self) -> &'static str {
        "by interference"
    }

    fn mean(&self) -> f64 {
        self.probability.get() / 2.0
    }

    fn build(&self, rng: Rng) -> Box<dyn LossModel> {
        Box::new(InterferenceModel { probability: self.probability, rng })
    }
}

impl LossModel for InterferenceModel {
    fn is_lost(&mut self, packet: &Transmission) -> bool {
        let is_disturbed = packet.begin.as_millis() % 1000 >= 500 && packet.size > 100;
        self.rng.chance(self.probability) && is_disturbed
    }
}

fn interference() -> Loss {
    Loss::from(Interference { probability: Probability::new(0.5).expect("between 0 and 1") })
}

/// Pushes 10,000 packets, one each millisecond, and returns the arrivals.
fn arrivals(link: &mut Link<u32>, size: u32) -> Vec<u32> {
    let mut arrived = Vec::new();
    for n in 0..10_000 {
        let now = Instant::from_millis(u64::from(n));
        while let Some(n) = link.poll(now) {
            arrived.push(n);
        }
        assert!(link.push(now, size, n));
    }
    arrived.extend(core::iter::from_fn(|| link.poll(Instant::MAX)));
    arrived
}

fn link_config() -> LinkConfig {
    let rate = Rate::Fixed(Bitrate::from_bps(100_000_000));
    LinkConfig { rate, loss: interference(), queue: QueueLimit::Unlimited, ..LinkConfig::default() }
}

#[test]
fn link_runs_with_a_custom_loss_model() {
    let config = link_config();
    let arrived = arrivals(&mut Link::new(&config, Seed::new(1)), 1000);
    let lost = 10_000 - arrived.len();
    assert!((lost as f64 / 10_000.0 - config.loss.mean()).abs() < 0.01, "{lost} lost");
    assert_eq!(arrived.iter().filter(|&n| n % 1000 < 500).count(), 5000, "none lost without interference");
    assert_eq!(arrivals(&mut Link::new(&config, Seed::new(1)), 100).len(), 10_000);
}

#[test]
fn custom_loss_model_depends_only_on_the_seed() {
    let config = link_config();
    let run = |seed| arrivals(&mut Link::new(&config, Seed::new(seed)), 1000);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let mut link = Link::new(&config, Seed::new(1));
    let mut copy = link.clone();
    assert_eq!(arrivals(&mut link, 1000), arrivals(&mut copy, 1000), "a clone draws the same numbers");
}

#[test]
fn cell_stations_draw_custom_losses_independently() {
    let station = StationConfig { loss: interference(), ..StationConfig::default() };
    let joined =
        |seed| CellStation { config: station.clone(), sender: Sender::Client, seed: Seed::new(seed) };
    let mut cell = Cell::new(&CellConfig::default(), &[joined(1), joined(2)], Seed::new(1));
    let mut lost = [Vec::new(), Vec::new()];
    for n in 500..1000 {
        let now = Instant::from_millis(n);
        for (station, lost) in lost.iter_mut().enumerate() {
            let before = cell.stats(station).lost;
            cell.push(now, station, 200, ());
            while cell.poll(now + Duration::from_micros(500)).is_some() {}
            lost.push(cell.stats(station).lost > before);
        }
    }
    assert_ne!(lost[0], lost[1]);
    for lost in &lost {
        let count = lost.iter().filter(|&&lost| lost).count();
        assert!((200..300).contains(&count), "{count} of 500 lost");
    }
}

#[test]
fn custom_losses_are_equal_if_their_parameters_are() {
    let loss = interference();
    assert_eq!(loss, interference());
    assert_ne!(loss, Loss::from(Interference { probability: Probability::ALWAYS }));
    assert_ne!(loss, Loss::None);
}

/// A constant rate: one line with the rate in kbit/s.
static CONSTANT: TraceFormat = TraceFormat {
    name: "constant",
    summary: "the rate in kbit/s",
    extensions: &[],
    first_entry: "a rate",
    accepts: |line| line.parse::<u64>().is_ok(),
    has_columns: false,
    parse: |input| {
        let kbps: Option<u64> = input.text.trim().parse().ok();
        let piece = kbps.map(|kbps| tandem_link::RatePiece {
            duration: Duration::from_secs(1),
            rate: Bitrate::from_bps(kbps * 1000),
            latency: Duration::ZERO,
        });
        piece.and_then(|piece| Trace::from_rates(&[piece])).map(ParsedTrace::from).ok_or_else(|| TraceError {
            file: input.file.to_owned(),
            line: Some(1),
            column: None,
            expected: "a rate in kbit/s above 0".to_owned(),
            found: format!("`{}`", input.text),
            hint: "write one number".into(),
        })
    },
    write: None,
};

#[test]
fn custom_trace_format_is_parsed() {
    let trace = Trace::parse("a", "2500\n", Some(&CONSTANT)).expect("a rate");
    assert_eq!(trace.mean_rate(), Bitrate::from_bps(2_500_000));
    assert!(Trace::parse("a", "0", Some(&CONSTANT)).is_err());
}
