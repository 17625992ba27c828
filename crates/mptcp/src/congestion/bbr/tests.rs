//! BBR over a link of fixed rate and delay, with a queue that never drops.

use super::*;
use std::collections::VecDeque;

const MSS: u64 = 1000;
/// 10 Mbit/s, in bytes per second: a segment takes 0.8 ms.
const RATE: f64 = 1.25e6;
const SERVICE: Duration = Duration::from_micros(800);
/// Lowest round trip of a segment.
const RTPROP: Duration = Duration::from_micros(40_800);
const BDP: f64 = RATE * 0.0408;

struct Segment {
    back: Instant,
    sent: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
}

struct Pipe {
    bbr: Bbr,
    window: Window,
    now: Instant,
    free: Instant,
    next_send: Instant,
    flight: VecDeque<Segment>,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    srtt: Duration,
    /// Lowest round trip of the path, which may change.
    rtprop: Duration,
}

impl Pipe {
    fn new() -> Self {
        Self {
            bbr: Bbr::default(),
            window: Window { cwnd: 10 * MSS, ssthresh: u64::MAX },
            now: Instant::ZERO,
            free: Instant::ZERO,
            next_send: Instant::ZERO,
            flight: VecDeque::new(),
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            srtt: RTPROP,
            rtprop: RTPROP,
        }
    }

    fn in_flight(&self) -> u64 {
        self.flight.len() as u64 * MSS
    }

    fn send(&mut self) {
        self.now = self.now.max(self.next_send);
        if self.flight.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        self.free = self.free.max(self.now) + SERVICE;
        self.flight.push_back(Segment {
            back: self.free + (self.rtprop - SERVICE),
            sent: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        });
        let rate = self.bbr.pacing_rate().map_or(1e9, |rate| rate as f64);
        self.next_send = self.now + Duration::from_secs_f64(MSS as f64 / rate);
    }

    fn acknowledge(&mut self) {
        let Some(segment) = self.flight.pop_front() else { return };
        self.now = segment.back;
        self.delivered += MSS;
        self.delivered_at = self.now;
        self.first_sent = segment.sent;
        let rtt = self.now.since(segment.sent);
        self.srtt = (self.srtt * 7 + rtt) / 8;
        let view = SubflowView {
            now: self.now,
            mss: MSS,
            srtt: self.srtt,
            in_flight: self.in_flight() + MSS,
            rtt: Some(rtt),
            min_rtt: RTPROP,
            una: self.delivered,
            recovering: false,
        };
        let sample = RateSample {
            delivered: self.delivered,
            prior_delivered: segment.delivered,
            newly_delivered: MSS,
            newly_lost: 0,
            interval: self.now.since(segment.delivered_at).max(segment.sent.since(segment.first_sent)),
            app_limited: false,
            rtt: Some(rtt),
            in_flight: self.in_flight(),
        };
        self.bbr.on_rate_sample(&sample, &view, &mut self.window);
    }

    /// Handles the next event: sends or acknowledges a segment.
    fn step(&mut self) {
        let open = self.in_flight() + MSS <= self.window.cwnd;
        let answer = self.flight.front().map_or(Instant::MAX, |first| first.back);
        if open && self.next_send.max(self.now) <= answer { self.send() } else { self.acknowledge() }
    }

    fn run(&mut self, millis: u64) {
        while self.now < Instant::from_millis(millis) {
            self.step();
        }
    }
}

#[test]
fn startup_and_drain_lead_to_a_full_pipe_and_a_short_queue() {
    let mut pipe = Pipe::new();
    // Section 4.3.2: the rate doubles each round; ten segments are 0.2 of the pipe.
    pipe.run(90);
    assert_eq!(pipe.bbr.state, State::Startup);
    while pipe.bbr.state == State::Startup {
        pipe.step();
    }
    assert!(pipe.now < Instant::from_millis(800), "{}", pipe.now);
    // Startup overshoots for three rounds and fills a queue, which is drained now.
    assert_eq!(pipe.bbr.state, State::Drain);
    assert!(pipe.in_flight() as f64 > 1.5 * BDP);
    while pipe.bbr.state == State::Drain {
        pipe.step();
    }
    assert!(pipe.in_flight() as f64 <= 1.1 * BDP, "{}", pipe.in_flight());
    pipe.run(5000);
    assert!(matches!(pipe.bbr.state, State::ProbeBw { .. }));
    let bandwidth = pipe.bbr.bandwidth.get() / RATE;
    assert!((bandwidth - 1.0).abs() < 0.02, "{bandwidth}");
    assert_eq!(pipe.bbr.rtprop, RTPROP);
    // Twice the BDP and three quanta of two segments.
    assert!((pipe.window.cwnd as f64 - (2.0 * BDP + 6000.0)).abs() < 0.05 * BDP, "{:?}", pipe.window);
    let before = pipe.delivered;
    let mut most = 0;
    while pipe.now < Instant::from_secs(9) {
        pipe.step();
        most = most.max(pipe.in_flight());
    }
    let used = (pipe.delivered - before) as f64 / (4.0 * RATE);
    assert!(used > 0.98, "{used}");
    // The phase with a gain of 1.25 fills the pipe to that level, and the next drains it.
    assert!((1.2 * BDP..1.35 * BDP).contains(&(most as f64)), "{most}");
}

#[test]
fn probe_bw_phases_last_a_round_trip_and_pace_by_their_gain() {
    let mut pipe = Pipe::new();
    pipe.run(5000);
    let mut seen = Vec::new();
    let mut last = None;
    while seen.len() < 20 {
        pipe.step();
        if let State::ProbeBw { phase, since } = pipe.bbr.state
            && last != Some((phase, since))
        {
            last = Some((phase, since));
            seen.push((phase, since));
            let gain = pipe.bbr.pacing_rate / pipe.bbr.bandwidth.get();
            assert!((gain - PROBE_BW_GAINS[phase]).abs() < 1e-9, "{phase}: {gain}");
        }
    }
    for pair in seen[1..].windows(2) {
        let ((phase, from), (next, to)) = (pair[0], pair[1]);
        assert_eq!(next, (phase + 1) % 8);
        let rounds = to.since(from).as_secs_f64() / RTPROP.as_secs_f64();
        // The filling and the draining phase end by the flight size.
        let range = if phase < 2 { 0.2..2.5 } else { 0.99..1.1 };
        assert!(range.contains(&rounds), "{phase}: {rounds}");
    }
}

#[test]
fn probe_rtt_measures_a_longer_path_after_ten_seconds() {
    let mut pipe = Pipe::new();
    pipe.run(5000);
    // The path changes: its round trip is 20 ms longer.
    pipe.rtprop = RTPROP + Duration::from_millis(20);
    let mut spells = Vec::new();
    let mut inside = false;
    while pipe.now < Instant::from_secs(20) {
        pipe.step();
        let probing = matches!(pipe.bbr.state, State::ProbeRtt { .. });
        if probing && !inside {
            spells.push((pipe.now, pipe.now));
        }
        if probing {
            spells.last_mut().expect("a spell was pushed").1 = pipe.now;
            assert!(pipe.window.cwnd <= 4 * MSS);
        }
        inside = probing;
    }
    let [(from, to)] = spells[..] else { panic!("{spells:?}") };
    // The last sample of the old minimum came some time before the change.
    assert!((10_000..15_500).contains(&from.as_millis()), "{from}");
    // Until the flight size is four segments, and 200 ms more.
    let millis = to.since(from).as_millis();
    assert!((200..400).contains(&millis), "{millis} ms");
    assert_eq!(pipe.bbr.rtprop, pipe.rtprop);
    assert!(matches!(pipe.bbr.state, State::ProbeBw { .. }));
    let before = pipe.delivered;
    pipe.run(24_000);
    assert!((pipe.delivered - before) as f64 > 0.98 * 4.0 * RATE);
}

#[test]
fn loss_starts_a_round_of_packet_conservation() {
    let mut pipe = Pipe::new();
    pipe.run(5000);
    let before = pipe.window.cwnd;
    let view = SubflowView {
        now: pipe.now,
        mss: MSS,
        srtt: pipe.srtt,
        in_flight: pipe.in_flight(),
        rtt: None,
        min_rtt: RTPROP,
        una: pipe.delivered,
        recovering: false,
    };
    let flight = pipe.in_flight();
    pipe.bbr.on_loss(&view, &mut pipe.window);
    assert_eq!(pipe.window.ssthresh, flight);
    pipe.window.cwnd = pipe.window.ssthresh;
    let sample = |delivered, prior_delivered, in_flight| RateSample {
        delivered,
        prior_delivered,
        newly_delivered: MSS,
        newly_lost: 0,
        interval: Duration::ZERO,
        app_limited: false,
        rtt: None,
        in_flight,
    };
    let repairing = SubflowView { recovering: true, ..view };
    let at = pipe.delivered;
    pipe.bbr.on_rate_sample(&sample(at + MSS, at - flight, flight - MSS), &repairing, &mut pipe.window);
    assert_eq!(pipe.window.cwnd, flight, "one segment sent for each delivered");
    pipe.bbr.on_rate_sample(&sample(at + 2 * MSS, at - MSS, flight), &view, &mut pipe.window);
    assert_eq!(pipe.window.cwnd, before);
}
