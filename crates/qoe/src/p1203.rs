//! A session as input of ITU-T P.1203, to be scored by an implementation of the standard.
//!
//! The format is the public one of ITU-T P.1203 (10/2017), with its inputs I.GEN, I.11, I.13 and
//! I.23, as JSON for mode 0 (bitrate, codec, duration, frame rate, resolution). Times are in
//! seconds, bitrates in kbit/s. This module computes no score.

use serde_json::{Value, json};
use units::{Bitrate, Duration};

/// A session as input of ITU-T P.1203.
#[derive(Debug, Clone, PartialEq)]
pub struct P1203 {
    /// The device and its viewer (I.GEN).
    pub display: Display,
    /// Audio segments (I.11) in playback order; may be empty.
    pub audio: Vec<AudioSegment>,
    /// Video segments (I.13) in playback order.
    pub video: Vec<VideoSegment>,
    /// Time from the request to the first frame (I.23, at position 0).
    pub initial: Duration,
    /// Stalls (I.23) in playback order.
    pub stalls: Vec<Stalling>,
}

/// The device (I.GEN).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    /// True for a phone or tablet, false for a desktop screen.
    pub handheld: bool,
    /// Width and height in pixels.
    pub pixels: (u32, u32),
    /// Viewing distance in centimetres.
    pub distance_cm: u32,
}

/// An audio segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioSegment {
    /// Playback duration.
    pub duration: Duration,
    /// Mean bitrate.
    pub bitrate: Bitrate,
    /// Codec in the spelling of the standard: `mp2`, `ac3`, `aaclc`, `heaac`.
    pub codec: String,
}

/// A video segment.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoSegment {
    /// Playback duration.
    pub duration: Duration,
    /// Mean bitrate.
    pub bitrate: Bitrate,
    /// Codec in the spelling of the standard: `h264`.
    pub codec: String,
    /// Frames per second.
    pub fps: f64,
    /// Encoded width and height in pixels.
    pub pixels: (u32, u32),
}

/// A stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalling {
    /// Position in the video at which it began, not a time of the session.
    pub position: Duration,
    /// Duration.
    pub length: Duration,
}

impl Default for Display {
    /// A full HD desktop screen at a viewing distance of 150 cm.
    fn default() -> Self {
        Self { handheld: false, pixels: (1920, 1080), distance_cm: 150 }
    }
}

/// Returns each segment with its start: the end of the previous segment.
fn with_starts<T>(segments: &[T], duration: impl Fn(&T) -> Duration) -> impl Iterator<Item = (Duration, &T)> {
    segments.iter().scan(Duration::ZERO, move |end, segment| {
        let start = *end;
        *end += duration(segment);
        Some((start, segment))
    })
}

impl P1203 {
    /// Returns the JSON document. An initial wait of zero is left out.
    pub fn to_json(&self) -> Value {
        let audio: Vec<Value> = with_starts(&self.audio, |segment| segment.duration)
            .map(|(start, segment)| {
                json!({
                    "bitrate": kbps(segment.bitrate),
                    "codec": segment.codec,
                    "duration": segment.duration.as_secs_f64(),
                    "start": start.as_secs_f64(),
                })
            })
            .collect();
        let video: Vec<Value> = with_starts(&self.video, |segment| segment.duration)
            .map(|(start, segment)| {
                json!({
                    "bitrate": kbps(segment.bitrate),
                    "codec": segment.codec,
                    "duration": segment.duration.as_secs_f64(),
                    "fps": segment.fps,
                    "resolution": size(segment.pixels),
                    "start": start.as_secs_f64(),
                })
            })
            .collect();
        let first = (!self.initial.is_zero()).then_some((Duration::ZERO, self.initial));
        let stalling: Vec<[f64; 2]> = first
            .into_iter()
            .chain(self.stalls.iter().map(|stall| (stall.position, stall.length)))
            .map(|(position, length)| [position.as_secs_f64(), length.as_secs_f64()])
            .collect();
        json!({
            "I11": { "segments": audio, "streamId": 1 },
            "I13": { "segments": video, "streamId": 1 },
            "I23": { "stalling": stalling, "streamId": 1 },
            "IGen": {
                "device": if self.display.handheld { "mobile" } else { "pc" },
                "displaySize": size(self.display.pixels),
                "viewingDistance": format!("{}cm", self.display.distance_cm),
            },
        })
    }
}

fn kbps(rate: Bitrate) -> f64 {
    rate.as_bps() as f64 / 1e3
}

fn size((width, height): (u32, u32)) -> String {
    format!("{width}x{height}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_contiguous_and_the_initial_wait_is_a_stall_at_position_0() {
        let video = |ms, kbit: u64, pixels| VideoSegment {
            duration: Duration::from_millis(ms),
            bitrate: Bitrate::from_bps(kbit * 1000),
            codec: "h264".into(),
            fps: 24.0,
            pixels,
        };
        let audio = AudioSegment {
            duration: Duration::from_millis(5500),
            bitrate: Bitrate::from_bps(128_500),
            codec: "aaclc".into(),
        };
        let seen = P1203 {
            display: Display { handheld: true, ..Display::default() },
            audio: vec![audio],
            video: vec![video(3000, 1000, (640, 360)), video(2500, 2500, (1280, 720))],
            initial: Duration::from_millis(750),
            stalls: vec![Stalling { position: Duration::from_secs(3), length: Duration::from_millis(1250) }],
        };
        let expected = json!({
            "I11": {
                "segments": [{"bitrate": 128.5, "codec": "aaclc", "duration": 5.5, "start": 0.0}],
                "streamId": 1,
            },
            "I13": {
                "segments": [
                    {"bitrate": 1000.0, "codec": "h264", "duration": 3.0, "fps": 24.0,
                     "resolution": "640x360", "start": 0.0},
                    {"bitrate": 2500.0, "codec": "h264", "duration": 2.5, "fps": 24.0,
                     "resolution": "1280x720", "start": 3.0},
                ],
                "streamId": 1,
            },
            "I23": {"stalling": [[0.0, 0.75], [3.0, 1.25]], "streamId": 1},
            "IGen": {"device": "mobile", "displaySize": "1920x1080", "viewingDistance": "150cm"},
        });
        assert_eq!(seen.to_json(), expected);
        let at_once = P1203 { initial: Duration::ZERO, stalls: Vec::new(), ..seen };
        assert_eq!(at_once.to_json()["I23"]["stalling"], json!([]));
    }
}
