//! Shrinks a plan that fails.

use super::{Outcome, Plan, play};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// Place and message of a panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub place: String,
    pub message: String,
}

thread_local! {
    static CAUGHT: RefCell<Option<Broken>> = const { RefCell::new(None) };
    static CATCHING: RefCell<bool> = const { RefCell::new(false) };
}

/// Plays a plan and catches its panic, without printing it.
pub fn caught(plan: &Plan) -> Result<Outcome, Broken> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.with_borrow(|catching| *catching) {
                let place = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
                let words = info.payload().downcast_ref::<String>().map(String::as_str);
                let words = words.or(info.payload().downcast_ref::<&str>().copied());
                let message = words.unwrap_or("a panic without a message").to_owned();
                CAUGHT.set(Some(Broken { place, message }));
            } else {
                before(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| play(plan)));
    CATCHING.set(false);
    result.map_err(|_| CAUGHT.take().expect("the panic hook has run"))
}

/// Returns the smallest plan found that breaks at the same place, and its failure.
pub fn smallest(plan: &Plan, broken: Broken) -> (Plan, Broken) {
    let place = broken.place.clone();
    let (small, how) = smallest_by(plan, |plan| caught(plan).err().filter(|again| again.place == place));
    (small, how.unwrap_or(broken))
}

/// Returns the smallest plan found for which `breaks` returns a value, and the last value.
pub fn smallest_by<T>(plan: &Plan, mut breaks: impl FnMut(&Plan) -> Option<T>) -> (Plan, Option<T>) {
    let (mut best, mut how) = (plan.clone(), None);
    let mut tries = 3000;
    'shrink: loop {
        for candidate in candidates(&best) {
            if tries == 0 {
                break;
            }
            tries -= 1;
            if let Some(again) = breaks(&candidate) {
                (best, how) = (candidate, Some(again));
                continue 'shrink;
            }
        }
        return (best, how);
    }
}

/// Returns plans with one thing less, the largest steps first.
fn candidates(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    let count = plan.count();
    for gone in 0..count {
        if count > 1 {
            let mut less = plan.clone();
            less.paths[gone..].rotate_left(1);
            less.connection.paths = count as u64 - 1;
            less.actions.retain(|action| usize::from(action.path) < count - 1);
            all.push(less);
        }
    }
    let actions = plan.actions.len();
    let mut step = actions;
    while step > 0 {
        for from in (0..actions).step_by(step) {
            let mut less = plan.clone();
            less.actions.drain(from..(from + step).min(actions));
            all.push(less);
        }
        step /= 2;
    }
    let is_used =
        |name: &str| name != "seed" && !(count..super::PATHS).any(|i| name.starts_with(&format!("path{i}.")));
    let values: Vec<_> =
        plan.clone().numbers().into_iter().map(|(name, neutral, value)| (name, neutral, *value)).collect();
    let with = |index: usize, value: u64| {
        let mut less = plan.clone();
        *less.numbers()[index].2 = value;
        less
    };
    let changed =
        || values.iter().enumerate().filter(|(_, (name, neutral, value))| value != neutral && is_used(name));
    for (index, (_, neutral, _)) in changed() {
        all.push(with(index, *neutral));
    }
    for (index, (name, neutral, value)) in changed() {
        if name == "lies" {
            // Remove one bit.
            all.extend(
                (0..64).filter(|bit| value & (1 << bit) != 0).map(|bit| with(index, value & !(1 << bit))),
            );
            continue;
        }
        let middle = value.midpoint(*neutral);
        let near = if value > neutral { value - 1 } else { value + 1 };
        let rounded = [1_000_000, 100_000, 10_000, 1000, 100, 10].map(|unit| value / unit * unit);
        let better = |v: &u64| v.abs_diff(*neutral) < value.abs_diff(*neutral);
        let mut steps: Vec<u64> = [middle, near].into_iter().chain(rounded).filter(better).collect();
        steps.sort_by_key(|v| v.abs_diff(*neutral));
        steps.dedup();
        all.extend(steps.into_iter().map(|v| with(index, v)));
    }
    for i in 0..actions {
        if plan.actions[i].at > 0 {
            let mut less = plan.clone();
            less.actions[i].at /= 2;
            if less.actions.is_sorted_by_key(|action| action.at) {
                all.push(less);
            }
        }
    }
    all
}
