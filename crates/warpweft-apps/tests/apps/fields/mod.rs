//! Applications of several fields against what is known of them, and against the straightforward loop.

mod edge;
mod himeno;
mod hyperthermia;
mod seismic;
mod swim;
mod tricubic;

use std::sync::Arc;

use warpweft::cpu::Pool;
use warpweft::element::Fields;
use warpweft::prelude::*;
use warpweft::stencil::{CpuPolicy, CpuSweeps, SweepExecutor, reference, sweeps};
use warpweft_apps::plain::Plain;
use warpweft_apps::soup::SplitMix;

const BOUNDARIES: [Boundary; 4] =
    [Boundary::Periodic, Boundary::Neumann, Boundary::Mirror, Boundary::Dirichlet(0.25)];

/// The straightforward loop's copy of a volume.
fn plain<S: Fields, const D: usize>(
    volume: &Volume<S, D>,
    radius: usize,
    boundary: Boundary,
) -> Plain {
    let fields = (0..S::FIELDS.len()).map(|f| values(volume, f));
    Plain::of_fields(&volume.extents(), radius, &[[boundary; 2]; D], fields)
}

/// A field's cells.
fn values<S: Fields, const D: usize>(volume: &Volume<S, D>, field: usize) -> Vec<f64> {
    if let Some(cells) = volume.field::<f32>(field) {
        return cells.iter().map(|&cell| f64::from(cell)).collect();
    }
    volume.field::<f64>(field).expect("a field of f32 or f64").to_vec()
}

/// Largest difference of a field to the straightforward loop's, as a share of its largest magnitude.
fn error<S: Fields, const D: usize>(volume: &Volume<S, D>, plain: &Plain) -> f64 {
    let mut worst = 0.0f64;
    for f in 0..S::FIELDS.len() {
        let (found, expect) = (values(volume, f), plain.cells_of(f));
        let most = expect.iter().fold(1e-30f64, |most, v| most.max(v.abs()));
        for (a, b) in found.iter().zip(expect) {
            assert!(a.is_finite(), "field {f} holds {a}");
            worst = worst.max((a - b).abs() / most);
        }
    }
    worst
}

/// `steps` steps of the sequential loop.
fn run<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    mut volume: Volume<S, D>,
    steps: u64,
) -> Volume<S, D> {
    assert_eq!(reference(stencil, &mut volume, steps).expect("well posed"), steps);
    volume
}

/// As [`run`], by the executor on the cores: for large volumes and many steps.
pub fn run_fast<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    mut volume: Volume<S, D>,
    steps: u64,
) -> Volume<S, D> {
    let machine = Machine::detect().expect("a machine");
    let pool = Arc::new(Pool::new(&machine.cpu.cores).expect("cores"));
    let mut executor =
        CpuSweeps::new(stencil, &volume, CpuPolicy::default(), pool, machine.cpu.simd)
            .expect("well posed");
    for sweep in sweeps(volume.extents().into(), steps, 1000, None) {
        executor.sweep(&sweep).expect("a sweep");
    }
    executor.store(volume.writable()).expect("a volume of its extents");
    volume
}

/// Noise from −½ to ½.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut stream = SplitMix::new(seed);
    move || stream.next_unit() - 0.5
}
