//! A distributed run on devices and networks that are not there: clocks, no data.
//!
//! Where the model of [`crate::model::ghost`] is one formula for the part that all wait for,
//! this follows every part and message: links shared by what crosses them together, parts at the
//! volume's faces, uneven cuts, noise that one part catches and its neighbours wait for.

use crate::exchange::halo_messages;
use crate::model::ghost::{Linear, core};
use crate::plan::halo::{Footprint, Reach};
use crate::plan::partition::Partition;
use warpweft_core::cluster::{Jitter, Transfer, Tree};
use warpweft_core::element::FieldInfo;

/// What is run on what.
#[derive(Clone, Debug)]
pub struct Simulation<'a> {
    /// Who owns which cells.
    pub partition: &'a Partition,
    /// The stages of a step.
    pub stages: &'a [Footprint],
    /// The fields of a cell.
    pub fields: &'a [FieldInfo],
    /// Seconds a cell takes for a whole step, and seconds a launch; one launch a stage and step.
    pub device: Linear,
    /// The network.
    pub network: &'a Tree,
    /// The device of each part.
    pub placement: &'a [usize],
    /// Whether the cells that neighbours wait for are computed first, with launches of their own, and
    /// the rest while halos fly (PARTANS §3.3).
    pub boundary_first: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Simulated {
    /// Seconds a step.
    pub seconds: f64,
    /// Of these, seconds that the average part computed.
    pub computing: f64,
}

/// Work and messages of one swap and the steps after it, without noise.
#[derive(Clone, Debug)]
pub struct Cycle {
    depth: usize,
    /// Per part, seconds until its neighbours' halos are computed, and until all is.
    computing: Vec<[f64; 2]>,
    /// Per phase: from, to, seconds.
    phases: Vec<Vec<(usize, usize, f64)>>,
}

impl Simulation<'_> {
    /// One swap and `depth` steps. Complexity: O(parts × depth × stages).
    pub fn cycle(&self, depth: usize) -> Cycle {
        let reach = Reach::new(self.partition.rank(), self.stages, self.fields.len(), depth);
        let written = |field: &usize| self.stages.iter().any(|s| s.writes.contains(field));
        let swapped: Vec<usize> = (0..self.fields.len()).filter(written).collect();
        let mut exact = Jitter::new(0, 0.0);
        let phases = halo_messages(self.partition, &reach, self.fields, &swapped);
        let timed = |phase: &Vec<crate::drive::HaloMessage>| -> Vec<(usize, usize, f64)> {
            let transfer = |m: &crate::drive::HaloMessage| Transfer {
                from: self.placement[m.from],
                to: self.placement[m.to],
                bytes: m.bytes as f64,
            };
            let transfers: Vec<_> = phase.iter().map(transfer).collect();
            let times = self.network.times(&transfers, &mut exact);
            phase.iter().zip(times).map(|(m, seconds)| (m.from, m.to, seconds)).collect()
        };
        let computing = (0..self.partition.parts()).map(|part| self.computing(part, &reach));
        Cycle { depth, computing: computing.collect(), phases: phases.iter().map(timed).collect() }
    }

    /// Seconds a step on one device of the same kind, without a network.
    pub fn alone(&self) -> f64 {
        let cells: usize = self.partition.extents().iter().product();
        self.device.seconds(cells as f64, self.stages.len() as f64)
    }

    fn computing(&self, part: usize, reach: &Reach) -> [f64; 2] {
        let dims = self.partition.rank();
        let sent = reach.deepest();
        let (mut all, mut inner) = (0.0, 0.0);
        for margin in reach.compute.iter().flatten() {
            all += self.partition.grown(part, margin).cells() as f64;
            inner += core(self.partition, part, &sent, margin).cells() as f64;
        }
        let per_cell = self.device.per_unit / self.stages.len() as f64;
        let launches = (reach.depth * self.stages.len()) as f64;
        let uncut = (0..dims).all(|axis| !self.partition.is_cut(axis));
        let launching = self.device.fixed * launches;
        let whole = all * per_cell + launching;
        if !self.boundary_first || uncut || inner == 0.0 {
            return [whole, whole];
        }
        [(all - inner) * per_cell + launching, whole + launching]
    }
}

impl Cycle {
    /// Steps between two swaps.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Runs `swaps` swaps with their steps; every computation and message gets its own noise.
    pub fn run(&self, swaps: usize, jitter: &mut Jitter) -> Simulated {
        let parts = self.computing.len();
        let mut clock = vec![0.0f64; parts];
        let mut computing = 0.0;
        for _ in 0..swaps {
            let mut halos = vec![0.0; parts];
            for part in 0..parts {
                let noise = jitter.factor();
                let [rim, all] = self.computing[part].map(|seconds| seconds * noise);
                halos[part] = clock[part] + rim;
                clock[part] += all;
                computing += all;
            }
            for phase in &self.phases {
                // A part sends once it has all of the phase before.
                let mut arrived = halos.clone();
                for &(from, to, seconds) in phase {
                    arrived[to] = arrived[to].max(halos[from] + seconds * jitter.factor());
                }
                halos = arrived;
            }
            for (clock, halos) in clock.iter_mut().zip(halos) {
                *clock = clock.max(halos);
            }
        }
        let steps = (swaps * self.depth) as f64;
        let end = clock.into_iter().fold(0.0, f64::max);
        Simulated { seconds: end / steps, computing: computing / parts as f64 / steps }
    }

    /// Seconds a step without noise.
    pub fn exact(&self) -> f64 {
        // Clocks of parts drift apart until the slowest paces all: a few swaps settle it.
        self.run(8, &mut Jitter::new(0, 0.0)).seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ghost::{GhostModel, Kernel, Overlap, Staging, Subdomain};
    use crate::spec::boundary::{Boundaries, Boundary};
    use warpweft_core::cluster::{Link, topology};
    use warpweft_core::element::ScalarKind;

    const F32: [FieldInfo; 1] = [FieldInfo { name: "", kind: ScalarKind::F32 }];
    const DEVICE: Linear = Linear { per_unit: 2e-12, fixed: 4e-6 };

    fn star(radius: usize) -> [Footprint; 1] {
        [Footprint { reads: vec![(0, [[radius; 2]; 3].into())], writes: vec![0] }]
    }

    fn slabs(extents: [usize; 3], parts: usize) -> Partition {
        let faces = Boundaries::all(3, Boundary::Periodic);
        Partition::grid(extents, [parts, 1, 1], &faces).unwrap()
    }

    #[test]
    fn without_noise_or_shared_links_it_is_the_analytical_model() {
        let (latency, bandwidth) = (2e-5, 1e10);
        let mut network = Tree::new(0.0);
        for _ in 0..4 {
            // Half of the latency on either side.
            network.device(0, Link { latency: latency / 2.0, bandwidth });
        }
        let partition = slabs([256, 64, 64], 4);
        let stages = star(2);
        let reach = Reach::new(3, &stages, 1, 1);
        let part = Subdomain::largest(&partition, &reach, 4.0);
        for (boundary_first, depth) in [(false, 1), (false, 3), (true, 1), (true, 5)] {
            let simulation = Simulation {
                partition: &partition,
                stages: &stages,
                fields: &F32,
                device: DEVICE,
                network: &network,
                placement: &[0, 1, 2, 3],
                boundary_first,
            };
            let model = GhostModel {
                compute: DEVICE,
                // Both halos of a part leave and arrive through its one link: a_m is per byte of
                // the whole zone, as in equation (5).
                network: Linear { per_unit: 1.0 / bandwidth, fixed: latency },
                host_link: Linear::default(),
                kernel: Kernel::ShrinkingLaunches,
                staging: Staging::None,
                overlap: if boundary_first { Overlap::Core } else { Overlap::None },
            };
            let (simulated, predicted) =
                (simulation.cycle(depth).exact(), model.predict(&part, depth).seconds);
            assert!((simulated / predicted - 1.0).abs() < 1e-9, "{simulated} {predicted}");
        }
    }

    #[test]
    fn weak_scaling_to_thousands_is_flat_without_noise_and_noise_costs_more_the_more_there_are() {
        let stages = star(1);
        let faces = Boundaries::all(3, Boundary::Periodic);
        let step = |grid: [usize; 3], spread| {
            let partition = Partition::grid(grid.map(|n| n * 256), grid, &faces).unwrap();
            let parts = partition.parts();
            let network = topology::h200_nodes(parts.div_ceil(4), 4);
            let placement: Vec<usize> = (0..parts).collect();
            let simulation = Simulation {
                partition: &partition,
                stages: &stages,
                fields: &F32,
                device: DEVICE,
                network: &network,
                placement: &placement,
                boundary_first: false,
            };
            simulation.cycle(2).run(10, &mut Jitter::new(1, spread)).seconds
        };
        // From 512 to 4096; fewer fit into rings within a node and are faster.
        let flat = step([16, 16, 16], 0.0) / step([8, 8, 8], 0.0);
        assert!((flat - 1.0).abs() < 0.01, "{flat}");
        let noise = |grid| step(grid, 0.1) / step(grid, 0.0);
        assert!(noise([16, 16, 16]) > noise([2, 2, 2]), "everyone waits for the unluckiest");
    }

    #[test]
    fn halos_that_fly_while_the_core_is_computed_cost_nothing() {
        let stages = star(1);
        let partition = slabs([1024, 512, 512], 4);
        let network = topology::h200_nodes(1, 4);
        let simulation = |boundary_first| Simulation {
            partition: &partition,
            stages: &stages,
            fields: &F32,
            device: DEVICE,
            network: &network,
            placement: &[0, 1, 2, 3],
            boundary_first,
        };
        let (plain, first) = (simulation(false), simulation(true));
        let speedup = first.alone() / first.cycle(1).exact();
        assert!(speedup > 3.8, "{speedup}");
        assert!(first.cycle(1).exact() < plain.cycle(1).exact());
    }

    #[test]
    fn blocking_and_circular_placement_differ_where_links_are_shared() {
        let stages = star(1);
        let partition = slabs([256; 3], 4);
        let network = topology::p67_nat();
        let step = |placement: &[usize]| {
            let fields = &F32;
            let (partition, stages, network) = (&partition, &stages, &network);
            let device = Linear { per_unit: 1e-11, fixed: 5e-6 };
            let simulation = Simulation {
                partition,
                stages,
                fields,
                device,
                network,
                placement,
                boundary_first: true,
            };
            simulation.cycle(2).exact()
        };
        // All goes through the host, so every part's both halos cross its card's link either way.
        assert_eq!(step(&[0, 1, 2, 3]), step(&[0, 2, 1, 3]));
        // Two parts on one card share its link; on two cards they do not.
        let pair = slabs([256; 3], 2);
        let two = |placement: &[usize]| {
            let device = Linear { per_unit: 1e-11, fixed: 5e-6 };
            let (partition, stages, fields) = (&pair, &stages[..], &F32[..]);
            let simulation = Simulation {
                partition,
                stages,
                fields,
                device,
                network: &network,
                placement,
                boundary_first: false,
            };
            simulation.cycle(2).exact()
        };
        assert!(two(&[0, 2]) < two(&[0, 1]));
    }
}
