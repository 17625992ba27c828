//! What `tandem reproduce lwi --on kernel` plays with the player's page.

use crate::command::reproduce::split;
use crate::command::testbed::stop_on_signals;
use crate::failure::Failure;
use crate::output::Talk;
use crate::page::Browser;
use crate::progress;
use experiments::parallel;
use papers::lwi::calibration::Calibration;
use papers::lwi::{BrowserRun, Plan, Run};
use playback::Record;
use sim::Experiment;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use testbed::Edge;

/// Pages at once: a browser decodes and draws as well.
const PAGES: NonZeroUsize = NonZeroUsize::new(2).expect("it is not zero");
/// Whose links the page is played over.
const SEED: u64 = 1;

/// Each row once with the page. One that fails is told of and left out: the others have taken their time.
pub(super) fn pages(
    browser: &Browser,
    calibration: &Calibration,
    plans: &[(Plan, Experiment)],
    edge: Edge,
    talk: Talk,
) -> Result<Vec<(BrowserRun, Record)>, Failure> {
    // What the page says by CMCD nobody hears here, so that a policy would know nothing of it.
    let played = |plan: &Plan| plan.seed == SEED && plan.setup.policy.is_none();
    let plans: Vec<&(Plan, Experiment)> = plans.iter().filter(|(plan, _)| played(plan)).collect();
    let stop = stop_on_signals()?;
    let bar = progress::bar(talk, plans.len() as u64, "in Chromium");
    let done = |done| bar.set_position(done as u64);
    let seen = parallel::map(PAGES, &plans, &done, |(plan, experiment)| {
        browser.play(plan.clip, experiment, calibration.buffer, edge, &stop)
    });
    bar.finish_and_clear();
    let mut pages = Vec::new();
    for ((plan, _), seen) in plans.into_iter().zip(seen) {
        match seen {
            Ok(seen) => {
                let outcome = &seen.emulated.outcome;
                let counted = |path: usize| outcome.paths.get(path).map_or(0, |path| path.payload_down_bytes);
                let run = Run::from_record(&seen.record, [counted(0), counted(1)]);
                let run = Run { captured: Some(split(outcome, &seen.summary)), ..run };
                pages.push((BrowserRun { plan: plan.clone(), run }, seen.record));
            }
            Err(failure) if stop.load(Ordering::Relaxed) => return Err(failure),
            Err(failure) => {
                let row = format!("{}, {}", plan.clip.name(), plan.setup.access.name());
                talk.remark(&format!("{row}: {}\n", failure.to_text()));
            }
        }
    }
    Ok(pages)
}
