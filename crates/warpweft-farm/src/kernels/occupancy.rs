//! How many threads an SM holds, from a description of the GPU: the driver's own answer needs the device.

use warpweft_core::machine::Gpu;

/// What one block of a kernel takes beyond its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of shared memory a block.
    pub shared: u32,
}

/// Registers are given to warps in so many.
const REGISTERS: u32 = 256;
/// What the system takes of shared memory for each block.
const RESERVED: u32 = 1024;

/// The fraction of an SM's threads that blocks of `block` threads fill; 0 where not one fits.
pub fn occupancy(gpu: &Gpu, needs: Needs, block: u32) -> f64 {
    let warps = block.div_ceil(32).max(1);
    let by_threads = gpu.threads_per_sm / (32 * warps);
    let of_warp = (32 * needs.registers).next_multiple_of(REGISTERS);
    let by_registers =
        gpu.registers_per_sm.checked_div(of_warp).map_or(u32::MAX, |all| all / warps);
    let by_shared = match needs.shared {
        0 => u32::MAX,
        bytes if bytes > gpu.shared_per_block => 0,
        bytes => gpu.shared_per_sm / (bytes + RESERVED),
    };
    let blocks = by_threads.min(by_registers).min(by_shared).min(gpu.blocks_per_sm);
    f64::from(blocks * 32 * warps) / f64::from(gpu.threads_per_sm.max(1))
}

/// Descriptions of GPUs of which the maker's documents tell all that is needed here.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// A description with these limits.
    pub fn gpu(
        ordinal: usize,
        name: &str,
        capability: (u32, u32),
        threads: u32,
        blocks: u32,
    ) -> Gpu {
        let shared = if capability == (8, 6) { 100 } else { 164 } << 10;
        Gpu {
            ordinal,
            name: name.into(),
            capability,
            sms: 108,
            memory: 40 << 30,
            l2_bytes: 40 << 20,
            shared_per_sm: shared,
            shared_per_block: shared - RESERVED,
            registers_per_sm: 1 << 16,
            threads_per_sm: threads,
            blocks_per_sm: blocks,
            clock: 1.4e9,
            cooperative: true,
            links: Vec::new(),
        }
    }

    /// NVIDIA's A100.
    pub fn ampere(ordinal: usize) -> Gpu {
        gpu(ordinal, "A100", (8, 0), 2048, 32)
    }

    /// NVIDIA's H200.
    pub fn hopper(ordinal: usize) -> Gpu {
        Gpu {
            shared_per_sm: 228 << 10,
            shared_per_block: 227 << 10,
            ..gpu(ordinal, "H200", (9, 0), 2048, 32)
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn threads_registers_blocks_and_shared_memory_bound_it() {
        let needs = |registers, shared| Needs { registers, shared };
        let a100 = ampere(0);
        assert_eq!(occupancy(&a100, needs(32, 0), 256), 1.0);
        // 32 blocks of 32 threads are half of 2048.
        assert_eq!(occupancy(&a100, needs(32, 0), 32), 0.5);
        // 65536 / (128 * 32) = 16 warps.
        assert_eq!(occupancy(&a100, needs(128, 0), 256), 0.25);
        // Blocks of 20 warps, of which 16 fit.
        assert_eq!(occupancy(&a100, needs(128, 0), 640), 0.0);
        assert_eq!(occupancy(&a100, needs(32, 80 << 10), 256), 2.0 * 256.0 / 2048.0);
        assert_eq!(occupancy(&a100, needs(32, 200 << 10), 256), 0.0);
        // 1024 does not divide 1536.
        let a10 = gpu(0, "A10", (8, 6), 1536, 16);
        assert!((occupancy(&a10, needs(32, 0), 1024) - 2.0 / 3.0).abs() < 1e-12);
    }
}
