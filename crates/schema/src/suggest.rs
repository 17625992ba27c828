//! Suggestions for misspelled names.

/// Longer words get no suggestion: no name is as long, and the distance takes quadratic time.
const MAX_WORD_BYTES: usize = 64;

/// Returns the name that `word` is most likely a misspelling of, if one is close; case is ignored.
///
/// Close means an edit distance (insertions, deletions, substitutions, transpositions) of at most a
/// third of the word's length, or a name that begins or ends with a word of three letters or more.
pub fn suggest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let word = word.to_lowercase();
    let max_distance = (word.chars().count() / 3).max(1);
    let is_affix = |name: &str| word.len() >= 3 && (name.starts_with(&word) || name.ends_with(&word));
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|&(distance, name)| distance <= max_distance || is_affix(name))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_name_is_suggested() {
        let names = ["none", "wifi-only", "wifi-first"];
        assert_eq!(suggest("wifionly", names), Some("wifi-only"));
        assert_eq!(suggest("WIFI-FRIST", names), Some("wifi-first"));
        assert_eq!(suggest("first", names), Some("wifi-first"));
        assert_eq!(suggest("dealy", ["delay", "queue"]), Some("delay"));
        assert_eq!(suggest("lte", ["huang2012.lte", "huang2012.3g"]), Some("huang2012.lte"));
    }

    #[test]
    fn abbreviation_and_other_case_are_close() {
        let names = ["delay", "queue", "loss", "rate"];
        assert_eq!(suggest("Delay", names), Some("delay"));
        assert_eq!(suggest("queu", names), Some("queue"));
        assert_eq!(suggest("bandwidth", names), None);
    }

    #[test]
    fn unrelated_or_overlong_word_has_no_suggestion() {
        assert_eq!(suggest("cellular", ["none", "wifi-only"]), None);
        assert_eq!(suggest("", ["none"]), None);
        assert_eq!(suggest(&"x".repeat(65), ["x"]), None);
    }
}
