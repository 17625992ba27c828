//! The key at a position of a TOML text, in the form of a setting: `path.lte.down.rate`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key whose name or value is at byte `offset` of `text`; `None` outside all keys, and in a text
/// with errors of syntax.
///
/// An element of a list is its `name`, or its number from 1.
pub fn key_at(text: &str, offset: usize) -> Option<String> {
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    find_in_table(root.get_ref(), offset, &mut parts).then(|| parts.join("."))
}

/// Adds the key at `offset` to `parts` and returns true, or returns false and leaves `parts`.
fn find_in_table(table: &DeTable<'_>, offset: usize, parts: &mut Vec<String>) -> bool {
    table.iter().any(|(key, value)| {
        parts.push(key.get_ref().to_string());
        // A table of a header has keys after the span of its own value.
        let found = find_in_value(value, offset, parts) || key.span().contains(&offset);
        if !found {
            parts.pop();
        }
        found
    })
}

fn find_in_value(value: &Spanned<DeValue<'_>>, offset: usize, parts: &mut Vec<String>) -> bool {
    let is_inside = match value.get_ref() {
        DeValue::Table(table) => find_in_table(table, offset, parts),
        DeValue::Array(elements) => elements.iter().enumerate().any(|(index, element)| {
            parts.push(element_name(element.get_ref(), index));
            let found = find_in_value(element, offset, parts);
            if !found {
                parts.pop();
            }
            found
        }),
        _ => false,
    };
    is_inside || value.span().contains(&offset)
}

/// The `name` of an element that is a table, if a setting can use it; otherwise its number.
fn element_name(element: &DeValue<'_>, index: usize) -> String {
    let name = element.get("name").and_then(|name| name.get_ref().as_str());
    let is_plain = |name: &&str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    name.filter(is_plain).map_or_else(|| (index + 1).to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_name_value_and_header() {
        let text = "duration = 5\n[device]\npolicy = { name = 'x', late = 1 }\n[[path]]\nname = \"lte\"\n\
                    down = { rate = 4 }\n[[path]]\nradio = 1\n[[path.down.loss]]\nshare = 7\n[a.'b.c']\nlist = [1, 23]\n";
        let at = |piece: &str| key_at(text, text.find(piece).expect("the piece is in the text"));
        for (piece, key) in [
            ("duration", "duration"),
            ("5\n", "duration"),
            ("device", "device"),
            ("late", "device.policy.late"),
            ("{ name", "device.policy"),
            ("rate", "path.lte.down.rate"),
            ("4 }", "path.lte.down.rate"),
            ("radio", "path.2.radio"),
            ("share", "path.2.down.loss.1.share"),
            ("23", "a.b.c.list.2"),
        ] {
            assert_eq!(at(piece).as_deref(), Some(key), "{piece}");
        }
        assert_eq!(key_at(text, text.len()), None);
        assert_eq!(key_at("a = \n", 0), None);
    }
}
