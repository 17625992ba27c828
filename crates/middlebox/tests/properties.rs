//! What must hold whatever passes: nothing is lost or doubled by cutting and merging, a consistent
//! rewriter is invisible, and every segment is accounted for.

use proptest::prelude::*;
use tandem_middlebox::{
    Directions, Finding, Forgotten, Meddling, Middlebox, MiddleboxConfig, On, Options, Passing,
};
use units::{Duration, Instant, Probability, Seed};
use wire::{Flags, Payload, Segment, Span};

fn meddling() -> impl Strategy<Value = Meddling> {
    let chance = (0.0..=1.0).prop_map(|p| Probability::new(p).expect("from 0 to 1"));
    let on = prop::sample::select(vec![On::Syn, On::NotSyn, On::Data, On::All]);
    let finding = prop::sample::select(vec![Finding::Strip, Finding::Drop]);
    let forgotten =
        prop::sample::select(vec![Forgotten::Renew, Forgotten::NewPort, Forgotten::Reset, Forgotten::Drop]);
    let millis = || (0_u64..200).prop_map(Duration::from_millis);
    prop_oneof![
        (on, finding, chance.clone()).prop_map(|(on, finding, chance)| Meddling::StripOptions {
            options: Options::MPTCP.with(Options::TIMESTAMPS),
            on,
            finding,
            chance
        }),
        (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(up, down, sack)| Meddling::RewriteSequence {
            up,
            down,
            sack
        }),
        (0_u16..2000).prop_map(|mss| Meddling::Split { mss }),
        (0_u32..9000, millis()).prop_map(|(most, hold)| Meddling::Coalesce { most, hold }),
        (millis(), forgotten).prop_map(|(idle, forgotten)| Meddling::ForgetNat { idle, forgotten }),
        chance.prop_map(|chance| Meddling::Corrupt { chance }),
    ]
}

fn config() -> impl Strategy<Value = MiddleboxConfig> {
    let directions = prop::sample::select(vec![Directions::Up, Directions::Down, Directions::Both]);
    (meddling(), directions, 0_u64..100, prop::option::of(0_u64..3000)).prop_map(
        |(meddling, directions, from, until)| MiddleboxConfig {
            meddling,
            directions,
            from: Instant::from_millis(from),
            until: until.map(Instant::from_millis),
        },
    )
}

/// What one end of one of three connections sends: a gap in ms, whether the device sends, the
/// connection, the flags' choice and the payload's length.
type Step = (u64, bool, u32, u8, u32);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let len = prop_oneof![Just(0_u32), 1_u32..3000];
    prop::collection::vec((0_u64..60, any::<bool>(), 0_u32..3, 0_u8..8, len), 1..80)
}

/// Streams that the steps send: most segments follow on the one before, some are sent again.
struct Ends {
    sent: [[u64; 3]; 2],
}

/// What each end's first byte is numbered; the numbers wrap soon.
const START: u32 = u32::MAX - 5000;

impl Ends {
    fn new() -> Self {
        Self { sent: [[0; 3]; 2] }
    }
    fn segment(&mut self, &(_, from_device, flow, kind, len): &Step) -> Passing<Span> {
        let sent = &mut self.sent[usize::from(from_device)][flow as usize];
        let again = kind == 0 && *sent >= u64::from(len);
        let offset = if again { *sent - u64::from(len) } else { *sent };
        if !again {
            *sent += u64::from(len);
        }
        let ports = if from_device { (5000, 80) } else { (80, 5000) };
        let flags = match kind {
            1 => Flags::SYN,
            2 => Flags::ACK.with(Flags::FIN),
            3 => Flags::RST,
            _ => Flags::ACK.with(Flags::PSH),
        };
        let ack = self.sent[usize::from(!from_device)][flow as usize];
        let ack = START.wrapping_add(ack as u32);
        let mut segment = Segment::new(ports.0, ports.1, START.wrapping_add(offset as u32), ack, flags, 100);
        segment.payload = Span::new(offset, len);
        segment.mss = (kind == 1).then_some(1460);
        if kind == 4 {
            segment.sack.push(ack.wrapping_add(10), ack.wrapping_add(20));
        }
        Passing { from_device, flow, segment }
    }
}

type Left = Vec<(Instant, Passing<Span>)>;

/// What came, and what left when; asks `each` after every call.
fn run(
    boxed: &mut Middlebox<Span>,
    steps: &[Step],
    mut each: impl FnMut(&Middlebox<Span>),
) -> (Vec<Passing<Span>>, Left) {
    let (mut ends, mut now) = (Ends::new(), Instant::ZERO);
    let (mut came, mut left) = (Vec::new(), Vec::new());
    let mut drain = |boxed: &mut Middlebox<Span>, until: Instant, left: &mut Vec<_>| {
        while let Some(at) = boxed.next().filter(|&at| at <= until) {
            while let Some(passing) = boxed.poll(at) {
                left.push((at, passing));
                each(boxed);
            }
        }
    };
    for step in steps {
        let then = now + Duration::from_millis(step.0);
        drain(boxed, then, &mut left);
        now = then;
        let passing = ends.segment(step);
        came.push(passing.clone());
        boxed.push(now, passing);
        drain(boxed, now, &mut left);
    }
    drain(boxed, Instant::MAX, &mut left);
    (came, left)
}

/// The bytes of one direction of one connection, each with its sequence number.
fn bytes<'a>(all: impl Iterator<Item = &'a Passing<Span>>, from_device: bool, flow: u32) -> Vec<(u32, u64)> {
    let of_it = all.filter(|p| p.from_device == from_device && p.flow == flow);
    of_it
        .flat_map(|p| {
            let (seq, span) = (p.segment.seq, p.segment.payload);
            (0..span.len).map(move |i| (seq.wrapping_add(i), span.offset + u64::from(i)))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_segment_is_accounted_for(config in config(), steps in steps(), seed in any::<u64>()) {
        let mut boxed = Middlebox::new(&config, Seed::new(seed));
        let (came, left) = run(&mut boxed, &steps, |boxed| {
            let s = boxed.stats();
            let gone = s.passed + s.merged + s.dropped + boxed.held() as u64;
            assert_eq!(s.seen + s.added + s.answered, gone, "{s:?}");
        });
        let stats = boxed.stats();
        prop_assert_eq!((stats.seen, stats.passed), (came.len() as u64, left.len() as u64));
        prop_assert_eq!((boxed.held(), boxed.next()), (0, None));
        prop_assert!(left.is_sorted_by_key(|(at, _)| *at));
    }

    #[test]
    fn cutting_and_merging_keep_every_byte_once_and_in_place(
        meddling in prop_oneof![
            (0_u16..2000).prop_map(|mss| Meddling::Split { mss }),
            (0_u32..9000, 0_u64..200).prop_map(|(most, hold)| Meddling::Coalesce {
                most, hold: Duration::from_millis(hold),
            }),
        ],
        until in prop::option::of(0_u64..3000), steps in steps(),
    ) {
        let config = MiddleboxConfig { until: until.map(Instant::from_millis), ..MiddleboxConfig::new(meddling) };
        let mut boxed = Middlebox::new(&config, Seed::new(1));
        let (came, left) = run(&mut boxed, &steps, |_| {});
        for (from_device, flow) in [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1), (false, 2)] {
            // In the same order, too.
            let after = bytes(left.iter().map(|(_, p)| p), from_device, flow);
            prop_assert_eq!(bytes(came.iter(), from_device, flow), after);
        }
        match meddling {
            Meddling::Split { mss } if until.is_none() => {
                let small = |p: &Passing<Span>| p.segment.payload.len() <= usize::from(mss.max(1));
                prop_assert!(left.iter().all(|(_, p)| small(p) || p.segment.flags.has(Flags::SYN)));
            }
            Meddling::Coalesce { hold, .. } => {
                // Nothing is held longer than it may be.
                let mut times = steps.iter().scan(Instant::ZERO, |now, step| {
                    *now += Duration::from_millis(step.0);
                    Some(*now)
                });
                let last = times.by_ref().last().unwrap_or_default();
                prop_assert!(left.iter().all(|(at, _)| *at <= last + hold));
            }
            _ => {}
        }
    }

    #[test]
    fn what_one_rewriter_does_its_inverse_undoes(up in any::<u32>(), down in any::<u32>(), steps in steps()) {
        let rewriter = |up, down| {
            let meddling = Meddling::RewriteSequence { up, down, sack: true };
            Middlebox::new(&MiddleboxConfig::new(meddling), Seed::new(1))
        };
        let mut there = rewriter(up, down);
        let (came, left) = run(&mut there, &steps, |_| {});
        let mut back = rewriter(up.wrapping_neg(), down.wrapping_neg());
        for (before, (at, passing)) in came.iter().zip(&left) {
            let moved = if before.from_device { up } else { down };
            prop_assert_eq!(passing.segment.seq, before.segment.seq.wrapping_add(moved));
            back.push(*at, passing.clone());
            let restored = back.poll(*at);
            prop_assert_eq!(restored.as_ref(), Some(before));
        }
    }

    #[test]
    fn a_box_that_does_not_act_changes_nothing(config in config(), steps in steps()) {
        let config = MiddleboxConfig { from: Instant::MAX, ..config };
        let mut boxed = Middlebox::new(&config, Seed::new(1));
        let (came, left) = run(&mut boxed, &steps, |_| {});
        prop_assert!(came.iter().eq(left.iter().map(|(_, passing)| passing)));
        prop_assert_eq!(boxed.stats().changed, 0);
    }
}
