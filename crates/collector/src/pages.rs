//! Pages that list, show and compare sessions.

use report::{Page, Section};
use session::summary::{self, Summary, groups, means};
use session::{Record, Summary as One};

/// Sessions, the newest first; the rest begins before the last one's id.
pub(crate) fn list(sessions: &[Summary], label: Option<&str>, more: Option<&str>, player: bool) -> Page {
    let mut section =
        Section::new(label.map_or_else(|| "The newest first".to_owned(), |label| format!("Of {label}")));
    if sessions.is_empty() {
        section = section.prose(
            "There are none here yet. A player sends one by `tandem play MANIFEST --post http://HOST:PORT/`.",
        );
    } else {
        section = section.table(summary::table(sessions, true));
    }
    if let Some(id) = more {
        let label = label.map_or_else(String::new, |label| format!("&label={}", encoded(label)));
        section = section.prose(format!("[Older ones](/sessions?before={id}{label})"));
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
        .lead(format!("{player}[Compare them by label](/compare) · [Figures as CSV](/api/sessions.csv)"))
        .section(section);
    if !groups.is_empty() {
        let links = groups.iter().map(|label| {
            // A label may have any signs in it; a link's words may not.
            let words = report::literal(label).replace(['[', ']', '\\'], " ");
            format!("[{words}](/sessions?label={})", encoded(label))
        });
        page = page.section(Section::new("Labels").list(links));
    }
    page
}

/// One session.
pub(crate) fn one(record: &Record) -> Page {
    let id = &record.id;
    record.page().lead(format!(
        "[All sessions](/sessions) · [the record](/api/sessions/{id}) · [its segments as CSV](/api/sessions/{id}/csv) \
         · [as input of P.1203](/api/sessions/{id}/p1203)"
    ))
}

/// Sessions beside one another, by label.
pub(crate) fn compare(sessions: &[One]) -> Page {
    let groups = groups(sessions);
    Page::new("Sessions compared")
        .lead("[All sessions](/sessions)")
        .section(Section::new("By label").table(means(&groups)).charts(summary::bars(&groups)))
        .section(Section::new("Each session").table(summary::table(sessions, true)))
}

/// Percent-encoding of all but the unreserved characters (RFC 3986, section 2.3).
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
