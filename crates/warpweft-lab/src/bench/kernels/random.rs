//! Random stencils: an element of the cases between faces of any kinds, over extents of any size. How much of the rate of its
//! fastest candidate each reaches untuned, and whether any is slower than single steps.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use warpweft::grid::{Axes, across};
use warpweft::machine::{Gpu, Machine};
use warpweft::prelude::*;
use warpweft::stencil::{CudaPolicy, Spec, cuda};

use super::cases::{CASES, Case};
use super::{policies, untuned};
use warpweft_terminal::output::note;

/// Seconds that the run that is not tuned would take at the rate of the fastest candidate. Its kernels are in the cache.
const RUN: f64 = 1.0;
/// Candidates that are measured: single steps, then the most promising kernels of fused steps. They are compiled while other
/// stencils are measured.
const TRIED: usize = 8;
/// Between two checks whether they are compiled.
const PAUSE: Duration = Duration::from_millis(5);
/// Cells along an axis, in two and in three dimensions.
const EXTENTS: [[u64; 2]; 2] = [[2_000, 12_000], [160, 640]];

/// One stencil that was drawn.
pub struct Drawn {
    case: &'static Case,
    pub spec: Spec,
    pub extents: Axes<usize>,
}

/// What it reached, in cells a second.
#[derive(Debug, Serialize)]
pub struct Reached {
    element: &'static str,
    extents: Vec<usize>,
    faces: String,
    single: f64,
    untuned: f64,
    tuned: f64,
    policy: CudaPolicy,
    /// What took the steps of the run that is not tuned.
    ran: serde_json::Value,
    /// Every candidate, and what those reached that ran.
    tried: Vec<String>,
    /// Seconds of all this, without the time to compile kernels.
    seconds: f64,
}

/// A stream of random numbers: splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn axis(&mut self, integers: bool) -> [Boundary; 2] {
        if self.below(4) == 0 {
            return [Boundary::Periodic; 2];
        }
        [(); 2].map(|()| match self.below(3) {
            0 => Boundary::Dirichlet(if integers { 0.0 } else { 0.5 }),
            1 => Boundary::Neumann,
            _ => Boundary::Mirror,
        })
    }
}

/// So many stencils by this seed, each legal over its extents.
///
/// # Errors
/// A case that can't be made.
pub fn draw(count: usize, seed: u64) -> Result<Vec<Drawn>> {
    let mut random = Random(seed);
    // The others are the same elements between certain faces, or have faces of their own.
    let other = ["neumann", "periodic", "mirror", "faces", "seismic", "line", "placed", "divided"];
    let named = |case: &&Case| !other.iter().any(|name| case.name.starts_with(name));
    let cases: Vec<_> = CASES.iter().filter(named).collect();
    let mut all = Vec::new();
    while all.len() < count {
        let case = cases[random.below(cases.len() as u64) as usize];
        let mut spec = case.spec()?;
        let [least, most] = EXTENTS[case.dims - 2];
        let integers = case.name == "life";
        let sizes = (0..case.dims).map(|_| (least + random.below(most - least)) as usize);
        let sizes: Vec<_> = sizes.collect();
        let extents = Axes::from_fn(case.dims, |d| sizes[d]);
        for d in 0..case.dims {
            spec.boundaries.0[d] = random.axis(integers);
        }
        if spec.check(extents).is_ok() {
            all.push(Drawn { case, spec, extents });
        }
    }
    Ok(all)
}

/// Measures all, and passes on what each reached. Kernels of the next are compiled meanwhile.
///
/// # Errors
/// A machine without a GPU; a run that fails; what `each` fails with.
pub fn measure(
    all: &[Drawn],
    machine: &Machine,
    mut each: impl FnMut(Reached) -> Result<()>,
) -> Result<()> {
    let Some(gpu) = machine.gpus.first() else {
        return Err(Error::spec("random stencils without a GPU", "run on a machine with one"));
    };
    let arch = gpu.device()?.arch()?;
    let orders: Vec<_> = all.iter().map(|drawn| candidates(drawn, gpu)).collect();
    let left: Vec<_> = orders.iter().map(|of_one| AtomicUsize::new(of_one.len())).collect();
    let flat = orders.iter().enumerate();
    let flat = flat.flat_map(|(n, of_one)| of_one.iter().map(move |policy| (n, policy)));
    let (flat, next): (Vec<_>, _) = (flat.collect(), AtomicUsize::new(0));
    let compile = || {
        while let Some(&(n, policy)) = flat.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _counted = Counted(&left[n]);
            // One that fails does so again when it is tried.
            let _ = cuda::compile_check(&all[n].spec, all[n].extents, policy, &arch);
        }
    };
    std::thread::scope(|scope| {
        // One is left to the runs.
        for _ in 0..machine.cpu.threads().saturating_sub(1).max(1) {
            scope.spawn(compile);
        }
        let mut measured = all.iter().zip(&orders).zip(&left).map(|((drawn, policies), left)| {
            while left.load(Ordering::Acquire) > 0 {
                std::thread::sleep(PAUSE);
            }
            each(reached(drawn, policies, (machine, gpu))?)
        });
        let _ended = Ended(&next, flat.len());
        measured.try_for_each(|done| done)
    })
}

/// A kernel less to wait for when this is dropped, also by a panic.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// No more kernels are compiled when this is dropped, also by a panic.
struct Ended<'a>(&'a AtomicUsize, usize);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

/// What is measured of one: single steps first.
fn candidates(Drawn { spec, extents, .. }: &Drawn, gpu: &Gpu) -> Vec<CudaPolicy> {
    let mut all = CudaPolicy::candidates(spec, *extents, (gpu.capability, gpu.sms));
    all.truncate(TRIED);
    all
}

fn reached(
    drawn: &Drawn,
    policies: &[CudaPolicy],
    (machine, gpu): (&Machine, &Gpu),
) -> Result<Reached> {
    let Drawn { case, spec, extents } = drawn;
    note(&format!("{} {}", case.name, across(extents)));
    let begun = Instant::now();
    let volume = case.volume_of(spec, *extents)?;
    let (mut single, mut fastest, mut tried) = (0.0, None, Vec::new());
    for (n, policy) in policies.iter().enumerate() {
        let found = policies::rate(spec, &volume, policy, gpu)?;
        tried.push(described(policy, found.as_ref().map(|rate| rate.cells_per_second)));
        let Ok(rate) = found.map(|rate| rate.cells_per_second) else { continue };
        if n == 0 {
            single = rate;
        }
        if fastest.is_none_or(|(best, _)| rate > best) {
            fastest = Some((rate, *policy));
        }
    }
    let Some((tuned, policy)) = fastest else {
        let what = format!("no candidate of {} {} that runs", case.name, across(extents));
        return Err(Error::spec(what, "report this as a defect"));
    };
    let cells = volume.len() as f64;
    let report = untuned(spec, &volume, machine, RUN * tuned / cells)?;
    Ok(Reached {
        element: case.name,
        extents: extents.iter().copied().collect(),
        faces: spec.boundaries.to_string(),
        single,
        untuned: report.rate.value,
        tuned,
        policy,
        ran: report.policy["kernels"].clone(),
        tried,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// A candidate in words: the kernel and its shape, and the rate, or why there is none.
fn described(policy: &CudaPolicy, rate: Result<f64, &String>) -> String {
    let CudaPolicy { kernel, cells: [vx, vy, vz], warps, min_blocks, chunk, prefetch, .. } = policy;
    let depth = policy.temporal_depth;
    let rate = rate.map_or_else(String::clone, |rate| format!("{:.0} Gcells/s", rate / 1e9));
    format!(
        "{kernel:?} {vx}x{vy}x{vz}, {warps} warps x {min_blocks}, {prefetch} ahead, {depth} steps, chunk {chunk}: {rate}"
    )
}

/// A line for each, and the ratios of all.
pub fn table(all: &[Reached]) -> String {
    let mut text = String::from("Gcells/s on one GPU: single, untuned, tuned, untuned / tuned\n");
    let mut ratios = Vec::new();
    for it in all {
        let [single, untuned, tuned] = [it.single, it.untuned, it.tuned].map(|rate| rate / 1e9);
        let ratio = untuned / tuned;
        let slower = if untuned < single { ", slower than single steps" } else { "" };
        let extents = across(&it.extents);
        text.push_str(&format!(
            "{} {extents}, {}: {single:.0}, {untuned:.0}, {tuned:.0}, {ratio:.2}{slower}\n",
            it.element, it.faces
        ));
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    if let (Some(least), Some(median)) = (ratios.first(), ratios.get(ratios.len() / 2)) {
        let below = ratios.iter().filter(|&&ratio| ratio < 0.9).count();
        let all = ratios.len();
        text.push_str(&format!(
            "untuned / tuned: least {least:.2}, median {median:.2}, below 0.90 in {below} of {all}\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_legal_stencils() {
        let named = |seed| {
            let all = draw(50, seed).unwrap();
            let name =
                |it: &Drawn| format!("{} {:?} {}", it.case.name, it.extents, it.spec.boundaries);
            all.iter().map(name).collect::<Vec<_>>()
        };
        let first = named(7);
        assert_eq!(first, named(7));
        assert_ne!(first, named(8));
        for element in ["box27-f64", "life", "gray-scott-3d"] {
            assert!(first.iter().any(|name| name.starts_with(element)), "{first:?}");
        }
    }
}
