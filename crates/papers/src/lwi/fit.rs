//! Fit of the [`Calibration`]: links and player to the rows of Table III with one link, in a fluid
//! model first and then on packets; the coupling to the rows with both links.

use super::calibration::{Calibration, parameters, process_of};
use super::fluid;
use super::measure::Run;
use super::model::{self, SESSION_TIMEOUT, Setup};
use super::paper::{Access, Clip, PROXY_TO_SERVER_MS, mos_ratio_wifi_to_lte, round_trip, stalls};
use experiments::parallel;
use mptcp::SchedulerKind;
use std::num::NonZeroUsize;
use units::{Duration, Instant, Rng, Seed};

/// Sessions of each trial, and packet-level runs of each row.
const SESSIONS: u64 = 200;
/// Trials of each link.
const TRIALS: usize = 200;
/// Rounds of the refinement on packets.
const ROUNDS: usize = 3;
/// Buffers to try, in seconds: up to nearly the whole video.
const BUFFERS_S: [u64; 9] = [8, 10, 12, 16, 20, 24, 30, 40, 60];
/// Buffers at the end of a stall to try, in seconds: multiples of a segment.
const RESUMES_S: [u64; 3] = [2, 4, 6];
/// Initial values of both links.
const STARTS: [[f64; 5]; 2] = [[16.0, 2.0, 8.0, 8.0, 0.3], [30.0, 1.5, 16.0, 16.0, 0.3]];
/// Couplings to try.
const COUPLINGS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Bounds of the values, for the report.
pub(super) const BUFFER_BOUNDS_S: [f64; 2] = [8.0, 60.0];
pub(super) const RESUME_BOUNDS_S: [f64; 2] = [2.0, 6.0];
pub(super) const COUPLING_BOUNDS: [f64; 2] = [0.0, 1.0];
/// Number of steps that [`fit`] reports.
pub const STEPS: usize = BUFFERS_S.len() * RESUMES_S.len() + 2 * ROUNDS + COUPLINGS.len();

const LINKS: [Access; 2] = [Access::Wifi, Access::Lte];

/// Stalls per session, their mean length in seconds, and the MOS in 4K of one row of Table III.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    stalls: [f64; 2],
    mean_s: [f64; 2],
    mos_4k: f64,
}

impl Figures {
    /// The paper's figures. It prints the ratio of two MOS only, so that of LTE is 1.
    fn printed(access: Access) -> Self {
        let rows = Clip::ALL.map(|clip| stalls(access, clip));
        let mos_4k = if access == Access::Wifi { mos_ratio_wifi_to_lte() } else { 1.0 };
        Self { stalls: rows.map(|row| row.0), mean_s: rows.map(|row| row.1), mos_4k }
    }

    /// Each figure as `of` combines it with another's.
    fn zip(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let both = |a: [f64; 2], b: [f64; 2]| [of(a[0], b[0]), of(a[1], b[1])];
        Self {
            stalls: both(self.stalls, other.stalls),
            mean_s: both(self.mean_s, other.mean_s),
            mos_4k: of(self.mos_4k, other.mos_4k),
        }
    }

    /// Sum of the squared logarithms of the ratios of stalls and lengths.
    fn distance(&self, target: &Self) -> f64 {
        let apart = self.zip(target, |a, b| libm::log(a.max(0.01) / b));
        apart.stalls.iter().chain(&apart.mean_s).map(|x| x * x).sum()
    }
}

/// Distance of both links' figures, with that of the ratio of their MOS.
fn distance(found: &[Figures; 2], targets: &[Figures; 2]) -> f64 {
    let ratio = |figures: &[Figures; 2]| figures[0].mos_4k / figures[1].mos_4k;
    let apart = libm::log(ratio(found) / ratio(targets));
    found[0].distance(&targets[0]) + found[1].distance(&targets[1]) + apart * apart
}

/// Repeats the fit; `progress` receives the number of finished [`STEPS`].
///
/// For each buffer and resume, a random local search varies the other parameters of both links over
/// fluid sessions with fixed seeds. The best combination is refined: packet-level runs show how far
/// the fluid model is off, its targets are corrected by that ratio, and the search continues. The
/// result is the candidate that is nearest to the paper on packets. The coupling is then that of
/// `COUPLINGS` which comes nearest to the rows with both links.
pub fn fit(jobs: NonZeroUsize, progress: &(dyn Fn(usize) + Sync)) -> Calibration {
    let printed = LINKS.map(Figures::printed);
    let players: Vec<(u64, u64)> =
        BUFFERS_S.iter().flat_map(|&buffer| RESUMES_S.map(|resume| (buffer, resume))).collect();
    let found = parallel::map(jobs, &players, progress, |&(buffer, resume)| {
        // Playback resumes before the buffer is full.
        if resume + model::SEGMENT.as_millis() / 1000 > buffer {
            return (f64::INFINITY, start(buffer, resume, STARTS[0]));
        }
        // A second start reduces the risk of a poor local minimum.
        let starts = STARTS.map(|link| search(&start(buffer, resume, link), &printed, TRIALS));
        if starts[1].0 < starts[0].0 { starts[1] } else { starts[0] }
    });
    let nearest = |a: &(f64, Calibration), b: &(f64, Calibration)| a.0.total_cmp(&b.0);
    let mut at = found.into_iter().min_by(nearest).map_or_else(|| start(8, 2, STARTS[0]), |best| best.1);
    let mut candidates = Vec::new();
    let mut done = players.len();
    for _ in 0..ROUNDS {
        let packets = LINKS.map(|access| on_packets(&at, access, jobs));
        candidates.push((distance(&packets, &printed), at));
        progress(done + 1);
        let fluid = LINKS.map(|access| in_fluid(&at, access));
        let corrected =
            [0, 1].map(|i| printed[i].zip(&fluid[i].zip(&packets[i], |a, b| a / b), |p, r| p * r));
        at = search(&at, &corrected, TRIALS).1;
        done += 2;
        progress(done);
    }
    let packets = LINKS.map(|access| on_packets(&at, access, jobs));
    candidates.push((distance(&packets, &printed), at));
    let best = candidates.into_iter().min_by(nearest).map_or(at, |best| best.1);
    let both = Figures::printed(Access::Both);
    let coupled = COUPLINGS.map(|coupling| {
        let at = Calibration { coupling, ..best };
        let off = on_packets(&at, Access::Both, jobs).distance(&both);
        done += 1;
        progress(done);
        (off, at)
    });
    coupled.into_iter().min_by(nearest).map_or(best, |best| best.1)
}

/// A calibration with this buffer and resume, and these initial values for both links.
fn start(buffer: u64, resume: u64, link: [f64; 5]) -> Calibration {
    let link = |access| process_of(link, access);
    Calibration {
        wifi: link(Access::Wifi),
        lte: link(Access::Lte),
        coupling: 0.0,
        buffer: Duration::from_secs(buffer),
        startup: model::SEGMENT,
        resume: Duration::from_secs(resume),
    }
}

/// Random local search from `start` with this number of trials for each link: distance and
/// calibration of the best trial.
fn search(start: &Calibration, targets: &[Figures; 2], trials: usize) -> (f64, Calibration) {
    let mut rng = Seed::new(1).rng("fit");
    let mut at = *start;
    let mut figures = LINKS.map(|access| in_fluid(&at, access));
    let mut best = distance(&figures, targets);
    let mut steps = [0.4; 2];
    for trial in 0..2 * trials {
        let link = trial % 2;
        let other = moved(&at, LINKS[link], steps[link], &mut rng);
        let mut candidate = figures;
        candidate[link] = in_fluid(&other, LINKS[link]);
        let error = distance(&candidate, targets);
        if error < best {
            (best, at, figures, steps[link]) = (error, other, candidate, (steps[link] * 1.3_f64).min(0.6));
        } else {
            steps[link] = (steps[link] * 0.97).max(0.02);
        }
    }
    (best, at)
}

/// The calibration with other parameters of one link, by a random step.
fn moved(at: &Calibration, access: Access, step: f64, rng: &mut Rng) -> Calibration {
    let [good, bad, good_s, bad_s, spread] = parameters(&at.process(access));
    let [good, bad, good_s, bad_s] =
        [good, bad, good_s, bad_s].map(|value| value * libm::exp(step * rng.normal()));
    let spread = spread + 0.5 * step * rng.normal();
    let process = process_of([good, bad, good_s, bad_s, spread], access);
    if access == Access::Lte {
        Calibration { lte: process, ..*at }
    } else {
        Calibration { wifi: process, ..*at }
    }
}

/// Figures of one link in the fluid model.
fn in_fluid(calibration: &Calibration, access: Access) -> Figures {
    let latency = Duration::from_secs_f64((round_trip(access).avg + PROXY_TO_SERVER_MS) * 1e-3);
    let process = calibration.process(access);
    let draws: Vec<_> = (1..=SESSIONS)
        .map(|seed| process.draw(SESSION_TIMEOUT, Seed::new(seed).derive(access.name())))
        .collect();
    figures(&Clip::ALL.map(|clip| {
        let video = model::video(clip, calibration);
        let each = draws.iter().map(|steps| {
            let session = fluid::session(&video, steps, latency, Instant::ZERO + SESSION_TIMEOUT);
            Viewed {
                stalls: session.stalls.len(),
                stalled_s: session.stalls.iter().map(|stall| stall.length().as_secs_f64()).sum(),
                mos: session.kpis().mos.unwrap_or(f64::NAN),
            }
        });
        each.collect()
    }))
}

/// Figures of a row of Table III in packet-level runs.
fn on_packets(calibration: &Calibration, access: Access, jobs: NonZeroUsize) -> Figures {
    let setup = Setup::plain(access, SchedulerKind::MinRtt);
    let seeds: Vec<u64> = (1..=SESSIONS).collect();
    figures(&Clip::ALL.map(|clip| {
        let runs = parallel::map(jobs, &seeds, &|_| {}, |&seed| {
            Run::read(&sim::run(&model::experiment(&setup, clip, calibration, seed)))
        });
        let viewed = |run: Run| Viewed { stalls: run.stalls, stalled_s: run.stalled_s, mos: run.mos };
        runs.into_iter().flatten().map(viewed).collect()
    }))
}

/// A viewer's session.
#[derive(Debug, Clone, Copy)]
struct Viewed {
    stalls: usize,
    stalled_s: f64,
    mos: f64,
}

/// Figures of the sessions of each video.
fn figures(sessions: &[Vec<Viewed>; 2]) -> Figures {
    let each = sessions.each_ref().map(|all| {
        let sessions = all.len() as f64;
        let count = all.iter().map(|session| session.stalls).sum::<usize>() as f64;
        let length = all.iter().map(|session| session.stalled_s).sum::<f64>();
        let mos = all.iter().map(|session| session.mos).sum::<f64>() / sessions;
        (count / sessions, if count > 0.0 { length / count } else { 0.0 }, mos)
    });
    let [four_k, two_k] = each;
    Figures { stalls: [four_k.0, two_k.0], mean_s: [four_k.1, two_k.1], mos_4k: four_k.2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_calibration_matches_the_single_link_rows() {
        let shipped = Calibration::shipped();
        let off = distance(&LINKS.map(|access| in_fluid(&shipped, access)), &LINKS.map(Figures::printed));
        // Corresponds to nine figures with a difference of 15 % each, as packets and fluid differ.
        assert!(off < 0.2, "{off}");
    }

    #[test]
    fn distance_is_the_sum_of_squared_logarithms() {
        let printed = Figures::printed(Access::Lte);
        assert_eq!(printed.distance(&printed), 0.0);
        let longer = printed.zip(&printed, |a, _| a * libm::exp(0.1));
        assert!((longer.distance(&printed) - 0.04).abs() < 1e-12);
    }

    #[test]
    fn search_comes_nearer_and_keeps_the_player() {
        let printed = LINKS.map(Figures::printed);
        let distance_of = |at: &Calibration| distance(&LINKS.map(|access| in_fluid(at, access)), &printed);
        let start = start(12, 4, STARTS[0]);
        let (off, found) = search(&start, &printed, 20);
        assert_eq!(off, distance_of(&found));
        assert!(off < 0.9 * distance_of(&start), "{off}");
        assert_eq!((found.buffer, found.resume), (start.buffer, start.resume));
    }
}
