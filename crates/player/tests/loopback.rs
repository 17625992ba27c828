//! The player and the content server over loopback.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod support;

use abr::{PlayerConfig, THROUGHPUT};
use playback::{ReasonKind, State};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use support::{Server, answer, answers, config, sizes};
use tandem_player::content::{Content, Generated};
use tandem_player::{PlayError, Proxy, Source, play};

fn go(_: &tandem_player::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn video_is_played_to_its_end_and_verified() {
    let server = Server::start(Content { seed: 7, ..Content::default() });
    let mut config = config(&server, sizes(5, 200));
    config.verify = Some(7);
    config.content_id = Some("film".into());
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.mismatches), (None, 0));
    let record = &played.record;
    assert_eq!(record.problems(), Vec::<String>::new());
    assert!(record.complete);
    assert_eq!((record.segments.len(), record.played_s, record.stalls.len()), (5, 1.0, 0));
    // The session continues until the buffer is empty, so that the record is complete.
    let told = record.kpis.initial_load_s + record.kpis.stalled_s + record.played_s;
    assert!((told - record.duration_s).abs() < 1e-9, "{told} of {}", record.duration_s);

    let log = server.stop();
    assert!(log.iter().all(|entry| entry.complete && entry.status == 200), "{log:#?}");
    for entry in &log {
        let (first, last) = (entry.first_write_ms.unwrap(), entry.last_write_ms.unwrap());
        assert!(entry.asked_ms <= first && first <= last, "{entry:?}");
        assert!(entry.acknowledged_ms.is_none_or(|at| last <= at), "{entry:?}");
    }
    // A request for the next segment implies that the previous one arrived.
    assert!(log[..4].iter().all(|entry| entry.acknowledged_ms.is_some()), "{log:#?}");
    let asked: Vec<&str> = log.iter().map(|entry| entry.path.split('?').next().unwrap()).collect();
    let expected: Vec<String> = record
        .segments
        .iter()
        .map(|segment| format!("/segments/{}/{}/{}", segment.level, segment.segment, segment.size_bytes))
        .collect();
    assert_eq!(asked, expected);
    assert_eq!(
        log.iter().map(|entry| &entry.peer).collect::<std::collections::BTreeSet<_>>().len(),
        1,
        "one connection"
    );
    let first = url::Url::parse(&format!("http://h{}", log[0].path)).unwrap();
    let (key, cmcd) = first.query_pairs().next().unwrap();
    assert_eq!(key, "CMCD");
    assert_eq!(
        cmcd,
        format!(
            "bl=0,br=400,cid=\"film\",d=200,dl=0,nor=\"..%2F1%2F10000\",ot=v,sf=o,sid=\"{}\",st=v,su,tb=2000",
            record.id
        )
    );
    let last = url::Url::parse(&format!("http://h{}", log[4].path)).unwrap();
    let (_, cmcd) = last.query_pairs().next().unwrap();
    assert!(cmcd.contains("mtp=") && !cmcd.contains("nor=") && !cmcd.contains("su,"), "{cmcd}");
}

#[test]
fn every_form_of_dash_segments_is_played() {
    // The server's own manifest, with its own segment sizes.
    let manifest = sizes(4, 200);
    let server = Server::start(Content { seed: 7, manifest: Some(manifest.clone()), ..Content::default() });
    let mut config = config(&server, manifest);
    config.verify = Some(7);
    config.source = Source::Url(server.url("manifest.mpd"));
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.mismatches, played.record.complete), (None, 0, true));
    assert_eq!(played.record.problems(), Vec::<String>::new());
    assert_eq!(played.record.video.kind, playback::Kind::Dash);
    assert!(played.record.segments.iter().all(|segment| matches!(segment.size_bytes, 10_000 | 50_000)));
    let log = server.stop();
    assert_eq!(log.len(), 5);
    assert!(log[0].path.starts_with("/manifest.mpd?CMCD=ot%3Dm%2Csid%3D"), "{}", log[0].path);
    assert!(log[1].path.contains("%2Csf%3Dd%2C"), "{}", log[1].path);

    // One file with an index: initialization, index, segments.
    let folder = tempfile::tempdir().unwrap();
    let mut file = vec![7; 100];
    let segments: [(u32, u32); 3] = [(4_000, 400), (5_000, 400), (1_000, 200)];
    let mut index = vec![0, 0, 0, 0, 0, 0, 0, 1];
    index.extend(1_000_u32.to_be_bytes().iter().chain(&[0; 8]).chain(&3_u32.to_be_bytes()));
    for (size, ms) in segments {
        index.extend(size.to_be_bytes().iter().chain(&ms.to_be_bytes()).chain(&[0x90, 0, 0, 0]));
    }
    file.extend((index.len() as u32 + 8).to_be_bytes().iter().chain(b"sidx").chain(&index));
    let end = file.len() - 1;
    file.extend(vec![1; 10_000]);
    std::fs::write(folder.path().join("v.mp4"), &file).unwrap();
    let mpd = format!(
        "<MPD type=\"static\" mediaPresentationDuration=\"PT1S\"><Period><AdaptationSet mimeType=\"video/mp4\">\
         <Representation id=\"v\" bandwidth=\"80000\" codecs=\"avc1.42c01e\" width=\"640\" height=\"360\">\
         <BaseURL>v.mp4</BaseURL><SegmentBase indexRange=\"100-{end}\"><Initialization range=\"0-99\"/>\
         </SegmentBase></Representation></AdaptationSet></Period></MPD>"
    );
    std::fs::write(folder.path().join("film.mpd"), mpd).unwrap();
    let server = Server::start(Content { directory: Some(folder.path().to_owned()), ..Content::default() });
    config.source = Source::Url(server.url("film.mpd"));
    config.verify = None;
    config.cmcd = playback::Cmcd::Header;
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.record.complete, played.record.played_s), (None, true, 1.0));
    assert_eq!(
        played.record.segments.iter().map(|one| one.size_bytes).collect::<Vec<_>>(),
        [4_000, 5_000, 1_000]
    );
    assert_eq!(played.record.video.levels[0].codec.as_deref(), Some("h264"));
    let log = server.stop();
    let ranges: Vec<Option<&str>> = log.iter().map(|entry| entry.range.as_deref()).collect();
    let at = |from: usize, to: usize| format!("bytes={}-{}", end + 1 + from, end + to);
    let (index, one, two, three) =
        (format!("bytes=100-{end}"), at(0, 4_000), at(4_000, 9_000), at(9_000, 10_000));
    assert_eq!(ranges, [None, Some(&*index), Some("bytes=0-99"), Some(&*one), Some(&*two), Some(&*three)]);
    let objects: Vec<&str> = log
        .iter()
        .map(|entry| entry.cmcd.as_deref().unwrap().split("ot=").nth(1).unwrap().get(..1).unwrap())
        .collect();
    assert_eq!(objects, ["m", "o", "i", "v", "v", "v"]);
}

#[test]
fn each_period_is_played_from_its_own_representations() {
    let folder = tempfile::tempdir().unwrap();
    let period = |ids: [&str; 2], rates: [u32; 2]| {
        let representations = [0, 1].map(|level| {
            let (id, rate) = (ids[level], rates[level]);
            std::fs::create_dir(folder.path().join(id)).unwrap();
            std::fs::write(folder.path().join(format!("{id}/1.m4s")), [7; 5_000]).unwrap();
            format!("<Representation id=\"{id}\" bandwidth=\"{rate}\"/>")
        });
        let representations = representations.concat();
        format!(
            "<Period duration=\"PT0.2S\"><AdaptationSet contentType=\"video\"><SegmentTemplate timescale=\"10\" \
             duration=\"2\" media=\"$RepresentationID$/$Number$.m4s\"/>{representations}</AdaptationSet></Period>"
        )
    };
    let film = period(["main-lo", "main-hi"], [100_000, 200_000]);
    let ad = period(["ad-lo", "ad-hi"], [90_000, 250_000]);
    std::fs::write(folder.path().join("film.mpd"), format!("<MPD>{film}{ad}</MPD>")).unwrap();
    let server = Server::start(Content { directory: Some(folder.path().to_owned()), ..Content::default() });
    let mut config = config(&server, sizes(1, 100));
    config.source = Source::Url(server.url("film.mpd"));
    config.level = Some(1);
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.record.complete), (None, true));
    let rates: Vec<f64> = played.record.segments.iter().map(|segment| segment.bitrate_kbps).collect();
    assert_eq!(rates, [200.0, 250.0]);
    assert_eq!(played.record.kpis.mean_bitrate_kbps, Some(225.0));
    let log = server.stop();
    assert!(log[1].path.starts_with("/main-hi/1.m4s?") && log[1].path.contains("br%3D200%2C"), "{log:#?}");
    assert!(log[2].path.starts_with("/ad-hi/1.m4s?") && log[2].path.contains("br%3D250%2C"), "{log:#?}");
}

#[test]
fn wrong_bytes_are_detected() {
    let server = Server::start(Content { seed: 8, ..Content::default() });
    let mut config = config(&server, sizes(2, 100));
    config.verify = Some(7);
    let played = play(&config, &mut go).unwrap();
    assert!(played.mismatches >= 2 && played.record.complete);
}

#[test]
fn level_can_be_fixed_and_viewer_can_leave() {
    let server = Server::start(Content::default());
    let mut config = config(&server, sizes(50, 400));
    config.level = Some(1);
    config.limit = Some(Duration::from_millis(700));
    let played = play(&config, &mut go).unwrap();
    assert_eq!(played.failure, None);
    assert!(!played.record.complete && played.record.rule == "fixed");
    assert_eq!(played.record.problems(), Vec::<String>::new());
    assert_eq!(played.record.video.levels.len(), 1);
    assert!(server.stop().iter().all(|entry| entry.path.starts_with("/segments/1/")));

    let server = Server::start(Content::default());
    let mut looks = 0;
    let mut leave = |_: &tandem_player::Progress| {
        looks += 1;
        if looks == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let played = play(&support::config(&server, sizes(50, 400)), &mut leave).unwrap();
    assert!(!played.record.complete && played.failure.is_none());
    config.level = Some(2);
    assert!(matches!(play(&config, &mut go), Err(PlayError::Manifest(_))));
}

#[test]
fn session_ends_at_its_limit() {
    let server = Server::start(Content::default());
    let mut config = config(&server, sizes(50, 400));
    config.limit = Some(Duration::from_millis(10));
    let lengths = (0..5).map(|_| play(&config, &mut go).unwrap().record.duration_s);
    let shortest = lengths.fold(f64::INFINITY, f64::min);
    assert!(shortest < 0.1, "{shortest} s: not before the next report");
}

#[test]
fn plain_file_is_played_in_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = vec![0; 100_001];
    Generated::new(3, 0, 0).fill(0, &mut bytes);
    std::fs::write(folder.path().join("film.mp4"), &bytes).unwrap();
    let server = Server::start(Content { directory: Some(folder.path().to_owned()), ..Content::default() });
    let mut config = config(&server, sizes(1, 100));
    config.source =
        Source::File { url: server.url("film.mp4"), duration: units::Duration::from_millis(4_500) };
    config.limit = Some(Duration::from_millis(400));
    let played = play(&config, &mut go).unwrap();
    assert_eq!(played.failure, None);
    let sizes: Vec<u64> = played.record.segments.iter().map(|segment| segment.size_bytes).collect();
    assert_eq!(sizes.iter().sum::<u64>(), 100_001);
    assert_eq!(played.record.segments[2].duration_s, Some(0.5));
    let log = server.stop();
    let ranges: Vec<&str> = log.iter().filter_map(|entry| entry.range.as_deref()).collect();
    assert_eq!(ranges, ["bytes=0-0", "bytes=0-33332", "bytes=33333-66666", "bytes=66667-100000"]);
    assert!(log.iter().all(|entry| entry.status == 206 && entry.complete));
}

#[test]
fn interrupted_download_resumes_with_a_range() {
    let manifest = sizes(1, 100);
    let size = manifest.size(0, 0).unwrap().get() as usize;
    let mut content = vec![0; size];
    Generated::new(1, 0, 0).fill(0, &mut content);
    let mut half = answer("200 OK", &content);
    half.truncate(half.len() - size / 2);
    let rest = answer(
        &format!("206 Partial Content\r\nContent-Range: bytes {}-{}/{size}", size / 2, size - 1),
        &content[size / 2..],
    );
    let busy = answer("503 Service Unavailable\r\nRetry-After: 0", b"");
    let (port, thread) = answers(vec![half, busy, rest]);
    let mut config = config(&Server::at(port), manifest);
    config.verify = Some(1);
    let played = play(&config, &mut go).unwrap();
    assert_eq!((played.failure, played.mismatches), (None, 0));
    assert_eq!(played.record.problems(), Vec::<String>::new());
    assert!(played.record.complete);
    let statuses: Vec<Option<u16>> = played.record.errors.unwrap().iter().map(|error| error.status).collect();
    assert_eq!(statuses, [None, Some(503)]);
    let asked = thread.join().unwrap();
    let range = format!("range: bytes={}-\r\n", size / 2);
    assert!(
        !asked[0].contains("range:") && asked[1].contains(&range) && asked[2].contains(&range),
        "{asked:#?}"
    );
}

#[test]
fn missing_segment_ends_the_session_with_a_reason() {
    let (port, thread) = answers(vec![answer("404 Not Found", b"no")]);
    let played = play(&config(&Server::at(port), sizes(3, 100)), &mut go).unwrap();
    let reason = played.failure.unwrap();
    let url = format!("http://127.0.0.1:{port}/segments/0/0/5000");
    assert_eq!(
        (reason.kind, reason.message),
        (ReasonKind::Http, format!("segment 0: HTTP 404 Not Found on {url}"))
    );
    assert!(!played.record.complete && played.record.kpis.initial_load_open);
    assert_eq!((played.record.state, played.record.kpis.mok.mos), (Some(State::Failed), None));
    assert_eq!(played.record.problems(), Vec::<String>::new());
    thread.join().unwrap();

    // The server is gone.
    let mut config = config(&Server::at(port), sizes(3, 100));
    config.network.retries = 1;
    let played = play(&config, &mut go).unwrap();
    let reason = played.failure.unwrap();
    assert!(reason.message.starts_with("segment 0: cannot connect to 127.0.0.1:"), "{}", reason.message);
    assert_eq!((reason.kind, played.record.errors.unwrap().len()), (ReasonKind::Network, 2));
}

#[test]
fn session_whose_manifest_does_not_arrive_has_a_record() {
    let table = [
        (answer("404 Not Found", b"no"), ReasonKind::Http, "HTTP 404 Not Found on http://127.0.0.1:"),
        (
            answer("200 OK", b"<MPD type=\"dynamic\"/>"),
            ReasonKind::Manifest,
            "expected a static presentation",
        ),
    ];
    for (text, kind, message) in table {
        let (port, thread) = answers(vec![text]);
        let server = Server::at(port);
        let mut config = config(&server, sizes(3, 100));
        config.source = Source::Url(server.url("film.mpd"));
        let played = play(&config, &mut go).unwrap();
        let reason = played.failure.unwrap();
        assert!(reason.kind == kind && reason.message.contains(message), "{reason:?}");
        let record = &played.record;
        assert_eq!(record.problems(), Vec::<String>::new());
        assert_eq!((record.state, record.kpis.mok.mos, record.kpis.emos), (Some(State::Failed), None, None));
        assert_eq!(record.video.url, Some(server.url("film.mpd").to_string()));
        assert!(record.kpis.initial_load_open && record.duration_s > 0.0);
        thread.join().unwrap();
    }
}

#[test]
fn slow_segment_is_abandoned_and_its_connection_closed() {
    // 16 kB at 2 Mbit/s, of which only a few bytes arrive; later requests are answered normally.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let read = |stream: &mut TcpStream| {
        let (mut request, mut byte) = (Vec::new(), [0]);
        while !request.ends_with(b"\r\n\r\n") {
            if stream.read(&mut byte).unwrap_or(0) == 0 {
                return None;
            }
            request.push(byte[0]);
        }
        let text = String::from_utf8(request).unwrap();
        Some(text.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned())
    };
    let thread = std::thread::spawn(move || {
        let (mut asked, mut closed) = (Vec::new(), 0);
        while let Ok((mut stream, _)) = listener.accept() {
            stream.set_nodelay(true).unwrap();
            while let Some(path) = read(&mut stream) {
                asked.push(path.clone());
                let size: usize = path.rsplit('/').next().unwrap().parse().unwrap();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").unwrap();
                if path.starts_with("/segments/1/") && closed == 0 {
                    // Trickles until the client closes the connection.
                    while stream.write_all(&[0; 400]).is_ok() {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    closed += 1;
                    break;
                }
                stream.write_all(&vec![0; size]).unwrap();
                if path.starts_with("/segments/0/3/") || path.starts_with("/segments/1/3/") {
                    return (asked, closed);
                }
            }
        }
        (asked, closed)
    });
    let mut config = config(&Server::at(port), sizes(4, 2_000));
    config.player =
        PlayerConfig { max_buffer: units::Duration::from_secs(30), ..PlayerConfig::new(THROUGHPUT) };
    let mut long = |progress: &tandem_player::Progress| {
        if progress.elapsed > units::Duration::from_secs(20) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let played = play(&config, &mut long).unwrap();
    assert_eq!(played.failure, None);
    assert!(!played.record.abandoned.is_empty());
    assert_eq!(played.record.problems(), Vec::<String>::new());
    let (asked, closed) = thread.join().unwrap();
    assert_eq!(closed, 1);
    let again = asked.iter().position(|path| path.starts_with("/segments/1/")).unwrap();
    let segment = |path: &str| path.split('/').nth(3).unwrap().to_owned();
    assert_eq!(segment(&asked[again]), segment(&asked[again + 1]));
    assert!(asked[again + 1].starts_with("/segments/0/"), "{asked:?}");
}

#[test]
fn http_and_socks_proxies_carry_the_session() {
    let server = Server::start(Content { seed: 7, ..Content::default() });
    for kind in ["http", "socks5"] {
        let (port, asked) = support::proxy(kind == "socks5");
        let mut config = config(&server, sizes(2, 100));
        config.verify = Some(7);
        config.network.proxy = Some(format!("{kind}://me:secret@127.0.0.1:{port}").parse::<Proxy>().unwrap());
        let played = play(&config, &mut go).unwrap();
        assert_eq!((played.failure, played.mismatches, played.record.complete), (None, 0, true), "{kind}");
        assert_eq!(played.record.settings.proxy, Some(format!("{kind}://127.0.0.1:{port}")));
        assert!(!played.record.to_text().contains("secret"));
        let asked = asked.join().unwrap();
        match kind {
            "http" => {
                assert!(
                    asked.starts_with(&format!("GET http://{}/segments/0/0/", server.address())),
                    "{asked}"
                );
                assert!(asked.contains("proxy-authorization: Basic bWU6c2VjcmV0"), "{asked}");
            }
            _ => assert_eq!(asked, format!("{}", server.address())),
        }
    }
}

/// A client that reads nothing is disconnected; one that reads slowly gets everything.
#[test]
fn client_that_reads_nothing_is_disconnected() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let content = Arc::new(Content::default());
    let serving = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let write = Some(Duration::from_millis(400));
            let limits = tandem_player::serve::Limits { write, ..tandem_player::serve::Limits::public() };
            let answer = move |_, request: hyper::Request<hyper::body::Incoming>| {
                let content = Arc::clone(&content);
                async move { content.respond(&request, request.uri().path()) }
            };
            let server = tandem_player::serve::Server { limits, ..Default::default() };
            server
                .run(listener, answer, async {
                    let _ = stopped.await;
                })
                .await;
        });
    });
    let ask = |bytes: u64| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("GET /segments/0/0/{bytes} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut silent = ask(1 << 30);
    thread::sleep(Duration::from_millis(1500));
    let mut got = Vec::new();
    let error = silent.read_to_end(&mut got).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "after {} bytes", got.len());

    let mut slow = ask(16 << 20);
    let (mut total, mut piece) = (0, vec![0; 256 << 10]);
    loop {
        thread::sleep(Duration::from_millis(40));
        match slow.read(&mut piece).unwrap() {
            0 => break,
            bytes => total += bytes,
        }
    }
    assert!(total > 16 << 20, "{total} bytes");
    drop(stop);
    serving.join().unwrap();
}

#[test]
fn passwords_of_addresses_are_in_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
    let sizes_json =
        "{\"segment_duration_ms\": 200, \"bitrates_kbps\": [400], \"segment_sizes_bits\": [[80000]]}";
    file("sizes.json", sizes_json.as_bytes());
    file("wrong.json", b"{}");
    file("wrong.mpd", b"<MPD/>");
    file("binary.mpd", b"\xff");
    file("empty.mp4", b"");
    file("long.mp4", &vec![0; 200_000]);
    file(
        "long.mpd",
        b"<MPD mediaPresentationDuration=\"PT900000S\"><Period><AdaptationSet contentType=\"video\">\
          <Representation bandwidth=\"1\"><BaseURL>long.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>",
    );
    let server = Server::start(Content { directory: Some(folder.path().to_owned()), ..Content::default() });
    let mut config = config(&server, sizes(1, 200));
    let url = |name: &str| url::Url::parse(&format!("http://me:secret@{}/{name}", server.address())).unwrap();
    let names = ["sizes.json", "wrong.json", "wrong.mpd", "binary.mpd", "long.mpd", "none.mpd"];
    let sources = names.into_iter().map(|name| Source::Url(url(name)));
    let file = Source::File { url: url("empty.mp4"), duration: units::Duration::from_secs(9) };
    for source in sources.chain([file]) {
        config.source = source;
        let played = play(&config, &mut go).unwrap();
        let text = played.record.to_text();
        assert!(!text.contains("secret") && text.contains("http://127.0.0.1"), "{text}");
    }
}
