//! Failed logins per client address, in a table of fixed size.
//!
//! A full set replaces its entry with the fewest failures, and the new entry inherits their number
//! (Metwally et al. 2005, "Space-Saving"). An address therefore never loses failures to others'
//! entries, and sets are chosen by a secret key. A client that logs in without a failure of its own
//! gives the place back, and inherits nothing.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Size of the table: sets and entries per set, for 8192 addresses in 400 KB.
const SETS: usize = 1024;
const WAYS: usize = 8;
/// Failures before an address has to wait.
const FREE_FAILURES: u32 = 5;
/// First wait, doubled by each further failure up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// Time without failures after which an address is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60 * 60);

/// Failed logins per client address.
#[derive(Debug, Default)]
pub(crate) struct FailedLogins {
    /// Empty until the first failure.
    sets: Vec<[Option<Entry>; WAYS]>,
    key: RandomState,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// `None` keeps only the number of failures, for the next entry in its place.
    client: Option<IpAddr>,
    failures: u32,
    /// Those of `failures` whose attempts are being verified. They are failures until they succeed.
    pending: u32,
    /// Time of the last failure.
    at: Instant,
    /// The first attempt of a client that took another's place is being verified. Its further
    /// connections are not locked out meanwhile by failures that are not its own.
    is_first_attempt: bool,
}

impl Entry {
    fn is_expired(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= FORGET_AFTER
    }

    /// Remaining wait after a number of failures.
    fn locked_for(&self, failures: u32, now: Instant) -> Option<Duration> {
        let left = (self.at + wait_after(failures)).saturating_duration_since(now);
        (!left.is_zero() && !self.is_first_attempt).then_some(left)
    }
}

/// Wait after a number of failures.
fn wait_after(failures: u32) -> Duration {
    match failures.checked_sub(FREE_FAILURES) {
        None => Duration::ZERO,
        Some(doublings) => FIRST_WAIT.saturating_mul(1 << doublings.min(16)).min(LONGEST_WAIT),
    }
}

/// Attempt that counts as a failure until it succeeds.
#[derive(Debug)]
pub(crate) struct Charge {
    pub(crate) client: IpAddr,
    at_before: Instant,
    /// Entry of another client, which this attempt replaced.
    replaced: Option<Entry>,
    /// Failures with this attempt.
    pub(crate) failures: u32,
}

impl Charge {
    /// Wait that a failure of the attempt entails.
    pub(crate) fn wait(&self) -> Duration {
        wait_after(self.failures)
    }
}

impl FailedLogins {
    /// Remaining time for which the address may not log in.
    pub(crate) fn locked_for(&self, client: IpAddr, now: Instant) -> Option<Duration> {
        let entry = self.entry(client)?;
        entry.locked_for(entry.failures, now)
    }

    /// As [`locked_for`](Self::locked_for), without attempts that are being verified.
    pub(crate) fn surely_locked_for(&self, client: IpAddr, now: Instant) -> Option<Duration> {
        let entry = self.entry(client)?;
        entry.locked_for(entry.failures.saturating_sub(entry.pending), now)
    }

    fn entry(&self, client: IpAddr) -> Option<&Entry> {
        self.sets.get(self.set(client))?.iter().flatten().find(|one| one.client == Some(client))
    }

    /// Counts an attempt as a failure, before its password is verified.
    pub(crate) fn charge(&mut self, client: IpAddr, now: Instant) -> Charge {
        let set = self.set(client);
        if self.sets.is_empty() {
            self.sets = vec![[None; WAYS]; SETS];
        }
        let (entry, replaced) = place(&mut self.sets[set], client, now);
        let at_before = entry.at;
        entry.failures = entry.failures.saturating_add(1);
        entry.pending = entry.pending.saturating_add(1);
        entry.at = now;
        entry.is_first_attempt = replaced.is_some();
        Charge { client, at_before, replaced, failures: entry.failures }
    }

    /// Ends an attempt that failed.
    pub(crate) fn confirm(&mut self, charge: &Charge) {
        let set = self.set(charge.client);
        let entries = self.sets.get_mut(set).into_iter().flatten().flatten();
        for entry in entries.filter(|one| one.client == Some(charge.client)) {
            entry.is_first_attempt = false;
            entry.pending = entry.pending.saturating_sub(1);
        }
    }

    /// Takes back the failure of an attempt that succeeded. Earlier failures stay: a client with a
    /// password of its own could otherwise guess others' without end.
    pub(crate) fn refund(&mut self, charge: &Charge) {
        let set = self.set(charge.client);
        let Some(entries) = self.sets.get_mut(set) else { return };
        let has = |one: &Option<Entry>, client| one.is_some_and(|one| one.client == Some(client));
        let Some(index) = entries.iter().position(|one| has(one, charge.client)) else { return };
        let Some(entry) = &mut entries[index] else { return };
        entry.failures -= 1;
        entry.pending = entry.pending.saturating_sub(1);
        entry.at = charge.at_before;
        let inherited = charge.replaced.map_or(0, |one| one.failures);
        if entry.failures <= inherited {
            // A failure of the replaced client since then has counted in another entry.
            let is_elsewhere = |client: &IpAddr| entries.iter().any(|one| has(one, *client));
            let back = |one: Entry| Entry {
                client: one.client.filter(|client| !is_elsewhere(client)),
                // Its verification may have failed meanwhile.
                is_first_attempt: false,
                pending: 0,
                ..one
            };
            entries[index] = charge.replaced.map(back);
        }
    }

    fn set(&self, client: IpAddr) -> usize {
        (self.key.hash_one(client) % SETS as u64) as usize
    }
}

/// Entry of a client in its set: an existing, free or expired one, else that with the fewest
/// failures, which is returned as well.
fn place(set: &mut [Option<Entry>; WAYS], client: IpAddr, now: Instant) -> (&mut Entry, Option<Entry>) {
    let rank = |one: &Option<Entry>| match one {
        Some(entry) if entry.client == Some(client) => (0, 0, None),
        Some(entry) if !entry.is_expired(now) => (2, entry.failures, Some(entry.at)),
        _ => (1, 0, None),
    };
    let index = (0..WAYS).min_by_key(|index| rank(&set[*index])).unwrap_or_default();
    let slot = &mut set[index];
    let kept = slot.filter(|entry| !entry.is_expired(now));
    let (failures, at) = kept.map_or((0, now), |entry| (entry.failures, entry.at));
    let replaced = kept.filter(|entry| entry.client != Some(client));
    let pending = if replaced.is_some() { 0 } else { kept.map_or(0, |entry| entry.pending) };
    let entry = Entry { client: Some(client), failures, pending, at, is_first_attempt: false };
    (slot.insert(entry), replaced)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    fn fail(table: &mut FailedLogins, client: IpAddr, count: u32, now: Instant) {
        for _ in 0..count {
            let charge = table.charge(client, now);
            table.confirm(&charge);
        }
    }

    #[test]
    fn wait_doubles_with_each_failure_up_to_a_limit() {
        let (mut table, now) = (FailedLogins::default(), Instant::now());
        let client = address(1);
        fail(&mut table, client, 4, now);
        assert_eq!(table.locked_for(client, now), None);
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            fail(&mut table, client, 1, now);
            assert_eq!(table.locked_for(client, now), Some(Duration::from_secs(seconds)));
        }
        assert_eq!(table.locked_for(client, now + LONGEST_WAIT), None);
        assert_eq!(table.locked_for(address(2), now), None);
        assert_eq!(table.charge(client, now + FORGET_AFTER).failures, 1, "forgotten after an hour");
    }

    #[test]
    fn success_takes_back_its_own_charge_only() {
        let (mut table, now) = (FailedLogins::default(), Instant::now());
        let client = address(1);
        for round in 1..=4 {
            fail(&mut table, client, 1, now);
            let charge = table.charge(client, now);
            table.refund(&charge);
            assert_eq!(charge.failures, round + 1);
        }
        assert_eq!(table.locked_for(client, now), None);
        fail(&mut table, client, 1, now);
        assert!(table.locked_for(client, now).is_some());
        let later = now + Duration::from_secs(2);
        let charge = table.charge(client, later);
        table.refund(&charge);
        assert_eq!(table.locked_for(client, later), None, "a success does not prolong a wait");
    }

    /// Table with sets that are full of addresses with `count` failures, and more.
    pub(crate) fn full_table(count: u32, now: Instant) -> FailedLogins {
        let mut table = FailedLogins::default();
        for number in 0..50_000 {
            fail(&mut table, address(number), 1, now);
        }
        for entry in table.sets.iter_mut().flatten() {
            let entry = entry.as_mut().expect("50,000 addresses fill every set");
            entry.failures = entry.failures.max(count);
        }
        table
    }

    #[test]
    fn full_table_locks_nobody_who_logs_in_without_a_failure() {
        let now = Instant::now();
        let mut table = full_table(9, now);
        let counts = |table: &FailedLogins| -> Vec<_> {
            table.sets.iter().flatten().flatten().map(|entry| (entry.failures, entry.at)).collect()
        };
        let before = counts(&table);
        for number in 60_000..61_000 {
            let charge = table.charge(address(number), now + FIRST_WAIT);
            table.refund(&charge);
            assert_eq!(table.locked_for(address(number), now + FIRST_WAIT), None);
        }
        assert!(counts(&table) == before, "no failure of another address is lost");
        let client = address(70_000);
        let failed = table.charge(client, now);
        assert_eq!(table.locked_for(client, now), None, "it is being verified");
        table.confirm(&failed);
        assert_eq!(table.locked_for(client, now), Some(failed.wait()));
        let charge = table.charge(client, now);
        table.refund(&charge);
        assert_eq!(table.locked_for(client, now), Some(failed.wait()), "its own failure stays");
    }

    #[test]
    fn second_unfinished_attempt_locks_as_a_failure() {
        let now = Instant::now();
        let mut table = full_table(9, now);
        let client = address(60_000);
        for is_locked in [false, true] {
            table.charge(client, now);
            assert_eq!(table.locked_for(client, now).is_some(), is_locked);
        }
    }

    #[test]
    fn failure_of_a_replaced_address_stays_after_the_success_of_another() {
        let now = Instant::now();
        let mut table = full_table(9, now);
        let client = address(60_000);
        let charge = table.charge(client, now);
        let replaced = charge.replaced.expect("its set is full");
        let other = replaced.client.unwrap();
        let failed = table.charge(other, now);
        table.confirm(&failed);
        assert!(failed.failures > replaced.failures);
        table.refund(&charge);
        assert_eq!(table.locked_for(client, now), None);
        assert_eq!(table.locked_for(other, now), Some(failed.wait()));
        assert_eq!(table.charge(other, now).failures, failed.failures + 1);
        assert!(table.sets.iter().flatten().all(|one| one.is_some_and(|one| one.failures >= 9)));
    }

    #[test]
    fn other_addresses_cannot_wash_away_a_failure_count() {
        let (mut table, now) = (FailedLogins::default(), Instant::now());
        let client = address(u32::MAX);
        fail(&mut table, client, 9, now);
        for number in 0..200_000 {
            fail(&mut table, address(number), 1, now);
        }
        let charge = table.charge(client, now);
        assert!(charge.failures >= 10, "{}", charge.failures);
        assert_eq!(table.sets.len() * WAYS, 8192);
    }
}
