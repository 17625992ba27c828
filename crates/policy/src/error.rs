//! Errors of reading a policy and of matching it to a device.

use crate::{PolicyEntry, REGISTRY};
use schema::removed_key_hint;
use thiserror::Error;

/// Why a policy cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No registered policy has this name.
    #[error("unknown policy `{name}`{}", did_you_mean(*suggestion))]
    UnknownPolicy {
        /// The name as written.
        name: String,
        /// A similar name, if there is one.
        suggestion: Option<&'static str>,
    },
    /// The policy has no parameter of this name.
    #[error("`{policy}` has no parameter `{name}`{}", did_you_mean(*suggestion))]
    UnknownParameter {
        /// The policy.
        policy: &'static str,
        /// The parameter as written.
        name: String,
        /// A similar name, if there is one.
        suggestion: Option<&'static str>,
    },
    /// The parameter does not take this word.
    #[error("`{parameter}` of `{policy}`: unknown value `{value}`{}", did_you_mean(*suggestion))]
    UnknownValue {
        /// The policy.
        policy: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value as written.
        value: String,
        /// A similar value, if there is one.
        suggestion: Option<&'static str>,
    },
    /// The value is not a quantity of the parameter's kind.
    #[error("`{parameter}` of `{policy}`: {message}")]
    InvalidQuantity {
        /// The policy.
        policy: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Why it is not.
        message: String,
        /// A value that would be.
        hint: String,
    },
    /// The value is not a number from 0 to 1.
    #[error("`{parameter}` of `{policy}`: `{value}` is not a number from 0 to 1")]
    NotAFraction {
        /// The policy.
        policy: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value as written.
        value: String,
    },
    /// A parameter has two values.
    #[error("`{parameter}` of `{policy}` is given twice")]
    GivenTwice {
        /// The policy.
        policy: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// Text follows the name of a policy without parameters.
    #[error("`{policy}` takes no parameters, found `{text}`")]
    NoParameters {
        /// The policy.
        policy: &'static str,
        /// The text behind the name.
        text: String,
    },
    /// The device has no interface of a kind that the policy needs.
    #[error("`{policy}` needs a path over {interface}, and the device has none")]
    MissingInterface {
        /// The policy.
        policy: String,
        /// The kind of interface.
        interface: &'static str,
    },
    /// A policy from another crate refuses the device.
    #[error("{message}")]
    Unfit {
        /// The problem.
        message: String,
        /// The next step for the user.
        hint: String,
    },
}

impl PolicyError {
    /// The next step for the user, as one phrase.
    pub fn hint(&self) -> String {
        if let Self::UnknownParameter { policy, name, .. } = self
            && let Some(hint) = removed_key_hint(policy, &name.replace('-', "_"))
        {
            return hint.to_owned();
        }
        let entry = |policy: &str| REGISTRY.iter().find(|entry| entry.name == policy);
        match self {
            Self::UnknownPolicy { .. } => format!("policies: {}", joined(REGISTRY.iter().map(|e| e.name))),
            Self::UnknownParameter { policy, .. } | Self::UnknownValue { policy, .. } => {
                entry(policy).map_or_else(String::new, |entry| format!("write {}", entry.usage()))
            }
            Self::NotAFraction { policy, parameter, .. } => {
                let key = entry(policy).and_then(|entry| entry.parameters.key(parameter));
                key.map_or_else(String::new, |key| format!("such as {}", key.example))
            }
            Self::NoParameters { .. } => {
                let with = REGISTRY.iter().filter(|entry| !entry.parameters.keys.is_empty());
                format!("policies with parameters: {}", joined(with.map(PolicyEntry::usage)))
            }
            Self::MissingInterface { interface, .. } => {
                format!("give one path a radio for {interface}, or choose another policy")
            }
            Self::GivenTwice { .. } => "remove one of the values".to_owned(),
            Self::InvalidQuantity { hint, .. } | Self::Unfit { hint, .. } => hint.clone(),
        }
    }
}

fn joined(names: impl Iterator<Item = impl Into<String>>) -> String {
    names.map(Into::into).collect::<Vec<String>>().join(", ")
}

fn did_you_mean(suggestion: Option<&'static str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
