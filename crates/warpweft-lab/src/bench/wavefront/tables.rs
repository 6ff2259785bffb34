//! Summed area tables by register strips that inputs of cells come into, and by scans.

use warpweft::Result;
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::wavefront::Wavefront;
use warpweft_apps::area::sum_of;
use warpweft_apps::soup::SplitMix;
use warpweft_conformance::wavefront::area;

use super::{Case, Figure, Pixels, figure_of_rates, rates};

/// The rates of a table.
///
/// # Errors
/// A fault of the device.
pub fn measure(
    case: Case,
    pixels: Pixels,
    machine: &Machine,
    gpus: &[Device],
    memory: Option<f64>,
    repeats: u32,
) -> Result<Figure> {
    let (over, count) = ([case.size; 2], case.size * case.size);
    let mut noise = SplitMix::new(case.size as u64);
    let bytes: Vec<u8> = (0..count).map(|_| noise.next_u64() as u8).collect();
    let found = if pixels == Pixels::Reals {
        let reals: Vec<_> = bytes.into_iter().map(|byte| f32::from(byte) / 256.0).collect();
        rates(
            case,
            Wavefront::of(sum_of::<f32>()).over(over).inputs(&reals),
            machine,
            gpus,
            repeats,
        )?
    } else {
        rates(case, Wavefront::of(area()).over(over).inputs(&bytes), machine, gpus, repeats)?
    };
    Ok(figure_of_rates(case, found, gpus, memory))
}
