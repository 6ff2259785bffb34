//! The conformance suite on the CPU executor.

use warpweft::prelude::*;
use warpweft_conformance::stencil::{OnCores, Outcome, conformance};

#[test]
fn the_cpu_executor_has_the_references_bits_in_every_case() {
    let subject = OnCores::new(&Machine::detect().unwrap()).unwrap();
    let cases = conformance(&subject, |_| {});
    let failed: Vec<_> =
        cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), cases.len());
    let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed).count();
    assert!(passed > 400, "only {passed} of {} cases ran", cases.len());
}
