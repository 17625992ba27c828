//! The name that somebody probably meant.

/// The one of `names` that is at most a third of its letters away from `written`; the first of
/// those that are equally near.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_ascii_lowercase();
    names
        .map(|name| (distance(&written, name), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Levenshtein's distance: how many letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_the_letters_to_change() {
        for (a, b, d) in [("", "", 0), ("kitten", "sitting", 3), ("", "abc", 3), ("emtcp", "emtcp", 0)] {
            assert_eq!(distance(a, b), d);
            assert_eq!(distance(b, a), d);
        }
    }

    #[test]
    fn what_is_far_from_everything_has_no_nearest() {
        assert_eq!(nearest("wifionly", ["none", "wifi-only"].into_iter()), Some("wifi-only"));
        assert_eq!(nearest("cellular", ["none", "wifi-only"].into_iter()), None);
    }
}
