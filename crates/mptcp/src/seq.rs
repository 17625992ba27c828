//! Sequence numbers: 32 bits on the wire, 64 bits inside, counted from the stream's own start.
//!
//! Inside the endpoint a position is an offset: 0 is the SYN (or the IDSN), 1 the first byte. It never
//! wraps, so comparisons are plain.

/// The offset nearest to `near` whose lower 32 bits are `low`; `None` if that would be before 0.
pub(crate) fn extend(low: u32, near: u64) -> Option<u64> {
    let ahead = low.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::extend;

    #[test]
    fn the_nearest_offset_is_taken_on_either_side_of_a_wrap() {
        assert_eq!(extend(5, 0xffff_fff0), Some(0x1_0000_0005));
        assert_eq!(extend(0xffff_fff0, 0x1_0000_0005), Some(0xffff_fff0));
        assert_eq!(extend(7, 7), Some(7));
        assert_eq!(extend(0xffff_ffff, 3), None);
    }
}
