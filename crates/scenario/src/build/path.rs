//! Paths.

use super::{Builder, Generated, point};
use ::radio::{InterfaceKind, Profile};
use link::{LinkConfig, Rate};
use policy::DataPlan;
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use sim::{CellSpec, Hop, PathSpec};
use std::sync::Arc;
use units::{Duration, Instant, Seed};

/// Addresses of a connection are numbered in one byte; nobody has so many radios.
const MOST_PATHS: usize = 32;

impl Builder<'_, '_> {
    pub(super) fn paths(
        &mut self,
        nodes: &[Node],
        cells: &[CellSpec],
        duration: Duration,
        seed: Seed,
    ) -> (Vec<PathSpec>, Vec<Generated>) {
        self.unique_names(nodes, "paths");
        if let Some(node) = nodes.get(MOST_PATHS) {
            self.problems
                .add(node.span.clone(), format!("{} paths", nodes.len()))
                .expected(format!("at most {MOST_PATHS}"));
        }
        self.lte_cells_are_one_way(nodes, cells);
        let mut generated = Vec::new();
        let fields = nodes.iter().map(|n| n.fields());
        let paths = fields
            .enumerate()
            .map(|(index, fields)| {
                let mut drawn = Vec::new();
                let mut path =
                    fields.map_or_else(empty, |f| self.path(index, f, cells, duration, &mut drawn));
                // Drawing a trace of a file that has problems would be work for nothing.
                if self.problems.found.is_empty() {
                    for model in &drawn {
                        let hop = if model.down { &mut path.down } else { &mut path.up };
                        if let Hop::Link(link) = hop {
                            link.rate = Rate::Trace(model.draw(seed, duration));
                        }
                    }
                }
                generated.append(&mut drawn);
                path
            })
            .collect();
        (paths, generated)
    }

    fn path(
        &mut self,
        index: usize,
        fields: &Fields,
        cells: &[CellSpec],
        duration: Duration,
        drawn: &mut Vec<Generated>,
    ) -> PathSpec {
        let name = fields.text("name").unwrap_or_default().to_owned();
        let profile = fields.get("radio").and_then(|node| self.radio(node, &name));
        let measured = fields.list("also_measure").iter().filter_map(|node| self.radio(node, &name));
        let also_measure = measured.collect();
        self.in_order(fields, "join_at", "leave_at");
        if !fields.given("allowance") {
            self.not_with(fields, &["allowance_period"], "without `allowance`", "add `allowance = \"2GB\"`");
        }
        if let Some(join) = fields.time("join_at").filter(|&join| join >= duration && !join.is_zero()) {
            self.problems
                .add(
                    fields.span("join_at"),
                    format!("`join_at` is {join}, when the run of {duration} is over"),
                )
                .expected(format!("a time before {duration}"))
                .hint("an earlier `join_at`, or a longer `duration`");
        }
        let mut hop = |this: &mut Self, key: &str, down: bool| {
            let (hop, model) = match fields.fields(key) {
                Some(direction) => this.direction(direction, cells, duration),
                None => (Hop::Link(LinkConfig::default()), None),
            };
            let source = format!("{name}.{}", if down { "down" } else { "up" });
            if let Some((model, seed)) = model {
                drawn.push(Generated { path: index, down, name: source, model, seed });
            }
            hop
        };
        let down = hop(self, "down", true);
        let up = if fields.given("up") {
            hop(self, "up", false)
        } else {
            // What was wrong with `down` has been said once.
            let before = self.problems.found.len();
            let up = hop(self, "down", false);
            self.problems.found.truncate(before);
            up
        };
        let middleboxes = self.middleboxes(fields.list("middlebox"));
        PathSpec {
            name,
            profile: profile.unwrap_or_else(silent),
            down,
            up,
            middleboxes,
            backup: fields.flag("backup").unwrap_or(false),
            join_at: fields.time("join_at").map_or(Instant::ZERO, point),
            leave_at: fields.time("leave_at").map(point),
            allowance: fields
                .size("allowance")
                .map(|allowance| DataPlan { allowance, period: fields.time("allowance_period") }),
            also_measure,
        }
    }

    /// An LTE cell is one direction: what it sends down does not compete with what goes up.
    fn lte_cells_are_one_way(&mut self, nodes: &[Node], cells: &[CellSpec]) {
        for cell in cells.iter().filter(|c| c.config.kind == link::CellKind::Lte) {
            let name = cell.name.as_str();
            let mut first: Option<(&str, usize)> = None;
            for fields in nodes.iter().filter_map(Node::fields) {
                let on_cell = |key: &str| fields.fields(key).is_some_and(|d| d.text("cell") == Some(name));
                let hint = "add a second `[[cell]]` for the other direction, or give that a `rate`";
                if on_cell("down") && !fields.given("up") {
                    self.problems
                        .add(
                            fields.span.clone(),
                            format!("the LTE cell `{name}` is one direction; this path needs `up`"),
                        )
                        .expected("an `up` of its own")
                        .hint(hint);
                }
                for key in ["down", "up"] {
                    if !on_cell(key) {
                        continue;
                    }
                    let at = fields.fields(key).map_or(fields.span.clone(), |d| d.span("cell"));
                    let line = self.problems.source.locate(at.start).0;
                    match first {
                        None => first = Some((key, line)),
                        Some((other, line)) if other != key => {
                            self.problems
                                .add(
                                    at,
                                    format!(
                                        "the LTE cell `{name}` is `{other}` on line {line}, and here `{key}`"
                                    ),
                                )
                                .expected("one direction for each LTE cell")
                                .hint(hint);
                        }
                        Some(_) => {}
                    }
                }
            }
        }
    }
}

/// Stands for a path that could not be read, so that the others keep their places.
fn empty() -> PathSpec {
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
