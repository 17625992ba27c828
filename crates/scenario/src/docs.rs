//! The documentation of every key, generated from the description.

use crate::format::{CROWD, SCENARIO};
use core::fmt::Write as _;
use schema::markdown::{further_sections, sections, wrap};

/// `docs/reference/scenario.md`: every key of the scenario file with type, default and meaning.
pub fn docs_markdown() -> String {
    let generated = "<!-- Generated from crates/scenario/src/format by \
                     `tandem_scenario::docs_markdown`; a test keeps it current. -->";
    let introduction = format!(
        "{} The same description is a JSON Schema for editors: `tandem schema`. `tandem examples` lists \
         commented scenarios, `tandem init` writes one, `tandem check` checks it.",
        SCENARIO.doc
    );
    let units = "**Units.** Times: ns, us, ms, s, min, h. Rates: bps, kbps, Mbps, Gbps. Sizes: B, kB, MB, GB \
                 (powers of ten), KiB, MiB, GiB (powers of two). Powers: uW, mW, W. Energies: mJ, J, kJ, Wh.";
    let settings = settings();
    let prose = [generated, &introduction, units].map(|paragraph| wrap(paragraph, ""));
    let sections = sections(&SCENARIO, "Top of the file");
    let several = further_sections(&CROWD, "Several devices: top of the file", &SCENARIO.with_inner());
    let about = wrap(&several_devices(), "");
    format!(
        "# The scenario file\n\n{}\n\n{settings}\n{sections}\n{SEVERAL}\n\n{about}\n\n{several}",
        prose.join("\n\n")
    )
}

const SEVERAL: &str = "## Several devices";

/// The paragraph about scenarios with several devices.
fn several_devices() -> String {
    format!(
        "{} `tandem run`, `compare` and `check` take such a scenario; `testbed`, `emulate`, `sweep` and \
         the Python package take one device. Tables that are not below have the keys of a scenario with one \
         device.",
        CROWD.doc
    )
}

/// The section about keys on the command line.
fn settings() -> String {
    let paragraphs = [
        "`--set KEY=VALUE` of `run`, `testbed` and `emulate` changes one key of the file, `--vary KEY=A,B,…` of \
         `compare` runs every value. The file stays as it is.",
        "A key is its path in the file, with dots: `transport.scheduler`, `path.lte.down.rate`. After a list of \
         tables, such as `path`, `cell` or `traffic`, comes the name of an entry, or its number from 1 in the \
         order of the file: `path.lte` or `path.2`, `traffic.1`. Missing tables are created.",
        "A value is TOML; quotes may be left out, so that text that is not TOML stands for itself: `20Mbps` is \
         `\"20Mbps\"`. Commas inside brackets, braces and quotes do not separate values. In a shell, a value \
         with spaces, braces or quotes needs single quotes around the whole argument. Files are relative to \
         the folder of the scenario, as in the file.",
    ];
    let examples = [
        ("path.lte.down.rate=20Mbps", "a key of a path, by the path's name"),
        ("path.2.down.rate=20Mbps", "the same by its number"),
        ("traffic.1.size=10MB", "the first `[[traffic]]`"),
        ("device.policy=emtcp", "a choice, without quotes"),
        ("'device.policy={ name = \"emtcp\", share = 0.4 }'", "a table"),
        ("path.wifi.down.loss=0.01", "a number; 1 % is 0.01"),
        ("'path.wifi.down.outages=[[\"10s\", \"12s\"]]'", "a list"),
        ("path.wifi.down.trace=walk.csv", "a file beside the scenario; the path has no `rate` then"),
        ("transport.scheduler=min-rtt,blest,ecf", "three cases, with `--vary`"),
        ("seed=7", "a key at the top of the file"),
        ("adoption.qoe=0,0.25,0.5,1", "shares of several devices with a policy, with `--vary`"),
    ];
    let mut text = String::from("## Keys on the command line: `--set`, `--vary`\n\n");
    for paragraph in paragraphs {
        text += &wrap(paragraph, "");
        text += "\n\n";
    }
    text += "| Argument | Sets |\n|---|---|\n";
    for (argument, sets) in examples {
        let _ = writeln!(text, "| `{argument}` | {sets} |");
    }
    text
}
