//! The documentation of every key, generated from the description.

use crate::format::SCENARIO;
use schema::markdown::{sections, wrap};

/// `docs/reference/scenario.md`: every key of the scenario file with type, default and meaning.
pub fn docs_markdown() -> String {
    let generated = "<!-- Generated from crates/scenario/src/format by \
                     `tandem_scenario::docs_markdown`; a test keeps it current. -->";
    let introduction = format!(
        "{} The same description is a JSON Schema for editors: `tandem schema`. Commented examples are in \
         `scenarios/`.",
        SCENARIO.doc
    );
    let units = "**Units.** Times: ns, us, ms, s, min, h. Rates: bps, kbps, Mbps, Gbps. Sizes: B, kB, MB, GB \
                 (powers of ten), KiB, MiB, GiB (powers of two). Powers: uW, mW, W. Energies: mJ, J, kJ, Wh.";
    let prose = [generated, &introduction, units].map(|paragraph| wrap(paragraph, ""));
    format!("# The scenario file\n\n{}\n\n{}", prose.join("\n\n"), sections(&SCENARIO, "Top of the file"))
}
