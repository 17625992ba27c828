//! Radio profiles: built in, from a file, or written into the scenario.

use super::Builder;
use ::radio::{Profile, ProfileValue};
use core::ops::Range;
use schema::Node;
use std::sync::Arc;

impl Builder<'_, '_> {
    /// The profile that a value gives; its problems are reported.
    pub(super) fn radio(&mut self, node: &Node, path_name: &str) -> Option<Arc<Profile>> {
        match ProfileValue::of(node)? {
            ProfileValue::BuiltIn(profile) => Some(profile),
            ProfileValue::Inline(fields) => {
                Some(Arc::new(Profile::from_fields(fields, path_name, self.problems)))
            }
            ProfileValue::File(path, span) => self.profile_file(path, &span),
        }
    }

    /// The profile in a file. A file that several paths refer to is read once, and its problems are
    /// reported once.
    fn profile_file(&mut self, path: &str, span: &Range<usize>) -> Option<Arc<Profile>> {
        if let Some(known) = self.profiles.get(path) {
            return known.clone();
        }
        let profile = self.read_file(path, span).and_then(|text| {
            let name = self.shown(path);
            schema::read(&name, &text, &::radio::PROFILE, |fields, problems| {
                Arc::new(Profile::from_fields(fields, path, problems))
            })
            .map_err(|found| self.problems.add_referenced(span, found))
            .ok()
        });
        self.profiles.insert(path.to_owned(), profile.clone());
        profile
    }
}

/// Whether a profile is written into the scenario without a name.
pub(super) fn is_unnamed(node: &Node) -> bool {
    matches!(ProfileValue::of(node), Some(ProfileValue::Inline(fields)) if !fields.given("name"))
}
