//! A session in the form that ITU-T P.1203 takes as its input, so that who has an implementation of
//! the standard can score it. Nothing here scores: no coefficient of the standard is known to it.
//!
//! The form is the public one of ITU-T P.1203 (10/2017), its inputs I.GEN, I.11, I.13 and I.23, written
//! as JSON for mode 0 (bitrate, codec, duration, frame rate, resolution). Times are seconds, bitrates
//! are kbit/s.

use serde_json::{Value, json};
use units::{Bitrate, Duration};

/// What was seen and heard, and on what.
#[derive(Debug, Clone, PartialEq)]
pub struct P1203 {
    /// The device and its viewer (I.GEN).
    pub display: Display,
    /// The audio (I.11), in the order of play; empty where there was none.
    pub audio: Vec<AudioSegment>,
    /// The video (I.13), in the order of play.
    pub video: Vec<VideoSegment>,
    /// From the request until the first picture (I.23, at position 0).
    pub initial: Duration,
    /// The stalls (I.23), in the order of play.
    pub stalls: Vec<Stalling>,
}

/// The device (I.GEN).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    /// A phone or tablet rather than a screen on a desk.
    pub handheld: bool,
    /// Width and height in pixels.
    pub pixels: (u32, u32),
    /// Distance of the eyes from it, in centimetres.
    pub distance_cm: u32,
}

/// A stretch of audio of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioSegment {
    /// How long it plays.
    pub duration: Duration,
    /// Its mean rate.
    pub bitrate: Bitrate,
    /// As the standard spells it: `mp2`, `ac3`, `aaclc`, `heaac`.
    pub codec: String,
}

/// A stretch of video of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoSegment {
    /// How long it plays.
    pub duration: Duration,
    /// Its mean rate.
    pub bitrate: Bitrate,
    /// As the standard spells it: `h264`.
    pub codec: String,
    /// Frames a second.
    pub fps: f64,
    /// Width and height in pixels, as encoded.
    pub pixels: (u32, u32),
}

/// A stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalling {
    /// How much of the video had been played when it began: a position in the video, not a time of
    /// the session.
    pub position: Duration,
    /// How long it lasted.
    pub length: Duration,
}

impl Default for Display {
    /// A full HD screen on a desk, seen from 150 cm.
    fn default() -> Self {
        Self { handheld: false, pixels: (1920, 1080), distance_cm: 150 }
    }
}

/// Segments, each with when it starts: where the one before it ends.
fn one_after_the_other<T>(
    segments: &[T],
    duration: impl Fn(&T) -> Duration,
) -> impl Iterator<Item = (Duration, &T)> {
    segments.iter().scan(Duration::ZERO, move |end, segment| {
        let start = *end;
        *end += duration(segment);
        Some((start, segment))
    })
}

impl P1203 {
    /// The document. Each segment starts where the one before it ends; a wait at the start of no
    /// length is left out.
    pub fn to_json(&self) -> Value {
        let audio: Vec<Value> = one_after_the_other(&self.audio, |segment| segment.duration)
            .map(|(start, segment)| {
                json!({
                    "bitrate": kbps(segment.bitrate),
                    "codec": segment.codec,
                    "duration": segment.duration.as_secs_f64(),
                    "start": start.as_secs_f64(),
                })
            })
            .collect();
        let video: Vec<Value> = one_after_the_other(&self.video, |segment| segment.duration)
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
    fn segments_follow_one_another_and_the_initial_wait_is_a_stall_at_position_0() {
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
