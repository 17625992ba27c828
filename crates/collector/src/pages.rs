//! Pages that list, show and compare sessions.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use playback::summary::{self, Summary, groups, means};
use playback::{Record, Summary as One};
use report::{Page, Section};

/// Page of sessions, newest first. `more` is the id before which the next page begins.
pub(crate) fn list(sessions: &[Summary], label: Option<&str>, more: Option<&str>, player: bool) -> Page {
    let mut section =
        Section::new(label.map_or_else(|| "Newest first".to_owned(), |label| format!("Label {label}")));
    if sessions.is_empty() {
        section =
            section.prose("No sessions yet. To send one: `tandem play MANIFEST --post http://HOST:PORT/`.");
    } else {
        section = section.table(summary::table(sessions, true));
    }
    if let Some(id) = more {
        let label = label.map_or_else(String::new, |label| format!("&label={}", encoded(label)));
        section = section.prose(format!("[Older sessions](/sessions?before={id}{label})"));
    }
    let mut groups: Vec<String> = Vec::new();
    for session in sessions {
        let label = session.label.clone().unwrap_or_default();
        if !label.is_empty() && !groups.contains(&label) {
            groups.push(label);
        }
    }
    let player = if player { "[Play a video](/) · " } else { "" };
    let mut page = Page::new("Sessions")
        .lead(format!("{player}[Compare by label](/compare) · [Figures as CSV](/api/sessions.csv)"))
        .section(section);
    if !groups.is_empty() {
        let links = groups.iter().map(|label| {
            // Labels may contain any character; link text may not.
            let words = report::literal(label).replace(['[', ']', '\\'], " ");
            format!("[{words}](/sessions?label={})", encoded(label))
        });
        page = page.section(Section::new("Labels").list(links));
    }
    page
}

/// Page of one session.
pub(crate) fn one(record: &Record) -> Page {
    let id = &record.id;
    record.page().lead(format!(
        "[All sessions](/sessions) · [the record](/api/sessions/{id}) · [its segments as CSV](/api/sessions/{id}/csv) \
         · [as input of P.1203](/api/sessions/{id}/p1203)"
    ))
}

/// Page that compares sessions by label.
pub(crate) fn compare(sessions: &[One]) -> Page {
    let groups = groups(sessions);
    Page::new("Sessions compared")
        .lead("[All sessions](/sessions)")
        .section(Section::new("By label").table(means(&groups)).charts(summary::bars(&groups)))
        .section(Section::new("Each session").table(summary::table(sessions, true)))
}

/// Percent-encodes all but the unreserved characters (RFC 3986, section 2.3).
fn encoded(text: &str) -> impl std::fmt::Display {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, ESCAPED)
}
