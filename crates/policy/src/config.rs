//! Configuration of a policy: [`PolicyFactory`], the trait to implement, and [`PolicyConfig`],
//! which holds any implementation.

use crate::{InterfaceKind, NoPolicy, Policy, PolicyError, text};
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;
use std::sync::Arc;
use units::Duration;

/// Parameters of a policy, from which the running [`Policy`] is built.
///
/// A crate outside this workspace implements this trait and [`Policy`], then converts its
/// parameters into a [`PolicyConfig`]; `examples/custom-policy` does so.
pub trait PolicyFactory: fmt::Debug + Send + Sync {
    /// Name of the policy, such as `wifi-first`.
    fn name(&self) -> &str;

    /// Written form: the name, then the parameters that differ from their defaults. Results show
    /// it, and two configurations are equal if their written forms are. A registered policy parses
    /// it.
    fn text(&self) -> String {
        self.name().to_owned()
    }

    /// Checks that a device with interfaces of these `kinds`, one per path, can follow the policy.
    ///
    /// # Errors
    /// [`PolicyError::MissingInterface`] or another reason why the device cannot.
    fn check(&self, kinds: &[InterfaceKind]) -> Result<(), PolicyError> {
        let _ = kinds;
        Ok(())
    }

    /// Reason why the policy never acts on a device with interfaces of these `kinds`, as a clause for
    /// a warning; `None` if it may act.
    fn idle_reason(&self, kinds: &[InterfaceKind]) -> Option<String> {
        let _ = kinds;
        None
    }

    /// Length of a video player's buffer up to which the policy hardly acts, if its segments have this
    /// length.
    fn insufficient_buffer(&self, segment: Duration) -> Duration {
        let _ = segment;
        Duration::ZERO
    }

    /// Builds the policy for a device with interfaces of these `kinds`, one per path.
    ///
    /// Never fails: parameters that [`check`](Self::check) refuses are brought into range, or the
    /// policy does nothing.
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy>;

    /// The closest configuration that a real device can carry out; `None` if it can carry out this
    /// one.
    fn for_device(&self) -> Option<PolicyConfig> {
        None
    }

    /// Name of a file that the policy still needs, relative to the file or folder that names it. The
    /// driver reads it and goes on with [`with_file`](Self::with_file).
    fn file(&self) -> Option<&str> {
        None
    }

    /// Content of the [`file`](Self::file), once the configuration has it.
    fn file_text(&self) -> Option<&str> {
        None
    }

    /// The configuration with the content of its file, which messages call `name`.
    ///
    /// # Errors
    /// Every problem of the file, with its position. A policy without a file never fails.
    fn with_file(&self, name: &str, text: &str) -> Result<PolicyConfig, Vec<schema::Diagnostic>> {
        let _ = (name, text);
        Ok(PolicyConfig::default())
    }

    /// True if the policy reads [`srtt`](crate::PathState::srtt), so that a driver which has to
    /// poll the kernel for round-trip times does so.
    fn reads_round_trips(&self) -> bool {
        false
    }
}

/// A policy with its parameters; cheap to clone.
///
/// Parsed from its written form (`wifi-first`, `emtcp:mp-prio:0.4`, `when-needed:hold=1s`), or
/// converted from any [`PolicyFactory`]: `PolicyConfig::from(WifiFirst)`. It dereferences to that
/// factory. The default is [`NoPolicy`].
#[derive(Debug, Clone)]
pub struct PolicyConfig(Arc<dyn PolicyFactory>);

impl PolicyConfig {
    /// True for [`NoPolicy`]: plain Multipath TCP.
    pub fn is_none(&self) -> bool {
        self.name() == NoPolicy::NAME
    }
}

impl Default for PolicyConfig {
    fn default() -> Self {
        NoPolicy.into()
    }
}

impl Deref for PolicyConfig {
    type Target = dyn PolicyFactory;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl<F: PolicyFactory + 'static> From<F> for PolicyConfig {
    fn from(factory: F) -> Self {
        Self(Arc::new(factory))
    }
}

impl From<Arc<dyn PolicyFactory>> for PolicyConfig {
    fn from(factory: Arc<dyn PolicyFactory>) -> Self {
        Self(factory)
    }
}

impl PartialEq for PolicyConfig {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.text() == other.text()
    }
}

impl Eq for PolicyConfig {}

impl fmt::Display for PolicyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl FromStr for PolicyConfig {
    type Err = PolicyError;
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        text::parse(text)
    }
}
