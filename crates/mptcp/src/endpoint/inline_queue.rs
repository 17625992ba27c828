//! FIFO queue that stores its first item inline.

use std::collections::VecDeque;

/// A queue with its front item stored inline and the rest in a [`VecDeque`].
///
/// Adjacent pieces of a stream are joined, so most queues hold at most one item. Storing it inline
/// saves a heap allocation and a pointer dereference for every connection.
#[derive(Debug, Clone)]
pub(super) struct InlineQueue<T> {
    /// `None` only while the queue is empty.
    first: Option<T>,
    /// Created for the second item, and then kept.
    #[expect(clippy::box_collection, reason = "a queue of every connection, and most need no rest")]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> InlineQueue<T> {
    pub(super) fn new() -> Self {
        Self { first: None, rest: None }
    }

    #[inline]
    pub(super) fn push_back(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.rest.get_or_insert_default().push_back(item);
        }
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let front = self.first.take();
        if let Some(rest) = &mut self.rest {
            self.first = rest.pop_front();
        }
        front
    }

    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// Returns the last item that matches. The matching items must be a prefix of the queue.
    #[inline]
    pub(super) fn last_matching(&self, matches: impl Fn(&T) -> bool) -> Option<&T> {
        let in_rest =
            self.rest.as_ref().and_then(|rest| rest.get(rest.partition_point(&matches).checked_sub(1)?));
        in_rest.or_else(|| self.first.as_ref().filter(|&first| matches(first)))
    }

    #[inline]
    pub(super) fn back_mut(&mut self) -> Option<&mut T> {
        let in_rest = self.rest.as_mut().and_then(|rest| rest.back_mut());
        in_rest.or(self.first.as_mut())
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    /// Iterates from the front.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.rest.iter().flat_map(|rest| &**rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn inline_queue_behaves_like_vec_deque(
            steps in prop::collection::vec(prop::option::of(0_u8..), 0..60),
        ) {
            let (mut inline, mut queue) = (InlineQueue::new(), VecDeque::new());
            for step in steps {
                if let Some(item) = step {
                    inline.push_back(item);
                    queue.push_back(item);
                } else {
                    prop_assert_eq!(inline.pop_front(), queue.pop_front());
                }
                prop_assert_eq!(inline.back_mut(), queue.back_mut());
                prop_assert_eq!(inline.front_mut(), queue.front_mut());
                prop_assert!(inline.iter().eq(&queue) && inline.len() == queue.len());
            }
        }

        #[test]
        fn last_matching_finds_the_end_of_the_prefix(
            numbers in prop::collection::vec(0_u8.., 0..20),
            limit in 0_u8..,
        ) {
            let mut numbers = numbers;
            numbers.sort_unstable();
            let mut queue = InlineQueue::new();
            for &number in &numbers {
                queue.push_back(number);
            }
            let expected = numbers.iter().rfind(|&&number| number <= limit);
            prop_assert_eq!(queue.last_matching(|&number| number <= limit), expected);
        }
    }
}
