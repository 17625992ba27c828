//! HTTP routes: the API, its pages, the player's page and content.

use crate::query::{BadQuery, Query};
use crate::store::{Filter, Kept, Store, StoreError};
use crate::{Config, pages};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use playback::{MAX_RECORD_BYTES, Record, RecordError, Summary, summary};
use player::content::{Body, Content};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// Time limit for receiving a record.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(30);
/// Default and maximum number of sessions in one response.
const DEFAULT_PAGE_SESSIONS: u32 = 100;
const MAX_PAGE_SESSIONS: u32 = 10_000;
/// Maximum number of compared sessions.
const MAX_COMPARED_SESSIONS: u32 = 1_000;

/// Parameters of the routes.
const LIST: &[&str] = &["limit", "before", "label", "state"];
const FILTER: &[&str] = &["label", "state"];
const COMPARE: &[&str] = &["ids", "label", "state"];
const DELETE: &[&str] = &["label", "state", "confirm"];

pub(crate) struct Site {
    config: Config,
    store: Store,
    web: Option<Content>,
}

type PageResponse = Response<Body>;

impl Site {
    pub(crate) fn new(config: Config, store: Store) -> Self {
        let web = config.web.clone().map(|web| Content { directory: Some(web), ..Content::default() });
        Self { config, store, web }
    }

    pub(crate) async fn respond(&self, request: Request<Incoming>) -> PageResponse {
        let headers = request.headers();
        if !self.config.accepts_host(headers) {
            let hint = "unknown host name; allow it with --allow-host";
            return with_security_headers(error(StatusCode::MISDIRECTED_REQUEST, hint, &[]));
        }
        let path = request.uri().path().to_owned();
        if let (Some(content), Some(inner)) = (&self.config.content, path.strip_prefix("/content")) {
            // Content is public: any page may play it.
            if inner.starts_with('/') {
                return content.respond(&request, inner);
            }
        }
        let origin =
            self.config.foreign_origin(headers).map(|(origin, allowed)| (origin.to_owned(), allowed));
        let api = path == "/api" || path.starts_with("/api/");
        let mut answer = match &origin {
            Some((_, false)) if *request.method() != Method::GET && *request.method() != Method::HEAD => {
                let hint = "origin not allowed; allow it with --allow-origin";
                error(StatusCode::FORBIDDEN, hint, &[])
            }
            _ if api && *request.method() == Method::OPTIONS => preflight(),
            _ if !self.config.accepts_token(headers) => {
                let mut answer = error(StatusCode::UNAUTHORIZED, "missing or wrong token", &[]);
                let asked = HeaderValue::from_static("Basic realm=\"tandem\", charset=\"UTF-8\", Bearer");
                answer.headers_mut().insert(header::WWW_AUTHENTICATE, asked);
                answer
            }
            Some(_) if is_deletion(&request, &path) => {
                error(StatusCode::FORBIDDEN, "only the collector's own pages may delete sessions", &[])
            }
            _ => self.route(request, &path).await,
        };
        if let Some((origin, true)) = origin.filter(|_| api)
            && let Ok(origin) = HeaderValue::from_str(&origin)
        {
            answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        answer.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
        with_security_headers(answer)
    }

    async fn route(&self, request: Request<Incoming>, path: &str) -> PageResponse {
        let head = *request.method() == Method::HEAD;
        let answer = match *request.method() {
            Method::POST if path == "/api/sessions" => self.receive(request).await,
            Method::GET | Method::HEAD => match self.read(&request, path) {
                Ok(answer) => answer,
                Err(problem) => problem.answer(path),
            },
            Method::DELETE | Method::POST if is_deletion(&request, path) => {
                self.delete(&request, path).await.unwrap_or_else(|problem| problem.answer(path))
            }
            _ => not_allowed(path),
        };
        if head && !answer.body().is_empty() {
            // A HEAD response carries the length of the body that GET would return.
            let length = answer.body().left();
            let mut answer = answer.map(|_| Body::empty());
            answer.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            return answer;
        }
        answer
    }

    /// Stores the record in the body of a POST request.
    async fn receive(&self, request: Request<Incoming>) -> PageResponse {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected application/json", &[]);
        }
        let too_large = || error(StatusCode::PAYLOAD_TOO_LARGE, "expected at most 4 MiB", &[]);
        let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if length
            .and_then(|length| length.parse::<u64>().ok())
            .is_some_and(|length| length > MAX_RECORD_BYTES as u64)
        {
            return too_large();
        }
        let body = Limited::new(request.into_body(), MAX_RECORD_BYTES).collect();
        let bytes = match tokio::time::timeout(RECEIVE_TIMEOUT, body).await {
            Err(_) => return error(StatusCode::REQUEST_TIMEOUT, "the record did not arrive in time", &[]),
            Ok(Err(problem)) if problem.is::<http_body_util::LengthLimitError>() => return too_large(),
            Ok(Err(_)) => {
                return error(StatusCode::BAD_REQUEST, "the connection ended within the record", &[]);
            }
            Ok(Ok(body)) => body.to_bytes(),
        };
        let store = self.store.clone();
        // Parsing and the disk are slow: keep other requests going.
        let kept = tokio::task::spawn_blocking(move || keep(&store, &bytes)).await;
        kept.unwrap_or_else(|_| error(StatusCode::INTERNAL_SERVER_ERROR, "the collector failed", &[]))
    }

    fn read(&self, request: &Request<Incoming>, path: &str) -> Result<PageResponse, Problem> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let query = match parameters(&parts) {
            Some(known) => Query::parse(request.uri().query(), known)?,
            None => Query::default(),
        };
        Ok(match parts.as_slice() {
            ["api", "sessions"] => {
                let (sessions, more) = self.page(&query)?;
                json_answer(StatusCode::OK, &json!({ "sessions": sessions, "next": more }))
            }
            ["api", "sessions", id] => match self.store.document(id)? {
                Some(document) => text(StatusCode::OK, "application/json", document),
                None => missing(),
            },
            ["api", "sessions", id, form @ ("p1203" | "csv")] => match self.record(id)? {
                Some(record) if *form == "p1203" => json_answer(StatusCode::OK, &record.p1203()),
                Some(record) => text(StatusCode::OK, CSV, record.segments().to_csv()),
                None => missing(),
            },
            ["api", "sessions.csv"] => {
                let all = self.store.list(u32::MAX, None, &query.filter()?)?;
                text(StatusCode::OK, CSV, summary::full(&all).to_csv())
            }
            ["api", "compare"] => {
                let (sessions, all) = self.chosen(&query)?;
                let mut comparison = summary::comparison(&sessions);
                comparison["selected"] = json!(all);
                json_answer(StatusCode::OK, &comparison)
            }
            ["api", ..] => missing(),
            ["sessions"] => {
                let (sessions, more) = self.page(&query)?;
                page(&pages::list(&sessions, &query.filter()?, more.as_deref(), self.web.is_some()))
            }
            ["sessions", "delete"] => {
                let filter = query.filter()?;
                page(&pages::confirm_all(&filter, self.store.count(&filter)?))
            }
            ["sessions", id] => match self.record(id)? {
                Some(record) => page(&pages::one(&record, self.web.is_some())),
                None => missing(),
            },
            ["sessions", id, "delete"] => match self.record(id)? {
                Some(record) => page(&pages::confirm_one(&record)),
                None => missing(),
            },
            ["compare"] => {
                let (sessions, all) = self.chosen(&query)?;
                page(&pages::compare(&sessions, &query.filter()?, all, self.web.is_some()))
            }
            [""] if self.web.is_none() => to_sessions(StatusCode::FOUND),
            _ => match &self.web {
                Some(web) => player_page(web.respond(request, path)),
                None => missing(),
            },
        })
    }

    /// One page of sessions, and the id before which the next page begins, if there are more.
    fn page(&self, query: &Query) -> Result<(Vec<Summary>, Option<String>), Problem> {
        let limit = query.number("limit", (1, MAX_PAGE_SESSIONS))?.unwrap_or(DEFAULT_PAGE_SESSIONS);
        let before = query.get("before");
        if let Some(id) = before
            && self.store.document(id)?.is_none()
        {
            return Err(BadQuery::new(format!("parameter `before`: no session has the id `{id}`")).into());
        }
        let mut sessions = self.store.list(limit + 1, before, &query.filter()?)?;
        let rest = sessions.len() > limit as usize;
        sessions.truncate(limit as usize);
        let more = sessions.last().filter(|_| rest).map(|last| last.id.clone());
        Ok((sessions, more))
    }

    /// Returns the sessions named in the query or the newest selected ones, and the number of all
    /// selected ones.
    fn chosen(&self, query: &Query) -> Result<(Vec<Summary>, u32), Problem> {
        let filter = query.filter()?;
        let Some(ids) = query.get("ids") else {
            return Ok((self.store.list(MAX_COMPARED_SESSIONS, None, &filter)?, self.store.count(&filter)?));
        };
        if filter != Filter::default() {
            return Err(BadQuery::new("parameter `ids`: expected no `label` and `state` beside it").into());
        }
        let ids: Vec<&str> = ids.split(',').collect();
        if ids.len() > MAX_COMPARED_SESSIONS as usize {
            let problem = format!("parameter `ids`: expected at most {MAX_COMPARED_SESSIONS} ids");
            return Err(BadQuery::new(problem).into());
        }
        let sessions = self.store.by_ids(&ids)?;
        let unknown: Vec<&str> =
            ids.iter().copied().filter(|id| sessions.iter().all(|session| session.id != *id)).collect();
        if !unknown.is_empty() {
            let problem = format!("parameter `ids`: no session has the id {}", unknown.join(", "));
            return Err(BadQuery::new(problem).into());
        }
        let all = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
        Ok((sessions, all))
    }

    /// Deletes one session, or those selected by the query if `confirm` is their number. A page posts
    /// a form; other clients send DELETE.
    async fn delete(&self, request: &Request<Incoming>, path: &str) -> Result<PageResponse, Problem> {
        let is_form = *request.method() == Method::POST;
        if is_form && !request.headers().contains_key(header::ORIGIN) {
            // Browsers send it with each form. Without it the form's page is unknown.
            return Ok(error(
                StatusCode::FORBIDDEN,
                "a form without an origin; send DELETE to /api/sessions",
                &[],
            ));
        }
        let query = request.uri().query();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let store = self.store.clone();
        // Deletion overwrites the records on disk: keep other requests going.
        let deleted = match parts.as_slice() {
            ["api", "sessions", id] | ["sessions", id, "delete"] => {
                Query::parse(query, &[])?;
                let id = (*id).to_owned();
                if !blocking(move || store.delete(&id)).await? {
                    return Ok(missing());
                }
                1
            }
            _ => {
                let query = Query::parse(query, DELETE)?;
                let (filter, expected) = (query.filter()?, query.number("confirm", (0, u32::MAX))?);
                let found = blocking(move || store.delete_selected(&filter, expected)).await?;
                if expected != Some(found) {
                    let what =
                        format!("{found} sessions are selected; repeat with confirm={found} to delete them");
                    return Ok(json_answer(
                        StatusCode::CONFLICT,
                        &json!({ "error": what, "sessions": found }),
                    ));
                }
                found
            }
        };
        if !is_form {
            return Ok(json_answer(StatusCode::OK, &json!({ "deleted": deleted })));
        }
        Ok(to_sessions(StatusCode::SEE_OTHER))
    }

    fn record(&self, id: &str) -> Result<Option<Record>, StoreError> {
        let Some(document) = self.store.document(id)? else { return Ok(None) };
        Record::parse(document.as_bytes()).map(Some).map_err(|error| StoreError::Broken(error.to_string()))
    }
}

/// Parameters of a route that reads; `None` for a file, whose parameters are for its page.
fn parameters(parts: &[&str]) -> Option<&'static [&'static str]> {
    Some(match parts {
        ["api", "sessions"] | ["sessions"] => LIST,
        ["api", "sessions.csv"] | ["sessions", "delete"] => FILTER,
        ["api", "compare"] | ["compare"] => COMPARE,
        ["api" | "sessions", ..] => &[],
        _ => return None,
    })
}

/// True for a request that deletes sessions.
fn is_deletion(request: &Request<Incoming>, path: &str) -> bool {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match *request.method() {
        Method::DELETE => matches!(parts.as_slice(), ["api", "sessions"] | ["api", "sessions", _]),
        Method::POST => matches!(parts.as_slice(), ["sessions", "delete"] | ["sessions", _, "delete"]),
        _ => false,
    }
}

/// Runs a function of the store in another thread.
async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let result = tokio::task::spawn_blocking(act).await;
    result.unwrap_or_else(|error| Err(StoreError::Broken(error.to_string()))).map_err(Problem::Store)
}

/// Reason for which a request is not answered.
enum Problem {
    Query(BadQuery),
    Store(StoreError),
}

impl From<BadQuery> for Problem {
    fn from(problem: BadQuery) -> Self {
        Self::Query(problem)
    }
}

impl From<StoreError> for Problem {
    fn from(problem: StoreError) -> Self {
        Self::Store(problem)
    }
}

impl Problem {
    /// The response: a page for a page, and JSON for the API.
    fn answer(&self, path: &str) -> PageResponse {
        match self {
            Self::Store(problem) => failed(problem),
            Self::Query(BadQuery(problems)) if path.starts_with("/api/") => {
                error(StatusCode::BAD_REQUEST, "wrong query parameters", problems)
            }
            Self::Query(BadQuery(problems)) => {
                let mut answer = page(&pages::wrong(problems));
                *answer.status_mut() = StatusCode::BAD_REQUEST;
                answer
            }
        }
    }
}

fn not_allowed(path: &str) -> PageResponse {
    let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed", &[]);
    let allowed = match path {
        "/api/sessions" => "GET, HEAD, POST, DELETE",
        path if path.starts_with("/api/sessions/") => "GET, HEAD, DELETE",
        path if path.starts_with("/sessions/") && path.ends_with("delete") => "GET, HEAD, POST",
        _ => "GET, HEAD",
    };
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn keep(store: &Store, bytes: &[u8]) -> PageResponse {
    let record = match Record::parse(bytes) {
        Ok(record) => record,
        Err(RecordError::TooLarge(_)) => {
            return error(StatusCode::PAYLOAD_TOO_LARGE, "expected at most 4 MiB", &[]);
        }
        Err(RecordError::Malformed(what)) => {
            return error(StatusCode::BAD_REQUEST, "it is no record of a session", &[what]);
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

const CSV: &str = "text/csv; charset=utf-8";

fn text(status: StatusCode, kind: &'static str, text: String) -> PageResponse {
    let mut answer = Response::new(Body::full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

fn json_answer(status: StatusCode, value: &Value) -> PageResponse {
    text(status, "application/json", format!("{value}\n"))
}

fn error(status: StatusCode, what: &str, problems: &[String]) -> PageResponse {
    json_answer(status, &json!({ "error": what, "problems": problems }))
}

/// Redirects to the list of sessions.
fn to_sessions(status: StatusCode) -> PageResponse {
    let mut answer = text(status, "text/plain; charset=utf-8", String::new());
    answer.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/sessions"));
    answer
}

fn missing() -> PageResponse {
    error(StatusCode::NOT_FOUND, "not found", &[])
}

/// Response for a database error: players keep their records and retry on 503.
fn failed(problem: &StoreError) -> PageResponse {
    error(StatusCode::SERVICE_UNAVAILABLE, "database error", &[problem.to_string()])
}

fn preflight() -> PageResponse {
    let mut answer = text(StatusCode::NO_CONTENT, "text/plain", String::new());
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Authorization, Content-Type"),
    );
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    answer
}

/// Serves a report page with a policy that allows its own scripts and styles only.
fn page(page: &report::Page) -> PageResponse {
    let html = page.to_html();
    let scripts = html.split("<script>").skip(1).filter_map(|rest| rest.split("</script>").next());
    let hashes: Vec<String> = scripts
        .map(|script| format!("'sha256-{}'", BASE64.encode(Sha256::digest(script.as_bytes()))))
        .collect();
    let policy = format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'",
        if hashes.is_empty() { "'none'".to_owned() } else { hashes.join(" ") }
    );
    let mut answer = text(StatusCode::OK, "text/html; charset=utf-8", html);
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

/// Adds the policy of the player's page: its own scripts and YouTube's, media from any address.
fn player_page(mut answer: PageResponse) -> PageResponse {
    const POLICY: &str = "default-src 'self'; script-src 'self' https://www.youtube.com; \
         style-src 'self' 'unsafe-inline'; img-src * data: blob:; media-src * blob:; connect-src *; \
         worker-src 'self' blob:; frame-src https://www.youtube.com https://www.youtube-nocookie.com; \
         base-uri 'none'; object-src 'none'; frame-ancestors 'none'";
    let headers = answer.headers_mut();
    headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    answer
}

/// Adds the security headers of every response.
fn with_security_headers(mut answer: PageResponse) -> PageResponse {
    let fields = [
        ("x-content-type-options", "nosniff"),
        // With `no-referrer` a browser would send `Origin: null` with the pages' own forms.
        ("referrer-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in fields {
        answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if answer.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        let any_origin = HeaderValue::from_static("cross-origin");
        answer.headers_mut().insert(HeaderName::from_static("cross-origin-resource-policy"), any_origin);
    }
    answer
}
