//! As much of JSON Schema as `tandem schema` uses; an unknown keyword is a failure, so that nothing
//! goes unchecked.

use serde_json::Value;

/// Everything in `value` that `schema` does not allow.
pub(crate) fn check(schema: &Value, value: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    Checker { root: schema }.check(schema, value, "", &mut problems);
    problems
}

struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut problems = Vec::new();
        self.check(schema, value, "", &mut problems);
        problems.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
        let mut wrong = |what: String| problems.push(format!("{at}: {what}"));
        for (keyword, rule) in schema.as_object().expect("a schema is an object") {
            let number = || rule.as_f64().expect("a number");
            match keyword.as_str() {
                "$schema" | "title" | "description" | "default" | "examples" | "$defs" => {}
                "$ref" => {
                    let pointer = rule.as_str().and_then(|r| r.strip_prefix('#')).expect("a local reference");
                    let target = self.root.pointer(pointer).expect("the reference leads somewhere");
                    let mut inner = Vec::new();
                    self.check(target, value, at, &mut inner);
                    inner.into_iter().for_each(&mut wrong);
                }
                "type" => {
                    let fits = match rule.as_str().expect("one type") {
                        "string" => value.is_string(),
                        "integer" => value.is_i64() || value.is_u64(),
                        "number" => value.is_number(),
                        "boolean" => value.is_boolean(),
                        "array" => value.is_array(),
                        "object" => value.is_object(),
                        other => panic!("unknown type {other}"),
                    };
                    if !fits {
                        wrong(format!("not of type {rule}"));
                    }
                }
                "const" if value != rule => wrong(format!("not {rule}")),
                "const" => {}
                "minimum" | "maximum" | "minLength" | "minItems" | "maxItems" => {
                    let measured = match keyword.as_str() {
                        "minimum" | "maximum" => value.as_f64(),
                        "minLength" => value.as_str().map(|text| text.len() as f64),
                        _ => value.as_array().map(|items| items.len() as f64),
                    };
                    let least = keyword.starts_with("min");
                    if measured.is_some_and(|m| if least { m < number() } else { m > number() }) {
                        wrong(format!("{keyword} {rule}"));
                    }
                }
                "pattern" => {
                    let pattern = regex_lite::Regex::new(rule.as_str().expect("text")).expect("a pattern");
                    if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                        wrong(format!("{value} does not match {rule}"));
                    }
                }
                "oneOf" | "anyOf" => {
                    let fits =
                        rule.as_array().expect("a list").iter().filter(|s| self.fits(s, value)).count();
                    if fits == 0 || (keyword == "oneOf" && fits > 1) {
                        wrong(format!("{value} fits {fits} of {keyword}"));
                    }
                }
                "required" => {
                    for name in rule.as_array().expect("a list").iter().filter_map(Value::as_str) {
                        if value.is_object() && value.get(name).is_none() {
                            wrong(format!("no `{name}`"));
                        }
                    }
                }
                "properties" => {
                    let mut inner = Vec::new();
                    for (name, value) in value.as_object().into_iter().flatten() {
                        match rule.get(name) {
                            Some(schema) => self.check(schema, value, &format!("{at}/{name}"), &mut inner),
                            None if schema["additionalProperties"] == false => {
                                inner.push(format!("{at}: unknown `{name}`"));
                            }
                            None => {}
                        }
                    }
                    inner.into_iter().for_each(&mut wrong);
                }
                "additionalProperties" => assert_eq!(rule, false),
                "items" | "prefixItems" => {
                    let mut inner = Vec::new();
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        let schema = if keyword == "items" { Some(rule) } else { rule.get(i) };
                        if let Some(schema) = schema.filter(|s| s.is_object()) {
                            self.check(schema, item, &format!("{at}/{i}"), &mut inner);
                        }
                    }
                    inner.into_iter().for_each(&mut wrong);
                }
                other => panic!("unknown keyword {other}"),
            }
        }
    }
}
