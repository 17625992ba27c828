//! Video over a connection: the device requests segments, the server responds with them.

use abr::{Session, Sight, Video, Viewer};
use mptcp::Endpoint;
use policy::AppState;
use std::collections::VecDeque;
use traffic::TrafficConfig;
use units::{Duration, Instant};
use wire::Span;

/// State of a device's videos for its policy at `now`: that of the unfinished video with the
/// shortest buffer, and the stalls of all. `None` before the start of the first video.
pub fn app_state(now: Instant, sights: impl Iterator<Item = Sight>) -> Option<AppState> {
    let mut stalled = Duration::ZERO;
    let opened = sights.filter(|sight| sight.opened).inspect(|sight| stalled += sight.stalled);
    let sight = opened.min_by_key(|sight| (sight.done, sight.buffer))?;
    Some(AppState {
        buffer: Some(sight.buffer),
        deadline: (!sight.waiting).then(|| now + sight.buffer),
        missing: Some(sight.missing),
        bitrate: Some(sight.bitrate),
        stalled: Some(stalled),
        done: sight.done,
    })
}

/// Both ends of a video session: the viewer at the device, and pending requests at the server.
#[derive(Debug)]
pub(crate) struct VideoExchange {
    viewer: Viewer,
    request_bytes: u64,
    /// Time from the end of a request to the first byte of its response.
    server_delay: Duration,
    /// Bytes of requests written by the device.
    requested: u64,
    /// Bytes of requests read by the server.
    received: u64,
    /// Requests not yet read by the server: stream offset of the end, and bytes of the response.
    requests: VecDeque<(u64, u64)>,
    /// Responses not yet begun: start time, and bytes.
    responses: VecDeque<(Instant, u64)>,
}

impl VideoExchange {
    pub(crate) fn new(video: &Video, config: &TrafficConfig) -> Self {
        Self {
            viewer: Viewer::new(video, config.start, config.stop),
            request_bytes: video.request.get(),
            server_delay: video.wait,
            requested: 0,
            received: 0,
            requests: VecDeque::new(),
            responses: VecDeque::new(),
        }
    }

    /// Sends the requests of the player, and closes the connection after the last one.
    pub(crate) fn send_requests(&mut self, now: Instant, client: &mut Endpoint<Span>) {
        while let Some(segment) = self.viewer.poll(now) {
            let request = Span::new(self.requested, self.request_bytes as u32);
            self.requested += client.write(&request) as u64;
            self.requests.push_back((self.requested, (Video::RESPONSE_HEADER + segment.size).get()));
        }
        if self.viewer.done(now) {
            client.close();
        }
    }

    /// The device has received `bytes` of responses.
    pub(crate) fn receive(&mut self, now: Instant, bytes: u64) {
        self.viewer.receive(now, bytes);
    }

    /// The server reads requests and schedules their responses.
    pub(crate) fn read_requests(&mut self, now: Instant, server: &mut Endpoint<Span>) {
        while let Some(span) = server.read(usize::MAX) {
            self.received += u64::from(span.len);
        }
        while let Some(&(_, response)) = self.requests.front().filter(|(end, _)| *end <= self.received) {
            self.requests.pop_front();
            self.responses.push_back((now + self.server_delay, response));
        }
    }

    /// Takes the responses that start at or before `now`. Returns their bytes.
    pub(crate) fn take_due_responses(&mut self, now: Instant) -> u64 {
        let mut bytes = 0;
        while let Some(&(_, response)) = self.responses.front().filter(|(at, _)| *at <= now) {
            self.responses.pop_front();
            bytes += response;
        }
        bytes
    }

    /// Next timer of the device and of the server; [`Instant::MAX`] for none.
    pub(crate) fn next(&self) -> [Instant; 2] {
        let response = self.responses.front().map(|&(at, _)| at);
        [self.viewer.next(), response].map(|at| at.unwrap_or(Instant::MAX))
    }

    /// State of the player.
    pub(crate) fn sight(&self, now: Instant) -> Sight {
        self.viewer.sight(now)
    }

    /// Record of the session, which ends at `now` at the latest.
    pub(crate) fn finish(self, now: Instant) -> Session {
        self.viewer.finish(now)
    }
}
