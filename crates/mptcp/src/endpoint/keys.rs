//! The key of this end, and the token by which joins find it (RFC 8684, sections 3.1 and 3.2).

use super::{Endpoint, Mode};
use crate::crypto;
use wire::Payload;

/// Keys drawn before TCP is the way out (Linux `MPTCP_TOKEN_MAX_RETRIES`: 4).
const DRAWS: u32 = 4;

impl<P: Payload> Endpoint<P> {
    /// What names this connection in the peer's joins. A host with several must see to it that no two
    /// have the same: see [`draw_key`](Self::draw_key).
    pub fn token(&self) -> u32 {
        crypto::token(self.local_key)
    }

    /// Draws another key while `taken` says that its token is in use at this host (RFC 8684, section
    /// 3.1). Only before anything was sent. False if none was found: the connection is TCP then.
    pub fn draw_key(&mut self, taken: impl Fn(u32) -> bool) -> bool {
        if self.first.is_some() {
            return !taken(self.token());
        }
        for _ in 0..DRAWS {
            if !taken(self.token()) {
                return true;
            }
            self.local_key = self.rng.bits();
            self.local_idsn = crypto::initial_dsn(self.local_key);
        }
        self.mode = Mode::Tcp;
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Endpoint, Mode};
    use units::Seed;
    use wire::Span;

    #[test]
    fn a_token_that_is_taken_is_not_used_again() {
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
