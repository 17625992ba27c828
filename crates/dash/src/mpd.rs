//! Parser of MPEG-DASH manifests: an MPD of a static presentation (ISO/IEC 23009-1).

use crate::duration;
use crate::segments::{Address, MAX_SEGMENTS, Part, Representation, Source};
use crate::template::{Values, fill};
use core::fmt;
use roxmltree::{Document, Node, ParsingOptions};
use units::{Bitrate, Duration};
use url::Url;

/// Maximum number of segments of all representations together.
const MAX_TOTAL_SEGMENTS: usize = 1_000_000;
/// Maximum number of representations of an adaptation set.
const MAX_REPRESENTATIONS: usize = 256;
/// Maximum length of a reference or template, in bytes.
const MAX_REFERENCE_BYTES: usize = 4_096;
const TIME_TOO_LARGE: &str = "expected a presentation time below 2^62 units";
/// Maximum number of XML nodes in the document.
const MAX_NODES: u32 = 2_000_000;

/// The video of a static presentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Presentation {
    /// Representations by ascending bitrate, without duplicates; never empty. After
    /// [`complete`](Self::complete) all have the same number of segments.
    pub representations: Vec<Representation>,
    /// Text of the element `Title`.
    pub title: Option<String>,
}

/// Error in a manifest. Displays as `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpdError {
    /// Argument `name` of [`Presentation::parse`].
    pub file: String,
    /// Line and column, from 1.
    pub place: (u32, u32),
    /// The problem and the expected value.
    pub message: String,
}

impl fmt::Display for MpdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.place.0, self.place.1, self.message)
    }
}

impl core::error::Error for MpdError {}

/// Node at whose position an error is reported, and the error's message.
type NodeError<'a, 'i> = (Node<'a, 'i>, String);

impl Presentation {
    /// Parses an MPD. `name` appears in errors. Relative references are resolved against `base`,
    /// unless the document has absolute base URLs.
    pub fn parse(name: &str, text: &str, base: Option<&Url>) -> Result<Self, MpdError> {
        let wrong = |place, message| MpdError { file: name.to_owned(), place, message };
        // Document type definitions are rejected: no entity expansion.
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options)
            .map_err(|error| wrong((error.pos().row, error.pos().col), error.to_string()))?;
        Reader { remaining: MAX_TOTAL_SEGMENTS }.presentation(document.root_element(), base).map_err(
            |(node, message)| {
                let place = document.text_pos_at(node.range().start);
                wrong((place.row, place.col), message)
            },
        )
    }

    /// Cuts all representations to the same number of segments. Encoders may produce one segment
    /// more in some of them.
    ///
    /// # Errors
    /// A representation has no segments, or the numbers of segments differ by more than one.
    pub fn complete(&mut self) -> Result<(), String> {
        let counts: Vec<usize> = self.representations.iter().map(Representation::len).collect();
        let (least, most) =
            (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
        if least == 0 {
            return Err("expected at least one segment of each bitrate, found none".to_owned());
        }
        if most - least > 1 {
            return Err(format!(
                "expected the same number of segments for each bitrate, found {least} and {most}"
            ));
        }
        for representation in &mut self.representations {
            let mut more = representation.len() - least;
            while more > 0 {
                if let Some(part) =
                    representation.parts.iter_mut().rev().find(|part| !part.lengths.is_empty())
                {
                    part.lengths.pop();
                }
                more -= 1;
            }
        }
        Ok(())
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

struct Reader {
    /// Number of segments left until [`MAX_TOTAL_SEGMENTS`].
    remaining: usize,
}

impl Reader {
    fn presentation<'a, 'i>(
        mut self,
        root: Node<'a, 'i>,
        base: Option<&Url>,
    ) -> Result<Presentation, NodeError<'a, 'i>> {
        check_root(root)?;
        let total = read_duration(root, "mediaPresentationDuration")?;
        let base = resolve(root, base.cloned())?;
        let representations = self.periods(root, base.as_ref(), total)?;
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
            self.list(&Info { levels: list }, base, length)?
        } else {
            file(node, &Info { levels: single }, base, length)?
        };
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
        let times = self.times(info, length)?;
        let first = info.number("startNumber")?.unwrap_or(1);
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
        Ok(Part { init, lengths, source: Source::Template { base, media: media.to_owned(), first, times } })
    }

    fn list<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        base: Url,
        length: Option<Duration>,
    ) -> Result<Part, NodeError<'a, 'i>> {
        let mut entries = Vec::new();
        let urls = info.levels.iter().find(|node| children(**node, "SegmentURL").next().is_some());
        for node in urls.into_iter().flat_map(|node| children(*node, "SegmentURL")) {
            if entries.len() == MAX_SEGMENTS {
                return Err((node, format!("expected at most {MAX_SEGMENTS} segments")));
            }
            let media = node.attribute("media").unwrap_or_default();
            join(node, &base, media)?;
            entries.push((media.to_owned(), range(node, "mediaRange")?));
        }
        if entries.is_empty() {
            return Err((info.node(), "expected at least one segment in the list".to_owned()));
        }
        let limit = Some(entries.len());
        let mut times = self.times_of(info, length, limit)?;
        times.truncate(entries.len());
        entries.truncate(times.len());
        let lengths = times.into_iter().map(|(_, length)| length).collect();
        let init = initialization(info, &base)?;
        Ok(Part { init, lengths, source: Source::List { base, entries } })
    }

    fn times<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        length: Option<Duration>,
    ) -> Result<Vec<(u64, Duration)>, NodeError<'a, 'i>> {
        self.times_of(info, length, None)
    }

    /// Start of each segment in units of the timescale, and its length. Without a timeline,
    /// `count` limits the segments unless `endNumber` does.
    fn times_of<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        length: Option<Duration>,
        count: Option<usize>,
    ) -> Result<Vec<(u64, Duration)>, NodeError<'a, 'i>> {
        let node = info.node();
        let timescale = info.number("timescale")?.unwrap_or(1);
        if !(1..=1_000_000_000).contains(&timescale) {
            return Err((node, "expected a timescale from 1 to 1000000000".to_owned()));
        }
        let period_units = length.map(|length| {
            (u128::from(length.as_nanos()) * u128::from(timescale)).div_ceil(1_000_000_000) as u64
        });
        let mut times = SegmentTimes { timescale, remaining: &mut self.remaining, times: Vec::new() };
        match info.child("SegmentTimeline") {
            Some(timeline) => {
                let offset = info.number("presentationTimeOffset")?.unwrap_or(0);
                times.add_timeline(timeline, offset, period_units)?;
            }
            None => times.add_equal_segments(info, period_units, count)?,
        }
        Ok(times.times)
    }
}

/// Collects the times of a representation's segments, within the limits on their number.
struct SegmentTimes<'r> {
    timescale: u64,
    /// Number of segments left until [`MAX_TOTAL_SEGMENTS`].
    remaining: &'r mut usize,
    times: Vec<(u64, Duration)>,
}

impl SegmentTimes<'_> {
    fn add<'a, 'i>(&mut self, node: Node<'a, 'i>, start: u64, units: u64) -> Result<(), NodeError<'a, 'i>> {
        let below_limit = self.times.len() < MAX_SEGMENTS;
        *self.remaining = self.remaining.checked_sub(1).filter(|_| below_limit).ok_or_else(|| {
            let limits =
                format!("{MAX_SEGMENTS} segments of each bitrate, and {MAX_TOTAL_SEGMENTS} in total");
            (node, format!("expected at most {limits}"))
        })?;
        let end = start.checked_add(units).filter(|end| *end < 1 << 62);
        let end = end.ok_or_else(|| (node, TIME_TOO_LARGE.to_owned()))?;
        // Both ends are rounded, not the length: rounding errors do not add up over segments.
        let nanos = |units: u64| (u128::from(units) * 1_000_000_000 / u128::from(self.timescale)) as u64;
        let length = Duration::from_nanos(nanos(end).saturating_sub(nanos(start)));
        if length.is_zero() {
            return Err((node, "expected segments longer than zero".to_owned()));
        }
        self.times.push((start, length));
        Ok(())
    }

    /// Adds the entries of a SegmentTimeline (ISO/IEC 23009-1, 5.3.9.6).
    fn add_timeline<'a, 'i>(
        &mut self,
        timeline: Node<'a, 'i>,
        offset: u64,
        period_units: Option<u64>,
    ) -> Result<(), NodeError<'a, 'i>> {
        let entries: Vec<Node<'a, 'i>> = children(timeline, "S").collect();
        let mut previous_end = None;
        for (index, entry) in entries.iter().enumerate() {
            let start = number(*entry, "t")?.or(previous_end).unwrap_or(offset);
            let Some(units) = number(*entry, "d")?.filter(|units| *units > 0) else {
                return Err((*entry, "expected a length `d` above 0".to_owned()));
            };
            let repeat = entry.attribute("r").map_or(Ok(0), |text| {
                text.trim().parse::<i64>().map_err(|_| (*entry, "expected a whole number `r`".to_owned()))
            })?;
            let repeat = if repeat >= 0 {
                repeat as u64
            } else {
                // A negative count repeats until the next entry, or the end of the period.
                let next = entries.get(index + 1).map(|next| number(*next, "t")).transpose()?.flatten();
                let Some(end) = next.or(period_units.map(|units| offset.saturating_add(units))) else {
                    let found = "a negative `r` without a next `t`, in a period of unknown length";
                    return Err((*entry, format!("expected the end of the repetition, found {found}")));
                };
                end.saturating_sub(start).div_ceil(units).saturating_sub(1)
            };
            let mut at = start;
            for _ in 0..=repeat {
                self.add(*entry, at, units)?;
                at += units;
            }
            previous_end = Some(at);
        }
        if self.times.is_empty() {
            return Err((timeline, "expected at least one `S` in the timeline".to_owned()));
        }
        Ok(())
    }

    /// Adds segments of equal `duration`; the last one is cut at the end of the period.
    fn add_equal_segments<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        period_units: Option<u64>,
        count: Option<usize>,
    ) -> Result<(), NodeError<'a, 'i>> {
        let node = info.node();
        let Some(units) = info.number("duration")?.filter(|units| *units > 0) else {
            return Err((node, "expected a `duration` above 0, or a timeline".to_owned()));
        };
        let limit = match info.number("endNumber")? {
            Some(last) => {
                Some(last.saturating_sub(info.number("startNumber")?.unwrap_or(1)).saturating_add(1))
            }
            None => count.map(|count| count as u64),
        };
        let Some(segments) = period_units.map(|total| total.div_ceil(units)).or(limit) else {
            return Err((node, "expected the length of the period, or the number of segments".to_owned()));
        };
        let segments = limit.map_or(segments, |limit| limit.min(segments));
        if segments == 0 {
            return Err((node, "expected a period longer than zero".to_owned()));
        }
        for index in 0..segments {
            let Some(start) = index.checked_mul(units) else {
                return Err((node, TIME_TOO_LARGE.to_owned()));
            };
            let rest = period_units.map_or(units, |total| total.saturating_sub(start).min(units));
            self.add(node, start, if index + 1 == segments { rest } else { units })?;
        }
        Ok(())
    }
}

/// Reads a period of a representation that is one file, with or without an index.
fn file<'a, 'i>(
    node: Node<'a, 'i>,
    info: &Info<'a, 'i>,
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
    Ok(Part { init, lengths: Vec::new(), source })
}

fn initialization<'a, 'i>(info: &Info<'a, 'i>, base: &Url) -> Result<Option<Address>, NodeError<'a, 'i>> {
    let Some(node) = info.child("Initialization") else { return Ok(None) };
    let url = join(node, base, node.attribute("sourceURL").unwrap_or_default())?;
    Ok(Some(Address { url, range: range(node, "range")? }))
}

/// Elements of one name (such as `SegmentTemplate`) of a representation, its adaptation set and
/// its period, innermost first. Inner attributes and children override the outer ones.
struct Info<'a, 'i> {
    levels: Vec<Node<'a, 'i>>,
}

impl<'a, 'i> Info<'a, 'i> {
    fn node(&self) -> Node<'a, 'i> {
        self.levels[0]
    }
    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.levels.iter().find_map(|node| node.attribute(name))
    }
    fn child(&self, name: &'static str) -> Option<Node<'a, 'i>> {
        self.levels.iter().find_map(|node| children(*node, name).next())
    }
    fn number(&self, name: &str) -> Result<Option<u64>, NodeError<'a, 'i>> {
        self.levels
            .iter()
            .find(|node| node.attribute(name).is_some())
            .map_or(Ok(None), |node| number(*node, name))
    }
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

fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Returns the base URL of an element: its first `BaseURL`, resolved against the parent's base
/// URL `base`. An element without `BaseURL` inherits `base`.
fn resolve<'a, 'i>(node: Node<'a, 'i>, base: Option<Url>) -> Result<Option<Url>, NodeError<'a, 'i>> {
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

fn join<'a, 'i>(node: Node<'a, 'i>, base: &Url, reference: &str) -> Result<Url, NodeError<'a, 'i>> {
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

fn number<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<u64>, NodeError<'a, 'i>> {
    node.attribute(name).map_or(Ok(None), |text| {
        let wrong =
            || (node, format!("{name}: expected a whole number of at least 0, found `{}`", cut(text)));
        text.trim().parse().map(Some).map_err(|_| wrong())
    })
}

fn read_duration<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<Duration>, NodeError<'a, 'i>> {
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
fn range<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<(u64, u64)>, NodeError<'a, 'i>> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let parsed = text.split_once('-').and_then(|(from, to)| {
        let range = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (range.0 <= range.1 && range.1 < u64::MAX).then_some(range)
    });
    parsed
        .map(Some)
        .ok_or_else(|| (node, format!("{name}: expected a range such as `0-999`, found `{}`", cut(text))))
}

/// Parses a frame rate: `30`, or `30000/1001`.
fn frame_rate(text: &str) -> Option<f64> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let rate = above.trim().parse::<f64>().ok()? / below.trim().parse::<f64>().ok()?;
    (rate > 0.0 && rate <= 1_000.0).then_some(rate)
}

/// Shortens a value of the document for an error message.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}
