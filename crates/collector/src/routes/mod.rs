//! HTTP routes: the API, its pages, the player's page and content.

mod answers;
mod export;
mod receive;

use crate::access::HostProblem;
use crate::memory::{Budget, FREE_BYTES, Permits, TaskFailed};
use crate::query::{BadQuery, Query};
use crate::store::{Filter, Place, Store, StoreError};
use crate::token_gate::{TokenGate, WRONG_TOKEN_PAUSE};
use crate::{Config, pages};
use answers::{
    CSV, JSON, METRICS, PageResponse, Problem, busy, error, is_api, json_answer, missing, page, player_page,
    preflight, problem, text, to_sessions, unauthorized, with_security_headers,
};
use export::{Export, Form};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, StatusCode};
use playback::{Record, RecordError, Summary, summary};
use player::content::{Body, respond_with_file};
use player::serve::Network;
use receive::Intake;
use serde_json::json;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use tls::FailureCounts;

/// Default and maximum number of sessions in one list, and on one page.
const DEFAULT_LIST_SESSIONS: u32 = 100;
const MAX_LIST_SESSIONS: u32 = 10_000;
const MAX_PAGE_SESSIONS: u32 = 1_000;
/// Maximum number of compared sessions.
const MAX_COMPARED_SESSIONS: u32 = 1_000;
/// Reads of the database, with the rendering of their pages, at the same time.
const CONCURRENT_READS: usize = 4;
/// Memory of responses that clients still read, beyond 64 KiB of each.
const RESPONSE_BYTES: u64 = 64 << 20;
const RESPONSE_NETWORK_BYTES: u64 = 16 << 20;

/// Parameters of the routes.
const LIST: &[&str] = &["limit", "before", "label", "state"];
const FILTER: &[&str] = &["label", "state"];
const COMPARE: &[&str] = &["ids", "label", "state"];
const DELETE: &[&str] = &["label", "state", "confirm"];

pub(crate) struct Site {
    config: Config,
    store: Store,
    tls_failures: Arc<FailureCounts>,
    intake: Intake,
    responses: Arc<Budget>,
    readers: Arc<Permits>,
    /// Large tasks that need no haste, one at a time: deletions and digests of content.
    background: Permits,
    token_gate: TokenGate,
}

impl Site {
    pub(crate) fn new(config: Config, store: Store, tls_failures: Arc<FailureCounts>) -> Self {
        Self {
            config,
            store,
            tls_failures,
            intake: Intake::new(),
            responses: Budget::new(RESPONSE_BYTES, RESPONSE_NETWORK_BYTES),
            readers: Arc::new(Permits::new(CONCURRENT_READS)),
            background: Permits::new(1),
            token_gate: TokenGate::new(WRONG_TOKEN_PAUSE),
        }
    }

    pub(crate) async fn respond(
        self: Arc<Self>,
        peer: SocketAddr,
        request: Request<Incoming>,
    ) -> PageResponse {
        let network = Network::of(peer.ip());
        let answer = self.answer(network, request).await;
        let bytes = answer.body().bytes_in_memory();
        if bytes <= FREE_BYTES {
            return answer;
        }
        let mut share = self.responses.share(network);
        if share.cover(bytes) {
            return answer.map(|body| body.with_owner(share));
        }
        with_security_headers(busy("too many large responses at once; ask again later"))
    }

    async fn answer(self: &Arc<Self>, network: Network, request: Request<Incoming>) -> PageResponse {
        let headers = request.headers();
        match self.config.check_host(request.uri(), headers) {
            Ok(()) => {}
            Err(HostProblem::Invalid) => {
                let what = "expected one Host field, equal to the host of the address";
                return with_security_headers(error(StatusCode::BAD_REQUEST, what, &[]));
            }
            Err(HostProblem::Unknown) => {
                let hint = "unknown host name; allow it with --allow-host";
                return with_security_headers(error(StatusCode::MISDIRECTED_REQUEST, hint, &[]));
            }
        }
        let path = request.uri().path().to_owned();
        let is_content = self.config.content.is_some() && path.starts_with("/content/");
        // A preflight carries no token.
        let is_open = !self.config.private_content || *request.method() == Method::OPTIONS;
        if is_content && is_open {
            return self.content(network, request, &path["/content".len()..]).await;
        }
        let origin =
            self.config.foreign_origin(headers).map(|(origin, allowed)| (origin.to_owned(), allowed));
        let api = is_api(&path);
        let mut answer = match &origin {
            Some((_, false)) if *request.method() != Method::GET && *request.method() != Method::HEAD => {
                let hint = "origin not allowed; allow it with --allow-origin";
                error(StatusCode::FORBIDDEN, hint, &[])
            }
            _ if api && *request.method() == Method::OPTIONS => preflight(),
            _ if !self.knows_token(network, headers).await => unauthorized(),
            _ if is_content => return self.content(network, request, &path["/content".len()..]).await,
            Some(_) if is_deletion(&request, &path) => {
                error(StatusCode::FORBIDDEN, "only the collector's own pages may delete sessions", &[])
            }
            _ => self.route(network, request, &path).await,
        };
        if let Some((origin, true)) = origin.filter(|_| api)
            && let Ok(origin) = HeaderValue::from_str(&origin)
        {
            answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        answer.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
        with_security_headers(answer)
    }

    /// True if no token is configured, or the request carries it.
    async fn knows_token(&self, network: Network, headers: &header::HeaderMap) -> bool {
        if self.config.token.is_none() || !headers.contains_key(header::AUTHORIZATION) {
            return self.config.token.is_none();
        }
        self.token_gate.verify(network, || self.config.accepts_token(headers)).await
    }

    async fn content(
        self: &Arc<Self>,
        network: Network,
        request: Request<Incoming>,
        path: &str,
    ) -> PageResponse {
        let wants_digest = request.headers().contains_key("want-repr-digest");
        let (site, request, path) = (Arc::clone(self), request.map(drop), path.to_owned());
        let respond = move || match &site.config.content {
            Some(content) => content.respond(&request, &path),
            None => missing(&path),
        };
        let answer = if wants_digest {
            // A digest takes a second of processor time.
            let answer = blocking(&self.background, network, move || Ok::<_, Problem>(respond())).await;
            answer.unwrap_or_else(|problem| problem.answer("/api"))
        } else {
            respond()
        };
        answers::content(answer)
    }

    async fn route(
        self: &Arc<Self>,
        network: Network,
        request: Request<Incoming>,
        path: &str,
    ) -> PageResponse {
        let head = *request.method() == Method::HEAD;
        let answer = match *request.method() {
            Method::POST if path == "/api/sessions" => {
                self.intake.receive(&self.store, network, request).await
            }
            Method::GET | Method::HEAD => {
                self.read(network, &request, path).await.unwrap_or_else(|problem| problem.answer(path))
            }
            Method::DELETE | Method::POST if is_deletion(&request, path) => {
                self.delete(network, &request, path).await.unwrap_or_else(|problem| problem.answer(path))
            }
            _ => not_allowed(path),
        };
        if head && !answer.body().is_empty() {
            // A HEAD response carries the length of the body that GET would return.
            let length = answer.body().length();
            let mut answer = answer.map(|_| Body::empty());
            if let Some(length) = length {
                answer.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            }
            return answer;
        }
        answer
    }

    async fn read(
        self: &Arc<Self>,
        network: Network,
        request: &Request<Incoming>,
        path: &str,
    ) -> Result<PageResponse, Problem> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let query = match parameters(&parts) {
            Some(known) => Query::parse(request.uri().query(), known)?,
            None => Query::default(),
        };
        match parts.as_slice() {
            ["api", "sessions"] => {
                let limit = query.number("limit", (1, MAX_LIST_SESSIONS))?.unwrap_or(DEFAULT_LIST_SESSIONS);
                let filter = query.filter()?;
                let site = Arc::clone(self);
                let before = blocking(&self.readers, network, move || site.before(&query)).await?;
                self.export(network, filter, before, limit).respond(Form::Json).await
            }
            ["api", "sessions.csv"] => {
                self.export(network, query.filter()?, None, u32::MAX).respond(Form::Csv).await
            }
            ["api" | "sessions" | "compare", ..] => {
                let (site, path) = (Arc::clone(self), path.to_owned());
                blocking(&self.readers, network, move || site.render(&path, &query)).await
            }
            ["metrics"] => Ok(text(StatusCode::OK, METRICS, metrics(&self.tls_failures))),
            [""] if self.config.web.is_none() => Ok(to_sessions(StatusCode::FOUND)),
            _ => Ok(match &self.config.web {
                Some(web) => player_page(respond_with_file(web, request, path)),
                None => missing(path),
            }),
        }
    }

    fn export(&self, network: Network, filter: Filter, before: Option<Place>, limit: u32) -> Export {
        let (store, readers) = (self.store.clone(), Arc::clone(&self.readers));
        Export { store, readers, network, filter, before, limit }
    }

    /// Reads the database and renders the response of a route other than a list.
    fn render(&self, path: &str, query: &Query) -> Result<PageResponse, Problem> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        Ok(match parts.as_slice() {
            ["api", "sessions", id] => match self.store.document(id)? {
                Some(document) => text(StatusCode::OK, JSON, document),
                None => missing(path),
            },
            ["api", "sessions", id, form @ ("p1203" | "csv")] => match self.record(id)? {
                Some(record) if *form == "p1203" => match record.p1203() {
                    Ok(input) => json_answer(StatusCode::OK, &input),
                    Err(what) => error(StatusCode::CONFLICT, "no input of P.1203", &[what]),
                },
                Some(record) => text(StatusCode::OK, CSV, record.segments().to_csv()),
                None => missing(path),
            },
            ["api", "compare"] => {
                let (sessions, all) = self.chosen(query)?;
                let mut comparison = summary::comparison(&sessions);
                comparison["selected"] = json!(all);
                json_answer(StatusCode::OK, &comparison)
            }
            ["sessions"] => {
                let (sessions, more) = self.page(query)?;
                page(&pages::list(&sessions, &query.filter()?, more.as_deref(), self.config.web.is_some()))
            }
            ["sessions", "delete"] => {
                let filter = query.filter()?;
                page(&pages::confirm_all(&filter, self.store.count(&filter)?))
            }
            ["sessions", id] => match self.record(id)? {
                Some(record) => page(&pages::one(&record, self.config.web.is_some())),
                None => missing(path),
            },
            ["sessions", id, "delete"] => match self.record(id)? {
                Some(record) => page(&pages::confirm_one(&record)),
                None => missing(path),
            },
            ["compare"] => {
                let (sessions, all) = self.chosen(query)?;
                page(&pages::compare(&sessions, &query.filter()?, all, self.config.web.is_some()))
            }
            _ => missing(path),
        })
    }

    /// Place in the list that the query names.
    fn before(&self, query: &Query) -> Result<Option<Place>, Problem> {
        let Some(id) = query.get("before") else { return Ok(None) };
        let unknown = || BadQuery::new(format!("parameter `before`: no session has the id `{id}`"));
        Ok(Some(self.store.place(id)?.ok_or_else(unknown)?))
    }

    /// One page of sessions, and the id before which the next page begins, if there are more.
    fn page(&self, query: &Query) -> Result<(Vec<Summary>, Option<String>), Problem> {
        let limit = query.number("limit", (1, MAX_PAGE_SESSIONS))?.unwrap_or(DEFAULT_LIST_SESSIONS);
        let (before, filter) = (self.before(query)?, query.filter()?);
        let (sessions, goes_on) = self.store.list_within(limit, usize::MAX, before.as_ref(), &filter)?;
        let more = sessions.last().filter(|_| goes_on).map(|last| last.id.clone());
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
        let mut unique = BTreeSet::new();
        if let Some(id) = ids.iter().find(|id| !unique.insert(*id)) {
            return Err(BadQuery::new(format!("parameter `ids`: {id} is given twice")).into());
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
    async fn delete(
        &self,
        network: Network,
        request: &Request<Incoming>,
        path: &str,
    ) -> Result<PageResponse, Problem> {
        let is_form = *request.method() == Method::POST;
        if is_form && !is_own_form(request.headers()) {
            let what = "expected a form of the collector's pages; other clients send DELETE to /api/sessions";
            return Ok(error(StatusCode::FORBIDDEN, what, &[]));
        }
        let query = request.uri().query();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let store = self.store.clone();
        // Deletion overwrites the records on disk: keep other requests going.
        let deleted = match parts.as_slice() {
            ["api", "sessions", id] | ["sessions", id, "delete"] => {
                Query::parse(query, &[])?;
                let id = (*id).to_owned();
                if !blocking(&self.background, network, move || store.delete(&id)).await? {
                    return Ok(missing(path));
                }
                1
            }
            _ => {
                let query = Query::parse(query, DELETE)?;
                let (filter, expected) = (query.filter()?, query.number("confirm", (0, u32::MAX))?);
                let found =
                    blocking(&self.background, network, move || store.delete_selected(&filter, expected))
                        .await?;
                if expected != Some(found) {
                    let what =
                        format!("{found} sessions are selected; repeat with confirm={found} to delete them");
                    if is_form {
                        return Ok(problem(StatusCode::CONFLICT, path, &what, &[]));
                    }
                    let answer = json!({ "error": what, "sessions": found });
                    return Ok(json_answer(StatusCode::CONFLICT, &answer));
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
        let broken = |error: RecordError| StoreError::Broken(error.to_string());
        Record::parse_accepted(document.as_bytes()).map(Some).map_err(broken)
    }
}

/// Parameters of a route that reads; `None` for a file, whose parameters are for its page.
fn parameters(parts: &[&str]) -> Option<&'static [&'static str]> {
    Some(match parts {
        ["api", "sessions"] | ["sessions"] => LIST,
        ["api", "sessions.csv"] | ["sessions", "delete"] => FILTER,
        ["api", "compare"] | ["compare"] => COMPARE,
        ["api" | "sessions", ..] | ["metrics"] => &[],
        _ => return None,
    })
}

/// Metrics in the Prometheus text format (version 0.0.4).
fn metrics(tls_failures: &FailureCounts) -> String {
    let name = "tandem_collector_tls_failed_total";
    let head = format!("# HELP {name} Failed TLS handshakes of clients by reason.\n# TYPE {name} counter\n");
    let lines = tls_failures.each();
    let lines = lines.iter().map(|(reason, count)| format!("{name}{{reason=\"{reason}\"}} {count}\n"));
    std::iter::once(head).chain(lines).collect()
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

/// True for a form that a browser posts from a page whose origin it names. A script of such a page
/// could post another media type.
fn is_own_form(headers: &header::HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    headers.contains_key(header::ORIGIN) && kind == Some(b"application/x-www-form-urlencoded")
}

/// Runs a function of the store in another thread, when a permit is free.
async fn blocking<T: Send + 'static, E: Into<Problem> + Send + 'static>(
    permits: &Permits,
    network: Network,
    act: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Problem> {
    let result = permits.run_blocking(network, act).await;
    let failed = |TaskFailed| Problem::Store(StoreError::Broken("the task failed".to_owned()));
    result.map_err(failed)?.map_err(Into::into)
}

fn not_allowed(path: &str) -> PageResponse {
    let mut answer = problem(StatusCode::METHOD_NOT_ALLOWED, path, "method not allowed", &[]);
    let allowed = match path {
        "/api/sessions" => "GET, HEAD, POST, DELETE",
        path if path.starts_with("/api/sessions/") => "GET, HEAD, DELETE",
        path if path.starts_with("/sessions/") && path.ends_with("delete") => "GET, HEAD, POST",
        _ => "GET, HEAD",
    };
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}
