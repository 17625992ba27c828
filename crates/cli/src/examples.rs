//! The shipped scenarios and the files that they name, as parts of the program.

use crate::starter::comment_text;
use std::fmt::Write as _;

/// A shipped scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    /// Name, without extension.
    pub(crate) name: &'static str,
    /// Text of the file.
    text: &'static str,
}

/// A file that shipped scenarios name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExampleFile {
    /// Path in a copy, relative to the scenario.
    pub(crate) path: &'static str,
    /// Path in the shipped scenario.
    written: &'static str,
    /// Text of the file.
    pub(crate) text: &'static str,
    /// Content in a few words.
    pub(crate) about: &'static str,
}

macro_rules! examples {
    ($($name:literal),+ $(,)?) => {
        /// Every shipped scenario, by name.
        pub(crate) static EXAMPLES: &[Example] = &[$(Example {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }),+];
    };
}

macro_rules! traces {
    ($($name:literal: $about:literal),+ $(,)?) => {
        /// The files that shipped scenarios name, and further traces.
        pub(crate) static FILES: &[ExampleFile] = &[
            ExampleFile {
                path: "film.json",
                written: "film.json",
                text: include_str!("../scenarios/film.json"),
                about: "sizes of a video's segments, for `manifest` and `tandem serve --sizes`",
            },
            $(ExampleFile {
                path: concat!("traces/", $name),
                written: concat!("../traces/", $name),
                text: include_str!(concat!("../traces/", $name)),
                about: $about,
            }),+
        ];
    };
}

examples![
    "3g-bluetooth",
    "bus",
    "cafe",
    "codel-background",
    "data-allowance",
    "emtcp-mp-prio",
    "emtcp-paper",
    "film",
    "generated-channel",
    "handover",
    "linux-defaults",
    "middleboxes",
    "mptcp-rec",
    "shared-cells",
    "short-files-tail",
    "silent-outage",
    "stadium",
    "video",
    "when-needed",
    "wifi-lte",
    "wifi-weakens",
];

traces! {
    "lte-bus.json": "LTE on a bus, with a latency for each period",
    "lte-driving.down": "LTE in a car, downlink, for mahimahi",
    "lte-driving.up": "LTE in a car, uplink, for mahimahi",
    "walk-away.lte.csv": "LTE during a walk away from an access point",
    "walk-away.wifi.csv": "Wi-Fi during that walk",
    "walk-towards.lte.csv": "LTE during a walk towards an access point",
    "walk-towards.wifi.csv": "Wi-Fi during that walk",
}

impl Example {
    /// The example of that name, with or without `.toml`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let name = name.strip_suffix(".toml").unwrap_or(name);
        EXAMPLES.iter().find(|example| example.name == name)
    }

    /// Title of the scenario.
    pub(crate) fn title(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("title = \""));
        line.and_then(|rest| rest.split('"').next()).unwrap_or(self.name)
    }

    /// The files that the scenario names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'static ExampleFile> {
        FILES.iter().filter(|file| self.text.contains(&format!("\"{}\"", file.written)))
    }

    /// Text of a copy called `name`, with its files beside it.
    pub(crate) fn copy_text(&self, name: &str) -> String {
        let mut text = self.text.to_owned();
        for file in self.files() {
            text = text.replace(&format!("\"{}\"", file.written), &format!("\"{}\"", file.path));
        }
        text.replace(&format!("scenarios/{}.toml", self.name), &comment_text(name))
    }
}

impl ExampleFile {
    /// The file of that name, with or without its folder.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.path == name || file.path.strip_prefix("traces/") == Some(name))
    }
}

/// Names of all examples and files, for hints.
pub(crate) fn names() -> Vec<&'static str> {
    EXAMPLES.iter().map(|example| example.name).chain(FILES.iter().map(|file| file.path)).collect()
}

/// Names of a scenario's files, for a table.
pub(crate) fn file_names(example: &Example) -> String {
    let mut names = String::new();
    for file in example.files() {
        let separator = if names.is_empty() { "" } else { ", " };
        let _ = write!(names, "{separator}{}", file.path);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    fn names_in(folder: &str) -> BTreeSet<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        let entries = fs::read_dir(path).expect("the folder is in the repository");
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn every_shipped_scenario_and_trace_is_listed() {
        let mut listed: BTreeSet<String> = EXAMPLES.iter().map(|one| format!("{}.toml", one.name)).collect();
        listed.insert("film.json".to_owned());
        assert_eq!(listed, names_in("scenarios"));
        let traces = FILES.iter().filter_map(|file| file.path.strip_prefix("traces/"));
        assert_eq!(traces.map(str::to_owned).collect::<BTreeSet<_>>(), names_in("traces"));
    }

    #[test]
    fn copies_name_no_path_of_a_checkout() {
        for example in EXAMPLES {
            let text = example.copy_text("copy.toml");
            assert!(!text.contains("../traces") && !text.contains("scenarios/"), "{}", example.name);
            assert_ne!(example.title(), example.name);
        }
    }
}
