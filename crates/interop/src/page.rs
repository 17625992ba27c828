//! The page that lists the plans.

use crate::case::{COMBINATIONS, Case, FIRST_SEED, cases};
use crate::catalogue::plans;
use crate::run::Outcome;
use std::fmt::Write as _;

/// Table of all plans, and the list of the omitted cases, in Markdown.
pub fn page() -> String {
    let mut text = format!("{} cases:\n\n| Plan | What happens | Cases |\n|---|---|---|\n", cases().len());
    let mut omitted = String::new();
    for plan in plans() {
        let count = cases().iter().filter(|case| case.plan.name == plan.name).count();
        _ = writeln!(text, "| `{}` | {} | {count} |", plan.name, plan.about);
        for (client, server) in COMBINATIONS {
            for v6 in [false, true] {
                let case = Case { plan, client, server, v6, seed: FIRST_SEED };
                if let Some(reason) = case.omitted() {
                    _ = writeln!(omitted, "- `{case}`: {reason}");
                }
            }
        }
    }
    format!("{text}\nLeft out:\n\n{}", omitted.trim_end())
}

/// Table of outcomes: a row for each plan, a column for each combination of hosts and version of IP.
/// `ok` passed, `FAIL` failed, `-` was left out or not selected.
pub fn matrix(outcomes: &[Outcome]) -> String {
    let width = plans().iter().map(|plan| plan.name.len()).max().unwrap_or(0);
    let mut text = format!("{:width$}", "");
    for (client, server) in COMBINATIONS {
        _ = write!(text, "  {:<14}", format!("{client}-{server}"));
    }
    _ = write!(text, "\n{:width$}", "client-server");
    text += &"  ipv4    ipv6  ".repeat(COMBINATIONS.len());
    text.truncate(text.trim_end().len());
    text.push('\n');
    for plan in plans() {
        if !outcomes.iter().any(|outcome| outcome.case.plan.name == plan.name) {
            continue;
        }
        let mut line = format!("{:width$}", plan.name);
        for (client, server) in COMBINATIONS {
            for v6 in [false, true] {
                let is_here = |outcome: &&Outcome| {
                    let case = outcome.case;
                    case.plan.name == plan.name && (case.client, case.server, case.v6) == (client, server, v6)
                };
                let here: Vec<&Outcome> = outcomes.iter().filter(is_here).collect();
                let cell = match here.iter().any(|outcome| outcome.error.is_some()) {
                    _ if here.is_empty() => "-",
                    true => "FAIL",
                    false => "ok",
                };
                _ = write!(line, "  {cell:<6}");
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
