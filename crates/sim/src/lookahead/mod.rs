//! State of windowed execution, a sequential form of conservative parallel simulation (Chandy and
//! Misra 1979).
//!
//! A packet arrives at least the delay of its link after it was sent: the link's lookahead. If one
//! side (all clients, or all servers) has completed time `t`, every arrival at the other side
//! before the horizon, `t` plus the smallest lookahead, is known. The other side can run the window
//! up to the horizon connection by connection, which loads the state of each connection into the
//! cache once a window. `window` runs the windows; `docs/design/windowed-execution.md` explains the
//! algorithm.

mod arrivals;
mod departures;

pub(crate) use arrivals::{Delivery, packet_at};

use crate::connection::End;
use crate::event_queue::EventQueue;
use crate::experiment::Experiment;
use crate::network::{Medium, Network, Path};
use arrivals::{Arrivals, MAX_MEDIA};
use departures::{Departures, transmit};
use radio::Direction;
use units::Instant;

/// From this number of connections on, windowed execution is the default: fewer fit the cache.
pub(crate) const MIN_CONNECTIONS: usize = 64;

/// State of windowed execution; empty while events run one by one.
#[derive(Debug, Default)]
pub(crate) struct Lookahead {
    /// Media towards the device, and towards the server.
    media: [Vec<usize>; 2],
    /// Time up to which the clients, and the servers, have been simulated.
    completed: [Instant; 2],
    /// Timers of the clients, and of the servers: two for each connection
    /// (`Connection::timer_indices`).
    pub(crate) timers: [EventQueue; 2],
    /// True while connections of a window run: packets are buffered, and changed timers are noted.
    pub(crate) in_window: bool,
    /// Timers of the running connection that were set or fired, as bits.
    changed_timers: u8,
    pub(crate) arrivals: Arrivals,
    pub(crate) departures: Departures,
}

impl Lookahead {
    /// Windowed execution if the experiment allows it, else none. It needs dedicated links with a
    /// positive delay, and no observer of packets between the ends: no capture, background traffic
    /// or middleboxes.
    pub(crate) fn if_possible(experiment: &Experiment, network: &Network) -> Self {
        let is_unobserved = !experiment.capture
            && experiment.background.is_empty()
            && network.paths.iter().all(|path| path.middleboxes.is_none());
        let has_lookahead = |medium: &Medium| match medium {
            Medium::Link(link) => !link.lookahead().is_zero(),
            Medium::Cell(_) => false,
        };
        let media_fit = network.media.len() <= MAX_MEDIA && network.media.iter().all(has_lookahead);
        if !is_unobserved || !media_fit {
            return Self::default();
        }
        let media = |port: fn(&Path) -> usize| network.paths.iter().map(port).collect();
        let timers = EventQueue::new(2 * experiment.traffic.len()).with_source_order();
        Self {
            media: [media(|path| path.down.medium), media(|path| path.up.medium)],
            timers: [timers.clone(), timers],
            arrivals: Arrivals::new(experiment.traffic.len()),
            ..Self::default()
        }
    }

    /// True if connections run in windows, not event by event.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        !self.media[0].is_empty()
    }

    /// Time up to which both sides have been simulated.
    pub(crate) fn completed(&self) -> Instant {
        let [device, server] = self.completed;
        device.min(server)
    }

    /// Time up to which one side has been simulated.
    pub(crate) fn completed_at(&self, end: End) -> Instant {
        self.completed[end as usize]
    }

    pub(crate) fn set_completed(&mut self, end: End, until: Instant) {
        self.completed[end as usize] = until;
    }

    /// Advances both sides to `next` if nothing happens before it.
    pub(crate) fn skip_to(&mut self, next: Instant) {
        self.completed = self.completed.map(|completed| completed.max(next));
    }

    /// Time of the next event at any connection; [`Instant::MAX`] for none.
    pub(crate) fn next(&self, network: &Network) -> Instant {
        let arrivals = network.media.iter().filter_map(Medium::next);
        let timers = self.timers.iter().filter_map(|timers| timers.next().map(|(at, _)| at));
        arrivals.chain(timers).min().unwrap_or(Instant::MAX)
    }

    /// Time up to which all arrivals at `end` are known.
    pub(crate) fn horizon(&self, network: &Network, end: End) -> Instant {
        let completed = self.completed[1 - end as usize];
        let horizons = self.media[end as usize].iter().map(|&medium| match &network.media[medium] {
            Medium::Link(link) => link.horizon(completed),
            Medium::Cell(_) => completed,
        });
        horizons.min().unwrap_or(completed)
    }

    /// Finds the arrivals and timers at `end` before `until`, and activates their connections.
    pub(crate) fn gather(&mut self, network: &Network, end: End, until: Instant) {
        self.arrivals.gather(network, &self.media[end as usize], until);
        let timers = &mut self.timers[end as usize];
        while let Some((_, number)) = timers.next().filter(|&(at, _)| at < until) {
            timers.pop();
            self.arrivals.activate(number / 2);
        }
    }

    pub(crate) fn clear_changed_timers(&mut self) {
        self.changed_timers = 0;
    }

    /// Notes that a timer of the running connection was set or fired.
    #[inline]
    pub(crate) fn mark_timer_changed(&mut self, index: usize) {
        self.changed_timers |= 1 << index;
    }

    pub(crate) fn timer_changed(&self, index: usize) -> bool {
        self.changed_timers & 1 << index != 0
    }

    /// Queues the buffered packets on their media in the order of the events that sent them, and
    /// counts the device's traffic. At equal times arrivals precede timers.
    pub(crate) fn release(&mut self, network: &mut Network, end: End) {
        let Self { arrivals, departures, .. } = self;
        let Departures { packets, timer_fires, count } = departures;
        arrivals.discard_gathered(&mut network.media);
        timer_fires.sort_unstable_by_key(|fire| (fire.at, fire.source));
        let mut fires = timer_fires.drain(..).peekable();
        for arrival in arrivals.list() {
            while let Some(fire) = fires.next_if(|fire| fire.at < arrival.at) {
                transmit(packets, fire.sent, network, fire.at);
            }
            if end == End::Client {
                let path = &mut network.paths[usize::from(arrival.path)];
                path.count(arrival.at, Direction::Down, arrival.size);
            }
            transmit(packets, arrival.sent, network, arrival.at);
        }
        for fire in fires {
            transmit(packets, fire.sent, network, fire.at);
        }
        arrivals.clear();
        *count = 0;
    }
}
