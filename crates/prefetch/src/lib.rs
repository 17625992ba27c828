//! Memory asked for before it is needed.
//!
//! Where thousands of connections take turns, nearly every line of memory that a segment looks at lies far from
//! the processor, and it is asked for only where the code comes to it: one wait after the other. Who knows
//! beforehand whose turn is next asks for all of its lines at once, and does something else while they come.

/// Asks for the line of memory in which `value` begins. Changes nothing but how soon it is there; does nothing on
/// processors for which there is no safe way to ask.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Asks for the lines in which several values begin.
#[macro_export]
macro_rules! prefetch {
    ($($value:expr),+ $(,)?) => {{ $( $crate::prefetch(&$value); )+ }};
}
