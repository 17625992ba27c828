//! Reads a parsed file against the description of its shape, and reports all that does not fit.

use crate::diagnostic::{Problems, Source};
use crate::node::{Entry, Fields, Node, Queue, Value};
use crate::shape::{Choice, Key, Least, Need, Quantity, Shape, Table, list, nearest};
use core::ops::Range;
use core::str::FromStr;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use units::{Bitrate, Bytes, Duration, Energy, Power, UnitError};

/// Reads the keys of `table`, which stands at `span`.
pub fn read_table(
    shape: &'static Table,
    table: &DeTable<'_>,
    span: Range<usize>,
    problems: &mut Problems<'_>,
) -> Fields {
    let mut entries = BTreeMap::new();
    let mut meant = Vec::new();
    for (key, value) in table {
        let name: &str = key.get_ref();
        if let Some(known) = shape.key(name) {
            let before = problems.found.len();
            let node = read_value(name, &known.shape, value, problems);
            for problem in problems.found[before..].iter_mut().filter(|p| p.hint.is_none()) {
                problem.hint(format!("for instance `{} = {}`", known.name, known.example));
            }
            entries.insert(known.name, Entry { key: Some(key.span()), node });
        } else {
            let near = nearest(name, shape.names());
            meant.extend(near);
            let problem = problems
                .add(key.span(), format!("unknown key `{}` in {}", clip(name), shape.name))
                .expected(format!("one of {}", list(&shape.names())));
            problem.hint(near.map_or_else(
                || "nothing reads it: remove it".to_owned(),
                |near| format!("did you mean `{near}`?"),
            ));
        }
    }
    check_one_of(shape, &entries, &meant, &span, problems);
    for key in shape.keys.iter().filter(|key| !meant.contains(&key.name)) {
        if !entries.contains_key(key.name) {
            match key.need {
                Need::Required => missing(shape, key, &span, problems),
                Need::Default(text) => {
                    let node = Node { span: span.clone(), ..read_default(key, text) };
                    entries.insert(key.name, Entry { key: None, node });
                }
                Need::Absent(_) => {}
            }
        }
    }
    Fields { span, table: shape, entries }
}

/// The value that an absent key has.
pub fn read_default(key: &'static Key, text: &str) -> Node {
    let mut none = Problems::new(Source::new("default", text));
    match DeValue::parse(text) {
        Ok(value) => read_value(key.name, &key.shape, &value, &mut none),
        Err(_) => Node { span: 0..0, value: Value::Bad },
    }
}

fn missing(shape: &Table, key: &Key, span: &Range<usize>, problems: &mut Problems<'_>) {
    let header = match key.shape {
        Shape::Tables(_) => format!("`[[{}]]`", key.name),
        Shape::Table(_) => format!("`[{}]`", key.name),
        _ => format!("`{}`", key.name),
    };
    let hint = match key.shape {
        Shape::Tables(_) => format!("add a table `[[{}]]`: {}", key.name, key.doc),
        _ => format!("add `{} = {}`: {}", key.name, key.example, key.doc),
    };
    let many = if matches!(key.shape, Shape::Tables(_)) { "at least one " } else { "" };
    problems
        .add(span.clone(), format!("{} needs {many}{header}", shape.name))
        .expected(key.shape.expected())
        .hint(hint);
}

fn check_one_of(
    shape: &Table,
    entries: &BTreeMap<&'static str, Entry>,
    meant: &[&str],
    span: &Range<usize>,
    problems: &mut Problems<'_>,
) {
    if shape.one_of.is_empty() {
        return;
    }
    let mut given: Vec<(Range<usize>, &str)> = shape
        .one_of
        .iter()
        .filter_map(|name| entries.get(name).and_then(|e| e.key.clone()).map(|at| (at, *name)))
        .collect();
    given.sort_by_key(|(at, _)| at.start);
    match given.as_slice() {
        [] if meant.iter().any(|name| shape.one_of.contains(name)) => {}
        [] => {
            let example = shape.one_of.first().and_then(|name| shape.key(name));
            let problem = problems
                .add(span.clone(), format!("{} needs one of {}", shape.name, list(shape.one_of)))
                .expected(format!("one of {}", list(shape.one_of)));
            if let Some(key) = example {
                problem.hint(format!("for instance `{} = {}`", key.name, key.example));
            }
        }
        [_] => {}
        [(_, first), rest @ ..] => {
            for (at, name) in rest {
                problems
                    .add(at.clone(), format!("`{name}` cannot stand beside `{first}` in {}", shape.name))
                    .expected(format!("one of {}", list(shape.one_of)))
                    .hint(format!("keep `{first}` or `{name}`"));
            }
        }
    }
}

/// Reads one value; `name` is the key that it belongs to.
pub fn read_value(
    name: &str,
    shape: &'static Shape,
    value: &Spanned<DeValue<'_>>,
    problems: &mut Problems<'_>,
) -> Node {
    let span = value.span();
    let read = match (shape, value.get_ref()) {
        (Shape::Or(a, b), found) => {
            return match (fits(a, found), fits(b, found)) {
                (true, false) => read_value(name, a, value, problems),
                (false, true) => read_value(name, b, value, problems),
                (true, true) => read_either(name, shape, a, b, value, problems),
                (false, false) => {
                    wrong_type(name, shape, found, &span, problems);
                    Node { span, value: Value::Bad }
                }
            };
        }
        (_, found) if !fits(shape, found) => {
            wrong_type(name, shape, found, &span, problems);
            None
        }
        (Shape::Quantity(quantity, least), DeValue::String(text)) => {
            read_quantity(name, *quantity, *least, text, &span, problems)
        }
        (Shape::Quantity(quantity, _), found) => {
            let number = number_text(found);
            problems.add(span.clone(), format!("`{number}` has no unit")).expected(shape.expected()).hint(
                format!("write the unit, in quotes: `{name} = \"{number}{}\"`", common_unit(*quantity)),
            );
            None
        }
        (Shape::Probability, found) => read_number(name, found, 0.0, 1.0, shape, &span, problems),
        (Shape::Number { min, max }, found) => read_number(name, found, *min, *max, shape, &span, problems),
        (Shape::Integer { min, max }, DeValue::Integer(found)) => {
            let number = i64::from_str_radix(found.as_str(), found.radix()).ok();
            if let Some(number) = number.filter(|n| (min..=max).contains(&n)) {
                Some(Value::Integer(number))
            } else {
                problems
                    .add(span.clone(), format!("`{name}` cannot be {}", clip(&found.to_string())))
                    .expected(shape.expected());
                None
            }
        }
        (Shape::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
        (Shape::Text | Shape::File | Shape::Radio, DeValue::String(text)) => {
            if text.trim().is_empty() && !matches!(shape, Shape::Text) {
                problems.add(span.clone(), format!("`{name}` is empty")).expected(shape.expected());
                None
            } else {
                Some(Value::Text(text.to_string()))
            }
        }
        (Shape::Name, DeValue::String(text)) => {
            let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            if letters && !text.is_empty() && text.len() <= 64 {
                Some(Value::Text(text.to_string()))
            } else {
                problems
                    .add(span.clone(), format!("`{}` is not a usable name", clip(text)))
                    .expected(shape.expected())
                    .hint("names become parts of column names, such as `wifi.rate_down_mbps`");
                None
            }
        }
        (Shape::Choice(choices), DeValue::String(text)) => read_choice(name, choices, text, &span, problems),
        (Shape::Queue, DeValue::String(text)) => read_queue(text, shape, &span, problems).map(Value::Queue),
        (Shape::Queue, found) => {
            let number = number_text(found);
            problems
                .add(span.clone(), format!("`{number}` has no unit"))
                .expected(shape.expected())
                .hint(format!("write what is counted, in quotes: `{name} = \"{number} packets\"`"));
            None
        }
        (Shape::List { of, min, max }, DeValue::Array(found)) => {
            if found.len() < *min || found.len() > *max {
                problems
                    .add(span.clone(), format!("`{name}` has {} entries", found.len()))
                    .expected(shape.expected());
            }
            Some(Value::List(found.iter().map(|v| read_value(name, of, v, problems)).collect()))
        }
        (Shape::Tuple(parts), DeValue::Array(found)) => {
            if found.len() == parts.len() {
                let nodes = parts.iter().zip(found.iter());
                Some(Value::List(
                    nodes.map(|((part, shape), v)| read_value(part, shape, v, problems)).collect(),
                ))
            } else {
                problems
                    .add(span.clone(), format!("{} entries where {} belong", found.len(), parts.len()))
                    .expected(shape.expected());
                None
            }
        }
        (Shape::Table(table), DeValue::Table(found)) => {
            Some(Value::Table(read_table(table, found, span.clone(), problems)))
        }
        (Shape::Tables(table), DeValue::Array(found)) => {
            if found.is_empty() {
                problems
                    .add(span.clone(), format!("`{name}` is empty"))
                    .expected(format!("at least one `[[{name}]]`"));
            }
            let nodes = found.iter().map(|v| match v.get_ref() {
                DeValue::Table(t) => {
                    let fields = read_table(table, t, v.span(), problems);
                    Node { span: v.span(), value: Value::Table(fields) }
                }
                other => {
                    wrong_type(name, shape, other, &v.span(), problems);
                    Node { span: v.span(), value: Value::Bad }
                }
            });
            Some(Value::List(nodes.collect()))
        }
        (Shape::Free(_), DeValue::Table(found)) => Some(Value::Free(own_table(found))),
        // `fits` lets nothing else through.
        _ => None,
    };
    Node { span, value: read.unwrap_or(Value::Bad) }
}

/// True if a value of this TOML type may have this shape. A bare number may be a quantity: it gets
/// the message about its missing unit rather than one about types.
fn fits(shape: &Shape, value: &DeValue<'_>) -> bool {
    match shape {
        Shape::Quantity(..) | Shape::Queue => {
            matches!(value, DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_))
        }
        Shape::Probability | Shape::Number { .. } => {
            matches!(value, DeValue::Integer(_) | DeValue::Float(_))
        }
        Shape::Integer { .. } => matches!(value, DeValue::Integer(_)),
        Shape::Flag => matches!(value, DeValue::Boolean(_)),
        Shape::Text | Shape::Name | Shape::File | Shape::Choice(_) | Shape::Radio => {
            matches!(value, DeValue::String(_))
        }
        Shape::List { .. } | Shape::Tuple(_) | Shape::Tables(_) => matches!(value, DeValue::Array(_)),
        Shape::Table(_) | Shape::Free(_) => matches!(value, DeValue::Table(_)),
        Shape::Or(a, b) => fits(a, value) || fits(b, value),
    }
}

/// Both shapes might do: the first that reads without a problem is taken; where none does, the
/// second's complaint is given with both expectations.
fn read_either(
    name: &str,
    shape: &'static Shape,
    a: &'static Shape,
    b: &'static Shape,
    value: &Spanned<DeValue<'_>>,
    problems: &mut Problems<'_>,
) -> Node {
    let before = problems.found.len();
    let node = read_value(name, a, value, problems);
    if problems.found.len() == before {
        return node;
    }
    problems.found.truncate(before);
    let node = read_value(name, b, value, problems);
    for problem in &mut problems.found[before..] {
        problem.expected = Some(shape.expected());
    }
    node
}

fn wrong_type(
    name: &str,
    shape: &Shape,
    found: &DeValue<'_>,
    span: &Range<usize>,
    problems: &mut Problems<'_>,
) {
    let problem = problems
        .add(span.clone(), format!("`{}` is {}", clip(name), type_name(found)))
        .expected(shape.expected());
    match (shape, found) {
        (Shape::Tables(_), DeValue::Table(_)) => {
            problem.hint(format!("two brackets: `[[{name}]]`, once for each"));
        }
        (Shape::Table(_), DeValue::Array(_)) => {
            problem.hint(format!("one pair of brackets: `[{name}]`"));
        }
        (Shape::Probability, DeValue::String(text)) => {
            let percent = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
            problem.hint(match percent {
                Some(percent) => format!("{percent} % is written `{}`, without quotes", percent / 100.0),
                None => "write the number without quotes".to_owned(),
            });
        }
        (Shape::Number { .. } | Shape::Integer { .. } | Shape::Flag, DeValue::String(_)) => {
            problem.hint("write it without quotes");
        }
        _ => {}
    }
}

fn read_quantity(
    name: &str,
    quantity: Quantity,
    least: Least,
    text: &str,
    span: &Range<usize>,
    problems: &mut Problems<'_>,
) -> Option<Value> {
    let read = match quantity {
        Quantity::Time => amount::<Duration>(text, quantity, Value::Time),
        Quantity::Rate => amount::<Bitrate>(text, quantity, Value::Rate),
        Quantity::Size => amount::<Bytes>(text, quantity, Value::Size),
        Quantity::Power => amount::<Power>(text, quantity, Value::Power),
        Quantity::Energy => amount::<Energy>(text, quantity, Value::Energy),
    };
    let expected = Shape::Quantity(quantity, least).expected();
    match read {
        Ok((_, true, _)) => {
            problems.add(span.clone(), format!("`{}` is out of range", clip(text))).expected(format!(
                "{} of at most {}",
                quantity.name(),
                quantity.most()
            ));
            None
        }
        Ok((true, ..)) if least == Least::AboveZero => {
            problems.add(span.clone(), format!("`{name}` is zero")).expected(expected);
            None
        }
        Ok((_, _, value)) => Some(value),
        Err(error) => {
            let message = match &error {
                UnitError::OutOfRange { .. } if text.trim_start().starts_with('-') => {
                    format!("`{}` is negative", clip(text))
                }
                UnitError::OutOfRange { .. } => format!("`{}` is out of range", clip(text)),
                UnitError::NotANumber { .. } => {
                    format!("`{}` is not {}", clip(text), quantity.name())
                }
                UnitError::MissingUnit { .. } => format!("`{}` has no unit", clip(text)),
                UnitError::UnknownUnit { unit, .. } => {
                    format!("`{}` is not a unit of {}", clip(unit), quantity.name())
                }
            };
            let problem = problems.add(span.clone(), message).expected(expected);
            match &error {
                UnitError::MissingUnit { text, .. } => {
                    problem.hint(format!("`{name} = \"{}{}\"`", clip(text.trim()), common_unit(quantity)));
                }
                UnitError::UnknownUnit { unit, .. } => {
                    if let Some(near) = near_unit(unit, quantity) {
                        problem.hint(format!("did you mean `{near}`?"));
                    }
                }
                _ => {}
            }
            None
        }
    }
}

/// The amount, and whether it is zero or more than can be meant.
fn amount<T>(text: &str, quantity: Quantity, value: fn(T) -> Value) -> Result<(bool, bool, Value), UnitError>
where
    T: FromStr<Err = UnitError> + PartialOrd + Default,
{
    let amount: T = text.parse()?;
    let above = quantity.most().parse().is_ok_and(|most| amount > most);
    Ok((amount == T::default(), above, value(amount)))
}

/// The unit that a letter's case or a common other spelling stands for.
fn near_unit(unit: &str, quantity: Quantity) -> Option<&'static str> {
    let exact = quantity.units().iter().find(|u| u.eq_ignore_ascii_case(unit));
    exact.copied().or_else(|| match (quantity, unit.to_lowercase().as_str()) {
        (Quantity::Time, "sec" | "secs" | "second" | "seconds") => Some("s"),
        (Quantity::Time, "msec" | "msecs" | "millis") => Some("ms"),
        (Quantity::Time, "minutes" | "minute" | "mins" | "m") => Some("min"),
        (Quantity::Rate, "mb/s" | "mbit" | "mbits" | "mb" | "m") => Some("Mbps"),
        (Quantity::Rate, "kb/s" | "kbit" | "kbits" | "kb" | "k") => Some("kbps"),
        (Quantity::Rate, "gb/s" | "gbit" | "gbits" | "gb" | "g") => Some("Gbps"),
        (Quantity::Size, "bytes" | "byte") => Some("B"),
        (Quantity::Size, "m" | "mbyte" | "mbytes") => Some("MB"),
        (Quantity::Size, "k" | "kbyte" | "kbytes") => Some("kB"),
        (Quantity::Energy, "joule" | "joules") => Some("J"),
        (Quantity::Power, "watt" | "watts") => Some("W"),
        _ => None,
    })
}

/// The unit to show to somebody who wrote none.
fn common_unit(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Time => "ms",
        Quantity::Rate => "Mbps",
        Quantity::Size => "kB",
        Quantity::Power => "mW",
        Quantity::Energy => "J",
    }
}

fn read_number(
    name: &str,
    found: &DeValue<'_>,
    min: f64,
    max: f64,
    shape: &Shape,
    span: &Range<usize>,
    problems: &mut Problems<'_>,
) -> Option<Value> {
    let number = match found {
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64),
        DeValue::Float(f) => f.as_str().parse().ok(),
        _ => None,
    };
    if let Some(number) = number.filter(|n| (min..=max).contains(n)) {
        return Some(Value::Number(number));
    }
    let problem = problems
        .add(span.clone(), format!("`{name}` cannot be {}", clip(&number_text(found))))
        .expected(shape.expected());
    if matches!(shape, Shape::Probability)
        && let Some(percent) = number.filter(|n| *n > 1.5 && *n <= 100.0)
    {
        problem.hint(format!("{percent} % is written `{}`", percent / 100.0));
    }
    None
}

fn read_choice(
    name: &str,
    choices: &'static [Choice],
    text: &str,
    span: &Range<usize>,
    problems: &mut Problems<'_>,
) -> Option<Value> {
    if choices.iter().any(|c| c.name == text) {
        return Some(Value::Text(text.to_owned()));
    }
    let names: Vec<&str> = choices.iter().map(|c| c.name).collect();
    let problem = problems
        .add(span.clone(), format!("`{name}` cannot be `{}`", clip(text)))
        .expected(format!("one of {}", list(&names)));
    if let Some(near) = nearest(text, names) {
        problem.hint(format!("did you mean `{near}`?"));
    }
    None
}

fn read_queue(text: &str, shape: &Shape, span: &Range<usize>, problems: &mut Problems<'_>) -> Option<Queue> {
    let trimmed = text.trim();
    if trimmed == "unlimited" {
        return Some(Queue::Unlimited);
    }
    let count = ["packets", "packet"].iter().find_map(|word| trimmed.strip_suffix(word));
    let queue = match count {
        Some(count) => count.trim().parse().ok().map(Queue::Packets),
        None => match amount(trimmed, Quantity::Size, Value::Size) {
            Ok((_, false, Value::Size(bytes))) => Some(Queue::Bytes(bytes)),
            Ok(_) => None,
            Err(_) => match amount(trimmed, Quantity::Time, Value::Time) {
                Ok((_, false, Value::Time(time))) => Some(Queue::Time(time)),
                _ => None,
            },
        },
    };
    let message = match queue {
        Some(Queue::Packets(0) | Queue::Bytes(Bytes::ZERO)) => "a queue of nothing passes nothing".to_owned(),
        Some(Queue::Time(time)) if time.is_zero() => "a queue of nothing passes nothing".to_owned(),
        Some(queue) => return Some(queue),
        None => format!("`{}` is not a queue's limit", clip(text)),
    };
    problems.add(span.clone(), message).expected(shape.expected());
    None
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date or time of day",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn number_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(i) => clip(&i.to_string()).into_owned(),
        DeValue::Float(f) => clip(f.as_str()).into_owned(),
        _ => String::new(),
    }
}

/// At most forty characters of what a file says, for a message.
pub fn clip(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(40) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// The table as a value of its own, for the reader of another format.
fn own_table(table: &DeTable<'_>) -> toml::Table {
    table.iter().map(|(k, v)| (k.get_ref().to_string(), own(v.get_ref()))).collect()
}

fn own(value: &DeValue<'_>) -> toml::Value {
    match value {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix())
            .map_or_else(|_| toml::Value::String(i.to_string()), toml::Value::Integer),
        DeValue::Float(f) => toml::Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => toml::Value::Boolean(*flag),
        DeValue::Datetime(time) => toml::Value::Datetime(*time),
        DeValue::Array(list) => toml::Value::Array(list.iter().map(|v| own(v.get_ref())).collect()),
        DeValue::Table(table) => toml::Value::Table(own_table(table)),
    }
}
