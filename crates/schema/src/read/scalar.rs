//! Values that are neither a list nor a table.

use super::clip;
use crate::diagnostic::Invalid;
use crate::node::Value;
use crate::shape::{Choice, Shape, one_of};
use crate::suggest;
use crate::value_type::Literal;
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
    let hint = percent.map(|percent| format!("{percent} % is written `{}`", percent / 100.0));
    Err(Invalid { hint, ..out_of_range(key, found) })
}

/// The hint for a probability that was written as text.
pub(super) fn percent_hint(text: &str) -> String {
    let percent = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    match percent {
        Some(percent) => format!("{percent} % is written `{}`, without quotes", percent / 100.0),
        None => "write the number without quotes".to_owned(),
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
