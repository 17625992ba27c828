//! Radio profiles: built in, from a file, or written into the scenario.

use super::{Builder, Inside};
use crate::node::{Node, Value};
use crate::shape::nearest;
use ::radio::Profile;
use std::sync::Arc;

impl Builder<'_, '_> {
    /// The profile that a value names or spells out; what is wrong with it is reported.
    pub(super) fn radio(&mut self, node: &Node, path_name: &str) -> Option<Arc<Profile>> {
        match &node.value {
            Value::Text(name) => self.built_in(name, node),
            Value::Free(table) => match table.get("file") {
                Some(toml::Value::String(file)) if table.len() == 1 => self.profile_file(file, node),
                Some(_) => {
                    self.problems
                        .add(node.span.clone(), "`file` stands alone and is text")
                        .expected("`{ file = \"mine.toml\" }`, or the keys of a profile");
                    None
                }
                None => self.inline(table, node, path_name),
            },
            _ => None,
        }
    }

    fn built_in(&mut self, name: &str, node: &Node) -> Option<Arc<Profile>> {
        if let Some(known) = self.profiles.get(name) {
            return known.clone();
        }
        let Some(profile) = Profile::named(name) else {
            let all = ::radio::profiles();
            let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
            self.unknown_name(node.span.clone(), "radio profile", name, &names);
            if name.to_ascii_lowercase().ends_with(".toml")
                && let Some(problem) = self.problems.found.last_mut()
            {
                problem.hint(format!("a file is named so: `{{ file = \"{name}\" }}`"));
            } else if nearest(name, names).is_none()
                && let Some(problem) = self.problems.found.last_mut()
            {
                problem.hint("`tandem profiles` lists them with their sources");
            }
            return None;
        };
        let profile = Some(Arc::new(profile));
        self.profiles.insert(name.to_owned(), profile.clone());
        profile
    }

    fn profile_file(&mut self, file: &str, node: &Node) -> Option<Arc<Profile>> {
        let key = format!("file:{file}");
        if let Some(known) = self.profiles.get(&key) {
            return known.clone();
        }
        let profile =
            self.read_file(file, &node.span).and_then(|text| match Profile::from_toml(file, &text) {
                Ok(profile) => Some(Arc::new(profile)),
                Err(error) => {
                    let inside = Inside {
                        path: file.to_owned(),
                        line: Some(error.line),
                        column: Some(error.column),
                        message: format!("radio profile: {}", error.problem),
                        expected: Some(
                            "the keys of a profile; `tandem profiles` prints complete ones".to_owned(),
                        ),
                        hint: error.hint(),
                    };
                    self.inside(&text, inside, &node.span);
                    None
                }
            });
        self.profiles.insert(key, profile.clone());
        profile
    }

    fn inline(&mut self, table: &toml::Table, node: &Node, path_name: &str) -> Option<Arc<Profile>> {
        let Ok(text) = toml::to_string(table) else { return None };
        match Profile::from_toml(path_name, &text) {
            Ok(profile) => Some(Arc::new(profile)),
            Err(error) => {
                let problem =
                    self.problems.add(node.span.clone(), format!("radio profile: {}", error.problem));
                problem.expected("a profile's name, `{ file = \"mine.toml\" }`, or the keys of a profile");
                problem.hint = error.hint();
                None
            }
        }
    }
}
