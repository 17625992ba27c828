//! The player itself.

use crate::estimate::{Estimate, Estimator};
use crate::rule::{Choice, Chooser, Progress, View};
use crate::session::{Abandoned, Fetched, Session, Stall, Wait};
use crate::{Manifest, Rule};
use units::{Bitrate, Bytes, Duration, Instant};

/// How a player plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayerConfig {
    /// Which bitrate the next segment has.
    pub rule: Rule,
    /// The most that the buffer may hold, typically 20 to 60 s. A segment is asked for only where it
    /// still fits, so that less than a segment is taken for one.
    pub max_buffer: Duration,
    /// What has to be in the buffer before the first picture; at least one segment has.
    pub startup: Duration,
    /// What has to be in it before a stall ends, likewise.
    pub resume: Duration,
    /// Whether a segment may be given up on its way, for a smaller one: as its rule has it.
    pub abandon: bool,
}

impl PlayerConfig {
    /// 25 s of buffer; one segment starts the play and ends a stall; segments may be given up.
    pub const fn new(rule: Rule) -> Self {
        Self {
            rule,
            max_buffer: Duration::from_secs(25),
            startup: Duration::ZERO,
            resume: Duration::ZERO,
            abandon: true,
        }
    }
}

/// A segment to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which segment, from 0.
    pub segment: usize,
    /// In which level, from 0, the lowest.
    pub level: usize,
    /// How large it is.
    pub size: Bytes,
}

/// An adaptive player as a state machine: it asks for segments, one after the other, is told when their
/// bytes come, and plays them.
///
/// The driver's part:
///
/// 1. Call [`poll_request`](Self::poll_request) and send what it says; where it says nothing, wait until
///    [`next`](Self::next).
/// 2. Call [`receive`](Self::receive) whenever bytes of the segment come, then go to 1. A request that comes
///    while a segment is on its way takes its place: cancel the one, send the other.
/// 3. When [`ended`](Self::ended), or when the viewer goes, call [`finish`](Self::finish).
///
/// Stalls begin and end at the exact nanosecond, however seldom the player is called. A time before one that
/// it was told already is taken for that one.
#[derive(Debug)]
pub struct Player {
    manifest: Manifest,
    config: PlayerConfig,
    chooser: Box<dyn Chooser>,
    estimator: Estimator,
    start: Instant,
    /// What was seen is true at this time.
    clock: Instant,
    phase: Phase,
    fetch: Fetch,
    /// Of the video, what has come and is not played.
    buffer: Duration,
    played: Duration,
    initial: Option<Duration>,
    stalls: Vec<Stall>,
    fetched: Vec<Fetched>,
    abandoned: Vec<Abandoned>,
}

/// Before so much of a segment has come, in so long a time, nobody knows how fast it is.
const FIRST_LOOK: (Bytes, Duration) = (Bytes::new(1_500), Duration::from_millis(50));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has been seen yet.
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
    /// The next segment is to be chosen when there is room, and since then nothing else kept it.
    Free {
        since: Instant,
    },
    /// It is chosen, and is asked for at that time.
    Waiting {
        level: usize,
        until: Instant,
    },
    Active(Active),
    /// All segments have come.
    Done,
}

#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    asked: Instant,
    /// When its first bytes came, and how many they were.
    first: Option<(Instant, Bytes)>,
    got: Bytes,
    /// In which level it is better asked for anew.
    instead: Option<usize>,
}

impl Player {
    /// A player whose viewer presses the button at `start`.
    pub fn new(manifest: Manifest, mut config: PlayerConfig, start: Instant) -> Self {
        config.max_buffer = config.max_buffer.max(manifest.segment_duration());
        Self {
            chooser: config.rule.chooser(&manifest, config.max_buffer),
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

    /// The segment to ask for at `now`, once; `None` while there is no room for another, and when all have
    /// come. While one is on its way, it is the same again in a lower level, where that one is given up.
    pub fn poll_request(&mut self, now: Instant) -> Option<Request> {
        self.advance(now);
        let segment = self.fetched.len();
        let level = match self.fetch {
            Fetch::Free { since } if self.has_room() => {
                // Before the first segment it was the manifest that was waited for, and no room.
                let idle = self.clock.since(since);
                if !idle.is_zero() && !self.fetched.is_empty() {
                    self.chooser.idled(idle);
                }
                let view = View {
                    manifest: &self.manifest,
                    segment,
                    buffer: self.buffer,
                    max_buffer: self.config.max_buffer,
                    last: self.fetched.last().map(|last| last.level),
                    estimate: self.estimator.estimate(),
                };
                let Choice { level, wait } = self.chooser.choose(&view);
                // A buffer that is not being played does not shrink, and one that is empty cannot.
                let wait = if self.phase == Phase::Playing { wait.min(self.buffer) } else { Duration::ZERO };
                if !wait.is_zero() {
                    self.fetch = Fetch::Waiting { level, until: self.clock + wait };
                    return None;
                }
                level
            }
            Fetch::Waiting { level, until } if self.clock >= until => level,
            Fetch::Active(Active { request, asked, got, instead: Some(level), .. }) => {
                let Request { segment, level: was, .. } = request;
                self.abandoned.push(Abandoned { segment, level: was, got, asked, at: self.clock });
                self.chooser.abandoned(level, self.buffer);
                level
            }
            _ => return None,
        };
        let level = level.min(self.manifest.highest());
        let request = Request { segment, level, size: self.manifest.size(segment, level)? };
        let (asked, got) = (self.clock, Bytes::ZERO);
        self.fetch = Fetch::Active(Active { request, asked, first: None, got, instead: None });
        Some(request)
    }

    /// When to call [`poll_request`](Self::poll_request) next; `None` while a segment is on its way, and
    /// after the end. When all segments have come, that is when the last has been played.
    pub fn next(&self) -> Option<Instant> {
        match (self.fetch, self.phase) {
            (Fetch::Free { .. }, _) => Some(self.clock + self.too_much()),
            (Fetch::Waiting { until, .. }, _) => Some(until),
            (Fetch::Done, Phase::Playing) => Some(self.clock + self.buffer),
            (Fetch::Active(_) | Fetch::Done, _) => None,
        }
    }

    /// The answer says that the segment which was asked for has another size than the manifest says, or than
    /// the driver guessed from its bitrate. One that is smaller than what has come already is taken as that;
    /// the segment is whole with the next [`receive`](Self::receive) that fills it, of no bytes maybe.
    pub fn resize(&mut self, size: Bytes) {
        if let Fetch::Active(active) = &mut self.fetch {
            active.request.size = size.max(active.got).max(Bytes::new(1));
        }
    }

    /// Bytes of the segment that was asked for have come. True where it is whole with them; more than are
    /// missing are not counted. No bytes are the beginning of the answer.
    pub fn receive(&mut self, now: Instant, bytes: Bytes) -> bool {
        self.advance(now);
        let Fetch::Active(active) = &mut self.fetch else { return false };
        let bytes = bytes.min(active.request.size - active.got);
        active.got += bytes;
        let (first_at, first_bytes) = *active.first.get_or_insert((self.clock, bytes));
        if active.got < active.request.size {
            let (elapsed, latency) = (self.clock.since(active.asked), first_at.since(active.asked));
            if self.config.abandon && active.got >= FIRST_LOOK.0 && elapsed >= FIRST_LOOK.1 {
                let Request { segment, level, size } = active.request;
                let view = View {
                    manifest: &self.manifest,
                    segment,
                    buffer: self.buffer,
                    max_buffer: self.config.max_buffer,
                    last: self.fetched.last().map(|last| last.level),
                    estimate: self.estimator.estimate(),
                };
                let progress = Progress { level, size, got: active.got, elapsed, latency };
                active.instead = self.chooser.instead(&view, &progress);
            }
            return false;
        }
        let Active { request, asked, .. } = *active;
        let (level, length) = (request.level, self.manifest.length(request.segment));
        // What came first says nothing of how fast: when it was sent is unknown. Where all came at once,
        // the whole time since the request is all there is to go by.
        let after_first = request.size - first_bytes;
        let (size, span) = if first_at < self.clock && after_first > Bytes::ZERO {
            (after_first, self.clock.since(first_at))
        } else {
            (request.size, self.clock.since(asked))
        };
        self.estimator.sample(size, span, first_at.since(asked));
        self.chooser.downloaded(level, self.clock.since(asked), self.buffer);
        self.buffer += length;
        self.fetched.push(Fetched {
            segment: request.segment,
            level,
            bitrate: self.manifest.bitrate(level),
            size: request.size,
            duration: length,
            asked,
            first_byte: first_at,
            arrived: self.clock,
            buffer: self.buffer,
        });
        let whole = self.fetched.len() == self.manifest.segments();
        self.fetch = if whole { Fetch::Done } else { Fetch::Free { since: self.clock } };
        self.play_if_ready();
        true
    }

    /// When the last picture was shown, once it has been.
    pub fn ended(&self) -> Option<Instant> {
        if let Phase::Ended { at } = self.phase { Some(at) } else { None }
    }

    /// How much is in the buffer at `now`, which must not be before what the player was told already.
    pub fn buffer(&self, now: Instant) -> Duration {
        match self.phase {
            Phase::Playing => self.buffer.saturating_sub(now.since(self.clock)),
            _ => self.buffer,
        }
    }

    /// How much of the video has been played at `now`, likewise.
    pub fn played(&self, now: Instant) -> Duration {
        match self.phase {
            Phase::Playing => self.played + self.buffer.min(now.since(self.clock)),
            _ => self.played,
        }
    }

    /// What the network is believed to carry; `None` before the first segment.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimator.estimate()
    }

    /// True once the first picture has been shown.
    pub fn started(&self) -> bool {
        self.initial.is_some()
    }

    /// How many stalls have come to an end, and how long they were together.
    pub fn stalls(&self) -> (usize, Duration) {
        (self.stalls.len(), self.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length()))
    }

    /// The level of the segment that came last.
    pub fn level(&self) -> Option<usize> {
        self.fetched.last().map(|last| last.level)
    }

    /// All segments have come.
    pub fn fetched(&self) -> bool {
        matches!(self.fetch, Fetch::Done)
    }

    /// The bitrate of the segment that is on its way, or else of the one that came last; of the lowest level
    /// before the first.
    pub fn bitrate(&self) -> Bitrate {
        let level = match self.fetch {
            Fetch::Active(active) => active.request.level,
            _ => self.fetched.last().map_or(0, |last| last.level),
        };
        self.manifest.bitrate(level)
    }

    /// What is still to come of the segment that is on its way.
    pub fn missing(&self) -> Bytes {
        match self.fetch {
            Fetch::Active(active) => active.request.size - active.got,
            _ => Bytes::ZERO,
        }
    }

    /// True while the viewer waits for a video that was seen already.
    pub fn stalled(&self, now: Instant) -> bool {
        match self.phase {
            Phase::Stalled { .. } => true,
            Phase::Playing => !matches!(self.fetch, Fetch::Done) && now.since(self.clock) > self.buffer,
            Phase::Starting | Phase::Ended { .. } => false,
        }
    }

    /// The record of the session, which ends at `now`, or has ended with the video. A wait that is still
    /// open is closed there, and marked.
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
            rule: self.config.rule,
            start: self.start,
            end,
            complete: self.ended().is_some(),
            initial,
            stalls: self.stalls,
            segments: self.fetched,
            abandoned: self.abandoned,
            played: self.played,
            segment_duration: self.manifest.segment_duration(),
            segments_in_video: self.manifest.segments(),
        }
    }

    /// Plays until `now`.
    fn advance(&mut self, now: Instant) {
        let now = now.max(self.clock);
        if self.phase == Phase::Playing {
            let span = now.since(self.clock);
            let dry = self.clock + self.buffer;
            if matches!(self.fetch, Fetch::Done) && span >= self.buffer {
                self.phase = Phase::Ended { at: dry };
            } else if span > self.buffer {
                // A segment that comes in the very nanosecond in which the buffer is empty is in time.
                self.phase = Phase::Stalled { since: dry };
            }
            let shown = span.min(self.buffer);
            self.played += shown;
            self.buffer -= shown;
        }
        self.clock = now;
    }

    /// By how much the buffer is too full for another segment.
    fn too_much(&self) -> Duration {
        let next = self.manifest.length(self.fetched.len());
        (self.buffer + next).saturating_sub(self.config.max_buffer)
    }

    fn has_room(&self) -> bool {
        self.too_much().is_zero()
    }

    fn play_if_ready(&mut self) {
        let enough = match self.phase {
            Phase::Starting => self.config.startup,
            Phase::Stalled { .. } => self.config.resume,
            Phase::Playing | Phase::Ended { .. } => return,
        };
        // Where no more can come, what there is has to do.
        let no_more = !self.has_room() || matches!(self.fetch, Fetch::Done);
        if self.buffer < enough && !no_more {
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
