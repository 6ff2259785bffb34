//! Stencils with their axes permuted have the reference's bits, in every case of the conformance suite.

use std::sync::Arc;

use warpweft::cpu::{Pool, Simd};
use warpweft::error::Result;
use warpweft::grid::RawVolume;
use warpweft::machine::Machine;
use warpweft::stencil::{CpuPolicy, CpuSweeps, Spec, SweepExecutor, Turn, Turned};
use warpweft_lab::conformance::stencil::{Outcome, Subject, conformance};

/// The executor on the cores, turned across each axis.
struct OnTurned(Arc<Pool>);

impl Subject for OnTurned {
    fn ways(&self) -> Vec<String> {
        (1..4).map(|axis| format!("across axis {axis}")).collect()
    }

    fn executor<const D: usize>(
        &self,
        way: usize,
        stencil: &Spec<D>,
        volume: &RawVolume<D>,
    ) -> Result<Box<dyn SweepExecutor<D>>> {
        let policy = CpuPolicy::default().with_values(&[4, 6, 2, 32, 2]).with_threads(2);
        let turned = Turned::new(Turn::across(way + 1)?, (stencil, volume), |stencil, volume| {
            stencil.check(volume.extents())?;
            CpuSweeps::new(stencil, volume, policy, self.0.clone(), Simd::Portable)
        });
        Ok(Box::new(turned?))
    }
}

#[test]
fn turned_stencils_have_the_references_bits_in_every_case() {
    let machine = Machine::detect().unwrap();
    let cores: Vec<_> = machine.cpu.cores.iter().copied().cycle().take(2).collect();
    let subject = OnTurned(Arc::new(Pool::new(&cores).unwrap()));
    let cases = conformance(&subject, |_| {});
    let failed: Vec<_> =
        cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), cases.len());
    let passed = |what: &str| {
        let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed);
        passed.filter(|case| case.name.contains(what)).count()
    };
    let corners =
        |case: &&Outcome| matches!(case, Outcome::Skipped(why) if why.contains("corners"));
    let refused = cases.iter().map(|case| &case.outcome).filter(corners).count();
    assert!(passed("") > 220 && refused < 10, "{} passed, {refused} refused", passed(""));
    for what in ["axis 1", "axis 2", "axis 3", "by a function", "sources", "until", "acoustic"] {
        assert!(passed(what) > 3, "{what}");
    }
}
