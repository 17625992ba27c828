//! Builds one direction of a path.

use super::{Builder, TraceSource, point};
use crate::{InputFile, UsedTrace, trace_diagnostic};
use core::ops::Range;
use link::{
    ChannelModel, Codel, Delay, Impairments, LOSS_MODELS, LinkConfig, Loss, QueueLimit, Rate, RateColumn,
    Reorder, StationConfig, Trace, TraceError, TraceReading, TraceText,
};
use quantities::{Quantities as _, QuantityNode as _};
use schema::node::{Fields, Node, Value};
use sim::{CellSpec, Hop};
use std::sync::Arc;
use units::{Bitrate, Duration, Instant, Probability, Seed};

/// Everything on which the reading of a trace file depends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TraceKey {
    path: String,
    format: Option<String>,
    column: Option<String>,
    is_up: bool,
}

/// A trace file, read.
pub(super) struct ReadTrace {
    trace: Arc<Trace>,
    format: &'static str,
    column: Option<RateColumn>,
    sha256: String,
}

/// A trace with its start and scale; `random` if the start is still to be drawn.
struct TracedRate {
    trace: Arc<Trace>,
    random: bool,
}

/// Names of the cells that a direction joins: none, one, or a list.
pub(super) fn cell_names(fields: &Fields) -> Vec<&str> {
    let Some(node) = fields.get("cell") else { return Vec::new() };
    node.text().into_iter().chain(node.list().iter().filter_map(Node::text)).collect()
}

/// Maximum length of a generated trace, in steps.
const MAX_STEPS: u64 = 1_000_000;

impl Builder<'_, '_> {
    /// The direction of the path at `place`, down if true, and the source from which its trace is generated, if it has one.
    pub(super) fn direction(
        &mut self,
        fields: &Fields,
        cells: &[CellSpec],
        duration: Duration,
        place: (&str, bool),
    ) -> (Hop, Option<TraceSource>) {
        let names = cell_names(fields);
        if names.is_empty() {
            return self.link(fields, duration, place);
        }
        let joined: Vec<Option<usize>> =
            names.iter().map(|name| self.cell_index(fields, name, cells)).collect();
        for &cell in joined.iter().flatten() {
            self.check_link_rate(fields, cells[cell].config.rate);
        }
        (self.station(fields, joined[0].unwrap_or_default()), None)
    }

    fn link(
        &mut self,
        fields: &Fields,
        duration: Duration,
        place: (&str, bool),
    ) -> (Hop, Option<TraceSource>) {
        if !fields.given("cell") {
            self.not_with(fields, &["link_rate"], "without `cell`", "set the direction's own `rate`");
        }
        let (queue, codel) = queue(fields);
        let link = LinkConfig {
            queue,
            codel,
            impairments: impairments(fields),
            delay: fields.get("delay").map(|node| self.delay(node)).unwrap_or_default(),
            loss: fields.get("loss").map(loss).unwrap_or_default(),
            outages: self.outages(fields.list("outages")),
            reorder: fields.flag("reorder").unwrap_or(false),
            rate: Rate::default(),
        };
        let mut source = fields.get("model").map(|model| self.model(model, duration));
        let rate = if let Some(node) = fields.get("trace") {
            let traced = self.trace(node, place);
            if let Some(TracedRate { trace, random: true }) = &traced {
                source = Some(TraceSource::RandomStart(Arc::clone(trace)));
            }
            traced.map_or_else(Rate::default, |traced| Rate::Trace(traced.trace))
        } else {
            fields.get("rate").map(|node| self.rate(node)).unwrap_or_default()
        };
        (Hop::Link(LinkConfig { rate, ..link }), source)
    }

    /// A station of a cell.
    fn station(&mut self, fields: &Fields, cell: usize) -> Hop {
        let (queue, codel) = queue(fields);
        let station = StationConfig {
            queue,
            impairments: impairments(fields),
            delay: fields.get("delay").map(|node| self.delay(node)).unwrap_or_default(),
            loss: fields.get("loss").map(loss).unwrap_or_default(),
            outages: self.outages(fields.list("outages")),
            reorder: fields.flag("reorder").unwrap_or(false),
            link_rate: fields.rate("link_rate"),
            snr_db: None,
        };
        if codel.is_some() {
            self.problems
                .add(fields.span("queue"), "CoDel is not available in a cell")
                .expected("a queue such as `\"100 packets\"`")
                .hint("give the direction its own `rate`, or the station a shorter queue");
        }
        Hop::Cell { cell, station }
    }

    /// Index of the cell `name`, which `fields` names.
    pub(super) fn cell_index(&mut self, fields: &Fields, name: &str, cells: &[CellSpec]) -> Option<usize> {
        let cell = cells.iter().position(|c| c.name == name);
        if cell.is_none() {
            let names: Vec<&str> = cells.iter().map(|c| c.name.as_str()).collect();
            self.unknown_name(fields.span("cell"), "cell", name, &names);
        }
        cell
    }

    fn rate(&mut self, node: &Node) -> Rate {
        let Some(fields) = node.fields() else { return Rate::Fixed(node.rate().unwrap_or_default()) };
        let mut steps: Vec<(Instant, Bitrate)> = Vec::new();
        for step in fields.list("steps") {
            let [from, rate] = step.list() else { continue };
            let (Some(time), Some(rate)) = (from.time(), rate.rate()) else { continue };
            match steps.last() {
                None if !time.is_zero() => {
                    self.problems
                        .add(from.span.clone(), format!("the first step is at {time}"))
                        .expected("the first step at `0s`")
                        .hint("add a step at `0s` with the initial rate");
                }
                Some((before, _)) if point(time) <= *before => {
                    let before = before.since(Instant::ZERO);
                    self.problems
                        .add(from.span.clone(), format!("a step at {time} follows one at {before}"))
                        .expected("steps in order of time")
                        .hint("each step begins after the one before it");
                }
                _ => {}
            }
            steps.push((point(time), rate));
        }
        if !steps.is_empty() && steps.iter().all(|(_, rate)| *rate == Bitrate::ZERO) {
            self.problems
                .add(fields.span("steps"), "every step has rate zero, so that no packet would ever be sent")
                .expected("a rate above zero in at least one step")
                .hint("use `leave_at` or `outages` for a path that disappears");
        }
        Rate::Steps(steps)
    }

    fn delay(&mut self, node: &Node) -> Delay {
        let Some(fields) = node.fields() else { return Delay::Fixed(node.time().unwrap_or_default()) };
        if let Some(normal) = fields.fields("normal") {
            return Delay::Normal {
                mean: normal.time("mean").unwrap_or_default(),
                sd: normal.time("sd").unwrap_or_default(),
            };
        }
        match fields.list("uniform") {
            [min, max] => {
                let (low, high) = (min.time().unwrap_or_default(), max.time().unwrap_or(Duration::MAX));
                if high < low {
                    self.problems
                        .add(
                            max.span.clone(),
                            format!("the maximum delay of {high} is below the minimum of {low}"),
                        )
                        .expected("[min, max], with min no longer than max")
                        .hint(format!("`uniform = [\"{high}\", \"{low}\"]`"));
                }
                Delay::Uniform { min: low, max: high }
            }
            _ => Delay::default(),
        }
    }

    /// The outages in order of time, with overlapping ones merged.
    fn outages(&mut self, nodes: &[Node]) -> Vec<(Instant, Instant)> {
        let mut outages: Vec<(Instant, Instant)> = Vec::new();
        for node in nodes {
            let [from, to] = node.list() else { continue };
            let (Some(start), Some(end)) = (from.time(), to.time()) else { continue };
            if end <= start {
                self.problems
                    .add(to.span.clone(), format!("an outage from {start} ends at {end}"))
                    .expected("[from, to], with from before to")
                    .hint(format!("`[\"{end}\", \"{start}\"]`"));
            }
            outages.push((point(start), point(end)));
        }
        outages.sort_unstable();
        let mut merged: Vec<(Instant, Instant)> = Vec::with_capacity(outages.len());
        for (from, to) in outages {
            match merged.last_mut() {
                Some((_, end)) if from <= *end => *end = (*end).max(to),
                _ => merged.push((from, to)),
            }
        }
        merged
    }

    fn model(&mut self, node: &Node, duration: Duration) -> TraceSource {
        let Some(fields) = node.fields() else {
            return TraceSource::Model(node.text().and_then(ChannelModel::named).unwrap_or_default(), None);
        };
        let base = fields.text("name").and_then(ChannelModel::named).unwrap_or_default();
        let number =
            |key: &str, scale: f64, otherwise: f64| fields.number(key).map_or(otherwise, |n| n * scale);
        if let Some(step) = fields.time("step") {
            if step < Duration::from_millis(1) {
                self.problems
                    .add(fields.span("step"), format!("a step of {step} is too short"))
                    .expected("at least `1ms`")
                    .hint("`100ms` is typical");
            } else if duration.as_nanos() / step.as_nanos() > MAX_STEPS {
                self.problems
                    .add(fields.span("step"), format!("{duration} in steps of {step} is too long a trace"))
                    .expected(format!("at most {MAX_STEPS} steps"))
                    .hint("choose a longer `step`");
            }
        }
        let model = ChannelModel {
            bandwidth_hz: number("bandwidth_mhz", 1e6, base.bandwidth_hz),
            share: number("share", 1.0, base.share),
            carrier_hz: number("carrier_mhz", 1e6, base.carrier_hz),
            speed: number("speed_kmh", 1.0 / 3.6, base.speed),
            snr_db: number("snr_db", 1.0, base.snr_db),
            shadowing_db: number("shadowing_db", 1.0, base.shadowing_db),
            decorrelation_m: number("decorrelation_m", 1.0, base.decorrelation_m),
            step: fields.time("step").unwrap_or(base.step),
        };
        TraceSource::Model(model, fields.integer("seed").map(|seed| Seed::new(seed.max(0) as u64)))
    }

    /// The rate from a trace for the path at `place`, with the start and scale of its table.
    fn trace(&mut self, node: &Node, place: (&str, bool)) -> Option<TracedRate> {
        let (path, fields): (&str, Option<&Fields>) = match &node.value {
            Value::Text(path) => (path, None),
            Value::Table(fields) => (fields.text("file")?, Some(fields)),
            _ => return None,
        };
        let span = fields.map_or_else(|| node.span.clone(), |fields| fields.span("file"));
        let number = |fields: &Fields| fields.integer("column").map(|number| number.to_string());
        let key = TraceKey {
            path: path.to_owned(),
            format: fields.and_then(|fields| fields.text("format")).map(str::to_owned),
            column: fields
                .and_then(|fields| fields.text("column").map(str::to_owned).or_else(|| number(fields))),
            is_up: !place.1,
        };
        let known = self.traces.get(&key).cloned();
        let read = known.unwrap_or_else(|| {
            let read = self.trace_file(&key, &span).map(Arc::new);
            self.traces.insert(key, read.clone());
            read
        })?;
        let scale = fields.and_then(|fields| fields.number("scale")).unwrap_or(1.0);
        let trace = if scale == 1.0 {
            Arc::clone(&read.trace)
        } else {
            Arc::new(self.scaled(&read, scale, fields?)?)
        };
        let start = fields.and_then(|fields| fields.time("start")).unwrap_or_default();
        let start = Duration::from_nanos(start.as_nanos() % trace.period().as_nanos().max(1));
        let random = fields.is_some_and(|fields| fields.text("start") == Some("random"));
        self.used_traces.push(UsedTrace {
            path: place.0.to_owned(),
            down: place.1,
            file: path.to_owned(),
            sha256: read.sha256.clone(),
            format: read.format,
            column: read.column.clone(),
            start: (!random).then_some(start),
            random_start: random,
            scale,
            summary: trace.summary(),
        });
        let trace = if start.is_zero() { trace } else { Arc::new(trace.starting_at(start)) };
        Some(TracedRate { trace, random })
    }

    fn scaled(&mut self, read: &ReadTrace, scale: f64, fields: &Fields) -> Option<Trace> {
        let scaled = read.trace.scaled(scale);
        if scaled.is_none() {
            self.problems
                .add(
                    fields.span("scale"),
                    format!("a scale of {scale} leaves a trace without capacity, or too long"),
                )
                .expected("a factor near 1")
                .hint(format!("the mean rate of the trace is {}", read.trace.mean_rate()));
        }
        scaled
    }

    /// Reads the trace in the file that the scenario names at `span`.
    fn trace_file(&mut self, key: &TraceKey, span: &Range<usize>) -> Option<ReadTrace> {
        let path = key.path.as_str();
        let text = self.read_file(path, span)?;
        let input =
            TraceText { is_up: key.is_up, ..TraceText::new(path, &text) }.column(key.column.as_deref());
        let error = match TraceReading::of(&input, key.format.as_ref().and_then(|f| f.parse().ok())) {
            Ok(TraceReading { trace, format, column }) => {
                let sha256 = InputFile::new(path, text.as_bytes()).sha256;
                return Some(ReadTrace { trace: Arc::new(trace), format, column, sha256 });
            }
            Err(error) => error,
        };
        let shown = self.shown(path);
        let error = TraceError { file: shown, ..error };
        self.problems.add_referenced(span, vec![trace_diagnostic(&text, &error)]);
        None
    }
}

/// The limit of the queue, and CoDel if that manages it.
fn queue(fields: &Fields) -> (QueueLimit, Option<Codel>) {
    let Some(managed) = fields.fields("queue") else {
        return (fields.custom("queue").unwrap_or_default(), None);
    };
    (managed.custom("limit").unwrap_or_default(), managed.fields("codel").map(codel))
}

fn codel(fields: &Fields) -> Codel {
    Codel {
        target: fields.time("target").unwrap_or_default(),
        interval: fields.time("interval").unwrap_or_default(),
        ecn: fields.flag("ecn").unwrap_or(false),
    }
}

fn impairments(fields: &Fields) -> Impairments {
    let chance =
        |fields: &Fields, key: &str| fields.number(key).and_then(Probability::new).unwrap_or_default();
    let reorder = fields.fields("reorder").map(|reorder| Reorder {
        probability: chance(reorder, "chance"),
        extra_delay: reorder.time("by").unwrap_or_default(),
    });
    Impairments { corrupt: chance(fields, "corrupt"), duplicate: chance(fields, "duplicate"), reorder }
}

fn loss(node: &Node) -> Loss {
    let Some(fields) = node.fields() else {
        return match node.number().and_then(Probability::new) {
            Some(p) if p > Probability::NEVER => Loss::Uniform(p),
            _ => Loss::None,
        };
    };
    let mut given = LOSS_MODELS.iter().filter_map(|entry| Some((entry, fields.fields(entry.key.name)?)));
    given.next().map_or(Loss::None, |(entry, parameters)| (entry.configure)(parameters))
}
