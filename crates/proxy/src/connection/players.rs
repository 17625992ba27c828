//! Reports the state of players to the local agent, from the CMCD of their requests.
//!
//! A player reports its buffer only with a request. The proxy counts the response bytes meanwhile,
//! and reports at the request, every 100 ms during the response, and at its end.

use super::Client;
use super::exchange::Answer;
use cmcd::State;
use core::pin::Pin;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::{Instant, MissedTickBehavior, interval};
use units::Bytes;

/// Interval between reports during a response.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Player request in progress.
#[derive(Debug)]
pub(super) struct PlayerWatch {
    agent: PathBuf,
    /// State that the request reported; `requested_at` is the time of the request.
    reported: State,
    requested_at: Instant,
    /// Bytes that the connection had carried to the client before.
    before: u64,
}

impl PlayerWatch {
    /// Creates the watch for a request head, boxed because few requests have one. `None` without an
    /// agent, or without buffer state in the request.
    pub(super) fn of(client: &Client, head: &[u8]) -> Option<Box<Self>> {
        let agent = client.config.agent.clone()?;
        let reported = State::of_request(head).filter(State::is_of_a_buffer)?;
        let before = client.down.load(Relaxed);
        Some(Box::new(Self { agent, reported, requested_at: Instant::now(), before }))
    }

    /// Player state `later`, after `come` of `size` response bytes. `u64::MAX` is an unknown size.
    fn state_during(&self, later: Duration, come: u64, size: u64) -> State {
        let later = units::Duration::from_nanos(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX));
        // Estimate an unknown size from bitrate and duration. Until the end, at least one byte is
        // missing.
        let guessed = self.reported.missing_or_whole().map(Bytes::get);
        let size = if size == u64::MAX { guessed } else { Some(size) };
        State {
            // A stalled player does not drain its buffer.
            buffer: if self.reported.urgent {
                self.reported.buffer
            } else {
                self.reported.buffer_after(later)
            },
            missing: size.map(|size| Bytes::new(size.saturating_sub(come).max(1))),
            ..self.reported.clone()
        }
    }

    /// Player state after the response. A complete response adds its duration to the buffer.
    fn state_after(&self, later: Duration, whole: bool) -> State {
        let state_during = self.state_during(later, 0, 0);
        let brought = self.reported.duration.filter(|_| whole).unwrap_or_default();
        State {
            buffer: state_during.buffer.map(|buffer| buffer + brought),
            // A stalled player resumes with a complete response, if its buffer level is known.
            urgent: state_during.urgent && !(whole && state_during.buffer.is_some()),
            missing: Some(Bytes::ZERO),
            ..state_during
        }
    }

    /// As the function [`report_while`], with this watch.
    async fn report_while<E>(
        &self,
        size: &AtomicU64,
        down: &AtomicU64,
        mut answer: Pin<&mut impl Future<Output = Result<Answer, E>>>,
    ) -> Result<Answer, E> {
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut answer => break result,
                _ = ticks.tick() => {
                    let come = down.load(Relaxed).saturating_sub(self.before);
                    self.send(&self.state_during(self.requested_at.elapsed(), come, size.load(Relaxed))).await;
                }
            }
        };
        let whole = matches!(result, Ok(Answer { status: 200..300, .. }));
        self.send(&self.state_after(self.requested_at.elapsed(), whole)).await;
        result
    }

    async fn send(&self, state: &State) {
        // Neither call blocks for long on a UNIX socket. A missing agent may start later.
        if let Ok(mut stream) = UnixStream::connect(&self.agent).await {
            _ = stream.write_all(state.message().as_bytes()).await;
        }
    }
}

/// Awaits `answer`, and reports the player's state meanwhile if there is a `watch`. `size` is the
/// response size once known, `down` the bytes sent to the client.
pub(super) async fn report_while<E>(
    watch: Option<Box<PlayerWatch>>,
    size: &AtomicU64,
    down: &AtomicU64,
    answer: Pin<&mut impl Future<Output = Result<Answer, E>>>,
) -> Result<Answer, E> {
    match watch {
        // Boxed, so that other requests do not carry its state.
        Some(watch) => Box::pin(watch.report_while(size, down, answer)).await,
        None => answer.await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(text: &str) -> PlayerWatch {
        let mut reported = State::default();
        reported.read(text);
        PlayerWatch { agent: PathBuf::new(), reported, requested_at: Instant::now(), before: 0 }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn seconds(state: &State) -> Option<f64> {
        state.buffer.map(units::Duration::as_secs_f64)
    }

    #[test]
    fn pending_response_reports_missing_bytes() {
        let watch = watch("bl=8000,br=8000,d=2000,sid=\"s\"");
        let state_during = watch.state_during(SECOND, 400, 1000);
        assert_eq!((seconds(&state_during), state_during.missing), (Some(7.0), Some(Bytes::new(600))));
        assert_eq!(state_during.session.as_deref(), Some("s"));
        // An unknown size is estimated from the bitrate, with a minimum of one byte.
        assert_eq!(watch.state_during(SECOND, 400, u64::MAX).missing, Some(Bytes::new(1_999_600)));
        assert_eq!(watch.state_during(SECOND, 3_000_000, u64::MAX).missing, Some(Bytes::new(1)));
    }

    #[test]
    fn complete_response_adds_to_the_buffer() {
        let watch = watch("bl=8000,br=8000,d=2000");
        assert_eq!(seconds(&watch.state_after(SECOND, true)), Some(9.0));
        assert_eq!(seconds(&watch.state_after(SECOND, false)), Some(7.0), "it was not whole");
        assert_eq!(watch.state_after(SECOND, false).missing, Some(Bytes::ZERO));
    }

    #[test]
    fn stalled_player_resumes_if_its_buffer_is_known() {
        let waits = watch("bl=0,br=8000,d=2000,su");
        assert_eq!(seconds(&waits.state_during(SECOND, 1, 2)), Some(0.0));
        let plays = waits.state_after(SECOND, true);
        assert!(seconds(&plays) == Some(2.0) && !plays.urgent);
        assert!(waits.state_after(SECOND, false).urgent);
        assert_eq!(seconds(&watch("bl=1500,d=2000,su").state_after(SECOND, true)), Some(3.5));
        let unknown = watch("br=8000,d=2000,su");
        assert!(
            unknown.state_after(SECOND, true).urgent && unknown.state_after(SECOND, true).buffer.is_none()
        );
    }
}
