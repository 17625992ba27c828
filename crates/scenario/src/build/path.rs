//! Builds paths.

use super::direction::cell_names;
use super::{Builder, Generated, TraceSource, point};
use ::radio::{InterfaceKind, Profile};
use link::{LinkConfig, Rate};
use policy::DataPlan;
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use sim::{CellSpec, Hop, PathSpec};
use std::sync::Arc;
use units::{Duration, Instant, Seed};

/// Maximum number of paths. A connection numbers its addresses in one byte.
const MAX_PATHS: usize = 32;

impl Builder<'_, '_> {
    pub(super) fn paths(
        &mut self,
        nodes: &[Node],
        cells: &[CellSpec],
        duration: Duration,
        seed: Seed,
    ) -> (Vec<PathSpec>, Vec<Generated>) {
        self.unique_names(nodes, "paths");
        if let Some(node) = nodes.get(MAX_PATHS) {
            self.problems
                .add(node.span.clone(), format!("{} paths", nodes.len()))
                .expected(format!("at most {MAX_PATHS}"));
        }
        self.check_lte_cells(nodes, cells);
        let mut paths = Vec::with_capacity(nodes.len());
        let mut generated = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let Some(fields) = node.fields() else {
                paths.push(placeholder());
                continue;
            };
            let (mut path, models) = self.path(index, fields, cells, duration);
            // Traces are drawn only for a scenario without problems.
            if self.problems.found.is_empty() {
                for model in &models {
                    let hop = if model.down { &mut path.down } else { &mut path.up };
                    if let Hop::Link(link) = hop {
                        link.rate = Rate::Trace(model.draw(seed, duration));
                    }
                }
            }
            generated.extend(models);
            paths.push(path);
        }
        (paths, generated)
    }

    /// A path, and its directions with traces that follow the seed.
    fn path(
        &mut self,
        index: usize,
        fields: &Fields,
        cells: &[CellSpec],
        duration: Duration,
    ) -> (PathSpec, Vec<Generated>) {
        let name = fields.text("name").unwrap_or_default().to_owned();
        // Results name profiles, so each without a name needs a default name of its own. A path's
        // name has no dot.
        let mut unnamed = 0;
        let mut radio = |this: &mut Self, node: &Node| {
            unnamed += usize::from(super::radio::is_unnamed(node));
            let default = if unnamed > 1 { format!("{name}.{unnamed}") } else { name.clone() };
            this.radio(node, &default)
        };
        let profile = fields.get("radio").and_then(|node| radio(self, node));
        let also_measure = fields.list("also_measure").iter().filter_map(|node| radio(self, node)).collect();
        self.check_times(fields, duration);
        if !fields.given("allowance") {
            self.not_with(fields, &["allowance_period"], "without `allowance`", "add `allowance = \"2GB\"`");
        }
        let mut models = Vec::new();
        let mut hop = |this: &mut Self, key: &str, down: bool| {
            let Some(direction) = fields.fields(key) else { return Hop::Link(LinkConfig::default()) };
            let (hop, source) = this.direction(direction, cells, duration, (&name, down));
            models.extend(source.map(|source| {
                let name = match source {
                    TraceSource::Model(..) => format!("{name}.{}", if down { "down" } else { "up" }),
                    TraceSource::RandomStart(_) => name.clone(),
                };
                Generated { path: index, down, name, source }
            }));
            hop
        };
        let down = hop(self, "down", true);
        let up = if fields.given("up") {
            hop(self, "up", false)
        } else {
            let reported = self.problems.found.len();
            let up = hop(self, "down", false);
            self.keep_new_problems_of_up(reported);
            up
        };
        let path = PathSpec {
            profile: profile.unwrap_or_else(silent),
            down,
            up,
            middleboxes: self.middleboxes(fields.list("middlebox")),
            backup: fields.flag("backup").unwrap_or(false),
            join_at: fields.time("join_at").map_or(Instant::ZERO, point),
            leave_at: fields.time("leave_at").map(point),
            allowance: fields
                .size("allowance")
                .map(|allowance| DataPlan { allowance, period: fields.time("allowance_period") }),
            also_measure,
            name,
        };
        (path, models)
    }

    /// Drops problems after the first `reported` ones that repeat one of those, and adds a hint to the
    /// others. They belong to the uplink of a path without `up`, which reads the trace of `down`.
    fn keep_new_problems_of_up(&mut self, reported: usize) {
        let found = &mut self.problems.found;
        let mut new = found.split_off(reported);
        new.retain(|one| {
            !found.iter().any(|other| (&other.file, &other.message) == (&one.file, &one.message))
        });
        for problem in &mut new {
            let given = problem.hint.take().map_or_else(String::new, |hint| format!("{hint}; "));
            problem.hint(format!(
                "{given}without `up` the uplink follows the same file: give the path an `up`, or the trace a \
                 `column` for both directions"
            ));
        }
        found.append(&mut new);
    }

    fn check_times(&mut self, fields: &Fields, duration: Duration) {
        self.in_order(fields, "join_at", "leave_at");
        if let Some(join) = fields.time("join_at").filter(|&join| join >= duration && !join.is_zero()) {
            self.problems
                .add(
                    fields.span("join_at"),
                    format!("`join_at` of {join} is after the end of the run of {duration}"),
                )
                .expected(format!("a time before {duration}"))
                .hint("choose an earlier `join_at` or a longer `duration`");
        }
    }

    /// Reports LTE cells that serve both directions: downlink and uplink of LTE do not compete.
    fn check_lte_cells(&mut self, nodes: &[Node], cells: &[CellSpec]) {
        for cell in cells.iter().filter(|c| c.config.kind == link::CellKind::Lte) {
            let mut first = None;
            for fields in nodes.iter().filter_map(Node::fields) {
                self.check_lte_cell(fields, &cell.name, &mut first);
            }
        }
    }

    /// Checks one path; `first` is the first use of the cell: direction and line.
    pub(super) fn check_lte_cell(
        &mut self,
        fields: &Fields,
        name: &str,
        first: &mut Option<(&'static str, usize)>,
    ) {
        let hint = "add a second `[[cell]]` for the other direction, or give that a `rate`";
        let in_cell = |key: &str| fields.fields(key).filter(|d| cell_names(d).contains(&name));
        if in_cell("down").is_some() && !fields.given("up") {
            self.problems
                .add(
                    fields.span.clone(),
                    format!("the LTE cell `{name}` serves one direction; this path needs `up`"),
                )
                .expected("its own `up`")
                .hint(hint);
        }
        for key in ["down", "up"] {
            let Some(direction) = in_cell(key) else { continue };
            let at = direction.span("cell");
            let (other, line) = *first.get_or_insert((key, self.problems.source.locate(at.start).0));
            if other != key {
                let message = format!(
                    "the LTE cell `{name}` is used for `{other}` on line {line}, and here for `{key}`"
                );
                self.problems.add(at, message).expected("one direction for each LTE cell").hint(hint);
            }
        }
    }
}

/// Keeps the index of a path with problems, so that the others keep theirs.
fn placeholder() -> PathSpec {
    PathSpec {
        name: String::new(),
        profile: silent(),
        down: Hop::Link(LinkConfig::default()),
        up: Hop::Link(LinkConfig::default()),
        middleboxes: Vec::new(),
        backup: false,
        join_at: Instant::ZERO,
        leave_at: None,
        allowance: None,
        also_measure: Vec::new(),
    }
}

fn silent() -> Arc<Profile> {
    Arc::new(Profile::silent("none", InterfaceKind::Other))
}
