//! A queue that mostly has one thing in it, or none.

use std::collections::VecDeque;

/// A queue whose first item lies in it and not behind a pointer: where pieces of a stream join, there is
/// mostly one, and no other line of memory is touched for it.
#[derive(Debug, Clone)]
pub(super) struct Few<T> {
    /// `None` only where there is nothing at all.
    first: Option<T>,
    more: VecDeque<T>,
}

impl<T> Few<T> {
    pub(super) fn new() -> Self {
        Self { first: None, more: VecDeque::new() }
    }

    #[inline]
    pub(super) fn push_back(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.more.push_back(item);
        }
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let front = self.first.take();
        if !self.more.is_empty() {
            self.first = self.more.pop_front();
        }
        front
    }

    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The last of which `holds` is true. It is true of all up to that one, and of none behind.
    #[inline]
    pub(super) fn last_where(&self, holds: impl Fn(&T) -> bool) -> Option<&T> {
        let further = if self.more.is_empty() { 0 } else { self.more.partition_point(&holds) };
        match further.checked_sub(1) {
            Some(i) => self.more.get(i),
            None => self.first.as_ref().filter(|&first| holds(first)),
        }
    }

    #[inline]
    pub(super) fn back_mut(&mut self) -> Option<&mut T> {
        if self.more.is_empty() { self.first.as_mut() } else { self.more.back_mut() }
    }

    /// From the front on.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(prop::option::of(0_u8..), 0..60)) {
            let (mut few, mut queue) = (Few::new(), VecDeque::new());
            for step in steps {
                if let Some(item) = step {
                    few.push_back(item);
                    queue.push_back(item);
                } else {
                    prop_assert_eq!(few.pop_front(), queue.pop_front());
                }
                prop_assert_eq!(few.back_mut(), queue.back_mut());
                prop_assert_eq!(few.front_mut(), queue.front_mut());
                prop_assert!(few.iter().eq(&queue));
            }
        }

        #[test]
        fn the_last_of_a_part_is_found(numbers in prop::collection::vec(0_u8.., 0..20), most in 0_u8..) {
            let mut numbers = numbers;
            numbers.sort_unstable();
            let mut few = Few::new();
            for &number in &numbers {
                few.push_back(number);
            }
            let expected = numbers.iter().rfind(|&&number| number <= most);
            prop_assert_eq!(few.last_where(|&number| number <= most), expected);
        }
    }
}
