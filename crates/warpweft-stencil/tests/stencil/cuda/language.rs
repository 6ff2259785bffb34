//! Faces that are functions, cells of two bytes, sources and probes on one GPU and where several subdomains
//! on GPUs share a volume: the bits of the reference. One GPU holds all of them if there is but one.

use std::time::Duration;

use warpweft::cluster::in_process;
use warpweft::cuda::{Device, compiler};
use warpweft::grid::Axes;
use warpweft::prelude::*;
use warpweft::stencil::drive::Ranks;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, CudaSweeps, GpuList, PointSource, Policy, Probe, Run, SweepExecutor,
    Target, reference_with_probes, sweeps,
};

#[stencil]
fn conduct<T: Stored<Number = N>, N: Real>(u: Near<T, 3>, rate: N) -> T {
    let around = u[[-1, 0, 0]].widen() + u[[1, 0, 0]].widen() + u[[0, -1, 0]].widen();
    let across = u[[0, 1, 0]].widen() + u[[0, 0, -1]].widen() + u[[0, 0, 1]].widen();
    T::narrow(u[[0, 0, 0]].widen() + rate * (around + across - N::lit(6.0) * u[[0, 0, 0]].widen()))
}

#[stencil]
fn lean(u: Near<f64, 2>) -> f64 {
    0.4 * u[[0, 0]] + 0.3 * u[[-1, 1]] - 0.2 * u[[1, -2]] + 0.1 * u[[0, 2]]
}

#[boundary]
fn wave(at: [i64; 2], step: u64, scale: f64) -> f64 {
    scale * ((at[0] * 13 + at[1] * 7 + 5 * step as i64).rem_euclid(97)) as f64
}

#[boundary]
fn hull<T: Stored<Number = f32>>(at: [i64; 3], step: u64) -> T {
    let mixed = (at[0] * 31 + at[1] * 13 + at[2] * 7 + 5 * step as i64).rem_euclid(97);
    T::narrow(mixed as f32 / 97.0)
}

/// Steps of each sweep; sources act after the third and the last.
const SWEEPS: [u64; 4] = [3, 2, 19, 5];

/// What is to be computed: sources act on the cells after each sweep.
struct Problem<S: Fields, const D: usize> {
    stencil: Stencil<S, D>,
    /// The same with sources and a probe.
    pricked: Stencil<S, D>,
    start: Volume<S, D>,
    cells: Vec<Axes<usize>>,
    expect: Volume<S, D>,
    seen: Vec<f64>,
}

impl<S: Fields, const D: usize> Problem<S, D> {
    fn new(stencil: Stencil<S, D>, start: &Volume<S, D>, at: [usize; D]) -> Self {
        let mut amplitudes = vec![0.0; SWEEPS.iter().sum::<u64>() as usize];
        let mut done = 0;
        for steps in SWEEPS {
            done += steps as usize;
            amplitudes[done - 1] = 0.75;
        }
        let cells = vec![at, [0; D], start.extents().map(|n| n - 1)];
        let steps = SWEEPS.iter().sum();
        let pricked = stencil
            .clone()
            .source(PointSource { field: 0, at: cells.clone(), amplitudes })
            .probe(Probe { field: 0, at: cells.clone(), every: steps });
        let mut expect = start.clone();
        let (_, mut series) = reference_with_probes(&pricked, &mut expect, steps).unwrap();
        let seen = series.swap_remove(0).values.swap_remove(0);
        let cells = cells.into_iter().map(Axes::of).collect();
        Self { stencil, pricked, start: start.clone(), cells, expect, seen }
    }

    fn check(&self, executor: &mut dyn SweepExecutor, what: &str) {
        let mut done = 0;
        for steps in SWEEPS {
            for mut sweep in sweeps(self.start.extents().into(), steps, steps, None) {
                sweep.first_step += done;
                executor.sweep(&sweep).unwrap();
            }
            done += steps;
            executor.add(0, &self.cells, 0.75).unwrap();
        }
        let seen = executor.sample(0, &self.cells).unwrap();
        executor.finish().unwrap();
        let mut found: Volume<S, D> = Volume::zeroed(self.start.extents()).unwrap();
        executor.store(found.writable()).unwrap();
        self.compare(&found, &seen, what);
    }

    fn compare(&self, found: &Volume<S, D>, seen: &[f64], what: &str) {
        for f in self.stencil.written_fields() {
            let pairs = found.field_bytes(f).iter().zip(self.expect.field_bytes(f));
            let first = pairs.enumerate().position(|(_, (a, b))| a != b);
            assert_eq!(first, None, "byte of field {f} of {:?}, {what}", self.start.extents());
        }
        assert_eq!(seen, self.seen, "{what}");
    }
}

fn kernel(kernel: CudaKernel) -> CudaPolicy {
    CudaPolicy {
        kernel,
        cells: [2, 2, if kernel == CudaKernel::Direct { 2 } else { 1 }],
        warps: 4,
        min_blocks: 1,
        chunk: 3,
        prefetch: 1,
        temporal_depth: 1,
        phases: 0,
        contraction: false,
    }
}

/// Two and three subdomains across every axis, exchanged after every step and after two.
fn check<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    at: [usize; D],
) -> usize {
    let machine = Machine::detect().unwrap();
    let numbers: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    let target = Target::Gpus(GpuList::new(&numbers).unwrap());
    let problem = Problem::new(stencil.clone(), start, at);
    let mut runs = 0;
    for (of, depth) in [(CudaKernel::Direct, 1), (CudaKernel::Direct, 2)] {
        for (count, axis) in (0..D).flat_map(|axis| [(2, axis), (3, axis)]) {
            let mut grid = [1; D];
            grid[axis] = count;
            let ranks = Ranks { count, grid: Some(grid.into()), depth: Some(depth) };
            let run = Run { target, policy: Some(Policy::Cuda(kernel(of))), ..Run::default() };
            let mut found = start.clone();
            let steps = Steps(SWEEPS.iter().sum());
            let report = problem.pricked.run_with(
                &mut found,
                steps,
                &machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            );
            let seen = &report.unwrap().probes[0].values[0];
            problem.compare(&found, seen, &format!("{grid:?}, {of:?}, every {depth}"));
            runs += 1;
        }
    }
    runs
}

/// Every skeleton of single steps on one GPU.
fn check_one<S: Fields, const D: usize>(
    stencil: Stencil<S, D>,
    start: &Volume<S, D>,
    at: [usize; D],
) -> usize {
    let problem = Problem::new(stencil, start, at);
    let device = Device::open(0).unwrap();
    let mut runs = 0;
    for of in [CudaKernel::Direct, CudaKernel::Planes] {
        match CudaSweeps::new(&problem.stencil, start, &kernel(of), &device) {
            Err(error @ Error::Spec { .. }) if of == CudaKernel::Planes => {
                println!("refused: {error}");
            }
            executor => {
                problem.check(&mut executor.unwrap(), &format!("{of:?}"));
                runs += 1;
            }
        }
    }
    runs
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Water {
    height: f64,
    flow: bf16,
    depth: f32,
}

#[stencil]
fn flow(now: Near<Water, 2>, next: &mut Water, dt: f32) {
    let slope = now.height[[1, 0]] - now.height[[0, 0]] + 0.25 * now.height[[0, 1]];
    let pushed = dt * now.depth[[0, -1]] * slope as f32;
    next.flow = bf16::narrow(now.flow[[0, 0]].widen() - pushed);
}

#[stencil]
fn rise(now: Near<Water, 2>, next: &mut Water, dt: f32) {
    let out = now.flow[[0, 0]].widen() - now.flow[[-1, 1]].to_f32();
    next.height = 0.875 * now.height[[0, 0]] - (dt * out) as f64;
}

#[boundary]
fn tide(at: [i64; 2], step: u64, period: i64) -> Water {
    let phase = (at[0] * 3 + at[1] * 5 + step as i64).rem_euclid(period) as f32;
    let flow = bf16::narrow(0.5 - 0.125 * phase);
    Water { height: phase as f64 * 0.25, flow, depth: 1.0 + 0.0625 * phase }
}

#[test]
fn one_gpu() {
    if !ready() {
        return;
    }
    let mut runs = 0;
    let plate = Volume::from_fn([41, 70], |[y, x]| ((y * 7 + x * 3) % 23) as f64 * 0.25);
    runs += check_one(Stencil::of(lean()).boundary_by(wave(0.5)), &plate, [20, 35]);
    let mixed = Stencil::of(lean()).boundary(Boundary::Periodic);
    let mixed = mixed.face_by(1, Face::Low, wave(2.0)).face(1, Face::High, Boundary::Mirror);
    runs += check_one(mixed, &plate, [0, 1]);
    let block = |[z, y, x]: [usize; 3]| ((z * 145 + y * 87 + x * 29) % 31) as f32 * 0.03125;
    let singles = Volume::from_fn([13, 18, 70], block);
    let space = Stencil::of(conduct::<f32, f32>(0.125));
    runs += check_one(space.clone().boundary_by(hull::<f32>()), &singles, [6, 0, 69]);
    let half_open = space.boundary(Boundary::Neumann).face_by(1, Face::High, hull::<f32>());
    runs += check_one(half_open, &singles, [6, 17, 9]);
    let halves = Volume::from_fn([13, 18, 70], |at| f16::narrow(block(at)));
    let space = Stencil::of(conduct::<f16, f32>(0.125)).boundary_by(hull::<f16>());
    runs += check_one(space, &halves, [6, 3, 5]);
    let halves = Volume::from_fn([13, 18, 70], |at| bf16::narrow(block(at)));
    let space = Stencil::of(conduct::<bf16, f32>(0.125)).boundary(Boundary::Periodic);
    runs += check_one(space, &halves, [6, 3, 5]);
    let coast = Stencil::sequence((flow(0.25), rise(0.25)))
        .boundary(Boundary::Neumann)
        .face_by(0, Face::Low, tide(17))
        .face_by(1, Face::Low, tide(13))
        .face_by(1, Face::High, tide(11));
    let water = Volume::from_fn([29, 43], |[y, x]| Water {
        height: ((y * 7 + x * 3) % 11) as f64,
        flow: bf16::narrow(((y + 2 * x) % 5) as f32),
        depth: 1.0 + (x % 3) as f32,
    });
    runs += check_one(coast, &water, [14, 20]);
    println!("{runs} runs");
    // Planes are for three dimensions: of seven stencils some.
    assert!(runs > 7, "only {runs} runs");
}

fn ready() -> bool {
    if let Err(error) = compiler() {
        println!("skipped: {error}");
        return false;
    }
    let gpus = Device::count().unwrap_or(0);
    if gpus == 0 {
        println!("skipped: no GPU");
    }
    gpus > 0
}

#[test]
fn subdomains_on_gpus() {
    if !ready() {
        return;
    }
    let plate = Volume::from_fn([41, 70], |[y, x]| ((y * 7 + x * 3) % 23) as f64 * 0.25);
    let block = |n: usize| ((n * 29) % 31) as f32 * 0.03125;
    let halves = Volume::from_fn([33, 18, 70], |[z, y, x]| f16::narrow(block(z * 5 + y * 3 + x)));
    let singles = Volume::from_fn([33, 18, 70], |[z, y, x]| block(z * 5 + y * 3 + x));
    let mut runs = 0;
    for periodic in [false, true] {
        let along = if periodic { Boundary::Periodic } else { Boundary::Mirror };
        let both = |stencil: Stencil<f64, 2>| {
            stencil.boundary(along).face_by(1, Face::Low, wave(0.5)).face_by(
                1,
                Face::High,
                wave(1.0),
            )
        };
        runs += check(&both(Stencil::of(lean())), &plate, [20, 35]);
        let ends = both(Stencil::of(lean())).face_by(0, Face::Low, wave(0.25)).face(
            0,
            Face::High,
            Boundary::Neumann,
        );
        runs += check(&ends, &plate, [13, 0]);
        let space = Stencil::of(conduct::<f32, f32>(0.125))
            .boundary(along)
            .face_by(2, Face::High, hull::<f32>())
            .face(2, Face::Low, Boundary::Neumann);
        runs += check(&space, &singles, [16, 0, 69]);
        let space = Stencil::of(conduct::<f16, f32>(0.125))
            .boundary(along)
            .face_by(1, Face::Low, hull::<f16>())
            .face(1, Face::High, Boundary::Dirichlet(0.5));
        runs += check(&space, &halves, [11, 3, 5]);
    }
    println!("{runs} runs");
    assert!(runs > 60, "only {runs} runs");
}

#[test]
fn ranks_on_gpus() {
    if !ready() {
        return;
    }
    let machine = Machine::detect().unwrap();
    let plate = Volume::from_fn([37, 45], |[y, x]| ((y * 7 + x * 3) % 23) as f64 * 0.25);
    let at = vec![[18, 22], [0, 0], [19, 23]];
    for along in [Boundary::Periodic, Boundary::Neumann] {
        let stencil = Stencil::of(lean())
            .boundary(along)
            .face_by(1, Face::Low, wave(0.5))
            .face(1, Face::High, Boundary::Mirror)
            .source(PointSource { field: 0, at: at.clone(), amplitudes: vec![1.0, 0.0, 0.5, 0.25] })
            .probe(Probe { field: 0, at: at.clone(), every: 3 });
        let mut expect = plate.clone();
        let (_, series) = reference_with_probes(&stencil, &mut expect, 13).unwrap();
        for (grid, depth) in [([2, 1], 1), ([2, 2], 2), ([1, 3], 3), ([3, 1], 4)] {
            let count = grid.iter().product();
            let cuda =
                CudaPolicy::default_for(&stencil, [37, 45].into(), machine.gpus[0].capability);
            let policy = Some(Policy::Cuda(CudaPolicy { contraction: false, ..cuda }));
            let ranks = Ranks { count, grid: Some(grid.into()), depth: Some(depth) };
            let found = in_process(count, Duration::from_secs(60), |net| {
                let mut volume = plate.clone();
                let run = Run { policy, ..Run::default() };
                let report = stencil.run_with(
                    &mut volume,
                    Steps(13),
                    &machine,
                    &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                )?;
                Ok((volume, report.probes))
            });
            let (found, probes) = found.unwrap().swap_remove(0);
            assert!(found.as_slice() == expect.as_slice(), "{along:?} {grid:?} R = {depth}");
            assert_eq!(probes, series, "{along:?} {grid:?} R = {depth}");
        }
    }
}
