//! Elements of a manifest: attributes, children and addresses.

use super::NodeError;
use crate::duration;
use roxmltree::Node;
use units::Duration;
use url::Url;

/// Maximum length of a reference or template, in bytes.
pub(super) const MAX_REFERENCE_BYTES: usize = 4_096;

/// Elements of one name (such as `SegmentTemplate`) of a representation, its adaptation set and
/// its period, innermost first. Inner attributes and children override the outer ones.
pub(super) struct Info<'a, 'i> {
    pub(super) levels: Vec<Node<'a, 'i>>,
}

impl<'a, 'i> Info<'a, 'i> {
    pub(super) fn node(&self) -> Node<'a, 'i> {
        self.levels[0]
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        self.levels.iter().find_map(|node| node.attribute(name))
    }

    pub(super) fn child(&self, name: &'static str) -> Option<Node<'a, 'i>> {
        self.levels.iter().find_map(|node| children(*node, name).next())
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, NodeError<'a, 'i>> {
        self.levels
            .iter()
            .find(|node| node.attribute(name).is_some())
            .map_or(Ok(None), |node| number(*node, name))
    }
}

pub(super) fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Returns the base URL of an element: its first `BaseURL`, resolved against the parent's base
/// URL `base`. An element without `BaseURL` inherits `base`.
pub(super) fn resolve<'a, 'i>(
    node: Node<'a, 'i>,
    base: Option<Url>,
) -> Result<Option<Url>, NodeError<'a, 'i>> {
    let Some(own) = children(node, "BaseURL").next() else { return Ok(base) };
    let text = own.text().unwrap_or_default().trim();
    let wrong = |message| (own, message);
    match base {
        Some(base) => join(own, &base, text).map(Some),
        None if text.len() <= MAX_REFERENCE_BYTES => match Url::parse(text) {
            Ok(url) => Ok(Some(url)),
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                Err(wrong("expected an absolute address: the manifest's own address is unknown".to_owned()))
            }
            Err(error) => Err(wrong(format!("invalid address: {error}"))),
        },
        None => Err(wrong(format!("expected an address of at most {MAX_REFERENCE_BYTES} bytes"))),
    }
}

pub(super) fn join<'a, 'i>(
    node: Node<'a, 'i>,
    base: &Url,
    reference: &str,
) -> Result<Url, NodeError<'a, 'i>> {
    if reference.len() > MAX_REFERENCE_BYTES {
        return Err((node, format!("expected an address of at most {MAX_REFERENCE_BYTES} bytes")));
    }
    if reference.is_empty() {
        return Ok(base.clone());
    }
    let url = base.join(reference).map_err(|error| (node, format!("invalid address: {error}")))?;
    if url.as_str().len() > 4 * MAX_REFERENCE_BYTES || !matches!(url.scheme(), "http" | "https") {
        return Err((node, "expected an address with http: or https:, within the length limit".to_owned()));
    }
    Ok(url)
}

pub(super) fn number<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<u64>, NodeError<'a, 'i>> {
    node.attribute(name).map_or(Ok(None), |text| {
        let wrong =
            || (node, format!("{name}: expected a whole number of at least 0, found `{}`", cut(text)));
        text.trim().parse().map(Some).map_err(|_| wrong())
    })
}

pub(super) fn read_duration<'a, 'i>(
    node: Node<'a, 'i>,
    name: &str,
) -> Result<Option<Duration>, NodeError<'a, 'i>> {
    node.attribute(name).map_or(Ok(None), |text| {
        let wrong = || {
            (
                node,
                format!(
                    "{name}: expected a duration such as `PT1M30.5S`, at most a year, found `{}`",
                    cut(text)
                ),
            )
        };
        duration::parse(text).map(Some).ok_or_else(wrong)
    })
}

/// Parses a byte range `first-last`, both inclusive.
pub(super) fn range<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<(u64, u64)>, NodeError<'a, 'i>> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let parsed = text.split_once('-').and_then(|(from, to)| {
        let range = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (range.0 <= range.1 && range.1 < u64::MAX).then_some(range)
    });
    parsed
        .map(Some)
        .ok_or_else(|| (node, format!("{name}: expected a range such as `0-999`, found `{}`", cut(text))))
}

/// Shortens a value of the document for an error message.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}
