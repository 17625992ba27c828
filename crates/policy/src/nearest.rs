//! The name that somebody probably meant.

/// The one of `names` that is at most a third of its letters away from `written`; the first of
/// those that are equally near.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_ascii_lowercase();
    names
        .map(|name| (strsim::levenshtein(&written, name), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_from_everything_has_no_nearest() {
        assert_eq!(nearest("wifionly", ["none", "wifi-only"].into_iter()), Some("wifi-only"));
        assert_eq!(nearest("cellular", ["none", "wifi-only"].into_iter()), None);
    }
}
