//! Limits of the stored sessions, and the clock that counts their age.
//!
//! A wall clock may be wrong until it is set, and may jump. A session therefore arrives at a time
//! since boot, and the table `boots` dates the start of each boot. A step of the wall clock dates the
//! present boot anew, and no session is deleted by its age until the clock has stood for an hour.
//! A clock may be behind until its boot ends: sessions are numbered in the order of their arrival, and
//! an earlier boot is dated after the arrivals before it.

use super::{BATCH_SESSIONS, Store, StoreError, bytes_in_use, rows};
use rusqlite::{Connection, Row, TransactionBehavior, params};
use std::time::Duration;

/// Difference between the wall clock and the time since boot that is no step, in seconds.
const MAX_DRIFT_S: u64 = 60;
/// Time after a step of the wall clock in which no session is deleted by its age, in seconds.
const CONFIRMATION_S: i64 = 3_600;

/// Limits of the stored sessions; none without members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Maximum time since a session arrived.
    pub max_age: Option<Duration>,
    /// Maximum number of sessions; the latest arrivals stay.
    pub max_sessions: Option<u32>,
    /// Maximum size of the sessions in the database, in bytes; the latest arrivals stay.
    pub max_bytes: Option<u64>,
}

/// Reading of the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Seconds since 1970 by the wall clock.
    pub wall_s: i64,
    /// Seconds since boot, including suspensions.
    pub uptime_s: i64,
}

impl Now {
    /// Reads the clocks of this machine.
    pub fn read() -> Self {
        Self { wall_s: linux::clock::unix_seconds(), uptime_s: linux::clock::uptime_seconds() }
    }

    /// Start of the boot by the wall clock, in seconds since 1970.
    fn start_s(self) -> i64 {
        self.wall_s.saturating_sub(self.uptime_s)
    }
}

/// Start of a boot. Times are in seconds, starts since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Boot {
    /// Start by which arrivals are dated.
    start: i64,
    /// Start by the wall clock after its latest step.
    seen: i64,
    /// Time of this step since boot.
    since: i64,
}

impl Boot {
    /// A boot. At its first reading, the wall clock counts as set since its start.
    fn new(now: Now) -> Self {
        Self { start: now.start_s(), seen: now.start_s(), since: 0 }
    }

    fn update(&mut self, now: Now) {
        if now.start_s().abs_diff(self.seen) > MAX_DRIFT_S {
            (self.seen, self.since) = (now.start_s(), now.uptime_s);
        }
        // A later date counts at once: it keeps sessions longer, also if the machine ends soon.
        if self.seen > self.start || self.has_stood(now) {
            self.start = self.seen;
        }
    }

    /// True if the wall clock had no step for an hour.
    fn has_stood(&self, now: Now) -> bool {
        now.uptime_s.saturating_sub(self.since) >= CONFIRMATION_S
    }

    fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { start: row.get(0)?, seen: row.get(1)?, since: row.get(2)? })
    }
}

/// Number of a boot in the table `boots`; a new one is added. Others without sessions are removed.
pub(super) fn boot_number(writer: &Connection, boot: &str, now: Now) -> Result<i64, StoreError> {
    let Boot { start, seen, since } = Boot::new(now);
    writer.execute(
        "DELETE FROM boots WHERE number > 0 AND boot <> ?1
           AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.boot = boots.number)",
        [boot],
    )?;
    writer.execute(
        "INSERT INTO boots (boot, start_s, seen_s, since_s) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (boot) DO NOTHING",
        params![boot, start, seen, since],
    )?;
    Ok(writer.query_row("SELECT number FROM boots WHERE boot = ?1", [boot], |row| row.get(0))?)
}

impl Store {
    /// Deletes the sessions beyond the limits; returns their number.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn retain(&self, limits: Retention, now: Now) -> Result<usize, StoreError> {
        let boot = self.update_boot(now)?;
        let oldest_s = limits
            .max_age
            .filter(|_| boot.has_stood(now))
            .map(|age| now.wall_s.saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX)));
        if oldest_s.is_some() {
            self.date_earlier_boots(boot.start)?;
        }
        let mut deleted = 0;
        loop {
            let batch = self.delete_batch(|writer| beyond(writer, limits, oldest_s))?;
            if batch.is_empty() {
                break;
            }
            deleted += batch.len();
        }
        if deleted > 0 {
            self.erase_log()?;
        }
        Ok(deleted)
    }

    /// Dates the present boot by the clock.
    fn update_boot(&self, now: Now) -> Result<Boot, StoreError> {
        let (writer, number) = (self.writer(), self.0.boot);
        let query = "SELECT start_s, seen_s, since_s FROM boots WHERE number = ?1";
        let kept = writer.query_row(query, [number], Boot::of_row)?;
        let mut boot = kept;
        boot.update(now);
        if boot != kept {
            writer.execute(
                "UPDATE boots SET start_s = ?2, seen_s = ?3, since_s = ?4 WHERE number = ?1",
                params![number, boot.start, boot.seen, boot.since],
            )?;
        }
        Ok(boot)
    }

    /// Dates each boot before the present one no earlier than the arrivals before it.
    fn date_earlier_boots(&self, present_start_s: i64) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let boots: Vec<(i64, i64, Option<i64>)> = transaction
            .prepare_cached(
                "SELECT number, start_s, (SELECT max(received_s) FROM sessions WHERE boot = number)
                 FROM boots WHERE number < ?1 ORDER BY number",
            )?
            .query_map([self.0.boot], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        let mut arrival_s = i64::MIN;
        for (number, mut start_s, last_s) in boots {
            let Some(last_s) = last_s else { continue };
            // All its sessions arrived before the present boot.
            let earliest_s = arrival_s.min(present_start_s.saturating_sub(last_s));
            if start_s < earliest_s {
                start_s = earliest_s;
                transaction.execute("UPDATE boots SET start_s = ?2 WHERE number = ?1", [number, start_s])?;
            }
            // A later arrival is that of a clock that was ahead, and dates nothing.
            let end_s = start_s.saturating_add(last_s);
            if end_s <= present_start_s {
                arrival_s = arrival_s.max(end_s);
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Some of the sessions beyond the limits: those that arrived before `oldest_s`, in seconds since
/// 1970, and surplus ones in the order of their arrival.
fn beyond(connection: &Connection, limits: Retention, oldest_s: Option<i64>) -> Result<Vec<i64>, StoreError> {
    // A new row has a larger number than all others.
    const OLDEST: &str = "SELECT rowid FROM sessions ORDER BY rowid LIMIT ?1";
    if let Some(oldest_s) = oldest_s {
        let query = "SELECT sessions.rowid FROM boots JOIN sessions ON sessions.boot = boots.number
             WHERE sessions.received_s < ?1 - boots.start_s LIMIT ?2";
        let batch = rows(connection, query, params![oldest_s, BATCH_SESSIONS])?;
        if !batch.is_empty() {
            return Ok(batch);
        }
    }
    if let Some(max) = limits.max_sessions {
        let count: u32 = connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?;
        let surplus = count.saturating_sub(max);
        if surplus > 0 {
            return rows(connection, OLDEST, [surplus.min(BATCH_SESSIONS)]);
        }
    }
    match limits.max_bytes {
        Some(max) => oldest_of_size(connection, bytes_in_use(connection)?.saturating_sub(max)),
        None => Ok(Vec::new()),
    }
}

/// The sessions that arrived first, up to the one with which they have `bytes` in sum; at most one
/// batch of them.
fn oldest_of_size(connection: &Connection, bytes: u64) -> Result<Vec<i64>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT rowid, octet_length(document) + octet_length(summary) FROM sessions
         ORDER BY rowid LIMIT ?1",
    )?;
    let mut rows = statement.query([BATCH_SESSIONS])?;
    let (mut batch, mut sum) = (Vec::new(), 0);
    while sum < bytes
        && let Some(row) = rows.next()?
    {
        batch.push(row.get(0)?);
        sum += u64::from(row.get::<_, u32>(1)?);
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::*;
    use playback::Record;
    use std::path::Path;
    use std::thread;

    /// 28 November 2026, in seconds since 1970.
    const TODAY_S: i64 = 1_795_824_000;
    const DAY_S: i64 = 86_400;
    const MONTH: Retention =
        Retention { max_age: Some(Duration::from_secs(30 * 86_400)), max_sessions: None, max_bytes: None };

    fn keep(store: &Store, id: &str, uptime_s: i64) {
        keep_padded(store, id, uptime_s, 0);
    }

    /// Stores a session with so many spaces at the end of its document.
    fn keep_padded(store: &Store, id: &str, uptime_s: i64, spaces: usize) {
        let text = include_str!("../../../../docs/reference/session.md");
        let text = text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let document = text.replace("0193a6f2-7d1e-7c52-9a4e-5b8f0e6a1c3d", id) + &" ".repeat(spaces);
        store.keep_at(&Record::parse(document.as_bytes()).unwrap(), &document, uptime_s).unwrap();
    }

    fn at(wall_s: i64, uptime_s: i64) -> Now {
        Now { wall_s, uptime_s }
    }

    /// A database with one session that arrived ten days ago in another boot.
    fn with_old_session(path: &Path) {
        let boot = Store::open_in_boot(path, "old", at(TODAY_S - 10 * DAY_S, 500)).unwrap();
        keep(&boot, "session-old", 500);
    }

    fn count(store: &Store) -> u32 {
        store.count(&Filter::default()).unwrap()
    }

    /// Runs a deletion while a transaction replaces the only session, as a request between the selection
    /// of a batch and its deletion would.
    fn replace_session_during<T: Send + 'static>(
        store: &Store,
        path: &Path,
        deletion: impl FnOnce(&Store) -> T + Send + 'static,
    ) -> T {
        let other = Connection::open(path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let deletion = thread::spawn({
            let store = store.clone();
            move || deletion(&store)
        });
        thread::sleep(Duration::from_millis(200));
        other.execute("DELETE FROM sessions", []).unwrap();
        let add = "INSERT INTO sessions VALUES ('session-new', '', 'new', '{}', '{}', 7200, ?1)";
        other.execute(add, [store.0.boot]).unwrap();
        other.execute_batch("COMMIT").unwrap();
        deletion.join().unwrap()
    }

    #[test]
    fn deletion_by_age_spares_a_new_session_in_the_row_of_a_deleted_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        with_old_session(&path);
        let store = Store::open_in_boot(&path, "new", at(TODAY_S, 7_200)).unwrap();
        let week = Retention { max_age: Some(Duration::from_secs(7 * 86_400)), ..Retention::default() };
        let retain = move |store: &Store| store.retain(week, at(TODAY_S, 7_200)).unwrap();
        assert_eq!(replace_session_during(&store, &path, retain), 0);
        assert!(store.place("session-new").unwrap().is_some());
    }

    #[test]
    fn deletion_of_a_label_spares_a_new_session_in_the_row_of_a_deleted_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let store = Store::open_in_boot(&path, "boot", at(TODAY_S, 7_200)).unwrap();
        keep(&store, "session-old", 7_200);
        let label = store.list(1, None, &Filter::default()).unwrap().remove(0).label;
        let old = Filter { label: Some(label.unwrap_or_default()), state: None };
        let delete = move |store: &Store| store.delete_selected(&old, Some(1)).unwrap();
        assert_eq!(replace_session_during(&store, &path, delete), 1);
        assert!(store.place("session-new").unwrap().is_some());
    }

    #[test]
    fn row_of_a_deleted_session_is_not_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_in_boot(&folder.path().join("s.db"), "boot", at(TODAY_S, 7_200)).unwrap();
        let row_of = |id: &str| -> i64 {
            keep(&store, id, 7_200);
            let query = "SELECT rowid FROM sessions WHERE id = ?1";
            store.reader().unwrap().query_row(query, [id], |row| row.get(0)).unwrap()
        };
        let first = row_of("session-first");
        assert!(store.delete("session-first").unwrap());
        assert!(row_of("session-second") > first);
    }

    #[test]
    fn sessions_are_deleted_at_their_age_across_boots() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        with_old_session(&path);
        let store = Store::open_in_boot(&path, "new", at(TODAY_S, 7_200)).unwrap();
        keep(&store, "session-new", 7_200);
        let after_days =
            |days: i64| store.retain(MONTH, at(TODAY_S + days * DAY_S, 7_200 + days * DAY_S)).unwrap();
        assert_eq!([after_days(20), after_days(21), after_days(30), after_days(31)], [0, 1, 0, 1]);
    }

    #[test]
    fn sessions_of_the_former_version_keep_their_arrival() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let former = Connection::open(&path).unwrap();
        former.execute_batch(super::super::TABLES).unwrap();
        former.pragma_update(None, "user_version", 2).unwrap();
        let add = "INSERT INTO sessions VALUES ('session-1', '', '', '{}', '{}', ?1)";
        former.execute(add, [TODAY_S]).unwrap();
        drop(former);
        let store = Store::open_in_boot(&path, "new", at(TODAY_S, 30)).unwrap();
        assert_eq!(store.retain(MONTH, at(TODAY_S + 30 * DAY_S, 30 + 30 * DAY_S)).unwrap(), 0);
        assert_eq!(store.retain(MONTH, at(TODAY_S + 31 * DAY_S, 30 + 31 * DAY_S)).unwrap(), 1);
    }

    #[test]
    fn jump_of_the_clock_deletes_no_session_by_its_age() {
        for jump_s in [463 * DAY_S, -463 * DAY_S] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s.db");
            with_old_session(&path);
            let mut store = Store::open_in_boot(&path, "new", at(TODAY_S, 7_200)).unwrap();
            keep(&store, "session-before", 7_200);
            // Every minute for three hours; the clock is wrong for 50 minutes.
            for minute in 1..=180 {
                let (wrong_s, uptime_s) =
                    (if (20..70).contains(&minute) { jump_s } else { 0 }, 7_200 + 60 * minute);
                let now = at(TODAY_S + 60 * minute + wrong_s, uptime_s);
                assert_eq!(store.retain(MONTH, now).unwrap(), 0, "minute {minute} of {jump_s}");
                if minute == 40 {
                    keep(&store, "session-amid", uptime_s);
                    store = Store::open_in_boot(&path, "new", now).unwrap();
                }
            }
            assert_eq!(count(&store), 3);
            let after_days =
                |days: i64| store.retain(MONTH, at(TODAY_S + days * DAY_S, 7_200 + days * DAY_S)).unwrap();
            assert_eq!([after_days(21), after_days(31)], [1, 2], "the age counts on");
        }
    }

    #[test]
    fn sessions_that_arrived_while_the_clock_was_behind_are_dated_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let store = Store::open_in_boot(&path, "wrong", at(TODAY_S - 365 * DAY_S, 30)).unwrap();
        keep(&store, "session-1", 40);
        for minute in 1..=120 {
            let now = at(TODAY_S + 60 * minute, 60 * minute);
            assert_eq!(store.retain(MONTH, now).unwrap(), 0, "minute {minute} after the start");
            if minute == 1 {
                // The next boot may follow at once.
                let next = Store::open_in_boot(&path, "right", at(TODAY_S + DAY_S, 7_200)).unwrap();
                assert_eq!(next.retain(MONTH, at(TODAY_S + DAY_S, 7_200)).unwrap(), 0);
            }
        }
        assert_eq!(store.retain(MONTH, at(TODAY_S + 29 * DAY_S, 29 * DAY_S)).unwrap(), 0);
        assert_eq!(store.retain(MONTH, at(TODAY_S + 31 * DAY_S, 31 * DAY_S)).unwrap(), 1);
    }

    #[test]
    fn sessions_of_a_boot_whose_clock_stayed_behind_count_from_the_arrivals_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        with_old_session(&path);
        // Two boots, whose clocks begin at 1970 and are not set.
        let first = Store::open_in_boot(&path, "behind", at(30, 30)).unwrap();
        keep(&first, "session-1", 2 * DAY_S);
        assert_eq!(first.retain(MONTH, at(3 * DAY_S, 3 * DAY_S)).unwrap(), 0);
        let second = Store::open_in_boot(&path, "behind again", at(30, 30)).unwrap();
        keep(&second, "session-2", 4 * DAY_S);
        let store = Store::open_in_boot(&path, "right", at(TODAY_S, 7_200)).unwrap();
        let after_days =
            |days: i64| store.retain(MONTH, at(TODAY_S + days * DAY_S, 7_200 + days * DAY_S)).unwrap();
        // Ten days ago, two days later, and four days after that.
        let deleted = [0, 20, 21, 22, 23, 26, 27].map(after_days);
        assert_eq!(deleted, [0, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn clock_that_was_ahead_dates_no_earlier_boot_after_the_present_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        for (id, ahead_days) in [("session-year", 365), ("session-month", 30)] {
            let start_s = TODAY_S + (ahead_days - 35) * DAY_S;
            keep(&Store::open_in_boot(&path, id, at(start_s, 30)).unwrap(), id, 40);
        }
        let right = Store::open_in_boot(&path, "right", at(TODAY_S - 20 * DAY_S, 30)).unwrap();
        keep(&right, "session-right", 10 * DAY_S);
        let store = Store::open_in_boot(&path, "present", at(TODAY_S, 7_200)).unwrap();
        let after_days =
            |days: i64| store.retain(MONTH, at(TODAY_S + days * DAY_S, 7_200 + days * DAY_S)).unwrap();
        // A month ahead is five days ago.
        assert_eq!([0, 25, 26, 29, 31].map(after_days), [0, 0, 1, 0, 1]);
        assert!(store.place("session-year").unwrap().is_some());
    }

    #[test]
    fn sessions_are_not_deleted_by_age_in_the_first_hour_of_a_boot() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        with_old_session(&path);
        let year_ahead_s = TODAY_S + 365 * DAY_S;
        let store = Store::open_in_boot(&path, "new", at(year_ahead_s, 20)).unwrap();
        assert_eq!(store.retain(MONTH, at(year_ahead_s, 20)).unwrap(), 0);
        assert_eq!(store.retain(MONTH, at(TODAY_S + 60, 80)).unwrap(), 0, "the clock is set");
        assert_eq!(store.retain(MONTH, at(TODAY_S + 3_700, 3_720)).unwrap(), 0);
    }

    #[test]
    fn surplus_sessions_are_deleted_in_the_order_of_arrival_whatever_the_clock_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let ahead = Store::open_in_boot(&path, "ahead", at(TODAY_S + 365 * DAY_S, 30)).unwrap();
        keep(&ahead, "session-1", 40);
        let behind = Store::open_in_boot(&path, "behind", at(TODAY_S, 30)).unwrap();
        keep(&behind, "session-2", 10);
        let one = Retention { max_sessions: Some(1), ..Retention::default() };
        assert_eq!(behind.retain(one, at(TODAY_S, 60)).unwrap(), 1);
        assert!(behind.place("session-2").unwrap().is_some());
    }

    #[test]
    fn large_old_sessions_are_deleted_only_as_far_as_the_size_demands() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_in_boot(&folder.path().join("s.db"), "boot", at(TODAY_S, 30)).unwrap();
        for number in 0..5 {
            keep_padded(&store, &format!("session-large-{number}"), 40, 200_000);
        }
        for number in 0..40 {
            keep(&store, &format!("session-small-{number}"), 40);
        }
        let limit =
            |surplus| Retention { max_bytes: Some(store.bytes().unwrap() - surplus), ..Retention::default() };
        let now = at(TODAY_S, 60);
        assert_eq!(store.retain(limit(0), now).unwrap(), 0);
        assert_eq!(store.retain(limit(150_000), now).unwrap(), 1);
        assert_eq!(store.retain(limit(250_000), now).unwrap(), 2);
        assert!(store.place("session-large-2").unwrap().is_none());
        assert!(store.place("session-large-3").unwrap().is_some());
        let nothing = Retention { max_bytes: Some(0), ..Retention::default() };
        assert_eq!(store.retain(nothing, now).unwrap(), 42);
    }
}
