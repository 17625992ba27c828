//! Conversion of 32-bit sequence numbers to 64-bit offsets.
//!
//! Inside the endpoint a position is an offset from the start of its stream: 0 is the SYN or the
//! initial data sequence number, 1 the first byte. Offsets never wrap and compare as integers.

/// Returns the offset nearest to `near` whose lower 32 bits are `low`; `None` if it is negative.
pub(crate) fn extend(low: u32, near: u64) -> Option<u64> {
    let ahead = low.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::extend;

    #[test]
    fn extend_returns_the_nearest_offset_on_either_side_of_a_wrap() {
        assert_eq!(extend(5, 0xffff_fff0), Some(0x1_0000_0005));
        assert_eq!(extend(0xffff_fff0, 0x1_0000_0005), Some(0xffff_fff0));
        assert_eq!(extend(7, 7), Some(7));
        assert_eq!(extend(0xffff_ffff, 3), None);
    }
}
