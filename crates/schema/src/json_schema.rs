//! A description as a JSON Schema, for editors that complete and check while one types.

use crate::read::as_i64;
use crate::shape::{Key, Need, Shape, Table};
use serde_json::{Map, Value, json};
use toml::de::DeValue;

/// The JSON Schema (draft 2020-12) of a file.
///
/// It covers single values: names, types, units, ranges and defaults. Rules about several keys are
/// left to the reader of the file.
pub fn json_schema(root: &'static Table, title: &str) -> Value {
    let mut defs = Map::new();
    let mut schema = table_schema(root, &mut defs);
    if let Some(object) = schema.as_object_mut() {
        object.insert("$defs".to_owned(), Value::Object(defs));
        object.shift_insert(0, "$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.shift_insert(1, "title".to_owned(), json!(title));
    }
    schema
}

/// The JSON Schema of a file that [`read_one_or_several`](crate::read_one_or_several) reads.
pub fn json_schema_one_or_several(
    key: &'static str,
    [one, several]: [&'static Table; 2],
    title: &str,
) -> Value {
    let mut defs = Map::new();
    let (one, several) = (table_schema(one, &mut defs), table_schema(several, &mut defs));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "if": { "properties": { key: { "type": "array" } }, "required": [key] },
        "then": several,
        "else": one,
        "$defs": Value::Object(defs),
    })
}

fn table_schema(table: &'static Table, defs: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        properties.insert(key.name.to_owned(), property(key, defs));
    }
    let required: Vec<&str> =
        table.keys.iter().filter(|k| matches!(k.need, Need::Required)).map(|k| k.name).collect();
    let mut object = json!({
        "description": table.doc,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if !table.one_of.is_empty() {
        let each: Vec<Value> = table.one_of.iter().map(|name| json!({ "required": [name] })).collect();
        object["oneOf"] = json!(each);
    }
    object
}

fn property(key: &'static Key, defs: &mut Map<String, Value>) -> Value {
    let mut value = value_schema(&key.shape, defs);
    if let Some(object) = value.as_object_mut() {
        object.shift_insert(0, "description".to_owned(), json!(describe(key)));
        if let Need::Default(text) = key.need
            && let Some(default) = from_toml(text)
        {
            object.insert("default".to_owned(), default);
        }
        if let Some(example) = from_toml(key.example) {
            object.insert("examples".to_owned(), json!([example]));
        }
    }
    value
}

fn describe(key: &Key) -> String {
    match key.need {
        Need::Absent(meaning) => format!("{} When absent: {meaning}.", key.doc),
        Need::Required | Need::Default(_) => key.doc.to_owned(),
    }
}

fn value_schema(shape: &'static Shape, defs: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Probability => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Shape::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Shape::Integer { min, max: i64::MAX } => json!({ "type": "integer", "minimum": min }),
        Shape::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::File => json!({ "type": "string", "minLength": 1 }),
        Shape::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }),
        Shape::Choice(choices) => {
            let each: Vec<Value> =
                choices.iter().map(|c| json!({ "const": c.name, "description": c.doc })).collect();
            json!({ "type": "string", "oneOf": each })
        }
        Shape::Custom(value_type) => value_type.json_schema(),
        Shape::List { of, min, max: usize::MAX } => {
            json!({ "type": "array", "items": value_schema(of, defs), "minItems": min })
        }
        Shape::List { of, min, max } => {
            json!({ "type": "array", "items": value_schema(of, defs), "minItems": min, "maxItems": max })
        }
        Shape::Tuple(parts) => tuple_schema(parts, defs),
        Shape::Table(table) => reference(table, defs),
        Shape::Tables(table) => {
            json!({ "type": "array", "items": reference(table, defs), "minItems": 1 })
        }
        Shape::TableByKey { with, without, .. } => {
            json!({ "anyOf": [reference(with, defs), reference(without, defs)] })
        }
        Shape::Or(a, b) => json!({ "anyOf": [value_schema(a, defs), value_schema(b, defs)] }),
    }
}

fn tuple_schema(parts: &'static [(&'static str, Shape)], defs: &mut Map<String, Value>) -> Value {
    let mut items = Vec::with_capacity(parts.len());
    for (name, shape) in parts {
        let mut item = value_schema(shape, defs);
        item["description"] = json!(name);
        items.push(item);
    }
    json!({
        "type": "array",
        "prefixItems": items,
        "items": false,
        "minItems": parts.len(),
        "maxItems": parts.len(),
    })
}

/// A reference to a table's entry under `$defs`, which the first reference creates.
fn reference(table: &'static Table, defs: &mut Map<String, Value>) -> Value {
    let name = table.id();
    if !defs.contains_key(&name) {
        defs.insert(name.clone(), Value::Null);
        let object = table_schema(table, defs);
        defs.insert(name.clone(), object);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn from_toml(text: &str) -> Option<Value> {
    DeValue::parse(text).ok().map(|value| to_json(value.get_ref()))
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => as_i64(number).map_or(Value::Null, |number| json!(number)),
        DeValue::Float(f) => f.as_str().parse::<f64>().map_or(Value::Null, |number| json!(number)),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(list) => list.iter().map(|v| to_json(v.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table.iter().map(|(k, v)| (k.get_ref().to_string(), to_json(v.get_ref()))).collect(),
        ),
    }
}
