//! The two ends of connections, each through a span of time in which it cannot hear of anybody else.
//!
//! Whatever an end sends arrives no earlier than the delay of its link after it: the lookahead, as conservative
//! parallel simulation calls it (Chandy and Misra 1979). So the ends at the device and those at the server take turns.
//! Where one side has been simulated up to some time, all is known that reaches the other up to a delay later, or until
//! what waits in the links' queues has gone out, and the other side is simulated up to there, in three steps and not
//! event by event:
//!
//! 1. **Gather** the packets that arrive on this side, in order, and sort them by connection.
//! 2. **Visit** the connections that have something to do there. The end hears its packets and its alarms in order
//!    of time; what it sends is kept, with the event that made it send.
//! 3. **Release** what was sent onto the links, in the order in which it would have been sent.
//!
//! What comes out is the same to the byte: events at equal times are in the order of their sources, and an end
//! touches nothing that is not its own but the links. But with thousands of connections a segment
//! costs what it fetches of its connection from memory. Here that is fetched once for all segments of a round trip. What concerns all connections, a path, the policy or the
//! recorder, both sides wait for.

use crate::Experiment;
use crate::agenda::Agenda;
use crate::crossing::{arrived, leaves};
use crate::host::{APP, End};
use crate::network::{IP_HEADER, Medium, Network, Path};
use crate::packet::{Label, Packet};
use crate::world::World;
use mptcp::PathId;
use radio::Direction;
use units::Instant;
use wire::{Segment, Span};

/// With fewer connections all of them stay near the processor anyway.
pub(crate) const MANY: usize = 64;
/// More media are not looked through for the next arrival.
const MOST_MEDIA: usize = 8;

/// What looking ahead needs to remember. From turn to turn only what stands first.
#[derive(Debug, Default)]
pub(crate) struct Lookahead {
    /// The media towards the device, and towards the server; none where events are handled one by one.
    towards: [Vec<usize>; 2],
    /// Everything before has been simulated, at the device and at the server.
    reached: [Instant; 2],
    /// For each end of a connection its timer, and what its application does; at the device and at the server.
    pub(crate) alarms: [Agenda; 2],

    /// An end is being visited: what it sends is kept, and its alarms are not on their agenda.
    pub(crate) visiting: bool,
    /// Alarms of the visited end that were set or rang, as bits.
    moved: u8,
    /// What arrives, in order.
    arrivals: Vec<Arriving>,
    /// How many packets arrive on each medium.
    counts: [usize; MOST_MEDIA],
    /// What arrives, connection by connection.
    letters: Vec<Letter>,
    /// For each connection, one more than it has letters, or zero where it is not visited; then where the next of
    /// its letters goes.
    places: Vec<u32>,
    /// Who is visited.
    called: Vec<u32>,
    /// What was sent, event by event, and behind it room from turns before.
    sent: Vec<Leaving>,
    /// How many of those were sent.
    sent_count: usize,
    /// Alarms that made somebody send.
    rung: Vec<Rung>,
}

/// A packet that arrives, as the network sees it.
#[derive(Debug, Clone, Copy)]
struct Arriving {
    at: Instant,
    size: u32,
    /// Its place among those under way on its medium.
    place: u32,
    sent: Sent,
    connection: u16,
    medium: u8,
    path: u8,
}

/// The same, as its connection sees it.
#[derive(Debug, Clone, Copy)]
struct Letter {
    at: Instant,
    /// Which of the arrivals it is.
    number: u32,
    place: u32,
    medium: u8,
    path: u8,
}

impl Letter {
    const NONE: Self = Self { at: Instant::MAX, number: 0, place: 0, medium: 0, path: 0 };
}

/// What one event made an end send: a piece of [`Lookahead::sent`].
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    first: u32,
    count: u32,
}

/// An alarm that made somebody send.
#[derive(Debug, Clone, Copy)]
struct Rung {
    at: Instant,
    source: u32,
    sent: Sent,
}

/// A packet that waits to be released.
#[derive(Debug)]
struct Leaving {
    packet: Packet,
    size: u32,
}

impl Lookahead {
    /// Looks ahead where that is possible: no medium lets what comes later change what came before, and nothing
    /// but its connection sees a packet on its way.
    pub(crate) fn wherever_possible(experiment: &Experiment, network: &Network) -> Self {
        let unseen = !experiment.capture
            && experiment.background.is_empty()
            && network.paths.iter().all(|path| path.boxes.is_none());
        let ahead = |medium: &Medium| match medium {
            Medium::Link(link) => !link.lookahead().is_zero(),
            Medium::Cell(_) => false,
        };
        if !unseen || network.media.len() > MOST_MEDIA || !network.media.iter().all(ahead) {
            return Self::default();
        }
        let towards = |port: fn(&Path) -> usize| network.paths.iter().map(port).collect();
        let alarms = Agenda::new(2 * experiment.traffic.len()).in_order_of_sources();
        Self {
            towards: [towards(|path| path.down.medium), towards(|path| path.up.medium)],
            alarms: [alarms.clone(), alarms],
            places: vec![0; experiment.traffic.len()],
            ..Self::default()
        }
    }

    /// Whether connections are simulated in here, and not event by event.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        !self.towards[0].is_empty()
    }

    /// Everything before has been simulated.
    pub(crate) fn reached(&self) -> Instant {
        let [device, server] = self.reached;
        device.min(server)
    }

    /// When something happens next at either end of any connection; [`Instant::MAX`] for never.
    fn next(&self, network: &Network) -> Instant {
        let arrivals = network.media.iter().filter_map(Medium::next);
        let alarms = self.alarms.iter().filter_map(|alarms| alarms.next().map(|(at, _)| at));
        arrivals.chain(alarms).min().unwrap_or(Instant::MAX)
    }

    /// Until when it is known what arrives at `end`.
    fn horizon(&self, network: &Network, end: End) -> Instant {
        let reached = self.reached[1 - end as usize];
        let horizons = self.towards[end as usize].iter().map(|&medium| match &network.media[medium] {
            Medium::Link(link) => link.horizon(reached),
            Medium::Cell(_) => reached,
        });
        horizons.min().unwrap_or(reached)
    }

    /// Calls a connection, if nobody has.
    #[inline]
    fn call(&mut self, connection: usize) {
        if self.places[connection] == 0 {
            self.places[connection] = 1;
            self.called.push(connection as u32);
        }
    }

    /// Finds what arrives at `end` before `until`, and calls those for whom it is.
    fn gather(&mut self, network: &Network, end: End, until: Instant) {
        let media = core::mem::take(&mut self.towards[end as usize]);
        let mut heads = [Instant::MAX; MOST_MEDIA];
        for (head, &medium) in heads.iter_mut().zip(&media) {
            *head = coming(&network.media[medium], 0).map_or(Instant::MAX, |(at, ..)| at);
        }
        loop {
            let mut first = 0;
            for other in 1..media.len() {
                if heads[other] < heads[first] {
                    first = other;
                }
            }
            if heads[first] >= until {
                break;
            }
            let medium = media[first];
            let place = self.counts[medium];
            if let Some((at, size, packet)) = coming(&network.media[medium], place) {
                let Label { connection, path, .. } = packet.label();
                // Where the interface is gone, what was under way to it or from it is lost.
                if network.paths[usize::from(path)].present {
                    self.call(usize::from(connection));
                    self.places[usize::from(connection)] += 1;
                    let (place, medium, sent) = (place as u32, medium as u8, Sent::default());
                    self.arrivals.push(Arriving { at, size, place, sent, connection, medium, path });
                }
            }
            self.counts[medium] += 1;
            heads[first] = coming(&network.media[medium], place + 1).map_or(Instant::MAX, |(at, ..)| at);
        }
        self.towards[end as usize] = media;
    }

    /// Sorts those who are called by their numbers, and the letters by those for whom they are.
    fn sort(&mut self) {
        self.called.sort_unstable();
        let mut first = 0;
        for &connection in &self.called {
            let place = &mut self.places[connection as usize];
            let count = *place - 1;
            *place = first;
            first += count;
        }
        self.letters.resize(self.arrivals.len(), Letter::NONE);
        for (number, &Arriving { at, place, connection, medium, path, .. }) in
            self.arrivals.iter().enumerate()
        {
            let next = &mut self.places[usize::from(connection)];
            self.letters[*next as usize] = Letter { at, number: number as u32, place, medium, path };
            *next += 1;
        }
    }

    /// An alarm of the visited end was set, or rang.
    #[inline]
    pub(crate) fn note_alarm(&mut self, which: usize) {
        self.moved |= 1 << which;
    }

    /// What was sent since `first`.
    #[inline]
    fn sent_since(&self, first: usize) -> Sent {
        Sent { first: first as u32, count: (self.sent_count - first) as u32 }
    }

    /// Keeps a packet, which is written where it is kept.
    #[inline]
    fn keep(&mut self, label: Label, segment: &Segment<Span>) {
        if self.sent_count == self.sent.len() {
            self.sent.push(Leaving { packet: Packet::blank(), size: 0 });
        }
        let leaving = &mut self.sent[self.sent_count];
        leaving.packet.pack_over(label, segment);
        leaving.size = segment.wire_len() as u32 + IP_HEADER;
        self.sent_count += 1;
    }

    /// Puts what was sent on its way, and counts what the device sent and received.
    fn release(&mut self, network: &mut Network, end: End) {
        for (medium, count) in network.media.iter_mut().zip(&mut self.counts) {
            if let Medium::Link(link) = medium {
                link.discard(core::mem::take(count));
            }
        }
        self.rung.sort_unstable_by_key(|rung| (rung.at, rung.source));
        let mut rung = self.rung.drain(..).peekable();
        for arriving in &self.arrivals {
            // Of events at equal times arrivals come first.
            while let Some(ring) = rung.next_if(|ring| ring.at < arriving.at) {
                release(&mut self.sent, ring.sent, network, ring.at);
            }
            if end == End::Client {
                let path = &mut network.paths[usize::from(arriving.path)];
                path.count(arriving.at, Direction::Down, arriving.size);
            }
            release(&mut self.sent, arriving.sent, network, arriving.at);
        }
        for ring in rung {
            release(&mut self.sent, ring.sent, network, ring.at);
        }
        self.arrivals.clear();
        self.letters.clear();
        self.sent_count = 0;
    }
}

#[inline]
fn coming(medium: &Medium, place: usize) -> Option<(Instant, u32, &Packet)> {
    match medium {
        Medium::Link(link) => link.coming(place),
        Medium::Cell(_) => None,
    }
}

/// Puts on their way what one event at `at` made an end send.
#[inline]
fn release(all: &mut [Leaving], sent: Sent, network: &mut Network, at: Instant) {
    for leaving in &mut all[sent.first as usize..][..sent.count as usize] {
        let label = leaving.packet.label();
        let path = &mut network.paths[usize::from(label.path)];
        let port = if label.down { path.down } else { path.up };
        if !label.down {
            path.count(at, Direction::Up, leaving.size);
        }
        network.media[port.medium].push_with(at, port.station, leaving.size, || leaving.packet.take());
    }
}

impl World<'_> {
    /// Lets each side have its turn. Returns how many events that were; `None` once everything before `limit` has
    /// happened.
    pub(crate) fn take_turns(&mut self, limit: Instant) -> Option<u64> {
        let next = self.lookahead.next(&self.network);
        if next >= limit {
            self.lookahead.reached = [limit; 2];
            return None;
        }
        // Nothing happens on either side before what is next.
        self.lookahead.reached = self.lookahead.reached.map(|reached| reached.max(next));
        let mut events = 0;
        for end in [End::Server, End::Client] {
            let until = self.lookahead.horizon(&self.network, end).min(limit);
            if until > self.lookahead.reached[end as usize] {
                events += self.take_turn(end, until);
                self.lookahead.reached[end as usize] = until;
            }
        }
        Some(events)
    }

    /// Simulates everything at `end` before `until`. Returns how many events that were.
    fn take_turn(&mut self, end: End, until: Instant) -> u64 {
        self.lookahead.gather(&self.network, end, until);
        while let Some((_, number)) = self.lookahead.alarms[end as usize].next().filter(|&(at, _)| at < until)
        {
            self.lookahead.alarms[end as usize].pop();
            self.lookahead.call(number / 2);
        }
        self.lookahead.sort();
        let called = core::mem::take(&mut self.lookahead.called);
        self.lookahead.visiting = true;
        let mut events = 0;
        let mut first = 0;
        for &connection in &called {
            // The place after its last letter by now.
            let last = core::mem::take(&mut self.lookahead.places[connection as usize]) as usize;
            events += self.visit(connection as usize, end, first..last, until);
            first = last;
        }
        self.lookahead.visiting = false;
        self.lookahead.called = called;
        self.lookahead.called.clear();
        self.lookahead.release(&mut self.network, end);
        events
    }

    /// Lets an end hear its letters, and its alarms, before `until`. Returns how many that were.
    fn visit(&mut self, i: usize, end: End, letters: core::ops::Range<usize>, until: Instant) -> u64 {
        let mut events = letters.len() as u64;
        let mut letters = letters.peekable();
        self.lookahead.moved = 0;
        loop {
            let before = self.lookahead.sent_count;
            let (which, alarm) = self.connections[i].next_alarm(end);
            let letter = letters.peek().map(|&place| self.lookahead.letters[place]);
            if let Some(letter) = letter.filter(|letter| letter.at <= alarm) {
                letters.next();
                self.hear_ahead(i, end, letter);
                let sent = self.lookahead.sent_since(before);
                if sent.count > 0 {
                    self.lookahead.arrivals[letter.number as usize].sent = sent;
                }
            } else if alarm < until {
                events += 1;
                self.now = alarm;
                self.lookahead.note_alarm(which);
                if which < APP {
                    self.on_alarm(i, which);
                } else {
                    self.on_application(i, end);
                }
                let sent = self.lookahead.sent_since(before);
                if sent.count > 0 {
                    let source = (3 * i + which.min(APP)) as u32;
                    self.lookahead.rung.push(Rung { at: alarm, source, sent });
                }
            } else {
                break;
            }
        }
        let connection = &self.connections[i];
        for (slot, which) in connection.places(end).into_iter().enumerate() {
            if self.lookahead.moved & 1 << which != 0 {
                let alarm = connection.alarms[which];
                let alarms = &mut self.lookahead.alarms[end as usize];
                alarms.set(2 * i + slot, Some(alarm).filter(|&at| at < Instant::MAX));
            }
        }
        events
    }

    /// It is time for what the application does at `end`: at the device it begins, or its viewer goes; at the end that
    /// writes it writes.
    fn on_application(&mut self, i: usize, end: End) {
        if end == End::Client {
            if !self.connections[i].begun {
                self.open_paths(i);
            }
            self.connections[i].ask(self.now);
        }
        let connection = &mut self.connections[i];
        let [_, which] = connection.places(end);
        connection.alarms[which] = if which == APP {
            connection.write(self.now);
            connection.app.next().unwrap_or(Instant::MAX)
        } else {
            connection.goes(self.now)
        };
        self.settle_end(i, end);
    }

    /// Puts what connections begin with on their agendas.
    pub(crate) fn begin_ahead(&mut self) {
        for (i, connection) in self.connections.iter_mut().enumerate() {
            let start = connection.config.start;
            for end in [End::Client, End::Server] {
                let [_, which] = connection.places(end);
                // It is the device that begins; a server that only reads has nothing to do before it hears.
                if end == End::Client || which == APP {
                    connection.alarms[which] = start;
                    self.lookahead.alarms[end as usize].set(2 * i + 1, Some(start));
                }
            }
        }
    }

    /// An end hears a packet that has arrived.
    #[inline]
    fn hear_ahead(&mut self, i: usize, end: End, letter: Letter) {
        let medium = &self.network.media[usize::from(letter.medium)];
        let Some((_, _, packet)) = coming(medium, letter.place as usize) else { return };
        packet.unpack_into(&mut self.incoming);
        self.now = letter.at;
        self.segments += 1;
        if end == End::Client {
            let path = &mut self.network.paths[usize::from(letter.path)];
            path.payload_down += u64::from(self.incoming.payload.len);
        }
        self.connections[i].hear(letter.at, end, PathId(letter.path), &self.incoming);
        if !self.deliveries.is_empty() {
            arrived(&mut self.deliveries[i], letter.at, &self.connections[i], end, &self.incoming);
        }
        self.settle_end(i, end);
    }

    /// Keeps what the visited end has to send.
    #[inline]
    pub(crate) fn keep_all(&mut self, i: usize, end: End) {
        let connection = &mut self.connections[i];
        let side = connection.side(end);
        let endpoint = connection.end(end);
        while let Some(path) = endpoint.transmit_into(self.now, &mut self.outgoing) {
            let label = Label { connection: i as u16, path: path.0, down: end == End::Server };
            if !label.down {
                let path = &mut self.network.paths[path.index()];
                if !path.present {
                    continue;
                }
                path.payload_up += u64::from(self.outgoing.payload.len);
            }
            if let Some(delivery) = self.deliveries.get_mut(i) {
                leaves(delivery, self.now, side, &self.outgoing);
            }
            self.lookahead.keep(label, &self.outgoing);
        }
    }
}
