//! Fields brought between grids of two spacings on a device (transfer.cuh). Not: what they are (`plan::transfer`).

use super::memory::layout::Layout;
use warpweft_core::cuda::{Kernel, Module, Options, Stream, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

const TEXT: &str = include_str!("transfer.cuh");
/// Planes of a launch at most.
pub(super) const PLANES: usize = 65_535;

fn text() -> String {
    [Unit::new().source().as_str(), TEXT].concat().replace("#pragma once\n", "")
}

/// Without contraction, as the cores compute.
fn options() -> Options {
    Options { contract: false, ..Options::default() }
}

/// The kernels for `f32` and `f64`.
#[derive(Debug)]
pub(super) struct Transferring {
    pub kernels: [Kernel; 2],
}

impl Transferring {
    pub fn new(stream: &Stream) -> Result<Self> {
        let device = stream.device();
        let compiled = compile(&text(), "transfers between grids", &device.arch()?, &options())?;
        let module = Module::load(device, &compiled)?;
        let kernels = [module.kernel("ww_transfer_f32")?, module.kernel("ww_transfer_f64")?];
        Ok(Self { kernels })
    }
}

/// `struct Mesh` of a layout.
pub(super) fn mesh(layout: &Layout) -> Vec<u8> {
    let [_, z, y, x] = layout.extents.map(|n| n as i32);
    let strides = layout.strides[1..3].iter().flat_map(|&n| (n as i64).to_ne_bytes());
    strides.chain([z, y, x, 0].into_iter().flat_map(i32::to_ne_bytes)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use warpweft_core::cuda::compiler;

    use super::*;
    use crate::cuda::tests::host;
    use crate::plan::transfer::{Grids, Transfer};

    /// Extents, and a row's stride.
    fn literal([z, y, x]: [usize; 3], pitch: usize) -> String {
        format!("{{{}, {pitch}, {{{z}, {y}, {x}}}, 0}}", y * pitch)
    }

    /// What the kernel, run by the host's compiler, makes of these fields.
    fn by_the_host(by: Transfer, grids: &Grids, from: &[f64], old: &[f64]) -> Option<Vec<f64>> {
        let folder = tempfile::tempdir().unwrap();
        let [given, wanted] = match by {
            Transfer::Restrict => [grids.fine, grids.coarse],
            Transfer::Prolong => [grids.coarse, grids.fine],
        };
        let numbers = |all: &[f64]| all.iter().map(|v| format!("{v:?}, ")).collect::<String>();
        let main = format!(
            "int main() {{
  double from[] = {{{}}}, to[] = {{{}}};
  const ww::stencil::Mesh of_from{}, of_to{};
  run_grid({{1, {}, 2}}, {{32, 8, 1}}, false, [&] {{
    ww_transfer_f64({}, from, to, of_from, of_to);
  }});
  for (double value : to) printf(\"%a\\n\", value);
}}
",
            numbers(from),
            numbers(old),
            literal(given, given[2]),
            literal(wanted, wanted[2]),
            wanted[1].div_ceil(8),
            i32::from(by == Transfer::Prolong),
        );
        let source = [include_str!("../kernels/host.cuh"), &text(), &main].concat();
        let program = host::compiled(folder.path(), "transfer", &source)?;
        let out = Command::new(&program).output().unwrap();
        assert!(out.status.success());
        let text = String::from_utf8(out.stdout).unwrap();
        Some(text.lines().map(hexadecimal).collect())
    }

    /// `-0x1.8p+3` as C prints it.
    fn hexadecimal(text: &str) -> f64 {
        let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
        let (mantissa, exponent) = text.strip_prefix("0x").unwrap().split_once('p').unwrap();
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap() as f64;
        let power = exponent.parse::<i32>().unwrap() - 4 * fraction.len() as i32;
        sign * digits * 2f64.powi(power)
    }

    #[test]
    fn the_kernel_has_the_bits_of_the_loops() {
        let extents: [(&[usize], &[usize]); 2] = [(&[5, 7, 11], &[2, 3, 5]), (&[7, 9], &[3, 4])];
        for (fine, coarse) in extents {
            let axes = |n: &[usize]| warpweft_core::grid::Axes::from_fn(n.len(), |d| n[d]);
            let grids = Transfer::Restrict.grids(axes(fine), axes(coarse)).unwrap();
            let noise = |seed: u64, len: usize| -> Vec<f64> {
                let mixed = |n: u64| (seed + n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
                (0..len as u64).map(|n| mixed(n) as f64 / (1u64 << 53) as f64 - 0.5).collect()
            };
            let [many, few] = [grids.fine, grids.coarse].map(|n| n.iter().product::<usize>());
            for (by, from, old) in [
                (Transfer::Restrict, noise(3, many), noise(7, few)),
                (Transfer::Prolong, noise(5, few), noise(9, many)),
            ] {
                let Some(found) = by_the_host(by, &grids, &from, &old) else {
                    return println!("skipped: no C++ compiler");
                };
                assert_eq!(found, by.values(&grids, &from, &old), "{by:?} {grids:?}");
            }
        }
    }

    #[test]
    fn the_kernel_compiles_for_ampere_and_hopper() {
        if let Err(error) = compiler() {
            return println!("skipped: {error}");
        }
        for arch in ["sm_80", "sm_90"] {
            compile(&text(), "transfers", arch, &options()).unwrap();
        }
    }
}
