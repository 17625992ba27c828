//! The paper's rows with other queues and with a buffer for the whole video.

use super::calibration::Calibration;
use super::model::{QUEUE, Setup};
use super::paper::{Access, DURATION_S};
use super::reproduce::Reproduction;
use link::QueueLimit;
use mptcp::SchedulerKind;
use units::Duration;

/// Queues before the links beside the model's own. The paper does not give it.
pub const QUEUES: [QueueLimit; 4] = [
    QueueLimit::Time(Duration::from_millis(50)),
    QueueLimit::Time(Duration::from_millis(200)),
    QueueLimit::Packets(50),
    QueueLimit::Packets(200),
];

/// A buffer of the player that holds the whole video: the "offline feature" of the paper.
const WHOLE_VIDEO: Duration = Duration::from_secs(DURATION_S + 4);

/// Parameters of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Model {
    pub(super) queue: QueueLimit,
    pub(super) calibration: Calibration,
}

impl Model {
    /// All variants: each queue, then the whole video's buffer.
    pub(super) fn all(calibration: &Calibration) -> Vec<Self> {
        let queues = QUEUES.map(|queue| Self { queue, calibration: *calibration });
        let whole = Self { queue: QUEUE, calibration: Calibration { buffer: WHOLE_VIDEO, ..*calibration } };
        [&queues[..], &[whole]].concat()
    }
}

/// The setups of Table III.
pub(super) fn printed_setups() -> Vec<Setup> {
    Access::ALL.map(|access| Setup::plain(access, SchedulerKind::MinRtt)).to_vec()
}

/// The paper's rows with other parameters; empty if they were not run.
#[derive(Debug, Clone, Default)]
pub struct Variants {
    /// With each of [`QUEUES`].
    pub queues: Vec<(QueueLimit, Reproduction)>,
    /// With a buffer for the whole video.
    pub whole_video: Option<Box<Reproduction>>,
}

impl Variants {
    /// Sorts the results of [`Model::all`]; `buffer` is the model's own.
    pub(super) fn new(results: Vec<(QueueLimit, Reproduction)>, buffer: Duration) -> Self {
        let (queues, whole): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|(_, result)| result.calibration.buffer == buffer);
        let whole_video = whole.into_iter().next().map(|(_, result)| Box::new(result));
        Self { queues, whole_video }
    }
}

impl Reproduction {
    /// Lowest and highest value over the queues, the model's own among them; `None` without other
    /// queues.
    pub fn band(&self, of: impl Fn(&Self) -> f64) -> Option<(f64, f64)> {
        if self.variants.queues.is_empty() {
            return None;
        }
        let others = self.variants.queues.iter().map(|(_, result)| of(result));
        let own = of(self);
        Some(others.fold((own, own), |(low, high), value| (low.min(value), high.max(value))))
    }
}
