//! `when-needed`: cellular paths are backup, and regular only while the other paths carry less than
//! the device's applications demand.
//!
//! The demand is estimated from the byte counters of the interfaces: the rate that arrived before.
//! The stream is late by its estimated backlog over that rate.
//!
//! Parameters (spans of time, but for `enough`): `late`, `hold`, `longest_hold`, `memory`,
//! `queueing`, `silent`, `standby`, `enough` (a rate); [`WhenNeeded`] documents them. Model,
//! reasons, bounds and limits: `docs/design/when-needed.md`.

mod balance;
mod demand;
mod policy;
mod queue;
mod silent_paths;
mod standby;

use crate::registry::{parameters, text_name};
use crate::{InterfaceKind, Policy, PolicyConfig, PolicyEntry, PolicyFactory};
use core::fmt::Write as _;
use policy::WhenNeededPolicy;
use quantities::{POSITIVE_RATE, POSITIVE_TIME, Quantities as _};
use schema::shape::{Key, Need};
use units::{Bitrate, Duration};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "when-needed",
    doc: "keeps cellular and satellite paths as backups while the others carry the demand of the applications",
    parameters: parameters("when-needed", &KEYS),
    positional: &[],
    configure: |fields| {
        let mut parameters = WhenNeeded { enough: fields.rate("enough"), ..WhenNeeded::DEFAULT };
        for (key, span) in parameters.spans_mut() {
            *span = fields.time(key).unwrap_or(*span);
        }
        PolicyConfig::from(parameters)
    },
};

const KEYS: [Key; 8] = [
    span(
        "late",
        "\"250ms\"",
        "For `when-needed`: lateness of the stream at which cellular paths become regular. A shorter time \
         wakes them for a hiccup, a longer one lets playback buffers run empty.",
        "\"500ms\"",
    ),
    span("hold", "\"500ms\"", "For `when-needed`: minimum time for which they stay regular.", "\"1s\""),
    span(
        "longest_hold",
        "\"4s\"",
        "For `when-needed`: maximum time for which they stay regular before the policy tests again whether \
         the other paths suffice, after failed tests.",
        "\"10s\"",
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
    span(
        "silent",
        "\"250ms\"",
        "For `when-needed`: time for which the other paths may carry nothing while cellular paths are \
         regular, before their subflows are closed and opened again.",
        "\"1s\"",
    ),
    span(
        "standby",
        "\"5s\"",
        "For `when-needed`: time for which idle cellular paths stay backups after they carried too much, \
         before their subflows are closed: a peer may use a backup on its own account.",
        "\"1h\"",
    ),
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

/// The policy `when-needed`. A span shorter than the observation interval of 100 ms counts as one
/// interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WhenNeeded {
    /// Lateness of the stream at which costly paths become regular. With a shorter one a hiccup
    /// wakes them, with a longer one playback buffers run empty; below 200 ms it reacts to single
    /// packets.
    pub late: Duration,
    /// Minimum time for which costly paths stay regular. Sender and path take about two round trips
    /// to answer a change of priority, and a shorter switch has no effect.
    pub hold: Duration,
    /// Maximum time for which they stay regular, after failed probes, before the next probe.
    pub longest_hold: Duration,
    /// Time constant with which the demand decays while less arrives. Longer than a link takes to
    /// fade, or the demand would fade with it.
    pub memory: Duration,
    /// Increase of the round-trip time over its minimum that indicates a full link.
    pub queueing: Duration,
    /// Time for which preferred paths may be silent while costly ones are regular, before their
    /// subflows are closed and opened again.
    pub silent: Duration,
    /// Time for which idle costly paths stay backups after they carried too much, before their
    /// subflows are closed.
    pub standby: Duration,
    /// Upper limit of the estimated demand; `None` without a limit. Set it for downloads, which
    /// take any rate there is and would keep costly paths regular all the time.
    pub enough: Option<Bitrate>,
}

impl WhenNeeded {
    /// The default parameters.
    pub const DEFAULT: Self = Self {
        late: Duration::from_millis(250),
        hold: Duration::from_millis(500),
        longest_hold: Duration::from_secs(4),
        memory: Duration::from_secs(10),
        queueing: Duration::from_millis(100),
        silent: Duration::from_millis(250),
        standby: Duration::from_secs(5),
        enough: None,
    };

    /// The spans of time with their keys, in the order of [`KEYS`].
    fn spans_mut(&mut self) -> [(&'static str, &mut Duration); 7] {
        [
            ("late", &mut self.late),
            ("hold", &mut self.hold),
            ("longest_hold", &mut self.longest_hold),
            ("memory", &mut self.memory),
            ("queueing", &mut self.queueing),
            ("silent", &mut self.silent),
            ("standby", &mut self.standby),
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
        if let Some(rate) = self.enough {
            let _ = write!(text, ":enough={rate}");
        }
        text
    }

    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(WhenNeededPolicy::new(*self, kinds))
    }

    fn reads_round_trips(&self) -> bool {
        true
    }
}
