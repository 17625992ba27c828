//! The player's page in headless Chromium on the device of a test bed.
//!
//! ```text
//!  device: Chromium ══ the paths, Multipath TCP ══ edge: the proxy ── content: `tandem serve`, TCP
//! ```
//!
//! The collector serves the page and the film, and the page posts its session to it.

mod film;

use crate::command::serve::built;
use crate::command::testbed::failure;
use crate::failure::{Failure, reason};
use crate::fold::folded;
use capture::Summary;
use collector::Store;
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
use testbed::{Edge, Emulated, End};
use tokio::sync::oneshot;
use units::Duration;
use url::Url;

/// Where Chromium is as a rule.
const CHROMIUM: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/// It is looked so often whether the session has come.
const LOOK: time::Duration = time::Duration::from_millis(100);
/// So long Chromium may take to begin, and the page to send its session.
const AROUND: Duration = Duration::from_secs(60);

/// What plays the page.
#[derive(Debug)]
pub(crate) struct Browser {
    chromium: &'static str,
    web: PathBuf,
    films: [PathBuf; 2],
}

/// What a session came to.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) record: Record,
    pub(crate) emulated: Emulated,
    /// What the device's interfaces carried.
    pub(crate) summary: Summary,
}

impl Browser {
    /// Finds Chromium and the page, and makes the films where they are not there; in words what is missing.
    pub(crate) fn find() -> Result<Self, String> {
        let chromium = CHROMIUM.into_iter().find(|path| Path::new(path).exists());
        let chromium = chromium.ok_or("Chromium is not installed")?;
        let web = built().ok_or("web/dist is not there, which `make web` builds")?;
        let [first, second] = Clip::ALL.map(film::film);
        Ok(Self { chromium, web, films: [first?, second?] })
    }

    /// Plays a film once over the experiment's paths, with so much buffer, until the page has sent its session.
    ///
    /// # Errors
    /// Where the system lacks something, Chromium ends before that, and where it takes too long or is stopped.
    pub(crate) fn play(
        &self,
        clip: Clip,
        experiment: &Experiment,
        buffer: Duration,
        edge: Edge,
        stop: &AtomicBool,
    ) -> Result<Seen, Failure> {
        let room = tempfile::tempdir().map_err(|error| other(&reason(&error)))?;
        let store = Store::open(&room.path().join("sessions.db")).map_err(|error| other(&error))?;
        let said = room.path().join("said");
        let (serves, serving) = mpsc::channel();
        let (ending, ended) = oneshot::channel();
        let (enough, over) = (Arc::<AtomicBool>::default(), AtomicBool::new(false));
        let programs = testbed::Programs {
            command: self.command(room.path(), &said, clip, buffer)?,
            server: None,
            multipath: true,
            limit: Some(experiment.duration + AROUND),
            behind: Some(testbed::Content { edge, serves }),
            offload: true,
            enough: Arc::clone(&enough),
        };
        let emulated = thread::scope(|scope| {
            let kept = store.clone();
            let collector = scope.spawn(move || self.serve(clip, &serving, kept, ended));
            scope.spawn(|| watch(&store, stop, &enough, &over));
            let emulated = folded(|capture| {
                testbed::emulate(experiment, programs, None, Some(capture)).map_err(|error| failure(&error))
            });
            over.store(true, Ordering::Relaxed);
            drop(ending);
            collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            emulated
        });
        if stop.load(Ordering::Relaxed) {
            return Err(failure(&testbed::Error::Stopped));
        }
        let (emulated, summary) = emulated?;
        let summaries = store.list(1, None, None).map_err(|error| other(&error))?;
        let Some(known) = summaries.first() else { return Err(nothing_came(emulated.end, &said)) };
        let document = store.document(&known.id).map_err(|error| other(&error))?.unwrap_or_default();
        let record = Record::parse(document.as_bytes()).map_err(|error| other(&error))?;
        Ok(Seen { record, emulated, summary })
    }

    /// The collector, from the moment at which it has somewhere to listen.
    fn serve(
        &self,
        clip: Clip,
        serving: &Receiver<TcpListener>,
        store: Store,
        ended: oneshot::Receiver<()>,
    ) -> Result<(), Failure> {
        // Where there is nobody to serve, somebody else says why.
        let Ok(listener) = serving.recv() else { return Ok(()) };
        let directory = self.films.get(clip as usize).cloned();
        let config = collector::Config {
            web: Some(self.web.clone()),
            content: Some(Content { directory, ..Content::default() }),
            ..collector::Config::default()
        };
        let until = async {
            // A sender that is dropped says that it is time.
            let _ = ended.await;
        };
        collector::run(listener, config, store, until).map_err(|error| other(&reason(&error)))
    }

    /// Chromium, which plays as soon as it has the page.
    fn command(&self, room: &Path, said: &Path, clip: Clip, buffer: Duration) -> Result<Command, Failure> {
        let mut page = Url::parse(&format!("http://{}/", Edge::CONTENT)).map_err(|error| other(&error))?;
        page.query_pairs_mut()
            .append_pair("src", "/content/manifest.mpd")
            .append_pair("autoplay", "")
            .append_pair("maxBuffer", &buffer.as_secs_f64().to_string())
            .append_pair("catalogue", "")
            .append_pair("label", &format!("lwi {}", clip.name()));
        let errors = File::create(said).map_err(|error| other(&reason(&error)))?;
        let mut command = Command::new(self.chromium);
        // It leaves nothing behind.
        command.env("HOME", room);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        // What has been played is not wanted again.
        command.args(["--mute-audio", "--disk-cache-size=1", "--window-size=1280,900"]);
        command.arg(format!("--proxy-server=http://{}", Edge::PROXY));
        command.arg(format!("--user-data-dir={}", room.join("profile").display()));
        command.arg(page.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        Ok(command)
    }
}

/// Says that it is enough as soon as a session is there, or nobody wants it any more.
fn watch(store: &Store, stop: &AtomicBool, enough: &AtomicBool, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let there = store.list(1, None, None).is_ok_and(|sessions| !sessions.is_empty());
        if there || stop.load(Ordering::Relaxed) {
            enough.store(true, Ordering::Relaxed);
        }
        thread::sleep(LOOK);
    }
}

fn nothing_came(end: End, said: &Path) -> Failure {
    let said = fs::read_to_string(said).unwrap_or_default();
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    match end {
        End::Ended(code) => other(&format!("Chromium ended with {code} before the session was over: {last}")),
        End::TimeIsUp | End::Enough => other(&format!("the page sent no session in time; Chromium: {last}")),
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

    /// In place of the player's page, which takes as long as its film: it has a record, and sends it.
    const PAGE: &str = "fetch('record.json').then((record) => record.text()).then((body) => \
        fetch('/api/sessions', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }))";

    #[test]
    fn what_a_page_on_the_device_sends_is_its_record() -> std::io::Result<()> {
        let Some(chromium) = CHROMIUM.into_iter().find(|path| Path::new(path).exists()) else {
            println!("skipped: Chromium is not here");
            return Ok(());
        };
        let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/session.md");
        let documentation = fs::read_to_string(documentation)?;
        let record = documentation.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
        let record = record.expect("the documentation has an example");
        let web = tempfile::tempdir()?;
        fs::write(web.path().join("index.html"), "<!doctype html><script src=player.js></script>")?;
        fs::write(web.path().join("player.js"), PAGE)?;
        fs::write(web.path().join("record.json"), record)?;
        let films = [web.path().to_owned(), web.path().to_owned()];
        let browser = Browser { chromium, web: web.path().to_owned(), films };

        let calibration = Calibration::shipped();
        let rate = Bitrate::from_mbps(1000.0);
        let edge = Edge { delay: proxy_to_server(), rate, send_buffer: None, ahead: Edge::AHEAD };
        for (plan, experiment) in plans(&calibration, 1, &[]) {
            let both = plan.setup.access == Access::Both;
            if plan.clip != Clip::TwoK || plan.setup.access == Access::Wifi {
                continue;
            }
            let seen = browser.play(plan.clip, &experiment, calibration.buffer, edge, &AtomicBool::default());
            let seen = match seen {
                Err(Failure::Lacks { message, .. }) => {
                    println!("skipped: {message}");
                    return Ok(());
                }
                seen => seen.expect("it plays"),
            };
            assert_eq!(Some(seen.record), Record::parse(record.as_bytes()).ok());
            assert_eq!(seen.emulated.end, End::Enough);
            let multipath = seen.emulated.multipath;
            assert_eq!((multipath.asked > 0, multipath.agreed > 0), (both, both), "{multipath:?}");
            for path in &seen.emulated.outcome.paths {
                assert_eq!(seen.summary.payload_down_bytes(&path.name), path.payload_down_bytes);
            }
            assert!(seen.emulated.outcome.paths[usize::from(!both)].payload_down_bytes > 1000);
        }
        Ok(())
    }
}
