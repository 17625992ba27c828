//! The limit of a queue.

use link::QueueLimit;
use quantities::{Kind, Quantity, Zero};
use schema::read::clip;
use schema::shape::Shape;
use schema::{Invalid, Literal, Parsed, ValueType};
use serde_json::{Value, json};
use units::{Bytes, Duration};

/// The limit of a queue, read as [`QueueLimit`].
pub(super) const QUEUE_LIMIT: Shape = Shape::Custom(&Limit);

const UNLIMITED: &str = "unlimited";
const SIZE: Quantity = Quantity { kind: Kind::Size, zero: Zero::Allowed };
const TIME: Quantity = Quantity { kind: Kind::Time, zero: Zero::Allowed };

#[derive(Debug)]
struct Limit;

impl ValueType for Limit {
    fn expected(&self) -> String {
        "a limit such as `\"50 packets\"`, `\"1MB\"`, `\"100ms\"` or `\"unlimited\"`".to_owned()
    }

    fn summary(&self) -> String {
        "packets, size, time or `\"unlimited\"`".to_owned()
    }

    fn example(&self) -> String {
        "\"50 packets\"".to_owned()
    }

    fn json_schema(&self) -> Value {
        json!({ "anyOf": [
            { "type": "string", "pattern": "^\\s*[0-9]+\\s*packets?\\s*$" },
            SIZE.json_schema(),
            TIME.json_schema(),
            { "const": UNLIMITED },
        ] })
    }

    /// True, so that a bare number is reported as a limit without its unit.
    fn takes_numbers(&self) -> bool {
        true
    }

    fn parse(&self, key: &str, literal: Literal<'_>) -> Result<Parsed, Invalid> {
        let text = match literal {
            Literal::Text(text) => text,
            Literal::Number(number) => {
                let hint = format!("add the unit, in quotes: `{key} = \"{number} packets\"`");
                return Err(Invalid { hint: Some(hint), ..Invalid::new(format!("`{number}` has no unit")) });
            }
        };
        let limit = parse(text.trim())
            .ok_or_else(|| Invalid::new(format!("`{}` is not a queue limit", clip(text))))?;
        let is_zero = match limit {
            QueueLimit::Packets(packets) => packets == 0,
            QueueLimit::Bytes(bytes) => bytes == Bytes::ZERO,
            QueueLimit::Time(time) => time.is_zero(),
            QueueLimit::Unlimited => false,
        };
        if is_zero {
            return Err(Invalid::new("a queue with a limit of zero drops every packet"));
        }
        Ok(Parsed::new(limit))
    }
}

fn parse(text: &str) -> Option<QueueLimit> {
    if text == UNLIMITED {
        return Some(QueueLimit::Unlimited);
    }
    if let Some(count) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
        return count.trim().parse().ok().map(QueueLimit::Packets);
    }
    if let Ok(parsed) = SIZE.parse("", Literal::Text(text)) {
        return parsed.downcast::<Bytes>().copied().map(QueueLimit::Bytes);
    }
    let parsed = TIME.parse("", Literal::Text(text)).ok()?;
    parsed.downcast::<Duration>().copied().map(QueueLimit::Time)
}
