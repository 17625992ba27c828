//! Progress bars on terminals.

use crate::output::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar on stderr, hidden in pipes and with `--quiet`.
pub(crate) fn bar(terminal: Terminal, steps: u64, what: &str) -> ProgressBar {
    let target =
        if terminal.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_message(what.to_owned());
    bar
}
