//! A running application.

use crate::clock::{Clock, Periods};
use crate::messages::{Message, Messages};
use crate::{Kind, OnFull, Packets, TrafficConfig};
use units::{Instant, Seed};

/// An application that writes into a stream.
///
/// It draws random numbers only for exponential on/off periods (stream `on-off` of its seed) and
/// for a mix of packet sizes (stream `vbr`).
#[derive(Debug, Clone)]
pub struct App {
    start: Instant,
    stop: Option<Instant>,
    source: Source,
    /// `poll` was called at or after `start`.
    started: bool,
    /// `poll` was called at or after `stop`.
    stopped: bool,
    offered: u64,
    accepted: u64,
    dropped: u64,
    messages: Messages,
}

#[derive(Debug, Clone)]
enum Source {
    Bulk,
    File { left: u64 },
    Responses { left: u64 },
    Timed(Box<Timed>),
}

/// Schedule of packets: due times and sizes.
#[derive(Debug, Clone)]
enum Schedule {
    Constant(Clock, u64),
    Mixed(Box<Packets>),
}

impl Schedule {
    fn due(&mut self) -> Option<(Instant, u64)> {
        match self {
            Self::Constant(clock, packet) => clock.due().map(|at| (at, *packet)),
            Self::Mixed(packets) => packets.due().map(|(at, size)| (at, u64::from(size))),
        }
    }
    fn advance(&mut self) {
        match self {
            Self::Constant(clock, _) => clock.advance(),
            Self::Mixed(packets) => packets.advance(),
        }
    }
}

#[derive(Debug, Clone)]
struct Timed {
    schedule: Option<Schedule>,
    /// Time and size of the next packet, if it is due before the stop.
    due: Option<(Instant, u64)>,
    on_full: OnFull,
    /// Bytes that are due and not written.
    backlog: u64,
}

impl App {
    /// An application of this configuration in a run that ends at `end`.
    pub fn new(config: &TrafficConfig, end: Instant, seed: Seed) -> Self {
        let start = config.start;
        let until = config.stop.map_or(end, |stop| stop.min(end));
        let timed = |rate, packet: units::Bytes, periods| {
            let mut timed = Timed {
                schedule: Clock::new(rate, packet, periods)
                    .map(|clock| Schedule::Constant(clock, packet.get())),
                due: None,
                on_full: config.on_full,
                backlog: 0,
            };
            timed.rearm(config.stop);
            Source::Timed(Box::new(timed))
        };
        let mixed = |vbr| {
            let packets = Packets::new(vbr, start..until, seed.derive("vbr"));
            let schedule = Some(Schedule::Mixed(Box::new(packets)));
            let mut timed = Timed { schedule, due: None, on_full: config.on_full, backlog: 0 };
            timed.rearm(config.stop);
            Source::Timed(Box::new(timed))
        };
        let source = match config.kind {
            Kind::Video(_) => Source::Responses { left: 0 },
            Kind::Vbr(vbr) => mixed(vbr),
            Kind::Bulk => Source::Bulk,
            Kind::File { size } => Source::File { left: size.get() },
            Kind::Cbr { rate, packet } => timed(rate, packet, Periods::Always(start)),
            Kind::OnOff { rate, packet, on, off, exponential: false } => {
                timed(rate, packet, Periods::Fixed { start, on, off })
            }
            Kind::OnOff { rate, packet, on, off, exponential: true } => {
                timed(rate, packet, Periods::drawn(start..until, on, off, seed.rng("on-off")))
            }
        };
        Self {
            start,
            stop: config.stop,
            source,
            started: false,
            stopped: false,
            offered: 0,
            accepted: 0,
            dropped: 0,
            messages: Messages::default(),
        }
    }

    /// Time of the next write or of the stop; `None` if only room in the send buffer makes it write
    /// again, or if it has ended.
    pub fn next(&self) -> Option<Instant> {
        let stop = self.stop.filter(|_| !self.stopped);
        let next_write = match &self.source {
            Source::File { left: 0 } if self.started => return None,
            Source::Bulk | Source::File { .. } | Source::Responses { .. } => {
                (!self.started).then_some(self.start)
            }
            Source::Timed(timed) => timed.due.map(|(at, _)| at),
        };
        match (next_write, stop) {
            (Some(write), Some(stop)) => Some(write.min(stop)),
            (write, stop) => write.or(stop),
        }
    }

    /// Bytes to write at `now`; `u64::MAX` for as many as fit.
    ///
    /// Call it at [`next`](Self::next) and whenever the send buffer has room again, then report the
    /// result with [`wrote`](Self::wrote).
    pub fn poll(&mut self, now: Instant) -> u64 {
        self.started |= now >= self.start;
        self.stopped |= self.stop.is_some_and(|stop| now >= stop);
        match &mut self.source {
            Source::Bulk if self.started && !self.stopped => u64::MAX,
            Source::File { left } | Source::Responses { left } if self.started && !self.stopped => *left,
            Source::Bulk | Source::File { .. } | Source::Responses { .. } => 0,
            Source::Timed(timed) => {
                let before = timed.backlog;
                timed.collect(now, self.stop, &mut self.messages);
                self.offered += timed.backlog - before;
                timed.backlog
            }
        }
    }

    /// Reports that the stream accepted `accepted` of the bytes of `poll`. The rest is dropped, or
    /// kept until there is room.
    pub fn wrote(&mut self, now: Instant, accepted: u64) {
        self.accepted += accepted;
        match &mut self.source {
            Source::Bulk => {
                self.offered += accepted;
                self.messages.push_blocks(now, self.accepted, u64::MAX);
            }
            Source::File { left } => {
                let size = self.offered + *left;
                *left = left.saturating_sub(accepted);
                self.offered += accepted;
                self.messages.push_blocks(now, self.accepted, size);
            }
            Source::Responses { left } => {
                *left = left.saturating_sub(accepted);
                self.offered += accepted;
            }
            Source::Timed(timed) => {
                timed.backlog = timed.backlog.saturating_sub(accepted);
                if timed.on_full == OnFull::Drop {
                    self.dropped += timed.backlog;
                    timed.backlog = 0;
                    self.messages.truncate(self.accepted);
                }
            }
        }
    }

    /// True if the application waits for room in the send buffer.
    pub fn waiting(&self) -> bool {
        match &self.source {
            Source::Bulk => self.started && !self.stopped,
            Source::File { left } | Source::Responses { left } => self.started && !self.stopped && *left > 0,
            Source::Timed(timed) => timed.backlog > 0,
        }
    }

    /// Bytes that it writes at `now` into `room` bytes of buffer: `poll` and `wrote` in one.
    ///
    /// With [`OnFull::Drop`] a packet is written whole or not at all.
    pub fn write(&mut self, now: Instant, room: u64) -> u64 {
        let wanted = self.poll(now);
        let mut fits = wanted.min(room);
        if let Source::Timed(timed) = &self.source
            && timed.on_full == OnFull::Drop
        {
            fits = self.messages.last_end(self.accepted + fits).saturating_sub(self.accepted);
        }
        if wanted > 0 {
            self.wrote(now, fits);
        }
        fits
    }

    /// The first message that was written, accepted by the stream or waiting for room, and not yet
    /// taken. A response of a video is no message: its player knows when it asked for it.
    #[inline]
    pub fn message(&self) -> Option<Message> {
        self.messages.front()
    }

    /// Takes the message returned by [`message`](Self::message).
    #[inline]
    pub fn take_message(&mut self) -> Option<Message> {
        self.messages.pop()
    }

    /// Adds a response of `bytes`; for [`Kind::Video`] only.
    pub fn add_response(&mut self, bytes: u64) {
        if let Source::Responses { left } = &mut self.source {
            *left = left.saturating_add(bytes);
        }
    }

    /// True if it will not write again, so that the stream can be closed.
    pub fn done(&self, now: Instant) -> bool {
        let stopped = self.stop.is_some_and(|stop| now >= stop);
        match &self.source {
            // The end of a video is known to its player alone.
            Source::Bulk | Source::Responses { .. } => stopped,
            Source::File { left } => stopped || (*left == 0 && now >= self.start),
            Source::Timed(timed) => stopped && timed.due.is_none() && timed.backlog == 0,
        }
    }

    /// Bytes produced; for a bulk transfer or a file, the accepted bytes.
    pub fn offered(&self) -> u64 {
        self.offered
    }
    /// Bytes that the stream accepted.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }
    /// Bytes dropped because the send buffer was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl Timed {
    /// Adds every packet that is due at `now` to the backlog.
    fn collect(&mut self, now: Instant, stop: Option<Instant>, messages: &mut Messages) {
        while let Some((at, packet)) = self.due.filter(|&(at, _)| at <= now) {
            self.backlog = self.backlog.saturating_add(packet);
            messages.push(at, packet);
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
            self.rearm(stop);
        }
    }

    fn rearm(&mut self, stop: Option<Instant>) {
        let due = self.schedule.as_mut().and_then(Schedule::due);
        self.due = due.filter(|&(at, _)| stop.is_none_or(|stop| at < stop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bursts, Mix, Vbr};
    use proptest::prelude::*;
    use units::{Bitrate, Bytes, Duration};

    const ROOM: u64 = u64::MAX;

    fn cbr(rate_bps: u64, packet: u64) -> Kind {
        Kind::Cbr { rate: Bitrate::from_bps(rate_bps), packet: Bytes::new(packet) }
    }
    fn config(kind: Kind, stop: Option<Instant>, on_full: OnFull) -> TrafficConfig {
        TrafficConfig { start: Instant::from_secs(1), stop, on_full, ..TrafficConfig::new(kind) }
    }
    fn endless(config: &TrafficConfig, seed: u64) -> App {
        App::new(config, Instant::MAX, Seed::new(seed))
    }
    /// Drives an application by its schedule alone and returns the times and sizes of its writes.
    fn drive(app: &mut App, until: Instant, room: u64) -> Vec<(Instant, u64)> {
        let mut written = Vec::new();
        while let Some(now) = app.next().filter(|&now| now <= until) {
            let bytes = app.write(now, room);
            if bytes > 0 {
                written.push((now, bytes));
            }
            if matches!(app.source, Source::Bulk | Source::File { .. }) && app.next() == Some(now) {
                break;
            }
        }
        written
    }

    #[test]
    fn constant_rate_writes_an_exact_number_of_packets_until_its_stop() {
        // 1 Mbit/s in packets of 1040 bytes: one per 8.32 ms. 150 s hold 18028.8; the first is due
        // at once.
        let mut app = endless(&config(cbr(1_000_000, 1040), Some(Instant::from_secs(151)), OnFull::Drop), 1);
        assert_eq!(app.next(), Some(Instant::from_secs(1)));
        let written = drive(&mut app, Instant::MAX, ROOM);
        assert_eq!(written.len(), 18_029);
        assert!(written.iter().all(|&(_, bytes)| bytes == 1040));
        assert_eq!(written[1].0, Instant::from_nanos(1_008_320_000));
        assert_eq!(app.offered(), 18_029 * 1040);
        assert_eq!(app.accepted(), app.offered());
        assert!(app.done(Instant::from_secs(151)) && app.next().is_none());
    }

    #[test]
    fn stop_takes_effect_between_two_packets() {
        let mut app = endless(&config(cbr(8, 10), Some(Instant::from_secs(5)), OnFull::Drop), 1);
        assert_eq!(app.write(Instant::from_secs(1), ROOM), 10);
        assert_eq!(app.next(), Some(Instant::from_secs(5)));
        assert!(!app.done(Instant::from_millis(4_999)));
        assert_eq!(app.write(Instant::from_secs(5), ROOM), 0);
        assert!(app.done(Instant::from_secs(5)) && app.next().is_none());
    }

    #[test]
    fn packet_due_at_the_stop_is_not_written() {
        let mut app = endless(&config(cbr(8_000, 1000), Some(Instant::from_secs(3)), OnFull::Wait), 1);
        assert_eq!(drive(&mut app, Instant::MAX, ROOM).len(), 2);
    }

    #[test]
    fn full_buffer_drops_whole_packets_of_a_live_source() {
        let mut app = endless(&config(cbr(8_000, 1000), None, OnFull::Drop), 1);
        assert_eq!(app.write(Instant::from_secs(1), 999), 0);
        assert_eq!(app.write(Instant::from_secs(2), 1500), 1000);
        // One packet late: two are due, one fits.
        assert_eq!(app.write(Instant::from_secs(4), 1999), 1000);
        assert_eq!(app.write(Instant::from_secs(4), ROOM), 0);
        assert_eq!((app.offered(), app.accepted(), app.dropped()), (4000, 2000, 2000));
    }

    #[test]
    fn full_buffer_drops_whole_packets_of_a_mix_of_sizes() {
        let rate = Bitrate::from_mbps(8.0);
        let every = Duration::from_secs(1);
        let kind =
            Kind::Vbr(crate::Vbr { low: rate, high: rate, every, mix: crate::Mix::IMIX, bursts: None });
        let mut app = endless(&config(kind, None, OnFull::Drop), 1);
        let mut read = 0;
        for millis in (1000..3000).step_by(5) {
            // About 5000 bytes are due.
            let written = app.write(Instant::from_millis(millis), 3000);
            assert_eq!(app.accepted(), read + written);
            while let Some(message) = app.take_message() {
                assert!([40, 576, 1500].contains(&(message.end - read)), "{}", message.end - read);
                read = message.end;
            }
            assert_eq!(app.accepted(), read);
        }
        assert!(app.dropped() > 100_000 && app.accepted() > 500_000);
    }

    #[test]
    fn waiting_source_writes_its_backlog_even_after_its_stop() {
        let mut app = endless(&config(cbr(8_000, 1000), Some(Instant::from_secs(4)), OnFull::Wait), 1);
        assert_eq!(app.write(Instant::from_secs(1), 0), 0);
        assert_eq!(app.write(Instant::from_secs(2), 0), 0);
        assert_eq!(app.poll(Instant::from_secs(3)), 3000);
        app.wrote(Instant::from_secs(3), 1);
        assert!(!app.done(Instant::from_secs(4)));
        assert_eq!(app.write(Instant::from_secs(4), 999), 999);
        assert_eq!(app.write(Instant::from_secs(5), ROOM), 2000);
        assert!(app.done(Instant::from_secs(5)));
        assert_eq!((app.offered(), app.accepted(), app.dropped()), (3000, 3000, 0));
    }

    #[test]
    fn message_is_written_when_due_and_removed_when_dropped() {
        let taken = |app: &mut App| std::iter::from_fn(|| app.take_message()).collect::<Vec<_>>();
        let message = |second, end| Message { written: Instant::from_secs(second), end };
        let mut app = endless(&config(cbr(8_000, 1000), None, OnFull::Wait), 1);
        assert_eq!(app.write(Instant::from_secs(3), 1500), 1500);
        assert_eq!(taken(&mut app), [message(1, 1000), message(2, 2000), message(3, 3000)]);
        let mut app = endless(&config(cbr(8_000, 1000), None, OnFull::Drop), 1);
        assert_eq!(app.write(Instant::from_secs(2), 1500), 1000);
        assert_eq!(app.write(Instant::from_secs(3), 1500), 1000);
        assert_eq!(taken(&mut app), [message(1, 1000), message(3, 2000)]);
        let size = Bytes::new(10_000);
        let mut app = endless(&config(Kind::File { size }, None, OnFull::Wait), 1);
        assert_eq!(app.write(Instant::from_secs(1), 8192), 8192);
        assert_eq!(app.write(Instant::from_secs(2), 8192), 1808);
        assert_eq!(taken(&mut app), [message(1, 8192), message(2, 10_000)]);
    }

    #[test]
    fn bulk_fills_the_buffer_between_start_and_stop() {
        let mut app = endless(&config(Kind::Bulk, Some(Instant::from_secs(3)), OnFull::Drop), 1);
        assert_eq!(app.next(), Some(Instant::from_secs(1)));
        assert_eq!(app.poll(Instant::ZERO), 0);
        assert_eq!(app.poll(Instant::from_secs(1)), u64::MAX);
        app.wrote(Instant::from_secs(1), 70_000);
        assert_eq!(app.next(), Some(Instant::from_secs(3)));
        assert_eq!(app.write(Instant::from_secs(2), 500), 500);
        assert!(!app.done(Instant::from_secs(2)));
        assert_eq!(app.write(Instant::from_secs(3), 500), 0);
        assert!(app.done(Instant::from_secs(3)) && app.next().is_none());
        assert_eq!((app.accepted(), app.dropped()), (70_500, 0));
    }

    #[test]
    fn file_is_done_when_its_last_byte_is_accepted() {
        let file = |size| config(Kind::File { size: Bytes::new(size) }, None, OnFull::Drop);
        let mut app = endless(&file(1_000_000), 1);
        assert_eq!(app.write(Instant::from_secs(1), 600_000), 600_000);
        assert!(!app.done(Instant::from_secs(1)) && app.next().is_none());
        assert_eq!(app.write(Instant::from_secs(2), 600_000), 400_000);
        assert!(app.done(Instant::from_secs(2)));
        assert_eq!((app.offered(), app.accepted(), app.dropped()), (1_000_000, 1_000_000, 0));

        let empty = endless(&file(0), 1);
        assert!(!empty.done(Instant::ZERO) && empty.done(Instant::from_secs(1)));
    }

    #[test]
    fn on_off_writes_only_in_on_periods() {
        let kind = Kind::OnOff {
            rate: Bitrate::from_mbps(8.0),
            packet: Bytes::new(1000),
            on: Duration::from_millis(500),
            off: Duration::from_millis(1500),
            exponential: false,
        };
        let mut app = endless(&config(kind, Some(Instant::from_secs(11)), OnFull::Drop), 1);
        let written = drive(&mut app, Instant::MAX, ROOM);
        assert_eq!(written.len(), 5 * 500);
        assert!(written.iter().all(|(at, _)| (at.as_millis() - 1000) % 2000 < 500));
    }

    #[test]
    fn application_without_data_has_no_next_write() {
        for kind in [cbr(0, 1000), cbr(1000, 0)] {
            let mut app = endless(&config(kind.clone(), None, OnFull::Wait), 1);
            assert_eq!(app.next(), None);
            assert_eq!(app.write(Instant::from_secs(9), ROOM), 0);
            let stopping = endless(&config(kind, Some(Instant::from_secs(2)), OnFull::Wait), 1);
            assert_eq!(stopping.next(), Some(Instant::from_secs(2)));
            assert!(stopping.done(Instant::from_secs(2)));
        }
    }

    #[test]
    fn periods_are_drawn_only_until_the_stop_or_the_end() {
        // The second packet is due after 8,000 s of on time: billions of periods.
        let kind = Kind::OnOff {
            rate: Bitrate::from_bps(1_000),
            packet: Bytes::new(1_000_000),
            on: Duration::from_micros(1),
            off: Duration::from_micros(1),
            exponential: true,
        };
        let first = [(Instant::from_secs(1), 1_000_000)];
        let stop = Instant::from_secs(2);
        let mut stopping = endless(&config(kind.clone(), Some(stop), OnFull::Drop), 1);
        assert_eq!(drive(&mut stopping, Instant::MAX, ROOM), first);
        let mut running = App::new(&config(kind, None, OnFull::Drop), stop, Seed::new(1));
        assert_eq!(drive(&mut running, Instant::MAX, ROOM), first);

        let rate = Bitrate::from_bps(1);
        let bursts = Bursts { on: Duration::from_micros(1), off: Duration::from_micros(1) };
        let vbr = Vbr {
            low: rate,
            high: rate,
            every: Duration::from_secs(1),
            mix: Mix::IMIX,
            bursts: Some(bursts),
        };
        let mut bursting = App::new(&config(Kind::Vbr(vbr), None, OnFull::Drop), stop, Seed::new(1));
        assert_eq!(drive(&mut bursting, Instant::MAX, ROOM), []);
    }

    #[test]
    fn same_seed_gives_the_same_periods() {
        let kind = Kind::OnOff {
            rate: Bitrate::from_mbps(1.0),
            packet: Bytes::new(1040),
            on: Duration::from_millis(300),
            off: Duration::from_millis(700),
            exponential: true,
        };
        let run = |seed| {
            drive(&mut endless(&config(kind.clone(), None, OnFull::Drop), seed), Instant::from_secs(60), ROOM)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    proptest! {
        #[test]
        fn offered_bytes_are_accepted_dropped_or_in_the_backlog(
            rate in 0u64..20_000_000, packet in 0u64..3000, on in 0u64..2000, off in 0u64..2000,
            exponential: bool, wait: bool, rooms in prop::collection::vec(0u64..5000, 1..60),
        ) {
            let kind = Kind::OnOff {
                rate: Bitrate::from_bps(rate), packet: Bytes::new(packet),
                on: Duration::from_millis(on), off: Duration::from_millis(off), exponential,
            };
            let on_full = if wait { OnFull::Wait } else { OnFull::Drop };
            let mut app = endless(&config(kind, Some(Instant::from_secs(20)), on_full), rate);
            let (mut last, mut written) = (Instant::ZERO, 0);
            for room in rooms {
                let Some(now) = app.next() else { break };
                prop_assert!(now >= last);
                last = now;
                let bytes = app.write(now, room);
                prop_assert!(bytes <= room);
                written += bytes;
            }
            let backlog = if wait { app.poll(last) } else { 0 };
            prop_assert_eq!(app.accepted(), written);
            prop_assert_eq!(app.offered(), app.accepted() + app.dropped() + backlog);
            prop_assert!(app.offered() == 0 || app.offered().is_multiple_of(packet));
        }
    }
}
