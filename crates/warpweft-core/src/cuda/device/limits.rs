//! Minimum requirements of a device, and its shared memory, by which kernels choose their shapes.

use crate::error::{Error, Result};

/// The oldest supported compute capability: the first with asynchronous copies to shared memory (`cp.async`)
/// and warp-wide maxima (`redux.sync`).
const OLDEST: (u32, u32) = (8, 0);

/// Refuses a device that is too old.
///
/// # Errors
/// Its compute capability and the oldest supported one.
pub(super) fn check_age(label: &str, capability: (u32, u32)) -> Result<()> {
    if capability >= OLDEST {
        return Ok(());
    }
    let number = |(major, minor)| format!("{major}.{minor}");
    Err(Error::Device {
        stage: "opening".into(),
        device: label.into(),
        what: format!(
            "its compute capability is {}, kernels need {} (NVIDIA Ampere)",
            number(capability),
            number(OLDEST)
        ),
        hint: "run on a newer GPU, or on the cores".into(),
    })
}

/// The shared memory available to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// Largest number of bytes of a block, if it requests them.
    pub block: usize,
    /// Bytes of an SM.
    pub sm: usize,
}

impl SharedMemory {
    /// Bytes that every block takes in addition to its own.
    const RESERVED: usize = 1024;

    /// For devices on which a block can have this many bytes, and an SM has one such block.
    pub const fn of_block(block: usize) -> Self {
        Self { block, sm: block + Self::RESERVED }
    }

    /// For devices of this compute capability; the least of the known values for an unknown one (CUDA C++
    /// Programming Guide, "Technical Specifications per Compute Capability").
    pub fn of_capability(capability: (u32, u32)) -> Self {
        Self::of_block(match capability {
            (8, 0 | 7) => 163 << 10,
            (9 | 10, _) | (11, 0) => 227 << 10,
            _ => 99 << 10,
        })
    }

    /// For devices of an architecture, e.g. "sm_90".
    pub fn of_arch(arch: &str) -> Self {
        let number: String = arch.chars().filter(char::is_ascii_digit).collect();
        let number: u32 = number.parse().unwrap_or_default();
        Self::of_capability((number / 10, number % 10))
    }

    /// Bytes that each of `blocks` resident blocks of an SM can have.
    pub fn each(self, blocks: usize) -> usize {
        self.block.min((self.sm / blocks.max(1)).saturating_sub(Self::RESERVED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_before_ampere_are_refused_with_both_numbers() {
        let error = check_age("Tesla T4 (0)", (7, 5)).unwrap_err().to_string();
        assert!(
            error.contains("Tesla T4 (0)") && error.contains("7.5, kernels need 8.0"),
            "{error}"
        );
        assert!(check_age("", (7, 9)).is_err());
        assert!([(8, 0), (8, 6), (9, 0), (12, 0)].into_iter().all(|it| check_age("", it).is_ok()));
    }

    /// NVIDIA's tables: an A100's SM has 164 KB, of which a block can have 163; two can have 81 each.
    #[test]
    fn blocks_share_an_sm() {
        let kib = |arch, blocks| SharedMemory::of_arch(arch).each(blocks) >> 10;
        assert_eq!([1, 2, 4].map(|blocks| kib("sm_80", blocks)), [163, 81, 40]);
        assert_eq!([1, 2].map(|blocks| kib("sm_90a", blocks)), [227, 113]);
        assert_eq!(["sm_86", "sm_89", "sm_120"].map(|arch| kib(arch, 1)), [99; 3]);
        assert_eq!(kib("", 1), 99);
        assert_eq!(SharedMemory::of_block(1000).each(usize::MAX), 0);
    }
}
