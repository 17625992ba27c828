//! A player at its end of a connection: one request at a time, as HTTP/1.1 with keep-alive has it.

use crate::{Manifest, Player, PlayerConfig, Request, Session};
use units::{Bitrate, Bytes, Duration, Instant};

/// Video over one connection: what is played, how, and what HTTP adds to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Video {
    /// What there is to play.
    pub manifest: Manifest,
    /// How it is played.
    pub player: PlayerConfig,
    /// How large a request is, headers and all; at least [`Video::LEAST_REQUEST`].
    pub request: Bytes,
    /// From the end of a request until its answer begins: what the server has to do first, or a proxy that
    /// has to ask the server.
    pub wait: Duration,
}

impl Video {
    /// What a request has to say, with room for the largest numbers.
    pub const LEAST_REQUEST: Bytes = Bytes::new(160);
    /// A request as browsers send it, with some headers beside its line.
    pub const REQUEST: Bytes = Bytes::new(400);
    /// The headers of an answer.
    pub const HEAD: Bytes = Bytes::new(240);

    /// A video that a server has at hand.
    pub const fn new(manifest: Manifest, player: PlayerConfig) -> Self {
        Self { manifest, player, request: Self::REQUEST, wait: Duration::ZERO }
    }
}

/// A [`Player`] that reads the answers to its requests from a stream, headers first.
///
/// The driver's part: call [`poll`](Self::poll) at the beginning, at [`next`](Self::next), and after
/// [`receive`](Self::receive), and send a request for what it says; close the connection once
/// [`done`](Self::done).
#[derive(Debug)]
pub struct Viewer {
    player: Player,
    /// When the viewer goes, whatever is left.
    stop: Instant,
    /// Still to come of the headers of the answer that is on its way.
    head: u64,
    /// No answer has more to come.
    idle: bool,
}

/// What a viewer sees at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// What is left to play.
    pub buffer: Duration,
    /// The picture stands still, or there has been none yet.
    pub waiting: bool,
    /// The bitrate of the segment that is on its way, or else of the last.
    pub bitrate: Bitrate,
    /// Still to come of the segment that is on its way.
    pub missing: Bytes,
    /// All segments have come.
    pub fetched: bool,
}

impl Viewer {
    /// One who presses the button at `start`, and goes at `stop`.
    pub fn new(video: &Video, start: Instant, stop: Option<Instant>) -> Self {
        // What is on its way cannot be taken back: in HTTP/1.1 that is to close the connection.
        let config = PlayerConfig { abandon: false, ..video.player };
        let player = Player::new(video.manifest.clone(), config, start);
        Self { player, stop: stop.unwrap_or(Instant::MAX), head: 0, idle: true }
    }

    /// The segment to ask for at `now`, once.
    pub fn poll(&mut self, now: Instant) -> Option<Request> {
        if !self.idle || now >= self.stop {
            return None;
        }
        let request = self.player.poll_request(now)?;
        (self.head, self.idle) = (Video::HEAD.get(), false);
        Some(request)
    }

    /// So many bytes more of the answer have come.
    pub fn receive(&mut self, now: Instant, bytes: u64) {
        if self.idle || now >= self.stop {
            return;
        }
        let head = bytes.min(self.head);
        self.head -= head;
        if self.head == 0 {
            self.idle = self.player.receive(now, Bytes::new(bytes - head));
        }
    }

    /// When to call [`poll`](Self::poll) next; `None` while an answer is on its way, and after the end.
    pub fn next(&self) -> Option<Instant> {
        if self.idle { self.player.next().filter(|&at| at < self.stop) } else { None }
    }

    /// Nothing will be asked for any more.
    pub fn done(&self, now: Instant) -> bool {
        now >= self.stop || self.player.fetched()
    }

    /// What there is to see at `now`.
    pub fn sight(&self, now: Instant) -> Sight {
        let now = now.min(self.stop);
        Sight {
            buffer: self.player.buffer(now),
            waiting: self.player.stalled(now) || !self.player.started(),
            bitrate: self.player.bitrate(),
            missing: self.player.missing(),
            fetched: self.player.fetched(),
        }
    }

    /// The record of the session, which ends at `now` at the latest.
    pub fn finish(self, now: Instant) -> Session {
        self.player.finish(now.min(self.stop))
    }
}
