//! What a launch and a device must have room for.

use crate::{CudaKernel, CudaPolicy};
use warpweft_core::cuda::Device;
use warpweft_core::error::{Error, Result};

/// Blocks along the grid's second and third axes at most.
const GRID: usize = 65_535;

pub(super) fn clamped([x, y, z]: [usize; 3]) -> [u32; 3] {
    [x as u32, y as u32, z.min(GRID) as u32]
}

/// Refuses grids that no launch can have; with `loops` the third axis may be any length.
pub(super) fn check_grid([x, y, z]: [usize; 3], loops: bool, policy: &CudaPolicy) -> Result<()> {
    if x <= i32::MAX as usize && y <= GRID && (loops || z <= GRID) {
        return Ok(());
    }
    Err(Error::spec(
        format!("a grid of {x} × {y} × {z} blocks for {policy:?}"),
        "take larger blocks, or order the axes so that the longest is the last",
    ))
}

/// Whether the device has what `policy` needs; whether kernels loop over `blocks` that are too many for a grid.
pub(super) fn check_device(
    policy: &CudaPolicy,
    blocks: [usize; 3],
    device: &Device,
) -> Result<bool> {
    // Direct kernels of two and three dimensions loop only if told so when compiled.
    let strided = blocks[2] > GRID;
    check_grid(blocks, strided && policy.kernel != CudaKernel::Planes, policy)?;
    if policy.kernel == CudaKernel::Planes && device.capability()? < (9, 0) {
        return Err(Error::spec(
            format!(
                "the kernel `Planes` needs the copy engine (TMA), which {} does not have",
                device.label()
            ),
            "use the kernel `Direct` below compute capability 9.0",
        ));
    }
    Ok(strided)
}
