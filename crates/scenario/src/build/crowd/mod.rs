//! Builds the devices of a scenario with several.

mod adoption;
mod cells;

use super::direction::cell_names;
use super::limits::MAX_PACKETS_PER_SECOND;
use super::shared_media::SharedMedia;
use super::{Builder, Built};
use crate::crowd::{Crowd, Draw, Kind, PathPlace};
use policy::PolicyConfig;
use quantities::{Quantities as _, QuantityNode as _};
use schema::node::{Fields, Node};
use sim::{CellSpec, Device, Experiment, Protocol, Transport};
use units::{Duration, Energy, Power, Seed};

/// Most cells of a scenario.
const MAX_CELLS: usize = 1000;
/// Most devices of a scenario.
const MAX_DEVICES: usize = 10_000;
/// Most connections and flows of datagrams, and most paths, of all devices: a packet has 16 bits for
/// the former and 15 for the latter.
const MAX_FLOWS: usize = 60_000;
const MAX_PATHS: usize = 30_000;
/// Most steps of the traces that all devices draw: some 50 bytes each.
const MAX_DRAWN_STEPS: usize = 10_000_000;

impl Builder<'_, '_> {
    /// A scenario of several devices.
    pub(super) fn crowd(&mut self, root: &Fields) -> Built {
        let duration = root.time("duration").unwrap_or(Duration::from_secs(1));
        let sample = root.time("sample").unwrap_or(duration);
        let seed = Seed::new(root.integer("seed").unwrap_or(1).max(0) as u64);
        self.check_sample(root, sample, duration, root.list("cell").len().clamp(1, MAX_CELLS));
        if let Some(node) = root.list("cell").get(MAX_CELLS) {
            self.problems
                .add(node.span.clone(), format!("{} cells in all", root.list("cell").len()))
                .expected(format!("at most {MAX_CELLS}"));
            // The rest takes a time of cells times devices.
            return built(root, no_device(seed, duration));
        }
        let cells = self.cells(root.list("cell"));
        self.check_directions_of_cells(root, &cells);
        let backhauls = self.backhauls(root, &cells, duration);
        let media = SharedMedia { cells: &cells, backhauls: &backhauls };
        let nodes = root.list("device");
        self.unique_names(nodes, "devices");
        let kinds: Vec<Kind> = nodes
            .iter()
            .filter_map(Node::fields)
            .map(|fields| self.kind_of_device(root, fields, media, (duration, seed)))
            .collect();
        self.check_numbers(nodes, &kinds);
        let adoption =
            root.fields("adoption").map(|fields| self.adoption(fields, &kinds)).unwrap_or_default();
        let first = kinds.first().map(|kind| Experiment { cells: cells.clone(), ..kind.template.clone() });
        Built {
            traces: core::mem::take(&mut self.used_traces),
            crowd: Some(Crowd { kinds, adoption, sample, cells, backhauls }),
            ..built(root, first.unwrap_or_else(|| no_device(seed, duration)))
        }
    }

    fn kind_of_device(
        &mut self,
        root: &Fields,
        fields: &Fields,
        media: SharedMedia<'_>,
        (duration, seed): (Duration, Seed),
    ) -> Kind {
        let (template, generated) = self.template(root, fields, media, (duration, seed));
        let mut places: Vec<PathPlace> = Vec::new();
        for node in fields.list("path") {
            places.push(node.fields().map_or_else(no_place, |path| self.place(path, media.cells)));
        }
        let (mut starts, mut videos, mut connection) = (Vec::new(), Vec::new(), 0);
        for traffic in fields.list("traffic").iter().filter_map(Node::fields) {
            let is_datagrams = traffic.text("kind") == Some("vbr") && traffic.text("protocol") != Some("tcp");
            if let Some(start) = traffic.get("start").and_then(|node| self.drawn_time(node)) {
                if is_datagrams {
                    self.problems
                        .add(traffic.span("start"), "a flow of datagrams does not draw its start")
                        .expected("one time")
                        .hint("give `start` as one time, or use `protocol = \"tcp\"`");
                }
                self.check_drawn_start(traffic, &start, duration);
                starts.push((connection, start));
            }
            let manifests = traffic.get("manifest").map_or(&[][..], Node::list);
            if !manifests.is_empty() {
                let all = manifests.iter().map(|node| self.video_of(traffic, Some(node))).collect();
                videos.push((connection, Draw::OneOf(all)));
            }
            connection += usize::from(!is_datagrams);
        }
        if !self.problems.found.is_empty() {
            (starts, videos) = (Vec::new(), Vec::new());
        }
        Kind {
            name: fields.text("name").unwrap_or_default().to_owned(),
            count: fields.integer("count").unwrap_or(1).max(1) as usize,
            template,
            generated,
            places,
            starts,
            videos,
        }
    }

    /// The experiment of a device of one kind, with the first of several values and without cells,
    /// which belong to the crowd.
    fn template(
        &mut self,
        root: &Fields,
        fields: &Fields,
        media: SharedMedia<'_>,
        (duration, seed): (Duration, Seed),
    ) -> (Experiment, Vec<super::Generated>) {
        let nodes = fields.list("path");
        let (paths, generated) = self.paths(nodes, media.cells, duration, seed);
        let is_valid = self.problems.found.is_empty();
        let device = self.device(Some(fields), is_valid.then_some(&paths));
        let transport = fields.fields("transport").or_else(|| root.fields("transport"));
        let transport = self.transport(transport, nodes, &paths, media);
        let (traffic, background) = self.traffic(fields.list("traffic"), root.time("duration"), &paths);
        let experiment = Experiment {
            seed,
            duration,
            sample: Duration::ZERO,
            device,
            cells: Vec::new(),
            paths,
            transport,
            traffic,
            background,
            capture: false,
        };
        (experiment, generated)
    }

    /// Cells and channel of a path.
    fn place(&mut self, path: &Fields, cells: &[CellSpec]) -> PathPlace {
        let up = if path.given("up") { "up" } else { "down" };
        let mut place = PathPlace { name: path.text("name").unwrap_or_default().to_owned(), ..no_place() };
        for (i, key) in ["down", up].into_iter().enumerate() {
            let Some(direction) = path.fields(key) else { continue };
            let names = cell_names(direction);
            place.cells[i] =
                names.iter().filter_map(|name| cells.iter().position(|c| c.name == *name)).collect();
            let is_own = i == 0 || up == "up";
            place.snr_db[i] = if is_own {
                direction.get("snr_db").and_then(|node| self.drawn_number(direction, node))
            } else {
                None
            };
        }
        self.check_order_of_cells(path);
        place
    }

    /// Reports a device that would join one cell for `down` and another of the same cells for `up`.
    fn check_order_of_cells(&mut self, path: &Fields) {
        let (Some(down), Some(up)) = (path.fields("down"), path.fields("up")) else { return };
        let (down_names, up_names) = (cell_names(down), cell_names(up));
        let share = down_names.iter().any(|name| up_names.contains(name));
        if share && down_names != up_names {
            self.problems
                .add(up.span("cell"), "`down` and `up` join the same cells in different orders")
                .expected(format!("`cell = {down_names:?}`, as in `down`"))
                .hint("a device joins the cell at its place in each list");
        }
    }

    /// A signal-to-noise ratio that is fixed or drawn.
    fn drawn_number(&mut self, direction: &Fields, node: &Node) -> Option<Draw<f64>> {
        if cell_names(direction).is_empty() {
            self.not_with(direction, &["snr_db"], "without `cell`", "a `model` has its own `snr_db`");
        } else if direction.given("link_rate") {
            self.not_with(direction, &["snr_db"], "with `link_rate`", "remove one of the two");
        }
        if let Some(number) = node.number() {
            return Some(Draw::OneOf(vec![number]));
        }
        if let Some(fields) = node.fields() {
            let [low, high] = fields.list("uniform") else { return None };
            let (low_value, high_value) = (low.number()?, high.number()?);
            self.check_bounds(fields, low_value <= high_value);
            return Some(Draw::Uniform(low_value, high_value));
        }
        Some(Draw::OneOf(node.list().iter().filter_map(Node::number).collect()))
    }

    /// A start that is drawn; `None` for one time.
    fn drawn_time(&mut self, node: &Node) -> Option<Draw<Duration>> {
        if let Some(fields) = node.fields() {
            let [low, high] = fields.list("uniform") else { return None };
            let (low, high) = (low.time()?, high.time()?);
            self.check_bounds(fields, low <= high);
            return Some(Draw::Uniform(low, high));
        }
        let times: Vec<Duration> = node.list().iter().filter_map(Node::time).collect();
        (!times.is_empty()).then_some(Draw::OneOf(times))
    }

    /// Reports a start that can come after the end of the traffic, or that always comes after the run.
    fn check_drawn_start(&mut self, traffic: &Fields, start: &Draw<Duration>, duration: Duration) {
        let (earliest, latest) = match start {
            Draw::Uniform(low, high) => (*low, *high),
            Draw::OneOf(times) => {
                let Some((low, high)) = times.iter().min().zip(times.iter().max()) else { return };
                (*low, *high)
            }
        };
        if let Some(stop) = traffic.time("stop").filter(|stop| *stop <= latest) {
            self.problems
                .add(
                    traffic.span("stop"),
                    format!("`stop` of {stop} is not after a `start` of up to {latest}"),
                )
                .expected(format!("a time after {latest}"))
                .hint("remove `stop` for no end");
        }
        if earliest >= duration {
            self.problems
                .add(
                    traffic.span("start"),
                    format!("every `start` is after the end of the run of {duration}"),
                )
                .expected(format!("a time before {duration}"))
                .hint("choose an earlier `start` or a longer `duration`");
        }
    }

    fn check_bounds(&mut self, fields: &Fields, is_ordered: bool) {
        if !is_ordered {
            self.problems
                .add(fields.span("uniform"), "the upper bound is below the lower one")
                .expected("the lower bound first")
                .hint("exchange the two bounds");
        }
    }

    fn check_numbers(&mut self, nodes: &[Node], kinds: &[Kind]) {
        let total = |each: fn(&Kind) -> usize| {
            let numbers = kinds.iter().map(|kind| kind.count.saturating_mul(each(kind)));
            numbers.fold(0, usize::saturating_add)
        };
        let flows = total(|kind| kind.template.traffic.len() + kind.template.background.len());
        let limits = [
            ("devices", total(|_| 1), MAX_DEVICES),
            ("connections", flows, MAX_FLOWS),
            ("paths", total(|kind| kind.template.paths.len()), MAX_PATHS),
            ("steps of drawn traces", total(drawn_steps), MAX_DRAWN_STEPS),
            ("writes per second", total(writes_per_second), MAX_PACKETS_PER_SECOND as usize),
        ];
        let Some(last) = nodes.last().and_then(Node::fields) else { return };
        for (what, count, max) in limits {
            if count > max {
                self.problems
                    .add(last.span("count"), format!("{count} {what} in all"))
                    .expected(format!("at most {max}"))
                    .hint("choose smaller values of `count`");
            }
        }
    }
}

/// Steps of the traces that a device of this kind draws.
fn drawn_steps(kind: &Kind) -> usize {
    let steps = kind.generated.iter().map(|channel| channel.steps(kind.template.duration));
    steps.fold(0, usize::saturating_add)
}

/// Writes per second of the sources of a device of this kind that write at a rate, datagrams included.
fn writes_per_second(kind: &Kind) -> usize {
    let connections = kind.template.traffic.iter().map(|source| match &source.kind {
        traffic::Kind::Cbr { rate, packet } | traffic::Kind::OnOff { rate, packet, .. } => {
            (rate.as_bps() / 8 / packet.get().max(1)) as usize
        }
        traffic::Kind::Vbr(packets) => packets.peak_packets_per_second() as usize,
        _ => 0,
    });
    let datagrams = kind.template.background.iter().map(|one| one.packets.peak_packets_per_second() as usize);
    connections.chain(datagrams).fold(0, usize::saturating_add)
}

/// A scenario without devices.
fn built(root: &Fields, experiment: Experiment) -> Built {
    Built {
        title: root.text("title").unwrap_or_default().to_owned(),
        description: root.text("description").map(str::to_owned),
        experiment,
        traces: Vec::new(),
        generated: Vec::new(),
        crowd: None,
    }
}

/// Stands for the first device of a scenario without one, which is a problem.
fn no_device(seed: Seed, duration: Duration) -> Experiment {
    Experiment {
        seed,
        duration,
        sample: Duration::ZERO,
        device: Device {
            name: String::new(),
            battery: Energy::default(),
            policy: PolicyConfig::default(),
            joint_power: Power::default(),
        },
        cells: Vec::new(),
        paths: Vec::new(),
        transport: Transport { protocol: Protocol::Mptcp, config: mptcp::Config::default() },
        traffic: Vec::new(),
        background: Vec::new(),
        capture: false,
    }
}

fn no_place() -> PathPlace {
    PathPlace { name: String::new(), cells: [Vec::new(), Vec::new()], snr_db: [None, None] }
}
