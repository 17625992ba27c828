//! State of a running simulation, and the processing of an end of a connection after an event.

use crate::background::Background;
use crate::capture::Capture;
use crate::connection::{Connection, End, TransportConfigs};
use crate::delivery::DeliveryRecorder;
use crate::egress::Egress;
use crate::event_queue::EventQueue;
use crate::event_source::{EventSlots, EventSource};
use crate::experiment::{Experiment, Setup};
use crate::network::Network;
use crate::packet::PacketLabel;
use core::ops::Range;
use mptcp::{Event, PathId};
use tracing::{Span as LogSpan, info_span};
use units::{Duration, Instant};
use wire::{Flags, Segment, Span};

/// Time after which a lost subflow is opened again.
const REJOIN_DELAY: Duration = Duration::from_secs(1);

/// A device of the run, with the indices of its parts.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) paths: Range<usize>,
    pub(crate) connections: Range<usize>,
    pub(crate) background: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) setup: Setup<'a>,
    pub(crate) devices: Vec<Member<'a>>,
    pub(crate) now: Instant,
    pub(crate) queue: EventQueue<EventSource>,
    pub(crate) slots: EventSlots,
    pub(crate) network: Network,
    pub(crate) connections: Vec<Connection>,
    pub(crate) capture: Option<Capture>,
    pub(crate) background: Vec<Background>,
    /// One for each connection, or empty if deliveries are not recorded.
    pub(crate) delivery_recorders: Vec<DeliveryRecorder>,
    /// Buffer of the segment that an end is sending.
    pub(crate) outgoing: Segment<Span>,
    /// Buffer of the segment that is arriving.
    pub(crate) incoming: Segment<Span>,
}

impl<'a> World<'a> {
    pub(crate) fn new(setup: Setup<'a>) -> Self {
        let network = Network::new(&setup);
        let mut devices: Vec<Member<'a>> = Vec::new();
        let (mut connections, mut background, mut paths) = (Vec::new(), Vec::<Background>::new(), 0);
        for (i, experiment) in setup.devices.iter().enumerate() {
            let span = if setup.devices.len() > 1 { info_span!("device", id = i) } else { LogSpan::none() };
            let first = (connections.len(), background.len());
            span.in_scope(|| connections.extend(device_connections(&setup, i, paths)));
            background.extend(Background::all(experiment, Instant::ZERO + experiment.duration));
            for flow in &mut background[first.1..] {
                flow.first_path = paths;
            }
            devices.push(Member {
                experiment,
                paths: paths..paths + experiment.paths.len(),
                connections: first.0..connections.len(),
                background: first.1..background.len(),
            });
            paths += experiment.paths.len();
        }
        let mut queue = EventQueue::new();
        let slots = EventSlots::new(&mut queue, &setup, network.media.len());
        let capture = devices.iter().find(|device| device.experiment.capture).map(Capture::new);
        Self {
            setup,
            devices,
            now: Instant::ZERO,
            queue,
            slots,
            capture,
            network,
            connections,
            background,
            delivery_recorders: Vec::new(),
            outgoing: Segment::new((0, 0), 0, 0, Flags::default(), 0),
            incoming: Segment::new((0, 0), 0, 0, Flags::default(), 0),
        }
    }

    pub(crate) fn schedule(&mut self, source: EventSource, at: Option<Instant>) {
        self.queue.set(self.slots.of(source), at);
    }

    pub(crate) fn schedule_middleboxes(&mut self, path: usize) {
        let next = self.network.paths[path].middleboxes.as_ref().and_then(|chain| chain.next());
        self.schedule(EventSource::Middleboxes(path), next);
    }

    /// The timer of an end has fired.
    pub(crate) fn on_end_timer(&mut self, i: usize, end: End) {
        self.connections[i].on_end_timer(self.now, end);
        self.settle_end(i, end);
    }

    /// Settles both ends of a connection.
    pub(crate) fn settle(&mut self, i: usize) {
        self.settle_end(i, End::Client);
        self.settle_end(i, End::Server);
    }

    /// Sends all that an end has to send, handles its events, and schedules its timer. The other
    /// end is not touched: it sees the packets when they arrive.
    pub(crate) fn settle_end(&mut self, i: usize, end: End) {
        loop {
            if self.connections[i].end(end).has_transmit() {
                self.send_segments(i, end);
            }
            if !self.connections[i].has_events(self.now, end) || !self.handle_events(i, end) {
                break;
            }
        }
        self.schedule_end_timer(i, end);
    }

    #[inline(never)]
    fn send_segments(&mut self, i: usize, end: End) {
        let connection = &mut self.connections[i];
        let (side, first_path) = (connection.side(end), connection.first_path);
        let mut egress = Egress {
            now: self.now,
            network: &mut self.network,
            queue: &mut self.queue,
            slots: &self.slots,
            capture: &mut self.capture,
            recorder: self.delivery_recorders.get_mut(i).map(|recorder| (side, recorder)),
        };
        connection.end(end).transmit_all(self.now, &mut self.outgoing, |path, segment| {
            let path = first_path + path.index();
            egress.send(PacketLabel::new(i, path, end == End::Server), segment);
        });
    }

    /// Moves the timer of an end forward if it has to fire earlier. A timer that is put off, as by
    /// nearly every acknowledgement, stays; when it fires too early, it is set anew.
    #[inline]
    fn schedule_end_timer(&mut self, i: usize, end: End) {
        let connection = &mut self.connections[i];
        let timeout = connection.end(end).poll_timeout().unwrap_or(Instant::MAX);
        let timeout = timeout.min(connection.deadlines[end as usize]);
        let scheduled = &mut connection.scheduled[end as usize];
        if timeout < *scheduled {
            *scheduled = timeout;
            let source = if end == End::Client { EventSource::Client(i) } else { EventSource::Server(i) };
            self.schedule(source, Some(timeout));
        }
    }

    /// Handles the events of an end's endpoint and due rejoins. Returns true if there were any.
    #[inline(never)]
    fn handle_events(&mut self, i: usize, end: End) -> bool {
        match end {
            End::Client => self.handle_client_events(i),
            End::Server => self.handle_server_events(i),
        }
    }

    /// Handles events of the client's endpoint and due rejoins. Returns true if there were any.
    fn handle_client_events(&mut self, i: usize) -> bool {
        let now = self.now;
        let mut any = false;
        let rejoin_due = self.connections[i].deadlines[End::Client as usize] <= now;
        if rejoin_due && self.connections[i].clear_due_rejoins(now) {
            any = true;
            self.open_paths(i);
        }
        while let Some(event) = self.connections[i].client.poll_event() {
            any = true;
            match event {
                Event::Connected(_) => self.open_paths(i),
                Event::SubflowDown(path, Some(_)) => {
                    let p = &self.network.paths[self.connections[i].first_path + path.index()];
                    if p.present && p.wanted {
                        self.connections[i].set_rejoin(path, Some(now + REJOIN_DELAY));
                    }
                }
                Event::Failed(_) => self.connections[i].failed = true,
                Event::PeerClosed => self.connections[i].client.close(),
                _ => {}
            }
        }
        any
    }

    /// Handles events of the server's endpoint. Returns true if there were any.
    fn handle_server_events(&mut self, i: usize) -> bool {
        let mut any = false;
        while let Some(event) = self.connections[i].server.poll_event() {
            any = true;
            match event {
                Event::PeerClosed => self.connections[i].server.close(),
                Event::Failed(_) => self.connections[i].failed = true,
                _ => {}
            }
        }
        any
    }

    /// Opens a subflow on every available path; the first one opens the connection.
    pub(crate) fn open_paths(&mut self, i: usize) {
        let now = self.now;
        if self.connections[i].config.start > now {
            return;
        }
        let device = &self.devices[self.connections[i].device];
        let tcp_path = self.connections[i].tcp_path(device.experiment);
        for (path, state) in self.network.paths[device.paths.clone()].iter().enumerate() {
            if tcp_path.is_some_and(|only| only != path) {
                continue;
            }
            if state.present && state.wanted {
                let backup = state.backup;
                let id = PathId(path as u8);
                self.connections[i].open_attempted |= self.connections[i].client.open(now, id, backup);
            }
        }
    }
}

/// The connections of a device. Its first path has the index `first_path` in the network.
fn device_connections(setup: &Setup<'_>, device: usize, first_path: usize) -> Vec<Connection> {
    let experiment = &setup.devices[device];
    let transports = TransportConfigs::new(experiment);
    let connection = |(i, config): (usize, &traffic::TrafficConfig)| {
        let seed = experiment.seed.derive("connection").derive(&i.to_string());
        let mut connection = info_span!("connection", id = i)
            .in_scope(|| Connection::new(experiment, setup.cells, &transports, config, seed));
        (connection.device, connection.first_path) = (device, first_path);
        connection
    };
    experiment.traffic.iter().enumerate().map(connection).collect()
}
