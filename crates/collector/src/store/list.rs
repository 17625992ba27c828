//! List of sessions in the order of their start, read page by page.

use super::{Filter, Store, StoreError, broken};
use playback::{State, Summary};
use rusqlite::{OptionalExtension, params};

/// Newest sessions first. Starts without their `Z` are in the order of time.
const NEWEST: &str = "SELECT summary FROM sessions
     WHERE (?1 IS NULL OR label = ?1) AND (?2 IS NULL OR json_extract(summary, '$.state') = ?2)
     ORDER BY rtrim(started_at, 'Z') DESC, id DESC LIMIT ?3";
/// As [`NEWEST`], after a place in the list. With `?4 IS NULL OR …`, or a comparison of row values, SQLite
/// scans the index from the newest session to the place.
const OLDER: &str = "SELECT summary FROM sessions
     WHERE rtrim(started_at, 'Z') <= rtrim(?4, 'Z') AND (rtrim(started_at, 'Z') < rtrim(?4, 'Z') OR id < ?5)
       AND (?1 IS NULL OR label = ?1) AND (?2 IS NULL OR json_extract(summary, '$.state') = ?2)
     ORDER BY rtrim(started_at, 'Z') DESC, id DESC LIMIT ?3";

/// Place of a session in the list, which is ordered by start and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    started_at: String,
    id: String,
}

impl From<&Summary> for Place {
    fn from(session: &Summary) -> Self {
        Self { started_at: session.started_at.clone(), id: session.id.clone() }
    }
}

impl Store {
    /// Returns the place of a session in the list; `None` if there is none with this id.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn place(&self, id: &str) -> Result<Option<Place>, StoreError> {
        let query = "SELECT started_at, id FROM sessions WHERE id = ?1";
        let place = |row: &rusqlite::Row<'_>| Ok(Place { started_at: row.get(0)?, id: row.get(1)? });
        Ok(self.reader()?.query_row(query, [id], place).optional()?)
    }

    /// Returns at most `limit` selected sessions, newest first; with `before`, only those after
    /// this place in the list.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn list(
        &self,
        limit: u32,
        before: Option<&Place>,
        filter: &Filter,
    ) -> Result<Vec<Summary>, StoreError> {
        self.list_within(limit, usize::MAX, before, filter).map(|(sessions, _)| sessions)
    }

    /// As [`list`](Self::list), but ends before the summaries have more than `max_bytes` in sum, except
    /// with the first one. Returns also whether the list goes on.
    pub(crate) fn list_within(
        &self,
        limit: u32,
        max_bytes: usize,
        before: Option<&Place>,
        filter: &Filter,
    ) -> Result<(Vec<Summary>, bool), StoreError> {
        let connection = self.reader()?;
        let mut statement = connection.prepare_cached(if before.is_some() { OLDER } else { NEWEST })?;
        let state = filter.state.map(State::name);
        // One more tells whether the list goes on.
        let max_rows = i64::from(limit) + 1;
        let rows = match before {
            Some(place) => {
                statement.query(params![filter.label, state, max_rows, place.started_at, place.id])?
            }
            None => statement.query(params![filter.label, state, max_rows])?,
        };
        let (mut sessions, mut bytes) = (Vec::new(), 0);
        for summary in rows.mapped(|row| row.get::<_, String>(0)) {
            let summary = summary?;
            bytes += summary.len();
            if sessions.len() == limit as usize || (bytes > max_bytes && !sessions.is_empty()) {
                return Ok((sessions, true));
            }
            sessions.push(serde_json::from_str(&summary).map_err(broken)?);
        }
        Ok((sessions, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use playback::Record;

    /// A store of 60 sessions, three in each second: one start to the millisecond, two equal ones finer.
    /// A third of the seconds has no label.
    fn store(folder: &tempfile::TempDir) -> Store {
        let store = Store::open(&folder.path().join("s.db")).unwrap();
        let text = include_str!("../../../../docs/reference/session.md");
        let text = text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(text).unwrap();
        for number in 0..60 {
            let fraction = [".500", ".5001", ".5001"][number % 3];
            document["id"] = format!("session-{:02}", number * 7 % 60).into();
            document["started_at"] = format!("2026-11-22T08:00:{:02}{fraction}Z", number / 3).into();
            document["label"] = ["bus", "", "train"][number / 3 % 3].into();
            let text = document.to_string();
            store.keep(&Record::parse(text.as_bytes()).unwrap(), &text).unwrap();
        }
        store
    }

    /// SQLite's plan for a statement.
    fn plan(store: &Store, query: &str) -> String {
        let reader = store.reader().unwrap();
        let mut statement = reader.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    }

    #[test]
    fn page_of_a_list_begins_at_its_place_in_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        assert_eq!(plan(&store, OLDER), "SEARCH sessions USING INDEX by_start (<expr><?)");
        assert_eq!(plan(&store, NEWEST), "SCAN sessions USING INDEX by_start", "from its newest session");
    }

    #[test]
    fn pages_of_a_list_are_together_the_whole_list() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let ids = |sessions: &[Summary]| sessions.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        let labels = [None, Some(String::new()), Some("bus".to_owned()), Some("boat".to_owned())];
        for (label, count) in labels.into_iter().zip([60, 21, 21, 0]) {
            let filter = Filter { label, state: Some(State::Finished) };
            let whole = store.list(100, None, &filter).unwrap();
            assert_eq!(whole.len(), count, "{filter:?}");
            let place = |one: &Summary| (one.started_at.trim_end_matches('Z').to_owned(), one.id.clone());
            assert!(whole.is_sorted_by(|a, b| place(a) > place(b)), "{:?}", ids(&whole));
            for limit in [1, 7] {
                let (mut pages, mut before) = (Vec::new(), None);
                loop {
                    let (page, goes_on) =
                        store.list_within(limit, usize::MAX, before.as_ref(), &filter).unwrap();
                    before = page.last().map(Place::from);
                    pages.extend(ids(&page));
                    if !goes_on {
                        break;
                    }
                }
                assert_eq!(pages, ids(&whole), "{filter:?}, {limit} a page");
            }
        }
    }
}
