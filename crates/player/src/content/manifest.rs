//! Manifests in the formats of other players.

use abr::Manifest;
use std::fmt::Write as _;
use units::Duration;

/// Sabre's JSON. It has one segment length: the longest.
pub(super) fn json(manifest: &Manifest) -> String {
    let sizes: Vec<Vec<u64>> = (0..manifest.segments())
        .map(|segment| {
            (0..=manifest.highest())
                .map(|level| manifest.size(segment, level).map_or(0, units::Bytes::bits))
                .collect()
        })
        .collect();
    let rates: Vec<f64> = manifest.bitrates().iter().map(|rate| rate.as_bps() as f64 / 1e3).collect();
    serde_json::json!({
        "segment_duration_ms": manifest.segment_duration().as_secs_f64() * 1e3,
        "bitrates_kbps": rates,
        "segment_sizes_bits": sizes,
    })
    .to_string()
}

/// A static MPD of ISO/IEC 23009-1 with a timeline. Its segments contain no decodable video.
pub(super) fn mpd(manifest: &Manifest) -> String {
    let seconds = |span: Duration| format!("PT{}S", span.as_secs_f64());
    let mut timeline = String::new();
    let mut segment = 0;
    while segment < manifest.segments() {
        let length = manifest.length(segment);
        let same = (segment..manifest.segments()).take_while(|&at| manifest.length(at) == length).count();
        let _ = write!(timeline, "<S d=\"{}\" r=\"{}\"/>", length.as_nanos() / 1_000, same - 1);
        segment += same;
    }
    let mut representations = String::new();
    for (level, rate) in manifest.bitrates().iter().enumerate() {
        let _ = write!(representations, "<Representation id=\"{level}\" bandwidth=\"{}\"/>", rate.as_bps());
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" \
         profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" minBufferTime=\"{}\" \
         mediaPresentationDuration=\"{}\"><Period><AdaptationSet contentType=\"video\" mimeType=\"video/mp4\" \
         segmentAlignment=\"true\"><SegmentTemplate timescale=\"1000000\" startNumber=\"0\" \
         media=\"segments/$RepresentationID$/$Number$\"><SegmentTimeline>{timeline}</SegmentTimeline>\
         </SegmentTemplate>{representations}</AdaptationSet></Period></MPD>\n",
        seconds(manifest.segment_duration()),
        seconds(manifest.duration()),
    )
}
