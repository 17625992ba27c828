//! Progress on a terminal, and none in a pipe.

use crate::output::Talk;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of so many steps on stderr; hidden where that is no terminal, and with `--quiet`.
pub(crate) fn bar(talk: Talk, steps: u64, what: &str) -> ProgressBar {
    let target = if talk.quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_message(what.to_owned());
    bar
}
