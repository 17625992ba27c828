//! Generation of `scenarios/film.json`, the sizes of a made-up video.
//!
//! `UPDATE_FILM=1 cargo test -p tandem-abr --test shipped_film` regenerates the file.
#![allow(clippy::disallowed_methods, reason = "a test may read and write the repository's files")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tandem_abr::Manifest;
use units::{Duration, Seed};

const SEGMENT_MS: u32 = 2000;
const SEGMENTS: usize = 60;
/// Bitrates of a ladder from 240p to 1080p.
const BITRATES_KBPS: [u32; 6] = [350, 700, 1200, 2400, 4500, 8000];
/// Mean length of a scene in segments.
const SCENE_SEGMENTS: f64 = 4.0;
/// Standard deviation of the logarithm of a scene's complexity.
const SCENE_SPREAD: f64 = 0.35;
/// Standard deviation of a segment's size within its scene, relative to the size.
const SEGMENT_SPREAD: f64 = 0.08;

fn film() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/film.json")
}

/// The file: variable bitrate with scenes, whose complexity all levels share, and means equal to
/// the bitrates.
fn draw() -> String {
    let mut rng = Seed::new(21).rng("film");
    let (mut complexity, mut left) = (1.0, 0.0);
    let mut weights: Vec<[f64; BITRATES_KBPS.len()]> = Vec::new();
    for _ in 0..SEGMENTS {
        if left <= 0.0 {
            left = rng.exponential(SCENE_SEGMENTS);
            complexity = libm::exp(SCENE_SPREAD * rng.normal()).clamp(0.4, 2.2);
        }
        left -= 1.0;
        let mut row = [0.0; BITRATES_KBPS.len()];
        for weight in &mut row {
            *weight = complexity * (1.0 + SEGMENT_SPREAD * rng.normal().clamp(-2.0, 2.0));
        }
        weights.push(row);
    }
    let mut text = format!("{{\n  \"segment_duration_ms\": {SEGMENT_MS},\n");
    let _ = writeln!(text, "  \"bitrates_kbps\": {BITRATES_KBPS:?},\n  \"segment_sizes_bits\": [");
    for (index, row) in weights.iter().enumerate() {
        let bits = row.iter().enumerate().map(|(level, weight)| {
            let mean = weights.iter().map(|row| row[level]).sum::<f64>() / SEGMENTS as f64;
            let bytes = f64::from(BITRATES_KBPS[level] * SEGMENT_MS / 8) * weight / mean;
            (8.0 * bytes.round()).to_string()
        });
        let comma = if index + 1 < SEGMENTS { "," } else { "" };
        let _ = writeln!(text, "    [{}]{comma}", bits.collect::<Vec<_>>().join(", "));
    }
    text.push_str("  ]\n}\n");
    text
}

#[test]
fn shipped_film_is_the_drawn_one() {
    let drawn = draw();
    if std::env::var_os("UPDATE_FILM").is_some() {
        std::fs::write(film(), &drawn).unwrap();
    }
    assert_eq!(std::fs::read_to_string(film()).unwrap(), drawn, "run it with UPDATE_FILM=1");
}

#[test]
fn shipped_film_is_a_manifest_with_its_bitrates() {
    let manifest = Manifest::from_json("film.json", &std::fs::read_to_string(film()).unwrap()).unwrap();
    assert_eq!(manifest.duration(), Duration::from_secs(120));
    assert_eq!(manifest.segments(), SEGMENTS);
    for (level, &bitrate_kbps) in BITRATES_KBPS.iter().enumerate() {
        let sum: u64 = (0..SEGMENTS).map(|segment| manifest.size(segment, level).unwrap().bits()).sum();
        let kbps = sum as f64 / manifest.duration().as_secs_f64() / 1e3;
        let nominal = f64::from(bitrate_kbps);
        assert!((kbps / nominal - 1.0).abs() < 1e-3, "{kbps} kbit/s at {nominal} kbit/s");
    }
}
