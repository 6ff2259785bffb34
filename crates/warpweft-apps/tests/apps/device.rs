//! Every element compiles for the GPUs in use, with NVRTC alone: no GPU, no driver.

use warpweft::cuda::compiler;
use warpweft::element::Fields;
use warpweft::prelude::*;
use warpweft::stencil::CudaPolicy;
use warpweft::stencil::cuda::compile_check;
use warpweft_apps::heat::{self, Conducts};
use warpweft_apps::himeno::Relaxes;
use warpweft_apps::hyperthermia::Warms;
use warpweft_apps::seismic::Medium;
use warpweft_apps::tricubic::Moves;
use warpweft_apps::{edge, life, life3d, swim};

/// An Ampere and a Hopper GPU.
const AMPERE: (&str, (u32, u32)) = ("sm_80", (8, 0));
const HOPPER: (&str, (u32, u32)) = ("sm_90", (9, 0));

/// Compiles the kernels that such GPUs would run.
fn compiles<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    extents: [usize; D],
    gpus: &[(&str, (u32, u32))],
) {
    for &(arch, capability) in gpus {
        let policy = CudaPolicy::default_for(stencil, extents.into(), capability);
        let cubin = compile_check(stencil, extents.into(), &policy, arch).expect("it compiles");
        assert!(cubin.image().starts_with(b"\x7fELF"), "{arch}: no machine code");
    }
}

fn orders<T: Conducts<D>, const D: usize>(
    orders: impl IntoIterator<Item = usize>,
    extents: [usize; D],
    gpus: &[(&str, (u32, u32))],
) {
    for order in orders {
        let rate = 0.5 * heat::stable_rate(order, D).expect("a known order");
        compiles(&heat::stencil::<T, D>(order, rate).expect("a stable rate"), extents, gpus);
    }
}

/// An element's text is the same for all GPUs, and nearly that for all types: what is there for both types is
/// compiled for one GPU each, and of the second type only the lowest and the highest order.
#[test]
fn elements_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let (flat, deep) = ([1024, 1024], [128, 128, 128]);
    orders::<f32, 1>(heat::ORDERS, [1 << 20], &[AMPERE]);
    orders::<f32, 2>(heat::ORDERS, flat, &[HOPPER]);
    orders::<f32, 3>(heat::ORDERS, deep, &[HOPPER]);
    let [lowest, .., highest] = heat::ORDERS;
    orders::<f64, 3>([lowest, highest], deep, &[AMPERE]);
    compiles(&life::stencil(), flat, &[AMPERE, HOPPER]);
    compiles(&life3d::stencil(), deep, &[AMPERE, HOPPER]);
    compiles(&edge::stencil(), flat, &[AMPERE, HOPPER]);
    compiles(&<f32 as Warms>::stencil(), deep, &[HOPPER]);
    compiles(&<f64 as Warms>::stencil(), deep, &[AMPERE]);
    compiles(&<f32 as Relaxes>::stencil(), deep, &[HOPPER]);
    compiles(&<f64 as Relaxes>::stencil(), deep, &[AMPERE]);
    compiles(&<f32 as Moves>::stencil(), deep, &[HOPPER]);
    compiles(&<f64 as Moves>::stencil(), deep, &[AMPERE]);
    compiles(&swim::stencil::<f32>(), flat, &[HOPPER]);
    compiles(&swim::stencil::<f64>(), flat, &[AMPERE]);
    let medium = Medium::granite(0.5);
    compiles(&medium.stencil::<f32>().expect("a medium"), deep, &[HOPPER]);
    compiles(&medium.stencil::<f64>().expect("a medium"), deep, &[AMPERE]);
}
