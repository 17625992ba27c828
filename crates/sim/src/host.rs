//! The two hosts: a connection's ends, and the application that writes into it.

use crate::delivery::Side;
use crate::video::Talk;
use crate::{Experiment, Hop, Protocol};
use link::Rate;
use mptcp::{CongestionKind, Endpoint, PathId};
use std::sync::Arc;
use traffic::{App, Direction, Kind, TrafficConfig};
use units::{Bitrate, Instant, Seed};
use wire::{Segment, Span};

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The device's.
    Client,
    Server,
}

/// The place in [`Connection::alarms`] of the application.
pub(crate) const APP: usize = 2;
/// The place of the connection's begin, and of its viewer's end, where its ends are simulated apart and it is the
/// server that writes: the application's is the server's then.
pub(crate) const BEGIN: usize = 3;

/// What becomes of a segment that an end has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// Its application reads.
    Reads,
    /// There may be room for its application to write.
    Writes,
    /// It asks, or answers.
    Talks,
}

/// One application and its connection.
///
/// What every segment looks at lies first and together, as in [`Endpoint`].
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Connection {
    /// Bytes that reached the other application.
    pub(crate) delivered: u64,
    pub(crate) last_byte: Option<Instant>,
    pub(crate) largest_gap: u64,
    /// When the client and the server have something to do besides their endpoints; [`Instant::MAX`] for never.
    pub(crate) due: [Instant; 2],
    /// When the places on the agenda of the client, the server, the application and the begin come up; [`Instant::MAX`]
    /// where they are empty.
    pub(crate) alarms: [Instant; 4],
    /// What the client and the server do with what they hear.
    duties: [Duty; 2],
    /// Data goes to the device.
    down: bool,
    /// The client has tried to open the connection.
    pub(crate) begun: bool,
    pub(crate) failed: bool,
    closed: bool,
    /// The device's end.
    pub(crate) client: Endpoint<Span>,
    /// The server's end.
    pub(crate) server: Endpoint<Span>,
    /// Of what was delivered, bytes that a middlebox changed.
    pub(crate) corrupted: u64,
    written: u64,
    pub(crate) app: App,
    /// Of a video, who asks for it and what was asked for.
    pub(crate) talk: Option<Box<Talk>>,
    /// When a path that was lost is tried again.
    rejoin: Vec<Option<Instant>>,
    pub(crate) config: TrafficConfig,
}

/// What all connections of an experiment have in common.
pub(crate) fn transport(experiment: &Experiment) -> Arc<mptcp::Config> {
    Arc::new(mptcp::Config {
        mptcp: experiment.transport.protocol == Protocol::Mptcp,
        ..experiment.transport.config.clone()
    })
}

impl Connection {
    /// `transport` is [what all have in common](transport).
    pub(crate) fn new(
        experiment: &Experiment,
        transport: &Arc<mptcp::Config>,
        config: &TrafficConfig,
        seed: Seed,
    ) -> Self {
        let video = match &config.kind {
            Kind::Video(video) => Some(Box::new(Talk::new(video, config))),
            _ => None,
        };
        let by_cost = transport.congestion == CongestionKind::EcMtcp;
        let mut connection = Self {
            delivered: 0,
            last_byte: None,
            largest_gap: 0,
            due: [Instant::MAX; 2],
            alarms: [Instant::MAX, Instant::MAX, config.start, Instant::MAX],
            duties: match config.direction {
                _ if video.is_some() => [Duty::Talks; 2],
                Direction::Down => [Duty::Reads, Duty::Writes],
                Direction::Up => [Duty::Writes, Duty::Reads],
            },
            down: config.direction == Direction::Down,
            begun: false,
            failed: false,
            closed: false,
            client: Endpoint::client(Arc::clone(transport), seed.derive("client")),
            server: Endpoint::server(Arc::clone(transport), seed.derive("server")),
            corrupted: 0,
            written: 0,
            talk: video,
            app: App::new(config, seed.derive("app")),
            rejoin: vec![None; experiment.paths.len()],
            config: config.clone(),
        };
        if by_cost {
            let costs = energy_costs(experiment, config.direction);
            connection.sender().set_energy_costs(&costs);
        }
        connection
    }

    /// A path is to be tried again at `at`, or not.
    pub(crate) fn set_rejoin(&mut self, path: PathId, at: Option<Instant>) {
        self.rejoin[path.index()] = at;
        self.plan();
    }

    /// What was to be tried again by `now` has been. Says whether there was something.
    pub(crate) fn forget_rejoins(&mut self, now: Instant) -> bool {
        let mut any = false;
        for at in self.rejoin.iter_mut().filter(|at| at.is_some_and(|at| at <= now)) {
            (*at, any) = (None, true);
        }
        self.plan();
        any
    }

    /// Notes when the ends have something to do besides their endpoints.
    fn plan(&mut self) {
        let rejoin = self.rejoin.iter().flatten().min().copied().unwrap_or(Instant::MAX);
        let [asks, answers] = self.talk.as_ref().map_or([Instant::MAX; 2], |talk| talk.next());
        self.due = [rejoin.min(asks), answers];
    }

    /// An end's place on the agenda has come up.
    pub(crate) fn ring(&mut self, now: Instant, end: End) {
        self.alarms[end as usize] = Instant::MAX;
        self.end(end).handle_timeout(now);
        if self.duties[end as usize] == Duty::Talks {
            self.talk(now, end);
        }
    }

    /// The two places in [`alarms`](Self::alarms) that are an end's own: its timer's, and that of what its application
    /// does.
    #[inline]
    pub(crate) fn places(&self, end: End) -> [usize; 2] {
        [end as usize, if self.side(end) == Side::Sender { APP } else { BEGIN }]
    }

    /// Which of an end's places on the agenda comes up next, and when.
    #[inline]
    pub(crate) fn next_alarm(&self, end: End) -> (usize, Instant) {
        let [own, other] = self.places(end);
        if self.alarms[other] < self.alarms[own] {
            (other, self.alarms[other])
        } else {
            (own, self.alarms[own])
        }
    }

    /// The application's place on the agenda has come up.
    pub(crate) fn wake(&mut self, now: Instant) {
        self.ask(now);
        self.write(now);
    }

    /// The device asks for the first segment of a video, or its viewer goes.
    pub(crate) fn ask(&mut self, now: Instant) {
        if self.duties[0] == Duty::Talks {
            self.talk(now, End::Client);
        }
    }

    /// When the viewer of a video goes, if that is yet to come; [`Instant::MAX`] where nobody does.
    pub(crate) fn goes(&self, now: Instant) -> Instant {
        let stop = self.config.stop.filter(|&stop| self.duties[0] == Duty::Talks && stop > now);
        stop.unwrap_or(Instant::MAX)
    }

    /// An end of a video does what there is to do: asks for the next segment, or begins an answer.
    fn talk(&mut self, now: Instant, end: End) {
        let Some(talk) = &mut self.talk else { return };
        match end {
            End::Client => talk.ask(now, &mut self.client),
            End::Server => {
                self.app.answer(talk.answers(now));
                self.write_if_waiting(now);
            }
        }
        self.plan();
    }

    /// An end of a video has heard something.
    #[cold]
    #[inline(never)]
    fn hear_talk(&mut self, now: Instant, end: End) {
        match end {
            End::Client => {
                let before = self.delivered;
                self.read(now);
                if let Some(talk) = &mut self.talk
                    && self.delivered > before
                {
                    talk.receive(now, self.delivered - before);
                    self.talk(now, end);
                }
            }
            End::Server => {
                if let Some(talk) = &mut self.talk {
                    talk.hear(now, &mut self.server);
                }
                self.talk(now, end);
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

    /// The end that data arrives at.
    #[inline]
    pub(crate) fn receiving_end(&self) -> End {
        if self.is_down() { End::Client } else { End::Server }
    }

    /// Whether an end sends data or receives it.
    #[inline]
    pub(crate) fn side(&self, end: End) -> Side {
        if end == self.receiving_end() { Side::Receiver } else { Side::Sender }
    }

    /// The end that sends data.
    pub(crate) fn sender(&mut self) -> &mut Endpoint<Span> {
        if self.is_down() { &mut self.server } else { &mut self.client }
    }

    fn receiver(&mut self) -> &mut Endpoint<Span> {
        if self.is_down() { &mut self.client } else { &mut self.server }
    }

    /// Lets the application write as much as it wants and the buffer takes.
    pub(crate) fn write(&mut self, now: Instant) {
        let room = self.sender().write_space();
        let dropped = self.app.dropped();
        let mut left = self.app.write(now, room);
        let dropped = self.app.dropped() - dropped;
        if dropped > 0 {
            self.sender().dropped(dropped);
        }
        while left > 0 {
            // A span counts in 32 bits.
            let span = Span::new(self.written, left.min(1 << 30) as u32);
            let taken = self.sender().write(&span) as u64;
            if taken == 0 {
                break;
            }
            self.written += taken;
            left -= taken;
        }
        if !self.closed && self.app.done(now) {
            self.closed = true;
            self.sender().close();
        }
    }

    /// An acknowledgement may have made room.
    pub(crate) fn write_if_waiting(&mut self, now: Instant) {
        if !self.closed && self.app.waiting() && self.sender().write_space() > 0 {
            self.write(now);
        }
    }

    /// An end hears a segment, and its application reads or writes what it can.
    #[inline]
    pub(crate) fn hear(&mut self, now: Instant, end: End, path: PathId, segment: &Segment<Span>) {
        self.end(end).handle_segment(now, path, segment);
        match self.duties[end as usize] {
            Duty::Reads => self.read(now),
            Duty::Writes => self.write_if_waiting(now),
            Duty::Talks => self.hear_talk(now, end),
        }
    }

    /// The other application reads whatever has come in order.
    pub(crate) fn read(&mut self, now: Instant) {
        let gap = self.receiver().out_of_order();
        self.largest_gap = self.largest_gap.max(gap);
        while let Some(span) = self.receiver().read(usize::MAX) {
            assert_eq!(span.offset, self.delivered, "the endpoint delivers every byte once and in order");
            self.delivered += u64::from(span.len);
            if span.is_corrupted() {
                self.corrupted += u64::from(span.len);
            }
            self.last_byte = Some(now);
        }
    }
}

/// What a byte costs the device on each path, in joules, at the path's own rate: the radio's power while
/// active is shared by what the path can carry.
fn energy_costs(experiment: &Experiment, direction: Direction) -> Vec<f64> {
    let cost = |path: &crate::PathSpec| {
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
            Hop::Cell { cell, station } => station.link_rate.unwrap_or(experiment.cells[*cell].config.rate),
        };
        path.profile.energy_per_mbit_in(radio, rate) / 125_000.0
    };
    experiment.paths.iter().map(cost).collect()
}
