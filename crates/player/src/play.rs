//! A session: feeds events to the player and carries out its requests.

use crate::address::without_login;
use crate::cmcd::RequestState;
use crate::config::{Config, Source};
use crate::content::Generated;
use crate::error::PlayError;
use crate::fetch::{Download, Event, Failed, Fetcher, Job};
use crate::source::Presentation;
use crate::text::{rfc3339, uuid};
use ::cmcd::Object;
use abr::{Player, Request, Session, Wait};
use linux::clock::Clock;
use playback::{
    Kind, MAX_ENTRIES, MAX_URL_CHARS, Metadata, Reason, ReasonKind, Record, Sample, Settings, Video,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::{Duration, SystemTime};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use units::{Bitrate, Instant};

/// Interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Initial interval of the record's samples; doubled each time there are too many.
const INITIAL_SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
const MAX_SAMPLES: usize = 10_000;

/// Result of a session.
#[derive(Debug, Clone)]
pub struct Played {
    /// The session as the player recorded it.
    pub session: Session,
    /// The playback record.
    pub record: Record,
    /// Reason for which the session failed; also in the record.
    pub failure: Option<Reason>,
    /// Bytes that differ from the generated content (with [`Config::verify`]).
    pub mismatches: u64,
}

/// Progress of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Time since the start.
    pub elapsed: units::Duration,
    /// Buffer level.
    pub buffer: units::Duration,
    /// Played time, and length of the video; zero while the manifest loads.
    pub played: (units::Duration, units::Duration),
    /// Bitrate of the latest segment.
    pub bitrate: Option<Bitrate>,
    /// Estimated throughput.
    pub throughput: Option<Bitrate>,
    /// Number of stalls, including a present one.
    pub stalls: usize,
    /// True while playback waits, before the first picture or with an empty buffer.
    pub waiting: bool,
}

impl Progress {
    /// Progress while the manifest loads.
    fn loading(now: Instant) -> Self {
        Self {
            elapsed: now.since(Instant::ZERO),
            buffer: units::Duration::ZERO,
            played: (units::Duration::ZERO, units::Duration::ZERO),
            bitrate: None,
            throughput: None,
            stalls: 0,
            waiting: true,
        }
    }
}

/// Plays in real time, in this thread and its namespaces, until the video ends, the viewer leaves
/// ([`Config::limit`], or `observe` breaks), the record has its maximum of 20,000 segments, or an
/// error occurs. `observe` is called ten times per second.
///
/// A session fails if its server does not deliver: its record has the reason.
///
/// # Errors
/// If there is no session: the configuration is wrong, or the machine lacks something.
///
/// ```no_run
/// # use tandem_player::{Config, Source, content, play};
/// # use abr::{BOLA, Manifest, PlayerConfig};
/// # use std::{net::TcpListener, ops::ControlFlow};
/// # fn example(manifest: Manifest) -> Result<(), Box<dyn std::error::Error>> {
/// let content = content::Content { seed: 1, ..content::Content::default() };
/// let server = content::spawn(TcpListener::bind("127.0.0.1:0")?, content, None)?;
/// let source = Source::Sizes {
///     name: "example".to_owned(),
///     manifest,
///     server: format!("http://{}/", server.address()).parse()?,
/// };
/// let config = Config::new(source, PlayerConfig::new(BOLA));
/// let played = play(&config, &mut |_| ControlFlow::Continue(()))?;
/// println!("{}", played.record.to_text());
/// # Ok(())
/// # }
/// ```
pub fn play(
    config: &Config,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Played, PlayError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| PlayError::System(format!("cannot start: {error}")))?;
    let played = runtime.block_on(session(config, observe));
    // Dropping the runtime would wait for its connection attempts and name queries.
    runtime.shutdown_background();
    played
}

async fn session(
    config: &Config,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Played, PlayError> {
    let id = match &config.id {
        Some(id) => id.clone(),
        None => uuid().map_err(|error| PlayError::System(format!("no random bytes: {error}")))?,
    };
    // The session starts here: loading the manifest is part of the initial wait.
    let (started_at, clock) = (rfc3339(SystemTime::now()), Clock::start());
    let mut fetcher =
        Fetcher::new(config.network.clone(), clock, config.cmcd, id.clone(), config.content_id.clone());
    let mut presentation = match load(config, &mut fetcher, observe).await {
        Some(Ok(presentation)) => presentation,
        Some(Err(error)) => match error.reason().filter(|_| !is_local(config, &error)) {
            Some(reason) => return Ok(unloaded(config, fetcher, (id, started_at), Some(reason))),
            None => return Err(error),
        },
        None => return Ok(unloaded(config, fetcher, (id, started_at), None)),
    };
    if let Some(level) = config.level {
        presentation = presentation.only(level)?;
    }
    let mut driver = Driver::new(config, &presentation, fetcher);
    driver.run(observe).await;
    let end = clock.now();
    let Driver { fetcher, player, samples, failure, mismatches, .. } = driver;
    let session = player.finish(end);
    let mut metadata = metadata(config, presentation.video.clone(), id, started_at);
    metadata.samples = Some(samples.taken);
    metadata.errors = Some(fetcher.failures);
    metadata.reason.clone_from(&failure);
    let record = record(config, metadata, &session);
    Ok(Played { session, record, failure, mismatches })
}

/// Loads the presentation; `None` if the viewer leaves before.
async fn load(
    config: &Config,
    fetcher: &mut Fetcher,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Option<Result<Presentation, PlayError>> {
    let clock = fetcher.clock;
    let limit = config.limit.map(|limit| Instant::ZERO + span(limit));
    let mut load = pin!(Presentation::load(config, fetcher));
    loop {
        let report = clock.now() + span(PROGRESS_INTERVAL);
        let wake = limit.map_or(report, |limit| report.min(limit));
        let sleep = tokio::time::sleep(Duration::from_nanos(wake.since(clock.now()).as_nanos()));
        tokio::select! {
            biased;
            loaded = &mut load => return Some(loaded),
            () = sleep => {}
        }
        let now = clock.now();
        if limit.is_some_and(|limit| now >= limit) || observe(&Progress::loading(now)).is_break() {
            return None;
        }
    }
}

/// True if the manifest in memory is invalid: an input of the caller, not a failure of a session.
fn is_local(config: &Config, error: &PlayError) -> bool {
    matches!((&config.source, error), (Source::Text { .. }, PlayError::Manifest(_)))
}

/// A session that failed, or that the viewer left, before its video was known.
fn unloaded(
    config: &Config,
    fetcher: Fetcher,
    (id, started_at): (String, String),
    reason: Option<Reason>,
) -> Played {
    let end = fetcher.clock.now();
    let session = Session {
        rule: config.player.rule.clone(),
        start: Instant::ZERO,
        end,
        complete: false,
        initial: Wait { length: end.since(Instant::ZERO), open: true },
        stalls: Vec::new(),
        segments: Vec::new(),
        abandoned: Vec::new(),
        played: units::Duration::ZERO,
        segment_duration: units::Duration::ZERO,
        segments_in_video: 0,
        levels_in_video: 0,
    };
    let (url, kind, duration_s) = match &config.source {
        Source::Url(url) => (Some(without_login(url)), Kind::Dash, None),
        Source::File { url, duration } => {
            (Some(without_login(url)), Kind::File, Some(duration.as_secs_f64()))
        }
        Source::Text { name, .. } | Source::Sizes { name, .. } => (Some(name.clone()), Kind::Sizes, None),
    };
    let video = Video {
        url,
        kind,
        content_id: None,
        title: None,
        duration_s,
        segment_duration_s: None,
        levels: Vec::new(),
    };
    let mut metadata = metadata(config, video, id, started_at);
    metadata.errors = Some(fetcher.failures);
    metadata.reason.clone_from(&reason);
    let record = record(config, metadata, &session);
    Played { session, record, failure: reason, mismatches: 0 }
}

/// Metadata of a session, without samples and errors.
fn metadata(config: &Config, mut video: Video, id: String, started_at: String) -> Metadata {
    video.content_id.clone_from(&config.content_id);
    // A redirect may lead to a longer address than a record may have.
    video.url = video.url.map(|url| url.chars().take(MAX_URL_CHARS).collect());
    Metadata {
        id,
        started_at,
        player: playback::Player {
            name: "tandem-play".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            engine: None,
            user_agent: None,
        },
        video,
        settings: settings(config),
        viewing: config.viewing,
        label: config.label.clone(),
        device: config.device.clone(),
        zone: config.zone.clone(),
        versions: BTreeMap::from([("linux".to_owned(), linux::clock::kernel_release())]),
        samples: None,
        errors: None,
        reason: None,
    }
}

/// Record of a session, without samples after its end.
fn record(config: &Config, metadata: Metadata, session: &Session) -> Record {
    let mut record = Record::new(metadata, session);
    if config.level.is_some() || matches!(config.source, Source::File { .. }) {
        "fixed".clone_into(&mut record.rule);
    }
    if let Some(samples) = &mut record.samples {
        samples.retain(|sample| sample.at_s <= record.duration_s);
    }
    for error in record.errors.iter_mut().flatten() {
        error.at_s = error.at_s.min(record.duration_s);
    }
    record
}

fn settings(config: &Config) -> Settings {
    Settings {
        max_buffer_s: Some(config.player.max_buffer.as_secs_f64()),
        startup_s: Some(config.player.startup.as_secs_f64()),
        resume_s: Some(config.player.resume.as_secs_f64()),
        abandon: Some(config.player.abandon),
        cmcd: Some(config.cmcd),
        proxy: config.network.proxy.as_ref().map(ToString::to_string),
        mptcp: Some(config.network.mptcp),
    }
}

struct Driver<'a> {
    config: &'a Config,
    presentation: &'a Presentation,
    fetcher: Fetcher,
    player: Player,
    download: Option<Download>,
    /// The segment of the download, with its address and that of its initialization segment.
    current: Option<(Request, [String; 2])>,
    /// Bytes received of the segment, and whether a response has stated its size.
    received: units::Bytes,
    size_known: bool,
    /// Initialization segments received so far, and the segment of the present download.
    known_inits: Vec<(usize, usize)>,
    pending_init: Option<(usize, usize)>,
    /// Number of stalls at the previous request.
    stalls_reported: usize,
    samples: Samples,
    failure: Option<Reason>,
    mismatches: u64,
}

impl<'a> Driver<'a> {
    fn new(config: &'a Config, presentation: &'a Presentation, fetcher: Fetcher) -> Self {
        let manifest = presentation.manifest.clone();
        Self {
            config,
            presentation,
            fetcher,
            player: Player::new(manifest, config.player.clone(), Instant::ZERO),
            download: None,
            current: None,
            received: units::Bytes::ZERO,
            size_known: false,
            known_inits: Vec::new(),
            pending_init: None,
            stalls_reported: 0,
            samples: Samples::new(),
            failure: None,
            mismatches: 0,
        }
    }

    async fn run(&mut self, observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>) {
        let clock = self.fetcher.clock;
        let limit = self.config.limit.map(|limit| Instant::ZERO + span(limit));
        let mut next_report = clock.now();
        loop {
            let now = clock.now();
            if limit.is_some_and(|limit| now >= limit) {
                return;
            }
            if now >= next_report {
                next_report = now + span(PROGRESS_INTERVAL);
                self.sample(now);
                self.report_to_agent(now).await;
                if observe(&self.progress(now)).is_break() {
                    return;
                }
            }
            if let Some(request) = self.player.poll_request(now) {
                if request.segment >= MAX_ENTRIES {
                    return;
                }
                self.request_segment(now, request);
            }
            if self.player.ended().is_some() || self.failure.is_some() {
                return;
            }
            let mut wake = self.player.next().map_or(next_report, |next| next.min(next_report));
            wake = limit.map_or(wake, |limit| wake.min(limit));
            let sleep = tokio::time::sleep(Duration::from_nanos(wake.since(now).as_nanos()));
            tokio::select! {
                biased;
                event = next(&mut self.download) => self.on_event(event).await,
                () = sleep => {}
            }
        }
    }

    /// Sends a request. A running download is abandoned and its connection closed.
    fn request_segment(&mut self, now: Instant, request: Request) {
        self.download = None;
        let presentation = self.presentation;
        let Some(mut address) = presentation.address(request.segment, request.level) else {
            let message = format!("there is no segment {} in level {}", request.segment, request.level);
            self.failure = Some(Reason { kind: ReasonKind::Manifest, message });
            return;
        };
        let next = presentation.address(request.segment + 1, request.level);
        let init = presentation.init(request.segment, request.level);
        self.pending_init = init.as_ref().map(|(number, _)| *number);
        let mut init =
            init.filter(|(number, _)| !self.known_inits.contains(number)).map(|(_, address)| address);
        // The addresses before CMCD is added to their queries.
        let init_url = init.as_ref().map_or_else(String::new, |init| without_login(&init.url));
        let urls = [without_login(&address.url), init_url];
        let manifest = &presentation.manifest;
        let stalls = self.player.stalls().0 + usize::from(self.player.stalled(now));
        let buffer = self.player.buffer(now);
        let video = RequestState {
            bitrate: Some(manifest.segment_bitrate(request.segment, request.level)),
            duration: Some(manifest.length(request.segment)),
            top: Some(manifest.segment_bitrate(request.segment, manifest.highest())),
            buffer: Some(buffer),
            // Time until the buffer is empty; zero before the first picture and during a stall.
            deadline: Some(buffer),
            throughput: self.player.estimate().map(|estimate| estimate.throughput),
            next: next
                .filter(|next| next.range.is_none())
                .and_then(|next| address.url.make_relative(&next.url)),
            startup: !self.player.started() || self.player.stalled(now),
            starved: stalls > self.stalls_reported,
            ..self.fetcher.request_state(Object::Video)
        };
        let init_video = RequestState {
            object: Object::Init,
            duration: None,
            buffer: None,
            deadline: None,
            next: None,
            starved: false,
            ..video.clone()
        };
        let cmcd = self.fetcher.cmcd;
        let fields = video.send(cmcd, &mut address.url);
        let mut init_fields = Vec::new();
        if let Some(init) = &mut init {
            init_fields = init_video.send(cmcd, &mut init.url);
        }
        self.stalls_reported = stalls;
        let content = self.config.verify.map(|seed| {
            Generated::new(seed, presentation.level(request.level) as u64, request.segment as u64)
        });
        self.current = Some((request, urls));
        self.received = units::Bytes::ZERO;
        self.download = Some(self.fetcher.start(Job { address, init, fields, init_fields, content }));
    }

    async fn on_event(&mut self, event: Option<Event>) {
        let Some((request, urls)) = &self.current else { return };
        match event {
            Some(Event::Head(at, size)) => {
                self.size_known = size.is_some();
                if let Some(size) = size {
                    self.player.resize(size);
                }
                self.player.receive(at, units::Bytes::ZERO);
                if let Some(number) = self.pending_init.take().filter(|n| !self.known_inits.contains(n)) {
                    self.known_inits.push(number);
                }
            }
            Some(Event::Bytes(at, bytes)) => {
                self.received += bytes;
                if !self.size_known && bytes >= self.player.missing() {
                    // Only the end of the response completes the segment.
                    self.player.resize(self.received + units::Bytes::new(1));
                }
                if self.player.receive(at, bytes) {
                    self.finish_download().await;
                }
            }
            Some(Event::End(at)) => {
                // The size was an estimate: the received bytes are the whole segment.
                self.player.resize(units::Bytes::ZERO);
                self.player.receive(at, units::Bytes::ZERO);
                self.finish_download().await;
            }
            Some(Event::Mismatch) => self.mismatches += 1,
            Some(Event::Failed(Failed { error, fatal, init })) => {
                self.fetcher.record_failure(&error, Some(request.segment), fatal);
                if fatal {
                    let message =
                        format!("segment {}: {}", request.segment, error.on(&urls[usize::from(init)]));
                    let message = message.chars().take(1_000).collect();
                    self.failure = Some(Reason { kind: error.kind(), message });
                }
            }
            None => self.finish_download().await,
        }
    }

    /// The segment is complete: its connection is free once its task has seen the end.
    async fn finish_download(&mut self) {
        if let Some(download) = self.download.take() {
            // The timeout closes the connection if its response does not end.
            let _ = tokio::time::timeout(PROGRESS_INTERVAL, self.fetcher.done(download)).await;
        }
    }

    /// Reports the player's state to the agent. A missing agent is ignored.
    async fn report_to_agent(&self, now: Instant) {
        let Some(socket) = &self.config.agent else { return };
        let state = ::cmcd::State {
            session: Some(self.fetcher.session_id.clone()),
            object: Some(Object::Video),
            buffer: Some(self.player.buffer(now)),
            bitrate: Some(self.player.bitrate()),
            throughput: self.player.estimate().map(|estimate| estimate.throughput),
            urgent: !self.player.started() || self.player.stalled(now),
            missing: Some(self.player.missing()),
            done: self.player.fetched(),
            ..::cmcd::State::default()
        };
        // Neither call blocks: a UNIX socket takes the whole message at once or rejects it.
        if let Ok(mut stream) = UnixStream::connect(socket).await {
            let _ = stream.write_all(state.message().as_bytes()).await;
        }
    }

    fn progress(&self, now: Instant) -> Progress {
        let stalled = self.player.stalled(now);
        Progress {
            elapsed: now.since(Instant::ZERO),
            buffer: self.player.buffer(now),
            played: (self.player.played(now), self.presentation.manifest.duration()),
            bitrate: self.player.level().map(|level| self.presentation.manifest.bitrate(level)),
            throughput: self.player.estimate().map(|estimate| estimate.throughput),
            stalls: self.player.stalls().0 + usize::from(stalled),
            waiting: stalled || !self.player.started(),
        }
    }

    fn sample(&mut self, now: Instant) {
        let progress = self.progress(now);
        let level = self.player.level().and_then(|level| u8::try_from(level).ok());
        self.samples.take(now, || Sample {
            at_s: progress.elapsed.as_secs_f64(),
            buffer_s: progress.buffer.as_secs_f64(),
            throughput_kbps: progress.throughput.map(|rate| rate.as_bps() as f64 / 1e3),
            position_s: Some(progress.played.0.as_secs_f64()),
            level,
        });
    }
}

/// Next event of the download; pending for ever without one.
async fn next(download: &mut Option<Download>) -> Option<Event> {
    match download {
        Some(download) => download.next().await,
        None => std::future::pending().await,
    }
}

fn span(span: Duration) -> units::Duration {
    units::Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// Samples of the player at equal intervals.
struct Samples {
    taken: Vec<Sample>,
    every: units::Duration,
    next: Instant,
}

impl Samples {
    fn new() -> Self {
        Self { taken: Vec::new(), every: span(INITIAL_SAMPLE_INTERVAL), next: Instant::ZERO }
    }

    fn take(&mut self, now: Instant, sample: impl FnOnce() -> Sample) {
        if now < self.next {
            return;
        }
        self.taken.push(sample());
        if self.taken.len() >= MAX_SAMPLES {
            let mut keep = false;
            self.taken.retain(|_| {
                keep = !keep;
                keep
            });
            self.every = self.every * 2;
        }
        self.next = now + self.every;
    }
}
