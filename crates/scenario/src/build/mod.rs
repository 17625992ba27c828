//! Builds the experiment from the values of the file, and checks rules about several keys.

mod cell;
mod crowd;
mod device;
mod direction;
mod limits;
mod middlebox;
mod path;
mod radio;
mod shared_media;
mod traffic;
mod transport;
mod video;

use crate::crowd::Crowd;
use crate::format::CROWD;
use crate::used_trace::random_start;
use crate::{Diagnostic, Files, UsedTrace};
use core::ops::Range;
use direction::{ReadTrace, TraceKey};
use link::{ChannelModel, Trace};
use quantities::Quantities as _;
use schema::diagnostic::{Problems, Source};
use schema::node::{Fields, Node};
use schema::shape::list;
use shared_media::SharedMedia;
use sim::Experiment;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Duration, Instant, Seed};

/// Maximum number of rows of the time series.
const MAX_ROWS: u64 = 1_000_000;

/// The content of a scenario file.
pub(crate) struct Built {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) experiment: Experiment,
    pub(crate) traces: Vec<UsedTrace>,
    pub(crate) generated: Vec<Generated>,
    /// The devices, if there are several; `experiment` is then that of the first kind.
    pub(crate) crowd: Option<Crowd>,
}

/// A direction with a trace that follows the seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generated {
    pub(crate) path: usize,
    /// True for the direction from the server to the device.
    pub(crate) down: bool,
    /// Name of the random source: the direction for a model, the path for the start of a trace.
    pub(crate) name: String,
    pub(crate) source: TraceSource,
}

/// Origin of a trace that follows the seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TraceSource {
    /// A channel model, with a fixed seed if it is independent of that of the run.
    Model(ChannelModel, Option<Seed>),
    /// A trace that begins at a random time.
    RandomStart(Arc<Trace>),
}

impl Generated {
    /// Length of a drawn trace, in steps.
    pub(crate) fn steps(&self, duration: Duration) -> usize {
        match &self.source {
            TraceSource::Model(model, _) => {
                usize::try_from(duration.as_nanos() / model.step.as_nanos().max(1)).unwrap_or(usize::MAX)
            }
            TraceSource::RandomStart(trace) => trace.steps(),
        }
    }

    pub(crate) fn draw(&self, seed: Seed, duration: Duration) -> Arc<Trace> {
        Arc::new(match &self.source {
            TraceSource::Model(model, fixed) => {
                model.generate(duration, fixed.unwrap_or(seed).derive(&self.name))
            }
            TraceSource::RandomStart(trace) => {
                trace.starting_at(random_start(trace.period(), seed, &self.name))
            }
        })
    }
}

/// Builds the experiment. The result is meaningful only if no problem was found.
pub(crate) fn build(root: &Fields, problems: &mut Problems<'_>, files: &dyn Files) -> Built {
    let mut builder = Builder {
        problems,
        files,
        traces: BTreeMap::new(),
        used_traces: Vec::new(),
        profiles: BTreeMap::new(),
        manifests: BTreeMap::new(),
        segments: 0,
    };
    if core::ptr::eq(root.table, &raw const CROWD) { builder.crowd(root) } else { builder.scenario(root) }
}

/// State shared by the parts: the problems, and the content of other files.
struct Builder<'a, 'f> {
    problems: &'a mut Problems<'f>,
    files: &'a dyn Files,
    traces: BTreeMap<TraceKey, Option<Arc<ReadTrace>>>,
    used_traces: Vec<UsedTrace>,
    profiles: BTreeMap<String, Option<Arc<::radio::Profile>>>,
    manifests: BTreeMap<String, Option<abr::Manifest>>,
    /// Segments of the videos of constant bitrate so far.
    segments: u64,
}

impl Builder<'_, '_> {
    fn scenario(&mut self, root: &Fields) -> Built {
        let duration = root.time("duration").unwrap_or(Duration::from_secs(1));
        let sample = root.time("sample").unwrap_or(duration);
        let seed = Seed::new(root.integer("seed").unwrap_or(1).max(0) as u64);
        self.check_sample(root, sample, duration, 1);
        let cells = self.cells(root.list("cell"));
        let (paths, generated) = self.paths(root.list("path"), &cells, duration, seed);
        let is_valid = self.problems.found.is_empty();
        let device = self.device(root.fields("device"), is_valid.then_some(&paths));
        let media = SharedMedia { cells: &cells, backhauls: &[] };
        let transport = self.transport(root.fields("transport"), root.list("path"), &paths, media);
        let (traffic, background) = self.traffic(root.list("traffic"), root.time("duration"), &paths);
        Built {
            title: root.text("title").unwrap_or_default().to_owned(),
            description: root.text("description").map(str::to_owned),
            experiment: Experiment {
                seed,
                duration,
                sample,
                device,
                cells,
                paths,
                transport,
                traffic,
                background,
                capture: root.flag("capture").unwrap_or(false),
            },
            traces: self.used_traces.iter().map(|trace| trace.with_seed(seed)).collect(),
            generated,
            crowd: None,
        }
    }

    /// Reports an interval of samples that is longer than the run, or gives too many rows of several
    /// series.
    fn check_sample(&mut self, root: &Fields, sample: Duration, duration: Duration, series: usize) {
        if root.time("duration").is_some() && root.given("sample") && sample > duration {
            self.problems
                .add(
                    root.span("sample"),
                    format!("`sample` of {sample} is longer than the run of {duration}"),
                )
                .expected("a time no longer than `duration`")
                .hint("without `sample`, a row is taken every 100 ms");
            return;
        }
        let rows = duration.as_nanos().checked_div(sample.as_nanos()).unwrap_or_default();
        if rows.saturating_mul(series as u64) > MAX_ROWS {
            let at = if root.given("sample") { "sample" } else { "duration" };
            let of_all = if series > 1 { format!(" for each of {series} cells") } else { String::new() };
            self.problems
                .add(
                    root.span(at),
                    format!("a run of {duration} with a sample every {sample} has {rows} rows{of_all}"),
                )
                .expected(format!("at most {MAX_ROWS} rows in all"))
                .hint("choose a longer `sample`");
        }
    }

    /// Reports `stop` if it is not after `start`.
    fn in_order(&mut self, fields: &Fields, start: &str, stop: &str) {
        let (Some(from), Some(to)) = (fields.time(start), fields.time(stop)) else { return };
        if to <= from {
            self.problems
                .add(fields.span(stop), format!("`{stop}` of {to} is not after `{start}` of {from}"))
                .expected(format!("a time after {from}"))
                .hint(format!("remove `{stop}` for no end"));
        }
    }

    /// Reports tables that repeat the name of an earlier one.
    fn unique_names(&mut self, nodes: &[Node], what: &str) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for fields in nodes.iter().filter_map(Node::fields) {
            let Some(name) = fields.text("name") else { continue };
            let line = self.problems.source.locate(fields.span("name").start).0;
            if let Some(first) = seen.get(name) {
                self.problems
                    .add(fields.span("name"), format!("two {what} are called `{name}`"))
                    .expected("a unique name")
                    .hint(format!("the first is on line {first}"));
            } else {
                seen.insert(name, line);
            }
        }
    }

    /// Reports a name that is not one of `names`.
    fn unknown_name(&mut self, span: Range<usize>, what: &str, name: &str, names: &[&str]) {
        let problem = self.problems.add(span, format!("unknown {what} `{}`", schema::read::clip(name)));
        problem.expected(if names.is_empty() {
            format!("a {what} of this file, which has none")
        } else {
            format!("one of {}", list(names))
        });
        if let Some(near) = schema::suggest(name, names.iter().copied()) {
            problem.hint(format!("did you mean `{near}`?"));
        } else if names.is_empty() {
            problem.hint(format!("add a `[[{what}]]` with `name = \"{}\"`", schema::read::clip(name)));
        } else {
            problem.hint(format!("use one of them, or add a `[[{what}]]`"));
        }
    }

    /// Reports keys that have no effect in the given `context`, such as "without `cell`".
    fn not_with(&mut self, fields: &Fields, keys: &[&str], context: &str, hint: &str) {
        for key in keys.iter().filter(|key| fields.given(key)) {
            self.problems
                .add(fields.key_span(key), format!("`{key}` has no effect {context}"))
                .expected(format!("no `{key}` here"))
                .hint(hint);
        }
    }

    /// Reads a file that the scenario names at `span`; failure is reported there.
    fn read_file(&mut self, path: &str, span: &Range<usize>) -> Option<String> {
        match self.files.read(path) {
            Ok(text) => Some(text),
            Err(error) => {
                let shown = self.shown(path);
                self.problems
                    .add(span.clone(), format!("cannot read `{path}`: {error}"))
                    .expected("a file, relative to the folder of the scenario")
                    .hint(format!("the path is `{shown}`"));
                None
            }
        }
    }

    /// Path of a named file for messages: beside the scenario.
    fn shown(&self, path: &str) -> String {
        let name = self.problems.source.name;
        match name.rfind(['/', '\\']) {
            Some(end) if !path.starts_with('/') => format!("{}{path}", &name[..=end]),
            _ => path.to_owned(),
        }
    }

    /// Reports a problem inside a file that the scenario names at `span`.
    fn report_in_file(&mut self, text: &str, problem: FileProblem<'_>, span: &Range<usize>) {
        let shown = self.shown(problem.path);
        let source = Source::new(&shown, text);
        let line = problem.line.unwrap_or(1);
        let mut at = source.line_span(line);
        if let Some(column) = problem.column {
            let offset = source.line(line).char_indices().nth(column.saturating_sub(1));
            at.start = (at.start + offset.map_or(0, |(i, _)| i)).min(at.end);
        }
        let mut diagnostic: Diagnostic = source.diagnostic(at, problem.message);
        diagnostic.expected = Some(problem.expected);
        diagnostic.hint = Some(problem.hint).filter(|hint| !hint.is_empty());
        self.problems.add_referenced(span, vec![diagnostic]);
    }
}

/// A problem inside a file that the scenario names.
struct FileProblem<'a> {
    path: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    message: String,
    expected: String,
    /// Empty for none.
    hint: String,
}

/// A time since the start of the run.
fn point(span: Duration) -> Instant {
    Instant::from_nanos(span.as_nanos())
}
