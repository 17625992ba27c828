//! Checks parsed TOML against a description and reports every mismatch.

mod scalar;

pub(crate) use scalar::{as_i64, fraction, percent};

use crate::diagnostic::{Invalid, Problems, Source};
use crate::node::{Entry, Fields, Node, Value};
use crate::removed::removed_key_hint;
use crate::shape::{Key, Need, Shape, Table, list, one_of};
use crate::suggest;
use core::ops::Range;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Reads the keys of `table`, which stands at `span`.
pub fn read_table(
    shape: &'static Table,
    table: &DeTable<'_>,
    span: Range<usize>,
    problems: &mut Problems<'_>,
) -> Fields {
    let mut fields = Fields { span, table: shape, entries: BTreeMap::new() };
    // Known keys that an unknown key probably stands for: they are not reported as missing as well.
    let mut misspelt = Vec::new();
    for (key, value) in table {
        if let Some(known) = shape.key(key.get_ref()) {
            let node = read_entry(known, value, problems);
            fields.entries.insert(known.name, Entry { key: Some(key.span()), node });
        } else {
            misspelt.extend(report_unknown_key(shape, key.get_ref(), key.span(), problems));
        }
    }
    check_one_of(&fields, &misspelt, problems);
    for key in shape.keys.iter().filter(|key| !misspelt.contains(&key.name)) {
        if !fields.entries.contains_key(key.name) {
            fill_in(key, &mut fields, problems);
        }
    }
    fields
}

/// Reads the value of a known key; a problem without a hint gets the key's example.
fn read_entry(key: &'static Key, value: &Spanned<DeValue<'_>>, problems: &mut Problems<'_>) -> Node {
    let before = problems.found.len();
    let node = read_value(key.name, &key.shape, value, problems);
    if let [problem] = &mut problems.found[before..]
        && let Some(hint) = scalar::hint_with_unit(key, value.get_ref())
    {
        problem.hint(hint);
    }
    for problem in problems.found[before..].iter_mut().filter(|p| p.hint.is_none()) {
        problem.hint(format!("for example `{} = {}`", key.name, key.example));
    }
    node
}

/// Reports an unknown key and returns the similar key that it probably stands for.
fn report_unknown_key(
    shape: &Table,
    name: &str,
    span: Range<usize>,
    problems: &mut Problems<'_>,
) -> Option<&'static str> {
    let inner = inner_keys(shape, name);
    let inner: Vec<&str> = inner.iter().map(String::as_str).collect();
    let near = if inner.is_empty() { suggest(name, shape.names()) } else { None };
    let hint = match (removed_key_hint(shape.name, name), near, inner.as_slice()) {
        (Some(hint), _, _) => hint.to_owned(),
        (None, Some(near), _) => format!("did you mean `{near}`?"),
        (None, None, []) => "remove it: it has no effect".to_owned(),
        (None, None, inner) => format!("did you mean {}?", list(inner)),
    };
    problems
        .add(span, format!("unknown key `{}` in {}", clip(name), shape.name))
        .expected(one_of(&shape.names()))
        .hint(hint);
    near
}

/// The keys called `name` in the tables of other keys: `down.delay` and `up.delay` for `delay`.
fn inner_keys(shape: &Table, name: &str) -> Vec<String> {
    let inner_table = |shape: &Shape| match shape {
        Shape::Table(table) => Some(*table),
        Shape::Or(_, Shape::Table(table)) => Some(*table),
        _ => None,
    };
    let has_it = |key: &&Key| inner_table(&key.shape).is_some_and(|table| table.key(name).is_some());
    shape.keys.iter().filter(has_it).map(|key| format!("{}.{name}", key.name)).collect()
}

/// Enters the default of an absent key, or reports that it is missing.
fn fill_in(key: &'static Key, fields: &mut Fields, problems: &mut Problems<'_>) {
    match key.need {
        Need::Required => report_missing_key(key, fields, problems),
        Need::Default(text) => {
            let node = Node { span: fields.span.clone(), ..read_default(key, text) };
            fields.entries.insert(key.name, Entry { key: None, node });
        }
        Need::Absent(_) => {}
    }
}

/// Parses the default of a key. The descriptions are tested, so that problems cannot occur.
fn read_default(key: &'static Key, text: &str) -> Node {
    let mut ignored = Problems::new(Source::new("default", text));
    match DeValue::parse(text) {
        Ok(value) => read_value(key.name, &key.shape, &value, &mut ignored),
        Err(_) => Node::invalid(0..0),
    }
}

fn report_missing_key(key: &Key, fields: &Fields, problems: &mut Problems<'_>) {
    let (missing, hint) = match key.shape {
        Shape::Tables(_) => (
            format!("at least one `[[{}]]`", key.name),
            format!("add a table `[[{}]]`: {}", key.name, key.doc),
        ),
        Shape::Table(_) => {
            (format!("`[{}]`", key.name), format!("add `{} = {}`: {}", key.name, key.example, key.doc))
        }
        _ => (format!("`{}`", key.name), format!("add `{} = {}`: {}", key.name, key.example, key.doc)),
    };
    problems
        .add(fields.span.clone(), format!("{} needs {missing}", fields.table.name))
        .expected(key.shape.expected())
        .hint(hint);
}

/// Reports a table that gives none, or more than one, of keys that exclude each other.
fn check_one_of(fields: &Fields, misspelt: &[&str], problems: &mut Problems<'_>) {
    let shape = fields.table;
    if shape.one_of.is_empty() {
        return;
    }
    let mut given: Vec<&str> = shape.one_of.iter().copied().filter(|name| fields.given(name)).collect();
    given.sort_by_key(|name| fields.key_span(name).start);
    let Some((first, others)) = given.split_first() else {
        if !misspelt.iter().any(|name| shape.one_of.contains(name)) {
            report_none_of(fields, problems);
        }
        return;
    };
    for name in others {
        problems
            .add(
                fields.key_span(name),
                format!("`{first}` and `{name}` exclude each other in {}", shape.name),
            )
            .expected(one_of(shape.one_of))
            .hint(format!("keep `{first}` or `{name}`"));
    }
}

fn report_none_of(fields: &Fields, problems: &mut Problems<'_>) {
    let shape = fields.table;
    let problem = problems
        .add(fields.span.clone(), format!("{} needs {}", shape.name, one_of(shape.one_of)))
        .expected(one_of(shape.one_of));
    if let Some(key) = shape.one_of.first().and_then(|name| shape.key(name)) {
        problem.hint(format!("for example `{} = {}`", key.name, key.example));
    }
}

/// Reads the value of the key `key`.
pub fn read_value(
    key: &str,
    shape: &'static Shape,
    found: &Spanned<DeValue<'_>>,
    problems: &mut Problems<'_>,
) -> Node {
    let span = found.span();
    if !fits(shape, found.get_ref()) {
        problems.report(span.clone(), wrong_type(key, shape, found.get_ref()), shape);
        return Node::invalid(span);
    }
    let value = match (shape, found.get_ref()) {
        (Shape::Or(a, b), value) => {
            return match (fits(a, value), fits(b, value)) {
                (true, true) => read_either(key, shape, [a, b], found, problems),
                (true, false) => read_value(key, a, found, problems),
                _ => read_value(key, b, found, problems),
            };
        }
        (Shape::List { .. } | Shape::Tuple(_), DeValue::Array(items)) => {
            return read_array(key, shape, items, span, problems);
        }
        (Shape::Table(table), DeValue::Table(keys)) => {
            Value::Table(read_table(table, keys, span.clone(), problems))
        }
        (Shape::TableByKey { key, with, without }, DeValue::Table(keys)) => {
            let table = if keys.contains_key(*key) { with } else { without };
            Value::Table(read_table(table, keys, span.clone(), problems))
        }
        (Shape::Tables(table), DeValue::Array(items)) => {
            if items.is_empty() {
                problems
                    .add(span.clone(), format!("`{key}` is empty"))
                    .expected(format!("at least one `[[{key}]]`"));
            }
            Value::List(items.iter().map(|item| read_item(key, shape, table, item, problems)).collect())
        }
        (_, value) => scalar::parse(key, shape, value).unwrap_or_else(|invalid| {
            problems.report(span.clone(), invalid, shape);
            Value::Invalid
        }),
    };
    Node { span, value }
}

/// Reads the entries of a list or tuple, which stands at `span`.
fn read_array(
    key: &str,
    shape: &'static Shape,
    items: &DeArray<'_>,
    span: Range<usize>,
    problems: &mut Problems<'_>,
) -> Node {
    let nodes: Vec<Node> = match shape {
        Shape::Tuple(parts) if items.len() == parts.len() => {
            let items = parts.iter().zip(items.iter());
            items.map(|((name, of), item)| read_value(name, of, item, problems)).collect()
        }
        Shape::Tuple(parts) => {
            let message = format!("expected {} entries, found {}", parts.len(), items.len());
            problems.add(span.clone(), message).expected(shape.expected());
            return Node::invalid(span);
        }
        Shape::List { of, min, max } => {
            if !(*min..=*max).contains(&items.len()) {
                let message = format!("`{key}` has {} entries", items.len());
                problems.add(span.clone(), message).expected(shape.expected());
            }
            items.iter().map(|item| read_value(key, of, item, problems)).collect()
        }
        _ => return Node::invalid(span),
    };
    Node { span, value: Value::List(nodes) }
}

/// Reads one entry of an array of tables.
fn read_item(
    key: &str,
    shape: &Shape,
    table: &'static Table,
    item: &Spanned<DeValue<'_>>,
    problems: &mut Problems<'_>,
) -> Node {
    let span = item.span();
    let DeValue::Table(keys) = item.get_ref() else {
        problems.report(span.clone(), wrong_type(key, shape, item.get_ref()), shape);
        return Node::invalid(span);
    };
    let fields = read_table(table, keys, span.clone(), problems);
    Node { span, value: Value::Table(fields) }
}

/// Reads a value that both alternatives of `shape` may take: as the first if that reports nothing,
/// otherwise as the second, with the expectations of both.
fn read_either(
    key: &str,
    shape: &Shape,
    [first, second]: [&'static Shape; 2],
    found: &Spanned<DeValue<'_>>,
    problems: &mut Problems<'_>,
) -> Node {
    let before = problems.found.len();
    let node = read_value(key, first, found, problems);
    if problems.found.len() == before {
        return node;
    }
    problems.found.truncate(before);
    let node = read_value(key, second, found, problems);
    for problem in &mut problems.found[before..] {
        problem.expected = Some(shape.expected());
    }
    node
}

/// True if values of this TOML type can have this shape.
fn fits(shape: &Shape, value: &DeValue<'_>) -> bool {
    let is_number = matches!(value, DeValue::Integer(_) | DeValue::Float(_));
    match shape {
        Shape::Custom(value_type) => {
            matches!(value, DeValue::String(_)) || is_number && value_type.takes_numbers()
        }
        Shape::Probability | Shape::Number { .. } => is_number,
        Shape::Integer { .. } => matches!(value, DeValue::Integer(_)),
        Shape::Flag => matches!(value, DeValue::Boolean(_)),
        Shape::Text | Shape::Name | Shape::File | Shape::Choice(_) => matches!(value, DeValue::String(_)),
        Shape::List { .. } | Shape::Tuple(_) | Shape::Tables(_) => matches!(value, DeValue::Array(_)),
        Shape::Table(_) | Shape::TableByKey { .. } => matches!(value, DeValue::Table(_)),
        Shape::Or(a, b) => fits(a, value) || fits(b, value),
    }
}

/// The complaint about a value of another TOML type.
fn wrong_type(key: &str, shape: &Shape, found: &DeValue<'_>) -> Invalid {
    let is_table_list = match shape {
        Shape::Tables(_) => true,
        Shape::List { of, .. } => matches!(of, Shape::Table(_)),
        _ => false,
    };
    let hint = match (shape, found) {
        (_, DeValue::Table(_)) if is_table_list => {
            Some(format!("use double brackets: `[[{key}]]`, once for each"))
        }
        (Shape::Table(_), DeValue::Array(_)) => Some(format!("use single brackets: `[{key}]`")),
        (shape, DeValue::String(text)) if takes_probability(shape) => Some(scalar::percent_hint(key, text)),
        (Shape::Number { .. } | Shape::Integer { .. } | Shape::Flag, DeValue::String(_)) => {
            Some("write it without quotes".to_owned())
        }
        _ => None,
    };
    let message = format!("`{}` is {}", clip(key), type_name(found));
    Invalid { message, expected: None, hint }
}

fn takes_probability(shape: &Shape) -> bool {
    match shape {
        Shape::Probability => true,
        Shape::Or(a, b) => takes_probability(a) || takes_probability(b),
        _ => false,
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date or time of day",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// At most forty characters of a file's text, for a message.
pub fn clip(text: &str) -> std::borrow::Cow<'_, str> {
    const MAX_CHARS: usize = 40;
    match text.char_indices().nth(MAX_CHARS) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
