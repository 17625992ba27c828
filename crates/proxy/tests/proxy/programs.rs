//! Real clients through the proxy: curl, git and Chromium.

use crate::support::{local, random_bytes, read_head, server, start, wait_until};
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program and returns its output. Panics if it is not installed or fails.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Vec<u8> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("no_proxy")
        .env_remove("NO_PROXY");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {stderr}");
    output.stdout
}

/// HTTP server of the files in a folder.
fn files(folder: PathBuf) -> SocketAddr {
    server(move |mut stream| {
        loop {
            let head = read_head(&mut stream);
            let Some(path) = head.split(' ').nth(1) else { return };
            let path = folder.join(path.trim_start_matches('/').split('?').next().unwrap());
            let (status, body) = match fs::read(&path) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let kind =
                if path.extension().is_some_and(|end| end == "html") { "text/html" } else { "text/plain" };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_err() {
                return;
            }
        }
    })
}

#[test]
#[ignore = "needs curl"]
fn needs_curl_fetches_over_http_connect_and_socks5() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = random_bytes(3_000_000, 3);
    fs::write(folder.path().join("file"), &bytes).unwrap();
    let url = format!("http://{}/file", files(folder.path().to_owned()));
    let (proxy, at) = start(local());
    for (number, way) in
        [format!("http://{at}"), format!("socks5://{at}"), format!("socks5h://{at}")].iter().enumerate()
    {
        let got = run("curl", &["-sSf", "--proxy", way, &url], folder.path());
        assert!(got == bytes, "{way}");
        // curl has the last byte a moment before the proxy counts the request.
        let counted = || proxy.totals().requests + proxy.totals().tunnels;
        wait_until("the request is counted", || counted() > number as u64);
        assert_eq!(counted(), number as u64 + 1);
    }
    let tunnelled =
        run("curl", &["-sSf", "-p", "--proxy", &format!("http://{at}"), &url, &url], folder.path());
    assert_eq!(tunnelled, [&bytes[..], &bytes[..]].concat());
    assert_eq!((proxy.totals().requests, proxy.totals().tunnels), (1, 3));
}

#[test]
#[ignore = "needs git"]
fn needs_git_clones_through_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let git = |arguments: &[&str]| run("git", arguments, place);
    git(&["init", "-q", "-b", "main", "one"]);
    fs::write(place.join("one/file"), random_bytes(500_000, 4)).unwrap();
    let who = ["-C", "one", "-c", "user.name=a", "-c", "user.email=a@example.org"];
    git(&["-C", "one", "add", "file"]);
    git(&[&who[..], &["commit", "-q", "-m", "a"]].concat());
    git(&["clone", "-q", "--bare", "one", "one.git"]);
    git(&["-C", "one.git", "update-server-info"]);
    let at = files(place.to_owned());
    let (proxy, through) = start(local());
    let way = format!("http.proxy=http://{through}");
    git(&["-c", &way, "clone", "-q", &format!("http://{at}/one.git"), "two"]);
    assert!(fs::read(place.join("two/file")).unwrap() == random_bytes(500_000, 4));
    assert!(proxy.totals().requests > 3);
}

#[test]
#[ignore = "needs chromium"]
fn needs_chromium_shows_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let script = "fetch('data').then(a => a.text()).then(a => document.body.textContent = a.length + ' ' + a.slice(0, 5))";
    fs::write(place.join("page.html"), format!("<body>waiting<script>{script}</script></body>")).unwrap();
    fs::write(place.join("data"), "hello".repeat(40_000)).unwrap();
    let at = files(place.to_owned());
    let (proxy, through) = start(local());
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--virtual-time-budget=10000",
        &format!("--user-data-dir={}", place.join("profile").display()),
        &format!("--proxy-server=http://{through}"),
        // Chromium bypasses proxies for loopback by default.
        "--proxy-bypass-list=<-loopback>",
        "--dump-dom",
        &format!("http://{at}/page.html"),
    ];
    let page = run("chromium", &arguments, place);
    let page = String::from_utf8_lossy(&page);
    assert!(page.contains("200000 hello"), "{page}");
    assert!(proxy.totals().requests >= 2);
}
