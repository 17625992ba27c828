//! Packets: addresses, flags, sequence numbers, window and options.

use super::Parser;
use crate::lexer::Token;
use crate::script::{Packet, ScriptError, Value};
use wire::Flags;

const URG: Flags = Flags::from_bits(0x20);

/// Longest payload.
const MAX_LEN: u32 = 65_535;

impl Parser<'_> {
    /// A packet after its direction.
    pub(super) fn packet(&mut self) -> Result<Packet, ScriptError> {
        let ip_field = self.ip_field()?;
        let ends = self.ends()?;
        let flags = self.flags()?;
        let seq = self.integer()?;
        self.expect(':')?;
        let end: u32 = self.integer()?;
        self.expect('(')?;
        let len: u32 = self.integer()?;
        self.expect(')')?;
        if len > MAX_LEN {
            return Err(self.error("a length of at most 65,535 before it"));
        }
        if end != u32::wrapping_add(seq, len) {
            return Err(self.error("an end of start plus length before it"));
        }
        let ack = if self.skip_word("ack") { Some(self.integer()?) } else { None };
        let window = if self.skip_word("win") { Some(self.integer()?) } else { None };
        let options = if self.skip('<') { self.options()? } else { Vec::new() };
        Ok(Packet { ends, ip_field, flags, seq, len, ack, window, options })
    }

    /// `[ttl 1]` or `[tos 0x04]`.
    fn ip_field(&mut self) -> Result<Option<String>, ScriptError> {
        if !self.skip('[') {
            return Ok(None);
        }
        let name = self.word()?.to_owned();
        while !self.skip(']') {
            if self.next().is_none() {
                return Err(self.error("']'"));
            }
        }
        Ok(Some(name))
    }

    /// `addr[a] > addr[b]`, of which each side may be missing.
    fn ends(&mut self) -> Result<(Option<String>, Option<String>), ScriptError> {
        let source = self.end()?;
        let destination = if self.skip('>') { self.end()? } else { None };
        Ok((source, destination))
    }

    fn end(&mut self) -> Result<Option<String>, ScriptError> {
        if !self.skip_word("addr") {
            return Ok(None);
        }
        self.expect('[')?;
        let name = self.word()?.to_owned();
        self.expect(']')?;
        Ok(Some(name))
    }

    fn flags(&mut self) -> Result<Flags, ScriptError> {
        let mut flags = Flags::default();
        let start = self.at;
        loop {
            match self.peek() {
                Some(Token::Sign('.')) => flags = flags.with(Flags::ACK),
                Some(Token::Sign('-')) => {}
                Some(Token::Word(letters)) => {
                    for letter in letters.chars() {
                        flags = flags.with(match letter {
                            'F' => Flags::FIN,
                            'S' => Flags::SYN,
                            'R' => Flags::RST,
                            'P' => Flags::PSH,
                            'U' => URG,
                            'E' => Flags::ECE,
                            'W' => Flags::CWR,
                            _ => return Err(self.error("flags")),
                        });
                    }
                }
                _ if self.at == start => return Err(self.error("flags")),
                _ => return Ok(flags),
            }
            self.at += 1;
        }
    }

    /// Options up to `>`, separated by commas.
    fn options(&mut self) -> Result<Vec<Vec<Value>>, ScriptError> {
        let mut all = Vec::new();
        let mut option = Vec::new();
        loop {
            if self.skip('>') {
                if !option.is_empty() {
                    all.push(option);
                }
                return Ok(all);
            }
            if self.skip(',') {
                all.push(core::mem::take(&mut option));
            } else if !self.skip(':') {
                option.push(self.value(0)?);
            }
        }
    }
}
