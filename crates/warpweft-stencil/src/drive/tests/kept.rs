//! What a subdomain keeps of the state it starts from, next to what its executor holds.

use crate::drive::start::Start;
use crate::drive::subdomain::LocalSubdomain;
use crate::drive::task::on_cores;
use crate::plan::partition::Partition;
use crate::prelude::*;
use crate::{Boundaries, CpuPolicy, Region};
use warpweft_core::grid::Axes;
use warpweft_core::machine::Machine;

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Ground {
    heat: f32,
    kind: f64,
}

#[stencil]
fn warm(now: Near<Ground, 2>, next: &mut Ground) {
    next.heat = 0.5 * now.heat[[0, 0]] + 0.5 * now.kind[[0, 1]] as f32 * now.heat[[1, 0]];
}

#[test]
fn one_subdomain_keeps_nothing_of_its_start_and_several_only_what_no_step_writes() {
    let stencil = Stencil::of(warm());
    let cell = |[y, x]: [usize; 2]| Ground { heat: (y + x) as f32, kind: (7 * y + x) as f64 };
    let mut volume = Volume::from_fn([12, 10], cell);
    let raw = volume.raw_mut().cut_out(Axes::filled(2, 0), [12, 10].into()).unwrap();
    let cores = [vec![Machine::detect().unwrap().cpu.cores[0]]];
    let build = on_cores(CpuPolicy::default(), &cores);
    let walls = Boundaries::all(2, Boundary::Dirichlet(0.0));
    for parts in [1, 3] {
        let partition = Partition::grid([12, 10], [parts, 1], &walls).unwrap();
        for part in 0..parts {
            let zone = partition.grown(part, &Axes::filled(2, [1; 2]));
            let of = (&partition, part);
            let start = Start::Volume(&raw);
            let mut local = LocalSubdomain::new(&stencil, of, zone, start, &build, 0).unwrap();
            let Region { low, high } = partition.region(part);
            let kept = if parts == 1 { 0 } else { (high[0] - low[0]) * 10 * size_of::<f64>() };
            assert_eq!(local.kept_bytes(), kept);
            for field in 0..2 {
                let found = match parts {
                    1 => local.saved(|cells| cells(field)),
                    _ => local.cells(field),
                };
                assert_eq!(found.unwrap(), raw.box_bytes(field, low, high), "field {field}");
            }
        }
    }
}
