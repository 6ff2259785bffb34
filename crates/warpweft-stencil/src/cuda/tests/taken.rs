//! Functions whose parameters are numbers of a session.

use super::*;
use crate::Stage;
use crate::cuda::text::compile_check;
use crate::spec::reduction::scalar::SessionScalar;
use warpweft_core::cuda::compiler;

/// The numbers that a stage takes, as C++ has them.
pub fn values(stage: &dyn Stage) -> String {
    let value = |number: SessionScalar| number.known().unwrap().unwrap();
    let taken: Vec<_> = stage.taken().into_iter().map(|(_, number)| value(number)).collect();
    let one = taken.is_empty().then_some(0.0);
    let all: Vec<_> = taken.into_iter().chain(one).map(|value| format!("{value:e}")).collect();
    all.join(", ")
}

/// The arguments that point to them, among `numbers`.
pub fn pointers(stage: &dyn Stage) -> String {
    (0..stage.taken().len()).map(|n| format!(", numbers + {n}")).collect()
}

#[stencil]
fn mixed(u: Near<f32, 2>, by: f32, shift: i32, more: f64) -> f32 {
    by * u[[0, 1]] + (more * f64::from(u[[-1, 0]])) as f32 + shift as f32
}

#[test]
fn a_number_of_a_session_has_the_bits_of_a_value() {
    let start = Volume::from_fn([9, 70], |[y, x]| ((y * 70 + x) as f32 * 0.7).sin());
    // More digits than an `f32` has.
    let (by, more) = (0.1234567890123f64, -0.3);
    let mut expect = start.clone();
    let boundary = Boundary::Dirichlet(0.5);
    let plain = Stencil::of(mixed(by as f32, 3, more)).boundary(boundary);
    reference(&plain, &mut expect, 1).unwrap();
    let [by, more] = [by, more].map(SessionScalar::from);
    let folder = tempfile::tempdir().unwrap();
    for with in
        [mixed::with(&by, 3, &more), mixed::with(by.known().unwrap().unwrap() as f32, 3, &more)]
    {
        let stencil = Stencil::of(with).boundary(boundary);
        let policy = policy(CudaKernel::Direct, [2, 1, 2], 4);
        let whole = Region::whole([9, 70].into());
        let Some(found) = launch::<f32, 2>(&stencil, &start, &policy, &whole, folder.path()) else {
            return println!("skipped: no C++ compiler");
        };
        assert!(found.as_slice() == expect.as_slice());
        if let Err(error) = compiler() {
            return println!("skipped: {error}");
        }
        for arch in ["sm_80", "sm_90"] {
            compile_check(&stencil, [9, 70].into(), &policy, arch).unwrap();
        }
    }
    let mut volume = start;
    let run = crate::Run { target: Target::Cpu, ..Default::default() };
    let refused = Stencil::of(mixed::with(by, 3, more)).run_with(
        &mut volume,
        Steps(1),
        &Machine::detect().unwrap(),
        &run,
    );
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("a parameter of mixed is a `SessionScalar`"), "{error}");
}
