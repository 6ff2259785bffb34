//! Tiles on a GPU in straits that no short run gets into: posts that wrap, and a neighbour that never sends.

use std::time::Duration;

use super::Resident;
use crate::cuda::fused::Whole;
use crate::prelude::*;
use crate::reference::agreement::agrees;
use crate::{Boundary, CudaKernel, CudaPolicy, CudaSweeps, Region, Spec, Sweep, SweepExecutor};
use warpweft_core::cuda::{Device, Stream, Watchdog, compiler};

#[stencil]
fn flat(u: Near<i32, 2>) -> i32 {
    3 * u[[0, 0]] + u[[-1, 0]] + 5 * u[[1, 0]] + 7 * u[[0, -1]] - u[[0, 1]]
}

#[stencil]
fn deep(u: Near<i32, 3>) -> i32 {
    3 * u[[0, 0, 0]] + u[[-1, 0, 0]] + 5 * u[[1, 0, 0]] + 7 * u[[0, -1, 0]] - u[[0, 0, 1]]
}

/// Tiles of a few cells, two along z.
fn stay(cells: [u32; 3], chunk: u32) -> CudaPolicy {
    CudaPolicy {
        kernel: CudaKernel::Resident,
        cells,
        warps: 4,
        min_blocks: 1,
        chunk,
        prefetch: 0,
        phases: 0,
        temporal_depth: 1,
        contraction: false,
    }
}

/// Gives an executor of a few tiles to `act` where there is a GPU.
fn with_tiles<const D: usize>(
    stencil: Stencil<i32, D>,
    (extents, policy): ([usize; D], CudaPolicy),
    act: impl Fn(&mut CudaSweeps, &Spec, &Volume<i32, D>),
) {
    let (Ok(device), Ok(_)) = (Device::open(0), compiler()) else {
        return println!("skipped: no GPU");
    };
    let stencil = stencil.boundary(Boundary::Dirichlet(3.0));
    let cells: usize = extents.iter().product();
    let start = Volume::from_fn(extents, |at| {
        let index = (0..D).fold(0, |index, d| index * extents[d] + at[d]);
        (index * 7919 % cells) as i32
    });
    let mut sweeps = CudaSweeps::new(&stencil, &start, &policy, &device).unwrap();
    act(&mut sweeps, &stencil, &start);
}

fn home(sweeps: &mut CudaSweeps) -> &mut Resident {
    match &mut sweeps.fused[0].whole {
        Whole::Stays(home) => home,
        Whole::Passes(_) => panic!("tiles that stay"),
    }
}

#[test]
fn posts_wrap() {
    fn wrap<const D: usize>(sweeps: &mut CudaSweeps, stencil: &Spec, start: &Volume<i32, D>) {
        // Words' marks change every two posts: after a multiple of four they are as at the start.
        let before = u32::MAX - 3;
        let stream = Stream::new(sweeps.stream().device()).unwrap();
        let home = home(sweeps);
        home.posts = before;
        // As so many posts would have left them.
        let flags = vec![before; home.flags.bytes() / size_of::<u32>()];
        stream.upload(&home.flags, 0, &flags).unwrap();
        stream.synchronize().unwrap();
        assert!(agrees(sweeps, stencil, start, 13).unwrap());
    }
    with_tiles(Stencil::of(flat()), ([28, 240], stay([4, 1, 4], 14)), wrap);
    with_tiles(Stencil::of(deep()), ([8, 8, 128], stay([4, 2, 2], 4)), wrap);
}

#[test]
fn a_tile_that_never_sends_is_named() {
    fn wait<const D: usize>(sweeps: &mut CudaSweeps, _: &Spec, start: &Volume<i32, D>) {
        let dog = Watchdog::new(sweeps.stream().device(), Duration::from_millis(50)).unwrap();
        let home = home(sweeps);
        (home.dog, home.posts) = (dog, 0);
        // The second of two tiles is not there.
        home.launch.grid[0] -= 1;
        let region = Region { low: [0; D].into(), high: start.extents().into() };
        let sweep = Sweep { first_step: 0, steps: 5, region, following: 0, keep_change: false };
        sweeps.sweep(&sweep).unwrap();
        let error = sweeps.finish().unwrap_err().to_string();
        let named = "tile 0 waited 0.05 s for halo 1 from the tile [1, 0, 0] of it";
        assert!(error.contains(named), "{error}");
        assert!(error.contains("in its own slab, which has sent 0"), "{error}");
    }
    with_tiles(Stencil::of(flat()), ([28, 120], stay([4, 1, 4], 14)), wait);
    with_tiles(Stencil::of(deep()), ([8, 4, 128], stay([4, 2, 2], 4)), wait);
}
