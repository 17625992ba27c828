//! Players whose requests pass: an agent on the same device is told how they stand.
//!
//! A player says with its request what is in its buffer, and then nothing until the next one. What is still to come of the
//! answer the proxy sees itself. So the agent is told when a request passes, ten times a second while its answer
//! comes, and at its end.

use super::Client;
use cmcd::State;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::{Instant, MissedTickBehavior, interval};
use units::Bytes;

/// So often the agent is told while an answer comes.
const OFTEN: Duration = Duration::from_millis(100);

/// A request of a player, on its way.
#[derive(Debug)]
pub(super) struct Watch {
    agent: PathBuf,
    /// What its request said, and when.
    said: State,
    asked: Instant,
    /// What its connection had carried before.
    before: u64,
}

impl Watch {
    /// Of a request with this head; `None` where no agent is to be told, or it says nothing of a buffer.
    pub(super) fn of(client: &Client, head: &[u8]) -> Option<Self> {
        let agent = client.config.agent.clone()?;
        let said = State::of_request(head).filter(State::is_of_a_buffer)?;
        Some(Self { agent, said, asked: Instant::now(), before: client.down.load(Relaxed) })
    }

    /// How the player stands after `later`, when so many bytes of so many have come; `u64::MAX` where nobody knows
    /// how many there are.
    fn stands(&self, later: Duration, come: u64, size: u64) -> State {
        let later = units::Duration::from_nanos(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX));
        // What its bitrate says is not far off, and until the end there is something to come.
        let guessed = self.said.missing_or_whole().map(Bytes::get);
        let size = if size == u64::MAX { guessed } else { Some(size) };
        State {
            // What waits is not played.
            buffer: if self.said.urgent { self.said.buffer } else { self.said.buffer_after(later) },
            missing: size.map(|size| Bytes::new(size.saturating_sub(come).max(1))),
            ..self.said.clone()
        }
    }

    /// The same when the answer has ended: what it brought is in the buffer, if it was whole.
    fn ended(&self, later: Duration, whole: bool) -> State {
        let stands = self.stands(later, 0, 0);
        let brought = self.said.duration.filter(|_| whole).unwrap_or_default();
        State {
            buffer: stands.buffer.map(|buffer| buffer + brought),
            // Whoever waited for it plays now; how much, where it did not say, nobody knows.
            urgent: stands.urgent && !(whole && stands.buffer.is_some()),
            missing: Some(Bytes::ZERO),
            ..stands
        }
    }

    async fn tell(&self, state: &State) {
        // Neither waits: a UNIX socket takes both at once, or not at all. And an agent that is not there may come.
        if let Ok(mut stream) = UnixStream::connect(&self.agent).await {
            _ = stream.write_all(state.message().as_bytes()).await;
        }
    }
}

/// Waits for an answer, whose size is in `size` once it is known, while `down` counts what comes of it; tells the agent
/// meanwhile how the player stands.
pub(super) async fn watched<E>(
    watch: Option<Watch>,
    size: &AtomicU64,
    down: &AtomicU64,
    answer: impl Future<Output = Result<(u16, bool, bool), E>>,
) -> Result<(u16, bool, bool), E> {
    let Some(watch) = watch else { return answer.await };
    tokio::pin!(answer);
    let mut often = interval(OFTEN);
    often.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let result = loop {
        tokio::select! {
            biased;
            result = &mut answer => break result,
            _ = often.tick() => {
                let come = down.load(Relaxed).saturating_sub(watch.before);
                watch.tell(&watch.stands(watch.asked.elapsed(), come, size.load(Relaxed))).await;
            }
        }
    };
    let whole = matches!(result, Ok((200..300, ..)));
    watch.tell(&watch.ended(watch.asked.elapsed(), whole)).await;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(text: &str) -> Watch {
        let mut said = State::default();
        said.read(text);
        Watch { agent: PathBuf::new(), said, asked: Instant::now(), before: 0 }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn seconds(state: &State) -> Option<f64> {
        state.buffer.map(units::Duration::as_secs_f64)
    }

    #[test]
    fn an_answer_on_its_way_is_missing_what_has_not_come() {
        let watch = watch("bl=8000,br=8000,d=2000,sid=\"s\"");
        let stands = watch.stands(SECOND, 400, 1000);
        assert_eq!((seconds(&stands), stands.missing), (Some(7.0), Some(Bytes::new(600))));
        assert_eq!(stands.session.as_deref(), Some("s"));
        // Of an unknown size it is what the bitrate says, and more than nothing.
        assert_eq!(watch.stands(SECOND, 400, u64::MAX).missing, Some(Bytes::new(1_999_600)));
        assert_eq!(watch.stands(SECOND, 3_000_000, u64::MAX).missing, Some(Bytes::new(1)));
    }

    #[test]
    fn an_answer_that_has_come_is_in_the_buffer() {
        let watch = watch("bl=8000,br=8000,d=2000");
        assert_eq!(seconds(&watch.ended(SECOND, true)), Some(9.0));
        assert_eq!(seconds(&watch.ended(SECOND, false)), Some(7.0), "it was not whole");
        assert_eq!(watch.ended(SECOND, false).missing, Some(Bytes::ZERO));
    }

    #[test]
    fn who_waited_plays_as_far_as_is_known() {
        let waits = watch("bl=0,br=8000,d=2000,su");
        assert_eq!(seconds(&waits.stands(SECOND, 1, 2)), Some(0.0));
        let plays = waits.ended(SECOND, true);
        assert!(seconds(&plays) == Some(2.0) && !plays.urgent);
        assert!(waits.ended(SECOND, false).urgent);
        assert_eq!(seconds(&watch("bl=1500,d=2000,su").ended(SECOND, true)), Some(3.5));
        let unknown = watch("br=8000,d=2000,su");
        assert!(unknown.ended(SECOND, true).urgent && unknown.ended(SECOND, true).buffer.is_none());
    }
}
