//! Pages that list, show, compare and delete sessions.

use crate::store::Filter;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use playback::summary::{self, Summary, groups, means};
use playback::{Kind, Record};
use report::{Page, Section};

/// Page of sessions, newest first. `more` is the id before which the next page begins; `player`
/// says whether the player's page is served.
pub(crate) fn list(sessions: &[Summary], filter: &Filter, more: Option<&str>, player: bool) -> Page {
    let mut section = Section::new(heading(filter));
    if sessions.is_empty() {
        section = section.prose(if *filter == Filter::default() {
            "No sessions yet. To send one: `tandem play MANIFEST --post http://HOST:PORT/`."
        } else {
            "No such sessions."
        });
    } else {
        section = section.table(summary::table(sessions, true).note(summary::SCORES));
    }
    if let Some(id) = more {
        section = section.prose(format!("[Older sessions](/sessions{})", query(filter, &[("before", id)])));
    }
    let mut links = vec![
        format!("[Compare by label](/compare{})", query(filter, &[])),
        format!("[Sessions as CSV](/api/sessions.csv{})", query(filter, &[])),
    ];
    links.extend(player.then(|| "[Play a video](/)".to_owned()));
    if *filter != Filter::default() {
        links.push("[All sessions](/sessions)".to_owned());
    }
    if !sessions.is_empty() {
        links.push(format!("[Delete these sessions](/sessions/delete{})", query(filter, &[])));
    }
    let mut page = Page::new("Sessions").lead(links.join(" · ")).section(section);
    let labels = labels(sessions);
    if !labels.is_empty() {
        page = page.section(Section::new("Labels").list(label_links(&labels)));
    }
    page.section(
        Section::new("States")
            .list(["finished", "left", "failed"].map(|state| format!("[{state}](/sessions?state={state})"))),
    )
}

/// Page of one session.
pub(crate) fn one(record: &Record, player: bool) -> Page {
    let id = &record.id;
    let mut links = vec!["[All sessions](/sessions)".to_owned()];
    let label = record.nonempty_label();
    let with_label = query(&Filter { label: label.map(str::to_owned), state: None }, &[]);
    if label.is_some() {
        links.push(format!("[sessions with its label](/sessions{with_label})"));
    }
    links.push(format!("[comparison](/compare{with_label})"));
    links.extend(record.video.url.as_deref().filter(|_| player).and_then(|url| replay(record, url, label)));
    links.extend([
        format!("[record](/api/sessions/{id})"),
        format!("[segments as CSV](/api/sessions/{id}/csv)"),
    ]);
    links.extend((!record.has_seeks()).then(|| format!("[input of P.1203](/api/sessions/{id}/p1203)")));
    links.push(format!("[delete](/sessions/{id}/delete)"));
    record.page().lead(links.join(" · "))
}

/// Link that plays the session's video in the player's page, if that page can play it.
fn replay(record: &Record, url: &str, label: Option<&str>) -> Option<String> {
    let is_playable = matches!(record.video.kind, Kind::Dash | Kind::File | Kind::Youtube);
    let is_address = url.starts_with("http://") || url.starts_with("https://");
    let label = label.map_or_else(String::new, |label| format!("&label={}", encoded(label)));
    (is_playable && is_address).then(|| format!("[play this video](/?src={}{label})", encoded(url)))
}

/// Page that compares sessions by label: the newest ones of `all`.
pub(crate) fn compare(sessions: &[Summary], filter: &Filter, all: u32, player: bool) -> Page {
    let groups = groups(sessions);
    let mut links = vec![format!("[Sessions](/sessions{})", query(filter, &[]))];
    links.extend(player.then(|| "[Play a video](/)".to_owned()));
    links.push(format!("[Comparison as JSON](/api/compare{})", query(filter, &[])));
    let mut page = Page::new("Sessions compared").lead(links.join(" · "));
    if (sessions.len() as u64) < u64::from(all) {
        page = page.lead(format!("**The newest {} of {all} sessions.**", sessions.len()));
    }
    let labels = labels(sessions);
    let mut by_label = Section::new("By label").table(means(&groups)).charts(summary::bars(&groups));
    if !labels.is_empty() {
        by_label = by_label.heading("Sessions of a label").list(label_links(&labels));
    }
    page.section(by_label).section(Section::new("Each session").table(summary::table(sessions, true)))
}

/// Page that asks before a session is deleted.
pub(crate) fn confirm_one(record: &Record) -> Page {
    let id = &record.id;
    let label = record.nonempty_label().map_or_else(String::new, |label| format!(", label {label}"));
    Page::new("Delete this session?")
        .lead(report::literal(&format!("Session {id} of {}{label}.", record.started_at)))
        .lead(format!("[Keep it](/sessions/{id})"))
        .section(Section::new("").post(format!("/sessions/{id}/delete"), "Delete this session"))
}

/// Page that asks before the selected sessions are deleted.
pub(crate) fn confirm_all(filter: &Filter, count: u32) -> Page {
    let noun = if count == 1 { "session" } else { "sessions" };
    let target = format!("/sessions/delete{}", query(filter, &[("confirm", &count.to_string())]));
    Page::new(format!("Delete {count} {noun}?"))
        .lead(report::literal(&heading(filter)))
        .lead(format!("[Keep them](/sessions{})", query(filter, &[])))
        .section(Section::new("").post(target, format!("Delete {count} {noun}")))
}

/// Page of an error: a sentence, and its details.
pub(crate) fn problem(what: &str, problems: &[String]) -> Page {
    let mut title = what.to_owned();
    title[..1].make_ascii_uppercase();
    let page = Page::new(title).lead("[All sessions](/sessions)");
    if problems.is_empty() {
        return page;
    }
    page.section(Section::new("Details").list(problems.iter().map(|problem| report::literal(problem))))
}

/// Description of a selection.
fn heading(filter: &Filter) -> String {
    let label = match filter.label.as_deref() {
        None => None,
        Some("") => Some("no label".to_owned()),
        Some(label) => Some(format!("label {label}")),
    };
    let parts: Vec<String> =
        label.into_iter().chain(filter.state.map(|state| state.name().to_owned())).collect();
    if parts.is_empty() {
        "All sessions, newest first".to_owned()
    } else {
        format!("Sessions: {}", parts.join(", "))
    }
}

/// Labels in the order of first appearance.
fn labels(sessions: &[Summary]) -> Vec<String> {
    groups(sessions).into_iter().map(|group| group.label).filter(|label| !label.is_empty()).collect()
}

/// A link to the sessions of each label, and to their comparison.
fn label_links(labels: &[String]) -> impl Iterator<Item = String> {
    labels.iter().map(|label| {
        // Labels may contain any character; link text may not.
        let words = report::literal(label).replace(['[', ']', '\\'], " ");
        let encoded = encoded(label);
        format!("[{words}](/sessions?label={encoded}) ([comparison](/compare?label={encoded}))")
    })
}

/// Query string of a selection with further parameters; empty without any.
fn query(filter: &Filter, more: &[(&str, &str)]) -> String {
    let label = filter.label.as_deref().map(|label| ("label", label));
    let state = filter.state.map(|state| ("state", state.name()));
    let parameters = label.into_iter().chain(state).chain(more.iter().copied());
    let text: Vec<String> = parameters.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if text.is_empty() { String::new() } else { format!("?{}", text.join("&")) }
}

/// Percent-encodes all but the unreserved characters (RFC 3986, section 2.3).
fn encoded(text: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, ESCAPED).to_string()
}
