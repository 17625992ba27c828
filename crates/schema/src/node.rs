//! A file that has been read: values with their places, defaults filled in.

use crate::shape::Table;
use core::ops::Range;
use std::collections::BTreeMap;
use units::{Bitrate, Bytes, Duration, Energy, Power};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it stands, in bytes of the text.
    pub span: Range<usize>,
    /// What was read.
    pub value: Value,
}

/// What was read. A value that was wrong has been reported and is [`Value::Bad`] here, so that the
/// rest of the file can still be looked at.
#[derive(Debug, Clone)]
pub enum Value {
    /// A span of time.
    Time(Duration),
    /// A rate.
    Rate(Bitrate),
    /// An amount of data.
    Size(Bytes),
    /// A power.
    Power(Power),
    /// An energy.
    Energy(Energy),
    /// A number.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// True or false.
    Flag(bool),
    /// Text, or the name of a choice.
    Text(String),
    /// A queue's limit.
    Queue(Queue),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Fields),
    /// A table that another reader understands.
    Free(toml::Table),
    /// Something that was wrong, and has been reported.
    Bad,
}

/// A queue's limit as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(Bytes),
    /// What leaves in so much time.
    Time(Duration),
    /// No limit.
    Unlimited,
}

/// The keys of one table.
#[derive(Debug, Clone)]
pub struct Fields {
    /// The table's header, or the whole inline table.
    pub span: Range<usize>,
    /// The description that it was read against.
    pub table: &'static Table,
    /// The keys that are written, and those that have a default.
    pub entries: BTreeMap<&'static str, Entry>,
}

/// One key with its value; written, or a default.
#[derive(Debug, Clone)]
pub struct Entry {
    /// `None` for a default.
    pub key: Option<Range<usize>>,
    /// Its value.
    pub node: Node,
}

macro_rules! read {
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

read! {
    time: Time -> Duration,
    rate: Rate -> Bitrate,
    size: Size -> Bytes,
    power: Power -> Power,
    energy: Energy -> Energy,
    number: Number -> f64,
    integer: Integer -> i64,
    flag: Flag -> bool,
    queue: Queue -> Queue,
}

impl Node {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
    /// The entries of a list; none of anything else.
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
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        debug_assert!(self.table.key(key).is_some(), "no key `{key}` is described for {}", self.table.name);
        self.entries.get(key).map(|e| &e.node)
    }
    /// The text that `key` has.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::text)
    }
    /// The entries of the list that `key` has.
    pub fn list(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::list)
    }
    /// The keys of the table that `key` has.
    pub fn fields(&self, key: &str) -> Option<&Fields> {
        self.get(key).and_then(Node::fields)
    }
    /// True if the key is written in the file, rightly or wrongly.
    pub fn given(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|e| e.key.is_some())
    }
    /// Where the value stands; the table for one that does not.
    pub fn span(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.span.clone(), |n| n.span.clone())
    }
    /// Where the key stands; the table for one that does not.
    pub fn key_span(&self, key: &str) -> Range<usize> {
        self.entries.get(key).and_then(|e| e.key.clone()).unwrap_or(self.span.clone())
    }
}
