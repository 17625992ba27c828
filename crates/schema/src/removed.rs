//! Keys of earlier versions, with the hint for each.

/// Table, key and hint. Policies' parameters are keys of the scenario's policy and of the policy's
/// own table.
const REMOVED: [(&[&str], &str, &str); 4] = [
    (WHEN_NEEDED, "late", "`deadline` replaces it: the time after which missing data has to arrive"),
    (WHEN_NEEDED, "longest_hold", "remove it: cellular paths become backups once nothing is missing"),
    (WHEN_NEEDED, "silent", "remove it: `deadline` and `hold` decide when a silent path is reset"),
    (WHEN_NEEDED, "standby", "remove it: idle cellular paths stay backups"),
];

const WHEN_NEEDED: &[&str] = &["a policy", "when-needed"];

/// Hint for a key that an earlier version had in the table of this name; `None` if it had none.
pub fn removed_key_hint(table: &str, key: &str) -> Option<&'static str> {
    let entry = REMOVED.iter().find(|(tables, name, _)| tables.contains(&table) && *name == key);
    entry.map(|(_, _, hint)| *hint)
}
