//! Tokens of a script, with line numbers.

use crate::ScriptError;

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Word(&'a str),
    /// Digits with an optional fraction, or a hexadecimal number.
    Number(&'a str),
    /// Contents of a quoted string.
    Text(&'a str),
    /// Contents between backticks.
    Shell(&'a str),
    /// `...`
    Ellipsis,
    Sign(char),
}

/// Returns the tokens of `text` with their lines.
pub(crate) fn tokens(text: &str) -> Result<Vec<(u32, Token<'_>)>, ScriptError> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut all = Vec::new();
    loop {
        lexer.skip_blank()?;
        let line = lexer.line;
        let Some(first) = lexer.rest.chars().next() else { return Ok(all) };
        all.push((line, lexer.token(first)?));
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    /// Takes `len` bytes, which end at a character boundary.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.line += taken.bytes().filter(|&byte| byte == b'\n').count() as u32;
        self.rest = rest;
        taken
    }

    /// Takes the characters that `belongs` accepts.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let len = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        self.take(len)
    }

    fn skip_blank(&mut self) -> Result<(), ScriptError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                self.take(2);
                self.take_until("*/", "comment")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Takes text up to `end`, and `end`.
    fn take_until(&mut self, end: &str, what: &str) -> Result<&'a str, ScriptError> {
        let line = self.line;
        let Some(len) = self.rest.find(end) else {
            return Err(ScriptError { line, message: format!("the {what} has no end: {end} is missing") });
        };
        let inside = self.take(len);
        self.take(end.len());
        Ok(inside)
    }

    fn token(&mut self, first: char) -> Result<Token<'a>, ScriptError> {
        match first {
            '`' | '"' => {
                self.take(1);
                if first == '"' {
                    return self.take_until("\"", "string").map(Token::Text);
                }
                self.take_until("`", "shell command").map(Token::Shell)
            }
            '.' if self.rest.starts_with("...") => {
                self.take(3);
                Ok(Token::Ellipsis)
            }
            '0'..='9' => Ok(Token::Number(self.number())),
            'a'..='z' | 'A'..='Z' | '_' => {
                Ok(Token::Word(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')))
            }
            other => {
                self.take(other.len_utf8());
                Ok(Token::Sign(other))
            }
        }
    }

    fn number(&mut self) -> &'a str {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut len = digits(0);
        if bytes.starts_with(b"0x") {
            len = 2 + bytes[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        } else if bytes.get(len) == Some(&b'.') && bytes.get(len + 1).is_some_and(u8::is_ascii_digit) {
            len += 1 + digits(len + 1);
        }
        self.take(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_words_and_signs_are_separated() {
        let text = "+0...0.02 > P. 1:3(2) // note\n`a b`";
        let found: Vec<_> = tokens(text).unwrap().into_iter().map(|(_, token)| token).collect();
        use Token::{Ellipsis, Number, Shell, Sign, Word};
        let expected = [
            Sign('+'),
            Number("0"),
            Ellipsis,
            Number("0.02"),
            Sign('>'),
            Word("P"),
            Sign('.'),
            Number("1"),
            Sign(':'),
            Number("3"),
            Sign('('),
            Number("2"),
            Sign(')'),
            Shell("a b"),
        ];
        assert_eq!(found, expected);
        assert_eq!(tokens(text).unwrap().last().unwrap().0, 2);
    }

    #[test]
    fn text_without_an_end_is_an_error() {
        assert_eq!(tokens("\n`ls").unwrap_err().line, 2);
        assert!(tokens("\"x").is_err() && tokens("/* x").is_err());
    }
}
