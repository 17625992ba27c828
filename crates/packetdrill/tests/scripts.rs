//! Scripts of this crate, played; and errors of the parser.
#![allow(clippy::disallowed_methods, reason = "these tests read scripts")]

use std::fmt::Write;
use tandem_packetdrill::{Script, play};

#[test]
fn scripts_have_their_verdicts() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts");
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut table = String::new();
    for path in paths {
        let script = Script::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let verdicts = [false, true].map(|ipv6| play(&script, ipv6).to_string());
        assert_eq!(verdicts[0], verdicts[1], "the version of IP does not matter here");
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        writeln!(table, "{name:14} {}", verdicts[0]).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn parser_names_line_and_expectation() {
    let deep = format!("+0 poll({}", "[".repeat(40));
    let texts = [
        "hello",
        "+0",
        "+0 > S 0:0(0) <mss",
        "+0 > S 1:9(3)",
        "+0 > X 0:0(0)",
        "+0 > S 0:0(0) ack 4294967296",
        "\n\n+1e9 close(3) = 0",
        "+9999999 close(3) = 0",
        "+0 close(3)",
        "+0 close(3 4) = 0",
        "--tolerance_usecs=often",
        "+0 `ls",
        deep.as_str(),
    ];
    let mut table = String::new();
    for text in texts {
        let error = Script::parse(text).unwrap_err();
        writeln!(table, "{:?}: {error}", text.get(..30).unwrap_or(text)).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn script_with_many_lines_is_parsed() {
    let text = "+0 > . 1:1(0) ack 1 <dss dack4=1 nocs>\n".repeat(20_000);
    assert_eq!(Script::parse(&text).unwrap().steps.len(), 20_000);
}
