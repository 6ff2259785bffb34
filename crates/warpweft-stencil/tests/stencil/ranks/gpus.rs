//! Ranks that compute their parts on GPUs: faces packed on the device, boundary cells first, and the
//! bits of the reference for any grid of ranks, any depth and any way that halos take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::each_of;
use cudarc::driver::sys::{cuCtxSynchronize, cuMemcpyDtoH_v2, cuMemcpyHtoD_v2};
use warpweft::cluster::{Remote, Shared, Tag, Transport, in_process};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::drive::{Ranks, Route, a_gpu_each, deepest_feasible, footprints_of};
use warpweft::stencil::{
    Boundaries, CudaKernel, CudaPolicy, GpuList, Partition, Policy, Run, Settings, Target,
    reference,
};

/// Mixes all bits of an uneven box.
#[stencil]
fn stir(u: Near<u32, 3>, by: u32) -> u32 {
    let mut hash = u[[0, 0, 0]] * by;
    hash = (hash ^ u[[-1, 0, 1]]) * 0x9e37_79b1 + u[[0, -2, 0]];
    hash = (hash ^ u[[1, 1, 0]]) * 0x85eb_ca6b + u[[0, 0, -1]];
    (hash ^ u[[0, 1, -1]]) * 0xc2b2_ae35 + u[[2, 0, 0]]
}

#[stencil]
fn blend(u: Near<f64, 2>, rate: f64) -> f64 {
    let across = 0.3 * u[[0, -1]] + 0.2 * u[[0, 2]];
    u[[0, 0]] + rate * (across + 0.7 * u[[-1, 0]] - 0.4 * u[[1, 0]])
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Wave {
    v: f32,
    s: f64,
    rho: f32,
}

#[stencil]
fn velocity(now: Near<Wave, 2>, next: &mut Wave, dt: f32) {
    let slope = (now.s[[0, 1]] - now.s[[0, 0]] + now.s[[2, 0]]) as f32;
    next.v = now.v[[0, 0]] + dt * now.rho[[0, -1]] * slope;
}

#[stencil]
fn stress(now: Near<Wave, 2>, next: &mut Wave) {
    let bent = now.v[[0, -1]] - now.v[[-1, 0]] + 0.5 * now.v[[0, 0]];
    next.s = 0.9 * now.s[[0, 0]] + bent as f64;
}

/// A transport that takes device memory, as a CUDA-aware MPI does.
struct Aware<'a>(&'a dyn Transport);

impl Transport for Aware<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn ranks(&self) -> usize {
        self.0.ranks()
    }
    fn send(&self, to: usize, tag: Tag, message: Vec<u8>) -> Result<()> {
        self.0.send(to, tag, message)
    }
    fn send_shared(&self, to: usize, tag: Tag, message: Shared) -> Result<()> {
        if tag.0 >= Tag::COLLECTIVE {
            return self.0.send_shared(to, tag, message);
        }
        Err(Error::spec("a message through the host", "send it from the device"))
    }
    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.0.receive(from, tag)
    }
    fn poll(&self, from: usize, tag: Tag) -> Result<Option<Vec<u8>>> {
        self.0.poll(from, tag)
    }
    fn takes_remote(&self) -> bool {
        true
    }
    fn send_remote(&self, to: usize, tag: Tag, message: Arc<dyn Remote>) -> Result<()> {
        let mut bytes = vec![0u8; message.bytes()];
        let (at, count) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: as many bytes as the message has, which its sender's context is current for.
        unsafe { cuMemcpyDtoH_v2(at, message.address(), count) }.result().unwrap();
        self.0.send(to, tag, bytes)
    }
    fn receive_remote(&self, from: usize, tag: Tag, to: &dyn Remote) -> Result<()> {
        let bytes = self.0.receive(from, tag)?;
        assert_eq!(bytes.len(), to.bytes());
        // SAFETY: as above.
        unsafe { cuMemcpyHtoD_v2(to.address(), bytes.as_ptr().cast(), bytes.len()) }
            .result()
            .unwrap();
        // The copy may still be on its way from the driver's own memory.
        // SAFETY: waits for the current context.
        unsafe { cuCtxSynchronize() }.result().unwrap();
        Ok(())
    }
    fn check(&self) -> Result<()> {
        self.0.check()
    }
    fn abort_for(&self, rank: usize, why: &str) {
        self.0.abort_for(rank, why);
    }
}

/// `base` and single steps; a persistent kernel, the default of small volumes, is for whole volumes only.
fn of_parts(base: CudaPolicy) -> Vec<CudaPolicy> {
    let direct = CudaPolicy { kernel: CudaKernel::Direct, cells: [4, 2, 2], warps: 4, ..base };
    [base, direct].into_iter().filter(|it| it.kernel != CudaKernel::Resident).collect()
}

fn check<S: Fields, const D: usize>(
    machine: &Machine,
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    grids: &[[usize; D]],
) {
    let capability = machine.gpus[0].capability;
    let base = CudaPolicy::default_for(stencil, start.extents().into(), capability);
    let policies = of_parts(base);
    let kinds = [Boundary::Periodic, Boundary::Neumann, Boundary::Mirror, Boundary::Dirichlet(1.0)];
    let ends = kinds.map(|boundary| {
        let stencil = stencil.clone().boundary(boundary);
        let mut expect = start.clone();
        reference(&stencil, &mut expect, 11).unwrap();
        (stencil, Boundaries([[boundary; 2]; D].into()), expect)
    });
    let mut cases = Vec::new();
    for (stencil, boundaries, expect) in &ends {
        for &grid in grids {
            let stages = footprints_of(stencil);
            let partition = Partition::grid(start.extents(), grid, boundaries).unwrap();
            let deepest = deepest_feasible(&partition, boundaries, &stages, S::FIELDS.len(), 3);
            let all = (1..=deepest).flat_map(|depth| policies.iter().map(move |&it| (depth, it)));
            for (depth, policy) in all {
                // Each by one route, and all routes in turn.
                let routes = [Route::Ipc, Route::CudaAware, Route::Staged];
                cases.push((stencil, expect, grid, depth, policy, routes[cases.len() % 3]));
            }
        }
    }
    each_of(&cases, |&(stencil, expect, grid, depth, policy, route)| {
        let policy = Policy::Cuda(CudaPolicy { contraction: false, ..policy });
        let count = grid.iter().product();
        let ranks = Ranks { count, grid: Some(grid.into()), depth: Some(depth) };
        let found = in_process(count, Duration::from_secs(60), |net| {
            let mut volume = start.clone();
            let run = Run {
                policy: Some(policy),
                settings: Settings::default().halos_by(route),
                ..Run::default()
            };
            let aware = Aware(net);
            let net = if route == Route::CudaAware { &aware } else { net };
            let run = Run { settings: run.settings.over(ranks), net: Some(net), ..run };
            let report = stencil.run_with(&mut volume, Steps(11), machine, &run)?;
            assert_eq!(report.policy["halos_by"], route.to_string());
            Ok(volume)
        });
        let found = found.unwrap().swap_remove(0);
        for field in 0..S::FIELDS.len() {
            assert!(
                found.field_bytes(field) == expect.field_bytes(field),
                "field {field}, {}, grid {grid:?}, R = {depth}, {policy:?} by {route}",
                stencil.boundaries
            );
        }
    });
}

#[test]
fn the_bits_of_the_reference() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let space = Volume::from_fn([23, 21, 70], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32);
    check(&machine, &Stencil::of(stir(3)), &space, &[[2, 1, 1], [1, 3, 1], [2, 2, 2], [1, 1, 4]]);
    let plane = Volume::from_fn([40, 90], |[y, x]| (y * x) as f64 * 0.01);
    check(&machine, &Stencil::of(blend(0.2)), &plane, &[[4, 1], [1, 3], [2, 2]]);
    let waves = Volume::from_fn([33, 47], |[y, x]| Wave {
        v: (y * 31 + x) as f32 * 0.01,
        s: (x * 17 + y) as f64 * 0.003,
        rho: 1.0 + (y % 3) as f32,
    });
    let wave = Stencil::sequence((velocity(0.01), stress()));
    check(&machine, &wave, &waves, &[[2, 1], [2, 2]]);
}

/// Ranks that measure their own cells on GPUs stop at the reference's step, at the residual of one device.
#[test]
fn residuals_are_the_reference_s_whatever_is_cut() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let waves = Volume::from_fn([33, 1090], |[y, x]| Wave {
        v: (y * 31 + x) as f32 * 0.01,
        s: (x * 17 + y) as f64 * 0.003,
        rho: 1.0 + (y % 3) as f32,
    });
    let free = Stencil::sequence((velocity(0.01), stress()));
    let cuda = CudaPolicy::default_for(&free, waves.extents().into(), machine.gpus[0].capability);
    let policy = Some(Policy::Cuda(CudaPolicy { contraction: false, ..cuda }));
    for kind in [Residual::Max, Residual::Sum, Residual::SumOfSquares] {
        // The residual of the sixth step on the cores, which is met then at the latest.
        let alone = |stencil: &Stencil<Wave, 2>, steps| {
            let run = Run { target: Target::Cpu, ..Run::default() };
            stencil.run_with(&mut waves.clone(), Steps(steps), &machine, &run).unwrap()
        };
        let sixth = alone(&free.clone().until_every(kind, 0.0, 3), 6).residual.unwrap();
        let stencil = free.clone().until_every(kind, sixth, 3);
        let expect = alone(&stencil, 9);
        let mut state = waves.clone();
        assert_eq!(reference(&stencil, &mut state, 9).unwrap(), expect.done);
        for grid in [[1, 1], [2, 1], [1, 2], [1, 5], [2, 4]] {
            for depth in [1, 2] {
                let count = grid.iter().product();
                let ranks = Ranks { count, grid: Some(grid.into()), depth: Some(depth) };
                let found = in_process(count, Duration::from_secs(60), |net| {
                    let run = Run { policy, ..Run::default() };
                    let mut volume = waves.clone();
                    stencil.run_with(
                        &mut volume,
                        Steps(9),
                        &machine,
                        &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                    )
                });
                let found = found.unwrap().swap_remove(0);
                let bits = |report: &Report| (report.done, report.residual.map(f64::to_bits));
                assert_eq!(bits(&found), bits(&expect), "{kind:?}, {grid:?}, R = {depth}");
            }
        }
    }
}

/// Mixes all bits of a star of radius one.
#[stencil]
fn churn(u: Near<u32, 3>, by: u32) -> u32 {
    let mut hash = u[[0, 0, 0]] * by;
    hash = (hash ^ u[[-1, 0, 0]]) * 0x9e37_79b1 + u[[0, -1, 0]];
    hash = (hash ^ u[[1, 0, 0]]) * 0x85eb_ca6b + u[[0, 0, -1]];
    (hash ^ u[[0, 1, 0]]) * 0xc2b2_ae35 + u[[0, 0, 1]]
}

#[stencil]
fn spread(u: Near<f64, 2>, rate: f64) -> f64 {
    let around = u[[-1, 0]] + 0.9 * u[[1, 0]] + 0.8 * u[[0, -1]] + 1.1 * u[[0, 1]];
    u[[0, 0]] + rate * (around - 3.9 * u[[0, 0]])
}

/// So many fused steps over chunks of so many planes.
fn fused((cells, warps): ([u32; 3], u32), chunk: u32, temporal_depth: u32) -> Policy {
    Policy::Cuda(CudaPolicy {
        kernel: CudaKernel::Temporal,
        cells,
        warps,
        min_blocks: 1,
        chunk,
        prefetch: 3,
        temporal_depth,
        phases: 0,
        contraction: false,
    })
}

/// Runs kernels of `fused_steps` steps on ranks that exchange halos after whole time blocks, parts of them and both, or as
/// a search says.
fn check_fused<S: Fields, const D: usize>(
    machine: &Machine,
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    (shape, fused_steps): (([u32; 3], u32), u32),
    grids: &[[usize; D]],
) {
    const STEPS: u64 = 29;
    let policy = fused(shape, 7, fused_steps);
    let (held, round) = (Boundary::Dirichlet(2.0), Boundary::Periodic);
    let slow = |slow, others| {
        let stencil = stencil.clone().boundary(others).face(0, Face::Low, slow);
        stencil.face(0, Face::High, slow)
    };
    let all = [slow(held, held), slow(round, round), slow(held, round), slow(round, held)];
    let ends = all.map(|stencil| {
        let mut expect = start.clone();
        reference(&stencil, &mut expect, STEPS).unwrap();
        (stencil, expect)
    });
    let depths = [Some(1), Some(2), Some(3), Some(4), Some(6), Some(7), None];
    let cases = ends.iter().flat_map(|end| grids.iter().map(move |&grid| (end, grid)));
    let cases: Vec<_> =
        cases.flat_map(|(end, grid)| depths.map(|depth| (end, grid, depth))).collect();
    each_of(&cases, |&((stencil, expect), grid, depth)| {
        let route = if depth == Some(4) { Route::Staged } else { Route::Ipc };
        let count = grid.iter().product();
        let ranks = Ranks { count, grid: Some(grid.into()), depth };
        let found = in_process(count, Duration::from_secs(60), |net| {
            let mut volume = start.clone();
            let settings = Settings::default().halos_by(route).over(ranks);
            let run = Run { policy: Some(policy), settings, net: Some(net), ..Run::default() };
            let report = stencil.run_with(&mut volume, Steps(STEPS), machine, &run)?;
            let swapped = report.policy["depth"].as_u64().unwrap();
            // The last swap may be cut short.
            let left =
                [0, STEPS % u64::from(fused_steps)].contains(&(swapped % u64::from(fused_steps)));
            assert!(depth.is_some() || left, "R = {swapped}");
            Ok(volume)
        });
        let found = found.unwrap().swap_remove(0);
        assert!(
            found.field_bytes(0) == expect.field_bytes(0),
            "grid {grid:?}, R = {depth:?}, {policy:?} by {route}"
        );
    });
}

#[test]
fn fused_steps_give_the_bits_of_the_reference_at_any_depth() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let space = Volume::from_fn([23, 21, 70], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32);
    let grids = [[2, 1, 1], [1, 3, 1], [2, 2, 2], [1, 1, 4]];
    check_fused(&machine, &Stencil::of(churn(3)), &space, (([4, 7, 1], 1), 3), &grids);
    let plane = Volume::from_fn([40, 190], |[y, x]| (y * x) as f64 * 0.01);
    let grids = [[4, 1], [1, 3], [2, 2]];
    check_fused(&machine, &Stencil::of(spread(0.2)), &plane, (([2, 1, 1], 2), 4), &grids);
}

/// All ranks but the last send the halos of an exchange that never comes.
#[test]
fn a_run_that_is_asked_to_end_ends_whole_where_ranks_have_sent_ahead() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let Policy::Cuda(steps) = fused(([4, 3, 1], 4), 64, 1) else { unreachable!() };
    let policy = Policy::Cuda(CudaPolicy { kernel: CudaKernel::Direct, ..steps });
    let stencil = Stencil::of(churn(3)).boundary(Boundary::Periodic);
    for (planes, depth) in [(19 + 19 + 18, 3), (25 + 25 + 24, 6)] {
        let start =
            Volume::from_fn([planes, 45, 70], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32);
        let mut expect = start.clone();
        reference(&stencil, &mut expect, depth as u64).unwrap();
        for route in [Route::Ipc, Route::CudaAware, Route::Staged] {
            let ranks = Ranks { count: 3, grid: Some([3, 1, 1].into()), depth: Some(depth) };
            let found = in_process(3, Duration::from_secs(60), |net| {
                let mut volume = start.clone();
                let stop = AtomicBool::new(false);
                let progress = |done, _| stop.store(done > 0, Ordering::Relaxed);
                let run = Run {
                    progress: Some(&progress),
                    policy: Some(policy),
                    settings: Settings::default().halos_by(route),
                    interrupt: Some(&stop),
                    ..Run::default()
                };
                let aware = Aware(net);
                let net = if route == Route::CudaAware { &aware } else { net };
                let report = stencil.run_with(
                    &mut volume,
                    Steps(29),
                    &machine,
                    &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                )?;
                Ok((volume, report))
            });
            let found = found.unwrap();
            let of = format!("R = {depth} by {route}");
            assert!(found[0].0.field_bytes(0) == expect.field_bytes(0), "{of}");
            for (_, report) in &found {
                assert_eq!((report.interrupted, report.done), (true, depth as u64), "{of}");
            }
        }
    }
}

/// Several ranks a process, as threads, and ranks of one process without any network.
#[test]
fn processes_and_ranks_on_gpus_may_be_any_number() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let numbers: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    let target = Target::Gpus(GpuList::new(&numbers).unwrap());
    let start = Volume::from_fn([23, 21, 70], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32);
    let stencil = Stencil::of(stir(3)).boundary(Boundary::Periodic);
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 11).unwrap();
    for (grid, halos) in [[1, 2, 1], [2, 2, 1], [1, 3, 2]]
        .into_iter()
        .flat_map(|grid| [None, Some(Route::Ipc), Some(Route::Staged)].map(|halos| (grid, halos)))
    {
        let ranks = Ranks { count: grid.iter().product(), grid: Some(grid.into()), depth: None };
        let settings = Settings { halos, ..Settings::default() };
        let run = || Run { target, settings, ..Run::default() };
        let mut alone = start.clone();
        let report = stencil
            .run_with(
                &mut alone,
                Steps(11),
                &machine,
                &Run { settings: run().settings.over(ranks), ..run() },
            )
            .unwrap();
        assert!(alone.as_slice() == expect.as_slice(), "{grid:?} in one process by {halos:?}");
        assert_eq!(report.devices.len(), ranks.count);
        let found = in_process(2, Duration::from_secs(60), |net| {
            let mut volume = start.clone();
            stencil.run_with(
                &mut volume,
                Steps(11),
                &machine,
                &Run { settings: run().settings.over(ranks), net: Some(net), ..run() },
            )?;
            Ok((volume, a_gpu_each(net, &machine, &run())?))
        });
        let (volume, all) = found.unwrap().swap_remove(0);
        assert!(volume.as_slice() == expect.as_slice(), "{grid:?} in two by {halos:?}");
        assert_eq!(all, numbers.len().max(2) / 2 * 2);
    }
}
