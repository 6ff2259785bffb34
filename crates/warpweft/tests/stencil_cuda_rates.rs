//! Rates of the stencil skeletons on a GPU at the sizes that the project's bars name.
//!
//! `cargo test --release -p warpweft --test stencil_cuda_rates -- --ignored --nocapture`

mod linear;

use linear::star;
use warpweft::cuda::{Device, Event};
use warpweft::element::Scalar;
use warpweft::prelude::*;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, CudaSweeps, Region, StencilElement, Sweep, SweepExecutor,
};

linear!(Heat2, f32, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f32);
linear!(Heat3, f32, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f32);
linear!(Heat3d, f64, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f64);
linear!(Order8, f32, 3, star::<3, 25>(4), |k| 0.1 - 0.003 * k as f32);

const fn shape(kernel: CudaKernel, cells: [u32; 3], warps: u32, min_blocks: u32) -> CudaPolicy {
    CudaPolicy {
        kernel,
        cells,
        warps,
        min_blocks,
        chunk: 48,
        prefetch: 3,
        temporal_depth: 1,
        phases: 0,
        contraction: true,
    }
}

/// Cells a second, in 10⁹, over `steps` steps a sweep: the median of five.
fn rate<T: Scalar, const D: usize>(
    stencil: &Stencil<T, D>,
    volume: &Volume<T, D>,
    policy: &CudaPolicy,
    steps: u64,
) -> Result<(f64, u32)> {
    let device = Device::open(0)?;
    let extents = volume.extents();
    let mut sweeps = CudaSweeps::new(stencil, volume, policy, &device)?;
    let sweep = Sweep {
        first_step: 0,
        steps,
        region: Region { low: [0; D], high: extents },
        following: 0,
        keep_change: false,
    };
    sweeps.sweep(&sweep)?;
    sweeps.finish()?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let (start, end) = (Event::new(&device)?, Event::new(&device)?);
        sweeps.stream().record(&start)?;
        sweeps.sweep(&sweep)?;
        sweeps.stream().record(&end)?;
        end.synchronize()?;
        times.push(start.seconds_until(&end)?);
    }
    times.sort_by(f64::total_cmp);
    let cells = extents.iter().product::<usize>() as f64;
    Ok((cells * steps as f64 / times[2] / 1e9, sweeps.local_bytes()))
}

/// The best rate of the default and of `more`, all of which are printed.
fn best<T: Scalar, const D: usize>(
    name: &str,
    element: impl StencilElement<D, State = T>,
    boundary: Boundary,
    extents: [usize; D],
    more: &[CudaPolicy],
) -> f64 {
    let mut volume = Volume::<T, D>::zeroed(extents).unwrap();
    for (index, cell) in volume.as_mut_slice().iter_mut().enumerate() {
        *cell =
            T::from_f64(((index as u32).wrapping_mul(2_654_435_761) >> 8) as f64 / 16_777_216.0);
    }
    let stencil = Stencil::of(element).boundary(boundary);
    let capability = Device::open(0).unwrap().capability().unwrap();
    let default = CudaPolicy::default_for(&stencil, extents, capability);
    let steps = (8_000_000_000 / volume.len() as u64).clamp(24, 512) / 24 * 24;
    let mut best = 0.0f64;
    for policy in std::iter::once(&default).chain(more) {
        let CudaPolicy {
            kernel, cells, warps, min_blocks, chunk, prefetch, temporal_depth, ..
        } = policy;
        match rate(&stencil, &volume, policy, steps) {
            Ok((rate, local)) => {
                println!(
                    "{name:24} {kernel:?} {cells:?} w{warps} b{min_blocks} c{chunk} p{prefetch} T{temporal_depth}: \
                     {rate:7.1} Gcells/s, {local} bytes spilled"
                );
                best = best.max(rate);
            }
            Err(error) => println!("{name:24} {policy:?}: {error}"),
        }
    }
    best
}

#[test]
#[ignore = "takes a minute of an H200"]
fn bars() {
    use CudaKernel::{Direct, March, Planes};
    let zero = Boundary::Dirichlet(0.0);
    let seven = best(
        "3D7 f32 768",
        Heat3 { rate: 0.9 },
        zero,
        [768; 3],
        &[
            shape(Direct, [4, 2, 8], 8, 2),
            shape(Direct, [4, 4, 4], 8, 2),
            shape(Direct, [4, 2, 4], 8, 3),
            shape(March, [4, 2, 1], 16, 2),
        ],
    );
    let seven64 = best(
        "3D7 f64 768",
        Heat3d { rate: 0.9 },
        zero,
        [768; 3],
        &[
            shape(Direct, [2, 2, 8], 8, 2),
            shape(Direct, [2, 2, 4], 8, 2),
            shape(Direct, [2, 2, 4], 8, 3),
            shape(Direct, [2, 4, 4], 8, 2),
            shape(Direct, [4, 2, 4], 8, 2),
            CudaPolicy { chunk: 16, ..shape(March, [2, 2, 1], 8, 3) },
            CudaPolicy { chunk: 96, ..shape(March, [2, 2, 1], 8, 3) },
            CudaPolicy { chunk: 16, ..shape(March, [4, 1, 1], 8, 3) },
            CudaPolicy { chunk: 96, ..shape(March, [4, 1, 1], 8, 3) },
            CudaPolicy { chunk: 96, ..shape(Planes, [2, 2, 1], 8, 3) },
        ],
    );
    let five = best(
        "2D5 f32 16384",
        Heat2 { rate: 0.9 },
        zero,
        [16_384; 2],
        &[
            shape(Direct, [4, 1, 8], 8, 2),
            shape(Direct, [4, 1, 4], 4, 4),
            shape(Direct, [8, 1, 4], 8, 2),
        ],
    );
    let order8 = best(
        "3D25 f32 768",
        Order8 { rate: 0.9 },
        zero,
        [768; 3],
        &[
            shape(Planes, [4, 2, 1], 16, 1),
            CudaPolicy { chunk: 96, ..shape(Planes, [4, 2, 1], 16, 1) },
            CudaPolicy { chunk: 96, prefetch: 4, ..shape(Planes, [4, 2, 1], 16, 1) },
            shape(Planes, [4, 1, 1], 16, 2),
            shape(March, [4, 1, 1], 8, 3),
        ],
    );
    for (bar, found, wanted) in [
        ("3D7 f32", seven, 480.0),
        ("3D7 f64", seven64, 230.0),
        ("2D5 f32", five, 500.0),
        ("3D25 f32", order8, 400.0),
    ] {
        println!("{bar:24} {found:7.1} of {wanted}");
        assert!(found >= wanted, "{bar}: {found} Gcells/s are below {wanted}");
    }
}

#[test]
#[ignore = "takes half a minute of an H200"]
fn several_steps_a_trip() {
    let pipe = |cells, warps, min_blocks, temporal_depth, prefetch, chunk| CudaPolicy {
        temporal_depth,
        prefetch,
        chunk,
        ..shape(CudaKernel::Pipeline, cells, warps, min_blocks)
    };
    let zero = Boundary::Dirichlet(0.0);
    let seven = best(
        "3D7 f32 768",
        Heat3 { rate: 0.9 },
        zero,
        [768; 3],
        &[
            pipe([4, 3, 1], 12, 1, 4, 2, 96),
            pipe([4, 3, 1], 12, 1, 4, 2, 192),
            pipe([4, 4, 1], 8, 1, 4, 3, 256),
            pipe([4, 3, 1], 12, 1, 3, 2, 192),
            pipe([4, 4, 1], 8, 1, 4, 2, 192),
            pipe([4, 2, 1], 16, 1, 4, 2, 192),
        ],
    );
    best(
        "3D7 f32 768 periodic",
        Heat3 { rate: 0.9 },
        Boundary::Periodic,
        [768; 3],
        &[pipe([4, 3, 1], 12, 1, 4, 2, 192)],
    );
    best(
        "3D7 f64 768",
        Heat3d { rate: 0.9 },
        zero,
        [768; 3],
        &[
            pipe([2, 3, 1], 12, 1, 4, 2, 192),
            pipe([2, 3, 1], 12, 1, 3, 2, 192),
            pipe([2, 4, 1], 8, 1, 4, 2, 192),
        ],
    );
    let five = best(
        "2D5 f32 16384",
        Heat2 { rate: 0.9 },
        zero,
        [16_384; 2],
        &[
            pipe([4, 1, 1], 4, 4, 8, 4, 512),
            pipe([4, 1, 1], 4, 3, 8, 4, 512),
            pipe([4, 1, 1], 4, 3, 8, 4, 1024),
            pipe([8, 1, 1], 4, 2, 8, 4, 512),
            pipe([4, 1, 1], 4, 3, 6, 4, 512),
        ],
    );
    best(
        "3D7 f32 256",
        Heat3 { rate: 0.9 },
        zero,
        [256; 3],
        &[pipe([4, 3, 1], 12, 1, 4, 2, 32), pipe([4, 2, 1], 8, 2, 2, 2, 32)],
    );
    println!("3D7 {seven:.0}, 2D5 {five:.0} Gcells/s");
    assert!(seven > 530.0 && five > 530.0, "a trip of one step could be as fast");
}

#[test]
#[ignore = "takes seconds of a GPU"]
fn other_sizes_and_boundaries() {
    let zero = Boundary::Dirichlet(0.0);
    best("3D7 f32 768 periodic", Heat3 { rate: 0.9 }, Boundary::Periodic, [768; 3], &[]);
    best("2D5 f32 16384 neumann", Heat2 { rate: 0.9 }, Boundary::Neumann, [16_384; 2], &[]);
    best("3D7 f32 64", Heat3 { rate: 0.9 }, zero, [64; 3], &[]);
    best("3D7 f32 128", Heat3 { rate: 0.9 }, zero, [128; 3], &[]);
    best("3D7 f32 128 periodic", Heat3 { rate: 0.9 }, Boundary::Periodic, [128; 3], &[]);
    best("3D7 f32 256", Heat3 { rate: 0.9 }, zero, [256; 3], &[]);
    best("3D7 f32 500", Heat3 { rate: 0.9 }, zero, [500; 3], &[]);
    best("3D7 f32 601", Heat3 { rate: 0.9 }, zero, [601; 3], &[]);
    let found = best("2D5 f32 1024", Heat2 { rate: 0.9 }, zero, [1024; 2], &[]);
    assert!(found > 0.0, "nothing ran");
}
