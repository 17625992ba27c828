//! A capture is on disk while it grows, and whole at the end.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use linux::namespace::Namespace;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tandem_testbed::{Setup, run_with};

const SCENARIO: &str = "title = 'x'\nseed = 1\nduration = '2s'\n[device]\nname = 'x'\n\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '20Mbps', delay = '5ms' }\n\
    up = { rate = '20Mbps', delay = '5ms' }\n[[traffic]]\nkind = 'bulk'\n";

/// Kinds of the blocks, each with a length that is also at its end (pcapng, section 3.1); what is left over.
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
fn it_grows_while_the_run_goes_on() {
    if Namespace::create().is_err() || !std::fs::exists("/dev/net/tun").unwrap_or(false) {
        eprintln!("skipped: this needs root and /dev/net/tun");
        return;
    }
    let nothing = |_: &str| Err("no such file".to_owned());
    let mut experiment = scenario::Scenario::parse("capture", SCENARIO, &nothing).unwrap().experiment;
    experiment.capture = true;
    let file = tempfile::tempfile().unwrap();
    let mut lengths = Vec::new();
    let mut look = |_: f64| lengths.push(file.metadata().unwrap().len());
    let ran = run_with(&experiment, &Setup::default(), &Arc::default(), &mut look, Some(&file)).unwrap();
    assert!(ran.outcome.capture.is_none(), "nothing was kept in memory");
    lengths.dedup();
    let whole = file.metadata().unwrap().len();
    assert!(lengths.len() >= 4 && lengths.iter().all(|&length| length <= whole), "{lengths:?}");
    let mut bytes = vec![0; whole as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let (kinds, rest) = blocks(&bytes);
    // A section, an interface, and packets of 1500 bytes at 20 Mbit/s for most of the time.
    assert_eq!((kinds[0], kinds[1], rest), (0x0A0D_0D0A, 1, 0));
    assert!(kinds[2..].iter().all(|&kind| kind == 6) && kinds.len() > 1000, "{} blocks", kinds.len());
    // Wherever it is cut where it was written, it is a capture.
    for length in lengths {
        assert_eq!(blocks(&bytes[..length as usize]).1, 0, "{length} of {whole} bytes");
    }
}
