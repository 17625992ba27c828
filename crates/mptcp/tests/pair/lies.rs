//! An end that says what is not so.

use units::{Rng, Seed};
use wire::{Blocks, Dss, Flags, Mapping, MptcpSignal, RecOption, Report, SackBlocks, Segment, Span};

/// Data that was not received is acknowledged at data level.
pub const DATA_ACK: u64 = 1 << 0;
/// Likewise on the subflow.
pub const ACK: u64 = 1 << 1;
/// A window that is not there, or is taken back.
pub const WINDOW: u64 = 1 << 2;
/// SACK blocks of what did not come.
pub const SACK: u64 = 1 << 3;
/// Data is put where it does not belong.
pub const MAPPING: u64 = 1 << 4;
/// Wrong keys, tokens and proofs.
pub const KEYS: u64 = 1 << 5;
/// Signals out of nowhere.
pub const SIGNALS: u64 = 1 << 6;
/// An end of the data before it, or beyond.
pub const DATA_FIN: u64 = 1 << 7;
/// The same acknowledgement three times more.
pub const AGAIN: u64 = 1 << 8;
/// Clocks that run anyhow.
pub const CLOCK: u64 = 1 << 9;
/// Old acknowledgements, as if what came since had not.
pub const OLD: u64 = 1 << 10;
/// FIN, RST, SYN where there should be none.
pub const FLAGS: u64 = 1 << 11;
/// How many kinds there are that are drawn by number.
pub const KINDS: u64 = 12;
/// Rates and blocks of MPTCP-rec that are not so.
pub const REPORT: u64 = 1 << 12;
/// What must not cost the connection, nor a byte.
pub const HARMLESS: u64 = SACK | AGAIN | OLD;
/// What may put data in another place.
pub const GARBLES: u64 = MAPPING | DATA_FIN | FLAGS | KEYS;

#[derive(Debug, Clone)]
pub struct Liar {
    pub end: usize,
    pub lies: u64,
    /// Of a thousand segments so many.
    pub often: u64,
    rng: Rng,
}

impl Liar {
    pub fn new(end: usize, lies: u64, often: u64, seed: Seed) -> Self {
        Self { end, lies, often, rng: seed.rng("liar") }
    }

    fn tells(&mut self, lie: u64) -> bool {
        self.lies & lie != 0 && self.rng.below(1000) < self.often
    }

    /// A small number, mostly; one of any size sometimes.
    fn number(&mut self) -> u64 {
        match self.rng.below(8) {
            0 => self.rng.bits(),
            1 => 1 << self.rng.below(64),
            2 => self.rng.below(5),
            _ => self.rng.below(20_000),
        }
    }

    /// Changes a segment that is about to leave; how often it leaves.
    pub fn twist(&mut self, segment: &mut Segment<Span>) -> usize {
        let syn = segment.flags.has(Flags::SYN);
        if self.tells(KEYS) {
            self.wrong_keys(segment);
        }
        if syn {
            return 1;
        }
        if self.tells(DATA_ACK)
            && let Some(Dss { data_ack: Some(ack), .. }) = &mut segment.dss
        {
            let ahead = self.number();
            *ack = u64::from((*ack as u32).wrapping_add(ahead as u32));
        }
        if self.tells(ACK) {
            segment.ack = segment.ack.wrapping_add(self.number() as u32);
        }
        if self.tells(OLD) {
            let back = self.rng.below(20_000);
            // Its blocks count from the DATA_ACK, and are another lie.
            segment.rec = None;
            segment.ack = segment.ack.wrapping_sub(back as u32);
            if let Some(Dss { data_ack: Some(ack), .. }) = &mut segment.dss {
                *ack = u64::from((*ack as u32).wrapping_sub(back as u32));
            }
        }
        if self.tells(WINDOW) {
            segment.window = self.number() as u16;
        }
        if self.tells(SACK) && segment.options_len() <= 20 {
            let mut blocks = SackBlocks::default();
            for _ in 0..=self.rng.below(2) {
                let left = segment.ack.wrapping_add(self.number() as u32);
                blocks.push(left, left.wrapping_add(self.number() as u32));
            }
            segment.sack = blocks;
        }
        if self.tells(MAPPING) {
            self.wrong_mapping(segment);
        }
        if self.tells(DATA_FIN) {
            let mut dss = segment.dss.unwrap_or_default();
            dss.data_fin = true;
            let dsn = self.number();
            dss.mapping.get_or_insert(Mapping { dsn, ssn: 0, len: 1, checksum: None });
            segment.dss = Some(dss);
        }
        if self.tells(SIGNALS) && segment.signal.is_none() && segment.options_len() <= 20 {
            segment.signal = Some(self.any_signal());
        }
        if self.tells(CLOCK)
            && let Some(mut clock) = segment.timestamps
        {
            clock.value = clock.value.wrapping_add(self.number() as u32).wrapping_sub(10_000);
            clock.echo = clock.echo.wrapping_add(self.number() as u32).wrapping_sub(10_000);
            segment.timestamps = Some(clock);
        }
        if self.tells(FLAGS) {
            let flag = [Flags::FIN, Flags::RST, Flags::SYN, Flags::PSH][self.rng.below(4) as usize];
            segment.flags = segment.flags.with(flag);
        }
        if self.tells(REPORT) {
            self.wrong_report(segment);
        }
        let bare = segment.payload.len == 0 && !segment.flags.has(Flags::FIN);
        if bare && self.tells(AGAIN) { 4 } else { 1 }
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
        let room = segment.options_len() <= 32;
        let Some(RecOption::Report(report)) = &mut segment.rec else { return };
        match self.rng.below(4) {
            0 => report.rate = n,
            1 => report.clock = report.clock.wrapping_add(n),
            2 => report.path = n as u8,
            _ if room => _ = report.blocks.push(n, self.rng.below(3000) as u32),
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
