//! `tandem profiles`.

use crate::support::{Place, TINY, output_of, tandem};

fn printed(arguments: &[&str]) -> String {
    let output = output_of(tandem().args(arguments));
    assert_eq!(output.code, 0, "{}", output.err);
    output.out
}

#[test]
fn list_has_source_and_origin_of_the_figures() {
    insta::assert_snapshot!(printed(&["profiles"]));
}

#[test]
fn one_profile_as_toml() {
    insta::assert_snapshot!(printed(&["profiles", "huang2012.lte"]));
}

#[test]
fn printed_profile_can_be_used() {
    let place = Place::new();
    place.write("mine.toml", &place.done(&["profiles", "huang2012.lte"]));
    // All figures; the provenance names other files.
    let result = |scenario: &str| {
        let json = place.done(&["run", scenario, "--format", "json"]);
        json.split("\"made_by\"").next().map(str::to_owned)
    };
    let own = result("tiny.toml");
    place.write("file.toml", &TINY.replace("\"huang2012.lte\"", "{ file = \"mine.toml\" }"));
    assert_eq!(result("file.toml"), own);
}

#[test]
fn list_is_available_as_json_and_csv() {
    let list: serde_json::Value = serde_json::from_str(&printed(&["profiles", "--format", "json"])).unwrap();
    let list = list.as_array().unwrap();
    assert!(list.iter().any(|p| p["name"] == "huang2012.lte" && p["origin"]["rate"] == "read"));
    let one = printed(&["profiles", "huang2012.lte", "--format", "json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&one).unwrap().as_array().unwrap().len(), 1);
    assert_eq!(printed(&["profiles", "--format", "csv"]).lines().count(), list.len() + 1);
}

#[test]
fn unknown_profile_suggests_a_similar_one() {
    let output = output_of(tandem().args(["profiles", "huang2012.lta"]));
    assert_eq!(output.code, 2);
    assert!(output.err.contains("huang2012.lte"), "{}", output.err);
}
