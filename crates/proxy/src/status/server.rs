//! The UNIX socket at which a proxy says how things stand.

use super::{Status, metrics};
use crate::Error;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long a question may be, in bytes.
const LONGEST: u64 = 4096;
/// How long somebody may take to ask, and to hear.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many may ask at once.
const MOST: usize = 16;

/// Listens at `path`, where only its owner and group may ask.
pub(crate) fn bind(path: &Path) -> Result<UnixListener, Error> {
    let own = |error| Error::own(format!("listen at {}", path.display()), error);
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(Error::Another(path.to_owned()));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(own)?;
    }
    match fs::remove_file(path) {
        // One that was killed left it.
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(own(error)),
    }
    let listener = UnixListener::bind(path).map_err(own)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(own)?;
    Ok(listener)
}

/// Answers whoever asks.
pub(crate) async fn serve(listener: UnixListener, status: Arc<dyn Fn() -> Status + Send + Sync>) {
    let seats = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let status = Arc::clone(&status);
                tokio::spawn(async move {
                    _ = timeout(PATIENCE, answer(stream, &*status)).await;
                    drop(seat);
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: UnixStream, status: &(dyn Fn() -> Status + Send + Sync)) -> io::Result<()> {
    let mut question = Vec::new();
    // Until the empty line: who closes a socket with a question unread takes the answer back.
    while !question.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = (&mut stream).take(LONGEST - question.len() as u64);
        if part.read_buf(&mut question).await? == 0 {
            return Ok(());
        }
    }
    let line = question.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let reply = match line.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics", _] => {
            response("200 OK", "text/plain; version=0.0.4; charset=utf-8", &metrics(&status()))
        }
        [b"GET", b"/status", _] => match serde_json::to_string(&status()) {
            Ok(text) => response("200 OK", "application/json", &text),
            Err(error) => response("500 Internal Server Error", "text/plain", &error.to_string()),
        },
        [b"GET", _, _] => response("404 Not Found", "text/plain", "there is /status and /metrics\n"),
        _ => response("405 Method Not Allowed", "text/plain", "only GET\n"),
    };
    stream.write_all(&reply).await
}

fn response(code: &str, kind: &str, content: &str) -> Vec<u8> {
    let length = content.len();
    format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{content}"
    )
    .into_bytes()
}

/// Asks the proxy that listens at `socket` for `path`, such as `/status`; gives what it answers.
///
/// # Errors
/// Where none listens there, the caller may not, or it does not answer in time.
pub fn ask(socket: &Path, path: &str) -> io::Result<String> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(2 * PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: proxy\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let odd = || io::Error::new(ErrorKind::InvalidData, "this is no answer of a proxy");
    let (head, content) = answer.split_once("\r\n\r\n").ok_or_else(odd)?;
    if head.split(' ').nth(1) != Some("200") {
        return Err(io::Error::other(content.trim_end().to_owned()));
    }
    Ok(content.to_owned())
}
