//! The simulation: whatever is next on the agenda happens, and its consequences are put on it.

use crate::agenda::Agenda;
use crate::background::Background;
use crate::capture::Capture;
use crate::crossing::{Arrival, Departure, Left, Reached, arrived};
use crate::delivery::Delivery;
use crate::host::{APP, Connection, End};
use crate::lookahead::{Lookahead, MANY};
use crate::network::{IP_HEADER, Medium, Network};
use crate::outcome::Outcome;
use crate::packet::Label;
use crate::recorder::Recorder;
use crate::steer::Steering;
use crate::{Experiment, Order, Protocol};
use middlebox::Passing;
use mptcp::{Event, PathId};
use radio::Direction;
use units::{Duration, Instant};
use wire::{Flags, Segment, Span};

/// A path that broke is tried again after so long.
const REJOIN_AFTER: Duration = Duration::from_secs(1);
/// Events between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 17;

/// What an event on the agenda is about. Sources are numbered: media first, then three for each
/// connection, then one for each path, then the policy and the recorder, then the background and the
/// boxes of each path.
#[derive(Debug, Clone, Copy)]
enum Source {
    Medium(usize),
    Client(usize),
    Server(usize),
    App(usize),
    Path(usize),
    Policy,
    Recorder,
    Background(usize),
    Boxes(usize),
}

#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) now: Instant,
    pub(crate) agenda: Agenda,
    pub(crate) lookahead: Lookahead,
    pub(crate) network: Network,
    pub(crate) connections: Vec<Connection>,
    pub(crate) steering: Steering,
    pub(crate) recorder: Recorder,
    pub(crate) capture: Option<Capture>,
    pub(crate) background: Vec<Background>,
    /// One for each connection, or none.
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) segments: u64,
    /// Room for the segment that an end is making, and for the one that arrives.
    pub(crate) outgoing: Segment<Span>,
    pub(crate) incoming: Segment<Span>,
}

impl<'a> World<'a> {
    pub(crate) fn new(experiment: &'a Experiment) -> Self {
        let network = Network::new(experiment);
        let transport = crate::host::transport(experiment);
        let connections: Vec<Connection> = experiment
            .traffic
            .iter()
            .enumerate()
            .map(|(i, config)| {
                Connection::new(
                    experiment,
                    &transport,
                    config,
                    experiment.seed.derive("connection").derive(&i.to_string()),
                )
            })
            .collect();
        let sources = network.media.len() + 3 * connections.len() + network.paths.len() + 2;
        let boxes =
            if network.paths.iter().any(|path| path.boxes.is_some()) { network.paths.len() } else { 0 };
        let world = Self {
            experiment,
            now: Instant::ZERO,
            agenda: Agenda::with_busy(sources + boxes + experiment.background.len(), network.media.len()),
            steering: Steering::new(experiment),
            recorder: Recorder::new(experiment),
            capture: experiment.capture.then(|| Capture::new(experiment)),
            lookahead: Lookahead::default(),
            network,
            connections,
            background: Background::all(experiment),
            deliveries: Vec::new(),
            segments: 0,
            outgoing: Segment::new(0, 0, 0, 0, Flags::default(), 0),
            incoming: Segment::new(0, 0, 0, 0, Flags::default(), 0),
        };
        if experiment.traffic.len() < MANY { world } else { world.in_order(Order::Connections) }
    }

    /// Also records what becomes of each connection's data on its way.
    pub(crate) fn with_deliveries(mut self) -> Self {
        self.deliveries = vec![Delivery::new(self.experiment.duration); self.connections.len()];
        self
    }

    /// Goes through what happens in this order, events at equal times in that of their sources.
    pub(crate) fn in_order(mut self, order: Order) -> Self {
        self.agenda = self.agenda.in_order_of_sources();
        self.lookahead = match order {
            Order::Events => Lookahead::default(),
            Order::Connections => Lookahead::wherever_possible(self.experiment, &self.network),
        };
        self
    }

    fn source(&self, number: usize) -> Source {
        let media = self.network.media.len();
        let Some(n) = number.checked_sub(media) else { return Source::Medium(number) };
        let connections = self.connections.len();
        if n < 3 * connections {
            return match n % 3 {
                0 => Source::Client(n / 3),
                1 => Source::Server(n / 3),
                _ => Source::App(n / 3),
            };
        }
        let n = n - 3 * connections;
        match n.checked_sub(self.network.paths.len()) {
            None => Source::Path(n),
            Some(0) => Source::Policy,
            Some(1) => Source::Recorder,
            Some(i) => match (i - 2).checked_sub(self.background.len()) {
                None => Source::Background(i - 2),
                Some(path) => Source::Boxes(path),
            },
        }
    }

    fn number(&self, source: Source) -> usize {
        let media = self.network.media.len();
        let after = media + 3 * self.connections.len();
        match source {
            Source::Medium(i) => i,
            Source::Client(i) => media + 3 * i,
            Source::Server(i) => media + 3 * i + 1,
            Source::App(i) => media + 3 * i + 2,
            Source::Path(i) => after + i,
            Source::Policy => after + self.network.paths.len(),
            Source::Recorder => after + self.network.paths.len() + 1,
            Source::Background(i) => after + self.network.paths.len() + 2 + i,
            Source::Boxes(i) => after + self.network.paths.len() + 2 + self.background.len() + i,
        }
    }

    fn schedule(&mut self, source: Source, at: Option<Instant>) {
        let number = self.number(source);
        self.agenda.set(number, at);
    }

    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(f64)) {
        let end = Instant::ZERO + self.experiment.duration;
        self.begin();
        let mut events: u64 = 0;
        loop {
            if self.lookahead.is_on() {
                // At equal times connections come before what concerns all of them, and then only that is on the agenda.
                let limit = self.next_of_all().min(end) + Duration::from_nanos(1);
                while let Some(more) = self.take_turns(limit) {
                    if (events + more) / PROGRESS_EVERY > events / PROGRESS_EVERY {
                        progress(self.lookahead.reached().min(end).as_secs_f64() / end.as_secs_f64());
                    }
                    events += more;
                }
            }
            let Some((at, number)) = self.agenda.next().filter(|&(at, _)| at <= end) else { break };
            let source = self.source(number);
            self.now = at;
            if let Source::Medium(i) = source {
                // Most events: it stays at the head of the agenda until its next one is known.
                self.on_medium(i);
            } else {
                self.agenda.pop();
            }
            match source {
                Source::Medium(_) => {}
                Source::Client(i) => self.on_alarm(i, End::Client as usize),
                Source::Server(i) => self.on_alarm(i, End::Server as usize),
                Source::App(i) => self.on_alarm(i, APP),
                Source::Path(i) => self.on_path(i),
                Source::Policy => self.on_policy(),
                Source::Recorder => self.on_recorder(),
                Source::Background(i) => self.on_background(i),
                Source::Boxes(i) => self.on_boxes(i),
            }
            if self.lookahead.is_on() {
                // What was sent is looked for on the media themselves.
                (0..self.network.media.len()).for_each(|medium| self.agenda.set(medium, None));
            }
            events += 1;
            if events.is_multiple_of(PROGRESS_EVERY) {
                progress(at.as_secs_f64() / end.as_secs_f64());
            }
        }
        self.now = end;
        for path in &mut self.network.paths {
            for meter in &mut path.meters {
                meter.advance(end);
            }
        }
    }

    fn begin(&mut self) {
        if self.lookahead.is_on() {
            self.begin_ahead();
        } else {
            for i in 0..self.network.media.len() {
                let next = self.network.media[i].next();
                self.schedule(Source::Medium(i), next);
            }
            for i in 0..self.connections.len() {
                self.schedule(Source::App(i), Some(self.connections[i].config.start));
            }
        }
        for (i, spec) in self.experiment.paths.iter().enumerate() {
            let next = if spec.join_at > Instant::ZERO { Some(spec.join_at) } else { spec.leave_at };
            self.schedule(Source::Path(i), next);
        }
        for i in 0..self.background.len() {
            let next = self.background[i].next();
            self.schedule(Source::Background(i), next);
        }
        self.schedule(Source::Policy, Some(Instant::ZERO));
        if !self.experiment.sample.is_zero() {
            self.schedule(Source::Recorder, Some(Instant::ZERO + self.experiment.sample));
        }
    }

    /// When something that concerns all connections, a path, the policy or the recorder, has its next event.
    pub(crate) fn next_of_all(&self) -> Instant {
        let first = self.number(Source::Path(0));
        (first..=self.number(Source::Recorder))
            .map(|number| self.agenda.at(number))
            .min()
            .unwrap_or(Instant::MAX)
    }

    /// One of a connection's places on the agenda has come up.
    pub(crate) fn on_alarm(&mut self, i: usize, which: usize) {
        let end = match which {
            APP => return self.on_app(i),
            0 => End::Client,
            _ => End::Server,
        };
        self.connections[i].ring(self.now, end);
        self.settle_end(i, end);
    }

    fn on_medium(&mut self, i: usize) {
        let now = self.now;
        loop {
            let (size, label) = match &mut self.network.media[i] {
                Medium::Link(link) => {
                    let Some((size, packet)) = link.front(now) else { break };
                    let label = packet.unpack_into(&mut self.incoming);
                    link.discard_front();
                    (size, label)
                }
                Medium::Cell(cell) => {
                    let Some((_, packet)) = cell.poll(now) else { break };
                    let label = packet.unpack_into(&mut self.incoming);
                    (self.incoming.wire_len() as u32 + IP_HEADER, label)
                }
            };
            let at = Arrival {
                now,
                paths: &mut self.network.paths,
                capture: &mut self.capture,
                background: &mut self.background,
            };
            let settled = at.deliver(&mut self.connections, size, label, &self.incoming);
            match settled {
                Some((connection, Reached::End(end))) => {
                    self.segments += 1;
                    if !self.deliveries.is_empty() {
                        let (delivery, connection) =
                            (&mut self.deliveries[connection], &self.connections[connection]);
                        arrived(delivery, now, connection, end, &self.incoming);
                    }
                    self.settle_end(connection, end);
                }
                Some((path, Reached::Boxes)) => self.arm_boxes(path),
                Some((_, Reached::Background)) | None => {}
            }
        }
        let next = self.network.media[i].next();
        self.agenda.set(i, next);
    }

    fn on_background(&mut self, i: usize) {
        let now = self.now;
        let number = self.connections.len() + i;
        while let Some((size, label, segment)) = self.background[i].send(now, number) {
            let path = &mut self.network.paths[usize::from(label.path)];
            if !label.down {
                if !path.present {
                    continue;
                }
                path.count(now, Direction::Up, size);
            }
            self.network.send(now, size, label, &segment, &mut self.agenda);
        }
        let next = self.background[i].next();
        self.schedule(Source::Background(i), next);
    }

    fn arm_boxes(&mut self, path: usize) {
        let next = self.network.paths[path].boxes.as_ref().and_then(|boxes| boxes.next());
        self.schedule(Source::Boxes(path), next);
    }

    /// Segments leave the boxes of a path, towards the server or onto the link to the device.
    fn on_boxes(&mut self, path: usize) {
        let now = self.now;
        let id = PathId(path as u8);
        while let Some(Passing { from_device, flow, segment }) =
            self.network.paths[path].boxes.as_mut().and_then(|boxes| boxes.poll(now))
        {
            let i = flow as usize;
            if from_device {
                self.segments += 1;
                self.connections[i].hear(now, End::Server, id, &segment);
                if !self.deliveries.is_empty() {
                    arrived(&mut self.deliveries[i], now, &self.connections[i], End::Server, &segment);
                }
                self.settle_end(i, End::Server);
            } else {
                let label = Label { connection: i as u16, path: id.0, down: true };
                let size = segment.wire_len() as u32 + IP_HEADER;
                self.network.send(now, size, label, &segment, &mut self.agenda);
            }
        }
        self.arm_boxes(path);
    }

    fn on_app(&mut self, i: usize) {
        let now = self.now;
        if !self.connections[i].begun {
            self.open_paths(i);
        }
        let connection = &mut self.connections[i];
        connection.wake(now);
        let next = self.connections[i].app.next();
        self.connections[i].alarms[APP] = next.unwrap_or(Instant::MAX);
        self.schedule(Source::App(i), next);
        self.settle(i);
    }

    /// Lets both ends of a connection send what they have to, and arms their timers.
    pub(crate) fn settle(&mut self, i: usize) {
        self.settle_end(i, End::Client);
        self.settle_end(i, End::Server);
    }

    /// Lets an end send what it has to, and arms its timer. Nothing that it does touches the other end
    /// before a packet gets there.
    pub(crate) fn settle_end(&mut self, i: usize, end: End) {
        loop {
            if self.lookahead.visiting {
                self.keep_all(i, end);
            } else {
                while let Some(path) = self.send_all(i, end) {
                    self.arm_boxes(path);
                }
            }
            let told = match end {
                End::Client => self.client_events(i),
                End::Server => self.server_events(i),
            };
            if !told {
                break;
            }
        }
        let connection = &mut self.connections[i];
        let timeout = connection.end(end).poll_timeout().unwrap_or(Instant::MAX);
        let timeout = timeout.min(connection.due[end as usize]);
        // Nearly every acknowledgement puts a timer off. It stays where it is until it rings, which is
        // once a timeout, and is moved then.
        let alarm = &mut connection.alarms[end as usize];
        if timeout < *alarm {
            *alarm = timeout;
            if self.lookahead.visiting {
                self.lookahead.note_alarm(end as usize);
                return;
            }
            if self.lookahead.is_on() {
                self.lookahead.alarms[end as usize].set_no_later(2 * i, Some(timeout));
                return;
            }
            let number = self.number(if end == End::Client { Source::Client(i) } else { Source::Server(i) });
            self.agenda.set_no_later(number, Some(timeout));
        }
    }

    /// Puts on their way what an end has to send. A path whose middleboxes have got a segment ends it, for
    /// them to be armed; then there may be more.
    #[inline]
    fn send_all(&mut self, i: usize, end: End) -> Option<usize> {
        let connection = &mut self.connections[i];
        let side = (!self.deliveries.is_empty()).then(|| connection.side(end));
        let endpoint = connection.end(end);
        while let Some(path) = endpoint.transmit_into(self.now, &mut self.outgoing) {
            let departure = Departure {
                now: self.now,
                network: &mut self.network,
                agenda: &mut self.agenda,
                capture: &mut self.capture,
                delivery: side.map(|side| (side, &mut self.deliveries[i])),
            };
            let label = Label { connection: i as u16, path: path.0, down: end == End::Server };
            if departure.send(label, &self.outgoing) == Left::IntoBoxes {
                return Some(path.index());
            }
        }
        None
    }

    /// Hears what the device's end has to tell. True if something was told.
    fn client_events(&mut self, i: usize) -> bool {
        let now = self.now;
        let mut told = false;
        if self.connections[i].due[End::Client as usize] <= now && self.connections[i].forget_rejoins(now) {
            told = true;
            self.open_paths(i);
        }
        while let Some(event) = self.connections[i].client.poll_event() {
            told = true;
            match event {
                Event::Connected(_) => self.open_paths(i),
                Event::SubflowDown(path, Some(_)) => {
                    let p = &self.network.paths[path.index()];
                    if p.present && p.wanted {
                        self.connections[i].set_rejoin(path, Some(now + REJOIN_AFTER));
                    }
                }
                Event::Failed(_) => self.connections[i].failed = true,
                Event::PeerClosed => self.connections[i].client.close(),
                _ => {}
            }
        }
        told
    }

    /// Hears what the server's end has to tell. True if something was told.
    fn server_events(&mut self, i: usize) -> bool {
        let mut told = false;
        while let Some(event) = self.connections[i].server.poll_event() {
            told = true;
            match event {
                Event::PeerClosed => self.connections[i].server.close(),
                Event::Failed(_) => self.connections[i].failed = true,
                _ => {}
            }
        }
        told
    }

    /// Opens what may be open and is not: the connection over the first path there is, then others.
    pub(crate) fn open_paths(&mut self, i: usize) {
        let now = self.now;
        if self.connections[i].config.start > now {
            return;
        }
        for path in 0..self.network.paths.len() {
            let state = &self.network.paths[path];
            if let Protocol::Tcp { path: only } = self.experiment.transport.protocol
                && only != path
            {
                continue;
            }
            if state.present && state.wanted {
                let backup = state.backup;
                let id = PathId(path as u8);
                self.connections[i].begun |= self.connections[i].client.open(now, id, backup);
            }
        }
    }

    /// An interface comes up or goes away.
    fn on_path(&mut self, path: usize) {
        let spec = &self.experiment.paths[path];
        let leaves = spec.leave_at.is_some_and(|at| at <= self.now);
        self.network.paths[path].present = !leaves;
        for i in 0..self.connections.len() {
            if leaves {
                self.connections[i].client.remove(PathId(path as u8), false);
                self.connections[i].set_rejoin(PathId(path as u8), None);
            } else {
                self.open_paths(i);
            }
            self.settle(i);
        }
        let next = if leaves { None } else { spec.leave_at };
        self.schedule(Source::Path(path), next);
        self.on_policy();
    }

    fn on_policy(&mut self) {
        let interval = self.observe();
        for i in 0..self.connections.len() {
            self.settle(i);
        }
        let next = interval.map(|interval| self.now + interval);
        self.schedule(Source::Policy, next);
    }

    fn on_recorder(&mut self) {
        self.record();
        let next = self.now + self.experiment.sample;
        self.schedule(Source::Recorder, Some(next));
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        crate::assemble::outcome(self)
    }
}
