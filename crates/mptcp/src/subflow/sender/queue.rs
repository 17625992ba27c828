//! Data assigned to a subflow and not sent yet.

use std::collections::VecDeque;
use wire::Payload;
use wire::checksum::Sum;

/// Data in flight or waiting to be sent, with its place in the connection's data stream.
#[derive(Debug, Clone)]
pub(crate) struct Chunk<P> {
    /// Data offset of the first byte.
    pub(crate) data: u64,
    pub(crate) payload: P,
    /// A FIN of the subflow, which takes the place of data.
    pub(crate) fin: bool,
    /// Acknowledged start of the segment.
    pub(crate) cut: Cut,
}

/// Acknowledged bytes cut off the front of a segment in flight. The mapping of a retransmission
/// still covers them: it stays as first sent (RFC 8684, section 3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    /// Number of bytes.
    pub(crate) len: u16,
    /// Their ones' complement sum.
    pub(crate) ones_sum: u16,
}

impl<P: Payload> Chunk<P> {
    /// Data that is sent whole.
    #[inline]
    pub(crate) fn new(data: u64, payload: P) -> Self {
        Self { data, payload, fin: false, cut: Cut::default() }
    }
    /// Data offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.data + self.payload.len() as u64
    }
    /// Cuts off the first `len` bytes, which are acknowledged.
    pub(super) fn cut_front(&mut self, len: usize) {
        let front = self.payload.slice(0, len);
        let mut sum = Sum::new();
        sum.add_part(self.cut.ones_sum, usize::from(self.cut.len));
        sum.add_part(front.ones_sum(), len);
        self.cut = Cut { len: self.cut.len + len as u16, ones_sum: !sum.finish() };
        self.payload = self.payload.slice(len, self.payload.len());
        self.data += len as u64;
    }
    pub(super) fn contains(&self, data: u64) -> bool {
        self.data <= data && data < self.end()
    }
    /// Sequence numbers that the chunk takes.
    pub(super) fn seq_len(&self) -> u64 {
        if self.fin { 1 } else { self.payload.len() as u64 }
    }
}

/// Chunks to be sent for the first time, in the order of the stream where that is known.
#[derive(Debug, Clone)]
pub(super) struct SendQueue<P> {
    chunks: VecDeque<Chunk<P>>,
    bytes: u64,
}

impl<P: Payload> SendQueue<P> {
    pub(super) fn new() -> Self {
        Self { chunks: VecDeque::new(), bytes: 0 }
    }
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
    /// Payload bytes in the queue.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(super) fn front(&self) -> Option<&Chunk<P>> {
        self.chunks.front()
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &Chunk<P>> {
        self.chunks.iter()
    }
    /// The byte at this data offset is in the queue.
    pub(super) fn contains(&self, data: u64) -> bool {
        self.chunks.iter().any(|chunk| chunk.contains(data))
    }

    pub(super) fn push(&mut self, chunk: Chunk<P>) {
        self.bytes += chunk.payload.len() as u64;
        self.chunks.push_back(chunk);
    }
    /// Inserts `chunk` before all data that comes later in the stream, and before a FIN.
    pub(super) fn insert_in_order(&mut self, chunk: Chunk<P>) {
        self.bytes += chunk.payload.len() as u64;
        let before = self.chunks.partition_point(|waiting| waiting.data <= chunk.data && !waiting.fin);
        self.chunks.insert(before, chunk);
    }
    pub(super) fn pop(&mut self) -> Option<Chunk<P>> {
        let chunk = self.chunks.pop_front()?;
        self.bytes -= chunk.payload.len() as u64;
        Some(chunk)
    }
    /// Drops chunks at the front that end at or before the data offset `acked`.
    pub(super) fn drop_acknowledged(&mut self, acked: u64) {
        while self.front().is_some_and(|front| !front.fin && front.end() <= acked) {
            self.pop();
        }
    }
    /// Takes out all data that ends after `from`, and drops the rest. A FIN stays: it belongs to
    /// this subflow, and is last.
    pub(super) fn take_data(&mut self, from: u64) -> Vec<Chunk<P>> {
        let data = self.chunks.len() - usize::from(self.chunks.back().is_some_and(|last| last.fin));
        self.bytes = 0;
        self.chunks.drain(..data).filter(|chunk| chunk.end() > from).collect()
    }

    pub(super) fn check_invariants(&self) -> Result<(), &'static str> {
        let bytes: u64 = self.chunks.iter().map(|chunk| chunk.payload.len() as u64).sum();
        if bytes == self.bytes { Ok(()) } else { Err("queued bytes miscounted") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    fn chunk(data: u64) -> Chunk<Span> {
        Chunk { data, payload: Span::new(data - 1, 10), fin: false, cut: Cut::default() }
    }

    fn fin(data: u64) -> Chunk<Span> {
        Chunk { data, payload: Span::default(), fin: true, cut: Cut::default() }
    }

    #[test]
    fn insertion_keeps_the_order_of_the_stream() {
        let mut queue = SendQueue::new();
        for data in [101, 121, 141] {
            queue.push(chunk(data));
        }
        queue.push(fin(151));
        for data in [131, 1, 111, 161] {
            queue.insert_in_order(chunk(data));
        }
        assert_eq!(queue.bytes(), 70);
        let order: Vec<_> = core::iter::from_fn(|| queue.pop()).map(|chunk| chunk.data).collect();
        assert_eq!(order, [1, 101, 111, 121, 131, 141, 161, 151]);
        assert_eq!(queue.check_invariants(), Ok(()));
    }

    #[test]
    fn acknowledged_data_is_dropped_from_the_front() {
        let mut queue = SendQueue::new();
        queue.push(chunk(1));
        queue.push(chunk(11));
        queue.push(fin(21));
        queue.drop_acknowledged(20);
        assert_eq!(queue.front().map(|front| front.data), Some(11));
        queue.drop_acknowledged(100);
        assert!(queue.front().is_some_and(|front| front.fin), "a FIN is never dropped");
        assert_eq!(queue.bytes(), 0);
    }

    #[test]
    fn taking_the_data_leaves_the_fin() {
        let mut queue = SendQueue::new();
        queue.push(chunk(1));
        queue.push(chunk(11));
        queue.push(fin(21));
        let taken: Vec<_> = queue.take_data(11).iter().map(|chunk| chunk.data).collect();
        assert_eq!(taken, [11]);
        assert!(queue.front().is_some_and(|front| front.fin));
        assert_eq!(queue.check_invariants(), Ok(()));
    }
}
