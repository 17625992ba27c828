//! Requests with retries, and the events of a segment's download.

use crate::address::{Address, without_login};
use crate::cmcd::{RequestState, StreamingFormat};
use crate::error::PlayError;
use crate::http::{Client, HttpError, Network, Range};
use ::cmcd::Object;
use linux::clock::Clock;
use percent_encoding::percent_decode_str;
use playback::{Cmcd, Failure};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use units::{Bytes, Instant};
use url::Url;

/// First pause before a retry, longest own pause, and longest accepted `Retry-After`.
const RETRY_PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(8), Duration::from_secs(30)];
/// Largest accepted initialization segment.
const MAX_INIT_BYTES: usize = 16 << 20;

/// The player's one HTTP client, with its configuration.
#[derive(Debug)]
pub(crate) struct Fetcher {
    network: Network,
    /// `None` while a segment's task uses it.
    client: Option<Client>,
    pub(crate) clock: Clock,
    pub(crate) cmcd: Cmcd,
    pub(crate) session_id: String,
    pub(crate) content_id: Option<String>,
    /// `None` before the manifest has arrived.
    pub(crate) format: Option<StreamingFormat>,
    /// Recovered errors so far.
    pub(crate) failures: Vec<Failure>,
}

/// Events of a segment's request, in this order, with the time of each.
#[derive(Debug)]
pub(crate) enum Event {
    /// The response begins; with the size of the segment, if known.
    Head(Instant, Option<Bytes>),
    /// Received bytes.
    Bytes(Instant, Bytes),
    /// The end of the segment.
    End(Instant),
    /// An error. A non-fatal one is followed by a retry.
    Failed(Failed),
    /// A byte differs from the generated content.
    Mismatch,
}

/// A failed request.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: HttpError,
    /// No retry follows.
    pub(crate) fatal: bool,
    /// The request was for the initialization segment.
    pub(crate) init: bool,
}

/// Request for a segment.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) address: Address,
    pub(crate) init: Option<Address>,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) init_fields: Vec<(&'static str, String)>,
    /// Expected bytes.
    pub(crate) content: Option<crate::content::Generated>,
}

/// A segment's download. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Download {
    events: mpsc::UnboundedReceiver<Event>,
    task: JoinHandle<Client>,
}

impl Download {
    /// Next event; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // Aborting a finished task has no effect.
        self.task.abort();
    }
}

impl Fetcher {
    pub(crate) fn new(
        network: Network,
        clock: Clock,
        cmcd: Cmcd,
        session_id: String,
        content_id: Option<String>,
    ) -> Self {
        let client = Some(Client::new(network.clone()));
        Self { network, client, clock, cmcd, session_id, content_id, format: None, failures: Vec::new() }
    }

    /// Header fields of every request.
    pub(crate) fn request_state(&self, object: Object) -> RequestState<'_> {
        RequestState {
            content_id: self.content_id.as_deref(),
            format: self.format,
            ..RequestState::new(object, &self.session_id)
        }
    }

    /// Reads a whole resource and returns it with its final address.
    pub(crate) async fn fetch_whole(
        &mut self,
        url: &Url,
        range: Option<Range>,
        object: Object,
        most: usize,
    ) -> Result<(Vec<u8>, Url), PlayError> {
        let state = RequestState { startup: true, ..self.request_state(object) };
        let mut asked = url.clone();
        let fields = state.send(self.cmcd, &mut asked);
        self.with_retries(url, async |client| {
            let answer = client.get(&asked, range, &fields).await?;
            let (place, from) = (without_cmcd(answer.url.clone(), &asked, url), answer.from);
            let mut bytes = answer.whole(most).await?;
            // A server without range support sent the whole resource.
            if let Some((first, last)) = range {
                let skip = usize::try_from(first - from).unwrap_or(usize::MAX).min(bytes.len());
                bytes.drain(..skip);
                if let Some(last) = last {
                    bytes.truncate(usize::try_from((last - first).saturating_add(1)).unwrap_or(usize::MAX));
                }
            }
            Ok((bytes, place))
        })
        .await
    }

    /// Size of a file, and its address after redirects.
    pub(crate) async fn size(&mut self, url: &Url) -> Result<(u64, Url), PlayError> {
        let mut asked = url.clone();
        let fields = self.request_state(Object::Other).send(self.cmcd, &mut asked);
        self.with_retries(url, async |client| {
            let (size, place) = size(client, &asked, &fields).await?;
            Ok((size, without_cmcd(place, &asked, url)))
        })
        .await
    }

    /// Repeats an operation until it succeeds or a retry is pointless.
    async fn with_retries<T>(
        &mut self,
        url: &Url,
        mut attempt: impl AsyncFnMut(&mut Client) -> Result<T, HttpError>,
    ) -> Result<T, PlayError> {
        let mut retries_left = Retries::new(self.network.retries);
        let mut client = self.client.take().unwrap_or_else(|| Client::new(self.network.clone()));
        let result = loop {
            match attempt(&mut client).await {
                Ok(found) => break Ok(found),
                Err(error) => match retries_left.pause(&error) {
                    Some(pause) => {
                        self.record_failure(&error, None, false);
                        tokio::time::sleep(pause).await;
                    }
                    None => break Err(PlayError::Http(without_login(url), error)),
                },
            }
        };
        self.client = Some(client);
        result
    }

    /// Requests a segment.
    pub(crate) fn start(&mut self, job: Job) -> Download {
        let client = self.client.take().unwrap_or_else(|| Client::new(self.network.clone()));
        let (sender, events) = mpsc::unbounded_channel();
        let needs_init = job.init.is_some();
        let task = Task { client, job, needs_init, received: 0, events: sender, clock: self.clock };
        let task = tokio::spawn(task.run(self.network.retries));
        Download { events, task }
    }

    /// Takes the client back after a download.
    pub(crate) async fn done(&mut self, mut download: Download) {
        if let Ok(client) = (&mut download.task).await {
            self.client = Some(client);
        }
    }

    pub(crate) fn record_failure(&mut self, error: &HttpError, segment: Option<usize>, fatal: bool) {
        if self.failures.len() < 1_000 {
            self.failures.push(Failure {
                at_s: self.clock.now().since(Instant::ZERO).as_secs_f64(),
                message: error.to_string().chars().take(1_000).collect(),
                segment: segment.map(|segment| segment as u64),
                status: error.status(),
                fatal,
            });
        }
    }
}

/// Retry counter of one operation.
struct Retries {
    left: u32,
    pause: Duration,
}

impl Retries {
    fn new(retries: u32) -> Self {
        Self { left: retries, pause: RETRY_PAUSES[0] }
    }

    /// Pause before the next retry; `None` after the last.
    fn pause(&mut self, error: &HttpError) -> Option<Duration> {
        self.left = self.left.checked_sub(1).filter(|_| error.is_transient())?;
        let ours = self.pause;
        self.pause = (self.pause * 2).min(RETRY_PAUSES[1]);
        Some(error.retry_after().map_or(ours, |asked| asked.clamp(ours, RETRY_PAUSES[2])))
    }
}

/// Removes the CMCD argument of the request from its final address `place`. `asked` is `url` with the
/// argument, if any; a redirect may have copied it.
fn without_cmcd(mut place: Url, asked: &Url, url: &Url) -> Url {
    if place == *asked {
        return url.clone();
    }
    let argument = asked.query().filter(|_| asked != url).and_then(|query| query.rsplit('&').next());
    let (Some(argument), Some(query)) = (argument, place.query()) else { return place };
    // A server may encode the characters of the argument differently.
    let is_other = |part: &&str| !percent_decode_str(part).eq(percent_decode_str(argument));
    let rest = query.split('&').filter(is_other).collect::<Vec<_>>().join("&");
    if rest.len() < query.len() {
        place.set_query(Some(&*rest).filter(|rest| !rest.is_empty()));
    }
    place
}

async fn size(
    client: &mut Client,
    url: &Url,
    fields: &[(&'static str, String)],
) -> Result<(u64, Url), HttpError> {
    let answer = client.get(url, Some((0, Some(0))), fields).await?;
    let (total, url) = (answer.total, answer.url.clone());
    if answer.length == Some(1) {
        answer.whole(1).await?;
    } else {
        // A server without range support sends the whole resource.
        client.close();
    }
    total
        .map(|total| (total, url))
        .ok_or_else(|| HttpError::Invalid("the response does not state the size of the file".into()))
}

/// Task that downloads a segment and reports its events.
struct Task {
    client: Client,
    job: Job,
    /// The initialization segment is yet to be received.
    needs_init: bool,
    /// Received bytes of the segment.
    received: u64,
    events: mpsc::UnboundedSender<Event>,
    clock: Clock,
}

impl Task {
    /// Repeats attempts until the segment is complete or a retry is pointless. Returns the client.
    async fn run(mut self, retries: u32) -> Client {
        let mut retries_left = Retries::new(retries);
        loop {
            match self.attempt().await {
                Ok(()) => return self.client,
                Err(error) => {
                    self.client.close();
                    let pause = retries_left.pause(&error);
                    let failed = Failed { error, fatal: pause.is_none(), init: self.needs_init };
                    let reported = self.events.send(Event::Failed(failed));
                    match pause {
                        Some(pause) if reported.is_ok() => tokio::time::sleep(pause).await,
                        _ => return self.client,
                    }
                }
            }
        }
    }

    /// Reports an event. A closed channel means that the player abandoned the segment.
    fn report(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// One attempt: requests the missing bytes.
    async fn attempt(&mut self) -> Result<(), HttpError> {
        if self.needs_init
            && let Some(address) = &self.job.init
        {
            let answer = self.client.get(&address.url, address.range, &self.job.init_fields).await?;
            answer.whole(MAX_INIT_BYTES).await?;
            self.needs_init = false;
        }
        // Positions refer to the resource, of which the segment may be a part.
        let address = &self.job.address;
        let (first, last) = address.range.unwrap_or((0, None));
        let start = first + self.received;
        let range = (address.range.is_some() || self.received > 0).then_some((start, last));
        let mut answer = self.client.get(&address.url, range, &self.job.fields).await?;
        let mut at = answer.from;
        let end = match (last, answer.length) {
            (Some(last), _) => Some(last.saturating_add(1)),
            (None, Some(length)) => Some(at.saturating_add(length)),
            (None, None) => None,
        };
        if end.is_some_and(|end| end <= start) {
            return Err(HttpError::Invalid("the response is empty".into()));
        }
        self.report(Event::Head(self.clock.now(), end.map(|end| Bytes::new(end - first))));
        while let Some(mut bytes) = answer.more().await? {
            // A server without range support sends bytes before the requested range.
            let skip = start.saturating_sub(at).min(bytes.len() as u64);
            at += bytes.len() as u64;
            let _ = bytes.split_to(skip as usize);
            let excess = end.map_or(0, |end| at.saturating_sub(end)).min(bytes.len() as u64);
            bytes.truncate(bytes.len() - excess as usize);
            self.receive(&bytes);
            if excess > 0 {
                self.client.close();
                break;
            }
        }
        let received = self.received;
        if end.is_some_and(|end| first + received < end) || received == 0 {
            return Err(HttpError::Broken(format!("the response ends after {received} bytes")));
        }
        self.report(Event::End(self.clock.now()));
        Ok(())
    }

    /// Compares received bytes with the expected ones and counts them.
    fn receive(&mut self, bytes: &[u8]) {
        if self.job.content.is_some_and(|content| content.mismatch(self.received, bytes).is_some()) {
            self.report(Event::Mismatch);
        }
        self.received += bytes.len() as u64;
        if !bytes.is_empty() {
            self.report(Event::Bytes(self.clock.now(), Bytes::new(bytes.len() as u64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::StatusCode;

    #[test]
    fn final_address_is_without_the_cmcd_argument() {
        let url = |text: &str| Url::parse(text).unwrap();
        let (plain, asked) = (url("http://h/v?a=b"), url("http://h/v?a=b&CMCD=ot%3Dm%2Csid%3D%22x%22"));
        let table = [
            (asked.as_str(), "http://h/v?a=b"),
            ("http://h/w?a=b&CMCD=ot%3Dm%2Csid%3D%22x%22", "http://h/w?a=b"),
            ("http://h/w?CMCD=ot%3dm,sid=%22x%22&t=1", "http://h/w?t=1"),
            ("http://h/w?CMCD=ot%3Dm%2Csid%3D%22x%22", "http://h/w"),
            ("http://h/w?CMCD=own", "http://h/w?CMCD=own"),
            ("http://h/w?", "http://h/w?"),
            ("http://h/w", "http://h/w"),
        ];
        for (place, expected) in table {
            assert_eq!(without_cmcd(url(place), &asked, &plain).as_str(), expected);
        }
        assert_eq!(without_cmcd(url("http://h/w?a=b"), &plain, &plain), url("http://h/w?a=b"));
    }

    #[test]
    fn retry_pauses_double_up_to_8_s_or_follow_retry_after() {
        let broken = HttpError::Broken(String::new());
        let mut retries_left = Retries::new(7);
        let pauses: Vec<u128> =
            std::iter::from_fn(|| retries_left.pause(&broken)).map(|pause| pause.as_millis()).collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        let busy = |s| HttpError::Status(StatusCode::SERVICE_UNAVAILABLE, Some(Duration::from_secs(s)));
        assert_eq!(Retries::new(1).pause(&busy(3)), Some(Duration::from_secs(3)));
        assert_eq!(Retries::new(1).pause(&busy(3600)), Some(Duration::from_secs(30)));
        assert_eq!(Retries::new(1).pause(&busy(0)), Some(Duration::from_millis(500)));
        assert_eq!(Retries::new(9).pause(&HttpError::Status(StatusCode::NOT_FOUND, None)), None);
        assert_eq!(Retries::new(0).pause(&broken), None);
    }
}
