//! The list of radio profiles.

use crate::support::{Place, TINY, said, tandem};

fn printed(arguments: &[&str]) -> String {
    let said = said(tandem().args(arguments));
    assert_eq!(said.code, 0, "{}", said.err);
    said.out
}

#[test]
fn the_list_names_source_and_origin_of_the_digits() {
    insta::assert_snapshot!(printed(&["profiles"]));
}

#[test]
fn one_profile_as_toml() {
    insta::assert_snapshot!(printed(&["profiles", "huang2012.lte"]));
}

#[test]
fn a_profile_that_was_printed_can_be_used() {
    let place = Place::new();
    place.write("mine.toml", &place.done(&["profiles", "huang2012.lte"]));
    let own = place.done(&["run", "tiny.toml", "--format", "json"]);
    place.write("file.toml", &TINY.replace("\"huang2012.lte\"", "{ file = \"mine.toml\" }"));
    assert_eq!(place.done(&["run", "file.toml", "--format", "json"]), own);
}

#[test]
fn the_list_is_json_and_csv_too() {
    let list: serde_json::Value = serde_json::from_str(&printed(&["profiles", "--format", "json"])).unwrap();
    let list = list.as_array().unwrap();
    assert!(list.iter().any(|p| p["name"] == "huang2012.lte" && p["origin"]["rate"] == "read"));
    let one = printed(&["profiles", "huang2012.lte", "--format", "json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&one).unwrap().as_array().unwrap().len(), 1);
    assert_eq!(printed(&["profiles", "--format", "csv"]).lines().count(), list.len() + 1);
}

#[test]
fn a_profile_that_is_not_there_is_answered_with_one_that_is() {
    let said = said(tandem().args(["profiles", "huang2012.lta"]));
    assert_eq!(said.code, 2);
    assert!(said.err.contains("huang2012.lte"), "{}", said.err);
}
