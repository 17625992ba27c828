//! HTTP for one question and one answer, on a UNIX socket and, where it is asked for, on loopback. Players tell how they
//! stand in the same way, on the UNIX socket.
//!
//! Nothing here waits: whoever asks slowly or hears slowly keeps nobody else from being served, and is sent
//! away in the end.

use crate::Error;
use rustix::event::{PollFd, PollFlags};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use units::{Duration, Instant};

/// So many are served at once.
const MOST: usize = 16;
/// No question is longer.
const LONGEST: usize = 4096;
/// Who has not asked and heard by then is sent away.
const PATIENCE: Duration = Duration::from_secs(5);

/// Gives the answers.
pub trait Responder {
    /// How things stand, as JSON.
    fn status(&mut self) -> Result<String, Error>;
    /// Metrics for Prometheus.
    fn metrics(&mut self) -> Result<String, Error>;
    /// A player tells how it stands; false where it says nothing of that.
    fn player(&mut self, now: Instant, state: cmcd::State) -> bool;
}

/// Listens, and serves who comes.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    unix: UnixListener,
    tcp: Option<TcpListener>,
    clients: Vec<Client>,
}

trait Stream: Read + Write + AsFd + std::fmt::Debug {}
impl<S: Read + Write + AsFd + std::fmt::Debug> Stream for S {}

#[derive(Debug)]
struct Client {
    stream: Box<dyn Stream>,
    /// Over TCP there is only what a whole host may know.
    metrics_alone: bool,
    since: Instant,
    question: Vec<u8>,
    answer: Vec<u8>,
    told: usize,
}

impl Server {
    /// Listens at `path`, for the user and the group of this process, and at `tcp`.
    ///
    /// # Errors
    /// Where another agent listens there, or the system refuses.
    pub fn open(path: &Path, tcp: Option<SocketAddr>) -> Result<Self, Error> {
        let failed = |error| Error::Listen { at: path.display().to_string(), source: error };
        if UnixStream::connect(path).is_ok() {
            return Err(Error::AlreadyRunning { at: path.display().to_string() });
        }
        // One that was killed leaves its socket.
        let _ = fs::remove_file(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let unix = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o660)).map_err(failed)?;
        unix.set_nonblocking(true).map_err(failed)?;
        let tcp = tcp.map(|address| {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let at = |error| Error::Listen { at: "the address of `metrics`".to_owned(), source: error };
        Ok(Self { path: path.to_owned(), unix, tcp: tcp.transpose().map_err(at)?, clients: Vec::new() })
    }

    /// What to wait for.
    pub fn files(&self) -> Vec<PollFd<'_>> {
        let mut files = Vec::new();
        if self.clients.len() < MOST {
            files.push(PollFd::new(&self.unix, PollFlags::IN));
            files.extend(self.tcp.iter().map(|tcp| PollFd::new(tcp, PollFlags::IN)));
        }
        for client in &self.clients {
            let wants = if client.answer.is_empty() { PollFlags::IN } else { PollFlags::OUT };
            let file: BorrowedFd<'_> = client.stream.as_fd();
            files.push(PollFd::from_borrowed_fd(file, wants));
        }
        files
    }

    /// When somebody's patience ends.
    pub fn next(&self) -> Instant {
        self.clients.iter().map(|client| client.since + PATIENCE).min().unwrap_or(Instant::MAX)
    }

    /// Does what can be done at once.
    pub fn serve(&mut self, now: Instant, answers: &mut dyn Responder) {
        while self.clients.len() < MOST {
            let Ok((stream, _)) = self.unix.accept() else { break };
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client::new(Box::new(stream), false, now));
            }
        }
        if let Some(tcp) = &self.tcp {
            while self.clients.len() < MOST {
                let Ok((stream, _)) = tcp.accept() else { break };
                if stream.set_nonblocking(true).is_ok() {
                    self.clients.push(Client::new(Box::new(stream), true, now));
                }
            }
        }
        self.clients.retain_mut(|client| client.since + PATIENCE > now && client.serve(now, answers));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Client {
    fn new(stream: Box<dyn Stream>, metrics_alone: bool, since: Instant) -> Self {
        Self { stream, metrics_alone, since, question: Vec::new(), answer: Vec::new(), told: 0 }
    }

    /// Goes on; false where it is over.
    fn serve(&mut self, now: Instant, answers: &mut dyn Responder) -> bool {
        if self.answer.is_empty() {
            let mut bytes = [0; 1024];
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(length) => self.question.extend_from_slice(&bytes[..length]),
                Err(error) => return is_later(&error),
            }
            // Until the empty line: who closes a socket with a question unread takes the answer back.
            if !self.question.windows(4).any(|end| end == b"\r\n\r\n") {
                return self.question.len() < LONGEST;
            }
            self.answer = self.reply(now, answers);
        }
        while self.told < self.answer.len() {
            match self.stream.write(&self.answer[self.told..]) {
                Ok(0) => return false,
                Ok(length) => self.told += length,
                Err(error) => return is_later(&error),
            }
        }
        false
    }

    fn reply(&self, now: Instant, answers: &mut dyn Responder) -> Vec<u8> {
        let line = self.question.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = path.split('?').next().unwrap_or_default();
        let (kind, content) = match (method, path) {
            ("GET", "/metrics") => ("text/plain; version=0.0.4; charset=utf-8", answers.metrics()),
            ("GET", "/status") if !self.metrics_alone => ("application/json", answers.status()),
            ("POST", "/player") if !self.metrics_alone => {
                let state = cmcd::State::of_request(&self.question);
                return if state.is_some_and(|state| answers.player(now, state)) {
                    response("204 No Content", "text/plain", "")
                } else {
                    response("400 Bad Request", "text/plain", "CMCD with `bl`, or with `su`, is expected\n")
                };
            }
            ("GET", _) => return response("404 Not Found", "text/plain", "there is /status and /metrics\n"),
            _ => return response("405 Method Not Allowed", "text/plain", "only GET, and POST /player\n"),
        };
        match content {
            Ok(content) => response("200 OK", kind, &content),
            Err(error) => response("500 Internal Server Error", "text/plain", &format!("{error}\n")),
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn response(code: &str, kind: &str, content: &str) -> Vec<u8> {
    let length = content.len();
    format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{content}"
    )
    .into_bytes()
}

/// Asks the agent that listens at `socket` for `path`, such as `/status`; gives what it answers.
///
/// # Errors
/// Where none listens there, the caller may not, or it does not answer in time.
pub fn query(socket: &Path, path: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    let patience = std::time::Duration::from_nanos((PATIENCE + PATIENCE).as_nanos());
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: agent\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let odd = || io::Error::new(ErrorKind::InvalidData, "this is no answer of an agent");
    let (head, content) = answer.split_once("\r\n\r\n").ok_or_else(odd)?;
    if head.split(' ').nth(1) != Some("200") {
        return Err(io::Error::other(content.trim_end().to_owned()));
    }
    Ok(content.to_owned())
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
