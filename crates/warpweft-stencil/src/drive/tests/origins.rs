//! Ranks that start from other states than one another, or than the run they go on from: refused.

use std::time::Duration;

use crate::drive::Ranks;
use crate::prelude::*;
use crate::{Checkpoint, Run, Target, reference};
use warpweft_core::cluster::in_process_all;
use warpweft_core::machine::Machine;

const EXTENTS: [usize; 2] = [18, 20];

#[stencil]
fn mix(u: Near<u32, 2>) -> u32 {
    u[[-1, 0]].wrapping_mul(3) ^ u[[0, 1]].wrapping_add(u[[0, 0]])
}

fn start(seed: usize) -> Volume<u32, 2> {
    Volume::from_fn(EXTENTS, |[y, x]| (seed * 1000 + y * 31 + x) as u32)
}

#[test]
fn ranks_start_from_one_state_and_go_on_from_their_own() {
    let machine = Machine::detect().unwrap();
    let stencil = Stencil::of(mix()).boundary(Boundary::Periodic);
    let ranks = Ranks { count: 2, grid: None, depth: Some(2) };
    let folder = tempfile::tempdir().unwrap();
    let over = |seeds: [usize; 2], steps: u64, resume: bool| {
        let at = Checkpoint { directory: folder.path().join("state"), every: 4, resume };
        in_process_all(2, Duration::from_secs(120), |net| {
            let run = Run { target: Target::Cpu, checkpoint: Some(&at), ..Run::default() };
            let mut volume = start(seeds[net.rank()]);
            stencil.run_with(
                &mut volume,
                Steps(steps),
                &machine,
                &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
            )?;
            Ok(volume)
        })
    };
    for outcome in over([1, 2], 8, false) {
        let error = outcome.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("rank 1 has an initial state with the hash"), "{error}");
        assert!(error.contains("the same program and arguments"), "{error}");
    }
    assert!(over([1, 1], 9, false).into_iter().all(|outcome| outcome.is_ok()));
    for outcome in over([2, 2], 12, true) {
        let error = outcome.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("from another initial state"), "{error}");
    }
    let mut expect = start(1);
    reference(&stencil, &mut expect, 12).unwrap();
    let found = over([1, 1], 12, true).swap_remove(0).unwrap();
    assert_eq!(found.as_slice(), expect.as_slice());
}
