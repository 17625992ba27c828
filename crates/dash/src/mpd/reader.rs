//! Periods, adaptation sets and representations of a manifest.

use super::element::{Info, MAX_REFERENCE_BYTES, children, cut, join, number, range, read_duration, resolve};
use super::times::{MAX_TOTAL_SEGMENTS, SegmentTimes, segment_times};
use super::{NodeError, Presentation};
use crate::segments::{Address, MAX_SEGMENTS, Part, Representation, Source};
use crate::template::{Values, fill};
use roxmltree::Node;
use units::{Bitrate, Duration};
use url::Url;

/// Maximum number of representations of an adaptation set.
const MAX_REPRESENTATIONS: usize = 256;
/// Maximum memory for the addresses of all representations. Each has addresses of its own, although a
/// short element may inherit long ones.
const MAX_ADDRESS_BYTES: usize = 64 << 20;

/// Reads the elements of a manifest.
pub(super) struct Reader {
    /// Number of segments left until [`MAX_TOTAL_SEGMENTS`].
    remaining: usize,
    /// Number of list entries left until [`MAX_TOTAL_SEGMENTS`]. A list may have more entries than its
    /// period has segments.
    list_entries: usize,
    /// Bytes left until [`MAX_ADDRESS_BYTES`].
    address_bytes: usize,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            remaining: MAX_TOTAL_SEGMENTS,
            list_entries: MAX_TOTAL_SEGMENTS,
            address_bytes: MAX_ADDRESS_BYTES,
        }
    }

    pub(super) fn presentation<'a, 'i>(
        mut self,
        root: Node<'a, 'i>,
        base: Option<&Url>,
    ) -> Result<Presentation, NodeError<'a, 'i>> {
        check_root(root)?;
        let total = read_duration(root, "mediaPresentationDuration")?;
        let base = resolve(root, base.cloned())?;
        let mut representations = self.periods(root, base.as_ref(), total)?;
        if representations.is_empty() {
            return Err((root, "expected a period with video".to_owned()));
        }
        if representations[0].parts.len() > 1 && representations.iter().any(|one| one.missing().is_some()) {
            return Err((
                root,
                "expected segment lists or templates: several periods of single files are not supported"
                    .to_owned(),
            ));
        }
        // All have the same number of segments, so each gets an equal share of the total.
        let share = MAX_TOTAL_SEGMENTS / representations.len();
        for representation in &mut representations {
            representation.max_segments = share.min(MAX_SEGMENTS);
        }
        let title = root
            .descendants()
            .find(|node| node.tag_name().name() == "Title")
            .and_then(|node| node.text())
            .map(|text| text.trim().chars().take(512).collect());
        Ok(Presentation { representations, title })
    }

    /// Video representations of all periods, one after another. `total` is the length of the
    /// presentation.
    fn periods<'a, 'i>(
        &mut self,
        root: Node<'a, 'i>,
        base: Option<&Url>,
        total: Option<Duration>,
    ) -> Result<Vec<Representation>, NodeError<'a, 'i>> {
        let periods: Vec<Node<'_, '_>> = children(root, "Period").collect();
        let starts = periods
            .iter()
            .map(|period| read_duration(*period, "start"))
            .collect::<Result<Vec<Option<Duration>>, _>>()?;
        let mut representations: Vec<Representation> = Vec::new();
        let mut at = Duration::ZERO;
        for (index, period) in periods.iter().enumerate() {
            let start = starts[index].unwrap_or(at);
            let until =
                starts.get(index + 1).copied().flatten().or(total.filter(|_| index + 1 == periods.len()));
            let length = match read_duration(*period, "duration")? {
                Some(length) => Some(length),
                None => until.map(|until| until.saturating_sub(start)),
            };
            let found = self.period(*period, base.cloned(), length)?;
            let length_of_segments = || {
                found.first().map_or(Duration::ZERO, |first| {
                    first.lengths().fold(Duration::ZERO, |sum, length| sum + length)
                })
            };
            at = start + length.unwrap_or_else(length_of_segments);
            if representations.is_empty() {
                representations = found;
            } else if representations.len() == found.len() {
                for (before, more) in representations.iter_mut().zip(found) {
                    before.parts.extend(more.parts);
                }
            } else {
                let message = format!(
                    "expected the same number of bitrates in each period, found {} and {}",
                    representations.len(),
                    found.len()
                );
                return Err((*period, message));
            }
        }
        Ok(representations)
    }

    /// Video representations of a period, by ascending bitrate.
    fn period<'a, 'i>(
        &mut self,
        period: Node<'a, 'i>,
        base: Option<Url>,
        length: Option<Duration>,
    ) -> Result<Vec<Representation>, NodeError<'a, 'i>> {
        let base = resolve(period, base)?;
        let sets: Vec<Node<'_, '_>> = children(period, "AdaptationSet").collect();
        let usable = |set: &&Node<'_, '_>| !trick_mode(**set) && kind(**set) != Kind::Other;
        let set = sets.iter().filter(usable).find(|set| kind(**set) == Kind::Video);
        let Some(set) = set.or_else(|| sets.iter().find(usable)) else {
            return Err((period, "expected a video adaptation set, found none".to_owned()));
        };
        let base = resolve(*set, base)?;
        let mut found: Vec<(Node<'_, '_>, Representation)> = Vec::new();
        for node in children(*set, "Representation") {
            if found.len() == MAX_REPRESENTATIONS {
                return Err((node, format!("expected at most {MAX_REPRESENTATIONS} bitrates")));
            }
            found.push((node, self.representation(node, [period, *set], base.clone(), length)?));
        }
        if found.is_empty() {
            return Err((*set, "expected a representation".to_owned()));
        }
        found.sort_by_key(|(_, one)| one.bandwidth);
        found.dedup_by_key(|(_, one)| one.bandwidth);
        Ok(found.into_iter().map(|(_, one)| one).collect())
    }

    fn representation<'a, 'i>(
        &mut self,
        node: Node<'a, 'i>,
        above: [Node<'a, 'i>; 2],
        base: Option<Url>,
        length: Option<Duration>,
    ) -> Result<Representation, NodeError<'a, 'i>> {
        let [period, set] = above;
        let base = resolve(node, base)?;
        let Some(base) = base else {
            return Err((
                node,
                "expected a base URL: the manifest has none, and its own address is unknown".to_owned(),
            ));
        };
        let own = |name: &str| node.attribute(name).or_else(|| set.attribute(name));
        let bandwidth =
            number(node, "bandwidth")?.filter(|bandwidth| (1..=1_000_000_000_000).contains(bandwidth));
        let Some(bandwidth) = bandwidth else {
            return Err((node, "expected a bandwidth from 1 bit/s to 1 Tbit/s".to_owned()));
        };
        let pixels = |name: &str| {
            own(name).and_then(|text| text.parse::<u32>().ok()).filter(|pixels| (1..=65_535).contains(pixels))
        };
        let mut representation = Representation {
            id: node.attribute("id").unwrap_or_default().chars().take(256).collect(),
            bandwidth: Bitrate::from_bps(bandwidth),
            codecs: own("codecs").map(|codecs| codecs.chars().take(64).collect()),
            pixels: pixels("width").zip(pixels("height")),
            frame_rate: own("frameRate").and_then(frame_rate),
            parts: Vec::new(),
            max_segments: MAX_SEGMENTS,
        };
        // Innermost element first: it overrides the outer ones.
        let levels = |name: &'static str| -> Vec<Node<'a, 'i>> {
            [node, set, period].into_iter().filter_map(|node| children(node, name).next()).collect()
        };
        let (template, list, single) =
            (levels("SegmentTemplate"), levels("SegmentList"), levels("SegmentBase"));
        let part = if !template.is_empty() {
            self.template(&Info { levels: template }, &representation, base, length)?
        } else if !list.is_empty() {
            self.list(&Info { levels: list }, &representation, base, length)?
        } else {
            file(node, &Info { levels: single }, &representation, base, length)?
        };
        let left = self.address_bytes.checked_sub(part.address_bytes());
        self.address_bytes =
            left.ok_or_else(|| (node, "expected addresses of at most 64 MiB in all".to_owned()))?;
        representation.parts.push(part);
        Ok(representation)
    }

    fn template<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        of: &Representation,
        base: Url,
        length: Option<Duration>,
    ) -> Result<Part, NodeError<'a, 'i>> {
        let Some(media) = info.attribute("media") else {
            return Err((info.node(), "expected a template with `media`".to_owned()));
        };
        let SegmentTimes { skipped, times } = segment_times(&mut self.remaining, info, length, None)?;
        let first = info.number("startNumber")?.unwrap_or(1).saturating_add(skipped);
        let values = Values { id: &of.id, bandwidth: of.bandwidth.as_bps(), number: first, time: 0 };
        let name = |template: &str| {
            if template.len() > MAX_REFERENCE_BYTES {
                return Err((
                    info.node(),
                    format!("expected a template of at most {MAX_REFERENCE_BYTES} bytes"),
                ));
            }
            fill(template, values).map_err(|message| (info.node(), message))
        };
        // If the template is valid for one segment, it is valid for all.
        join(info.node(), &base, &name(media)?)?;
        let init = match info.attribute("initialization") {
            Some(template) => Some(Address { url: join(info.node(), &base, &name(template)?)?, range: None }),
            None => None,
        };
        let (times, lengths) = times.into_iter().unzip();
        let (media, id) = (media.to_owned(), of.id.clone());
        let source = Source::Template { base, media, id, first, times };
        Ok(Part { bandwidth: of.bandwidth, init, lengths, source })
    }

    fn list<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        of: &Representation,
        base: Url,
        length: Option<Duration>,
    ) -> Result<Part, NodeError<'a, 'i>> {
        let mut entries = Vec::new();
        let urls = info.levels.iter().find(|node| children(**node, "SegmentURL").next().is_some());
        for node in urls.into_iter().flat_map(|node| children(*node, "SegmentURL")) {
            if entries.len() == MAX_SEGMENTS {
                return Err((node, format!("expected at most {MAX_SEGMENTS} segments")));
            }
            self.list_entries = self.list_entries.checked_sub(1).ok_or_else(|| {
                (node, format!("expected at most {MAX_TOTAL_SEGMENTS} list entries in all"))
            })?;
            let media = node.attribute("media").unwrap_or_default();
            join(node, &base, media)?;
            entries.push((media.to_owned(), range(node, "mediaRange")?));
        }
        if entries.is_empty() {
            return Err((info.node(), "expected at least one segment in the list".to_owned()));
        }
        let limit = Some(entries.len());
        let SegmentTimes { skipped, mut times } = segment_times(&mut self.remaining, info, length, limit)?;
        entries.drain(..usize::try_from(skipped).map_or(entries.len(), |skipped| skipped.min(entries.len())));
        times.truncate(entries.len());
        entries.truncate(times.len());
        entries.shrink_to_fit();
        if entries.is_empty() {
            return Err((info.node(), "expected a `SegmentURL` of a segment in the period".to_owned()));
        }
        let lengths = times.into_iter().map(|(_, length)| length).collect();
        let init = initialization(info, &base)?;
        Ok(Part { bandwidth: of.bandwidth, init, lengths, source: Source::List { base, entries } })
    }
}

/// Rejects documents other than complete, static presentations.
fn check_root<'a, 'i>(root: Node<'a, 'i>) -> Result<(), NodeError<'a, 'i>> {
    if root.tag_name().name() != "MPD" {
        return Err((root, format!("expected an MPD, found `{}`", cut(root.tag_name().name()))));
    }
    if root.attribute("type").is_some_and(|kind| kind != "static") {
        return Err((root, "expected a static presentation, found a live one".to_owned()));
    }
    let remote = |node: &Node<'_, '_>| {
        node.attributes().any(|attribute| attribute.namespace() == Some("http://www.w3.org/1999/xlink"))
    };
    match root.descendants().find(remote) {
        Some(node) => Err((node, "expected a complete document, found a remote element (XLink)".to_owned())),
        None => Ok(()),
    }
}

/// Reads a period of a representation that is one file, with or without an index.
fn file<'a, 'i>(
    node: Node<'a, 'i>,
    info: &Info<'a, 'i>,
    of: &Representation,
    base: Url,
    length: Option<Duration>,
) -> Result<Part, NodeError<'a, 'i>> {
    let init = if info.levels.is_empty() { None } else { initialization(info, &base)? };
    let mut index = None;
    for level in &info.levels {
        index = index.or(range(*level, "indexRange")?);
    }
    let source = match (index, length.filter(|length| !length.is_zero())) {
        (Some(range), _) => Source::Index { file: Address { url: base, range: Some(range) } },
        (None, Some(duration)) => Source::File { url: base, duration },
        (None, None) => {
            return Err((
                node,
                "expected a list of segments, a template, an index, or the length of the period".to_owned(),
            ));
        }
    };
    Ok(Part { bandwidth: of.bandwidth, init, lengths: Vec::new(), source })
}

fn initialization<'a, 'i>(info: &Info<'a, 'i>, base: &Url) -> Result<Option<Address>, NodeError<'a, 'i>> {
    let Some(node) = info.child("Initialization") else { return Ok(None) };
    let url = join(node, base, node.attribute("sourceURL").unwrap_or_default())?;
    Ok(Some(Address { url, range: range(node, "range")? }))
}

/// Content of an adaptation set, by its content type or MIME type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Video,
    /// No type is declared.
    Unknown,
    Other,
}

fn kind(set: Node<'_, '_>) -> Kind {
    let declared = |node: Node<'_, '_>| {
        let text = node.attribute("contentType").or_else(|| node.attribute("mimeType"))?;
        Some(if text.starts_with("video") { Kind::Video } else { Kind::Other })
    };
    let parts = children(set, "ContentComponent").chain(children(set, "Representation"));
    declared(set).or_else(|| parts.into_iter().find_map(declared)).unwrap_or(Kind::Unknown)
}

/// True for trick-mode sets (thumbnails for fast forward).
fn trick_mode(set: Node<'_, '_>) -> bool {
    children(set, "EssentialProperty")
        .any(|node| node.attribute("schemeIdUri").is_some_and(|scheme| scheme.contains("trickmode")))
}

/// Parses a frame rate: `30`, or `30000/1001`.
fn frame_rate(text: &str) -> Option<f64> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let rate = above.trim().parse::<f64>().ok()? / below.trim().parse::<f64>().ok()?;
    (rate > 0.0 && rate <= 1_000.0).then_some(rate)
}
