//! Plays the player's page in headless Chromium on the device of a test bed.
//!
//! ```text
//!  device: Chromium ══ the paths, Multipath TCP ══ edge: the proxy ── content: `tandem serve`, TCP
//! ```
//!
//! The collector serves page and video, and the page posts the record of its session to it.

mod video_files;

use crate::failure::{Failure, reason};
use crate::live_capture::run_with_capture;
use crate::{kernel, player_page};
use capture::Summary;
use collector::{Filter, Store};
use papers::lwi::paper::Clip;
use playback::Record;
use player::content::Content;
use sim::Experiment;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time;
use testbed::{EmulatedRun, End, ProxySetup};
use tokio::sync::oneshot;
use units::Duration;
use url::Url;

/// Usual paths of Chromium.
const CHROMIUM: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/// Interval at which the collector is polled for the session.
const POLL_INTERVAL: time::Duration = time::Duration::from_millis(100);
/// Time for the start of Chromium and the upload of the session.
const STARTUP_AND_UPLOAD: Duration = Duration::from_secs(60);

/// Chromium with page and videos.
#[derive(Debug)]
pub(crate) struct Browser {
    chromium: &'static str,
    web: PathBuf,
    videos: [PathBuf; 2],
}

/// Result of a session.
#[derive(Debug)]
pub(crate) struct PlayedPage {
    pub(crate) record: Record,
    pub(crate) emulated: EmulatedRun,
    /// Analysis of the capture at the device's interfaces.
    pub(crate) summary: Summary,
}

impl Browser {
    /// Finds Chromium and the page, and encodes the videos unless they exist. The error names the
    /// missing program or file.
    pub(crate) fn find() -> Result<Self, String> {
        let chromium = CHROMIUM.into_iter().find(|path| Path::new(path).exists());
        let chromium = chromium.ok_or("Chromium is not installed")?;
        let web = player_page::find().ok_or("web/dist is missing: run `make web`")?;
        let [first, second] = Clip::ALL.map(video_files::folder);
        Ok(Self { chromium, web, videos: [first?, second?] })
    }

    /// Plays a video over the paths of the experiment until the page has posted its session.
    /// `buffer` is the capacity of the playback buffer.
    ///
    /// # Errors
    /// A missing requirement of the system, an early exit of Chromium, a timeout, or `stop`.
    pub(crate) fn play(
        &self,
        clip: Clip,
        experiment: &Experiment,
        buffer: Duration,
        setup: ProxySetup,
        stop: &AtomicBool,
    ) -> Result<PlayedPage, Failure> {
        let directory = tempfile::tempdir().map_err(|error| other(&reason(&error)))?;
        let store = Store::open(&directory.path().join("sessions.db")).map_err(|error| other(&error))?;
        let log = directory.path().join("chromium.log");
        let (listener, serving) = mpsc::channel();
        let (ending, ended) = oneshot::channel();
        let (finished, over) = (Arc::<AtomicBool>::default(), AtomicBool::new(false));
        let programs = testbed::Programs {
            command: self.command(directory.path(), &log, clip, buffer)?,
            server: None,
            multipath: true,
            limit: Some(experiment.duration + STARTUP_AND_UPLOAD),
            proxied: Some(testbed::ProxiedContent { setup, listener }),
            server_stack: testbed::StackKind::Linux,
            uplink: false,
            offload: true,
            finished: Arc::clone(&finished),
        };
        let emulated = thread::scope(|scope| {
            let kept = store.clone();
            let collector = scope.spawn(move || self.serve(clip, &serving, kept, ended));
            scope.spawn(|| watch(&store, stop, &finished, &over));
            let emulated = run_with_capture(|capture| {
                testbed::emulate(experiment, programs, None, Some(capture))
                    .map_err(|error| kernel::failure(&error))
            });
            over.store(true, Ordering::Relaxed);
            drop(ending);
            collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            emulated
        });
        if stop.load(Ordering::Relaxed) {
            return Err(kernel::failure(&testbed::Error::Stopped));
        }
        let (emulated, summary) = emulated?;
        let summaries = store.list(1, None, &Filter::default()).map_err(|error| other(&error))?;
        let Some(known) = summaries.first() else { return Err(no_session(emulated.end, &log)) };
        let document = store.document(&known.id).map_err(|error| other(&error))?.unwrap_or_default();
        let record = Record::parse(document.as_bytes()).map_err(|error| other(&error))?;
        Ok(PlayedPage { record, emulated, summary })
    }

    /// Runs the collector as soon as the test bed provides its listener.
    fn serve(
        &self,
        clip: Clip,
        serving: &Receiver<TcpListener>,
        store: Store,
        ended: oneshot::Receiver<()>,
    ) -> Result<(), Failure> {
        // Without a listener the test bed has failed, and reports it itself.
        let Ok(listener) = serving.recv() else { return Ok(()) };
        let directory = self.videos.get(clip as usize).cloned();
        let config = collector::Config {
            web: Some(self.web.clone()),
            content: Some(Content { directory, ..Content::default() }),
            ..collector::Config::default()
        };
        let until = async {
            // The sender is dropped at the end of the session.
            let _ = ended.await;
        };
        collector::run(listener, config, store, until).map_err(|error| other(&reason(&error)))
    }

    /// The command line of Chromium; the page starts to play by itself.
    fn command(&self, home: &Path, log: &Path, clip: Clip, buffer: Duration) -> Result<Command, Failure> {
        let mut page =
            Url::parse(&format!("http://{}/", ProxySetup::CONTENT)).map_err(|error| other(&error))?;
        page.query_pairs_mut()
            .append_pair("src", "/content/manifest.mpd")
            .append_pair("autoplay", "")
            .append_pair("maxBuffer", &buffer.as_secs_f64().to_string())
            .append_pair("catalogue", "")
            .append_pair("label", &format!("lwi {}", clip.name()));
        let errors = File::create(log).map_err(|error| other(&reason(&error)))?;
        let mut command = Command::new(self.chromium);
        // A temporary home: Chromium's files are removed with it.
        command.env("HOME", home);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        // A minimal disk cache: played segments are not used again.
        command.args(["--mute-audio", "--disk-cache-size=1", "--window-size=1280,900"]);
        command.arg(format!("--proxy-server=http://{}", ProxySetup::PROXY));
        command.arg(format!("--user-data-dir={}", home.join("profile").display()));
        command.arg(page.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        Ok(command)
    }
}

/// Sets `finished` as soon as a session was posted or `stop` is set; returns when `over` is set.
fn watch(store: &Store, stop: &AtomicBool, finished: &AtomicBool, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let is_posted = store.list(1, None, &Filter::default()).is_ok_and(|sessions| !sessions.is_empty());
        if is_posted || stop.load(Ordering::Relaxed) {
            finished.store(true, Ordering::Relaxed);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn no_session(end: End, log: &Path) -> Failure {
    let log = fs::read_to_string(log).unwrap_or_default();
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
    match end {
        End::Exited(code) => {
            other(&format!("Chromium exited with {code} before the end of the session: {last}"))
        }
        End::TimedOut | End::Finished => {
            other(&format!("timeout: the page posted no session; Chromium: {last}"))
        }
    }
}

fn other(error: &dyn std::fmt::Display) -> Failure {
    Failure::Other { message: format!("the page in Chromium: {error}"), hint: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use papers::lwi::calibration::Calibration;
    use papers::lwi::kernel::{plans, proxy_to_server};
    use papers::lwi::paper::Access;
    use units::Bitrate;

    /// Replaces the player's page, which would take as long as its video: posts a given record.
    const PAGE: &str = "fetch('record.json').then((record) => record.text()).then((body) => \
        fetch('/api/sessions', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }))";

    #[test]
    #[ignore = "needs root, needs chromium"]
    fn needs_root_needs_chromium_posted_record_is_returned() -> std::io::Result<()> {
        let chromium = CHROMIUM.into_iter().find(|path| Path::new(path).exists());
        let chromium = chromium.expect("Chromium is installed");
        let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/session.md");
        let documentation = fs::read_to_string(documentation)?;
        let record = documentation.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
        let record = record.expect("the documentation has an example");
        let web = tempfile::tempdir()?;
        fs::write(web.path().join("index.html"), "<!doctype html><script src=player.js></script>")?;
        fs::write(web.path().join("player.js"), PAGE)?;
        fs::write(web.path().join("record.json"), record)?;
        let videos = [web.path().to_owned(), web.path().to_owned()];
        let browser = Browser { chromium, web: web.path().to_owned(), videos };

        let calibration = Calibration::shipped();
        let rate = Bitrate::from_mbps(1000.0);
        let ahead = ProxySetup::DEFAULT_AHEAD;
        let setup = ProxySetup { delay: proxy_to_server(), rate, send_buffer: None, ahead };
        for (plan, experiment) in plans(&calibration, 1, &[]) {
            let both = plan.setup.access == Access::Both;
            if plan.clip != Clip::TwoK || plan.setup.access == Access::Wifi {
                continue;
            }
            let seen =
                browser.play(plan.clip, &experiment, calibration.buffer, setup, &AtomicBool::default());
            let seen = seen.expect("the page is played");
            assert_eq!(Some(seen.record), Record::parse(record.as_bytes()).ok());
            assert_eq!(seen.emulated.end, End::Finished);
            let multipath = seen.emulated.multipath;
            assert_eq!((multipath.requested > 0, multipath.accepted > 0), (both, both), "{multipath:?}");
            for path in &seen.emulated.outcome.paths {
                assert_eq!(seen.summary.payload_down_bytes(&path.name), path.payload_down_bytes);
            }
            assert!(seen.emulated.outcome.paths[usize::from(!both)].payload_down_bytes > 1000);
        }
        Ok(())
    }
}
