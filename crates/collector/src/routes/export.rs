//! Lists of any length, sent in pieces: a client that reads slowly holds one piece in memory.

use super::answers::{CSV, JSON, PageResponse, Problem, text};
use super::blocking;
use crate::memory::{FREE_BYTES, Permits};
use crate::store::{Filter, Place, Store};
use hyper::StatusCode;
use playback::{Summary, summary};
use player::content::Body;
use player::serve::Network;
use std::io;
use std::sync::Arc;

/// Sessions of one piece, unless it would have more than [`PIECE_BYTES`].
const PIECE_SESSIONS: u32 = 200;
/// Bytes of the summaries of one piece. A summary may have half of them.
const PIECE_BYTES: usize = FREE_BYTES as usize;

/// A list of sessions to send.
pub(super) struct Export {
    pub(super) store: Store,
    pub(super) readers: Arc<Permits>,
    pub(super) network: Network,
    pub(super) filter: Filter,
    pub(super) before: Option<Place>,
    pub(super) limit: u32,
}

/// Form of a list.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Csv,
    Json,
}

impl Export {
    /// Responds with the list. The first piece decides between success and an error.
    pub(super) async fn respond(mut self, form: Form) -> Result<PageResponse, Problem> {
        let first = self.piece().await?;
        let kind = match form {
            Form::Csv => CSV,
            Form::Json => JSON,
        };
        if first.is_last {
            return Ok(text(StatusCode::OK, kind, form.piece(&first, true)));
        }
        let (sender, body) = Body::stream();
        let begin = form.piece(&first, true);
        drop(first);
        tokio::spawn(async move {
            let mut piece = Ok(begin.into());
            let mut is_last = false;
            loop {
                // The client is gone, or was disconnected because it does not read.
                if sender.send(piece).await.is_err() || is_last {
                    return;
                }
                // Reads no further before the connection has taken the piece.
                let Ok(place) = sender.reserve().await else { return };
                drop(place);
                let next = self.piece().await;
                is_last = next.as_ref().map_or(true, |next| next.is_last);
                // An error breaks the response off: it must not look complete.
                piece =
                    next.map(|next| form.piece(&next, false).into()).map_err(|_| io::ErrorKind::Other.into());
            }
        });
        Ok(text(StatusCode::OK, kind, String::new()).map(|_| body))
    }

    /// Reads the next piece.
    async fn piece(&mut self) -> Result<Piece, Problem> {
        let wanted = self.limit.min(PIECE_SESSIONS);
        let (store, filter, before) = (self.store.clone(), self.filter.clone(), self.before.clone());
        let read = move || store.list_within(wanted, PIECE_BYTES, before.as_ref(), &filter);
        let (sessions, has_more) = blocking(&self.readers, self.network, read).await?;
        self.limit -= sessions.len() as u32;
        self.before = sessions.last().map(Place::from);
        let is_last = !has_more || self.limit == 0;
        let next = sessions.last().filter(|_| is_last && has_more).map(|last| last.id.clone());
        Ok(Piece { sessions, next, is_last })
    }
}

struct Piece {
    sessions: Vec<Summary>,
    /// Id before which the list goes on, beyond its limit.
    next: Option<String>,
    is_last: bool,
}

impl Form {
    fn piece(self, piece: &Piece, is_first: bool) -> String {
        match self {
            Self::Csv => {
                let csv = summary::full(&piece.sessions).to_csv();
                let header = csv.find("\r\n").map_or(csv.len(), |end| end + 2);
                csv[if is_first { 0 } else { header }..].to_owned()
            }
            Self::Json => {
                let list: Vec<String> =
                    piece.sessions.iter().map(|one| serde_json::json!(one).to_string()).collect();
                let start = match (is_first, list.is_empty()) {
                    (true, _) => "{\"sessions\":[",
                    (false, false) => ",",
                    (false, true) => "",
                };
                let end = if piece.is_last {
                    format!("],\"next\":{}}}\n", serde_json::json!(piece.next))
                } else {
                    String::new()
                };
                format!("{start}{}{end}", list.join(","))
            }
        }
    }
}
