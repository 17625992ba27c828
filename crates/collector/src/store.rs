//! Session store: a SQLite table with the documents and their summaries, and one with the starts of
//! boots, which date their arrivals ([`retention`]).
//!
//! One connection writes. Reads have connections of their own, beside which it writes on, since the
//! database has a write-ahead log. Deletions run in batches, between which records are stored.

mod list;
mod retention;

pub use list::Place;
pub use retention::{Now, Retention};

use playback::{Record, State, Summary};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Version of the tables, stored in `user_version`.
const SCHEMA_VERSION: i64 = 4;
/// Version 2.
const TABLES: &str = "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY NOT NULL,
        started_at TEXT NOT NULL,
        label TEXT NOT NULL,
        summary TEXT NOT NULL,
        document TEXT NOT NULL,
        received_s INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX by_start ON sessions (started_at, id);
    CREATE INDEX by_label ON sessions (label, started_at, id);
    CREATE INDEX by_arrival ON sessions (received_s);
";
/// From version 1: the arrival of a session, here its start, since it was not stored.
const ADD_ARRIVAL: &str = "
    ALTER TABLE sessions ADD COLUMN received_s INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET received_s = coalesce(unixepoch(started_at), unixepoch());
    CREATE INDEX by_arrival ON sessions (received_s);
";
/// From version 2: arrivals in seconds since a boot. Those of former versions are in seconds since
/// 1970, as if this were the start of their boot.
const ADD_BOOTS: &str = "
    CREATE TABLE boots (
        number INTEGER PRIMARY KEY NOT NULL,
        boot TEXT NOT NULL UNIQUE,
        start_s INTEGER NOT NULL,
        seen_s INTEGER NOT NULL,
        since_s INTEGER NOT NULL
    ) STRICT;
    INSERT INTO boots VALUES (0, '', 0, 0, 0);
    ALTER TABLE sessions ADD COLUMN boot INTEGER NOT NULL DEFAULT 0;
    DROP INDEX by_arrival;
    CREATE INDEX by_arrival ON sessions (boot, received_s);
";
/// From version 3: the order of starts without their `Z`, which as text comes after further digits.
const ORDER_BY_INSTANT: &str = "
    DROP INDEX by_start;
    CREATE INDEX by_start ON sessions (rtrim(started_at, 'Z'), id);
";

/// Time for which SQLite waits for another process that uses the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of idle connections for reads.
const IDLE_READERS: usize = 4;
/// Sessions deleted in one transaction.
const BATCH_SESSIONS: u32 = 20;
/// Pause between two batches, in which waiting writers proceed.
const BATCH_PAUSE: Duration = Duration::from_millis(2);
/// Attempts to empty the log, which open reads delay.
const ERASE_ATTEMPTS: u32 = 5;
const ERASE_PAUSE: Duration = Duration::from_millis(50);

/// Selection of sessions; all without members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Sessions with this label; an empty one selects sessions without a label.
    pub label: Option<String>,
    /// Sessions in this state.
    pub state: Option<State>,
}

/// Handle to the database; clones share it.
#[derive(Clone)]
pub struct Store(Arc<Database>);

struct Database {
    path: PathBuf,
    /// Number of this boot in the table `boots`.
    boot: i64,
    writer: Mutex<Connection>,
    /// Row of the latest session that this process has stored. SQLite would give the row of a deleted
    /// session to a new one, which a deletion under way would then delete.
    last_row: AtomicI64,
    readers: Mutex<Vec<Connection>>,
}

/// Connection for reads, returned to the idle ones when dropped.
struct Reader<'a> {
    database: &'a Database,
    connection: Option<Connection>,
}

impl Deref for Reader<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("present until the reader is dropped")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut idle = self.database.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_READERS {
            idle.extend(self.connection.take());
        }
    }
}

/// Outcome of storing a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Stored, and on disk.
    New,
    /// The same record is already stored.
    Known,
    /// A different record has this id.
    Conflict,
}

/// Error of the database.
#[derive(Debug)]
pub enum StoreError {
    /// Error of SQLite.
    Sqlite(rusqlite::Error),
    /// The file cannot be created.
    Io(io::Error),
    /// Written by a later version of Tandem.
    Later(i64),
    /// A stored document is invalid.
    Broken(String),
    /// The disk is full, or the database has its maximum size.
    Full,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::Later(version) => {
                write!(f, "the database has version {version}, this program supports {SCHEMA_VERSION}")
            }
            Self::Broken(what) => write!(f, "a stored record is invalid: {what}"),
            Self::Full => write!(f, "the disk is full, or the database has the size of --max-size"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Sqlite(error),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the database at `path`, creating it if necessary.
    ///
    /// # Errors
    /// If the file cannot be created, is not a database, or has a later version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let boot = linux::process::boot_id().map_err(|error| StoreError::Io(io::Error::other(error)))?;
        Self::open_in_boot(path, &boot, Now::read())
    }

    fn open_in_boot(path: &Path, boot: &str, now: Now) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(StoreError::Io)?;
        }
        // Records are for the owner alone. SQLite gives its log the mode of the database.
        OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(StoreError::Io)?;
        let mut writer = Connection::open(path)?;
        prepare(&mut writer)?;
        let boot = retention::boot_number(&writer, boot, now)?;
        let readers = (0..IDLE_READERS).map(|_| open_reader(path)).collect::<Result<_, _>>()?;
        let (path, writer, readers) = (path.to_owned(), Mutex::new(writer), Mutex::new(readers));
        Ok(Self(Arc::new(Database { path, boot, writer, last_row: AtomicI64::new(0), readers })))
    }

    /// Limits the size of the database in bytes: a record beyond it is refused as [`StoreError::Full`].
    /// A larger database keeps its size.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub fn limit_size(&self, bytes: u64) -> Result<(), StoreError> {
        let writer = self.writer();
        let page_bytes: u32 = writer.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = (bytes / u64::from(page_bytes.max(1))).clamp(1, u64::from(u32::MAX - 1));
        writer.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        Ok(())
    }

    /// Stores a record with its document as received. On return it is on disk.
    ///
    /// # Errors
    /// If the database cannot be written; it is then unchanged.
    pub fn keep(&self, record: &Record, document: &str) -> Result<Kept, StoreError> {
        self.keep_at(record, document, linux::clock::uptime_seconds())
    }

    fn keep_at(&self, record: &Record, document: &str, uptime_s: i64) -> Result<Kept, StoreError> {
        let connection = self.writer();
        let summary = serde_json::to_string(&record.summary()).map_err(broken)?;
        let added = connection.execute(
            "INSERT INTO sessions (id, started_at, label, summary, document, received_s, boot, rowid)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                     1 + max(?8, ifnull((SELECT max(rowid) FROM sessions), 0)))
             ON CONFLICT (id) DO NOTHING",
            params![
                record.id,
                record.started_at,
                record.label.as_deref().unwrap_or_default(),
                summary,
                document,
                uptime_s,
                self.0.boot,
                self.0.last_row.load(Ordering::Relaxed)
            ],
        )?;
        if added == 1 {
            self.0.last_row.store(connection.last_insert_rowid(), Ordering::Relaxed);
            return Ok(Kept::New);
        }
        let known: String =
            connection
                .query_row("SELECT document FROM sessions WHERE id = ?1", [&record.id], |row| row.get(0))?;
        // Compare parsed documents: white space does not matter.
        let same = Record::parse_accepted(known.as_bytes()).is_ok_and(|known| known == *record);
        Ok(if same { Kept::Known } else { Kept::Conflict })
    }

    /// Returns a document as received.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn document(&self, id: &str) -> Result<Option<String>, StoreError> {
        let found = self
            .reader()?
            .query_row("SELECT document FROM sessions WHERE id = ?1", [id], |row| row.get(0))
            .optional()?;
        Ok(found)
    }

    /// Returns the sessions with these ids in the given order; unknown ids are left out.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn by_ids(&self, ids: &[&str]) -> Result<Vec<Summary>, StoreError> {
        let connection = self.reader()?;
        let mut statement = connection.prepare_cached("SELECT summary FROM sessions WHERE id = ?1")?;
        let mut found = Vec::new();
        for id in ids {
            let row: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
            found.extend(row.map(|row| serde_json::from_str(&row)).transpose().map_err(broken)?);
        }
        Ok(found)
    }

    /// Returns the number of selected sessions.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u32, StoreError> {
        Ok(self.reader()?.query_row(
            "SELECT count(*) FROM sessions WHERE (?1 IS NULL OR label = ?1)
               AND (?2 IS NULL OR json_extract(summary, '$.state') = ?2)",
            params![filter.label, filter.state.map(State::name)],
            |row| row.get(0),
        )?)
    }

    /// Deletes a session; false if there is none with this id.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let is_deleted = self.writer().execute("DELETE FROM sessions WHERE id = ?1", [id])? > 0;
        self.erase_log()?;
        Ok(is_deleted)
    }

    /// Deletes the selected sessions if there are `expected`; sessions that arrive meanwhile stay.
    /// Returns their number, deleted or not. A kill may leave a part of them.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn delete_selected(&self, filter: &Filter, expected: Option<u32>) -> Result<u32, StoreError> {
        let state = filter.state.map(State::name);
        let (found, last): (u32, Option<i64>) = self.writer().query_row(
            "SELECT count(*), max(rowid) FROM sessions WHERE (?1 IS NULL OR label = ?1)
               AND (?2 IS NULL OR json_extract(summary, '$.state') = ?2)",
            params![filter.label, state],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        if expected != Some(found) {
            return Ok(found);
        }
        let mut from = i64::MIN;
        loop {
            let batch = self.delete_batch(|writer| {
                let query = "SELECT rowid FROM sessions WHERE rowid > ?1 AND rowid <= ?2
                       AND (?3 IS NULL OR label = ?3)
                       AND (?4 IS NULL OR json_extract(summary, '$.state') = ?4) ORDER BY rowid LIMIT ?5";
                rows(writer, query, params![from, last, filter.label, state, BATCH_SESSIONS])
            })?;
            let Some(end) = batch.last() else { break };
            from = *end;
        }
        self.erase_log()?;
        Ok(found)
    }

    /// Bytes of the database in use; space of deleted sessions is used again.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        bytes_in_use(&*self.reader()?)
    }

    /// Deletes the selected rows and returns them. The selection is part of the transaction: another
    /// process may have deleted a session and stored a new one in its row.
    fn delete_batch(
        &self,
        select: impl FnOnce(&Connection) -> Result<Vec<i64>, StoreError>,
    ) -> Result<Vec<i64>, StoreError> {
        let batch = {
            let mut writer = self.writer();
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let batch = select(&transaction)?;
            for row in &batch {
                transaction.execute("DELETE FROM sessions WHERE rowid = ?1", [row])?;
            }
            transaction.commit()?;
            batch
        };
        if !batch.is_empty() {
            // The lock is not fair: without a pause the next batch would take it before other threads.
            thread::sleep(BATCH_PAUSE);
        }
        Ok(batch)
    }

    /// Writes the log to the database and empties it, so that it holds no deleted record. Reads that
    /// stay open delay it until the next deletion.
    fn erase_log(&self) -> Result<(), StoreError> {
        for _ in 0..ERASE_ATTEMPTS {
            let writer = self.writer();
            writer.busy_timeout(BATCH_PAUSE)?;
            let is_busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            writer.busy_timeout(BUSY_TIMEOUT)?;
            drop(writer);
            if !is_busy? {
                break;
            }
            thread::sleep(ERASE_PAUSE);
        }
        Ok(())
    }

    /// Locks the writing connection. A panic in another thread leaves it intact: SQLite rolls back.
    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.0.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self) -> Result<Reader<'_>, StoreError> {
        let idle = self.0.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open_reader(&self.0.path)?,
        };
        Ok(Reader { database: &self.0, connection: Some(connection) })
    }
}

/// Creates or updates the tables, and sets the connection up for durable writes.
fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Flush each commit to the write-ahead log on disk before acknowledging it.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Overwrite deleted records in the database; `erase_log` removes them from the log.
    connection.pragma_update(None, "secure_delete", "ON")?;
    let tables = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = tables.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > SCHEMA_VERSION {
        return Err(StoreError::Later(version));
    }
    if version == 0 {
        tables.execute_batch(TABLES)?;
    }
    if version == 1 {
        tables.execute_batch(ADD_ARRIVAL)?;
        rewrite_summaries(&tables)?;
    }
    if version < 3 {
        tables.execute_batch(ADD_BOOTS)?;
    }
    if version < SCHEMA_VERSION {
        tables.execute_batch(ORDER_BY_INSTANT)?;
        tables.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    tables.commit()?;
    Ok(())
}

fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn rows(
    connection: &Connection,
    query: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<i64>, StoreError> {
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map(parameters, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn bytes_in_use(connection: &Connection) -> Result<u64, StoreError> {
    let pragma =
        |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).map(u64::from);
    let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
    Ok(pages * pragma("page_size")?)
}

fn broken(error: impl fmt::Display) -> StoreError {
    StoreError::Broken(error.to_string())
}

/// Computes the summaries anew from the documents, which are the truth.
fn rewrite_summaries(connection: &Connection) -> Result<(), StoreError> {
    let mut ids = connection.prepare("SELECT id FROM sessions")?;
    let ids: Vec<String> = ids.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut read = connection.prepare("SELECT document FROM sessions WHERE id = ?1")?;
    let mut write = connection.prepare("UPDATE sessions SET summary = ?2 WHERE id = ?1")?;
    for id in ids {
        let document: String = read.query_row([&id], |row| row.get(0))?;
        let record = Record::parse_accepted(document.as_bytes()).map_err(broken)?;
        let summary = serde_json::to_string(&record.summary()).map_err(broken)?;
        write.execute(params![id, summary])?;
    }
    Ok(())
}
