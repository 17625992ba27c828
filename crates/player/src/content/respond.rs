//! Responses to requests.

use super::range::{Part, part};
use super::{Body, Content, Generated, file, manifest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Largest generated segment: a tebibyte.
const MAX_SEGMENT_BYTES: u64 = 1 << 40;
/// Largest body for which a digest is computed: the request waits for the computation.
const MAX_DIGEST_BYTES: u64 = 256 << 20;

impl Content {
    /// Responds to a request. The path is an argument, so that the content can be mounted
    /// anywhere.
    pub fn respond<B>(&self, request: &Request<B>, path: &str) -> Response<Body> {
        respond_by(request, |request| self.get(request, path))
    }

    fn get<B>(&self, request: &Request<B>, path: &str) -> Response<Body> {
        if let Some((content, size)) = self.segment(path) {
            let digest = wants_digest(request).then(|| digest(content, size)).flatten();
            let mut answer =
                ranged(request, size, "video/mp4", |from, to| Body::generated(content, from, to));
            if let Some(digest) = digest.and_then(|digest| HeaderValue::from_str(&digest).ok()) {
                answer.headers_mut().insert(HeaderName::from_static("repr-digest"), digest);
            }
            return answer;
        }
        let written = match (path, &self.manifest) {
            ("/manifest.json", Some(known)) => Some((manifest::json(known), "application/json")),
            ("/manifest.mpd", Some(known)) => Some((manifest::mpd(known), "application/dash+xml")),
            _ => None,
        };
        if let Some((text, kind)) = written {
            let bytes = Bytes::from(text);
            return ranged(request, bytes.len() as u64, kind, |from, to| {
                Body::full(bytes.slice(from as usize..to as usize))
            });
        }
        self.directory.as_deref().map_or_else(not_found, |directory| get_file(directory, request, path))
    }

    /// The segment of a path, and its size.
    fn segment(&self, path: &str) -> Option<(Generated, u64)> {
        let mut parts = path.strip_prefix("/segments/")?.split('/');
        let mut number = || {
            let part = parts.next()?;
            (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| part.parse::<u64>().ok())
                .flatten()
        };
        let (level, segment, size) = (number()?, number()?, number());
        if parts.next().is_some() {
            return None;
        }
        let known = || {
            let (segment, level) = (usize::try_from(segment).ok()?, usize::try_from(level).ok()?);
            Some(self.manifest.as_ref()?.size(segment, level)?.get())
        };
        let size = if path.matches('/').count() == 4 { size? } else { known()? };
        (1..=MAX_SEGMENT_BYTES).contains(&size).then(|| (Generated::new(self.seed, level, segment), size))
    }
}

/// Responds with a file of a directory: no generated segments, and no digests, which take long.
pub fn respond_with_file<B>(directory: &Path, request: &Request<B>, path: &str) -> Response<Body> {
    respond_by(request, |request| get_file(directory, request, path))
}

/// Responds to any method, by `get` to GET and HEAD.
fn respond_by<B>(request: &Request<B>, get: impl FnOnce(&Request<B>) -> Response<Body>) -> Response<Body> {
    let mut answer = match *request.method() {
        Method::GET | Method::HEAD => get(request),
        Method::OPTIONS => {
            let mut answer = plain(StatusCode::NO_CONTENT, "");
            let headers = answer.headers_mut();
            headers
                .insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, OPTIONS"));
            headers.insert(
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                HeaderValue::from_static("Range, CMCD-Object, CMCD-Request, CMCD-Session, CMCD-Status"),
            );
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            answer
        }
        _ => {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported\n");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
            answer
        }
    };
    let headers = answer.headers_mut();
    // Any origin may play, and read the timing.
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Content-Length, Content-Range, Date, Repr-Digest"),
    );
    headers.insert(HeaderName::from_static("timing-allow-origin"), HeaderValue::from_static("*"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

fn get_file<B>(directory: &Path, request: &Request<B>, path: &str) -> Response<Body> {
    let Some((open, size)) = file::open(directory, path) else { return not_found() };
    ranged(request, size, file::media_type(path), |from, to| Body::file(open, from, to))
}

fn not_found() -> Response<Body> {
    plain(StatusCode::NOT_FOUND, "not found\n")
}

/// True if the request asks for a digest of the whole body (RFC 9530, section 4).
fn wants_digest<B>(request: &Request<B>) -> bool {
    let field = request.headers().get("want-repr-digest").and_then(|value| value.to_str().ok());
    field.is_some_and(|field| field.contains("sha-256") && !field.contains("sha-256=0"))
}

/// Digest in the form of RFC 9530; `None` if the content is too large.
fn digest(content: Generated, size: u64) -> Option<String> {
    if size > MAX_DIGEST_BYTES {
        return None;
    }
    let (mut hash, mut at, mut piece) = (Sha256::new(), 0, vec![0; 64 << 10]);
    while at < size {
        let count = (size - at).min(piece.len() as u64);
        content.fill(at, &mut piece[..count as usize]);
        hash.update(&piece[..count as usize]);
        at += count;
    }
    Some(format!("sha-256=:{}:", BASE64.encode(hash.finalize())))
}

/// Response with the whole body or a range of it, `to` exclusive.
fn ranged<B>(
    request: &Request<B>,
    size: u64,
    kind: &'static str,
    body: impl FnOnce(u64, u64) -> Body,
) -> Response<Body> {
    let field = request.headers().get(header::RANGE).and_then(|value| value.to_str().ok());
    let (status, from, to) = match part(field, size) {
        Part::Whole => (StatusCode::OK, 0, size),
        Part::From(first, last) => (StatusCode::PARTIAL_CONTENT, first, last + 1),
        Part::None => {
            let mut answer = plain(StatusCode::RANGE_NOT_SATISFIABLE, "");
            insert(&mut answer, header::CONTENT_RANGE, &format!("bytes */{size}"));
            return answer;
        }
    };
    // An empty body has no last byte: its range would be inverted.
    let body = if request.method() == Method::HEAD { Body::empty() } else { body(from, to) };
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    answer.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(to - from));
    if status == StatusCode::PARTIAL_CONTENT {
        insert(&mut answer, header::CONTENT_RANGE, &format!("bytes {from}-{}/{size}", to - 1));
    }
    answer
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

fn insert(answer: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}
