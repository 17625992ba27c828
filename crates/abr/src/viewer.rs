//! Video player over one persistent HTTP/1.1 connection: one request at a time, no pipelining.

use crate::{Manifest, Player, PlayerConfig, Request, Session};
use units::{Bitrate, Bytes, Duration, Instant};

/// Video session over one connection: manifest, player and the overhead of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Video {
    /// Segments and levels of the video.
    pub manifest: Manifest,
    /// Configuration of the player.
    pub player: PlayerConfig,
    /// Size of a request with its headers; at least [`Video::MIN_REQUEST`].
    pub request: Bytes,
    /// Processing time of the server, from the end of a request to the beginning of its response.
    pub wait: Duration,
}

impl Video {
    /// Minimum size of a request: enough for its headers with the largest segment number, level
    /// and byte range.
    pub const MIN_REQUEST: Bytes = Bytes::new(160);
    /// Size of a request with the usual headers of a browser.
    pub const REQUEST: Bytes = Bytes::new(400);
    /// Size of a response's header section.
    pub const RESPONSE_HEADER: Bytes = Bytes::new(240);

    /// A video from a server that responds at once.
    pub const fn new(manifest: Manifest, player: PlayerConfig) -> Self {
        Self { manifest, player, request: Self::REQUEST, wait: Duration::ZERO }
    }
}

/// A [`Player`] that receives each response as a header section and a body from a byte stream.
///
/// The caller calls [`poll`](Self::poll) at the start, at the time of [`next`](Self::next), and
/// after [`receive`](Self::receive), and sends the returned request. It closes the connection once
/// [`done`](Self::done) returns true.
#[derive(Debug)]
pub struct Viewer {
    player: Player,
    start: Instant,
    /// Time at which the viewer closes the video; no requests from then on.
    stop: Instant,
    /// Bytes of the pending response's header section that have not arrived.
    header_left: u64,
    /// No response is pending.
    idle: bool,
}

/// State of a viewer's player at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Playback time in the buffer.
    pub buffer: Duration,
    /// The viewer waits for the first picture, or playback is stalled.
    pub waiting: bool,
    /// Total length of the stalls after playback had begun, a present one included.
    pub stalled: Duration,
    /// Bitrate of the segment in download, else of the last segment, else of the lowest level.
    pub bitrate: Bitrate,
    /// Bytes of the segment in download that have not arrived; 0 once the viewer has left.
    pub missing: Bytes,
    /// The viewer has started the video.
    pub opened: bool,
    /// All segments have arrived, or the viewer has left.
    pub done: bool,
}

impl Viewer {
    /// A viewer that starts the video at `start` and leaves at `stop`.
    pub fn new(video: &Video, start: Instant, stop: Option<Instant>) -> Self {
        // HTTP/1.1 cannot cancel a response without closing the connection.
        let config = PlayerConfig { abandon: false, ..video.player.clone() };
        let player = Player::new(video.manifest.clone(), config, start);
        Self { player, start, stop: stop.unwrap_or(Instant::MAX), header_left: 0, idle: true }
    }

    /// The request to send at `now`; returned only once. `None` while a response is pending, while
    /// the next segment does not fit into the buffer, and after the last.
    pub fn poll(&mut self, now: Instant) -> Option<Request> {
        if !self.idle || now >= self.stop {
            return None;
        }
        let request = self.player.poll_request(now)?;
        (self.header_left, self.idle) = (Video::RESPONSE_HEADER.get(), false);
        Some(request)
    }

    /// Records received bytes of the response, header section included.
    pub fn receive(&mut self, now: Instant, bytes: u64) {
        if self.idle || now >= self.stop {
            return;
        }
        let header = bytes.min(self.header_left);
        self.header_left -= header;
        if self.header_left == 0 {
            self.idle = self.player.receive(now, Bytes::new(bytes - header));
        }
    }

    /// Time of the next call to [`poll`](Self::poll); `None` while a response is pending and
    /// after the end.
    pub fn next(&self) -> Option<Instant> {
        if self.idle { self.player.next().filter(|&at| at < self.stop) } else { None }
    }

    /// True once all segments have arrived or the viewer has left: no more requests follow.
    pub fn done(&self, now: Instant) -> bool {
        now >= self.stop || self.player.fetched()
    }

    /// State of the player at `now`.
    pub fn sight(&self, now: Instant) -> Sight {
        let (opened, left) = (now >= self.start, now >= self.stop);
        let done = self.done(now);
        let now = now.min(self.stop);
        Sight {
            buffer: self.player.buffer(now),
            waiting: opened && !left && (self.player.stalled(now) || !self.player.started()),
            stalled: self.player.stalled_time(now),
            bitrate: self.player.bitrate(),
            missing: if left { Bytes::ZERO } else { self.player.missing() },
            opened,
            done,
        }
    }

    /// The record of the session, which ends at `now`, or earlier if the viewer has left or the
    /// video has ended.
    pub fn finish(self, now: Instant) -> Session {
        self.player.finish(now.min(self.stop))
    }
}
