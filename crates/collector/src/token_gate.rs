//! Limit of guesses of the token.

use crate::memory::Permits;
use player::serve::Network;
use std::time::Duration;

/// Attempts of a network at the same time.
const CONCURRENT_ATTEMPTS: usize = 4;
/// Time for which a wrong token occupies its attempt: a network may try 16 tokens a second.
pub(crate) const WRONG_TOKEN_PAUSE: Duration = Duration::from_millis(250);

/// Attempts to present the token. Their number is limited for each network, so that no network
/// delays another.
#[derive(Debug)]
pub(crate) struct TokenGate {
    attempts: Permits,
    pause: Duration,
}

impl TokenGate {
    pub(crate) fn new(pause: Duration) -> Self {
        Self { attempts: Permits::for_each_network(CONCURRENT_ATTEMPTS), pause }
    }

    /// Returns the result of `is_right` to an attempt of a network, a wrong one after the pause.
    pub(crate) async fn verify(&self, network: Network, is_right: impl FnOnce() -> bool) -> bool {
        let Ok(permit) = self.attempts.acquire(network).await else { return false };
        if is_right() {
            return true;
        }
        let pause = self.pause;
        // A task of its own: the pause goes on when the client disconnects.
        let pausing = tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            drop(permit);
        });
        let _ = pausing.await;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::task::yield_now;

    #[test]
    fn guess_counts_for_its_whole_pause_although_its_client_disconnects() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let network = |last: u8| Network::of([192, 0, 2, last].into());
            let gate = Arc::new(TokenGate::new(Duration::from_secs(3600)));
            let attempt = |network, is_right: bool| {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move { gate.verify(network, || is_right).await })
            };
            for _ in 0..CONCURRENT_ATTEMPTS {
                let guess = attempt(network(1), false);
                yield_now().await;
                guess.abort();
                assert!(guess.await.unwrap_err().is_cancelled());
            }
            // The next guess learns nothing, not even that it is right.
            let right = attempt(network(1), true);
            yield_now().await;
            assert!(!right.is_finished());
            assert!(attempt(network(2), true).await.unwrap(), "another network has its own attempts");
        });
    }
}
