//! The port of players in the configuration file.

use super::Reader;
use crate::status::{PlayerPort, TOKEN_BYTES, Token, parse_origin};
use schema::node::Fields;

impl Reader<'_, '_> {
    pub(super) fn players(&mut self, fields: &Fields) -> Option<PlayerPort> {
        let hint = "players of other hosts cannot know how long this one waits for data";
        let listen = self.loopback(fields, "listen", 9465, hint);
        let mut origins = Vec::new();
        for node in fields.list("origins") {
            let text = node.text().unwrap_or_default();
            match parse_origin(text) {
                Some(origin) => origins.push(origin),
                None => {
                    self.problems
                        .add(node.span.clone(), format!("invalid origin `{}`", schema::read::clip(text)))
                        .expected("scheme, host and port of a page, such as `https://player.example.org`")
                        .hint("there are no patterns, and `null` is the origin of any sandboxed page");
                }
            }
        }
        let token = self.token(fields);
        Some(PlayerPort { listen: listen?, origins, token: token? })
    }

    fn token(&mut self, fields: &Fields) -> Option<Token> {
        let path = fields.text("token_file")?;
        let hint = "`openssl rand -hex 16 > player-token` makes one; only the agent should read it";
        let text = self.named_file(path, &fields.span("token_file"), "token", hint)?;
        let token = Token::parse(&text);
        if token.is_none() {
            let (least, most) = (TOKEN_BYTES.start(), TOKEN_BYTES.end());
            self.problems
                .add(fields.span("token_file"), format!("`{path}` has no usable token"))
                .expected(format!("one line of {least} to {most} letters and digits"))
                .hint(hint);
        }
        token
    }
}
