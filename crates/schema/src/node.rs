//! The values of a file with their positions, defaults filled in.

use crate::shape::Table;
use crate::value_type::Parsed;
use core::any::Any;
use core::ops::Range;
use std::collections::BTreeMap;

/// A value and its position.
#[derive(Debug, Clone)]
pub struct Node {
    /// Position in bytes of the text.
    pub span: Range<usize>,
    /// The value.
    pub value: Value,
}

/// A value of a file.
#[derive(Debug, Clone)]
pub enum Value {
    /// A number.
    Number(f64),
    /// An integer.
    Integer(i64),
    /// True or false.
    Flag(bool),
    /// Text, or the name of a choice.
    Text(String),
    /// The result of a [`ValueType`](crate::ValueType).
    Custom(Parsed),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Fields),
    /// A value with a problem that has been reported. It keeps its place, so that the rest of the
    /// file can be checked.
    Invalid,
}

/// The keys of one table.
#[derive(Debug, Clone)]
pub struct Fields {
    /// Position of the table's header, or of the whole inline table.
    pub span: Range<usize>,
    /// The description that the table was read against.
    pub table: &'static Table,
    /// The keys that are given, and those that have a default.
    pub entries: BTreeMap<&'static str, Entry>,
}

/// One key with its value, given in the file or a default.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Position of the key; `None` for a default.
    pub key: Option<Range<usize>>,
    /// The value.
    pub node: Node,
}

macro_rules! accessors {
    ($($name:ident: $variant:ident -> $type:ty),+ $(,)?) => {
        impl Node {
            $(/// The value, if it is of that kind.
            pub fn $name(&self) -> Option<$type> {
                match &self.value { Value::$variant(v) => Some(v.clone()), _ => None }
            })+
        }
        impl Fields {
            $(/// The value of `key`, if it is of that kind.
            pub fn $name(&self, key: &str) -> Option<$type> {
                self.get(key).and_then(Node::$name)
            })+
        }
    };
}

accessors! {
    number: Number -> f64,
    integer: Integer -> i64,
    flag: Flag -> bool,
}

impl Node {
    /// A value with a problem that has been reported.
    pub(crate) fn invalid(span: Range<usize>) -> Self {
        Self { span, value: Value::Invalid }
    }
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
    /// The result of a [`ValueType`](crate::ValueType), if it is a `T`.
    pub fn custom<T: Any + Clone>(&self) -> Option<T> {
        match &self.value {
            Value::Custom(parsed) => parsed.downcast().cloned(),
            _ => None,
        }
    }
    /// The entries of a list; empty for anything else.
    pub fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(nodes) => nodes,
            _ => &[],
        }
    }
    /// The keys, if it is a table.
    pub fn fields(&self) -> Option<&Fields> {
        match &self.value {
            Value::Table(fields) => Some(fields),
            _ => None,
        }
    }
}

impl Fields {
    /// The value of `key`: the given one, or the default.
    pub fn get(&self, key: &str) -> Option<&Node> {
        debug_assert!(self.table.key(key).is_some(), "{} has no key `{key}`", self.table.name);
        self.entries.get(key).map(|e| &e.node)
    }
    /// The text of `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::text)
    }
    /// The value of `key` that a [`ValueType`](crate::ValueType) parsed, if it is a `T`.
    pub fn custom<T: Any + Clone>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(Node::custom)
    }
    /// The entries of the list of `key`.
    pub fn list(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::list)
    }
    /// The keys of the table of `key`.
    pub fn fields(&self, key: &str) -> Option<&Fields> {
        self.get(key).and_then(Node::fields)
    }
    /// True if the file gives the key, with a valid value or not.
    pub fn given(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|e| e.key.is_some())
    }
    /// Position of the value; of the table if the key is absent.
    pub fn span(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.span.clone(), |n| n.span.clone())
    }
    /// Position of the key; of the table if the key is absent.
    pub fn key_span(&self, key: &str) -> Range<usize> {
        self.entries.get(key).and_then(|e| e.key.clone()).unwrap_or(self.span.clone())
    }
}
