//! Value types defined by other crates, such as a time or a queue limit.

use crate::diagnostic::Invalid;
use core::any::Any;
use core::fmt;
use std::sync::Arc;

/// A type of value, written as a TOML string or number.
///
/// An implementation is usually a constant, to which [`Shape::Custom`](crate::shape::Shape) refers.
pub trait ValueType: fmt::Debug + Sync {
    /// A phrase for messages: "a time such as `"5ms"`; units: ns, us, ms, s, min, h".
    fn expected(&self) -> String;
    /// A short form for tables of keys: "time, above zero".
    fn summary(&self) -> String;
    /// A valid value, as TOML.
    fn example(&self) -> String;
    /// The JSON Schema of a value.
    fn json_schema(&self) -> serde_json::Value;
    /// True if a bare number is passed to [`parse`](Self::parse), which can then report the
    /// missing unit. Otherwise a number is reported as a value of the wrong TOML type.
    fn takes_numbers(&self) -> bool {
        false
    }
    /// Completes a value that lacks its unit with the unit of `example`, a TOML value; `None` if
    /// the value lacks anything else.
    fn complete(&self, text: &str, example: &str) -> Option<String> {
        let _ = (text, example);
        None
    }
    /// Parses the value of the key `key`.
    ///
    /// # Errors
    /// Returns the reason why the value is invalid. If its `expected` is `None`, the message uses
    /// the text of [`expected`](Self::expected).
    fn parse(&self, key: &str, literal: Literal<'_>) -> Result<Parsed, Invalid>;
}

/// A TOML value as a [`ValueType`] sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal<'a> {
    /// Text, without its quotes.
    Text(&'a str),
    /// An integer or float, as written.
    Number(&'a str),
}

/// The result of a [`ValueType`]: a value of any type, shared between clones.
#[derive(Debug, Clone)]
pub struct Parsed(Arc<dyn Any + Send + Sync>);

impl Parsed {
    /// Wraps a value.
    pub fn new<T: Any + Send + Sync>(value: T) -> Self {
        Self(Arc::new(value))
    }
    /// The value, if it is a `T`.
    pub fn downcast<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}
