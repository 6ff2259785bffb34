//! Ranks that start from other states than one another, or than the run they go on from: refused.

use std::time::Duration;

use super::{Ranks, Start};
use crate::prelude::*;
use crate::{Checkpoint, Run, Span, Target, reference};
use warpweft_core::cluster::in_process_all;
use warpweft_core::error::Result;
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
    // Each rank's own cells and where they begin, from the whole volume or from parts of it.
    let over = |seeds: [usize; 2], steps: u64, resume: bool, parts: bool| {
        let at = Checkpoint { directory: folder.path().join("state"), every: 4, resume };
        in_process_all(2, Duration::from_secs(120), |net| {
            let run = Run { target: Target::Cpu, checkpoint: Some(&at), ..Run::default() };
            let mut volume = start(seeds[net.rank()]);
            if !parts {
                stencil.run_on_rank(&mut volume, Steps(steps), &machine, &ranks, &run, net)?;
                return Ok((volume, [0; 2]));
            }
            let cut = |span: Span<2>| -> Result<_> {
                Ok(Volume::from_raw(volume.cut_out(span.low, span.extents())?))
            };
            let from = (EXTENTS, &cut as &Start<'_, u32, 2>);
            let (cells, low, _) =
                stencil.run_share(from, Steps(steps), &machine, &ranks, &run, net)?;
            Ok((cells, low))
        })
    };
    for outcome in over([1, 2], 8, false, false) {
        let error = outcome.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("rank 1 has an initial state with the hash"), "{error}");
        assert!(error.contains("the same program and arguments"), "{error}");
    }
    assert!(over([1, 1], 9, false, false).into_iter().all(|outcome| outcome.is_ok()));
    for parts in [false, true] {
        for outcome in over([2, 2], 12, true, parts) {
            let error = outcome.map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("from another initial state"), "{error}");
        }
    }
    // Whoever has parts finds the same hash of the whole as whoever has all of it.
    let mut expect = start(1);
    reference(&stencil, &mut expect, 12).unwrap();
    for outcome in over([1, 1], 12, true, true) {
        let (own, low) = outcome.unwrap();
        let expect = expect.cut_out(low.map(|n| n as isize), own.extents()).unwrap();
        assert_eq!(own.field_bytes(0), expect.field_bytes(0));
    }
}
