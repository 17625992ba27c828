//! The scenario file as a JSON Schema, for editors that complete and check as one types.

use crate::format::SCENARIO;
use crate::shape::{Key, Need, Quantity, Shape, Table};
use serde_json::{Map, Value, json};
use toml::de::DeValue;

/// The JSON Schema (draft 2020-12) of a scenario file.
///
/// It says what a single value can show: names, types, units, ranges and defaults. What takes two
/// keys to see, such as a path over a cell that does not exist, only
/// [`Scenario::parse`](crate::Scenario::parse) finds.
pub fn json_schema() -> Value {
    let mut defs = Map::new();
    let mut root = table(&SCENARIO, &mut defs);
    if let Some(root) = root.as_object_mut() {
        root.insert("$defs".to_owned(), Value::Object(defs));
        root.shift_insert(0, "$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.shift_insert(1, "title".to_owned(), json!("Tandem scenario"));
    }
    root
}

fn table(shape: &'static Table, defs: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for key in shape.keys {
        properties.insert(key.name.to_owned(), property(key, defs));
    }
    let required: Vec<&str> =
        shape.keys.iter().filter(|k| matches!(k.need, Need::Required)).map(|k| k.name).collect();
    let mut object = json!({
        "description": shape.doc,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if !shape.one_of.is_empty() {
        let each: Vec<Value> = shape.one_of.iter().map(|name| json!({ "required": [name] })).collect();
        object["oneOf"] = json!(each);
    }
    object
}

fn property(key: &'static Key, defs: &mut Map<String, Value>) -> Value {
    let mut value = of(&key.shape, defs);
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

fn of(shape: &'static Shape, defs: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Quantity(quantity, _) => quantity_schema(*quantity),
        Shape::Probability => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Shape::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Shape::Integer { min, max: i64::MAX } => json!({ "type": "integer", "minimum": min }),
        Shape::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::File | Shape::Radio => json!({ "type": "string", "minLength": 1 }),
        Shape::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }),
        Shape::Choice(choices) => {
            let each: Vec<Value> =
                choices.iter().map(|c| json!({ "const": c.name, "description": c.doc })).collect();
            json!({ "type": "string", "oneOf": each })
        }
        Shape::Queue => json!({ "anyOf": [
            { "type": "string", "pattern": "^\\s*[0-9]+\\s*packets?\\s*$" },
            quantity_schema(Quantity::Size),
            quantity_schema(Quantity::Time),
            { "const": "unlimited" },
        ] }),
        Shape::List { of: each, min, max } => {
            json!({ "type": "array", "items": of(each, defs), "minItems": min, "maxItems": max })
        }
        Shape::Tuple(parts) => {
            let items: Vec<Value> = parts
                .iter()
                .map(|(name, shape)| {
                    let mut item = of(shape, defs);
                    item["description"] = json!(name);
                    item
                })
                .collect();
            json!({
                "type": "array",
                "prefixItems": items,
                "items": false,
                "minItems": parts.len(),
                "maxItems": parts.len(),
            })
        }
        Shape::Table(shape) => reference(shape, defs),
        Shape::Tables(shape) => {
            json!({ "type": "array", "items": reference(shape, defs), "minItems": 1 })
        }
        Shape::Or(a, b) => json!({ "anyOf": [of(a, defs), of(b, defs)] }),
        Shape::Free(_) => json!({ "type": "object" }),
    }
}

/// A reference to a table's own entry under `$defs`, which is written on first use.
fn reference(shape: &'static Table, defs: &mut Map<String, Value>) -> Value {
    let name = shape.id();
    if !defs.contains_key(&name) {
        defs.insert(name.clone(), Value::Null);
        let object = table(shape, defs);
        defs.insert(name.clone(), object);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// That zero will not do everywhere is left to the parser: a pattern that says so needs look-ahead,
/// which not every validator has.
fn quantity_schema(quantity: Quantity) -> Value {
    let units = quantity.units().join("|");
    json!({
        "type": "string",
        "pattern": format!("^\\s*\\+?[0-9_]*\\.?[0-9_]+\\.?([eE]-?[0-9]+)?\\s*({units})\\s*$"),
    })
}

/// TOML text as JSON.
fn from_toml(text: &str) -> Option<Value> {
    DeValue::parse(text).ok().map(|value| to_json(value.get_ref()))
}

/// A TOML value as JSON, as a JSON Schema looks at it.
pub(crate) fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(i) => {
            i64::from_str_radix(i.as_str(), i.radix()).map_or(Value::Null, |number| json!(number))
        }
        DeValue::Float(f) => f.as_str().parse::<f64>().map_or(Value::Null, |number| json!(number)),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(list) => list.iter().map(|v| to_json(v.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table.iter().map(|(k, v)| (k.get_ref().to_string(), to_json(v.get_ref()))).collect(),
        ),
    }
}
