//! A queue that is mostly empty.

use core::ops::{Deref, DerefMut};
use std::collections::VecDeque;

/// A [`VecDeque`] behind a pointer, which takes a fourth of its place in what every segment looks at. There
/// is none before something is put in.
#[derive(Debug, Clone)]
#[allow(clippy::box_collection, reason = "one word, and not four, where there is nothing")]
pub(crate) struct Rarely<T>(Option<Box<VecDeque<T>>>);

impl<T> Rarely<T> {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|queue| queue.is_empty())
    }

    /// As that of a [`VecDeque`]; after the last item its memory is given back.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let queue = self.0.as_mut()?;
        let front = queue.pop_front();
        if queue.is_empty() {
            self.0 = None;
        }
        front
    }

    /// The same for what will soon be filled again: the memory stays.
    #[inline]
    pub(crate) fn pop_front_of_many(&mut self) -> Option<T> {
        self.0.as_mut()?.pop_front()
    }

    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T> Default for Rarely<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Rarely<T> {
    type Target = VecDeque<T>;

    #[inline]
    fn deref(&self) -> &VecDeque<T> {
        match &self.0 {
            Some(queue) => queue,
            None => const { &VecDeque::new() },
        }
    }
}

impl<T> DerefMut for Rarely<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut VecDeque<T> {
        self.0.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((0_u8..4, 0_u8..), 0..60)) {
            let (mut rarely, mut queue) = (Rarely::new(), VecDeque::new());
            for (step, item) in steps {
                match step {
                    0 => prop_assert_eq!(rarely.pop_front(), queue.pop_front()),
                    1 => prop_assert_eq!(rarely.pop_front_of_many(), queue.pop_front()),
                    _ => {
                        rarely.push_back(item);
                        queue.push_back(item);
                    }
                }
                prop_assert_eq!(rarely.is_empty(), queue.is_empty());
                prop_assert_eq!(&*rarely, &queue);
            }
            rarely.clear();
            prop_assert!(rarely.is_empty() && rarely.iter().next().is_none());
        }
    }
}
