//! Intake of records: limits of time and memory, checks, storage.

use super::answers::{PageResponse, busy, error, failed, json_answer};
use crate::memory::{Budget, Permits, Share, TaskFailed};
use crate::store::{Kept, Store};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Request, StatusCode};
use playback::{MAX_RECORD_BYTES, Record, RecordError};
use player::serve::Network;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Time in which the next bytes of a record have to arrive.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for a record beyond that which the minimum rate gives it.
const RECEIVE_TIME: Duration = Duration::from_secs(30);
/// Minimum rate of a large record: 4 MiB have 94 s.
const MIN_BYTES_PER_S: u64 = 64 << 10;
/// Records that are parsed and stored at the same time. Parsing takes several times the memory of
/// the document.
const CONCURRENT_RECORDS: usize = 4;
/// Memory of records on their way, beyond 64 KiB of each.
const INTAKE_BYTES: u64 = 64 << 20;
const INTAKE_NETWORK_BYTES: u64 = 16 << 20;

/// Intake of records.
pub(super) struct Intake {
    budget: Arc<Budget>,
    permits: Permits,
}

impl Intake {
    pub(super) fn new() -> Self {
        let budget = Budget::new(INTAKE_BYTES, INTAKE_NETWORK_BYTES);
        Self { budget, permits: Permits::new(CONCURRENT_RECORDS) }
    }

    /// Stores the record in the body of a POST request.
    pub(super) async fn receive(
        &self,
        store: &Store,
        network: Network,
        request: Request<Incoming>,
    ) -> PageResponse {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected application/json", &[]);
        }
        let (document, share) = match read(request.into_body(), self.budget.share(network)).await {
            Ok(read) => read,
            Err(answer) => return answer,
        };
        let store = store.clone();
        // Parsing and the disk are slow: keep other requests going.
        let kept = self.permits.run_blocking(network, move || {
            let answer = keep(&store, &document);
            drop(share);
            answer
        });
        kept.await.unwrap_or_else(|TaskFailed| {
            error(StatusCode::INTERNAL_SERVER_ERROR, "the collector failed", &[])
        })
    }
}

/// Reads a body within its limits of size, time and memory.
async fn read(mut body: Incoming, mut share: Share) -> Result<(Vec<u8>, Share), PageResponse> {
    let too_large = || error(StatusCode::PAYLOAD_TOO_LARGE, "expected at most 4 MiB", &[]);
    if body.size_hint().lower() > MAX_RECORD_BYTES as u64 {
        return Err(too_large());
    }
    let started = Instant::now();
    let mut document: Vec<u8> = Vec::new();
    loop {
        let for_bytes = Duration::from_millis(document.len() as u64 * 1000 / MIN_BYTES_PER_S);
        let deadline = (started + RECEIVE_TIME + for_bytes).min(Instant::now() + PROGRESS_TIMEOUT);
        let frame = match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(error(StatusCode::REQUEST_TIMEOUT, "the record arrives too slowly", &[])),
            Ok(Some(Err(_))) => {
                let what = "the connection ended within the record";
                return Err(error(StatusCode::BAD_REQUEST, what, &[]));
            }
            Ok(None) => return Ok((document, share)),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(bytes) = frame.into_data() else { continue };
        let length = document.len() + bytes.len();
        if length > MAX_RECORD_BYTES {
            return Err(too_large());
        }
        if length > document.capacity() {
            let capacity = length.next_power_of_two();
            if !share.cover(capacity as u64) {
                return Err(busy("too many large records at once; send it again later"));
            }
            document.reserve_exact(capacity - document.len());
        }
        document.extend_from_slice(&bytes);
    }
}

fn keep(store: &Store, bytes: &[u8]) -> PageResponse {
    let record = match Record::parse(bytes) {
        Ok(record) => record,
        Err(RecordError::TooLarge(_)) => {
            return error(StatusCode::PAYLOAD_TOO_LARGE, "expected at most 4 MiB", &[]);
        }
        Err(RecordError::Malformed(what)) => {
            return error(StatusCode::BAD_REQUEST, "not a valid session record", &[what]);
        }
        Err(RecordError::Wrong(problems)) => {
            return error(StatusCode::UNPROCESSABLE_ENTITY, "the record contradicts itself", &problems);
        }
    };
    // The record was parsed as JSON, hence it is UTF-8.
    let document = String::from_utf8_lossy(bytes);
    let status = match store.keep(&record, &document) {
        Ok(Kept::New) => StatusCode::CREATED,
        Ok(Kept::Known) => StatusCode::OK,
        Ok(Kept::Conflict) => return error(StatusCode::CONFLICT, "a different session has this id", &[]),
        Err(problem) => return failed(&problem),
    };
    let url = format!("/sessions/{}", record.id);
    let mut answer = json_answer(status, &json!({ "id": record.id, "url": url }));
    if let Ok(url) = HeaderValue::from_str(&url) {
        answer.headers_mut().insert(header::LOCATION, url);
    }
    answer
}
