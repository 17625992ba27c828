//! Tests of the collector over loopback, with requests of players, browsers and attackers.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

mod support;

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use support::{Collector, record, stored};
use tandem_collector::{Config, Filter, Kept, Now, Place, Retention, Store};

#[test]
fn session_with_seeks_has_no_input_of_p1203() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("sessions.db"), Config::default());
    let mut sought = record("session-1", "2026-11-22T08:00:00.000Z", "bus");
    sought["seeks"] = json!([{ "start_s": 1.0, "end_s": 1.25, "from_s": 0.75, "to_s": 2.0 }]);
    sought["duration_s"] = json!(7.5);
    assert_eq!(collector.post(&sought).0, 201);
    let (status, answer) = collector.get("/api/sessions/session-1/p1203");
    assert!(status == 409 && answer.contains("expected a session without seeks"), "{status}: {answer}");
    assert!(!collector.get("/sessions/session-1").1.contains("/p1203"));
}

#[test]
fn a_record_is_stored_once_and_served_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("deep/sessions.db");
    let one = record("session-1", "2026-11-22T08:00:00.000Z", "bus & <b>");
    {
        let collector = Collector::start(&database, Config::default());
        assert_eq!(collector.post(&one), (201, json!({"id": "session-1", "url": "/sessions/session-1"})));
        assert_eq!(collector.post(&one).0, 200, "repeated record");
        let mut other = one.clone();
        other["rule"] = json!("another");
        assert_eq!(collector.post(&other).0, 409);
        assert_eq!(collector.post(&record("session-2", "2026-11-22T09:00:00.000Z", "walk")).0, 201);
        assert_eq!(collector.post(&record("session-3", "2026-11-22T09:00:00.000Z", "walk")).0, 201);
    }
    // A restarted collector finds all records.
    let collector = Collector::start(&database, Config::default());
    assert_eq!(collector.json("/api/sessions/session-1"), one);
    let ids = |path: &str| {
        let list = collector.json(path);
        let ids: Vec<String> = list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().into())
            .collect();
        (ids, list["next"].clone())
    };
    assert_eq!(
        ids("/api/sessions"),
        (["session-3", "session-2", "session-1"].map(String::from).to_vec(), Value::Null)
    );
    assert_eq!(ids("/api/sessions?limit=2").1, "session-2");
    assert_eq!(ids("/api/sessions?limit=2&before=session-2").0, ["session-1"]);
    assert_eq!(ids("/api/sessions?label=walk").0, ["session-3", "session-2"]);
    assert_eq!(
        collector.json("/api/sessions/session-1/p1203")["I23"]["stalling"],
        json!([[0.0, 0.25], [3.0, 1.0]])
    );
    assert!(collector.get("/api/sessions/session-1/csv").1.starts_with("segment,level,"));
    let csv = collector.get("/api/sessions.csv").1;
    assert_eq!(csv.lines().count(), 4);
    assert!(
        csv.starts_with("id,started,zone,label,player,device,rule,video,video duration (s),state,reason,")
    );
    let row = "session-1,2026-11-22T08:00:00.000Z,Europe/Berlin,bus & <b>,tandem-play,phone,bola,bbb,6,finished,,7.25,6,";
    assert!(csv.contains(row), "{csv}");
    let compared = collector.json("/api/compare?ids=session-1,session-3");
    assert_eq!(compared["labels"][1]["label"], "walk");
    assert_eq!(collector.json("/api/compare")["labels"][0]["sessions"], 2);

    for path in [
        "/sessions",
        "/sessions/session-1",
        "/compare",
        "/sessions?label=walk",
        "/compare?ids=session-1,session-2",
    ] {
        let (status, head, html) = collector.ask(&format!("GET {path}"), &[], b"");
        assert_eq!(status, 200, "{path}");
        assert!(html.starts_with("<!doctype html>") && !html.contains("<b>"), "{path}");
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'sha256-"), "{head}");
        assert!(head.contains("x-content-type-options: nosniff") && head.contains("x-frame-options: deny"));
    }
    assert!(collector.get("/sessions").1.contains("href=\"/sessions/session-3\""));
    assert!(collector.get("/sessions").1.contains("href=\"/sessions?label=bus%20%26%20%3Cb%3E\""));
    let (status, head, _) = collector.ask("GET /", &[], b"");
    assert!(status == 302 && head.contains("location: /sessions"));
    for path in ["/api/sessions/none", "/sessions/none", "/api/none", "/none", "/api/sessions/session-1/x"] {
        assert_eq!(collector.get(path).0, 404, "{path}");
    }
    let (status, head, body) = collector.ask("HEAD /api/sessions/session-1", &[], b"");
    assert!(status == 200 && body.is_empty() && !head.contains("content-length: 0"), "{head}");
}

#[test]
fn invalid_records_are_rejected_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    let good = record("session-1", "2026-11-22T08:00:00.000Z", "");
    let send = |kind: &str, body: &[u8]| collector.ask("POST /api/sessions", &[("Content-Type", kind)], body);
    assert_eq!(send("text/plain", good.to_string().as_bytes()).0, 415, "HTML forms can send it");
    assert_eq!(send("application/json", b"{").0, 400);
    let mut misspelt = good.clone();
    misspelt["lable"] = json!("x");
    let (status, answer) = collector.post(&misspelt);
    assert_eq!(status, 400);
    assert!(answer["problems"][0].as_str().unwrap().starts_with("unknown field `lable`"), "{answer}");
    let mut wrong = good.clone();
    wrong["kpis"]["stalls"] = json!(7);
    let (status, answer) = collector.post(&wrong);
    assert_eq!((status, &answer["problems"][0]), (422, &json!("kpis.stalls: is 7, but the list has 1")));
    assert_eq!(send("application/json", &vec![b' '; (4 << 20) + 1]).0, 413);
    assert_eq!(collector.ask("PUT /api/sessions/session-1", &[], b"").0, 405);
    assert_eq!(collector.json("/api/sessions")["sessions"], json!([]));
    assert_eq!(collector.post(&good).0, 201, "valid record after rejected ones");
}

#[test]
fn unknown_host_names_origins_and_clients_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { origins: vec!["https://films.example".into()], ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    let document = record("session-1", "2026-11-22T08:00:00.000Z", "").to_string();
    let post = |fields: &[(&str, &str)]| {
        let fields = [&[("Content-Type", "application/json")], fields].concat();
        collector.ask("POST /api/sessions", &fields, document.as_bytes())
    };
    // DNS rebinding: a foreign name that resolves to this host.
    assert_eq!(post(&[("Host", "evil.example")]).0, 421);
    assert_eq!(collector.ask("GET /api/sessions", &[("Host", "evil.example")], b"").0, 421);
    // A foreign origin.
    assert_eq!(post(&[("Origin", "https://evil.example")]).0, 403);
    let (status, head, _) = collector.ask("GET /api/sessions", &[("Origin", "https://evil.example")], b"");
    assert!(status == 200 && !head.contains("access-control-allow-origin"), "no page can read it: {head}");
    let (status, head, _) =
        collector.ask("OPTIONS /api/sessions", &[("Origin", "https://evil.example")], b"");
    assert!(status == 403 && !head.contains("access-control"), "{head}");
    // An allowed origin.
    let films = ("Origin", "https://films.example");
    let (status, head, _) = collector.ask("OPTIONS /api/sessions", &[films], b"");
    assert!(status == 204 && head.contains("access-control-allow-headers: authorization, content-type"));
    let (status, head, _) = post(&[films]);
    assert!(status == 201 && head.contains("access-control-allow-origin: https://films.example"), "{head}");
    // The collector's own page.
    let own = format!("http://{}", collector.address);
    assert_eq!(post(&[("Origin", &own)]).0, 200);

    let config = Config { token: Some("sesame".into()), ..Config::default() };
    assert!(config.check("0.0.0.0:80".parse().unwrap()).is_err(), "in clear text");
    let config = Config { clear_token: true, ..config };
    assert!(config.check("0.0.0.0:80".parse().unwrap()).is_ok());
    assert!(Config::default().check("0.0.0.0:80".parse().unwrap()).is_err());
    assert!(Config::default().check("192.0.2.1:80".parse().unwrap()).is_err());
    assert!(Config::default().check("[::1]:80".parse().unwrap()).is_ok());
    let collector = Collector::start(&folder.path().join("t.db"), config);
    let ask = |fields: &[(&str, &str)]| collector.ask("GET /sessions", fields, b"");
    let (status, head, _) = ask(&[]);
    assert!(status == 401 && head.contains("www-authenticate: basic"), "{head}");
    assert_eq!(ask(&[("Authorization", "Bearer open")]).0, 401);
    assert_eq!(ask(&[("Authorization", "Bearer sesame")]).0, 200);
    // `me:sesame`: the token is the password of any user name.
    assert_eq!(ask(&[("Authorization", "Basic bWU6c2VzYW1l")]).0, 200);
}

#[test]
fn player_page_and_content_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    std::fs::create_dir(&web).unwrap();
    std::fs::write(web.join("index.html"), "<!doctype html>player").unwrap();
    std::fs::write(folder.path().join("secret"), "no").unwrap();
    let content = player::content::Content { seed: 1, ..player::content::Content::default() };
    let config = Config { web: Some(web), content: Some(content), ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    let (status, head, body) = collector.ask("GET /", &[], b"");
    assert_eq!((status, body.as_str()), (200, "<!doctype html>player"));
    assert!(head.contains("script-src 'self'") && !head.contains("access-control-allow-origin"), "{head}");
    assert!(collector.get("/sessions").1.contains("Play a video"));
    assert_eq!(collector.get("/../secret").0, 404);
    let (status, head, body) = collector.ask("GET /content/segments/0/3/50", &[], b"");
    assert!(status == 200 && head.contains("access-control-allow-origin: *"), "{head} {}", body.len());
}

#[test]
fn player_page_is_files_without_segments_and_digests() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "<!doctype html>player").unwrap();
    let config = Config { web: Some(folder.path().to_owned()), ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    let digest = ("Want-Repr-Digest", "sha-256=1");
    for path in ["/segments/0/0/1000", "/segments/0/0/268435456"] {
        let (status, head, _) = collector.ask(&format!("HEAD {path}"), &[digest], b"");
        assert!(status == 404 && !head.contains("repr-digest: "), "{head}");
    }
    let (status, head, _) = collector.ask("HEAD /", &[digest], b"");
    assert!(status == 200 && !head.contains("repr-digest: "), "{head}");
}

#[test]
fn wrong_query_parameters_are_errors_that_name_the_valid_ones() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    assert_eq!(collector.post(&record("session-1", "2026-11-22T08:00:00.000Z", "bus")).0, 201);
    for (path, problem) in [
        ("/api/sessions?limt=5", "unknown parameter `limt`; valid: limit, before, label, state"),
        ("/api/sessions?limit=0", "parameter `limit`: expected 1 to 10000, found `0`"),
        ("/api/sessions?before=none", "parameter `before`: no session has the id `none`"),
        ("/api/sessions.csv?limit=5", "unknown parameter `limit`; valid: label, state"),
        ("/api/sessions/session-1?label=x", "unknown parameter `label`; this address has no parameters"),
        ("/api/compare?id=session-1", "unknown parameter `id`; valid: ids, label, state"),
        (
            "/api/compare?ids=session-1,session-2,session-1,session-1",
            "parameter `ids`: session-1 is given twice",
        ),
        ("/api/compare?ids=session-1,none", "parameter `ids`: no session has the id none"),
        (
            "/api/compare?ids=session-1&label=bus",
            "parameter `ids`: expected no `label` and `state` beside it",
        ),
        ("/api/compare?state=over", "parameter `state`: expected finished, left or failed, found `over`"),
    ] {
        let (status, body) = collector.get(path);
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["problems"]), (400, &json!([problem])), "{path}");
        if !path.starts_with("/api/sessions.csv") {
            let (status, page) = collector.get(path.strip_prefix("/api").unwrap());
            assert!(status == 400 && page.starts_with("<!doctype html>"), "{path}: {page}");
        }
    }
    assert_eq!(collector.get("/api/sessions?label=bus&state=finished&limit=5").0, 200);
}

#[test]
fn database_is_private_and_holds_no_deleted_record() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    let files = || std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let holds_label = || {
        let is_there = |bytes: Vec<u8>| bytes.windows(11).any(|window| window == b"secret-trip");
        files().any(|path| is_there(std::fs::read(path).unwrap()))
    };
    assert_eq!(collector.post(&record("session-1", "2026-11-22T08:00:00.000Z", "secret-trip")).0, 201);
    assert!(holds_label());
    for path in files() {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
    }
    assert_eq!(collector.ask("DELETE /api/sessions/session-1", &[], b"").0, 200);
    assert!(!holds_label());
}

#[test]
fn sessions_are_deleted_after_a_confirmation() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { origins: vec!["https://films.example".into()], ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    for (id, label) in
        [("session-1", "bus"), ("session-2", "bus"), ("session-3", "walk"), ("session-4", "walk")]
    {
        assert_eq!(collector.post(&record(id, "2026-11-22T08:00:00.000Z", label)).0, 201);
    }
    let own = format!("http://{}", collector.address);
    let ids = || {
        let list = collector.json("/api/sessions")["sessions"].clone();
        let ids = list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let post = |path: &str, origin: &[(&str, &str)]| {
        collector.ask(&format!("POST {path}"), &[&[form], origin].concat(), b"").0
    };

    // Other pages may not delete, even if they may post, and a link deletes nothing.
    for origin in ["https://evil.example", "https://films.example", "null"] {
        assert_eq!(post("/sessions/session-1/delete", &[("Origin", origin)]), 403, "{origin}");
        let delete = collector.ask("DELETE /api/sessions/session-1", &[("Origin", origin)], b"");
        assert_eq!(delete.0, 403, "{origin}");
    }
    assert_eq!(post("/sessions/session-1/delete", &[]), 403);
    assert_eq!(collector.get("/sessions/session-1/delete").0, 200);
    let (_, head, _) =
        collector.ask("OPTIONS /api/sessions/session-1", &[("Origin", "https://films.example")], b"");
    assert!(!head.contains("delete"), "{head}");
    assert_eq!(ids().len(), 4);

    // One session, by its page and by the API.
    let page = collector.get("/sessions/session-1/delete").1;
    assert!(page.contains("<form method=\"post\" action=\"/sessions/session-1/delete\">"), "{page}");
    // A script of an own page, such as a player sent to a wrong address, posts another media type.
    let json = ("Content-Type", "application/json");
    let posted = collector.ask("POST /sessions/session-1/delete", &[("Origin", &own), json], b"{}");
    assert_eq!(posted.0, 403);
    let (status, head, _) = collector.ask("POST /sessions/session-1/delete", &[("Origin", &own), form], b"");
    assert!(status == 303 && head.contains("location: /sessions"), "{head}");
    assert_eq!(collector.ask("DELETE /api/sessions/session-1", &[], b"").0, 404, "it is deleted");
    assert_eq!(ids(), ["session-4", "session-3", "session-2"]);

    // A selection: only with its number.
    let (status, _, body) = collector.ask("DELETE /api/sessions?label=walk", &[], b"");
    assert!(status == 409 && body.contains("2 sessions are selected; repeat with confirm=2"), "{body}");
    assert_eq!(collector.ask("DELETE /api/sessions?label=walk&confirm=3", &[], b"").0, 409);
    assert_eq!(collector.ask("DELETE /api/sessions?lable=walk&confirm=3", &[], b"").0, 400);
    assert_eq!(ids().len(), 3);
    let page = collector.get("/sessions/delete?label=walk").1;
    assert!(page.contains("action=\"/sessions/delete?label=walk&amp;confirm=2\">"), "{page}");
    let (status, _, body) = collector.ask("DELETE /api/sessions?label=walk&confirm=2", &[], b"");
    assert_eq!((status, body.trim()), (200, "{\"deleted\":2}"));
    let changed = collector.ask("POST /sessions/delete?confirm=2", &[("Origin", &own), form], b"");
    assert!(changed.0 == 409 && changed.2.contains("<h1>1 sessions are selected"), "{changed:?}");
    assert_eq!(post("/sessions/delete?confirm=1", &[("Origin", &own)]), 303);
    assert!(ids().is_empty());

    // A token is required for deletion too.
    let config = Config { token: Some("sesame".into()), ..Config::default() };
    let collector = Collector::start(&folder.path().join("t.db"), config);
    assert_eq!(collector.ask("DELETE /api/sessions/session-1", &[], b"").0, 401);
}

#[test]
fn sessions_beyond_the_limits_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Store::open(&path).unwrap();
    let keep = |id: &str| {
        let document = record(id, "2026-11-22T08:00:00.000Z", "bus").to_string();
        store.keep(&playback::Record::parse(document.as_bytes()).unwrap(), &document).unwrap();
    };
    for id in ["session-1", "session-2", "session-3", "session-4"] {
        keep(id);
    }
    let ids = || {
        let all = store.list(10, None, &Filter::default()).unwrap();
        all.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    // A clock that has stood for an hour.
    let now = Now { uptime_s: 7_200 + Now::read().uptime_s, wall_s: 7_200 + Now::read().wall_s };
    assert_eq!(store.retain(Retention::default(), now).unwrap(), 0);
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute("UPDATE sessions SET received_s = received_s - 7200 WHERE id = 'session-4'", [])
        .unwrap();
    let three_hours = Retention { max_age: Some(Duration::from_secs(10_800)), ..Retention::default() };
    assert_eq!(store.retain(three_hours, now).unwrap(), 1);
    assert_eq!(ids(), ["session-3", "session-2", "session-1"]);
    let one = Retention { max_sessions: Some(1), ..Retention::default() };
    assert_eq!(store.retain(one, now).unwrap(), 2);
    assert_eq!(ids(), ["session-3"]);
}

#[test]
fn session_that_an_earlier_version_accepted_is_shown_despite_later_checks() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("s.db")).unwrap();
    let mut document = record("session-1", "2026-11-22T08:00:00.000Z", "bus");
    document["kpis"]["stalls"] = json!(77);
    let text = document.to_string();
    let keep = || store.keep(&playback::Record::parse_accepted(text.as_bytes()).unwrap(), &text).unwrap();
    assert_eq!([keep(), keep()], [Kept::New, Kept::Known]);
    let collector = Collector::serve(store, Config::default());
    for path in ["/sessions/session-1", "/api/sessions/session-1/p1203", "/compare?ids=session-1"] {
        assert_eq!(collector.get(path).0, 200, "{path}");
    }
}

#[test]
fn database_of_the_former_version_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut document = record("session-1", "2026-11-22T08:00:00.000Z", "bus");
    document["format"] = json!("tandem-session/1");
    for member in ["state", "device", "zone"] {
        document.as_object_mut().unwrap().remove(member);
    }
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, started_at TEXT NOT NULL, label TEXT NOT NULL,
                summary TEXT NOT NULL, document TEXT NOT NULL) STRICT;
             CREATE INDEX by_start ON sessions (started_at, id);
             CREATE INDEX by_label ON sessions (label, started_at, id);
             PRAGMA user_version = 1;",
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO sessions VALUES ('session-1', '2026-11-22T08:00:00.000Z', 'bus', '{}', ?1)",
            [document.to_string()],
        )
        .unwrap();
    drop(database);
    let collector = Collector::start(&path, Config::default());
    assert_eq!(collector.json("/api/sessions?state=finished")["sessions"][0]["id"], "session-1");
    assert_eq!(collector.json("/api/sessions/session-1"), document);
    assert_eq!(collector.post(&document).0, 200);
}

#[test]
fn sessions_of_one_millisecond_are_listed_newest_first_also_from_a_former_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Store::open(&path).unwrap();
    for (id, fraction) in [("session-1", "123"), ("session-2", "1239"), ("session-3", "1234")] {
        stored(&store, &record(id, &format!("2026-11-22T08:00:00.{fraction}Z"), "bus"));
    }
    let listed = |store: &Store| -> Vec<String> {
        let all = store.list(10, None, &Filter::default()).unwrap();
        let pages = [None, Some(&all[0]), Some(&all[1])].map(|before| {
            store.list(1, before.map(Place::from).as_ref(), &Filter::default()).unwrap().remove(0)
        });
        assert_eq!(pages[..], all[..]);
        all.into_iter().map(|session| session.id).collect()
    };
    assert_eq!(listed(&store), ["session-2", "session-3", "session-1"]);
    drop(store);
    let database = rusqlite::Connection::open(&path).unwrap();
    let version_3 =
        "DROP INDEX by_start; CREATE INDEX by_start ON sessions (started_at, id); PRAGMA user_version = 3";
    database.execute_batch(version_3).unwrap();
    drop(database);
    assert_eq!(listed(&Store::open(&path).unwrap()), ["session-2", "session-3", "session-1"]);
}

#[test]
fn pages_link_to_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    std::fs::create_dir(&web).unwrap();
    std::fs::write(web.join("index.html"), "<!doctype html>player").unwrap();
    let config = Config { web: Some(web), ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    assert_eq!(collector.post(&record("session-1", "2026-11-22T08:00:00.000Z", "bus & <b>")).0, 201);
    let label = "bus%20%26%20%3Cb%3E";
    let video = "http%3A%2F%2F127.0.0.1%3A8080%2Fbbb%2Fmanifest.mpd";
    for (path, links) in [
        (
            "/sessions".to_owned(),
            vec![
                "/".to_owned(),
                "/compare".to_owned(),
                "/sessions/session-1".to_owned(),
                format!("/sessions?label={label}"),
            ],
        ),
        (
            "/sessions/session-1".to_owned(),
            vec![
                format!("/?src={video}&amp;label={label}"),
                format!("/sessions?label={label}"),
                format!("/compare?label={label}"),
                "/sessions/session-1/delete".to_owned(),
            ],
        ),
        (
            format!("/compare?label={label}"),
            vec!["/".to_owned(), format!("/sessions?label={label}"), "/sessions/session-1".to_owned()],
        ),
    ] {
        let page = collector.get(&path).1;
        for link in links {
            assert!(page.contains(&format!("href=\"{link}\"")), "{path} has no link to {link}");
        }
    }
}

#[test]
fn request_with_two_hosts_or_another_host_in_its_address_is_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    let own = collector.address.to_string();
    let two = [("Host", own.as_str()), ("Host", "evil.example")];
    assert_eq!(collector.ask("GET /api/sessions", &two, b"").0, 400);
    assert_eq!(collector.ask("GET /api/sessions", &[two[1], two[0]], b"").0, 400);
    assert_eq!(collector.ask("GET http://evil.example/api/sessions", &[], b"").0, 400);
    assert_eq!(collector.ask(&format!("GET http://{own}/api/sessions"), &[], b"").0, 200);
}

#[test]
fn long_lists_are_streamed_whole_and_cells_are_no_formulas() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("s.db");
    let store = Store::open(&database).unwrap();
    for number in 0..450 {
        let label = if number == 0 { "=HYPERLINK(\"http://evil.example\")" } else { "-5" };
        stored(&store, &record(&format!("session-{number:03}"), "2026-11-22T08:00:00.000Z", label));
    }
    let collector = Collector::start(&database, Config::default());
    let (status, head, csv) = collector.ask("GET /api/sessions.csv", &[], b"");
    assert!(status == 200 && head.contains("transfer-encoding: chunked"), "{head}");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 451);
    assert!(rows[0].starts_with("id,started,") && rows[1].starts_with("session-449,"), "{}", rows[1]);
    assert!(rows[1].contains(",-5,"), "a number stays: {}", rows[1]);
    assert!(rows[450].contains(",\"'=HYPERLINK("), "{}", rows[450]);
    let list = collector.json("/api/sessions?limit=401");
    assert_eq!(list["sessions"].as_array().unwrap().len(), 401);
    assert_eq!(list["next"], "session-049");
    assert_eq!(collector.json("/api/sessions?limit=450")["next"], Value::Null);
    let (status, head, body) = collector.ask("HEAD /api/sessions.csv", &[], b"");
    assert!(status == 200 && head.contains("text/csv") && body.is_empty(), "{head}");
}

#[test]
fn content_has_no_access_to_the_origin_and_the_token_can_be_required_for_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.html"), "<script>1</script>").unwrap();
    let content = player::content::Content {
        directory: Some(folder.path().to_owned()),
        ..player::content::Content::default()
    };
    let config = Config { token: Some("sesame".into()), content: Some(content), ..Config::default() };
    let public = Collector::start(&folder.path().join("s.db"), config.clone());
    let (status, head, _) = public.ask("GET /content/x.html", &[], b"");
    assert!(status == 200 && head.contains("content-security-policy: sandbox; default-src 'none'"), "{head}");
    assert!(head.contains("x-content-type-options: nosniff") && head.contains("content-type: text/html"));
    let digest = ("Want-Repr-Digest", "sha-256=1");
    let (_, head, _) = public.ask("GET /content/segments/0/0/1000", &[digest], b"");
    assert!(head.contains("repr-digest: sha-256=:") && head.contains("sandbox"), "{head}");

    let private = Collector::start(&folder.path().join("t.db"), Config { private_content: true, ..config });
    assert_eq!(private.ask("GET /content/x.html", &[], b"").0, 401);
    assert_eq!(private.ask("GET /content/x.html", &[("Authorization", "Bearer sesame")], b"").0, 200);
    assert_eq!(private.ask("OPTIONS /content/x.html", &[], b"").0, 204);
}

#[test]
fn pages_answer_errors_as_pages_and_the_api_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    for path in ["/sessions/session-1", "/sessions/session-1/delete", "/compare/x", "/none"] {
        let (status, head, body) = collector.ask(&format!("GET {path}"), &[], b"");
        assert!(status == 404 && head.contains("text/html"), "{path}: {head}");
        assert!(body.contains("<h1>Not found</h1>"), "{path}: {body}");
    }
    let (status, body) = collector.get("/api/sessions/session-1");
    assert_eq!((status, body.trim()), (404, "{\"error\":\"not found\",\"problems\":[]}"));
}

/// A record's text that ended up as a script element would not have its hash in the policy.
#[test]
fn policy_of_pages_names_the_script_of_reports_alone() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    assert_eq!(collector.post(&record("session-1", "2026-11-22T08:00:00.000Z", "x")).0, 201);
    let policy = |path: &str| {
        let (_, head, _) = collector.ask(&format!("GET {path}"), &[], b"");
        head.lines().find(|line| line.starts_with("content-security-policy")).unwrap().to_owned()
    };
    let list = policy("/sessions");
    assert_eq!(list.matches("'sha256-").count(), 1, "{list}");
    for path in ["/sessions/session-1", "/compare", "/sessions/delete", "/none"] {
        assert_eq!(policy(path), list);
    }
}

#[test]
fn player_page_and_collector_send_the_same_policy() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    std::fs::create_dir(&web).unwrap();
    let html = include_str!("../../../web/src/index.html");
    std::fs::write(web.join("index.html"), html).unwrap();
    let config = Config { web: Some(web), ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    let own = html.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap().1;
    let own = own.split('"').next().unwrap();
    let (_, head, _) = collector.ask("GET /", &[], b"");
    assert!(head.contains(&format!("content-security-policy: {own}; frame-ancestors 'none'\r\n")), "{head}");
}
