//! Session store: one SQLite table with the documents and their summaries.

use playback::{Record, State, Summary};
use rusqlite::{Connection, OptionalExtension, params};
use std::fmt;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Version of the tables, stored in `user_version`.
const SCHEMA_VERSION: i64 = 2;
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

/// Selection of sessions; all without members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Sessions with this label; an empty one selects sessions without a label.
    pub label: Option<String>,
    /// Sessions in this state.
    pub state: Option<State>,
}

/// Limits of the stored sessions; none without members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Maximum time since a session arrived.
    pub max_age: Option<Duration>,
    /// Maximum number of sessions; the latest arrivals stay.
    pub max_sessions: Option<u32>,
}

/// Handle to the database; clones share it.
#[derive(Clone)]
pub struct Store {
    connection: Arc<Mutex<Connection>>,
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
    Io(std::io::Error),
    /// Written by a later version of Tandem.
    Later(i64),
    /// A stored document is invalid.
    Broken(String),
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
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
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
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(StoreError::Io)?;
        }
        // Records are for the owner alone. SQLite gives its log the mode of the database.
        OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(StoreError::Io)?;
        Self::prepare(Connection::open(path)?)
    }

    fn prepare(mut connection: Connection) -> Result<Self, StoreError> {
        connection.busy_timeout(Duration::from_secs(5))?;
        // Flush each commit to the write-ahead log on disk before acknowledging it.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Overwrite deleted records in the database; `erase_log` removes them from the log.
        connection.pragma_update(None, "secure_delete", "ON")?;
        let tables = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = tables.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        match version {
            0 => {
                tables.execute_batch(TABLES)?;
                tables.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            }
            1 => {
                tables.execute_batch(ADD_ARRIVAL)?;
                rewrite_summaries(&tables)?;
                tables.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            }
            SCHEMA_VERSION => {}
            later => return Err(StoreError::Later(later)),
        }
        tables.commit()?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    /// Stores a record with its document as received. On return it is on disk.
    ///
    /// # Errors
    /// If the database cannot be written; it is then unchanged.
    pub fn keep(&self, record: &Record, document: &str) -> Result<Kept, StoreError> {
        let connection = self.lock();
        let summary = serde_json::to_string(&record.summary()).map_err(broken)?;
        let added = connection.execute(
            "INSERT INTO sessions (id, started_at, label, summary, document, received_s)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO NOTHING",
            params![
                record.id,
                record.started_at,
                record.label.as_deref().unwrap_or_default(),
                summary,
                document,
                unix_time()
            ],
        )?;
        if added == 1 {
            return Ok(Kept::New);
        }
        let known: String =
            connection
                .query_row("SELECT document FROM sessions WHERE id = ?1", [&record.id], |row| row.get(0))?;
        // Compare parsed documents: white space does not matter.
        let same = Record::parse(known.as_bytes()).is_ok_and(|known| known == *record);
        Ok(if same { Kept::Known } else { Kept::Conflict })
    }

    /// Returns a document as received.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn document(&self, id: &str) -> Result<Option<String>, StoreError> {
        let found = self
            .lock()
            .query_row("SELECT document FROM sessions WHERE id = ?1", [id], |row| row.get(0))
            .optional()?;
        Ok(found)
    }

    /// Returns at most `limit` selected sessions, newest first; with `before`, only those older
    /// than this session.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn list(
        &self,
        limit: u32,
        before: Option<&str>,
        filter: &Filter,
    ) -> Result<Vec<Summary>, StoreError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT summary FROM sessions
             WHERE (?1 IS NULL OR (started_at, id) < (SELECT started_at, id FROM sessions WHERE id = ?1))
               AND (?2 IS NULL OR label = ?2)
               AND (?3 IS NULL OR json_extract(summary, '$.state') = ?3)
             ORDER BY started_at DESC, id DESC LIMIT ?4",
        )?;
        let state = filter.state.map(State::name);
        let rows = statement
            .query_map(params![before, filter.label, state, limit], |row| row.get::<_, String>(0))?;
        rows.map(|row| serde_json::from_str(&row?).map_err(broken)).collect()
    }

    /// Returns the sessions with these ids in the given order; unknown ids are left out.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn by_ids(&self, ids: &[&str]) -> Result<Vec<Summary>, StoreError> {
        let connection = self.lock();
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
        Ok(self.lock().query_row(
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
        let connection = self.lock();
        let is_deleted = connection.execute("DELETE FROM sessions WHERE id = ?1", [id])? > 0;
        erase_log(&connection)?;
        Ok(is_deleted)
    }

    /// Deletes the selected sessions if there are `expected`. Returns their number, deleted or not.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn delete_selected(&self, filter: &Filter, expected: Option<u32>) -> Result<u32, StoreError> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let deleted = transaction.execute(
            "DELETE FROM sessions WHERE (?1 IS NULL OR label = ?1)
               AND (?2 IS NULL OR json_extract(summary, '$.state') = ?2)",
            params![filter.label, filter.state.map(State::name)],
        )?;
        let deleted = u32::try_from(deleted).unwrap_or(u32::MAX);
        if expected == Some(deleted) {
            transaction.commit()?;
            erase_log(&connection)?;
        } else {
            transaction.rollback()?;
        }
        Ok(deleted)
    }

    /// Deletes the sessions beyond the limits; returns their number.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn retain(&self, limits: Retention) -> Result<usize, StoreError> {
        let connection = self.lock();
        let mut deleted = 0;
        if let Some(age) = limits.max_age {
            let oldest = unix_time().saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
            deleted += connection.execute("DELETE FROM sessions WHERE received_s < ?1", [oldest])?;
        }
        if let Some(count) = limits.max_sessions {
            deleted += connection.execute(
                "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions
                 ORDER BY received_s DESC, started_at DESC, id DESC LIMIT -1 OFFSET ?1)",
                [count],
            )?;
        }
        if deleted > 0 {
            erase_log(&connection)?;
        }
        Ok(deleted)
    }

    /// Locks the connection. A panic in another thread leaves it intact: SQLite rolls back.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the log to the database and empties it, so that it holds no deleted record.
fn erase_log(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

fn broken(error: impl fmt::Display) -> StoreError {
    StoreError::Broken(error.to_string())
}

/// Seconds since 1970.
fn unix_time() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Computes the summaries anew from the documents, which are the truth.
fn rewrite_summaries(connection: &Connection) -> Result<(), StoreError> {
    let mut ids = connection.prepare("SELECT id FROM sessions")?;
    let ids: Vec<String> = ids.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut read = connection.prepare("SELECT document FROM sessions WHERE id = ?1")?;
    let mut write = connection.prepare("UPDATE sessions SET summary = ?2 WHERE id = ?1")?;
    for id in ids {
        let document: String = read.query_row([&id], |row| row.get(0))?;
        let record = Record::parse(document.as_bytes()).map_err(broken)?;
        let summary = serde_json::to_string(&record.summary()).map_err(broken)?;
        write.execute(params![id, summary])?;
    }
    Ok(())
}
