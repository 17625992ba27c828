//! Links of the pages: to files, headings and pictures; and the contents of the site.

use super::page::Page;
use super::pages;
use crate::support::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Pages outside of `docs/` that are part of the site.
const BESIDE_DOCS: [&str; 7] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/custom-policy/README.md",
    "examples/custom-scheduler/README.md",
    "fuzz/README.md",
];

const CONTENTS: &str = "docs/SUMMARY.md";

pub(super) fn all_pages() -> Vec<Page> {
    let mut all = pages();
    all.extend(BESIDE_DOCS.iter().map(|name| Page::read(name)));
    all
}

/// Path of a link's file from the root of the repository.
fn resolve(page: &str, target: &str) -> String {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path.to_str().expect("paths are ASCII").to_owned()
}

fn is_external(target: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

#[test]
fn no_link_is_dead() {
    let pages = all_pages();
    let anchors: BTreeMap<&str, &BTreeSet<String>> =
        pages.iter().map(|page| (page.name.as_str(), &page.anchors)).collect();
    let mut dead = Vec::new();
    let mut checked = 0;
    for page in &pages {
        for link in page.links.iter().filter(|link| !is_external(&link.target)) {
            checked += 1;
            let (file, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let file = if file.is_empty() { page.name.clone() } else { resolve(&page.name, file) };
            let is_there = repository().join(&file).exists();
            let has_anchor =
                anchor.is_empty() || anchors.get(file.as_str()).is_some_and(|all| all.contains(anchor));
            if !is_there || !has_anchor {
                dead.push(format!("{}:{}: {}", page.name, link.line, link.target));
            }
        }
    }
    assert!(dead.is_empty(), "{} dead links:\n{}", dead.len(), dead.join("\n"));
    assert!(checked > 100, "only {checked} links");
}

/// A Markdown file that the contents do not list would not be in the site.
#[test]
fn linked_pages_are_part_of_the_site() {
    let pages = all_pages();
    let names: BTreeSet<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        for link in page.links.iter().filter(|link| !is_external(&link.target)) {
            let file = link.target.split('#').next().unwrap_or_default();
            let file = if file.is_empty() { page.name.clone() } else { resolve(&page.name, file) };
            let is_page = Path::new(&file).extension().is_some_and(|ending| ending == "md");
            if is_page && !names.contains(file.as_str()) {
                wrong.push(format!("{}:{}: {}", page.name, link.line, link.target));
            }
        }
    }
    assert!(wrong.is_empty(), "add these pages to {CONTENTS}: {wrong:#?}");
}

#[test]
fn contents_list_every_page_once() {
    let contents = Page::read(CONTENTS);
    let mut listed: Vec<String> = contents.links.iter().map(|link| resolve(CONTENTS, &link.target)).collect();
    listed.sort();
    let mut expected: Vec<String> = all_pages().into_iter().map(|page| page.name).collect();
    expected.retain(|name| name != CONTENTS);
    expected.sort();
    assert_eq!(listed, expected, "add new pages to {CONTENTS}: left the listed pages, right all of them");
}

#[test]
fn pictures_have_a_text_and_are_small() {
    for page in all_pages() {
        for link in page.links.iter().filter(|link| link.is_image) {
            let place = format!("{}:{}", page.name, link.line);
            let line = page.text.lines().nth(link.line - 1).unwrap_or_default();
            assert!(!line.contains("![]("), "{place}: a picture needs a text for those who cannot see it");
            let size = std::fs::metadata(repository().join(resolve(&page.name, &link.target)));
            let size = size.unwrap_or_else(|error| panic!("{place}: {error}")).len();
            let limit = if page.name.starts_with("docs/gallery/") { 60_000 } else { 400_000 };
            assert!(size < limit, "{place}: {} has {size} bytes", link.target);
        }
    }
}
