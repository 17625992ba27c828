//! Mutations of valid inputs.

use units::Rng;

/// Most bytes of a mutated input.
const MAX_INPUT_BYTES: usize = 20_000;

/// Replacements for numbers and keys.
const TOKENS: [&str; 20] = [
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "99999999999999999999",
    "0.1e-400",
    "\"",
    "\"\"",
    "[]",
    "{}",
    "= ",
    "\n",
    "1h",
    "\u{fffd}",
    "0Mbps",
    "1e18s",
    "true",
    ",",
    ":",
];

/// Changes `input` at up to five places: bits, bytes, lines, numbers and keys, and pieces of `other`.
pub fn mutate(rng: &mut Rng, input: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..rng.below(6) {
        let at = rng.below(input.len() as u64 + 1) as usize;
        match rng.below(7) {
            0 if at < input.len() => input[at] ^= 1 << rng.below(8),
            1 if at < input.len() => input[at] = rng.bits() as u8,
            2 => input.truncate(at),
            3 => {
                let to = (at + rng.below(40) as usize).min(input.len());
                input.drain(at..to);
            }
            4 => {
                let word = TOKENS[rng.below(TOKENS.len() as u64) as usize];
                let to = (at + rng.below(6) as usize).min(input.len());
                input.splice(at..to, word.bytes());
            }
            5 if !other.is_empty() => {
                let from = rng.below(other.len() as u64) as usize;
                let to = (from + rng.below(60) as usize).min(other.len());
                input.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                // Copies a line to another position.
                let from = input[..at].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
                let line: Vec<u8> =
                    input[from..].split_inclusive(|&b| b == b'\n').next().unwrap_or(&[]).to_vec();
                let to = rng.below(input.len() as u64 + 1) as usize;
                input.splice(to..to, line);
            }
        }
        input.truncate(MAX_INPUT_BYTES);
    }
}
