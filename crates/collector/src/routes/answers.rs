//! Responses: JSON, pages and their security headers.

use crate::pages;
use crate::query::BadQuery;
use crate::store::StoreError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use player::content::Body;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

pub(super) type PageResponse = Response<Body>;

pub(super) const CSV: &str = "text/csv; charset=utf-8";
pub(super) const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
pub(super) const JSON: &str = "application/json";

/// Policy of the collector's pages. The hash is that of the report page's script, a constant: a
/// script that a record might bring into a page has no hash.
static PAGE_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = BASE64.encode(Sha256::digest(report::PAGE_SCRIPT.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("a hash in base64 is valid in a header")
});

/// Policy of the player's page, that of `web/src/index.html`, which cannot forbid frames itself.
pub(crate) const PLAYER_POLICY: &str = concat!(
    "default-src 'none'; script-src 'self' https://www.youtube.com; style-src 'self'; ",
    "img-src 'self' data: https://i.ytimg.com; media-src http: https: blob:; connect-src http: https: blob:; ",
    "worker-src 'self' blob:; manifest-src 'self'; ",
    "frame-src https://www.youtube.com https://www.youtube-nocookie.com; form-action 'self'; base-uri 'none'; ",
    "object-src 'none'; frame-ancestors 'none'"
);

/// Policy of content: a document among it runs no script and has no access to the collector's origin.
const CONTENT_POLICY: &str = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; \
     style-src 'unsafe-inline'; frame-ancestors 'none'";

pub(super) fn text(status: StatusCode, kind: &'static str, text: String) -> PageResponse {
    let mut answer = Response::new(Body::full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

pub(super) fn json_answer(status: StatusCode, value: &Value) -> PageResponse {
    text(status, JSON, format!("{value}\n"))
}

pub(super) fn error(status: StatusCode, what: &str, problems: &[String]) -> PageResponse {
    json_answer(status, &json!({ "error": what, "problems": problems }))
}

/// Response with a problem: a page for a page, and JSON for the API.
pub(super) fn problem(status: StatusCode, path: &str, what: &str, problems: &[String]) -> PageResponse {
    if is_api(path) {
        return error(status, what, problems);
    }
    let mut answer = page(&pages::problem(what, problems));
    *answer.status_mut() = status;
    answer
}

pub(super) fn is_api(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

/// Response to a missing or wrong token.
pub(super) fn unauthorized() -> PageResponse {
    let mut answer = error(StatusCode::UNAUTHORIZED, "missing or wrong token", &[]);
    // One field for each scheme: Chromium reads a list in one field as invalid.
    for scheme in ["Basic realm=\"tandem\", charset=\"UTF-8\"", "Bearer"] {
        answer.headers_mut().append(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
    }
    answer
}

/// Response that asks the client to try again.
pub(super) fn busy(what: &str) -> PageResponse {
    let mut answer = error(StatusCode::SERVICE_UNAVAILABLE, what, &[]);
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

/// Redirects to the list of sessions.
pub(super) fn to_sessions(status: StatusCode) -> PageResponse {
    let mut answer = text(status, "text/plain; charset=utf-8", String::new());
    answer.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/sessions"));
    answer
}

pub(super) fn missing(path: &str) -> PageResponse {
    problem(StatusCode::NOT_FOUND, path, "not found", &[])
}

/// Response for a database error: players keep their records and retry on 503 and 507.
pub(super) fn failed(problem: &StoreError) -> PageResponse {
    match problem {
        StoreError::Full => error(StatusCode::INSUFFICIENT_STORAGE, "no space left", &[problem.to_string()]),
        _ => error(StatusCode::SERVICE_UNAVAILABLE, "database error", &[problem.to_string()]),
    }
}

pub(super) fn preflight() -> PageResponse {
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

/// Serves a report page with a policy that allows its own script and styles only.
pub(super) fn page(page: &report::Page) -> PageResponse {
    let mut answer = text(StatusCode::OK, "text/html; charset=utf-8", page.to_html());
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY.clone());
    answer
}

/// Adds the policy of the player's page: its own scripts and YouTube's, media from any address.
pub(super) fn player_page(mut answer: PageResponse) -> PageResponse {
    let headers = answer.headers_mut();
    headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PLAYER_POLICY));
    answer
}

/// Adds the policy of content.
pub(super) fn content(mut answer: PageResponse) -> PageResponse {
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    let any_origin = HeaderValue::from_static("cross-origin");
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), any_origin);
    answer
}

/// Adds the security headers of every response.
pub(super) fn with_security_headers(mut answer: PageResponse) -> PageResponse {
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

/// Reason for which a request is not answered.
pub(super) enum Problem {
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
    pub(super) fn answer(&self, path: &str) -> PageResponse {
        match self {
            Self::Store(problem) => failed(problem),
            Self::Query(BadQuery(problems)) => {
                problem(StatusCode::BAD_REQUEST, path, "invalid query parameters", problems)
            }
        }
    }
}
