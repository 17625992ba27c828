//! Video over a connection: the device asks for a segment, the server answers with it.

use abr::{Session, Sight, Video, Viewer};
use mptcp::Endpoint;
use policy::AppState;
use std::collections::VecDeque;
use traffic::TrafficConfig;
use units::{Duration, Instant};
use wire::Span;

/// What the videos of a device tell its policy at `now`: the one with the least to play of those that are not done.
/// `None` where there is none.
pub fn app_state(now: Instant, sights: impl Iterator<Item = Sight>) -> Option<AppState> {
    let sight = sights.min_by_key(|sight| (sight.fetched, sight.buffer))?;
    Some(AppState {
        buffer: Some(sight.buffer),
        deadline: (!sight.waiting).then(|| now + sight.buffer),
        missing: Some(sight.missing),
        bitrate: Some(sight.bitrate),
        done: sight.fetched,
    })
}

/// Who asks, and what was asked for.
#[derive(Debug)]
pub(crate) struct Talk {
    viewer: Viewer,
    /// How large a request is, in bytes.
    request: u64,
    /// How long the server holds an answer back.
    wait: Duration,
    /// Bytes of requests that the device wrote.
    asked: u64,
    /// Of which the server has read.
    heard: u64,
    /// Requests that the server has not read: where each ends in the stream, and how large its answer is.
    requests: VecDeque<(u64, u64)>,
    /// Answers that it holds back, and until when.
    held: VecDeque<(Instant, u64)>,
}

impl Talk {
    pub(crate) fn new(video: &Video, config: &TrafficConfig) -> Self {
        Self {
            viewer: Viewer::new(video, config.start, config.stop),
            request: video.request.get(),
            wait: video.wait,
            asked: 0,
            heard: 0,
            requests: VecDeque::new(),
            held: VecDeque::new(),
        }
    }

    /// The device asks for what its player wants, or closes where that will be nothing any more.
    pub(crate) fn ask(&mut self, now: Instant, client: &mut Endpoint<Span>) {
        while let Some(segment) = self.viewer.poll(now) {
            let request = Span::new(self.asked, self.request as u32);
            self.asked += client.write(&request) as u64;
            self.requests.push_back((self.asked, (Video::HEAD + segment.size).get()));
        }
        if self.viewer.done(now) {
            client.close();
        }
    }

    /// So many bytes of answers have come to the device.
    pub(crate) fn receive(&mut self, now: Instant, bytes: u64) {
        self.viewer.receive(now, bytes);
    }

    /// The server reads what has come of requests.
    pub(crate) fn hear(&mut self, now: Instant, server: &mut Endpoint<Span>) {
        while let Some(span) = server.read(usize::MAX) {
            self.heard += u64::from(span.len);
        }
        while let Some(&(_, answer)) = self.requests.front().filter(|(end, _)| *end <= self.heard) {
            self.requests.pop_front();
            self.held.push_back((now + self.wait, answer));
        }
    }

    /// Bytes of answers that begin by `now`.
    pub(crate) fn answers(&mut self, now: Instant) -> u64 {
        let mut bytes = 0;
        while let Some(&(_, answer)) = self.held.front().filter(|(at, _)| *at <= now) {
            self.held.pop_front();
            bytes += answer;
        }
        bytes
    }

    /// When the device and the server have something to do without hearing anything.
    pub(crate) fn next(&self) -> [Instant; 2] {
        let answers = self.held.front().map(|&(at, _)| at);
        [self.viewer.next(), answers].map(|at| at.unwrap_or(Instant::MAX))
    }

    /// What the viewer sees.
    pub(crate) fn sight(&self, now: Instant) -> Sight {
        self.viewer.sight(now)
    }

    /// The record of the session, which ends at `now` at the latest.
    pub(crate) fn finish(self, now: Instant) -> Session {
        self.viewer.finish(now)
    }
}
