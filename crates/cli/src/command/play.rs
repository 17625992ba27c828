//! `tandem play`.

use crate::arguments::{CmcdMode, Format, Play};
use crate::command::testbed::stop_on_signals;
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::output::{self, Talk};
use crate::progress;
use abr::PlayerConfig;
use playback::{Cmcd, Record, Summary, summary};
use player::{Config, Glance, Network, PlayError, Played, Source, play, post};
use report::{Page, Section, Table};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::Url;

pub(crate) fn run(arguments: &Play, talk: Talk) -> Result<(), Failure> {
    let config = config(arguments)?;
    let folder = arguments.out.as_deref().map(Folder::plan).transpose()?;
    let stop = stop_on_signals()?;
    let (mut records, mut troubles) = (Vec::new(), Vec::new());
    for run in 1..=arguments.runs {
        let Played { record, failure, mismatches, .. } = session(&config, run, arguments.runs, &stop, talk)?;
        troubles.extend(failure.map(|failure| format!("session {run}: {failure}")));
        if mismatches > 0 {
            troubles.push(format!("session {run}: {mismatches} pieces are not what the seed makes of them"));
        }
        if let Some(collector) = &arguments.post {
            // Nothing but the token itself may come from there into a message.
            let token = std::env::var("TANDEM_TOKEN").ok().filter(|token| !token.is_empty());
            let network = Network { proxy: None, ..config.network.clone() };
            if let Err(error) = post(collector, token.as_deref(), &record, &network) {
                troubles.push(format!("session {run} is not at {collector}: {error}"));
            }
        }
        records.push(record);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if let Some(folder) = &folder {
        write(folder, &records)?;
    }
    print(arguments.format, &records, talk)?;
    if let Some(folder) = &folder {
        talk.remark(&format!("\nreport: {}", folder.file("report.html").display()));
    }
    if troubles.is_empty() {
        return Ok(());
    }
    let kept = folder.is_some() || arguments.post.is_none();
    Err(Failure::Other {
        message: troubles.join("\n       "),
        hint: if kept { String::new() } else { "`--out DIR` keeps the records in any case".to_owned() },
    })
}

fn config(arguments: &Play) -> Result<Config, Failure> {
    let settings = PlayerConfig {
        max_buffer: arguments.buffer,
        startup: arguments.startup,
        resume: arguments.resume,
        abandon: !arguments.no_abandon,
        ..PlayerConfig::new(arguments.rule.clone())
    };
    let usage = |message: String, hint: &str| Failure::Usage { message, hint: hint.to_owned() };
    if arguments.label.as_ref().is_some_and(|label| label.chars().count() > 200) {
        return Err(usage("--label: expected at most 200 characters".to_owned(), ""));
    }
    if arguments.content_id.as_ref().is_some_and(|id| id.chars().count() > 64) {
        return Err(usage("--content-id: expected at most 64 characters".to_owned(), ""));
    }
    for url in [&arguments.server, &arguments.post].into_iter().flatten() {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(usage(format!("expected an address of http: or https:, found {url}"), ""));
        }
    }
    let name = &arguments.manifest;
    let remote = ["http://", "https://"].iter().any(|scheme| name.starts_with(scheme));
    let source = if remote {
        let url: Url = name.parse().map_err(|error| usage(format!("{name} is no address: {error}"), ""))?;
        match arguments.duration {
            Some(duration) => Source::File { url, duration },
            None => Source::Url(url),
        }
    } else if arguments.duration.is_some() {
        return Err(usage(
            format!("--duration: expected the address of a file, found {name}"),
            "a file is played from a server, such as http://192.0.2.1/film.mp4",
        ));
    } else {
        let text = fs::read_to_string(name).map_err(|error| Failure::Unreadable {
            message: format!("cannot read the manifest {name}: {}", reason(&error)),
            hint:
                "an address begins with http:// or https://; docs/background/player.md describes the formats"
                    .to_owned(),
        })?;
        let name =
            Path::new(name).file_name().map_or_else(|| name.clone(), |n| n.to_string_lossy().into_owned());
        Source::Text { name, text, base: arguments.server.clone() }
    };
    Ok(Config {
        level: arguments.level,
        network: Network {
            proxy: arguments.proxy.clone(),
            mptcp: arguments.mptcp,
            retries: arguments.retries,
            ..Network::default()
        },
        cmcd: match arguments.cmcd {
            CmcdMode::Header => Cmcd::Header,
            CmcdMode::Query => Cmcd::Query,
            CmcdMode::Off => Cmcd::Off,
        },
        content_id: arguments.content_id.clone(),
        label: arguments.label.clone(),
        limit: arguments.limit.map(|limit| Duration::from_nanos(limit.as_nanos())),
        agent: arguments.agent.clone(),
        verify: arguments.verify,
        ..Config::new(source, settings)
    })
}

fn session(config: &Config, run: u32, runs: u32, stop: &AtomicBool, talk: Talk) -> Result<Played, Failure> {
    let bar = progress::bar(talk, 1000, "waiting");
    let which = if runs > 1 { format!("{run} of {runs}, ") } else { String::new() };
    let mut look = |glance: &Glance| {
        let (played, whole) = glance.played;
        bar.set_position((played.as_secs_f64() / whole.as_secs_f64().max(1e-9) * 1e3) as u64);
        let state = if glance.waiting { "waiting" } else { "playing" };
        let rate = glance.bitrate.map_or_else(|| "–".to_owned(), |rate| rate.to_string());
        let (buffer, stalls) = (glance.buffer.as_secs_f64(), glance.stalls);
        bar.set_message(format!("{which}{state}, {buffer:.1} s ahead, {rate}, {stalls} stalls"));
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let played = play(config, &mut look);
    bar.finish_and_clear();
    played.map_err(|error| match error {
        PlayError::Manifest(message) => Failure::Unreadable {
            message,
            hint: "docs/background/player.md says what manifests are played; `--server URL` where one names no server"
                .to_owned(),
        },
        error => Failure::Other { message: error.to_string(), hint: String::new() },
    })
}

fn tables(sessions: &[Summary]) -> Vec<Table> {
    let mut tables = vec![summary::short(sessions)];
    if sessions.len() > 1 {
        tables.push(summary::means(&summary::groups(sessions)));
    }
    tables
}

fn json(records: &[Record], sessions: &[Summary]) -> serde_json::Value {
    match records {
        [record] => record.to_json(),
        _ => summary::comparison(sessions),
    }
}

fn print(format: Format, records: &[Record], talk: Talk) -> Result<(), Failure> {
    let sessions: Vec<Summary> = records.iter().map(Record::summary).collect();
    output::print(talk, format, &tables(&sessions), &json(records, &sessions), || {
        summary::table(&sessions, false).to_csv()
    })
}

fn write(folder: &Folder, records: &[Record]) -> Result<(), Failure> {
    let sessions: Vec<Summary> = records.iter().map(Record::summary).collect();
    let (result, runs) =
        (output::pretty(&summary::comparison(&sessions)), summary::table(&sessions, false).to_csv());
    if let [record] = records {
        let (session, p1203) = (record.to_text(), output::pretty(&record.p1203()));
        return folder.write(&[
            ("result.json", result.as_bytes()),
            ("session.json", session.as_bytes()),
            ("p1203.json", p1203.as_bytes()),
            ("runs.csv", runs.as_bytes()),
            ("report.html", record.page().to_html().as_bytes()),
        ]);
    }
    let mut lines = String::new();
    for record in records {
        lines.push_str(&record.to_json().to_string());
        lines.push('\n');
    }
    let groups = summary::groups(&sessions);
    let mut all =
        Section::new("Sessions").table(summary::means(&groups)).table(summary::table(&sessions, false));
    for record in records.iter().take(10) {
        all = all.heading(record.started_at.clone()).chart(record.chart());
    }
    let page = Page::new(format!("{} sessions", records.len())).section(all).to_html();
    folder.write(&[
        ("result.json", result.as_bytes()),
        ("sessions.jsonl", lines.as_bytes()),
        ("runs.csv", runs.as_bytes()),
        ("report.html", page.as_bytes()),
    ])
}
