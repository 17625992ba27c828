//! Builds the backhauls of cells, and checks the directions in which paths join cells.

use super::super::Builder;
use super::super::direction::cell_names;
use crate::crowd::{Draw, PathPlace, PlacedBackhaul};
use link::CellKind;
use schema::node::{Fields, Node};
use sim::{Backhaul, CellSpec, Hop};
use units::Duration;

impl Builder<'_, '_> {
    pub(super) fn backhauls(
        &mut self,
        root: &Fields,
        cells: &[CellSpec],
        duration: Duration,
    ) -> Vec<PlacedBackhaul> {
        let nodes = root.list("cell").iter().filter_map(Node::fields);
        let with: Vec<(usize, &Fields)> =
            nodes.enumerate().filter_map(|(i, fields)| Some((i, fields.fields("backhaul")?))).collect();
        let behind: Vec<&str> = with.iter().map(|(i, _)| cells[*i].name.as_str()).collect();
        let mut all = Vec::new();
        for (cell, fields) in with {
            if cells[cell].config.kind == CellKind::Lte {
                self.problems
                    .add(fields.span.clone(), "`backhaul` has no effect in an LTE cell")
                    .expected("no `backhaul` here")
                    .hint("it needs `kind = \"wifi\"`");
            }
            let mut hop = |key: &str, down: bool| -> Option<(Hop, Option<Draw<f64>>)> {
                let direction = fields.fields(key)?;
                if let Some(other) = cell_names(direction).iter().find(|name| behind.contains(name)) {
                    self.problems
                        .add(direction.span("cell"), format!("the cell `{other}` has a backhaul itself"))
                        .expected("a cell without a backhaul")
                        .hint("a backhaul is a link, or a station of such a cell");
                } else if cell_names(direction).len() > 1 {
                    self.problems
                        .add(direction.span("cell"), "a backhaul joins one cell")
                        .expected("the name of one cell")
                        .hint("give each cell of a list its own access point");
                }
                let (hop, source) = self.direction(direction, cells, duration, ("backhaul", down));
                if source.is_some() {
                    self.problems
                        .add(direction.span.clone(), "a backhaul has no random channel")
                        .expected("`rate`, `trace` or `cell`")
                        .hint("give the backhaul a `rate`, or a station of an LTE cell with `fading`");
                }
                let snr = direction.get("snr_db").and_then(|node| self.drawn_number(direction, node));
                Some((hop, snr))
            };
            let (down, up) = (hop("down", true), hop("up", false));
            if let (Some((down, snr_down)), Some((up, snr_up))) = (down, up) {
                let place = PathPlace {
                    name: cells[cell].name.clone(),
                    cells: [Vec::new(), Vec::new()],
                    snr_db: [snr_down, snr_up],
                };
                all.push(PlacedBackhaul { backhaul: Backhaul { cell, down, up }, place });
            }
        }
        all
    }

    /// Reports LTE cells that serve both directions, over all paths and backhauls, and paths that
    /// cross a cell with a backhaul in one direction.
    pub(super) fn check_directions_of_cells(&mut self, root: &Fields, cells: &[CellSpec]) {
        let devices = root.list("device").iter().filter_map(Node::fields);
        let paths: Vec<&Fields> =
            devices.flat_map(|device| device.list("path")).filter_map(Node::fields).collect();
        let tables: Vec<&Fields> = root.list("cell").iter().filter_map(Node::fields).collect();
        let backhauls: Vec<&Fields> = tables.iter().filter_map(|cell| cell.fields("backhaul")).collect();
        for cell in cells.iter().filter(|cell| cell.config.kind == CellKind::Lte) {
            let mut first = None;
            for fields in paths.iter().chain(&backhauls) {
                self.check_lte_cell(fields, &cell.name, &mut first);
            }
        }
        for cell in tables.iter().filter(|cell| cell.given("backhaul")) {
            let name = cell.text("name").unwrap_or_default();
            for path in paths.iter().filter(|path| path.given("up")) {
                let joins = |key: &str| path.fields(key).is_some_and(|d| cell_names(d).contains(&name));
                if joins("down") != joins("up") {
                    let key = if joins("down") { "up" } else { "down" };
                    self.problems
                        .add(
                            path.span(key),
                            format!("only one direction of this path joins the cell `{name}`"),
                        )
                        .expected("both directions in a cell with a backhaul")
                        .hint(format!("write `{key} = {{ cell = \"{name}\" }}`"));
                }
            }
        }
    }
}
