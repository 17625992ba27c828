//! Devices of a scenario with several: the values that each device draws, and who adopts a policy.

use crate::build::Generated;
use link::Rate;
use policy::PolicyConfig;
use schema::diagnostic::Problems;
use schema::node::Fields;
use sim::{Backhaul, CellSpec, Experiment, Hop};
use units::{Duration, Instant, Rng, Seed};

/// The devices of a scenario with several, before each device's values are drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Crowd {
    /// Kinds of devices, in the order of the file.
    pub kinds: Vec<Kind>,
    /// Shares of the devices with another policy than their own, in the order of
    /// [`policy::REGISTRY`].
    pub adoption: Vec<(PolicyConfig, f64)>,
    pub(crate) sample: Duration,
    pub(crate) cells: Vec<CellSpec>,
    pub(crate) backhauls: Vec<PlacedBackhaul>,
}

/// A backhaul, and the channel of its stations.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlacedBackhaul {
    pub(crate) backhaul: Backhaul,
    pub(crate) place: PathPlace,
}

/// Devices of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Name of the kind.
    pub name: String,
    /// Number of devices.
    pub count: usize,
    /// Experiment of such a device, with the first of several values.
    pub template: Experiment,
    pub(crate) generated: Vec<Generated>,
    pub(crate) places: Vec<PathPlace>,
    /// Start of each traffic that draws it.
    pub(crate) starts: Vec<(usize, Draw<Duration>)>,
    /// Videos of each traffic that draws one.
    pub(crate) videos: Vec<(usize, Draw<traffic::Kind>)>,
}

/// Cells and channel of one path or backhaul, down and up; empty for links.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathPlace {
    /// Name of the path, or of the cell before the backhaul.
    pub(crate) name: String,
    /// Cells that the devices join in turn.
    pub(crate) cells: [Vec<usize>; 2],
    /// Signal-to-noise ratio, in dB.
    pub(crate) snr_db: [Option<Draw<f64>>; 2],
}

/// A value that each device draws.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Draw<T> {
    Uniform(T, T),
    /// Each with the same probability.
    OneOf(Vec<T>),
}

impl<T: Clone> Draw<T> {
    fn draw(&self, mut rng: Rng, between: impl Fn(&T, &T, f64) -> T) -> Option<T> {
        match self {
            Self::Uniform(low, high) => Some(between(low, high, rng.unit())),
            Self::OneOf(values) => values.get(rng.below(values.len() as u64) as usize).cloned(),
        }
    }
}

impl Crowd {
    /// Names of all devices, in the order of the file.
    pub fn device_names(&self) -> impl Iterator<Item = String> {
        self.kinds.iter().flat_map(|kind| (0..kind.count).map(|i| kind.device_name(i)))
    }

    /// Number of all devices.
    pub fn count(&self) -> usize {
        self.kinds.iter().map(|kind| kind.count).sum()
    }

    /// Draws the values of each device. The same seed gives the same devices; adoption changes
    /// nothing but their policies.
    pub fn draw(&self, seed: Seed) -> sim::Crowd {
        let devices = self.kinds.iter().flat_map(|kind| {
            let policies = self.policies(kind, seed);
            policies.into_iter().enumerate().map(move |(i, policy)| {
                let mut device = kind.draw(i, seed);
                device.device.policy = policy.unwrap_or(device.device.policy);
                device
            })
        });
        let devices: Vec<Experiment> = devices.collect();
        sim::Crowd {
            seed,
            duration: devices.first().map(|device| device.duration).unwrap_or_default(),
            sample: self.sample,
            cells: self.cells.clone(),
            backhauls: self.backhauls.iter().map(|placed| placed.draw(seed)).collect(),
            devices,
        }
    }

    /// The policy that each device of a kind adopts, if it does.
    fn policies(&self, kind: &Kind, seed: Seed) -> Vec<Option<PolicyConfig>> {
        kind.ranks(seed).into_iter().map(|rank| self.adopted(kind, rank).cloned()).collect()
    }

    /// The policy of the device of a rank. The first policy goes to the devices of the lowest ranks,
    /// each further one to the next ranks.
    fn adopted(&self, kind: &Kind, rank: usize) -> Option<&PolicyConfig> {
        let position = (rank as f64 + 0.5) / kind.count as f64;
        let mut before = 0.0;
        self.adoption.iter().find_map(|(policy, share)| {
            before += share;
            (position < before).then_some(policy)
        })
    }

    /// Each adopted policy, its share, and the number of devices that it reaches with any seed.
    pub fn adopters(&self) -> Vec<(&PolicyConfig, f64, usize)> {
        let ranks = || self.kinds.iter().flat_map(|kind| (0..kind.count).map(move |rank| (kind, rank)));
        let count = |policy: &PolicyConfig| {
            ranks().filter(|&(kind, rank)| self.adopted(kind, rank) == Some(policy)).count()
        };
        self.adoption.iter().map(|(policy, share)| (policy, *share, count(policy))).collect()
    }

    /// Names of the cells that no path and no backhaul joins.
    pub fn unused_cells(&self) -> Vec<&str> {
        let mut used = vec![false; self.cells.len()];
        let mut join = |hop: &Hop, places: &[usize]| {
            for &cell in places {
                used[cell] = true;
            }
            if let (Hop::Cell { cell, .. }, []) = (hop, places) {
                used[*cell] = true;
            }
        };
        for kind in &self.kinds {
            for (path, place) in kind.template.paths.iter().zip(&kind.places) {
                join(&path.down, &place.cells[0]);
                join(&path.up, &place.cells[1]);
            }
        }
        for placed in &self.backhauls {
            join(&placed.backhaul.down, &[]);
            join(&placed.backhaul.up, &[]);
        }
        let unused = self.cells.iter().zip(&used).filter(|(_, used)| !**used);
        unused.map(|(cell, _)| cell.name.as_str()).collect()
    }
}

impl Kind {
    /// Name of device number `i`.
    fn device_name(&self, i: usize) -> String {
        if self.count == 1 { self.name.clone() } else { format!("{}-{}", self.name, i + 1) }
    }

    /// The experiment of device number `i`.
    fn draw(&self, i: usize, seed: Seed) -> Experiment {
        let seed = seed.derive("device").derive(&self.name).derive(&i.to_string());
        let mut device = self.template.clone();
        device.seed = seed;
        device.device.name = self.device_name(i);
        for (path, place) in device.paths.iter_mut().zip(&self.places) {
            place.apply(i, seed, [&mut path.down, &mut path.up]);
        }
        for channel in &self.generated {
            let path = &mut device.paths[channel.path];
            if let Hop::Link(link) = if channel.down { &mut path.down } else { &mut path.up } {
                link.rate = Rate::Trace(channel.draw(seed, device.duration));
            }
        }
        let between = |low: &Duration, high: &Duration, at: f64| *low + high.saturating_sub(*low).mul_f64(at);
        for (traffic, start) in &self.starts {
            let rng = seed.derive("start").rng(&traffic.to_string());
            let start = start.draw(rng, between).unwrap_or_default();
            device.traffic[*traffic].start = Instant::ZERO + start;
        }
        for (traffic, video) in &self.videos {
            let rng = seed.derive("video").rng(&traffic.to_string());
            if let Some(kind) = video.draw(rng, |video, _, _| video.clone()) {
                device.traffic[*traffic].kind = kind;
            }
        }
        device
    }

    /// Rank of each device in the order of adoption: random, and such that every prefix has about
    /// the same share of the devices of each cell.
    fn ranks(&self, seed: Seed) -> Vec<usize> {
        let mut rng = seed.derive("adoption").rng(&self.name);
        let mut order: Vec<usize> = (0..self.count).collect();
        for i in (1..self.count).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let joined = |i: usize| -> Vec<usize> {
            let lists = self.places.iter().flat_map(|place| &place.cells).filter(|cells| !cells.is_empty());
            lists.map(|cells| cells[i % cells.len()]).collect()
        };
        let mut strata: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for i in order {
            let cells = joined(i);
            match strata.iter_mut().find(|(known, _)| *known == cells) {
                Some((_, members)) => members.push(i),
                None => strata.push((cells, vec![i])),
            }
        }
        let mut placed: Vec<(f64, usize)> = strata
            .iter()
            .flat_map(|(_, members)| {
                let count = members.len() as f64;
                members.iter().enumerate().map(move |(at, &i)| ((at as f64 + 0.5) / count, i))
            })
            .collect();
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks = vec![0; self.count];
        for (rank, (_, i)) in placed.into_iter().enumerate() {
            ranks[i] = rank;
        }
        ranks
    }
}

impl PlacedBackhaul {
    fn draw(&self, seed: Seed) -> Backhaul {
        let mut backhaul = self.backhaul.clone();
        self.place.apply(0, seed.derive("backhaul"), [&mut backhaul.down, &mut backhaul.up]);
        backhaul
    }
}

impl PathPlace {
    /// Sets cell and signal-to-noise ratio of the stations of device number `i`, down and up.
    pub(crate) fn apply(&self, i: usize, seed: Seed, hops: [&mut Hop; 2]) {
        let between = |low: &f64, high: &f64, at: f64| low + (high - low) * at;
        let mut down = None;
        for (direction, hop) in hops.into_iter().enumerate() {
            let Hop::Cell { cell, station } = hop else { continue };
            let cells = &self.cells[direction];
            if !cells.is_empty() {
                *cell = cells[i % cells.len()];
            }
            let name = ["down", "up"][direction];
            let drawn = self.snr_db[direction].as_ref();
            let drawn =
                drawn.and_then(|draw| draw.draw(seed.derive("snr").derive(&self.name).rng(name), between));
            let of_down = down.filter(|(joined, _)| joined == cell).map(|(_, snr)| snr);
            station.snr_db = drawn.or(of_down).filter(|_| station.link_rate.is_none());
            down = station.snr_db.map(|snr| (*cell, snr));
        }
    }
}

/// Reports a scenario of several devices to a reader that takes one.
pub(crate) fn refuse(root: &Fields, problems: &mut Problems<'_>) {
    problems
        .add(root.key_span("device"), "`[[device]]` makes this a scenario of several devices")
        .expected("one `[device]` in single brackets, with `[[path]]` and `[[traffic]]` beside it")
        .hint(
            "`tandem run`, `compare` and `check` take several devices; `testbed`, `emulate`, `sweep` and the \
             Python package take one",
        );
}
