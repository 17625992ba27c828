//! A parsed script.

use units::Duration;
use wire::Flags;

/// Error in a script, with the line on which it was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// Line number, from 1.
    pub line: u32,
    /// The text found, and the valid ones.
    pub message: String,
}

/// A script: its steps in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Allowed distance between the expected and the actual time of a packet.
    pub tolerance: Duration,
    /// Steps in order.
    pub steps: Vec<Step>,
}

/// One timed line.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Line number, from 1.
    pub line: u32,
    /// Time of the step.
    pub when: When,
    /// The event.
    pub action: Action,
}

/// Time of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// `0.5`: since the start.
    At(Duration),
    /// `+0.5`: since the step before.
    After(Duration),
    /// `+0.2~+0.3`: a packet between these times since the step before.
    Between(Duration, Duration),
    /// `+0...0.2`: a call that starts after the first time and returns before the second.
    Blocking(Duration, Duration),
    /// `*`: any time.
    Any,
}

/// Event of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A socket call and its result.
    Call(Call),
    /// `<`: a packet for the endpoint.
    Inbound(Packet),
    /// `>`: a packet that the endpoint must send.
    Outbound(Packet),
    /// A shell command.
    Shell(String),
}

/// A socket call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Name of the function.
    pub name: String,
    /// Arguments.
    pub arguments: Vec<Value>,
    /// Expected result.
    pub result: Value,
    /// Name of the expected error.
    pub errno: Option<String>,
}

/// A TCP packet. Sequence numbers are relative to the initial ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// Names of the source and destination address.
    pub ends: (Option<String>, Option<String>),
    /// Name of an IP field that the script sets or expects: `ttl`, `tos`.
    pub ip_field: Option<String>,
    /// Header flags.
    pub flags: Flags,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Payload length in bytes.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// Window field, unscaled.
    pub window: Option<u16>,
    /// TCP options, each as a list of words and values.
    pub options: Vec<Vec<Value>>,
}

/// An argument of a call or of a TCP option.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Int(i128),
    /// A quoted string.
    Text(String),
    /// A word, or several joined by `|`.
    Word(String),
    /// `...`
    Any,
    /// `[a, b]` or `{a, b}`.
    List(Vec<Value>),
    /// `name(a, b)`.
    Apply(String, Vec<Value>),
    /// `name[a, b]`.
    Index(String, Vec<Value>),
    /// `name=value`.
    Set(String, Box<Value>),
}

impl Value {
    /// The number.
    pub fn int(&self) -> Option<i128> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    /// The word.
    pub fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }

    /// The elements of a list.
    pub fn list(&self) -> Option<&[Self]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }
}
