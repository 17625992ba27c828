//! Sets and maps of half-open intervals `[from, to)` of sequence numbers.
//!
//! [`IntervalSet`] joins intervals that overlap or touch. [`IntervalMap`] keeps the value of the
//! first insertion of each number. Both hold sorted, disjoint intervals and are fastest at the end,
//! where most data arrives.

mod map;
mod set;

pub use map::{Interval, IntervalMap};
pub use set::IntervalSet;
