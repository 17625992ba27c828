//! A connection: its two endpoints, and the applications that write and read at them.

use crate::delay::{DelayRecorder, HeadOfLine, HeadOfLineOutcome};
use crate::delivery::Side;
use crate::experiment::{CellSpec, Experiment, Hop, PathSpec, Protocol};
use crate::video::VideoExchange;
use link::Rate;
use mptcp::{Endpoint, PathId};
use std::sync::Arc;
use traffic::{App, Direction, Kind, TrafficConfig};
use units::{Bitrate, Instant, Seed};
use wire::{Segment, Span};

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// At the device.
    Client,
    Server,
}

/// Role of an end's application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndRole {
    Reader,
    Writer,
    /// Sends requests or responses of a video.
    Video,
}

/// An application and its connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Bytes read by the receiving application.
    pub(crate) delivered: u64,
    pub(crate) last_byte: Option<Instant>,
    /// Segments that reached an endpoint.
    pub(crate) segments: u64,
    /// Index of the device.
    pub(crate) device: usize,
    /// Index in the network of the device's first path.
    pub(crate) first_path: usize,
    /// Bytes that the receiving end holds beyond a gap.
    out_of_order: u64,
    /// Stream offset after the first undelivered message; [`u64::MAX`] if there is none.
    message_end: u64,
    /// Next rejoin or video timer of the client and of the server; [`Instant::MAX`] for none. The
    /// timers of the endpoints are not included.
    pub(crate) deadlines: [Instant; 2],
    /// Times for which the event queue has the timers of the client and of the server;
    /// [`Instant::MAX`] for none.
    pub(crate) scheduled: [Instant; 2],
    /// Roles of the client and of the server.
    roles: [EndRole; 2],
    /// Data flows to the device.
    down: bool,
    /// The client has tried to open the connection.
    pub(crate) open_attempted: bool,
    pub(crate) failed: bool,
    /// The sending application has closed the connection.
    closed: bool,
    pub(crate) client: Endpoint<Span>,
    pub(crate) server: Endpoint<Span>,
    /// Delivered bytes that a middlebox has changed.
    pub(crate) corrupted: u64,
    written: u64,
    pub(crate) app: App,
    pub(crate) video: Option<Box<VideoExchange>>,
    /// Largest number of bytes held out of order, in bytes.
    pub(crate) peak_out_of_order: u64,
    pub(crate) delays: Box<DelayRecorder>,
    head_of_line: Box<HeadOfLine>,
    /// Time at which each lost path is opened again.
    rejoin_at: Vec<Option<Instant>>,
    pub(crate) config: Box<TrafficConfig>,
}

/// Endpoint settings of an experiment, which its connections share.
#[derive(Debug)]
pub(crate) struct TransportConfigs {
    transport: Arc<mptcp::Config>,
    /// Of connections with a `tcp_path`.
    tcp: Arc<mptcp::Config>,
}

impl TransportConfigs {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let config = |mptcp| Arc::new(mptcp::Config { mptcp, ..experiment.transport.config.clone() });
        Self { transport: config(experiment.transport.protocol == Protocol::Mptcp), tcp: config(false) }
    }

    fn of(&self, traffic: &TrafficConfig) -> &Arc<mptcp::Config> {
        if traffic.tcp_path.is_some() { &self.tcp } else { &self.transport }
    }
}

impl Connection {
    pub(crate) fn new(
        experiment: &Experiment,
        cells: &[CellSpec],
        transports: &TransportConfigs,
        config: &TrafficConfig,
        seed: Seed,
    ) -> Self {
        let transport = transports.of(config);
        let video = match &config.kind {
            Kind::Video(video) => Some(Box::new(VideoExchange::new(video, config))),
            _ => None,
        };
        let uses_energy_costs = transport.congestion.uses_energy_costs();
        let mut connection = Self {
            delivered: 0,
            last_byte: None,
            segments: 0,
            device: 0,
            first_path: 0,
            out_of_order: 0,
            message_end: u64::MAX,
            deadlines: [Instant::MAX; 2],
            scheduled: [Instant::MAX; 2],
            roles: match config.direction {
                _ if video.is_some() => [EndRole::Video; 2],
                Direction::Down => [EndRole::Reader, EndRole::Writer],
                Direction::Up => [EndRole::Writer, EndRole::Reader],
            },
            down: config.direction == Direction::Down,
            open_attempted: false,
            failed: false,
            closed: false,
            client: Endpoint::client(Arc::clone(transport), seed.derive("client")),
            server: Endpoint::server(Arc::clone(transport), seed.derive("server")),
            corrupted: 0,
            written: 0,
            video,
            app: App::new(config, Instant::ZERO + experiment.duration, seed.derive("app")),
            peak_out_of_order: 0,
            delays: Box::default(),
            head_of_line: Box::default(),
            rejoin_at: vec![None; experiment.paths.len()],
            config: Box::new(config.clone()),
        };
        if uses_energy_costs {
            let costs = energy_costs(&experiment.paths, cells, config.direction);
            connection.sender().set_energy_costs(&costs);
        }
        connection
    }

    /// Number of a path of the network, counted within the device.
    #[inline]
    pub(crate) fn local_path(&self, path: usize) -> PathId {
        PathId((path - self.first_path) as u8)
    }

    /// Path of a connection that uses a single one.
    pub(crate) fn tcp_path(&self, experiment: &Experiment) -> Option<usize> {
        self.config.tcp_path.or(match experiment.transport.protocol {
            Protocol::Tcp { path } => Some(path),
            Protocol::Mptcp => None,
        })
    }

    /// Sets or cancels the time at which a lost path is opened again.
    pub(crate) fn set_rejoin(&mut self, path: PathId, at: Option<Instant>) {
        self.rejoin_at[path.index()] = at;
        self.update_deadlines();
    }

    /// Clears the rejoin times that have come. Returns true if there were any.
    pub(crate) fn clear_due_rejoins(&mut self, now: Instant) -> bool {
        let mut any = false;
        for at in self.rejoin_at.iter_mut().filter(|at| at.is_some_and(|at| at <= now)) {
            (*at, any) = (None, true);
        }
        self.update_deadlines();
        any
    }

    fn update_deadlines(&mut self) {
        let rejoin = self.rejoin_at.iter().flatten().min().copied().unwrap_or(Instant::MAX);
        let [request, response] = self.video.as_ref().map_or([Instant::MAX; 2], |video| video.next());
        self.deadlines = [rejoin.min(request), response];
    }

    /// Events of an end's endpoint wait to be handled, or its deadline has come.
    #[inline]
    pub(crate) fn has_events(&mut self, now: Instant, end: End) -> bool {
        self.end(end).has_events() || self.deadlines[end as usize] <= now
    }

    /// The timer of an end has fired.
    pub(crate) fn on_end_timer(&mut self, now: Instant, end: End) {
        self.scheduled[end as usize] = Instant::MAX;
        self.end(end).handle_timeout(now);
        if self.roles[end as usize] == EndRole::Video {
            self.step_video(now, end);
        }
    }

    /// The application's timer has fired.
    pub(crate) fn on_app_timer(&mut self, now: Instant) {
        // The viewer of a video sends its first request, or leaves.
        if self.roles[0] == EndRole::Video {
            self.step_video(now, End::Client);
        }
        self.write(now);
    }

    /// Sends due requests from the client, or begins due responses from the server.
    fn step_video(&mut self, now: Instant, end: End) {
        let Some(video) = &mut self.video else { return };
        match end {
            End::Client => video.send_requests(now, &mut self.client),
            End::Server => {
                self.app.add_response(video.take_due_responses(now));
                self.resume_writing(now);
            }
        }
        self.update_deadlines();
    }

    /// Reads at an end of a video after a segment has arrived.
    #[cold]
    #[inline(never)]
    fn read_video(&mut self, now: Instant, end: End, path: PathId, payload: Span) {
        match end {
            End::Client => {
                let before = self.delivered;
                self.read(now, path, payload);
                if let Some(video) = &mut self.video
                    && self.delivered > before
                {
                    video.receive(now, self.delivered - before);
                    self.step_video(now, end);
                }
            }
            End::Server => {
                if let Some(video) = &mut self.video {
                    video.read_requests(now, &mut self.server);
                }
                self.step_video(now, end);
            }
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down
    }

    #[inline]
    pub(crate) fn end(&mut self, end: End) -> &mut Endpoint<Span> {
        match end {
            End::Client => &mut self.client,
            End::Server => &mut self.server,
        }
    }

    /// The end that receives data.
    #[inline]
    pub(crate) fn receiving_end(&self) -> End {
        if self.is_down() { End::Client } else { End::Server }
    }

    /// Whether an end sends or receives data.
    #[inline]
    pub(crate) fn side(&self, end: End) -> Side {
        if end == self.receiving_end() { Side::Receiver } else { Side::Sender }
    }

    /// The endpoint that sends data.
    pub(crate) fn sender(&mut self) -> &mut Endpoint<Span> {
        if self.is_down() { &mut self.server } else { &mut self.client }
    }

    fn receiver(&mut self) -> &mut Endpoint<Span> {
        if self.is_down() { &mut self.client } else { &mut self.server }
    }

    /// Writes as much as the application offers and the send buffer accepts.
    pub(crate) fn write(&mut self, now: Instant) {
        let space = self.sender().write_space();
        let dropped_before = self.app.dropped();
        let mut left = self.app.write(now, space);
        if self.message_end == u64::MAX {
            self.message_end = self.app.message().map_or(u64::MAX, |message| message.end);
        }
        let dropped = self.app.dropped() - dropped_before;
        if dropped > 0 {
            self.sender().record_dropped(dropped);
        }
        while left > 0 {
            // The length of a span has 32 bits.
            let span = Span::new(self.written, left.min(1 << 30) as u32);
            let accepted = self.sender().write(&span) as u64;
            if accepted == 0 {
                break;
            }
            self.written += accepted;
            left -= accepted;
        }
        if !self.closed && self.app.done(now) {
            self.closed = true;
            self.sender().close();
        }
    }

    /// Writes if the application waits for space in the send buffer and there is some.
    pub(crate) fn resume_writing(&mut self, now: Instant) {
        if !self.closed && self.app.waiting() && self.sender().write_space() > 0 {
            self.write(now);
        }
    }

    /// Passes a segment to an endpoint; then its application reads or writes.
    #[inline]
    pub(crate) fn on_segment(&mut self, now: Instant, end: End, path: PathId, segment: &Segment<Span>) {
        self.segments += 1;
        self.end(end).handle_segment(now, path, segment);
        match self.roles[end as usize] {
            EndRole::Reader => self.read(now, path, segment.payload),
            EndRole::Writer => self.resume_writing(now),
            EndRole::Video => self.read_video(now, end, path, segment.payload),
        }
    }

    /// Reads all in-order data at the receiving end, after a segment with `payload` has arrived on
    /// `path`.
    fn read(&mut self, now: Instant, path: PathId, payload: Span) {
        let out_of_order = self.receiver().out_of_order();
        let before = core::mem::replace(&mut self.out_of_order, out_of_order);
        if out_of_order > before {
            self.peak_out_of_order = self.peak_out_of_order.max(out_of_order);
            let end = payload.offset + u64::from(payload.len);
            self.head_of_line.hold(now, path.index(), end, out_of_order - before);
        }
        let delivered = self.delivered;
        while let Some(span) = self.receiver().read(usize::MAX) {
            assert_eq!(span.offset, self.delivered, "the endpoint delivers every byte once and in order");
            self.delivered += u64::from(span.len);
            if span.is_corrupted() {
                self.corrupted += u64::from(span.len);
            }
            self.last_byte = Some(now);
        }
        // In-order data that leaves the gap open, or that meets none, releases nothing.
        if out_of_order < before || out_of_order > before && self.delivered > delivered {
            self.head_of_line.release(now, path.index(), self.delivered);
        }
        if self.delivered >= self.message_end {
            self.count_messages(now);
        }
    }

    /// Results of head-of-line blocking, at the end of the run.
    pub(crate) fn head_of_line_outcome<'a>(
        &mut self,
        path_names: impl Iterator<Item = &'a str>,
    ) -> HeadOfLineOutcome {
        let head_of_line = core::mem::take(&mut self.head_of_line);
        head_of_line.outcome(self.delivered, path_names)
    }

    /// Records the delays of the messages that have been read completely.
    #[inline(never)]
    fn count_messages(&mut self, now: Instant) {
        self.message_end = u64::MAX;
        while let Some(message) = self.app.message() {
            if message.end > self.delivered {
                self.message_end = message.end;
                break;
            }
            self.delays.on_read(now, message);
            self.app.take_message();
        }
    }
}

/// Energy per byte on each path, in joules: the power of the active radio at the path's rate,
/// divided by that rate.
pub fn energy_costs(paths: &[PathSpec], cells: &[CellSpec], direction: Direction) -> Vec<f64> {
    let cost = |path: &PathSpec| {
        let (hop, radio) = match direction {
            Direction::Down => (&path.down, radio::Direction::Down),
            Direction::Up => (&path.up, radio::Direction::Up),
        };
        let rate = match hop {
            Hop::Link(link) => match &link.rate {
                Rate::Fixed(rate) => *rate,
                Rate::Steps(steps) => steps.first().map_or(Bitrate::from_bps(0), |&(_, rate)| rate),
                Rate::Trace(trace) => trace.mean_rate(),
            },
            Hop::Cell { cell, station } => station.rate(&cells[*cell].config),
        };
        path.profile.energy_per_mbit_in(radio, rate) / 125_000.0
    };
    paths.iter().map(cost).collect()
}
