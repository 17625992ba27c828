//! Operations that fail for a while: logged when they begin to fail and when they work again.

use std::collections::BTreeMap;
use std::fmt::Display;
use tracing::{info, warn};
use units::{Duration, Instant};

/// Minimum time between two warnings about one operation.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// Operations that fail or have failed, by name.
#[derive(Debug, Default)]
pub(super) struct Failures {
    operations: BTreeMap<&'static str, Failing>,
}

#[derive(Debug, Default)]
struct Failing {
    /// Time of the first failure; `None` while the operation works.
    since: Option<Instant>,
    text: String,
    last_warning: Option<Instant>,
    /// The present failure was logged.
    is_logged: bool,
}

impl Failures {
    /// The value of a successful operation. An error of `operation`, a verb phrase, is logged once
    /// for each of its texts, and so is the first success after it.
    pub(super) fn check<T, E: Display>(
        &mut self,
        now: Instant,
        operation: &'static str,
        result: Result<T, E>,
    ) -> Option<T> {
        match result {
            Ok(value) => {
                if let Some(known) = self.operations.get_mut(operation)
                    && let Some(since) = known.since.take()
                    && std::mem::take(&mut known.is_logged)
                {
                    info!("can {operation} again, after {}", now.since(since));
                }
                Some(value)
            }
            Err(error) => {
                let known = self.operations.entry(operation).or_default();
                known.since.get_or_insert(now);
                let text = error.to_string();
                let is_due = known.last_warning.is_none_or(|at| now.since(at) >= WARNING_INTERVAL);
                if is_due && (!known.is_logged || known.text != text) {
                    warn!("cannot {operation}, will try again: {text}");
                    known.last_warning = Some(now);
                    known.is_logged = true;
                }
                known.text = text;
                None
            }
        }
    }

    /// Descriptions of the present failures, for the status.
    pub(super) fn remarks(&self, now: Instant) -> impl Iterator<Item = String> {
        self.operations.iter().filter_map(move |(operation, failing)| {
            let lasting = now.since(failing.since?);
            Some(format!("cannot {operation} for {lasting}: {}", failing.text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_is_remarked_until_the_operation_works() {
        let mut failures = Failures::default();
        let fails = |failures: &mut Failures, at| {
            failures.check(Instant::from_secs(at), "write", Err::<(), _>("disk full"))
        };
        assert_eq!(fails(&mut failures, 1), None);
        assert_eq!(fails(&mut failures, 2), None);
        let remarks: Vec<_> = failures.remarks(Instant::from_secs(4)).collect();
        assert_eq!(remarks, ["cannot write for 3s: disk full"]);
        assert_eq!(failures.check(Instant::from_secs(5), "write", Ok::<_, String>(7)), Some(7));
        assert_eq!(failures.remarks(Instant::from_secs(5)).count(), 0);
    }
}
