//! The paper's videos, made by ffmpeg from its test picture.

use crate::failure::reason;
use papers::lwi::model::SEGMENT;
use papers::lwi::paper::{Clip, DURATION_S};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where they are kept: to be made once.
const FILMS: &str = "tandem-out/films";
/// Pictures per second.
const FPS: u64 = 25;

/// A folder with `manifest.mpd` and the segments, of the paper's length and size. The picture is small, and what it
/// does not need of its bitrate is filled up with bytes that decoders pass over (filler data, ITU-T H.264, section
/// 7.3.2.7): all segments but the first are of one size, as those of the model, and decoding costs little.
pub(super) fn film(clip: Clip) -> Result<PathBuf, String> {
    let folder = Path::new(FILMS).join(format!("lwi-{}-1", clip.name().to_lowercase()));
    if folder.join("manifest.mpd").is_file() {
        return Ok(folder);
    }
    fs::create_dir_all(FILMS).map_err(|error| format!("{FILMS}: {}", reason(&error)))?;
    let making = tempfile::Builder::new().prefix(".film-").tempdir_in(FILMS);
    let making = making.map_err(|error| format!("{FILMS}: {}", reason(&error)))?;
    make(clip, making.path())?;
    let made = making.keep();
    // Somebody else may have made it meanwhile: it is the same.
    if let Err(error) = fs::rename(&made, &folder)
        && !folder.join("manifest.mpd").is_file()
    {
        return Err(format!("{}: {}", folder.display(), reason(&error)));
    }
    Ok(folder)
}

fn make(clip: Clip, into: &Path) -> Result<(), String> {
    let kbps = clip.bytes() * 8 / DURATION_S / 1000;
    let segment_s = SEGMENT.as_millis() / 1000;
    let (rate, pictures) = (format!("{kbps}k"), (FPS * segment_s).to_string());
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-f", "lavfi", "-i"]);
    command.arg(format!("testsrc2=size=320x180:rate={FPS}:duration={DURATION_S}"));
    command.args(["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]);
    command.args(["-b:v", &rate, "-maxrate", &rate, "-bufsize", &format!("{}k", kbps / 4)]);
    // A constant bitrate, of which the picture may have no more than it needs at this quality.
    command.args(["-x264-params", "nal-hrd=cbr:force-cfr=1:qpmin=28"]);
    command.args(["-g", &pictures, "-keyint_min", &pictures, "-sc_threshold", "0"]);
    command.args(["-f", "dash", "-seg_duration", &segment_s.to_string()]);
    command.args(["-use_template", "1", "-use_timeline", "0", "-adaptation_sets", "id=0,streams=v"]);
    command.arg(into.join("manifest.mpd")).stdin(Stdio::null()).stdout(Stdio::null());
    let made = command.output().map_err(|error| format!("ffmpeg: {}", reason(&error)))?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr);
    Err(format!("ffmpeg: {}", said.lines().last().unwrap_or("it failed and said nothing")))
}
