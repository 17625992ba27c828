//! Messages of an application: the units of its delay.
//!
//! A packet of a timed source is a message. Transfers without messages of their own are divided
//! into blocks of [`BLOCK_BYTES`].

use std::collections::VecDeque;
use units::Instant;

/// Length of a block of a bulk transfer or a file, in bytes.
pub const BLOCK_BYTES: u64 = 8192;

/// A message that an application has handed to its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Time at which the application wrote the message: its due time for a packet, even if the send
    /// buffer was full then, and the time at which the stream accepted its first byte for a block.
    pub written: Instant,
    /// Stream offset after its last byte.
    pub end: u64,
}

/// Messages that were written and not yet taken, in order of the stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    queue: VecDeque<Run>,
    /// Stream offset after the last message.
    end: u64,
    /// Stream offset after the last message taken.
    taken: u64,
}

/// A packet, or blocks that were written at the same time: a send buffer takes hundreds at once.
#[derive(Debug, Clone, Copy)]
struct Run {
    written: Instant,
    /// Stream offset after the first message; the others follow in steps of [`BLOCK_BYTES`].
    first_end: u64,
    /// Stream offset after the last message.
    end: u64,
}

impl Messages {
    #[inline]
    pub(crate) fn front(&self) -> Option<Message> {
        self.queue.front().map(|run| Message { written: run.written, end: run.first_end })
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Message> {
        let message = self.front()?;
        self.taken = message.end;
        let run = self.queue.front_mut()?;
        if run.first_end == run.end {
            self.queue.pop_front();
        } else {
            run.first_end = run.end.min(run.first_end + BLOCK_BYTES);
        }
        Some(message)
    }

    /// End of the last message that ends by stream offset `end`.
    pub(crate) fn last_end(&self, end: u64) -> u64 {
        self.queue.iter().rev().map(|run| run.end).find(|&last| last <= end).unwrap_or(self.taken)
    }

    /// Appends a message of `bytes`, written at `written`.
    pub(crate) fn push(&mut self, written: Instant, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
        self.queue.push_back(Run { written, first_end: self.end, end: self.end });
    }

    /// Appends the blocks that begin before stream offset `accepted`. No block ends after `size`.
    #[inline]
    pub(crate) fn push_blocks(&mut self, written: Instant, accepted: u64, size: u64) {
        if self.end < accepted {
            let first_end = size.min(self.end.saturating_add(BLOCK_BYTES));
            let blocks = (accepted - self.end).div_ceil(BLOCK_BYTES);
            self.end = size.min(self.end.saturating_add(blocks.saturating_mul(BLOCK_BYTES)));
            self.queue.push_back(Run { written, first_end, end: self.end });
        }
    }

    /// Removes data from stream offset `end` on, which was dropped. A message that lies across
    /// `end` becomes shorter.
    pub(crate) fn truncate(&mut self, end: u64) {
        if self.end <= end {
            return;
        }
        self.end = end;
        while let Some(last) = self.queue.pop_back() {
            let start = self.queue.back().map_or(self.taken, |before| before.end);
            if start < end {
                self.queue.push_back(Run { first_end: last.first_end.min(end), end, ..last });
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(messages: &Messages) -> Vec<(u64, u64)> {
        let mut messages = messages.clone();
        std::iter::from_fn(|| messages.pop())
            .map(|message| (message.written.as_millis(), message.end))
            .collect()
    }

    #[test]
    fn block_is_written_with_its_first_byte_and_the_last_one_is_short() {
        let mut messages = Messages::default();
        messages.push_blocks(Instant::from_millis(1), 1, 20_000);
        messages.push_blocks(Instant::from_millis(2), BLOCK_BYTES, 20_000);
        assert_eq!(ends(&messages), [(1, 8192)]);
        messages.push_blocks(Instant::from_millis(3), 20_000, 20_000);
        assert_eq!(ends(&messages), [(1, 8192), (3, 16_384), (3, 20_000)]);
        messages.truncate(10_000);
        assert_eq!(ends(&messages), [(1, 8192), (3, 10_000)]);
    }

    #[test]
    fn dropped_data_shortens_or_removes_messages() {
        let mut messages = Messages::default();
        for ms in 1..=3 {
            messages.push(Instant::from_millis(ms), 100);
        }
        messages.truncate(300);
        messages.truncate(150);
        assert_eq!(ends(&messages), [(1, 100), (2, 150)]);
        messages.push(Instant::from_millis(4), 10);
        assert_eq!(ends(&messages), [(1, 100), (2, 150), (4, 160)]);
        // The message is dropped although the one before was taken already.
        assert_eq!((messages.pop().unwrap().end, messages.pop().unwrap().end), (100, 150));
        messages.truncate(150);
        assert_eq!(ends(&messages), []);
    }
}
