//! The capture file during a run: it grows, and contains only complete blocks.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tandem_testbed::{Setup, run_with};

const SCENARIO: &str = "title = 'x'\nseed = 1\nduration = '2s'\n[device]\nname = 'x'\n\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '20Mbps', delay = '5ms' }\n\
    up = { rate = '20Mbps', delay = '5ms' }\n[[traffic]]\nkind = 'bulk'\n";

/// Types of the complete blocks of a pcapng file (section 3.1), and the number of bytes after
/// them. Checks that both lengths of each block are equal.
fn blocks(bytes: &[u8]) -> (Vec<u32>, usize) {
    let word = |at: usize| {
        let word = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(word.try_into().unwrap()))
    };
    let (mut kinds, mut at) = (Vec::new(), 0);
    while let (Some(kind), Some(length)) = (word(at), word(at + 4)) {
        let length = length as usize;
        let Some(end) = word(at + length - 4) else { break };
        assert_eq!(end as usize, length, "block {}", kinds.len());
        kinds.push(kind);
        at += length;
    }
    (kinds, bytes.len() - at)
}

#[test]
#[ignore = "needs root"]
fn needs_root_capture_file_grows_by_complete_blocks() {
    let mut experiment = crate::parse("capture", SCENARIO).experiment;
    experiment.capture = true;
    let file = tempfile::tempfile().unwrap();
    let mut lengths = Vec::new();
    let mut record_length = |_: f64| lengths.push(file.metadata().unwrap().len());
    let ran =
        run_with(&experiment, &Setup::default(), &Arc::default(), &mut record_length, Some(&file)).unwrap();
    assert!(ran.outcome.capture.is_none(), "the outcome has no second copy of the capture");
    lengths.dedup();
    let whole = file.metadata().unwrap().len();
    assert!(lengths.len() >= 4 && lengths.iter().all(|&length| length <= whole), "{lengths:?}");
    let mut bytes = vec![0; whole as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let (kinds, rest) = blocks(&bytes);
    // A section header, an interface, and at 20 Mbit/s more than 1000 packets.
    assert_eq!((kinds[0], kinds[1], rest), (0x0A0D_0D0A, 1, 0));
    assert!(kinds[2..].iter().all(|&kind| kind == 6) && kinds.len() > 1000, "{} blocks", kinds.len());
    // At each observed length, the file ends with a complete block.
    for length in lengths {
        assert_eq!(blocks(&bytes[..length as usize]).1, 0, "{length} of {whole} bytes");
    }
}
