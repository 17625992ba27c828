//! Uploads of records to a collector.

use crate::http::{Client, HttpError, Network};
use hyper::StatusCode;
use playback::Record;
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

const ATTEMPTS: u32 = 3;
/// Rate of the uplink for which an attempt has time.
const MIN_BYTES_PER_S: usize = 64 << 10;
/// Interval at which the caller is asked whether to continue.
const OBSERVE_INTERVAL: Duration = Duration::from_millis(100);

/// Error of an upload.
#[derive(Debug)]
pub enum PostError {
    /// The collector could not be reached.
    Http(HttpError),
    /// The collector rejected the record: its status and message.
    Refused(u16, String),
    /// A response with this status that does not confirm the record: another server than a collector.
    Unconfirmed(u16),
    /// The caller ended the upload.
    Stopped,
    /// The client could not be set up.
    System(std::io::Error),
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(error) => error.fmt(f),
            Self::Refused(status, text) => {
                write!(f, "the collector responds with status {status}: {}", text.trim())
            }
            Self::Unconfirmed(status) => {
                write!(f, "the response with status {status} does not name the record: expected a collector")
            }
            Self::Stopped => f.write_str("the upload was interrupted"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl PostError {
    /// True if no known CA signed the collector's certificate.
    pub fn is_unknown_ca(&self) -> bool {
        matches!(self, Self::Http(HttpError::Connect(_, error)) if tls::is_unknown_ca(error))
    }
}

impl std::error::Error for PostError {}

/// Sends a record to the collector at `base` (docs/reference/session.md), with retries after 0.5
/// and 1 s, or after the collector's `Retry-After`, if they may help. Sending a stored record again is
/// harmless. `token` is the collector's token, if any. Beside [`Network::patience`], a response has 1 s
/// for each 64 KiB of the record. The upload ends after three times that time, or if `observe` breaks,
/// which is called ten times per second.
///
/// # Errors
/// If the collector did not confirm that it stored the record.
pub fn post(
    base: &Url,
    token: Option<&str>,
    record: &Record,
    network: &Network,
    observe: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(), PostError> {
    let json = record.to_json().to_string().into_bytes();
    let sending = Duration::from_secs(json.len().div_ceil(MIN_BYTES_PER_S) as u64);
    let network = Network { patience: network.patience + sending, ..network.clone() };
    let mut place = base.clone();
    if !place.path().ends_with("/api/sessions") {
        let path = format!("{}/api/sessions", place.path().trim_end_matches('/'));
        place.set_path(&path);
    }
    let upload = Upload { place, token, json, id: &record.id, limit: network.patience * ATTEMPTS };
    upload.run(&network, observe)
}

struct Upload<'a> {
    place: Url,
    token: Option<&'a str>,
    json: Vec<u8>,
    /// Identifier of the record.
    id: &'a str,
    /// Maximum time, including all retries.
    limit: Duration,
}

impl Upload<'_> {
    fn run(&self, network: &Network, observe: &mut dyn FnMut() -> ControlFlow<()>) -> Result<(), PostError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PostError::System)?;
        let stopped = async {
            while observe().is_continue() {
                tokio::time::sleep(OBSERVE_INTERVAL).await;
            }
        };
        let result = runtime.block_on(async {
            tokio::select! {
                biased;
                result = self.send(network) => result,
                () = tokio::time::sleep(self.limit) => {
                    Err(PostError::Http(HttpError::Timeout("no complete response", self.limit)))
                }
                () = stopped => Err(PostError::Stopped),
            }
        });
        // Dropping the runtime would wait for its connection attempts and name queries.
        runtime.shutdown_background();
        result
    }

    async fn send(&self, network: &Network) -> Result<(), PostError> {
        let deadline = Instant::now() + self.limit;
        let mut client = Client::new(network.clone());
        let mut pause = Duration::from_millis(500);
        let mut left = ATTEMPTS - 1;
        loop {
            let (transient, asked, error) =
                match client.post(&self.place, self.token, self.json.clone()).await {
                    Ok((status, _, text)) if is_confirmation(status, &text, self.id) => return Ok(()),
                    Ok((status, ..)) if status.is_success() => {
                        return Err(PostError::Unconfirmed(status.as_u16()));
                    }
                    Ok((status, retry_after, text)) => {
                        let error = HttpError::Status(status, retry_after);
                        (error.is_transient(), retry_after, PostError::Refused(status.as_u16(), text))
                    }
                    Err(error) => (error.is_transient(), None, PostError::Http(error)),
                };
            let wait = asked.map_or(pause, |asked| asked.max(pause));
            if !transient || left == 0 || deadline.saturating_duration_since(Instant::now()) <= wait {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            (pause, left) = (pause * 2, left - 1);
        }
    }
}

/// True if a collector's response confirms that it stored the record. Any web server may respond
/// with success, such as that of a captive portal.
fn is_confirmation(status: StatusCode, text: &str, id: &str) -> bool {
    let named =
        || serde_json::from_str::<serde_json::Value>(text).ok()?.get("id")?.as_str().map(str::to_owned);
    matches!(status, StatusCode::OK | StatusCode::CREATED) && named().as_deref() == Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    const ID: &str = "session-1";

    /// Uploads a document to a server that serves each connection by the next function.
    fn upload(
        limit: Duration,
        servers: Vec<fn(&mut TcpStream)>,
        observe: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> (Result<(), PostError>, Duration) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("http://{}/api/sessions", listener.local_addr().unwrap()).parse().unwrap();
        thread::spawn(move || {
            for serve in servers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                serve(&mut stream);
            }
        });
        let upload = Upload { place, token: None, json: b"{}".to_vec(), id: ID, limit };
        let begin = std::time::Instant::now();
        (upload.run(&Network::default(), observe), begin.elapsed())
    }

    fn go() -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn trickle(stream: &mut TcpStream) {
        stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 60000\r\n\r\n").unwrap();
        while stream.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn created(stream: &mut TcpStream) {
        let text = b"HTTP/1.1 201 Created\r\nContent-Length: 18\r\n\r\n{\"id\":\"session-1\"}";
        stream.write_all(text).unwrap();
    }

    fn busy_for_a_second(stream: &mut TcpStream) {
        stream.write_all(b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n").unwrap();
    }

    fn busy_for_long(stream: &mut TcpStream) {
        let text = b"HTTP/1.1 503 Busy\r\nRetry-After: 18446744073709551615\r\nContent-Length: 4\r\n\r\nbusy";
        stream.write_all(text).unwrap();
    }

    #[test]
    fn upload_ends_at_its_time_limit_although_bytes_arrive() {
        let (result, took) = upload(Duration::from_millis(500), vec![trickle], &mut go);
        assert!(matches!(result, Err(PostError::Http(HttpError::Timeout(..)))), "{result:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn upload_ends_when_the_caller_stops_it() {
        let mut calls = 0;
        let mut stop = || {
            calls += 1;
            if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (result, took) = upload(Duration::from_secs(60), vec![trickle], &mut stop);
        assert!(matches!(result, Err(PostError::Stopped)) && took < Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn upload_waits_as_long_as_the_collector_asks_within_its_time_limit() {
        let (result, took) = upload(Duration::from_secs(60), vec![busy_for_a_second, created], &mut go);
        assert!(result.is_ok() && took >= Duration::from_secs(1), "{result:?} {took:?}");
        let (result, took) = upload(Duration::from_secs(60), vec![busy_for_long], &mut go);
        assert!(matches!(result, Err(PostError::Refused(503, _))), "{result:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn upload_needs_a_response_that_names_the_record() {
        let confirms = |status, text| is_confirmation(status, text, ID);
        for status in [StatusCode::OK, StatusCode::CREATED] {
            assert!(confirms(status, "{\"id\": \"session-1\", \"url\": \"/sessions/session-1\"}"));
            for other in ["", "<html>Log in</html>", "{}", "{\"id\": \"session-2\"}", "\"session-1\""] {
                assert!(!confirms(status, other), "{other}");
            }
        }
        assert!(!confirms(StatusCode::ACCEPTED, "{\"id\": \"session-1\"}"));
        let portal = |stream: &mut TcpStream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>").unwrap();
        };
        let (result, _) = upload(Duration::from_secs(60), vec![portal], &mut go);
        assert!(matches!(result, Err(PostError::Unconfirmed(200))), "{result:?}");
    }
}
