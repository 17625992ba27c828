//! Results of a run, as a simulation reports them.

use crate::run_controller::RunController;
use crate::traffic::Progress;
use crate::{Error, Outcome};
use radio::Meter;
use sim::{BackgroundOutcome, ConnectionOutcome, DeviceOutcome, Distribution, Experiment, Received};
use std::sync::atomic::Ordering;
use traffic::{Direction, TrafficConfig};
use units::Instant;

impl RunController<'_> {
    /// Collects the results at the end of the run.
    pub(crate) fn outcome(&mut self) -> Result<Outcome, Error> {
        self.monitor.sample(self.topology)?;
        self.write_capture()?;
        let shortened = self
            .ended_at
            .map(|at| Experiment { duration: at.since(Instant::ZERO), ..self.experiment.clone() });
        let experiment = shortened.as_ref().unwrap_or(self.experiment);
        let connections = self.connection_outcomes(experiment)?;
        let (mut network, _) = self.shared.lock();
        // Not to the present: a capture takes time after the end.
        network.advance(Instant::ZERO + experiment.duration);
        let mut paths = Vec::new();
        let mut timelines = Vec::new();
        for (path, spec) in experiment.paths.iter().enumerate() {
            let totals = network.totals(path, self.monitor.retransmissions(path));
            paths.push(totals.outcome(spec, experiment.duration, network.middleboxes(path)));
            timelines.push(totals.timeline(spec));
        }
        let meters: Vec<&Meter> = network.paths().iter().map(|counts| &counts.meters[0]).collect();
        let device = DeviceOutcome::of(experiment, &meters, &connections, self.steering.policy_changes());
        Ok(Outcome {
            seed: experiment.seed.get(),
            duration_s: experiment.duration.as_secs_f64(),
            device,
            connections,
            paths,
            background: network
                .background()
                .iter()
                .map(|flow| BackgroundOutcome::of(flow, experiment))
                .collect(),
            deliveries: Vec::new(),
            segments: network.segments(),
            series: std::mem::take(&mut self.series),
            timelines,
            capture: if self.capture.is_some() { None } else { network.take_capture() },
        })
    }

    /// Collects the results of all connections, and ends the sessions of viewers. `experiment` has
    /// the duration of the run.
    fn connection_outcomes(&self, experiment: &Experiment) -> Result<Vec<ConnectionOutcome>, Error> {
        let mut connections = Vec::new();
        for (i, (flow, traffic)) in self.flows.iter().zip(&experiment.traffic).enumerate() {
            let status = flow.progress.status();
            if let Some(at) = status.mismatch {
                return Err(Error::Corrupted { connection: i + 1, at });
            }
            // A run that ends early does not cut the playback of a complete video.
            let duration = if status.complete { self.experiment.duration } else { experiment.duration };
            let video = flow.progress.finish_session(Instant::ZERO + duration);
            let outcome = connection_outcome(experiment, traffic, &flow.progress);
            let [delay, jitter] =
                video.as_ref().map_or_else(|| flow.progress.delay_outcome(), sim::video_delays);
            connections.push(ConnectionOutcome { delay, jitter, video, ..outcome });
        }
        Ok(connections)
    }
}

/// Results of a connection, without its delays and its video session.
fn connection_outcome(
    experiment: &Experiment,
    traffic: &TrafficConfig,
    progress: &Progress,
) -> ConnectionOutcome {
    let status = progress.status();
    let delivered = progress.delivered.load(Ordering::Relaxed);
    let received = Received {
        bytes: delivered,
        last_byte: (delivered > 0).then(|| progress.last_byte()),
        is_closed: status.complete && status.failed.is_none(),
    };
    ConnectionOutcome {
        kind: traffic.kind.name(),
        direction: if traffic.direction == Direction::Down { "down" } else { "up" },
        protocol: status.protocol.unwrap_or("tcp"),
        offered_bytes: status.offered,
        dropped_bytes: status.dropped,
        delivered_bytes: delivered,
        corrupted_bytes: 0,
        goodput_mbps: received.goodput_mbps(traffic, experiment.duration),
        completed_s: received.completed_s(traffic),
        peak_out_of_order_bytes: progress.peak_out_of_order(),
        repeated_bytes: None,
        message: sim::message_name(&traffic.kind),
        delay: Distribution::default(),
        jitter: Distribution::default(),
        head_of_line: None,
        failed: status.failed.is_some(),
        video: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_cut_off_by_its_stop_is_incomplete() {
        let text = "duration = '10s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
            down = { rate = '8Mbps', delay = '10ms' }\n[[traffic]]\nkind = 'file'\nsize = '3MB'\nstop = '1s'\n";
        let read = scenario::Scenario::parse("cut", text, &|_: &str| Err("no files".to_owned()));
        let experiment = read.expect("the scenario is valid").experiment;
        let progress = Progress::default();
        progress.update(|status| status.complete = true);
        progress.last_byte.store(2_000_000_000, Ordering::Relaxed);
        let outcome = |delivered| {
            progress.delivered.store(delivered, Ordering::Relaxed);
            connection_outcome(&experiment, &experiment.traffic[0], &progress)
        };
        let (cut, whole) = (outcome(1_000_000), outcome(3_000_000));
        assert_eq!((cut.completed_s, cut.goodput_mbps), (None, 4.0));
        assert_eq!((whole.completed_s, whole.goodput_mbps), (Some(2.0), 12.0));
    }
}
