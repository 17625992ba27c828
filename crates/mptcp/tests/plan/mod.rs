//! What an adversary does to one connection: plain numbers, drawn from a seed, written as one line
//! of text and read back, so that a failure can be made smaller and kept.
#![allow(dead_code, missing_docs, unreachable_pub)]

mod draw;
mod play;
mod shrink;

pub use play::{Outcome, play, set_up};
pub use shrink::{caught, smallest, smallest_by};

use crate::pair::lies;
use std::fmt;
use std::str::FromStr;
use tandem_mptcp::rec::{Removal, RoundTrip};
use tandem_mptcp::{Config, CongestionKind, EcnMode, Keepalive, Rec, SchedulerKind};
use units::Duration;

/// The most paths that a plan may have.
pub const PATHS: usize = 3;

/// A struct of numbers, each with the value that means "nothing unusual": only what differs is
/// written, and shrinking goes there.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }
        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
        impl $name {
            /// Name, usual value and place of each number.
            pub fn numbers(&mut self) -> Vec<(&'static str, u64, &mut u64)> {
                vec![$((stringify!($field), $default, &mut self.$field),)*]
            }
        }
    };
}

numbers! {
    /// The connection as a whole.
    Whole {
        /// Of the network's own chances, and of the ends' keys.
        seed: 0,
        paths: 1,
        /// Which end lies: 1 the client, 2 the server.
        liar: 0,
        /// How: bits, see `pair::lies`.
        lies: 0,
        /// Of a thousand segments so many.
        lies_often: 0,
    }
}

numbers! {
    /// What one path does to packets, in both directions. Times in milliseconds.
    PathPlan {
        delay: 10,
        jitter: 0,
        /// Of ten thousand packets so many.
        loss: 0,
        duplicate: 0,
        /// Marked as having met congestion, where the sender takes marks.
        mark: 0,
        /// Bits flipped on the way: seen by the TCP checksum, so as good as lost.
        corrupt: 0,
        /// Two outages: from when, and how long.
        dark: 0,
        dark_for: 0,
        dusk: 0,
        dusk_for: 0,
        /// Nothing passes from then on; 0 is never.
        wall: 0,
        /// Options are taken off: 1 SYNs, 2 all but SYNs, 3 all, 4 those with data.
        strip: 0,
        /// Which: 0 those of MPTCP, else one of `Options::NAMES`.
        strip_what: 0,
        /// What has them is dropped.
        strip_drop: 0,
        /// 1 of what the client sends, 2 of what the server sends, 3 both.
        strip_way: 3,
        strip_from: 0,
        strip_until: 0,
        /// Payload is cut into pieces of so many bytes; all keep the options.
        split: 0,
        /// Segments are joined up to so many bytes and for so long; the options of the first are kept.
        merge: 0,
        merge_hold: 0,
        /// Added to sequence numbers, and whether SACK blocks are left as they are.
        rewrite: 0,
        rewrite_down: 0,
        rewrite_not_sack: 0,
        /// An address translator forgets after so long a silence, and what it does then: 0 a mapping
        /// as before, 1 with another port, 2 a reset, 3 nothing passes but a SYN.
        forget: 0,
        forget_how: 0,
        /// Of ten thousand packets so many have other bytes and a checksum that is right again.
        fake: 0,
    }
}

numbers! {
    /// One end and the application on it. Times in milliseconds.
    EndPlan {
        /// Bytes to write.
        write: 0,
        /// It closes: 0 when all is written, else at this time if that is later. 1,000,000 is never,
        /// before all else has been done.
        close: 0,
        /// It reads so many bytes each `every` ms; 0 all at once.
        bite: 0,
        every: 100,
        tcp_only: 0,
        checksum: 0,
        deny_join: 0,
        /// 0 is no limit.
        max_subflows: 0,
        scheduler: 0,
        congestion: 0,
        mss: 1460,
        send_buffer: 4 << 20,
        recv_buffer: 4 << 20,
        subflow_buffer: 0,
        opportunistic: 0,
        penalise: 0,
        no_sack: 0,
        no_timestamps: 0,
        delayed_ack: 40,
        initial_window: 10,
        stale_after: 1,
        max_retries: 100,
        /// Seconds.
        max_rto: 5,
        rack: 0,
        dsack: 0,
        prr: 0,
        frto: 0,
        undo: 0,
        hystart: 0,
        /// 1 accepts, 2 requests.
        ecn: 0,
        pacing: 0,
        /// From so many bytes.
        autotune: 0,
        /// Seconds.
        keepalive: 0,
        /// Seconds.
        close_timeout: 0,
        paws: 0,
        challenge_acks: 0,
        quickack: 0,
        /// MPTCP-rec: 1 NR-SACK, 2 rates, 4 path choice, 8 offered in any case, 16 rounds as the clock, 32 the
        /// weighed choice.
        rec: 0,
    }
}

/// What the owner of an end does at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deed {
    /// Milliseconds.
    pub at: u64,
    pub what: What,
    /// 0 the client, 1 the server.
    pub end: usize,
    pub path: u8,
    pub yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Open,
    Remove,
    Priority,
    Shares,
    Announce,
    Close,
    Abort,
}

impl What {
    pub const ALL: [Self; 7] =
        [Self::Open, Self::Remove, Self::Priority, Self::Shares, Self::Announce, Self::Close, Self::Abort];
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Remove => "remove",
            Self::Priority => "priority",
            Self::Shares => "shares",
            Self::Announce => "announce",
            Self::Close => "close",
            Self::Abort => "abort",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub whole: Whole,
    pub paths: [PathPlan; PATHS],
    pub ends: [EndPlan; 2],
    pub deeds: Vec<Deed>,
}

impl Plan {
    /// All numbers under their full names.
    pub fn numbers(&mut self) -> Vec<(String, u64, &mut u64)> {
        let mut all = Vec::new();
        for (name, usual, place) in self.whole.numbers() {
            all.push((name.to_owned(), usual, place));
        }
        for (i, path) in self.paths.iter_mut().enumerate() {
            for (name, usual, place) in path.numbers() {
                all.push((format!("path{i}.{name}"), usual, place));
            }
        }
        for (owner, end) in ["client", "server"].into_iter().zip(&mut self.ends) {
            for (name, usual, place) in end.numbers() {
                all.push((format!("{owner}.{name}"), usual, place));
            }
        }
        all
    }

    pub fn config(&self, end: usize) -> Config {
        let plan = &self.ends[end];
        let ms = Duration::from_millis;
        Config {
            mptcp: plan.tcp_only == 0,
            checksum: plan.checksum > 0,
            deny_join: plan.deny_join > 0,
            max_subflows: if plan.max_subflows == 0 { u8::MAX } else { plan.max_subflows as u8 },
            mss: plan.mss as u16,
            send_buffer: plan.send_buffer,
            recv_buffer: plan.recv_buffer,
            subflow_buffer: if plan.subflow_buffer == 0 { u64::MAX } else { plan.subflow_buffer },
            opportunistic: plan.opportunistic > 0,
            penalise: plan.penalise > 0,
            scheduler: SchedulerKind::ALL[plan.scheduler as usize % SchedulerKind::ALL.len()],
            congestion: CongestionKind::ALL[plan.congestion as usize % CongestionKind::ALL.len()],
            sack: plan.no_sack == 0,
            timestamps: plan.no_timestamps == 0,
            delayed_ack: ms(plan.delayed_ack),
            initial_window: plan.initial_window as u32,
            stale_after: plan.stale_after as u32,
            max_retries: plan.max_retries as u32,
            max_rto: Duration::from_secs(plan.max_rto),
            rack: plan.rack > 0,
            dsack: plan.dsack > 0,
            prr: plan.prr > 0,
            frto: plan.frto > 0,
            undo: plan.undo > 0,
            hystart: plan.hystart > 0,
            ecn: [EcnMode::Off, EcnMode::Accept, EcnMode::Request][plan.ecn as usize % 3],
            pacing: plan.pacing > 0,
            autotune: (plan.autotune > 0).then_some(plan.autotune),
            keepalive: (plan.keepalive > 0).then(|| Keepalive {
                idle: Duration::from_secs(plan.keepalive),
                interval: Duration::from_secs(1),
                // Nine with their answers are all lost once in half a million of the worst networks.
                probes: 30,
            }),
            close_timeout: (plan.close_timeout > 0).then(|| Duration::from_secs(plan.close_timeout)),
            paws: plan.paws > 0,
            challenge_acks: plan.challenge_acks > 0,
            quickack: plan.quickack > 0,
            rec: (plan.rec > 0).then(|| Rec {
                nr_sack: plan.rec & 1 > 0,
                rates: plan.rec & 2 > 0,
                path_choice: plan.rec & 4 > 0,
                round_trip: if plan.rec & 16 > 0 { RoundTrip::Rounds } else { RoundTrip::Echo },
                removal: if plan.rec & 32 > 0 { Removal::Weighed } else { Removal::Worst },
                ..Rec::default()
            }),
            ..Config::default()
        }
    }

    pub fn count(&self) -> usize {
        (self.whole.paths as usize).clamp(1, PATHS)
    }

    fn has(&self, what: What) -> bool {
        self.deeds.iter().any(|deed| deed.what == what)
    }

    /// Nothing in it can take the connection away: it must end with every byte delivered.
    pub fn must_succeed(&self) -> bool {
        let paths = &self.paths[..self.count()];
        // A middlebox that changes its ways midway, or knows only one direction, may cost a connection.
        let steady = |p: &PathPlan| {
            let always = p.strip_from == 0 && p.strip_until == 0 && p.strip_way == 3 && p.strip_drop == 0;
            let strips = p.strip == 0 || always && (p.strip == 1 || p.strip == 3 && p.strip_what == 0);
            strips && p.wall == 0 && p.forget == 0 && p.merge == 0 && p.fake == 0
        };
        paths.iter().all(steady)
            && (self.whole.liar == 0 || self.whole.lies & !lies::HARMLESS == 0)
            && self.ends.iter().all(|e| e.max_retries >= 100)
            && !self.has(What::Abort)
            && !self.has(What::Remove)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plan = self.clone();
        let count = plan.count();
        let mut words = Vec::new();
        for (name, usual, value) in plan.numbers() {
            let there = !(count..PATHS).any(|i| name.starts_with(&format!("path{i}.")));
            if *value != usual && there {
                words.push(format!("{name}={value}"));
            }
        }
        for deed in &self.deeds {
            let Deed { at, what, end, path, yes } = *deed;
            words.push(format!("do={at}:{}:{end}:{path}:{}", what.name(), u8::from(yes)));
        }
        f.write_str(&words.join(" "))
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut plan = Self::default();
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').ok_or(format!("{word}: not name=value"))?;
            if name == "do" {
                plan.deeds.push(deed(value).ok_or(format!("{word}: not do=at:what:end:path:yes"))?);
                continue;
            }
            let number = value.parse().map_err(|_| format!("{word}: not a number"))?;
            let mut numbers = plan.numbers();
            let place = numbers.iter_mut().find(|(known, ..)| known == name);
            *place.ok_or(format!("{word}: no such name"))?.2 = number;
        }
        Ok(plan)
    }
}

fn deed(text: &str) -> Option<Deed> {
    let mut parts = text.split(':');
    let at = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let what = What::ALL.into_iter().find(|what| what.name() == name)?;
    let end = parts.next()?.parse().ok().filter(|&end| end < 2)?;
    let path = parts.next()?.parse().ok()?;
    let yes = parts.next()? == "1";
    Some(Deed { at, what, end, path, yes })
}
