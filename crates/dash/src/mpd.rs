//! The document.

use crate::duration;
use crate::segments::{Address, Part, Representation, Source};
use crate::template::{Values, fill};
use core::fmt;
use roxmltree::{Document, Node, ParsingOptions};
use units::{Bitrate, Duration};
use url::Url;

/// The most segments of a representation, and of all of them together.
pub(crate) const MOST_SEGMENTS: usize = 100_000;
const MOST_IN_ALL: usize = 1_000_000;
/// The most bitrates.
const MOST_LEVELS: usize = 256;
/// The longest reference or template, in bytes.
const LONGEST: usize = 4_096;
/// The most elements of the document.
const MOST_NODES: u32 = 2_000_000;

/// The video of a static presentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Presentation {
    /// From the lowest bitrate to the highest, no two with the same; never empty. Once nothing is missing
    /// ([`Representation::missing`]), those that are [`complete`](Self::complete) have as many segments.
    pub representations: Vec<Representation>,
    /// What `Title` says.
    pub title: Option<String>,
}

/// Why a document is no manifest that can be played. Prints as `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpdError {
    /// The name that was given to the reader.
    pub file: String,
    /// Line and column, from 1.
    pub place: (u32, u32),
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for MpdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.place.0, self.place.1, self.message)
    }
}

impl core::error::Error for MpdError {}

/// A problem and where it is.
type Wrong<'a, 'i> = (Node<'a, 'i>, String);

impl Presentation {
    /// Reads an MPD. `name` is for the error; relative references are resolved against `base`, which the
    /// document's own base URLs may make unnecessary.
    pub fn parse(name: &str, text: &str, base: Option<&Url>) -> Result<Self, MpdError> {
        let wrong = |place, message| MpdError { file: name.to_owned(), place, message };
        // No document type definition: no entities that expand.
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options)
            .map_err(|error| wrong((error.pos().row, error.pos().col), error.to_string()))?;
        Reader { left: MOST_IN_ALL }.presentation(document.root_element(), base).map_err(|(node, message)| {
            let place = document.text_pos_at(node.range().start);
            wrong((place.row, place.col), message)
        })
    }

    /// Sees that all representations have as many segments: where one has some few more than another, as
    /// encoders leave it, these are not played. An error says what differs by more.
    pub fn complete(&mut self) -> Result<(), String> {
        let counts: Vec<usize> = self.representations.iter().map(Representation::len).collect();
        let (least, most) =
            (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
        if least == 0 {
            return Err("expected at least one segment of each bitrate, found none".to_owned());
        }
        if most - least > 1 {
            return Err(format!("expected as many segments of each bitrate, found {least} and {most}"));
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

struct Reader {
    /// How many segments there may still be.
    left: usize,
}

impl Reader {
    fn presentation<'a, 'i>(
        mut self,
        root: Node<'a, 'i>,
        base: Option<&Url>,
    ) -> Result<Presentation, Wrong<'a, 'i>> {
        if root.tag_name().name() != "MPD" {
            return Err((root, format!("expected an MPD, found `{}`", cut(root.tag_name().name()))));
        }
        if root.attribute("type").is_some_and(|kind| kind != "static") {
            return Err((root, "expected a static presentation: live ones are not played here".to_owned()));
        }
        let remote = |node: &Node<'_, '_>| {
            node.attributes().any(|attribute| attribute.namespace() == Some("http://www.w3.org/1999/xlink"))
        };
        if let Some(node) = root.descendants().find(remote) {
            return Err((
                node,
                "expected all of the document here, found a remote element (XLink)".to_owned(),
            ));
        }
        let total = span(root, "mediaPresentationDuration")?;
        let base = resolve(root, base.cloned())?;
        let periods: Vec<Node<'_, '_>> = children(root, "Period").collect();
        let starts = periods
            .iter()
            .map(|period| span(*period, "start"))
            .collect::<Result<Vec<Option<Duration>>, _>>()?;
        let mut representations: Vec<Representation> = Vec::new();
        let mut at = Duration::ZERO;
        for (index, period) in periods.iter().enumerate() {
            let start = starts[index].unwrap_or(at);
            let until =
                starts.get(index + 1).copied().flatten().or(total.filter(|_| index + 1 == periods.len()));
            let length = match span(*period, "duration")? {
                Some(length) => Some(length),
                None => until.map(|until| until.saturating_sub(start)),
            };
            let found = self.period(*period, base.clone(), length)?;
            let seconds = length.unwrap_or_else(|| {
                found.first().map_or(Duration::ZERO, |first| {
                    first.lengths().fold(Duration::ZERO, |sum, length| sum + length)
                })
            });
            at = start + seconds;
            if representations.is_empty() {
                representations = found;
            } else if representations.len() == found.len() {
                for (before, more) in representations.iter_mut().zip(found) {
                    before.parts.extend(more.parts);
                }
            } else {
                let message = format!(
                    "expected as many bitrates in each period, found {} and {}",
                    representations.len(),
                    found.len()
                );
                return Err((*period, message));
            }
        }
        if representations.is_empty() {
            return Err((root, "expected a period with video".to_owned()));
        }
        if representations[0].parts.len() > 1 && representations.iter().any(|one| one.missing().is_some()) {
            return Err((root, "several periods of single files are not played here".to_owned()));
        }
        let title = root
            .descendants()
            .find(|node| node.tag_name().name() == "Title")
            .and_then(|node| node.text())
            .map(|text| text.trim().chars().take(512).collect());
        Ok(Presentation { representations, title })
    }

    /// The representations of a period's video, from the lowest bitrate.
    fn period<'a, 'i>(
        &mut self,
        period: Node<'a, 'i>,
        base: Option<Url>,
        length: Option<Duration>,
    ) -> Result<Vec<Representation>, Wrong<'a, 'i>> {
        let base = resolve(period, base)?;
        let sets: Vec<Node<'_, '_>> = children(period, "AdaptationSet").collect();
        let usable = |set: &&Node<'_, '_>| !trick_mode(**set) && kind(**set) != Kind::Other;
        let set = sets.iter().filter(usable).find(|set| kind(**set) == Kind::Video);
        let Some(set) = set.or_else(|| sets.iter().find(usable)) else {
            return Err((period, "expected a set of video, found none".to_owned()));
        };
        let base = resolve(*set, base)?;
        let mut found: Vec<(Node<'_, '_>, Representation)> = Vec::new();
        for node in children(*set, "Representation") {
            if found.len() == MOST_LEVELS {
                return Err((node, format!("expected at most {MOST_LEVELS} bitrates")));
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
    ) -> Result<Representation, Wrong<'a, 'i>> {
        let [period, set] = above;
        let base = resolve(node, base)?;
        let Some(base) = base else {
            return Err((
                node,
                "expected a base for its addresses: it names none, and nobody said where it is from"
                    .to_owned(),
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
        // From the innermost to the outermost: what is nearer holds.
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
    ) -> Result<Part, Wrong<'a, 'i>> {
        let Some(media) = info.attribute("media") else {
            return Err((info.node(), "expected a template with `media`".to_owned()));
        };
        let times = self.times(info, length)?;
        let first = info.number("startNumber")?.unwrap_or(1);
        let values = Values { id: &of.id, bandwidth: of.bandwidth.as_bps(), number: first, time: 0 };
        let name = |template: &str| {
            if template.len() > LONGEST {
                return Err((info.node(), format!("expected a template of at most {LONGEST} bytes")));
            }
            fill(template, values).map_err(|message| (info.node(), message))
        };
        // What is right for one segment is for all.
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
    ) -> Result<Part, Wrong<'a, 'i>> {
        let mut entries = Vec::new();
        let urls = info.levels.iter().find(|node| children(**node, "SegmentURL").next().is_some());
        for node in urls.into_iter().flat_map(|node| children(*node, "SegmentURL")) {
            if entries.len() == MOST_SEGMENTS {
                return Err((node, format!("expected at most {MOST_SEGMENTS} segments")));
            }
            let media = node.attribute("media").unwrap_or_default();
            join(node, &base, media)?;
            entries.push((media.to_owned(), range(node, "mediaRange")?));
        }
        if entries.is_empty() {
            return Err((info.node(), "expected a list of some segments".to_owned()));
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
    ) -> Result<Vec<(u64, Duration)>, Wrong<'a, 'i>> {
        self.times_of(info, length, None)
    }

    /// When each segment begins, in its own units, and how long it plays. Where the length of the period is not
    /// known, `count` says how many there are.
    fn times_of<'a, 'i>(
        &mut self,
        info: &Info<'a, 'i>,
        length: Option<Duration>,
        count: Option<usize>,
    ) -> Result<Vec<(u64, Duration)>, Wrong<'a, 'i>> {
        let node = info.node();
        let timescale = info.number("timescale")?.unwrap_or(1);
        if !(1..=1_000_000_000).contains(&timescale) {
            return Err((node, "expected a timescale from 1 to 1000000000".to_owned()));
        }
        let offset = info.number("presentationTimeOffset")?.unwrap_or(0);
        let nanos = |units: u64| (u128::from(units) * 1_000_000_000 / u128::from(timescale)) as u64;
        // In its own units; the period ends there.
        let total = length.map(|length| {
            (u128::from(length.as_nanos()) * u128::from(timescale)).div_ceil(1_000_000_000) as u64
        });
        let mut times = Vec::new();
        let mut add = |left: &mut usize, node, at: u64, units: u64| {
            *left = left.checked_sub(1).filter(|_| times.len() < MOST_SEGMENTS).ok_or_else(|| {
                (
                    node,
                    format!(
                        "expected at most {MOST_SEGMENTS} segments of each bitrate, and {MOST_IN_ALL} in all"
                    ),
                )
            })?;
            let end = at.checked_add(units).filter(|end| *end < 1 << 62);
            let end = end.ok_or_else(|| (node, "a time that no player lives to see".to_owned()))?;
            // So that sums have no rounding in them.
            let length = Duration::from_nanos(nanos(end).saturating_sub(nanos(at)));
            if length.is_zero() {
                return Err((node, "expected segments of some length".to_owned()));
            }
            times.push((at, length));
            Ok(())
        };
        if let Some(timeline) = info.child("SegmentTimeline") {
            let mut at = None;
            let entries: Vec<Node<'_, '_>> = children(timeline, "S").collect();
            for (index, entry) in entries.iter().enumerate() {
                let start = number(*entry, "t")?.or(at).unwrap_or(offset);
                let Some(units) = number(*entry, "d")?.filter(|units| *units > 0) else {
                    return Err((*entry, "expected a length `d` above 0".to_owned()));
                };
                let repeat = entry.attribute("r").map_or(Ok(0), |text| {
                    text.trim().parse::<i64>().map_err(|_| (*entry, "expected a whole number `r`".to_owned()))
                })?;
                let repeat = if repeat >= 0 {
                    repeat as u64
                } else {
                    // Until the next, or until the period ends.
                    let next = entries.get(index + 1).map(|next| number(*next, "t")).transpose()?.flatten();
                    let Some(end) = next.or(total.map(|total| offset.saturating_add(total))) else {
                        return Err((*entry, "it repeats until nobody knows when".to_owned()));
                    };
                    end.saturating_sub(start).div_ceil(units).saturating_sub(1)
                };
                let mut begin = start;
                for _ in 0..=repeat {
                    add(&mut self.left, *entry, begin, units)?;
                    begin += units;
                }
                at = Some(begin);
            }
            if times.is_empty() {
                return Err((timeline, "expected a timeline of some segments".to_owned()));
            }
            return Ok(times);
        }
        let Some(units) = info.number("duration")?.filter(|units| *units > 0) else {
            return Err((node, "expected a `duration` above 0, or a timeline".to_owned()));
        };
        let last = match info.number("endNumber")? {
            Some(last) => {
                Some(last.saturating_sub(info.number("startNumber")?.unwrap_or(1)).saturating_add(1))
            }
            None => count.map(|count| count as u64),
        };
        let Some(many) = total.map(|total| total.div_ceil(units)).or(last) else {
            return Err((
                node,
                "nobody says how long the period is, so that nobody knows how many segments".to_owned(),
            ));
        };
        let many = last.map_or(many, |last| last.min(many));
        if many == 0 {
            return Err((node, "expected a period of some length".to_owned()));
        }
        for index in 0..many {
            let Some(begin) = index.checked_mul(units) else {
                return Err((node, "a time that no player lives to see".to_owned()));
            };
            let rest = total.map_or(units, |total| total.saturating_sub(begin).min(units));
            add(&mut self.left, node, begin, if index + 1 == many { rest } else { units })?;
        }
        Ok(times)
    }
}

/// A representation in one file.
fn file<'a, 'i>(
    node: Node<'a, 'i>,
    info: &Info<'a, 'i>,
    base: Url,
    length: Option<Duration>,
) -> Result<Part, Wrong<'a, 'i>> {
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
                "expected a list of segments, a template or an index, or how long the period is".to_owned(),
            ));
        }
    };
    Ok(Part { init, lengths: Vec::new(), source })
}

fn initialization<'a, 'i>(info: &Info<'a, 'i>, base: &Url) -> Result<Option<Address>, Wrong<'a, 'i>> {
    let Some(node) = info.child("Initialization") else { return Ok(None) };
    let url = join(node, base, node.attribute("sourceURL").unwrap_or_default())?;
    Ok(Some(Address { url, range: range(node, "range")? }))
}

/// Elements of one kind on several levels, the innermost first.
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
    fn number(&self, name: &str) -> Result<Option<u64>, Wrong<'a, 'i>> {
        self.levels
            .iter()
            .find(|node| node.attribute(name).is_some())
            .map_or(Ok(None), |node| number(*node, name))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Video,
    Unknown,
    Other,
}

fn kind(set: Node<'_, '_>) -> Kind {
    let told = |node: Node<'_, '_>| {
        let text = node.attribute("contentType").or_else(|| node.attribute("mimeType"))?;
        Some(if text.starts_with("video") { Kind::Video } else { Kind::Other })
    };
    let parts = children(set, "ContentComponent").chain(children(set, "Representation"));
    told(set).or_else(|| parts.into_iter().find_map(told)).unwrap_or(Kind::Unknown)
}

/// Pictures for winding on, not for watching.
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

/// The base that holds for an element: its first own, against that above.
fn resolve<'a, 'i>(node: Node<'a, 'i>, base: Option<Url>) -> Result<Option<Url>, Wrong<'a, 'i>> {
    let Some(own) = children(node, "BaseURL").next() else { return Ok(base) };
    let text = own.text().unwrap_or_default().trim();
    let wrong = |message| (own, message);
    match base {
        Some(base) => join(own, &base, text).map(Some),
        None if text.len() <= LONGEST => match Url::parse(text) {
            Ok(url) => Ok(Some(url)),
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                Err(wrong("expected a whole address: nobody said where the manifest is from".to_owned()))
            }
            Err(error) => Err(wrong(format!("expected an address: {error}"))),
        },
        None => Err(wrong(format!("expected an address of at most {LONGEST} bytes"))),
    }
}

fn join<'a, 'i>(node: Node<'a, 'i>, base: &Url, reference: &str) -> Result<Url, Wrong<'a, 'i>> {
    if reference.len() > LONGEST {
        return Err((node, format!("expected an address of at most {LONGEST} bytes")));
    }
    if reference.is_empty() {
        return Ok(base.clone());
    }
    let url = base.join(reference).map_err(|error| (node, format!("expected an address: {error}")))?;
    if url.as_str().len() > 4 * LONGEST || !matches!(url.scheme(), "http" | "https") {
        return Err((node, "expected an address of http: or https: that is not too long".to_owned()));
    }
    Ok(url)
}

fn number<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<u64>, Wrong<'a, 'i>> {
    node.attribute(name).map_or(Ok(None), |text| {
        let wrong = || (node, format!("{name}: expected a whole number from 0 on, found `{}`", cut(text)));
        text.trim().parse().map(Some).map_err(|_| wrong())
    })
}

fn span<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<Duration>, Wrong<'a, 'i>> {
    node.attribute(name).map_or(Ok(None), |text| {
        let wrong =
            || (node, format!("{name}: expected such as `PT1M30.5S`, up to a year, found `{}`", cut(text)));
        duration::parse(text).map(Some).ok_or_else(wrong)
    })
}

/// From a byte to another, this one included.
fn range<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Result<Option<(u64, u64)>, Wrong<'a, 'i>> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    let parsed = text.split_once('-').and_then(|(from, to)| {
        let range = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (range.0 <= range.1 && range.1 < u64::MAX).then_some(range)
    });
    parsed.map(Some).ok_or_else(|| (node, format!("{name}: expected such as `0-999`, found `{}`", cut(text))))
}

/// `30`, or `30000/1001`.
fn frame_rate(text: &str) -> Option<f64> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let rate = above.trim().parse::<f64>().ok()? / below.trim().parse::<f64>().ok()?;
    (rate > 0.0 && rate <= 1_000.0).then_some(rate)
}

/// What somebody wrote is told back only in part.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}
