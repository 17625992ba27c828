//! Usage of all allowances, kept in the state directory.

use super::{Allowance, Usage, Zone};
use crate::Error;
use crate::config::InterfaceRule;
use crate::store::Store;
use std::collections::BTreeMap;
use std::rc::Rc;
use tracing::{info, warn};
use units::{Bitrate, Bytes, Duration, Instant};

/// File name in the state directory.
const FILE_NAME: &str = "allowances.json";
/// Minimum interval between writes. A power failure loses at most this much; after a crash of the
/// agent the kernel's counters supply the difference.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// Usage of every rule with an allowance.
#[derive(Debug)]
pub struct UsageStore {
    boot: String,
    zone: Zone,
    /// Keyed by the pattern of the rule.
    usages: BTreeMap<String, Usage>,
    /// There are unsaved changes.
    changed: bool,
    saved: Option<Instant>,
    store: Option<Rc<Store>>,
}

impl UsageStore {
    /// Loads the stored usage.
    ///
    /// # Errors
    /// Fails when the file cannot be read. Invalid content is renamed and replaced.
    pub fn open(boot: String, zone: Zone, store: Option<Rc<Store>>) -> Result<Self, Error> {
        let kept = store.as_ref().map(|store| store.read(FILE_NAME)).transpose();
        let kept = kept.map_err(|error| Error::state(FILE_NAME, error))?.flatten();
        let usages = match kept.map(|bytes| Self::parse(&bytes)) {
            Some(Ok(usages)) => usages,
            Some(Err(why)) => {
                warn!("cannot read the stored usage ({why}): counting restarts; the file was renamed");
                if let Some(store) = &store {
                    store.rename_unreadable(FILE_NAME);
                }
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        };
        Ok(Self { boot, zone, usages, changed: false, saved: None, store })
    }

    /// Parses the stored form.
    ///
    /// # Errors
    /// Returns a description of the defect.
    pub fn parse(bytes: &[u8]) -> Result<BTreeMap<String, Usage>, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// Counts a counter reading of an interface at `now`, in seconds since 1970.
    pub fn count(&mut self, rule: &InterfaceRule, now: i64, name: &str, index: u32, bytes: u64) {
        let Some(allowance) = &rule.allowance else { return };
        let usage = self.usages.entry(rule.pattern.clone()).or_default();
        let before = (usage.used, usage.period, usage.seen.len());
        usage.count(&self.boot, name, index, bytes);
        if usage.advance(allowance, now, self.zone) {
            info!(interfaces = rule.pattern, "a new {} of the allowance starts", allowance.period.name());
        }
        self.changed |= before != (usage.used, usage.period, usage.seen.len());
    }

    /// Allowance and usage of a rule; `None` without an allowance.
    pub fn of<'a>(&'a self, rule: &'a InterfaceRule) -> Option<(&'a Allowance, &'a Usage)> {
        rule.allowance.as_ref().zip(self.usages.get(&rule.pattern))
    }

    /// Remaining allowance; `None` without a limit.
    pub fn remaining(&self, rule: &InterfaceRule) -> Option<Bytes> {
        self.of(rule).map(|(allowance, usage)| usage.remaining(allowance))
    }

    /// True when the allowance is used up at this rate, see [`Usage::is_used_up`].
    pub fn is_used_up(&self, rule: &InterfaceRule, rate: Bitrate) -> bool {
        self.of(rule).is_some_and(|(allowance, usage)| usage.is_used_up(allowance, rate))
    }

    /// Start of the next period, in seconds since 1970.
    pub fn next_period(&self, rule: &InterfaceRule) -> Option<i64> {
        self.of(rule).map(|(allowance, usage)| allowance.period.next(usage.period, self.zone))
    }

    /// Saves changes when the save interval has passed, or at once if `urgent`.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn save(&mut self, now: Instant, urgent: bool) -> Result<(), Error> {
        let due = self.saved.is_none_or(|at| now.since(at) >= SAVE_INTERVAL);
        if let Some(store) = &self.store
            && self.changed
            && (due || urgent)
        {
            let bytes = serde_json::to_vec(&self.usages).unwrap_or_default();
            store.write(FILE_NAME, &bytes).map_err(|error| Error::state(FILE_NAME, error))?;
            self.changed = false;
            self.saved = Some(now);
        }
        Ok(())
    }
}
