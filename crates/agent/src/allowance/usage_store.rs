//! What all allowances have left, and where it is kept.

use super::{Allowance, Usage, Zone};
use crate::Error;
use crate::config::InterfaceRule;
use crate::store::Store;
use std::collections::BTreeMap;
use std::rc::Rc;
use tracing::{info, warn};
use units::{Bitrate, Bytes, Duration, Instant};

/// The file's name in the state directory.
const FILE: &str = "allowances.json";
/// So often it is written at most. What is carried between two writes is lost only where the machine itself
/// goes down: the kernel's counters outlive the agent.
const SAVE: Duration = Duration::from_secs(5);

/// The usage of every rule that has an allowance.
#[derive(Debug)]
pub struct UsageStore {
    boot: String,
    zone: Zone,
    /// By the rule's pattern.
    usages: BTreeMap<String, Usage>,
    /// Since when there is something to write.
    changed: bool,
    saved: Option<Instant>,
    store: Option<Rc<Store>>,
}

impl UsageStore {
    /// What was kept, or nothing yet.
    ///
    /// # Errors
    /// Where the file cannot be read; one that makes no sense is set aside.
    pub fn open(boot: String, zone: Zone, store: Option<Rc<Store>>) -> Result<Self, Error> {
        let kept = store.as_ref().map(|store| store.read(FILE)).transpose();
        let kept = kept.map_err(|error| Error::state(FILE, error))?.flatten();
        let usages = match kept.map(|bytes| Self::parse(&bytes)) {
            Some(Ok(usages)) => usages,
            Some(Err(why)) => {
                warn!("what was carried cannot be read ({why}): counting begins anew; the file is set aside");
                if let Some(store) = &store {
                    store.set_aside(FILE);
                }
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        };
        Ok(Self { boot, zone, usages, changed: false, saved: None, store })
    }

    /// Reads what is kept.
    ///
    /// # Errors
    /// Where it is no such text; says in a few words why.
    pub fn parse(bytes: &[u8]) -> Result<BTreeMap<String, Usage>, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// Counts what an interface of that rule shows at `now`, in seconds since 1970.
    pub fn count(&mut self, rule: &InterfaceRule, now: i64, name: &str, index: u32, bytes: u64) {
        let Some(allowance) = &rule.allowance else { return };
        let usage = self.usages.entry(rule.pattern.clone()).or_default();
        let before = (usage.used, usage.period, usage.seen.len());
        usage.count(&self.boot, name, index, bytes);
        if usage.advance(allowance, now, self.zone) {
            info!(interfaces = rule.pattern, "a new {} begins for the allowance", allowance.period.name());
        }
        self.changed |= before != (usage.used, usage.period, usage.seen.len());
    }

    /// How a rule's allowance is used.
    pub fn usage<'a>(&'a self, rule: &'a InterfaceRule) -> Option<(&'a Allowance, &'a Usage)> {
        rule.allowance.as_ref().zip(self.usages.get(&rule.pattern))
    }

    /// What is left; `None` where there is no limit.
    pub fn left(&self, rule: &InterfaceRule) -> Option<Bytes> {
        self.usage(rule).map(|(allowance, usage)| usage.left(allowance))
    }

    /// Whether it is used up at the rate at which the interfaces carry.
    pub fn is_up(&self, rule: &InterfaceRule, rate: Bitrate) -> bool {
        self.usage(rule).is_some_and(|(allowance, usage)| usage.is_up(allowance, rate))
    }

    /// When the next period begins, in seconds since 1970.
    pub fn next_period(&self, rule: &InterfaceRule) -> Option<i64> {
        self.usage(rule).map(|(allowance, usage)| allowance.period.next(usage.period, self.zone))
    }

    /// Writes what is new, where it is time, or at once where `urgent`.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&mut self, now: Instant, urgent: bool) -> Result<(), Error> {
        let due = self.saved.is_none_or(|at| now.since(at) >= SAVE);
        if let Some(store) = &self.store
            && self.changed
            && (due || urgent)
        {
            let bytes = serde_json::to_vec(&self.usages).unwrap_or_default();
            store.write(FILE, &bytes).map_err(|error| Error::state(FILE, error))?;
            self.changed = false;
            self.saved = Some(now);
        }
        Ok(())
    }
}
