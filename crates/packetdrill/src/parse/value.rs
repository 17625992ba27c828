//! Values: arguments of calls and of TCP options.

use super::Parser;
use crate::lexer::Token;
use crate::script::{ScriptError, Value};

/// Deepest nesting of lists.
const MAX_DEPTH: u32 = 16;

/// Value of a decimal or hexadecimal number without fraction.
pub(super) fn integer(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Parser<'_> {
    /// Values separated by commas, up to the sign `end`.
    pub(super) fn values(&mut self, end: char, depth: u32) -> Result<Vec<Value>, ScriptError> {
        let mut all = Vec::new();
        while !self.skip(end) {
            all.push(self.value(depth)?);
            if !self.skip(',') && self.peek() != Some(Token::Sign(end)) {
                return Err(self.error(&format!("',' or {end:?}")));
            }
        }
        Ok(all)
    }

    pub(super) fn value(&mut self, depth: u32) -> Result<Value, ScriptError> {
        if depth > MAX_DEPTH {
            return Err(self.error("less nesting"));
        }
        match self.peek() {
            Some(Token::Number(_)) => Ok(Value::Int(self.integer()?)),
            Some(Token::Sign('-')) => {
                self.at += 1;
                Ok(Value::Int(-i128::from(self.integer::<u64>()?)))
            }
            Some(Token::Text(text)) => {
                self.at += 1;
                Ok(Value::Text(text.to_owned()))
            }
            Some(Token::Ellipsis) => {
                self.at += 1;
                Ok(Value::Any)
            }
            Some(Token::Sign('[')) => {
                self.at += 1;
                Ok(Value::List(self.values(']', depth + 1)?))
            }
            Some(Token::Sign('{')) => {
                self.at += 1;
                Ok(Value::List(self.values('}', depth + 1)?))
            }
            Some(Token::Word(word)) => {
                self.at += 1;
                self.named(word, depth)
            }
            _ => Err(self.error("a value")),
        }
    }

    /// A value that begins with a word.
    fn named(&mut self, word: &str, depth: u32) -> Result<Value, ScriptError> {
        let name = word.to_owned();
        let value = if self.skip('(') {
            Value::Apply(name.clone(), self.values(')', depth + 1)?)
        } else if self.skip('[') {
            Value::Index(name.clone(), self.values(']', depth + 1)?)
        } else {
            let mut joined = name.clone();
            while self.skip('|') {
                joined.push('|');
                joined.push_str(self.word()?);
            }
            Value::Word(joined)
        };
        if self.skip('=') {
            return Ok(Value::Set(name, Box::new(self.value(depth + 1)?)));
        }
        Ok(value)
    }
}
