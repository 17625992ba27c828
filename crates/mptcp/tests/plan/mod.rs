//! The plan of an adversarial connection: plain numbers drawn from a seed. A plan is written as one
//! line of text and parsed back, so that a failure can be shrunk and kept.
//!
//! Algorithms are written by name: a plan keeps its meaning when the registries change.
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
use tandem_mptcp::{Config, CongestionKind, EcnMode, HyStartMode, Keepalive, Rec, SchedulerKind};
use units::Duration;

/// Upper bound of the paths of a plan.
pub const PATHS: usize = 3;

/// Declares a struct of numbers, each with its neutral value. Only numbers that differ from it are
/// written, and shrinking moves towards it.
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
            /// Returns name, neutral value and place of each number.
            pub fn numbers(&mut self) -> Vec<(&'static str, u64, &mut u64)> {
                vec![$((stringify!($field), $default, &mut self.$field),)*]
            }
        }
    };
}

numbers! {
    /// Numbers of the whole connection.
    Connection {
        /// Seed of the network's random events and of the ends' keys.
        seed: 0,
        paths: 1,
        /// The end that lies: 1 for the client, 2 for the server.
        liar: 0,
        /// Bits of `pair::lies`.
        lies: 0,
        /// Lies per thousand segments.
        lie_rate: 0,
    }
}

numbers! {
    /// Faults of one path, in both directions. Times in milliseconds.
    PathPlan {
        delay: 10,
        jitter: 0,
        /// Losses per ten thousand packets; so are all other rates here.
        loss: 0,
        duplicate: 0,
        /// ECN marks, if the sender supports ECN.
        mark: 0,
        /// Bit errors, found by the TCP checksum: as good as losses.
        corrupt: 0,
        /// Two outages: start and duration.
        outage: 0,
        outage_for: 0,
        second_outage: 0,
        second_outage_for: 0,
        /// The path is dead from then on; 0 for never.
        dead_from: 0,
        /// TCP options are stripped: 1 from SYNs, 2 from all but SYNs, 3 from all, 4 from data
        /// segments.
        strip: 0,
        /// Options to strip: 0 for the MPTCP options, else an index into `Options::NAMES`.
        strip_what: 0,
        /// Segments with the options are dropped instead.
        strip_drop: 0,
        /// Direction: 1 from the client, 2 from the server, 3 both.
        strip_way: 3,
        strip_from: 0,
        strip_until: 0,
        /// Segments are split into pieces of so many bytes, which all keep the options.
        split: 0,
        /// Segments are coalesced up to so many bytes, held for at most `merge_hold`; the options
        /// of the first are kept.
        merge: 0,
        merge_hold: 0,
        /// Offset added to sequence numbers; `rewrite_not_sack` leaves SACK blocks unchanged.
        rewrite: 0,
        rewrite_down: 0,
        rewrite_not_sack: 0,
        /// Idle timeout of a NAT, and its behaviour then: 0 maps as before, 1 maps to another port,
        /// 2 sends a reset, 3 drops all but SYNs.
        forget: 0,
        forget_how: 0,
        /// Payload changes with a corrected TCP checksum.
        fake: 0,
    }
}

numbers! {
    /// One end and its application. Times in milliseconds.
    EndPlan {
        /// Bytes to write.
        write: 0,
        /// Time of the close: 0 once all is written, else no earlier than this. 1,000,000 closes
        /// after everything else has happened.
        close: 0,
        /// Bytes read every `read_interval`; 0 reads everything at once.
        read_bytes: 0,
        read_interval: 100,
        tcp_only: 0,
        checksum: 0,
        deny_join: 0,
        /// 0 for no limit.
        max_subflows: 0,
        /// Place in `SchedulerKind::ALL`; written by name.
        scheduler: 0,
        /// Place in `CongestionKind::ALL`; written by name.
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
        /// In seconds.
        max_rto: 5,
        rack: 0,
        dsack: 0,
        prr: 0,
        frto: 0,
        undo: 0,
        /// 1 for the original, 2 for RFC 9406.
        hystart: 0,
        /// 1 to accept, 2 to request.
        ecn: 0,
        pacing: 0,
        /// Initial receive buffer in bytes.
        autotune: 0,
        /// In seconds.
        keepalive: 0,
        /// In seconds.
        close_timeout: 0,
        paws: 0,
        challenge_acks: 0,
        quickack: 0,
        /// Settings that have no number here are those of Linux.
        linux: 0,
        /// MPTCP-rec bits: 1 NR-SACK, 2 rates, 4 path choice, 8 offered without any of these, 16
        /// rounds as the clock, 32 the weighed choice.
        rec: 0,
    }
}

/// An action of the application or the path manager of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// In milliseconds.
    pub at: u64,
    pub kind: ActionKind,
    /// 0 for the client, 1 for the server.
    pub end: usize,
    pub path: u8,
    pub flag: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    Open,
    Remove,
    Priority,
    Shares,
    Announce,
    Close,
    Abort,
}

impl ActionKind {
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
    pub connection: Connection,
    pub paths: [PathPlan; PATHS],
    pub ends: [EndPlan; 2],
    pub actions: Vec<Action>,
}

impl Plan {
    /// Returns all numbers under their full names.
    pub fn numbers(&mut self) -> Vec<(String, u64, &mut u64)> {
        let mut all = Vec::new();
        for (name, neutral, place) in self.connection.numbers() {
            all.push((name.to_owned(), neutral, place));
        }
        for (i, path) in self.paths.iter_mut().enumerate() {
            for (name, neutral, place) in path.numbers() {
                all.push((format!("path{i}.{name}"), neutral, place));
            }
        }
        for (owner, end) in ["client", "server"].into_iter().zip(&mut self.ends) {
            for (name, neutral, place) in end.numbers() {
                all.push((format!("{owner}.{name}"), neutral, place));
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
            scheduler: SchedulerKind::ALL[plan.scheduler as usize].into(),
            congestion: CongestionKind::ALL[plan.congestion as usize].into(),
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
            hystart: [HyStartMode::Off, HyStartMode::Original, HyStartMode::Rfc9406]
                [plan.hystart as usize % 3],
            ecn: [EcnMode::Off, EcnMode::Accept, EcnMode::Request][plan.ecn as usize % 3],
            pacing: plan.pacing > 0,
            autotune: (plan.autotune > 0).then_some(plan.autotune),
            keepalive: (plan.keepalive > 0).then(|| Keepalive {
                idle: Duration::from_secs(plan.keepalive),
                interval: Duration::from_secs(1),
                // The worst networks lose nine probes or answers in a row once in half a million
                // plans.
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
            ..if plan.linux > 0 { Config::linux() } else { Config::default() }
        }
    }

    pub fn count(&self) -> usize {
        (self.connection.paths as usize).clamp(1, PATHS)
    }

    fn has(&self, kind: ActionKind) -> bool {
        self.actions.iter().any(|action| action.kind == kind)
    }

    /// Returns true if nothing in the plan may cost the connection: every byte must be delivered.
    pub fn must_succeed(&self) -> bool {
        let paths = &self.paths[..self.count()];
        // A middlebox that starts or stops midway, or works in one direction only, may cost a
        // connection.
        let steady = |p: &PathPlan| {
            let always = p.strip_from == 0 && p.strip_until == 0 && p.strip_way == 3 && p.strip_drop == 0;
            let strips = p.strip == 0 || always && (p.strip == 1 || p.strip == 3 && p.strip_what == 0);
            strips && p.dead_from == 0 && p.forget == 0 && p.merge == 0 && p.fake == 0
        };
        paths.iter().all(steady)
            && (self.connection.liar == 0 || self.connection.lies & !lies::HARMLESS == 0)
            && self.ends.iter().all(|e| e.max_retries >= 100)
            && !self.has(ActionKind::Abort)
            && !self.has(ActionKind::Remove)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plan = self.clone();
        let count = plan.count();
        let mut words = Vec::new();
        for (name, neutral, value) in plan.numbers() {
            let is_used = !(count..PATHS).any(|i| name.starts_with(&format!("path{i}.")));
            if *value != neutral && is_used {
                words.push(format!("{name}={}", value_text(&name, *value)));
            }
        }
        for action in &self.actions {
            let Action { at, kind, end, path, flag } = *action;
            words.push(format!("do={at}:{}:{end}:{path}:{}", kind.name(), u8::from(flag)));
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
                plan.actions
                    .push(parse_action(value).ok_or(format!("{word}: not do=at:kind:end:path:flag"))?);
                continue;
            }
            let number = parse_value(name, value).map_err(|error| format!("{word}: {error}"))?;
            let mut numbers = plan.numbers();
            let place = numbers.iter_mut().find(|(known, ..)| known == name);
            *place.ok_or(format!("{word}: unknown name"))?.2 = number;
        }
        Ok(plan)
    }
}

/// Writes the value of `name`: algorithms by name, all others as numbers.
fn value_text(name: &str, value: u64) -> String {
    let place = value as usize;
    if name.ends_with(".scheduler") {
        SchedulerKind::ALL[place].name().to_owned()
    } else if name.ends_with(".congestion") {
        CongestionKind::ALL[place].name().to_owned()
    } else {
        value.to_string()
    }
}

fn parse_value(name: &str, text: &str) -> Result<u64, String> {
    let place = if name.ends_with(".scheduler") {
        SchedulerKind::ALL.iter().position(|kind| kind.name() == text).ok_or("no such scheduler")?
    } else if name.ends_with(".congestion") {
        CongestionKind::ALL.iter().position(|kind| kind.name() == text).ok_or("no such congestion control")?
    } else {
        return text.parse().map_err(|_| "not a number".to_owned());
    };
    Ok(place as u64)
}

fn parse_action(text: &str) -> Option<Action> {
    let mut parts = text.split(':');
    let at = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let kind = ActionKind::ALL.into_iter().find(|kind| kind.name() == name)?;
    let end = parts.next()?.parse().ok().filter(|&end| end < 2)?;
    let path = parts.next()?.parse().ok()?;
    let flag = parts.next()? == "1";
    Some(Action { at, kind, end, path, flag })
}
