//! BBR, version 1: draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017), over
//! draft-cheng-iccrg-delivery-rate-estimation-00. Section numbers refer to the former.
//!
//! BBR keeps a model of the path: the highest delivery rate of ten round trips and the lowest RTT
//! of ten seconds. It paces at about that rate and keeps about twice their product in flight. A
//! loss only starts a round of packet conservation. `docs/design/bbr.md` lists the differences from
//! the draft.

mod max_filter;

use super::{CongestionControl, Coupling, RateSample, SubflowView, Window};
use max_filter::MaxFilter;
use units::{Duration, Instant};

/// Gain in STARTUP: 2/ln 2, the lowest that doubles the rate each round (section 4.3.2).
const HIGH_GAIN: f64 = 2.885;
/// Pacing gains of the phases of PROBE_BW (section 4.3.4.2).
const PROBE_BW_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// RTpropFilterLen (section 4.1.2.3).
const RTPROP_FILTER_LEN: Duration = Duration::from_secs(10);
/// BtlBwFilterLen in round trips (section 4.1.1.3).
const BANDWIDTH_FILTER_ROUNDS: u64 = 10;
/// Time spent at the minimum window in PROBE_RTT (section 4.3.5).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// BBRMinPipeCwnd, in segments.
const MIN_WINDOW_SEGMENTS: u64 = 4;

/// State machine (section 4.3.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Startup,
    Drain,
    /// In `phase` of the gain cycle since `since`.
    ProbeBw {
        phase: usize,
        since: Instant,
    },
    /// At the minimum window until `until`, set once the flight size is down, and for a whole
    /// round.
    ProbeRtt {
        until: Option<Instant>,
        round_done: bool,
    },
}

/// The path model and the state machine.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    pub(super) state: State,
    /// BtlBw, in bytes per second.
    bandwidth: MaxFilter,
    rtprop: Duration,
    rtprop_at: Instant,
    /// Nothing was in flight before the data that is acknowledged next (section 4.3.4.4).
    idle_restart: bool,
    /// Packet-timed round trips so far (section 4.1.1.1).
    round: u64,
    /// The round ends with the first segment sent after so many bytes were delivered.
    round_ends: u64,
    /// Bandwidth at the last growth by a quarter; three rounds without one fill the pipe (section
    /// 4.3.2.2).
    full_bandwidth: f64,
    full_rounds: u32,
    is_full: bool,
    /// In bytes per second; zero before the first RTT sample.
    pacing_rate: f64,
    /// Window before recovery or PROBE_RTT.
    prior_window: u64,
    recovering: bool,
    /// Packet conservation, in the first round of a recovery: until the segments sent after so many
    /// delivered bytes are acknowledged.
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
            idle_restart: false,
            round: 0,
            round_ends: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
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
            State::ProbeBw { phase, .. } => PROBE_BW_GAINS[phase],
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

    /// Returns `gain` times the bandwidth-delay product in bytes, without the quanta of section
    /// 4.2.3.2.
    fn inflight(&self, gain: f64) -> Option<f64> {
        (self.rtprop < Duration::MAX && self.bandwidth.get() > 0.0)
            .then(|| gain * self.bandwidth.get() * self.rtprop.as_secs_f64())
    }

    /// Returns the burst size in bytes (section 4.2.2).
    fn send_quantum(&self, mss: u64) -> u64 {
        if self.pacing_rate < 150e3 {
            mss
        } else if self.pacing_rate < 3e6 {
            2 * mss
        } else {
            ((self.pacing_rate * 1e-3) as u64).min(64 << 10)
        }
    }

    /// Updates the round count and the bandwidth (section 4.1.1). Returns true if a round begins.
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
                self.bandwidth.update(self.round, rate, BANDWIDTH_FILTER_ROUNDS);
            }
        }
        begins
    }

    /// Decides whether STARTUP has filled the pipe (section 4.3.2.2).
    fn check_full_pipe(&mut self, begins: bool, sample: &RateSample) {
        if self.is_full || !begins || sample.app_limited {
            return;
        }
        if self.bandwidth.get() >= 1.25 * self.full_bandwidth {
            self.full_bandwidth = self.bandwidth.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= 3;
    }

    fn enter_probe_bw(&mut self, now: Instant) {
        // Any phase but the draining one. The draft draws it at random; the clock keeps runs
        // repeatable.
        let drawn = (now.as_nanos() / 1000 % 7) as usize;
        let phase = if drawn == 0 { 0 } else { drawn + 1 };
        self.state = State::ProbeBw { phase, since: now };
    }

    /// Leaves STARTUP, DRAIN or a phase of PROBE_BW when it is over (sections 4.3.3 and 4.3.4.3).
    fn advance_state(&mut self, sample: &RateSample, now: Instant) {
        let bdp = self.inflight(1.0).unwrap_or(f64::MAX);
        match self.state {
            State::Startup if self.is_full => self.state = State::Drain,
            State::Drain if sample.in_flight as f64 <= bdp => self.enter_probe_bw(now),
            State::ProbeBw { phase, since } => {
                let before = (sample.in_flight + sample.newly_delivered + sample.newly_lost) as f64;
                let elapsed = now.since(since) > self.rtprop;
                let gain = PROBE_BW_GAINS[phase];
                let over = if gain > 1.0 {
                    elapsed && (sample.newly_lost > 0 || before >= gain * bdp)
                } else {
                    elapsed || (gain < 1.0 && before <= bdp)
                };
                if over {
                    self.state = State::ProbeBw { phase: (phase + 1) % PROBE_BW_GAINS.len(), since: now };
                }
            }
            _ => {}
        }
    }

    /// Updates RTprop, and enters and leaves PROBE_RTT (sections 4.1.2.3 and 4.3.5).
    fn update_rtprop(&mut self, sample: &RateSample, view: &SubflowView, begins: bool, window: &mut Window) {
        let now = view.now;
        // Before the first sample nothing has expired, whatever the clock says.
        let expired = self.rtprop < Duration::MAX && now.since(self.rtprop_at) > RTPROP_FILTER_LEN;
        if let Some(rtt) = sample.rtt
            && (rtt <= self.rtprop || expired)
        {
            (self.rtprop, self.rtprop_at) = (rtt, now);
        }
        // After an idle time the queue is empty: the sample above measures the path without a probe.
        let idle_restart = core::mem::take(&mut self.idle_restart);
        if expired && !idle_restart && !matches!(self.state, State::ProbeRtt { .. }) {
            self.prior_window = self.saved_window(window);
            self.state = State::ProbeRtt { until: None, round_done: false };
        }
        if let State::ProbeRtt { until, round_done } = &mut self.state {
            match until {
                None if sample.in_flight <= MIN_WINDOW_SEGMENTS * view.mss => {
                    *until = Some(now + PROBE_RTT_DURATION);
                    self.round_ends = sample.delivered;
                }
                Some(until) => {
                    *round_done |= begins;
                    if *round_done && now >= *until {
                        self.rtprop_at = now;
                        window.cwnd = window.cwnd.max(self.prior_window);
                        if self.is_full {
                            self.enter_probe_bw(now);
                        } else {
                            self.state = State::Startup;
                        }
                    }
                }
                None => {}
            }
        }
    }

    /// BBRSaveCwnd (section 4.2.3.4).
    fn saved_window(&self, window: &Window) -> u64 {
        if self.recovering || matches!(self.state, State::ProbeRtt { .. }) {
            self.prior_window.max(window.cwnd)
        } else {
            window.cwnd
        }
    }

    /// Sets the pacing rate (section 4.2.1).
    fn set_pacing_rate(&mut self, view: &SubflowView, window: &Window) {
        let gain = self.pacing_gain();
        let mut bandwidth = self.bandwidth.get();
        if bandwidth == 0.0 {
            let srtt = view.srtt.as_secs_f64().max(1e-3);
            bandwidth = window.cwnd as f64 / srtt;
        }
        let rate = gain * bandwidth;
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Sets the window (sections 4.2.3.4 to 4.2.3.6).
    fn set_window(&mut self, sample: &RateSample, view: &SubflowView, window: &mut Window) {
        let least = MIN_WINDOW_SEGMENTS * view.mss;
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
        } else if let Some(pipe) = self.inflight(self.window_gain()) {
            let target = pipe as u64 + 3 * self.send_quantum(view.mss);
            if self.is_full {
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
        self.prior_window = self.saved_window(window);
        self.recovering = true;
        // A round starts here.
        self.round_ends = self.delivered;
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _: u64, _: &SubflowView, _: &Coupling, _: &mut Window) {}

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        self.begin_recovery(window);
        self.conserve_until = Some(self.delivered.max(1));
        window.ssthresh = view.in_flight.min(window.cwnd).max(MIN_WINDOW_SEGMENTS * view.mss);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        self.begin_recovery(window);
        self.conserve_until = None;
        window.ssthresh = view.in_flight.min(window.cwnd).max(MIN_WINDOW_SEGMENTS * view.mss);
        window.cwnd = view.mss;
    }

    fn on_rate_sample(&mut self, sample: &RateSample, view: &SubflowView, window: &mut Window) {
        self.delivered = sample.delivered;
        let begins = self.update_bandwidth(sample);
        self.check_full_pipe(begins, sample);
        self.advance_state(sample, view.now);
        self.update_rtprop(sample, view, begins, window);
        self.set_pacing_rate(view, window);
        self.set_window(sample, view, window);
    }

    /// Section 4.3.4.4: sends at the estimated bandwidth until the next acknowledgement.
    fn on_restart(&mut self) {
        self.idle_restart = true;
        if let State::ProbeBw { .. } = self.state {
            self.pacing_rate = self.bandwidth.get();
        }
    }

    fn uses_rate_samples(&self) -> bool {
        true
    }

    /// Section 4.3.5: low samples of PROBE_RTT are not those of the path.
    fn limits_itself(&self) -> bool {
        matches!(self.state, State::ProbeRtt { .. })
    }

    fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate > 0.0).then_some(self.pacing_rate as u64)
    }

    /// Version 1 ignores ECN.
    fn on_ecn(&mut self, _: &SubflowView, _: &mut Window) {}

    fn on_spurious_reduction(&mut self, _: bool) {
        self.conserve_until = None;
    }
}

#[cfg(test)]
mod tests;
