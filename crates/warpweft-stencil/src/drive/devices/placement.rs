//! Which of several GPUs take part in a run, and which subdomain each has: PARTANS' choice (§6.5) by what the links
//! between them were measured to do or, unmeasured, by the driver's ranks of links. Not: how subdomains are cut
//! (`cut`).

use crate::drive::cut::select::{Selection, of_each_size};
use crate::drive::ranks::count::Ranks;
use crate::model::ghost::{GhostModel, Kernel, Linear, Overlap, Staging, Subdomain};
use crate::plan::halo::{Reach, footprints};
use crate::spec::Spec;
use crate::spec::boundary::Face;
use warpweft_core::grid::Axes;
use warpweft_core::machine::{Gpu, Probe};

/// Taken where nothing was measured: of the order of an H200's. Bytes a second that a GPU copies, that cross a link
/// between GPUs, and that cross one to the host; seconds of a launch in a graph, of one in a stream, of a flag to
/// another GPU, and of a message between two threads of the host.
const COPY: f64 = 3e12;
const PEER: f64 = 3.7e11;
const TO_HOST: f64 = 2.5e10;
const GRAPH_LAUNCH: f64 = 6e-7;
const LAUNCH: f64 = 3.9e-6;
const HOP: f64 = 1.4e-6;
const HAND_OVER: f64 = 2e-5;
/// Launches of a halo message: it is packed, waited for and unpacked (`cuda::peers`).
const LAUNCHES_PER_MESSAGE: f64 = 3.0;
/// More GPUs must be predicted faster by this factor: tuning measures, this guesses.
const WORTH: f64 = 1.25;

/// The GPUs that a run may have, and what is known of them.
pub(crate) struct Placement<'a> {
    spec: &'a Spec,
    gpus: &'a [&'a Gpu],
    probe: Option<Probe>,
    /// How the volume is cut for one GPU, two, and so on; none where it can't be.
    cuts: Vec<Option<Cut>>,
}

/// How a volume is cut for a number of GPUs.
struct Cut {
    /// The largest subdomain.
    largest: Subdomain,
    /// The most steps between two halo exchanges.
    deepest: usize,
    /// Per subdomain, those beyond its faces.
    neighbours: Vec<Vec<usize>>,
}

impl<'a> Placement<'a> {
    pub(crate) fn new(
        spec: &'a Spec,
        extents: Axes<usize>,
        gpus: &'a [&'a Gpu],
        probe: Option<Probe>,
    ) -> Self {
        let cuts = (1..=gpus.len()).map(|count| Cut::of(spec, extents, count)).collect();
        Self { spec, gpus, probe, cuts }
    }

    /// The numbers of as many GPUs as pay, in the order of their subdomains: so many that every further doubling is
    /// predicted to be faster by a quarter.
    pub(crate) fn worthwhile(&self) -> Vec<usize> {
        let all = self.gpus.len();
        let found = of_each_size(all, |gpus| self.seconds(gpus)).into_iter();
        let counted =
            found.filter(|it| it.devices.len() == all || it.devices.len().is_power_of_two());
        let faster = |best: Selection, next: Selection| match next.seconds * WORTH < best.seconds {
            true => next,
            false => best,
        };
        self.numbers(counted.reduce(faster))
    }

    /// The numbers of the `count` GPUs with the best links, in the order of their subdomains.
    pub(crate) fn of(&self, count: usize) -> Vec<usize> {
        let found = of_each_size(self.gpus.len(), |gpus| self.seconds(gpus));
        let found = self.numbers(found.into_iter().find(|it| it.devices.len() == count));
        match found.len() == count {
            true => found,
            // What can't be cut is refused by the run, with the reason.
            false => self.gpus.iter().take(count).map(|gpu| gpu.ordinal).collect(),
        }
    }

    fn numbers(&self, found: Option<Selection>) -> Vec<usize> {
        let devices = found.map_or_else(|| vec![0], |found| found.devices);
        devices.into_iter().filter_map(|at| Some(self.gpus.get(at)?.ordinal)).collect()
    }

    /// Predicted seconds a step if subdomain p is on GPU `gpus[p]`: those of the subdomain with the slowest links.
    fn seconds(&self, gpus: &[usize]) -> Option<f64> {
        let cut = self.cuts.get(gpus.len() - 1)?.as_ref()?;
        let of_part = |part: usize| {
            let model = self.model(gpus, part, &cut.neighbours[part]);
            model.best_depth(&cut.largest, cut.deepest).1.seconds
        };
        (0..gpus.len()).map(of_part).reduce(f64::max)
    }

    /// What a step and a halo exchange cost the GPU of a subdomain.
    fn model(&self, gpus: &[usize], part: usize, neighbours: &[usize]) -> GhostModel {
        let probes = || self.probe.iter().flat_map(|probe| &probe.gpus);
        let least = |rates: Vec<f64>, or: f64| rates.into_iter().reduce(f64::min).unwrap_or(or);
        let copy = least(probes().filter_map(|gpu| gpu.bandwidth()).collect(), COPY);
        let most = |times: Vec<f64>, or: f64| times.into_iter().reduce(f64::max).unwrap_or(or);
        let launch = most(probes().filter_map(|gpu| gpu.launch).collect(), LAUNCH);
        // Steps of a whole volume are launched by graphs, those of subdomains one by one.
        let step = match neighbours {
            [] => most(probes().filter_map(|gpu| gpu.graph_launch).collect(), GRAPH_LAUNCH),
            _ => launch,
        };
        let links: Vec<_> =
            neighbours.iter().map(|&other| self.link(gpus[part], gpus[other])).collect();
        let messages = links.len() as f64;
        let network = Linear {
            per_unit: links.iter().map(|link| link.per_unit).sum::<f64>() / messages.max(1.0),
            fixed: links.iter().map(|link| link.fixed).fold(0.0, f64::max)
                + messages * LAUNCHES_PER_MESSAGE * launch,
        };
        GhostModel {
            compute: Linear { per_unit: self.spec.step_bytes() as f64 / copy, fixed: step },
            network,
            host_link: Linear::default(),
            kernel: Kernel::ShrinkingLaunches,
            staging: Staging::None,
            // A guess had better take too few GPUs than too many.
            overlap: Overlap::None,
        }
    }

    /// Seconds of a byte and of a message between two GPUs: stores into the neighbour's memory where it can be
    /// addressed, else through the host.
    fn link(&self, from: usize, to: usize) -> Linear {
        let (from, to) = (self.gpus[from], self.gpus[to]);
        let measured = self.probe.as_ref().and_then(|probe| probe.pair(from.ordinal, to.ordinal));
        let copy = measured.and_then(|pair| pair.copy);
        match from.links.iter().find(|link| link.to == to.ordinal && link.peer) {
            Some(link) => {
                let slower = 1.0 + f64::from(link.rank.unwrap_or(0));
                Linear {
                    per_unit: copy.map_or(slower / PEER, f64::recip),
                    fixed: measured.and_then(|pair| pair.hop).unwrap_or(slower * HOP),
                }
            }
            None => Linear { per_unit: copy.map_or(2.0 / TO_HOST, f64::recip), fixed: HAND_OVER },
        }
    }
}

impl Cut {
    fn of(spec: &Spec, extents: Axes<usize>, count: usize) -> Option<Self> {
        let found = spec.distribution(extents, &Ranks { count, grid: None, depth: None }).ok()?;
        let fields = spec.written_fields().into_iter().map(|field| spec.cell.size(field));
        let reach = Reach::new(spec.rank(), &footprints(&spec.stages), spec.cell.len(), 1);
        let partition = &found.partition;
        let faces = (0..spec.rank()).flat_map(|axis| [(axis, Face::Low), (axis, Face::High)]);
        let beyond = |part: usize| {
            let there = |(axis, face)| partition.neighbour(part, axis, face);
            faces.clone().filter_map(there).collect()
        };
        Some(Self {
            largest: Subdomain::largest(partition, &reach, fields.sum::<usize>() as f64),
            deepest: found.depth,
            neighbours: (0..count).map(beyond).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{Near, stencil};
    use crate::{Boundary, Stencil};
    use warpweft_core::machine::{Link, PairProbe};

    #[stencil]
    fn mean(u: Near<f32, 3>) -> f32 {
        let across = u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]];
        0.125 * (u[[-1, 0, 0]] + u[[1, 0, 0]] + across)
    }

    /// GPUs with links of these ranks; none where a GPU can't address the other's memory.
    fn linked(count: usize, rank: impl Fn(usize, usize) -> Option<u32>) -> Vec<Gpu> {
        let gpu = |ordinal: usize| {
            let link = |to: usize| {
                let rank = rank(ordinal, to);
                Link { to, peer: rank.is_some(), rank }
            };
            let links = (0..count).filter(|&to| to != ordinal).map(link).collect();
            Gpu {
                ordinal,
                name: "GPU".into(),
                capability: (9, 0),
                sms: 132,
                memory: 1 << 37,
                l2_bytes: 50 << 20,
                shared_per_sm: 228 << 10,
                shared_per_block: 227 << 10,
                registers_per_sm: 1 << 16,
                threads_per_sm: 2048,
                blocks_per_sm: 32,
                clock: 1.98e9,
                cooperative: true,
                links,
            }
        };
        (0..count).map(gpu).collect()
    }

    fn with<T>(
        gpus: &[Gpu],
        probe: Option<Probe>,
        cells: usize,
        of: impl Fn(&Placement) -> T,
    ) -> T {
        let stencil = Stencil::of(mean()).boundary(Boundary::Dirichlet(0.0));
        let gpus: Vec<&Gpu> = gpus.iter().collect();
        of(&Placement::new(&stencil, [cells; 3].into(), &gpus, probe))
    }

    #[test]
    fn small_volumes_take_one_gpu_and_large_ones_all() {
        let gpus = linked(4, |_, _| Some(0));
        let of_cells = |n: usize| with(&gpus, None, n, |it| it.worthwhile());
        let (one, all) = (vec![0], vec![0, 1, 2, 3]);
        assert_eq!([64, 128, 256, 512].map(of_cells), [one.clone(), one, all.clone(), all]);
    }

    #[test]
    fn neighbours_are_placed_on_gpus_with_fast_links() {
        // Even numbers have fast links to one another, as have odd ones.
        let gpus = linked(4, |a, b| Some(if a % 2 == b % 2 { 0 } else { 3 }));
        assert_eq!(with(&gpus, None, 512, |it| it.of(2)), [0, 2]);
        assert_eq!(with(&gpus, None, 512, |it| it.of(4)), [0, 2, 1, 3]);
        let equal = linked(4, |_, _| Some(0));
        assert_eq!(with(&equal, None, 512, |it| it.of(4)), [0, 1, 2, 3]);
        // A GPU without links would have its halos through the host.
        let apart = linked(3, |a, b| (a != 0 && b != 0).then_some(0));
        assert_eq!(with(&apart, None, 512, |it| it.of(2)), [1, 2]);
    }

    #[test]
    fn what_was_measured_of_links_outweighs_their_rank() {
        let gpus = linked(3, |_, _| Some(0));
        let copy = |a: usize, b: usize| if a + b == 3 { 3e11 } else { 1e10 };
        let pairs = (0..3).flat_map(|a| (0..3).filter(move |&b| b != a).map(move |b| (a, b)));
        let pair = |(from, to)| PairProbe {
            from,
            to,
            copy: Some(copy(from, to)),
            latency: None,
            hop: Some(1.4e-6),
        };
        let probe = Probe {
            cpu: Default::default(),
            gpus: Vec::new(),
            pairs: pairs.map(pair).collect(),
            notes: Vec::new(),
            seconds: 1.0,
            when: 0,
        };
        assert_eq!(with(&gpus, Some(probe), 512, |it| it.of(2)), [1, 2]);
    }
}
