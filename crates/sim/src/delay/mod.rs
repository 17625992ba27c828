//! Delay of applications and head-of-line blocking. `docs/reference/output.md` defines them.

mod distribution;
mod head_of_line;

pub use distribution::{Cdf, Distribution, Samples};
pub use head_of_line::{HeadOfLineOutcome, WaitedFor};

pub(crate) use head_of_line::HeadOfLine;

use abr::Session;
use traffic::{Kind, Message};
use units::Instant;

/// Recorder of the delays of a connection's messages, and of their jitter.
#[derive(Debug, Clone, Default)]
pub struct DelayRecorder {
    delay: Samples,
    jitter: Samples,
    /// Delay of the preceding message, in nanoseconds.
    last: Option<u64>,
}

impl DelayRecorder {
    /// A message was read completely at `now`.
    pub fn on_read(&mut self, now: Instant, message: Message) {
        self.add(now.since(message.written).as_nanos());
    }

    /// Adds a delay in nanoseconds, in the order in which the messages were written.
    pub(crate) fn add(&mut self, delay: u64) {
        self.delay.add(delay);
        if let Some(last) = self.last.replace(delay) {
            // RFC 3393's ipdv, and D of RFC 3550, section 6.4.1.
            self.jitter.add(delay.abs_diff(last));
        }
    }

    /// Number of messages so far, and the sum of their delays in nanoseconds.
    pub fn totals(&self) -> (u64, u128) {
        self.delay.totals()
    }

    /// Distributions of delay and jitter.
    pub fn outcome(&self) -> [Distribution; 2] {
        [self.delay.distribution(), self.jitter.distribution()]
    }
}

/// Distributions of delay and jitter of a video session: from the request of each segment to its
/// last byte.
pub fn video_delays(session: &Session) -> [Distribution; 2] {
    let mut recorder = DelayRecorder::default();
    for segment in &session.segments {
        recorder.add(segment.arrived.since(segment.asked).as_nanos());
    }
    recorder.outcome()
}

/// Message of a traffic kind, of which a delay is one sample.
pub fn message_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Cbr { .. } | Kind::OnOff { .. } | Kind::Vbr(_) => "packet",
        Kind::Bulk | Kind::File { .. } => "block",
        Kind::Video(_) => "segment",
    }
}
