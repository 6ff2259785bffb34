//! Instruction sets for which innermost loops are compiled.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An instruction set; a higher one implies the lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Simd {
    /// The instruction set of the build's target.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, VL, DQ, BW.
    Avx512,
}

impl fmt::Display for Simd {
    /// The usual name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable instructions",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}

impl Simd {
    /// The widest set this machine has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma");
            let avx512 =
                has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw");
            if avx2 && avx512 {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// The sets this machine has, narrowest first.
    pub fn available() -> Vec<Self> {
        let widest = Self::detect();
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(|s| *s <= widest).collect()
    }
}
