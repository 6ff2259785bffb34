//! The conformance suite on the CUDA executor: every skeleton, contraction off, bit for bit.

use warpweft::prelude::*;
use warpweft_conformance::stencil::{OnGpu, Outcome, conformance};

#[test]
fn the_cuda_executor_has_the_references_bits_in_every_case() {
    let machine = Machine::detect().unwrap();
    let Some(gpu) = machine.gpus.first() else {
        return println!("skipped: no GPU");
    };
    let cases = conformance(&OnGpu::new(gpu).unwrap(), |_| {});
    let failed: Vec<_> =
        cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed).count();
    println!("{passed} passed, {} failed, {} cases", failed.len(), cases.len());
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), cases.len());
    assert!(passed > 200, "only {passed} of {} cases ran", cases.len());
}
