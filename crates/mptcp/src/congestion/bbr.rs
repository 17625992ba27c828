//! BBR, version 1: draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017), which section numbers
//! here are of, over draft-cheng-iccrg-delivery-rate-estimation-00.
//!
//! It keeps a model of the path (the highest delivery rate of ten round trips, the lowest round trip of
//! ten seconds), paces at about that rate, and keeps about twice their product in flight. Loss is no
//! signal, apart from packet conservation for a round.
//!
//! Version 1 and not 3 (draft-ietf-ccwg-bbr): it is what most published comparisons measured, and what
//! Linux has. Not here: long-term sampling of policers, and the restart from idle (section 4.3.4.4),
//! which the sender's own rule stands for. The first phase of a cycle, random in the draft, is drawn
//! from the clock, so that one seed gives one run.

mod max_filter;

use super::{CongestionControl, Coupling, RateSample, View, Window};
use max_filter::MaxFilter;
use units::{Duration, Instant};

/// 2/ln 2: the lowest gain that doubles the rate each round (section 4.3.2).
const HIGH_GAIN: f64 = 2.885;
/// Section 4.3.4.2: one phase up, one down, six level.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// RTpropFilterLen, section 4.1.2.3.
const RTPROP_WINDOW: Duration = Duration::from_secs(10);
/// BtlBwFilterLen in round trips, section 4.1.1.3.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Section 4.3.5.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// BBRMinPipeCwnd, in segments.
const LEAST_WINDOW: u64 = 4;

/// Section 4.3.1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Startup,
    Drain,
    /// In this phase of the cycle since then.
    ProbeBw {
        phase: usize,
        since: Instant,
    },
    /// Once what is in flight is down: until then, and for a whole round.
    ProbeRtt {
        until: Option<Instant>,
        round_done: bool,
    },
}

/// The model and the machine that uses it.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    pub(super) state: State,
    /// BtlBw, bytes per second.
    bandwidth: MaxFilter,
    rtprop: Duration,
    rtprop_at: Instant,
    /// Round trips, counted by delivery (section 4.1.1.1).
    round: u64,
    round_ends: u64,
    /// Section 4.3.2.2: the pipe is full where three rounds brought less than a quarter more.
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    /// Bytes per second; zero before the first round trip was measured.
    pacing_rate: f64,
    /// The window before recovery or PROBE_RTT.
    prior_window: u64,
    /// In recovery, and for its first round at no more than what is delivered.
    recovering: bool,
    conserve_until: Option<u64>,
    delivered: u64,
}

impl Default for Bbr {
    fn default() -> Self {
        Self {
            state: State::Startup,
            bandwidth: MaxFilter::default(),
            rtprop: Duration::MAX,
            rtprop_at: Instant::ZERO,
            round: 0,
            round_ends: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full: false,
            pacing_rate: 0.0,
            prior_window: 0,
            recovering: false,
            conserve_until: None,
            delivered: 0,
        }
    }
}

impl Bbr {
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw { phase, .. } => CYCLE[phase],
            State::ProbeRtt { .. } => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw { .. } => 2.0,
            State::ProbeRtt { .. } => 1.0,
        }
    }

    /// Section 4.2.3.2, without the quanta: what fills the pipe `gain` times over, in bytes.
    fn pipe(&self, gain: f64) -> Option<f64> {
        (self.rtprop < Duration::MAX && self.bandwidth.get() > 0.0)
            .then(|| gain * self.bandwidth.get() * self.rtprop.as_secs_f64())
    }

    /// Section 4.2.2: how much is sent at once.
    fn quantum(&self, mss: u64) -> u64 {
        if self.pacing_rate < 150e3 {
            mss
        } else if self.pacing_rate < 3e6 {
            2 * mss
        } else {
            ((self.pacing_rate * 1e-3) as u64).min(64 << 10)
        }
    }

    /// Section 4.1.1: the round, and the bandwidth. True where a round begins.
    fn update_bandwidth(&mut self, sample: &RateSample) -> bool {
        let begins = sample.newly_delivered > 0 && sample.prior_delivered >= self.round_ends;
        if begins {
            self.round_ends = sample.delivered;
            self.round += 1;
        }
        if !sample.interval.is_zero() {
            let bytes = sample.delivered.saturating_sub(sample.prior_delivered) as f64;
            let rate = bytes / sample.interval.as_secs_f64();
            if !sample.app_limited || rate >= self.bandwidth.get() {
                self.bandwidth.update(self.round, rate, BANDWIDTH_ROUNDS);
            }
        }
        begins
    }

    /// Section 4.3.2.2.
    fn check_full(&mut self, begins: bool, sample: &RateSample) {
        if self.full || !begins || sample.app_limited {
            return;
        }
        if self.bandwidth.get() >= 1.25 * self.full_bandwidth {
            self.full_bandwidth = self.bandwidth.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= 3;
    }

    fn probe_bandwidth(&mut self, now: Instant) {
        // Any phase but the one that drains.
        let drawn = (now.as_nanos() / 1000 % 7) as usize;
        let phase = if drawn == 0 { 0 } else { drawn + 1 };
        self.state = State::ProbeBw { phase, since: now };
    }

    /// Sections 4.3.3 and 4.3.4.3.
    fn move_on(&mut self, sample: &RateSample, now: Instant) {
        let level = self.pipe(1.0).unwrap_or(f64::MAX);
        match self.state {
            State::Startup if self.full => self.state = State::Drain,
            State::Drain if sample.in_flight as f64 <= level => self.probe_bandwidth(now),
            State::ProbeBw { phase, since } => {
                let before = (sample.in_flight + sample.newly_delivered + sample.newly_lost) as f64;
                let whole = now.since(since) > self.rtprop;
                let gain = CYCLE[phase];
                let over = if gain > 1.0 {
                    whole && (sample.newly_lost > 0 || before >= gain * level)
                } else {
                    whole || (gain < 1.0 && before <= level)
                };
                if over {
                    self.state = State::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: now };
                }
            }
            _ => {}
        }
    }

    /// Sections 4.1.2.3 and 4.3.5.
    fn update_rtprop(&mut self, sample: &RateSample, view: &View, begins: bool, window: &mut Window) {
        let now = view.now;
        let expired = now.since(self.rtprop_at) > RTPROP_WINDOW;
        if let Some(rtt) = sample.rtt
            && (rtt <= self.rtprop || expired)
        {
            (self.rtprop, self.rtprop_at) = (rtt, now);
        }
        if expired && !matches!(self.state, State::ProbeRtt { .. }) {
            self.prior_window = self.window_to_keep(window);
            self.state = State::ProbeRtt { until: None, round_done: false };
        }
        if let State::ProbeRtt { until, round_done } = &mut self.state {
            match until {
                None if sample.in_flight <= LEAST_WINDOW * view.mss => {
                    *until = Some(now + PROBE_RTT_TIME);
                    self.round_ends = sample.delivered;
                }
                Some(until) => {
                    *round_done |= begins;
                    if *round_done && now >= *until {
                        self.rtprop_at = now;
                        window.cwnd = window.cwnd.max(self.prior_window);
                        if self.full {
                            self.probe_bandwidth(now);
                        } else {
                            self.state = State::Startup;
                        }
                    }
                }
                None => {}
            }
        }
    }

    /// BBRSaveCwnd, section 4.2.3.4.
    fn window_to_keep(&self, window: &Window) -> u64 {
        if self.recovering || matches!(self.state, State::ProbeRtt { .. }) {
            self.prior_window.max(window.cwnd)
        } else {
            window.cwnd
        }
    }

    /// Section 4.2.1.
    fn set_pacing_rate(&mut self, view: &View, window: &Window) {
        let gain = self.pacing_gain();
        let mut bandwidth = self.bandwidth.get();
        if bandwidth == 0.0 {
            let srtt = view.srtt.as_secs_f64().max(1e-3);
            bandwidth = window.cwnd as f64 / srtt;
        }
        let rate = gain * bandwidth;
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Sections 4.2.3.4 to 4.2.3.6.
    fn set_window(&mut self, sample: &RateSample, view: &View, window: &mut Window) {
        let least = LEAST_WINDOW * view.mss;
        if self.recovering && !view.recovering {
            self.recovering = false;
            self.conserve_until = None;
            window.cwnd = window.cwnd.max(self.prior_window);
        }
        if self.conserve_until.is_some_and(|end| sample.prior_delivered >= end) {
            self.conserve_until = None;
        }
        let acked = sample.newly_delivered;
        if self.conserve_until.is_some() {
            window.cwnd = window.cwnd.max(sample.in_flight + acked);
        } else if let Some(pipe) = self.pipe(self.window_gain()) {
            let target = pipe as u64 + 3 * self.quantum(view.mss);
            if self.full {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || sample.delivered < 10 * view.mss {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(least);
        } else {
            window.cwnd += acked;
        }
        if let State::ProbeRtt { .. } = self.state {
            window.cwnd = window.cwnd.min(least);
        }
    }

    fn begin_recovery(&mut self, window: &Window) {
        self.prior_window = self.window_to_keep(window);
        self.recovering = true;
        // A round from here on.
        self.round_ends = self.delivered;
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _: u64, _: &View, _: &Coupling, _: &mut Window) {}

    fn on_loss(&mut self, view: &View, window: &mut Window) {
        self.begin_recovery(window);
        self.conserve_until = Some(self.delivered.max(1));
        window.ssthresh = view.in_flight.min(window.cwnd).max(LEAST_WINDOW * view.mss);
    }

    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        self.begin_recovery(window);
        self.conserve_until = None;
        window.ssthresh = view.in_flight.min(window.cwnd).max(LEAST_WINDOW * view.mss);
        window.cwnd = view.mss;
    }

    fn on_sample(&mut self, sample: &RateSample, view: &View, window: &mut Window) {
        self.delivered = sample.delivered;
        let begins = self.update_bandwidth(sample);
        self.check_full(begins, sample);
        self.move_on(sample, view.now);
        self.update_rtprop(sample, view, begins, window);
        self.set_pacing_rate(view, window);
        self.set_window(sample, view, window);
    }

    fn wants_samples(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate > 0.0).then_some(self.pacing_rate as u64)
    }

    /// Version 1 does not look at marks.
    fn on_ecn(&mut self, _: &View, _: &mut Window) {}

    fn on_undo(&mut self, _: bool) {
        self.conserve_until = None;
    }
}

#[cfg(test)]
mod tests;
