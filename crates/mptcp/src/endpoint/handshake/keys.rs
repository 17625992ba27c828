//! The local key, and the token derived from it (RFC 8684, sections 3.1 and 3.2).

use super::Endpoint;
use crate::crypto;
use wire::Payload;

/// Keys drawn before the connection falls back to TCP (Linux `MPTCP_TOKEN_MAX_RETRIES`: 4).
const MAX_KEY_DRAWS: u32 = 4;

impl<P: Payload> Endpoint<P> {
    /// Token that identifies this connection in the peer's joins. It must be unique at this host:
    /// see [`draw_key`](Self::draw_key).
    pub fn token(&self) -> u32 {
        self.handshake.local_token()
    }

    /// Draws another key while `taken` reports its token as in use at this host (RFC 8684, section
    /// 3.1). Call it before any segment is sent. Returns false if no free token was found: the
    /// connection is plain TCP then.
    pub fn draw_key(&mut self, taken: impl Fn(u32) -> bool) -> bool {
        if self.handshake.initial_path.is_some() {
            return !taken(self.token());
        }
        for _ in 0..MAX_KEY_DRAWS {
            if !taken(self.token()) {
                return true;
            }
            self.handshake.keys.local = self.handshake.keys.randomness.bits();
            self.handshake.local_idsn = crypto::initial_dsn(self.handshake.keys.local);
        }
        self.handshake.use_tcp();
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Endpoint, Mode};
    use units::Seed;
    use wire::Span;

    #[test]
    fn token_in_use_is_not_drawn_again() {
        let mut first = Endpoint::<Span>::server(Config::default(), Seed::new(1));
        let token = first.token();
        assert!(first.draw_key(|_| false) && first.token() == token);
        let mut second = Endpoint::<Span>::server(Config::default(), Seed::new(1));
        assert!(second.draw_key(|other| other == token));
        assert_ne!(second.token(), token);
        assert!(!second.draw_key(|_| true));
        assert_eq!(second.mode(), Mode::Tcp);
    }
}
