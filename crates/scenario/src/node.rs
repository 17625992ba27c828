//! A scenario that has been read: values with their places, defaults filled in.

use crate::shape::Table;
use core::ops::Range;
use std::collections::BTreeMap;
use units::{Bitrate, Bytes, Duration, Energy, Power};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

/// What was read. A value that was wrong has been reported and is [`Value::Bad`] here, so that the
/// rest of the file can still be looked at.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Time(Duration),
    Rate(Bitrate),
    Size(Bytes),
    Power(Power),
    Energy(Energy),
    Number(f64),
    Integer(i64),
    Flag(bool),
    Text(String),
    Queue(Queue),
    List(Vec<Node>),
    Table(Fields),
    Free(toml::Table),
    Bad,
}

/// A queue's limit as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Packets(u32),
    Bytes(Bytes),
    Time(Duration),
    Unlimited,
}

/// The keys of one table.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    /// The table's header, or the whole inline table.
    pub(crate) span: Range<usize>,
    pub(crate) table: &'static Table,
    pub(crate) entries: BTreeMap<&'static str, Entry>,
}

/// One key with its value; written, or a default.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// `None` for a default.
    pub(crate) key: Option<Range<usize>>,
    pub(crate) node: Node,
}

macro_rules! read {
    ($($name:ident: $variant:ident -> $type:ty),+ $(,)?) => {
        impl Node {
            $(pub(crate) fn $name(&self) -> Option<$type> {
                match &self.value { Value::$variant(v) => Some(v.clone()), _ => None }
            })+
        }
        impl Fields {
            $(pub(crate) fn $name(&self, key: &str) -> Option<$type> {
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
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
    pub(crate) fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(nodes) => nodes,
            _ => &[],
        }
    }
    pub(crate) fn fields(&self) -> Option<&Fields> {
        match &self.value {
            Value::Table(fields) => Some(fields),
            _ => None,
        }
    }
}

impl Fields {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        debug_assert!(self.table.key(key).is_some(), "no key `{key}` is described for {}", self.table.name);
        self.entries.get(key).map(|e| &e.node)
    }
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::text)
    }
    pub(crate) fn list(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::list)
    }
    pub(crate) fn fields(&self, key: &str) -> Option<&Fields> {
        self.get(key).and_then(Node::fields)
    }
    /// True if the key is written in the file, rightly or wrongly.
    pub(crate) fn given(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|e| e.key.is_some())
    }
    /// Where the value stands; the table for one that does not.
    pub(crate) fn span(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.span.clone(), |n| n.span.clone())
    }
    /// Where the key stands; the table for one that does not.
    pub(crate) fn key_span(&self, key: &str) -> Range<usize> {
        self.entries.get(key).and_then(|e| e.key.clone()).unwrap_or(self.span.clone())
    }
}
