//! `when-needed`: cellular paths are backup, and regular only while the other paths carry less than
//! the device's applications demand.
//!
//! A virtual queue estimates the data that has not arrived yet. Costly paths become regular once
//! the preferred paths need longer than the deadline for it, and backup once they need half of it.
//! Model, sources of the defaults, figures and limits: `docs/design/when-needed.md`.

mod full_link;
mod policy;
mod stuck_paths;
mod virtual_queue;

use crate::registry::{parameters, text_name};
use crate::state::undivided;
use crate::{InterfaceKind, Policy, PolicyConfig, PolicyEntry, PolicyFactory};
use core::fmt::Write as _;
use policy::WhenNeededPolicy;
use quantities::{POSITIVE_RATE, POSITIVE_TIME, Quantities as _};
use schema::shape::{Key, Need, Shape};
use units::{Bitrate, Duration};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "when-needed",
    doc: "keeps cellular and satellite paths as backups while the others carry the demand of the applications",
    parameters: parameters("when-needed", &KEYS),
    positional: &[],
    configure: |fields| {
        let default = WhenNeeded::DEFAULT;
        let slack = fields.number("slack").unwrap_or(default.slack);
        let mut parameters = WhenNeeded { slack, enough: fields.rate("enough"), ..default };
        for (key, span) in parameters.spans_mut() {
            *span = fields.time(key).unwrap_or(*span);
        }
        PolicyConfig::from(parameters)
    },
};

const KEYS: [Key; 6] = [
    span(
        "deadline",
        "\"250ms\"",
        "For `when-needed`: time after which missing data has to arrive; cellular paths become regular if \
         the other paths need longer.",
        "\"500ms\"",
    ),
    span(
        "hold",
        "\"500ms\"",
        "For `when-needed`: time in which cellular paths have to reduce the missing data, before they \
         become backups again.",
        "\"1s\"",
    ),
    span(
        "memory",
        "\"10s\"",
        "For `when-needed`: time constant with which the estimated demand decays.",
        "\"30s\"",
    ),
    span(
        "queueing",
        "\"100ms\"",
        "For `when-needed`: increase of the round-trip time over its minimum that indicates a full link.",
        "\"50ms\"",
    ),
    Key {
        name: "slack",
        shape: Shape::Probability,
        need: Need::Default("0.05"),
        doc: "For `when-needed`: part of the demand by which a rate may be lower without missing data.",
        example: "0.1",
    },
    Key {
        name: "enough",
        shape: POSITIVE_RATE,
        need: Need::Absent("no limit"),
        doc: "For `when-needed`: upper limit of the estimated demand.",
        example: "\"8Mbps\"",
    },
];

const fn span(name: &'static str, default: &'static str, doc: &'static str, example: &'static str) -> Key {
    Key { name, shape: POSITIVE_TIME, need: Need::Default(default), doc, example }
}

/// The policy `when-needed`. A span shorter than the observation interval of 50 ms counts as one
/// interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WhenNeeded {
    /// Time after which missing data has to arrive. Costly paths become regular if the preferred
    /// paths need longer. A tail loss takes 200 ms and a round trip to recover, which is no
    /// shortage.
    pub deadline: Duration,
    /// Time in which costly paths have to reduce the missing data before they become backup again,
    /// and time constant of the mean rate of the preferred paths. A sender takes about five round
    /// trips from an idle congestion window to the rate of a stream.
    pub hold: Duration,
    /// Time constant with which the estimated demand decays, and time for which a demand that no
    /// paths meet is believed. Longer than a link takes to fade, or the demand would fade with it.
    pub memory: Duration,
    /// Increase of the round-trip time over its minimum that indicates a full link.
    pub queueing: Duration,
    /// Part of the demand by which a rate may be lower without missing data, from 0 to 1.
    pub slack: f64,
    /// Upper limit of the estimated demand; `None` without a limit. Set it for downloads, which
    /// take any rate there is and would keep costly paths regular all the time.
    pub enough: Option<Bitrate>,
}

impl WhenNeeded {
    /// The default parameters.
    pub const DEFAULT: Self = Self {
        deadline: Duration::from_millis(250),
        hold: Duration::from_millis(500),
        memory: Duration::from_secs(10),
        queueing: Duration::from_millis(100),
        slack: 0.05,
        enough: None,
    };

    /// The spans of time with their keys, in the order of [`KEYS`].
    fn spans_mut(&mut self) -> [(&'static str, &mut Duration); 4] {
        [
            ("deadline", &mut self.deadline),
            ("hold", &mut self.hold),
            ("memory", &mut self.memory),
            ("queueing", &mut self.queueing),
        ]
    }
}

impl Default for WhenNeeded {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl PolicyFactory for WhenNeeded {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn text(&self) -> String {
        let (mut this, mut default) = (*self, Self::DEFAULT);
        let spans = this.spans_mut().into_iter().zip(default.spans_mut()).zip(&KEYS);
        let mut text = ENTRY.name.to_owned();
        for (((_, span), (_, default)), key) in spans {
            if span != default {
                let _ = write!(text, ":{}={span}", text_name(key));
            }
        }
        if self.slack != Self::DEFAULT.slack {
            let _ = write!(text, ":slack={}", self.slack);
        }
        if let Some(rate) = self.enough {
            let _ = write!(text, ":enough={rate}");
        }
        text
    }

    fn idle_reason(&self, kinds: &[InterfaceKind]) -> Option<String> {
        undivided(kinds)
    }
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(WhenNeededPolicy::new(*self, kinds))
    }

    fn reads_round_trips(&self) -> bool {
        true
    }
}
