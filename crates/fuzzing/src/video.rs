//! Targets of video: manifests, CMCD and session records.

use abr::Manifest;
use cmcd::State;
use dash::{Missing, Presentation};
use playback::{Record, RecordError};
use units::Duration;
use url::Url;

/// Fuzz target: a DASH manifest. The input also serves as the index of its files.
pub fn mpd(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let base = Url::parse("http://example.org/a/film.mpd").ok();
    let mut read = match Presentation::parse("fuzz.mpd", text, base.as_ref()) {
        Ok(read) => read,
        Err(error) => return assert!(error.to_string().starts_with("fuzz.mpd:")),
    };
    assert!(!read.representations.is_empty());
    assert!(read.representations.windows(2).all(|pair| pair[0].bandwidth < pair[1].bandwidth));
    for one in &mut read.representations {
        while let Some(missing) = one.missing() {
            let told = match missing {
                Missing::Index(_) => one.index(INDEX).or_else(|_| one.index(bytes)),
                Missing::Size(_) => one.cut(bytes.len() as u64),
            };
            if told.is_err() {
                return;
            }
        }
    }
    if read.complete().is_err() {
        return;
    }
    let count = read.representations[0].len();
    for one in &read.representations {
        assert_eq!(one.len(), count);
        assert!(one.lengths().all(|length| !length.is_zero()));
        for segment in [0, count / 2, count - 1] {
            // An address may be missing only if its numbers are out of range.
            if let Some(address) = one.address(segment) {
                assert!(address.range.is_none_or(|(from, to)| from <= to));
            }
            one.init(segment);
        }
        assert_eq!(one.address(count), None);
    }
}

/// A valid index of two segments.
const INDEX: &[u8] = b"\0\0\0\x38sidx\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x02\
    \0\0\x01\x2c\0\0\0\x06\x90\0\0\0\0\0\0\xc8\0\0\0\x04\x90\0\0\0";

/// Fuzz target: CMCD in a request, and as text.
pub fn cmcd(bytes: &[u8]) {
    let mut text = State::default();
    text.read(&String::from_utf8_lossy(bytes));
    for state in State::of_request(bytes).into_iter().chain([text]) {
        assert!(state.session.as_ref().is_none_or(|session| session.chars().count() <= 64));
        assert!(state.speed.is_none_or(|speed| (0.0..=100.0).contains(&speed)));
        // A forwarded message decodes to the same state.
        let again = State::of_request(state.message().as_bytes()).expect("a message with CMCD");
        assert_eq!(again.to_text(), state.to_text());
        assert_eq!(State { speed: None, ..again }, State { speed: None, ..state.clone() });
        let mut last = state.buffer;
        for seconds in [0, 1, 100_000] {
            let buffer = state.buffer_after(Duration::from_secs(seconds));
            assert!(state.urgent || buffer <= last, "the buffer grows without data: {state:?}");
            last = buffer;
        }
    }
}

/// Fuzz target: the segment index (`sidx`) of a file.
pub fn sidx(bytes: &[u8]) {
    let text = "<MPD><Period><AdaptationSet mimeType=\"video/mp4\"><Representation bandwidth=\"1\"><BaseURL>v</BaseURL>\
        <SegmentBase indexRange=\"7-99\"/></Representation></AdaptationSet></Period></MPD>";
    let base = Url::parse("http://example.org/").ok();
    let Ok(mut read) = Presentation::parse("m", text, base.as_ref()) else { panic!("the manifest is valid") };
    let one = &mut read.representations[0];
    if one.index(bytes).is_ok() {
        assert!(!one.is_empty() && one.lengths().all(|length| !length.is_zero()));
        let ends: Vec<u64> =
            (0..one.len()).filter_map(|segment| Some(one.address(segment)?.range?.1)).collect();
        assert!(ends.len() == one.len() && ends.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

/// Fuzz target: a list of segment sizes.
pub fn sizes(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Manifest::from_json("fuzz.json", text) {
        Ok(manifest) => {
            assert!(manifest.segments() > 0 && !manifest.duration().is_zero());
            assert!(manifest.size(0, manifest.highest()).is_some());
            manifest.single_level(0);
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz.json")),
    }
}

/// Fuzz target: a session record. An accepted record can be rendered, compared and exported.
pub fn record(bytes: &[u8]) {
    let Ok(record) = Record::parse(bytes) else { return };
    // The encoded record has a valid form. Rounding of its numbers may make it contradictory.
    let again = Record::parse(record.to_text().as_bytes());
    assert!(matches!(again, Ok(_) | Err(RecordError::Wrong(_))), "after encoding: {again:?}");
    assert_eq!(record.p1203().is_err(), record.has_seeks());
    record.segments().to_csv();
    assert!(record.page().to_html().starts_with("<!doctype html>"));
    playback::summary::comparison(&[record.summary(), record.summary()]);
}
