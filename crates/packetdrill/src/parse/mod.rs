//! Parser of scripts: times, packets, calls and shell commands.

mod packet;
mod value;

use crate::lexer::{Token, tokens};
use crate::script::{Action, Call, Script, ScriptError, Step, When};
use units::Duration;

/// Tolerance of a script that sets none.
const DEFAULT_TOLERANCE: Duration = Duration::from_millis(4);
/// Latest time of a step.
const MAX_TIME_SECS: f64 = 1e6;

impl Script {
    /// Parses a script.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0 };
        let mut script = Self { tolerance: DEFAULT_TOLERANCE, steps: Vec::new() };
        while parser.peek().is_some() {
            if parser.peek() == Some(Token::Sign('-')) {
                parser.setting(&mut script)?;
            } else {
                let step = parser.step()?;
                script.steps.push(step);
            }
        }
        Ok(script)
    }
}

struct Parser<'a> {
    tokens: Vec<(u32, Token<'a>)>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|&(_, token)| token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Line of the next token, or of the last one at the end.
    fn line(&self) -> u32 {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(self.at.min(last)).map_or(1, |&(line, _)| line)
    }

    /// Takes the sign if it is next.
    fn skip(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    /// Takes the word if it is next.
    fn skip_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(Token::Word(word));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Result<(), ScriptError> {
        if self.skip(sign) { Ok(()) } else { Err(self.error(&format!("{sign:?}"))) }
    }

    /// Error: the next token is not one of the `expected`.
    fn error(&self, expected: &str) -> ScriptError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(text) | Token::Number(text)) => format!("{text:?}"),
            Some(Token::Sign(sign)) => format!("{sign:?}"),
            Some(Token::Text(_)) => "a string".to_owned(),
            Some(Token::Shell(_)) => "a shell command".to_owned(),
            Some(Token::Ellipsis) => "\"...\"".to_owned(),
        };
        ScriptError { line: self.line(), message: format!("found {found}, expected {expected}") }
    }

    fn word(&mut self) -> Result<&'a str, ScriptError> {
        let Some(Token::Word(word)) = self.peek() else { return Err(self.error("a word")) };
        self.at += 1;
        Ok(word)
    }

    /// A number without fraction that fits into `T`.
    fn integer<T: TryFrom<i128>>(&mut self) -> Result<T, ScriptError> {
        let number = if let Some(Token::Number(text)) = self.peek() { value::integer(text) } else { None };
        let Some(number) = number.and_then(|number| T::try_from(number).ok()) else {
            return Err(self.error("a number in range"));
        };
        self.at += 1;
        Ok(number)
    }

    /// A time in seconds.
    fn seconds(&mut self) -> Result<Duration, ScriptError> {
        let text = if let Some(Token::Number(text)) = self.peek() { text } else { "" };
        match text.parse::<f64>() {
            Ok(secs) if secs <= MAX_TIME_SECS => {
                self.at += 1;
                Ok(Duration::from_secs_f64(secs))
            }
            _ => Err(self.error("a time in seconds")),
        }
    }

    /// `--name=value`; only the tolerance matters.
    fn setting(&mut self, script: &mut Script) -> Result<(), ScriptError> {
        self.expect('-')?;
        self.expect('-')?;
        let name = self.word()?;
        if !self.skip('=') {
            return Ok(());
        }
        if name == "tolerance_usecs" {
            script.tolerance = Duration::from_micros(u64::from(self.integer::<u32>()?));
        } else if self.next().is_none() {
            return Err(self.error("a value"));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Step, ScriptError> {
        let line = self.line();
        if let Some(Token::Shell(command)) = self.peek() {
            self.at += 1;
            let action = Action::Shell(command.to_owned());
            return Ok(Step { line, when: When::After(Duration::ZERO), action });
        }
        let when = self.when()?;
        let action = match self.peek() {
            Some(Token::Shell(command)) => {
                self.at += 1;
                Action::Shell(command.to_owned())
            }
            Some(Token::Word(_)) => Action::Call(self.call()?),
            Some(Token::Sign('<')) => {
                self.at += 1;
                Action::Inbound(self.packet()?)
            }
            Some(Token::Sign('>')) => {
                self.at += 1;
                Action::Outbound(self.packet()?)
            }
            _ => return Err(self.error("a packet (<, >), a call or a shell command")),
        };
        Ok(Step { line, when, action })
    }

    fn when(&mut self) -> Result<When, ScriptError> {
        if self.skip('*') {
            return Ok(When::Any);
        }
        let relative = self.skip('+');
        let start = self.seconds()?;
        if !relative {
            return Ok(When::At(start));
        }
        if self.skip('~') {
            self.skip('+');
            return Ok(When::Between(start, self.seconds()?));
        }
        if self.peek() == Some(Token::Ellipsis) {
            self.at += 1;
            return Ok(When::Blocking(start, self.seconds()?));
        }
        Ok(When::After(start))
    }

    /// `name(arguments) = result ERRNO (remark)`.
    fn call(&mut self) -> Result<Call, ScriptError> {
        let name = self.word()?.to_owned();
        self.expect('(')?;
        let arguments = self.values(')', 0)?;
        self.expect('=')?;
        let result = self.value(0)?;
        let errno = if let Some(Token::Word(word)) = self.peek() {
            self.at += 1;
            Some(word.to_owned())
        } else {
            None
        };
        if self.skip('(') {
            while !self.skip(')') {
                if self.next().is_none() {
                    return Err(self.error("')'"));
                }
            }
        }
        Ok(Call { name, arguments, result, errno })
    }
}
