//! Values that are neither a list nor a table.

use super::clip;
use crate::diagnostic::Invalid;
use crate::node::Value;
use crate::shape::{Choice, Key, Shape, one_of};
use crate::suggest;
use crate::value_type::{Literal, ValueType};
use toml::de::{DeInteger, DeValue};

/// Parses a value whose TOML type fits its shape.
pub(super) fn parse(key: &str, shape: &Shape, found: &DeValue<'_>) -> Result<Value, Invalid> {
    match (shape, found) {
        (Shape::Custom(value_type), DeValue::String(text)) => {
            value_type.parse(key, Literal::Text(text)).map(Value::Custom)
        }
        (Shape::Custom(value_type), number) => {
            value_type.parse(key, Literal::Number(&number_text(number))).map(Value::Custom)
        }
        (Shape::Probability, number) => probability(key, number),
        (Shape::Number { min, max }, number) => match as_f64(number) {
            Some(number) if (*min..=*max).contains(&number) => Ok(Value::Number(number)),
            _ => Err(out_of_range(key, number)),
        },
        (Shape::Integer { min, max }, DeValue::Integer(number)) => match as_i64(number) {
            Some(number) if (*min..=*max).contains(&number) => Ok(Value::Integer(number)),
            _ => Err(out_of_range(key, found)),
        },
        (Shape::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
        (Shape::Text, DeValue::String(text)) => Ok(Value::Text(text.to_string())),
        (Shape::File, DeValue::String(path)) if path.trim().is_empty() => {
            Err(Invalid::new(format!("`{key}` is empty")))
        }
        (Shape::File, DeValue::String(path)) => Ok(Value::Text(path.to_string())),
        (Shape::Name, DeValue::String(text)) => name(text),
        (Shape::Choice(choices), DeValue::String(text)) => choice(key, choices, text),
        // `fits` refuses all other combinations.
        _ => Err(Invalid::new(format!("`{key}` has a value of the wrong type"))),
    }
}

fn probability(key: &str, found: &DeValue<'_>) -> Result<Value, Invalid> {
    let number = as_f64(found);
    if let Some(number) = number.filter(|n| (0.0..=1.0).contains(n)) {
        return Ok(Value::Number(number));
    }
    let percent = number.filter(|n| *n > 1.5 && *n <= 100.0);
    let hint = percent.map(|percent| percent_correction(key, percent));
    Err(Invalid { hint, ..out_of_range(key, found) })
}

/// The hint for a probability that was written as text.
pub(super) fn percent_hint(key: &str, text: &str) -> String {
    match percent(text) {
        Some(percent) => percent_correction(key, percent),
        None => "write the number without quotes".to_owned(),
    }
}

/// The number before a percent sign.
pub(crate) fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
    (0.0..=100.0).contains(&number).then_some(number)
}

/// A percentage as a number from 0 to 1, without the noise of binary fractions.
pub(crate) fn fraction(percent: f64) -> String {
    let text = format!("{:.9}", percent / 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn percent_correction(key: &str, percent: f64) -> String {
    format!("`{} = {}` stands for {percent} %", clip(key), fraction(percent))
}

/// The hint for a quantity without a unit: the value with the unit of the key's example.
pub(super) fn hint_with_unit(key: &Key, found: &DeValue<'_>) -> Option<String> {
    let value_type = custom(&key.shape)?;
    match found {
        DeValue::String(text) => {
            Some(format!("`{} = \"{}\"`", key.name, value_type.complete(&clip(text), key.example)?))
        }
        number @ (DeValue::Integer(_) | DeValue::Float(_)) => {
            let value = value_type.complete(&number_text(number), key.example)?;
            Some(format!("add the unit, in quotes: `{} = \"{value}\"`", key.name))
        }
        _ => None,
    }
}

fn custom(shape: &Shape) -> Option<&'static dyn ValueType> {
    match shape {
        Shape::Custom(value_type) => Some(*value_type),
        Shape::Or(a, b) => custom(a).or_else(|| custom(b)),
        _ => None,
    }
}

fn name(text: &str) -> Result<Value, Invalid> {
    const MAX_BYTES: usize = 64;
    let usable = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if usable && !text.is_empty() && text.len() <= MAX_BYTES {
        return Ok(Value::Text(text.to_owned()));
    }
    let hint = "names become parts of column names, such as `wifi.rate_down_mbps`".to_owned();
    Err(Invalid { hint: Some(hint), ..Invalid::new(format!("`{}` is not a usable name", clip(text))) })
}

fn choice(key: &str, choices: &'static [Choice], text: &str) -> Result<Value, Invalid> {
    if choices.iter().any(|c| c.name == text) {
        return Ok(Value::Text(text.to_owned()));
    }
    let names: Vec<&str> = choices.iter().map(|c| c.name).collect();
    let hint = suggest(text, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    let message = format!("`{key}` cannot be `{}`", clip(text));
    Err(Invalid { message, expected: Some(one_of(&names)), hint })
}

fn out_of_range(key: &str, found: &DeValue<'_>) -> Invalid {
    Invalid::new(format!("`{key}` cannot be {}", clip(&number_text(found))))
}

fn as_f64(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => as_i64(number).map(|n| n as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

pub(crate) fn as_i64(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn number_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(number) => clip(&number.to_string()).into_owned(),
        DeValue::Float(number) => clip(number.as_str()).into_owned(),
        _ => String::new(),
    }
}
