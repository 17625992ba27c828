//! Rules that choose the bitrate of the next segment, one file each, and their registry.
//!
//! To add one, write its file and append its entry to [`RULES`]: names in scenarios, the
//! documentation, error messages and the tests that run every rule read this table. A rule of
//! another crate implements [`AbrRule`] and [`RuleFactory`] and plugs in by value, as in
//! `PlayerConfig::new(MyRule { .. })`.

mod bola;
mod bola_e;
mod buffer;
mod throughput;
mod view;

pub use bola::{BOLA, BOLA_BASIC};
pub use bola_e::BOLA_E;
pub use buffer::BUFFER;
pub use throughput::THROUGHPUT;
pub use view::{Choice, Progress, View};

use crate::Manifest;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;
use std::sync::Arc;
use units::Duration;

/// Every registered rule, in the order in which documentation lists them.
pub const RULES: &[RuleEntry] = &[THROUGHPUT, BOLA_BASIC, BOLA, BOLA_E, BUFFER];

/// A running rule: chooses the bitrate of each segment.
///
/// A level is an index into the manifest's bitrates, 0 being the lowest. The player calls the rule
/// in the order in which things happen; a rule has no clock of its own.
pub trait AbrRule: fmt::Debug + Send {
    /// Chooses the level of the next segment, and how long to wait before the request.
    fn choose(&mut self, view: &View<'_>) -> Choice;

    /// The player could not request a segment for `span`, because its buffer was full.
    fn on_idle(&mut self, span: Duration) {
        let _ = span;
    }

    /// A segment of `level` arrived `span` after its request. `buffer` does not include it yet.
    fn on_segment(&mut self, level: usize, span: Duration, buffer: Duration) {
        let _ = (level, span, buffer);
    }

    /// The lower level in which to request a segment again, if that is better than to wait for the
    /// rest of the download.
    fn replacement(&self, view: &View<'_>, progress: &Progress) -> Option<usize> {
        let _ = (view, progress);
        None
    }

    /// The player requested a segment again, in `level`.
    fn on_replaced(&mut self, level: usize, buffer: Duration) {
        let _ = (level, buffer);
    }
}

/// Parameters of a rule, from which the running [`AbrRule`] is built.
pub trait RuleFactory: fmt::Debug + Send + Sync {
    /// Name of the rule with its parameters. Results show it, and two rules are equal if it is.
    fn name(&self) -> &str;

    /// Builds the rule for a video and a player whose buffer holds `max_buffer` at most.
    fn build(&self, manifest: &Manifest, max_buffer: Duration) -> Box<dyn AbrRule>;
}

/// A rule for a [`PlayerConfig`](crate::PlayerConfig); cheap to clone.
///
/// Parsed from the name of a registered rule, or converted from any [`RuleFactory`], to which it
/// dereferences.
#[derive(Debug, Clone)]
pub struct Rule(Arc<dyn RuleFactory>);

/// A registered rule.
#[derive(Debug, Clone, Copy)]
pub struct RuleEntry {
    /// Name in scenarios and results.
    pub name: &'static str,
    /// How the rule chooses, as a phrase.
    pub doc: &'static str,
    /// Builds the rule.
    pub build: fn(&Manifest, Duration) -> Box<dyn AbrRule>,
}

/// Error of parsing a [`Rule`]: no registered rule has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError(String);

impl RuleFactory for RuleEntry {
    fn name(&self) -> &str {
        self.name
    }
    fn build(&self, manifest: &Manifest, max_buffer: Duration) -> Box<dyn AbrRule> {
        (self.build)(manifest, max_buffer)
    }
}

impl Deref for Rule {
    type Target = dyn RuleFactory;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl<F: RuleFactory + 'static> From<F> for Rule {
    fn from(factory: F) -> Self {
        Self(Arc::new(factory))
    }
}

impl From<Arc<dyn RuleFactory>> for Rule {
    fn from(factory: Arc<dyn RuleFactory>) -> Self {
        Self(factory)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Rule {}

impl FromStr for Rule {
    type Err = RuleError;
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let name = text.trim();
        let entry = RULES.iter().find(|entry| entry.name == name);
        entry.map(|entry| Self::from(*entry)).ok_or_else(|| RuleError(name.to_owned()))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = RULES.iter().map(|entry| format!("`{}`", entry.name)).collect();
        write!(f, "unknown rule `{}`; rules: {}", self.0, names.join(", "))
    }
}

impl core::error::Error for RuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_names_parse_and_print() {
        for entry in RULES {
            assert_eq!(entry.name.parse::<Rule>().unwrap().to_string(), entry.name);
        }
        assert_eq!(
            "mpc".parse::<Rule>().unwrap_err().to_string(),
            "unknown rule `mpc`; rules: `throughput`, `bola-basic`, `bola`, `bola-e`, `buffer`"
        );
    }
}
