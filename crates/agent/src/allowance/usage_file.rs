//! Stored form of the usage, and its form in earlier versions.

use super::counters::{CounterReading, Counters};
use super::trusted_clock::UnconfirmedJump;
use super::{OtherPeriod, Usage};
use crate::config::InterfaceRule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Content of the file that outlives the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageFile {
    /// Boot ID of `clock` and `counters`.
    pub boot: String,
    /// Trusted time, and the uptime at which it was read.
    pub clock: (i64, i64),
    /// Jump of the wall clock that is not yet believed. Older files do not contain it.
    #[serde(default)]
    pub jump: Option<UnconfirmedJump>,
    /// Last counter readings.
    pub counters: Counters,
    /// Usage, by the pattern of its rule.
    pub usages: BTreeMap<String, Usage>,
}

/// Usage of a rule in earlier versions, which kept boot, clock and counters for each rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EarlierUsage {
    period: i64,
    used: u64,
    #[serde(default)]
    by_jump: bool,
    #[serde(default)]
    at_jump: u64,
    #[serde(default)]
    others: BTreeMap<i64, OtherPeriod>,
    boot: String,
    #[serde(default)]
    clock: (i64, i64),
    seen: BTreeMap<String, CounterReading>,
}

impl UsageFile {
    /// Parses a file. `boot` is the present boot ID.
    ///
    /// # Errors
    /// Returns a description of the defect.
    pub fn parse(bytes: &[u8], boot: &str) -> Result<Self, String> {
        serde_json::from_slice(bytes).or_else(|error| match serde_json::from_slice(bytes) {
            Ok(earlier) => Ok(Self::from_earlier(earlier, boot)),
            Err(_) => Err(error.to_string()),
        })
    }

    /// Stored form of [`Self::parse`].
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Enters a boot: all counters restarted with the machine, unless it is the same.
    pub fn enter_boot(&mut self, boot: &str) {
        if self.boot != boot {
            self.counters.restart();
            boot.clone_into(&mut self.boot);
        }
    }

    /// Forgets the interfaces that were absent during the whole stored boot. A rule keeps its last
    /// interfaces, by which [`Self::follow_rules`] finds the usage.
    pub fn forget_unseen(&mut self) {
        self.counters.retain_seen();
        for usage in self.usages.values_mut() {
            if usage.interfaces.iter().any(|name| self.counters.contains(name)) {
                usage.interfaces.retain(|name| self.counters.contains(name));
            }
        }
    }

    /// Passes the usage of patterns that are gone on to new ones that apply to their interfaces.
    /// Returns true on a change.
    pub fn follow_rules(&mut self, rules: &[InterfaceRule]) -> bool {
        let is_configured = |pattern: &String| rules.iter().any(|rule| rule.pattern == *pattern);
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.usages).into_iter().partition(|(pattern, _)| is_configured(pattern));
        let is_new = |rule: &&InterfaceRule| rule.allowance.is_some() && !kept.contains_key(&rule.pattern);
        let mut changed = false;
        let mut passed_on: BTreeMap<String, Usage> = BTreeMap::new();
        for (mut pattern, mut usage) in gone {
            // The first matching rule applies.
            let rule_of = |name: &String| rules.iter().find(|rule| rule.matches(name));
            if let Some(heir) = usage.interfaces.iter().filter_map(rule_of).find(is_new) {
                pattern.clone_from(&heir.pattern);
                changed = true;
            }
            if let Some(other) = passed_on.remove(&pattern) {
                usage = usage.merge(other);
            }
            passed_on.insert(pattern, usage);
        }
        self.usages = kept;
        self.usages.append(&mut passed_on);
        changed
    }

    /// Applies the rules one after the other, up to the latest reading of the present boot.
    fn from_earlier(usages: BTreeMap<String, EarlierUsage>, boot: &str) -> Self {
        let mut usages: Vec<_> = usages.into_iter().collect();
        usages.sort_by_key(|(_, usage)| (usage.boot == boot, usage.clock));
        let mut file = Self::default();
        for (pattern, earlier) in usages {
            file.enter_boot(&earlier.boot);
            file.clock = earlier.clock;
            let EarlierUsage { period, used, by_jump, at_jump, others, seen, .. } = earlier;
            let interfaces = seen.keys().cloned().collect();
            file.counters.extend(seen);
            let usage = Usage { period, used, by_jump, at_jump, moved: 0, others, interfaces };
            file.usages.insert(pattern, usage);
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowance::counters::CounterBytes;
    use crate::allowance::tests::{at, jump};

    fn record(file: &mut UsageFile, name: &str, index: u32, bytes: u64) -> Option<u64> {
        let bytes = CounterBytes::Directions(bytes - 1, 1);
        file.counters.record(name, CounterReading { index, bytes })
    }

    #[test]
    fn file_round_trips() {
        let others = [(5, OtherPeriod { used: 1, by_jump: true, at_jump: 1, moved: 1, order: 2 })].into();
        let usage = Usage { period: 9, used: 7, others, ..Usage::default() };
        let mut file = UsageFile { boot: "b".to_owned(), clock: (1, 2), ..UsageFile::default() };
        file.usages.insert("wwan*".to_owned(), usage);
        record(&mut file, "wwan0", 3, 9);
        assert_eq!(UsageFile::parse(&file.to_bytes(), "b"), Ok(file));
    }

    #[test]
    fn usage_of_earlier_versions_is_read() {
        let old = r#"{"*":{"period":1900000000,"used":20,"by_jump":true,"boot":"b","clock":[1,2],"seen":{},
            "others":{"1793491200":{"used":700,"by_jump":false}}}}"#;
        let mut file = UsageFile::parse(old.as_bytes(), "b").unwrap();
        assert_eq!(jump(file.usages.get_mut("*").unwrap(), at(2026, 11, 22, 0), 0), 720);
        let old =
            r#"{"wwan*":{"period":1793491200,"used":7,"boot":"b","seen":{"wwan0":{"index":3,"bytes":9}}}}"#;
        let mut file = UsageFile::parse(old.as_bytes(), "b").unwrap();
        assert_eq!((file.boot.as_str(), file.usages["wwan*"].used), ("b", 7));
        assert!(file.usages["wwan*"].interfaces.contains("wwan0"));
        assert_eq!(record(&mut file, "wwan0", 3, 12), Some(3));
        assert!(UsageFile::parse(b"{\"wwan*\":{}}", "b").is_err());
    }

    #[test]
    fn counters_of_earlier_versions_count_in_their_boot_only() {
        // One rule was used in this boot, the other one long ago at a wrong clock.
        let old = r#"{
            "w*":{"period":1793491200,"used":7,"boot":"b","clock":[20,5],"seen":{"wwan0":{"index":3,"bytes":9}}},
            "x*":{"period":1893491200,"used":7,"boot":"a","clock":[90,5],"seen":{"xwan0":{"index":4,"bytes":9}}}
        }"#;
        for (boot, known, other) in [("b", 3, 12), ("a", 12, 3), ("c", 12, 12)] {
            let mut file = UsageFile::parse(old.as_bytes(), boot).unwrap();
            file.enter_boot(boot);
            assert_eq!(record(&mut file, "wwan0", 3, 12), Some(known), "{boot}");
            assert_eq!(record(&mut file, "xwan0", 4, 12), Some(other), "{boot}");
        }
    }
}
