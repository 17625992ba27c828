//! Text of new scenarios, from traces or a capture.
//!
//! Values that the input does not have are marked as assumed.

mod capture;
mod traces;

pub(crate) use capture::from_capture;
pub(crate) use traces::from_traces;

use std::fmt::Write as _;

/// A radio technology, with the values that a new scenario assumes for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Technology {
    /// Words in names of files and interfaces.
    words: &'static [&'static str],
    /// Beginnings of predictable interface names (systemd.net-naming-scheme(7)).
    prefixes: &'static [&'static str],
    /// Power profile.
    radio: &'static str,
    /// One-way delay.
    delay: &'static str,
}

const WIFI: Technology =
    Technology { words: &["wifi", "wlan"], prefixes: &["wl"], radio: "huang2012.wifi", delay: "10ms" };
const LTE: Technology = Technology {
    words: &["lte", "4g", "cell", "cellular", "wwan", "rmnet"],
    prefixes: &["ww"],
    radio: "huang2012.lte",
    delay: "40ms",
};
const TECHNOLOGIES: [Technology; 5] = [
    WIFI,
    LTE,
    Technology { words: &["5g", "nr"], prefixes: &[], radio: "narayanan2021.5g-low", delay: "20ms" },
    Technology { words: &["3g", "umts", "hspa"], prefixes: &[], radio: "huang2012.3g", delay: "75ms" },
    Technology { words: &["bluetooth", "bt"], prefixes: &[], radio: "aro.bluetooth", delay: "40ms" },
];

impl Technology {
    /// The technology that a name tells; otherwise Wi-Fi for the first path, LTE for others.
    fn of(name: &str, index: usize) -> Self {
        let lower = name.to_lowercase();
        let words = || lower.split(|c: char| !c.is_ascii_alphanumeric());
        let fits = |technology: &&Self| {
            words().any(|word| {
                let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
                let is_known = technology.words.iter().any(|known| *known == word || *known == letters);
                is_known || technology.prefixes.iter().any(|prefix| is_interface(word, prefix))
            })
        };
        TECHNOLOGIES.iter().find(fits).copied().unwrap_or(if index == 0 { WIFI } else { LTE })
    }
}

/// Whether a word is an interface name such as `wlp3s0`: the prefix and a digit somewhere after it.
fn is_interface(word: &str, prefix: &str) -> bool {
    word.strip_prefix(prefix).is_some_and(|rest| rest.contains(|c: char| c.is_ascii_digit()))
}

/// Names that are valid in a scenario, each once.
fn unique_names(names: &[String]) -> Vec<String> {
    const MAX_CHARS: usize = 48;
    let mut unique: Vec<String> = Vec::new();
    for name in names {
        let usable: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
        let usable: String = usable.trim_matches('-').chars().take(MAX_CHARS).collect();
        let base = if usable.is_empty() { "path".to_owned() } else { usable };
        let mut candidate = base.clone();
        let mut number = 2;
        while unique.contains(&candidate) {
            candidate = format!("{base}-{number}");
            number += 1;
        }
        unique.push(candidate);
    }
    unique
}

/// A foreign text for a comment, which a line feed would end: control characters are escaped.
pub(crate) fn comment_text(text: &str) -> String {
    let escaped = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if escaped(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// The head of a new scenario: duration, device.
fn head(text: &mut String, origin: &str, duration: &str) {
    let _ = write!(
        text,
        "\
# {origin}
# Values marked as assumed are not in the input: replace them by what you know.
# `tandem schema` describes every key for editors, `tandem examples` lists commented examples.

seed = 1
{duration}

[device]
battery = \"15Wh\"            # assumed: a phone
policy = \"none\"             # plain Multipath TCP; `tandem help compare` lists the policies
"
    );
}

/// The transport of a new scenario.
const TRANSPORT: &str = "
[transport]
protocol = \"mptcp\"          # or \"tcp\" with `path`
scheduler = \"min-rtt\"
congestion = \"lia\"
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_names_tell_the_technology() {
        for (name, radio) in [
            ("wlp3s0", "huang2012.wifi"),
            ("a-wlp3s0", "huang2012.wifi"),
            ("wwp0s20u4", "huang2012.lte"),
            ("walk.lte", "huang2012.lte"),
            ("5g", "narayanan2021.5g-low"),
        ] {
            assert_eq!(Technology::of(name, 1).radio, radio, "{name}");
        }
    }
}
