//! Random operations on both endpoints of a connection, with corrupted and invented segments.
//!
//! An endpoint must not panic, must not loop forever, and must keep its invariants.

use crate::dice::Dice;
use mptcp::{Config, CongestionKind, EcnMode, Endpoint, HyStartMode, Keepalive, PathId, Rec, SchedulerKind};
use units::{Duration, Instant, Seed};
use wire::{
    Blocks, Dss, Flags, Mapping, MptcpSignal, RecOption, Report, SackBlocks, Segment, Span, TimestampOption,
};

/// Upper bound of the segments that an endpoint may send at once, above the sum of all windows.
const MAX_BURST_SEGMENTS: usize = 20_000;

/// A boundary value, a number close to `near`, or any number.
fn number(rng: &mut Dice<'_>, near: u64) -> u64 {
    match rng.below(8) {
        0 => [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 31, (1 << 32) - 1, 1 << 63][rng.below(8) as usize],
        1 => rng.bits(),
        2 => near.wrapping_add(1 << 31).wrapping_add(rng.below(4)),
        3 => near.wrapping_sub(rng.below(100_000)),
        _ => near.wrapping_add(rng.below(3000)).wrapping_sub(1500),
    }
}

/// A random MPTCP option; sometimes `like` itself.
fn signal(rng: &mut Dice<'_>, like: Option<MptcpSignal>) -> MptcpSignal {
    let n = |rng: &mut Dice<'_>| number(rng, 5);
    match rng.below(11) {
        0 => MptcpSignal::Capable {
            version: 1,
            checksum: rng.below(2) == 0,
            deny_join: rng.below(2) == 0,
            hmac_sha256: rng.below(4) > 0,
            extension: rng.below(4) == 0,
            sender_key: (rng.below(2) == 0).then(|| n(rng)),
            receiver_key: (rng.below(2) == 0).then(|| n(rng)),
            data: (rng.below(2) == 0).then(|| (n(rng) as u16, None)),
        },
        1 => MptcpSignal::JoinSyn { backup: true, address_id: 3, token: n(rng) as u32, nonce: 4 },
        2 => MptcpSignal::JoinSynAck { backup: false, address_id: n(rng) as u8, hmac: n(rng), nonce: 4 },
        3 => MptcpSignal::JoinAck { hmac: [n(rng) as u8; 20] },
        4 => MptcpSignal::AddAddress {
            address_id: n(rng) as u8,
            address: core::net::IpAddr::from([1, 2, 3, 4]),
            port: None,
            hmac: (rng.below(2) == 0).then(|| n(rng)),
        },
        5 => MptcpSignal::RemoveAddress { ids: [n(rng) as u8; 8], count: n(rng) as u8 },
        6 => MptcpSignal::Priority { backup: rng.below(2) == 0, address_id: None },
        7 => MptcpSignal::Fail { dsn: n(rng) },
        8 => MptcpSignal::FastClose { key: n(rng) },
        9 => MptcpSignal::Reset { transient: true, reason: n(rng) as u8 },
        _ => like.unwrap_or(MptcpSignal::Fail { dsn: 1 }),
    }
}

fn rec_option(rng: &mut Dice<'_>) -> RecOption {
    if rng.below(3) == 0 {
        return RecOption::Offer { version: number(rng, 1) as u8 };
    }
    let mut blocks = Blocks::default();
    for _ in 0..rng.below(4) {
        blocks.push(number(rng, 3000) as u32, number(rng, 3000) as u32);
    }
    let (path, clock, rate) = (rng.below(4) as u8, number(rng, 5000) as u32, number(rng, 1_000_000) as u32);
    RecOption::Report(Report { path, clock, rate, blocks })
}

/// Changes one or more fields of a segment.
fn mutate(rng: &mut Dice<'_>, segment: &mut Segment<Span>) {
    for _ in 0..=rng.below(3) {
        match rng.below(17) {
            0 => segment.seq = number(rng, segment.seq.into()) as u32,
            1 => segment.ack = number(rng, segment.ack.into()) as u32,
            2 => segment.flags = Flags::from_bits(rng.bits() as u8),
            3 => segment.flags = segment.flags.with(Flags::FIN),
            4 => segment.window = number(rng, 3) as u16,
            5 => segment.mss = Some(number(rng, 100) as u16),
            6 => segment.window_scale = Some(number(rng, 14) as u8),
            7 => {
                let (value, echo) = (number(rng, 1000) as u32, number(rng, 1000) as u32);
                segment.timestamps = Some(TimestampOption { value, echo });
            }
            8 => {
                let mut sack = SackBlocks::default();
                for _ in 0..rng.below(5) {
                    let left = number(rng, segment.ack.into());
                    sack.push(left as u32, number(rng, left) as u32);
                }
                segment.sack = sack;
            }
            9 => segment.signal = Some(signal(rng, segment.signal)),
            10 => segment.signal = None,
            16 => segment.rec = Some(rec_option(rng)),
            11 => segment.dss = None,
            12 | 13 => {
                let mut dss = segment.dss.unwrap_or_default();
                let ack = dss.data_ack.unwrap_or(1);
                let map = dss.mapping.unwrap_or(Mapping { dsn: ack, ssn: 1, len: 1, checksum: None });
                match rng.below(8) {
                    0 => dss.data_ack = Some(number(rng, ack)),
                    1 => dss.ack_is_short = !dss.ack_is_short,
                    2 => dss.dsn_is_short = !dss.dsn_is_short,
                    3 => dss.data_fin = !dss.data_fin,
                    4 => dss.mapping = Some(Mapping { dsn: number(rng, map.dsn), ..map }),
                    5 => dss.mapping = Some(Mapping { ssn: number(rng, map.ssn.into()) as u32, ..map }),
                    6 => dss.mapping = Some(Mapping { len: number(rng, map.len.into()) as u16, ..map }),
                    _ => dss.mapping = None,
                }
                segment.dss = Some(dss);
            }
            14 => segment.payload.len = number(rng, segment.payload.len.into()) as u32 & 0x1_ffff,
            _ => segment.source = number(rng, segment.source.into()) as u16,
        }
    }
}

/// A random segment between the given ports.
fn random_segment(rng: &mut Dice<'_>, ports: (u16, u16)) -> Segment<Span> {
    let flags = Flags::from_bits(rng.bits() as u8);
    let mut segment =
        Segment::new(ports, number(rng, 0) as u32, number(rng, 0) as u32, flags, number(rng, 0) as u16);
    segment.dss = (rng.below(2) == 0).then(|| Dss {
        data_ack: (rng.below(2) == 0).then(|| number(rng, 0)),
        ack_is_short: rng.below(2) == 0,
        mapping: Some(Mapping {
            dsn: number(rng, 0),
            ssn: number(rng, 0) as u32,
            len: number(rng, 0) as u16,
            checksum: None,
        }),
        dsn_is_short: rng.below(2) == 0,
        data_fin: rng.below(2) == 0,
    });
    mutate(rng, &mut segment);
    segment
}

/// Both endpoints and the segments between them.
struct Net {
    now: Instant,
    ends: [Endpoint<Span>; 2],
    /// Segments in flight, by the end that receives them.
    in_flight: [Vec<(PathId, Segment<Span>)>; 2],
    /// Recently sent segments, for replay with changes.
    recent: Vec<(PathId, Segment<Span>)>,
    written: [u64; 2],
    /// Number of segments delivered.
    handled: u64,
}

impl Net {
    /// Collects segments and events of both endpoints and checks their invariants.
    fn drain(&mut self, rng: &mut Dice<'_>) {
        for end in 0..2 {
            let mut count = 0;
            while let Some((path, segment)) = self.ends[end].poll_transmit(self.now) {
                count += 1;
                assert!(count < MAX_BURST_SEGMENTS, "the endpoint never stops sending: {segment:?}");
                assert!(segment.options_len() <= 40, "{segment:?}");
                if self.recent.len() < 64 {
                    self.recent.push((path, segment.clone()));
                } else {
                    self.recent[rng.below(64) as usize] = (path, segment.clone());
                }
                self.in_flight[1 - end].push((path, segment));
            }
            while self.ends[end].poll_event().is_some() {}
            assert_eq!(self.ends[end].check(), Ok(()));
        }
    }

    fn deliver(&mut self, end: usize, path: PathId, segment: Segment<Span>) {
        self.handled += 1;
        self.ends[end].handle_segment(self.now, path, segment);
    }

    fn write(&mut self, end: usize, len: u32) {
        let span = Span::new(self.written[end], len);
        self.written[end] += self.ends[end].write(&span) as u64;
    }

    /// Advances to the next timer and fires all due timers. Fails if timers stay due after 100
    /// rounds.
    fn fire_timers(&mut self, rng: &mut Dice<'_>) {
        let mut calls = 0;
        loop {
            let next = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
            let Some(next) = next else { break };
            if calls == 0 {
                self.now = self.now.max(next);
            } else if next > self.now {
                break;
            }
            calls += 1;
            assert!(calls < 100, "a timer stays due");
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
            self.drain(rng);
        }
    }

    /// Applies one random operation to endpoint `end`.
    fn operate(&mut self, rng: &mut Dice<'_>, end: usize, mutation_percent: u64) {
        match rng.below(100) {
            0..=59 => {
                if !self.in_flight[end].is_empty() {
                    // One of ten segments is delivered out of order.
                    let at = if rng.below(10) == 0 { rng.below(self.in_flight[end].len() as u64) } else { 0 };
                    let (path, mut segment) = self.in_flight[end].remove(at as usize);
                    if rng.below(100) < mutation_percent {
                        mutate(rng, &mut segment);
                    }
                    self.deliver(end, path, segment);
                }
            }
            60..=69 if rng.below(100) < mutation_percent && !self.recent.is_empty() => {
                let (path, mut segment) = self.recent[rng.below(self.recent.len() as u64) as usize].clone();
                mutate(rng, &mut segment);
                self.deliver(end, path, segment);
            }
            70..=74 if rng.below(100) < mutation_percent => {
                let path = PathId(rng.below(3) as u8);
                let ports = self.recent.last().map_or((1, 2), |(_, s)| (s.source, s.destination));
                let segment = random_segment(rng, ports);
                self.deliver(end, path, segment);
            }
            75..=79 => self.write(end, 1 + rng.below(20_000) as u32),
            80..=84 => {
                while self.ends[end].read(1 + rng.below(3000) as usize).is_some() && rng.below(3) > 0 {}
            }
            85..=88 => {
                self.ends[0].open(self.now, PathId(rng.below(3) as u8), rng.below(2) == 0);
            }
            89 => self.ends[end].remove(PathId(rng.below(3) as u8), rng.below(2) == 0),
            90 => self.ends[end].set_priority(PathId(rng.below(3) as u8), rng.below(2) == 0),
            91 => {
                let numbers = [rng.unit(), -1.0, f64::NAN];
                self.ends[end].set_shares(&numbers[..rng.below(4) as usize]);
                self.ends[end].set_energy_costs(&numbers[..rng.below(4) as usize]);
            }
            92 => {
                self.in_flight[end].clear();
            }
            93 if rng.below(20) == 0 => self.ends[end].close(),
            94 if rng.below(100) == 0 => self.ends[end].abort(),
            95..=97 => self.fire_timers(rng),
            _ => self.now += Duration::from_millis(rng.below(300)),
        }
        if self.in_flight[end].len() > 500 {
            self.in_flight[end].truncate(250);
        }
    }
}

fn any_config(rng: &mut Dice<'_>) -> Config {
    let any = |rng: &mut Dice<'_>, from: &[u64]| from[rng.below(from.len() as u64) as usize];
    Config {
        mptcp: rng.below(5) > 0,
        checksum: rng.below(4) == 0,
        mss: any(rng, &[0, 64, 536, 1460, 65_535]) as u16,
        send_buffer: any(rng, &[0, 1, 5000, 100_000]),
        recv_buffer: any(rng, &[1, 1000, 100_000, u64::MAX]),
        scheduler: SchedulerKind::ALL[rng.below(SchedulerKind::ALL.len() as u64) as usize].into(),
        congestion: CongestionKind::ALL[rng.below(CongestionKind::ALL.len() as u64) as usize].into(),
        initial_window: any(rng, &[0, 1, 10]) as u32,
        sack: rng.below(3) > 0,
        timestamps: rng.below(3) > 0,
        delayed_ack: Duration::from_millis(any(rng, &[0, 40])),
        max_retries: 3,
        rack: rng.below(2) > 0,
        dsack: rng.below(2) > 0,
        prr: rng.below(2) > 0,
        frto: rng.below(2) > 0,
        undo: rng.below(2) > 0,
        hystart: [HyStartMode::Off, HyStartMode::Original, HyStartMode::Rfc9406][rng.below(3) as usize],
        ecn: [EcnMode::Off, EcnMode::Accept, EcnMode::Request][rng.below(3) as usize],
        pacing: rng.below(3) == 0,
        autotune: (rng.below(3) == 0).then(|| any(rng, &[0, 1, 5000])),
        keepalive: (rng.below(3) == 0)
            .then(|| Keepalive { idle: Duration::from_secs(1), ..Keepalive::default() }),
        paws: rng.below(2) > 0,
        challenge_acks: rng.below(2) > 0,
        quickack: rng.below(2) > 0,
        opportunistic: rng.below(2) > 0,
        penalise: rng.below(2) > 0,
        rec: (rng.below(2) > 0).then(|| Rec { path_choice: rng.below(2) > 0, ..Rec::default() }),
        ..Config::default()
    }
}

/// Fuzz target: operations drawn from the input until it is used up.
pub fn sequence(bytes: &[u8]) {
    sequence_of(Dice::from_bytes(bytes), 5000);
}

/// Runs a number of random operations. Returns the number of segments delivered.
pub fn sequence_of(mut dice: Dice<'_>, steps: u64) -> u64 {
    let rng = &mut dice;
    let (client, server) = (any_config(rng), any_config(rng));
    let seed = rng.bits();
    let mut net = Net {
        now: Instant::from_secs(1),
        ends: [Endpoint::client(client, Seed::new(seed)), Endpoint::server(server, Seed::new(!seed))],
        in_flight: [Vec::new(), Vec::new()],
        recent: Vec::new(),
        written: [0; 2],
        handled: 0,
    };
    net.ends[0].open(net.now, PathId(0), false);
    net.drain(rng);
    let mutation_percent = [2, 10, 50, 95][rng.below(4) as usize];
    for _ in 0..steps {
        if rng.is_done() {
            break;
        }
        let end = rng.below(2) as usize;
        net.operate(rng, end, mutation_percent);
        net.ends[end].write_space();
        net.drain(rng);
    }
    net.handled
}
