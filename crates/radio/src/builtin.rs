//! The built-in profiles.

use crate::Profile;

/// Every built-in profile.
pub fn profiles() -> Vec<Profile> {
    Vec::new()
}
