//! Sessions of `tandem reproduce lwi --on kernel` with the player's page in Chromium.

use crate::chromium::Browser;
use crate::output::Terminal;
use crate::progress;
use capture::Summary;
use experiments::parallel;
use papers::lwi::calibration::Calibration;
use papers::lwi::{BrowserRun, Plan, Run};
use playback::Record;
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testbed::ProxySetup;

/// Number of browsers at once. A browser also decodes and renders.
const CONCURRENT_PAGES: NonZeroUsize = NonZeroUsize::new(2).expect("it is not zero");
/// Seed of the links that the page is played over.
const SEED: u64 = 1;

/// Plays each row of the paper once. Failed sessions are noted and left out, and those that a signal
/// ends.
pub(super) fn pages(
    browser: &Browser,
    calibration: &Calibration,
    plans: &[(Plan, Experiment)],
    setup: ProxySetup,
    stop: &Arc<AtomicBool>,
    terminal: Terminal,
) -> Vec<(BrowserRun, Record)> {
    // No agent receives the CMCD of the page, so policies cannot be used.
    let played = |plan: &Plan| plan.seed == SEED && plan.setup.policy.is_none();
    let plans: Vec<&(Plan, Experiment)> = plans.iter().filter(|(plan, _)| played(plan)).collect();
    let bar = progress::bar(terminal, plans.len() as u64, "in Chromium");
    let done = |done| bar.set_position(done as u64);
    let seen = parallel::map(CONCURRENT_PAGES, &plans, &done, |(plan, experiment)| {
        browser.play(plan.clip, experiment, calibration.buffer, setup, stop)
    });
    bar.finish_and_clear();
    let mut pages = Vec::new();
    for ((plan, _), seen) in plans.into_iter().zip(seen) {
        match seen {
            Ok(seen) => {
                let outcome = &seen.emulated.outcome;
                let counted = |path: usize| outcome.paths.get(path).map_or(0, |path| path.payload_down_bytes);
                let run = Run::from_record(&seen.record, [counted(0), counted(1)]);
                let run = Run { captured: Some(payload_down(outcome, &seen.summary)), ..run };
                pages.push((BrowserRun { plan: plan.clone(), run }, seen.record));
            }
            Err(_) if stop.load(Ordering::Relaxed) => {}
            Err(failure) => {
                let row = format!("{}, {}", plan.clip.name(), plan.setup.access.name());
                terminal.note(&format!("{row}: {}\n", failure.to_text()));
            }
        }
    }
    pages
}

/// Payload bytes to the device over the first two paths, by the capture.
pub(super) fn payload_down(outcome: &Outcome, summary: &Summary) -> [u64; 2] {
    let payload =
        |path: usize| outcome.paths.get(path).map_or(0, |path| summary.payload_down_bytes(&path.name));
    [payload(0), payload(1)]
}
