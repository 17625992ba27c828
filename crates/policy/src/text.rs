//! Written form of a policy: its name, then parameters behind colons.
//!
//! A parameter is `KEY=VALUE`, or its value alone where the entry allows it (`emtcp:mp-prio:0.4`).

use crate::registry::text_name;
use crate::{PolicyConfig, PolicyEntry, PolicyError, REGISTRY};
use schema::node::{Entry, Fields, Node, Value};
use schema::shape::{Key, Shape};
use schema::{Literal, suggest};
use std::collections::BTreeMap;

/// Parses the written form of a registered policy.
pub(crate) fn parse(text: &str) -> Result<PolicyConfig, PolicyError> {
    let (name, rest) = match text.trim().split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text.trim(), None),
    };
    let entry = REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let suggestion = suggest(name, REGISTRY.iter().map(|entry| entry.name));
        PolicyError::UnknownPolicy { name: name.to_owned(), suggestion }
    })?;
    if let (Some(rest), []) = (rest, entry.parameters.keys) {
        return Err(PolicyError::NoParameters { policy: entry.name, text: rest.to_owned() });
    }
    let mut fields = Fields { span: 0..0, table: &entry.parameters, entries: BTreeMap::new() };
    for part in rest.into_iter().flat_map(|rest| rest.split(':')) {
        let (key, value) = parameter(entry, part)?;
        let value = parse_value(entry.name, key, value.trim())?;
        let node = Node { span: 0..0, value };
        if fields.entries.insert(key.name, Entry { key: Some(0..0), node }).is_some() {
            return Err(PolicyError::GivenTwice { policy: entry.name, parameter: key.name });
        }
    }
    Ok((entry.configure)(&fields))
}

/// Splits one part into the parameter it sets and the value as written.
fn parameter<'t>(entry: &PolicyEntry, part: &'t str) -> Result<(&'static Key, &'t str), PolicyError> {
    let keys = entry.parameters.keys;
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let name = name.trim();
    if let Some(key) = keys.iter().find(|key| text_name(key) == name) {
        return Ok((key, value));
    }
    let mut positional = keys.iter().filter(|key| entry.positional.contains(&key.name));
    let is_number = part.trim().parse::<f64>().is_ok();
    let takes_it = |key: &&Key| matches!(key.shape, Shape::Choice(_)) != is_number;
    if let Some(key) = positional.find(takes_it).filter(|_| !part.contains('=')) {
        return Ok((key, part));
    }
    let suggestion = match keys {
        [only] => Some(only.name),
        _ => suggest(name, keys.iter().map(|key| key.name)),
    };
    Err(PolicyError::UnknownParameter { policy: entry.name, name: name.to_owned(), suggestion })
}

fn parse_value(policy: &'static str, key: &'static Key, text: &str) -> Result<Value, PolicyError> {
    let parameter = key.name;
    match key.shape {
        Shape::Custom(value_type) => {
            let parsed = value_type.parse(parameter, Literal::Text(text)).map_err(|invalid| {
                let hint = invalid.expected.unwrap_or_else(|| value_type.expected());
                PolicyError::InvalidQuantity { policy, parameter, message: invalid.message, hint }
            })?;
            Ok(Value::Custom(parsed))
        }
        Shape::Choice(choices) if choices.iter().any(|choice| choice.name == text) => {
            Ok(Value::Text(text.to_owned()))
        }
        Shape::Choice(choices) => {
            let suggestion = suggest(text, choices.iter().map(|choice| choice.name));
            Err(PolicyError::UnknownValue { policy, parameter, value: text.to_owned(), suggestion })
        }
        Shape::File => Ok(Value::Text(text.to_owned())),
        // No parameter has another shape than these and a fraction.
        _ => match text.parse() {
            Ok(number) if (0.0..=1.0).contains(&number) => Ok(Value::Number(number)),
            _ => Err(PolicyError::NotAFraction { policy, parameter, value: text.to_owned() }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actuator, Allowance, CapAction, Emtcp, WhenNeeded};
    use units::{Bitrate, Duration};

    #[test]
    fn positional_parameters_are_accepted_in_any_order() {
        let wanted = PolicyConfig::from(Emtcp { share: 0.4, actuator: Actuator::MpPrio });
        for text in ["emtcp:mp-prio:0.4", "emtcp:0.4:mp-prio", "emtcp:share=0.4:actuator=mp-prio"] {
            assert_eq!(text.parse(), Ok(wanted.clone()));
        }
        assert_eq!(wanted.to_string(), "emtcp:mp-prio:0.4");
        assert_eq!("emtcp".parse(), Ok(PolicyConfig::from(Emtcp::default())));
        assert_eq!("emtcp:0.24".parse(), Ok(PolicyConfig::from(Emtcp::default())));
        let backup = PolicyConfig::from(Allowance { at_cap: CapAction::Backup });
        assert_eq!("allowance:backup".parse(), Ok(backup));
    }

    #[test]
    fn named_parameters_replace_defaults() {
        let text = "when-needed:deadline=500ms:memory=20s:slack=0.1:enough=8Mbps";
        let wanted = WhenNeeded {
            deadline: Duration::from_millis(500),
            memory: Duration::from_secs(20),
            slack: 0.1,
            enough: Some(Bitrate::from_mbps(8.0)),
            ..WhenNeeded::DEFAULT
        };
        assert_eq!(text.parse(), Ok(PolicyConfig::from(wanted)));
        assert_eq!(PolicyConfig::from(wanted).to_string(), text);
        assert_eq!("when-needed:hold=500ms".parse::<PolicyConfig>().unwrap().to_string(), "when-needed");
        assert_eq!("qoe:margin=6s".parse::<PolicyConfig>().unwrap().to_string(), "qoe:margin=6s");
    }

    #[test]
    fn errors_name_the_policy_the_parameter_and_a_similar_name() {
        let cases = [
            ("wifi-onyl", "unknown policy `wifi-onyl`; did you mean `wifi-only`?"),
            ("emptcp", "unknown policy `emptcp`; did you mean `emtcp`?"),
            ("WiFi-First", "unknown policy `WiFi-First`; did you mean `wifi-first`?"),
            ("quantum", "unknown policy `quantum`"),
            ("", "unknown policy ``"),
            ("when-neded", "unknown policy `when-neded`; did you mean `when-needed`?"),
            ("emtcp:mpprio", "`actuator` of `emtcp`: unknown value `mpprio`; did you mean `mp-prio`?"),
            ("emtcp:1.4", "`share` of `emtcp`: `1.4` is not a number from 0 to 1"),
            ("emtcp:nan", "`share` of `emtcp`: `nan` is not a number from 0 to 1"),
            ("when-needed:deadlin=1s", "`when-needed` has no parameter `deadlin`; did you mean `deadline`?"),
            ("when-needed:0.4", "`when-needed` has no parameter `0.4`"),
            ("when-needed:slack=4", "`slack` of `when-needed`: `4` is not a number from 0 to 1"),
            ("when-needed:deadline=4", "`deadline` of `when-needed`: `4` has no unit"),
            ("when-needed:enough", "`enough` of `when-needed`: `` is not a rate"),
            ("allowance:clos", "`at_cap` of `allowance`: unknown value `clos`; did you mean `close`?"),
            ("qoe:4s", "`qoe` has no parameter `4s`"),
            ("qoe:margin=4", "`margin` of `qoe`: `4` has no unit"),
            ("emtcp:mp-prio:0.3:0.9", "`share` of `emtcp` is given twice"),
            ("none:0.2", "`none` takes no parameters, found `0.2`"),
        ];
        for (text, message) in cases {
            let error = text.parse::<PolicyConfig>().unwrap_err();
            assert_eq!(error.to_string(), message);
            assert!(!error.hint().is_empty(), "{text}");
        }
        let gone = "when-needed:longest-hold=4s".parse::<PolicyConfig>().unwrap_err();
        assert!(gone.hint().starts_with("remove it"), "{}", gone.hint());
        assert!("x".parse::<PolicyConfig>().unwrap_err().hint().contains("wifi-first"));
    }
}
