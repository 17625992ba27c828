//! Invariants of middleboxes under random traffic.

use proptest::prelude::*;
use tandem_middlebox::{
    Directions, ExpiryAction, Middlebox, MiddleboxConfig, MiddleboxKind, OptionAction, OptionSet,
    SegmentFilter, TransitSegment,
};
use units::{Duration, Instant, Probability, Seed};
use wire::{Flags, Payload, Segment, Span};

fn kind() -> impl Strategy<Value = MiddleboxKind> {
    let chance = (0.0..=1.0).prop_map(|p| Probability::new(p).expect("from 0 to 1"));
    let filter = prop::sample::select(vec![
        SegmentFilter::Syn,
        SegmentFilter::NotSyn,
        SegmentFilter::Data,
        SegmentFilter::All,
    ]);
    let action = prop::sample::select(vec![OptionAction::Strip, OptionAction::Drop]);
    let on_expiry = prop::sample::select(vec![
        ExpiryAction::Renew,
        ExpiryAction::NewPort,
        ExpiryAction::Reset,
        ExpiryAction::Drop,
    ]);
    let millis = || (0_u64..200).prop_map(Duration::from_millis);
    prop_oneof![
        (filter, action, chance.clone()).prop_map(|(filter, action, chance)| MiddleboxKind::StripOptions {
            options: OptionSet::MPTCP | OptionSet::TIMESTAMPS,
            filter,
            action,
            chance
        }),
        (any::<u32>(), any::<u32>(), any::<bool>())
            .prop_map(|(up, down, sack)| MiddleboxKind::RewriteSequence { up, down, sack }),
        (0_u16..2000).prop_map(|mss| MiddleboxKind::Split { mss }),
        (0_u32..9000, millis()).prop_map(|(max_bytes, hold)| MiddleboxKind::Coalesce { max_bytes, hold }),
        (millis(), on_expiry).prop_map(|(idle, on_expiry)| MiddleboxKind::Nat { idle, on_expiry }),
        chance.prop_map(|chance| MiddleboxKind::Corrupt { chance }),
    ]
}

fn config() -> impl Strategy<Value = MiddleboxConfig> {
    let directions = prop::sample::select(vec![Directions::Up, Directions::Down, Directions::Both]);
    (kind(), directions, 0_u64..100, prop::option::of(0_u64..3000)).prop_map(
        |(kind, directions, from, until)| MiddleboxConfig {
            kind,
            directions,
            from: Instant::from_millis(from),
            until: until.map(Instant::from_millis),
        },
    )
}

/// One segment of one of three connections: gap in ms, direction (true from the device),
/// connection, choice of flags, and payload length.
type Step = (u64, bool, u32, u8, u32);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let len = prop_oneof![Just(0_u32), 1_u32..3000];
    prop::collection::vec((0_u64..60, any::<bool>(), 0_u32..3, 0_u8..8, len), 1..80)
}

/// Sent bytes of each direction and connection. Most segments are new data, some are
/// retransmissions.
struct Ends {
    sent: [[u64; 3]; 2],
}

/// Initial sequence number of every stream, close to the wrap-around.
const START: u32 = u32::MAX - 5000;

impl Ends {
    fn new() -> Self {
        Self { sent: [[0; 3]; 2] }
    }
    fn segment(&mut self, &(_, from_device, flow, kind, len): &Step) -> TransitSegment<Span> {
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
        let mut segment = Segment::new(ports, START.wrapping_add(offset as u32), ack, flags, 100);
        segment.payload = Span::new(offset, len);
        segment.mss = (kind == 1).then_some(1460);
        if kind == 4 {
            segment.sack.push(ack.wrapping_add(10), ack.wrapping_add(20));
        }
        TransitSegment { from_device, flow, segment }
    }
}

type Output = Vec<(Instant, TransitSegment<Span>)>;

/// Sends the steps through a middlebox. Returns its input, and its output with times. Calls `each`
/// after every poll.
fn run(
    middlebox: &mut Middlebox<Span>,
    steps: &[Step],
    mut each: impl FnMut(&Middlebox<Span>),
) -> (Vec<TransitSegment<Span>>, Output) {
    let (mut ends, mut now) = (Ends::new(), Instant::ZERO);
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut drain = |middlebox: &mut Middlebox<Span>, until: Instant, output: &mut Vec<_>| {
        while let Some(at) = middlebox.next().filter(|&at| at <= until) {
            while let Some(transit) = middlebox.poll(at) {
                output.push((at, transit));
                each(middlebox);
            }
        }
    };
    for step in steps {
        let then = now + Duration::from_millis(step.0);
        drain(middlebox, then, &mut output);
        now = then;
        let transit = ends.segment(step);
        input.push(transit.clone());
        middlebox.push(now, transit);
        drain(middlebox, now, &mut output);
    }
    drain(middlebox, Instant::MAX, &mut output);
    (input, output)
}

/// Sequence number and stream offset of each byte of one direction of one connection.
fn bytes<'a>(
    all: impl Iterator<Item = &'a TransitSegment<Span>>,
    from_device: bool,
    flow: u32,
) -> Vec<(u32, u64)> {
    let stream = all.filter(|p| p.from_device == from_device && p.flow == flow);
    stream
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
        let mut middlebox = Middlebox::new(&config, Seed::new(seed));
        let (input, output) = run(&mut middlebox, &steps, |middlebox| {
            let s = middlebox.stats();
            let accounted = s.passed + s.merged + s.dropped + middlebox.held() as u64;
            assert_eq!(s.seen + s.added + s.answered, accounted, "{s:?}");
        });
        let stats = middlebox.stats();
        prop_assert_eq!((stats.seen, stats.passed), (input.len() as u64, output.len() as u64));
        prop_assert_eq!((middlebox.held(), middlebox.next()), (0, None));
        prop_assert!(output.is_sorted_by_key(|(at, _)| *at));
    }

    #[test]
    fn splitting_and_merging_keep_every_byte_and_the_order(
        kind in prop_oneof![
            (0_u16..2000).prop_map(|mss| MiddleboxKind::Split { mss }),
            (0_u32..9000, 0_u64..200).prop_map(|(max_bytes, hold)| MiddleboxKind::Coalesce {
                max_bytes, hold: Duration::from_millis(hold),
            }),
        ],
        until in prop::option::of(0_u64..3000), steps in steps(),
    ) {
        let config = MiddleboxConfig { until: until.map(Instant::from_millis), ..MiddleboxConfig::new(kind) };
        let mut middlebox = Middlebox::new(&config, Seed::new(1));
        let (input, output) = run(&mut middlebox, &steps, |_| {});
        for (from_device, flow) in [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1), (false, 2)] {
            let after = bytes(output.iter().map(|(_, p)| p), from_device, flow);
            prop_assert_eq!(bytes(input.iter(), from_device, flow), after);
        }
        match kind {
            MiddleboxKind::Split { mss } if until.is_none() => {
                let small = |p: &TransitSegment<Span>| p.segment.payload.len() <= usize::from(mss.max(1));
                prop_assert!(output.iter().all(|(_, p)| small(p) || p.segment.flags.has(Flags::SYN)));
            }
            MiddleboxKind::Coalesce { hold, .. } => {
                // No segment leaves later than the hold time allows.
                let mut times = steps.iter().scan(Instant::ZERO, |now, step| {
                    *now += Duration::from_millis(step.0);
                    Some(*now)
                });
                let last = times.by_ref().last().unwrap_or_default();
                prop_assert!(output.iter().all(|(at, _)| *at <= last + hold));
            }
            _ => {}
        }
    }

    #[test]
    fn inverse_rewriting_restores_the_segments(up in any::<u32>(), down in any::<u32>(), steps in steps()) {
        let rewriter = |up, down| {
            let kind = MiddleboxKind::RewriteSequence { up, down, sack: true };
            Middlebox::new(&MiddleboxConfig::new(kind), Seed::new(1))
        };
        let mut there = rewriter(up, down);
        let (input, output) = run(&mut there, &steps, |_| {});
        let mut back = rewriter(up.wrapping_neg(), down.wrapping_neg());
        for (before, (at, transit)) in input.iter().zip(&output) {
            let moved = if before.from_device { up } else { down };
            prop_assert_eq!(transit.segment.seq, before.segment.seq.wrapping_add(moved));
            back.push(*at, transit.clone());
            let restored = back.poll(*at);
            prop_assert_eq!(restored.as_ref(), Some(before));
        }
    }

    #[test]
    fn inactive_middlebox_changes_nothing(config in config(), steps in steps()) {
        let config = MiddleboxConfig { from: Instant::MAX, ..config };
        let mut middlebox = Middlebox::new(&config, Seed::new(1));
        let (input, output) = run(&mut middlebox, &steps, |_| {});
        prop_assert!(input.iter().eq(output.iter().map(|(_, transit)| transit)));
        prop_assert_eq!(middlebox.stats().changed, 0);
    }
}
