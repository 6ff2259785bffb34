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

/// Compiles the kernels that an Ampere and a Hopper GPU would run.
fn compiles<S: Fields, const D: usize>(stencil: &Stencil<S, D>, extents: [usize; D]) {
    for (arch, capability) in [("sm_80", (8, 0)), ("sm_90", (9, 0))] {
        let policy = CudaPolicy::default_for(stencil, extents.into(), capability);
        let cubin = compile_check(stencil, extents.into(), &policy, arch).expect("it compiles");
        assert!(cubin.image().starts_with(b"\x7fELF"), "{arch}: no machine code");
    }
}

fn every_order<T: Conducts<D>, const D: usize>(extents: [usize; D]) {
    for order in heat::ORDERS {
        let rate = 0.5 * heat::stable_rate(order, D).expect("a known order");
        compiles(&heat::stencil::<T, D>(order, rate).expect("a stable rate"), extents);
    }
}

#[test]
fn elements_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    every_order::<f32, 1>([1 << 20]);
    every_order::<f32, 2>([1024, 1024]);
    every_order::<f32, 3>([128, 128, 128]);
    every_order::<f64, 3>([128, 128, 128]);
    compiles(&life::stencil(), [1024, 1024]);
    compiles(&life3d::stencil(), [128, 128, 128]);
    compiles(&edge::stencil(), [1024, 1024]);
    compiles(&<f32 as Warms>::stencil(), [128, 128, 128]);
    compiles(&<f64 as Warms>::stencil(), [128, 128, 128]);
    compiles(&<f32 as Relaxes>::stencil(), [128, 128, 128]);
    compiles(&<f64 as Relaxes>::stencil(), [128, 128, 128]);
    compiles(&<f32 as Moves>::stencil(), [128, 128, 128]);
    compiles(&<f64 as Moves>::stencil(), [128, 128, 128]);
    compiles(&swim::stencil::<f32>(), [1024, 1024]);
    compiles(&swim::stencil::<f64>(), [1024, 1024]);
    let medium = Medium::granite(0.5);
    compiles(&medium.stencil::<f32>().expect("a medium"), [128, 128, 128]);
    compiles(&medium.stencil::<f64>().expect("a medium"), [128, 128, 128]);
}
