//! The applications on every executor that this machine has, bit for bit.

use warpweft::machine::Machine;
use warpweft::stencil::conformance::{Case, OnCores, OnGpu, Outcome, Subject};
use warpweft_apps::conformance::conformance;

fn check(subject: &impl Subject) {
    let cases = conformance(subject, |_| ()).expect("applications");
    let failed: Vec<_> =
        cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let skipped = |Case { outcome, .. }: &&Case| matches!(outcome, Outcome::Skipped(_));
    for Case { name, outcome } in cases.iter().filter(skipped) {
        println!("skipped {name}: {outcome:?}");
    }
    assert!(cases.iter().any(|case| case.outcome == Outcome::Passed));
}

#[test]
fn applications_conform_on_the_cores() {
    let machine = Machine::detect().expect("a machine");
    check(&OnCores::new(&machine).expect("cores"));
}

#[test]
fn applications_conform_on_a_gpu() {
    let machine = Machine::detect().expect("a machine");
    match (machine.gpus.first(), warpweft::cuda::compiler()) {
        (None, _) => println!("skipped: no GPU"),
        (_, Err(error)) => println!("skipped: {error}"),
        (Some(gpu), Ok(_)) => check(&OnGpu::new(gpu).expect("a GPU")),
    }
}
