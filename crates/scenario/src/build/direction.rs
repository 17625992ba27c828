//! One direction of a path.

use super::{Builder, Inside, point};
use core::ops::Range;
use link::{
    ChannelModel, Codel, Delay, Impairments, Late, LinkConfig, Loss, QueueLimit, Rate, StationConfig, Trace,
};
use quantities::{Quantities as _, QuantityNode as _};
use schema::node::{Fields, Node, Value};
use sim::{CellSpec, Hop};
use std::sync::Arc;
use units::{Bitrate, Duration, Instant, Probability, Seed};

/// The most steps of a generated trace.
const MOST_STEPS: u64 = 1_000_000;

impl Builder<'_, '_> {
    /// The direction, and the channel model that its trace is to be drawn from, if it has one.
    pub(super) fn direction(
        &mut self,
        fields: &Fields,
        cells: &[CellSpec],
        duration: Duration,
    ) -> (Hop, Option<(ChannelModel, Option<Seed>)>) {
        let managed = fields.fields("queue");
        let limit = managed.map_or_else(|| fields.custom("queue"), |managed| managed.custom("limit"));
        let queue: QueueLimit = limit.unwrap_or_default();
        let codel = managed.and_then(|managed| managed.fields("codel")).map(codel);
        let impairments = impairments(fields);
        let delay = fields.get("delay").map(|node| self.delay(node)).unwrap_or_default();
        let loss = fields.get("loss").map(loss).unwrap_or_default();
        let outages = self.outages(fields.list("outages"));
        let reorder = fields.flag("reorder").unwrap_or(false);
        let link_rate = fields.rate("link_rate");
        if let Some(name) = fields.text("cell") {
            let cell = cells.iter().position(|c| c.name == name);
            if cell.is_none() {
                let names: Vec<&str> = cells.iter().map(|c| c.name.as_str()).collect();
                self.unknown_name(fields.span("cell"), "cell", name, &names);
            }
            if codel.is_some() {
                self.problems
                    .add(fields.span("queue"), "a station of a cell has no CoDel")
                    .expected("a queue such as `\"100 packets\"`")
                    .hint("give the direction a `rate` of its own, or the station a shorter queue");
            }
            let station = StationConfig { queue, delay, reorder, loss, outages, impairments, link_rate };
            return (Hop::Cell { cell: cell.unwrap_or_default(), station }, None);
        }
        if !fields.given("cell") {
            self.not_with(fields, &["link_rate"], "without `cell`", "give the direction's own `rate`");
        }
        let model = fields.get("model").map(|model| self.model(model, duration));
        let rate = if let Some(node) = fields.get("trace") {
            self.trace(node).map_or_else(Rate::default, Rate::Trace)
        } else {
            fields.get("rate").map(|node| self.rate(node)).unwrap_or_default()
        };
        let link = LinkConfig { rate, queue, codel, delay, reorder, loss, outages, impairments };
        (Hop::Link(link), model)
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
                        .hint("say what the rate is from the beginning on");
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
                .add(fields.span("steps"), "every step has rate zero: nothing would ever pass")
                .expected("a rate above zero in one step at least")
                .hint("for a path that goes away, use `leave_at` or `outages`");
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
                            format!("the longest delay, {high}, is below the shortest, {low}"),
                        )
                        .expected("[min, max], the shorter first")
                        .hint(format!("`uniform = [\"{high}\", \"{low}\"]`"));
                }
                Delay::Uniform { min: low, max: high }
            }
            _ => Delay::default(),
        }
    }

    /// In order of time and apart.
    fn outages(&mut self, nodes: &[Node]) -> Vec<(Instant, Instant)> {
        let mut outages: Vec<(Instant, Instant)> = Vec::new();
        for node in nodes {
            let [from, to] = node.list() else { continue };
            let (Some(start), Some(end)) = (from.time(), to.time()) else { continue };
            if end <= start {
                self.problems
                    .add(to.span.clone(), format!("an outage from {start} ends at {end}"))
                    .expected("[from, to], the earlier first")
                    .hint(format!("`[\"{end}\", \"{start}\"]`"));
            }
            outages.push((point(start), point(end)));
        }
        outages.sort_unstable();
        let mut apart: Vec<(Instant, Instant)> = Vec::with_capacity(outages.len());
        for (from, to) in outages {
            match apart.last_mut() {
                Some((_, end)) if from <= *end => *end = (*end).max(to),
                _ => apart.push((from, to)),
            }
        }
        apart
    }

    fn model(&mut self, node: &Node, duration: Duration) -> (ChannelModel, Option<Seed>) {
        let Some(fields) = node.fields() else {
            return (node.text().and_then(ChannelModel::named).unwrap_or_default(), None);
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
            } else if duration.as_nanos() / step.as_nanos() > MOST_STEPS {
                self.problems
                    .add(fields.span("step"), format!("{duration} in steps of {step} is too long a trace"))
                    .expected(format!("at most {MOST_STEPS} steps"))
                    .hint("a longer `step`");
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
        (model, fields.integer("seed").map(|seed| Seed::new(seed.max(0) as u64)))
    }

    fn trace(&mut self, node: &Node) -> Option<Arc<Trace>> {
        let (path, format, span): (&str, Option<&str>, Range<usize>) = match &node.value {
            Value::Text(path) => (path, None, node.span.clone()),
            Value::Table(fields) => (fields.text("file")?, fields.text("format"), fields.span("file")),
            _ => return None,
        };
        let key = (path.to_owned(), format.map(str::to_owned));
        if let Some(known) = self.traces.get(&key) {
            return known.clone();
        }
        let trace = self.read_file(path, &span).and_then(|text| {
            let as_format = format.and_then(|f| f.parse().ok());
            match Trace::parse(path, &text, as_format) {
                Ok(trace) => Some(Arc::new(trace)),
                Err(error) => {
                    let inside = Inside {
                        path: path.to_owned(),
                        line: error.line,
                        column: error.column,
                        message: format!("malformed trace: found {}", error.found),
                        expected: Some(error.expected),
                        hint: Some(error.hint.to_owned()).filter(|h| !h.is_empty()),
                    };
                    self.inside(&text, inside, &span);
                    None
                }
            }
        });
        self.traces.insert(key, trace.clone());
        trace
    }
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
    let late = fields
        .fields("reorder")
        .map(|late| Late { chance: chance(late, "chance"), by: late.time("by").unwrap_or_default() });
    Impairments { corrupt: chance(fields, "corrupt"), duplicate: chance(fields, "duplicate"), late }
}

fn loss(node: &Node) -> Loss {
    let Some(fields) = node.fields() else {
        return match node.number().and_then(Probability::new) {
            Some(p) if p > Probability::NEVER => Loss::Uniform(p),
            _ => Loss::None,
        };
    };
    let Some(gilbert) = fields.fields("gilbert") else { return Loss::None };
    let p = |key: &str| gilbert.number(key).and_then(Probability::new).unwrap_or_default();
    Loss::GilbertElliott { p: p("p"), r: p("r"), loss_good: p("loss_good"), loss_bad: p("loss_bad") }
}
