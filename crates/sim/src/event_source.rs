//! Event sources of a run, and their slots in its event queue.

use crate::event_queue::{EventQueue, Slot};
use crate::experiment::{Experiment, Setup};

/// Subject of a scheduled event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EventSource {
    /// A packet arrives over this medium.
    Medium(usize),
    /// Timer of a connection's client.
    Client(usize),
    /// Timer of a connection's server.
    Server(usize),
    /// Timer of a connection's application.
    App(usize),
    /// The interface of a path comes up or goes away.
    Path(usize),
    /// The policy of a device.
    Policy(usize),
    /// The recorder of a device.
    Recorder(usize),
    /// The recorder of the cells' load.
    Cells,
    /// A background flow sends a datagram.
    Background(usize),
    /// A segment leaves the middleboxes of a path.
    Middleboxes(usize),
}

/// Slots of all sources of a run.
#[derive(Debug)]
pub(crate) struct EventSlots {
    pub(crate) media: Vec<Slot>,
    clients: Vec<Slot>,
    servers: Vec<Slot>,
    apps: Vec<Slot>,
    paths: Vec<Slot>,
    policies: Vec<Slot>,
    recorders: Vec<Slot>,
    cells: Slot,
    background: Vec<Slot>,
    middleboxes: Vec<Slot>,
}

impl EventSlots {
    /// Adds all sources of a run to its queue.
    pub(crate) fn new(queue: &mut EventQueue<EventSource>, setup: &Setup<'_>, media: usize) -> Self {
        let media = (0..media).map(|i| queue.add_frequent(EventSource::Medium(i))).collect();
        let mut add = |count, source: fn(usize) -> EventSource| -> Vec<Slot> {
            (0..count).map(|i| queue.add(source(i))).collect()
        };
        let total = |count: fn(&Experiment) -> usize| setup.devices.iter().map(count).sum();
        let (connections, paths) = (total(|e| e.traffic.len()), total(|e| e.paths.len()));
        Self {
            media,
            clients: add(connections, EventSource::Client),
            servers: add(connections, EventSource::Server),
            apps: add(connections, EventSource::App),
            paths: add(paths, EventSource::Path),
            background: add(total(|e| e.background.len()), EventSource::Background),
            middleboxes: add(paths, EventSource::Middleboxes),
            policies: add(setup.devices.len(), EventSource::Policy),
            recorders: add(setup.devices.len(), EventSource::Recorder),
            cells: queue.add(EventSource::Cells),
        }
    }

    #[inline]
    pub(crate) fn of(&self, source: EventSource) -> Slot {
        match source {
            EventSource::Medium(i) => self.media[i],
            EventSource::Client(i) => self.clients[i],
            EventSource::Server(i) => self.servers[i],
            EventSource::App(i) => self.apps[i],
            EventSource::Path(i) => self.paths[i],
            EventSource::Policy(i) => self.policies[i],
            EventSource::Recorder(i) => self.recorders[i],
            EventSource::Cells => self.cells,
            EventSource::Background(i) => self.background[i],
            EventSource::Middleboxes(i) => self.middleboxes[i],
        }
    }
}
