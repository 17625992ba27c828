//! The gallery: each page has a scenario, a command, its picture and an answer with its figures.

use super::page::Page;
use super::pages;
use crate::support::repository;
use std::collections::BTreeSet;
use std::path::Path;

/// Sections of a page of the gallery, in their order.
const SECTIONS: [&str; 4] = ["Scenario", "Command", "Answer", "What the model leaves out"];

/// Compares the pictures of a page with the drawings of its commands in `folder`, by their names.
/// With `UPDATE_DOCS` it replaces the former.
pub(super) fn check_pictures(page: &Page, folder: &Path) -> Result<(), String> {
    for link in page.links.iter().filter(|link| link.is_image) {
        let Ok(drawn) = std::fs::read(folder.join(&link.target)) else { continue };
        let committed = repository().join(&page.name).with_file_name(&link.target);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&committed, &drawn).map_err(|error| error.to_string())?;
        }
        if std::fs::read(&committed).unwrap_or_default() != drawn {
            let place = format!("{}:{}", page.name, link.line);
            return Err(format!(
                "{place}: {} is not what the command draws: run the tests with UPDATE_DOCS=1",
                link.target
            ));
        }
    }
    Ok(())
}

fn gallery() -> Vec<Page> {
    let mut pages = pages();
    pages.retain(|page| page.name.starts_with("docs/gallery/") && !page.name.ends_with("README.md"));
    pages
}

/// Text between the heading `## TITLE` and the next one.
fn section<'a>(page: &'a Page, title: &str) -> &'a str {
    let (_, rest) = page
        .text
        .split_once(&format!("\n## {title}\n"))
        .unwrap_or_else(|| panic!("{}: the section {title:?} is missing", page.name));
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// Numbers with three digits or a decimal point.
fn figures(text: &str) -> BTreeSet<&str> {
    let is_part = |one: char| one.is_ascii_digit() || one == '.';
    let numbers = text.split(|one: char| !is_part(one)).map(|number| number.trim_matches('.'));
    numbers.filter(|number| number.contains('.') || number.len() > 2).collect()
}

#[test]
fn gallery_has_fifteen_pages_of_one_form() {
    let gallery = gallery();
    assert_eq!(gallery.len(), 15);
    for page in &gallery {
        assert!(
            page.text.lines().next().is_some_and(|title| title.ends_with('?')),
            "{}: no question",
            page.name
        );
        let places: Vec<usize> = SECTIONS
            .iter()
            .map(|title| section(page, title).as_ptr() as usize - page.text.as_ptr() as usize)
            .collect();
        assert!(places.is_sorted(), "{}: the order is {SECTIONS:?}", page.name);
        assert!(page.text.lines().count() < 130, "{}: longer than a page", page.name);
    }
}

#[test]
fn pictures_of_the_gallery_are_drawn_by_its_commands() {
    for page in gallery() {
        let commands = section(&page, "Command");
        let pictures: Vec<_> =
            page.links.iter().filter(|link| link.is_image).map(|link| &link.target).collect();
        assert!(!pictures.is_empty(), "{}: no picture", page.name);
        for picture in pictures {
            assert!(commands.contains(&format!("--plot {picture}")), "{}: {picture}", page.name);
        }
    }
}

/// The output in a page is compared with that of its commands, so the answer's figures are too.
#[test]
fn figures_of_an_answer_are_in_the_output_above_it() {
    for page in gallery() {
        let output: String = page.blocks.iter().map(|block| block.text.as_str()).collect();
        let output = figures(&output);
        let answer = section(&page, "Answer");
        let missing: Vec<_> = figures(answer).into_iter().filter(|one| !output.contains(one)).collect();
        assert!(missing.is_empty(), "{}: not in the output: {missing:?}", page.name);
        assert!(figures(answer).len() > 2, "{}: the answer has no figures", page.name);
    }
}

#[test]
fn gallery_lists_every_page_with_its_picture() {
    let list = Page::read("docs/gallery/README.md");
    for page in gallery() {
        let name = page.name.trim_start_matches("docs/gallery/");
        let pages = list.links.iter().filter(|link| !link.is_image && link.target == name).count();
        assert_eq!(pages, 2, "{name}: its picture and its question are links");
    }
}
