//! The site that `make docs` builds: its links, and that it loads nothing from elsewhere.
#![allow(clippy::case_sensitive_file_extension_comparisons, reason = "the site's own names")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Pages that a server shows for other addresses; their links are absolute.
const NOT_CHECKED: [&str; 1] = ["404.html"];

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the site is built") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

/// Values of an attribute in HTML as mdBook writes it.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn is_elsewhere(target: &str) -> bool {
    target.starts_with("http://") || target.starts_with("https://") || target.starts_with("//")
}

#[test]
#[ignore = "checks the site in TANDEM_SITE: make docs"]
fn built_site_has_no_dead_link_and_loads_nothing_from_elsewhere() {
    let site = PathBuf::from(std::env::var_os("TANDEM_SITE").expect("the folder of the site"));
    let mut all = Vec::new();
    files(&site, &mut all);
    let pages: BTreeMap<PathBuf, String> = all
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "html"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).expect("a page is text")))
        .collect();
    let anchors: BTreeMap<&Path, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, html)| (path.as_path(), attributes(html, "id").into_iter().collect()))
        .collect();
    let mut wrong = Vec::new();
    for (path, html) in &pages {
        if path.file_name().is_some_and(|name| NOT_CHECKED.iter().any(|one| name == *one)) {
            continue;
        }
        let sources = attributes(html, "src");
        wrong.extend(
            sources.iter().filter(|one| is_elsewhere(one)).map(|one| format!("{path:?} loads {one}")),
        );
        let links = attributes(html, "href").into_iter().chain(sources);
        for link in links.filter(|link| !is_elsewhere(link) && !link.starts_with("mailto:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = path.parent().expect("a page has a folder");
            let file = if file.is_empty() { path.clone() } else { resolve(folder, file) };
            let file = if file.is_dir() { file.join("index.html") } else { file };
            let known = anchors.get(file.as_path());
            let has_anchor = anchor.is_empty() || known.is_some_and(|all| all.contains(anchor));
            if !file.is_file() || !has_anchor {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    for path in all.iter().filter(|path| path.extension().is_some_and(|ending| ending == "css")) {
        let style = std::fs::read_to_string(path).expect("a style sheet is text");
        let loads = ["url(http", "url(\"http", "url('http", "url(//"].iter().any(|one| style.contains(one));
        if loads {
            wrong.push(format!("{} loads from elsewhere", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{} mistakes in the site:\n{}", wrong.len(), wrong.join("\n"));
    assert!(pages.len() > 60, "only {} pages", pages.len());
}

/// Joins a relative address to a folder.
fn resolve(folder: &Path, target: &str) -> PathBuf {
    let mut path = folder.to_path_buf();
    for part in target.split('/') {
        match part {
            ".." => drop(path.pop()),
            "." | "" => {}
            name => path.push(name),
        }
    }
    path
}
