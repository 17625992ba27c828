//! Span of log entries in a single pointer: without a subscriber there is none.

use tracing::{Id, Span};

/// Parent of log entries.
#[derive(Debug, Clone)]
pub(crate) struct Log(Option<Box<Span>>);

impl Log {
    pub(crate) fn new(span: Span) -> Self {
        Self((!span.is_disabled()).then(|| Box::new(span)))
    }
}

impl From<&Log> for Option<Id> {
    fn from(log: &Log) -> Self {
        log.0.as_ref()?.id()
    }
}
