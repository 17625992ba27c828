//! An end that sends false acknowledgements, mappings, keys and signals.

use units::{Rng, Seed};
use wire::{Blocks, Dss, Flags, Mapping, MptcpSignal, RecOption, Report, SackBlocks, Segment, Span};

/// DATA_ACKs of data not received.
pub const DATA_ACK: u64 = 1 << 0;
/// Subflow acknowledgements of data not received.
pub const ACK: u64 = 1 << 1;
/// Arbitrary windows.
pub const WINDOW: u64 = 1 << 2;
/// SACK blocks of data not received.
pub const SACK: u64 = 1 << 3;
/// Wrong or removed mappings.
pub const MAPPING: u64 = 1 << 4;
/// Wrong keys, tokens, nonces and HMACs.
pub const KEYS: u64 = 1 << 5;
/// Unexpected MPTCP signals.
pub const SIGNALS: u64 = 1 << 6;
/// DATA_FINs at wrong offsets.
pub const DATA_FIN: u64 = 1 << 7;
/// Pure ACKs sent four times.
pub const DUPLICATE_ACKS: u64 = 1 << 8;
/// Arbitrary timestamps.
pub const TIMESTAMPS: u64 = 1 << 9;
/// Acknowledgements that move back.
pub const OLD_ACKS: u64 = 1 << 10;
/// Unexpected FIN, RST, SYN and PSH flags.
pub const FLAGS: u64 = 1 << 11;
/// Number of lies above. A random plan draws a bit below this number.
pub const KINDS: u64 = 12;
/// False reports of MPTCP-rec. A random plan draws this lie separately,
/// in addition to those above.
pub const REPORT: u64 = 1 << 12;
/// Lies despite which the connection must succeed.
pub const HARMLESS: u64 = SACK | DUPLICATE_ACKS | OLD_ACKS;
/// Lies that may make the peer read data at a wrong offset.
pub const MISPLACE_DATA: u64 = MAPPING | DATA_FIN | FLAGS | KEYS;

#[derive(Debug, Clone)]
pub struct Liar {
    /// Index of the end that lies.
    pub end: usize,
    /// Set of lies: any of the bits above.
    pub lies: u64,
    /// Probability of each lie in a segment, in thousandths.
    pub rate: u64,
    rng: Rng,
}

impl Liar {
    pub fn new(end: usize, lies: u64, rate: u64, seed: Seed) -> Self {
        Self { end, lies, rate, rng: seed.rng("liar") }
    }

    fn draws(&mut self, lie: u64) -> bool {
        self.lies & lie != 0 && self.rng.below(1000) < self.rate
    }

    /// A random number: mostly small, sometimes of any size.
    fn number(&mut self) -> u64 {
        match self.rng.below(8) {
            0 => self.rng.bits(),
            1 => 1 << self.rng.below(64),
            2 => self.rng.below(5),
            _ => self.rng.below(20_000),
        }
    }

    /// Falsifies an outgoing segment. Returns how many times it is sent.
    pub fn falsify(&mut self, segment: &mut Segment<Span>) -> usize {
        let syn = segment.flags.has(Flags::SYN);
        if self.draws(KEYS) {
            self.wrong_keys(segment);
        }
        if syn {
            return 1;
        }
        if self.draws(DATA_ACK)
            && let Some(Dss { data_ack: Some(ack), .. }) = &mut segment.dss
        {
            let ahead = self.number();
            *ack = u64::from((*ack as u32).wrapping_add(ahead as u32));
        }
        if self.draws(ACK) {
            segment.ack = segment.ack.wrapping_add(self.number() as u32);
        }
        if self.draws(OLD_ACKS) {
            let back = self.rng.below(20_000);
            // Report blocks are relative to the DATA_ACK: a moved DATA_ACK would make them false
            // too.
            segment.rec = None;
            segment.ack = segment.ack.wrapping_sub(back as u32);
            if let Some(Dss { data_ack: Some(ack), .. }) = &mut segment.dss {
                *ack = u64::from((*ack as u32).wrapping_sub(back as u32));
            }
        }
        if self.draws(WINDOW) {
            segment.window = self.number() as u16;
        }
        if self.draws(SACK) && segment.options_len() <= 20 {
            let mut blocks = SackBlocks::default();
            for _ in 0..=self.rng.below(2) {
                let left = segment.ack.wrapping_add(self.number() as u32);
                blocks.push(left, left.wrapping_add(self.number() as u32));
            }
            segment.sack = blocks;
        }
        if self.draws(MAPPING) {
            self.wrong_mapping(segment);
        }
        if self.draws(DATA_FIN) {
            let mut dss = segment.dss.unwrap_or_default();
            dss.data_fin = true;
            let dsn = self.number();
            dss.mapping.get_or_insert(Mapping { dsn, ssn: 0, len: 1, checksum: None });
            segment.dss = Some(dss);
        }
        if self.draws(SIGNALS) && segment.signal.is_none() && segment.options_len() <= 20 {
            segment.signal = Some(self.any_signal());
        }
        if self.draws(TIMESTAMPS)
            && let Some(mut clock) = segment.timestamps
        {
            clock.value = clock.value.wrapping_add(self.number() as u32).wrapping_sub(10_000);
            clock.echo = clock.echo.wrapping_add(self.number() as u32).wrapping_sub(10_000);
            segment.timestamps = Some(clock);
        }
        if self.draws(FLAGS) {
            let flag = [Flags::FIN, Flags::RST, Flags::SYN, Flags::PSH][self.rng.below(4) as usize];
            segment.flags = segment.flags.with(flag);
        }
        if self.draws(REPORT) {
            self.wrong_report(segment);
        }
        let pure_ack = segment.payload.len == 0 && !segment.flags.has(Flags::FIN);
        if pure_ack && self.draws(DUPLICATE_ACKS) { 4 } else { 1 }
    }

    fn wrong_keys(&mut self, segment: &mut Segment<Span>) {
        let n = self.number();
        match &mut segment.signal {
            Some(MptcpSignal::Capable { sender_key, receiver_key, .. }) => {
                let key = if self.rng.below(2) == 0 { sender_key } else { receiver_key };
                *key = key.map(|key| key ^ n);
            }
            Some(MptcpSignal::JoinSyn { token, .. }) => *token ^= n as u32,
            Some(MptcpSignal::JoinSynAck { hmac, nonce, .. }) => {
                if self.rng.below(2) == 0 {
                    *hmac ^= n;
                } else {
                    *nonce ^= n as u32;
                }
            }
            Some(MptcpSignal::JoinAck { hmac }) => hmac[(n % 20) as usize] ^= 1,
            _ => {}
        }
    }

    fn wrong_mapping(&mut self, segment: &mut Segment<Span>) {
        let n = self.number();
        let Some(Dss { mapping: Some(map), .. }) = &mut segment.dss else { return };
        match self.rng.below(4) {
            0 => map.dsn = map.dsn.wrapping_add(n),
            1 => map.ssn = map.ssn.wrapping_add(n as u32),
            2 => map.len = n as u16,
            _ => segment.dss = None,
        }
    }

    fn wrong_report(&mut self, segment: &mut Segment<Span>) {
        if segment.rec.is_none() && segment.dss.is_some() && segment.options_len() <= 20 {
            let (path, clock, rate) = (self.rng.below(3) as u8, self.number() as u32, self.number() as u32);
            segment.rec = Some(RecOption::Report(Report { path, clock, rate, blocks: Blocks::default() }));
        }
        let n = self.number() as u32;
        let block_fits = segment.options_len() <= 32;
        let Some(RecOption::Report(report)) = &mut segment.rec else { return };
        match self.rng.below(4) {
            0 => report.rate = n,
            1 => report.clock = report.clock.wrapping_add(n),
            2 => report.path = n as u8,
            _ if block_fits => _ = report.blocks.push(n, self.rng.below(3000) as u32),
            _ => {}
        }
    }

    fn any_signal(&mut self) -> MptcpSignal {
        let n = self.number();
        match self.rng.below(7) {
            0 => MptcpSignal::Fail { dsn: n },
            1 => MptcpSignal::FastClose { key: n },
            2 => MptcpSignal::Reset { transient: n.is_multiple_of(2), reason: n as u8 },
            3 => MptcpSignal::Priority {
                backup: n.is_multiple_of(2),
                address_id: (n.is_multiple_of(3)).then_some(n as u8),
            },
            4 => MptcpSignal::RemoveAddress { ids: [(n % 5) as u8; 8], count: 1 },
            5 => MptcpSignal::JoinSyn { backup: false, address_id: 1, token: n as u32, nonce: 1 },
            _ => MptcpSignal::JoinAck { hmac: [n as u8; 20] },
        }
    }
}
