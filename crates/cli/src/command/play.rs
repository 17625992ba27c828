//! `tandem play`.

use crate::arguments::{CmcdMode, Format, Play};
use crate::failure::Failure;
use crate::folder::{Folder, Written};
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use crate::{progress, signals, tls_files};
use abr::PlayerConfig;
use clap::ValueEnum as _;
use experiments::files;
use playback::{Cmcd, Record, Summary, summary};
use player::{Config, Network, PlayError, Played, Progress, Source, play, post, without_login};
use report::{Page, Section, Table};
use scenario::InputFile;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::{Host, Url};

pub(crate) fn run(arguments: &Play, terminal: Terminal) -> Result<(), Failure> {
    let config = config(arguments)?;
    let token = token(arguments)?;
    arguments.plot.check()?;
    let folder = arguments.out.as_deref().map(Folder::plan).transpose()?;
    let made_by = provenance(arguments, &config.source);
    let stop = signals::stop_flag()?;
    let (mut records, mut failures, mut lost, mut needs_ca) = (Vec::new(), Vec::new(), false, false);
    for run in 1..=arguments.runs {
        let played = session(&config, run, arguments.runs, &stop, terminal);
        let Played { record, failure, mismatches, .. } = match played {
            Ok(played) => played,
            Err(error) if records.is_empty() => return Err(error),
            // The records of the earlier sessions are kept.
            Err(error) => {
                failures.push(format!("session {run} did not begin: {}", error.to_text()));
                break;
            }
        };
        failures.extend(failure.map(|reason| format!("session {run} failed: {}", reason.message)));
        if mismatches > 0 {
            failures.push(format!("session {run}: {mismatches} chunks differ from the content of the seed"));
        }
        if let Some(collector) = &arguments.post {
            let network = Network { proxy: None, ..config.network.clone() };
            // A signal during the session ends the session, not its upload.
            let stopped = stop.load(Ordering::Relaxed);
            let mut observe = || {
                let is_new = stop.load(Ordering::Relaxed) && !stopped;
                if is_new { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let posted = post(collector, token.as_deref(), &record, &network, &mut observe);
            if let Err(error) = posted {
                lost = arguments.out.is_none();
                failures.push(format!(
                    "session {run}: cannot post the record to {}: {error}",
                    without_login(collector)
                ));
                needs_ca |= error.is_unknown_ca();
            }
        }
        records.push(record);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let page = made_by.add_to(report(&records));
    // The records are printed even if they cannot be written.
    let written = folder.map(|folder| write(folder, &records, &page, &made_by));
    arguments.plot.print_or(&page, terminal, || print(arguments.format, &records, &made_by, terminal))?;
    if let Some(written) = written {
        written?.announce(terminal);
    }
    arguments.plot.write(&page, terminal)?;
    if failures.is_empty() {
        return Ok(());
    }
    Err(Failure::Other { message: failures.join("\n       "), hint: hint(arguments, needs_ca, lost) })
}

fn config(arguments: &Play) -> Result<Config, Failure> {
    check_lengths_and_urls(arguments)?;
    let settings = PlayerConfig {
        max_buffer: arguments.buffer,
        startup: arguments.startup,
        resume: arguments.resume,
        abandon: !arguments.no_abandon,
        ..PlayerConfig::new(arguments.rule.clone())
    };
    Ok(Config {
        level: arguments.level,
        network: Network {
            proxy: arguments.proxy.clone(),
            tls: tls_files::client(&arguments.tls)?,
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
        device: arguments.device.clone(),
        zone: player::time_zone(),
        limit: arguments.limit.map(|limit| Duration::from_nanos(limit.as_nanos())),
        agent: arguments.agent.clone(),
        verify: arguments.verify,
        ..Config::new(source(arguments)?, settings)
    })
}

/// Next step after failures.
fn hint(arguments: &Play, needs_ca: bool, lost: bool) -> String {
    match &arguments.tls.ca {
        Some(ca) if needs_ca => {
            format!("--ca {}: expected the CA that signed the collector's certificate", ca.display())
        }
        None if needs_ca => "`--ca FILE` names the CA that signed the collector's certificate".to_owned(),
        _ if lost => "`--out DIR` also writes the records to disk".to_owned(),
        _ => String::new(),
    }
}

/// The token for the collector, which does not cross a network in clear text.
fn token(arguments: &Play) -> Result<Option<String>, Failure> {
    let token = std::env::var("TANDEM_TOKEN").ok().filter(|token| !token.is_empty());
    let Some(collector) = &arguments.post else { return Ok(None) };
    let is_here = match collector.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    };
    if token.is_some() && collector.scheme() == "http" && !is_here && !arguments.clear_token {
        return Err(usage(
            format!(
                "--post: the token of TANDEM_TOKEN would reach {} in clear text over a network",
                without_login(collector)
            ),
            "use an https: address, or accept the risk: --clear-token",
        ));
    }
    Ok(token)
}

fn check_lengths_and_urls(arguments: &Play) -> Result<(), Failure> {
    if arguments.label.as_ref().is_some_and(|label| label.chars().count() > 200) {
        return Err(usage("--label: expected at most 200 characters".to_owned(), ""));
    }
    if arguments.device.as_ref().is_some_and(|device| device.chars().count() > 128) {
        return Err(usage("--device: expected at most 128 characters".to_owned(), ""));
    }
    if arguments.content_id.as_ref().is_some_and(|id| id.chars().count() > 64) {
        return Err(usage("--content-id: expected at most 64 characters".to_owned(), ""));
    }
    for url in [&arguments.server, &arguments.post].into_iter().flatten() {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(usage(format!("expected an http: or https: URL, found {}", without_login(url)), ""));
        }
    }
    Ok(())
}

/// The video to play: a URL, a file on a server, or a local manifest.
fn source(arguments: &Play) -> Result<Source, Failure> {
    let name = &arguments.manifest;
    if ["http://", "https://"].iter().any(|scheme| name.starts_with(scheme)) {
        let url: Url = name.parse().map_err(|error| usage(format!("invalid URL {name}: {error}"), ""))?;
        return Ok(match arguments.duration {
            Some(duration) => Source::File { url, duration },
            None => Source::Url(url),
        });
    }
    if arguments.duration.is_some() {
        return Err(usage(
            format!("--duration: expected the URL of a file, found {name}"),
            "a file is played from a server, for example http://192.0.2.1/film.mp4",
        ));
    }
    let text = files::read(Path::new(name)).map_err(|reason| Failure::Unreadable {
        message: format!("cannot read the manifest {name}: {reason}"),
        hint: "a URL starts with http:// or https://; `tandem check FILE` checks a local manifest".to_owned(),
    })?;
    let file_name = Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = file_name.unwrap_or_else(|| name.clone());
    Ok(Source::Text { name, text, base: arguments.server.clone() })
}

/// Everything that determines the results, apart from network and server.
fn provenance(arguments: &Play, source: &Source) -> Provenance {
    let made_by = Provenance::new("play");
    let made_by = match source {
        Source::Text { name, text, .. } => {
            made_by.argument(name.clone()).file(InputFile::new(name.clone(), text.as_bytes()))
        }
        Source::Url(url) | Source::File { url, .. } => made_by.argument(without_login(url)),
        Source::Sizes { name, .. } => made_by.argument(name.clone()),
    };
    let cmcd = arguments.cmcd.to_possible_value().map(|value| value.get_name().to_owned());
    made_by
        .option("--server", arguments.server.as_ref().map(without_login))
        .option("--duration", arguments.duration)
        .option("--rule", [&arguments.rule])
        .option("--level", arguments.level)
        .option("--buffer", [arguments.buffer])
        .option("--startup", [arguments.startup])
        .option("--resume", [arguments.resume])
        .flag("--no-abandon", arguments.no_abandon)
        .option("--for", arguments.limit)
        .option("--runs", [arguments.runs])
        .option("--proxy", &arguments.proxy)
        .flag("--mptcp", arguments.mptcp)
        .option("--retries", [arguments.retries])
        .option("--cmcd", cmcd)
        .option("--content-id", &arguments.content_id)
        .option("--label", &arguments.label)
        .option("--device", &arguments.device)
        .option("--agent", arguments.agent.as_ref().map(|path| path.display()))
}

fn usage(message: String, hint: &str) -> Failure {
    Failure::Usage { message, hint: hint.to_owned() }
}

fn session(
    config: &Config,
    run: u32,
    runs: u32,
    stop: &AtomicBool,
    terminal: Terminal,
) -> Result<Played, Failure> {
    let bar = progress::bar(terminal, 1000, "waiting");
    let prefix = if runs > 1 { format!("{run} of {runs}, ") } else { String::new() };
    let mut observe = |progress: &Progress| {
        let (played, whole) = progress.played;
        bar.set_position((played.as_secs_f64() / whole.as_secs_f64().max(1e-9) * 1e3) as u64);
        let state = if progress.waiting { "waiting" } else { "playing" };
        let rate = progress.bitrate.map_or_else(|| "–".to_owned(), |rate| rate.to_string());
        let (buffer, stalls) = (progress.buffer.as_secs_f64(), progress.stalls);
        bar.set_message(format!("{prefix}{state}, {buffer:.1} s ahead, {rate}, {stalls} stalls"));
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let played = play(config, &mut observe);
    bar.finish_and_clear();
    played.map_err(|error| match error {
        PlayError::Manifest(message) => Failure::Unreadable {
            message,
            hint: "`tandem check FILE` explains problems of a local manifest; `--server URL` sets its server"
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

/// The record of a single session, or the contents of `result.json`.
fn json(records: &[Record], sessions: &[Summary], made_by: &Provenance) -> serde_json::Value {
    match records {
        [record] => record.to_json(),
        _ => result(sessions, made_by),
    }
}

/// Contents of `result.json`.
fn result(sessions: &[Summary], made_by: &Provenance) -> serde_json::Value {
    let mut json = summary::comparison(sessions);
    made_by.put_into(&mut json);
    json
}

fn print(
    format: Format,
    records: &[Record],
    made_by: &Provenance,
    terminal: Terminal,
) -> Result<(), Failure> {
    let sessions: Vec<Summary> = records.iter().map(Record::summary).collect();
    output::print(terminal, format, &tables(&sessions), &json(records, &sessions, made_by), || {
        made_by.columns(summary::full(&sessions)).to_csv()
    })
}

/// The report of one session, or of several with a chart for each.
fn report(records: &[Record]) -> Page {
    if let [record] = records {
        return record.page();
    }
    let sessions: Vec<Summary> = records.iter().map(Record::summary).collect();
    let groups = summary::groups(&sessions);
    let mut all =
        Section::new("Sessions").table(summary::means(&groups)).table(summary::table(&sessions, false));
    for record in records.iter().take(10) {
        all = all.heading(record.started_at.clone()).chart(record.chart());
    }
    Page::new(format!("{} sessions", records.len())).section(all)
}

fn write(folder: Folder, records: &[Record], page: &Page, made_by: &Provenance) -> Result<Written, Failure> {
    let folder = folder.made_by(made_by);
    let sessions: Vec<Summary> = records.iter().map(Record::summary).collect();
    let result = output::pretty(&result(&sessions, made_by));
    let runs = made_by.id_column(summary::full(&sessions)).to_csv();
    if let [record] = records {
        let session = record.to_text();
        let p1203 = output::pretty(&record.p1203().expect("this player does not seek"));
        return folder.write(&[
            ("result.json", result.as_bytes()),
            ("session.json", session.as_bytes()),
            ("p1203.json", p1203.as_bytes()),
            ("runs.csv", runs.as_bytes()),
            ("report.html", page.to_html().as_bytes()),
        ]);
    }
    let mut lines = String::new();
    for record in records {
        lines.push_str(&record.to_json().to_string());
        lines.push('\n');
    }
    let page = page.to_html();
    folder.write(&[
        ("result.json", result.as_bytes()),
        ("sessions.jsonl", lines.as_bytes()),
        ("runs.csv", runs.as_bytes()),
        ("report.html", page.as_bytes()),
    ])
}
