//! The documentation of every key, generated from the description.

use crate::format::SCENARIO;

/// `docs/reference/scenario.md`: every key of the scenario file with type, default and meaning.
pub fn docs_markdown() -> String {
    format!(
        "# The scenario file\n\n\
         <!-- Generated from crates/scenario/src/format by `tandem_scenario::docs_markdown`; \
         a test keeps it current. -->\n\n\
         {} The same description is a JSON Schema for editors: `tandem schema`. Commented examples are in \
         `scenarios/`.\n\n\
         **Units.** Times: ns, us, ms, s, min, h. Rates: bps, kbps, Mbps, Gbps. Sizes: B, kB, MB, GB (powers \
         of ten), KiB, MiB, GiB (powers of two). Powers: uW, mW, W. Energies: mJ, J, kJ, Wh.\n\n\
         {}",
        SCENARIO.doc,
        schema::markdown::sections(&SCENARIO, "Top of the file")
    )
}
