//! Target of packetdrill scripts.

use packetdrill::{Script, Verdict, play};

/// Fuzz target: scripts, which are parsed and played.
pub fn packetdrill(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Script::parse(text) {
        Ok(script) => match play(&script, bytes.len().is_multiple_of(2)) {
            Verdict::Differs(difference) => assert!(difference.line > 0 && !difference.message.is_empty()),
            Verdict::DoesNotApply(reason) => assert!(!reason.is_empty()),
            Verdict::Passes(_) => {}
        },
        Err(error) => assert!(error.line > 0 && !error.message.is_empty()),
    }
}
