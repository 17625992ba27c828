//! The videos of the paper, encoded by ffmpeg from its test picture.

use crate::failure::reason;
use papers::lwi::model::SEGMENT;
use papers::lwi::paper::{Clip, DURATION_S};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folder of the encoded videos, which are kept.
const FOLDER: &str = "tandem-out/films";
/// Frames per second.
const FPS: u64 = 25;

/// A folder with `manifest.mpd` and segments of the length and size in the paper.
///
/// The picture is small, and filler data (ITU-T H.264, section 7.3.2.7) makes up the bitrate. All
/// segments but the first thus have the same size, as in the model, and are cheap to decode.
pub(super) fn folder(clip: Clip) -> Result<PathBuf, String> {
    let folder = Path::new(FOLDER).join(format!("lwi-{}-1", clip.name().to_lowercase()));
    if folder.join("manifest.mpd").is_file() {
        return Ok(folder);
    }
    fs::create_dir_all(FOLDER).map_err(|error| format!("{FOLDER}: {}", reason(&error)))?;
    let making = tempfile::Builder::new().prefix(".film-").tempdir_in(FOLDER);
    let making = making.map_err(|error| format!("{FOLDER}: {}", reason(&error)))?;
    encode(clip, making.path())?;
    let made = making.keep();
    // Another process may have encoded the same video meanwhile.
    if let Err(error) = fs::rename(&made, &folder)
        && !folder.join("manifest.mpd").is_file()
    {
        return Err(format!("{}: {}", folder.display(), reason(&error)));
    }
    Ok(folder)
}

fn encode(clip: Clip, into: &Path) -> Result<(), String> {
    let kbps = clip.bytes() * 8 / DURATION_S / 1000;
    let segment_s = SEGMENT.as_millis() / 1000;
    let (rate, pictures) = (format!("{kbps}k"), (FPS * segment_s).to_string());
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-f", "lavfi", "-i"]);
    command.arg(format!("testsrc2=size=320x180:rate={FPS}:duration={DURATION_S}"));
    command.args(["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]);
    command.args(["-b:v", &rate, "-maxrate", &rate, "-bufsize", &format!("{}k", kbps / 4)]);
    // Constant bitrate; the minimum quantiser limits the share of the picture.
    command.args(["-x264-params", "nal-hrd=cbr:force-cfr=1:qpmin=28"]);
    command.args(["-g", &pictures, "-keyint_min", &pictures, "-sc_threshold", "0"]);
    command.args(["-f", "dash", "-seg_duration", &segment_s.to_string()]);
    command.args(["-use_template", "1", "-use_timeline", "0", "-adaptation_sets", "id=0,streams=v"]);
    command.arg(into.join("manifest.mpd")).stdin(Stdio::null()).stdout(Stdio::null());
    let made = command.output().map_err(|error| format!("ffmpeg: {}", reason(&error)))?;
    if made.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&made.stderr);
    Err(format!("ffmpeg: {}", stderr.lines().last().unwrap_or("it failed without a message")))
}
