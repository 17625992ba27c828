//! The pages of `docs/` and the README: their commands, links, pictures, and the site made of them.

mod commands;
mod gallery;
mod json;
mod links;
mod page;
mod script;
mod site;

use crate::support::repository;
use page::Page;
use std::path::Path;

/// README.md and every page below `docs/`, sorted.
fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned()];
    collect(Path::new("docs"), &mut names);
    names.sort();
    names.iter().map(|name| Page::read(name)).collect()
}

fn collect(folder: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(repository().join(folder)).expect("the folder is here") {
        let entry = entry.expect("it can be read");
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            names.push(path.to_str().expect("names are ASCII").to_owned());
        }
    }
}
