//! Weak scaling of stencils of other kinds as a user runs them who has not tuned: on one GPU, and on all with as many
//! cells each.

use warpweft::grid::Axes;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::{GpuList, Policy, Run, Steps, Target};

use super::super::kernels::cases::{CASES, Case};
use super::figure::Figure;

/// Fields that react, a box, and stages over many fields.
pub const CASES_BY_DEFAULT: [&str; 3] = ["gray-scott-3d", "box27-f32", "seismic"];
/// Bytes a second that a GPU is taken to copy, to find how many steps a run has.
const COPY: f64 = 4e12;
/// Seconds that single steps would take of the run that compiles, and of the one that is measured.
const FIRST: f64 = 2.2;
const SECOND: f64 = 1.2;

/// A figure of one GPU and one of all for the case of this name, whose extents are divided by `shrink`.
pub fn untuned(name: &str, shrink: usize, machine: &Machine) -> Result<Vec<Figure>> {
    let Some(case) = CASES.iter().find(|case| case.name == name) else { return Ok(Vec::new()) };
    let numbers: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    let Some(&first) = numbers.first() else { return Ok(Vec::new()) };
    let all = Target::Gpus(GpuList::new(&numbers)?);
    let one = measured(case, shrink, (Target::Gpu(first), 1), machine)?;
    let mut several = measured(case, shrink, (all, numbers.len()), machine)?;
    several.over_best = one.microseconds_a_step / several.microseconds_a_step;
    Ok(vec![one, several])
}

/// The second of two runs on `gpus` GPUs: it finds its kernels in the cache.
fn measured(
    case: &Case,
    shrink: usize,
    (target, gpus): (Target, usize),
    machine: &Machine,
) -> Result<Figure> {
    let spec = case.spec()?;
    let size = case.size / shrink;
    let mut extents = Axes::filled(case.dims, size);
    extents[0] *= gpus;
    let mut volume = case.volume_of(&spec, extents)?;
    let each = (volume.len() / gpus * spec.step_bytes()) as f64;
    let mut run = |seconds: f64| {
        let steps = (seconds * COPY / each).ceil() as u64;
        let run = Run { target, ..Run::default() };
        spec.run_with(&mut volume, Steps(steps), machine, &run)
    };
    run(FIRST)?;
    let report = run(SECOND)?;
    let policy = if gpus > 1 { &report.policy["rank"] } else { &report.policy };
    let wrong = |error: serde_json::Error| Error::spec(error.to_string(), "report this as a bug");
    let policy: Policy = serde_json::from_value(policy.clone()).map_err(wrong)?;
    Ok(Figure {
        scaling: "untuned",
        case: Some(case.name),
        dims: case.dims,
        size,
        gpus,
        microseconds_a_step: 1e6 * report.seconds / (report.done - report.first) as f64,
        cells_per_second: report.rate.value,
        over_best: 1.0,
        over_same_kernel: None,
        over_slowest: None,
        floor: None,
        policy,
    })
}
