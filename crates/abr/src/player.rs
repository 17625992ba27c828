//! The player: playback buffer, requests, stalls and the record of the session.

use crate::estimate::{Estimate, Estimator};
use crate::rule::{AbrRule, Choice, Progress, View};
use crate::session::{Abandoned, Fetched, Session, Stall, Wait};
use crate::{Manifest, Rule};
use units::{Bitrate, Bytes, Duration, Instant};

/// Parameters of a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerConfig {
    /// Chooses the bitrates.
    pub rule: Rule,
    /// Capacity of the buffer, typically 20 to 60 s; at least one segment. The player requests a
    /// segment only if it still fits.
    pub max_buffer: Duration,
    /// Buffer level at which playback begins; at least one segment.
    pub startup: Duration,
    /// Buffer level at which playback resumes after a stall; at least one segment.
    pub resume: Duration,
    /// The rule may replace a download by one in a lower level.
    pub abandon: bool,
}

impl PlayerConfig {
    /// A buffer of 25 s, playback as soon as one segment is there, downloads may be replaced.
    pub fn new(rule: impl Into<Rule>) -> Self {
        Self {
            rule: rule.into(),
            max_buffer: Duration::from_secs(25),
            startup: Duration::ZERO,
            resume: Duration::ZERO,
            abandon: true,
        }
    }
}

/// A request for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The segment, from 0.
    pub segment: usize,
    /// The level, from 0, the lowest.
    pub level: usize,
    /// Size of the segment.
    pub size: Bytes,
}

/// Adaptive player as a state machine: it requests segments one after the other and plays them.
///
/// The driver
///
/// 1. calls [`poll_request`](Self::poll_request) and sends the request; without one it waits until
///    [`next`](Self::next);
/// 2. calls [`receive`](Self::receive) whenever bytes of the segment arrive, then continues with 1.
///    A request during a download replaces it: the driver cancels the one and sends the other;
/// 3. calls [`finish`](Self::finish) after [`ended`](Self::ended), or when the viewer leaves.
///
/// Stalls begin and end at the exact nanosecond, however seldom the player is called. A time before
/// the previous call's counts as that of the previous call.
#[derive(Debug)]
pub struct Player {
    manifest: Manifest,
    config: PlayerConfig,
    rule: Box<dyn AbrRule>,
    estimator: Estimator,
    start: Instant,
    /// Time of the last call, to which the state applies.
    clock: Instant,
    phase: Phase,
    fetch: Fetch,
    /// Received and not yet played.
    buffer: Duration,
    played: Duration,
    initial: Option<Duration>,
    stalls: Vec<Stall>,
    fetched: Vec<Fetched>,
    abandoned: Vec<Abandoned>,
}

/// Bytes and time of a download before its rate is known well enough to replace it.
const MIN_DOWNLOAD: (Bytes, Duration) = (Bytes::new(1_500), Duration::from_millis(50));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before the first picture.
    Starting,
    Playing,
    Stalled {
        since: Instant,
    },
    Ended {
        at: Instant,
    },
}

#[derive(Debug, Clone, Copy)]
enum Fetch {
    /// No request is pending since this time; the next segment is chosen once it fits.
    Free {
        since: Instant,
    },
    /// The next segment is chosen, and requested at that time.
    Waiting {
        level: usize,
        until: Instant,
    },
    Active(Download),
    /// All segments have arrived.
    Done,
}

#[derive(Debug, Clone, Copy)]
struct Download {
    request: Request,
    asked: Instant,
    /// Time and number of the first bytes.
    first: Option<(Instant, Bytes)>,
    got: Bytes,
    /// Level of the request that replaces this one.
    replacement: Option<usize>,
}

impl Download {
    /// Size and time from which to estimate the throughput of the complete download.
    ///
    /// The first bytes were sent at an unknown time and stay out, unless everything arrived at
    /// once.
    fn sample(&self, first: (Instant, Bytes), now: Instant) -> (Bytes, Duration) {
        let (first_at, first_bytes) = first;
        let after_first = self.request.size - first_bytes;
        if first_at < now && after_first > Bytes::ZERO {
            (after_first, now.since(first_at))
        } else {
            (self.request.size, now.since(self.asked))
        }
    }
}

impl Player {
    /// A player whose viewer starts the video at `start`.
    pub fn new(manifest: Manifest, mut config: PlayerConfig, start: Instant) -> Self {
        config.max_buffer = config.max_buffer.max(manifest.segment_duration());
        Self {
            rule: config.rule.build(&manifest, config.max_buffer),
            estimator: Estimator::new(manifest.segment_duration()),
            manifest,
            config,
            start,
            clock: start,
            phase: Phase::Starting,
            fetch: Fetch::Free { since: start },
            buffer: Duration::ZERO,
            played: Duration::ZERO,
            initial: None,
            stalls: Vec::new(),
            fetched: Vec::new(),
            abandoned: Vec::new(),
        }
    }

    /// The request to send at `now`, once; `None` while the next segment does not fit into the
    /// buffer, and after the last. During a download it is the request that replaces it, in a lower
    /// level.
    pub fn poll_request(&mut self, now: Instant) -> Option<Request> {
        self.advance(now);
        let segment = self.fetched.len();
        let level = match self.fetch {
            Fetch::Free { since } if self.has_room() => self.choose_level(since)?,
            Fetch::Waiting { level, until } if self.clock >= until => level,
            Fetch::Active(Download { request, asked, got, replacement: Some(level), .. }) => {
                let Request { segment, level: replaced, .. } = request;
                self.abandoned.push(Abandoned { segment, level: replaced, got, asked, at: self.clock });
                self.rule.on_replaced(level, self.buffer);
                level
            }
            _ => return None,
        };
        let level = level.min(self.manifest.highest());
        let request = Request { segment, level, size: self.manifest.size(segment, level)? };
        let (asked, got) = (self.clock, Bytes::ZERO);
        self.fetch = Fetch::Active(Download { request, asked, first: None, got, replacement: None });
        Some(request)
    }

    /// The level that the rule chooses; `None` if it waits before the request. No request has been
    /// pending `since`.
    fn choose_level(&mut self, since: Instant) -> Option<usize> {
        // Before the first segment the player waited for its manifest, not for room in the buffer.
        let idle = self.clock.since(since);
        if !idle.is_zero() && !self.fetched.is_empty() {
            self.rule.on_idle(idle);
        }
        let view = view(&self.manifest, &self.config, self.buffer, &self.fetched, &self.estimator);
        let Choice { level, wait } = self.rule.choose(&view);
        // The buffer shrinks only during playback, and at most to zero.
        let wait = if self.phase == Phase::Playing { wait.min(self.buffer) } else { Duration::ZERO };
        if wait.is_zero() {
            return Some(level);
        }
        self.fetch = Fetch::Waiting { level, until: self.clock + wait };
        None
    }

    /// Time of the next call to [`poll_request`](Self::poll_request); `None` during a download and
    /// after the end. After the last segment it is the end of playback.
    pub fn next(&self) -> Option<Instant> {
        match (self.fetch, self.phase) {
            (Fetch::Free { .. }, _) => Some(self.clock + self.overfill()),
            (Fetch::Waiting { until, .. }, _) => Some(until),
            (Fetch::Done, Phase::Playing) => Some(self.clock + self.buffer),
            (Fetch::Active(_) | Fetch::Done, _) => None,
        }
    }

    /// Corrects the size of the requested segment to that of the response. A size below the
    /// received bytes counts as those; the next [`receive`](Self::receive), possibly of no bytes,
    /// completes the segment then.
    pub fn resize(&mut self, size: Bytes) {
        if let Fetch::Active(download) = &mut self.fetch {
            download.request.size = size.max(download.got).max(Bytes::new(1));
        }
    }

    /// Records received bytes of the requested segment; no bytes mark the beginning of the
    /// response. Returns true if the segment is complete. Excess bytes are ignored.
    pub fn receive(&mut self, now: Instant, bytes: Bytes) -> bool {
        self.advance(now);
        let Fetch::Active(download) = &mut self.fetch else { return false };
        let bytes = bytes.min(download.request.size - download.got);
        download.got += bytes;
        let first = *download.first.get_or_insert((self.clock, bytes));
        let download = *download;
        if download.got < download.request.size {
            self.consider_replacement(download, first.0);
            return false;
        }
        self.complete(&download, first);
        true
    }

    /// Asks the rule whether a request in a lower level should replace the download.
    fn consider_replacement(&mut self, mut download: Download, first_at: Instant) {
        let (elapsed, latency) = (self.clock.since(download.asked), first_at.since(download.asked));
        if !self.config.abandon || download.got < MIN_DOWNLOAD.0 || elapsed < MIN_DOWNLOAD.1 {
            return;
        }
        let Request { level, size, .. } = download.request;
        let view = view(&self.manifest, &self.config, self.buffer, &self.fetched, &self.estimator);
        let progress = Progress { level, size, got: download.got, elapsed, latency };
        download.replacement = self.rule.replacement(&view, &progress);
        self.fetch = Fetch::Active(download);
    }

    /// Adds a complete segment to the buffer and to the record.
    fn complete(&mut self, download: &Download, first: (Instant, Bytes)) {
        let Download { request, asked, .. } = *download;
        let (level, duration) = (request.level, self.manifest.length(request.segment));
        let (size, span) = download.sample(first, self.clock);
        self.estimator.sample(size, span, first.0.since(asked));
        self.rule.on_segment(level, self.clock.since(asked), self.buffer);
        self.buffer += duration;
        self.fetched.push(Fetched {
            segment: request.segment,
            level,
            bitrate: self.manifest.segment_bitrate(request.segment, level),
            size: request.size,
            duration,
            asked,
            first_byte: first.0,
            arrived: self.clock,
            buffer: self.buffer,
        });
        let all = self.fetched.len() == self.manifest.segments();
        self.fetch = if all { Fetch::Done } else { Fetch::Free { since: self.clock } };
        self.play_if_ready();
    }

    /// Time of the last picture, once it has been shown.
    pub fn ended(&self) -> Option<Instant> {
        if let Phase::Ended { at } = self.phase { Some(at) } else { None }
    }

    /// Playback time in the buffer at `now`, which must not be before the last call's time.
    pub fn buffer(&self, now: Instant) -> Duration {
        match self.phase {
            Phase::Playing => self.buffer.saturating_sub(now.since(self.clock)),
            _ => self.buffer,
        }
    }

    /// Played time of the video at `now`, which must not be before the last call's time.
    pub fn played(&self, now: Instant) -> Duration {
        match self.phase {
            Phase::Playing => self.played + self.buffer.min(now.since(self.clock)),
            _ => self.played,
        }
    }

    /// Estimated throughput and latency; `None` before the first segment.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimator.estimate()
    }

    /// True once the first picture has been shown.
    pub fn started(&self) -> bool {
        self.initial.is_some()
    }

    /// Number and total length of the stalls that have ended.
    pub fn stalls(&self) -> (usize, Duration) {
        (self.stalls.len(), self.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length()))
    }

    /// Level of the last segment that arrived.
    pub fn level(&self) -> Option<usize> {
        self.fetched.last().map(|last| last.level)
    }

    /// True once all segments have arrived.
    pub fn fetched(&self) -> bool {
        matches!(self.fetch, Fetch::Done)
    }

    /// Bitrate of the present download, or else of the last segment; of the lowest level before the
    /// first.
    pub fn bitrate(&self) -> Bitrate {
        match self.fetch {
            Fetch::Active(Download { request: Request { segment, level, .. }, .. }) => {
                self.manifest.segment_bitrate(segment, level)
            }
            _ => self.fetched.last().map_or(self.manifest.bitrate(0), |last| last.bitrate),
        }
    }

    /// Missing bytes of the present download.
    pub fn missing(&self) -> Bytes {
        match self.fetch {
            Fetch::Active(download) => download.request.size - download.got,
            _ => Bytes::ZERO,
        }
    }

    /// True while playback is stalled after it has begun.
    pub fn stalled(&self, now: Instant) -> bool {
        match self.phase {
            Phase::Stalled { .. } => true,
            Phase::Playing => !matches!(self.fetch, Fetch::Done) && now.since(self.clock) > self.buffer,
            Phase::Starting | Phase::Ended { .. } => false,
        }
    }

    /// Total length of the stalls up to `now`, a present one included.
    pub fn stalled_time(&self, now: Instant) -> Duration {
        let since = match self.phase {
            Phase::Stalled { since } => Some(since),
            Phase::Playing if self.stalled(now) => Some(self.clock + self.buffer),
            Phase::Starting | Phase::Playing | Phase::Ended { .. } => None,
        };
        self.stalls().1 + since.map_or(Duration::ZERO, |since| now.max(self.clock).since(since))
    }

    /// The record of the session, which ends at `now` unless the video has ended before. An open
    /// stall or initial wait is closed and marked.
    pub fn finish(mut self, now: Instant) -> Session {
        self.advance(now);
        let end = self.ended().unwrap_or(self.clock);
        if let Phase::Stalled { since } = self.phase {
            self.stalls.push(Stall { start: since, end, position: self.played, open: true });
        }
        let initial = match self.initial {
            Some(length) => Wait { length, open: false },
            None => Wait { length: end.since(self.start), open: true },
        };
        Session {
            complete: self.ended().is_some(),
            rule: self.config.rule,
            start: self.start,
            end,
            initial,
            stalls: self.stalls,
            segments: self.fetched,
            abandoned: self.abandoned,
            played: self.played,
            segment_duration: self.manifest.segment_duration(),
            segments_in_video: self.manifest.segments(),
            levels_in_video: self.manifest.highest() + 1,
        }
    }

    /// Plays until `now`.
    fn advance(&mut self, now: Instant) {
        let now = now.max(self.clock);
        if self.phase == Phase::Playing {
            let span = now.since(self.clock);
            let empty_at = self.clock + self.buffer;
            if matches!(self.fetch, Fetch::Done) && span >= self.buffer {
                self.phase = Phase::Ended { at: empty_at };
            } else if span > self.buffer {
                // A segment that arrives in the nanosecond in which the buffer empties is in time.
                self.phase = Phase::Stalled { since: empty_at };
            }
            let shown = span.min(self.buffer);
            self.played += shown;
            self.buffer -= shown;
        }
        self.clock = now;
    }

    /// Time by which the buffer is too full for the next segment.
    fn overfill(&self) -> Duration {
        let next = self.manifest.length(self.fetched.len());
        (self.buffer + next).saturating_sub(self.config.max_buffer)
    }

    fn has_room(&self) -> bool {
        self.overfill().is_zero()
    }

    fn play_if_ready(&mut self) {
        let needed = match self.phase {
            Phase::Starting => self.config.startup,
            Phase::Stalled { .. } => self.config.resume,
            Phase::Playing | Phase::Ended { .. } => return,
        };
        let can_grow = self.has_room() && !matches!(self.fetch, Fetch::Done);
        if self.buffer < needed && can_grow {
            return;
        }
        if let Phase::Stalled { since } = self.phase {
            let position = self.played;
            self.stalls.push(Stall { start: since, end: self.clock, position, open: false });
        } else {
            self.initial = Some(self.clock.since(self.start));
        }
        self.phase = Phase::Playing;
    }
}

/// The input of the rule; a function of fields, so that the rule can be borrowed mutably.
fn view<'a>(
    manifest: &'a Manifest,
    config: &PlayerConfig,
    buffer: Duration,
    fetched: &[Fetched],
    estimator: &Estimator,
) -> View<'a> {
    View {
        manifest,
        segment: fetched.len(),
        buffer,
        max_buffer: config.max_buffer,
        last: fetched.last().map(|last| last.level),
        estimate: estimator.estimate(),
    }
}
