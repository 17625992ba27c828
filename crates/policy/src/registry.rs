//! Entries of the policies' registry, [`REGISTRY`](crate::REGISTRY).

use crate::PolicyConfig;
use core::fmt::Write as _;
use schema::node::Fields;
use schema::shape::{Key, Shape, Table};

/// A registered policy: its name, its parameters and its constructor.
#[derive(Debug)]
pub struct PolicyEntry {
    /// Name in scenarios, on the command line and in results.
    pub name: &'static str,
    /// Effect of the policy, as a phrase with a verb in the third person.
    pub doc: &'static str,
    /// The parameters. Scenarios write them beside the policy's name, in one flat table for all
    /// policies, so no two policies share a key.
    pub parameters: Table,
    /// The parameters whose value alone identifies them in the written form: `emtcp:0.4`.
    pub positional: &'static [&'static str],
    /// Builds the configuration from the parameters that are set; the others have their defaults.
    pub configure: fn(&Fields) -> PolicyConfig,
}

impl PolicyEntry {
    /// An entry without parameters.
    pub(crate) const fn plain(
        name: &'static str,
        doc: &'static str,
        configure: fn(&Fields) -> PolicyConfig,
    ) -> Self {
        Self { name, doc, parameters: parameters(name, &[]), positional: &[], configure }
    }

    /// Written form with its parameters, such as `emtcp[:ideal|:table1|:mp-prio][:SHARE]`.
    pub fn usage(&self) -> String {
        let mut usage = self.name.to_owned();
        let (positional, named): (Vec<&Key>, Vec<&Key>) =
            self.parameters.keys.iter().partition(|key| self.positional.contains(&key.name));
        for key in positional {
            match key.shape {
                Shape::Choice(choices) => {
                    let words: Vec<String> = choices.iter().map(|word| format!(":{}", word.name)).collect();
                    let _ = write!(usage, "[{}]", words.join("|"));
                }
                _ => {
                    let _ = write!(usage, "[:{}]", key.name.to_uppercase());
                }
            }
        }
        match named[..] {
            [] => {}
            [key] => {
                let _ = write!(usage, "[:{}={}]", text_name(key), key.example.trim_matches('"'));
            }
            _ => usage += "[:KEY=VALUE]...",
        }
        usage
    }
}

/// The parameters of the policy `name`.
pub(crate) const fn parameters(name: &'static str, keys: &'static [Key]) -> Table {
    Table { name, doc: "", keys, one_of: &[] }
}

/// A key's name in the written form, with hyphens where scenarios have underscores.
pub(crate) fn text_name(key: &Key) -> String {
    key.name.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InterfaceKind::{Lte, Wifi};
    use crate::REGISTRY;
    use schema::shape::Need;

    fn parse(text: &str) -> PolicyConfig {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_entry_parses_its_own_name_and_builds() {
        for entry in REGISTRY {
            let config = parse(entry.name);
            assert_eq!(config.to_string(), entry.name);
            assert_eq!(config.name(), entry.name);
            assert_eq!(config.check(&[Wifi, Lte]), Ok(()), "{}", entry.name);
            config.build(&[Wifi, Lte]);
        }
    }

    #[test]
    fn every_example_is_kept_and_every_default_is_left_out() {
        for entry in REGISTRY {
            for key in entry.parameters.keys {
                let with = |value: &str| {
                    parse(&format!("{}:{}={}", entry.name, text_name(key), value.trim_matches('"')))
                };
                let example = with(key.example);
                assert_ne!(example, parse(entry.name), "{}.{} has no effect", entry.name, key.name);
                assert_eq!(parse(&example.to_string()), example);
                if let Need::Default(default) = key.need {
                    assert_eq!(with(default).to_string(), entry.name, "{}.{}", entry.name, key.name);
                }
            }
        }
    }

    #[test]
    fn keys_are_unique_across_policies_and_their_docs_name_the_policy() {
        let keys = || REGISTRY.iter().flat_map(|entry| entry.parameters.keys);
        for entry in REGISTRY {
            for key in entry.parameters.keys {
                assert_eq!(keys().filter(|other| other.name == key.name).count(), 1, "{}", key.name);
                assert!(key.doc.starts_with(&format!("For `{}`: ", entry.name)), "{}", key.doc);
            }
            assert!(entry.positional.iter().all(|name| entry.parameters.key(name).is_some()));
        }
    }

    #[test]
    fn usage_lists_positional_and_named_parameters() {
        let usages: Vec<String> =
            REGISTRY.iter().map(PolicyEntry::usage).filter(|usage| usage.contains('[')).collect();
        assert_eq!(
            usages,
            [
                "when-needed[:KEY=VALUE]...",
                "qoe[:KEY=VALUE]...",
                "allowance[:close|:backup]",
                "emtcp[:ideal|:table1|:mp-prio][:SHARE]",
                "best-known[:KEY=VALUE]...",
            ]
        );
    }
}
